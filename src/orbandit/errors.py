"""The errors of orbandit: each is an `OrbanditError` and a built-in error such as `ValueError`.

A problem that was recovered from raises an `OrbanditWarning`. The data of an error are in its
attributes; its text is for people, and no code parses it.
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

    Parameters
    ----------
    *args : object
        The message.
    field : str or None
        The parameter at fault, if it is a single one; an attribute, too.
    value : object
        Its value, if the error has it; an attribute, too.

    Examples
    --------
    >>> import orbandit as ob
    >>> try:
    ...     ob.spaces.Ball(2, radius=-1.0)
    ... except ob.errors.OrbanditError as error:
    ...     print(error.field, error.value)
    radius -1.0
    """

    def __init__(self, *args: object, field: str | None = None, value: object = None) -> None:
        super().__init__(*args)
        self.field, self.value = field, value


class OrbanditWarning(UserWarning):
    """A problem that was recovered from, such as a lost worker or a damaged row of results.

    Examples
    --------
    >>> import warnings
    >>> import orbandit as ob
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ob.errors.OrbanditWarning)  # it ends the search
    ...     best = ob.minimize(lambda x: x @ x, ob.spaces.Box(-1, 1, dim=2), budget=5, seed=0)
    >>> len(best.history)
    5
    """


class InputError(OrbanditError, ValueError):
    """An argument breaks a rule; the message names the rule, the value and the remedy.

    Examples
    --------
    >>> import orbandit as ob
    >>> ob.spaces.Ball(2, radius=-1.0)
    Traceback (most recent call last):
        ...
    orbandit.errors.InputError: `radius > 0` must hold for one number, but got radius=-1.0.
    """


class InputTypeError(OrbanditError, TypeError):
    """An argument has a type that the parameter does not accept.

    Examples
    --------
    >>> import orbandit as ob
    >>> ob.agents.OrbitTree("disk")
    Traceback (most recent call last):
        ...
    orbandit.errors.InputTypeError: `space` and `group` must be of ob.spaces and ob.groups, but
    got 'disk', None.
    """


class GroupTooLargeError(OrbanditError, ValueError):
    """An operation would list more group elements or orbit points than its limit allows.

    Examples
    --------
    >>> import orbandit as ob
    >>> ob.groups.Symmetric(20).elements()
    Traceback (most recent call last):
        ...
    orbandit.errors.GroupTooLargeError: Symmetric(20) has about 10^18.4 elements, more than
    `limit`=100000; use fold, distance or random, which do not list them, or pass a larger
    `limit`.
    """


class NoDomainError(OrbanditError, ValueError):
    """The group has no polyhedral fundamental domain, or none that can be computed.

    Examples
    --------
    >>> import orbandit as ob
    >>> ob.groups.Orthogonal(4, 2).domain()
    Traceback (most recent call last):
        ...
    orbandit.errors.NoDomainError: Orthogonal(4, 2) has no polyhedral fundamental domain: its
    orbits are curved. `fold` gives the QR form, one representative per orbit, and `distance` is
    exact.
    """


class MeshTooLargeError(OrbanditError, ValueError):
    """A mesh, or the graph on it, would not fit into memory; the message says how large it is.

    Examples
    --------
    >>> import orbandit as ob
    >>> ob.meshes.net(ob.spaces.Box(0, 1, dim=10), 0.01)
    Traceback (most recent call last):
        ...
    orbandit.errors.MeshTooLargeError: a mesh of Box([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    0.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]) with delta=0.01 has at least 10^19.6
    points, more than the 5,000,000 that are attempted; use a larger `delta`, or a larger group.
    """


class MeasurementError(OrbanditError, RuntimeError):
    """The function that measures a point failed there.

    Parameters
    ----------
    message : str
        The text.
    point : (dim,) array or None
        Where it failed; None if no point could be chosen. An attribute, too.
    history : History
        All measurements before that; pass it to the next call as `history` to continue. An
        attribute, too.

    Examples
    --------
    >>> import orbandit as ob
    >>> def measure(x):
    ...     if x[0] > 0.8:
    ...         raise OSError("out of range")
    ...     return x[0]
    >>> try:
    ...     ob.maximize(measure, ob.spaces.Box(0, 1, dim=2), budget=50, seed=0)
    ... except ob.errors.MeasurementError as error:
    ...     print(bool(error.point[0] > 0.8), len(error.history) < 50, repr(error.__cause__))
    True True OSError('out of range')
    """

    def __init__(self, message: str, point: Any, history: Any) -> None:
        super().__init__(message)
        self.point, self.history = point, history


class MissingExtraError(OrbanditError, ImportError):
    """A feature needs a package that comes with one of orbandit's extras; the message names it.

    Examples
    --------
    >>> import orbandit as ob
    >>> try:
    ...     axes = ob.reports.draw_orbit(ob.spaces.Ball(2), ob.groups.Dihedral(5), [0.3, 0.5])
    ... except ob.errors.MissingExtraError as error:
    ...     print(error)  # says what to install
    >>> len(axes.patches)
    2
    """


class StoreError(OrbanditError, ValueError):
    """A file of results is missing, damaged, locked or of another format; it is left as it was.

    Examples
    --------
    >>> import orbandit as ob
    >>> ob.experiments.Store.open("nowhere.db")
    Traceback (most recent call last):
        ...
    orbandit.errors.StoreError: nowhere.db is missing; `orbandit run`, or Store.create in Python,
    makes a new one.
    """


class RunError(OrbanditError, RuntimeError):
    """A run of an experiment failed, or its worker was lost; what was finished before is stored.

    Examples
    --------
    >>> import tempfile
    >>> import orbandit as ob
    >>> space = {"class": "Box", "low": 0, "high": 1, "dim": 9}
    >>> problem = {"class": "Cone", "space": space, "peak": [0.5] * 9}
    >>> agent = {"class": "UniformMesh", "delta": 0.01}  # too fine a mesh
    >>> tables = {"horizons": [10], "seeds": 1, "problem": [problem], "agent": [agent]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         ob.experiments.run(ob.experiments.restore(tables, "."), f"{folder}/a.db", jobs=1)
    ...     except ob.errors.RunError as error:
    ...         print("more than the 5,000,000" in str(error))
    True
    """


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
        The line of the file, if there is one.
    """

    path: tuple[str | int, ...]
    text: str
    line: int | None = None


class SpecError(OrbanditError, ValueError):
    """The file of an experiment, or a table of it, has mistakes; the message has a line for each.

    Parameters
    ----------
    mistakes : iterable of Mistake
        The mistakes, in the order in which they were found; an attribute, too.
    file : path or None
        The file, if there is one; an attribute, too.

    Examples
    --------
    >>> import orbandit as ob
    >>> try:
    ...     ob.experiments.restore({"horizons": [0], "seed": 5}, ".")
    ... except ob.errors.SpecError as error:
    ...     print(error.mistakes[0].path)
    ...     print(error.mistakes[0].text)
    ('seed',)
    unknown key 'seed' of an experiment. Did you mean 'seeds'? Known: name, horizons, seeds,
    checkpoints, timeout, problem, agent.
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
