"""Asymmetry: an anytime-valid test of a group, from rewards of random images.

An agent whose group may be wrong plays g x instead of the point x that it chose, with g uniform on
the group and independent of the past. If mean and noise are invariant, the reward y is independent
of g. So with

    u = g x - P x,     P x = the mean of all images of x, its projection on the points that the group fixes,

the expectation of (y - c) w . u is 0 for all c and w that depend on the past and on x only, and

    W = product over rounds of (1 + b (y - c) w . u),     b small enough that no factor is below 1/2,

is a nonnegative martingale. By Ville's inequality it ever reaches 1 / level with probability at
most `level`: the test may be read after every round. Here w is a ridge regression of y - c on u, so
that W grows if the mean has a slope across the images of points. Differences between images that
are not linear in u are not found.
"""

import math
from typing import Any, final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.files import Arrays
from orbandit.groups import Group

LEVEL = 0.01
"""Level of the test: a true symmetry is rejected with at most this probability."""
RIDGE = 1.0
"""Ridge penalty of the regression, in units of one round."""
LEAST_VARIANCE = 1e-3
"""Least variance of rewards about their expected values, in units of the squared range."""


@final
class Asymmetry:
    """The wealth of bets that images differ (testing by betting).

    Parameters
    ----------
    group : Group
        The symmetry to test.
    diameter : float
        Diameter of the space, the unit of distances.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> swap, rng = ob.groups.Symmetric(2), np.random.default_rng(0)
    >>> test = Asymmetry(swap, diameter=1.0)
    >>> for _ in range(200):
    ...     point = rng.random(2)
    ...     image = swap.act(swap.random(1, rng)[0], point)
    ...     test.learn(point, image, float(image[0] > 0.5), 0.5)     # the order matters
    >>> test.is_clear
    True
    """

    def __init__(self, group: Group, diameter: float) -> None:
        self._center, self._diameter = group.center, diameter
        moved = (group.generators - np.eye(group.dim)).reshape(-1, group.dim)
        _, sizes, rows = np.linalg.svd(moved, full_matrices=True)
        kept = rows[np.count_nonzero(sizes > 1e-9) :]
        self._projector = kept.T @ kept
        self._inverse, self._slopes = np.eye(group.dim) / RIDGE, np.zeros(group.dim)
        self._rounds, self._squares, self._log_wealth = 0.0, 0.0, 0.0

    @property
    def is_clear(self) -> bool:
        """Whether the test rejects the group at LEVEL."""
        return self._log_wealth >= math.log(1 / LEVEL)

    def learn(self, point: Array, image: Array, value: float, expected: float) -> None:
        """Bet on a reward in [0, 1] of a random image of a point with such an expected reward."""
        middle = self._center + self._projector @ (point - self._center)
        across, reach = (image - middle) / self._diameter, float(np.linalg.norm(point - middle)) / self._diameter
        weights, rest = self._inverse @ self._slopes, value - expected
        variance = max((self._squares + LEAST_VARIANCE) / (self._rounds + 1), LEAST_VARIANCE)
        largest = float(np.linalg.norm(weights)) * reach * max(expected, 1 - expected)
        bet = 1 / variance if largest == 0 else min(1 / variance, 0.5 / largest)
        self._log_wealth += math.log1p(bet * rest * float(weights @ across))
        solved = self._inverse @ across
        self._inverse -= np.outer(solved, solved) / (1 + across @ solved)
        self._slopes += rest * across
        self._rounds, self._squares = self._rounds + 1, self._squares + rest**2

    @property
    def arrays_to_save(self) -> Arrays:
        """What a file keeps."""
        numbers = np.array([self._rounds, self._squares, self._log_wealth])
        return {"doubt_inverse": self._inverse, "doubt_slopes": self._slopes, "doubt_numbers": numbers}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Undo `arrays_to_save`, checked."""
        inverse, slopes, numbers = (arrays[f"doubt_{name}"] for name in ("inverse", "slopes", "numbers"))
        proper = inverse.shape == self._inverse.shape and slopes.shape == self._slopes.shape and numbers.shape == (3,)
        if (
            not proper
            or not all(np.isfinite(part).all() for part in (inverse, slopes, numbers))
            or numbers[:2].min() < 0
        ):
            raise ValueError("bets that cannot be")
        self._inverse, self._slopes = inverse.copy(), slopes.copy()
        self._rounds, self._squares, self._log_wealth = numbers.tolist()
