"""HOO on a tree of cells: follow the largest B-values down, and mend them on the way up.

    U = mean + sqrt(width / visits) + widths[depth],     B = min(U, max of the children's B)

B is infinite for a cell without visits, which is not yet of the algorithm's tree. `stats` has a row
of SUM, COUNT and PENDING for each cell; visits are COUNT + PENDING.
"""

import numpy as np

from orbandit._kernels.cells import COUNT, PENDING, ROOT, SUM
from orbandit._kernels.compiled import FloatArray, IndexArray, compiled


@compiled
def follow(
    bounds: FloatArray, stats: FloatArray, children: IndexArray, depths: IndexArray, prefers: IndexArray, limit: int
) -> int:
    """Return the cell to play: the first on the way down without visits, or one at the limit.

    Of two children with the same B the preferred one is taken. A cell whose children must be made
    first is returned as -1 - cell.
    """
    node = ROOT
    while (node == ROOT or stats[node, COUNT] + stats[node, PENDING] > 0.0) and depths[node] < limit:
        lower, upper = children[node, 0], children[node, 1]
        if lower == -2:
            return -1 - node
        if lower < 0 and upper < 0:
            return node
        if lower < 0 or upper < 0:
            node = max(lower, upper)
        elif bounds[upper] == bounds[lower]:
            node = children[node, prefers[node]]
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
    limit: int,
) -> None:
    """Compute the B-value of a cell from its statistics and its children's B-values."""
    visits = stats[node, COUNT] + stats[node, PENDING]
    if visits == 0.0:
        bounds[node] = np.inf
        return
    mean = stats[node, SUM] / stats[node, COUNT] if stats[node, COUNT] > 0.0 else 0.5
    upper = mean + np.sqrt(width / visits) + widths[depths[node]]
    lower, higher = children[node, 0], children[node, 1]
    if depths[node] < limit and (lower >= 0 or higher >= 0):  # else not cut, or not yet
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
    limit: int,
) -> None:
    """Compute all B-values; children come after their parents."""
    for node in range(len(bounds) - 1, -1, -1):
        bound(node, bounds, stats, children, depths, widths, width, limit)


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
    limit: int,
) -> None:
    """Add rewards and pending observations to a cell and to all above it."""
    above = node
    while above >= 0:
        stats[above, SUM] += amount
        stats[above, COUNT] += count
        stats[above, PENDING] += pending
        bound(above, bounds, stats, children, depths, widths, width, limit)
        above = parents[above]


@compiled
def play_hoo(
    bounds: FloatArray,
    stats: FloatArray,
    children: IndexArray,
    parents: IndexArray,
    depths: IndexArray,
    prefers: IndexArray,
    widths: FloatArray,
    width: float,
    limit: int,
    means: FloatArray,
    draws: FloatArray,
    low: float,
    span: float,
    played: IndexArray,
) -> int:
    """Play a Bernoulli round for each draw, until cells must be made; return how many. The cells go to `played`."""
    for t in range(len(draws)):
        node = follow(bounds, stats, children, depths, prefers, limit)
        if node < 0:
            return t
        mean = means[node]
        reward = ((1.0 if draws[t] < mean else 0.0) - low) / span
        add(node, reward, 1.0, 0.0, bounds, stats, children, parents, depths, widths, width, limit)
        played[t] = node
    return len(draws)
