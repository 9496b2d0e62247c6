"""Model: Gaussian process regression on the points observed, and a pool of candidates.

The candidates are a space-filling design, fixed. Their means and variances follow every observation
at once: one observation y of a point x, of noise variance s, moves them by

    m += c (y - m(x)) / (v(x) + s),     v -= c^2 / (v(x) + s),     c = the covariances with f(x) so far,

which costs O(n^2) for c, with n points, and O(n) for each candidate. Points that were observed are
candidates, too.
"""

import copy
from typing import NamedTuple, final

import numpy as np

from orbandit._checks import Array
from orbandit._rows import Rows
from orbandit.agents.files import Arrays
from orbandit.agents.gaussian.base import QuotientKernel
from orbandit.agents.gaussian.fit import Parameters
from orbandit.agents.gaussian.posterior import Posterior, floored
from orbandit.agents.gaussian.thinning import Rewards
from orbandit.agents.gaussian.warp import NO_WARP, Warp

SAME_POINT_VARIANCE = 1e-12
"""Points are merged if the variance of their difference is below this, in units of the signal's."""
LEAST_CHANCE, EXTRA_REWARDS = 0.02, 5.0
"""Bernoulli rewards have the variance m (1 - m), for a mean m that is clipped to this distance from
0 and 1, and shrunk to 1/2 by so many pseudo-observations. So a reward where data are few has the
variance of a fair coin, whatever the posterior mean."""


class Candidates(NamedTuple):
    """A space-filling design, by coordinates and features."""

    points: Array
    features: Array


@final
class Model:
    """The regression on observed points, with means and variances at these and at candidates.

    Parameters
    ----------
    kernel : QuotientKernel
        The correlations.
    parameters : Parameters
        The hyper-parameters. A noise of 0 stands for Bernoulli rewards, with the variance m (1 -
        m).
    center : float
        The prior mean of the constant.
    pool : Candidates
        The candidates.
    rewards : Rewards
        The observed points with their rewards.
    expected : (2, n) array
        Posterior mean and variance at these points, for the noise of Bernoulli rewards.
    warp : Warp
        The transformation of rewards: all means and variances are of warped rewards.
    """

    means: Array
    variances: Array
    pool_means: Array
    pool_variances: Array

    def __init__(
        self,
        kernel: QuotientKernel,
        parameters: Parameters,
        center: float,
        pool: Candidates,
        rewards: Rewards,
        expected: Array,
        warp: Warp = NO_WARP,
    ) -> None:
        self.kernel, self.parameters, self.pool = kernel, parameters, pool
        self.rewards, self.warp = rewards, warp
        self.posterior = Posterior(center, parameters.signal)
        if len(rewards):
            prior = self._covariances(rewards.features, rewards.features)
            noise = self._noise(expected[0], expected[1])
            self.posterior.rebuild(prior, rewards.counts, warp.of(rewards.means), noise)
        self._pool_rows = Rows(self._covariances(rewards.features, pool.features))
        self._refresh()

    @property
    def size(self) -> int:
        """Number of distinct points observed."""
        return self.posterior.size

    @property
    def shortest(self) -> float:
        """The shortest length scale; a reach is none."""
        return self.kernel.shortest(self.parameters.lengths)

    @property
    def expected(self) -> Array:
        """Mean and variance of the function at the points observed, (2, n)."""
        return np.array([self.means, self.variances])

    @property
    def _cross(self) -> Array:
        """The covariances of observed points with candidates."""
        return self._pool_rows.filled

    def place(self, feature: Array) -> tuple[int, Array, float]:
        """Return the row of a point, or `size` if it is new, with its covariances and its variance."""
        own = self.parameters.signal
        if not self.size:
            return 0, np.empty(0), own
        known = self.posterior.covariances
        new = self._covariances(feature[None], self.rewards.features)[0]
        gaps = own + known.diagonal() - 2 * new
        row = int(gaps.argmin())
        if gaps[row] <= SAME_POINT_VARIANCE * self.parameters.signal:
            return row, known[row].copy(), float(known[row, row])
        return self.size, new, own

    def add(self, point: Array, feature: Array, value: float | None) -> None:
        """Learn a reward in [0, 1] of a point; None adds a fantasy at its posterior mean."""
        row, covariances, own = self.place(feature)
        posterior, spread, is_new = self.posterior, self.parameters.signal, row == self.size
        half = posterior.half(covariances + spread)
        solution = posterior.other_half(half)
        if is_new:
            mean = posterior.center + float(posterior.weights @ (covariances + spread)) if row else posterior.center
            variance = own + spread - float(solution @ (covariances + spread))
            variance = float(floored(np.array(variance), np.array(own + spread)))
            noise = float(self._noise(np.array([mean]), np.array([variance]))[0])
            with_pool = self._covariances(feature[None], self.pool.features)
        else:
            with_pool = self._cross[row : row + 1]
            mean, variance, noise = float(self.means[row]), float(self.variances[row]), float(posterior.noise[row])
        told = mean if value is None else self._warped(row, value)
        moved = with_pool[0] + spread * (1 - solution.sum()) - solution @ self._cross
        # K w = k - D w where A w = k
        among = (posterior.noise / posterior.counts + posterior.jitter) * solution
        gain, surprise = 1 / (variance + noise), told - mean
        self.pool_means += moved * (gain * surprise)
        self.pool_variances = floored(self.pool_variances - gain * moved**2, self._pool_prior)
        self.means += among * (gain * surprise)
        self.variances = floored(self.variances - gain * among**2, np.array(own + spread))
        jitter = posterior.jitter
        if is_new:
            self.means = np.append(self.means, mean + variance * gain * surprise)
            self.variances = np.append(self.variances, variance * noise * gain)
            posterior.append(covariances, own, noise=noise, count=1.0, mean=told, half=half)
            self._pool_rows.append(with_pool)
        else:
            posterior.observe(row, told)
        self.rewards.add(row, point, feature, float(self.warp.undone(np.array(told))) if value is None else value)
        if row and posterior.jitter != jitter:
            self._refresh()

    def _warped(self, row: int, value: float) -> float:
        """Return the value for the regression such that a row has the warp of its rewards' mean."""
        if not self.warp.strength:
            return value
        if row == self.size:
            return float(self.warp.of(np.array(value)))
        count, mean = self.rewards.counts[row], self.rewards.means[row]
        after = self.warp.of(mean + (value - mean) / (count + 1))
        return float(after + count * (after - self.posterior.means[row]))

    def features(self, points: Array) -> Array:
        """Return the kernel's features of points."""
        return self.kernel.features(points)

    def at(self, features: Array) -> tuple[Array, Array]:
        """Return mean and variance of the function at points."""
        own = np.full(len(features), self.parameters.signal)
        if not self.size:
            return np.full(len(own), self.posterior.center), own + self.posterior.spread
        return self.posterior.at(self._covariances(self.rewards.features, features), own)

    def gradients(self, points: Array) -> tuple[Array, Array, Array, Array]:
        """Return mean and variance at (m, dim) points, and their gradients, (m, dim) each."""
        signal, lengths, spread = self.parameters.signal, self.parameters.lengths, self.posterior.spread
        if not self.size:
            flat = np.zeros_like(points)
            return np.full(len(points), self.posterior.center), np.full(len(points), signal + spread), flat, flat
        values, by_point = self.kernel.along_many(points, self.rewards.features, lengths)
        cross = signal * values + spread
        solutions = self.posterior.solve(cross)
        weights = self.posterior.weights
        means = self.posterior.center + cross @ weights
        prior = np.full(len(points), signal + spread)
        variances = floored(prior - (cross * solutions).sum(axis=1), prior)
        mean_gradients = signal * (weights @ by_point)
        variance_gradients = -2 * signal * (solutions[:, None] @ by_point)[:, 0]
        return means, variances, mean_gradients, variance_gradients

    def mean_gradients(self, points: Array) -> Array:
        """Return the gradients of the mean at (m, dim) points."""
        if not self.size:
            return np.zeros_like(points)
        _, by_point = self.kernel.along_many(points, self.rewards.features, self.parameters.lengths)
        return np.asarray(self.parameters.signal * (self.posterior.weights @ by_point))

    def joint(self, features: Array) -> tuple[Array, Array]:
        """Return the means at points and their covariances with each other."""
        own, spread = self._covariances(features, features), self.posterior.spread
        if not self.size:
            return np.full(len(features), self.posterior.center), own + spread
        cross = self._covariances(self.rewards.features, features) + spread
        halves = self.posterior.halves(cross)
        return self.posterior.center + cross.T @ self.posterior.weights, own + spread - halves.T @ halves

    def branch(self) -> "Model":
        """Return a copy that learns on its own, valid as long as this one does not learn."""
        other = copy.copy(self)
        other.rewards, other.posterior = self.rewards.copy(), self.posterior.branch()
        other._pool_rows, other.pool_means = self._pool_rows.branch(), self.pool_means.copy()
        other.means, other.variances = self.means.copy(), self.variances.copy()
        return other

    def arrays(self) -> Arrays:
        """Return the state, as updated step by step.

        Computed anew it would differ in the last bits.
        """
        parameters = self.parameters
        scalars = [parameters.signal, parameters.noise, self.posterior.center, self.posterior.jitter]
        return {
            "points": self.rewards.points,
            "counts": self.rewards.counts,
            "means": self.rewards.means,
            "scatter": self.rewards.scatter,
            "lengths": parameters.lengths,
            "scalars": np.array(scalars),
            "warp": np.array(self.warp),
            "factor": self.posterior.factor,
            "covariances": self.posterior.covariances,
            "noise": self.posterior.noise,
            "cross": self._cross,
            "pool_stats": np.array([self.pool_means, self.pool_variances]),
            "row_stats": self.expected,
        }

    @classmethod
    def restore(cls, kernel: QuotientKernel, pool: Candidates, features: Array, arrays: Arrays) -> tuple["Model", bool]:
        """Return the model with these `arrays`, checked, and whether this kernel made them.

        If it did not, those of another version, the model is computed anew, and is to be fitted.
        """
        # 0.1.0 tied the reach to the lengths, and up to 0.2.0 few units had none
        if len(arrays["lengths"]) == kernel.n_scales - 1:
            lengths = np.append(arrays["lengths"], 1.0) if kernel.has_reach else kernel.unit
            arrays = {**arrays, "lengths": lengths}
        arrays = {"warp": np.array(NO_WARP), **arrays}  # 0.1.0 had none
        check_arrays(arrays, kernel.n_scales, len(pool.points))
        signal, noise, center, jitter = arrays["scalars"].tolist()
        counts, means = arrays["counts"], arrays["means"]
        rewards = Rewards(arrays["points"], features, counts, means, arrays["scatter"])
        parameters, warp = Parameters(signal, arrays["lengths"], noise), Warp(*arrays["warp"].tolist())
        model = cls(kernel, parameters, center, pool, rewards, arrays["row_stats"], warp)
        small = 1e-6 * signal
        same = np.allclose(arrays["covariances"], model.posterior.covariances, rtol=0, atol=small)
        if not same or not np.allclose(arrays["cross"], model._cross, rtol=0, atol=small):
            return model, False
        if model.size:
            model.posterior.rebuild(arrays["covariances"], counts, warp.of(means), arrays["noise"])
            model.posterior.restore(arrays["factor"], jitter)
        model._cross[:] = arrays["cross"]
        model.pool_means, model.pool_variances = arrays["pool_stats"].copy()
        model.means, model.variances = arrays["row_stats"].copy()
        return model, True

    def _covariances(self, a: Array, b: Array) -> Array:
        return np.asarray(self.parameters.signal * self.kernel.cross(a, b, self.parameters.lengths))

    def _noise(self, means: Array, variances: Array) -> Array:
        """Return the variance of one observation, given posterior means and variances."""
        if self.parameters.noise > 0:
            return np.full(len(means), self.parameters.noise)
        return bernoulli(means, variances)

    def _refresh(self) -> None:
        """Compute means and variances from scratch."""
        own = np.full(len(self.pool.points), self.parameters.signal)
        self._pool_prior = own + self.posterior.spread
        if self.size:
            self.pool_means, self.pool_variances = self.posterior.at(self._cross, own)
            known = self.posterior.covariances
            self.means, self.variances = self.posterior.at(known, known.diagonal())
        else:
            self.pool_means, self.pool_variances = np.full(len(own), self.posterior.center), self._pool_prior.copy()
            self.means, self.variances = np.empty(0), np.empty(0)


def bernoulli(means: Array, variances: Array) -> Array:
    """Return the variances of Bernoulli rewards, given posterior means and variances.

    A posterior variance v corresponds to 1 / (4 v) rewards of a fair coin.
    """
    likely = (np.clip(means, LEAST_CHANCE, 1 - LEAST_CHANCE) + 2 * EXTRA_REWARDS * variances) / (
        1 + 4 * EXTRA_REWARDS * variances
    )
    return np.asarray(likely * (1 - likely))


def check_arrays(arrays: Arrays, scales: int, candidates: int) -> None:
    """Refuse invalid arrays of a model."""
    size = len(arrays["counts"])
    shapes = {
        "counts": (size,),
        "means": (size,),
        "scatter": (size,),
        "noise": (size,),
        "lengths": (scales,),
        "scalars": (4,),
        "warp": (3,),
        "factor": (size, size),
        "covariances": (size, size),
        "cross": (size, candidates),
        "pool_stats": (2, candidates),
        "row_stats": (2, size),
    }
    if len(arrays["points"]) != size or arrays["points"].dtype != np.float64:
        raise ValueError("rewards of other points")
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
            raise ValueError(f"{name} of shape {array.shape} and type {array.dtype}, or no numbers")
    signal, noise, center, jitter = arrays["scalars"].tolist()
    proper = (
        (arrays["counts"] >= 1).all()
        and ((arrays["means"] >= -1e-9) & (arrays["means"] <= 1 + 1e-9)).all()
        and (arrays["scatter"] >= -1e-9 * arrays["counts"]).all()
        and (arrays["noise"] > 0).all()
        and (arrays["lengths"] > 0).all()
        and signal > 0
        and noise >= 0
        and -1e-9 <= center <= 1 + 1e-9
        and jitter >= 0
        and (arrays["warp"] >= [-1e-9, 1e-300, 0.0]).all()
        and (arrays["factor"].diagonal() > 0).all()
        and (arrays["covariances"].diagonal() > 0).all()
        and (arrays["pool_stats"][1] > 0).all()
        and (arrays["row_stats"][1] > 0).all()
    )
    if not proper:
        raise ValueError("statistics that cannot be")
