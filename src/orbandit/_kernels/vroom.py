"""VROOM on a tree of cells: draw a depth and a rank, go down at random, weigh the reward.

    P(cell of rank r among those of depth h) = 1 / (h r total)
    chance(cell) = P(cell) + chance(the cell it is a half of) / halves of that one

The chance is that of going through a cell, if it or a cell about it was drawn: the point is then
uniform in it, and reward / chance is an unbiased estimate of its mean. `stats` has a row of SUM,
COUNT, PENDING, WEIGHED, the sum of reward / chance, and RANKS, the sum of the ranks that the cell
had in the rounds before SINCE. `order` lists the cells of depth h by rank from first[h] on, and
`places` is its inverse. Cells rank by `bounds`, the least first: minus a lower bound of the mean.
"""

import numpy as np

from orbandit._kernels.cells import COUNT, PENDING, SUM
from orbandit._kernels.compiled import FloatArray, IndexArray, compiled

WEIGHED, RANKS, SINCE = 3, 4, 5
COLUMNS = 6


@compiled
def draw(
    pick: float,
    turns: int,
    children: IndexArray,
    order: IndexArray,
    first: IndexArray,
    harmonics: FloatArray,
    total: float,
) -> tuple[int, int]:
    """Return a cell without halves to play, and the depth of the one that was drawn about it.

    `pick` is uniform in [0, 1), and the bits of `turns` are fair coins.
    """
    left, depth, last = pick * total, 1, len(first) - 2
    while depth < last and left >= harmonics[first[depth + 1] - first[depth]] / depth:
        left -= harmonics[first[depth + 1] - first[depth]] / depth
        depth += 1
    size = first[depth + 1] - first[depth]
    rank = min(size, max(1, int(np.searchsorted(harmonics, left * depth, side="right"))))
    node = order[first[depth] + rank - 1]
    while children[node, 0] >= 0 or children[node, 1] >= 0:
        lower, upper = children[node, 0], children[node, 1]
        node = max(lower, upper) if lower < 0 or upper < 0 else children[node, turns & 1]
        turns >>= 1
    return node, depth


@compiled
def lower_bound(node: int, stats: FloatArray, width: float) -> float:
    """Return a lower bound of the mean of a cell that has rewards."""
    return float(stats[node, SUM] / stats[node, COUNT] - np.sqrt(width / stats[node, COUNT]))


@compiled
def settle(node: int, rank: int, clock: float, stats: FloatArray) -> None:
    """Count the rank of a cell in the rounds since it was counted last."""
    stats[node, RANKS] += rank * (clock - stats[node, SINCE])
    stats[node, SINCE] = clock


@compiled
def edge(start: int, end: int, bounds: FloatArray, order: IndexArray, key: float) -> int:
    """Return the first place from `start` to `end` whose cell has a bound of at least `key`."""
    while start < end:
        middle = (start + end) // 2
        if bounds[order[middle]] < key:
            start = middle + 1
        else:
            end = middle
    return start


@compiled
def move(
    node: int,
    start: int,
    end: int,
    clock: float,
    bounds: FloatArray,
    stats: FloatArray,
    order: IndexArray,
    places: IndexArray,
) -> None:
    """Give a cell, whose bound has changed, its new rank among those from place `start` to `end`.

    It changes places with one cell of each block of equal bounds that it passes, with the last on
    its way: a move takes as many steps as there are different bounds to pass.
    """
    bound, place = bounds[node], places[node]
    settle(node, place - start + 1, clock, stats)
    while True:
        if place > start and bounds[order[place - 1]] > bound:
            to = edge(start, place, bounds, order, bounds[order[place - 1]])
        elif place + 1 < end and bounds[order[place + 1]] < bound:
            key = bounds[order[place + 1]]
            to = edge(place + 1, end, bounds, order, np.nextafter(key, np.inf)) - 1
        else:
            return
        other = order[to]
        settle(other, to - start + 1, clock, stats)
        order[place], places[other] = other, place
        order[to], places[node] = node, to
        place = to


@compiled
def add(
    leaf: int,
    drawn: int,
    value: float,
    clock: float,
    bounds: FloatArray,
    stats: FloatArray,
    children: IndexArray,
    parents: IndexArray,
    depths: IndexArray,
    order: IndexArray,
    places: IndexArray,
    first: IndexArray,
    total: float,
    width: float,
) -> None:
    """Learn a reward in round `clock`, for the cells about a leaf from the depth drawn on.

    With `drawn` = 0 the point was not drawn: all cells about it learn, and no sum is weighed.
    """
    deepest = depths[leaf]
    path = np.empty(deepest + 1, dtype=np.int64)
    node = leaf
    for depth in range(deepest, -1, -1):
        path[depth] = node
        node = parents[node]
    chance = 0.0
    for depth in range(1, deepest + 1):
        node, above = path[depth], path[depth - 1]
        halves = int(children[above, 0] >= 0) + int(children[above, 1] >= 0)
        chance = chance / halves + 1.0 / (depth * (places[node] - first[depth] + 1) * total)
        if depth >= drawn:
            stats[node, SUM] += value
            stats[node, COUNT] += 1.0
            stats[node, WEIGHED] += value / chance if drawn > 0 else 0.0
    now = clock + 1.0 if drawn > 0 else clock
    for depth in range(max(1, drawn), deepest + 1):
        node, start, end = path[depth], first[depth], first[depth + 1]
        bounds[node] = -lower_bound(node, stats, width)
        move(node, start, end, now, bounds, stats, order, places)


@compiled
def expect(leaf: int, amount: float, stats: FloatArray, parents: IndexArray) -> None:
    """Add to the pending observations of the cells about a leaf."""
    node = leaf
    while node >= 0:
        stats[node, PENDING] += amount
        node = parents[node]


@compiled
def play_vroom(
    picks: FloatArray,
    turns: IndexArray,
    clock: float,
    bounds: FloatArray,
    stats: FloatArray,
    children: IndexArray,
    parents: IndexArray,
    depths: IndexArray,
    order: IndexArray,
    places: IndexArray,
    first: IndexArray,
    harmonics: FloatArray,
    total: float,
    width: float,
    means: FloatArray,
    draws: FloatArray,
    low: float,
    span: float,
    played: IndexArray,
) -> None:
    """Play a Bernoulli round for each draw; the cells go to `played`."""
    for t in range(len(draws)):
        leaf, depth = draw(picks[t], turns[t], children, order, first, harmonics, total)
        value = ((1.0 if draws[t] < means[leaf] else 0.0) - low) / span
        add(
            leaf,
            depth,
            value,
            clock + t,
            bounds,
            stats,
            children,
            parents,
            depths,
            order,
            places,
            first,
            total,
            width,
        )
        played[t] = leaf
