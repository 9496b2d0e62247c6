"""Which models are compared, and which choices of a file are refused."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.agents.gaussian.fit import Parameters
from orbandit.agents.gaussian.hypotheses import Choice, Hypotheses
from orbandit.agents.gaussian.thinning import Rewards

G, S = ob.groups, ob.spaces
UNITS, NUMBERS = G.BlockPermutation(5, 2), G.Symmetric(6)


def made(group, dim, is_exact=True, hinted=None):
    return Hypotheses(S.Box(0.0, 1.0, dim=dim), group, "matern52", is_exact, is_smooth=True, hinted=hinted)


@pytest.mark.parametrize(
    ("group", "dim", "is_exact", "allowed"),
    [
        (None, 2, True, {("first", False)}),
        # folds, and no multisets of so few numbers
        (G.SignFlips(5).centered([0.5] * 5), 5, True, {("first", False)}),
        (NUMBERS, 6, True, {("first", False), ("second", False), ("both", False)}),
        (UNITS, 10, True, {("first", False), ("second", True), ("both", True), ("all", True)}),
        (UNITS, 10, False, {("first", False), ("second", True), ("both", True), ("all", True), ("none", False)}),
        (NUMBERS, 6, False, {("first", False), ("second", False), ("both", False), ("none", False)}),
    ],
)
def test_choices_that_the_group_cannot_make_are_refused(group, dim, is_exact, allowed):
    models, points = made(group, dim, is_exact), np.random.default_rng(0).random((4, dim))
    for used in ("first", "second", "both", "all", "none", "third", 1):
        for is_aligned in (False, True):
            choice = Choice(used, points[0] if is_aligned else None)
            if (used, is_aligned) in allowed:
                models.check(choice)
                kernel = models.kernel_of(choice)
                features = kernel.features(points)
                assert np.linalg.eigvalsh(kernel.cross(features, features, kernel.unit)).min() > -1e-9
            else:
                with pytest.raises(ValueError, match="kernels"):
                    models.check(choice)


def test_distances_are_a_part_of_sums_where_nothing_can_be_aligned():
    """An infinite group: there is no second kernel."""
    space = S.Product(S.Box(0.0, 1.0, dim=10), S.Ball(4))
    models = Hypotheses(space, G.Product(UNITS, G.Orthogonal(2, 2)), "matern52", True, is_smooth=True, hinted=None)
    rng = np.random.default_rng(0)
    points = space.sample(60, rng)
    units = points[:, :10].reshape(60, 5, 2)
    values = np.cos(9 * np.linalg.norm(units[:, :, None] - units[:, None], axis=3)).sum(axis=(1, 2)) / 20
    rewards = Rewards(points, models.kernel.features(points), np.ones(60), values, np.zeros(60))
    found = models.most_likely(rewards, models.prior, Parameters(0.1, models.prior.lengths, 0.1), points[0])
    assert found.choice.used == "all"
    assert found.choice.reference is None
    models.check(found.choice)
    assert models.kernel_of(found.choice).n_scales == found.model.kernel.n_scales
    with pytest.raises(ValueError, match="kernels"):
        models.check(Choice("both"))


@pytest.mark.parametrize("is_true", [True, False])
def test_sums_of_a_doubted_group_have_a_remainder(is_true):
    """Distances between units explain nearly all; what one unit adds of its own is left to the remainder."""
    models, rng = made(UNITS, 10, is_exact=False), np.random.default_rng(0)
    points = rng.random((120, 10))
    units = points.reshape(-1, 5, 2)
    values = np.cos(9 * np.linalg.norm(units[:, :, None] - units[:, None], axis=3)).sum(axis=(1, 2)) / 20
    values += 0.0 if is_true else 0.4 * np.sin(3 * points[:, 0])
    rewards = Rewards(points, models.kernel.features(points), np.ones(120), values, np.zeros(120))
    found = models.most_likely(rewards, models.prior, Parameters(0.1, models.prior.lengths, 0.1), points[0])
    assert found.choice.used == "all"
    models.check(found.choice)
    kernel, lengths = found.model.kernel, found.model.parameters.lengths
    assert models.kernel_of(found.choice).n_scales == kernel.n_scales
    images = points[:40].reshape(-1, 5, 2)[:, ::-1].reshape(-1, 10)
    alike = kernel.paired(kernel.features(points[:40]), kernel.features(images), lengths)
    assert (alike.mean() > 0.999) == is_true


def test_nothing_but_the_first_kernel_is_tried_without_a_best_point():
    models, rng = made(UNITS, 10), np.random.default_rng(0)
    points = rng.random((30, 10))
    rewards = Rewards(points, models.kernel.features(points), np.ones(30), -np.exp(4 * rng.random(30)), np.zeros(30))
    start = Parameters(0.1, models.prior.lengths, 0.1)
    found = models.most_likely(rewards, models.prior, start, None)
    assert found.choice == Choice()
    assert found.model.warp.strength == 0
    assert found.start == found.model.parameters


def test_hints_are_kept_within_reason_of_the_width():
    np.testing.assert_allclose(made(UNITS, 10, hinted=np.array([1e-9, 1e9])).prior.lengths[:2], [0.02, 2.0])
    assert made(UNITS, 10, hinted=np.array([0.1, 0.1])).prior.doubt < made(UNITS, 10).prior.doubt
