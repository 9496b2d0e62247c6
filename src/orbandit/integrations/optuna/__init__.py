"""`OrbitSampler`: a sampler for Optuna that knows which parameters may be swapped, mirrored or shifted round."""

from orbandit.errors import MissingExtraError

try:
    import optuna as _optuna  # noqa: F401 - to say what is missing before anything else needs it
except ImportError as error:
    raise MissingExtraError("the sampler needs Optuna: pip install 'orbandit[optuna]'.") from error

from orbandit.integrations.optuna.sampler import OrbitSampler

__all__ = ["OrbitSampler"]
