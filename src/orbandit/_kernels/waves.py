"""Sums over pairs of units of cosines of their distance, by polynomials, so that loops become vector instructions.

Phases are in quarter turns: the nearest integer k is subtracted from t without rounding, which
leaves r in [-1/2, 1/2], and cos and sin of pi t / 2 are those of pi r / 2 up to their order and
signs, which k says.
"""

import math

import numpy as np

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled

SINES = tuple((-1) ** k * (math.pi / 2) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(8))
COSINES = tuple((-1) ** k * (math.pi / 2) ** (2 * k) / math.factorial(2 * k) for k in range(9))
"""Coefficients of sin(pi r / 2) / r and cos(pi r / 2) as polynomials of r^2; what is left out is
below 1e-16."""


@compiled
def wave(phase: float) -> tuple[float, float]:
    """Return cos and sin of pi / 2 times a phase, to within 3e-16."""
    turns = np.floor(phase + 0.5)
    rest = phase - turns
    square = rest * rest
    sine, cosine = SINES[7] * square + SINES[6], COSINES[8] * square + COSINES[7]
    sine, cosine = sine * square + SINES[5], cosine * square + COSINES[6]
    sine, cosine = sine * square + SINES[4], cosine * square + COSINES[5]
    sine, cosine = sine * square + SINES[3], cosine * square + COSINES[4]
    sine, cosine = sine * square + SINES[2], cosine * square + COSINES[3]
    sine, cosine = sine * square + SINES[1], cosine * square + COSINES[2]
    sine, cosine = (sine * square + SINES[0]) * rest, cosine * square + COSINES[1]
    cosine = cosine * square + COSINES[0]
    quarter = turns - 4 * np.floor(turns * 0.25)
    is_odd = (quarter == 1.0) | (quarter == 3.0)
    first = sine if is_odd else cosine
    second = cosine if is_odd else sine
    return (-first if (quarter == 1.0) | (quarter == 2.0) else first), (-second if quarter >= 2.0 else second)


@compiled
def pair_waves(
    layouts: FloatArray,
    pairs: IndexArray,
    frequencies: FloatArray,
    is_signed: bool,
    sums: FloatArray,
    by_place: FloatArray,
    by_unit: FloatArray,
) -> None:
    """Write, for each layout and frequency w, the sum over pairs of units of cos(pi / 2 w |x_i - x_j|).

    Of |x_i + x_j|, too, if signs of units do not matter. Derivatives are written where there is room.

    Parameters
    ----------
    layouts : (n, units, size) array
        The units x_i.
    pairs : (P, 2) array of int
        Which pairs i, j.
    frequencies : (M,) array
        The w, in quarter turns.
    is_signed : bool
        Whether signs do not matter.
    sums : (n, M) array
        Where the sums are written.
    by_place : (n, size, M) array, or empty
        Their derivatives by minus the logarithm of a factor of all coordinates at a place.
    by_unit : (n, M, units, size) array, or empty
        Their derivatives by the units.
    """
    n, _, size = layouts.shape
    count = len(frequencies)
    cosines, slopes, gaps = np.empty(count), np.empty(count), np.empty(size)
    sums[:], by_place[:], by_unit[:] = 0.0, 0.0, 0.0
    for a in range(n):
        for pair in range(len(pairs)):
            i, j = pairs[pair, 0], pairs[pair, 1]
            for sign in range(2 if is_signed else 1):
                turn, square = 1.0 - 2.0 * sign, 0.0
                for place in range(size):
                    gaps[place] = layouts[a, i, place] - turn * layouts[a, j, place]
                    square += gaps[place] * gaps[place]
                distance = math.sqrt(square)
                for k in range(count):
                    cosines[k], slopes[k] = wave(frequencies[k] * distance)
                for k in range(count):
                    sums[a, k] += cosines[k]
                # minus the derivative by half the squared distance; its limit where units meet
                if distance > 1e-9:
                    for k in range(count):
                        slopes[k] *= math.pi / 2 * frequencies[k] / distance
                else:
                    for k in range(count):
                        slopes[k] = (math.pi / 2 * frequencies[k]) ** 2
                if len(by_place):
                    for place in range(size):
                        part = gaps[place] * gaps[place]
                        for k in range(count):
                            by_place[a, place, k] += part * slopes[k]
                if len(by_unit):
                    for k in range(count):
                        for place in range(size):
                            part = slopes[k] * gaps[place]
                            by_unit[a, k, i, place] -= part
                            by_unit[a, k, j, place] += turn * part
