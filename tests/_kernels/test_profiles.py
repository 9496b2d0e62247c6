"""Families of kernels for rows of squared distances, against the numpy ones and against books."""

import numpy as np
import pytest

import naive_gp
from orbandit._kernels.profiles import ROW_MULTIPLE, SQUARE, add_carried, family_values, padded_width, write_mean
from orbandit.agents.gaussian.families import FAMILIES

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def pick(kernel, compiled):
    return kernel if compiled else kernel.py_func


@both
@pytest.mark.parametrize("name", FAMILIES)
def test_families(name, compiled):
    q = np.concatenate([[0.0, 1e-20, 1e-10], np.geomspace(1e-4, 300, 20), [1e5, 1e20]])
    values, slopes = np.full(len(q), np.nan), np.full(len(q), np.nan)
    pick(family_values, compiled)(FAMILIES[name].number, q, len(q), values, slopes)
    expected, expected_slopes = FAMILIES[name].both(q)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-24)
    np.testing.assert_allclose(slopes, expected_slopes, rtol=1e-12, atol=1e-24)
    np.testing.assert_allclose(
        values[3:-2], [naive_gp.radial(name, r) for r in np.sqrt(q[3:-2])], rtol=1e-9, atol=1e-24
    )


@both
def test_the_square_itself_and_what_is_beyond_the_width(compiled):
    q, values, slopes = np.arange(5.0), np.full(5, -1.0), np.full(5, -1.0)
    pick(family_values, compiled)(SQUARE, q, 3, values, slopes)
    assert values.tolist() == [0.0, 1.0, 2.0, -1.0, -1.0]
    assert slopes.tolist() == [1.0, 1.0, 1.0, -1.0, -1.0]


@both
def test_widths(compiled):
    for columns in range(3 * ROW_MULTIPLE):
        width = pick(padded_width, compiled)(columns)
        assert columns <= width < columns + ROW_MULTIPLE
        assert width % ROW_MULTIPLE == 0


@both
def test_carry(compiled):
    rng = np.random.default_rng(0)
    turn, by_feature, totals = rng.standard_normal((3, 2)), rng.standard_normal((3, 6)), rng.standard_normal((2, 6))
    turn[1, 0] = 0.0
    expected = totals.copy()
    expected[:, :4] += turn.T @ by_feature[:, :4]
    pick(add_carried, compiled)(turn, by_feature, 4, totals)
    np.testing.assert_allclose(totals, expected, atol=1e-14)


@both
def test_write_mean(compiled):
    out = np.full((3, 3), -1.0)
    pick(write_mean, compiled)(np.array([9.0, 2.0, 4.0, 9.0]), 2, 1, 2, False, 1, out)
    assert out.tolist() == [[-1.0, -1.0, -1.0], [1.0, 2.0, -1.0], [-1.0, -1.0, -1.0]]
    pick(write_mean, compiled)(np.array([2.0, 4.0, 6.0]), 2, 0, 3, True, 2, out)
    assert out.tolist() == [[-1.0, -1.0, 1.0], [1.0, 2.0, 2.0], [1.0, 2.0, 3.0]]
