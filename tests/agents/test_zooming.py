"""Zooming against its paper, played by full scans, and the covering that it keeps."""

import math

import numpy as np
import pytest

import naive
import orbandit as ob
from agent_cases import rounds_of
from orbandit._kernels.zooming import shrink

A, G, S, M = ob.agents, ob.groups, ob.spaces, ob.meshes
SQUARE, CUBE = S.Box(0.0, 1.0, dim=2), S.Box(0.0, 1.0, dim=3)

PLACES = {
    "square": (SQUARE, None, 1.0),
    "steep square": (SQUARE, None, 9.0),
    "cube S3": (CUBE, G.Symmetric(3), 4.0),
    "cube shift": (CUBE, G.CyclicShift(3), 4.0),
    "disk D5": (S.Ball(2), G.Dihedral(5), 6.0),
    "simplex": (S.Simplex(3), None, 8.0),
    "two disks": (S.Product(S.Ball(2), S.Ball(2)), G.BlockPermutation(2, 2), 1.0),
    "factors": (S.Ball(4), G.Orthogonal(2, 2), 3.0),
}


@pytest.mark.parametrize("place", PLACES)
def test_it_plays_the_published_algorithm(place):
    space, group, lipschitz = PLACES[place]
    n = 250
    agent = A.Zooming(space, group, horizon=n, lipschitz=lipschitz, delta="measured", seed=1)
    metric = group or G.Trivial(space.dim)
    points = agent.arms.numbered.points
    distances = np.asarray(metric.distance(points, points))
    twin = naive.Zooming(lipschitz * distances, 2 * math.log(n))
    means = np.clip(0.9 - 0.5 * distances[-1], 0.05, 1.0)
    draws = np.random.default_rng(2).random(n)
    played, kept = rounds_of(agent, lambda batch: means, draws, np.arange(n))
    for t in range(n):
        arm = twin.ask()
        assert played[t] == means[arm]
        assert (kept[t] == points[arm]).all()
        twin.tell(arm, float(draws[t] < means[arm]))
    twin.ask()
    assert sorted(twin.active) == np.flatnonzero(agent.arms.table.alive).tolist()
    assert len(twin.active) > 1


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("horizon", [3000, None])
def test_every_point_is_covered_whatever_is_told(place, horizon):
    space, group, lipschitz = PLACES[place]
    agent = A.Zooming(space, group, horizon=horizon, lipschitz=lipschitz, seed=0)
    metric, rng = group or G.Trivial(space.dim), np.random.default_rng(0)
    for t in range(130):
        point = space.sample(1, rng)[0] if t % 3 == 0 else agent.ask()
        agent.tell(point, float(rng.random()))
        if t % 40 == 0:
            arms = agent.active()
            distances = lipschitz * np.asarray(metric.distance(agent.mesh.points[arms], agent.mesh.points))
            radii = np.sqrt(2 * agent._log_horizon / (agent.counts()[arms] + 1))
            assert (distances <= radii[:, None]).any(axis=0).all()
    assert agent.counts().sum() == 130


def test_the_net_is_twice_as_fine_as_uniform_mesh_s_or_as_fine_as_it_may_be():
    n = 10_000
    fine, coarse = (kind(CUBE, G.Symmetric(3), horizon=n) for kind in (A.Zooming, A.UniformMesh))
    assert fine.delta == pytest.approx(coarse.delta / 2)
    many = A.Zooming(S.Box(0, 1, dim=4), horizon=100_000)
    assert many.n_arms <= 4096
    assert many.delta < A.UniformMesh(S.Box(0, 1, dim=4), horizon=100_000).delta
    assert A.Zooming(CUBE, horizon=n, delta=0.2).delta == 0.2


def test_the_reported_bound_is_the_index():
    agent = A.Zooming(SQUARE, horizon=1000, reward_range=(0, 10), seed=0)
    agent.tell(agent.ask(), 7.0)
    (bound,) = agent.upper_bounds()[agent.active()]
    assert bound == pytest.approx(7.0 + 10 * 2 * math.sqrt(2 * math.log(1000) / 2))
    assert np.isposinf(agent.upper_bounds()[~agent.active()]).all()


@pytest.mark.parametrize("compiled", [True, False])
def test_shrinking_a_ball_uncovers_what_it_alone_covered(compiled):
    kernel = shrink if compiled else shrink.py_func
    distances, ranked = np.array([[0.0, 0.2, 0.4, 0.4, 0.9]]), np.array([[3, 1, 0, 4, 2]], dtype=np.int32)
    edges, covers = np.array([5]), np.array([1, 2, 2, 1, 3])
    assert not kernel(0, 0.5, ranked, distances, edges, covers)
    assert (edges.tolist(), covers.tolist()) == ([4], [1, 2, 1, 1, 3])
    assert not kernel(0, 0.4, ranked, distances, edges, covers)  # borders count
    assert kernel(0, 0.3, ranked, distances, edges, covers)
    assert (edges.tolist(), covers.tolist()) == ([2], [0, 2, 1, 1, 2])
