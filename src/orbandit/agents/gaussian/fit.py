"""The hyper-parameters of the model, by maximum marginal likelihood with weak priors (MAP).

The function is a constant plus a process with the covariance s k(x, y; lengths), and the constant
has the variance s, too. With n_j observations of mean y_j and squared deviations q_j at point j,
the likelihood is that of the means, N(b, A) as in `posterior.py`, times that of the scatter within
points,

    sum_j  -(n_j - 1) / 2 log(noise)  -  q_j / (2 noise),

so that repeated measurements identify the noise. The priors are log-normal, in units of the
variance V of the means of points about their centre b (plus the scatter within points):

    s         median V / 2,        standard deviation of the logarithm 1.5
    noise     median V / 100,000,  standard deviation of the logarithm 4
    lengths   as `Prior` says
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import QuotientKernel
from orbandit.agents.gaussian.thinning import Rewards
from orbandit.agents.gaussian.warp import NO_WARP, Warp

PRIOR_SIGNAL, SIGNAL_DOUBT = 0.5, 1.5
"""Median of the prior of s over V, and the prior standard deviation of its logarithm."""
PRIOR_NOISE, NOISE_DOUBT = 1e-5, 4.0
"""The same for the noise."""
LEAST_NOISE = 1e-9
"""The least noise, over V."""
MAX_DEVIATIONS = 10.0
"""Most prior standard deviations of a parameter from its median."""
MAX_STEPS = 40
"""Most steps of a search."""
LEAST_VARIANCE = 1e-12
"""The least V, in units of the squared range of rewards."""


class Correlations(Protocol):
    """The methods of a kernel that a fit uses."""

    def cross_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the kernel at all pairs of features, and its derivatives by the logarithm of each length scale."""


class Parameters(NamedTuple):
    """Signal variance, length scales and noise variance, for rewards in [0, 1]."""

    signal: float
    lengths: Array
    noise: float


class Fit(NamedTuple):
    """The parameters found, and their loss: minus the logarithm of likelihood times priors."""

    parameters: Parameters
    loss: float


class Hypothesis(NamedTuple):
    """A model of rewards: kernel, parameters, the centre of the constant, the warp, and the loss of all that."""

    kernel: QuotientKernel
    parameters: Parameters
    center: float
    warp: Warp = NO_WARP
    loss: float = np.inf


class Prior(NamedTuple):
    """Log-normal priors of the length scales: their medians, and the prior standard deviation of the logarithms.

    Besides, the least V, the prior standard deviation of the logarithm of s, the median of the
    noise over V with the prior standard deviation of its logarithm, and the largest length scales.
    """

    lengths: Array
    doubt: float | Array
    least: float = LEAST_VARIANCE
    signal_doubt: float = SIGNAL_DOUBT
    noise: float = PRIOR_NOISE
    noise_doubt: float = NOISE_DOUBT
    longest: float | Array = np.inf


class Data(NamedTuple):
    """Points by their features, with counts, means, and squared deviations from these means."""

    features: Array
    counts: Array
    means: Array
    scatter: Array

    @property
    def center(self) -> float:
        """The mean over points, whatever their counts: they cluster where rewards are high."""
        return float(self.means.mean())

    @property
    def variance(self) -> float:
        """The V of the priors.

        At least that of even means, since points cluster where rewards are high.
        """
        within = self.scatter.sum() / self.counts.sum()
        between = max(((self.means - self.center) ** 2).mean(), np.ptp(self.means) ** 2 / 12)
        return float(between + within)


def fit(kernel: QuotientKernel, data: Data, prior: Prior, starts: list[Parameters], noise: Array | None = None) -> Fit:
    """Return the best parameters found from the starts.

    Parameters
    ----------
    kernel : QuotientKernel
        The correlations.
    data : Data
        At least one point.
    prior : Prior
        The priors.
    starts : list of Parameters
        Starts of the search.
    noise : (n,) array, optional
        The noise variance at each point, if it is known; then none is learnt.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> from orbandit.agents.gaussian.quotient_kernel import quotient_kernel
    >>> kernel = quotient_kernel(ob.spaces.Box(0.0, 1.0, dim=1), None)
    >>> x = np.linspace(0, 1, 30)[:, None]
    >>> data = Data(kernel.features(x), np.ones(30), np.sin(6 * x[:, 0]), np.zeros(30))
    >>> found, _ = fit(kernel, data, Prior(np.array([0.3]), 1.0), [Parameters(1.0, np.array([0.3]), 0.1)])
    >>> bool(0.1 < found.lengths[0] < 2), bool(found.noise < 1e-3)
    (True, True)
    """
    from scipy.optimize import minimize

    task = Task(kernel, data, prior, noise)
    found = Fit(starts[0], np.inf)
    for start in starts:
        result = minimize(
            task.loss,
            np.clip(task.packed(start), task.low, task.high),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(task.low.tolist(), task.high.tolist(), strict=True)),
            options={"maxiter": MAX_STEPS, "ftol": 1e-7},
        )
        if result.fun < found.loss:
            found = Fit(task.unpacked(result.x), float(result.fun))
    return found


def hypothesis(
    kernel: QuotientKernel,
    rewards: Rewards,
    warp: Warp,
    prior: Prior,
    starts: Sequence[Parameters],
    fresh: Sequence[Array],
    noise: Array | None = None,
) -> Hypothesis:
    """Return a model with its best parameters; losses are comparable between kernels and warps.

    Parameters
    ----------
    kernel : QuotientKernel
        The correlations.
    rewards : Rewards
        The data.
    warp : Warp
        The transformation of rewards.
    prior : Prior
        The priors.
    starts : sequence of Parameters
        Starts of the search.
    fresh : sequence of (n_scales,) arrays
        Length scales of further starts, with signal and noise estimated from the rewards.
    noise : (n,) array, optional
        The noise variance at each point, if it is known; then none is learnt.
    """
    derivatives = warp.derivatives(rewards.means)
    features = kernel.features(rewards.points)
    data = Data(features, rewards.counts, warp.of(rewards.means), rewards.scatter * derivatives**2)
    signal = max(data.variance, prior.least, LEAST_VARIANCE) / 2
    anew = [Parameters(signal, lengths, data.variance / 10 + LEAST_VARIANCE) for lengths in fresh]
    found = fit(kernel, data, prior, [*starts, *anew], noise)
    # of rewards, not of warped ones
    loss = found.loss - float(rewards.counts @ np.log(derivatives))
    return Hypothesis(kernel, found.parameters, data.center, warp, loss)


@final
class Task:
    """The loss, minus the logarithm of likelihood times priors, of (log signal, log lengths, log noise)."""

    def __init__(self, kernel: Correlations, data: Data, prior: Prior, noise: Array | None) -> None:
        self._kernel, self._data, self._noise = kernel, data, noise
        self._residuals = data.means - data.center
        scales, variance = len(prior.lengths), max(data.variance, prior.least)
        self._centers = np.log(np.concatenate([[PRIOR_SIGNAL * variance], prior.lengths, [prior.noise * variance]]))
        self._doubts = np.array([prior.signal_doubt, *np.broadcast_to(prior.doubt, scales), prior.noise_doubt])
        self.low, self.high = (
            self._centers - MAX_DEVIATIONS * self._doubts,
            self._centers + MAX_DEVIATIONS * self._doubts,
        )
        self.high[1:-1] = np.minimum(self.high[1:-1], np.log(prior.longest))
        self.low[-1], self.high[-1] = np.log(LEAST_NOISE * variance), np.log(4 * variance)
        if noise is not None:
            self.low[-1] = self.high[-1] = self._centers[-1]  # nothing depends on it

    def packed(self, given: Parameters) -> Array:
        """Return parameters as the search sees them."""
        return np.asarray(np.log(np.concatenate([[given.signal], given.lengths, [max(given.noise, 1e-300)]])))

    def unpacked(self, theta: Array) -> Parameters:
        """Undo `packed`."""
        values = np.exp(theta)
        return Parameters(float(values[0]), values[1:-1], 0.0 if self._noise is not None else float(values[-1]))

    def loss(self, theta: Array) -> tuple[float, Array]:
        """Return the loss and its gradient."""
        from scipy.linalg import cholesky
        from scipy.linalg.lapack import dpotri

        data, values = self._data, np.exp(theta)
        features = data.features
        noise = np.full(len(data.counts), values[-1]) if self._noise is None else self._noise
        correlations, by_scale = self._kernel.cross_and_scale_gradients(features, features, values[1:-1])
        signal = values[0] * (correlations + 1.0)
        matrix = signal.copy()
        matrix.flat[:: len(matrix) + 1] += noise / data.counts + 1e-10 * values[0]
        away = (theta - self._centers) / self._doubts
        gradient = away / self._doubts
        try:
            factor = cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return 1e10 + float(away @ away), gradient  # the search steps back
        inverse, _ = dpotri(factor, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        weights = inverse @ self._residuals
        loss = 0.5 * self._residuals @ weights + np.log(factor.diagonal()).sum() + 0.5 * away @ away
        pull = inverse - np.outer(weights, weights)
        gradient[0] += 0.5 * np.vdot(pull, signal)
        gradient[1:-1] += 0.5 * values[0] * np.einsum("ij,cij->c", pull, by_scale)
        if self._noise is None:
            repeats, scatter = (data.counts - 1).sum(), data.scatter.sum()
            loss += 0.5 * repeats * theta[-1] + 0.5 * scatter / values[-1]
            gradient[-1] += 0.5 * (pull.diagonal() / data.counts).sum() * values[-1]
            gradient[-1] += 0.5 * repeats - 0.5 * scatter / values[-1]
        else:
            gradient[-1] = 0.0
        return float(loss), gradient
