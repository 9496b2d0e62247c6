"""Judge: the evidence for a group, the largest marginal likelihood times priors of a process invariant under it.

The function is a constant plus a process with the covariance s k_G, see `Pool`; signal, noise and
one length scale for each class of coordinates that the group mixes are learnt as in
`agents/gaussian/fit.py`. In the plain process, G trivial, the part that is invariant under an
involution and the part that changes its sign are a priori as large as each other. So the difference
of two evidences is the logarithm of posterior odds, at equal prior odds and up to the volumes of
posteriors of parameters: a group that ties length scales has fewer of these, which counts for
nothing here.
"""

import math
from typing import NamedTuple, final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.fit import Data, Parameters
from orbandit.agents.gaussian.posterior import Posterior
from orbandit.symmetry.marginal import Marginal
from orbandit.symmetry.pooling import Pool

LENGTH = 0.5
"""Median of the prior of length scales, over sqrt(dim) widths of the space."""
ROUGH_NOISE = 0.03
"""Groups are first compared with at least so much noise, since a wrong length scale may look like a
wrong group."""
SMALL_SHARE = 0.1
"""Share of the variance without the symmetry in a function that is nearly symmetric: images differ by about a third of
what unrelated points do."""
FENCE = 3.0
"""Values farther beyond the middle nine tenths than so many times their width are left out:
crashes, not peaks."""
ASYMMETRY_POINTS = 64
"""So many points say how large an asymmetry is."""
MAX_KNOWN = 4
"""Most posteriors that are kept."""
FIRST_STEPS, STEPS = 40, 8
"""Most steps of a search for parameters: of the plain model, and of one that begins with
another's."""


class Model(NamedTuple):
    """A group with the parameters found for it, its evidence, and the evidence with a noise of at least ROUGH_NOISE."""

    pool: Pool
    parameters: Parameters
    evidence: float
    rough: float

    @property
    def lengths(self) -> Array:
        """The length scale of each coordinate."""
        return np.asarray(self.parameters.lengths[self.pool.scales])


@final
class Judge:
    """The data, and models of them.

    Parameters
    ----------
    points : (n, dim) array
        The points relative to the middle of the space, in units of its widths.
    values : (n,) array
        The measurements there, not all equal.
    """

    def __init__(self, points: Array, values: Array) -> None:
        low, high = np.quantile(values, [0.05, 0.95])
        reach = FENCE * (high - low) or np.inf
        kept = (values >= low - reach) & (values <= high + reach)
        points, values = points[kept], values[kept]
        values = (values - values.mean()) / values.std()
        distinct, place = np.unique(points, axis=0, return_inverse=True)
        counts = np.bincount(place.ravel()).astype(np.float64)
        means = np.bincount(place.ravel(), values) / counts
        scatter = np.bincount(place.ravel(), (values - means[place.ravel()]) ** 2).astype(np.float64)
        self.data = Data(distinct, counts, means, scatter)
        self._length = LENGTH * np.sqrt(points.shape[1])
        self._marginal = Marginal(self.data, self._length)
        self._known: dict[int, tuple[Model, Posterior, float]] = {}

    def plain(self) -> Model:
        """Return the model without a symmetry."""
        dim = self.data.features.shape[1]
        pool = Pool(np.empty((0, dim, dim)))
        starts = [Parameters(0.5, np.full(dim, factor * self._length), 0.01) for factor in (1.0, 0.4)]
        return max((self._fitted(pool, start, FIRST_STEPS) for start in starts), key=lambda model: model.evidence)

    def model(self, pool: Pool, near: Model, far: float) -> Model:
        """Return the model of a group; parameters begin at another model's, and stay if the evidence is far smaller.

        Parameters
        ----------
        pool : Pool
            The group.
        near : Model
            The model whose parameters are the start.
        far : float
            How much smaller the evidence must be for the parameters to stay.
        """
        logs = np.bincount(pool.scales, np.log(near.lengths)) / np.bincount(pool.scales)
        start = _rough(near.parameters._replace(lengths=np.exp(logs)))
        rough = self._evidence(pool, start)
        if rough < near.rough - far:
            return Model(pool, start, near.evidence + rough - near.rough, rough)
        return self._fitted(pool, start, STEPS)

    def near_miss(self, large: Model, small: Model) -> float:
        """Return the evidence that a group holds but for a small part of the function, which has a subgroup only."""
        lengths = np.empty(small.pool.n_scales)
        lengths[small.pool.scales] = large.lengths
        whole = _leveled(large.pool, self.data.features, large.parameters.lengths)
        rest = _leveled(small.pool, self.data.features, lengths)
        noises = {large.parameters.noise, small.parameters.noise}
        starts = [large.parameters._replace(noise=noise) for noise in noises]
        mixed = whole + SMALL_SHARE * (rest - whole)
        return max(self._marginal.evidence(mixed, start) for start in starts)

    def asymmetry(self, model: Model, generators: Array) -> float:
        """Return by how much f(g x) and f(x) differ, over the difference of unrelated points, as a model has it.

        It is the root mean square over measured points, at most ASYMMETRY_POINTS of them, and over
        the posterior; the largest of all generators.
        """
        step = -(-len(self.data.features) // ASYMMETRY_POINTS)
        points = self.data.features[::step]
        known, level = self._known_to(model)
        lengths, factor, m = model.parameters.lengths, model.parameters.signal / level, len(points)
        largest = 0.0
        for g in generators:
            images = points @ g.T
            both = np.concatenate([points, images])
            there = factor * model.pool.cross(self.data.features, images, lengths)
            halves = known.halves(np.hstack([known.covariances[:, ::step], there]) + known.spread)
            means = halves.T @ known.half(known.means - known.center)
            prior = factor * model.pool.cross(both, both, lengths)
            own = prior.diagonal()
            spread = own[:m] + own[m:] - 2 * prior[np.arange(m), m + np.arange(m)]
            left = np.maximum(spread - ((halves[:, :m] - halves[:, m:]) ** 2).sum(axis=0), 0.0)
            largest = max(largest, float(((means[:m] - means[m:]) ** 2 + left).mean()))
        return math.sqrt(largest / 2)

    def posterior(self, model: Model) -> tuple[Posterior, float]:
        """Return what the model knows of the function, and what correlations are to be divided by."""
        data, parameters = self.data, model.parameters
        correlations = model.pool.cross(data.features, data.features, parameters.lengths)
        level = float(correlations.diagonal().mean())
        known = Posterior(data.center, parameters.signal)
        covariances = parameters.signal / level * correlations
        known.rebuild(covariances, data.counts, data.means, np.full(len(covariances), parameters.noise))
        return known, level

    def _known_to(self, model: Model) -> tuple[Posterior, float]:
        """Return the posterior of a model, made once: many candidates are asked of the same few."""
        if id(model) not in self._known:
            if len(self._known) == MAX_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[id(model)] = (model, *self.posterior(model))
        return self._known[id(model)][1:]

    def _fitted(self, pool: Pool, start: Parameters, steps: int) -> Model:
        found, evidence = self._marginal.fitted(pool, start, steps)
        return Model(pool, found, evidence, self._evidence(pool, _rough(found)))

    def _evidence(self, pool: Pool, parameters: Parameters) -> float:
        correlations = _leveled(pool, self.data.features, parameters.lengths)
        return self._marginal.evidence(correlations, parameters)


def _rough(parameters: Parameters) -> Parameters:
    return parameters._replace(noise=max(parameters.noise, ROUGH_NOISE))


def _leveled(pool: Pool, points: Array, lengths: Array) -> Array:
    """Return the correlations of all points over their mean variance, so that signals are as large for all groups."""
    values = pool.cross(points, points, lengths)
    return np.asarray(values / values.diagonal().mean())
