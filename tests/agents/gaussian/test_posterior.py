"""Regression that grows against one that solves from scratch, also where points nearly coincide."""

import numpy as np
import pytest

import naive_gp
import orbandit as ob
from orbandit._kernels.factor import downdate_diagonal, solve_lower, solve_rows, solve_upper
from orbandit.agents.gaussian.posterior import FIRST_ROOM, JITTER, Posterior
from orbandit.errors import InputError

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def pick(kernel, compiled):
    return kernel if compiled else kernel.py_func


def covariances(points, length=0.3):
    z = np.sqrt(3) * np.linalg.norm(points[:, None] - points, axis=-1) / length
    return 0.2 * (1 + z) * np.exp(-z)


def grown(points, rewards, noise):
    """Tell rewards (row, value) one at a time; rows are new in their order."""
    known, prior = Posterior(0.4, 0.5), covariances(points)
    for row, value in rewards:
        if row == known.size:
            known.append(prior[row, :row], prior[row, row], noise=noise[row], count=1.0, mean=value)
        else:
            known.observe(row, value)
    return known


def some(size, extra, seed, noise=0.1):
    rng = np.random.default_rng(seed)
    rows = [*range(size), *rng.integers(size, size=extra)]
    return rng.random((size, 2)), [(row, float(rng.random())) for row in rows], np.full(size, noise)


@both
def test_solves_and_lower_diagonals(compiled):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((7, 7))
    matrix = root @ root.T + np.eye(7)
    room = np.full((9, 9), np.nan)
    room[:7, :7] = np.linalg.cholesky(matrix)
    vector = rng.standard_normal(7)
    solution = vector.copy()
    pick(solve_lower, compiled)(room, 7, solution)
    np.testing.assert_allclose(room[:7, :7] @ solution, vector)
    pick(solve_upper, compiled)(room, 7, solution)
    np.testing.assert_allclose(matrix @ solution, vector)
    each = np.array([vector, 2 * vector])
    pick(solve_rows, compiled)(room, 7, each)
    np.testing.assert_allclose(each, [solution, 2 * solution])
    assert pick(downdate_diagonal, compiled)(room, 7, 2, 0.9, np.empty((3, 9)))
    matrix[2, 2] -= 0.9
    np.testing.assert_allclose(room[:7, :7] @ room[:7, :7].T, matrix, atol=1e-12)
    assert not pick(downdate_diagonal, compiled)(room, 7, 0, 2 * matrix[0, 0], np.empty((3, 9)))


@pytest.mark.parametrize("noise", [0.25, 1e-3, 1e-9])
def test_growing_is_solving_from_scratch(noise):
    points, rewards, noises = some(FIRST_ROOM + 9, 150, 1, noise)
    known = grown(points, rewards, noises)
    queries = np.random.default_rng(2).random((20, 2))
    everything = np.concatenate([points, queries])
    prior = covariances(everything)
    size = len(points)
    mean, variance = known.at(prior[:size, size:], prior.diagonal()[size:])
    expected = naive_gp.regression(prior, rewards, noises, 0.4, 0.5, known.jitter)
    np.testing.assert_allclose(mean, expected[0][size:], atol=1e-6)
    np.testing.assert_allclose(variance, expected[1][size:], atol=1e-7)
    assert known.jitter == pytest.approx(JITTER * 0.2)
    np.testing.assert_allclose(known.counts, np.bincount([row for row, _ in rewards]))


def test_the_constant_is_learnt():
    """Far from all points the mean is that of the rewards, not the centre of the prior, if the prior is wide."""
    known = Posterior(0.0, 100.0)
    for i in range(20):
        known.append(np.zeros(i), 0.01, noise=0.01, count=1.0, mean=0.7)
    mean, variance = known.at(np.zeros((20, 1)), np.array([0.01]))
    assert mean[0] == pytest.approx(0.7, abs=1e-3)
    assert 0.01 < variance[0] < 0.02


@pytest.mark.parametrize("gap", [0.0, 1e-16, 1e-12, 1e-8, 1e-5])
def test_nearly_equal_points_without_noise_never_fail(gap):
    rng = np.random.default_rng(3)
    points = np.repeat(rng.random((12, 2)), 3, axis=0)
    points += gap * rng.standard_normal(points.shape)
    rewards = [(row, float(points[row].sum() / 2)) for row in [*range(36), *range(36)]]
    known = grown(points, rewards, np.full(36, 1e-12))
    prior = covariances(points)
    mean, variance = known.at(prior, prior.diagonal())
    assert np.isfinite(mean).all()
    assert (variance > 0).all()
    np.testing.assert_allclose(mean, points.sum(axis=1) / 2, atol=1e-3)


def test_a_matrix_that_is_no_covariance_is_refused():
    known = Posterior(0.0, 1.0)
    with pytest.raises(InputError, match="positive definite"):
        known.rebuild(np.array([[1.0, 9.0], [9.0, 1.0]]), np.ones(2), np.zeros(2), np.full(2, 0.1))


def test_the_kernels_of_the_package_fit_in():
    kernel = ob.agents.gaussian.quotient_kernel.quotient_kernel(ob.spaces.Ball(2), ob.groups.Dihedral(5), "matern32")
    points = ob.spaces.Ball(2).sample(30, 0)
    features = kernel.features(points)
    prior = kernel.cross(features, features, np.array([0.3]))
    known = Posterior(0.0, 1.0)
    known.rebuild(prior, np.ones(30), np.zeros(30), np.full(30, 1e-6))
    np.testing.assert_allclose(known.factor @ known.factor.T, prior + 1.0 + (1e-6 + known.jitter) * np.eye(30))


@pytest.mark.parametrize("size", [FIRST_ROOM // 2, FIRST_ROOM - 1])
def test_a_branch_leaves_what_it_began_with(size):
    """Whether it appends points or observes one again, and then both go on as others do that share nothing."""
    points = np.random.default_rng(0).random((size + 4, 2))
    prior = covariances(points)

    def learnt(known, rows):
        for row in rows:
            known.append(prior[row, : known.size], prior[row, row], noise=0.1, count=1.0, mean=float(row))
        return known

    known, alone = (learnt(Posterior(0.4, 0.5), range(size)) for _ in range(2))
    branch = learnt(known.branch(), [size, size + 1])
    branch.observe(3, 7.0)
    learnt(branch, [size + 2])
    np.testing.assert_array_equal(known.factor, alone.factor)
    np.testing.assert_array_equal(known.weights, alone.weights)
    other = learnt(alone, [size, size + 1])
    other.observe(3, 7.0)
    learnt(other, [size + 2])
    np.testing.assert_array_equal(branch.factor, other.factor)
    np.testing.assert_array_equal(branch.weights, other.weights)
    fresh = learnt(Posterior(0.4, 0.5), range(size + 1))
    np.testing.assert_array_equal(learnt(known, [size]).factor, fresh.factor)
    np.testing.assert_array_equal(known.covariances, fresh.covariances)


def test_a_branch_that_is_factored_anew_leaves_what_it_began_with():
    points = np.random.default_rng(0).random((12, 2))
    prior = covariances(points)

    def learnt(known, rows):
        for row in rows:
            known.append(prior[row, : known.size], prior[row, row], noise=0.1, count=1.0, mean=float(row))
        return known

    known, alone = (learnt(Posterior(0.4, 0.5), range(11)) for _ in range(2))
    branch = known.branch()
    branch.counts[:] = 2.0  # so that factors are others, as rounding makes them
    branch._refactor()
    learnt(branch, [11])
    assert not np.array_equal(branch.factor[:11, :11], alone.factor)
    np.testing.assert_array_equal(known.factor, alone.factor)
    np.testing.assert_array_equal(known.weights, alone.weights)
