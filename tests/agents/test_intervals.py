"""Intervals of the mean: they hold about as often as they say, and know what the estimate knows."""

import math

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError

SQUARE, SWAP = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
KINDS = [ob.agents.OrbitGP, ob.agents.OrbitTree]


def mean(points):
    low, high = np.sort(points, axis=-1).T
    return 50 * np.exp(-3 * ((low - 0.3) ** 2 + (high - 0.7) ** 2))


def taught(kind, rewards, **settings):
    rng = np.random.default_rng(0)
    points = SQUARE.sample(rewards, rng)
    values = mean(points) + 3 * rng.standard_normal(rewards)
    agent = kind(SQUARE, SWAP, horizon=rewards, reward_range=(-20.0, 80.0), seed=0, **settings)
    agent.tell_batch(points, values)
    return agent


@pytest.mark.parametrize("kind", KINDS)
def test_most_intervals_hold_the_mean_and_shrink_with_rewards(kind):
    others, widths = SQUARE.sample(100, 1), []
    for rewards in (40, 400):
        agent = taught(kind, rewards)
        low, high = np.array([agent.interval(point) for point in others]).T
        estimates = np.array([agent.estimate(point) for point in others])
        assert ((low < estimates) & (estimates < high)).all()
        assert ((low <= mean(others)) & (mean(others) <= high)).mean() >= 0.9
        widths.append((high - low).mean())
    assert widths[1] < 0.6 * widths[0]


def test_they_follow_the_warp():
    """Quantiles of a warped process are warped quantiles."""
    settings = {"horizon": 100, "goal": "best", "candidates": 64, "seed": 1}
    agent = ob.agents.OrbitGP(SQUARE, reward_range=(-1.0, 1.0), **settings)
    points = SQUARE.sample(60, 2)
    dip = 3e-3 / ((points[:, 0] - points[:, 1]) ** 2 + 3e-3)
    agent.tell_batch(points, 1 - 0.2 * ((points - [0.1, 0.8]) ** 2).sum(axis=1) - dip)
    model = agent._model
    assert model.warp.strength > 0
    middle, variance = model.at(model.features(agent.arms.units.enter(points[:5])))
    for point, center, deviation in zip(points, middle, np.sqrt(variance), strict=False):
        ends = model.warp.undone(center + 1.96 * deviation * np.array([-1.0, 1.0]))
        np.testing.assert_allclose(agent.interval(point), 2 * np.clip(ends, 0, 1) - 1, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_images_have_one_and_what_is_unknown_none(kind):
    agent = taught(kind, 40)
    assert agent.interval([0.2, 0.9]) == pytest.approx(agent.interval([0.9, 0.2]))
    assert all(map(math.isnan, kind(SQUARE, SWAP, horizon=9).interval([0.2, 0.9])))
    with pytest.raises(InputError, match="lie in"):
        agent.interval([0.2, 1.9])


def test_a_search_returns_it_for_what_it_recommends():
    def search(optimize, sign, **how):
        rng = np.random.default_rng(0)

        def measure(point):
            return sign * (mean(point) + rng.normal())

        return optimize(measure, SQUARE, SWAP, budget=12, seed=0, **how)

    best = search(ob.maximize, 1.0)
    low, high = best.interval
    assert low < best.value < high
    assert search(ob.minimize, -1.0).interval == (-high, -low)
    assert all(map(math.isnan, search(ob.maximize, 1.0, agent=ob.agents.UniformMesh).interval))
