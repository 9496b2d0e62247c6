"""Families of kernels as functions of the squared distance q, in units of the length scale.

A formula is written once, for numbers and arrays alike: it returns the value and its derivative by
q, given e = exp(-z) and z. Compiled loops call it for all columns of a row at once, with an exp of
their own, so that beyond z = DECAY_END a value stays what it is there, below 1e-24;
`agents/gaussian/families.py` calls it with NumPy's.
"""

from typing import TypeVar

import numpy as np

from orbandit._kernels.compiled import FloatArray, compiled
from orbandit._kernels.matern import DECAY_END, THIRD, exp_minus

SQUARE, MATERN12, MATERN32, MATERN52, RBF = range(5)
"""The numbers of the families; SQUARE is q itself."""
LEAST_DISTANCE = 1e-7
"""Distances below this count as this where a derivative divides by them: nearer to its kink, it
would be rounding."""
ROW_MULTIPLE = 8
"""Widths of rows are multiples of this: what is left over by vector instructions would be done one
by one."""

Real = TypeVar("Real", float, FloatArray)


def matern12(z: Real, e: Real) -> tuple[Real, Real]:
    """Return Matern-1/2 for z = sqrt(q), which is LEAST_DISTANCE at least in the derivative."""
    return e, e / (-2.0 * z)


def matern32(z: Real, e: Real) -> tuple[Real, Real]:
    """Return Matern-3/2 for z = sqrt(3 q)."""
    return (1.0 + z) * e, -1.5 * e


def matern52(z: Real, third: Real, e: Real) -> tuple[Real, Real]:
    """Return Matern-5/2 for z = sqrt(5 q), given z / 3 too, which compiled loops have as a product."""
    return (1.0 + z * (1.0 + third)) * e, -5.0 / 6.0 * (1.0 + z) * e


def rbf(e: Real) -> tuple[Real, Real]:
    """Return the squared exponential for z = q / 2."""
    return e, -0.5 * e


compiled_matern12, compiled_matern32 = compiled(matern12), compiled(matern32)
compiled_matern52, compiled_rbf = compiled(matern52), compiled(rbf)


@compiled
def padded_width(columns: int) -> int:
    """Return the least width with room for so many columns."""
    return (columns + ROW_MULTIPLE - 1) // ROW_MULTIPLE * ROW_MULTIPLE


@compiled
def family_values(family: int, q: FloatArray, width: int, values: FloatArray, by_q: FloatArray) -> None:
    """Write the values of a family and its derivatives at the first `width` of the squared distances."""
    if family == SQUARE:
        for col in range(width):
            values[col] = q[col]
            by_q[col] = 1.0
    elif family == MATERN12:
        for col in range(width):
            z = np.sqrt(q[col])
            values[col], by_q[col] = compiled_matern12(max(z, LEAST_DISTANCE), exp_minus(z))
    elif family == MATERN32:
        for col in range(width):
            z = min(np.sqrt(3.0 * q[col]), DECAY_END)
            values[col], by_q[col] = compiled_matern32(z, exp_minus(z))
    elif family == MATERN52:
        for col in range(width):
            z = min(np.sqrt(5.0 * q[col]), DECAY_END)
            values[col], by_q[col] = compiled_matern52(z, z * THIRD, exp_minus(z))
    else:
        for col in range(width):
            values[col], by_q[col] = compiled_rbf(exp_minus(0.5 * q[col]))


@compiled
def add_carried(turn: FloatArray, by_feature: FloatArray, width: int, totals: FloatArray) -> None:
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
