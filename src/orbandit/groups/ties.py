"""What folds do on walls, where several images are equally good.

One rule for all groups: numbers that differ by less than TIE, for a point of unit size, are equal, and of the
images that tie the lexicographically largest is the representative. Rounding is far below TIE, so that folding
again changes nothing; TIE is far below the 1e-9 within which a point counts as lying in the domain.
"""

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array

TIE = 1e-13


def sizes(points: Array) -> Array:
    """Return the largest absolute coordinate of each point, as a column."""
    largest: Array = np.abs(points).max(axis=1, keepdims=True)
    return largest


def choose(images: Array, scores: Array, tolerance: Array) -> Array:
    """Return for each row of (m, n, d) images the one with the best of the (m, n) scores, (m, d).

    Scores within the row's tolerance, an (m, 1) array, of the best tie; then the lexicographically largest
    image wins, coordinates within the same tolerance being equal, and then the first.
    """
    candidates = scores >= scores.max(axis=1, keepdims=True) - tolerance
    tied = np.flatnonzero(candidates.sum(axis=1) > 1)
    for k in range(images.shape[2]):
        if not len(tied):
            break
        column = np.where(candidates[tied], images[tied, :, k], -np.inf)
        candidates[tied] = column >= column.max(axis=1, keepdims=True) - tolerance[tied]
        tied = tied[candidates[tied].sum(axis=1) > 1]
    chosen: Array = images[np.arange(len(images)), candidates.argmax(axis=1)]
    return chosen


def ranks(values: Array, tolerance: Array) -> npt.NDArray[np.intp]:
    """Return the ranks of the (m, n) values within their rows; neighbours within the tolerance share one."""
    order = np.argsort(values, axis=1)
    gaps = np.diff(np.take_along_axis(values, order, axis=1), axis=1) > tolerance
    climbed = np.zeros(values.shape, dtype=np.intp)
    np.cumsum(gaps, axis=1, out=climbed[:, 1:])
    result = np.empty_like(climbed)
    np.put_along_axis(result, order, climbed, axis=1)
    return result
