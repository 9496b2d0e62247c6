"""Test problems with a known mean, noise and optimum."""

from orbandit.problems.base import Problem
from orbandit.problems.check import ProblemReport, check
from orbandit.problems.cone import Cone
from orbandit.problems.dictionary_learning import DictionaryLearning, image_patches, patch_basis
from orbandit.problems.function import Function
from orbandit.problems.gaussian_process import GaussianProcess
from orbandit.problems.identical_machines import IdenticalMachines
from orbandit.problems.landscapes import Ackley, Griewank, Rastrigin
from orbandit.problems.lower_bound import LowerBoundFamily
from orbandit.problems.matrix_factorization import MatrixFactorization, RatingFactorization
from orbandit.problems.noise import Bernoulli, Beta, ClippedGaussian, Noise, Uniform
from orbandit.problems.ratings import Ratings, load_ratings
from orbandit.problems.wind_farm import WindFarm

__all__ = [
    "Ackley",
    "Bernoulli",
    "Beta",
    "ClippedGaussian",
    "Cone",
    "DictionaryLearning",
    "Function",
    "GaussianProcess",
    "Griewank",
    "IdenticalMachines",
    "LowerBoundFamily",
    "MatrixFactorization",
    "Noise",
    "Problem",
    "ProblemReport",
    "Rastrigin",
    "RatingFactorization",
    "Ratings",
    "Uniform",
    "WindFarm",
    "check",
    "image_patches",
    "load_ratings",
    "patch_basis",
]
