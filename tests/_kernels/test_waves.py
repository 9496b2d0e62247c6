"""Waves and their sums over pairs against slow twins, compiled and as plain Python; derivatives against differences."""

import math

import numpy as np
import pytest

from orbandit._kernels import waves
from orbandit._kernels.waves import pair_waves, wave

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
FREQUENCIES = np.array([0.0, 0.3, 1.7, 9.0])


def pick(kernel, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(waves, "wave", wave.py_func)
    return kernel if compiled else kernel.py_func


@both
def test_a_wave_is_the_cosine_and_the_sine(compiled, monkeypatch):
    function = pick(wave, compiled, monkeypatch)
    phases = np.concatenate([np.arange(-9, 9, 0.125), np.random.default_rng(0).uniform(-40, 40, 500), [0.5, -1e-300]])
    found = np.array([function(phase) for phase in phases])
    expected = np.stack([np.cos(np.pi / 2 * phases), np.sin(np.pi / 2 * phases)], axis=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-14)  # the phase of the expected ones is rounded
    small = np.abs(phases) <= 0.5
    np.testing.assert_allclose(found[small], expected[small], rtol=0, atol=3e-16)
    assert [function(float(k)) for k in range(4)] == [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
    # without rounding the phase, however many turns
    np.testing.assert_allclose(function(4.0 * 2**40 + 0.25), function(0.25), rtol=0, atol=0)


def sums(layouts, pairs, signed, compiled=True, by_place=False, by_unit=False):
    n, units, size = layouts.shape
    count = len(FREQUENCIES)
    out, places = np.full((n, count), 7.0), np.full((n if by_place else 0, size, count), 7.0)
    by_units = np.full((n if by_unit else 0, count, units, size), 7.0)
    (pair_waves if compiled else pair_waves.py_func)(layouts, pairs, FREQUENCIES, signed, out, places, by_units)
    return out, places, by_units


def slow(layout, pairs, signed):
    """Return the sums of one layout by loops."""
    total = np.zeros(len(FREQUENCIES))
    for i, j in pairs:
        for sign in (1, -1)[: 1 + signed]:
            total += np.cos(np.pi / 2 * FREQUENCIES * math.dist(layout[i], sign * layout[j]))
    return total


@both
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("units", "size"), [(2, 1), (3, 2), (5, 3)])
@pytest.mark.parametrize("first", [0, 1])
def test_sums_over_pairs_and_their_derivatives(units, size, signed, first, compiled, monkeypatch):
    """All pairs, or those of the first unit with others."""
    pick(pair_waves, compiled, monkeypatch)
    pairs = np.array([(i, j) for i in range(units) for j in range(i) if not first or j == 0])
    layouts = np.random.default_rng(units).standard_normal((4, units, size))
    layouts[0, 1] = layouts[0, 0]  # units that meet
    found, by_place, by_unit = sums(layouts, pairs, signed, compiled, by_place=True, by_unit=True)
    np.testing.assert_allclose(found, [slow(each, pairs, signed) for each in layouts], atol=1e-12)
    np.testing.assert_array_equal(sums(layouts, pairs, signed, compiled)[0], found)
    for place in range(size):
        step = np.exp(1e-5 * np.eye(size)[place])
        gap = np.array([slow(each / step, pairs, signed) - slow(each * step, pairs, signed) for each in layouts])
        np.testing.assert_allclose(by_place[:, place], gap / 2e-5, atol=1e-6)
    for unit, place in np.ndindex(units, size):
        step = np.zeros((units, size))
        step[unit, place] = 1e-5
        gap = np.array([slow(each + step, pairs, signed) - slow(each - step, pairs, signed) for each in layouts])
        np.testing.assert_allclose(by_unit[:, :, unit, place], gap / 2e-5, atol=1e-6)
