"""Marginal: the marginal likelihood times priors of a process with the kernel of a group.

The values of n points, each a mean of some measurements, have the covariance

    A = s (K + 1) + diag(noise / counts),     K = k_G / mean variance of the points under k_G,

a constant of variance s among it, and with r = values - their mean the loss is

    L = r' A^-1 r / 2 + log det A / 2 + what scatters at single points + priors,

as in `agents/gaussian/fit.py`. There the derivatives of K by each length scale are matrices. Here

    dL = sum over i, j of P_ij dA_ij / 2,     P = A^-1 - (A^-1 r) (A^-1 r)',

is asked of the kernel as a whole (`Pool.within`), with the weights Q for k_G itself,

    sum P_ij dK_ij = sum Q_ij dk_ij,     Q = (P - (sum P_ij K_ij) I / n) / mean variance,

so that coordinates that the group leaves alone cost no matrix each.
"""

from functools import partial
from typing import final

import numpy as np
import scipy.linalg
import scipy.optimize

from orbandit._checks import Array
from orbandit.agents.gaussian.fit import (
    LEAST_NOISE,
    LEAST_VARIANCE,
    MAX_DEVIATIONS,
    PRIOR_SIGNAL,
    SIGNAL_DOUBT,
    Data,
    Parameters,
)
from orbandit.symmetry.pooling import Pool

LENGTH_DOUBT = 1.0
"""Prior standard deviation of the logarithms of length scales."""
NOISE, NOISE_DOUBT = 0.01, 2.0
"""Median of the noise variance over that of the values, and the deviation of its logarithm."""
JITTER = 1e-10
"""Added to the diagonal of A, in units of s."""
NO_FACTOR = 1e10
"""The loss where A has no factor; such steps are taken back."""


@final
class Marginal:
    """The likelihood of data under the kernels of groups.

    Parameters
    ----------
    data : Data
        Points with counts, means and scatter.
    length : float
        Median of the prior of length scales.
    """

    def __init__(self, data: Data, length: float) -> None:
        self._data, self._length = data, length
        self._residuals = data.means - data.center
        self._variance = max(data.variance, LEAST_VARIANCE)

    def evidence(self, correlations: Array, parameters: Parameters) -> float:
        """Return minus the loss, for K at all pairs of points."""
        theta = _packed(parameters)
        away = (theta - self._centers(len(theta))) / _doubts(len(theta))
        try:
            factor = self._factor(correlations, parameters.signal, parameters.noise)
        except np.linalg.LinAlgError:
            return -NO_FACTOR - float(away @ away)
        half = scipy.linalg.solve_triangular(factor, self._residuals, lower=True, check_finite=False)
        loss = 0.5 * half @ half + np.log(factor.diagonal()).sum() + 0.5 * away @ away
        return -float(loss + self._scatter(theta[-1])[0])

    def fitted(self, pool: Pool, start: Parameters, steps: int) -> tuple[Parameters, float]:
        """Return the best parameters found from a start in so many steps, and minus their loss."""
        theta = _packed(start)
        reach = MAX_DEVIATIONS * _doubts(len(theta))
        low, high = self._centers(len(theta)) - reach, self._centers(len(theta)) + reach
        low[-1], high[-1] = np.log(LEAST_NOISE * self._variance), np.log(4 * self._variance)
        result = scipy.optimize.minimize(
            partial(self.loss, pool),
            np.clip(theta, low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low.tolist(), high.tolist(), strict=True)),
            options={"maxiter": steps, "ftol": 1e-7},
        )
        values = np.exp(result.x)
        return Parameters(float(values[0]), values[1:-1], float(values[-1])), -float(result.fun)

    def loss(self, pool: Pool, theta: Array) -> tuple[float, Array]:
        """Return the loss of (log signal, log lengths, log noise), and its gradient."""
        values = np.exp(theta)
        kernel, contracted = pool.within(self._data.features, values[1:-1])
        level = float(kernel.diagonal().mean())
        correlations = kernel / level
        away = (theta - self._centers(len(theta))) / _doubts(len(theta))
        gradient = away / _doubts(len(theta))
        try:
            factor = self._factor(correlations, values[0], values[-1])
        except np.linalg.LinAlgError:
            return NO_FACTOR + float(away @ away), gradient
        logs = np.log(factor.diagonal()).sum()
        inverse, _ = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
        inverse += np.tril(inverse, -1).T  # what is above the diagonal was 0
        weights = inverse @ self._residuals
        pull = inverse - np.outer(weights, weights)
        by_level = float(np.vdot(pull, correlations))
        gradient[0] += 0.5 * values[0] * (by_level + pull.sum())
        each = pull / level
        each.flat[:: len(pull) + 1] -= by_level / (len(pull) * level)
        gradient[1:-1] += 0.5 * values[0] * contracted(each)
        gradient[-1] += 0.5 * values[-1] * float((pull.diagonal() / self._data.counts).sum())
        scatter, by_noise = self._scatter(theta[-1])
        gradient[-1] += by_noise
        return float(0.5 * self._residuals @ weights + logs + 0.5 * away @ away + scatter), gradient

    def _factor(self, correlations: Array, signal: float, noise: float) -> Array:
        """Return the lower triangular factor of A."""
        matrix = signal * (correlations + 1.0)
        matrix.flat[:: len(matrix) + 1] += noise / self._data.counts + JITTER * signal
        return np.asarray(scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False))

    def _scatter(self, log_noise: float) -> tuple[float, float]:
        """Return the loss of what scatters at single points, and its derivative by the log noise."""
        repeats, scatter = (self._data.counts - 1).sum(), self._data.scatter.sum() / np.exp(log_noise)
        return float(0.5 * repeats * log_noise + 0.5 * scatter), float(0.5 * repeats - 0.5 * scatter)

    def _centers(self, size: int) -> Array:
        """Return the medians of the priors of so many parameters, as logarithms."""
        lengths = np.full(size - 2, self._length)
        return np.asarray(np.log(np.concatenate([[PRIOR_SIGNAL * self._variance], lengths, [NOISE * self._variance]])))


def _doubts(size: int) -> Array:
    return np.array([SIGNAL_DOUBT, *[LENGTH_DOUBT] * (size - 2), NOISE_DOUBT])


def _packed(parameters: Parameters) -> Array:
    """Return parameters as a search sees them."""
    return np.asarray(np.log(np.concatenate([[parameters.signal], parameters.lengths, [parameters.noise]])))
