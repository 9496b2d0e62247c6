"""Instances: several agents on cells as one; a handle names an instance and its cell, or that it is checked.

To check an instance is to play what it recommends; rewards of that are kept apart.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_point
from orbandit._kernels.cells import COUNT, ROOT, SUM
from orbandit.agents.files import Arrays
from orbandit.agents.hct import HCT
from orbandit.agents.hoo import HOO
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.points import Points
from orbandit.agents.vhct import VHCT

MAX_INSTANCES = 2**16
"""A handle is the number of a cell times this, and the number of its instance."""

CHECKED = 2**15
"""What is added to the number of an instance that is checked."""

Base: TypeAlias = HOO | HCT | VHCT


@final
class Instances:
    """Agents that play in turn, and their cells as arms.

    Parameters
    ----------
    points : Points
        The space and group, and how they are scaled.
    turn : callable
        Returns the number of the instance whose turn it is.

    Attributes
    ----------
    bases : list of HOO, HCT or VHCT
        The instances.
    checks : dict
        For instances that were checked, the point that they recommended, and the sum and count of
        its rewards.
    """

    def __init__(self, points: Points, turn: Callable[[], int]) -> None:
        self.space, self.group = points.space, points.group
        self.key, self.check, self.packed, self.unpacked = points.key, points.check, points.packed, points.unpacked
        self._inside, self._check_saved, self._turn = points.inside, points.check_saved, turn
        self.bases: list[Base] = []
        self.checks: dict[int, tuple[Array, float, float]] = {}

    @property
    def stats(self) -> Array:
        """The sums, counts and pending observations of the cells of all instances, and of what was checked."""
        checks = np.array([(total, count, 0.0) for _, total, count in self.checks.values()]).reshape(-1, 3)
        return np.concatenate([*(base._stats[:, :3] for base in self.bases), checks])

    def name(self, base: int, cell: int) -> int:
        """Return the handle of a cell of an instance."""
        return cell * MAX_INSTANCES + base

    def point(self, handle: int) -> Array:
        """Return the point of a cell, or what an instance recommends that is checked."""
        cell, base = divmod(handle, MAX_INSTANCES)
        if base < CHECKED:
            return self.bases[base].arms.point(cell)
        known = self.checks.get(base - CHECKED)
        return self.bases[base - CHECKED]._recommend() if known is None else known[0].copy()

    def handle(self, point: Any) -> int:
        """Return the cell that a reward at a point is for, of the instance whose turn it is."""
        self._inside(point)
        turn = self._turn() % CHECKED
        return self.name(turn, self.bases[turn].arms.handle(point))

    def admits(self, key: bytes, handle: int) -> bool:
        """Tell whether a point is that of a cell, or lies in it, or may be one that is checked."""
        cell, base = divmod(handle, MAX_INSTANCES)
        if handle < 0 or base % CHECKED >= len(self.bases):
            return False
        return cell == 0 if base >= CHECKED else self.bases[base].arms.admits(key, cell)

    def observe(self, handle: int, point: Any, value: float, released: float) -> None:
        """Learn a scaled reward at a point."""
        cell, base = divmod(handle if handle != ELSEWHERE else self.handle(point), MAX_INSTANCES)
        if base >= CHECKED:
            base, released, inside = base - CHECKED, 0.0, as_point(point, self.space.dim)
            checked, total, count = self.checks.get(base, (inside.copy(), 0.0, 0.0))
            if np.array_equal(checked, inside):
                self.checks[base] = checked, total + value, count + 1
                return
            cell = self.bases[base].arms.handle(point)  # it recommended another by then
        self.bases[base]._observe(cell, point, value, released)
        self.bases[base].count_rounds(1)

    def expect(self, handle: int, point: Any, amount: float) -> None:
        """Add to the pending observations of a cell."""
        cell, base = divmod(handle, MAX_INSTANCES)
        if base < CHECKED:
            self.bases[base]._expect(cell, point, amount)

    def player(self, number: int) -> "Base | Check":
        """Return an instance, or what checks it."""
        if number < CHECKED:
            return self.bases[number]
        return Check(self, number - CHECKED)

    @property
    def best(self) -> Base | None:
        """The instance with the largest mean reward, None before any reward."""
        known = [base for base in self.bases if base.rounds]
        return max(known, key=_mean, default=None)

    @property
    def state(self) -> tuple[list[dict[str, Any]], Arrays]:
        """What a file keeps: numbers and arrays of each instance."""
        kept: Arrays = {}
        for i, base in enumerate(self.bases):
            kept |= {f"{i}.{name}": part for name, part in base._state()[1].items()}
        rows = [(number, total, count, *point) for number, (point, total, count) in self.checks.items()]
        kept["checks"] = np.array(rows).reshape(-1, 3 + self.space.dim)
        return [base._state()[0] | {"rounds": base.rounds, "goal": base._goal} for base in self.bases], kept

    def restore(self, scalars: list[dict[str, Any]], arrays: Arrays, make: Callable[[int, int], Base]) -> None:
        """Undo `state`, checked, given how instances are made, by number and horizon."""
        if not 1 <= len(scalars) < CHECKED:
            raise ValueError(f"{len(scalars)} instances")
        self.bases = []
        for i, one in enumerate(scalars):
            own = {name.removeprefix(f"{i}."): part for name, part in arrays.items() if name.startswith(f"{i}.")}
            base = make(i, as_count(one["goal"], "goal"))
            base._rounds = as_count(one["rounds"], "rounds", minimum=0)
            base._restore(one, own)
            self.bases.append(base)
        rows = arrays["checks"]
        if rows.shape != (len(rows), 3 + self.space.dim) or not np.isfinite(rows).all():
            raise ValueError(f"checks of shape {rows.shape}")
        numbers = rows[:, 0].astype(np.int64)
        if not np.isin(rows[:, 0], np.arange(len(self.bases))).all() or len(np.unique(numbers)) < len(numbers):
            raise ValueError("checks of no instance")
        if (rows[:, 1] < 0).any() or (rows[:, 1] > rows[:, 2]).any():
            raise ValueError("checks that cannot be")
        if len(rows):
            self._check_saved(rows[:, 3:])
        self.checks = {
            number: (row[3:].copy(), float(row[1]), float(row[2]))
            for number, row in zip(numbers.tolist(), rows, strict=True)
        }


@final
class Check:
    """What an instance recommends, as a player with one arm whose rewards are kept apart.

    Parameters
    ----------
    instances : Instances
        Where the rewards are kept.
    number : int
        The instance.
    """

    rounds_left = math.inf

    def __init__(self, instances: Instances, number: int) -> None:
        self._instances, self._number = instances, number
        self.arms = self.numbering = self

    def __len__(self) -> int:
        return 1

    def point(self, handle: int) -> Array:
        """Return the point that the instance recommends."""
        return self._instances.point(CHECKED + self._number)

    def points_from(self, first: int) -> Array:
        """Return the same, in a row."""
        return self.point(0)[None]

    def settle(self) -> None:
        """Do nothing: no ask is pending here."""

    def count_rounds(self, rounds: int) -> None:
        """Do nothing: rounds are counted with rewards."""

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds; return the only handle for each."""
        low, high = self._instances.bases[self._number].reward_range
        values = ((draws < means[0]).astype(float) - low) / (high - low)
        none = (self.point(0), 0.0, 0.0)
        point, total, count = self._instances.checks.get(self._number, none)
        total = float(np.cumsum(np.append(total, values))[-1])  # one after the other
        self._instances.checks[self._number] = point, total, count + len(values)
        return np.zeros(len(draws), dtype=np.int64)


def _mean(base: Base) -> float:
    """Return the mean reward of an instance that has some."""
    sums, counts = base._stats[:, SUM], base._stats[:, COUNT]
    # HOO adds rewards to all cells about them
    own = slice(ROOT, ROOT + 1) if isinstance(base, HOO) else slice(None)
    return float(sums[own].sum() / counts[own].sum())
