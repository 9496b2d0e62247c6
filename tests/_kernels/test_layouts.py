"""Sums over pairs of units against their slow twin, compiled and as plain Python; derivatives against differences."""

import numpy as np
import pytest

import naive
from orbandit._kernels.layouts import paired_similarities, similarities, similarities_along, similarities_and_slopes

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
signs = pytest.mark.parametrize("signed", [False, True], ids=["plain", "signed"])
shapes = pytest.mark.parametrize(("units", "size"), [(1, 1), (2, 3), (4, 2)])


def pick(kernel, compiled):
    return kernel if compiled else kernel.py_func


def layouts(units, size):
    rng = np.random.default_rng(units)
    a, b = rng.standard_normal((4, units, size)), rng.standard_normal((3, units, size))
    b[0] = a[0]
    b[1] = 30.0  # far from all others
    return a, b, np.ascontiguousarray(b.transpose(1, 2, 0))


@both
@signs
@shapes
def test_similarities(units, size, signed, compiled):
    a, b, turned = layouts(units, size)
    expected = [[naive.layout_similarity(x, y, signed) for y in b] for x in a]
    values, again, slopes = np.empty((4, 3)), np.empty((4, 3)), np.empty((size, 4, 3))
    pick(similarities, compiled)(a, turned, signed, values)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-25)
    pick(similarities_and_slopes, compiled)(a, turned, signed, again, slopes)
    np.testing.assert_allclose(again, expected, rtol=1e-12, atol=1e-25)
    gradients = np.empty((4, units, size, 3))
    pick(similarities_along, compiled)(a, turned, signed, again, gradients)
    np.testing.assert_allclose(again, expected, rtol=1e-12, atol=1e-25)
    own, own_slopes = np.empty(3), np.empty((size, 3))
    pick(paired_similarities, compiled)(np.ascontiguousarray(a[:3].transpose(1, 2, 0)), turned, signed, own, own_slopes)
    np.testing.assert_allclose(own, np.diag(values), rtol=1e-13)
    np.testing.assert_allclose(own_slopes, np.diagonal(slopes[:, :3], axis1=1, axis2=2), rtol=1e-12, atol=1e-25)


@both
@signs
@shapes
def test_derivatives(units, size, signed, compiled):
    a, b, turned = layouts(units, size)
    values, slopes, gradients = np.empty((4, 3)), np.empty((size, 4, 3)), np.empty((4, units, size, 3))
    pick(similarities_and_slopes, compiled)(a, turned, signed, values, slopes)
    pick(similarities_along, compiled)(a, turned, signed, values, gradients)
    h = 1e-5
    for c in range(size):
        stretch = np.ones(size)
        stretch[c] = np.exp(h)
        high, low = (
            np.array([[naive.layout_similarity(x * s, y * s, signed) for y in b] for x in a])
            for s in (1 / stretch, stretch)
        )
        np.testing.assert_allclose(slopes[c], (high - low) / (2 * h), atol=1e-9)
        for i in range(units):
            step = np.zeros((units, size))
            step[i, c] = h
            high, low = (
                np.array([[naive.layout_similarity(x + s, y, signed) for y in b] for x in a]) for s in (step, -step)
            )
            np.testing.assert_allclose(gradients[:, i, c], (high - low) / (2 * h), atol=1e-9)
