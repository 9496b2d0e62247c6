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
SOME_FAMILIES, IMAGES = [None, "matern32", "rbf"], [(1, 1), (2, 1), (1, 2)]
families = pytest.mark.parametrize("family", SOME_FAMILIES)
SQUARE = 1.7
# Plain Python is slow: there each family has its own numbers of images.
of_images = pytest.mark.parametrize(
    ("compiled", "family", "g", "h"),
    [(True, family, *pair) for family in SOME_FAMILIES for pair in IMAGES]
    + [(False, family, *pair) for family, pair in zip(SOME_FAMILIES, IMAGES, strict=True)],
)


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


def some_layouts(units, size, g=2, h=1):
    """Return 4 points with g images each, and 3 others with h."""
    rng = np.random.default_rng(units)
    a, b = rng.standard_normal((4, g, units, size)), rng.standard_normal((3, h, units, size))
    b[0, -1] = a[0, -1]
    b[1] = 30.0  # far from all others
    return a, b


def in_blocks(b, signed, first=0):
    """Return layouts (n, h, units, size) in blocks of lanes, with the negatives of units if signs do not matter."""
    n, h, units, size = b.shape
    lanes = np.zeros((h, blocks_for(n) * LANES, units, size))
    lanes[:, first : first + n] = b.swapaxes(0, 1)
    blocks = lanes.reshape(h, -1, LANES, units, size).transpose(0, 1, 3, 4, 2)
    return np.concatenate([blocks, -blocks], axis=2) if signed else blocks.copy()


def means(compiled, family, a, b, signed, *, kinds=None, lengths=None, is_symmetric=False):
    """Return values, slopes and gradients, the latter only if there are kinds or lengths.

    The last of the slopes is that by the logarithm of the reach.
    """
    n, (k, h, units, size) = len(a), b.shape
    kinds, scales = (np.zeros(size, dtype=np.int64), 0) if kinds is None else (kinds, kinds.max() + 2)
    second = in_blocks(b, signed, 1)
    own = Own(np.empty((h, second.shape[1], LANES)), np.empty((h, second.shape[1], kinds.max() + 1, LANES)), kinds)
    for image, values, slopes in zip(second, own.values, own.by_kind, strict=True):
        pick(paired_similarities, compiled)(image[:, :units].copy(), image, kinds, values, slopes)
    out, by_scale = np.full((n, k), np.nan), np.full((scales, n, k), np.nan)
    gradients = np.full((n, 0 if lengths is None else units * size, k), np.nan)
    lengths = np.ones(size) if lengths is None else lengths
    kernel = pick(layout_means, compiled)
    kernel(number(family), SQUARE, a, second, own, lengths, is_symmetric, out, by_scale, gradients)
    return out, by_scale, gradients


def expected(family, a, b, signed, square=SQUARE):
    def mean(one, two):
        squares = [square * naive_gp.layout_square(x, y, signed) for x in one for y in two]
        return naive_gp.mean_of_kernel(family, squares)

    return np.array([[mean(one, two) for two in b] for one in a])


def kinds_of(size):
    """Two kinds of places, if there are enough."""
    return np.arange(size, dtype=np.int64) % 2


@of_images
@signs
@shapes
def test_values(g, h, units, size, signed, family, compiled):
    a, b = some_layouts(units, size, g, h)
    values, _, _ = means(compiled, family, a, b, signed)
    np.testing.assert_allclose(values, expected(family, a, b, signed), rtol=1e-11, atol=1e-14)
    np.testing.assert_array_equal(means(compiled, family, a, b, signed, kinds=kinds_of(size))[0], values)
    if g == 1:
        np.testing.assert_array_equal(means(compiled, family, a, b, signed, lengths=np.ones(size))[0], values)


@both
@signs
@shapes
def test_a_layout_is_at_no_distance_from_itself(units, size, signed, compiled):
    x = np.random.default_rng(size).standard_normal((LANES + 6 if compiled else 20, 1, units, size))
    values, _, _ = means(compiled, None, x, x, signed)
    assert (np.diag(values) == 0.0).all()


@of_images
@signs
@shapes
def test_slopes(g, h, units, size, signed, family, compiled):
    a, b = some_layouts(units, size, g, h)
    kinds, h = kinds_of(size), 1e-5
    _, slopes, _ = means(compiled, family, a, b, signed, kinds=kinds)
    for kind in range(len(slopes) - 1):
        stretch = np.exp(h * (kinds == kind))
        high, low = (expected(family, a * s, b * s, signed) for s in (1 / stretch, stretch))
        np.testing.assert_allclose(slopes[kind], (high - low) / (2 * h), atol=1e-8)
    # q is proportional to reach^-2.
    high, low = (expected(family, a, b, signed, SQUARE * np.exp(s)) for s in (-2 * h, 2 * h))
    np.testing.assert_allclose(slopes[-1], (high - low) / (2 * h), atol=1e-8)


@both
@signs
@shapes
@families
def test_gradients(units, size, signed, family, compiled):
    (a, b), lengths, h = some_layouts(units, size, 1, 2), np.linspace(0.5, 2.0, size), 1e-5
    _, _, gradients = means(compiled, family, a, b, signed, lengths=lengths)
    for place in range(units * size):
        step = h * np.eye(units * size)[place].reshape(units, size) / lengths
        high, low = (expected(family, a + s, b, signed) for s in (step, -step))
        np.testing.assert_allclose(gradients[:, place], (high - low) / (2 * h), atol=1e-8)


@both
@signs
def test_half_of_a_symmetric_matrix(signed, compiled):
    size = LANES + 5 if compiled else 11
    x, kinds = np.random.default_rng(2).standard_normal((size, 3, 2)), np.zeros(2, dtype=np.int64)
    a = np.stack([x, x @ np.diag([1.0, -1.0])], axis=1)  # a group of two
    whole = means(compiled, "matern32", a, x[:, None], signed, kinds=kinds)
    half = means(compiled, "matern32", a, x[:, None], signed, kinds=kinds, is_symmetric=True)
    for one, two in zip(whole, half, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-14)
    np.testing.assert_array_equal(half[0], half[0].T)


@both
@signs
@shapes
def test_paired_similarities(units, size, signed, compiled):
    a, b = some_layouts(units, size)
    x, kinds = a[:3, :1], kinds_of(size)
    values, slopes = np.empty((1, LANES)), np.empty((1, kinds.max() + 1, LANES))
    pick(paired_similarities, compiled)(in_blocks(x, False)[0], in_blocks(b, signed)[0], kinds, values, slopes)
    pairs = list(zip(x[:, 0], b[:, 0], strict=True))
    np.testing.assert_allclose(
        values[0, :3], [naive_gp.layout_similarity(u, v, signed) for u, v in pairs], rtol=1e-12, atol=1e-25
    )
    h = 1e-5
    for kind in range(kinds.max() + 1):
        stretch = np.exp(h * (kinds == kind))
        high, low = (
            np.array([naive_gp.layout_similarity(u * s, v * s, signed) for u, v in pairs])
            for s in (1 / stretch, stretch)
        )
        np.testing.assert_allclose(slopes[0, kind, :3], (high - low) / (2 * h), atol=1e-9)


@both
@signs
@shapes
def test_sort_units(units, size, signed, compiled):
    # with ties and zeros
    some = np.random.default_rng(units).integers(-2, 3, (40, units, size)).astype(float)
    some[0] = -0.0
    expected = np.array([naive_gp.sorted_units(x, signed) for x in some])
    pick(sort_units, compiled)(some, signed)
    np.testing.assert_array_equal(some, expected)
    assert not np.signbit(some[some == 0.0]).any()
