"""HCT and VHCT on a tree of cells: follow the largest B-values down to a cell that is not known well enough.

    width = c^2 log(1 / d(t+)),    d(t) = min(1, fraction / t),    t+ the least power of two from t on
    radius(T) = sqrt(width / T)                                   HCT
              = sqrt(2 V width / T) + 3 width / T                 VHCT, V the variance of the cell's rewards
    U = mean + widths[depth] + radius(T),    B = min(U, max of the children's B)
    enough = the T at which radius(T) = widths[depth]

Rewards count for the cell whose point was played, not for those above it. `stats` has a row of SUM,
COUNT, PENDING, SQUARES, the sum of squared rewards, and CUT, whether its halves are in the tree; T
is COUNT + PENDING.
"""

import numpy as np

from orbandit._kernels.cells import COUNT, PENDING, ROOT, SUM, UNKNOWN
from orbandit._kernels.compiled import FloatArray, IndexArray, compiled

SQUARES, CUT = 3, 4
COLUMNS = 5


@compiled
def variance(node: int, stats: FloatArray) -> float:
    """Return the variance of the rewards of a cell, the largest there is if nothing is known."""
    count = stats[node, COUNT]
    if count == 0.0:
        return 0.25
    mean = stats[node, SUM] / count
    return float(max(0.0, stats[node, SQUARES] / count - mean * mean))


@compiled
def radius(node: int, visits: float, stats: FloatArray, width: float, by_variance: bool) -> float:
    """Return the confidence radius of the mean of a cell."""
    if not by_variance:
        return float(np.sqrt(width / visits))
    return float(np.sqrt(2.0 * variance(node, stats) * width / visits) + 3.0 * width / visits)


@compiled
def radii(nodes: IndexArray, stats: FloatArray, width: float, by_variance: bool, out: FloatArray) -> None:
    """Compute the confidence radii of cells that have rewards."""
    for i in range(len(nodes)):
        out[i] = radius(nodes[i], stats[nodes[i], COUNT], stats, width, by_variance)


@compiled
def enough(
    node: int, stats: FloatArray, depths: IndexArray, widths: FloatArray, width: float, by_variance: bool
) -> float:
    """Return from how many rewards on a cell is known as well as it is wide."""
    wide = widths[depths[node]]
    if not by_variance:
        return float(width / (wide * wide))
    doubled = 2.0 * variance(node, stats)
    # 1 / s with s sqrt(2 V) + 3 s^2 = wide
    root = (np.sqrt(doubled + 12.0 * wide) + np.sqrt(doubled)) / (2.0 * wide)
    return float(width * root * root)


@compiled
def passes(
    node: int, stats: FloatArray, depths: IndexArray, widths: FloatArray, width: float, by_variance: bool
) -> bool:
    """Tell whether the way down leads on from a cell: it is known well enough, or will be when all asks are told.

    Without pending asks its halves are in the tree then, since what is enough never falls between
    two rewards.
    """
    visits = stats[node, COUNT] + stats[node, PENDING]
    known = visits > 0.0 and visits >= enough(node, stats, depths, widths, width, by_variance)
    return node == ROOT or (known and depths[node] < len(widths) - 1)


@compiled
def follow(
    bounds: FloatArray,
    stats: FloatArray,
    children: IndexArray,
    depths: IndexArray,
    ties: FloatArray,
    widths: FloatArray,
    width: float,
    by_variance: bool,
) -> int:
    """Return the cell to play; of two children with the same B the one with the higher priority is taken.

    A cell whose children must be made first is returned as -1 - cell.
    """
    node = ROOT
    while passes(node, stats, depths, widths, width, by_variance):
        lower, upper = children[node, 0], children[node, 1]
        if lower == UNKNOWN:
            return -1 - node
        if lower < 0 and upper < 0:
            return node
        if lower < 0 or upper < 0:
            node = max(lower, upper)
        elif bounds[upper] == bounds[lower]:
            node = upper if ties[upper] > ties[lower] else lower
        else:
            node = upper if bounds[upper] > bounds[lower] else lower
    return node


@compiled
def bound(
    node: int,
    bounds: FloatArray,
    stats: FloatArray,
    children: IndexArray,
    depths: IndexArray,
    widths: FloatArray,
    width: float,
    by_variance: bool,
) -> None:
    """Compute the B-value of a cell from its statistics and its children's B-values."""
    visits = stats[node, COUNT] + stats[node, PENDING]
    upper = np.inf
    if visits > 0.0:
        mean = stats[node, SUM] / stats[node, COUNT] if stats[node, COUNT] > 0.0 else 0.5
        upper = mean + widths[depths[node]] + radius(node, visits, stats, width, by_variance)
    lower, higher = children[node, 0], children[node, 1]
    if stats[node, CUT] != 0.0 and (lower >= 0 or higher >= 0):
        best = max(bounds[lower] if lower >= 0 else -np.inf, bounds[higher] if higher >= 0 else -np.inf)
        upper = min(upper, best)
    bounds[node] = upper


@compiled
def mend_all(
    bounds: FloatArray,
    stats: FloatArray,
    children: IndexArray,
    depths: IndexArray,
    widths: FloatArray,
    width: float,
    by_variance: bool,
) -> None:
    """Compute all B-values; children come after their parents."""
    for node in range(len(bounds) - 1, -1, -1):
        bound(node, bounds, stats, children, depths, widths, width, by_variance)


@compiled
def add(
    node: int,
    amount: float,
    count: float,
    pending: float,
    bounds: FloatArray,
    stats: FloatArray,
    children: IndexArray,
    parents: IndexArray,
    depths: IndexArray,
    widths: FloatArray,
    width: float,
    by_variance: bool,
) -> None:
    """Add a reward and pending observations to a cell, cut it if its rewards do, and mend the B-values above it."""
    stats[node, SUM] += amount
    stats[node, COUNT] += count
    stats[node, PENDING] += pending
    stats[node, SQUARES] += amount * amount
    known = stats[node, COUNT] >= enough(node, stats, depths, widths, width, by_variance)
    if known and count > 0.0 and depths[node] < len(widths) - 1:
        stats[node, CUT] = 1.0  # before its B-value, since pending asks below it may have finite B-values
    above = node
    while above >= 0:
        bound(above, bounds, stats, children, depths, widths, width, by_variance)
        above = parents[above]


@compiled
def width_at(t: float, square: float, fraction: float) -> tuple[float, float]:
    """Return t+ and c^2 log(1 / d(t+)), given c^2 and c_1 delta."""
    power = 1.0
    while power < t:
        power *= 2.0
    return power, square * max(0.0, np.log(power / fraction))


@compiled
def play_hct(
    bounds: FloatArray,
    stats: FloatArray,
    children: IndexArray,
    parents: IndexArray,
    depths: IndexArray,
    ties: FloatArray,
    widths: FloatArray,
    by_variance: bool,
    rounds: int,
    square: float,
    fraction: float,
    means: FloatArray,
    draws: FloatArray,
    low: float,
    span: float,
    played: IndexArray,
) -> int:
    """Play a Bernoulli round for each draw, until cells must be made; return how many. The cells go to `played`."""
    power, width = width_at(rounds + 1.0, square, fraction)
    for t in range(len(draws)):
        node = follow(bounds, stats, children, depths, ties, widths, width, by_variance)
        if node < 0:
            return t
        if rounds + t + 2.0 > power:  # the next round has another t+
            power, width = width_at(rounds + t + 2.0, square, fraction)
            mend_all(bounds, stats, children, depths, widths, width, by_variance)
        reward = ((1.0 if draws[t] < means[node] else 0.0) - low) / span
        add(node, reward, 1.0, 0.0, bounds, stats, children, parents, depths, widths, width, by_variance)
        played[t] = node
    return len(draws)
