"""The agents in other tools: Optuna and Nevergrad, each imported on first use, with its extra."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orbandit.integrations import nevergrad, optuna

__all__ = ["nevergrad", "optuna"]


def __getattr__(name: str) -> Any:
    """Import an integration on first use: each needs a package that orbandit does without."""
    if name not in __all__:
        raise AttributeError(f"module 'orbandit.integrations' has no attribute {name!r}")
    return import_module(f"orbandit.integrations.{name}")
