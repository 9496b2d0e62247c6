"""Every agent plays every problem: regret that can be, the same for the same seed, and less than by random play."""

from functools import lru_cache

import numpy as np
import pytest

import orbandit as ob
from cases import G, S

A, P = ob.agents, ob.problems
B = P.Bernoulli()
SQUARE, SWAP = S.Box(0, 1, dim=2), G.Symmetric(2)
RATINGS = P.Ratings(np.arange(40) % 8, np.arange(40) // 8, 1 + np.arange(40) % 8 // 2)
PROBLEMS = {
    "Cone": lambda: P.Cone(SQUARE, SWAP, [0.9, 0.3]),
    "Ackley": lambda: P.Ackley(SQUARE, SWAP, [0.9, 0.3]),
    "Rastrigin": lambda: P.Rastrigin(S.Ball(2), G.Dihedral(5)),
    "Griewank": lambda: P.Griewank(S.Box(-1, 1, dim=2), G.SignedPermutation(2)),
    "LowerBoundFamily": lambda: P.LowerBoundFamily(S.Ball(2), G.Dihedral(5), 0.6).instance(0),
    "GaussianProcess": lambda: P.GaussianProcess(SWAP, seed=2),
    "MatrixFactorization": lambda: P.MatrixFactorization(1, 1, 2),
    "RatingFactorization": lambda: P.RatingFactorization(RATINGS, users=2, items=1, factors=1),
    "DictionaryLearning": lambda: P.DictionaryLearning(
        np.random.default_rng(0).standard_normal((50, 2)) * [3, 1], atoms=1, noise=B
    ),
    "IdenticalMachines": lambda: P.IdenticalMachines(2, noise=B),
    "WindFarm": lambda: P.WindFarm(2, noise=P.Beta(100.0)),
}
AGENTS = (A.UniformMesh, A.UniformMeshN, A.SideObservationElimination, A.Zooming, A.HOO, A.OrbitTree)
# too flat for 700 rounds of 0 and 1
FLAT = ("LowerBoundFamily", "GaussianProcess", "IdenticalMachines")
TREES = (A.HOO, A.OrbitTree)


@lru_cache
def problem_of(name):
    return PROBLEMS[name]()


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_agent_plays_it(name):
    problem = problem_of(name)
    assert problem.feasible is None  # all points are allowed
    # a fine mesh of four dimensions takes a minute
    for agent in TREES if name == "WindFarm" else AGENTS:
        runs = ob.simulate(agent, problem, 150, seeds=2)
        assert np.isfinite(runs.regret).all()
        assert (np.diff(runs.regret, axis=1) >= -1e-9).all()
        assert runs.regret.max() <= 150
        np.testing.assert_array_equal(runs.regret[1:], ob.simulate(agent, problem, 150, seeds=[1]).regret)


OWN = {
    "queues": lambda: P.IdenticalMachines(3),
    "winds": lambda: P.WindFarm(2, directions=4),
    "ratings": lambda: P.RatingFactorization(RATINGS, users=2, items=1, factors=1),
    "patches": lambda: P.DictionaryLearning(np.random.default_rng(0).standard_normal((50, 2)) * [3, 1], atoms=1),
}


@pytest.mark.parametrize("name", OWN)
def test_feedback_of_a_problem_s_own_is_learnt_from(name):
    problem = OWN[name]()
    assert problem.noise is None
    for agent in TREES:
        runs = ob.simulate(agent, problem, 200, seeds=1)
        np.testing.assert_array_equal(runs.regret, ob.simulate(agent, problem, 200, seeds=1).regret)
        assert 0 <= runs.regret.max() <= 200


@pytest.mark.parametrize("name", PROBLEMS)
def test_orbit_tree_beats_random_play(name):
    problem = problem_of(name)
    n = 30_000 if name in FLAT else 700
    uniform = n * (problem.optimum - problem.mean(problem.space.sample(2000, 0)).mean())
    regret = ob.simulate(A.OrbitTree, problem, n, seeds=3).regret[:, -1]
    assert regret.mean() < 0.9 * uniform
