"""Mesh: finitely many points that represent a space, or its orbits, at a scale delta."""

from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import (
    Array,
    RandomLike,
    as_count,
    as_finite,
    as_generator,
    as_points,
    as_positive,
    check_room,
    frozen,
    shown,
)
from orbandit.errors import InputError, InputTypeError
from orbandit.groups import Group, Trivial
from orbandit.spaces import Space

if TYPE_CHECKING:
    from scipy.spatial import cKDTree


@final
class Mesh:
    """A finite set of points that covers a space within `delta`.

    Parameters
    ----------
    points : (K, dim) array
        The points; an arm is an index into them.
    delta : float
        The covering radius that the mesh is meant to have, positive.
    space : Space, optional
        The space that the mesh covers; needed only to measure its covering radius.
    group : Group, optional
        The symmetry; distances are then orbit distances.

    Examples
    --------
    >>> import orbandit as ob
    >>> mesh = ob.meshes.Mesh([[0.25], [0.75]], delta=0.25, space=ob.spaces.Box(0, 1, dim=1))
    >>> len(mesh), mesh.packing_radius(), round(mesh.covering_radius(rng=0), 3)
    (2, 0.25, 0.25)
    """

    def __init__(
        self,
        points: npt.ArrayLike,
        delta: float,
        space: Space | None = None,
        group: Group | None = None,
    ) -> None:
        array = as_finite(points, "points")
        if array.ndim != 2 or 0 in array.shape:
            raise InputError(f"`points` must have shape (K, dim) with K >= 1, but got shape {array.shape}.")
        if not isinstance(space, Space | None) or not isinstance(group, Group | None):
            raise InputTypeError(
                f"`space` and `group` must be of ob.spaces and ob.groups, but got {shown(space)}, {shown(group)}."
            )
        for part in (space, group):
            if part is not None and part.dim != array.shape[1]:
                raise InputError(f"points of dimension {array.shape[1]} do not fit {shown(part)} of {part.dim}.")
        self._points, self._delta = frozen(array), as_positive(delta, "delta")
        self._space, self._group = space, group

    def __len__(self) -> int:
        return len(self._points)

    def __repr__(self) -> str:
        return f"Mesh(<{len(self)} points in R^{self.dim}>, delta={self._delta:.4g})"

    @property
    def points(self) -> Array:
        """The points, (K, dim)."""
        return self._points

    @property
    def delta(self) -> float:
        """The scale."""
        return self._delta

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return int(self._points.shape[1])

    @property
    def space(self) -> Space | None:
        """The space that the mesh covers, if it is known."""
        return self._space

    @property
    def group(self) -> Group | None:
        """The group in whose orbit metric it covers, if there is one."""
        return self._group

    def covering_radius(self, samples: int = 20_000, rng: RandomLike = 0) -> float:
        """Estimate the covering radius: the largest distance of a point of the space from the mesh.

        Random points of the space and its extreme points in random directions are tried, and the
        worst ones moved as long as that increases their distance. The result is a lower bound,
        close to the true radius.

        Parameters
        ----------
        samples : int
            Number of random points, at least 1.
        rng : int, SeedSequence or Generator
            Source of randomness; a generator is advanced.
        """
        if self._space is None:
            raise InputError("the covering radius needs a space; pass `space` to Mesh.")
        generator = as_generator(rng)
        size = as_count(samples, "samples")
        check_room("the samples", size, self.dim)
        far = 10 * self._space.diameter * generator.standard_normal((max(1, size // 10), self.dim))
        points = np.vstack([self._space.sample(size, generator), self._space.project(far)])
        distances = self.distances(points)
        worst = np.argsort(distances)[-50:]
        points, distances = points[worst], distances[worst]
        step = self._delta / 4
        while step > 1e-5 * self._delta:
            moves = step * generator.standard_normal((20, *points.shape)) / np.sqrt(self.dim)
            trials = self._space.project((points + moves).reshape(-1, self.dim))
            reached = self.distances(trials).reshape(20, -1)
            best = reached.argmax(axis=0)
            better = reached.max(axis=0) > distances
            points[better] = trials.reshape(20, *points.shape)[best[better], better]
            distances = np.maximum(distances, reached.max(axis=0))
            step *= 0.8
        return float(distances.max())

    def packing_radius(self) -> float:
        """Return half the least distance of two points of the mesh (infinite for a single one)."""
        if len(self) == 1:
            return float("inf")
        group = self._group or Trivial(self.dim)
        if group.is_reflection:
            second = np.asarray(self._folds.query(self._folds.data, k=2)[0])[:, 1]
            return float(second.min() / 2)
        least = np.inf
        for start in range(0, len(self), 256):
            rows = np.asarray(group.distance(self._points[start : start + 256], self._points))
            rows[np.arange(len(rows)), start + np.arange(len(rows))] = np.inf
            least = min(least, float(rows.min()))
        return least / 2

    def distances(self, points: npt.ArrayLike) -> Array:
        """Return the distance of each point of a batch (m, dim) to the mesh.

        Parameters
        ----------
        points : (m, dim) array
            The points.
        """
        return self._nearest(np.atleast_2d(as_finite(points, "points")))[0]

    def nearest(self, points: npt.ArrayLike) -> npt.NDArray[np.intp] | np.intp:
        """Return the index of the mesh point nearest to each point (to its orbit, with a group).

        Parameters
        ----------
        points : (m, dim) or (dim,) array
            The points.

        Examples
        --------
        >>> import orbandit as ob
        >>> mesh = ob.meshes.Mesh([[0.1, 0.9], [0.5, 0.5]], delta=0.3, group=ob.groups.Symmetric(2))
        >>> mesh.nearest([[1.0, 0.2], [0.4, 0.4]]).tolist()
        [0, 1]
        """
        batch, single = as_points(points, self.dim)
        indices = self._nearest(batch)[1]
        return indices[0] if single else indices

    def _nearest(self, points: Array) -> tuple[Array, npt.NDArray[np.intp]]:
        """Return the distances and indices of the nearest mesh points."""
        group = self._group or Trivial(self.dim)
        if group.is_reflection:
            distances, indices = self._folds.query(group.fold(points))
            return np.asarray(distances), np.asarray(indices, dtype=np.intp)
        step = max(1, 4_000_000 // len(self))
        chunks = np.split(points, range(step, len(points), step))
        rows = [np.asarray(group.distance(chunk, self._points)) for chunk in chunks]
        return (
            np.concatenate([row.min(axis=1) for row in rows]),
            np.concatenate([row.argmin(axis=1) for row in rows]),
        )

    @cached_property
    def _folds(self) -> "cKDTree":
        """The folded points of the mesh, for searches under a reflection group."""
        from scipy.spatial import cKDTree

        return cKDTree((self._group or Trivial(self.dim)).fold(self._points))
