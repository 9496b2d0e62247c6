"""Judge: the evidence for a group, the largest marginal likelihood times priors of a process invariant under it.

The function is a constant plus a process with the covariance s k_G, see `Pool`; signal, noise and one length scale for
each class of coordinates that the group mixes are learnt as in `agents/gaussian/fit.py`. In the plain process, G
trivial, the part that is invariant under an involution and the part that changes its sign are a priori as large as each
other. So the difference of two evidences is the logarithm of posterior odds, at equal prior odds and up to the volumes
of posteriors of parameters: a group that ties length scales has fewer of these, which counts for nothing here.
"""

import math
from typing import NamedTuple, final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.fit import Correlations, Data, Parameters, Prior, Task
from orbandit.agents.gaussian.posterior import Posterior
from orbandit.symmetry.pooling import Pool

LENGTH, LENGTH_DOUBT = 0.5, 1.0
"""Median of the prior of length scales, over sqrt(dim) widths of the space, and the deviation of its logarithm."""
NOISE, NOISE_DOUBT = 0.01, 2.0
"""The same for the variance of the noise, over that of the values."""
ROUGH_NOISE = 0.03
"""Groups are first compared with at least so much noise, since a wrong length scale may look like a wrong group."""
SMALL_SHARE = 0.1
"""Share of the variance without the symmetry in a function that is nearly symmetric: images differ by about a third of
what unrelated points do."""
FENCE = 3.0
"""Values farther beyond the middle nine tenths than so many times their width are left out: crashes, not peaks."""
ASYMMETRY_POINTS = 64
"""So many points say how large an asymmetry is."""
FIRST_STEPS, STEPS = 40, 8
"""Most steps of a search for parameters: of the plain model, and of one that begins with another's."""


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
        About the middle of the space, in units of its widths.
    values : (n,) array
        What was measured there, not all alike.
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
            Whose parameters to begin with.
        far : float
            By how much smaller.
        """
        logs = np.bincount(pool.scales, np.log(near.lengths)) / np.bincount(pool.scales)
        start = _rough(near.parameters._replace(lengths=np.exp(logs)))
        rough = self._evidence(pool, start)
        if rough < near.rough - far:
            return Model(pool, start, near.evidence + rough - near.rough, rough)
        return self._fitted(pool, start, STEPS)

    def near_miss(self, large: Model, small: Model) -> float:
        """Return the evidence that a group holds but for a small part of the function, which has a subgroup only."""
        task = self._task(large.pool, _Mixed(large.pool, small.pool, SMALL_SHARE))
        noises = {large.parameters.noise, small.parameters.noise}
        starts = [large.parameters._replace(noise=noise) for noise in noises]
        return max(-task.loss(task.packed(start))[0] for start in starts)

    def asymmetry(self, model: Model, generators: Array) -> float:
        """Return by how much f(g x) and f(x) differ, over the difference of unrelated points, as a model has it.

        It is the root mean square over measured points, at most ASYMMETRY_POINTS of them, and over the posterior; the
        largest of all generators.
        """
        points = self.data.features[:: -(-len(self.data.features) // ASYMMETRY_POINTS)]
        known, level = self.posterior(model)
        lengths, factor, m = model.parameters.lengths, model.parameters.signal / level, len(points)
        largest = 0.0
        for g in generators:
            both = np.concatenate([points, points @ g.T])
            halves = known.halves(factor * model.pool.cross(self.data.features, both, lengths) + known.spread)
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

    def _task(self, pool: Pool, kernel: Correlations | None = None) -> Task:
        lengths = np.full(pool.n_scales, self._length)
        prior = Prior(lengths, LENGTH_DOUBT, noise=NOISE, noise_doubt=NOISE_DOUBT)
        return Task(kernel or _Leveled(pool), self.data, prior, None)

    def _fitted(self, pool: Pool, start: Parameters, steps: int) -> Model:
        import scipy.optimize

        task = self._task(pool)
        result = scipy.optimize.minimize(
            task.loss,
            np.clip(task.packed(start), task.low, task.high),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(task.low.tolist(), task.high.tolist(), strict=True)),
            options={"maxiter": steps, "ftol": 1e-7},
        )
        found = task.unpacked(result.x)
        return Model(pool, found, -float(result.fun), self._evidence(pool, _rough(found)))

    def _evidence(self, pool: Pool, parameters: Parameters) -> float:
        task = self._task(pool)
        return -task.loss(task.packed(parameters))[0]


def _rough(parameters: Parameters) -> Parameters:
    return parameters._replace(noise=max(parameters.noise, ROUGH_NOISE))


@final
class _Leveled:
    """The correlations of a pool, over the mean variance of the points, so that signals are as large for all groups."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def cross_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the correlations of all points, and their derivatives."""
        values, by_scale = self._pool.cross_and_scale_gradients(a, b, lengths)
        level = values.diagonal().mean()
        levels = by_scale.diagonal(axis1=1, axis2=2).mean(axis=1)
        by_scale -= (levels / level)[:, None, None] * values
        by_scale /= level
        return values / level, by_scale


@final
class _Mixed:
    """The correlations of two pools, one a subgroup of the other, and the share of variance that it has."""

    def __init__(self, large: Pool, small: Pool, share: float) -> None:
        self._large, self._small, self._share = large, small, share

    def cross_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the correlations of all points, and their derivatives."""
        tied = np.zeros((self._small.n_scales, len(lengths)))
        tied[self._small.scales, self._large.scales] = 1.0
        values, by_scale = _Leveled(self._large).cross_and_scale_gradients(a, b, lengths)
        others, by_other = _Leveled(self._small).cross_and_scale_gradients(a, b, tied @ lengths)
        by_scale += self._share * (np.einsum("st,sij->tij", tied, by_other) - by_scale)
        return values + self._share * (others - values), by_scale
