"""Noise: every kind keeps the mean and the range, ends included, and is drawn from the stream it is given."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import orbandit as ob
from orbandit.errors import InputError
from orbandit.problems.noise import _clipped_mean

P = ob.problems
KINDS = {
    "Bernoulli": P.Bernoulli(),
    "Gaussian, narrow": P.ClippedGaussian(0.05),
    "Gaussian": P.ClippedGaussian(0.3),
    "Gaussian, wide": P.ClippedGaussian(5.0),
    "Gaussian, other range": P.ClippedGaussian(30.0, reward_range=(-20.0, 80.0)),
    "uniform": P.Uniform(0.2),
    "uniform, other range": P.Uniform(3.0, reward_range=(5.0, 6.0)),
    "beta": P.Beta(5.0),
    "beta, nearly none": P.Beta(1e4, reward_range=(-1.0, 1.0)),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_mean_is_kept_over_the_whole_range(name):
    noise, size = KINDS[name], 40_000
    low, high = noise.reward_range
    for share in (0.0, 0.001, 0.02, 0.3, 0.5, 0.9, 0.999, 1.0):
        mean = low + share * (high - low)
        rewards = noise.sample(np.full(size, mean), np.random.default_rng(7))
        assert rewards.shape == (size,)
        assert low <= rewards.min()
        assert rewards.max() <= high
        # Four standard errors, of no less than the deviation that a rare reward at the far end
        # would have.
        deviation = max(rewards.std(), (high - low) * np.sqrt(share * (1 - share)) * 0.05)
        assert abs(rewards.mean() - mean) <= 4 * deviation / np.sqrt(size) + 1e-9 * (high - low)


@pytest.mark.parametrize("name", KINDS)
def test_the_same_stream_gives_the_same_rewards(name):
    noise = KINDS[name]
    low, high = noise.reward_range
    means = np.linspace(low, high, 20)
    first, again, other = (noise.sample(means, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert repr(noise) == repr(eval(repr(noise), vars(P)))


def test_the_mean_of_a_clipped_gaussian_is_the_integral():
    for center, s in ((0.2, 0.1), (0.97, 0.3), (-0.4, 0.5), (1.3, 2.0)):
        inner = quad(lambda t, c=center, s=s: t * norm.pdf(t, c, s), 0, 1, epsabs=1e-12)[0] + norm.sf(1, center, s)
        value, slope = _clipped_mean(np.array([center]), s)
        assert value[0] == pytest.approx(inner, abs=1e-9)
        above = _clipped_mean(np.array([center + 1e-6]), s)[0][0]
        assert slope[0] == pytest.approx((above - value[0]) / 1e-6, abs=1e-4)


@pytest.mark.parametrize("deviation", [0.01, 0.05, 0.3, 1.0, 10.0])
def test_the_centre_of_a_clipped_gaussian_solves_its_equation(deviation):
    noise = P.ClippedGaussian(deviation)
    means = np.concatenate([10.0 ** np.arange(-12, -1), np.linspace(0.02, 0.98, 49), 1 - 10.0 ** np.arange(-12, -1)])
    np.testing.assert_allclose(_clipped_mean(noise._center(means), deviation)[0], means, atol=1e-7)


def test_bad_input_is_refused():
    for make in (P.ClippedGaussian, P.Uniform, P.Beta):
        for bad in (0.0, -1.0, np.nan):
            with pytest.raises(InputError):
                make(bad)
        for wrong in ((1.0, 0.0), (0.0, 0.0), (0.0, np.inf), (0.0, 1.0, 2.0)):
            with pytest.raises(InputError):
                make(0.5, reward_range=wrong)
