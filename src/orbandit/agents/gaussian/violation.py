"""Whether measurements violate a symmetry that is taken to be exact.

Two models of the same measurements, each with its likeliest parameters, are compared: the invariant one, and one with a
remainder that does not know the group (`Blended`). If the second is likelier by CLEAR nats, the element and the point
are named at which it expects the largest difference, in units of its posterior deviation.
"""

from typing import NamedTuple

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import QuotientKernel
from orbandit.agents.gaussian.fit import Prior, hypothesis
from orbandit.agents.gaussian.model import Candidates, Model
from orbandit.agents.gaussian.thinning import Rewards
from orbandit.agents.gaussian.warp import NO_WARP
from orbandit.groups import Group

CLEAR = 10.0
"""Nats by which the model with a remainder must be likelier."""
LEAST_DEVIATIONS = 3.0
"""So many posterior deviations the difference named must be."""
RANDOM_ELEMENTS = 8
"""Elements that are looked at besides the generators."""


class Violation(NamedTuple):
    """An element, a point, and by how much the mean differs between the point and its image, with its deviation."""

    element: Array
    point: Array
    difference: float
    deviation: float


def violation(
    points: Array,
    rewards: Array,
    group: Group,
    kernels: tuple[QuotientKernel, QuotientKernel],
    priors: tuple[Prior, Prior],
) -> Violation | None:
    """Return the clearest violation of a symmetry by rewards of points, if there is a clear one.

    Parameters
    ----------
    points, rewards : (n, dim) and (n,) arrays
        What was measured where.
    group : Group
        What is doubted.
    kernels, priors : pairs
        Of the invariant model, and of the one with a remainder.
    """
    data, one = np.unique(points, axis=0, return_inverse=True)
    counts = np.bincount(one).astype(np.float64)
    means: Array = np.bincount(one, rewards).astype(np.float64) / counts
    scatter: Array = np.bincount(one, (rewards - means[one]) ** 2).astype(np.float64)
    both = [Rewards(data, kernel.features(data), counts, means, scatter) for kernel in kernels]
    exact, blended = (
        hypothesis(kernel, seen, NO_WARP, prior, [], [prior.lengths])
        for kernel, seen, prior in zip(kernels, both, priors, strict=True)
    )
    if exact.loss - blended.loss < CLEAR:
        return None
    kernel, seen = blended.kernel, both[1]
    pool = Candidates(data[:1], kernel.features(data[:1]))
    model = Model(kernel, blended.parameters, blended.center, pool, seen, np.empty((2, len(data))))
    elements = np.concatenate([group.generators, group.random(RANDOM_ELEMENTS, np.random.default_rng(0))])
    worst: Violation | None = None
    for element in elements:
        images = group.act(element, data)
        expected, covariances = model.joint(kernel.features(np.concatenate([data, images])))
        n = len(data)
        gaps = expected[n:] - expected[:n]
        own = covariances.diagonal()
        spread = np.sqrt(np.maximum(own[:n] + own[n:] - 2 * covariances[np.arange(n), n + np.arange(n)], 1e-300))
        row = int((np.abs(gaps) / spread).argmax())
        this = Violation(element, data[row], float(gaps[row]), float(spread[row]))
        if worst is None or abs(this.difference) / this.deviation > abs(worst.difference) / worst.deviation:
            worst = this
    if worst is None or not abs(worst.difference) > LEAST_DEVIATIONS * worst.deviation:
        return None
    return worst
