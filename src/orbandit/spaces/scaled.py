"""Scaled: a space in another unit, for spaces that know no better way to write themselves in it."""

from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.spaces.base import Space


@final
class Scaled(Space):
    """The points of a space divided by one unit: every answer is that of the space, scaled.

    Parameters
    ----------
    space : Space
        In the user's unit.
    unit : float
        What coordinates are divided by.
    """

    def __init__(self, space: Space, unit: float) -> None:
        self._space, self._unit = space, unit

    def __repr__(self) -> str:
        return f"Scaled({self._space!r}, {self._unit})"

    @property
    def dim(self) -> int:
        """The space's."""
        return self._space.dim

    @property
    def intrinsic_dim(self) -> int:
        """The space's."""
        return self._space.intrinsic_dim

    @property
    def volume(self) -> float:
        """The space's, divided by the unit's power."""
        with np.errstate(over="ignore"):
            return float(self._space.volume * np.float64(1 / self._unit) ** self.intrinsic_dim)

    @property
    def diameter(self) -> float:
        """The space's, divided by the unit."""
        return self._space.diameter / self._unit

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The space's, divided by the unit."""
        low, high = self._space.bounds
        return low / self._unit, high / self._unit

    def _excess(self, points: Array) -> Array:
        return self._space._excess(points * self._unit) / self._unit

    def _sample(self, size: int, rng: np.random.Generator) -> Array:
        return self._space._sample(size, rng) / self._unit

    def _project(self, points: Array) -> Array:
        return self._space._project(points * self._unit) / self._unit

    def _support(self, directions: Array) -> Array:
        return self._space._support(directions) / self._unit

    def _farthest(self, point: Array) -> float:
        return self._space._farthest(point * self._unit) / self._unit

    def _halfspaces(self) -> tuple[Array, Array]:
        normals, offsets = self._space._halfspaces()
        return normals, offsets / self._unit

    def _frame(self) -> tuple[Array, Array]:
        origin, axes = self._space._frame()
        return origin / self._unit, axes

    def _round_parts(self) -> list[tuple[slice, Array, float]]:
        return [(part, center / self._unit, radius / self._unit) for part, center, radius in self._space._round_parts()]
