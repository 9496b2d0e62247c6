"""Agents on problems, many times: runs and their regret."""

from orbandit.experiments.simulate import Runs, simulate

__all__ = ["Runs", "simulate"]
