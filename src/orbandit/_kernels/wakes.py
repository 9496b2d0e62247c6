"""Wakes of turbines: the simplified Gaussian model of IEA Wind Task 37, as it is or with a smooth onset; gradients.

The onset is the distance in metres over which a wake rises to the published one. With 0 it is that
one at once, with a jump at dx = 0, and gradients are those beside the jump.
"""

import numpy as np

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled

DIAMETER, THRUST, WIDENING = 130.0, 8.0 / 9.0, 0.0324555
"""Of the rotor, in metres; the thrust coefficient; and by how much a wake widens on a metre."""

FREE, CUT_IN = 9.8, 4.0
"""Speed of the free wind, in which a turbine yields its rated power, and of the least wind it turns
in; in m/s."""

FAINT = 40.0
"""Where the exponent of a wake is below minus this, the wake is nothing beside 1 in floating
point."""


@compiled
def deficit(dx: float, dy: float, onset: float = DIAMETER) -> float:
    """Return the share of its speed that wind loses dx downstream of a turbine and dy beside its axis."""
    if dx <= 0.0:
        return 0.0
    sigma = WIDENING * dx + DIAMETER / np.sqrt(8.0)
    exponent = 0.5 * (dy / sigma) ** 2
    if exponent > FAINT:
        return 0.0
    loss = (1.0 - np.sqrt(1.0 - THRUST / (8.0 * sigma**2 / DIAMETER**2))) * np.exp(-exponent)
    if dx < onset:
        t = dx / onset
        loss *= t * t * (3.0 - 2.0 * t)
    return float(loss)


@compiled
def deficit_gradient(dx: float, dy: float, onset: float = DIAMETER) -> tuple[float, float, float]:
    """Return the deficit and its derivatives along dx and dy."""
    loss = deficit(dx, dy, onset)
    if loss == 0.0:
        return 0.0, 0.0, 0.0
    sigma = WIDENING * dx + DIAMETER / np.sqrt(8.0)
    share = THRUST / (8.0 * sigma**2 / DIAMETER**2)
    root = np.sqrt(1.0 - share)
    # The wake widens and weakens; its onset rises.
    along = loss * WIDENING * (dy * dy / sigma**3 - share / (sigma * root * (1.0 - root)))
    if dx < onset:
        t = dx / onset
        along += loss * 6.0 * (1.0 - t) / (onset * t * (3.0 - 2.0 * t))
    return loss, along, -loss * dy / sigma**2


@compiled
def farm_power(
    layouts: FloatArray, winds: FloatArray, weights: FloatArray, out: FloatArray, onset: float = DIAMETER
) -> None:
    """Write the power of each layout, as a share of what it is rated for, in the weighted sum over winds.

    layouts is (n, turbines, 2), winds holds the unit vectors that winds blow along, (k, 2), and
    weights is (n, k), or (1, k) if they are the same for every layout.
    """
    turbines = layouts.shape[1]
    losses = np.empty(turbines)
    for p in range(layouts.shape[0]):
        row = p if weights.shape[0] > 1 else 0
        out[p] = 0.0
        for w in range(winds.shape[0]):
            if weights[row, w] == 0.0:
                continue
            losses[:] = 0.0
            for i in range(turbines):
                for j in range(i):
                    dx, dy = _in_wind(layouts[p], i, j, winds[w])
                    # Of two turbines at most one stands in the other's wake; squares add up.
                    losses[j if dx > 0.0 else i] += deficit(abs(dx), dy, onset) ** 2
            for j in range(turbines):
                out[p] += weights[row, w] / turbines * _share(losses[j]) ** 3


@compiled
def farm_gradients(
    layouts: FloatArray, winds: FloatArray, weights: FloatArray, out: FloatArray, onset: float = DIAMETER
) -> None:
    """Write the gradient of the power of each layout, (n, turbines, 2); weights are (k,)."""
    turbines = layouts.shape[1]
    losses, gradients = np.empty(turbines), np.empty((turbines, turbines, 3))
    behind = np.empty((turbines, turbines), np.int64)
    for p in range(layouts.shape[0]):
        out[p] = 0.0
        for w in range(winds.shape[0]):
            losses[:] = 0.0
            for i in range(turbines):
                for j in range(i):
                    dx, dy = _in_wind(layouts[p], i, j, winds[w])
                    loss, by_dx, by_dy = deficit_gradient(abs(dx), dy, onset)
                    gradients[i, j] = loss, by_dx if dx > 0.0 else -by_dx, by_dy
                    behind[i, j] = j if dx > 0.0 else i
                    losses[behind[i, j]] += loss**2
            for i in range(turbines):
                for j in range(i):
                    loss, by_dx, by_dy = gradients[i, j]
                    if loss == 0.0:
                        continue
                    total = losses[behind[i, j]]
                    factor = -3.0 * _share(total) ** 2 * FREE / (FREE - CUT_IN) * loss / np.sqrt(total)
                    factor *= weights[w] / turbines
                    x = factor * (by_dx * winds[w, 0] - by_dy * winds[w, 1])
                    y = factor * (by_dx * winds[w, 1] + by_dy * winds[w, 0])
                    out[p, j, 0] += x
                    out[p, j, 1] += y
                    out[p, i, 0] -= x
                    out[p, i, 1] -= y


@compiled
def _in_wind(layout: FloatArray, i: int, j: int, wind: FloatArray) -> tuple[float, float]:
    """Return how far downstream of turbine i, and how far beside its axis, turbine j stands."""
    x, y = layout[j, 0] - layout[i, 0], layout[j, 1] - layout[i, 1]
    return x * wind[0] + y * wind[1], y * wind[0] - x * wind[1]


@compiled
def _share(square: float) -> float:
    """Return the cube root of the share of the rated power in wind that has lost the root of `square` of its speed."""
    return max(0.0, float((FREE * (1.0 - np.sqrt(square)) - CUT_IN) / (FREE - CUT_IN)))


@compiled
def nearest_pairs(layouts: FloatArray, distances: FloatArray, pairs: IndexArray) -> None:
    """Write the least distance between two turbines of each layout (n, turbines, 2), and which two, (n, 2)."""
    for p in range(layouts.shape[0]):
        least = np.inf
        for i in range(layouts.shape[1]):
            for j in range(i):
                x, y = layouts[p, j, 0] - layouts[p, i, 0], layouts[p, j, 1] - layouts[p, i, 1]
                if x * x + y * y < least:
                    least = x * x + y * y
                    pairs[p, 0], pairs[p, 1] = i, j
        distances[p] = np.sqrt(least)
