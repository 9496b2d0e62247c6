"""GPO against its paper: instances play their shares, one after the other, and what they recommend is compared."""

import numpy as np
import pytest

import orbandit as ob
from agent_cases import mean_at, means_at, play, rounds_of, state
from tree_cases import PLACES

A, S = ob.agents, ob.spaces
SQUARE = S.Box(0.0, 1.0, dim=2)
BASES = {"HOO": A.HOO, "HCT": A.HCT, "VHCT": A.VHCT}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("place", ["interval", "cube S3"])
def test_it_plays_the_published_algorithm(place, base):
    """The twin runs each instance to its end, by its own asks and tells, and then what each recommends."""
    space, group = PLACES[place]
    n, rho_max = 200, 0.7
    agent = A.GPO(space, group, horizon=n, base=base, rho_max=rho_max, seed=3)
    half = n / 2
    size = int(np.ceil(np.log(2) / np.log(1 / rho_max) * np.log(half / np.log(half)) / 2))
    share = n // (2 * size)
    assert agent.n_instances == size > 2
    rng, points, finals, sums = np.random.default_rng(0), [], [], np.zeros(size)
    for i in range(1, size + 1):
        seed = np.random.SeedSequence([agent._salt, i - 1])
        rho = rho_max ** (2 * size / (2 * i + 1))
        one = BASES[base](space, group, horizon=share, nu=agent.nu, rho=rho, seed=seed)
        for _ in range(share):
            point = agent.ask()
            np.testing.assert_array_equal(point, one.ask())
            reward = float(rng.random() < mean_at(agent, point))
            agent.tell(point, reward)
            one.tell(point, reward)
        finals.append(one.recommend())
    for t in range(size * share):
        points.append(agent.ask())
        np.testing.assert_array_equal(points[-1], finals[t % size])
        reward = float(rng.random() < mean_at(agent, points[-1]))
        agent.tell(points[-1], reward)
        sums[t % size] += reward
    np.testing.assert_array_equal(agent.recommend(), finals[int(np.argmax(sums))])


@pytest.mark.parametrize("horizon", [150, None])
def test_a_simulation_checks_as_asks_do(horizon):
    one, many = (
        A.GPO(SQUARE, ob.groups.Symmetric(2), horizon=horizon, rho_max=0.6, reward_range=(-0.7, 1.9), seed=0)
        for _ in range(2)
    )
    draws, points = np.random.default_rng(1).random(170), []
    for draw in draws:
        points.append(one.ask())
        one.tell(points[-1], float(draw < mean_at(one, points[-1])))
    for part in np.split(draws, [40, 110]):
        rounds_of(many, lambda points: means_at(many, points), part)
    assert one.arms.checks
    assert state(one) == state(many)


def test_what_is_compared_is_settled_by_the_first_reward():
    agent = A.GPO(SQUARE, horizon=60, rho_max=0.5, seed=0)
    share = agent._stages[-1].size * agent._stages[-1].share
    play(agent, share, 0)
    first = agent.ask()
    agent.forget(first)
    agent.tell(first, 0.5)  # data from elsewhere, which the instance learns from
    assert agent.arms.checks == {}
    for _ in range(6):
        agent.tell(agent.ask(), 0.5)
    settled = {number: point.copy() for number, (point, _, _) in agent.arms.checks.items()}
    agent.tell_batch(agent.space.sample(5, 0), [1.0] * 5)
    for _ in range(6):
        agent.tell(agent.ask(), 0.5)
    for number, point in settled.items():
        np.testing.assert_array_equal(agent.arms.checks[number][0], point)


def test_an_epoch_has_instances_of_its_own():
    agent = A.GPO(SQUARE, rho_max=0.5, seed=0)
    before = agent.n_instances
    play(agent, 64, 0)
    assert len(agent.arms.bases) == before + 1
    play(agent, 64, 1)
    assert agent.rounds == 128
    assert agent._stages[-1].start == 128


@pytest.mark.parametrize("n", [1, 2, 5, 10**18])
def test_any_horizon(n):
    agent = A.GPO(SQUARE, horizon=n, base="HCT", seed=0)
    play(agent, 10, 0)
    assert agent.rounds == 10
    assert state(agent)[4] == 10


def test_nu_is_by_the_lipschitz_constant_or_as_stated():
    assert A.GPO(SQUARE, lipschitz=3.0, reward_range=(0, 2)).nu == pytest.approx(3 * 2**0.5)
    assert A.GPO(SQUARE, nu=0.7, reward_range=(0, 2)).arms.bases[0].nu == pytest.approx(0.7)
