"""Agents on problems, many times: runs and their regret, and the paper's claims measured."""

from orbandit.experiments.simulate import Runs, simulate
from orbandit.experiments.verification import Verification, verify

__all__ = ["Runs", "Verification", "simulate", "verify"]
