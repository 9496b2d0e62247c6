"""Arms on a tournament: observations in, indices out, and whole bandit loops on Bernoulli rewards.

Each arm has one row of `stats`, a cache line: the columns below. Its key in the tournament is its
index,

    UCB      SUM / COUNT + sqrt(width / (COUNT + PENDING)),   width = 2 log n     (eq. (UCB) without the 3 delta)
    LEAST    -(COUNT + PENDING): the arm observed least comes first
    ZOOM     SUM / COUNT + 2 sqrt(width / (COUNT + PENDING + 1)), with a mean of 0 before any observation

and -infinity if it is not alive. Pending observations count in the confidence radius, and an arm
that has nothing else is given the middle of the rewards, 1/2. An arm with neither comes before all
others.
"""

import numpy as np
import numpy.typing as npt

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled
from orbandit._kernels.tournament import HeadArray, set_key

SUM, COUNT, PENDING, OWN_SUM, OWN_COUNT, ALIVE, COLUMNS = 0, 1, 2, 3, 4, 5, 8
UCB, LEAST, ZOOM = 0, 1, 2

ArmArray = npt.NDArray[np.int32]


@compiled
def index(stats: FloatArray, arm: int, rule: int, width: float) -> float:
    """Return the key of an arm."""
    row = stats[arm]
    seen = row[COUNT] + row[PENDING]
    if row[ALIVE] == 0.0:
        return -np.inf
    if rule == LEAST:
        return -float(seen)
    if rule == ZOOM:
        mean = row[SUM] / row[COUNT] if row[COUNT] > 0.0 else 0.0
        return float(mean + 2.0 * np.sqrt(width / (seen + 1.0)))
    if row[COUNT] > 0.0:
        return float(row[SUM] / row[COUNT] + np.sqrt(width / seen))
    return float(0.5 + np.sqrt(width / seen)) if seen > 0.0 else np.inf


@compiled
def all_indices(stats: FloatArray, rule: int, width: float, keys: FloatArray) -> None:
    """Write the keys of all arms."""
    for arm in range(len(stats)):
        keys[arm] = index(stats, arm, rule, width)


@compiled
def observe(
    stats: FloatArray,
    keys: FloatArray,
    heads: HeadArray,
    levels: IndexArray,
    arms: ArmArray,
    own: int,
    reward: float,
    released: float,
    rule: int,
    width: float,
) -> None:
    """Add one observation to each of the arms, of which `own` was played (-1: none), and release pending ones."""
    for i in range(len(arms)):
        arm = arms[i]
        stats[arm, SUM] += reward
        stats[arm, COUNT] += 1.0
        stats[arm, PENDING] -= released
        set_key(keys, heads, levels, arm, index(stats, arm, rule, width))
    if own >= 0:
        stats[own, OWN_SUM] += reward
        stats[own, OWN_COUNT] += 1.0


@compiled
def observe_own(
    stats: FloatArray,
    keys: FloatArray,
    heads: HeadArray,
    levels: IndexArray,
    arm: int,
    reward: float,
    released: float,
    rule: int,
    width: float,
) -> None:
    """Add one observation to the arm that was played, and to no other."""
    stats[arm, SUM] += reward
    stats[arm, COUNT] += 1.0
    stats[arm, PENDING] -= released
    stats[arm, OWN_SUM] += reward
    stats[arm, OWN_COUNT] += 1.0
    set_key(keys, heads, levels, arm, index(stats, arm, rule, width))


@compiled
def expect(
    stats: FloatArray,
    keys: FloatArray,
    heads: HeadArray,
    levels: IndexArray,
    arms: ArmArray,
    pending: float,
    rule: int,
    width: float,
) -> None:
    """Add to the pending observations of the arms."""
    for i in range(len(arms)):
        arm = arms[i]
        stats[arm, PENDING] += pending
        set_key(keys, heads, levels, arm, index(stats, arm, rule, width))


@compiled
def play(
    stats: FloatArray,
    keys: FloatArray,
    heads: HeadArray,
    levels: IndexArray,
    means: FloatArray,
    draws: FloatArray,
    low: float,
    span: float,
    rule: int,
    width: float,
    played: IndexArray,
) -> int:
    """Play a round for each draw, a number in [0, 1): the reward is 1 if it is below the mean of the arm, or 0.

    Rewards are scaled by (reward - low) / span. The arms played go to `played`.
    """
    root = levels[-2]
    for t in range(len(draws)):
        arm = heads[root]
        mean = means[arm]
        reward = ((1.0 if draws[t] < mean else 0.0) - low) / span
        observe_own(stats, keys, heads, levels, arm, reward, 0.0, rule, width)
        played[t] = arm
    return len(draws)


@compiled
def play_sharing(
    stats: FloatArray,
    keys: FloatArray,
    heads: HeadArray,
    levels: IndexArray,
    starts: IndexArray,
    sizes: IndexArray,
    pool: ArmArray,
    means: FloatArray,
    draws: FloatArray,
    low: float,
    span: float,
    rule: int,
    width: float,
    quota: float,
    played: IndexArray,
) -> int:
    """Play as `play` does, with every reward observed by the neighbours pool[starts[arm]:][:sizes[arm]] of the arm.

    Stops early, and returns the number of rounds played, when the next arm's neighbours are not
    listed yet (sizes[arm] < 0), or under LEAST after a round that brings every living arm to
    `quota` observations.
    """
    root = levels[-2]
    for t in range(len(draws)):
        arm = heads[root]
        if sizes[arm] < 0:
            return t
        mean = means[arm]
        reward = ((1.0 if draws[t] < mean else 0.0) - low) / span
        arms = pool[starts[arm] : starts[arm] + sizes[arm]]
        observe(stats, keys, heads, levels, arms, arm, reward, 0.0, rule, width)
        played[t] = arm
        if rule == LEAST and -keys[root] >= quota:
            return t + 1
    return len(draws)
