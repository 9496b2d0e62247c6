"""Means over images of kernels of layouts, which are told apart by sums of Gaussians over all pairs of units.

    S(X, Y) = mean over i, j of kappa(x_i, y_j),     kappa(u, v) = exp(-||u - v||^2 / 2),
    q(X, Y) = c^2 (S(X, X) + S(Y, Y) - 2 S(X, Y)),   k(X, Y) = mean over images X' of X of family(q(X', Y)),

where units x_i are the rows of an (m, size) layout. If signs of units do not matter, those of Y come with their
negatives. The first layouts are (n, h, m, size), with h images of each. The second ones come with their number last,
(units, size, width), so that loops over them become vector instructions: column 0 is room for the X at hand, whose
S(X, X) is needed, too, and by the same operations, so that q(X, X) = 0; columns from k + 1 on pad the width.
"""

from typing import NamedTuple

import numpy as np

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled
from orbandit._kernels.matern import decay
from orbandit._kernels.profiles import carry, padded, profile, write_mean


class Own(NamedTuple):
    """The S(Y, Y), (width,), their derivatives, (kinds, width), and which length scale each place of a unit has."""

    values: FloatArray
    slopes: FloatArray
    kinds: IndexArray


@compiled
def stretch(gaps: FloatArray, kinds: IndexArray, bumps: FloatArray, width: int, parts: FloatArray) -> None:
    """Add d kappa / d log of the length scale of each kind to `parts`."""
    for c in range(len(kinds)):
        kind = kinds[c]
        for col in range(width):
            parts[kind, col] += bumps[col] * gaps[c, col] * gaps[c, col]


@compiled
def similar(
    x: FloatArray,
    b: FloatArray,
    width: int,
    kinds: IndexArray,
    room: FloatArray,
    shared: FloatArray,
    parts: FloatArray,
    moves: FloatArray,
) -> None:
    """Write the S(X, Y) into `shared`, and their derivatives where there are rows for them.

    Those by the logarithms of length scales go to `parts`, (kinds, width), and those by the units of X to `moves`,
    (m * size, width). `room` has a row more than a unit has places.
    """
    m, size = x.shape
    bumps, gaps = room[size], room
    shared[:] = 0.0
    parts[:] = 0.0
    moves[:] = 0.0
    for i in range(m):
        for j in range(len(b)):
            place = x[i, 0]
            for col in range(width):
                gap = place - b[j, 0, col]
                gaps[0, col] = gap
                bumps[col] = gap * gap
            for c in range(1, size):
                place = x[i, c]
                for col in range(width):
                    gap = place - b[j, c, col]
                    gaps[c, col] = gap
                    bumps[col] += gap * gap
            for col in range(width):
                bumps[col] = decay(0.5 * bumps[col])
                shared[col] += bumps[col]
            if len(parts) > 0:
                stretch(gaps, kinds, bumps, width, parts)
            if len(moves) > 0:
                for c in range(size):
                    for col in range(width):
                        moves[i * size + c, col] -= bumps[col] * gaps[c, col]
    weight = 1.0 / (m * len(b))
    for col in range(width):
        shared[col] *= weight
    for kind in range(len(parts)):
        for col in range(width):
            parts[kind, col] *= weight
    for p in range(len(moves)):
        for col in range(width):
            moves[p, col] *= weight


@compiled
def take_in(x: FloatArray, b: FloatArray) -> None:
    """Write a layout, and the negatives of its units if those count, into column 0."""
    m, size = x.shape
    for i in range(m):
        for c in range(size):
            b[i, c, 0] = x[i, c]
            if len(b) > m:
                b[m + i, c, 0] = -x[i, c]


@compiled
def layout_means(
    family: int,
    square: float,
    a: FloatArray,
    b: FloatArray,
    own: Own,
    turns: FloatArray,
    lengths: FloatArray,
    is_symmetric: bool,
    out: FloatArray,
    by_scale: FloatArray,
    gradients: FloatArray,
) -> None:
    """Write k at all pairs into `out`, (n, k), and its derivatives where there is room for them.

    Those by the logarithms of length scales and of the reach, to whose inverse c is proportional, go to `by_scale`,
    (kinds + 1, n, k), and the gradients by d coordinates of the first points to `gradients`, (n, d, k). `square` is the
    c^2, `turns` has the derivatives of images by these coordinates, (h, m * size, d), and the places of units have been
    divided by `lengths`, (size,). If values are symmetric, half of them are worked out, without gradients.
    """
    n, h, m, size = a.shape
    s, d = max(len(by_scale) - 1, 0), gradients.shape[1]
    rows, room = np.empty((5, b.shape[2])), np.empty((size + 1, b.shape[2]))
    shared, q, values, slopes, total = rows[0], rows[1], rows[2], rows[3], rows[4]
    parts, scales = np.empty((s, b.shape[2])), np.empty((len(by_scale), b.shape[2]))
    by_unit, moves = np.empty((m * size if d > 0 else 0, b.shape[2])), np.empty((d, b.shape[2]))
    for row in range(n):
        columns = row + 1 if is_symmetric else out.shape[1]
        width = padded(columns + 1)
        total[:] = 0.0
        scales[:] = 0.0
        moves[:] = 0.0
        for image in range(h):
            take_in(a[row, image], b)
            similar(a[row, image], b, width, own.kinds, room, shared, parts, by_unit)
            for col in range(width):
                q[col] = square * max(shared[0] + own.values[col] - 2.0 * shared[col], 0.0)
            profile(family, q, width, values, slopes)
            for col in range(width):
                total[col] += values[col]
            for kind in range(s):
                first = parts[kind, 0]
                for col in range(width):
                    part = first + own.slopes[kind, col] - 2.0 * parts[kind, col]
                    scales[kind, col] += square * part * slopes[col]
            if s > 0:
                for col in range(width):
                    scales[s, col] -= 2.0 * q[col] * slopes[col]
            for p in range(len(by_unit)):
                # Twice, since the gradient of S(X, X) is twice that by its first argument.
                first, factor = by_unit[p, 0], 2.0 * square / lengths[p % size]
                for col in range(width):
                    by_unit[p, col] = factor * slopes[col] * (first - by_unit[p, col])
            if d > 0:
                carry(turns[image], by_unit, width, moves)
        write_mean(total, h, 1, columns, is_symmetric, row, out)
        for scale in range(len(by_scale)):
            write_mean(scales[scale], h, 1, columns, is_symmetric, row, by_scale[scale])
        for c in range(d):
            write_mean(moves[c], h, 1, columns, False, c, gradients[row])


@compiled
def paired_similarities(a: FloatArray, b: FloatArray, kinds: IndexArray, out: FloatArray, by_kind: FloatArray) -> None:
    """Write S of the i-th (m, size, n) with the i-th (units, size, n) layout, and slopes, (n,) and (kinds, n)."""
    m, size, n = a.shape
    gaps, bumps = np.empty((size, n)), np.empty(n)
    weight = 1.0 / (m * len(b))
    out[:] = 0.0
    by_kind[:] = 0.0
    for i in range(m):
        for j in range(len(b)):
            bumps[:] = 0.0
            for c in range(size):
                for col in range(n):
                    gap = a[i, c, col] - b[j, c, col]
                    gaps[c, col] = gap
                    bumps[col] += gap * gap
            for col in range(n):
                bumps[col] = decay(0.5 * bumps[col])
                out[col] += bumps[col]
            stretch(gaps, kinds, bumps, n, by_kind)
    for col in range(n):
        out[col] *= weight
    for kind in range(len(by_kind)):
        for col in range(n):
            by_kind[kind, col] *= weight


@compiled
def sort_units(layouts: FloatArray, signed: bool) -> None:
    """Sort the units of each of (n, m, size) layouts; if signs do not matter, make first coordinates positive.

    So equal layouts are written in the same way.
    """
    n, m, size = layouts.shape
    unit = np.empty(size)
    for row in range(n):
        x = layouts[row]
        for i in range(m):
            flips = False
            for c in range(size):
                if x[i, c] != 0.0:
                    flips = signed and x[i, c] < 0.0
                    break
            for c in range(size):
                unit[c] = (-x[i, c] if flips else x[i, c]) + 0.0  # turns -0.0 into 0.0
            j = i
            while j > 0 and precedes(unit, x[j - 1]):
                for c in range(size):
                    x[j, c] = x[j - 1, c]
                j -= 1
            for c in range(size):
                x[j, c] = unit[c]


@compiled
def precedes(one: FloatArray, two: FloatArray) -> bool:
    """Tell whether a unit comes before another in the dictionary."""
    for c in range(len(one)):
        if one[c] != two[c]:
            return bool(one[c] < two[c])
    return False
