"""SequOOL and StroquOOL on a tree of cells: rank the cells of a depth, open the best, play halves.

A level is what is opened at a depth: `halves` to play, each until it has `times` rewards, and the
`opening` each is of. `plan` has the rows of every depth, from starts[depth] on: how many cells are
opened, and how often. `stats` has a row of SUM, COUNT, PENDING and OPEN, whether a cell was opened.
"""

import numpy as np

from orbandit._kernels.cells import COUNT, SUM, UNKNOWN
from orbandit._kernels.compiled import FloatArray, IndexArray, compiled

OPEN = 3
COLUMNS = 4


@compiled
def choose_cells(
    cells: IndexArray,
    visits: FloatArray,
    means: FloatArray,
    ties: FloatArray,
    plan: IndexArray,
    is_root: bool,
) -> tuple[IndexArray, IndexArray]:
    """Return which of the cells of a depth are opened, in turn, and how often each.

    For each row of the plan these are the largest means among those with enough visits that are
    not opened yet; of equal ones the higher priority wins.
    """
    order = np.argsort(-ties)
    order = order[np.argsort(-means[order], kind="mergesort")]
    chosen, times = np.empty(len(cells), dtype=np.int64), np.empty(len(cells), dtype=np.int64)
    is_open, size = np.zeros(len(cells), dtype=np.bool_), 0
    for row in range(len(plan)):
        left = plan[row, 0]
        for i in order:
            if left == 0:
                break
            if not is_open[i] and (visits[i] >= plan[row, 1] or is_root):
                is_open[i] = True
                chosen[size], times[size] = cells[i], plan[row, 1]
                size, left = size + 1, left - 1
    return chosen[:size], times[:size]


@compiled
def halves_of(
    chosen: IndexArray, times: IndexArray, children: IndexArray, ties: FloatArray
) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return the level of cells that are opened; of two halves the higher priority is played first."""
    halves, counts = np.empty(2 * len(chosen), dtype=np.int64), np.empty(2 * len(chosen), dtype=np.int64)
    opening, size = np.empty(2 * len(chosen), dtype=np.int64), 0
    for i in range(len(chosen)):
        first, second = children[chosen[i], 0], children[chosen[i], 1]
        if first >= 0 and second >= 0 and ties[second] > ties[first]:
            first, second = second, first
        for half in (first, second):
            if half >= 0:
                halves[size], counts[size], opening[size] = half, times[i], i
                size += 1
    return halves[:size], counts[:size], opening[:size]


@compiled
def play_openings(
    depth: int,
    deepest: int,
    halves: IndexArray,
    times: IndexArray,
    opening: IndexArray,
    plan: IndexArray,
    starts: IndexArray,
    stats: FloatArray,
    children: IndexArray,
    ties: FloatArray,
    means: FloatArray,
    draws: FloatArray,
    low: float,
    span: float,
    played: IndexArray,
) -> tuple[int, int, IndexArray, IndexArray, IndexArray]:
    """Play a Bernoulli round for each draw, until cells must be made or all openings are done.

    Nothing may be pending. Returns how many, and the level where that was: its depth, halves, times
    and openings. One opening is played after the other, of its halves that with fewer rewards.
    """
    t = 0
    while True:
        first = 0
        while first < len(halves):
            last = first + 1
            while last < len(halves) and opening[last] == opening[first]:
                last += 1
            while True:
                node = -1
                for i in range(first, last):
                    count = stats[halves[i], COUNT]
                    if count < times[i] and (node < 0 or count < stats[node, COUNT]):
                        node = halves[i]
                if node < 0:
                    break
                if t == len(draws):
                    return t, depth, halves, times, opening
                stats[node, SUM] += ((1.0 if draws[t] < means[node] else 0.0) - low) / span
                stats[node, COUNT] += 1.0
                played[t] = node
                t += 1
            first = last
        if depth >= deepest or len(halves) == 0 or t == len(draws):
            return t, depth, halves, times, opening
        visits, values = np.empty(len(halves)), np.empty(len(halves))
        for i in range(len(halves)):
            visits[i] = stats[halves[i], COUNT]
            values[i] = stats[halves[i], SUM] / visits[i]
        rows = plan[starts[depth + 1] : starts[depth + 2]]
        chosen, counts = choose_cells(halves, visits, values, ties[halves], rows, False)
        for node in chosen:
            if children[node, 0] == UNKNOWN:
                return t, depth, halves, times, opening
        for node in chosen:
            stats[node, OPEN] = 1.0
        depth += 1
        halves, times, opening = halves_of(chosen, counts, children, ties)
