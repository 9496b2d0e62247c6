"""Simulations of agents on problems, experiments from files, and numerical checks of the paper."""

import sys

from orbandit.experiments import simulation
from orbandit.experiments.running import run
from orbandit.experiments.simulation import Runs, simulate
from orbandit.experiments.spec import Experiment, read, restore
from orbandit.experiments.store import FinishedRun, Store, export, load, run_key
from orbandit.experiments.verification import Verification, verify

__all__ = [
    "Experiment",
    "FinishedRun",
    "Runs",
    "Store",
    "Verification",
    "export",
    "load",
    "read",
    "restore",
    "run",
    "run_key",
    "simulate",
    "verify",
]

sys.modules[f"{__name__}.simulate"] = simulation  # where pickles of 0.1.0 look for Runs
