"""The protocol of an arm set: a compact convex set X in R^dim, asked about in batches of points.

Public methods check their input once and call the private hooks, which see clean (m, dim) arrays
only.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from orbandit._checks import (
    Array,
    RandomLike,
    as_count,
    as_dim,
    as_finite,
    as_generator,
    as_points,
    as_tolerance,
    check_room,
    identity,
)
from orbandit._recipes import Recipe
from orbandit.errors import InputError

if TYPE_CHECKING:
    from orbandit.spaces.product import Product

BoolArray = npt.NDArray[np.bool_]

Classes = npt.NDArray[np.intp]
"""The class of each coordinate, (dim,): 0, 1, ..."""


class Space(Recipe, ABC):
    """A compact convex set of points.

    A batch of points has shape (m, dim); a single point (dim,) is accepted wherever a batch is, and
    then the result drops the batch axis. A new space implements what groups, meshes and problems
    use (`halfspaces`, `ball_constraints`, `frame`, `farthest_distance`), and the private hooks of
    the checked methods.

    Examples
    --------
    >>> import orbandit as ob
    >>> space = ob.spaces.Ball(2)
    >>> space.dim, bool(space.contains([0.6, 0.8])), space.project([3.0, 4.0])
    (2, True, array([0.6, 0.8]))
    >>> space.sample(5, 0).shape
    (5, 2)
    """

    def __pow__(self, copies: int) -> "Product":
        """Return the `Product` of several copies of this space, for as many units of one kind.

        Examples
        --------
        >>> import orbandit as ob
        >>> layouts = ob.spaces.Ball(2, radius=919.0) ** 8  # eight turbines on a disk
        >>> layouts.dim, len(layouts.parts)
        (16, 8)
        """
        from orbandit.spaces.product import Product  # which is a space itself

        many = as_dim(copies, "copies")
        as_dim(many * self.dim, "copies * space.dim")
        return Product(*[self] * many)

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of coordinates of a point."""

    @property
    def intrinsic_dim(self) -> int:
        """Dimension of the set itself, the d of every formula; less than `dim` for a flat set."""
        return self.dim

    @property
    @abstractmethod
    def volume(self) -> float:
        """The set's measure in its intrinsic dimension."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """The largest distance between two points of the set."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[Array, Array]:
        """The smallest box around the set, as (low, high)."""

    @property
    def unit_classes(self) -> Classes:
        """The class of each coordinate, (dim,): a class shares one unit.

        By default all are one class.
        """
        return np.zeros(self.dim, dtype=np.intp)

    def in_units(self, units: npt.ArrayLike) -> "Space":
        """Return the same set in other units: each coordinate divided by its unit.

        Parameters
        ----------
        units : (dim,) array
            Positive, and equal within each of `unit_classes`: a ball stretched one way is no ball.

        Examples
        --------
        >>> import orbandit as ob
        >>> ob.spaces.Box([0.0, 10.0], [0.5, 1000.0]).in_units([0.5, 10.0])
        Box([0.0, 1.0], [1.0, 100.0])
        """
        given = np.array(np.broadcast_to(as_finite(units, "units"), (self.dim,)))
        if not (given > 0).all():
            raise InputError(f"`units` must be positive, but got {given.min()}.")
        classes = self.unit_classes
        if (given != given[np.unique(classes, return_index=True)[1]][classes]).any():
            raise InputError(f"`units` must be equal for coordinates of {self!r} that have one unit; see unit_classes.")
        return self._in_units(given)

    @property
    def tolerance(self) -> float:
        """The tolerance for points just outside the set: 1e-9 of its size, plus rounding.

        Agents and problems pass it to `contains` for points from a user or from a file.
        """
        return 1e-9 * self.diameter + 4 * float(np.spacing(np.abs(self.bounds).max()))

    def contains(self, points: npt.ArrayLike, tol: float = 1e-9) -> BoolArray | np.bool_:
        """Return which points lie in the set.

        Parameters
        ----------
        points : (m, dim) or (dim,) array
            The points.
        tol : float
            By how much, as a length, each constraint of the set may be violated.
        """
        batch, single = as_points(points, self.dim)
        inside = self._excess(batch) <= as_tolerance(tol)
        return inside[0] if single else inside

    def sample(self, size: int, rng: RandomLike) -> Array:
        """Draw independent points, uniform on the set: a (size, dim) array of at most 2^29 numbers.

        Parameters
        ----------
        size : int
            Number of points, at least 0.
        rng : int, SeedSequence or Generator
            Source of randomness; a generator is advanced.
        """
        size = as_count(size, "size", minimum=0)
        check_room("the sample", size, self.dim)
        return self._sample(size, as_generator(rng))

    def project(self, points: npt.ArrayLike) -> Array:
        """Return the nearest point of the set to each point.

        Parameters
        ----------
        points : (m, dim) or (dim,) array
            The points.
        """
        batch, single = as_points(points, self.dim)
        nearest = self._project(batch)
        return nearest[0] if single else nearest

    def support(self, directions: npt.ArrayLike) -> Array:
        """Return the support function: the largest <u, x> over x in the set, for each direction u.

        Parameters
        ----------
        directions : (m, dim) or (dim,) array
            The directions u.
        """
        batch, single = as_points(directions, self.dim, "directions")
        heights = self._support(batch)
        return heights[0] if single else heights

    @abstractmethod
    def farthest_distance(self, point: Array) -> float:
        """Return the largest distance of a point of the set from a (dim,) point.

        Parameters
        ----------
        point : (dim,) array
            Any point.
        """

    @abstractmethod
    def halfspaces(self) -> tuple[Array, Array]:
        """Return (normals, offsets): the set is {x : normals @ x <= offsets}, cut with `ball_constraints`.

        Meshes, certificates of optima and `Group.preserves` use these two.
        """

    def ball_constraints(self) -> list[tuple[slice, Array, float]]:
        """Return the constraints ||x[part] - center|| <= radius that are no half-spaces, as (part, center, radius)."""
        return []

    def frame(self) -> tuple[Array, Array]:
        """Return (origin, axes): orthonormal rows (intrinsic_dim, dim) that span the set's affine hull from the origin.

        Meshes and searches walk along them, and so never leave a flat set.
        """
        return np.zeros(self.dim), identity(self.dim)

    def _in_units(self, units: Array) -> "Space":
        """Return the set with coordinates divided by units that fit `unit_classes`."""
        from orbandit.spaces.scaled import Scaled  # which is a space itself

        return Scaled(self, float(units[0]))

    @abstractmethod
    def _excess(self, points: Array) -> Array:
        """Return the largest violation of a constraint of the set, as a length: <= 0 inside."""

    @abstractmethod
    def _sample(self, size: int, rng: np.random.Generator) -> Array: ...

    @abstractmethod
    def _project(self, points: Array) -> Array: ...

    @abstractmethod
    def _support(self, directions: Array) -> Array: ...
