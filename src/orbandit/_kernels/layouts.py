"""Means over images of kernels of layouts, which are told apart by sums of Gaussians over all pairs of units.

    S(X, Y) = mean over i, j of kappa(x_i, y_j),     kappa(u, v) = 2^-||u - v||^2,
    q(X, Y) = c^2 (S(X, X) + S(Y, Y) - 2 S(X, Y)),   k(X, Y) = mean over images X' and Y' of family(q(X', Y')),

where units x_i are the rows of an (m, size) layout. If signs of units do not matter, those of Y
come with their negatives. The first layouts are (n, g, m, size), with g images of each. The second
ones come in blocks of LANES for each of h images, (h, blocks, units, size, LANES), so that loops
over a block become vector instructions, and what they need stays in the nearest cache. Lane 0 of
the first block is room for the X at hand, whose S(X, X) is needed, too, and by the same operations,
so that q(X, X) = 0; lanes from k + 1 on are padding.
"""

import math
from typing import NamedTuple

import numpy as np

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled
from orbandit._kernels.powers import power_of_half
from orbandit._kernels.profiles import family_values, write_mean

LANES = 64
STEEPNESS = 2.0 * math.log(2.0)
"""The derivative of kappa by u is -STEEPNESS kappa (u - v)."""


class Own(NamedTuple):
    """The S(Y, Y), (h, blocks, LANES), their derivatives, (h, blocks, kinds, LANES), and the kind of each place.

    Places of one kind have one length scale.
    """

    values: FloatArray
    by_kind: FloatArray
    kinds: IndexArray


@compiled
def blocks_for(columns: int) -> int:
    """Return the least number of blocks with room for so many second layouts, and the X at hand."""
    return columns // LANES + 1


@compiled
def planar_similarity(x: FloatArray, b: FloatArray, shared: FloatArray) -> None:
    """Add up kappa over all pairs of units of two places each: without room for what is in between, which takes time.

    The sums of squares are those of `solid`, to the last bit.
    """
    for i in range(len(x)):
        first, second = x[i, 0], x[i, 1]
        for j in range(len(b)):
            for lane in range(LANES):
                one, two = first - b[j, 0, lane], second - b[j, 1, lane]
                shared[lane] += power_of_half(one * one + two * two)


@compiled
def planar_similarity_by_place(x: FloatArray, b: FloatArray, shared: FloatArray, parts: FloatArray) -> None:
    """Do what `planar_similarity` does, and add up kappa (u - v)^2 for each place, too."""
    for i in range(len(x)):
        first, second = x[i, 0], x[i, 1]
        for j in range(len(b)):
            for lane in range(LANES):
                one, two = first - b[j, 0, lane], second - b[j, 1, lane]
                bump = power_of_half(one * one + two * two)
                shared[lane] += bump
                parts[0, lane] += bump * (one * one)
                parts[1, lane] += bump * (two * two)


@compiled
def planar_pull_of_unit(x: FloatArray, b: FloatArray, shared: FloatArray, moves: FloatArray) -> None:
    """Add up kappa over all pairs of one unit u, and kappa (u - v), too."""
    first, second = x[0], x[1]
    for j in range(len(b)):
        for lane in range(LANES):
            one, two = first - b[j, 0, lane], second - b[j, 1, lane]
            bump = power_of_half(one * one + two * two)
            shared[lane] += bump
            moves[0, lane] += bump * one
            moves[1, lane] += bump * two


@compiled
def planar_similarity_by_unit(x: FloatArray, b: FloatArray, shared: FloatArray, moves: FloatArray) -> None:
    """Do what `planar_similarity` does, and add up kappa (u - v) for each u of X, too."""
    for i in range(len(x)):
        planar_pull_of_unit(x[i], b, shared, moves[2 * i : 2 * i + 2])


@compiled
def general_similarity(x: FloatArray, b: FloatArray, shared: FloatArray, parts: FloatArray, moves: FloatArray) -> None:
    """Do the same for units of any number of places, where there are rows for parts and moves."""
    size = x.shape[1]
    room = np.empty((size + 1, LANES))
    bumps = room[size]
    for i in range(len(x)):
        for j in range(len(b)):
            bumps[:] = 0.0
            for c in range(size):
                place = x[i, c]
                for lane in range(LANES):
                    gap = place - b[j, c, lane]
                    room[c, lane] = gap
                    bumps[lane] += gap * gap
            for lane in range(LANES):
                bumps[lane] = power_of_half(bumps[lane])
                shared[lane] += bumps[lane]
            for c in range(len(parts)):
                for lane in range(LANES):
                    parts[c, lane] += bumps[lane] * (room[c, lane] * room[c, lane])
            if len(moves) > 0:
                for c in range(size):
                    for lane in range(LANES):
                        moves[i * size + c, lane] += bumps[lane] * room[c, lane]


@compiled
def block_similarity(x: FloatArray, b: FloatArray, shared: FloatArray, parts: FloatArray, moves: FloatArray) -> None:
    """Write the S(X, Y) of a block into `shared`, and sums for their derivatives where there are rows for them.

    For those by the logarithms of length scales, kappa (u - v)^2 for each place goes to `parts`,
    (size, LANES), and for those by the units of X, kappa (u - v) to `moves`, (m * size, LANES).
    """
    m, size = x.shape
    shared[:] = 0.0
    parts[:] = 0.0
    moves[:] = 0.0
    if size != 2 or (len(parts) > 0 and len(moves) > 0):
        general_similarity(x, b, shared, parts, moves)
    elif len(parts) > 0:
        planar_similarity_by_place(x, b, shared, parts)
    elif len(moves) > 0:
        planar_similarity_by_unit(x, b, shared, moves)
    else:
        planar_similarity(x, b, shared)
    weight = 1.0 / (m * len(b))
    for lane in range(LANES):
        shared[lane] *= weight


@compiled
def derivatives_by_scale(parts: FloatArray, kinds: IndexArray, pairs: int, by_kind: FloatArray) -> None:
    """Write derivatives by the logarithms of length scales, given the parts of places, of so many pairs of units."""
    by_kind[:] = 0.0
    for c in range(len(parts)):
        total = by_kind[kinds[c]]
        for lane in range(LANES):
            total[lane] += (STEEPNESS / pairs) * parts[c, lane]


@compiled
def put_into_lane(x: FloatArray, b: FloatArray) -> None:
    """Write a layout, and the negatives of its units if those count, into lane 0."""
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
    lengths: FloatArray,
    is_symmetric: bool,
    out: FloatArray,
    by_scale: FloatArray,
    gradients: FloatArray,
) -> None:
    """Write k at all pairs into `out`, (n, k), and its derivatives where there is room for them.

    Those by the logarithms of length scales and of the reach, to whose inverse c is proportional,
    go to `by_scale`, (kinds + 1, n, k), and the gradients by the units of the first layouts, of one
    image each, to `gradients`, (n, m * size, k). `square` is the c^2, and the places of units have
    been divided by `lengths`, (size,). If values are symmetric, half of them are worked out,
    without gradients.
    """
    (n, g, m, size), (h, blocks, units) = a.shape, b.shape[:3]
    s, d = max(len(by_scale) - 1, 0), gradients.shape[1]
    rows = np.empty((4, LANES))
    shared, q, values, by_q = rows[0], rows[1], rows[2], rows[3]
    parts, by_kind, by_unit = np.empty((size if s > 0 else 0, LANES)), np.empty((s, LANES)), np.empty((d, LANES))
    first_by_kind, first_by_unit, width = np.empty(s), np.empty(d), blocks * LANES
    total, total_by_q = np.empty(width), np.empty(width)
    scales, moves = np.empty((len(by_scale), width)), np.empty((d, width))
    for row in range(n):
        columns = row + 1 if is_symmetric else out.shape[1]
        total[:] = 0.0
        total_by_q[:] = 0.0
        scales[:] = 0.0
        moves[:] = 0.0
        for pair in range(g * h):
            x, turned = a[row, pair // h], b[pair % h]
            own_values, own_by_kind = own.values[pair % h], own.by_kind[pair % h]
            put_into_lane(x, turned[0])
            first = 0.0
            for block in range(blocks_for(columns)):
                block_similarity(x, turned[block], shared, parts, by_unit)
                derivatives_by_scale(parts, own.kinds, m * units, by_kind)
                if block == 0:
                    first = shared[0]
                    first_by_kind[:] = by_kind[:, 0]
                    first_by_unit[:] = by_unit[:, 0]
                start = block * LANES
                for lane in range(LANES):
                    q[lane] = square * max(first + own_values[block, lane] - 2.0 * shared[lane], 0.0)
                family_values(family, q, LANES, values, by_q)
                for lane in range(LANES):
                    total[start + lane] += values[lane]
                    total_by_q[start + lane] += by_q[lane]
                for kind in range(s):
                    for lane in range(LANES):
                        part = first_by_kind[kind] + own_by_kind[block, kind, lane] - 2.0 * by_kind[kind, lane]
                        scales[kind, start + lane] += square * part * by_q[lane]
                if s > 0:
                    for lane in range(LANES):
                        scales[s, start + lane] -= 2.0 * q[lane] * by_q[lane]
                for c in range(d):
                    for lane in range(LANES):
                        moves[c, start + lane] += by_q[lane] * by_unit[c, lane]
        for c in range(d):
            # Twice, since the gradient of S(X, X) is twice that by its first argument.
            factor, here = 2.0 * square * STEEPNESS / (m * units * g * h * lengths[c % size]), first_by_unit[c]
            for col in range(columns):
                gradients[row, c, col] = factor * (moves[c, col + 1] - here * total_by_q[col + 1])
        write_mean(total, g * h, 1, columns, is_symmetric, row, out)
        for scale in range(len(by_scale)):
            write_mean(scales[scale], g * h, 1, columns, is_symmetric, row, by_scale[scale])


@compiled
def paired_similarities(a: FloatArray, b: FloatArray, kinds: IndexArray, out: FloatArray, by_kind: FloatArray) -> None:
    """Write S of the layouts in each lane of one array of blocks and of another, (blocks, units, size, LANES) both.

    Also its derivatives: (blocks, LANES) and (blocks, kinds, LANES). Negatives of units are left
    out of the first.
    """
    m, size = a.shape[1:3]
    units = b.shape[1]
    parts, bumps, weight = np.empty((size, LANES)), np.empty(LANES), 1.0 / (m * units)
    out[:] = 0.0
    for block in range(len(a)):
        shared = out[block]
        parts[:] = 0.0
        for i in range(m):
            for j in range(units):
                bumps[:] = 0.0
                for c in range(size):
                    for lane in range(LANES):
                        gap = a[block, i, c, lane] - b[block, j, c, lane]
                        bumps[lane] += gap * gap
                for lane in range(LANES):
                    bumps[lane] = power_of_half(bumps[lane])
                    shared[lane] += bumps[lane]
                for c in range(size):
                    for lane in range(LANES):
                        gap = a[block, i, c, lane] - b[block, j, c, lane]
                        parts[c, lane] += bumps[lane] * (gap * gap)
        for lane in range(LANES):
            shared[lane] *= weight
        derivatives_by_scale(parts, kinds, m * units, by_kind[block])


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
            while j > 0 and is_before(unit, x[j - 1]):
                for c in range(size):
                    x[j, c] = x[j - 1, c]
                j -= 1
            for c in range(size):
                x[j, c] = unit[c]


@compiled
def is_before(one: FloatArray, two: FloatArray) -> bool:
    """Tell whether a unit comes before another in the dictionary."""
    for c in range(len(one)):
        if one[c] != two[c]:
            return bool(one[c] < two[c])
    return False
