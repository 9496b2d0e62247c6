"""HCT and VHCT against their papers, with all bounds computed anew in every round; their parameters and cuts."""

import math

import numpy as np
import pytest

import naive
import orbandit as ob
from agent_cases import rounds_of
from orbandit._kernels import hct as kernels
from orbandit._kernels.hct import CUT
from tree_cases import PLACES, Cells, mean_in, uncompiled

A, S = ob.agents, ob.spaces
SQUARE = S.Box(0.0, 1.0, dim=2)
kinds = pytest.mark.parametrize("kind", [A.HCT, A.VHCT])


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("place", PLACES)
@kinds
def test_it_plays_the_published_algorithm(kind, place, compiled, monkeypatch):
    space, group = PLACES[place]
    n = 70 if compiled else 40
    if not compiled:
        uncompiled(kernels, monkeypatch)
    agent = kind(space, group, horizon=n, c=0.1, seed=3)
    cells = Cells(agent)
    twin = naive.HCT(cells.halves, agent.nu, agent.rho, 0.1, 1 / n, cells.tie, kind is A.VHCT)
    draws, mean = np.random.default_rng(4).random(n), mean_in(space)
    played, points = rounds_of(agent, mean, draws, np.arange(n))
    for t in range(n):
        cell, depth = twin.ask(1)
        np.testing.assert_allclose(points[t], cells.point(cell), atol=1e-12)
        twin.tell(cell, depth, float(draws[t] < played[t]))
    assert (agent._stats[:, CUT] != 0).sum() == len(twin.cut) > 5


@pytest.mark.parametrize("place", PLACES)
@kinds
def test_pending_asks_count_as_plays(kind, place):
    """Answers come late and in any order; asks lead below leaves meanwhile."""
    space, group = PLACES[place]
    n = 80
    agent = kind(space, group, horizon=n, nu=1.0, rho=0.5, c=0.1, delta=0.01, seed=3)
    cells, mean, rng = Cells(agent), mean_in(space), np.random.default_rng(4)
    twin = naive.HCT(cells.halves, 1.0, 0.5, 0.1, 0.01, cells.tie, kind is A.VHCT)
    waiting = []
    for _ in range(n):
        while len(waiting) < 6:
            point, (cell, depth) = agent.ask(), twin.ask(1)
            np.testing.assert_allclose(point, cells.point(cell), atol=1e-12)
            twin.expect(cell, 1)
            waiting.append((point, cell, depth))
        point, cell, depth = waiting.pop(int(rng.integers(len(waiting))))
        reward = float(rng.random() < mean(point[None])[0])
        agent.tell(point, reward)
        twin.expect(cell, -1)
        twin.tell(cell, depth, reward)
    assert len(twin.cut) > 5


@kinds
def test_the_constants_are_those_of_the_paper(kind):
    agent = kind(SQUARE, horizon=1000, lipschitz=3.0, reward_range=(0.0, 2.0))
    assert agent.nu == pytest.approx(A.HOO(SQUARE, horizon=1000, lipschitz=3.0).nu)
    assert (agent.rho, agent.c) == pytest.approx((0.5**0.5, 2 / math.sqrt(1 - 0.5**0.5)))
    assert agent.delta == 0.001
    given = kind(SQUARE, nu=4.0, rho=0.5, c=0.3, delta=0.2, reward_range=(0, 2))
    assert (given.nu, given.rho, given.c, given.delta) == (4.0, 0.5, 0.3, 0.2)


@kinds
def test_a_cell_is_enough_known_when_its_radius_is_its_width(kind):
    stats, depths = np.array([[0.0, 0, 0, 0, 0], [9.0, 12, 0, 8, 1]]), np.array([0, 3])
    widths, by_variance = 0.7 ** np.arange(5.0), kind is A.VHCT
    needed = kernels.enough(1, stats, depths, widths, 2.5, by_variance)
    assert kernels.radius(1, needed, stats, 2.5, by_variance) == pytest.approx(0.7**3)
    assert kernels.enough(1, stats, depths, widths, 0.0, by_variance) == 0.0


@kinds
def test_rewards_cut_cells_and_pending_asks_do_not(kind):
    agent = kind(SQUARE, horizon=100, c=0.1, seed=0)
    assert len(np.unique(agent.ask_batch(60), axis=0)) > 10  # which lead down, too
    assert agent.n_arms == 3
    point = agent.arms.point(1)
    for _ in range(60):
        agent.tell(point, 0.5)
    assert agent._stats[1, CUT] == 1
    assert agent.n_arms > 3


@kinds
def test_an_epoch_keeps_the_tree_and_lowers_delta(kind):
    agent = kind(SQUARE, c=0.1, seed=0)
    assert agent.delta == 1 / 64
    rounds_of(agent, mean_in(SQUARE), np.random.default_rng(0).random(500))
    assert agent.delta == 1 / 512
    assert agent._stats[:, 1].sum() == 500


def test_variances_save_rewards_where_rewards_vary_little():
    """With equal rewards there is no variance, and the radius falls as 1 / T."""
    by_variance, plain = (kind(SQUARE, horizon=1000, nu=0.2, c=0.3, seed=0) for kind in (A.VHCT, A.HCT))
    for agent in (by_variance, plain):
        for _ in range(1000):
            agent.tell(agent.ask(), 0.5)
    assert by_variance.n_arms > 1.2 * plain.n_arms
