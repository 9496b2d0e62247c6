"""Means of the squared exponential over exchanges of units, by permanents of small matrices.

With a point written as m units x_1, ..., x_m, the squared exponential is a product over units, and
its mean over all exchanges of them is a permanent:

    mean over p of prod_u exp(-|x_p(u) - y_u|^2 / 2)  =  per(E) / m!,     E_uv = exp(-|x_u - y_v|^2 / 2).

If each unit may be turned on its own by a group of matrices l, E_uv is the mean over l of exp(-|l
x_u - y_v|^2 / 2). The permanent is a sum over chains of sets of columns, 2^m of them, and all its
terms are positive:

    F(S) = sum over v in S of F(S - v) E_uv,  u = |S| - 1,     per(E) = F(all).

With the same from the other end, B(S), one pass gives all derivatives: that by E_uv is the sum over
|S| = u, without v, of F(S) B(S + v). Points are handled LANES at a time, with their number last, so
that loops over them become vector instructions.
"""

import numpy as np

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled
from orbandit._kernels.matern import exp_minus

LANES = 32
"""How many points are handled at a time: with fewer, checks before each short loop cost more than
the loop."""

SMALLEST = 1e-300
"""A permanent below this is no number to divide by; then its mean vanishes, too."""


@compiled
def exchange_means(
    a: FloatArray,
    b: FloatArray,
    places: IndexArray,
    classes: IndexArray,
    turns: FloatArray,
    scales: IndexArray,
    is_symmetric: bool,
    out: FloatArray,
    by_scale: FloatArray,
) -> None:
    """Write the means over images, exchanges and turns into `out`, (n, k), and their derivatives if there is room.

    The first points are (n, g, p), with g images of each; the second ones (p, k), padded to a
    multiple of LANES. A row of `classes` is a class of units: their number m, their size s, where
    their m s coordinates begin in `places`, the number of turns, and where these, s^2 numbers each,
    begin in `turns`. Each of the p coordinates belongs to one unit, and its squares are
    proportional to lengths^-2 of the length scale in `scales`. Derivatives by the logarithms of the
    length scales go to `by_scale`, (c, n, k). If values are symmetric, half of them are worked out.
    """
    (n, g, _), c = a.shape, len(by_scale)
    m_most, s_most = classes[:, 0].max(), classes[:, 1].max()
    sizes = np.zeros(1 << m_most, dtype=np.int64)  # of sets of columns
    for some in range(1, len(sizes)):
        sizes[some] = sizes[some >> 1] + (some & 1)
    values, weights = np.empty((m_most, m_most, LANES)), np.empty((m_most, m_most, LANES))
    moments = np.empty((m_most, m_most, s_most, LANES))
    ahead, behind = np.empty((len(sizes), LANES)), np.empty((len(sizes), LANES))
    squares, turned, q = np.empty((s_most, LANES)), np.empty(s_most), np.empty(LANES)
    product, total, logs, totals = np.empty(LANES), np.empty(LANES), np.empty((c, LANES)), np.empty((c, LANES))
    for row in range(n):
        columns = row + 1 if is_symmetric else out.shape[1]
        for first in range(0, columns, LANES):
            total[:] = 0.0
            totals[:] = 0.0
            for image in range(g):
                product[:] = 1.0
                logs[:] = 0.0
                for kind in range(len(classes)):
                    m, s, begin, count, at = classes[kind]
                    for u in range(m):
                        values[u, :m] = 0.0
                        moments[u, :m, :s] = 0.0
                        for turn in range(count):
                            for i in range(s):
                                turned[i] = 0.0
                                for j in range(s):
                                    entry = turns[at + (turn * s + i) * s + j]
                                    turned[i] += entry * a[row, image, places[begin + u * s + j]]
                            for v in range(m):
                                q[:] = 0.0
                                for i in range(s):
                                    place = places[begin + v * s + i]
                                    for lane in range(LANES):
                                        gap = turned[i] - b[place, first + lane]
                                        squares[i, lane] = gap * gap
                                        q[lane] += squares[i, lane]
                                for lane in range(LANES):
                                    q[lane] = exp_minus(0.5 * q[lane]) / count
                                    values[u, v, lane] += q[lane]
                                if c > 0:
                                    for i in range(s):
                                        for lane in range(LANES):
                                            moments[u, v, i, lane] += q[lane] * squares[i, lane]
                    permanent(values, m, sizes, ahead)
                    whole = ahead[(1 << m) - 1]
                    if c > 0:
                        permanent_gradient(values, m, sizes, ahead, behind, weights)
                        for u in range(m):
                            for v in range(m):
                                for i in range(s):
                                    scale = scales[places[begin + i]]
                                    for lane in range(LANES):
                                        share = weights[u, v, lane] / max(whole[lane], SMALLEST)
                                        logs[scale, lane] += share * moments[u, v, i, lane]
                    exchanges = 1.0
                    for u in range(2, m + 1):
                        exchanges *= u
                    for lane in range(LANES):
                        product[lane] *= whole[lane] / exchanges
                for lane in range(LANES):
                    total[lane] += product[lane]
                for scale in range(c):
                    for lane in range(LANES):
                        totals[scale, lane] += product[lane] * logs[scale, lane]
            for lane in range(min(LANES, columns - first)):
                out[row, first + lane] = total[lane] / g
                if is_symmetric:
                    out[first + lane, row] = total[lane] / g
                for scale in range(c):
                    by_scale[scale, row, first + lane] = totals[scale, lane] / g
                    if is_symmetric:
                        by_scale[scale, first + lane, row] = totals[scale, lane] / g


@compiled
def permanent(values: FloatArray, m: int, sizes: IndexArray, ahead: FloatArray) -> None:
    """Write F(S) into `ahead`, for each set S of columns as the bits of its row; the last row is the permanent."""
    ahead[0] = 1.0
    for some in range(1, 1 << m):
        u = sizes[some] - 1
        ahead[some] = 0.0
        for v in range(m):
            if some >> v & 1:
                for lane in range(LANES):
                    ahead[some, lane] += ahead[some ^ (1 << v), lane] * values[u, v, lane]


@compiled
def permanent_gradient(
    values: FloatArray, m: int, sizes: IndexArray, ahead: FloatArray, behind: FloatArray, weights: FloatArray
) -> None:
    """Write the derivatives of the permanent by its entries into `weights`; `behind` is room for B(S)."""
    weights[:m, :m] = 0.0
    behind[(1 << m) - 1] = 1.0
    for some in range((1 << m) - 2, -1, -1):
        u = sizes[some]
        behind[some] = 0.0
        for v in range(m):
            if not some >> v & 1:
                for lane in range(LANES):
                    rest = behind[some | (1 << v), lane]
                    behind[some, lane] += values[u, v, lane] * rest
                    weights[u, v, lane] += ahead[some, lane] * rest
