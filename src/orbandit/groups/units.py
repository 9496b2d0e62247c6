"""Units: coordinates in which a space is about one wide, so that metres may stand beside degrees.

    u_i = x_i / s_i,     s_i = the largest width of the space over the class of coordinate i

Coordinates are of one class if the group mixes them, or if the space gives them one unit, as a ball
does. A diagonal matrix D with one entry for each class commutes with every element g, since (D_ii -
D_jj) g_ij = 0 for all i and j. So the group acts on u by the same matrices, about the centre
divided by s, and invariant functions stay invariant. If a user scales a class of coordinates, u
does not change, to the last bit if the factor is a power of two.
"""

from typing import TYPE_CHECKING, Self, final

import numpy as np

from orbandit._checks import Array, frozen
from orbandit.spaces import Space
from orbandit.spaces.base import Classes

if TYPE_CHECKING:
    from orbandit.groups.base import Group

MIXED = 1e-9
"""Entries of a generator below this do not mix coordinates."""


@final
class Units:
    """The unit of each coordinate of a space, and the space and the group in these units.

    Parameters
    ----------
    space : Space
        The space in the user's units.
    group : Group, optional
        The symmetry, which must map the space onto itself.

    Attributes
    ----------
    sizes : (dim,) array
        The units, in the user's.
    space, group
        In these units.

    Examples
    --------
    >>> import orbandit as ob
    >>> units = Units(ob.spaces.Box([0.0, 0.0, 10.0], [0.5, 0.5, 1010.0]), ob.groups.Permutation([[1, 0, 2]]))
    >>> units.sizes.tolist(), units.space
    ([0.5, 0.5, 1000.0], Box([0.0, 0.0, 0.01], [1.0, 1.0, 1.01]))
    """

    def __init__(self, space: Space, group: "Group | None") -> None:
        sizes = class_widths(space, _generators(space, group))
        self._set(space, sizes, space.in_units(sizes), group and group.centered(group.center / sizes))

    @classmethod
    def same(cls, space: Space, group: "Group | None") -> Self:
        """Return the user's own units."""
        units = object.__new__(cls)
        units._set(space, np.ones(space.dim), space, group)
        return units

    def _set(self, given: Space, sizes: Array, space: Space, group: "Group | None") -> None:
        self._given, self.sizes, self.space, self.group = given, frozen(sizes), space, group
        self._are_same = bool((sizes == 1.0).all())

    @property
    def generators(self) -> Array:
        """Those of the group, (k, dim, dim); none without a group."""
        return _generators(self.space, self.group)

    def enter(self, points: Array) -> Array:
        """Return points in these units."""
        return points if self._are_same else points / self.sizes

    def leave(self, points: Array) -> Array:
        """Return points in the user's units, and in the space whatever the rounding."""
        if self._are_same:
            return points
        left = np.atleast_2d(points * self.sizes)
        outside = ~np.asarray(self._given.contains(left, tol=0.0))
        if outside.any():
            left[outside] = self._given.project(left[outside])
        return left.reshape(points.shape)


def _generators(space: Space, group: "Group | None") -> Array:
    return np.empty((0, space.dim, space.dim)) if group is None else group.generators


def class_widths(space: Space, generators: Array) -> Array:
    """Return the largest width of the space over the class of each coordinate, (dim,)."""
    classes = scale_classes(generators, space.unit_classes)
    low, high = space.bounds
    widths = np.zeros(classes.max() + 1)
    np.maximum.at(widths, classes, high - low)
    return np.asarray(widths[classes])


def scale_classes(generators: Array, classes: Classes | None = None) -> Classes:
    """Return the class of each coordinate, (dim,): 0, 1, ..., where coordinates that a generator mixes share one.

    Parameters
    ----------
    generators : (k, dim, dim) array
        What mixes coordinates.
    classes : (dim,) array of int, optional
        Coordinates of one of these classes share one in any case.

    Examples
    --------
    >>> import orbandit as ob
    >>> scale_classes(ob.groups.BlockPermutation(3, 2).generators)
    array([0, 1, 0, 1, 0, 1])
    """
    classes = np.arange(generators.shape[1]) if classes is None else classes
    if not len(generators):
        return classes
    from scipy.sparse.csgraph import connected_components

    mixed = (np.abs(generators) > MIXED).any(axis=0) | (classes[:, None] == classes)
    return np.asarray(connected_components(mixed, directed=False)[1], dtype=np.intp)
