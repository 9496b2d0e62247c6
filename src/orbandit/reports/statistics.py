"""Statistics of few runs: confidence intervals of means, ratios of means and slopes; paired tests.

From MIN_RUNS_TO_BOOTSTRAP runs on, intervals are bootstrapped: runs are drawn with replacement,
RESAMPLES times, always from the same stream, so that the same runs give the same page. Percentile
intervals of a bootstrap from n values are too narrow, as their variance has n where Student's has n
- 1. They are taken at the levels that correct for it on average (the expanded percentile interval
of Hesterberg, What teachers should know about the bootstrap, The American Statistician 69, 2015):

    level' = Phi(t_level sqrt(n / (n - 1))),   t_level the quantile of Student's t with n - 1 degrees of freedom

A bootstrap of fewer runs hardly leaves their range. Then intervals are Student's, for ratios and
slopes by linearisation (the delta method). Whether a ratio of means is 1 is decided by Student's
paired test: a bootstrap does not resolve the tails that many comparisons need.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from orbandit._checks import Array, frozen

RESAMPLES = 10_000
CONFIDENCE = 0.95
STREAM = 20_240
MIN_RUNS_TO_BOOTSTRAP = 8
"""With fewer runs, intervals are Student's."""


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval; NaN at both ends for a single run."""

    value: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether there are ends."""
        return math.isfinite(self.low) and math.isfinite(self.high)


UNKNOWN = Interval(math.nan, math.nan, math.nan)


@lru_cache(maxsize=16)
def weights(runs: int, draws: int = RESAMPLES) -> Array:
    """Return (draws, runs) weights, each row those of runs drawn with replacement."""
    rng = np.random.default_rng([STREAM, runs])
    return frozen(rng.multinomial(runs, np.full(runs, 1 / runs), size=draws) / runs)


def levels(runs: int) -> tuple[float, float]:
    """Return the two levels of a bootstrap's percentiles for so many runs."""
    upper = _student(runs) * math.sqrt(runs / (runs - 1))
    return float(special.ndtr(-upper)), float(special.ndtr(upper))


def band(values: Array, draws: int = RESAMPLES // 5) -> tuple[Array, Array, Array]:
    """Return the mean over runs, the first axis, and the ends of its interval; NaN if there is one run only."""
    mean = values.mean(axis=0)
    if len(values) < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    if len(values) < MIN_RUNS_TO_BOOTSTRAP:
        reach = _student(len(values)) * values.std(axis=0, ddof=1) / math.sqrt(len(values))
        return mean, mean - reach, mean + reach
    low, high = np.quantile(weights(len(values), draws) @ values, levels(len(values)), axis=0)
    return mean, low, high


def mean_of(values: Array) -> Interval:
    """Return the mean of some runs."""
    mean, low, high = band(values[:, None], RESAMPLES)
    return Interval(float(mean[0]), float(low[0]), float(high[0]))


def ratio_of(over: Array, under: Array) -> Interval:
    """Return the ratio of two means of paired runs; NaN if the one below is not positive."""
    if under.mean() <= 0:
        return UNKNOWN
    ratio = float(over.mean() / under.mean())
    if len(over) < MIN_RUNS_TO_BOOTSTRAP:
        return _linear(ratio, (over - ratio * under) / under.mean())
    drawn = weights(len(over))
    below = drawn @ under
    if below.min() <= 0:
        return Interval(ratio, math.nan, math.nan)
    low, high = np.quantile(drawn @ over / below, levels(len(over)))
    return Interval(ratio, float(low), float(high))


def chance_of(over: Array, under: Array) -> float:
    """Return the p-value of Student's paired test for equal means; 1 if all runs are equal."""
    gaps = over - under
    if len(gaps) < 2 or not gaps.any():
        return 1.0
    error = gaps.std(ddof=1) / math.sqrt(len(gaps))
    if error == 0:
        return 0.0
    return float(2 * special.stdtr(len(gaps) - 1, -abs(gaps.mean()) / error))


def slope_of(rounds: Array, regrets: list[Array]) -> Interval:
    """Return the slope of log mean regret over log rounds by least squares; NaN where a regret is not positive.

    Parameters
    ----------
    rounds : (k,) array
        At least two numbers of rounds.
    regrets : list of (runs,) arrays
        The regrets of the runs at each of them. Where all have as many, run i is the same
        throughout.
    """
    x = np.log(rounds) - np.log(rounds).mean()
    x = x / (x @ x)
    means = np.array([values.mean() for values in regrets])
    if means.min() <= 0:
        return UNKNOWN
    slope = float(x @ np.log(means))
    least = min(map(len, regrets))
    if least < MIN_RUNS_TO_BOOTSTRAP:
        together = np.array([values[:least] / mean for values, mean in zip(regrets, means, strict=True)])
        return _linear(slope, x @ together)
    drawn = np.column_stack([weights(len(values)) @ values for values in regrets])
    if drawn.min() <= 0:
        return Interval(slope, math.nan, math.nan)
    low, high = np.quantile(np.log(drawn) @ x, levels(least))
    return Interval(slope, float(low), float(high))


def _linear(value: float, parts: Array) -> Interval:
    """Return Student's interval of an estimate to which each run adds a part, to first order."""
    if len(parts) < 2:
        return Interval(value, math.nan, math.nan)
    reach = float(_student(len(parts)) * parts.std(ddof=1) / math.sqrt(len(parts)))
    return Interval(value, value - reach, value + reach)


def _student(runs: int) -> float:
    return float(special.stdtrit(runs - 1, (1 + CONFIDENCE) / 2))
