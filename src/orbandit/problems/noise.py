"""Noise: distributions of rewards with an exact given mean, also at the ends of the range."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import final

import numpy as np

from orbandit._checks import Array, as_positive, as_range, shown
from orbandit.errors import InputError


class Noise(ABC):
    """Draws rewards with given means, all of them in a range.

    Examples
    --------
    >>> import orbandit as ob
    >>> class Exact(ob.problems.Noise):
    ...     reward_range = (0.0, 1.0)
    ...     def sample(self, means, rng):
    ...         return means
    >>> line = ob.spaces.Box(0, 1, dim=1)
    >>> problem = ob.problems.Function(
    ...     lambda x: x[:, 0], line, None, lipschitz=1.0, optimizer=[1.0], noise=Exact()
    ... )
    >>> problem.sample([[0.2], [0.9]], 0)
    array([0.2, 0.9])
    """

    @property
    @abstractmethod
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest reward that can be drawn."""

    @abstractmethod
    def sample(self, means: Array, rng: np.random.Generator) -> Array:
        """Draw one reward for each mean.

        Parameters
        ----------
        means : array
            The mean rewards, within the range.
        rng : Generator
            Source of randomness.
        """

    def divergence(self, means: Array, others: Array) -> Array:
        """Return the Kullback-Leibler divergence of a reward with each mean from one with the other mean.

        Refused by kinds of noise that do not implement it.

        Parameters
        ----------
        means, others : arrays
            The mean rewards p and q of KL(p, q), within the range.
        """
        raise InputError(
            f"the divergence between rewards of {shown(self)} is not known; use Bernoulli() or ClippedGaussian(...)."
        )


class ScaledNoise(Noise):
    """Draws rewards in [0, 1], and scales them to the range."""

    def __init__(self, reward_range: tuple[float, float] = (0.0, 1.0)) -> None:
        self._low, self._high = as_range(reward_range)

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest reward that can be drawn."""
        return self._low, self._high

    def sample(self, means: Array, rng: np.random.Generator) -> Array:
        """Draw one reward for each mean."""
        width = self._high - self._low
        unit = self._sample(np.clip((means - self._low) / width, 0.0, 1.0), rng)
        return np.asarray(np.clip(self._low + width * unit, self._low, self._high))

    @abstractmethod
    def _sample(self, means: Array, rng: np.random.Generator) -> Array:
        """Draw one reward in [0, 1] for each mean in [0, 1]."""


@final
class Bernoulli(ScaledNoise):
    """Rewards 0 and 1, with the mean as the probability of 1.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> rewards = ob.problems.Bernoulli().sample(np.full(100_000, 0.3), np.random.default_rng(0))
    >>> float(rewards.mean().round(2)), np.unique(rewards)
    (0.3, array([0., 1.]))
    """

    def __init__(self) -> None:
        super().__init__()

    def __repr__(self) -> str:
        return "Bernoulli()"

    def _sample(self, means: Array, rng: np.random.Generator) -> Array:
        """Draw one number in [0, 1) for each mean; the reward is 1 if it is below the mean."""
        return np.asarray(rng.random(means.shape) < means, dtype=np.float64)

    def divergence(self, means: Array, others: Array) -> Array:
        """Return p log(p / q) + (1 - p) log((1 - p) / (1 - q)) for means p and others q."""
        from scipy.special import xlog1py

        # by steps, of which nothing is lost where they are small
        step, rest = others - means, 1 - means
        with np.errstate(divide="ignore", invalid="ignore"):  # infinite for others 0 and 1
            answer = -xlog1py(means, step / np.maximum(means, 1e-300)) - xlog1py(rest, -step / np.maximum(rest, 1e-300))
        return np.where(step == 0, 0.0, answer)


BERNOULLI = Bernoulli()
"""The noise that problems have unless another is given."""


@final
class ClippedGaussian(ScaledNoise):
    """A Gaussian reward, clipped to the range.

    Clipping pulls the mean inwards, so the Gaussian is centred where the clipped reward has the
    mean asked for: at mu with

        mean = s (H(mu / s) - H((mu - 1) / s)),     H(u) = u Phi(u) + phi(u),

    for a range of [0, 1] and a deviation s.

    Parameters
    ----------
    deviation : float
        The standard deviation of the Gaussian before clipping, in units of rewards; positive.
    reward_range : (low, high), default (0, 1)
        The range to which rewards are clipped.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> rewards = ob.problems.ClippedGaussian(0.3).sample(np.full(100_000, 0.9), np.random.default_rng(0))
    >>> float(rewards.mean().round(2)), float(rewards.max())
    (0.9, 1.0)
    """

    def __init__(self, deviation: float, reward_range: tuple[float, float] = (0.0, 1.0)) -> None:
        super().__init__(reward_range)
        self._deviation = as_positive(deviation, "deviation")

    def __repr__(self) -> str:
        return f"ClippedGaussian({self._deviation}, reward_range={self.reward_range})"

    @property
    def _scale(self) -> float:
        return self._deviation / (self._high - self._low)

    @cached_property
    def _centers(self) -> tuple[Array, Array]:
        """A grid of centres and the means of their clipped rewards, to begin the search with."""
        s = self._scale
        inner = np.linspace(-8 * s, 8 * s, 2048)
        centers = np.unique(np.concatenate([inner, 1 + inner]))
        means, keep = np.unique(_clipped_mean(centers, s)[0], return_index=True)
        return means, centers[keep]

    def _center(self, means: Array) -> Array:
        """Return mu for each mean: by the grid, then by Newton's steps: the mean increases with mu."""
        s = self._scale
        mu = np.interp(means, *self._centers)
        for _ in range(3):
            value, slope = _clipped_mean(mu, s)
            mu = mu + np.clip((means - value) / np.maximum(slope, 1e-9), -s, s)
        return np.asarray(mu)

    def _sample(self, means: Array, rng: np.random.Generator) -> Array:
        rewards = np.clip(self._center(means) + self._scale * rng.standard_normal(means.shape), 0.0, 1.0)
        return np.asarray(np.where((means <= 0) | (means >= 1), means, rewards))

    def divergence(self, means: Array, others: Array) -> Array:
        """Return the divergence of the clipped rewards, which have mass at both ends.

        With centres a and b of the two Gaussians, u = -a / s, v = (1 - a) / s and D = (b - a) / s
        it is

            P(0) log(P(0) / P'(0)) + P(1) log(P(1) / P'(1))
                + (1 - P(0) - P(1)) D^2 / 2 - D (phi(u) - phi(v)).

        Far from both ends that is (mean - other)^2 / 2 s^2, and nearer to them it is larger.
        """
        from scipy.special import log_ndtr, ndtr

        s, width = self._scale, self._high - self._low
        p, q = (np.clip((values - self._low) / width, 0.0, 1.0) for values in (means, others))
        a, b = (self._center(np.where((r > 0) & (r < 1), r, 0.5)) for r in (p, q))
        u, v, step = -a / s, (1 - a) / s, (b - a) / s
        # the difference of the smaller two
        inside = np.where(u > 0, ndtr(-u) - ndtr(-v), ndtr(v) - ndtr(u))
        at_ends = ndtr(u) * (log_ndtr(u) - log_ndtr(-b / s)) + ndtr(-v) * (log_ndtr(-v) - log_ndtr((b - 1) / s))
        answer = at_ends + inside * step**2 / 2 - step * (_density(u) - _density(v))
        # Rounding leaves nothing of this for small steps: there it is half the Fisher information
        # times their square.
        hazards = np.exp(-(u**2) - log_ndtr(u)) + np.exp(-(v**2) - log_ndtr(-v))
        information = hazards / (2 * np.pi) + inside - v * _density(v) + u * _density(u)
        answer = np.where(np.abs(step) < SMALL_STEP, information * ((q - p) / s / inside) ** 2 / 2, answer)
        answer = np.where(p == 0, -log_ndtr(-b / s), np.where(p == 1, -log_ndtr((b - 1) / s), answer))
        answer = np.where((q == 0) | (q == 1), np.inf, answer)  # rewards at an end are always there
        return np.where(p == q, 0.0, answer)


SMALL_STEP = 1e-5
"""Centres of Gaussians closer than this, in deviations, are close."""


def _density(u: Array) -> Array:
    """Return the standard Gaussian density."""
    return np.asarray(np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi))


def _clipped_mean(centers: Array, s: float) -> tuple[Array, Array]:
    """Return the mean of clip(mu + s Z, 0, 1) for each centre mu, and its derivative."""
    from scipy.special import ndtr

    def integral(u: Array) -> Array:
        return np.asarray(u * ndtr(u) + _density(u))

    above, below = centers / s, (centers - 1) / s
    return s * (integral(above) - integral(below)), np.asarray(ndtr(above) - ndtr(below))


@final
class Uniform(ScaledNoise):
    """A reward uniform on [mean - w, mean + w]; w is the half-width, or less near an end.

    Parameters
    ----------
    half_width : float
        The half-width, in units of rewards; positive.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> means = np.full((10_000, 2), [0.5, 0.1])
    >>> rewards = ob.problems.Uniform(0.2).sample(means, np.random.default_rng(0))
    >>> rewards.min(axis=0).round(2), rewards.max(axis=0).round(2)  # narrower near an end
    (array([0.3, 0. ]), array([0.7, 0.2]))
    """

    def __init__(self, half_width: float, reward_range: tuple[float, float] = (0.0, 1.0)) -> None:
        super().__init__(reward_range)
        self._half_width = as_positive(half_width, "half_width")

    def __repr__(self) -> str:
        return f"Uniform({self._half_width}, reward_range={self.reward_range})"

    def _sample(self, means: Array, rng: np.random.Generator) -> Array:
        width = np.minimum(self._half_width / (self._high - self._low), np.minimum(means, 1 - means))
        return np.asarray(means + width * (2 * rng.random(means.shape) - 1))


@final
class Beta(ScaledNoise):
    """A reward with a Beta(c m, c (1 - m)) distribution, m the mean scaled to [0, 1].

    Parameters
    ----------
    concentration : float
        The parameter c, positive: the variance is m (1 - m) / (1 + c).
    reward_range : (low, high), default (0, 1)
        The least and the largest reward.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> rewards = ob.problems.Beta(20.0).sample(np.full(100_000, 0.8), np.random.default_rng(0))
    >>> float(rewards.mean().round(2)), float(rewards.std().round(2))
    (0.8, 0.09)
    """

    def __init__(self, concentration: float, reward_range: tuple[float, float] = (0.0, 1.0)) -> None:
        super().__init__(reward_range)
        self._concentration = as_positive(concentration, "concentration")

    def __repr__(self) -> str:
        return f"Beta({self._concentration}, reward_range={self.reward_range})"

    def _sample(self, means: Array, rng: np.random.Generator) -> Array:
        inner = (means > 0) & (means < 1)
        safe = np.where(inner, means, 0.5)
        rewards = rng.beta(self._concentration * safe, self._concentration * (1 - safe))
        return np.asarray(np.where(inner, rewards, means))
