"""Invariant Lipschitz bandits: noisy optimisation of functions with a known symmetry, which learns once per orbit."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orbandit import (
        agents,
        errors,
        experiments,
        groups,
        integrations,
        meshes,
        optimize,
        problems,
        reports,
        spaces,
        theory,
    )
    from orbandit.experiments.simulation import simulate
    from orbandit.groups.check import check_symmetry
    from orbandit.optimize import maximize, minimize
    from orbandit.symmetry.find import find_symmetry

__all__ = [
    "__version__",
    "agents",
    "check_symmetry",
    "errors",
    "experiments",
    "find_symmetry",
    "groups",
    "integrations",
    "maximize",
    "meshes",
    "minimize",
    "optimize",
    "problems",
    "reports",
    "simulate",
    "spaces",
    "theory",
]

_HOMES = {
    "agents": "orbandit.agents",
    "check_symmetry": "orbandit.groups.check",
    "errors": "orbandit.errors",
    "experiments": "orbandit.experiments",
    "find_symmetry": "orbandit.symmetry.find",
    "groups": "orbandit.groups",
    "integrations": "orbandit.integrations",
    "maximize": "orbandit.optimize",
    "meshes": "orbandit.meshes",
    "minimize": "orbandit.optimize",
    "optimize": "orbandit.optimize",
    "problems": "orbandit.problems",
    "reports": "orbandit.reports",
    "simulate": "orbandit.experiments.simulation",
    "spaces": "orbandit.spaces",
    "theory": "orbandit.theory",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `import orbandit` costs next to nothing."""
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("orbandit")
    elif name in _HOMES:
        module = import_module(_HOMES[name])
        value = module if _HOMES[name] == f"orbandit.{name}" else getattr(module, name)
    else:
        raise AttributeError(f"module 'orbandit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
