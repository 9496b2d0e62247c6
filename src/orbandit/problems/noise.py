"""Noise: how a reward is drawn around its mean."""

from abc import ABC, abstractmethod
from typing import final

import numpy as np

from orbandit._checks import Array


class Noise(ABC):
    """Draws rewards with given means."""

    @property
    @abstractmethod
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest reward that can be drawn."""

    @abstractmethod
    def sample(self, means: Array, rng: np.random.Generator) -> Array:
        """Draw one reward for each mean."""


@final
class Bernoulli(Noise):
    """Rewards 0 and 1, with the mean as the probability of 1."""

    def __repr__(self) -> str:
        return "Bernoulli()"

    @property
    def reward_range(self) -> tuple[float, float]:
        """Zero and one."""
        return 0.0, 1.0

    def sample(self, means: Array, rng: np.random.Generator) -> Array:
        """Draw one number in [0, 1) for each mean; the reward is 1 if it is below the mean."""
        return np.asarray(rng.random(means.shape) < means, dtype=np.float64)
