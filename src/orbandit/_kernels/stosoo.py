"""StoSOO on a tree of cells: sweeps over the depths, which play the best leaf of each, or cut it once it has k rewards.

    b = mean + sqrt(width / T),    infinite for a leaf without rewards

`stats` has a row of SUM, COUNT, PENDING and CUT for each cell. `place` is where the sweep is: the
DEPTH it looks at next, and BEST, the largest b that was cut in it. The leaves of a depth are a
list: `first` has its head, and `following` the rest.
"""

import numpy as np

from orbandit._kernels.cells import COUNT, NONE, PENDING, ROOT, SUM, UNKNOWN
from orbandit._kernels.compiled import FloatArray, IndexArray, compiled

CUT = 3
COLUMNS = 4

DEPTH, BEST = 0, 1


@compiled
def bound(node: int, stats: FloatArray, width: float, pending: bool) -> float:
    """Return the b of a cell, with pending observations or without."""
    visits = stats[node, COUNT] + (stats[node, PENDING] if pending else 0.0)
    if visits == 0.0:
        return np.inf
    mean = stats[node, SUM] / stats[node, COUNT] if stats[node, COUNT] > 0.0 else 0.5
    return float(mean + np.sqrt(width / visits))


@compiled
def best_leaf(
    depth: int, first: IndexArray, following: IndexArray, stats: FloatArray, ties: FloatArray, width: float, most: float
) -> tuple[int, float]:
    """Return the leaf of a depth with the largest b, and its b; the higher priority wins a tie.

    With `most` finite, pending observations count, and only leaves with fewer observations are
    looked at.
    """
    best, value, node = NONE, -np.inf, first[depth]
    while node >= 0:
        if stats[node, COUNT] + stats[node, PENDING] < most:
            b = bound(node, stats, width, most < np.inf)
            if best < 0 or b > value or (b == value and ties[node] > ties[best]):
                best, value = node, b
        node = following[node]
    return best, value


@compiled
def list_leaves(
    stats: FloatArray, children: IndexArray, depths: IndexArray, first: IndexArray, following: IndexArray
) -> None:
    """List the leaves of every depth: the root, or halves of cells that are cut, if they are not cut themselves."""
    first[:] = NONE
    following[:] = NONE
    if stats[ROOT, CUT] == 0.0:
        first[0] = ROOT
    for node in range(len(stats)):
        if stats[node, CUT] != 0.0:
            for half in children[node]:
                if half >= 0 and stats[half, CUT] == 0.0:
                    following[half] = first[depths[half]]
                    first[depths[half]] = half


@compiled
def cut(
    node: int, depth: int, stats: FloatArray, children: IndexArray, first: IndexArray, following: IndexArray
) -> None:
    """Make the halves of a leaf leaves."""
    stats[node, CUT] = 1.0
    if first[depth] == node:
        first[depth] = following[node]
    else:
        before = first[depth]
        while following[before] != node:
            before = following[before]
        following[before] = following[node]
    following[node] = NONE
    for half in children[node]:
        if half >= 0:
            following[half] = first[depth + 1]
            first[depth + 1] = half


@compiled
def sweep(
    place: FloatArray,
    first: IndexArray,
    following: IndexArray,
    stats: FloatArray,
    children: IndexArray,
    ties: FloatArray,
    width: float,
    k: float,
    limit: int,
) -> int:
    """Go on with the sweep to a leaf that is to be played, cutting others on the way, by rewards alone.

    A leaf whose halves must be made first is returned as -1 - leaf, and the number of all cells if
    no leaf is left.
    """
    idle = 0
    while idle <= 2 * limit + 2:
        depth = int(place[DEPTH])
        if depth > limit:
            place[DEPTH], place[BEST] = 0.0, -np.inf
            continue
        leaf, value = best_leaf(depth, first, following, stats, ties, width, np.inf)
        idle += 1
        if leaf >= 0 and value >= place[BEST]:
            if stats[leaf, COUNT] < k:
                return leaf
            if children[leaf, 0] == UNKNOWN:
                return -1 - leaf
            cut(leaf, depth, stats, children, first, following)
            place[BEST], idle = value, 0
        place[DEPTH] += 1.0
    return len(stats)


@compiled
def favourite(stats: FloatArray, depths: IndexArray, ties: FloatArray) -> int:
    """Return the deepest cell that is cut with the largest mean; before any, that of all cells; or NONE."""
    best, value = NONE, (-1.0, -np.inf, 0.0)
    for node in range(len(stats)):
        if stats[node, COUNT] > 0.0:
            depth = float(depths[node]) if stats[node, CUT] != 0.0 else -0.5
            rank = (depth, stats[node, SUM] / stats[node, COUNT], ties[node])
            if rank > value:
                best, value = node, rank
    return best


@compiled
def choose(
    place: FloatArray,
    pending: int,
    first: IndexArray,
    following: IndexArray,
    stats: FloatArray,
    children: IndexArray,
    depths: IndexArray,
    ties: FloatArray,
    width: float,
    k: float,
    limit: int,
) -> int:
    """Return the cell to play: the leaf where the sweep is, or beside pending asks, one of the depths after it.

    If all leaves have k observations with those that are pending, the way leads down from the best,
    as if it were cut. A cell whose halves must be made first is returned as -1 - cell.
    """
    node = sweep(place, first, following, stats, children, ties, width, k, limit)
    if node == len(stats):
        return favourite(stats, depths, ties)
    if node < 0 or pending == 0:
        return node
    for step in range(limit + 1):
        depth = (int(place[DEPTH]) + pending + step) % (limit + 1)
        leaf, _ = best_leaf(depth, first, following, stats, ties, width, k)
        if leaf >= 0:
            return leaf
    value = -np.inf
    for depth in range(limit + 1):
        leaf, _ = best_leaf(depth, first, following, stats, ties, width, 1e300)
        if leaf >= 0 and bound(leaf, stats, width, True) > value:
            node, value = leaf, bound(leaf, stats, width, True)
    while stats[node, COUNT] + stats[node, PENDING] >= k and depths[node] < limit:
        lower, upper = children[node, 0], children[node, 1]
        if lower == UNKNOWN:
            return -1 - node
        if lower < 0 and upper < 0:
            return node
        if lower < 0 or upper < 0:
            node = max(lower, upper)
        else:
            gap = stats[lower, COUNT] + stats[lower, PENDING] - stats[upper, COUNT] - stats[upper, PENDING]
            node = lower if gap < 0 or (gap == 0 and ties[lower] > ties[upper]) else upper
    return node


@compiled
def play_stosoo(
    place: FloatArray,
    pending: int,
    first: IndexArray,
    following: IndexArray,
    stats: FloatArray,
    children: IndexArray,
    depths: IndexArray,
    ties: FloatArray,
    width: float,
    k: float,
    limit: int,
    means: FloatArray,
    draws: FloatArray,
    low: float,
    span: float,
    played: IndexArray,
) -> int:
    """Play a Bernoulli round for each draw, until cells must be made; return how many. The cells go to `played`."""
    for t in range(len(draws)):
        node = choose(place, pending, first, following, stats, children, depths, ties, width, k, limit)
        if node < 0:
            return t
        stats[node, SUM] += ((1.0 if draws[t] < means[node] else 0.0) - low) / span
        stats[node, COUNT] += 1.0
        place[DEPTH] += 1.0
        played[t] = node
    return len(draws)
