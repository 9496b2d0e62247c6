"""Random invariant functions: kernels by brute force over elements, and all that is claimed of them."""

import itertools

import numpy as np
import pytest

import orbandit as ob
from naive import bump
from orbandit.errors import GroupTooLargeError, InputError, InputTypeError, NoDomainError
from orbandit.problems import gaussian_process

SWAP, FLOWER, SHIFT = ob.groups.Symmetric(2), ob.groups.Dihedral(5), ob.groups.CyclicShift(3)
DISK = ob.spaces.Ball(2)


def naive_averaged(group, x, y, length_scale):
    """k_G: the mean over all elements."""
    return sum(bump(group.act(g, x), y, length_scale) for g in group.elements()) / group.order


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_the_kernel_is_the_average_over_elements(epsilon):
    problem = ob.problems.GaussianProcess(FLOWER, centers=6, epsilon=epsilon)
    kernel, centers = problem._kernel(), problem._centers
    for i, j in itertools.product(range(6), repeat=2):
        shared, own = naive_averaged(FLOWER, centers[i], centers[j], 0.12), bump(centers[i], centers[j], 0.12)
        assert kernel[i, j] == pytest.approx((1 - epsilon) * shared + epsilon * own, abs=1e-12)
    assert np.linalg.eigvalsh(kernel).min() > 0
    x, y = DISK.sample(2, 3)
    for element in FLOWER.elements():
        moved = FLOWER.act(element, x)
        assert naive_averaged(FLOWER, moved, y, 0.12) == pytest.approx(naive_averaged(FLOWER, x, y, 0.12), abs=1e-12)


def test_the_function_goes_through_the_values_drawn():
    for epsilon in (0.0, 0.2):
        problem = ob.problems.GaussianProcess(SHIFT, epsilon=epsilon, seed=3)
        drawn = problem._values
        assert len(drawn) == 64
        np.testing.assert_allclose(problem._function(problem._centers), drawn, atol=1e-6 * np.ptp(drawn))
        order, means = np.argsort(drawn), problem.mean(problem._centers)
        np.testing.assert_array_equal(order, np.argsort(means))
        x = SHIFT.act(SHIFT.elements()[1], problem._centers[0])
        assert bool(abs(problem.mean(x) - means[0]) < 1e-12) == (epsilon == 0)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("group", "space"), [(SWAP, None), (FLOWER, None), (SWAP, ob.spaces.Ball(2, radius=0.7))])
def test_the_optimum_is_that_of_a_dense_grid(group, space, seed):
    problem = ob.problems.GaussianProcess(group, space, seed=seed)
    low, high = problem.space.bounds
    axis = np.linspace(0, 1, 801)
    grid = low + (high - low) * np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid = grid[problem.space.contains(grid)]
    means = problem.mean(grid)
    step = float((high - low).max()) / 800
    assert means.max() <= problem.optimum + problem.tolerance
    # A summit that is seen has no slope, so the grid misses it by second order only; a wall may
    # cost more.
    assert problem.optimum - problem.lipschitz * step <= means.max()
    assert problem.tolerance <= 0.01 + 1e-8
    assert means.min() >= 0.05
    assert means.min() - problem.lipschitz * step <= 0.05 + problem._scale * (
        -problem._certificate.lowest.value - problem._certificate.low
    )
    assert means.max() <= 0.95


@pytest.mark.parametrize("group", [SWAP, FLOWER, SHIFT])
def test_bounds_are_true_at_random_points(group):
    problem = ob.problems.GaussianProcess(group, seed=5, tolerance=1e-4)
    sample = problem.space.sample(20_000, 0)
    means = problem.mean(sample)
    assert ((means >= 0.05) & (means <= 0.95)).all()
    assert means.max() <= problem.optimum + problem.tolerance
    assert 0 < problem.tolerance <= 1e-4 + 1e-8
    assert problem.optimum == pytest.approx(0.95, abs=1.1e-4)
    near = problem.space.project(sample + 1e-4 * np.random.default_rng(1).standard_normal(sample.shape))
    slopes = np.abs(problem.mean(near) - means) / np.linalg.norm(near - sample, axis=1)
    assert 0.5 * problem.lipschitz < slopes.max() <= problem.lipschitz * (1 + 1e-6)


@pytest.mark.parametrize("group", [SWAP, FLOWER, SHIFT, ob.groups.Trivial(1), ob.groups.Coxeter("H3")])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_problems_are_what_they_claim(group, epsilon):
    problem = ob.problems.GaussianProcess(group, epsilon=epsilon, centers=16, seed=1)
    report = ob.problems.check(problem, points=400)
    assert report, str(report)
    assert problem.tolerance <= 0.01 + 1e-8
    assert report.steepest > 0.7 * problem.lipschitz


def test_six_dimensions_within_a_small_budget(monkeypatch):
    monkeypatch.setattr(gaussian_process, "BUDGET", 30_000_000)
    problem = ob.problems.GaussianProcess(ob.groups.Symmetric(6), centers=4)
    report = ob.problems.check(problem, points=200)
    assert report, str(report)
    assert isinstance(problem.space, ob.spaces.Box)
    sample = problem.space.sample(5000, 0)
    means = problem.mean(sample)
    assert ((means >= 0.05) & (means <= 0.95)).all()
    assert means.max() <= problem.optimum + problem.tolerance
    assert ("tolerance proved" in repr(problem)) == (problem.tolerance > 0.01)
    assert problem.tolerance < 0.2


def test_what_could_not_be_proved_is_said(monkeypatch):
    monkeypatch.setattr(gaussian_process, "BUDGET", 30_000)
    problem = ob.problems.GaussianProcess(SHIFT, centers=20)
    assert problem.tolerance > 0.02
    assert "tolerance proved: 0." in repr(problem)
    assert problem.optimum + problem.tolerance == pytest.approx(0.95, abs=1e-6)
    assert ob.problems.check(problem, points=400)
    monkeypatch.undo()
    assert "proved" not in repr(ob.problems.GaussianProcess(SHIFT, centers=20))


def test_parts_are_bounded_apart_where_the_whole_is_too_hard(monkeypatch):
    monkeypatch.setattr(gaussian_process, "BUDGET", 600_000)
    problem = ob.problems.GaussianProcess(ob.groups.Symmetric(4), centers=10, epsilon=0.02)
    assert problem.tolerance > 0.01
    means = problem.mean(problem.space.sample(5000, 0))
    assert ((means >= 0.05) & (means <= 0.95)).all()
    monkeypatch.setattr(gaussian_process, "replace", lambda whole, **_: whole)
    apart = ob.problems.GaussianProcess(ob.groups.Symmetric(4), centers=10, epsilon=0.02)
    assert problem.tolerance < 0.7 * apart.tolerance


def asymmetry(problem, group):
    sample = problem.space.sample(2000, 1)
    return max(np.abs(problem.mean(group.act(g, sample)) - problem.mean(sample)).max() for g in group.generators)


def test_a_mixture_is_nearly_invariant():
    changes = []
    for epsilon in (0.0, 0.01, 0.1, 1.0):
        problem = ob.problems.GaussianProcess(SWAP, epsilon=epsilon)
        assert problem.nearly is SWAP
        assert problem.group is (SWAP if epsilon == 0 else None)
        changes.append(asymmetry(problem, SWAP))
    assert changes[0] < 1e-12
    assert changes[0] < changes[1] < changes[2] < changes[3]
    assert changes[1] > 1e-4


def test_a_seed_is_a_function():
    points = np.random.default_rng(0).random((50, 2))
    first, second, other = (ob.problems.GaussianProcess(SWAP, seed=s) for s in (7, 7, 8))
    np.testing.assert_array_equal(first.mean(points), second.mean(points))
    assert first.optimum == second.optimum
    assert first.lipschitz == second.lipschitz
    assert np.abs(first.mean(points) - other.mean(points)).max() > 0.1
    assert repr(first) == (
        "GaussianProcess(Symmetric(2), Box([0.0, 0.0], [1.0, 1.0]), length_scale=0.12, centers=35, epsilon=0.0, "
        "tolerance=0.01, seed=7)"
    )


def test_the_optimum_is_not_where_agents_begin():
    for seed in range(12):  # five of these first draws have their optimum in the middle of the disk
        problem = ob.problems.GaussianProcess(FLOWER, seed=seed, length_scale=0.4)
        assert np.linalg.norm(problem.optimizer) > 0.02


def test_the_default_space_and_centers():
    assert ob.problems.GaussianProcess(SWAP).space.bounds[1].tolist() == [1.0, 1.0]
    assert isinstance(ob.problems.GaussianProcess(ob.groups.SignFlips(2), centers=4).space, ob.spaces.Ball)
    centred = ob.groups.SignFlips(2).centered([0.5, 0.5])
    assert isinstance(ob.problems.GaussianProcess(centred, centers=4).space, ob.spaces.Box)
    counts = [
        gaussian_process._usual_centers(group, space, 0.12)
        for group, space in (
            (SWAP, ob.spaces.Box(0, 1, dim=2)),
            (FLOWER, DISK),
            (SHIFT, ob.spaces.Box(0, 1, dim=3)),
            (ob.groups.Symmetric(6), ob.spaces.Box(0, 1, dim=6)),
            (ob.groups.Symmetric(8), ob.spaces.Box(0, 1, dim=8)),
        )
    ]
    assert counts == [35, 22, 64, 16, 4]


def test_rewards_have_the_range_of_their_noise():
    noise = ob.problems.Uniform(0.5, reward_range=(-10.0, 10.0))
    scaled = ob.problems.GaussianProcess(SWAP, noise=noise)
    plain = ob.problems.GaussianProcess(SWAP)
    points = np.random.default_rng(0).random((50, 2))
    np.testing.assert_allclose(scaled.mean(points), 20 * plain.mean(points) - 10, atol=1e-9)
    assert scaled.lipschitz == pytest.approx(20 * plain.lipschitz)
    assert scaled.tolerance == pytest.approx(20 * plain.tolerance, rel=1e-6)
    assert ob.problems.check(scaled, points=200)


def test_a_group_without_a_domain_is_bounded_on_the_whole_space(monkeypatch):
    def refuse(self, point=None):
        raise NoDomainError("none")

    known = ob.problems.GaussianProcess(SWAP, centers=8)
    monkeypatch.setattr(ob.groups.Symmetric, "domain", refuse)
    problem = ob.problems.GaussianProcess(ob.groups.Symmetric(2), centers=8)
    assert problem.tolerance <= 0.01 + 1e-8
    assert problem.optimum == pytest.approx(known.optimum, abs=0.01)


@pytest.mark.parametrize(
    ("error", "group", "arguments"),
    [
        (GroupTooLargeError, ob.groups.Orthogonal(2, 1), {}),
        (GroupTooLargeError, ob.groups.Symmetric(9), {"centers": 2}),
        (InputError, SWAP, {"centers": 100_001}),
        (GroupTooLargeError, ob.groups.Symmetric(9), {"centers": None}),
        (InputError, SWAP, {"epsilon": -0.1}),
        (InputError, SWAP, {"epsilon": 1.5}),
        (InputError, SWAP, {"epsilon": [0.1, 0.2]}),
        (InputError, SWAP, {"tolerance": 0.0}),
        (InputError, SWAP, {"length_scale": -1.0}),
        (InputError, SWAP, {"length_scale": 1e-5}),
        (InputError, SWAP, {"length_scale": 10.0}),
        (InputError, SWAP, {"centers": 0}),
        (InputError, SWAP, {"seed": -1}),
        (InputError, SWAP, {"space": ob.spaces.Box([0, 0], [1, 2])}),
        (InputError, SWAP, {"space": ob.spaces.Box(0, 1, dim=3)}),
        (InputError, SWAP.centered([0.2, 0.1]), {}),
        (InputTypeError, None, {}),
        (InputTypeError, SWAP, {"space": "square"}),
        (InputTypeError, SWAP, {"noise": None}),
        (InputTypeError, SWAP, {"seed": 0.5}),
    ],
)
def test_bad_input_is_refused(error, group, arguments):
    with pytest.raises(error):
        ob.problems.GaussianProcess(group, **arguments)


def test_hopeless_draws_are_refused(monkeypatch):
    monkeypatch.setattr(ob.problems.GaussianProcess, "_tells", lambda self, point: True)
    with pytest.raises(InputError, match="smaller `length_scale`"):
        ob.problems.GaussianProcess(SWAP, centers=2)
