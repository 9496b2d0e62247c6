"""The protocol of a symmetry group: isometries of R^dim about a fixed point, the centre.

    g . x = center + g (x - center),     g orthogonal.

Public methods check their input once, move the centre to the origin and call the private hooks,
which see clean (m, dim) arrays and linear maps only. The orbit metric and the fold are

    distance(x, y) = min over g of ||g x - y||,     fold(x) = the representative of x's orbit in the domain.
"""

import copy
import math
from abc import ABC, abstractmethod
from functools import cached_property, partial
from typing import Self

import numpy as np
import numpy.typing as npt

from orbandit._checks import (
    Array,
    RandomLike,
    as_count,
    as_finite,
    as_generator,
    as_point,
    as_points,
    check_room,
    frozen,
    safe_scale,
    shown,
)
from orbandit._recipes import Recipe
from orbandit.errors import GroupTooLargeError, InputError, InputTypeError, NoDomainError
from orbandit.groups.closure import SAME_POINT, close_points, generic_point
from orbandit.groups.domain import Domain, dirichlet_normals
from orbandit.groups.preservation import preserved
from orbandit.groups.structures import Listed, Structure
from orbandit.groups.ties import Flags, inner_products, settled
from orbandit.groups.units import class_widths
from orbandit.spaces import Space

MAX_ELEMENTS = 100_000
"""Most group elements, or points of an orbit, that are listed unless the caller allows more."""

MAX_LISTED = 2**24
"""Most entries of the matrices that a group lists by itself, and of its generators in an agent."""

ALIGNED_AT_ONCE = 2**22
"""About how many numbers the matrices have that align some points at a time."""


class Group(Recipe, ABC):
    """A group of isometries of R^dim that fix a centre.

    The private hooks act about the origin; a new group implements the abstract ones. Other packages
    also use `fold_normals`, `fold_support`, `structure` and `unit_coordinates`, which have
    defaults.

    Parameters
    ----------
    center : (dim,) array
        The fixed point about which the group acts.

    Examples
    --------
    >>> import orbandit as ob
    >>> group = ob.groups.Dihedral(4)
    >>> group.order, group.dim, group.preserves(ob.spaces.Ball(2))
    (8, 2, True)
    >>> group.fold([-0.9, 0.2]).round(12), round(float(group.distance([-0.9, 0.2], [0.2, 0.9])), 12)
    (array([0.9, 0.2]), 0.0)
    >>> len(group.orbit([0.9, 0.2])), len(group.orbit([0.5, 0.5]))
    (8, 4)
    """

    _center: Array

    def __init__(self, center: npt.ArrayLike) -> None:
        self._center = frozen(center)

    def __repr__(self) -> str:
        place = f".centered({self._center.tolist()})" if self._center.any() else ""
        return self._name() + place

    @property
    def dim(self) -> int:
        """Number of coordinates of the points acted on."""
        return len(self._center)

    @property
    @abstractmethod
    def order(self) -> int | float:
        """Number of elements: an int, or math.inf."""

    @property
    def center(self) -> Array:
        """The fixed point about which the group acts."""
        return self._center

    @cached_property
    def generators(self) -> Array:
        """Elements that generate the group (a dense subgroup, if it is infinite), as (k, dim, dim) matrices."""
        return frozen(self._generators())

    @property
    def _effort(self) -> int:
        """How many images are compared for one orbit distance: 1 for a closed form."""
        return 1

    @property
    def is_reflection(self) -> bool:
        """Whether reflections are known to generate the group; then distance(x, y) = ||fold(x) - fold(y)||."""
        return False

    @property
    def max_generators(self) -> int:
        """Most generators there can be; agents check it before any of them is made."""
        return self.dim

    @property
    def fold_normals(self) -> Array:
        """Unit inward normals (h, dim) of a cone about the centre that contains every fold.

        Nets and trees of cells use it. It is the domain; a group without one has some cone, perhaps
        all of space.
        """
        return self._normals

    @property
    def fold_support(self) -> npt.NDArray[np.bool_]:
        """Which coordinates of fold - center may differ from 0.

        Nets and trees leave out the rest.
        """
        return np.ones(self.dim, dtype=bool)

    @property
    def structure(self) -> Structure:
        """The structure of orbits, for the kernels of `OrbitGP`.

        By default all elements are listed.
        """
        return Listed()

    @property
    def unit_coordinates(self) -> list[npt.NDArray[np.intp]]:
        """The coordinates of each unit that the group moves as a whole.

        Searches move one unit at a time. By default each coordinate is a unit.

        Examples
        --------
        >>> import orbandit as ob
        >>> turbines = ob.groups.BlockPermutation(2, 2)
        >>> ob.groups.Product(turbines, ob.groups.Symmetric(2)).unit_coordinates
        [array([0, 1]), array([2, 3]), array([4]), array([5])]
        >>> ob.groups.Diagonal(ob.groups.Dihedral(5), 2).unit_coordinates
        [array([0, 1]), array([2, 3])]
        """
        return list(np.arange(self.dim)[:, None])

    def centered(self, point: npt.ArrayLike) -> Self:
        """Return the same action about another fixed point.

        Parameters
        ----------
        point : (dim,) array
            The new fixed point.

        Examples
        --------
        >>> import orbandit as ob
        >>> flips = ob.groups.SignFlips(2).centered([0.5, 0.5])
        >>> flips.fold([0.2, 0.7])
        array([0.8, 0.7])
        """
        moved = copy.copy(self)
        moved._center = frozen(as_point(point, self.dim))
        return moved

    def elements(self, limit: int = MAX_ELEMENTS) -> Array:
        """Return all elements as orthogonal matrices, (order, dim, dim).

        Parameters
        ----------
        limit : int
            Most elements to list, at least 1.

        Raises
        ------
        GroupTooLargeError
            If there are more than `limit`.
        """
        if self.order > as_count(limit, "limit"):
            raise GroupTooLargeError(
                f"{shown(self)} has {_shown(self.order)} elements, more than `limit`={limit}; use fold, distance "
                "or random, which do not list them, or pass a larger `limit`."
            )
        check_room("the elements", int(self.order), self.dim, self.dim)
        return self._elements()

    def act(self, elements: npt.ArrayLike, points: npt.ArrayLike, *, paired: bool = False) -> Array:
        """Apply elements to points, about the centre.

        Parameters
        ----------
        elements : (k, dim, dim) or (dim, dim) array
            Orthogonal matrices, as `elements`, `random` and `generators` give them.
        points : (m, dim) or (dim,) array
            The points.
        paired : bool
            Whether the i-th element moves the i-th point only; there must be as many of both.

        Returns
        -------
        (k, m, dim) array
            Each element applied to each point; (k, dim) if they are paired. Without the axes of a
            single element or point.

        Examples
        --------
        >>> import orbandit as ob
        >>> quarter_turns = ob.groups.Cyclic(4)
        >>> elements, points = quarter_turns.elements()[:2], [[1.0, 0.0], [0.0, 2.0]]
        >>> quarter_turns.act(elements, points).shape
        (2, 2, 2)
        >>> quarter_turns.act(elements, points, paired=True).round(12) + 0.0
        array([[ 1.,  0.],
               [-2.,  0.]])
        """
        matrices = as_finite(elements, "elements")
        if matrices.ndim not in (2, 3) or matrices.shape[-2:] != (self.dim, self.dim):
            raise InputError(
                f"`elements` must have shape ({self.dim}, {self.dim}) or (k, {self.dim}, {self.dim}), "
                f"but got shape {matrices.shape}."
            )
        batch, single = as_points(points, self.dim)
        if paired:
            shape = (self.dim,) if single else batch.shape
            if matrices.shape[:-1] != shape:
                raise InputError(
                    f"paired `elements` and `points` must have one length, but got shapes {matrices.shape} "
                    f"and {shape}; leave `paired` out to apply each element to each point."
                )
            return np.asarray(
                np.einsum("...ij,...j->...i", matrices, batch.reshape(shape) - self._center) + self._center
            )
        images = (batch - self._center) @ np.swapaxes(matrices, -1, -2) + self._center
        return images[..., 0, :] if single else images

    def orbit(self, point: npt.ArrayLike, limit: int = MAX_ELEMENTS) -> Array:
        """Return the distinct images of a point, the point itself first.

        Images within 1e-9, times the size of the point if that is above 1, are one. A large group
        may have a small orbit: only the orbit must stay within `limit`.

        Parameters
        ----------
        point : (dim,) array
            The point.
        limit : int
            Most images to list, at least 1.

        Examples
        --------
        >>> import orbandit as ob
        >>> ob.groups.Symmetric(3).orbit([0.0, 0.0, 1.0])
        array([[0., 0., 1.],
               [0., 1., 0.],
               [1., 0., 0.]])
        """
        offset = as_point(point, self.dim) - self._center
        limit = as_count(limit, "limit")
        tolerance = SAME_POINT * max(1.0, float(np.abs(offset).max()))
        return self._orbit(offset, tolerance, limit) + self._center

    def stabilizer(self, point: npt.ArrayLike, limit: int = MAX_ELEMENTS) -> Array:
        """Return the stabiliser of a point, (k, dim, dim), to within 1e-9 max(1, its size).

        Parameters
        ----------
        point : (dim,) array
            The point.
        limit : int
            Most elements to list, at least 1.
        """
        offset = as_point(point, self.dim) - self._center
        tolerance = SAME_POINT * max(1.0, float(np.abs(offset).max()))
        return self._stabilizer(offset, tolerance, as_count(limit, "limit"))

    def fold(self, points: npt.ArrayLike) -> Array:
        """Return the representative of each point's orbit.

        It lies in `domain()`, where there is one (to within 1e-9 for points of moderate size), and
        folding again changes nothing. For reflection groups it is the same for all images of a
        point; for others this holds away from the domain's walls, and on them the representatives
        have orbit distance zero.

        Parameters
        ----------
        points : (m, dim) or (dim,) array

        Returns
        -------
        (m, dim) or (dim,) array
        """
        batch, single = as_points(points, self.dim)
        if self._center.any():
            # Taking the centre away and adding it again costs this much of a coordinate.
            slack = 4 * float(np.finfo(np.float64).eps * np.abs(self._center).max())
            folded = settled(batch, partial(self._fold_about_center, slack))
        else:
            folded = self._fold(batch)
        return folded[0] if single else folded

    def distance(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Array | np.float64:
        """Return the orbit distances min over g of ||g a_i - b_j||, exactly.

        Parameters
        ----------
        a : (m, dim) or (dim,) array
        b : (k, dim) or (dim,) array

        Returns
        -------
        (m, k) array
            Without the axes of single points.
        """
        left, left_single = as_points(a, self.dim, "a")
        right, right_single = as_points(b, self.dim, "b")
        left, right = left - self._center, right - self._center
        size = max(safe_scale(left), safe_scale(right))
        distances = size * self._distance(left / size, right / size)
        if left_single and right_single:
            return np.float64(distances[0, 0])
        flat = left_single or right_single
        return distances.ravel() if flat else distances

    def align(self, points: npt.ArrayLike, target: npt.ArrayLike) -> Array:
        """Return the image of each point that is nearest to a target, at the orbit distance from it.

        Of images that are equally near, any may be returned, but the same one whatever the points
        beside it.

        Parameters
        ----------
        points : (m, dim) or (dim,) array
        target : (dim,) array

        Returns
        -------
        (m, dim) or (dim,) array

        Examples
        --------
        >>> import orbandit as ob
        >>> ob.groups.BlockPermutation(2, 2).align([0.9, 0.1, 0.2, 0.8], [0.0, 1.0, 1.0, 0.0])
        array([0.2, 0.8, 0.9, 0.1])
        """
        batch, single = as_points(points, self.dim)
        offsets, step = batch - self._center, max(1, ALIGNED_AT_ONCE // self.dim**2)
        chunks = [slice(start, start + step) for start in range(0, len(batch), step)]
        images = [np.einsum("mij,mj->mi", self.aligning_elements(batch[one], target), offsets[one]) for one in chunks]
        aligned = np.concatenate([np.empty((0, self.dim)), *images]) + self._center
        return np.asarray(aligned[0] if single else aligned)

    def aligning_elements(self, points: npt.ArrayLike, target: npt.ArrayLike) -> Array:
        """Return for each point the element whose image of it is nearest to a target, (m, dim, dim).

        For a finite group it is, almost everywhere, the derivative of `align`, which gradients of
        kernels need.

        Parameters
        ----------
        points : (m, dim) or (dim,) array
            The points.
        target : (dim,) array
            The target.
        """
        batch, single = as_points(points, self.dim)
        offsets, goal = batch - self._center, as_point(target, self.dim, "target") - self._center
        size = max(safe_scale(offsets), safe_scale(goal))
        elements = self._aligning(offsets / size, goal / size)
        return elements[0] if single else elements

    def folding_elements(self, points: npt.ArrayLike) -> Array:
        """Return for each point an element that carries it to its fold, (m, dim, dim).

        Away from the walls of the domain it is the derivative of `fold`, which gradients of kernels
        need.

        Parameters
        ----------
        points : (m, dim) or (dim,) array
            The points.

        Examples
        --------
        >>> import orbandit as ob
        >>> ob.groups.Symmetric(2).folding_elements([0.7, 0.2])
        array([[0., 1.],
               [1., 0.]])
        """
        batch, single = as_points(points, self.dim)
        elements = self._folding_elements(batch - self._center)
        return elements[0] if single else elements

    def random(self, size: int, rng: RandomLike) -> Array:
        """Draw independent elements, uniform on the group: (size, dim, dim), at most 2^29 numbers.

        Parameters
        ----------
        size : int
            Number of elements, at least 0.
        rng : int, SeedSequence or Generator
            Source of randomness; a generator is advanced.
        """
        size = as_count(size, "size", minimum=0)
        check_room("the elements", size, self.dim, self.dim)
        return self._random(size, as_generator(rng))

    def domain(self, point: npt.ArrayLike | None = None) -> Domain:
        """Return a fundamental domain: a cone with its apex in the centre that meets every orbit.

        Parameters
        ----------
        point : (dim,) array, optional
            The domain becomes the Dirichlet domain of this point: all that is at least as near to
            it as to its images. No element but the identity may fix it. By default the group
            chooses, and `fold` lands in the domain it chose.

        Raises
        ------
        NoDomainError
            If the group has no polyhedral domain, or more elements than can be examined.
        """
        default = Domain(self._normals, self._center)
        if point is None:
            return default
        offset = as_point(point, self.dim) - self._center
        try:
            fixing, normals = self.stabilizer(point), self._normals_about(offset)
        except GroupTooLargeError as error:
            raise NoDomainError(f"{shown(self)} is too large for a domain about a given point: {error}") from error
        if len(fixing) > 1:
            raise InputError(
                f"`point` must be moved by every element but the identity, but {len(fixing) - 1} others fix "
                f"{shown(np.asarray(point))}; move it off the walls."
            )
        return Domain(normals, self._center)

    def preserves(self, space: Space) -> bool:
        """Return whether every element maps the space onto itself (to within 1e-9 of its size).

        Parameters
        ----------
        space : Space
            The space, of the same dimension as the group.

        Examples
        --------
        >>> import orbandit as ob
        >>> swap = ob.groups.Symmetric(2)
        >>> swap.preserves(ob.spaces.Box(0, 1, dim=2)), swap.preserves(ob.spaces.Box([0, 0], [1, 2]))
        (True, False)
        """
        if not isinstance(space, Space):
            raise InputTypeError(
                f"`space` must be one of ob.spaces, but got {shown(space)}.", field="space", value=space
            )
        if space.dim != self.dim:
            raise InputError(
                f"`space` and group must have one dimension, but {shown(space)} has {space.dim} and {shown(self)} has "
                f"{self.dim}.",
                field="group",  # of the two, it is what is changed
                value=self,
            )
        # a tolerance has a meaning only where all sides are alike
        units = class_widths(space, self.generators)
        return preserved(space.in_units(units), self.generators, self._center / units)

    def _fold_about_center(self, slack: float, points: Array) -> tuple[Array, Flags]:
        """Fold about the centre.

        Unless the quotient is Euclidean, any point may need a second fold.
        """
        folded = self._fold(points - self._center, slack) + self._center
        return folded, np.full(len(points), not self.is_reflection)

    @abstractmethod
    def _name(self) -> str:
        """Return the constructor call that makes this group, without its centre."""

    @abstractmethod
    def _generators(self) -> Array: ...

    @abstractmethod
    def _elements(self) -> Array:
        """Return all elements; called only where `order` allows it."""

    @abstractmethod
    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        """Fold points about the origin; coordinates within `slack`, or within TIE of a point's size, are equal."""

    @abstractmethod
    def _distance(self, a: Array, b: Array) -> Array: ...

    @abstractmethod
    def _random(self, size: int, rng: np.random.Generator) -> Array: ...

    @property
    def _base_point(self) -> Array:
        """A point within the domain, which no element but the identity fixes."""
        (point,) = self._fold(generic_point(self.dim)[None])
        return np.asarray(point)

    @property
    @abstractmethod
    def _normals(self) -> Array:
        """Unit inward normals of the faces of the domain that `_fold` lands in."""

    def _normals_about(self, point: Array) -> Array:
        return dirichlet_normals(point, self.elements() @ point)

    def _on_copies(self, copies: int) -> tuple[int, "Group"]:
        """Return how many blocks this group moves, and the group that moves all their copies.

        `Diagonal` uses it. By default the group moves one block, its point, by listed elements.
        """
        from orbandit.groups.diagonal import Copies  # which is a group itself

        return 1, Copies(self, copies)

    def _stabilizer(self, point: Array, tolerance: float, limit: int) -> Array:
        elements = self.elements(limit)
        fixing: Array = elements[np.abs(elements @ point - point).max(axis=1) <= tolerance]
        return fixing

    def _aligning(self, points: Array, target: Array) -> Array:
        """Return for each point the element that brings it nearest to the target, (m, dim, dim)."""
        elements = self.elements()
        scores = inner_products(points, target @ elements)  # ||g x - y||^2 is least where <g x, y> is largest
        return np.asarray(elements[scores.argmax(axis=1)])

    def _folding_elements(self, points: Array) -> Array:
        """Return for each point an element that carries it to its fold, (m, dim, dim)."""
        pairs = zip(points, self._fold(points), strict=True)
        return np.array([self._aligning(x[None], y)[0] for x, y in pairs]).reshape(-1, self.dim, self.dim)

    def _orbit(self, point: Array, tolerance: float, limit: int) -> Array:
        return close_points(point, self.generators, tolerance, limit)


def check_fit(space: object, group: object) -> None:
    """Refuse anything but a space and a group that preserves it; None is no symmetry."""
    if not isinstance(space, Space) or not isinstance(group, Group | None):
        field, value = ("group", group) if isinstance(space, Space) else ("space", space)
        text = f"`space` and `group` must be of ob.spaces and ob.groups, but got {shown(space)}, {shown(group)}."
        raise InputTypeError(text, field=field, value=value)
    if group is not None and not group.preserves(space):
        raise InputError(
            f"{shown(group)} does not preserve {shown(space)}; see `group.preserves` and `group.centered`.",
            field="group",
            value=group,
        )


def listed(group: Group) -> Array:
    """Return all elements of a part of another group, if they have at most MAX_LISTED entries."""
    return group.elements(min(MAX_ELEMENTS, max(1, MAX_LISTED // group.dim**2)))


def _shown(order: int | float) -> str:
    if order == math.inf:
        return "infinitely many"
    return f"{order:,}" if order < 10**7 else f"about 10^{math.log10(order):.1f}"
