"""A tournament among arms: the arm with the largest key is known at once, and a new key costs O(log K).

A tree whose nodes have eight children, all levels in one array, each padded with -infinity to full
nodes: level 0 holds the keys of the arms, and entry i of a level the largest of entries 8 i, ..., 8
i + 7 of the level below.

    keys[levels[l] + i]       the largest key below the node
    heads[levels[l] + i]      the arm that has it; the lowest of several, so that arms are numbered by priority

The root is the one entry of the last level, at levels[-2]; levels[-1] is the length of the arrays.
"""

import numpy as np
import numpy.typing as npt

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled

SHIFT = 3
FAN = 1 << SHIFT

HeadArray = npt.NDArray[np.int64]


def levels_of(size: int) -> IndexArray:
    """Return where each level of a tree over `size` arms starts, and the length of its arrays."""
    starts = [0]
    while size > 1:
        size = -(-size // FAN)
        starts.append(starts[-1] + FAN * size)
    return np.array([*starts, starts[-1] + 1], dtype=np.int64)


@compiled
def best_child(keys: FloatArray, first: int) -> int:
    """Return the place of the largest of eight keys, the first of several."""
    best = first
    key = keys[first]
    for child in range(first + 1, first + FAN):  # no branches: which child wins cannot be foretold
        larger = keys[child] > key
        best = child if larger else best
        key = keys[child] if larger else key
    return best


@compiled
def raise_all(keys: FloatArray, heads: HeadArray, levels: IndexArray) -> None:
    """Fill all levels from the keys on level 0."""
    for level in range(len(levels) - 2):
        base, up = levels[level], levels[level + 1]
        for node in range((up - base) >> SHIFT):
            best = best_child(keys, base + (node << SHIFT))
            keys[up + node] = keys[best]
            heads[up + node] = heads[best]


@compiled
def set_key(keys: FloatArray, heads: HeadArray, levels: IndexArray, arm: int, key: float) -> None:
    """Give an arm a new key, and mend the nodes above it as far as they change."""
    old = keys[arm]
    keys[arm] = key
    base, node = 0, arm
    for level in range(1, len(levels) - 1):
        node >>= SHIFT
        here = levels[level] + node
        leads = heads[here] == arm
        if leads and key >= old:
            keys[here] = key
        elif not leads and key > keys[here]:
            keys[here] = key
            heads[here] = arm
        elif not leads and key < keys[here]:
            return
        else:  # the leader fell, or ties with the new key
            best = best_child(keys, base + (node << SHIFT))
            keys[here] = keys[best]
            heads[here] = heads[best]
        base = levels[level]
