"""The Zooming algorithm's covering check: which candidates lie in no confidence ball of an active arm.

Active arm number k of the activation order has one row each of `ranked`, all candidates by their
distance from it, and `distances`, ascending. Its ball holds the first `edges[k]` of them, and
`covers` counts the balls about a candidate.
"""

import numpy as np

from orbandit._kernels.arms import COUNT, ArmArray, observe_own
from orbandit._kernels.compiled import FloatArray, IndexArray, compiled
from orbandit._kernels.tournament import HeadArray


@compiled
def shrink(
    row: int, radius: float, ranked: ArmArray, distances: FloatArray, edges: IndexArray, covers: IndexArray
) -> bool:
    """Shrink the ball of an active arm to a radius; tell whether that leaves a candidate uncovered."""
    bare = False
    while edges[row] > 0 and distances[row, edges[row] - 1] > radius:
        edges[row] -= 1
        candidate = ranked[row, edges[row]]
        covers[candidate] -= 1
        bare = bare or covers[candidate] == 0
    return bare


@compiled
def play_zooming(
    stats: FloatArray,
    keys: FloatArray,
    heads: HeadArray,
    levels: IndexArray,
    rows: IndexArray,
    ranked: ArmArray,
    distances: FloatArray,
    edges: IndexArray,
    covers: IndexArray,
    means: FloatArray,
    draws: FloatArray,
    low: float,
    span: float,
    rule: int,
    width: float,
    played: IndexArray,
) -> int:
    """Play a Bernoulli round for each draw, until one leaves a candidate uncovered; return how many were played.

    The arms played go to `played`.
    """
    root = levels[-2]
    for t in range(len(draws)):
        arm = heads[root]
        mean = means[arm]
        reward = ((1.0 if draws[t] < mean else 0.0) - low) / span
        observe_own(stats, keys, heads, levels, arm, reward, 0.0, rule, width)
        played[t] = arm
        radius = np.sqrt(width / (stats[arm, COUNT] + 1.0))
        if shrink(rows[arm], radius, ranked, distances, edges, covers):
            return t + 1
    return len(draws)
