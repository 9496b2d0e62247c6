"""Evolution: a covariance matrix adaptation evolution strategy for the many rounds after a model's.

A process that was fitted to all rewards costs O(n^2) a round, and soon more rewards do not make it
better: near the maximum its error is no longer the noise but its own, such as the kinks that it
takes for noise. An evolution strategy has no model but the ranks of rewards. It draws

    x = m + s N(0, C)                                                                         (5)

moves the mean m towards the better half of a generation, and adapts the step s and the covariance
matrix C by the steps of the mean. N. Hansen, The CMA evolution strategy: a tutorial, 2016, whose
equation numbers are given below, with positive weights. What differs: generations are the larger,
the more noise there is, which averages over it; the first step is small, since the model's best
point is good; and points are brought into the feasible set, but C learns of them as they were drawn.
The mean is brought there, too, so that it can rest on a wall. Points drawn elsewhere, or some
generations ago, are learnt from as well: what is too far away is moved towards the mean (N. Hansen,
Injecting external solutions into CMA-ES, 2011).

Under skewed noise the best half by ranks leads to the best median, which may be far from the best
mean: nine winds of ten spare a turbine that stands in another's wake in the tenth. So if a generation
is noisy, and its noise is skewed, m moves by the rewards f_i instead,

    m <- m + r / size sum_i (f_i - their mean) / (their deviation) (x_i - m),

an estimate of the gradient of the mean reward, as far (r) as ranks of Gaussian rewards would move it.
"""

import math
from typing import NamedTuple, final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.files import Arrays
from orbandit.agents.gaussian.model import Model
from orbandit.spaces.feasible_set import FeasibleSet

GENERATION, NOISY = 8.0, 0.5
"""Points of a generation, over the root of the number of rounds, where the noise is at least this
part of what a first step costs; fewer where it is less, by the root of that."""
UNEXPLAINED, SKEWED = 0.5, 0.5
"""Least part of the variance of rewards that is noise, and least skewness of this noise, of either
sign, for which the mean moves by rewards instead of ranks."""
LEAST_VARIANCE = 1e-20
"""Least variance that is no rounding, for rewards in [0, 1]."""
FIRST_STEP, TRIALS = 0.02, 64
"""The first step, over the width of each coordinate, and how many are tried to see what it costs."""
LEAST_STEP, LEAST_SPREAD, MOST_RATIO = 1e-12, 1e-9, 1e6
"""Least step, which shrinks in a corner without end; least standard deviation in any direction, over
the width of the space; and the most that the largest may be of it. So C stays positive definite even
where all points of generations agree."""


def relative_noise(model: Model, region: FeasibleSet, mean: Array, rng: np.random.Generator) -> float:
    """Return the standard deviation of the noise, over what a first step from a point costs by the model."""
    low, high = region.space.bounds
    steps = FIRST_STEP * (high - low) * rng.standard_normal((TRIALS, len(mean)))
    points = region.brought(mean + steps, np.repeat(mean[None], TRIALS, axis=0))
    means, _ = model.at(model.features(np.concatenate([mean[None], points])))
    cost = float(means[0] - means[1:].mean())
    deviation = math.sqrt(model.parameters.noise)
    return deviation / cost if cost * NOISY > deviation else NOISY


class Rates(NamedTuple):
    """The weights, and the learning rates that follow from them and the dimension; table 1."""

    weights: Array
    mass: float
    path: float
    damping: float
    covariance_path: float
    one: float
    many: float
    reach: float
    """How far weights move the mean along what rewards are, if these are Gaussian."""


def rates(size: int, dim: int) -> Rates:
    """Return weights and learning rates for generations of a size, table 1 with positive weights."""
    from scipy.special import ndtri

    kept = size // 2
    weights = math.log((size + 1) / 2) - np.log(np.arange(1, kept + 1))
    weights /= weights.sum()
    mass = float(1 / (weights**2).sum())  # mu_eff
    path = (mass + 2) / (dim + mass + 5)  # c_sigma
    damping = 1 + 2 * max(0.0, math.sqrt((mass - 1) / (dim + 1)) - 1) + path  # d_sigma
    covariance_path = (4 + mass / dim) / (dim + 4 + 2 * mass / dim)  # c_c
    one = 2 / ((dim + 1.3) ** 2 + mass)  # c_1
    many = min(1 - one, 2 * (mass - 2 + 1 / mass) / ((dim + 2) ** 2 + mass))  # c_mu
    scores = ndtri(1 - (np.arange(1, kept + 1) - 0.375) / (size + 0.25))  # expected order statistics, after Blom
    return Rates(weights, mass, path, damping, covariance_path, one, many, float(weights @ scores))


@final
class Evolution:
    """An evolution strategy about a point.

    Parameters
    ----------
    region : FeasibleSet
        The feasible set.
    mean : (dim,) array
        A feasible point to begin at.
    rounds : int
        Number of rounds there will be.
    noise : float
        The noise, as `relative_noise` measures it.

    Attributes
    ----------
    mean : (dim,) array
        The mean of the next generation, a feasible point.
    generations : int
        How many generations have ended.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> region, rng = FeasibleSet(ob.spaces.Box(0.0, 1.0, dim=3)), np.random.default_rng(0)
    >>> search = Evolution(region, np.full(3, 0.5), 3_000)
    >>> for number in range(3_000):
    ...     drawn, point = search.drawn(rng)
    ...     is_end = search.add(drawn, -np.abs(point - [0.45, 0.53, 0.48]).sum() + 0.01 * rng.normal())
    >>> search.mean.round(2).tolist()
    [0.45, 0.53, 0.48]
    """

    def __init__(self, region: FeasibleSet, mean: Array, rounds: int, noise: float = NOISY) -> None:
        low, high = region.space.bounds
        dim = len(mean)
        self._region, self.mean, self.generations = region, mean.copy(), 0
        self._width, self._noise = float((high - low).max()), noise
        self.resize(rounds)
        self.step, self._covariance = FIRST_STEP, np.diag((high - low) ** 2)
        self._paths = np.zeros((2, dim))
        self._members: list[tuple[Array, float]] = []
        self._decompose()

    def resize(self, rounds: int) -> None:
        """Plan for so many rounds from here on: larger generations for more rounds."""
        usual = GENERATION * math.sqrt(max(rounds, 1) * min(1.0, self._noise / NOISY))
        self.size = max(4 + int(3 * math.log(len(self.mean))), round(usual))
        self._rates = rates(self.size, len(self.mean))

    @property
    def is_at_start(self) -> bool:
        """Whether no point of this generation was told."""
        return not self._members

    def drawn(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a new point as it was drawn, and the feasible point to measure instead."""
        drawn = self.mean + self.step * self._root @ rng.standard_normal(len(self.mean))  # eq. (5)
        return drawn, self._brought(drawn)

    def near(self, point: Array) -> Array:
        """Return a point, or a nearer one on the way to it, that might have been drawn now."""
        dim, away = len(point), point - self.mean
        length = float(np.linalg.norm(self._inverse_root @ away)) / self.step
        farthest = math.sqrt(dim) + 2 * dim / (dim + 2)
        return np.asarray(self.mean + away * min(1.0, farthest / max(length, np.finfo(float).tiny)))

    def add(self, drawn: Array, value: float) -> bool:
        """Learn the reward of a point as it was drawn; return whether it ends a generation."""
        member = self.near(drawn), value
        if len(self._members) + 1 < self.size:
            self._members.append(member)
            return False
        points, values = (np.array(part) for part in zip(*self._members, member, strict=True))
        order = np.argsort(-values, kind="stable")
        self._end_generation(points[order], values[order])
        self._members = []
        return True

    def arrays(self) -> Arrays:
        """Return the state."""
        members = [np.append(point, value) for point, value in self._members]
        return {
            "evolution": np.array([self.size, self.step, self.generations, self._noise]),
            "evolution_mean": self.mean,
            "evolution_paths": self._paths,
            "evolution_covariance": self._covariance,
            "evolution_members": np.array(members).reshape(-1, len(self.mean) + 1),
        }

    @classmethod
    def restored(cls, region: FeasibleSet, arrays: Arrays) -> "Evolution":
        """Return the evolution strategy with these `arrays`, checked."""
        dim = region.space.dim
        shapes = {"": (4,), "_mean": (dim,), "_paths": (2, dim), "_covariance": (dim, dim)}
        for name, shape in shapes.items():
            array = arrays["evolution" + name]
            if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError(f"evolution{name} of shape {array.shape} and type {array.dtype}, or no numbers")
        size, step, generations, noise = arrays["evolution"].tolist()
        mean, covariance = arrays["evolution_mean"], arrays["evolution_covariance"]
        members = arrays["evolution_members"]
        proper = size == int(size) >= 4 and step > 0 and generations == int(generations) >= 0 and noise >= 0
        if not proper or not region.space.contains(mean, tol=region.space.tolerance):
            raise ValueError("an evolution strategy that cannot be")
        good = members.shape == (len(members), dim + 1) and members.dtype == np.float64 and len(members) < size
        if not good or not np.isfinite(members).all():
            raise ValueError(f"members of a generation of shape {members.shape}")
        if not np.array_equal(covariance, covariance.T) or np.linalg.eigvalsh(covariance)[0] <= 0:
            raise ValueError("a covariance matrix that is not positive definite")
        found = cls(region, mean, 1, noise)
        found.size, found.step, found.generations = int(size), step, int(generations)
        found._rates, found._paths, found._covariance = rates(found.size, dim), arrays["evolution_paths"], covariance
        found._members = [(row[:-1], float(row[-1])) for row in members]
        found._decompose()
        return found

    def _end_generation(self, points: Array, values: Array) -> None:
        """Move the mean and adapt step and covariances, given points as drawn, the best first, and their rewards.

        What may be refused, the constraint, is asked before anything changes.
        """
        rates, dim = self._rates, len(self.mean)
        steps = (points[: len(rates.weights)] - self.mean) / self.step
        by_ranks = self._brought(self.mean + self.step * rates.weights @ steps)  # eqs. (41), (42)
        moved = (by_ranks - self.mean) / self.step
        is_skewed = self._is_skewed(points, values)
        mean = self._brought(self.mean + self._slope(points, values)) if is_skewed else by_ranks
        usual = math.sqrt(dim) * (1 - 1 / (4 * dim) + 1 / (21 * dim**2))  # E |N(0, I)|
        path, covariance_path = self._paths
        path = (1 - rates.path) * path
        path += math.sqrt(rates.path * (2 - rates.path) * rates.mass) * (self._inverse_root @ moved)  # eq. (43)
        length = float(np.linalg.norm(path))
        known = 1 - (1 - rates.path) ** (2 * (self.generations + 1))
        is_slow = length / math.sqrt(known) < (1.4 + 2 / (dim + 1)) * usual  # h_sigma
        grown = math.exp(min(1.0, rates.path / rates.damping * (length / usual - 1)))  # eq. (44)
        self.step = max(self.step * grown, LEAST_STEP)
        covariance_path = (1 - rates.covariance_path) * covariance_path
        if is_slow:
            scale = math.sqrt(rates.covariance_path * (2 - rates.covariance_path) * rates.mass)
            covariance_path = covariance_path + scale * moved  # eq. (45)
        lost = 0.0 if is_slow else rates.covariance_path * (2 - rates.covariance_path)
        self._covariance = (1 - rates.one * (1 - lost) - rates.many) * self._covariance
        self._covariance += rates.one * np.outer(covariance_path, covariance_path)
        self._covariance += rates.many * (steps.T * rates.weights) @ steps  # eq. (47)
        self.mean, self._paths = mean, np.array([path, covariance_path])
        self.generations += 1
        self._decompose()

    def _is_skewed(self, points: Array, values: Array) -> bool:
        """Return whether there is much noise, and it is skewed.

        Noise is what the steps and their squared lengths do not explain of rewards.
        """
        if self._noise < NOISY:
            return False
        steps = (points - self.mean) @ self._inverse_root / self.step
        known = np.column_stack([np.ones(len(steps)), steps, (steps**2).sum(axis=1)])
        noise = values - known @ np.linalg.lstsq(known, values)[0]
        variance = float((noise**2).mean())
        is_loud = variance > max(UNEXPLAINED * float(values.var()), LEAST_VARIANCE)
        return is_loud and bool(abs((noise**3).mean()) > SKEWED * variance**1.5)

    def _slope(self, points: Array, values: Array) -> Array:
        """Return how far the mean moves by rewards."""
        away = (values - values.mean()) / values.std()
        return np.asarray(self._rates.reach * away @ (points - self.mean) / len(points))

    def _brought(self, point: Array) -> Array:
        return np.array(self._region.brought(point[None], self.mean[None])[0])

    def _decompose(self) -> None:
        """Compute the root of C and its inverse; variances of C are no less than their least."""
        self._covariance = (self._covariance + self._covariance.T) / 2
        values, vectors = np.linalg.eigh(self._covariance)
        least = max((LEAST_SPREAD * self._width / self.step) ** 2, float(values[-1]) / MOST_RATIO**2)
        if values[0] < least / 2:  # not by rounding, so that a state that was saved has the same root
            self._covariance = (vectors * np.maximum(values, least)) @ vectors.T
            self._covariance = (self._covariance + self._covariance.T) / 2
            values, vectors = np.linalg.eigh(self._covariance)
        roots = np.sqrt(values)
        self._root, self._inverse_root = (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
