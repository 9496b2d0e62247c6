"""Warps: increasing, undone, with the slopes that they have."""

import numpy as np
import pytest

from orbandit.agents.gaussian.warp import NO_WARP, STEADY, Warp, warped_about

WARPS = [NO_WARP, Warp(0.9, 0.1, 1.0), Warp(0.5, 1e-6, 1.0), Warp(0.2, 3.0, 5.0)]


@pytest.mark.parametrize("warp", WARPS, ids=str)
def test_a_warp_increases_keeps_the_top_and_is_undone(warp):
    rewards = np.linspace(0.0, 1.0, 1001)
    warped = warp.of(rewards)
    assert (np.diff(warped) > 0).all()
    assert (warped >= rewards - 1e-15).all()
    above = rewards >= warp.top
    np.testing.assert_array_equal(warped[above], rewards[above])
    np.testing.assert_allclose(warp.undone(warped), rewards, atol=1e-9)


@pytest.mark.parametrize("warp", WARPS, ids=str)
def test_slopes_are_those_of_differences(warp):
    rewards = np.linspace(0.013, 0.987, 50)
    step = 1e-7
    differences = (warp.of(rewards + step) - warp.of(rewards - step)) / (2 * step)
    np.testing.assert_allclose(warp.derivatives(rewards), differences, rtol=1e-5, atol=1e-8)


def test_rewards_that_are_all_alike_are_not_warped():
    assert warped_about(np.full(20, 0.3), 1.0) == NO_WARP
    assert warped_about(np.array([0.1, 0.3, 0.3]), 1.0) == NO_WARP


def test_the_scale_is_no_less_than_the_noise_allows():
    rewards = np.array([0.1, 0.89, 0.9])
    assert warped_about(rewards, 1.0, deviation=0.001).scale == pytest.approx(0.01)
    assert warped_about(rewards, 1.0, deviation=0.1).scale == pytest.approx(STEADY * 0.1)
    bent = Warp(0.9, warped_about(rewards, 1.0, deviation=0.1).scale, 1.0)
    noisy = 0.7 + 0.1 * np.random.default_rng(0).standard_normal(10**5)
    # a tenth of the noise's deviation
    assert bent.undone(bent.of(noisy).mean()) == pytest.approx(0.7, abs=0.01)
