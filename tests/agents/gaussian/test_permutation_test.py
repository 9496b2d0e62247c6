"""Violations of a symmetry: found where images differ, and not where f is rough, noisy or sampled on one side."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

import orbandit as ob
from orbandit.agents.gaussian import permutation_test as tested
from orbandit.agents.gaussian.blended import Blended
from orbandit.agents.gaussian.fit import Prior
from orbandit.agents.gaussian.permutation_test import Arrangements, violation
from orbandit.agents.gaussian.quotient_kernel import plain_kernel, quotient_kernel
from orbandit.optimize import History

G, S = ob.groups, ob.spaces
SQUARE, SWAP = S.Box(0.0, 1.0, dim=2), G.Symmetric(2)
KEPT = {
    "smooth": (SQUARE, SWAP, lambda x: -((x - 0.8) ** 2).sum(axis=1)),
    "kink": (SQUARE, SWAP, lambda x: -np.abs(np.sort(x) - [0.3, 0.8]).sum(axis=1)),
    "step": (SQUARE, SWAP, lambda x: (x.max(axis=1) > 0.7) + 0.1 * x.sum(axis=1)),
    "levels": (SQUARE, SWAP, lambda x: np.floor(4 * x.max(axis=1)) + np.floor(3 * x.min(axis=1))),
    "signs": (S.Box(-1.0, 1.0, dim=3), G.SignFlips(3), lambda x: -((np.abs(x) - 0.5) ** 2).sum(axis=1)),
    "turned": (S.Ball(2), G.Cyclic(5), lambda x: np.cos(5 * np.arctan2(x[:, 1], x[:, 0])) * (x**2).sum(axis=1)),
    "gram": (S.Ball(4), G.Orthogonal(2, 2), lambda x: (x**2).sum(axis=1)),
}
BROKEN = {
    "peak": (SQUARE, SWAP, lambda x: -((x - [0.8, 0.2]) ** 2).sum(axis=1)),
    "unit": (S.Box(0.0, 1.0, dim=4), G.BlockPermutation(2, 2), lambda x: -((x - 0.5) ** 2).sum(axis=1) + 0.3 * x[:, 0]),
    "centre": (S.Box(-1.0, 1.0, dim=3), G.SignFlips(3), lambda x: -((np.abs(x - 0.15) - 0.5) ** 2).sum(axis=1)),
    "turned": (S.Ball(2), G.Cyclic(4), lambda x: x[:, 0] ** 2 - x[:, 1] ** 2),
    "gram": (S.Ball(4), G.Orthogonal(2, 2), lambda x: x[:, 0] + (x**2).sum(axis=1)),
}


def models(space, group):
    invariant, plain = quotient_kernel(space, group), plain_kernel(space, group, "matern52")
    scales = np.concatenate([0.3 * invariant.unit, 0.3 * plain.unit, [0.02]])
    return Blended(invariant, plain), Prior(scales, 1.0)


def found(space, group, points, rewards):
    return violation(points, rewards, group, *models(space, group))


def measured(function, space, size, rng, noise="normal"):
    points = space.sample(size, rng)
    values = function(points)
    errors = rng.standard_normal(size) if noise == "normal" else np.clip(rng.standard_cauchy(size), -1e3, 1e3)
    return points, values + 0.02 * np.std(values) * errors * (noise != "none")


@pytest.mark.parametrize("noise", ["none", "normal", "cauchy"])
@pytest.mark.parametrize("name", KEPT)
def test_what_keeps_the_symmetry_is_no_violation(name, noise):
    """Eight samples of 40 points each, 168 in all: none is a violation."""
    space, group, function = KEPT[name]
    for seed in range(8):
        points, values = measured(function, space, 40, np.random.default_rng(seed), noise)
        assert found(space, group, points, values) is None


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_the_symmetry_is_found(name):
    """By the element and the point with a difference of about the true size."""
    space, group, function = BROKEN[name]
    for seed in range(2):
        points, values = measured(function, space, 80, np.random.default_rng(seed))
        clearest = found(space, group, points, values)
        assert clearest is not None
        element, point, difference, deviation = clearest
        at = np.array([point, group.act(element, point)])
        assert np.abs(at[1] - at[0]).max() > 1e-3
        assert abs(difference) > 3 * deviation
        before, after = function(at)
        assert after - before == pytest.approx(difference, abs=max(8 * deviation, 0.3 * abs(difference)))


def test_few_images_or_one_side_show_nothing():
    space, group, function = BROKEN["peak"]
    points, values = measured(function, space, 40, np.random.default_rng(0))
    side = np.sort(points)
    assert found(space, group, side, function(side)) is None
    assert found(space, group, side[:, ::-1].copy(), function(side[:, ::-1])) is None
    few = np.concatenate([side, points[points[:, 0] > points[:, 1]][: tested.LEAST_IMAGES - 1]])
    assert found(space, group, few, function(few)) is None
    assert found(space, group, points, values) is not None


def test_equal_rewards_show_nothing():
    points = SQUARE.sample(20, 0)
    assert found(SQUARE, SWAP, points, np.full(20, 0.3)) is None


def test_ranks_matter_only():
    space, group, function = BROKEN["unit"]
    points, values = measured(function, space, 30, np.random.default_rng(0))
    kernel, prior = models(space, group)
    one, other = (Arrangements(points, seen, kernel, prior)(points) for seen in (values, np.exp(5 * values)))
    assert one == pytest.approx(other)


def test_ranks_are_those_of_scipy():
    values = np.random.default_rng(0).integers(10, size=40) / 7
    np.testing.assert_array_equal(tested._ranks(values), scipy.stats.rankdata(values))


@pytest.mark.parametrize("name", ["peak", "turned"])
def test_the_likelihood_is_that_of_a_normal_vector(name):
    space, group, function = BROKEN[name]
    points, values = measured(function, space, 12, np.random.default_rng(0))
    blended, prior = models(space, group)
    invariant, _ = blended.parts
    scores = scipy.special.ndtri((scipy.stats.rankdata(values) - 0.5) / 12)
    n, each = invariant.n_scales, []

    def tried(matrix):
        for noise in tested.NOISES:
            covariance = matrix + 1 + noise * np.eye(12)
            variance = scores @ np.linalg.solve(covariance, scores) / 12
            normal = scipy.stats.multivariate_normal(np.zeros(12), variance * covariance)
            each.append(normal.logpdf(scores) + 6 * (1 + np.log(2 * np.pi)))

    for first in tested.LENGTHS:
        own = first * prior.lengths[:n]
        tried(invariant.cross(*[invariant.features(points)] * 2, own))
        for second in tested.LENGTHS:
            for ratio in tested.RATIOS:
                scales = np.concatenate([own, second * prior.lengths[n:-1], [ratio]])
                tried(blended.cross(*[blended.features(points)] * 2, scales))
    expected = scipy.special.logsumexp(each) - np.log(len(each))
    assert Arrangements(points, values, blended, prior)(points) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", [2, 3])
def test_a_search_of_a_step_raises_no_warning(seed, recwarn):
    """Here a point that the swap leaves in place was reported, with an infinite ratio."""
    step = KEPT["step"][2]
    points = SQUARE.sample(30, seed)
    ob.maximize(
        lambda x: float(step(x[None])[0]),
        SQUARE,
        SWAP,
        budget=20,
        history=History(points, step(points)),
        seed=seed,
        progress=False,
    )
    assert not [one for one in recwarn if "symmetry" in str(one.message)]
