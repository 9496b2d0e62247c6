"""Means of kernels of layouts against slow twins, compiled and as plain Python; derivatives against differences."""

import numpy as np
import pytest

import naive_gp
from orbandit._kernels import layouts
from orbandit._kernels.layouts import LANES, Own, blocks_for, layout_means, paired_similarities, sort_units
from orbandit.agents.gaussian.families import FAMILIES

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
signs = pytest.mark.parametrize("signed", [False, True], ids=["plain", "signed"])
shapes = pytest.mark.parametrize(("units", "size"), [(1, 1), (2, 3), (4, 2)])
families = pytest.mark.parametrize("family", [None, "matern32", "rbf"])
SQUARE = 1.7


def pick(kernel, compiled):
    return kernel if compiled else kernel.py_func


@pytest.fixture(autouse=True)
def plain_helpers(request, monkeypatch):
    """Let plain kernels call plain ones."""
    if not request.node.callspec.params["compiled"]:
        for name in dir(layouts):
            if hasattr(getattr(layouts, name), "py_func"):
                monkeypatch.setattr(layouts, name, getattr(layouts, name).py_func)


def number(family):
    return 0 if family is None else 1 + list(FAMILIES).index(family)


def some_layouts(units, size):
    """Return 4 points with 2 images each, and 3 others."""
    rng = np.random.default_rng(units)
    a, b = rng.standard_normal((4, 2, units, size)), rng.standard_normal((3, units, size))
    b[0] = a[0, 1]
    b[1] = 30.0  # far from all others
    return a, b


def in_blocks(b, signed, first=0):
    """Return layouts in blocks of lanes, with the negatives of units if signs do not matter."""
    n, units, size = b.shape
    lanes = np.zeros((blocks_for(n) * LANES, units, size))
    lanes[first : first + n] = b
    blocks = lanes.reshape(-1, LANES, units, size).transpose(0, 2, 3, 1)
    return np.concatenate([blocks, -blocks], axis=1) if signed else blocks.copy()


def means(compiled, family, a, b, signed, *, kinds=None, turns=None, lengths=None, is_symmetric=False):
    """Return values, slopes and gradients, the latter only if there are kinds or turns.

    The last of the slopes is that by the logarithm of the reach.
    """
    n, k, size = len(a), len(b), b.shape[2]
    kinds, scales = (np.zeros(size, dtype=np.int64), 0) if kinds is None else (kinds, kinds.max() + 2)
    turns, lengths = (
        np.empty((a.shape[1], 0, 0)) if turns is None else turns,
        np.ones(size) if lengths is None else lengths,
    )
    second = in_blocks(b, signed, 1)
    own = Own(np.empty((len(second), LANES)), np.empty((len(second), kinds.max() + 1, LANES)), kinds)
    for block, values, slopes in zip(second, own.values, own.slopes, strict=True):
        pick(paired_similarities, compiled)(block[: b.shape[1]], block, kinds, values, slopes)
    out, by_scale = np.full((n, k), np.nan), np.full((scales, n, k), np.nan)
    gradients = np.full((n, turns.shape[2], k), np.nan)
    kernel = pick(layout_means, compiled)
    kernel(number(family), SQUARE, a, second, own, turns, lengths, is_symmetric, out, by_scale, gradients)
    return out, by_scale, gradients


def expected(family, a, b, signed, square=SQUARE):
    return np.array(
        [
            [
                naive_gp.mean_of_kernel(family, [square * naive_gp.layout_square(x, y, signed) for x in images])
                for y in b
            ]
            for images in a
        ]
    )


def kinds_of(size):
    """Two kinds of places, if there are enough."""
    return np.arange(size, dtype=np.int64) % 2


@both
@signs
@shapes
@families
def test_values(units, size, signed, family, compiled):
    a, b = some_layouts(units, size)
    values, _, _ = means(compiled, family, a, b, signed)
    np.testing.assert_allclose(values, expected(family, a, b, signed), rtol=1e-11, atol=1e-14)
    np.testing.assert_array_equal(means(compiled, family, a, b, signed, kinds=kinds_of(size))[0], values)
    np.testing.assert_array_equal(means(compiled, family, a, b, signed, turns=np.ones((2, units * size, 3)))[0], values)


@both
@signs
@shapes
def test_a_layout_is_at_no_distance_from_itself(units, size, signed, compiled):
    x = np.random.default_rng(size).standard_normal((LANES + 6 if compiled else 20, units, size))
    values, _, _ = means(compiled, None, x[:, None].copy(), x, signed)
    assert (np.diag(values) == 0.0).all()


@both
@signs
@shapes
@families
def test_derivatives(units, size, signed, family, compiled):
    a, b = some_layouts(units, size)
    kinds, lengths = kinds_of(size), np.linspace(0.5, 2.0, size)
    turns = np.random.default_rng(1).standard_normal((2, units * size, 2))
    _, slopes, gradients = means(compiled, family, a, b, signed, kinds=kinds, turns=turns, lengths=lengths)
    h = 1e-5
    for kind in range(len(slopes) - 1):
        stretch = np.exp(h * (kinds == kind))
        high, low = (expected(family, a * s, b * s, signed) for s in (1 / stretch, stretch))
        np.testing.assert_allclose(slopes[kind], (high - low) / (2 * h), atol=1e-8)
    # q is proportional to reach^-2.
    high, low = (expected(family, a, b, signed, SQUARE * np.exp(s)) for s in (-2 * h, 2 * h))
    np.testing.assert_allclose(slopes[-1], (high - low) / (2 * h), atol=1e-8)
    for d in range(2):
        step = h * turns[:, :, d].reshape(2, units, size) / lengths
        high, low = (expected(family, a + s, b, signed) for s in (step, -step))
        np.testing.assert_allclose(gradients[:, d], (high - low) / (2 * h), atol=1e-8)


@both
@signs
def test_half_of_a_symmetric_matrix(signed, compiled):
    size = LANES + 5 if compiled else 11
    x, kinds = np.random.default_rng(2).standard_normal((size, 3, 2)), np.zeros(2, dtype=np.int64)
    a = np.stack([x, x @ np.diag([1.0, -1.0])], axis=1)  # a group of two
    whole = means(compiled, "matern32", a, x, signed, kinds=kinds)
    half = means(compiled, "matern32", a, x, signed, kinds=kinds, is_symmetric=True)
    for one, two in zip(whole, half, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-14)
    np.testing.assert_array_equal(half[0], half[0].T)


@both
@signs
@shapes
def test_paired_similarities(units, size, signed, compiled):
    a, b = some_layouts(units, size)
    x, kinds = a[:3, 0].copy(), kinds_of(size)
    values, slopes = np.empty(LANES), np.empty((kinds.max() + 1, LANES))
    pick(paired_similarities, compiled)(in_blocks(x, False)[0], in_blocks(b, signed)[0], kinds, values, slopes)
    pairs = list(zip(x, b, strict=True))
    np.testing.assert_allclose(
        values[:3], [naive_gp.layout_similarity(u, v, signed) for u, v in pairs], rtol=1e-12, atol=1e-25
    )
    h = 1e-5
    for kind in range(len(slopes)):
        stretch = np.exp(h * (kinds == kind))
        high, low = (
            np.array([naive_gp.layout_similarity(u * s, v * s, signed) for u, v in pairs])
            for s in (1 / stretch, stretch)
        )
        np.testing.assert_allclose(slopes[kind, :3], (high - low) / (2 * h), atol=1e-9)


@both
@signs
@shapes
def test_sort_units(units, size, signed, compiled):
    some = np.random.default_rng(units).integers(-2, 3, (40, units, size)).astype(float)  # with ties and zeros
    some[0] = -0.0
    expected = np.array([naive_gp.sorted_units(x, signed) for x in some])
    pick(sort_units, compiled)(some, signed)
    np.testing.assert_array_equal(some, expected)
    assert not np.signbit(some[some == 0.0]).any()
