"""Orbit distances under permutations of blocks: one linear assignment problem per pair of points."""

import numpy as np
import numpy.typing as npt

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled


@compiled
def block_distances(a: FloatArray, b: FloatArray, signed: bool, out: FloatArray) -> None:
    """Write out[p, q] = min over permutations s of (sum_i cost(a[p, i], b[q, s(i)]))^(1/2).

    `a` is (m, blocks, size), `b` is (k, blocks, size). The cost of a pair of blocks is ||u - v||^2,
    or min(||u - v||^2, ||u + v||^2) if `signed`.
    """
    K = a.shape[1]
    cost = np.empty((K, K))
    column_price, slack = np.empty(K), np.empty(K)
    row_of, column_of, previous = np.empty(K, np.int64), np.empty(K, np.int64), np.empty(K, np.int64)
    reached = np.empty(K, np.bool_)
    for p in range(a.shape[0]):
        for q in range(b.shape[0]):
            block_costs(a[p], b[q], signed, cost)
            assign(cost, column_price, slack, row_of, column_of, previous, reached)
            least = 0.0
            for i in range(K):
                least += cost[i, column_of[i]]
            out[p, q] = np.sqrt(least)


@compiled
def block_costs(x: FloatArray, y: FloatArray, signed: bool, cost: FloatArray) -> None:
    """Write the costs of all pairs of a block of x, (blocks, size), with one of y."""
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            same, flipped = 0.0, 0.0
            for k in range(x.shape[1]):
                difference, total = x[i, k] - y[j, k], x[i, k] + y[j, k]
                same += difference * difference
                flipped += total * total
            cost[i, j] = min(same, flipped) if signed else same


@compiled
def block_assignments(a: FloatArray, target: FloatArray, signed: bool, columns: IndexArray, signs: FloatArray) -> None:
    """Write which block of each of (m, blocks, size) points goes to which of the target's, and with which sign.

    Block columns[p, i] of point p, times signs[p, i], is the one for block i of the target,
    (blocks, size), at the least sum of squared distances.
    """
    K = a.shape[1]
    cost = np.empty((K, K))
    column_price, slack = np.empty(K), np.empty(K)
    row_of, previous = np.empty(K, np.int64), np.empty(K, np.int64)
    reached = np.empty(K, np.bool_)
    for p in range(a.shape[0]):
        block_costs(target, a[p], signed, cost)
        assign(cost, column_price, slack, row_of, columns[p], previous, reached)
        for i in range(K):
            product = 0.0
            for k in range(a.shape[2]):
                product += target[i, k] * a[p, columns[p, i], k]
            signs[p, i] = -1.0 if signed and product < 0.0 else 1.0


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

    Jonker and Volgenant (1987): every column is priced at its least cost and given to that row
    where it is still free; each row left over starts a shortest augmenting path. The other arrays,
    of length K, are work space.
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
