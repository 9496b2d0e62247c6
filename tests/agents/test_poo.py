"""POO against its paper, over slow twins of HOO; its instances, their rewards and their files."""

import numpy as np
import pytest

import naive
import orbandit as ob
from agent_cases import play, rounds_of
from orbandit.agents.hoo import preferences
from orbandit.agents.poo import rho_of
from tree_cases import PLACES, Cells, mean_in

A, S = ob.agents, ob.spaces
SQUARE = S.Box(0.0, 1.0, dim=2)


@pytest.mark.parametrize("place", ["interval", "cube S3", "disk D5"])
def test_it_plays_the_published_algorithm(place):
    space, group = PLACES[place]
    n = 120
    agent = A.POO(space, group, horizon=n, rho_max=0.8, seed=3)
    cells, numbers = Cells(agent), iter(range(99))

    def make(rho):
        number = next(numbers)
        assert rho == pytest.approx(rho_of(number, 0.8))

        def prefer(code):  # by the salt of the instance, which the agent has made meanwhile
            return int(preferences(np.array([code], dtype=np.uint64), agent.arms.bases[number]._salt)[0])

        return naive.HOO(cells.halves, agent.nu, rho, n, prefer)

    twin = naive.POO(make, 0.8)
    draws, mean = np.random.default_rng(4).random(n), mean_in(space)
    played, points = rounds_of(agent, mean, draws, np.arange(n))
    for t in range(n):
        instance = next(twin.turns)
        np.testing.assert_allclose(points[t], cells.point(instance.ask(1)), atol=1e-12)
        instance.tell(float(draws[t] < played[t]))
    assert len(twin.instances) == len(agent.arms.bases) > 3


def test_instances_share_rounds_evenly_and_no_rewards():
    agent = A.POO(SQUARE, horizon=500, seed=0)
    play(agent, 500, 0)
    counts = np.array([base._stats[0, 1] for base in agent.arms.bases])
    assert counts.sum() == 500
    assert counts.max() <= 2 * counts.min() + 2
    assert agent.rhos[0] == agent.rho_max == 0.9
    assert {base.nu for base in agent.arms.bases} == {agent.nu}


def test_the_instance_with_the_largest_mean_recommends():
    agent = A.POO(SQUARE, horizon=300, seed=0)
    play(agent, 300, 0)
    means = [base._stats[0, 0] / base._stats[0, 1] for base in agent.arms.bases]
    best = agent.arms.bases[int(np.argmax(means))]
    np.testing.assert_array_equal(agent.recommend(), best.recommend())
    point = np.array([0.4, 0.6])
    assert agent.estimate(point) == best.estimate(point)


def test_nu_is_by_the_lipschitz_constant_or_as_stated():
    agent = A.POO(SQUARE, lipschitz=3.0, reward_range=(0, 2))
    assert agent.nu == pytest.approx(3 * 2**0.5)
    assert A.POO(SQUARE, nu=0.7, reward_range=(0, 2)).arms.bases[0].nu == pytest.approx(0.7)


def test_an_epoch_is_one_of_all_instances():
    agent = A.POO(SQUARE, seed=0)
    play(agent, 200, 0)
    assert {base._goal for base in agent.arms.bases} == {256}
    assert len({base._width for base in agent.arms.bases}) == 1
