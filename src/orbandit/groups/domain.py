"""Fundamental domains: polyhedral cones about the centre, and the test that prunes symmetric cells."""

from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_points, as_tolerance, frozen
from orbandit.errors import InputError

REDUNDANT = 1e-9
"""A unit normal this close to the cone of the others adds no face."""


@final
class Domain:
    """The cone { x : normals @ (x - center) >= 0 }, which meets every orbit.

    Parameters
    ----------
    normals : (h, dim) array
        Unit inward normals, one per face, none redundant.
    center : (dim,) array
        The group's fixed point.

    Examples
    --------
    >>> import orbandit as ob
    >>> sorted_points = ob.groups.Symmetric(3).domain()
    >>> sorted_points.contains([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    array([ True, False])
    >>> bool(sorted_points.excludes(low=[0.6, 0.0, 0.0], high=[1.0, 0.5, 1.0]))  # x0 > x1 all over this box
    True
    """

    def __init__(self, normals: Array, center: Array) -> None:
        self._normals, self._center = frozen(normals), frozen(center)
        self._offsets = self._normals @ self._center

    def __repr__(self) -> str:
        return f"Domain(<{len(self._normals)} faces in R^{len(self._center)}>)"

    @property
    def normals(self) -> Array:
        """Unit inward normals of the faces, (h, dim)."""
        return self._normals

    @property
    def center(self) -> Array:
        """The apex, (dim,)."""
        return self._center

    def contains(self, points: npt.ArrayLike, tol: float = 1e-9) -> npt.NDArray[np.bool_] | np.bool_:
        """Return which points lie in the domain or within `tol` of each face.

        Parameters
        ----------
        points : (m, dim) or (dim,) array
            The points.
        tol : float
            How far outside of each face a point may be, at least 0.
        """
        batch, single = as_points(points, len(self._center))
        heights: Array = (batch - self._center) @ self._normals.T
        inside: npt.NDArray[np.bool_] = np.all(heights >= -as_tolerance(tol), axis=1)
        return inside[0] if single else inside

    def excludes(self, low: npt.ArrayLike, high: npt.ArrayLike) -> npt.NDArray[np.bool_] | np.bool_:
        """Return which boxes [low, high] lie outside one face, and so hold no representative.

        True is a proof; False is not: a box may miss the domain without any single face showing it.

        Parameters
        ----------
        low, high : (m, dim) or (dim,) arrays
            The lowest and the highest corners of the boxes.
        """
        lows, single = as_points(low, len(self._center), "low")
        highs, _ = as_points(high, len(self._center), "high")
        if lows.shape != highs.shape or (lows > highs).any():
            raise InputError(
                f"`low <= high` must hold for arrays of one shape, but got shapes {lows.shape} and {highs.shape}"
                + ("." if lows.shape != highs.shape else " with a low above its high.")
            )
        up, down = np.maximum(self._normals, 0), np.minimum(self._normals, 0)
        best = highs @ up.T + lows @ down.T - self._offsets  # each face's height at its best corner
        # A fold may lie outside by as much as `contains` forgives: such a box is not excluded.
        size = np.maximum(np.abs(lows), np.abs(highs)).max(axis=1, keepdims=True)
        outside: npt.NDArray[np.bool_] = (best < -1e-9 * np.maximum(size, 1.0)).any(axis=1)
        return outside[0] if single else outside


def dirichlet_normals(point: Array, images: Array) -> Array:
    """Return the faces of { x : <x, point> >= <x, image> for each image }, without redundant ones."""
    normals = point - images
    lengths = np.linalg.norm(normals, axis=1)
    moved = lengths > 1e-9 * np.linalg.norm(point)
    nearest_first = np.argsort(lengths[moved], kind="stable")
    return irredundant((normals[moved] / lengths[moved, None])[nearest_first], point)


def irredundant(normals: Array, inside: Array) -> Array:
    """Return the unit normals that bound the cone { x : normals @ x >= 0 }, which has `inside` within.

    A face is redundant exactly if its normal is a non-negative combination of the others (Farkas).
    Each such linear program is solved as a non-negative least-squares problem, whose residual, if
    it is not zero, is a point beyond this face and within all faces kept so far. From `inside`, the
    first face on the way there is one to keep (Clarkson 1994), so that every program has only the
    kept faces as unknowns.
    """
    heights = normals @ inside
    if 0 < len(normals) <= len(inside) and np.linalg.matrix_rank(normals, tol=REDUNDANT) == len(normals):
        return normals  # independent: none is a combination of others
    kept: list[int] = []
    redundant = np.zeros(len(normals), dtype=bool)
    for i in range(len(normals)):
        while i not in kept and not redundant[i]:
            beyond = -normals[i]
            if kept:
                weights, distance = _nearest_combination(normals[kept], normals[i])
                if distance <= REDUNDANT:
                    break
                beyond = weights @ normals[kept] - normals[i]
            slopes = normals @ beyond
            ways = np.divide(heights, -slopes, where=slopes < -1e-12, out=np.full(len(slopes), np.inf))
            hit = int(np.argmin(ways))
            kept.append(i if hit in kept else hit)
            redundant |= _combined(normals[kept], normals)
    # A ray through an edge of the cone may have met a face that only touches it there.
    for i in sorted(kept, reverse=True):
        others = [j for j in kept if j != i]
        if others and _nearest_combination(normals[others], normals[i])[1] <= REDUNDANT:
            kept = others
    return normals[sorted(kept)]


def _combined(rows: Array, targets: Array) -> npt.NDArray[np.bool_]:
    """Return which targets least squares shows to be non-negative combinations of rows.

    Others may be.
    """
    weights = np.maximum(targets @ np.linalg.pinv(rows), 0.0)
    seen: npt.NDArray[np.bool_] = np.linalg.norm(weights @ rows - targets, axis=1) <= REDUNDANT
    return seen


def _nearest_combination(rows: Array, target: Array) -> tuple[Array, float]:
    """Return the non-negative weights whose combination of rows is nearest to the target, and the distance."""
    from orbandit._kernels.cones import nonnegative_weights

    weights = np.empty(len(rows))
    return weights, nonnegative_weights(rows, target, weights)
