"""Cyclic and Dihedral: rotations of the plane, and the mirrors of a regular polygon; a fold is one turn."""

import math
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, shown
from orbandit.groups.base import Group
from orbandit.groups.closure import check_limit, distinct
from orbandit.groups.domain import irredundant
from orbandit.groups.reflection import ReflectionGroup
from orbandit.groups.roots import MAX_ROTATIONS, dihedral_roots
from orbandit.groups.ties import TIE


@final
class Cyclic(Group):
    """The rotations of the plane by multiples of 2 pi / m.

    The domain is the wedge 0 <= angle <= 2 pi / m. Both its walls are one in the quotient: a point
    on (or within 1e-14 of) the upper one folds to the lower one.

    Parameters
    ----------
    m : int
        Number of rotations, at most 10^12.

    Examples
    --------
    >>> import orbandit as ob
    >>> quarter_turns = ob.groups.Cyclic(4)
    >>> quarter_turns.fold([-1.0, 2.0])
    array([2., 1.])
    """

    def __init__(self, m: int) -> None:
        self._m = as_count(m, "m", maximum=MAX_ROTATIONS)
        super().__init__(np.zeros(2))

    @property
    def order(self) -> int:
        """The number of rotations, m."""
        return self._m

    def _name(self) -> str:
        return f"Cyclic({self._m})"

    def _generators(self) -> Array:
        return _rotations([1], self._m)

    def _elements(self) -> Array:
        return _rotations(np.arange(self._m), self._m)

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        return _rotations(rng.integers(self._m, size=size), self._m)

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        # Rounding may put a point that was just beyond a wall just before it: the second turn then
        # settles it.
        return self._turn(self._turn(points, slack), slack)

    def _turn(self, points: Array, slack: float) -> Array:
        angles = np.arctan2(points[:, 1], points[:, 0])
        wobble = TIE + slack / np.maximum(np.hypot(*points.T), 1e-300)
        turns = np.floor((angles + np.minimum(wobble, 1e-3)) / (2 * math.pi / self._m))
        folded = _turned(points, -turns, self._m)
        if self._m > 1:
            # what was just below the upper wall is put on the lower one
            folded[:, 1] = np.maximum(folded[:, 1], 0.0)
        return folded

    def _distance(self, a: Array, b: Array) -> Array:
        # ||g x - y||^2 = (|x| - |y|)^2 + 4 |x| |y| sin(angle / 2)^2, at the least angle that g can
        # leave.
        r, s = np.hypot(*a.T)[:, None], np.hypot(*b.T)
        angles = np.arctan2(a[:, 1], a[:, 0])[:, None] - np.arctan2(b[:, 1], b[:, 0])
        wedge = 2 * math.pi / self._m
        left = angles - wedge * np.round(angles / wedge)
        return np.asarray(np.hypot(r - s, 2 * np.sqrt(r * s) * np.sin(left / 2)))

    def _orbit(self, point: Array, tolerance: float, limit: int) -> Array:
        check_limit(self._m, limit, f"the images of {shown(point)}")
        images: Array = self._elements() @ point
        return images[distinct(images, tolerance)]

    @property
    def _base_point(self) -> Array:
        half = math.pi / self._m
        return np.array([math.cos(half), math.sin(half)])

    @property
    def _normals(self) -> Array:
        if self._m == 1:
            return np.empty((0, 2))
        wedge = 2 * math.pi / self._m
        walls = np.array([[0.0, 1.0], [math.sin(wedge), -math.cos(wedge)]])
        return irredundant(walls, self._base_point)  # the two coincide for m = 2


@final
class Dihedral(ReflectionGroup):
    """The symmetries of the regular m-gon with a corner on the first axis; the domain is 0 <= angle <= pi / m.

    Parameters
    ----------
    m : int
        Number of rotations, at most 10^12; as many mirrors come with them.

    Examples
    --------
    >>> import orbandit as ob
    >>> group = ob.groups.Dihedral(5)
    >>> group.order, group.preserves(ob.spaces.Polytope.regular("polygon-5"))
    (10, True)
    """

    def __init__(self, m: int) -> None:
        self._m = as_count(m, "m", maximum=MAX_ROTATIONS)
        super().__init__(np.zeros(2))

    @property
    def order(self) -> int:
        """As many reflections as rotations, 2 m."""
        return 2 * self._m

    def _name(self) -> str:
        return f"Dihedral({self._m})"

    def _simple_roots(self) -> Array:
        return np.array([[0.0, 1.0]]) if self._m == 1 else dihedral_roots(self._m)

    def _elements(self) -> Array:
        rotations = _rotations(np.arange(self._m), self._m)
        return np.concatenate([rotations, rotations @ np.diag([1.0, -1.0])])

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        mirrors = np.where(rng.random((size, 1, 1)) < 0.5, np.diag([1.0, -1.0]), np.eye(2))
        return _rotations(rng.integers(self._m, size=size), self._m) @ mirrors

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        angles = np.arctan2(points[:, 1], points[:, 0])
        # leaves an angle of at most pi / m, up or down
        turns = np.round(angles / (2 * math.pi / self._m))
        folded = _turned(points, -turns, self._m)
        folded[:, 1] = np.abs(folded[:, 1])
        return folded


def _rotations(turns: npt.ArrayLike, m: int) -> Array:
    """Return the rotations by turns * 2 pi / m, (len(turns), 2, 2)."""
    angles = np.mod(turns, m) * (2 * math.pi / m)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.moveaxis(np.array([[cos, -sin], [sin, cos]]), -1, 0)


def _turned(points: Array, turns: Array, m: int) -> Array:
    """Return each point rotated by its own turns * 2 pi / m; no turn leaves it as it is, bit for bit."""
    turns = np.mod(turns, m)
    turned = np.einsum("mij,mj->mi", _rotations(turns, m), points)
    return np.where(turns[:, None] == 0, points, turned)
