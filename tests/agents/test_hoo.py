"""HOO against its paper, with all B-values computed anew in every round; its depth and its parameters."""

import math

import numpy as np
import pytest

import naive
import orbandit as ob
from agent_cases import rounds_of
from orbandit._kernels import hoo as kernels
from orbandit.agents.hoo import preferences
from orbandit.meshes.cells import CellTree

A, G, S = ob.agents, ob.groups, ob.spaces
SQUARE, CUBE = S.Box(0.0, 1.0, dim=2), S.Box(0.0, 1.0, dim=3)

PLACES = {
    "interval": (S.Box(0.0, 1.0, dim=1), None),
    "square": (SQUARE, None),
    "square S2": (SQUARE, G.Symmetric(2)),
    "cube S3": (CUBE, G.Symmetric(3)),
    "disk D5": (S.Ball(2), G.Dihedral(5)),
    "simplex": (S.Simplex(3), G.Symmetric(3)),
    "product": (S.Product(S.Ball(2), S.Simplex(2)), None),
    "factors": (S.Ball(4), G.Orthogonal(2, 2)),
}


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("place", PLACES)
def test_it_plays_the_published_algorithm(place, compiled, monkeypatch):
    space, group = PLACES[place]
    n = 100 if compiled else 50
    for name in ("follow", "bound", "add", "mend_all", "play_hoo"):
        if not compiled:
            monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    agent = A.HOO(space, group, horizon=n, seed=3)
    tree = CellTree(space, group)  # the twin's own, grown cell by cell
    names = {1: 0}  # code -> cell

    def halves(code):
        cell = names[code]
        tree.grow(np.array([cell]), 99)
        found = [int(half) for half in tree.children[cell] if half >= 0]
        names.update({int(tree.codes[half]): half for half in found})
        return [int(tree.codes[half]) for half in found]

    def prefer(code):
        return int(preferences(np.array([code], dtype=np.uint64), agent._salt)[0])

    twin = naive.HOO(halves, agent.nu, agent.rho, n, prefer)
    assert twin.limit == agent.depth
    draws = np.random.default_rng(4).random(n)

    def mean(points):
        return 0.1 + 0.8 / (1 + ((points - space.project(np.full(space.dim, 0.3))) ** 2).sum(axis=1))

    played, points = rounds_of(agent, mean, draws, np.arange(n))
    for t in range(n):
        cell = names[twin.ask(1)]
        expected = tree.points(np.array([cell]))
        np.testing.assert_allclose(points[t], expected[0], atol=1e-12)
        assert played[t] == pytest.approx(mean(expected)[0], abs=1e-12)
        twin.tell(float(draws[t] < played[t]))


def test_nu_and_rho_follow_from_the_cells():
    for space, group in PLACES.values():
        agent = A.HOO(space, group, horizon=1000, lipschitz=3.0, reward_range=(0.0, 2.0))
        for depth in range(30):
            assert 3.0 * agent.arms.cells.diameter(depth) <= agent.nu * agent.rho**depth * (1 + 1e-9)
        assert agent.nu / 2 * agent.rho**agent.depth <= 1000**-0.5 * (1 + 1e-9)
        assert agent.nu / 2 * agent.rho ** (agent.depth - 1) > 1000**-0.5
    given = A.HOO(SQUARE, horizon=1000, nu=4.0, rho=0.5, reward_range=(0, 2))
    assert (given.nu, given.rho) == (4.0, 0.5)
    assert given.depth == math.ceil(math.log(2.0 * 1000**0.5) / math.log(2))


def test_cells_at_the_limit_are_not_cut():
    agent = A.HOO(SQUARE, horizon=100, nu=0.5, rho=0.5, seed=0)
    rounds_of(agent, lambda points: np.full(len(points), 0.5), np.random.default_rng(0).random(3000))
    assert agent.depth == 3
    assert agent.arms.cells.depths.max() == 3
    assert agent._stats[0, 1] == 3000


def test_an_epoch_keeps_the_cells_and_deepens_the_tree():
    agent = A.HOO(SQUARE, G.Symmetric(2), seed=0)
    shallow = agent.depth
    cone = ob.problems.Cone(SQUARE, G.Symmetric(2), peak=[0.2, 0.7])
    rounds_of(agent, cone.mean, np.random.default_rng(0).random(5000))
    assert agent.depth > shallow
    assert agent._stats[0, 1] == 5000
    assert agent._width == 2 * math.log(8192)


def test_the_group_makes_for_fewer_cells_and_less_regret():
    cone = ob.problems.Cone(SQUARE, G.Symmetric(2), peak=[0.15, 0.7])
    knowing, without = (ob.simulate(A.HOO, cone, 50_000, seeds=2, use_group=told) for told in (True, False))
    assert knowing.regret[:, -1].mean() < 0.95 * without.regret[:, -1].mean()
