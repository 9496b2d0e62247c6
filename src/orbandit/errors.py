"""What orbandit raises: every error is an `OrbanditError`, and a built-in kind such as `ValueError` besides.

What went wrong and was made good is told by an `OrbanditWarning`.
"""

from typing import Any

__all__ = [
    "GroupTooLargeError",
    "InputError",
    "InputTypeError",
    "MeasurementError",
    "MeshTooLargeError",
    "MissingExtraError",
    "NoDomainError",
    "OrbanditError",
    "OrbanditWarning",
    "RunError",
    "SpecError",
    "StoreError",
]


class OrbanditError(Exception):
    """The base of every error raised by this package."""


class OrbanditWarning(UserWarning):
    """Something went wrong that was made good: a worker was lost and its run is played again, a row was damaged."""


class InputError(OrbanditError, ValueError):
    """An argument breaks a rule; the message names the rule, the value and the remedy."""


class InputTypeError(OrbanditError, TypeError):
    """An argument is of a type that cannot mean what the parameter asks for."""


class GroupTooLargeError(OrbanditError, ValueError):
    """An operation would list more group elements or orbit points than its limit allows."""


class NoDomainError(OrbanditError, ValueError):
    """The group has no polyhedral fundamental domain, or none that can be computed."""


class MeshTooLargeError(OrbanditError, ValueError):
    """A mesh, or the graph on it, would not fit into memory; the message says how large it would be."""


class MeasurementError(OrbanditError, RuntimeError):
    """The function that measures a point failed there.

    Attributes
    ----------
    point : (dim,) array or None
        Where it failed; None if no point could be chosen.
    history : History
        All measurements before that; pass it to the next call as `history` to go on.
    """

    def __init__(self, message: str, point: Any, history: Any) -> None:
        super().__init__(message)
        self.point, self.history = point, history


class MissingExtraError(OrbanditError, ImportError):
    """A feature needs a package that comes with one of orbandit's extras; the message names it."""


class StoreError(OrbanditError, ValueError):
    """A file of results is missing, foreign, damaged, locked or of another format; it is left as it was."""


class RunError(OrbanditError, RuntimeError):
    """A run of an experiment failed, or its worker was lost; what was finished before is stored."""


class SpecError(OrbanditError, ValueError):
    """The file of an experiment, or a table of it, has mistakes; the message has a line for each.

    Attributes
    ----------
    mistakes : tuple
        Each with its `path`, the keys that lead to it, and its `text`.
    """

    def __init__(self, message: str, mistakes: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.mistakes = mistakes
