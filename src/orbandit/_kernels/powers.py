"""Powers of one half, by a polynomial and the bits of a float, so that loops over them become vector instructions.

With k the integer nearest to s and f = s - k, 2^-s = 2^-k 2^-f: a polynomial of f, in [-1/2, 1/2],
whose exponent is lowered by k. The sum of s and 1.5 2^52 has the bits of k at its end. It takes
half as many products as `exp_minus`, which squares.
"""

import numpy as np

from orbandit._kernels.compiled import compiled, contracted

POWER_COEFFICIENTS = (
    1.0,
    -0.69314718055995,
    0.24022650695910097,
    -0.05550410866444772,
    0.009618129107606888,
    -0.0013333558230164974,
    0.0001540353044173605,
    -1.5252657260200837e-05,
    1.321544258792169e-06,
    -1.0208690299958306e-07,
    7.072585949269223e-09,
)
"""The polynomial that equals 2^-f at 11 Chebyshev points of [-1/2, 1/2]: off by 2e-16 of itself at
most."""

INTEGER_SHIFT = 1.5 * 2.0**52
"""Floats near this are integers."""

MAX_EXPONENT = 1000.0
"""Beyond this s a power stays what it is here, 9e-302, and is no subnormal float."""


@contracted
def power_of_fraction(f: float) -> float:
    """Return 2^-f for f in [-1/2, 1/2]."""
    y = POWER_COEFFICIENTS[10] * f + POWER_COEFFICIENTS[9]
    y = y * f + POWER_COEFFICIENTS[8]
    y = y * f + POWER_COEFFICIENTS[7]
    y = y * f + POWER_COEFFICIENTS[6]
    y = y * f + POWER_COEFFICIENTS[5]
    y = y * f + POWER_COEFFICIENTS[4]
    y = y * f + POWER_COEFFICIENTS[3]
    y = y * f + POWER_COEFFICIENTS[2]
    y = y * f + POWER_COEFFICIENTS[1]
    return y * f + POWER_COEFFICIENTS[0]


@compiled
def power_of_half(s: float) -> float:
    """Return 2^-s for s >= 0, to within 1e-15 of itself."""
    s = min(s, MAX_EXPONENT)
    rounded = INTEGER_SHIFT - s
    y = power_of_fraction(s + (rounded - INTEGER_SHIFT))
    lowered = np.float64(y).view(np.int64) + (np.float64(rounded).view(np.int64) << 52)
    return float(np.int64(lowered).view(np.float64))
