"""Polytope: the convex hull of finitely many points, and the regular ones by name."""

from functools import cached_property
from typing import Self, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_finite, frozen
from orbandit.errors import InputError
from orbandit.spaces.base import Space
from orbandit.spaces.regular import regular_vertices

FLAT = 1e-9
"""A polytope thinner than this fraction of its size counts as flat."""


@final
class Polytope(Space):
    """The convex hull of `vertices`, which must span all dimensions.

    Parameters
    ----------
    vertices : (k, dim) array
        At least dim + 1 points; those that are no corners of the hull are dropped.

    Examples
    --------
    >>> import orbandit as ob
    >>> triangle = ob.spaces.Polytope([[0, 0], [1, 0], [0, 1]])
    >>> round(triangle.volume, 12)
    0.5
    >>> triangle.project([1.0, 1.0]).round(12)
    array([0.5, 0.5])
    >>> len(ob.spaces.Polytope.regular("icosahedron").vertices)
    12
    """

    def __init__(self, vertices: npt.ArrayLike) -> None:
        points = as_finite(vertices, "vertices")
        if points.ndim != 2 or 0 in points.shape:
            raise InputError(f"`vertices` must have shape (k, dim), but got shape {points.shape}.")
        offsets = points - points.mean(axis=0)
        widths = np.linalg.svd(offsets, compute_uv=False)
        rank = int((widths > FLAT * widths.max(initial=0.0)).sum()) if widths.any() else 0
        if rank < points.shape[1]:
            raise InputError(
                f"`vertices` must span R^{points.shape[1]}, but these {len(points)} points lie in a flat of "
                f"dimension {rank}; drop the redundant coordinates, or use Simplex for allocations."
            )
        self._normals, self._offsets, corners, self._facets = _hull(points)
        self._vertices = frozen(points[corners])

    @classmethod
    def regular(cls, name: str) -> Self:
        """Return a regular polytope of circumradius 1 about the origin.

        Parameters
        ----------
        name : str
            "tetrahedron", "cube", "octahedron", "dodecahedron", "icosahedron" or "polygon-m", as in
            "polygon-5". They are oriented like the groups that preserve them: `Coxeter("A3")`,
            `Coxeter("B3")`, `Coxeter("H3")` and `Dihedral(m)`.
        """
        return cls(regular_vertices(name))

    def __repr__(self) -> str:
        return f"Polytope(<{len(self._vertices)} vertices in R^{self.dim}>)"

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return int(self._vertices.shape[1])

    @property
    def vertices(self) -> Array:
        """The corners of the hull, (k, dim)."""
        return self._vertices

    @property
    def volume(self) -> float:
        """Sum over a triangulation."""
        return float(self._triangulation[1].sum())

    @cached_property
    def diameter(self) -> float:
        """The largest distance of two corners."""
        from scipy.spatial.distance import pdist

        return float(pdist(self._vertices).max())

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The coordinate-wise extremes of the corners."""
        return self._vertices.min(axis=0), self._vertices.max(axis=0)

    @cached_property
    def _triangulation(self) -> tuple[Array, Array]:
        """The cones from the centroid over the facets' triangles, (t, dim + 1, dim), and their volumes."""
        apex = self._vertices.mean(axis=0)
        edges = self._facets - apex
        factorial = np.prod(np.arange(1.0, self.dim + 1))
        cones = np.concatenate([np.broadcast_to(apex, (len(edges), 1, self.dim)), self._facets], axis=1)
        return cones, np.abs(np.linalg.det(edges)) / factorial

    def _excess(self, points: Array) -> Array:
        excess: Array = (points @ self._normals.T - self._offsets).max(axis=1)
        return excess

    def _sample(self, size: int, rng: np.random.Generator) -> Array:
        cones, volumes = self._triangulation
        chosen = rng.choice(len(cones), size=size, p=volumes / volumes.sum())
        weights = rng.dirichlet(np.ones(self.dim + 1), size=size)
        return np.asarray(np.einsum("mk,mkd->md", weights, cones[chosen]))

    def _project(self, points: Array) -> Array:
        nearest = points.copy()
        for i in np.flatnonzero(self._excess(points) > 0):
            nearest[i] = self._nearest(points[i])
        return nearest

    def _nearest(self, point: Array) -> Array:
        """Return the point of the polytope nearest to a point outside.

        Least-distance programming (Lawson and Hanson 1974, chapter 23): min ||z|| subject to G z >= h is
        one non-negative least-squares problem with matrix [G h]^T, solved exactly by active sets.
        """
        from scipy.optimize import nnls

        gaps = point @ self._normals.T - self._offsets
        scale = max(self.diameter, gaps.max())  # the units must not matter
        system = np.vstack([-self._normals.T, gaps / scale])
        target = np.zeros(self.dim + 1)
        target[-1] = 1.0
        weights = nnls(system, target)[0]
        residual = system @ weights - target
        nearest = point - scale * residual[:-1] / residual[-1]
        # From far away rounding leaves the answer a little off the facets it lies on: step onto them.
        active = weights > 0
        miss = self._normals[active] @ nearest - self._offsets[active]
        return np.asarray(nearest - np.linalg.lstsq(self._normals[active], miss, rcond=None)[0])

    def _support(self, directions: Array) -> Array:
        heights: Array = (directions @ self._vertices.T).max(axis=1)
        return heights

    def _halfspaces(self) -> tuple[Array, Array]:
        return self._normals, self._offsets


def _hull(points: Array) -> tuple[Array, Array, npt.NDArray[np.intp], Array]:
    """Return the facets' unit normals and offsets, the corners' indices and the facets as simplices."""
    if points.shape[1] == 1:
        corners = np.array([points.argmin(), points.argmax()])
        ends = points[corners]
        return np.array([[-1.0], [1.0]]), np.array([-ends[0, 0], ends[1, 0]]), corners, ends[:, None, :]
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    size = np.ptp(points, axis=0).max()
    # Qhull repeats a facet's equation for each of its triangles: keep one of each.
    keys = np.round(hull.equations / np.r_[np.ones(points.shape[1]), size], 9)
    _, first = np.unique(keys, axis=0, return_index=True)
    equations = hull.equations[np.sort(first)]
    return equations[:, :-1], -equations[:, -1], hull.vertices.astype(np.intp), points[hull.simplices]
