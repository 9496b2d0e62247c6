"""Choices on every space: ascents climb and stay inside, candidates fill the space and favour no point."""

import math

import numpy as np
import pytest

import orbandit as ob
from cases import SPACES
from orbandit.agents.gaussian.acquisition import (
    BINARY_BETA,
    LADDER,
    QUIET_BETA,
    USUAL_BETA,
    Ground,
    _bounds,
    ascend,
    best_bound,
    best_draw,
    best_look,
    deviations,
    settled,
    spread_out,
)
from orbandit.agents.gaussian.fit import Parameters
from orbandit.agents.gaussian.model import Candidates, Model
from orbandit.agents.gaussian.quotient_kernel import quotient_kernel
from orbandit.agents.gaussian.thinning import Rewards, thinned
from orbandit.agents.optimism import CALM
from orbandit.spaces.feasible_set import FeasibleSet


def model_on(space, group=None, size=12, seed=0, noise=0.01):
    rng = np.random.default_rng(seed)
    kernel = quotient_kernel(space, group, "matern32")
    pool = spread_out(Ground(FeasibleSet(space), group), 64, rng)
    points = space.sample(size, rng)
    rewards = Rewards(points, kernel.features(points), np.ones(size), rng.random(size), np.zeros(size))
    parameters = Parameters(0.1, 0.3 * kernel.unit, noise)
    candidates = Candidates(pool, kernel.features(pool))
    return Model(kernel, parameters, 0.5, candidates, rewards, np.zeros((2, size)))


def test_the_schedule_is_as_documented():
    loud, quiet = (Parameters(0.1, np.ones(1), noise) for noise in (0.05, 0.001))
    assert deviations(1, False, loud) == deviations(1000, False, loud) == USUAL_BETA
    assert deviations(1000, False, quiet) == QUIET_BETA > USUAL_BETA
    # as for rewards that were binary
    assert deviations(1000, False, Parameters(0.1, np.ones(1), 0.0)) == USUAL_BETA
    assert deviations(1000, True, quiet) == deviations(1000, True, loud) == BINARY_BETA
    assert deviations(10**6, True, loud) == pytest.approx(np.sqrt(2 * np.log(10**6 / CALM)))


def test_looks_for_the_best_stay_near_until_there_is_nothing_to_gain():
    space = ob.spaces.Box(0.0, 1.0, dim=3)
    for noise, steps in ((1e-6, 1), (1.0, 2), (10.0, 3)):
        model = model_on(space, noise=noise)
        look = best_look(model, Ground(FeasibleSet(space)), np.random.default_rng(1), 0.0)
        rng = np.random.default_rng(1)
        looks = [best_bound(model, Ground(FeasibleSet(space)), beta, rng) for beta in LADDER[:steps]]
        np.testing.assert_array_equal(look, looks[-1])
        means, variances = model.at(model.features(np.array(looks)))
        gains = means + LADDER[:steps] * np.sqrt(variances) - model.means.max()
        assert (gains[:-1] < math.sqrt(noise) / 2).all()
        assert steps == len(LADDER) or gains[-1] >= math.sqrt(noise) / 2


@pytest.mark.parametrize("name", SPACES)
def test_what_is_recommended_is_in_the_space_and_as_good_as_any_point_observed(name):
    space = SPACES[name]()
    model = model_on(space)
    point = settled(model, Ground(FeasibleSet(space)))
    assert space.contains(point, tol=space.tolerance)
    mean, variance = model.at(model.features(point[None]))
    top = int(model.means.argmax())
    assert mean[0] - 0.5 * np.sqrt(variance[0]) >= model.means[top] - 0.5 * np.sqrt(model.variances[top]) - 1e-9


def test_what_is_recommended_is_no_less_certain_than_a_point_observed():
    """Rewards rise towards a side that nobody has tried; the mean does, too, beyond the last point."""
    space = ob.spaces.Box(0.0, 1.0, dim=1)
    kernel = quotient_kernel(space, None, "matern52")
    points = np.linspace(0.0, 0.6, 7)[:, None]
    features, values, none = kernel.features(points), 0.2 + 0.9 * points[:, 0] ** 2, np.zeros(7)
    pool = np.linspace(0, 1, 11)[:, None]
    model = Model(
        kernel,
        Parameters(1.0, np.array([0.8]), 1e-6),
        0.5,
        Candidates(pool, kernel.features(pool)),
        Rewards(points, features, np.ones(7), values, none),
        np.zeros((2, 7)),
    )
    top, _ = ascend(_bounds(model, -0.5), FeasibleSet(space), points[-1:], 0.05, 40, 0.0)
    assert top[0, 0] > 0.65
    point = settled(model, Ground(FeasibleSet(space)))
    _, variance = model.at(model.features(point[None]))
    assert variance[0] <= model.variances[-3:].max() * (1 + 1e-9)
    assert point[0] == pytest.approx(0.6)


@pytest.mark.parametrize("name", SPACES)
def test_choices_lie_in_every_space_and_beat_the_candidates(name):
    space = SPACES[name]()
    model, rng = model_on(space), np.random.default_rng(1)
    point = best_bound(model, Ground(FeasibleSet(space)), 2.0, rng)
    assert space.contains(point, tol=space.tolerance)
    mean, variance = model.at(model.features(point[None]))
    best = (model.pool_means + 2 * np.sqrt(model.pool_variances)).max()
    assert mean[0] + 2 * np.sqrt(variance[0]) >= best - 0.01 * 2 * np.sqrt(variance[0])
    assert space.contains(best_draw(model, Ground(FeasibleSet(space)), 2.0, rng), tol=space.tolerance)


@pytest.mark.parametrize("name", SPACES)
def test_candidates_fill_every_space(name):
    space = SPACES[name]()
    points = spread_out(Ground(FeasibleSet(space)), 256, np.random.default_rng(0))
    assert points.shape == (256, space.dim)
    assert np.asarray(space.contains(points, tol=space.tolerance)).all()
    far = space.sample(200, 1)
    gaps = np.linalg.norm(far[:, None] - points, axis=-1).min(axis=1)
    usual = np.linalg.norm(far[:, None] - space.sample(256, 2), axis=-1).min(axis=1)
    assert gaps.mean() < 1.2 * usual.mean()
    middle = np.mean(space.bounds, axis=0)
    assert np.linalg.norm(points - middle, axis=1).min() > 0
    assert not np.array_equal(points, spread_out(Ground(FeasibleSet(space)), 256, np.random.default_rng(1)))


def test_candidates_are_folded():
    group = ob.groups.Symmetric(3)
    points = spread_out(Ground(FeasibleSet(ob.spaces.Box(0.0, 1.0, dim=3)), group), 50, np.random.default_rng(0))
    np.testing.assert_array_equal(points, group.fold(points))


def test_an_ascent_finds_the_top_within_the_space():
    ball = ob.spaces.Ball(3)
    top = np.array([2.0, 0.0, 0.0])  # outside: the highest point of the ball is on its border

    def bounds(points):
        return -((points - top) ** 2).sum(axis=1), -2 * (points - top)

    starts = ball.sample(5, 0)
    points, heights = ascend(bounds, FeasibleSet(ball), starts, 0.1, 60, 1e-14)
    np.testing.assert_allclose(points, np.tile([1.0, 0.0, 0.0], (5, 1)), atol=1e-4)
    assert (heights >= bounds(starts)[0]).all()


@pytest.mark.parametrize("group", [None, ob.groups.Symmetric(2)])
def test_slopes_are_those_of_mean_and_variance(group):
    model = model_on(ob.spaces.Box(0.0, 1.0, dim=2), group)
    points = np.array([[0.21, 0.7], [0.6, 0.33]])
    means, variances, mean_slopes, variance_slopes = model.gradients(points)
    np.testing.assert_allclose((means, variances), model.at(model.features(points)))
    for axis in range(2):
        step = 1e-6 * np.eye(2)[axis]
        up, down = model.at(model.features(points + step)), model.at(model.features(points - step))
        np.testing.assert_allclose(mean_slopes[:, axis], (up[0] - down[0]) / 2e-6, atol=1e-6)
        np.testing.assert_allclose(variance_slopes[:, axis], (up[1] - down[1]) / 2e-6, atol=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.2, 1e-6])
def test_step_by_step_is_from_scratch(noise):
    """Means and variances of points and candidates follow rewards as if they were worked out anew."""
    space, rng = ob.spaces.Box(0.0, 1.0, dim=2), np.random.default_rng(3)
    model = model_on(space, ob.groups.Symmetric(2), noise=noise)
    for _ in range(60):
        point = model.rewards.points[rng.integers(model.size)] if rng.random() < 0.5 else space.sample(1, rng)[0]
        image = point[::-1].copy() if rng.random() < 0.3 else point
        model.add(image, model.features(image[None])[0], float(rng.random()))
    assert 20 < model.size < 60
    assert model.rewards.counts.sum() == 72
    np.testing.assert_allclose((model.pool_means, model.pool_variances), model.at(model.pool.features), atol=1e-5)
    np.testing.assert_allclose(model.expected, model.at(model.rewards.features), atol=1e-5)
    np.testing.assert_allclose(model.posterior.counts, model.rewards.counts)
    means, covariances = model.joint(model.pool.features)
    np.testing.assert_allclose((means, covariances.diagonal()), (model.pool_means, model.pool_variances), atol=1e-5)


def test_an_expected_reward_moves_no_mean():
    space = ob.spaces.Box(0.0, 1.0, dim=2)
    model = model_on(space)
    before, point = model.branch(), np.array([0.4, 0.6])
    model.add(point, model.features(point[None])[0], None)
    np.testing.assert_allclose(model.pool_means, before.pool_means, atol=1e-12)
    assert (model.pool_variances <= before.pool_variances).all()
    assert model.pool_variances.sum() < before.pool_variances.sum()
    assert before.size == 12


def test_thinning_keeps_all_rewards_and_merges_the_nearest():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.random((20, 2)), [[0.5, 0.5], [0.5, 0.5 + 1e-6]]])
    counts = rng.integers(1, 9, 22).astype(float)
    rewards = Rewards(points, points, counts, rng.random(22), rng.random(22))
    gaps = ((points[:, None] - points) ** 2).sum(axis=-1)
    fewer, rows = thinned(rewards, gaps, 21)
    assert (rows >= 20).sum() == 1
    for most in (21, 12, 5, 1):
        fewer, rows = thinned(rewards, gaps, most)
        assert len(fewer) == most
        assert fewer.counts.sum() == counts.sum()
        assert (fewer.counts * fewer.means).sum() == pytest.approx((counts * rewards.means).sum())
        np.testing.assert_array_equal(fewer.points, points[rows])
        # what tells points apart is no noise
        assert fewer.scatter.sum() == pytest.approx(rewards.scatter.sum())
