"""CKL-UCB on arms with distances: the largest index of Lipschitz arms, by bisection.

    surprise(k, q) = sum over j with q - d(k, j) > m(j) of T(j) kl(m(j), q - d(k, j))
    index(k)       = the largest q in [0, 1] with surprise(k, q) <= budget, on a grid of 2^STEPS steps

The surprise grows with q, and only the largest index is asked for: an arm is passed over as soon as
its surprise at the largest index so far exceeds the budget. T counts pending observations, and m is
1/2 before any reward.
"""

import numpy as np

from orbandit._kernels.arms import COUNT, OWN_COUNT, OWN_SUM, PENDING, SUM
from orbandit._kernels.compiled import FloatArray, IndexArray, compiled

STEPS = 30
GRID = 2.0**-STEPS


@compiled
def divergence(p: float, q: float) -> float:
    """Return kl(p, q) of Bernoulli rewards, for p < q <= 1."""
    if q >= 1.0:
        return np.inf
    low = (1.0 - p) * np.log((1.0 - p) / (1.0 - q))
    return float(low + p * np.log(p / q)) if p > 0.0 else float(low)


@compiled
def exceeds(arm: int, q: float, stats: FloatArray, distances: FloatArray, budget: float) -> bool:
    """Tell whether the surprise of an arm at q is more than the budget."""
    total = 0.0
    for place in range(-1, len(stats)):
        other = arm if place < 0 else place  # the arm itself first: mostly that is enough
        seen = stats[other, COUNT] + stats[other, PENDING]
        if seen == 0.0 or place == arm:
            continue
        mean = stats[other, SUM] / stats[other, COUNT] if stats[other, COUNT] > 0.0 else 0.5
        raised = q - distances[arm, other]
        if raised > mean:
            total += seen * divergence(mean, raised)
            if total > budget:
                return True
    return False


@compiled
def index(arm: int, least: int, stats: FloatArray, distances: FloatArray, budget: float) -> int:
    """Return the index of an arm in steps of the grid, given that it is not less than some."""
    low, high = least, (1 << STEPS) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if exceeds(arm, middle * GRID, stats, distances, budget):
            high = middle
        else:
            low = middle
    return low


@compiled
def all_indices(stats: FloatArray, distances: FloatArray, budget: float, out: FloatArray) -> None:
    """Compute the indices of all arms."""
    for arm in range(len(stats)):
        out[arm] = index(arm, 0, stats, distances, budget) * GRID


@compiled
def leader(first: int, stats: FloatArray, distances: FloatArray, budget: float) -> int:
    """Return the arm with the largest index, the lowest of several; `first` is looked at first."""
    best, value = first, index(first, 0, stats, distances, budget)
    for arm in range(len(stats)):
        least = value if arm < best else value + 1
        if arm != first and least <= 1 << STEPS and not exceeds(arm, least * GRID, stats, distances, budget):
            best, value = arm, index(arm, least, stats, distances, budget)
    return best


@compiled
def budget_at(t: float) -> float:
    """Return log t + 3 log log t, the second term from t = e on."""
    return float(np.log(t) + 3.0 * np.log(max(1.0, np.log(t))))


@compiled
def play_cklucb(
    rounds: int,
    stats: FloatArray,
    distances: FloatArray,
    means: FloatArray,
    draws: FloatArray,
    low: float,
    span: float,
    played: IndexArray,
) -> None:
    """Play a Bernoulli round for each draw, after so many others; the arms go to `played`."""
    arm = 0
    for t in range(len(draws)):
        arm = leader(arm, stats, distances, budget_at(rounds + t + 1.0))
        reward = ((1.0 if draws[t] < means[arm] else 0.0) - low) / span
        stats[arm, SUM] += reward
        stats[arm, COUNT] += 1.0
        stats[arm, OWN_SUM] += reward
        stats[arm, OWN_COUNT] += 1.0
        played[t] = arm
