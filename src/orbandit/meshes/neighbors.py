"""N(x, eps): the mesh points within eps of the orbit of x, exactly.

N(x, eps) is the ball { v : d_G(x, v) <= eps } (Definition 4). Three ways to search it:

- reflection groups: d_G is the plain distance of folds, so fold the mesh once and the queries, and
  search there;
- small finite groups: search about each image of the query, and unite;
- other groups: the orbit metric itself, on mesh points whose distance from the centre comes near
  the query's.

Borders count: distances up to radius (1 + 1e-9) are within it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_points, as_tolerance, shown
from orbandit.errors import InputError, InputTypeError
from orbandit.groups import Group
from orbandit.meshes.mesh import Mesh

BORDER = 1e-9
"""Distances this fraction beyond the radius count as within it."""

MAX_SEARCHED_IMAGES = 500
"""Groups of at most this order are searched image by image."""

Indices = npt.NDArray[np.int32]
Pointers = npt.NDArray[np.int64]


def orbit_neighbors(mesh: Mesh, group: Group | None, points: npt.ArrayLike, radius: float) -> list[Indices] | Indices:
    """Return N(x, radius) for each point x: the indices of the mesh points within `radius` of its orbit.

    Parameters
    ----------
    mesh : Mesh
        The points searched.
    group : Group or None
        The symmetry; None is no symmetry.
    points : (m, dim) or (dim,) array
        Queries, in the mesh or not.
    radius : float
        Non-negative; a distance up to radius (1 + 1e-9) counts as within it.

    Returns
    -------
    list of int arrays
        Sorted, without duplicates; one array for a single point.

    Examples
    --------
    >>> import orbandit as ob
    >>> mesh = ob.meshes.Mesh([[0.1, 0.9], [0.9, 0.1], [0.5, 0.5]], delta=0.3)
    >>> ob.meshes.orbit_neighbors(mesh, ob.groups.Symmetric(2), [0.9, 0.2], 0.1).tolist()
    [0, 1]
    """
    searcher = search(mesh, group, radius)
    batch, single = as_points(points, mesh.dim)
    indptr, indices = searcher.within(batch)
    lists = [indices[a:b] for a, b in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)]
    return lists[0] if single else lists


def search(mesh: Mesh, group: Group | None, radius: float, share: float = 1.0) -> "Search":
    """Return the search for N(x, share * radius) that suits the group."""
    if not isinstance(mesh, Mesh):
        raise InputTypeError(f"`mesh` must be a Mesh, but got {shown(mesh)}; wrap points with Mesh(points, delta).")
    if group is not None and not isinstance(group, Group):
        raise InputTypeError(f"`group` must be one of ob.groups or None, but got {shown(group)}.")
    if group is not None and group.dim != mesh.dim:
        raise InputError(f"{shown(group)} acts in dimension {group.dim}, but the mesh has {mesh.dim}.")
    reach = share * (as_tolerance(radius, "radius") * (1 + BORDER) + 1e-15)
    if group is None or group.is_reflection:
        return ByFold(mesh, group, reach)
    if group.order <= MAX_SEARCHED_IMAGES:
        return ByImages(mesh, group, reach)
    return ByMetric(mesh, group, reach)


class Search(ABC):
    """Finds the mesh points within a reach of orbits."""

    def counts(self, points: Array) -> Pointers:
        """Return how many mesh points are within reach of each point's orbit."""
        return np.diff(self.within(points)[0])

    @abstractmethod
    def within(self, points: Array) -> tuple[Pointers, Indices]:
        """Return (indptr, indices): those of point q are indices[indptr[q]:indptr[q + 1]], sorted."""


@final
class ByFold(Search):
    """Plain distances between folds."""

    def __init__(self, mesh: Mesh, group: Group | None, reach: float) -> None:
        self._fold = np.array if group is None else group.fold
        self._cells = Cells(self._fold(mesh.points), reach)

    def counts(self, points: Array) -> Pointers:
        """Return the exact counts."""
        return self._cells.counts(self._fold(points))

    def within(self, points: Array) -> tuple[Pointers, Indices]:
        """Search the cells about the folds."""
        return self._cells.within(self._fold(points))


@final
class ByImages(Search):
    """Plain distances between the mesh and each image of a point."""

    def __init__(self, mesh: Mesh, group: Group, reach: float) -> None:
        self._group, self._elements = group, group.elements()
        self._cells = Cells(mesh.points, reach)
        self._size = len(mesh)

    def within(self, points: Array) -> tuple[Pointers, Indices]:
        """Search about every image, and unite, a few points at a time."""
        counts, lists = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
        step = max(1, 100_000 // len(self._elements))
        for start in range(0, len(points), step):
            some = points[start : start + step]
            indptr, indices = self._cells.within(self._images(some))
            owner = np.repeat(np.arange(len(indptr) - 1) // len(self._elements), np.diff(indptr))
            keys = np.unique(owner * self._size + indices)
            counts.append(np.bincount(keys // self._size, minlength=len(some)))
            lists.append((keys % self._size).astype(np.int32))
        return _pointers(np.concatenate(counts)), np.concatenate(lists)

    def _images(self, points: Array) -> Array:
        return np.swapaxes(self._group.act(self._elements, points), 0, 1).reshape(-1, points.shape[1])


@final
class ByMetric(Search):
    """The orbit metric, between points whose distances from the centre are no farther apart than the reach."""

    def __init__(self, mesh: Mesh, group: Group, reach: float) -> None:
        self._group, self._reach = group, reach
        norms = np.linalg.norm(mesh.points - group.center, axis=1)
        self._order = np.argsort(norms, kind="stable")
        self._norms, self._points = norms[self._order], mesh.points[self._order]

    def within(self, points: Array) -> tuple[Pointers, Indices]:
        """Measure a few points at a time against the shell of mesh points about their distance from the centre."""
        norms = np.linalg.norm(points - self._group.center, axis=1)
        lists: list[Indices] = [np.empty(0, dtype=np.int32)] * len(points)
        # lengths are rounded
        shell = self._reach + 1e-14 * max(self._norms[-1], norms.max(initial=0.0))

        def job(rows: npt.NDArray[np.intp]) -> None:
            first = np.searchsorted(self._norms, norms[rows].min() - shell)
            last = np.searchsorted(self._norms, norms[rows].max() + shell, side="right")
            distances = np.asarray(self._group.distance(points[rows], self._points[first:last]))
            for row, near in zip(rows, distances <= self._reach, strict=True):
                lists[row] = np.sort(self._order[first:last][near]).astype(np.int32)

        if len(points):
            with ThreadPoolExecutor(cpu_count() or 1) as pool:
                list(pool.map(job, np.array_split(np.argsort(norms), max(1, len(points) // 32))))
        return _pointers([len(one) for one in lists]), np.concatenate([*lists, np.empty(0, dtype=np.int32)])


@final
class Cells:
    """Points sorted into the cells of a grid over up to three coordinates, for searches within one reach."""

    def __init__(self, points: Array, reach: float) -> None:
        axes = min(3, points.shape[1])
        low, high = points[:, :axes].min(axis=0), points[:, :axes].max(axis=0)
        most = max(1, int((4 * len(points)) ** (1 / axes)))
        extent = np.where(high > low, high - low, 1.0)
        shape = np.clip(np.floor(extent / max(reach / 2, 1e-300)), 1, most).astype(np.int64)
        self._side = extent / shape
        self._origin, self._reach = low, reach
        self._shape = np.concatenate([shape, np.ones(3 - axes, dtype=np.int64)])
        place = np.minimum(((points[:, :axes] - low) / self._side).astype(np.int64), shape - 1)
        cell = np.zeros(len(points), dtype=np.int64)
        for a in range(3):
            cell = cell * self._shape[a] + (place[:, a] if a < axes else 0)
        self._order = np.argsort(cell, kind="stable")
        self._points = np.ascontiguousarray(points[self._order])
        self._starts = _pointers(np.bincount(cell, minlength=int(np.prod(self._shape))))

    def counts(self, queries: Array) -> Pointers:
        """Return how many points are within reach of each query."""
        from orbandit._kernels.neighbors import count_within

        counts = np.empty(len(queries), dtype=np.int64)

        def job(rows: slice) -> None:
            count_within(
                queries[rows],
                self._points,
                self._starts,
                self._origin,
                self._side,
                self._shape,
                self._reach,
                counts[rows],
            )

        _in_threads(job, len(queries))
        return counts

    def within(self, queries: Array) -> tuple[Pointers, Indices]:
        """Return the sorted indices of the points within reach of each query."""
        from orbandit._kernels.neighbors import list_within

        indptr = _pointers(self.counts(queries))
        indices = np.empty(indptr[-1], dtype=np.int32)

        def job(rows: slice) -> None:
            list_within(
                queries[rows],
                self._points,
                self._order,
                self._starts,
                self._origin,
                self._side,
                self._shape,
                self._reach,
                indptr[rows.start : rows.stop + 1],
                indices,
            )

        _in_threads(job, len(queries))
        return indptr, indices


def _in_threads(job: Callable[[slice], None], size: int) -> None:
    """Run a job on slices of 0..size in as many threads as there are processors; kernels release the GIL."""
    workers = cpu_count() or 1
    step = max(1000, -(-size // (4 * workers)))
    slices = [slice(start, min(start + step, size)) for start in range(0, size, step)]
    if len(slices) <= 1:
        for rows in slices:
            job(rows)
        return
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(job, rows) for rows in slices]:
            done.result()


def _pointers(counts: npt.ArrayLike) -> Pointers:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
