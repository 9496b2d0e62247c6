"""Means over exchanges of units against a slow twin, compiled and plain; derivatives against differences."""

import numpy as np
import pytest

import naive_gp
from orbandit._kernels import permanents
from orbandit._kernels.permanents import LANES, exchange_means

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
N, K = 3, 9
MIRRORS = np.array([np.eye(2), np.diag([1.0, -1.0])])
CLASSES = [(np.array([[0, 3], [2, 1]]), MIRRORS), (np.array([[4], [5], [6]]), np.ones((1, 1, 1)))]
SCALES = np.array([0, 1, 0, 1, 2, 2, 2])


@pytest.fixture(autouse=True)
def plain_helpers(request, monkeypatch):
    """Let plain kernels call plain ones."""
    if not request.node.callspec.params["compiled"]:
        for name in ("permanent", "permanent_gradient"):
            monkeypatch.setattr(permanents, name, getattr(permanents, name).py_func)


def means(compiled, a, b, is_symmetric=False, n_scales=3):
    """Return values and derivatives for points a, (n, g, 7), and b, (k, 7)."""
    columns = np.zeros((7, -(-len(b) // LANES) * LANES))
    columns[:, : len(b)] = b.T
    places = np.concatenate([units.ravel() for units, _ in CLASSES])
    rows, turns = np.array([[2, 2, 0, 2, 0], [3, 1, 4, 1, 8]]), np.concatenate([t.ravel() for _, t in CLASSES])
    out, by_scale = np.empty((len(a), len(b))), np.empty((n_scales, len(a), len(b)))
    kernel = exchange_means if compiled else exchange_means.py_func
    kernel(a, columns, places, rows, turns, SCALES, is_symmetric, out, by_scale)
    return out, by_scale


@both
def test_means_are_those_over_all_exchanges_and_turns(compiled):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(N, 2, 7)), rng.normal(size=(K, 7))
    slow = [[naive_gp.mean_over_exchanges(x, y, CLASSES) for y in b] for x in a]
    for n_scales in (0, 3):
        np.testing.assert_allclose(means(compiled, a, b, n_scales=n_scales)[0], slow, rtol=1e-11)


@both
def test_derivatives_are_differences(compiled):
    rng = np.random.default_rng(1)
    a, b, step = rng.normal(size=(N, 2, 7)), rng.normal(size=(K, 7)), 1e-5
    for scale in range(3):
        factors = np.exp(step * (scale == SCALES))
        longer, shorter = means(compiled, a / factors, b / factors)[0], means(compiled, a * factors, b * factors)[0]
        found = means(compiled, a, b)[1][scale]
        np.testing.assert_allclose(found, (longer - shorter) / (2 * step), atol=1e-8)


@both
def test_half_of_a_symmetric_matrix_is_enough(compiled):
    rng = np.random.default_rng(2)
    b = rng.normal(size=(K, 7))
    for whole, half in zip(means(compiled, b[:, None], b), means(compiled, b[:, None], b, True), strict=True):
        np.testing.assert_allclose(half, whole, rtol=1e-12, atol=1e-15)


@both
def test_points_far_apart_give_numbers(compiled):
    values, by_scale = means(compiled, np.zeros((1, 1, 7)), np.full((1, 7), 1e3))
    assert 0 <= values[0, 0] < 1e-100
    assert np.isfinite(by_scale).all()
