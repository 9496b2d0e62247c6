"""Scaled: a space in another unit, for spaces without a closed form in that unit."""

from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.spaces.base import Space


@final
class Scaled(Space):
    """The points of a space divided by one unit: every result is that of the space, scaled.

    Parameters
    ----------
    space : Space
        The space in the user's unit.
    unit : float
        The divisor of coordinates.
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

    def farthest_distance(self, point: Array) -> float:
        """Return the space's, divided by the unit."""
        return self._space.farthest_distance(point * self._unit) / self._unit

    def halfspaces(self) -> tuple[Array, Array]:
        """Return the space's, offsets divided by the unit."""
        normals, offsets = self._space.halfspaces()
        return normals, offsets / self._unit

    def frame(self) -> tuple[Array, Array]:
        """Return the space's, the origin divided by the unit."""
        origin, axes = self._space.frame()
        return origin / self._unit, axes

    def ball_constraints(self) -> list[tuple[slice, Array, float]]:
        """Return the space's, divided by the unit."""
        constraints = self._space.ball_constraints()
        return [(part, center / self._unit, radius / self._unit) for part, center, radius in constraints]
