"""Polytope: the convex hull of finitely many points, and the regular ones by name."""

import copy
import hashlib
import math
from collections.abc import Iterator
from functools import cached_property
from typing import Self, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_finite, frozen, norms, safe_scale
from orbandit.errors import InputError
from orbandit.spaces.base import Classes, Space
from orbandit.spaces.regular import regular_vertices

FLAT = 1e-9
"""A polytope thinner than this fraction of its size counts as flat."""

MAX_FACETS = 100_000
"""Most facets of a polytope in four dimensions or more, as simplices."""

HEIGHTS_AT_ONCE = 2**22
"""About how many numbers are held at once while points are compared with facets or corners."""


@final
class Polytope(Space):
    """The convex hull of `vertices`, which must span all dimensions.

    Parameters
    ----------
    vertices : (k, dim) array
        At least dim + 1 points; those that are no corners of the hull are dropped. In four
        dimensions or more the hull has at most 100,000 facets, counted as simplices.

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
            raise InputError(
                f"`vertices` must have shape (k, dim), but got shape {points.shape}.", field="vertices", value=vertices
            )
        self._middle = points.mean(axis=0)
        widths = np.linalg.svd(points - self._middle, compute_uv=False)
        rank = int((widths > FLAT * widths.max(initial=0.0)).sum()) if widths.any() else 0
        if rank < points.shape[1]:
            raise InputError(
                f"`vertices` must span R^{points.shape[1]}, but these {len(points)} points lie in a flat of "
                f"dimension {rank}; drop the redundant coordinates, or use Simplex for allocations.",
                field="vertices",
                value=vertices,
            )
        # Everything but the corners is kept relative to the middle, so that far away nothing is
        # rounded off.
        self._normals, self._offsets, corners, self._facets = _hull(points - self._middle)
        self._vertices = frozen(points[corners])

    @classmethod
    def regular(cls, name: str) -> Self:
        """Return a regular polytope of circumradius 1 about the origin.

        Parameters
        ----------
        name : str
            "tetrahedron", "cube", "octahedron", "dodecahedron", "icosahedron" or "polygon-m", as in
            "polygon-5", with m up to 1,000,000. They are oriented like the groups that preserve
            them: `Coxeter("A3")`, `Coxeter("B3")`, `Coxeter("H3")` and `Dihedral(m)`.
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
        widths = np.subtract(*self.bounds[::-1])
        with np.errstate(over="ignore"):
            return float(np.prod(widths) * self._triangulation[1].sum())

    @cached_property
    def diameter(self) -> float:
        """The largest distance of two corners."""
        from scipy.spatial.distance import cdist

        size = float(np.abs(self._vertices - self._middle).max())
        vertices, step = (self._vertices - self._middle) / size, max(1, 4_000_000 // len(self._vertices))
        return size * max(float(cdist(vertices[i : i + step], vertices).max()) for i in range(0, len(vertices), step))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The coordinate-wise extremes of the corners."""
        return self._vertices.min(axis=0), self._vertices.max(axis=0)

    @cached_property
    def _triangulation(self) -> tuple[Array, Array]:
        """Simplices with one corner in the middle, by their other corners (t, dim, dim), and parts of the box around.

        The volumes are over that of the box, so that they are numbers in any units.
        """
        factorial = np.prod(np.arange(1.0, self.dim + 1))
        return self._facets, np.abs(np.linalg.det(self._facets / np.subtract(*self.bounds[::-1]))) / factorial

    @property
    def unit_classes(self) -> Classes:
        """Each coordinate may have a unit of its own."""
        return np.arange(self.dim)

    def _in_units(self, units: Array) -> "Polytope":
        made = copy.copy(self)
        for derived in ("diameter", "_triangulation"):
            made.__dict__.pop(derived, None)
        sizes = norms(self._normals * units)  # <n, x> <= b is <n u, x / u> <= b
        made._normals, made._offsets = self._normals * units / sizes[:, None], self._offsets / sizes
        made._vertices, made._middle = frozen(self._vertices / units), self._middle / units
        made._facets = self._facets / units
        made.recipe = ((made._vertices,), {})
        return made

    def _excess(self, points: Array) -> Array:
        excess = [(some @ self._normals.T - self._offsets).max(axis=1) for some in self._few(points - self._middle)]
        return np.concatenate(excess)

    def _sample(self, size: int, rng: np.random.Generator) -> Array:
        cones, volumes = self._triangulation
        chosen = rng.choice(len(cones), size=size, p=volumes / volumes.sum())
        weights = rng.dirichlet(np.ones(self.dim + 1), size=size)[:, 1:]
        return np.asarray(self._middle + np.einsum("mk,mkd->md", weights, cones[chosen]))

    def _project(self, points: Array) -> Array:
        from orbandit._kernels.cones import onto_polytope

        nearest = points.copy()
        outside = np.flatnonzero(self._excess(points) > 0)
        moved, weights = np.empty((len(outside), self.dim)), np.empty((len(outside), len(self._normals)))
        size = safe_scale(self._vertices - self._middle)
        away, offsets = (points[outside] - self._middle) / size, self._offsets / size
        onto_polytope(away, self._normals, offsets, self.diameter / size, moved, weights)
        for i, point, active in zip(outside, moved, weights > 0, strict=True):
            # From far away rounding leaves a point a little off the facets it lies on: step onto
            # them.
            miss = self._normals[active] @ point - offsets[active]
            nearest[i] = self._middle + size * (point - np.linalg.lstsq(self._normals[active], miss, rcond=None)[0])
        return nearest

    def _support(self, directions: Array) -> Array:
        return np.concatenate([(some @ self._vertices.T).max(axis=1) for some in self._few(directions)])

    def _few(self, rows: Array) -> list[Array]:
        """Return rows in batches, to be compared with all facets or corners in memory."""
        step = max(1, HEIGHTS_AT_ONCE // max(len(self._normals), len(self._vertices)))
        return np.split(rows, range(step, len(rows), step))

    def farthest_distance(self, point: Array) -> float:
        """Return the distance to the farthest vertex."""
        return float(norms(self._vertices - point).max())

    def halfspaces(self) -> tuple[Array, Array]:
        """Return the facets."""
        return self._normals, self._offsets + self._normals @ self._middle


def _samples(points: Array) -> Iterator[Array]:
    """Yield the points, after random samples of them that grow, if their hull may have too many facets.

    A facet of the hull is a facet of a sample of r of n points with probability at least (r /
    n)^dim, so that samples that grow by a factor 1 + 1 / dim predict the number of facets. The
    points themselves seed the choice. Points that span the space, and the extreme ones along the
    axes, are in all samples.
    """
    from scipy.linalg import qr

    count, d = points.shape
    if _most_facets(count, d) > MAX_FACETS:
        _, _, pivots = qr((points - points[0]).T, mode="economic", pivoting=True)
        first = np.unique([0, *pivots[:d], *points.argmin(axis=0), *points.argmax(axis=0)])
        rest = np.setdiff1d(np.arange(count), first)
        seed = np.frombuffer(hashlib.sha256(points.tobytes()).digest(), dtype=np.uint32)
        order = np.concatenate([first, np.random.default_rng(seed).permutation(rest)])
        size = 2 * d
        while size < count:
            yield points[order[:size]]
            size += 1 + size // d
    yield points


def _most_facets(count: int, dim: int) -> int:
    """Return how many facets the hull of so many points has at most: the upper bound theorem (McMullen 1970)."""
    low, high = dim // 2, (dim - 1) // 2
    return math.comb(max(0, count - dim + low), low) + math.comb(max(0, count - dim + high), high)


def _hull(points: Array) -> tuple[Array, Array, npt.NDArray[np.intp], Array]:
    """Return the facets' unit normals and offsets, the corners' indices and the facets as simplices (t, d, d)."""
    if points.shape[1] == 1:
        corners = np.array([points.argmin(), points.argmax()])
        ends = points[corners]
        return np.array([[-1.0], [1.0]]), np.array([-ends[0, 0], ends[1, 0]]), corners, ends[:, None, :]
    from scipy.spatial import ConvexHull, QhullError

    size = np.ptp(points, axis=0).max()
    try:
        for some in _samples(points / size):
            hull = ConvexHull(some)
            if points.shape[1] > 3 and len(hull.simplices) > MAX_FACETS:
                raise InputError(
                    f"the hull of `vertices` must have at most {MAX_FACETS:,} facets, counted as simplices, but "
                    f"{len(some)} of these {len(points)} points in R^{points.shape[1]} have {len(hull.simplices):,}; "
                    "use fewer points, or a Box, a Ball or a Product."
                )
    except QhullError as error:
        raise InputError(
            f"`vertices` have no convex hull that Qhull can find; are they nearly flat? {error}"
        ) from error
    # Qhull repeats a facet's equation for each of its triangles: keep one of each.
    _, first = np.unique(np.round(hull.equations, 9), axis=0, return_index=True)
    equations = hull.equations[np.sort(first)]
    return equations[:, :-1], -size * equations[:, -1], hull.vertices.astype(np.intp), points[hull.simplices]
