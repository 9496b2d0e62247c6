"""Means over images of kernels of a sum of squares of features, each in its own length.

    q(x, y) = sum_j (f_j(x) - f_j(y))^2,     k(x, y) = mean over images x' and y' of family(q(x', y')).

The features of the first points are (n, g, p), with g images of each; those of h images of the
second ones come with their number last, (h, p, width), padded, so that loops over them become
vector instructions.
"""

import numpy as np

from orbandit._kernels.compiled import FloatArray, compiled
from orbandit._kernels.profiles import add_carried, family_values, padded_width, write_mean


@compiled
def square_means(
    family: int,
    a: FloatArray,
    b: FloatArray,
    exponents: FloatArray,
    jacobians: FloatArray,
    is_symmetric: bool,
    out: FloatArray,
    by_scale: FloatArray,
    gradients: FloatArray,
) -> None:
    """Write k at all pairs into `out`, (n, k), and its derivatives where there is room for them.

    Those by the logarithms of s length scales go to `by_scale`, (s, n, k): the square of feature j
    is proportional to prod_c lengths_c^-e_jc, for the (p, s) exponents e_jc. The gradients by d
    coordinates of the first points, of one image each, go to `gradients`, (n, d, k); `jacobians`
    has the derivatives of features by these coordinates, (n, p, d), or (1, p, d) if they are the
    same for all points. If values are symmetric, half of them are worked out, without gradients.
    """
    (n, g, p), (h, _, room) = a.shape, b.shape
    s, d = len(by_scale), gradients.shape[1]
    rows, gaps = np.empty((4, room)), np.empty((p, room))
    q, values, by_q, total = rows[0], rows[1], rows[2], rows[3]
    scales, by_feature, moves = np.empty((s, room)), np.empty((p if d > 0 else 0, room)), np.empty((d, room))
    for row in range(n):
        columns = row + 1 if is_symmetric else out.shape[1]
        width = padded_width(columns)
        total[:] = 0.0
        scales[:] = 0.0
        by_feature[:] = 0.0
        moves[:] = 0.0
        for pair in range(g * h):
            x, y = a[row, pair // h], b[pair % h]
            q[:] = 0.0
            for j in range(p):
                place = x[j]
                for col in range(width):
                    gap = place - y[j, col]
                    gaps[j, col] = gap
                    q[col] += gap * gap
            family_values(family, q, width, values, by_q)
            for col in range(width):
                total[col] += values[col]
            for j in range(p):
                for scale in range(s):
                    exponent = exponents[j, scale]
                    if exponent != 0.0:
                        for col in range(width):
                            scales[scale, col] -= exponent * by_q[col] * gaps[j, col] * gaps[j, col]
            for j in range(len(by_feature)):
                for col in range(width):
                    by_feature[j, col] += 2.0 * by_q[col] * gaps[j, col]
        if d > 0:
            add_carried(jacobians[row if len(jacobians) > 1 else 0], by_feature, width, moves)
        write_mean(total, g * h, 0, columns, is_symmetric, row, out)
        for scale in range(s):
            write_mean(scales[scale], g * h, 0, columns, is_symmetric, row, by_scale[scale])
        for c in range(d):
            write_mean(moves[c], g * h, 0, columns, False, c, gradients[row])
