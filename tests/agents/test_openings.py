"""SequOOL and StroquOOL against their paper, play by play; their budgets, late rewards, and rewards without noise."""

import numpy as np
import pytest

import naive
import orbandit as ob
from agent_cases import play, rounds_of
from orbandit._kernels import openings as kernels
from tree_cases import PLACES, Cells, mean_in, uncompiled

A, S = ob.agents, ob.spaces
SQUARE = S.Box(0.0, 1.0, dim=2)
kinds = pytest.mark.parametrize("kind", [A.SequOOL, A.StroquOOL])


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("place", PLACES)
@kinds
def test_it_plays_the_published_algorithm(kind, place, compiled, monkeypatch):
    space, group = PLACES[place]
    if not compiled:
        uncompiled(kernels, monkeypatch)
    n = 90 if kind is A.SequOOL else 1000
    agent = kind(space, group, horizon=n, seed=3)
    cells = Cells(agent)
    twin = naive.Openings(cells.halves, 1, agent.depth, cells.tie, kind is A.StroquOOL)
    draws, mean = np.random.default_rng(4).random(n), mean_in(space)
    played, points = rounds_of(agent, mean, draws, np.arange(n))
    for t in range(n):
        cell = next(twin.plays)
        np.testing.assert_allclose(points[t], cells.point(cell), atol=1e-12)
        twin.rewards.setdefault(cell, []).append(float(draws[t] < played[t]))
    assert twin.finals  # the openings fit into the horizon
    np.testing.assert_allclose(agent.recommend(), cells.point(twin.recommend()), atol=1e-12)


def test_constants():
    assert A.SequOOL(SQUARE, horizon=2000).depth == int(1000 / sum(1 / h for h in range(1, 1001)))
    assert A.StroquOOL(SQUARE, horizon=4096).depth == int(4096 / (2 * 13**2))
    for kind in (A.SequOOL, A.StroquOOL):
        for n in (1, 2, 5, 10**18):
            agent = kind(SQUARE, horizon=n, seed=0)
            assert agent.depth >= 1
            agent.tell(agent.ask(), 0.5)


@kinds
@pytest.mark.parametrize("n", [50, 100, 1000, 5000])
def test_openings_fit_into_the_horizon(kind, n):
    agent = kind(SQUARE, horizon=n, seed=0)
    rounds_of(agent, mean_in(SQUARE), np.random.default_rng(0).random(n))
    agent.ask()
    assert len(agent._openings.finalists) > 0


def test_without_noise_it_finds_the_peak():
    agent = A.SequOOL(SQUARE, ob.groups.Symmetric(2), horizon=400, seed=0)
    for _ in range(400):
        point = agent.ask()
        agent.tell(point, 1 - 0.5 * float(agent.group.distance(point, [0.2, 0.7])))
    assert agent.group.distance(agent.recommend(), [0.2, 0.7]) < 1e-4


@kinds
def test_late_rewards_lead_to_the_same_openings(kind):
    """Beside pending asks it guesses; once all is told, what it lacked is played, and the same cells are opened."""

    def told(delay):
        agent = kind(SQUARE, horizon=1000, seed=0)
        waiting = []
        while not len(agent._openings.finalists):
            waiting.append(agent.ask())
            if len(waiting) > delay:
                point = waiting.pop(0)
                agent.tell(point, 0.9 - 0.8 * float(np.linalg.norm(point - 0.3)))
        return agent

    prompt, late = told(0), told(7)
    assert late.rounds >= prompt.rounds
    np.testing.assert_array_equal(prompt.recommend(), late.recommend())


@kinds
def test_an_epoch_goes_on_with_the_tree(kind):
    agent = kind(SQUARE, seed=0)
    shallow = agent.depth
    play(agent, 600, 0)
    assert agent.depth > shallow
    assert agent._stats[:, 1].sum() == 600


def test_simple_regret_falls():
    cone = ob.problems.Cone(SQUARE, ob.groups.Symmetric(2), peak=[0.15, 0.7])
    short, long = (ob.simulate(A.StroquOOL, cone, n, seeds=4).simple_regret[:, -1].mean() for n in (300, 100_000))
    assert long < 0.06 < short
