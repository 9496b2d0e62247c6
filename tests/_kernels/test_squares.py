"""Means of kernels of sums of squares against slow twins, compiled and plain; derivatives against differences."""

import numpy as np
import pytest

import naive_gp
from orbandit._kernels import squares
from orbandit._kernels.profiles import padded
from orbandit._kernels.squares import square_means
from orbandit.agents.gaussian.families import FAMILIES

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
families = pytest.mark.parametrize("family", [None, *FAMILIES])
N, H, P, K = 4, 3, 2, 11
EXPONENTS = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 1.0]])


def pick(kernel, compiled):
    return kernel if compiled else kernel.py_func


@pytest.fixture(autouse=True)
def plain_helpers(request, monkeypatch):
    """Let plain kernels call plain ones."""
    if not request.node.callspec.params["compiled"]:
        for name in dir(squares):
            if hasattr(getattr(squares, name), "py_func"):
                monkeypatch.setattr(squares, name, getattr(squares, name).py_func)


def number(family):
    return 0 if family is None else 1 + list(FAMILIES).index(family)


def turned(b):
    columns = np.zeros((b.shape[1], padded(len(b))))
    columns[:, : len(b)] = b.T
    return columns


def features():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((N, H, P)), rng.standard_normal((K, P))
    a[0, 1] += 30.0  # far from all others
    return a, b


def expected(family, a, b):
    return np.array([[naive_gp.mean_of_kernel(family, ((x - y) ** 2).sum(axis=1)) for y in b] for x in a])


def means(compiled, family, a, b, *, slopes=False, turns=None, is_symmetric=False):
    """Return values, slopes and gradients, the latter only if wanted."""
    n, k = len(a), len(b)
    turns = np.empty((1, a.shape[1], P, 0)) if turns is None else turns
    out, by_scale = np.full((n, k), np.nan), np.full((3 if slopes else 0, n, k), np.nan)
    gradients = np.full((n, turns.shape[3], k), np.nan)
    kernel = pick(square_means, compiled)
    kernel(number(family), a, turned(b), EXPONENTS, turns, is_symmetric, out, by_scale, gradients)
    return out, by_scale, gradients


@both
@families
def test_values(family, compiled):
    a, b = features()
    values, _, _ = means(compiled, family, a, b)
    np.testing.assert_allclose(values, expected(family, a, b), rtol=1e-11, atol=1e-24)
    np.testing.assert_array_equal(means(compiled, family, a, b, slopes=True)[0], values)
    turns = np.random.default_rng(1).standard_normal((N, H, P, 5))
    np.testing.assert_array_equal(means(compiled, family, a, b, turns=turns)[0], values)


@both
@families
def test_derivatives(family, compiled):
    a, b = features()
    turns = np.random.default_rng(1).standard_normal((N, H, P, 5))
    _, slopes, gradients = means(compiled, family, a, b, slopes=True, turns=turns)
    h = 1e-5
    for scale in range(3):
        stretch = np.exp(h * EXPONENTS[:, scale] / 2)
        difference = expected(family, a / stretch, b / stretch) - expected(family, a * stretch, b * stretch)
        np.testing.assert_allclose(slopes[scale], difference / (2 * h), rtol=1e-6, atol=1e-8)
    shared = turns[:1].copy()
    for some, found in ((turns, gradients), (shared, means(compiled, family, a, b, turns=shared)[2])):
        for d in range(5):
            difference = expected(family, a + h * some[..., d], b) - expected(family, a - h * some[..., d], b)
            np.testing.assert_allclose(found[:, d], difference / (2 * h), rtol=1e-6, atol=1e-8)


@both
def test_half_of_a_symmetric_matrix(compiled):
    x = np.random.default_rng(2).standard_normal((K, P))
    a = np.stack([x, -x], axis=1)  # a group of two
    whole = means(compiled, "matern32", a, x, slopes=True)
    half = means(compiled, "matern32", a, x, slopes=True, is_symmetric=True)
    for one, two in zip(whole, half, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-15)
    np.testing.assert_array_equal(half[0], half[0].T)
