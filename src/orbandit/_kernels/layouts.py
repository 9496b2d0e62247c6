"""Sums of Gaussians over all pairs of units of two layouts: what tells multisets of units apart.

    S(X, Y) = 1/m^2 sum_ij kappa(x_i, y_j),     kappa(u, v) = exp(-||u - v||^2 / 2),

where units x_i and y_j are rows of (m, size) layouts; if signs of units do not matter, kappa is averaged over them:
(kappa(u, v) + kappa(u, -v)) / 2. The second layouts come with their number last, (m, size, k), so that loops over
them become vector instructions.
"""

import numpy as np

from orbandit._kernels.compiled import FloatArray, compiled
from orbandit._kernels.matern import decay


@compiled
def similarities(a: FloatArray, b: FloatArray, signed: bool, out: FloatArray) -> None:
    """Write S at all pairs of (n, m, size) and (m, size, k) layouts into `out`, (n, k)."""
    n, m, size = a.shape
    k = b.shape[2]
    squares = np.empty(k)
    weight = (0.5 if signed else 1.0) / (m * m)
    out[:] = 0.0
    for row in range(n):
        for i in range(m):
            for j in range(m):
                for sign in (1.0, -1.0) if signed else (1.0, 0.0):
                    if sign == 0.0:
                        continue
                    squares[:] = 0.0
                    for c in range(size):
                        u = sign * a[row, i, c]
                        for col in range(k):
                            gap = u - b[j, c, col]
                            squares[col] += gap * gap
                    for col in range(k):
                        out[row, col] += weight * decay(0.5 * squares[col])


@compiled
def similarities_and_slopes(a: FloatArray, b: FloatArray, signed: bool, out: FloatArray, slopes: FloatArray) -> None:
    """Write S into `out`, and -d S / d log of a factor of place c of all units into `slopes`, (size, n, k)."""
    n, m, size = a.shape
    k = b.shape[2]
    squares, values = np.empty((size, k)), np.empty(k)
    weight = (0.5 if signed else 1.0) / (m * m)
    out[:] = 0.0
    slopes[:] = 0.0
    for row in range(n):
        for i in range(m):
            for j in range(m):
                for sign in (1.0, -1.0) if signed else (1.0, 0.0):
                    if sign == 0.0:
                        continue
                    values[:] = 0.0
                    for c in range(size):
                        u = sign * a[row, i, c]
                        for col in range(k):
                            gap = u - b[j, c, col]
                            squares[c, col] = gap * gap
                            values[col] += squares[c, col]
                    for col in range(k):
                        values[col] = weight * decay(0.5 * values[col])
                        out[row, col] += values[col]
                    for c in range(size):
                        for col in range(k):
                            slopes[c, row, col] += values[col] * squares[c, col]


@compiled
def similarities_along(a: FloatArray, b: FloatArray, signed: bool, out: FloatArray, gradients: FloatArray) -> None:
    """Write S into `out`, and its gradients by the units of the first layouts into `gradients`, (n, m, size, k)."""
    n, m, size = a.shape
    k = b.shape[2]
    gaps, values = np.empty((size, k)), np.empty(k)
    weight = (0.5 if signed else 1.0) / (m * m)
    out[:] = 0.0
    gradients[:] = 0.0
    for row in range(n):
        for i in range(m):
            for j in range(m):
                for sign in (1.0, -1.0) if signed else (1.0, 0.0):
                    if sign == 0.0:
                        continue
                    values[:] = 0.0
                    for c in range(size):
                        u = sign * a[row, i, c]
                        for col in range(k):
                            gaps[c, col] = u - b[j, c, col]
                            values[col] += gaps[c, col] * gaps[c, col]
                    for col in range(k):
                        values[col] = weight * decay(0.5 * values[col])
                        out[row, col] += values[col]
                    for c in range(size):
                        for col in range(k):
                            gradients[row, i, c, col] -= sign * values[col] * gaps[c, col]


@compiled
def paired_similarities(a: FloatArray, b: FloatArray, signed: bool, out: FloatArray, slopes: FloatArray) -> None:
    """Write S of the i-th with the i-th, (n,), and its slopes as above, (size, n), for (m, size, n) layouts."""
    m, size, n = a.shape
    squares, values = np.empty((size, n)), np.empty(n)
    weight = (0.5 if signed else 1.0) / (m * m)
    out[:] = 0.0
    slopes[:] = 0.0
    for i in range(m):
        for j in range(m):
            for sign in (1.0, -1.0) if signed else (1.0, 0.0):
                if sign == 0.0:
                    continue
                values[:] = 0.0
                for c in range(size):
                    for col in range(n):
                        gap = sign * a[i, c, col] - b[j, c, col]
                        squares[c, col] = gap * gap
                        values[col] += squares[c, col]
                for col in range(n):
                    values[col] = weight * decay(0.5 * values[col])
                    out[col] += values[col]
                for c in range(size):
                    for col in range(n):
                        slopes[c, col] += values[col] * squares[c, col]
