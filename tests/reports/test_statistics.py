"""Intervals from few runs: they cover what they should, and say when they cannot know."""

import math

import numpy as np
import pytest

from orbandit.reports.statistics import band, chance_of, levels, mean_of, ratio_of, slope_of, weights


def test_weights_draw_runs_with_replacement():
    drawn = weights(7)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0)
    counts = drawn * 7
    np.testing.assert_allclose(counts, counts.round(), atol=1e-12)
    assert drawn.mean() == pytest.approx(1 / 7)
    assert counts.var() == pytest.approx(1 - 1 / 7, rel=0.02)  # that of a binomial
    assert weights(7) is drawn


def test_levels_are_wider_for_fewer_runs():
    wide, usual = levels(5), levels(1000)
    assert wide[0] < usual[0]
    assert usual == pytest.approx((0.025, 0.975), abs=1e-3)
    assert wide[0] + wide[1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("runs", "draw", "least"),
    [
        (2, "normal", 0.93),
        (3, "normal", 0.93),
        (5, "normal", 0.93),
        (5, "exponential", 0.875),
        (10, "normal", 0.93),
        (10, "exponential", 0.885),
        (30, "exponential", 0.925),
    ],
)
def test_intervals_cover_the_mean(runs, draw, least):
    """Of 1,000 intervals of 95 %; plain percentiles cover it in 0.90, 0.86 and 0.92 of the last three."""
    rng = np.random.default_rng(1)
    samples = rng.standard_normal((runs, 1000)) + 1 if draw == "normal" else rng.standard_exponential((runs, 1000))
    _, low, high = band(samples)
    covered = ((low <= 1) & (high >= 1)).mean()
    assert least <= covered <= 0.98


@pytest.mark.parametrize("runs", [2, 3, 5, 12])
def test_intervals_of_ratios_and_slopes_cover_them(runs):
    """Of 400 intervals of 95 %, with a standard error of 0.011 for the share."""
    rng = np.random.default_rng(2)
    rounds = np.array([10.0, 100.0, 1000.0])
    ratios, slopes = [], []
    for _ in range(400):
        shared = rng.normal(0, 0.1, runs)
        over, under = 2 + shared + rng.normal(0, 0.1, runs), 4 + shared + rng.normal(0, 0.1, runs)
        ratios.append(ratio_of(over, under))
        slopes.append(slope_of(rounds, [n**0.75 * rng.normal(1, 0.05, runs) for n in rounds]))
    for intervals, truth in ((ratios, 0.5), (slopes, 0.75)):
        assert 0.91 <= np.mean([one.low <= truth <= one.high for one in intervals]) <= 0.99


@pytest.mark.parametrize("runs", [2, 3, 5, 10])
def test_the_chance_of_equal_means_is_what_it_says(runs):
    """Of 5,000 pairs with equal means, a share p has a chance below p; standard error 0.003 and 0.0004."""
    rng = np.random.default_rng(3)
    chances = np.array([chance_of(*rng.normal(100, 20, (2, runs))) for _ in range(5_000)])
    assert np.mean(chances < 0.05) == pytest.approx(0.05, abs=0.01)
    assert np.mean(chances < 0.05 / 45) <= 0.0025
    assert chance_of(rng.normal(1, 0.1, runs + 6), rng.normal(2, 0.1, runs + 6)) < 1e-4
    assert chance_of(np.ones(3), np.ones(3)) == 1.0
    assert chance_of(np.ones(3), np.zeros(3)) == 0.0
    assert chance_of(np.ones(1), np.zeros(1)) == 1.0


def test_ratios_and_means():
    rng = np.random.default_rng(2)
    under = rng.uniform(90, 110, 40)
    over = 0.5 * under + rng.normal(0, 1, 40)
    ratio = ratio_of(over, under)
    assert ratio.value == pytest.approx(over.mean() / under.mean())
    assert ratio.low < ratio.value < ratio.high
    alone = mean_of(over)
    width = (alone.high - alone.low) / alone.value
    # paired: what both share does not blur their ratio
    assert (ratio.high - ratio.low) / ratio.value < 0.6 * width


def test_one_run_has_no_interval_and_nothing_divides_by_zero():
    assert not mean_of(np.array([3.0])).is_known
    assert mean_of(np.array([3.0])).value == 3.0
    assert not ratio_of(np.array([1.0]), np.array([2.0])).is_known
    assert math.isnan(ratio_of(np.array([1.0, 2.0]), np.zeros(2)).value)
    # most draws would divide by zero
    assert not ratio_of(np.ones(10), np.append(np.zeros(9), 1.0)).is_known


def test_slopes_are_those_of_power_laws():
    rng = np.random.default_rng(3)
    rounds = np.array([100.0, 1000.0, 10_000.0])
    regrets = [n**0.75 * rng.uniform(0.9, 1.1, 12) for n in rounds]
    slope = slope_of(rounds, regrets)
    assert slope.low < 0.75 < slope.high
    assert slope.high - slope.low < 0.05
    exact = slope_of(rounds, [np.array([n**0.5]) for n in rounds])
    assert exact.value == pytest.approx(0.5)
    assert not exact.is_known
    assert math.isnan(slope_of(rounds, [np.zeros(3)] * 3).value)
