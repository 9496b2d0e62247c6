"""Families of kernels as functions of the squared distance q, for all columns of a row at once.

The numbers of the families are those of `FAMILIES` in `agents/gaussian/families.py`, from 1 on; there they are written
with numpy. Beyond z = FARTHEST a value stays what it is there, below 1e-24. PLAIN is q itself.
"""

import numpy as np

from orbandit._kernels.compiled import FloatArray, compiled
from orbandit._kernels.matern import FARTHEST, THIRD, decay

PLAIN, MATERN12, MATERN32, MATERN52, RBF = range(5)
TINY = 1e-7
LANES = 8
"""Widths of rows are multiples of this: what is left over by vector instructions would be done one by one."""


@compiled
def padded(columns: int) -> int:
    """Return the least width with room for so many columns."""
    return (columns + LANES - 1) // LANES * LANES


@compiled
def profile(family: int, q: FloatArray, width: int, values: FloatArray, slopes: FloatArray) -> None:
    """Write the values of a family and its derivatives at the first `width` of the squared distances."""
    if family == PLAIN:
        for col in range(width):
            values[col] = q[col]
            slopes[col] = 1.0
    elif family == MATERN12:
        for col in range(width):
            z = np.sqrt(q[col])
            values[col] = decay(z)
            slopes[col] = values[col] / (-2.0 * max(z, TINY))
    elif family == MATERN32:
        for col in range(width):
            z = min(np.sqrt(3.0 * q[col]), FARTHEST)
            e = decay(z)
            values[col] = (1.0 + z) * e
            slopes[col] = -1.5 * e
    elif family == MATERN52:
        for col in range(width):
            z = min(np.sqrt(5.0 * q[col]), FARTHEST)
            e = decay(z)
            values[col] = (1.0 + z * (1.0 + z * THIRD)) * e
            slopes[col] = -5.0 / 6.0 * (1.0 + z) * e
    else:
        for col in range(width):
            values[col] = decay(0.5 * q[col])
            slopes[col] = -0.5 * values[col]


@compiled
def carry(turn: FloatArray, by_feature: FloatArray, width: int, totals: FloatArray) -> None:
    """Add derivatives by p features, (p, width), carried to d coordinates by a (p, d) matrix, to (d, width) totals."""
    for p in range(turn.shape[0]):
        for d in range(turn.shape[1]):
            factor = turn[p, d]
            if factor != 0.0:  # turns of units and permutations have few entries
                for col in range(width):
                    totals[d, col] += factor * by_feature[p, col]


@compiled
def write_mean(
    total: FloatArray, count: int, first: int, columns: int, is_symmetric: bool, row: int, out: FloatArray
) -> None:
    """Write so many columns of a total, from the first on, over `count` into a row of `out`, and into its column."""
    for col in range(columns):
        out[row, col] = total[first + col] / count
        if is_symmetric:
            out[col, row] = out[row, col]
