"""Rewards by point, and fewer of them: points are merged where that loses the least information.

Two points with n and n' rewards are merged at the cost d^2 min(n, n'), for the variance d^2 of the
difference of the function there. The rewards of the point with fewer are assigned to the other, but
the difference of the two means does not count as noise. Pairs are merged by increasing cost; a
point is in at most one pair per pass.
"""

from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit._rows import Rows
from orbandit.agents.gaussian.base import Index


@final
class Rewards:
    """Distinct points with their features, and count, mean and scatter of the rewards of each.

    The scatter is the sum of squared deviations of rewards from the mean of those at their own
    point.
    """

    def __init__(self, points: Array, features: Array, counts: Array, means: Array, scatter: Array) -> None:
        self._points, self._features = Rows(points), Rows(features)
        self._stats = Rows(np.column_stack([counts, means, scatter]))

    @property
    def points(self) -> Array:
        """The points, (n, dim)."""
        return self._points.filled

    @property
    def features(self) -> Array:
        """The kernel's features of them, (n, p)."""
        return self._features.filled

    @property
    def counts(self) -> Array:
        """How many rewards each has."""
        return self._stats.filled[:, 0]

    @property
    def means(self) -> Array:
        """Their means."""
        return self._stats.filled[:, 1]

    @property
    def scatter(self) -> Array:
        """Their squared deviations from these means."""
        return self._stats.filled[:, 2]

    def __len__(self) -> int:
        return len(self._stats)

    def add(self, row: int, point: Array, feature: Array, value: float) -> None:
        """Add a reward of the point in a row, which may be the next one."""
        if row == len(self):
            self._points.append(point[None])
            self._features.append(feature[None])
            self._stats.append(np.array([[1.0, value, 0.0]]))
            return
        stats = self._stats.filled[row]
        stats[0] += 1
        before = value - stats[1]
        stats[1] += before / stats[0]
        stats[2] += before * (value - stats[1])

    def at(self, rows: Index) -> "Rewards":
        """Return the rewards of some points."""
        stats = self._stats.filled[rows]
        return Rewards(self.points[rows], self.features[rows], *stats.T)

    def seen_by(self, features: Array) -> "Rewards":
        """Return the same rewards with the features of another kernel."""
        return Rewards(self.points, features, self.counts, self.means, self.scatter)

    def copy(self) -> "Rewards":
        """Return another with the same rewards."""
        return Rewards(self.points, self.features, self.counts, self.means, self.scatter)


def ranked(means: Array, most: int) -> Index:
    """Return a subset of the points: one half has the best means, the other is spaced by rank.

    Nothing is merged, since the differences of merged points would count as noise.

    Examples
    --------
    >>> import numpy as np
    >>> ranked(np.array([0.1, 0.9, 0.2, 0.8, 0.3, 0.4, 0.0]), 4)
    array([1, 3, 5, 6])
    """
    order = np.argsort(-means, kind="stable")
    best = most // 2
    others = np.linspace(best, len(order) - 1, most - best).round().astype(np.intp)
    return np.sort(np.concatenate([order[:best], order[others]]))


def thinned(rewards: Rewards, gaps: Array, most: int) -> tuple[Rewards, Index]:
    """Return rewards of at most so many points, and which of the points given they are.

    Parameters
    ----------
    rewards : Rewards
        The rewards of n points.
    gaps : (n, n) array
        The variance of the difference of the function at each pair.
    most : int
        Most points to keep, at least 1.
    """
    counts, means, scatter = rewards.counts.copy(), rewards.means.copy(), rewards.scatter.copy()
    alive: Index = np.arange(len(counts))
    while len(alive) > most:
        heavy, light = _pairs(gaps[np.ix_(alive, alive)], counts[alive], len(alive) - most)
        for i, j in zip(alive[heavy], alive[light], strict=True):
            total = counts[i] + counts[j]
            apart = means[j] - means[i]
            scatter[i] += scatter[j]  # differences between points are no noise
            means[i] += apart * counts[j] / total
            counts[i] = total
        alive = np.delete(alive, light)
    return Rewards(rewards.points[alive], rewards.features[alive], counts[alive], means[alive], scatter[alive]), alive


def _pairs(gaps: Array, counts: Array, most: int) -> tuple[list[int], list[int]]:
    """Return disjoint pairs, at most so many, by their cost: the point that stays, and the one that goes."""
    i, j = np.triu_indices(len(counts), 1)
    cost = gaps[i, j] * np.minimum(counts[i], counts[j])
    kept = min(len(cost), 16 * len(counts))
    first = np.argpartition(cost, kept - 1)[:kept]
    first = first[np.argsort(cost[first], kind="stable")]
    used = np.zeros(len(counts), dtype=bool)
    heavy: list[int] = []
    light: list[int] = []
    for a, b in zip(i[first].tolist(), j[first].tolist(), strict=True):
        if not used[a] and not used[b]:
            used[a] = used[b] = True
            stays, goes = (a, b) if counts[a] >= counts[b] else (b, a)
            heavy.append(stays)
            light.append(goes)
            if len(heavy) == most:
                break
    return heavy, light
