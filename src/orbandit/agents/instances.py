"""Instances: several agents on cells as one; a handle names an instance and its cell."""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.files import Arrays
from orbandit.agents.hoo import HOO
from orbandit.agents.points import Points

MAX_INSTANCES = 2**16
"""A handle is the number of a cell times this, and the number of its instance."""


@final
class Instances:
    """Agents that play in turn, and their cells as arms.

    Parameters
    ----------
    points : Points
        Where they play.
    turn : callable
        Returns the number of the instance whose turn it is.

    Attributes
    ----------
    bases : list of HOO
        The instances.
    """

    def __init__(self, points: Points, turn: Callable[[], int]) -> None:
        self.space, self.group = points.space, points.group
        self.key, self.check, self.packed, self.unpacked = points.key, points.check, points.packed, points.unpacked
        self._inside, self._turn = points.inside, turn
        self.bases: list[HOO] = []

    @property
    def stats(self) -> Array:
        """The statistics of the cells of all instances."""
        return np.concatenate([base._stats for base in self.bases])

    def of(self, handle: int) -> tuple[HOO, int]:
        """Return the instance and the cell that a handle names."""
        return self.bases[handle % MAX_INSTANCES], handle // MAX_INSTANCES

    def name(self, base: int, cell: int) -> int:
        """Return the handle of a cell of an instance."""
        return cell * MAX_INSTANCES + base

    def point(self, handle: int) -> Array:
        """Return the point of a cell."""
        base, cell = self.of(handle)
        return base.arms.point(cell)

    def handle(self, point: Any) -> int:
        """Return the cell that a reward at a point is for, of the instance whose turn it is."""
        self._inside(point)
        turn = self._turn()
        return self.name(turn, self.bases[turn].arms.handle(point))

    def admits(self, key: bytes, handle: int) -> bool:
        """Tell whether a point is that of a cell, or lies in it."""
        if handle < 0 or handle % MAX_INSTANCES >= len(self.bases):
            return False
        base, cell = self.of(handle)
        return base.arms.admits(key, cell)

    @property
    def state(self) -> tuple[list[dict[str, Any]], Arrays]:
        """What a file keeps: numbers and arrays of each instance."""
        scalars, arrays = zip(*(base._state() for base in self.bases), strict=True)
        return list(scalars), {f"{i}.{name}": part for i, parts in enumerate(arrays) for name, part in parts.items()}

    def restore(self, scalars: list[dict[str, Any]], arrays: Arrays, make: Callable[[int], HOO]) -> None:
        """Undo `state`, checked, given how instances are made."""
        if not 1 <= len(scalars) <= MAX_INSTANCES:
            raise ValueError(f"{len(scalars)} instances")
        self.bases = []
        for i, one in enumerate(scalars):
            own = {name.removeprefix(f"{i}."): part for name, part in arrays.items() if name.startswith(f"{i}.")}
            base = make(i)
            base._restore(one, own)
            self.bases.append(base)
