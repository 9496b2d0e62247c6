"""StoSOO against its paper, by loops over all leaves; its constants, pending asks, and when no leaf is left."""

import math

import numpy as np
import pytest

import naive
import orbandit as ob
from agent_cases import rounds_of
from orbandit._kernels import stosoo as kernels
from orbandit._kernels.stosoo import CUT
from tree_cases import PLACES, Cells, mean_in, uncompiled

A, S = ob.agents, ob.spaces
SQUARE = S.Box(0.0, 1.0, dim=2)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("place", PLACES)
def test_it_plays_the_published_algorithm(place, compiled, monkeypatch):
    space, group = PLACES[place]
    n = 300 if compiled else 100
    if not compiled:
        uncompiled(kernels, monkeypatch)
    agent = A.StoSOO(space, group, horizon=n, seed=3)
    cells = Cells(agent)
    twin = naive.StoSOO(cells.halves, 1, n, cells.tie)
    assert (agent.k, agent.depth) == (twin.k, twin.limit)
    draws, mean = np.random.default_rng(4).random(n), mean_in(space)
    played, points = rounds_of(agent, mean, draws, np.arange(n))
    for t in range(n):
        cell = next(twin.plays)
        np.testing.assert_allclose(points[t], cells.point(cell), atol=1e-12)
        twin.rewards.setdefault(cell, []).append(float(draws[t] < played[t]))
    assert (agent._stats[:, CUT] != 0).sum() == len(twin.cut) > 5
    np.testing.assert_allclose(agent.recommend(), cells.point(twin.recommend()), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 10**4, 10**6, 10**18])
def test_constants(n):
    agent = A.StoSOO(SQUARE, horizon=n, seed=0)
    assert agent.k >= 1
    assert 1 <= agent.depth <= 61
    assert agent.k == max(1, math.ceil(max(n, 2) / math.log(max(n, 2)) ** 3))
    agent.tell(agent.ask(), 0.5)


def test_a_batch_goes_on_through_the_depths_and_then_down():
    agent = A.StoSOO(SQUARE, horizon=1000, seed=0)
    rounds_of(agent, mean_in(SQUARE), np.random.default_rng(0).random(200))
    assert len(np.unique(agent.ask_batch(6), axis=0)) == 6
    fresh = A.StoSOO(SQUARE, horizon=1000, seed=0)
    assert len(np.unique(fresh.ask_batch(13), axis=0)) > 3  # the root, its halves, and theirs
    assert fresh.n_arms == 1


def test_when_no_leaf_is_left_it_plays_what_it_recommends():
    agent = A.StoSOO(S.Box(0.0, 1.0, dim=1), horizon=4, seed=0)
    assert agent.depth == 1
    for _ in range(40):
        agent.tell(agent.ask(), 0.5)
    np.testing.assert_array_equal(agent.ask(), agent.recommend())
    assert agent.arms.cells.depths[agent._stats[:, 1] > 0].max() == 1


def test_an_epoch_keeps_the_tree_and_cuts_deeper():
    agent = A.StoSOO(SQUARE, seed=0)
    shallow = agent.depth
    rounds_of(agent, mean_in(SQUARE), np.random.default_rng(0).random(3000))
    assert agent.depth > shallow
    assert agent._stats[:, 1].sum() == 3000


def test_simple_regret_falls():
    cone = ob.problems.Cone(SQUARE, ob.groups.Symmetric(2), peak=[0.15, 0.7])
    short, long = (ob.simulate(A.StoSOO, cone, n, seeds=4).simple_regret[:, -1].mean() for n in (300, 30_000))
    assert long < 0.06 < short
