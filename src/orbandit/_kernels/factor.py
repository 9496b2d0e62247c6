"""Triangular factors of growing matrices: solves, and a smaller entry on the diagonal.

The factor L of A = L L^T is kept in the lower left corner of an array with room to spare, row by
row; its size is passed along. A solve works in place on the first `size` numbers of a vector.
"""

import math

import numpy as np

from orbandit._kernels.compiled import FloatArray, compiled


@compiled
def solve_lower(factor: FloatArray, size: int, vector: FloatArray) -> None:
    """Replace b by the solution y of L y = b."""
    for i in range(size):
        vector[i] = (vector[i] - np.dot(factor[i, :i], vector[:i])) / factor[i, i]


@compiled
def solve_upper(factor: FloatArray, size: int, vector: FloatArray) -> None:
    """Replace y by the solution x of L^T x = y."""
    for i in range(size - 1, -1, -1):
        vector[i] /= factor[i, i]
        x = vector[i]
        for k in range(i):
            vector[k] -= x * factor[i, k]


@compiled
def solve_rows(factor: FloatArray, size: int, vectors: FloatArray) -> None:
    """Replace each row b by the solution x of L L^T x = b."""
    for i in range(len(vectors)):
        solve_lower(factor, size, vectors[i])
        solve_upper(factor, size, vectors[i])


@compiled
def downdate_diagonal(factor: FloatArray, size: int, place: int, amount: float, work: FloatArray) -> bool:
    """Make the factor that of A less `amount` in one entry of its diagonal; tell whether it could be done.

    Hyperbolic rotations, as in Golub and Van Loan, Matrix computations, section 6.5.4, taken row by
    row. `work` has three rows. If it fails, the factor is spoilt from row `place` on.
    """
    cosines, sines, inverses = work[0], work[1], work[2]
    for i in range(place, size):
        w = math.sqrt(amount) if i == place else 0.0
        for k in range(place, i):
            entry = (factor[i, k] - sines[k] * w) * inverses[k]
            factor[i, k] = entry
            w = cosines[k] * w - sines[k] * entry
        pivot = factor[i, i]
        square = (pivot - w) * (pivot + w)
        if not square > 0.0:
            return False
        root = math.sqrt(square)
        cosines[i], sines[i], inverses[i] = root / pivot, w / pivot, pivot / root
        factor[i, i] = root
    return True
