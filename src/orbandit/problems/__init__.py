"""What is chosen from: problems with a known mean, noise and optimum, to judge agents on."""

from orbandit.problems.base import Problem
from orbandit.problems.cone import Cone
from orbandit.problems.noise import Bernoulli, Noise

__all__ = ["Bernoulli", "Cone", "Noise", "Problem"]
