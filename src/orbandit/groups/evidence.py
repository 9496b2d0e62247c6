"""Evidence against a symmetry that is valid at any stopping time: bets on the signs of differences.

A comparison is a point x with an element g. Each pair of measurements there gives D = y(g x) -
y(x). The null hypothesis is that every D, given all before it, has a law symmetric about 0. That is
so if f is invariant and the noise at x and at g x has one law, or is symmetric at both, whatever
these laws are and however they change over the space. Noise that is skewed, and differently at x
and at g x, is itself a violation.

**Signs.** Given |D|, both signs have probability 1/2. With a bet of a share |b| < 1 of the wealth
on the sign,

    S = product over pairs of (1 + b sign D)

is a test martingale if b depends on |D| and on the past only. By Ville's inequality it ever reaches
1 / level with probability at most `level`: the test may be read after every pair, the next point
may depend on the data, and one may stop at any time. The mean of D over the space may be 0 although
f is not invariant, so that a bet follows the earlier differences at the same x: it has the odds of
the two signs if f(g x) - f(x) is N(0, t^2) over x and the noise of D is N(0, v),

    b sign D = c tanh(m D / (v + w)),     m and w the posterior mean and variance of f(g x) - f(x) at this x,

with t and v estimated from the past, and c < 1 since v may be larger than it seems. The first pair
at a point decides nothing. A wrong model costs power, never validity.

**Exact repeats.** A function without noise gives one pair (a, b), a != b, again and again. Under
one law at both points that has probability P(a) P(b) <= 1/4. So a second wealth X takes 4 for each
repetition, and 0 at the first that differs. The evidence is (S + X) / 2: without noise, five pairs
at one point refute a symmetry at level 0.01.

**Size.** The mean over pairs j != k of D_j D_k at a point has expectation (f(g x) - f(x))^2
whatever the noise.

**Power.** If f(g x) - f(x) is normal over x with root mean square a, and the noise normal, the
evidence reaches 1 / level nine times in ten within n = 4 + 2 L + 6.5 L v / a^2 pairs, L = log(2 /
level): a fit to simulations, which the tests repeat.

References: G. Shafer, J. R. Stat. Soc. A 184, 2021. A. Ramdas, P. Gruenwald, V. Vovk and G. Shafer,
Statist. Sci. 38, 2023.
"""

import math
from typing import final

import numpy as np

from orbandit._checks import Array

RELATIVE_ROUNDING = 1e-9
"""Differences below this fraction of the spread of the measurements, or a 1000th of it of their
size, are rounding."""

LARGEST_VALUE = 1e75
"""Values beyond this, in units of the first one, are clipped, so that products of two squares are
finite."""

LEAST_ASYMMETRY = 0.125
"""Least mean square of the asymmetry, as a fraction of the variance of D; else bets would end."""

POOLED_FREEDOM = 4.0
"""Degrees of freedom of the pooled noise of all points that are added to those at one point."""


@final
class Evidence:
    """The evidence of the pairs so far, for each of a few members.

    Sets of elements tested apart.
    """

    def __init__(self, members: int, capacity: int) -> None:
        self.member = np.zeros(capacity, dtype=np.int64)  # of each comparison
        self.count = np.zeros(capacity, dtype=np.int64)  # pairs measured there
        self.mean = np.zeros(capacity)  # of its differences
        self._scatter = np.zeros(capacity)  # sum of squared deviations from it
        self._height = np.zeros(capacity)  # mean of y(x)
        self._first: list[tuple[float, float]] = []  # pair of each comparison
        self._signs, self._exact = np.zeros(members), np.zeros(members)  # logarithms of S and X
        # logarithm of the evidence: of each member, and of all together
        self._now = np.zeros(members + 1)
        self._most = self._now  # the largest so far
        self._low, self._high = math.inf, -math.inf
        self.unit = 1.0  # in which values are kept
        self.noisy = False  # whether some repetition differed
        self.freedom = 0  # number of repetitions, from which the noise is known
        self._total = 0.0  # of the squared deviations

    def __len__(self) -> int:
        return len(self._first)

    @property
    def noise(self) -> float:
        """Variance of D at one point."""
        return self._total / self.freedom if self.noisy else 0.0

    def begin(self, member: int) -> int:
        """Return the number of a new comparison, which counts from its first pair on."""
        self.member[len(self)] = member
        return len(self)

    def add(self, index: int, here: float, there: float) -> None:
        """Bet on the pair y(x), y(g x) at a comparison, then learn from it."""
        if self._high <= self._low and self._low in (0.0, math.inf):
            self.unit = max(abs(here), abs(there)) or 1.0
        pair = (_cut(here / self.unit), _cut(there / self.unit))
        self._low, self._high = min(self._low, *pair), max(self._high, *pair)
        rounding = RELATIVE_ROUNDING * max(self._high - self._low, 1e-3 * max(abs(self._low), abs(self._high)))
        difference = pair[1] - pair[0]
        if abs(difference) <= rounding:
            difference = 0.0
        if index == len(self):
            self._first.append(pair)
        else:
            member, first = self.member[index], self._first[index]
            if difference:
                self._signs[member] += math.log1p(self._bet(index, difference))
            same = max(abs(first[0] - pair[0]), abs(first[1] - pair[1])) <= rounding / 2
            if abs(first[0] - first[1]) > rounding and not self.noisy:
                self._exact[member] += math.log(4) if same else -math.inf
            self.noisy = self.noisy or not same
            self.freedom += 1
        self.count[index] += 1
        self._height[index] += (pair[0] - self._height[index]) / self.count[index]
        off = difference - self.mean[index]
        self.mean[index] += off / self.count[index]
        scatter = off * (difference - float(self.mean[index]))
        self._scatter[index] += scatter
        self._total += scatter
        self._now = np.logaddexp(_with_sum(self._signs), _with_sum(self._exact)) - math.log(2)
        self._most = np.maximum(self._most, self._now)

    def _bet(self, index: int, difference: float) -> float:
        """Return b_j sign D_j."""
        cap = 1 - 0.5 / (self.freedom + 1)  # the noise may be larger than seen so far
        count, mean, noise = int(self.count[index]), float(self.mean[index]), self.noise
        if noise == 0.0:
            return math.copysign(cap, mean * difference) if mean else 0.0
        spread = max(self.square(), LEAST_ASYMMETRY * noise)
        local = (POOLED_FREEDOM * noise + float(self._scatter[index])) / (POOLED_FREEDOM + count - 1)
        variance = spread * local / (count * spread + local)
        return cap * math.tanh(mean * count * variance / local * difference / (local + variance))

    def p_value(self, member: int | None = None) -> float:
        """Return the p-value of a member, or of all together, valid at any stopping time."""
        return math.exp(-self._most[-1 if member is None else member])

    @property
    def standing(self) -> float:
        """The evidence of all members together as it stands, which may have been larger before."""
        return math.exp(self._now[-1])

    def squares(self) -> Array:
        """Return an estimate of (f(g x) - f(x))^2 at each comparison, without bias."""
        count, scatter = self.count[: len(self)], self._scatter[: len(self)]
        # Mean^2 - scatter / (r (r - 1)) is the mean of D_j D_k over j != k; one pair has no scatter
        # of its own.
        noise = np.where(count > 1, scatter / np.maximum(count * (count - 1), 1), self.noise)
        return np.asarray(self.mean[: len(self)] ** 2 - noise)

    def square(self, member: int | None = None) -> float:
        """Return the mean square of the asymmetry, of a member's elements or of all."""
        chosen = self.squares()[slice(None) if member is None else self.member[: len(self)] == member]
        return max(0.0, float(chosen.mean())) if len(chosen) else 0.0

    def resolution(self, level: float) -> float:
        """Return the root mean square that would have made the evidence 1 / level nine times in ten."""
        bits = math.log(2 / level)
        left = int(self.count.sum()) - 4 - 2 * bits
        return math.sqrt(6.5 * bits * self.noise / left) if left > 0 else math.inf

    def variance(self) -> tuple[float, float]:
        """Return the variance of f over the space, and the standard error of it."""
        if len(self) < 2:
            return 0.0, math.inf
        noise = self.noise / 2 * float((1 / self.count[: len(self)]).mean())
        total = float(self._height[: len(self)].var(ddof=1))
        return max(0.0, total - noise), total * math.sqrt(2 / len(self))


def _cut(value: float) -> float:
    return min(max(value, -LARGEST_VALUE), LARGEST_VALUE)


def _with_sum(logs: Array) -> Array:
    return np.append(logs, logs.sum())
