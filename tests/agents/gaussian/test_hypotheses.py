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
        (UNITS, 10, True, {("first", False), ("second", True), ("both", True)}),
        (UNITS, 10, False, {("first", False), ("second", True), ("none", False)}),
        (NUMBERS, 6, False, {("first", False), ("none", False)}),
    ],
)
def test_choices_that_the_group_cannot_make_are_refused(group, dim, is_exact, allowed):
    models, points = made(group, dim, is_exact), np.random.default_rng(0).random((4, dim))
    for used in ("first", "second", "both", "none", "third", 1):
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
