"""What is chosen from: problems with a known mean, noise and optimum, to judge agents on."""

from orbandit.problems.base import Problem
from orbandit.problems.check import ProblemReport, check
from orbandit.problems.cone import Cone
from orbandit.problems.function import Function
from orbandit.problems.noise import Bernoulli, Beta, ClippedGaussian, Noise, Uniform

__all__ = [
    "Bernoulli",
    "Beta",
    "ClippedGaussian",
    "Cone",
    "Function",
    "Noise",
    "Problem",
    "ProblemReport",
    "Uniform",
    "check",
]
