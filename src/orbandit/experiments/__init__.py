"""Agents on problems, many times: runs and their regret, experiments from a file, and the paper's claims measured."""

import sys
from typing import TYPE_CHECKING, Any

from orbandit.experiments import simulation
from orbandit.experiments.running import run
from orbandit.experiments.simulation import Runs, simulate
from orbandit.experiments.store import FinishedRun, Store, export, load, run_key
from orbandit.experiments.verification import Verification, verify

if TYPE_CHECKING:
    from orbandit.experiments.spec import Experiment, read, restore

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


def __getattr__(name: str) -> Any:
    """Import what reads files on first use: its checker is slow to import, and who simulates can do without."""
    if name not in ("Experiment", "read", "restore"):
        raise AttributeError(f"module 'orbandit.experiments' has no attribute {name!r}")
    from orbandit.experiments import spec

    globals()[name] = value = getattr(spec, name)
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
