"""Continuous bandits that learn once per orbit: noisy optimisation with a known symmetry."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orbandit import errors, groups, meshes, reports, spaces
    from orbandit.groups.check import check_symmetry

__all__ = ["__version__", "check_symmetry", "errors", "groups", "meshes", "reports", "spaces"]

_HOMES = {
    "check_symmetry": "orbandit.groups.check",
    "errors": "orbandit.errors",
    "groups": "orbandit.groups",
    "meshes": "orbandit.meshes",
    "reports": "orbandit.reports",
    "spaces": "orbandit.spaces",
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
