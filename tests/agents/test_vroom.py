"""VROOM against its paper, play by play; its draws, weights, ranks, late rewards and epochs."""

import copy

import numpy as np
import pytest

import naive
import orbandit as ob
from agent_cases import play, rounds_of, state
from orbandit._kernels import vroom as kernels
from orbandit._kernels.cells import COUNT
from orbandit._kernels.vroom import WEIGHED
from tree_cases import PLACES, Cells, mean_in, uncompiled

A, S = ob.agents, ob.spaces
INTERVAL, SQUARE = S.Box(0.0, 1.0, dim=1), S.Box(0.0, 1.0, dim=2)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("place", PLACES)
def test_it_plays_the_published_algorithm(place, compiled, monkeypatch):
    space, group = PLACES[place]
    n = 150 if compiled else 40
    if not compiled:
        uncompiled(kernels, monkeypatch)
    agent = A.VROOM(space, group, horizon=n, seed=3)
    cells = Cells(agent)
    twin = naive.VROOM(cells.halves, 1, n, cells.tie)
    picks, turns = agent._draws(n)
    draws, mean = np.random.default_rng(4).random(n), mean_in(space)
    played, points = rounds_of(agent, mean, draws, np.arange(n))
    for t in range(n):
        cell = twin.ask(picks[t], int(turns[t]))
        np.testing.assert_allclose(points[t], cells.point(cell), atol=1e-12)
        twin.tell(float(draws[t] < played[t]))
    codes = agent.arms.cells.codes.tolist()
    np.testing.assert_allclose(agent._stats[:, WEIGHED], [twin.weighed[code] for code in codes])
    variances = agent._total * agent.arms.cells.depths * agent._rank_sums()
    np.testing.assert_allclose(variances[1:], [twin.variances[code] for code in codes[1:]])
    assert [codes[cell] for cell in agent._order] == [cell for level in twin.levels for cell in level]
    np.testing.assert_allclose(agent.recommend(), cells.point(twin.recommend()), atol=1e-12)


def test_cells_are_drawn_by_depth_and_rank():
    agent = A.VROOM(INTERVAL, horizon=20, seed=0)
    play(agent, 20, 0)
    tree, size, drawn = agent.arms.cells, 20_000, {}
    fixed = (tree.children, agent._order, agent._first, agent._harmonics, agent._total)
    for pick in (np.arange(size) + 0.5) / size:
        leaf, depth = kernels.draw(pick, 0, *fixed)
        while tree.depths[leaf] > depth:
            leaf = tree.parents[leaf]
        drawn[int(leaf)] = drawn.get(int(leaf), 0) + 1
    for cell in range(1, len(tree)):
        depth = tree.depths[cell]
        rank = agent._places[cell] - agent._first[depth] + 1
        assert drawn[cell] / size == pytest.approx(1 / (depth * rank * agent._total), abs=2 / size)


def test_the_weighed_sum_is_unbiased():
    """Over all draws of a round, reward / chance has for each cell the mean of the rewards in it."""
    agent = A.VROOM(INTERVAL, horizon=20, seed=0)
    play(agent, 20, 0)
    tree = agent.arms.cells
    values = np.random.default_rng(0).random(len(tree))
    leaves, before = np.flatnonzero(tree.depths == agent.depth), agent._stats[:, WEIGHED].copy()
    grown, exact = np.zeros(len(tree)), np.where(tree.depths == agent.depth, values, 0.0)
    for cell in range(len(tree) - 1, 0, -1):
        exact[tree.parents[cell]] += exact[cell] / 2
        depth = int(tree.depths[cell])
        p = 1 / (depth * (agent._places[cell] - agent._first[depth] + 1) * agent._total)
        for leaf in leaves[tree.codes[leaves] >> np.uint64(agent.depth - depth) == tree.codes[cell]]:
            other = copy.deepcopy(agent)
            other._observe(other.arms.name(int(leaf), depth), None, values[leaf], 0.0)
            grown += p / 2 ** (agent.depth - depth) * (other._stats[:, WEIGHED] - before)
    np.testing.assert_allclose(grown[1:], exact[1:])


@pytest.mark.parametrize("n", [1, 2, 3, 10, 10**18])
def test_depths(n):
    agent = A.VROOM(INTERVAL, horizon=n, seed=0)
    assert agent.depth == min(16, max(1, int(np.log2(n))))
    agent.tell(agent.ask(), 0.5)
    assert 0 <= agent.recommend()[0] <= 1


def test_what_was_not_asked_for_counts_in_means_alone():
    agent = A.VROOM(SQUARE, ob.groups.Symmetric(2), horizon=200, seed=0)
    agent.tell_batch(SQUARE.sample(50, 0), np.linspace(0, 1, 50))
    assert agent._stats[:, WEIGHED].sum() == 0
    assert (agent._stats[1:3, COUNT].sum(), agent._clock) == (50, 0)
    lows = [kernels.lower_bound(cell, agent._stats, agent._width) for cell in (1, 2)]
    np.testing.assert_array_equal(agent.recommend(), agent.arms.point(1 + int(np.argmax(lows))))
    play(agent, 100, 0)
    assert agent._clock == 100


def test_late_rewards_are_for_the_cells_that_were_drawn():
    prompt, late = (A.VROOM(SQUARE, horizon=200, seed=0) for _ in range(2))
    asked = late.ask_batch(30)
    np.testing.assert_array_equal(asked[0], prompt.ask())
    for point in asked[::-1]:
        late.tell(point, 0.5)
    counts = late._stats[:, COUNT]
    assert counts[late.arms.cells.depths == late.depth].sum() == 30
    assert counts[1:3].sum() < 30  # depth 1 is drawn now and then
    assert state(late)[4] == 30


def test_an_epoch_makes_the_tree_deeper():
    agent = A.VROOM(SQUARE, seed=0)
    assert agent.depth == 6
    rounds_of(agent, mean_in(SQUARE), np.random.default_rng(0).random(300))
    assert agent.depth == 9
    assert agent._clock == 300
    ranks = agent._rank_sums()
    assert ranks[1:3].sum() == 3 * 300  # two cells share ranks 1 and 2
    assert (ranks[-1], agent._stats[-1, COUNT]) > (0, 0)


def test_simple_regret_falls():
    cone = ob.problems.Cone(INTERVAL, ob.groups.Trivial(1), peak=[0.37])
    short, long = (ob.simulate(A.VROOM, cone, n, seeds=4).simple_regret[:, -1].mean() for n in (100, 20_000))
    assert long < 0.06 < short
