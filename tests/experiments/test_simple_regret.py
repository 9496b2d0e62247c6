"""Simple regret: that of the point recommended at each checkpoint, which changes no play, by any kind of agent."""

import math
import pickle
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import orbandit as ob
from orbandit.agents import Agent
from orbandit.errors import InputError, InputTypeError
from orbandit.experiments.simulation import CHUNK

A = ob.agents
SPACE, GROUP = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
CONE = ob.problems.Cone(SPACE, GROUP, peak=[0.9, 0.3])
NOISY = ob.problems.Ackley(SPACE, GROUP, [0.9, 0.3], noise=ob.problems.Beta(20.0))
KINDS = (A.UniformMesh, A.UniformMeshN, A.SideObservationElimination, A.Zooming, A.HOO, A.HCT, A.OrbitTree, A.OrbitGP)


def by_hand(kind, problem, horizon, seed, checkpoints):
    """Ask and tell with the streams of a run; recommend from a copy, so that nothing can be changed by it."""
    own, noise = np.random.SeedSequence(seed).spawn(2)
    agent = kind(SPACE, GROUP, horizon=horizon, lipschitz=problem.lipschitz, seed=own)
    rng, gaps, points = np.random.default_rng(noise), [], []
    for done in range(1, horizon + 1):
        points.append(agent.ask())
        agent.tell(points[-1], float(problem.sample(points[-1], rng)))
        if done in checkpoints:
            gaps.append(problem.optimum - problem.mean(pickle.loads(pickle.dumps(agent)).recommend()))
    return np.array(gaps), np.array(points)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("problem", "chunk"), [(CONE, 97), (CONE, CHUNK), (NOISY, 97)], ids=["compiled", "compiled at once", "asked"]
)
def test_it_is_that_of_recommended_points_and_changes_no_play(kind, problem, chunk, monkeypatch):
    monkeypatch.setattr(import_module("orbandit.experiments.simulation"), "CHUNK", chunk)
    horizon = 30 if kind is A.OrbitGP else 200
    runs = ob.simulate(kind, problem, horizon, seeds=[7], checkpoints=5, n_plays=horizon)
    gaps, points = by_hand(kind, problem, horizon, 7, runs.checkpoints)
    assert runs.simple_regret.shape == runs.regret.shape
    np.testing.assert_allclose(runs.simple_regret[0], gaps, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(runs.plays[0], points)
    assert (runs.simple_regret > -1e-9).all()


@pytest.mark.parametrize("kind", KINDS)
def test_plays_are_the_same_wherever_it_is_read(kind):
    horizon = 30 if kind is A.OrbitGP else 300
    for problem in (CONE, NOISY):
        often = ob.simulate(kind, problem, horizon, seeds=2, n_plays=50, checkpoints=range(1, horizon + 1, 7))
        once = ob.simulate(kind, problem, horizon, seeds=2, n_plays=50, checkpoints=[horizon])
        np.testing.assert_array_equal(often.plays, once.plays)
        np.testing.assert_array_equal(often.regret[:, -1], once.regret[:, -1])
        np.testing.assert_array_equal(often.simple_regret[:, -1], once.simple_regret[:, -1])


def test_it_falls():
    runs = ob.simulate(A.OrbitTree, CONE, 20_000, seeds=5)
    assert runs.simple_regret[:, -1].mean() < 0.1 * runs.simple_regret[:, 0].mean()


class AtRandom:
    """An agent from elsewhere that recommends nothing."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def ask(self):
        return self.rng.random(2)

    def tell(self, point, reward):
        pass


class Recommending(AtRandom):
    """One that recommends what it is made with."""

    def __init__(self, seed, point):
        super().__init__(seed)
        self.recommend = lambda: point


def made(kind, *given):
    return lambda space, group, *, seed, **told: kind(seed, *given)


def test_agents_from_elsewhere_may_recommend_or_not():
    assert ob.simulate(made(AtRandom), CONE, 20, seeds=2).simple_regret is None
    runs = ob.simulate(made(Recommending, [0.9, 0.4]), CONE, 20, seeds=2)
    np.testing.assert_allclose(runs.simple_regret, 0.1)
    for wrong, error in (
        ([0.9, 1.4], InputError),
        ([0.9], InputError),
        (None, InputTypeError),
        ([0, math.nan], InputError),
    ):
        with pytest.raises(error, match=r"Recommending.* recommended .* after round 1\b"):
            ob.simulate(made(Recommending, wrong), CONE, 20, seeds=1)


def test_agents_of_arms_recommend_arms():
    class Machines:
        optimum, means = 0.8, np.array([0.2, 0.8, 0.5])

        def mean(self, arms):
            return self.means[arms]

        def sample(self, arm, rng):
            return float(rng.random() < self.means[arm])

    def make(space, group, *, horizon, seed, **told):
        return A.UCB1(3, horizon=horizon, seed=seed)

    runs = ob.simulate(make, Machines(), 2000, seeds=3)
    np.testing.assert_allclose(runs.simple_regret[:, -1], 0.0, atol=1e-12)
    assert np.isin(runs.simple_regret.round(9), [0.0, 0.3, 0.6]).all()


def test_time_of_recommending_is_no_time_of_rounds(monkeypatch):
    """The clock is a counter of the simulation's own: no real one is read, and nobody else's is changed."""
    clock = iter(range(10**6))
    module = import_module("orbandit.experiments.simulation")
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
    monkeypatch.setattr(Agent, "recommend", lambda self: [next(clock) for _ in range(1000)] and np.array([0.5, 0.5]))
    runs = ob.simulate(A.UniformMesh, CONE, 100, seeds=1, checkpoints=[10, 50])
    assert runs.seconds_per_round == 3 / 100  # one tick for each of three parts


def test_runs_pickled_before_have_none():
    runs = ob.simulate(A.UniformMesh, CONE, 10, seeds=1)
    assert runs.simple_regret is not None
    state = {name: value for name, value in vars(runs).items() if name != "simple_regret"}
    old = object.__new__(type(runs))
    vars(old).update(state)
    assert pickle.loads(pickle.dumps(old)).simple_regret is None
