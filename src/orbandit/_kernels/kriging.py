"""Kriging on a tree of cells: what the rewards around a place say of the mean reward there.

Differences of the mean reward f are Gaussian with the variogram of a Matern-3/2 field, in units
where the Lipschitz constant is 1 (r is the distance times `pool[SCALE]`):

    q(r) = E (f(x) - f(y))^2 = 2/3 (c l)^2 (1 - (1 + z) exp(-z)),   z = sqrt(3) r / l,   so that q(r) ~ (c r)^2

Cells i with rewards have means y_i with noise v_i, at the means x_i of the places the rewards are
of: the point of the cell, unless rewards of other points in it were told. About a place o, q_i =
q(|x_i - o|) and q_ij = q(|x_i - x_j|),

    y_i = f(o) + e_i,   cov(e_i, e_j) = (q_i + q_j - q_ij) / 2 + v_i [i = j] =: S

so that f(o) has precision p = 1' S^-1 1 + 4 and mean (1' S^-1 y + 4 / 2) / p, where f(o) ~ N(1/2,
1/4) beforehand. The cells are the NEIGHBORS with the least q_i + v_i, found in the tree by boxes
about the rewards below each cell.
"""

from typing import NamedTuple

import numpy as np

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled
from orbandit._kernels.tournament import HeadArray

SUM, COUNT, PENDING, SQUARES, FOREIGN, BELIEF, VALUE, NOISE, SPREAD, DUE, JUDGED = range(11)
"""Columns of `stats`: sums and counts of rewards, asks pending, sums of squares, rewards of other points than the
cell's own, the mean that pending asks are expected to have; the value and the noise that stand for
the cell, its spread when it was judged, the visits after which it is judged again, and when it was
judged."""
COLUMNS = JUDGED + 1

NOW, SCALE, RESIDUAL, FREEDOM = range(4)
"""What is known of all cells together: the number of changes, the Lipschitz constant in units of the first guess, and
of the pooled noise the sum of residuals and its degrees of freedom."""

RULE_BETA, RULE_ALPHA, RULE_KAPPA, RULE_STEEP, RULE_REACH, RULE_EXTRA, RULE_BATCH, RULE_LOG, RULE_CEILING = range(9)
"""Rules: the weights of spread and radius in the key, how far the spread must fall below the radius before a cell is
divided; c and l of the variogram; rewards of 0 and 1 added to a mean; the part of the visits that
counts as a change; log(6 n^3) for keys that are confidence bounds, 0 for kriging; and a bound of
all rewards."""

NEIGHBORS = 32
FAR = 1.5
"""Cells further away than this, in units where the Lipschitz constant is 1, say nothing about
rewards in [0, 1]."""
STEEPEST = 1e50
"""Largest Lipschitz constant that is learnt, in units of the first guess: its square times a squared distance, which is
at most 1e200, is a number."""
NEVER = -1.0


class Tree(NamedTuple):
    """Everything the kernels work on: one row for each cell, a tournament of keys, rules, and room to work in.

    `boxes` and `quiet` say of a cell and all below it where their rewards are, and how much noise
    they have at least.
    """

    stats: FloatArray
    centers: FloatArray
    places: FloatArray
    boxes: FloatArray
    quiet: FloatArray
    children: IndexArray
    parents: IndexArray
    depths: IndexArray
    radii: FloatArray
    ties: FloatArray
    keys: FloatArray
    heads: HeadArray
    levels: IndexArray
    rules: FloatArray
    pool: FloatArray
    found: IndexArray
    work: FloatArray
    factor: FloatArray


def workspace() -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return the room that kriging works in."""
    return np.zeros(128, dtype=np.int64), np.zeros((5, 128)), np.zeros((NEIGHBORS, NEIGHBORS))


@compiled
def variogram(squared: float, tree: Tree) -> float:
    """Return q of a squared distance."""
    steep, reach = tree.rules[RULE_STEEP], tree.rules[RULE_REACH]
    squared *= tree.pool[SCALE] ** 2
    z = np.sqrt(3.0 * squared) / reach
    if z < 1e-4:
        return float(steep * steep * squared)
    return float(2.0 / 3.0 * (steep * reach) ** 2 * (1.0 - (1.0 + z) * np.exp(-z)))


@compiled
def squared_distance_to_rewards(tree: Tree, place: FloatArray, node: int) -> float:
    """Return the squared distance of a place from that of a cell's rewards."""
    total = 0.0
    for k in range(len(place)):
        total += (tree.places[node, k] - place[k]) ** 2
    return total


@compiled
def squared_distance_to_box(tree: Tree, place: FloatArray, node: int) -> float:
    """Return the squared distance of a place from the box of the rewards below a cell; infinite if there are none."""
    total = 0.0
    for k in range(len(place)):
        gap = max(tree.boxes[node, 0, k] - place[k], place[k] - tree.boxes[node, 1, k], 0.0)
        total += gap * gap
    return total


@compiled
def nearest_cells(tree: Tree, place: FloatArray) -> int:
    """Find the cells with the least q_i + v_i, least first and then lowest first, and return how many.

    They are left in `found`, with q_i in work[0] and q_i + v_i in work[1]. `found` beyond them and
    work[2] are a stack of cells to look below, with the least q_i + v_i that there can be.
    """
    found, gaps, ranks, least = tree.found, tree.work[0], tree.work[1], tree.work[2]
    far = (FAR / tree.pool[SCALE]) ** 2
    size, top = 0, NEIGHBORS
    found[top] = 0
    least[top] = 0.0
    while top >= NEIGHBORS:
        node, bound = found[top], least[top]
        top -= 1
        if size == NEIGHBORS and bound > ranks[size - 1]:
            continue
        squared = squared_distance_to_rewards(tree, place, node)
        if tree.stats[node, COUNT] + tree.stats[node, PENDING] > 0.0 and squared <= far:
            gap = variogram(squared, tree)
            rank = gap + tree.stats[node, NOISE]
            at = size
            if size < NEIGHBORS:
                size += 1
            elif rank < ranks[size - 1] or (rank == ranks[size - 1] and node < found[size - 1]):
                at = size - 1
            else:
                at = -1
            if at >= 0:
                while at > 0 and (ranks[at - 1] > rank or (ranks[at - 1] == rank and found[at - 1] > node)):
                    ranks[at], found[at], gaps[at] = ranks[at - 1], found[at - 1], gaps[at - 1]
                    at -= 1
                ranks[at], found[at], gaps[at] = rank, node, gap
        lower, upper = tree.children[node, 0], tree.children[node, 1]
        below = squared_distance_to_box(tree, place, lower) if lower >= 0 else np.inf
        above = squared_distance_to_box(tree, place, upper) if upper >= 0 else np.inf
        if below <= above:  # the nearer one is looked at first
            lower, upper, below, above = upper, lower, above, below
        if below <= far:
            top += 1
            found[top], least[top] = lower, variogram(below, tree) + tree.quiet[lower]
        if above <= far:
            top += 1
            found[top], least[top] = upper, variogram(above, tree) + tree.quiet[upper]
    return size


@compiled
def krige(tree: Tree, place: FloatArray) -> tuple[float, float]:
    """Return the estimate of f at a place, and its standard deviation."""
    size = nearest_cells(tree, place)
    found, gaps, ones, values, factor = tree.found, tree.work[0], tree.work[3], tree.work[4], tree.factor
    precision, weighted = 4.0, 2.0
    for i in range(size):  # the Cholesky factor of S, and the solutions for 1 and y
        node = found[i]
        one, value, rest = 1.0, tree.stats[node, VALUE], gaps[i] + tree.stats[node, NOISE]
        for j in range(i):
            between = squared_distance_to_rewards(tree, tree.places[node], found[j])
            entry = 0.5 * (gaps[i] + gaps[j] - variogram(between, tree))
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            entry /= factor[j, j]
            factor[i, j] = entry
            rest -= entry * entry
            one -= entry * ones[j]
            value -= entry * values[j]
        root = np.sqrt(max(rest, 1e-12))
        factor[i, i], ones[i], values[i] = root, one / root, value / root
        precision += ones[i] * ones[i]
        weighted += ones[i] * values[i]
    return weighted / precision, 1.0 / np.sqrt(precision)
