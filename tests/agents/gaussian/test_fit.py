"""The fit finds the parameters that data were drawn with, from Bernoulli noise to nearly none."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.agents.gaussian.fit import Data, Parameters, Prior, Task, fit
from orbandit.agents.gaussian.quotient_kernel import quotient_kernel

KERNEL = quotient_kernel(ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2), "matern32")
PRIOR = Prior(np.array([0.3]), 1.0)
START = [Parameters(0.1, np.array([0.5]), 0.01)]


def fitted(*given):
    """The parameters alone."""
    return fit(*given).parameters


def drawn(size, repeats, noise, seed, length=0.3, scale=1.0):
    """A function of variance `scale` squared, and the rewards of each point, in one unit."""
    rng = np.random.default_rng(seed)
    features = KERNEL.features(rng.random((size, 2)))
    K = KERNEL.cross(features, features, np.array([length]))
    values = np.linalg.cholesky(K + 1e-10 * np.eye(size)) @ rng.standard_normal(size)
    rewards = scale * (values + np.sqrt(noise) * rng.standard_normal((repeats, size)))
    return Data(features, np.full(size, float(repeats)), rewards.mean(axis=0), rewards.var(axis=0) * repeats)


@pytest.mark.parametrize("known", [False, True])
def test_gradients_are_those_of_the_loss(known):
    group = ob.groups.Product(ob.groups.Symmetric(2), ob.groups.Trivial(1))
    kernel = quotient_kernel(ob.spaces.Box(0.0, 1.0, dim=3), group, "matern52")
    rng = np.random.default_rng(0)
    points = rng.random((15, 3))
    data = Data(kernel.features(points), rng.integers(1, 5, 15) * 1.0, rng.random(15), rng.random(15))
    task = Task(kernel, data, Prior(np.array([0.3, 0.5]), 0.7), np.linspace(0.1, 0.3, 15) if known else None)
    theta = np.log([0.2, 0.4, 0.3, 0.05])
    steps = 1e-5 * np.eye(4)[: 3 if known else 4]
    slopes = [(task.loss(theta + step)[0] - task.loss(theta - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(task.loss(theta)[1][: len(slopes)], slopes, rtol=1e-5)
    assert not known or task.loss(theta)[1][-1] == 0


@pytest.mark.parametrize("noise", [0.3, 1e-2, 1e-4])
def test_noise_and_length_are_found(noise):
    found = fitted(KERNEL, drawn(80, 3, noise, 1), PRIOR, START)
    assert found.noise == pytest.approx(noise, rel=0.5)
    assert 0.15 < found.lengths[0] < 0.6
    assert 0.3 < found.signal < 3.0


def test_nearly_no_noise_is_found_without_repeats():
    assert fitted(KERNEL, drawn(80, 1, 1e-8, 2, length=0.6), PRIOR, START).noise < 3e-5


@pytest.mark.parametrize("scale", [1e-5, 1e4])
def test_units_do_not_matter(scale):
    one, other = (fitted(KERNEL, drawn(40, 2, 0.05, 3, scale=unit), PRIOR, START) for unit in (1.0, scale))
    np.testing.assert_allclose(other.lengths, one.lengths, rtol=0.05)
    assert other.noise / scale**2 == pytest.approx(one.noise, rel=0.1)


def test_scatter_within_points_tells_the_noise():
    """Two points say nothing of a noise, but repeats of them do."""
    features = KERNEL.features(np.array([[0.1, 0.2], [0.5, 0.9]]))
    data = Data(features, np.full(2, 200.0), np.array([0.2, 0.8]), np.full(2, 200 * 0.09))
    assert fitted(KERNEL, data, PRIOR, START).noise == pytest.approx(0.09, rel=0.15)


def test_equal_rewards_and_single_points_fit():
    features = KERNEL.features(np.random.default_rng(0).random((6, 2)))
    for size in (1, 6):
        found = fitted(KERNEL, Data(features[:size], np.ones(size), np.full(size, 0.3), np.zeros(size)), PRIOR, START)
        assert np.isfinite([found.signal, found.noise, *found.lengths]).all()
        assert found.signal > 0


def test_the_priors_rule_where_data_do_not():
    data = Data(KERNEL.features(np.array([[0.3, 0.4]])), np.ones(1), np.array([0.5]), np.zeros(1))
    for length in (0.05, 0.4):
        found = fitted(KERNEL, data, Prior(np.array([length]), 0.7), START)
        assert found.lengths[0] == pytest.approx(length, rel=0.05)
