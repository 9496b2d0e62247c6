"""Sums of Matern-5/2 bumps, f(x) = sum_j w_j k(||x - p_j||): values, and what bounds them in a box.

Lengths are in units of l / sqrt(5), so that a bump at distance z is k = (1 + z + z^2 / 3) exp(-z).
As a function of the squared distance q = z^2 its derivatives alternate in sign and shrink,

    k' = -(1 + z) exp(-z) / 6,     k'' = exp(-z) / 12,     k''' = -exp(-z) / (24 z),

and q is quadratic: D = c - p is the way from the bump to the middle c of a box, and at c + x, with
y = q - z^2 of which the least and the largest in the box are known,

    y = 2 D.x + x.x,     k(q) = k + k' y + B(y) y^2,     B(y) = int_0^1 (1 - t) k''(z^2 + t y) dt,

where B decreases, from B(least y) to B(largest y). With these two there is a quartic polynomial
above f, and one below it. In the same way k'(q) = k' + k'' y - E(y) y^2 with E >= 0, for the
gradient 2 k'(q) (D + x).

Bumps come in blocks of LANES, (blocks, dim, LANES), padded with weights of 0: loops over a block
have no branches and become vector instructions. Calls of the C library's exp would not, so
`exp_minus` is a polynomial.
"""

import math
from typing import NamedTuple

import numpy as np

from orbandit._kernels.compiled import FloatArray, compiled

LANES = 64
DECAY_END = 64.0
"""Beyond this distance exp(-z) stays what it is here, 1.6e-28."""

EXP_COEFFICIENTS = tuple(math.exp(-0.5) * (-1.0) ** i / math.factorial(i) for i in range(15))
"""The Taylor polynomial of exp(-u) about u = 1/2: off by 2e-17 at most for u in [0, 1]."""

NARROW = 0.1
QUOTIENT_PRECISION = 1e-6
"""Quotients of differences are precise to 1e-7 for |y| above NARROW, and given 1e-6; below, simpler
bounds are used."""

SHOULDER = (5.0 + math.sqrt(13.0)) / 2.0
"""Where z (z - 3) exp(-z) has its maximum."""

THIRD = 1.0 / 3.0
"""A product takes a quarter of a quotient's time."""

VALUES, SLOPES = 0, 1


class Bumps(NamedTuple):
    """Blocks of bumps, and their weights."""

    places: FloatArray
    weights: FloatArray


class Room(NamedTuple):
    """The sums that an expansion is made of, and room to work in.

    With a_j = -6 w_j k', and two sets u and v of weights, `totals` has the sums of w_j k, a_j, u_j
    and v_j, `vectors` those of a_j D, u_j D and v_j D, and `matrices` those of u_j D D' and v_j D
    D'.
    """

    totals: FloatArray
    vectors: FloatArray
    matrices: FloatArray
    sums: FloatArray
    gaps: FloatArray
    z: FloatArray
    e: FloatArray
    k: FloatArray
    coefficients: FloatArray


def expansion_room(dim: int) -> Room:
    """Return room for an expansion in a dimension."""
    return Room(
        np.zeros(4),
        np.zeros((3, dim)),
        np.zeros((2, dim, dim)),
        np.zeros((4 + 3 * dim + dim * (dim + 1), LANES)),
        np.zeros((dim, LANES)),
        np.zeros((3, LANES)),
        np.zeros((3, LANES)),
        np.zeros((3, LANES)),
        np.zeros((3, LANES)),
    )


@compiled
def exp_minus(z: float) -> float:
    """Return exp(-z) for z >= 0, to within 2e-14 of itself: exp(-z / 64), squared six times."""
    u = min(z, DECAY_END) / DECAY_END - 0.5
    y = EXP_COEFFICIENTS[14] * u + EXP_COEFFICIENTS[13]
    y = y * u + EXP_COEFFICIENTS[12]
    y = y * u + EXP_COEFFICIENTS[11]
    y = y * u + EXP_COEFFICIENTS[10]
    y = y * u + EXP_COEFFICIENTS[9]
    y = y * u + EXP_COEFFICIENTS[8]
    y = y * u + EXP_COEFFICIENTS[7]
    y = y * u + EXP_COEFFICIENTS[6]
    y = y * u + EXP_COEFFICIENTS[5]
    y = y * u + EXP_COEFFICIENTS[4]
    y = y * u + EXP_COEFFICIENTS[3]
    y = y * u + EXP_COEFFICIENTS[2]
    y = y * u + EXP_COEFFICIENTS[1]
    y = y * u + EXP_COEFFICIENTS[0]
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    return y * y


@compiled
def bump_polynomial(z: float) -> float:
    """Return 1 + z + z^2 / 3, what a bump is besides exp(-z)."""
    return 1.0 + z * (1.0 + z * THIRD)


@compiled
def sum_of_bumps(points: FloatArray, bumps: Bumps, out: FloatArray) -> None:
    """Write f at each point into `out`."""
    m, d = points.shape
    places, weights = bumps.places, bumps.weights
    total, squared = np.empty(LANES), np.empty(LANES)
    for i in range(m):
        total[:] = 0.0
        for b in range(places.shape[0]):
            squared[:] = 0.0
            for k in range(d):
                for lane in range(LANES):
                    gap = points[i, k] - places[b, k, lane]
                    squared[lane] += gap * gap
            for lane in range(LANES):
                z = np.sqrt(squared[lane])
                total[lane] += weights[b, lane] * bump_polynomial(z) * exp_minus(z)
        out[i] = total.sum()


@compiled
def remainder_quotient(y: float, k: float, e: float, z: float, end_k: float) -> float:
    """Return B(y) as a quotient of differences."""
    return (end_k - k + (1.0 + z) * e * y * (THIRD / 2.0)) / (y * y)


@compiled
def value_remainders(weights: FloatArray, z: FloatArray, e: FloatArray, k: FloatArray, out: FloatArray) -> None:
    """Write the largest and the least w B(y), given z, exp(-z) and k in rows for the middle, nearest and farthest."""
    for lane in range(LANES):
        w, here, near, far = weights[lane], z[0, lane], z[1, lane], z[2, lane]
        # k'' is convex: its integral is below that of its chord, and above that of its tangent.
        chord = (2.0 * e[0, lane] + e[1, lane]) * (THIRD / 24.0)
        y = min(near * near - here * here, -NARROW)
        exact = remainder_quotient(y, k[0, lane], e[0, lane], here, k[1, lane]) * (1.0 + QUOTIENT_PRECISION)
        above = min(chord, exact) if near * near - here * here < -NARROW else chord
        y = far * far - here * here
        tangent = max(e[0, lane] * (THIRD / 8.0) * (1.0 - y * (THIRD / 2.0) / max(here, 1e-30)), 0.0)
        wide = max(y, NARROW)
        exact = remainder_quotient(wide, k[0, lane], e[0, lane], here, k[2, lane]) * (1.0 - QUOTIENT_PRECISION)
        below = max(tangent, exact) if y > NARROW else tangent
        out[1, lane] = max(w * above, w * below)
        out[2, lane] = min(w * above, w * below)


@compiled
def slope_remainders(weights: FloatArray, z: FloatArray, e: FloatArray, out: FloatArray) -> None:
    """Write w k'' / 2 and a bound of |w| E(y) ||D + x||, given rows for the middle, the nearest and the farthest.

    E is the integral of (1 - t) exp(-z_t) / (24 z_t), z_t the distance on the way. If that shrinks
    to ||D + x||, its ratio to z_t is at most 1, and exp(-z_t) is below the chord; also, E is
    largest for the least y. If it grows, z_t >= z, and z_t >= sqrt(t) ||D + x||.
    """
    for lane in range(LANES):
        here, near, far = z[0, lane], z[1, lane], z[2, lane]
        chord = (2.0 * e[0, lane] + e[1, lane]) * (THIRD / 48.0)
        y = min(near * near - here * here, -NARROW)
        rest = ((1.0 + near) * e[1, lane] - (1.0 + here - y / 2.0) * e[0, lane]) * (THIRD / 2.0)
        exact = here * rest / (y * y) * (1.0 + QUOTIENT_PRECISION)
        nearer = min(chord, exact) if near * near - here * here < -NARROW else chord
        away = min(e[0, lane] * far * (THIRD / 16.0) / max(here, 1e-30), THIRD / 6.0)
        out[1, lane] = weights[lane] * e[0, lane] * (THIRD / 8.0)
        out[2, lane] = abs(weights[lane]) * max(nearer, away)


@compiled
def box_distances(middle: FloatArray, sides: FloatArray, places: FloatArray, gaps: FloatArray, z: FloatArray) -> None:
    """Write the ways from bumps to the middle of a box, and squared distances of its middle, nearest and farthest."""
    z[:] = 0.0
    for k in range(len(middle)):
        x, side = middle[k], sides[k]
        for lane in range(LANES):
            gap = x - places[k, lane]
            near, far = max(abs(gap) - side, 0.0), abs(gap) + side
            gaps[k, lane] = gap
            z[0, lane] += gap * gap
            z[1, lane] += near * near
            z[2, lane] += far * far


@compiled
def add_expansion(
    middle: FloatArray, sides: FloatArray, bumps: Bumps, start: int, stop: int, purpose: int, room: Room
) -> None:
    """Add up what bounds f in a box, over some blocks of bumps.

    For VALUES, u_j is the largest and v_j the least w_j B(y); for SLOPES, u_j = w_j k'' / 2, and
    v_j bounds
    |w_j| E(y) ||D + x||.
    """
    z, e, k, coefficients = room.z, room.e, room.k, room.coefficients
    room.sums[:] = 0.0
    for b in range(start, stop):
        weights = bumps.weights[b]
        box_distances(middle, sides, bumps.places[b], room.gaps, z)
        for i in range(3):
            for lane in range(LANES):
                z[i, lane] = np.sqrt(z[i, lane])
                e[i, lane] = exp_minus(z[i, lane])
                k[i, lane] = bump_polynomial(z[i, lane]) * e[i, lane]
        for lane in range(LANES):
            room.sums[0, lane] += weights[lane] * k[0, lane]
            coefficients[0, lane] = weights[lane] * (1.0 + z[0, lane]) * e[0, lane]
        if purpose == VALUES:
            value_remainders(weights, z, e, k, coefficients)
        else:
            slope_remainders(weights, z, e, coefficients)
        add_block(room)
    add_lanes(room)


@compiled
def add_block(room: Room) -> None:
    """Add a block to the sums of each lane."""
    d, sums, gaps, c = room.vectors.shape[1], room.sums, room.gaps, room.coefficients
    for i in range(3):
        for lane in range(LANES):
            sums[1 + i, lane] += c[i, lane]
    row = 4
    for k in range(d):
        for lane in range(LANES):
            gap = gaps[k, lane]
            sums[row, lane] += c[0, lane] * gap
            sums[row + 1, lane] += c[1, lane] * gap
            sums[row + 2, lane] += c[2, lane] * gap
        row += 3
    for k in range(d):
        for j in range(k + 1):
            for lane in range(LANES):
                product = gaps[k, lane] * gaps[j, lane]
                sums[row, lane] += c[1, lane] * product
                sums[row + 1, lane] += c[2, lane] * product
            row += 2


@compiled
def add_lanes(room: Room) -> None:
    """Add up the lanes."""
    d, row = room.vectors.shape[1], 4
    for i in range(4):
        room.totals[i] = room.sums[i].sum()
    for k in range(d):
        for i in range(3):
            room.vectors[i, k] = room.sums[row].sum()
            row += 1
    for k in range(d):
        for j in range(k + 1):
            for i in range(2):
                room.matrices[i, k, j] = room.matrices[i, j, k] = room.sums[row].sum()
                row += 1


@compiled
def third_derivative_bound(point: FloatArray, radius: float, bumps: Bumps) -> float:
    """Return a bound of the norm of f's third derivative within a radius of a point.

    That of a bump along a unit vector u with c = u.D / z is z exp(-z) / 3 (3 c - z c^3), and never
    above exp(-z) / 3 max(1 + z, z (z - 3)): it is largest for c^2 = 1 / z if 1 <= z <= 4, and else
    for c = 1. The former decreases with z, the latter from SHOULDER on.
    """
    total = 0.0
    for b in range(len(bumps.places)):
        for lane in range(LANES):
            squared = 0.0
            for k in range(len(point)):
                squared += (point[k] - bumps.places[b, k, lane]) ** 2
            z = max(np.sqrt(squared) - radius, 0.0)
            far = max(z, SHOULDER)
            largest = max((1.0 + z) * exp_minus(z), far * (far - 3.0) * exp_minus(far))
            total += abs(bumps.weights[b, lane]) * largest / 3.0
    return total
