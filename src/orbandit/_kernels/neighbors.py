"""All points within a radius: points sorted into cells of a grid over up to three coordinates."""

import numpy as np
import numpy.typing as npt

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled


@compiled
def cell_range(
    query: FloatArray, origin: FloatArray, side: FloatArray, shape: IndexArray, radius: float, ends: IndexArray
) -> None:
    """Write into `ends` the first and last cell along each gridded axis that the ball about `query` meets."""
    for a in range(3):
        ends[a, 0] = 0
        ends[a, 1] = shape[a] - 1
        if a < origin.shape[0]:
            # Cut down before they become integers: far queries would not fit.
            first = min(max((query[a] - radius - origin[a]) / side[a], 0.0), shape[a] - 1.0)
            last = min(max((query[a] + radius - origin[a]) / side[a], -1.0), shape[a] - 1.0)
            ends[a, 0] = int(np.floor(first))
            ends[a, 1] = int(np.floor(last))


@compiled
def count_within(
    queries: FloatArray,
    points: FloatArray,
    starts: IndexArray,
    origin: FloatArray,
    side: FloatArray,
    shape: IndexArray,
    radius: float,
    counts: IndexArray,
) -> None:
    """Write how many of the points, sorted by cells, are within `radius` of each query.

    Cell c holds points[starts[c]:starts[c + 1]].
    """
    ends = np.empty((3, 2), np.int64)
    square = radius * radius
    for q in range(len(queries)):
        cell_range(queries[q], origin, side, shape, radius, ends)
        found = 0
        for i in range(ends[0, 0], ends[0, 1] + 1):
            for j in range(ends[1, 0], ends[1, 1] + 1):
                row = (i * shape[1] + j) * shape[2]
                for p in range(starts[row + ends[2, 0]], starts[row + ends[2, 1] + 1]):
                    if _within(queries[q], points[p], square):
                        found += 1
        counts[q] = found


@compiled
def list_within(
    queries: FloatArray,
    points: FloatArray,
    order: IndexArray,
    starts: IndexArray,
    origin: FloatArray,
    side: FloatArray,
    shape: IndexArray,
    radius: float,
    indptr: IndexArray,
    indices: npt.NDArray[np.int32],
) -> None:
    """Write the sorted original indices `order[p]` of the points within `radius` of each query.

    Those of query q go to indices[indptr[q]:indptr[q + 1]], whose length `count_within` has found.
    """
    ends = np.empty((3, 2), np.int64)
    square = radius * radius
    for q in range(len(queries)):
        cell_range(queries[q], origin, side, shape, radius, ends)
        place = indptr[q]
        for i in range(ends[0, 0], ends[0, 1] + 1):
            for j in range(ends[1, 0], ends[1, 1] + 1):
                row = (i * shape[1] + j) * shape[2]
                for p in range(starts[row + ends[2, 0]], starts[row + ends[2, 1] + 1]):
                    if _within(queries[q], points[p], square):
                        indices[place] = order[p]
                        place += 1
        indices[indptr[q] : place].sort()


@compiled
def _within(a: FloatArray, b: FloatArray, square: float) -> bool:
    total = 0.0
    for k in range(a.shape[0]):
        difference = a[k] - b[k]
        total += difference * difference
    return total <= square
