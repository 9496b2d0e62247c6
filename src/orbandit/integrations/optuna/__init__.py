"""`OrbitSampler`.

An Optuna sampler for parameters that may be exchanged, mirrored or shifted in a ring.
"""

from orbandit.errors import MissingExtraError

try:
    import optuna as _optuna  # noqa: F401 - to say what is missing before anything else needs it
except ImportError as error:
    raise MissingExtraError("the sampler needs Optuna: install orbandit with the extra `optuna`.") from error

from orbandit.integrations.optuna.sampler import OrbitSampler

__all__ = ["OrbitSampler"]
