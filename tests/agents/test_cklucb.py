"""CKL-UCB against its paper, with all indices by full sums in every round; its index, limits and regret."""

import math

import numpy as np
import pytest

import naive
import orbandit as ob
from agent_cases import rounds_of
from orbandit._kernels import cklucb as kernels
from orbandit.errors import MeshTooLargeError
from tree_cases import mean_in, uncompiled

A, G, S = ob.agents, ob.groups, ob.spaces
SQUARE, CUBE = S.Box(0.0, 1.0, dim=2), S.Box(0.0, 1.0, dim=3)

PLACES = {
    "square": (SQUARE, None, 0.15),
    "cube S3": (CUBE, G.Symmetric(3), 0.25),
    "shift": (CUBE, G.CyclicShift(3), 0.4),
    "disk D5": (S.Ball(2), G.Dihedral(5), 0.3),
    "one arm": (SQUARE, None, 2.0),
}


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("lipschitz", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("place", PLACES)
def test_it_plays_the_published_algorithm(place, lipschitz, compiled, monkeypatch):
    space, group, delta = PLACES[place]
    n = 60 if compiled else 15
    if not compiled:
        uncompiled(kernels, monkeypatch)
    agent = A.CKLUCB(space, group, horizon=n, lipschitz=lipschitz, delta=delta, seed=3)
    points = agent.arms.numbered.points
    twin = naive.CKLUCB(lipschitz * np.asarray((group or G.Trivial(space.dim)).distance(points, points)))
    draws, mean = np.random.default_rng(4).random(n), mean_in(space)
    played, kept = rounds_of(agent, mean, draws, np.arange(n))
    for t in range(n):
        arm = twin.ask()
        np.testing.assert_array_equal(kept[t], points[arm])
        twin.tell(arm, float(draws[t] < played[t]))
    np.testing.assert_array_equal(agent.arms.table.counts, twin.counts)


def test_without_structure_it_is_kl_ucb():
    """One arm: the largest q with T kl(m, q) <= log t + 3 log log t, in closed form for a mean of 0."""
    agent = A.CKLUCB(SQUARE, horizon=100, delta=2.0, seed=0)
    for _ in range(9):
        agent.tell(agent.ask(), 0.0)
    budget = math.log(10) + 3 * math.log(math.log(10))
    assert agent.upper_bounds()[0] - 2 * agent.delta == pytest.approx(1 - math.exp(-budget / 9), abs=1e-8)


def test_the_index_is_where_the_surprise_meets_the_budget():
    rng = np.random.default_rng(0)
    for _ in range(30):
        points, stats = rng.random((6, 2)), np.zeros((6, 8))
        stats[:, 1] = rng.integers(0, 9, 6)
        stats[:, 0] = (rng.random(6) * stats[:, 1]).round(2)
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        twin, budget = naive.CKLUCB(distances), float(rng.uniform(0.1, 5.0))
        twin.sums, twin.counts = stats[:, 0], stats[:, 1]
        indices = np.empty(6)
        kernels.all_indices(stats, distances, budget, indices)
        for arm, q in enumerate(indices):
            assert twin.surprise(arm, q) <= budget * (1 + 1e-9)
            assert q == 1 or twin.surprise(arm, q + 1e-8) > budget * (1 - 1e-9)
        best = int(np.argmax(indices))
        assert {int(kernels.leader(first, stats, distances, budget)) for first in range(6)} == {best}


def test_rewards_at_the_ends_of_the_range():
    agent = A.CKLUCB(SQUARE, horizon=100, delta=0.3, seed=0)
    for t in range(60):
        agent.tell(agent.ask(), float(t % 2))
    assert np.isfinite(agent.upper_bounds()[agent.counts() > 0]).all()
    sure = A.CKLUCB(SQUARE, horizon=100, delta=0.3, seed=0)
    for _ in range(30):
        sure.tell(sure.ask(), 1.0)
    assert sure.counts().max() == 30  # nothing can be better than an arm that always has 1


def test_a_mesh_with_too_many_arms_is_refused():
    with pytest.raises(MeshTooLargeError, match="at most 4,000 arms, but the mesh has"):
        A.CKLUCB(SQUARE, horizon=100, delta=0.005)


def test_distances_spare_plays_of_arms_that_cannot_be_best():
    cone = ob.problems.Cone(SQUARE, G.Symmetric(2), peak=[0.15, 0.7])
    by_distance, alone = (ob.simulate(kind, cone, 3000, seeds=3, delta=0.1) for kind in (A.CKLUCB, A.UniformMesh))
    assert by_distance.regret[:, -1].mean() < 0.6 * alone.regret[:, -1].mean()
