"""Finished runs: the results of a run and all its parameters, whose hash is its key."""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_finite, as_tolerance, frozen, shown
from orbandit.errors import InputError, InputTypeError, OrbanditError

FIELDS = (
    "key, problem, agent, horizon, seed, seconds, parameters, checkpoints, regret, dim, plays, "
    "simple_regret, asymptotic, seal"
)
"""The names of the values in a row of a table of runs."""


class Limit(NamedTuple):
    """The least regret of an agent on the mesh that it plays, asymptotically in the number of rounds.

    Regret against the optimum is at least loss n + constant log n (1 + o(1)).

    Attributes
    ----------
    arms : int
        Points of the mesh.
    loss : float
        The optimum less the best mean on the mesh.
    constant : float
        c of `theory.instance_limit` on the mesh, in the orbit metric if the agent is told a group.
    without_group : float or None
        The same on all images of the mesh without the group; None if there is no group, or if there
        are too many images. Over `constant`, it is what the group is worth on this instance.

    Examples
    --------
    >>> [round(float(value), 1) for value in Limit(40, 0.01, 20.0).regret([10, 1000])]
    [46.2, 148.2]
    """

    arms: int
    loss: float
    constant: float
    without_group: float | None = None

    @property
    def worth(self) -> float | None:
        """What the group is worth on this instance: c without it over c; None if it is not known."""
        if self.without_group is None or not self.constant:
            return None
        return self.without_group / self.constant

    def regret(self, rounds: npt.ArrayLike) -> Array:
        """Return loss n + constant log n for numbers of rounds n."""
        n = np.asarray(rounds, dtype=np.float64)
        return self.loss * n + self.constant * np.log(n)


def run_key(parameters: dict[str, Any]) -> str:
    """Return the key of a run: the SHA-256 of its parameters as canonical JSON, the same on every machine.

    The order of a dictionary's keys does not matter, and a tuple is a list. Numbers count as they
    are written: 1, 1.0 and True have different keys, and so have 0.0 and -0.0.

    Parameters
    ----------
    parameters : dict
        Everything that determines the run, in values that JSON knows: None, truth values, integers,
        finite floats, strings, lists, and dictionaries whose keys are strings.

    Examples
    --------
    >>> run_key({"seed": 0, "agent": "HOO"}) == run_key({"agent": "HOO", "seed": 0})
    True
    """
    return hashlib.sha256(canonical(parameters, "parameters").encode()).hexdigest()


@final
@dataclass(frozen=True, eq=False)
class FinishedRun:
    """The results of a run and all its parameters; two are equal if all of it is, to the last bit.

    Parameters
    ----------
    key : str
        `run_key(parameters)`.
    problem, agent : str
        Their names, not empty.
    horizon : int
        Number of rounds, at least 1.
    seed : int
        From 0 to 2**63 - 1.
    parameters : dict
        Everything that determines the run, the seed and the horizon included, as `run_key` takes
        it.
    checkpoints : (k,) array of int
        The rounds at which the regret was read, increasing from at least 1 to at most the horizon;
        k >= 1.
    regret : (k,) array
        The cumulative regret at the checkpoints, finite.
    seconds : float
        Time the rounds took, at least 0.
    plays : (m, d) array, optional
        Some of the points played, in the order of their rounds: finite, at most one for each round.
    simple_regret : (k,) array, optional
        The simple regret at the checkpoints, finite; None if it was not recorded, by an older
        version or for an agent without `recommend`.
    limit : Limit, optional
        The asymptotic limit of the mesh; None if the agent plays no fixed mesh, or for runs of an
        older version.

    Examples
    --------
    >>> import orbandit as ob
    >>> parameters = {"problem": "cone", "agent": "HOO", "horizon": 100, "seed": 0}
    >>> key = ob.experiments.run_key(parameters)
    >>> run = ob.experiments.FinishedRun(
    ...     key, "cone", "HOO", 100, 0, parameters, [10, 100], [1.5, 7.25], seconds=0.01
    ... )
    >>> run.regret, run.plays.shape
    (array([1.5 , 7.25]), (0, 0))
    """

    key: str
    problem: str
    agent: str
    horizon: int
    seed: int
    parameters: dict[str, Any]
    checkpoints: npt.NDArray[np.int64]
    regret: Array
    seconds: float
    plays: Array = field(default_factory=lambda: np.empty((0, 0)))
    simple_regret: Array | None = None
    limit: Limit | None = None

    def __post_init__(self) -> None:
        """Check all values and keep copies of them."""
        text = canonical(self.parameters, "parameters")
        if self.key != (right := hashlib.sha256(text.encode()).hexdigest()):
            raise InputError(f"`key` must be run_key(parameters), {right}, but got {self.key!r}.")
        clean: dict[str, Any] = {
            "problem": _name(self.problem, "problem"),
            "agent": _name(self.agent, "agent"),
            "horizon": as_count(self.horizon, "horizon"),
            "seed": as_count(self.seed, "seed", minimum=0),
            "parameters": json.loads(text),
            "regret": frozen(as_finite(self.regret, "regret")),
            "seconds": as_tolerance(self.seconds, "seconds") + 0.0,  # SQLite keeps no -0.0
            "plays": frozen(as_finite(self.plays, "plays")),
        }
        if self.limit is not None:
            clean["limit"] = _checked_limit(self.limit)
        if self.simple_regret is not None:
            clean["simple_regret"] = frozen(as_finite(self.simple_regret, "simple_regret"))
        rounds = np.array(self.checkpoints)
        if rounds.ndim != 1 or rounds.dtype.kind not in "iu" or not rounds.size:
            raise InputError(
                f"`checkpoints` must be a list of at least one integer, but got {rounds.dtype} {rounds.shape}."
            )
        if rounds[0] < 1 or rounds[-1] > clean["horizon"] or (rounds[1:] <= rounds[:-1]).any():
            raise InputError(
                f"`checkpoints` must increase from at least 1 to at most the horizon, {clean['horizon']}, "
                f"but got {shown(rounds)}."
            )
        for name in ("regret", "simple_regret"):
            if name in clean and clean[name].shape != rounds.shape:
                raise InputError(
                    f"`{name}` must have one value for each of the {len(rounds)} checkpoints, "
                    f"but got shape {clean[name].shape}."
                )
        played = clean["plays"].shape
        if len(played) != 2 or played[0] > clean["horizon"] or (played[0] and not played[1]):
            raise InputError(
                f"`plays` must have shape (m, d), one point to a row and at most one for each of {clean['horizon']} "
                f"rounds, but got shape {played}."
            )
        clean["checkpoints"] = rounds.astype(np.int64)
        clean["checkpoints"].flags.writeable = False
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return self.row() == other.row() if isinstance(other, FinishedRun) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def row(self) -> tuple[Any, ...]:
        """Return the values of FIELDS: arrays as little-endian bytes, and a checksum of all the rest at the end."""
        plain = (self.key, self.problem, self.agent, self.horizon, self.seed, self.seconds)
        curve = (self.checkpoints.astype("<i8").tobytes(), self.regret.astype("<f8").tobytes())
        plays = (self.plays.shape[1], self.plays.astype("<f8").tobytes())
        simple = None if self.simple_regret is None else self.simple_regret.astype("<f8").tobytes()
        limit = None if self.limit is None else canonical(self.limit._asdict(), "limit")
        row = (*plain, canonical(self.parameters, "parameters"), *curve, *plays, simple, limit)
        return (*row, seal(row))

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Self:
        """Undo `row`; what cannot be one of ours raises a ValueError or a TypeError.

        Parameters
        ----------
        row : tuple
            The values of FIELDS, as `row` returns them.
        """
        if not is_whole(row):
            raise ValueError("its values do not match its checksum")
        *values, _ = row
        key, problem, agent, horizon, seed, seconds, parameters, *curve, simple, limit = values
        checkpoints, regret, dim, plays = curve
        rounds, numbers = np.frombuffer(checkpoints, "<i8"), np.frombuffer(regret, "<f8")
        coordinates = np.frombuffer(plays, "<f8")
        points = coordinates.reshape(len(coordinates) // max(as_count(dim, "dim", minimum=0), 1), dim)
        found = None if limit is None else Limit(**json.loads(limit))
        rest = (seconds, points, None if simple is None else np.frombuffer(simple, "<f8"), found)
        return cls(key, problem, agent, horizon, seed, json.loads(parameters), rounds, numbers, *rest)


def canonical(value: Any, name: str) -> str:
    """Return a dictionary as JSON that depends on nothing but its content."""
    if not isinstance(value, dict):
        raise InputTypeError(f"`{name}` must be a dictionary, but got {shown(value)}.")
    try:
        _check_json(value, name)
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except OrbanditError:
        raise
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits, or a list that holds itself
        raise InputError(f"`{name}` must be writable as JSON, but is not ({error}).") from error


def _check_json(value: Any, name: str) -> None:
    """Refuse a value that JSON cannot hold, by its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):  # json would write 1 and "1" alike
                raise InputTypeError(f"`{name}` must have strings as keys, but got {key!r}; write it as a string.")
            _check_json(item, f"{name}[{key!r}]")
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            _check_json(item, f"{name}[{place}]")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"`{name}` must be finite, but got {value}; write None or a string instead.")
    elif value is not None and not isinstance(value, int | str):
        raise InputTypeError(
            f"`{name}` must be a value that JSON knows, but got {shown(value)} of type {type(value).__name__}; "
            "convert it, an array with .tolist(), say."
        )


def _checked_limit(limit: Limit) -> Limit:
    if not isinstance(limit, Limit):
        raise InputTypeError(f"`limit` must be a Limit, but got {shown(limit)}.")
    numbers = (as_tolerance(limit.loss, "loss"), as_tolerance(limit.constant, "constant"))
    without = limit.without_group
    rest = None if without is None else as_tolerance(without, "without_group")
    return Limit(as_count(limit.arms, "arms"), *numbers, rest)


def _name(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise InputError(f"`{name}` must be a name in Unicode, not empty, but got {value!r}.")
    return value


def is_whole(row: tuple[Any, ...]) -> bool:
    """Return whether a row is as it was written, by its checksum."""
    return bool(seal(row[:-1]) == row[-1])


def seal(values: Iterable[Any]) -> bytes:
    """Return the SHA-256 of the values that are not None, each with its length.

    Older formats lack some.
    """
    total = hashlib.sha256()
    for value in values:
        if value is None:
            continue
        part = value if isinstance(value, bytes) else json.dumps(value).encode()
        total.update(len(part).to_bytes(8, "little") + part)
    return total.digest()
