"""Folding into the chamber of a finite reflection group: sweeps of reflections in violated simple roots.

Each reflection in a violated root shortens by one the word of the element that is still to be
undone, so that as many sweeps as the group has reflections always suffice, and about half the
Coxeter number is the rule. A sweep has no branches and runs on many points at once, one per lane,
so that the compiler can use vector instructions.
"""

import numpy as np

from orbandit._kernels.compiled import FloatArray, compiled

LANES = 64


@compiled
def fold_into_chamber(points: FloatArray, roots: FloatArray, tol: float, max_sweeps: int, out: FloatArray) -> None:
    """Write the fold of each point into `out`; `roots` are unit simple roots.

    A height <x, root> above -tol ||x|| counts as non-negative; a point with no other height stays
    as it is.
    """
    m, d = points.shape
    x = np.empty((d, LANES))
    step, moved, threshold = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for start in range(0, m, LANES):
        width = min(LANES, m - start)
        threshold[:] = 0.0
        for k in range(d):
            for lane in range(width):
                x[k, lane] = points[start + lane, k]
                threshold[lane] += x[k, lane] * x[k, lane]
        for lane in range(width):
            threshold[lane] = -tol * np.sqrt(threshold[lane])
        for _ in range(max_sweeps):
            moved[:] = 0.0
            for i in range(roots.shape[0]):
                step[:] = 0.0
                for k in range(d):
                    for lane in range(width):
                        step[lane] += x[k, lane] * roots[i, k]
                for lane in range(width):
                    step[lane] = 2.0 * step[lane] if step[lane] < threshold[lane] else 0.0
                    moved[lane] += step[lane]
                for k in range(d):
                    for lane in range(width):
                        x[k, lane] -= step[lane] * roots[i, k]
            if np.all(moved[:width] == 0.0):
                break
        for k in range(d):
            for lane in range(width):
                out[start + lane, k] = x[k, lane]
