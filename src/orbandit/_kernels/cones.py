"""Non-negative least squares in few dimensions, and what it solves: nearest points of cones and polytopes.

The active-set method of Lawson and Hanson (1974, chapter 23) with its safeguard: a column whose
weight does not come out positive once it has joined, which only rounding can cause, is turned away.
"""

import numpy as np
import numpy.typing as npt

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled

OPTIMAL = 1e-13
"""A column counts as unable to help if its cosine with the residual, times the residual's share, is
below this."""


@compiled
def _dot(a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@compiled
def nonnegative_weights(rows: FloatArray, target: FloatArray, weights: FloatArray) -> float:
    """Write the x >= 0 that minimises ||rows^T x - target|| into `weights`, and return that distance.

    `rows` is (n, d), `target` (d,), `weights` (n,).
    """
    n, d = rows.shape
    for j in range(n):
        weights[j] = 0.0
    passive = np.empty(d + 1, np.int64)  # columns with positive weights, at most d of them
    count = 0
    turned_away = np.zeros(n, np.bool_)
    member = np.zeros(n, np.bool_)
    lengths = np.empty(n)
    for j in range(n):
        lengths[j] = np.sqrt(_dot(rows[j], rows[j]))
    size = np.sqrt(_dot(target, target))
    residual = target.copy()
    L, trial = np.empty((d + 1, d + 1)), np.empty(d + 1)
    for _ in range(10 * (n + d)):
        best, steepest = -1, OPTIMAL * size
        if count < d:
            for j in range(n):
                if not member[j] and not turned_away[j] and lengths[j] > 0.0:
                    slope = _dot(rows[j], residual) / lengths[j]
                    if slope > steepest:
                        best, steepest = j, slope
        if best < 0:
            break
        passive[count] = best
        member[best] = True
        count += 1
        if not _solve(rows, target, passive, count, L, trial) or trial[count - 1] <= 0.0:
            count -= 1
            member[best] = False
            turned_away[best] = True
            continue
        count = _retreat(rows, target, passive, count, weights, member, L, trial)
        for k in range(count):
            weights[passive[k]] = max(trial[k], 0.0)
        for i in range(d):
            residual[i] = target[i]
            for k in range(count):
                residual[i] -= weights[passive[k]] * rows[passive[k], i]
        turned_away[:] = False
    distance: float = np.sqrt(_dot(residual, residual))
    return distance


@compiled
def _retreat(
    rows: FloatArray,
    target: FloatArray,
    passive: IndexArray,
    count: int,
    weights: FloatArray,
    member: npt.NDArray[np.bool_],
    L: FloatArray,
    trial: FloatArray,
) -> int:
    """Move the weights towards the trial until one vanishes, drop it, and try again, until the trial is positive.

    Return how many columns are left.
    """
    while True:
        share, first = 1.0, -1  # the first column to vanish, and after what share of the way
        for k in range(count):
            if trial[k] <= 0.0:
                w = weights[passive[k]]
                part = w / (w - trial[k]) if w > trial[k] else 0.0
                if first < 0 or part < share:
                    share, first = part, k
        if first < 0:
            return count
        left = 0
        for k in range(count):
            j = passive[k]
            weights[j] += share * (trial[k] - weights[j])
            if k == first or weights[j] <= 0.0:
                weights[j] = 0.0
                member[j] = False
            else:
                passive[left] = j
                left += 1
        count = left
        if not _solve(rows, target, passive, count, L, trial):
            return count


@compiled
def _solve(
    rows: FloatArray,
    target: FloatArray,
    passive: IndexArray,
    count: int,
    L: FloatArray,
    trial: FloatArray,
) -> bool:
    """Write the least-squares weights of the passive rows into `trial`; tell whether they are independent."""
    for i in range(count):
        for j in range(i + 1):
            total = _dot(rows[passive[i]], rows[passive[j]])
            square = total
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if total <= 1e-14 * square:
                    return False
                L[i, i] = np.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    for i in range(count):
        total = _dot(rows[passive[i]], target)
        for k in range(i):
            total -= L[i, k] * trial[k]
        trial[i] = total / L[i, i]
    for i in range(count - 1, -1, -1):
        for k in range(i + 1, count):
            trial[i] -= L[k, i] * trial[k]
        trial[i] /= L[i, i]
    return True


@compiled
def onto_cone(points: FloatArray, normals: FloatArray, out: FloatArray) -> None:
    """Write the nearest points of { x : normals @ x >= 0 }.

    What is taken away lies in the polar cone, spanned by the outward normals (Moreau).
    """
    weights = np.empty(len(normals))
    for p in range(len(points)):
        for k in range(points.shape[1]):
            out[p, k] = points[p, k]
        outside = False
        for j in range(len(normals)):
            if _dot(normals[j], points[p]) < 0.0:
                outside = True
        if outside:
            nonnegative_weights(normals, -points[p], weights)
            for j in range(len(normals)):
                for k in range(points.shape[1]):
                    out[p, k] += weights[j] * normals[j, k]


@compiled
def onto_polytope(
    points: FloatArray, normals: FloatArray, offsets: FloatArray, size: float, out: FloatArray, active: FloatArray
) -> None:
    """Write the nearest points of { x : normals @ x <= offsets }, and the weights of the facets they lie on.

    Least-distance programming: min ||z|| subject to G z >= h is one non-negative least-squares
    problem with the rows [G h]. `size` is the polytope's, so that units do not matter; `active` is
    (m, facets).
    """
    m, d = points.shape
    rows, target = np.empty((len(normals), d + 1)), np.zeros(d + 1)
    target[d] = 1.0
    for p in range(m):
        scale = 0.0
        for k in range(d):
            out[p, k] = points[p, k]
        for j in range(len(normals)):
            active[p, j] = 0.0
            for k in range(d):
                rows[j, k] = -normals[j, k]
            rows[j, d] = _dot(normals[j], points[p]) - offsets[j]
            scale = max(scale, rows[j, d])
        if scale <= 0.0:
            continue
        scale = max(scale, size)
        for j in range(len(normals)):
            rows[j, d] /= scale
        nonnegative_weights(rows, target, active[p])
        last = -1.0
        for j in range(len(normals)):
            last += active[p, j] * rows[j, d]
        for j in range(len(normals)):
            for k in range(d):
                out[p, k] -= scale * active[p, j] * rows[j, k] / last
