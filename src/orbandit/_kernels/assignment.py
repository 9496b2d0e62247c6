"""Orbit distances under permutations of blocks: one linear assignment problem per pair of points."""

import numpy as np
import numpy.typing as npt

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled


@compiled
def block_distances(a: FloatArray, b: FloatArray, signed: bool, out: FloatArray) -> None:
    """Write out[p, q] = min over permutations s of (sum_i cost(a[p, i], b[q, s(i)]))^(1/2).

    `a` is (m, blocks, size), `b` is (k, blocks, size). The cost of a pair of blocks is ||u - v||^2, or
    min(||u - v||^2, ||u + v||^2) if `signed`.
    """
    K, size = a.shape[1], a.shape[2]
    cost = np.empty((K, K))
    column_price, slack = np.empty(K), np.empty(K)
    row_of, column_of, previous = np.empty(K, np.int64), np.empty(K, np.int64), np.empty(K, np.int64)
    reached = np.empty(K, np.bool_)
    for p in range(a.shape[0]):
        for q in range(b.shape[0]):
            for i in range(K):
                for j in range(K):
                    same, flipped = 0.0, 0.0
                    for k in range(size):
                        difference = a[p, i, k] - b[q, j, k]
                        same += difference * difference
                        if signed:
                            total = a[p, i, k] + b[q, j, k]
                            flipped += total * total
                    cost[i, j] = min(same, flipped) if signed else same
            assign(cost, column_price, slack, row_of, column_of, previous, reached)
            least = 0.0
            for i in range(K):
                least += cost[i, column_of[i]]
            out[p, q] = np.sqrt(least)


@compiled
def assign(
    cost: FloatArray,
    column_price: FloatArray,
    slack: FloatArray,
    row_of: IndexArray,
    column_of: IndexArray,
    previous: IndexArray,
    reached: npt.NDArray[np.bool_],
) -> None:
    """Give each row i the column `column_of[i]` at the least total cost, in O(K^3).

    Jonker and Volgenant (1987): every column is priced at its least cost and given to that row where it is
    still free; each row left over starts a shortest augmenting path. The other arrays, of length K, are work
    space.
    """
    K = cost.shape[0]
    column_of[:] = -1
    for j in range(K - 1, -1, -1):
        best = 0
        for i in range(1, K):
            if cost[i, j] < cost[best, j]:
                best = i
        column_price[j] = cost[best, j]
        row_of[j] = -1
        if column_of[best] < 0:
            row_of[j], column_of[best] = best, j
    for row in range(K):
        if column_of[row] < 0:
            _augment(row, cost, column_price, slack, row_of, column_of, previous, reached)


@compiled
def _augment(
    row: int,
    cost: FloatArray,
    column_price: FloatArray,
    slack: FloatArray,
    row_of: IndexArray,
    column_of: IndexArray,
    previous: IndexArray,
    reached: npt.NDArray[np.bool_],
) -> None:
    """Give `row` a column along the shortest alternating path (Dijkstra on reduced costs), and mend prices."""
    K = cost.shape[0]
    for j in range(K):
        slack[j] = cost[row, j] - column_price[j]
        previous[j] = row
        reached[j] = False
    while True:
        end = -1
        for j in range(K):
            if not reached[j] and (end < 0 or slack[j] < slack[end]):
                end = j
        length = slack[end]
        i = row_of[end]
        if i < 0:
            break
        reached[end] = True
        base = cost[i, end] - column_price[end]
        for j in range(K):
            if not reached[j]:
                through = length + (cost[i, j] - column_price[j]) - base
                if through < slack[j]:
                    slack[j], previous[j] = through, i
    for j in range(K):
        if reached[j]:
            column_price[j] += slack[j] - length
    while True:
        i = previous[end]
        row_of[end] = i
        column_of[i], end = end, column_of[i]
        if i == row:
            break
