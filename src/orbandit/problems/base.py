"""The protocol of a problem: a mean reward on a space, invariant under a group, whose best point is known."""

from abc import ABC, abstractmethod

import numpy.typing as npt

from orbandit._checks import Array, RandomLike, as_generator, as_points
from orbandit.errors import InputError
from orbandit.groups import Group
from orbandit.problems.noise import Bernoulli, Noise
from orbandit.spaces import Space


class Problem(ABC):
    """Noisy rewards at the points of a space.

    A subclass says where points live, what leaves rewards alone, the mean at a batch of points, and where it is
    largest.
    """

    def __init__(self, space: Space, group: Group | None, lipschitz: float, noise: Noise | None = None) -> None:
        self._space, self._group, self._lipschitz = space, group, lipschitz
        self._noise = noise or Bernoulli()

    @property
    def space(self) -> Space:
        """Where points live."""
        return self._space

    @property
    def group(self) -> Group | None:
        """What leaves the mean alone; None for no symmetry."""
        return self._group

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant of the mean, in the orbit metric."""
        return self._lipschitz

    @property
    def noise(self) -> Noise:
        """How rewards are drawn around the mean."""
        return self._noise

    @property
    @abstractmethod
    def optimizer(self) -> Array:
        """A point with the largest mean, (dim,)."""

    @property
    def optimum(self) -> float:
        """The largest mean."""
        return float(self.mean(self.optimizer))

    def mean(self, points: npt.ArrayLike) -> Array:
        """Return the mean reward of each point."""
        batch, single = as_points(points, self._space.dim)
        means = self._mean(batch)
        if means.shape != (len(batch),):
            raise InputError(f"`_mean` of {type(self).__name__} must return {len(batch)} means, but got {means!r}.")
        return means[0] if single else means

    def sample(self, points: npt.ArrayLike, rng: RandomLike) -> Array:
        """Draw one reward for each point."""
        batch, single = as_points(points, self._space.dim)
        rewards = self._noise.sample(self._mean(batch), as_generator(rng))
        return rewards[0] if single else rewards

    @abstractmethod
    def _mean(self, points: Array) -> Array:
        """Return the means of a batch (m, dim)."""
