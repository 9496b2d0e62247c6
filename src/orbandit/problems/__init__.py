"""What is chosen from: problems with a known mean, noise and optimum, to judge agents on."""

from orbandit.problems.base import Problem
from orbandit.problems.check import ProblemReport, check
from orbandit.problems.cone import Cone
from orbandit.problems.function import Function
from orbandit.problems.landscapes import Ackley, Griewank, Rastrigin
from orbandit.problems.lower_bound import LowerBoundFamily
from orbandit.problems.noise import Bernoulli, Beta, ClippedGaussian, Noise, Uniform

__all__ = [
    "Ackley",
    "Bernoulli",
    "Beta",
    "ClippedGaussian",
    "Cone",
    "Function",
    "Griewank",
    "LowerBoundFamily",
    "Noise",
    "Problem",
    "ProblemReport",
    "Rastrigin",
    "Uniform",
    "check",
]
