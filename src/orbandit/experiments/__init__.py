"""Agents on problems, many times: runs and their regret, and the paper's claims measured."""

from orbandit.experiments.simulate import Runs, simulate
from orbandit.experiments.store import FinishedRun, Store, export, load, run_key
from orbandit.experiments.verification import Verification, verify

__all__ = ["FinishedRun", "Runs", "Store", "Verification", "export", "load", "run_key", "simulate", "verify"]
