"""Nevergrad optimisers with a symmetry: `OrbitOptimizer`.

Registered as "Orbit", "OrbitGP", "OrbitTree".
"""

from orbandit.errors import MissingExtraError

try:
    import nevergrad as _nevergrad  # noqa: F401 - to say what is missing before anything else needs it
except ImportError as error:
    raise MissingExtraError("the optimisers need Nevergrad: install orbandit with the extra `nevergrad`.") from error

from orbandit.integrations.nevergrad.optimizer import OrbitOptimizer

__all__ = ["OrbitOptimizer"]
