"""What folds do on walls, where several images are equally good.

One rule for all groups: numbers that differ by less than TIE times the length of the point are
equal, and of the images that tie the lexicographically largest is the representative.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, norms

Flags = npt.NDArray[np.bool_]

TIE = 1e-14


def tolerances(points: Array, slack: float) -> Array:
    """Return the tolerance within which coordinates are equal, as a column.

    Equal for all images.
    """
    return TIE * norms(points)[:, None] + slack


def inner_products(points: Array, others: Array) -> Array:
    """Return the inner products of points (m, d) with others (n, d), each of a point by itself.

    By @, bits would depend on the points beside it, and so would what is chosen at a tie.
    """
    products = np.zeros((len(points), len(others)))
    for column, other in zip(points.T, others.T, strict=True):
        products += column[:, None] * other
    return products


def settled(points: Array, once: Callable[[Array], tuple[Array, Flags]]) -> Array:
    """Return folds that are fixed points of folding.

    `once` folds, and flags the points near walls. There rounding may let other images tie the next
    time, but each change leads to a lexicographically larger image, so that the iteration ends.
    """
    folded, delicate = once(points)
    rows = np.flatnonzero(delicate)
    for _ in range(8):
        if not len(rows):
            break
        again, _ = once(folded[rows])
        changed = (again != folded[rows]).any(axis=1)
        folded[rows] = again
        rows = rows[changed]
    return folded


def best_image(images: Array, scores: Array, tolerance: Array) -> tuple[Array, Flags]:
    """Return the lexicographically largest of each row's images that tie for the best score; flag near ties.

    Of the (m, n, d) images the first is the point itself; scores (m, n) are <g x, p> with p of unit
    length; tolerance is a column. Coordinates within it are equal, and of equal images the first is
    taken.
    """
    gaps = scores.max(axis=1, keepdims=True) - scores
    candidates = gaps <= tolerance
    delicate = (gaps <= 4 * tolerance).sum(axis=1) > 1
    tied = np.flatnonzero(candidates.sum(axis=1) > 1)
    for k in range(images.shape[2]):
        if not len(tied):
            break
        column = np.where(candidates[tied], images[tied, :, k], -np.inf)
        candidates[tied] = column >= column.max(axis=1, keepdims=True) - tolerance[tied]
        tied = tied[candidates[tied].sum(axis=1) > 1]
    return images[np.arange(len(images)), candidates.argmax(axis=1)], delicate


def ranks(values: Array, tolerance: Array) -> npt.NDArray[np.intp]:
    """Return the ranks of the (m, n) values within their rows; neighbours within the tolerance share one."""
    order = np.argsort(values, axis=1)
    gaps = np.diff(np.take_along_axis(values, order, axis=1), axis=1) > tolerance
    climbed = np.zeros(values.shape, dtype=np.intp)
    np.cumsum(gaps, axis=1, out=climbed[:, 1:])
    result = np.empty_like(climbed)
    np.put_along_axis(result, order, climbed, axis=1)
    return result
