"""What is chosen from: problems with a known mean, noise and optimum, to judge agents on."""

from orbandit.problems.base import Problem
from orbandit.problems.check import ProblemReport, check
from orbandit.problems.cone import Cone
from orbandit.problems.function import Function
from orbandit.problems.landscapes import Ackley, Griewank, Rastrigin
from orbandit.problems.lower_bound import LowerBoundFamily
from orbandit.problems.matrix_factorization import MatrixFactorization, RatingFactorization
from orbandit.problems.noise import Bernoulli, Beta, ClippedGaussian, Noise, Uniform
from orbandit.problems.ratings import Ratings, load_ratings

__all__ = [
    "Ackley",
    "Bernoulli",
    "Beta",
    "ClippedGaussian",
    "Cone",
    "Function",
    "Griewank",
    "LowerBoundFamily",
    "MatrixFactorization",
    "Noise",
    "Problem",
    "ProblemReport",
    "Rastrigin",
    "RatingFactorization",
    "Ratings",
    "Uniform",
    "check",
    "load_ratings",
]
