"""The marginal likelihood of a group's kernel against the same by matrices of derivatives."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.agents.gaussian.fit import Data, Parameters, Prior, Task
from orbandit.symmetry.marginal import LENGTH_DOUBT, NO_FACTOR, NOISE, NOISE_DOUBT, Marginal
from orbandit.symmetry.pooling import Pool

G = ob.groups


class Leveled:
    """A pool's kernel over its mean variance, with its derivatives by differences: an obvious slow twin."""

    def __init__(self, pool):
        self._pool = pool

    def at(self, points, lengths):
        values = self._pool.cross(points, points, lengths)
        return values / values.diagonal().mean()

    def cross_and_scale_gradients(self, a, b, lengths):
        steps = np.exp(1e-5 * np.eye(len(lengths)))
        gaps = [self.at(a, lengths * step) - self.at(a, lengths / step) for step in steps]
        return self.at(a, lengths), np.array(gaps) / 2e-5


def measured(dim, n=12):
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 4, n).astype(np.float64)
    return Data(rng.normal(size=(n, dim)), counts, rng.normal(size=n), (counts - 1) * rng.random(n))


@pytest.mark.parametrize(
    "group", [G.Trivial(4), G.Symmetric(4), G.Product(G.Dihedral(3), G.Trivial(2)), G.SignFlips(4)], ids=repr
)
def test_the_loss_is_that_of_a_fit_and_its_gradient_its_slope(group):
    pool, data = Pool(group.generators), measured(4)
    marginal = Marginal(data, 0.8)
    prior = Prior(np.full(pool.n_scales, 0.8), LENGTH_DOUBT, noise=NOISE, noise_doubt=NOISE_DOUBT)
    task = Task(Leveled(pool), data, prior, None)
    parameters = Parameters(0.7, np.linspace(0.5, 1.2, pool.n_scales), 0.05)
    theta = task.packed(parameters)
    loss, gradient = marginal.loss(pool, theta)
    slow, slopes = task.loss(theta)
    assert loss == pytest.approx(slow, rel=1e-10)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)
    correlations = Leveled(pool).at(data.features, parameters.lengths)
    assert -marginal.evidence(correlations, parameters) == pytest.approx(slow, rel=1e-10)


def test_a_matrix_without_a_factor_is_refused_as_far_worse():
    data = measured(2)
    parameters = Parameters(1.0, np.ones(2), 1e-12)
    wrong = -np.ones((12, 12))
    assert Marginal(data, 1.0).evidence(wrong, parameters) <= -NO_FACTOR


def test_a_fit_finds_no_less_than_its_start():
    group = G.Symmetric(3)
    pool, data = Pool(group.generators), measured(3)
    start = Parameters(0.5, np.ones(pool.n_scales), 0.1)
    marginal = Marginal(data, 1.0)
    found, evidence = marginal.fitted(pool, start, 20)
    assert evidence > marginal.evidence(Leveled(pool).at(data.features, start.lengths), start)
    assert evidence == pytest.approx(marginal.evidence(Leveled(pool).at(data.features, found.lengths), found))
