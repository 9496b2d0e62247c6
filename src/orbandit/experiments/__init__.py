"""Agents on problems, many times: runs and their regret, experiments from a file, and the paper's claims measured."""

from typing import TYPE_CHECKING, Any

from orbandit.experiments.run import run
from orbandit.experiments.simulate import Runs, simulate
from orbandit.experiments.store import FinishedRun, Store, export, load, run_key
from orbandit.experiments.verification import Verification, verify

if TYPE_CHECKING:
    from orbandit.experiments.spec import Experiment, read, restored

__all__ = [
    "Experiment",
    "FinishedRun",
    "Runs",
    "Store",
    "Verification",
    "export",
    "load",
    "read",
    "restored",
    "run",
    "run_key",
    "simulate",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import what reads files on first use: its checker is slow to import, and who simulates can do without."""
    if name not in ("Experiment", "read", "restored"):
        raise AttributeError(f"module 'orbandit.experiments' has no attribute {name!r}")
    from orbandit.experiments import spec

    globals()[name] = value = getattr(spec, name)
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
