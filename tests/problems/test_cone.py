"""Cones: the mean by hand, invariant, Lipschitz, with Bernoulli rewards."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, InputTypeError

CUBE, S3 = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
CONE = ob.problems.Cone(CUBE, S3, peak=[0.9, 0.2, 0.4], height=0.9, lipschitz=1.5)


def test_the_mean_is_that_of_the_nearest_image():
    points = CUBE.sample(200, 0)
    images = [np.linalg.norm(points - np.array([0.9, 0.2, 0.4])[list(p)], axis=1) for p in S3_PERMUTATIONS]
    np.testing.assert_allclose(CONE.mean(points), np.clip(0.9 - 1.5 * np.min(images, axis=0), 0, 1), atol=1e-12)
    assert CONE.optimum == 0.9
    assert CONE.mean(CONE.optimizer) == CONE.optimum
    assert (CONE.mean(points) <= CONE.optimum).all()
    assert CONE.mean(points).min() == 0.0  # clipped


S3_PERMUTATIONS = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]


def test_it_is_invariant_and_lipschitz():
    points = CUBE.sample(200, 1)
    for element in S3.elements():
        np.testing.assert_allclose(CONE.mean(S3.act(element, points)), CONE.mean(points), atol=1e-12)
    slopes = np.abs(CONE.mean(points)[:, None] - CONE.mean(points)) / (np.asarray(S3.distance(points, points)) + 1e-12)
    assert slopes.max() <= CONE.lipschitz * (1 + 1e-9)


def test_rewards_are_zeros_and_ones_with_the_mean():
    rewards = CONE.sample(np.tile([0.85, 0.25, 0.4], (20_000, 1)), 0)
    assert set(rewards.tolist()) == {0.0, 1.0}
    mean = CONE.mean([0.85, 0.25, 0.4])
    assert abs(rewards.mean() - mean) < 4 * np.sqrt(mean * (1 - mean) / 20_000)
    assert CONE.sample([0.85, 0.25, 0.4], 3) in (0.0, 1.0)
    np.testing.assert_array_equal(CONE.sample(CUBE.sample(9, 0), 5), CONE.sample(CUBE.sample(9, 0), 5))
    assert CONE.noise.reward_range == (0.0, 1.0)


def test_bad_input_is_refused():
    for arguments in (
        {"peak": [2.0, 0.0, 0.0]},
        {"peak": [0.5, 0.5]},
        {"height": 0.0},
        {"height": 1.1},
        {"lipschitz": 0.0},
        {"group": ob.groups.Symmetric(2)},
        {"group": ob.groups.SignFlips(3)},
    ):
        with pytest.raises(InputError):
            ob.problems.Cone(**{"space": CUBE, "group": S3, "peak": [0.9, 0.2, 0.4], **arguments})
    with pytest.raises(InputTypeError):
        ob.problems.Cone("cube", None, [0.5])
    with pytest.raises(InputError):
        CONE.mean([0.5, 0.5])
    assert ob.problems.Cone(CUBE, None, [0.9, 0.2, 0.4]).mean([0.2, 0.4, 0.9]) < 0.5
