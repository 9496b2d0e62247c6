"""Hidden factors: predictions by loops, invariance, the largest error and the slope by brute force, the subgroup."""

from itertools import product

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, InputTypeError
from orbandit.problems.factors import Factors, subgroup
from orbandit.problems.matrix_factorization import MatrixFactorization
from orbandit.problems.search import climb

KINDS = ("ball", "signed", "nonnegative", "subgroup")
SHAPES = ((2, 2, 2), (1, 3, 2), (3, 2, 1), (2, 1, 3), (1, 1, 1))


def made(shape, arms, seed=0, **others):
    horizon = {"horizon": 10_000} if arms == "subgroup" else {}
    return MatrixFactorization(*shape, arms=arms, seed=seed, **horizon, **others)


def predicted(point, users, items, factors):
    """P by its definition, one number at a time."""
    M = np.asarray(point).reshape(factors, users + items)
    P = np.zeros((users, items))
    for i in range(users):
        for j in range(items):
            for k in range(factors):
                P[i, j] += M[k, i] * M[k, users + j]
    return P


@pytest.mark.parametrize("arms", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_what_it_says(shape, arms):
    for seed in (0, 1):
        problem = made(shape, arms, seed)
        report = ob.problems.check(problem)
        assert report, report
        assert problem.optimum == pytest.approx(1.0, abs=1e-12)
        # The Lipschitz constant is no more than a third above the steepest slope found.
        assert report.steepest > 0.75 * problem.lipschitz


@pytest.mark.parametrize("arms", KINDS)
def test_the_mean_is_the_error_scaled(arms):
    shape = (2, 3, 2)
    problem = made(shape, arms)
    points = problem.space.sample(40, 1)
    P = np.array([predicted(x, *shape) for x in points])
    np.testing.assert_allclose(problem.predict(points), P, atol=1e-14)
    np.testing.assert_allclose(problem.predict(points[3]), P[3], atol=1e-14)
    R = predicted(problem.optimizer, *shape)
    np.testing.assert_allclose(problem.matrix, R, atol=1e-14)
    errors = np.array([np.sqrt(sum((p - r) ** 2 for p, r in zip(Q.ravel(), R.ravel(), strict=True))) for Q in P])
    losses = 1 - problem.mean(points)
    np.testing.assert_allclose(losses / losses[0], errors / errors[0], rtol=1e-12)
    assert problem.mean(points[0]) == pytest.approx(problem.mean(points)[0], abs=1e-15)


@pytest.mark.parametrize("arms", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_mixed_factors_predict_the_same(shape, arms):
    problem = made(shape, arms)
    points = problem.space.sample(20, 2)
    for element in problem.group.random(8, 3):
        images = problem.group.act(element, points)
        assert problem.space.contains(images, tol=1e-9).all()
        np.testing.assert_allclose(problem.predict(images), problem.predict(points), atol=1e-12)
        np.testing.assert_allclose(problem.mean(images), problem.mean(points), atol=1e-12)
    # Q acts on whole factors: any orthogonal one does in the ball, as the group that is claimed
    # there says.
    users, items, factors = shape
    Q = np.linalg.qr(np.random.default_rng(4).standard_normal((factors, factors)))[0]
    turned = (Q @ points.reshape(-1, factors, users + items)).reshape(points.shape)
    np.testing.assert_allclose(problem.predict(turned), problem.predict(points), atol=1e-12)
    if arms == "ball":
        assert np.max(np.diag(problem.group.distance(points, turned))) < 1e-6


def test_groups_are_those_of_the_arm_sets():
    orders = {"ball": np.inf, "signed": 48, "nonnegative": 6, "subgroup": 2}
    for arms, order in orders.items():
        problem = made((2, 1, 3), arms)
        assert problem.group.order == order
        assert problem.space.dim == 9
    assert made((2, 1, 1), "ball").group.order == 2
    assert made((2, 1, 1), "nonnegative").group.order == 1


@pytest.mark.parametrize(("arms", "low"), [("signed", -1.0), ("nonnegative", 0.0)])
@pytest.mark.parametrize("shape", [(2, 2, 1), (2, 2, 2), (1, 3, 2), (3, 2, 2), (2, 1, 3)])
def test_the_largest_error_in_a_box_is_at_the_worst_corner(shape, arms, low):
    users, items, factors = shape
    corners = np.array(list(product((low, 1.0), repeat=factors * (users + items))))
    for seed in range(3):
        problem = made(shape, arms, seed)
        means = problem.mean(corners)
        assert means.min() == pytest.approx(0.0, abs=1e-12)
        # Errors are convex in each factor, so that no point is worse than all corners.
        assert problem.mean(problem.space.sample(2000, seed)).min() > 0
    # A table that no corner of one sign fits best: rows and columns have to be chosen.
    R = np.random.default_rng(5).uniform(low, 1.0, (users, items)) * factors
    P = np.array([predicted(corner, *shape) for corner in corners])
    worst = np.sqrt(((P - R) ** 2).sum(axis=(1, 2))).max()
    assert Factors(users, items, factors, arms, None).largest_error(R) == pytest.approx(worst, rel=1e-12)


@pytest.mark.parametrize("shape", [(2, 2, 2), (1, 3, 1), (3, 2, 2)])
def test_the_largest_error_in_a_ball_is_reached(shape):
    for seed in range(2):
        problem = made(shape, "ball", seed)
        starts = problem.space.sample(16, seed)
        _, losses = climb(lambda x, p=problem: 1 - p.mean(x), problem.space, starts, np.random.default_rng(0))
        assert 1 - 1e-4 < losses.max() <= 1 + 1e-12
        # The closed form: one long factor along the first singular vectors of R, against them.
        U, _, Vt = np.linalg.svd(problem.matrix)
        M = np.zeros((shape[2], shape[0] + shape[1]))
        M[0] = np.concatenate([-U[:, 0], Vt[0]]) * problem.space.radius / np.sqrt(2)
        assert problem.mean(M.ravel()) == pytest.approx(0.0, abs=1e-12)


def test_many_users_and_items_have_a_bound():
    for arms in ("signed", "nonnegative"):
        problem = made((13, 14, 1), arms)
        ends = problem.space.sample(400, 0).round() if arms == "nonnegative" else np.sign(problem.space.sample(400, 0))
        assert 0 <= problem.mean(ends).min() < 0.6
        assert problem.mean(np.ones(27)) >= 0
        assert problem.optimum == pytest.approx(1.0, abs=1e-12)
        # Beside 12 users all corners are listed, and of 13 and 12 the fewer count.
        assert 0 <= made((13, 12, 1), arms).mean(np.ones(25)) < 1


@pytest.mark.parametrize("order", range(1, 11))
@pytest.mark.parametrize("factors", [2, 3])
def test_a_subgroup_has_the_order_asked_for(order, factors):
    for target in (order - 0.5, order, order + 0.49):
        assert subgroup(factors, 3, target).order == order
    elements = subgroup(factors, 2, float(order)).elements()
    mirrors = 0
    for element in elements:
        Q = element[::2, ::2]
        np.testing.assert_allclose(element, np.kron(Q, np.eye(2)), atol=1e-12)
        np.testing.assert_allclose(Q @ Q.T, np.eye(factors), atol=1e-12)
        np.testing.assert_allclose(Q[2:], np.eye(factors)[2:], atol=1e-12)
        mirrors += np.linalg.det(Q) < 0
    assert mirrors == (order // 2 if order % 2 == 0 else 0)


def test_a_subgroup_grows_slowly_with_the_horizon():
    # d = 8: the order is the integer nearest to n^(1 / 18), so 3 begins at 2.5^18, which is 14.6
    # million.
    for horizon, order in ((1, 1), (1_000, 1), (1_500, 2), (10**6, 2), (14 * 10**6, 2), (15 * 10**6, 3), (10**18, 10)):
        assert MatrixFactorization(arms="subgroup", horizon=horizon).group.order == order
    # One factor can only change its sign.
    assert MatrixFactorization(1, 1, 1, arms="subgroup", horizon=10**9).group.order == 2
    assert MatrixFactorization(1, 1, 1, arms="subgroup", horizon=2).group.order == 1
    ball = MatrixFactorization(arms="ball")
    paper = MatrixFactorization(arms="subgroup", horizon=10**6)
    np.testing.assert_array_equal(ball.optimizer, paper.optimizer)
    assert ball.lipschitz == paper.lipschitz


def test_the_seed_draws_the_hidden_factors():
    for arms in KINDS:
        first, again, other = made((2, 2, 2), arms), made((2, 2, 2), arms), made((2, 2, 2), arms, seed=1)
        np.testing.assert_array_equal(first.optimizer, again.optimizer)
        assert np.linalg.norm(first.optimizer - other.optimizer) > 0.1
        assert np.linalg.norm(first.matrix - other.matrix) > 0.01
    with pytest.raises(ValueError, match="read-only"):
        first.optimizer[0] = 0.0
    assert "seed=0" in repr(first)
    assert "horizon=10000" in repr(first)


def test_other_noise_keeps_the_mean():
    problem = made((2, 2, 2), "signed", noise=ob.problems.ClippedGaussian(0.1))
    point = problem.space.sample(1, 0)[0]
    rewards = problem.sample(np.tile(point, (20_000, 1)), 0)
    assert abs(rewards.mean() - problem.mean(point)) < 4 * 0.1 / np.sqrt(20_000)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"users": 0}, "users >= 1"),
        ({"items": -1}, "items >= 1"),
        ({"factors": 0}, "factors >= 1"),
        ({"arms": "bal"}, "Did you mean 'ball'"),
        ({"arms": "subgroup"}, "needs `horizon`"),
        ({"arms": "subgroup", "horizon": 0}, "horizon >= 1"),
        ({"horizon": 100}, "leave it out"),
        ({"arms": "signed", "horizon": 100}, "leave it out"),
        ({"seed": -1}, "seed >= 0"),
        ({"noise": ob.problems.Uniform(0.1, reward_range=(0.0, 0.5))}, "lie in .0, 1., but"),
    ],
)
def test_bad_input_is_refused(arguments, rule):
    with pytest.raises(InputError, match=rule):
        MatrixFactorization(**arguments).optimum  # noqa: B018


def test_wrong_types_are_refused():
    for arguments in ({"users": 2.0}, {"factors": "2"}, {"seed": None}, {"noise": None}, {"noise": "little"}):
        with pytest.raises(InputTypeError):
            MatrixFactorization(**arguments)
    problem = MatrixFactorization()
    for points in (np.zeros(7), np.zeros((2, 9))):
        with pytest.raises(InputError, match="shape"):
            problem.predict(points)
        with pytest.raises(InputError, match="shape"):
            problem.mean(points)
