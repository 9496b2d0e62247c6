"""Product: several spaces side by side; m turbines on a disk are a product of m disks."""

import math
from functools import cached_property
from typing import final

import numpy as np

from orbandit._checks import Array, check_room, shown
from orbandit.errors import InputError, InputTypeError
from orbandit.spaces.base import Classes, Space


@final
class Product(Space):
    """The Cartesian product of spaces: a point is the concatenation of a point of each.

    Parameters
    ----------
    *parts : Space
        At least one; nested products are flattened. `space ** m` is the product of m copies.

    Examples
    --------
    >>> import orbandit as ob
    >>> site, height = ob.spaces.Ball(2, radius=919.0), ob.spaces.Box(80.0, 120.0, dim=1)
    >>> turbine = ob.spaces.Product(site, height)
    >>> turbine.dim, round(turbine.diameter, 1)
    (3, 1838.4)
    >>> farm = site**8  # the product of eight copies
    >>> farm.dim, len(farm.parts)
    (16, 8)
    """

    def __init__(self, *parts: Space) -> None:
        if not parts:
            raise InputError("a product needs at least one space, but got none.")
        for part in parts:
            if not isinstance(part, Space):
                raise InputTypeError(f"a product is made of spaces, but got {shown(part)}.")
        self._parts = tuple(leaf for part in parts for leaf in (part.parts if isinstance(part, Product) else (part,)))
        ends = np.cumsum([part.dim for part in self._parts]).tolist()
        self._slices = [slice(end - part.dim, end) for part, end in zip(self._parts, ends, strict=True)]

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self._parts))})"

    @property
    def parts(self) -> tuple[Space, ...]:
        """The spaces, in the order of their coordinates."""
        return self._parts

    @property
    def dim(self) -> int:
        """Sum of the parts' dimensions."""
        return sum(part.dim for part in self._parts)

    @property
    def intrinsic_dim(self) -> int:
        """Sum of the parts' intrinsic dimensions."""
        return sum(part.intrinsic_dim for part in self._parts)

    @property
    def volume(self) -> float:
        """Product of the parts' volumes."""
        return math.prod(part.volume for part in self._parts)

    @property
    def diameter(self) -> float:
        """Root of the sum of the squares of the parts' diameters."""
        return math.hypot(*(part.diameter for part in self._parts))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The parts' bounds, side by side."""
        lows, highs = zip(*(part.bounds for part in self._parts), strict=True)
        return np.concatenate(lows), np.concatenate(highs)

    @property
    def unit_classes(self) -> Classes:
        """The parts' classes, side by side."""
        counts = np.cumsum([0, *(part.unit_classes.max() + 1 for part in self._parts)])
        return np.concatenate([part.unit_classes + first for part, first in zip(self._parts, counts, strict=False)])

    def _in_units(self, units: Array) -> "Product":
        # so that copies of one space stay copies of one
        scaled: dict[tuple[int, bytes], Space] = {}
        for part, own in zip(self._parts, self._slices, strict=True):
            key = id(part), units[own].tobytes()
            if key not in scaled:
                scaled[key] = part._in_units(units[own])
        parts = zip(self._parts, self._slices, strict=True)
        return Product(*(scaled[id(part), units[own].tobytes()] for part, own in parts))

    @cached_property
    def _copied(self) -> Space | None:
        """The space that all parts are copies of, if they are: then they are asked all at once."""
        first = self._parts[0]
        return first if all(part is first for part in self._parts) else None

    def _excess(self, points: Array) -> Array:
        if (one := self._copied) is not None:
            return np.asarray(
                one._excess(points.reshape(-1, one.dim)).reshape(len(points), len(self._parts)).max(axis=1)
            )
        excesses = [part._excess(points[:, own]) for part, own in zip(self._parts, self._slices, strict=True)]
        return np.asarray(np.max(excesses, axis=0))

    def _sample(self, size: int, rng: np.random.Generator) -> Array:
        return np.hstack([part._sample(size, rng) for part in self._parts])

    def _project(self, points: Array) -> Array:
        if (one := self._copied) is not None:
            return one._project(points.reshape(-1, one.dim)).reshape(points.shape)
        return np.hstack([part._project(points[:, own]) for part, own in zip(self._parts, self._slices, strict=True)])

    def _support(self, directions: Array) -> Array:
        heights = [part._support(directions[:, own]) for part, own in zip(self._parts, self._slices, strict=True)]
        return np.asarray(np.sum(heights, axis=0))

    def farthest_distance(self, point: Array) -> float:
        """Return the root of the sum of the squares of the parts' distances."""
        parts = zip(self._parts, self._slices, strict=True)
        return math.hypot(*(part.farthest_distance(point[own]) for part, own in parts))

    def halfspaces(self) -> tuple[Array, Array]:
        """Return the parts' half-spaces, each on its own coordinates."""
        check_room("the half-spaces of the product", 2 * self.dim, self.dim)
        normals, offsets = [], []
        for part, own in zip(self._parts, self._slices, strict=True):
            part_normals, part_offsets = part.halfspaces()
            rows = np.zeros((len(part_normals), self.dim))
            rows[:, own] = part_normals
            normals.append(rows)
            offsets.append(part_offsets)
        return np.vstack(normals), np.concatenate(offsets)

    def frame(self) -> tuple[Array, Array]:
        """Return the parts' frames side by side."""
        check_room("the axes of the product", self.dim, self.dim)
        origin, axes = np.empty(self.dim), np.zeros((self.intrinsic_dim, self.dim))
        row = 0
        for part, own in zip(self._parts, self._slices, strict=True):
            origin[own], part_axes = part.frame()
            axes[row : row + len(part_axes), own] = part_axes
            row += len(part_axes)
        return origin, axes

    def ball_constraints(self) -> list[tuple[slice, Array, float]]:
        """Return the parts' constraints, each on its own coordinates."""
        return [
            (slice(own.start + inner.start, own.start + inner.stop), center, radius)
            for part, own in zip(self._parts, self._slices, strict=True)
            for inner, center, radius in part.ball_constraints()
        ]
