"""Test whether measurements violate a symmetry that is assumed to be exact.

If the mean is invariant, rewards do not depend on which image of a point was measured. So the
measurements are compared with the same rewards at other images of the same points: at the folds,
at the images nearest to the best point, and with the elements g that carry folds to the points
permuted at random (a permutation test). Each of these arrangements has a marginal likelihood under
an invariant process plus a remainder without the symmetry, averaged over a grid of parameters. If
that of the points as measured is the largest by CLEAR nats, the symmetry is violated.

A model that is wrong about f, where it has steps, kinks or heavy-tailed noise, is as wrong in all
arrangements, and rewards enter by their ranks only (normal scores). If the elements were drawn
independently of the orbits, the permuted arrangements are exchangeable with the measured one,
whatever f is.
"""

from collections.abc import Iterator
from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import QuotientKernel
from orbandit.agents.gaussian.blended import Blended
from orbandit.agents.gaussian.fit import Prior, hypothesis
from orbandit.agents.gaussian.model import Candidates, Model
from orbandit.agents.gaussian.thinning import Rewards
from orbandit.agents.gaussian.warp import NO_WARP
from orbandit.agents.violation import Violation
from orbandit.groups import Group

LEAST_IMAGES = 6
"""Least number of points that are not their own folds before the symmetry is tested."""
CLEAR = 6.0
"""Nats by which the points as measured must be likelier than in all other arrangements."""
PERMUTED = 24
"""Arrangements with permuted elements."""
LENGTHS, RATIOS, NOISES = (0.5, 2.0), (0.01, 0.1, 1.0, 10.0), (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""The grid: length scales over their prior medians, for each of both parts; the variances of the
remainder over that of the invariant part; and of the noise over that of both."""
LEAST_DEVIATIONS = 3.0
"""Posterior standard deviations that the reported difference must be, at least."""
LEAST_VARIANCE = 1e-6
"""Least variance of a difference, over the signal variance."""
LEAST_MOVE = 1e-3
"""Points that an element moves by less are not reported, in diameters of the set of points."""
RANDOM_ELEMENTS = 8
"""Random elements that are tested besides the generators."""


def violation(
    points: Array,
    rewards: Array,
    group: Group,
    kernel: Blended,
    prior: Prior,
) -> Violation | None:
    """Return the clearest violation of a symmetry by rewards of points, if there is a clear one.

    Parameters
    ----------
    points, rewards : (n, dim) and (n,) arrays
        The measurements.
    group : Group
        The symmetry to test.
    kernel, prior : Blended and Prior
        An invariant kernel plus one without the symmetry, and the prior of its scales.
    """
    folds = np.asarray(group.fold(points))
    apart = np.abs(points - folds).max(axis=1)
    n_images = np.count_nonzero(apart > LEAST_MOVE * float(np.ptp(points, axis=0).max()))
    if n_images < LEAST_IMAGES or np.ptp(rewards) == 0:
        return None
    likelihood = Arrangements(points, rewards, kernel, prior)
    least = likelihood(points) - CLEAR
    if any(likelihood(other) > least for other in _arranged(points, folds, points[int(rewards.argmax())], group)):
        return None
    return _largest(points, rewards, group, kernel, prior)


def _arranged(points: Array, folds: Array, best: Array, group: Group) -> Iterator[Array]:
    """Yield other images of points: folds, those nearest to the best point, and by permuted elements."""
    yield folds
    yield group.align(points, best)
    elements, rng = np.swapaxes(group.folding_elements(points), 1, 2), np.random.default_rng(0)
    for _ in range(PERMUTED):
        yield group.act(elements[rng.permutation(len(points))], folds, paired=True)


def _largest(points: Array, rewards: Array, group: Group, kernel: QuotientKernel, prior: Prior) -> Violation | None:
    """Return the largest difference between images, in units of its deviation, by the most likely model."""
    data, one = np.unique(points, axis=0, return_inverse=True)
    counts = np.bincount(one).astype(np.float64)
    means: Array = np.bincount(one, rewards).astype(np.float64) / counts
    scatter: Array = np.bincount(one, (rewards - means[one]) ** 2).astype(np.float64)
    seen = Rewards(data, kernel.features(data), counts, means, scatter)
    fitted = hypothesis(kernel, seen, NO_WARP, prior, [], [prior.lengths])
    pool = Candidates(data[:1], kernel.features(data[:1]))
    model = Model(kernel, fitted.parameters, fitted.center, pool, seen, np.empty((2, len(data))))
    n, least, size = len(data), LEAST_VARIANCE * fitted.parameters.signal, float(np.ptp(data, axis=0).max())
    worst: Violation | None = None
    for element in np.concatenate([group.generators, group.random(RANDOM_ELEMENTS, np.random.default_rng(0))]):
        images = group.act(element, data)
        expected, covariances = model.joint(kernel.features(np.concatenate([data, images])))
        gaps, own = expected[n:] - expected[:n], covariances.diagonal()
        variances = own[:n] + own[n:] - 2 * covariances[np.arange(n), n + np.arange(n)]
        spread = np.sqrt(np.maximum(variances, least))
        ratios = np.where(np.abs(images - data).max(axis=1) > LEAST_MOVE * size, np.abs(gaps) / spread, 0.0)
        row = int(ratios.argmax())
        if ratios[row] > (LEAST_DEVIATIONS if worst is None else abs(worst.difference) / worst.deviation):
            worst = Violation(element, data[row], float(gaps[row]), float(spread[row]))
    return worst


def _ranks(values: Array) -> Array:
    """Return ranks from 1 on; equal values share the mean of theirs.

    As scipy.stats.rankdata has them, which takes longer to import than all of orbandit.
    """
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((counts.cumsum() - (counts - 1) / 2)[which])


@final
class Arrangements:
    """The marginal likelihood of ranks of rewards, by where they were measured.

    Parameters
    ----------
    points, rewards : (n, dim) and (n,) arrays
        The measurements.
    kernel, prior : Blended and Prior
        As `violation` has them.
    """

    def __init__(self, points: Array, rewards: Array, kernel: Blended, prior: Prior) -> None:
        from scipy.special import ndtri

        n, (invariant, self._remainder) = len(points), kernel.parts
        self._scores = ndtri((_ranks(rewards) - 0.5) / n)
        features, scales = invariant.features(points), prior.lengths[: invariant.n_scales]
        self._invariant = [invariant.cross(features, features, factor * scales) for factor in LENGTHS]
        self._lengths = prior.lengths[invariant.n_scales : -1]
        self._without = [self._each(matrix) for matrix in self._invariant]

    def __call__(self, places: Array) -> float:
        """Return the log likelihood, up to a constant, had the rewards been measured there."""
        from scipy.special import logsumexp

        features, found = self._remainder.features(places), list(self._without)
        for factor in LENGTHS:
            other = self._remainder.cross(features, features, factor * self._lengths)
            found += [self._each((own + ratio * other) / (1 + ratio)) for own in self._invariant for ratio in RATIOS]
        return float(logsumexp(np.concatenate(found)) - np.log(len(found) * len(NOISES)))

    def _each(self, matrix: Array) -> Array:
        """Return the log likelihood for each noise, with the most likely variance."""
        n = len(matrix)
        values, vectors = np.linalg.eigh(matrix + 1)
        squares, values = (self._scores @ vectors) ** 2, np.maximum(values, 0.0)
        total = values + np.array(NOISES)[:, None]
        return np.asarray(-0.5 * n * np.log((squares / total).sum(axis=1) / n) - 0.5 * np.log(total).sum(axis=1))
