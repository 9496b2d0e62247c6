"""Means of kernels of sums of squares against slow twins, compiled and plain; derivatives against differences."""

import numpy as np
import pytest

import naive_gp
from orbandit._kernels import squares
from orbandit._kernels.profiles import padded_width
from orbandit._kernels.squares import square_means
from orbandit.agents.gaussian.families import FAMILIES

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
families = pytest.mark.parametrize("family", [None, *FAMILIES])
images = pytest.mark.parametrize(("g", "h"), [(1, 1), (3, 1), (1, 3), (2, 3)])
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
    columns = np.zeros((b.shape[1], b.shape[2], padded_width(len(b))))
    columns[:, :, : len(b)] = b.transpose(1, 2, 0)
    return columns


def features(g=H, h=1):
    """Return images of N and of K points."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((N, g, P)), rng.standard_normal((K, h, P))
    a[0, -1] += 30.0  # far from all others
    return a, b


def expected(family, a, b):
    def squares(x, y):
        return ((x[:, None] - y) ** 2).sum(axis=2).reshape(-1)

    return np.array([[naive_gp.mean_of_kernel(family, squares(x, y)) for y in b] for x in a])


def means(compiled, family, a, b, *, slopes=False, jacobians=None, is_symmetric=False):
    """Return values, slopes and gradients, the latter only if wanted."""
    n, k = len(a), len(b)
    jacobians = np.empty((1, P, 0)) if jacobians is None else jacobians
    out, by_scale = np.full((n, k), np.nan), np.full((3 if slopes else 0, n, k), np.nan)
    gradients = np.full((n, jacobians.shape[2], k), np.nan)
    kernel = pick(square_means, compiled)
    kernel(number(family), a, turned(b), EXPONENTS, jacobians, is_symmetric, out, by_scale, gradients)
    return out, by_scale, gradients


@both
@families
@images
def test_values(g, h, family, compiled):
    a, b = features(g, h)
    values, _, _ = means(compiled, family, a, b)
    np.testing.assert_allclose(values, expected(family, a, b), rtol=1e-11, atol=1e-24)
    np.testing.assert_array_equal(means(compiled, family, a, b, slopes=True)[0], values)
    if g == 1:
        jacobians = np.random.default_rng(1).standard_normal((N, P, 5))
        np.testing.assert_array_equal(means(compiled, family, a, b, jacobians=jacobians)[0], values)


@both
@families
@images
def test_slopes(g, h, family, compiled):
    a, b = features(g, h)
    _, slopes, _ = means(compiled, family, a, b, slopes=True)
    h = 1e-5
    for scale in range(3):
        stretch = np.exp(h * EXPONENTS[:, scale] / 2)
        difference = expected(family, a / stretch, b / stretch) - expected(family, a * stretch, b * stretch)
        np.testing.assert_allclose(slopes[scale], difference / (2 * h), rtol=1e-6, atol=1e-8)


@both
@families
def test_gradients(family, compiled):
    (a, b), h = features(1, H), 1e-5
    jacobians = np.random.default_rng(1).standard_normal((N, P, 5))
    for some in (jacobians, jacobians[:1].copy()):
        _, _, gradients = means(compiled, family, a, b, jacobians=some)
        for d in range(5):
            step = h * some[:, None, :, d]
            difference = expected(family, a + step, b) - expected(family, a - step, b)
            np.testing.assert_allclose(gradients[:, d], difference / (2 * h), rtol=1e-6, atol=1e-8)


@both
def test_half_of_a_symmetric_matrix(compiled):
    x = np.random.default_rng(2).standard_normal((K, P))
    a = np.stack([x, -x], axis=1)  # a group of two
    whole = means(compiled, "matern32", a, x[:, None], slopes=True)
    half = means(compiled, "matern32", a, x[:, None], slopes=True, is_symmetric=True)
    for one, two in zip(whole, half, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-15)
    np.testing.assert_array_equal(half[0], half[0].T)
