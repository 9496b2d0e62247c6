"""What orbandit raises: every error is an `OrbanditError`, and a built-in kind such as `ValueError` besides.

What went wrong and was made good is told by an `OrbanditWarning`. What an error knows is in its attributes; its text is
for people, and nothing reads it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
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
    """The base of every error raised by this package.

    Attributes
    ----------
    field : str or None
        The parameter at fault, if it is a single one.
    value : object
        What was given for it, if the error says so.
    """

    def __init__(self, *args: object, field: str | None = None, value: object = None) -> None:
        super().__init__(*args)
        self.field, self.value = field, value


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


@dataclass(frozen=True)
class Mistake:
    """Something wrong in a file or a table.

    Attributes
    ----------
    path : tuple
        The keys and indices that lead to it, as in ("problem", 0, "space", "dim").
    text : str
        What is wrong.
    line : int or None
        Of the file, if there is one.
    """

    path: tuple[str | int, ...]
    text: str
    line: int | None = None


class SpecError(OrbanditError, ValueError):
    """The file of an experiment, or a table of it, has mistakes; the message has a line for each.

    Attributes
    ----------
    mistakes : tuple of Mistake
        In the order in which they were found.
    file : path or None
        The file, if there is one.
    """

    def __init__(self, mistakes: Iterable[Mistake], file: Any = None) -> None:
        self.mistakes, self.file = tuple(mistakes), file
        super().__init__(self.mistakes, file)

    def __str__(self) -> str:
        """Name all mistakes, in the order of their lines."""
        told = [(one.line, " ".join(one.text.splitlines())) for one in self.mistakes]
        placed = sorted({(line, text) for line, text in told if line is not None})
        return "\n".join(
            [*(text for line, text in told if line is None), *(f"{self.file}, line {n}: {text}" for n, text in placed)]
        )
