"""Test whether measurements violate a symmetry that is assumed to be exact.

Two models of the same measurements are compared, each with its most likely parameters: the
invariant one, and one with a remainder without the symmetry (`Blended`). If the log likelihood of
the second is larger by CLEAR nats, the element and the point with the largest posterior mean
difference, in units of its posterior deviation, are reported.
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
"""Nats by which the model with a remainder must be more likely."""
LEAST_DEVIATIONS = 3.0
"""Posterior standard deviations that the reported difference must be, at least."""
RANDOM_ELEMENTS = 8
"""Random elements that are tested besides the generators."""


class Violation(NamedTuple):
    """An element, a point, and the difference of the mean at its image, with its deviation."""

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
        The measurements.
    group : Group
        The symmetry to test.
    kernels, priors : pairs
        Those of the invariant model, and of the one with a remainder.
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
