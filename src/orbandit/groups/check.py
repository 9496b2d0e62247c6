"""The test whether a noisy measurement really has the symmetry that its user claims.

For a generator g, points x_1..x_n are drawn uniformly and x_i and g x_i measured r times each. With the
differences D_ij = y_j(x_i) - y_j(g x_i), the statistic

    T = mean over i of mean over j != k of D_ij D_ik

has expectation mean_i (f(x_i) - f(g x_i))^2 whatever the noise, since different repetitions are independent.
If the claim is true, measurements at x_i and at g x_i have one distribution, so that every D_ij may change
its sign: random signs give the law of T, and of the largest T of all generators in units of its deviation, with
which each is compared. A function whose repetitions all agree has no noise, and is compared as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from orbandit._checks import Array, RandomLike, as_count, as_finite, as_generator
from orbandit.errors import InputError, InputTypeError
from orbandit.groups.base import Group
from orbandit.spaces import Space

FLIPS = 9_999
ROUNDING = 1e-9
"""Asymmetry below this fraction of the spread of the measurements, or a 1000th of it of their size, is rounding."""


@final
@dataclass(frozen=True)
class GeneratorCheck:
    """What was measured for one generator.

    Attributes
    ----------
    generator : (dim, dim) array
        The matrix.
    description : str
        What it does, in words.
    asymmetry : float
        Estimate of the root mean square of f(x) - f(g x) over the space, the noise taken out.
    p_value : float
        Probability that the most extreme of all generators is as extreme if the symmetry holds; 0 if a function
        without noise is seen to break it.
    point : (dim,) array
        The sampled point whose measurements differ most from those of its image.
    holds : bool
        False if the symmetry is refuted at the level of the whole report.
    """

    generator: Array
    description: str
    asymmetry: float
    p_value: float
    point: Array
    holds: bool

    def __str__(self) -> str:
        verdict = "holds " if self.holds else "FAILS "
        return f"{verdict} asymmetry {self.asymmetry:.3g}  p = {self.p_value:.2g}  {self.description}"


@final
@dataclass(frozen=True)
class SymmetryReport:
    """The outcome of `check_symmetry`; true in a condition if no generator failed.

    Attributes
    ----------
    checks : tuple of GeneratorCheck
        One per generator.
    resolution : float
        An asymmetry about this large, spread over the space, is seen nine times in ten; smaller ones may hide
        in the noise.
    evaluations : int
        Number of calls of the measurement.
    """

    checks: tuple[GeneratorCheck, ...]
    resolution: float
    evaluations: int

    @property
    def invariant(self) -> bool:
        """Whether no generator failed."""
        return all(check.holds for check in self.checks)

    @property
    def failed(self) -> tuple[GeneratorCheck, ...]:
        """The generators that failed, the worst first."""
        return tuple(sorted((c for c in self.checks if not c.holds), key=lambda c: -c.asymmetry))

    def __bool__(self) -> bool:
        return self.invariant

    def __str__(self) -> str:
        head = "no asymmetry found" if self.invariant else f"{len(self.failed)} of {len(self.checks)} generators fail"
        tail = f"{self.evaluations} evaluations; asymmetry below {self.resolution:.2g} may go unseen"
        return "\n".join([f"{head} ({tail})", *map(str, self.checks)])


def check_symmetry(
    measure: Callable[[Array], float],
    space: Space,
    group: Group,
    *,
    points: int = 64,
    repeats: int = 8,
    level: float = 0.01,
    rng: RandomLike = 0,
) -> SymmetryReport:
    """Test a noisy function for the invariance claimed for it, generator by generator.

    Parameters
    ----------
    measure : callable
        Takes a point (dim,) and returns a number, with or without noise.
    space, group
        Where and how the symmetry is claimed; the group must preserve the space.
    points : int
        Number of random points, at least 8.
    repeats : int
        Measurements at each point and at each of its images, at least 2. In all, `measure` is called
        points * repeats * (number of generators + 1) times, in random order, so that a drift does no harm.
    level : float
        Probability that a true symmetry is refuted, over all generators together; from 0.001 to 1.
    rng : int, SeedSequence or Generator
        Draws points, their order and signs.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> rng = np.random.default_rng(0)
    >>> def yields(x):  # the third machine is better than the other two
    ...     return x[0] + x[1] + 1.5 * x[2] + rng.normal(scale=0.1)
    >>> report = ob.check_symmetry(yields, ob.spaces.Box(0, 1, dim=3), ob.groups.Symmetric(3))
    >>> bool(report)
    False
    >>> [check.description for check in report.failed]
    ['swaps coordinates 1 and 2']
    """
    n, r = as_count(points, "points", minimum=8), as_count(repeats, "repeats", minimum=2)
    if not isinstance(group, Group):
        raise InputTypeError(f"`group` must be one of ob.groups, but got {group!r}.")
    if not callable(measure):
        raise InputTypeError(f"`measure` must be callable, but got {measure!r}.")
    if not 0.001 <= float(as_finite(level, "level")) < 1:
        raise InputError(f"`0.001 <= level < 1` must hold, but got level={level}.")
    if not group.preserves(space):
        raise InputError(f"{group!r} does not preserve {space!r}, so f(g x) may not exist; see `preserves`.")
    generator = as_generator(rng)
    sample = space.sample(n, generator)
    images = [space.project(group.act(g, sample)) for g in group.generators]
    values = _measured(measure, np.array([sample, *images]), r, generator)
    return _report(values, sample, group.generators, level, generator)


def _report(values: Array, sample: Array, generators: Array, level: float, rng: np.random.Generator) -> SymmetryReport:
    """Compare the measurements at the sample, values[0], with those at its images, (generators + 1, n, repeats)."""
    rounding = ROUNDING * max(np.ptp(values), 1e-3 * np.abs(values).max())
    noiseless = bool((np.ptp(values, axis=2) == 0).all())
    tests = [_Asymmetry.of(values[0] - image, rng) for image in values[1:]]
    extreme = np.max([test.draws for test in tests], axis=0) if tests else np.zeros(FLIPS)
    checks = []
    for g, test in zip(generators, tests, strict=True):
        asymmetry = float(np.sqrt(max(0.0, test.square)))
        if noiseless:
            p_value = 0.0 if np.abs(test.means).max() > rounding else 1.0
        else:
            p_value = (1 + int((extreme >= test.score).sum())) / (FLIPS + 1)
        holds = p_value > level or (asymmetry <= rounding and not noiseless)
        worst = sample[np.abs(test.means).argmax()]
        checks.append(GeneratorCheck(g, describe(g), asymmetry, p_value, worst, bool(holds)))
    quantile = float(np.quantile(extreme, 1 - level))
    resolution = max((test.resolution(quantile) for test in tests), default=0.0)
    return SymmetryReport(tuple(checks), resolution, values.size)


def describe(matrix: Array) -> str:
    """Say in words what an orthogonal matrix does to coordinates."""
    d = len(matrix)
    if np.abs(np.abs(matrix).max(axis=1) - 1).max() <= 1e-9:  # a signed permutation
        source = np.abs(matrix).argmax(axis=1)
        moved = np.flatnonzero(source != np.arange(d)).tolist()
        flipped = np.flatnonzero(matrix[np.arange(d), source] < 0).tolist()
        words = []
        if moved:
            pairwise = np.array_equal(source[source], np.arange(d))
            pairs = [f"{i} and {source[i]}" for i in moved if i < source[i]]
            cycle = f"moves coordinates {source[moved].tolist()} to {moved}"
            words.append("swaps coordinates " + ", ".join(pairs) if pairwise else cycle)
        if flipped:
            words.append("changes the sign of coordinates " + ", ".join(map(str, flipped)))
        return ", then ".join(words) or "does nothing"
    if abs(np.trace(matrix) - (d - 2)) <= 1e-9 and np.allclose(matrix, matrix.T):
        normal = np.linalg.eigh(matrix)[1][:, 0]
        return f"reflects in the plane with normal {(normal + 0.0).round(3).tolist()}"
    return f"maps by the matrix {(matrix + 0.0).round(3).tolist()}"


def _measured(measure: Callable[[Array], float], points: Array, repeats: int, rng: np.random.Generator) -> Array:
    """Return `repeats` measurements at each point of (k, n, dim), in random order, (k, n, repeats)."""
    values = np.empty((*points.shape[:2], repeats))
    for call in rng.permutation(values.size):
        k, i, j = np.unravel_index(call, values.shape)
        value = measure(points[k, i].copy())
        try:
            values[k, i, j] = float(value)
        except (TypeError, ValueError) as error:
            raise InputTypeError(
                f"`measure` must return a number, but gave {value!r} at {points[k, i].tolist()}."
            ) from error
        if not np.isfinite(values[k, i, j]):
            raise InputError(f"`measure` must return finite numbers, but gave {value} at {points[k, i].tolist()}.")
    return values


@final
@dataclass(frozen=True)
class _Asymmetry:
    """T of one generator, and what is known of its law."""

    square: float
    deviation: float  # of T under random signs
    draws: Array  # T / deviation under random signs
    means: Array  # of the differences at each point
    variances: Array  # of the differences about their means
    repeats: int

    @property
    def score(self) -> float:
        return self.square / self.deviation if self.deviation > 0 else 0.0

    @classmethod
    def of(cls, differences: Array, rng: np.random.Generator) -> Self:
        n, r = differences.shape
        signs = rng.integers(0, 2, size=(FLIPS, n, r), dtype=np.int8) * np.int8(2) - np.int8(1)
        squares = (differences**2).sum(axis=1)

        def statistic(sums: Array) -> Array:
            return np.asarray((sums**2 - squares).mean(axis=-1) / (r * (r - 1)))

        flipped = statistic(np.einsum("fij,ij->fi", signs, differences))
        deviation = float(flipped.std())
        draws = flipped / deviation if deviation > 0 else np.zeros(FLIPS)
        means, variances = differences.mean(axis=1), differences.var(axis=1, ddof=1)
        return cls(float(statistic(differences.sum(axis=1))), deviation, draws, means, variances, r)

    def resolution(self, quantile: float) -> float:
        """Return the asymmetry v that is seen nine times in ten: v^2 = quantile * dev(0) + 1.3 dev(v).

        At a point with variance s^2 of its differences, T has variance 2 s^4 / (r (r - 1)) + 4 v^2 s^2 / r.
        """
        n, r = len(self.variances), self.repeats
        # The square of an estimated variance is too large by the factor 1 + 2 / (r - 1).
        still = 2 * (self.variances**2).sum() / (1 + 2 / (r - 1)) / (r * (r - 1)) / n**2
        slope = 4 * self.variances.sum() / r / n**2
        square = 0.0
        for _ in range(50):
            # A random sign flips the asymmetry along with the noise: it widens the law that T is compared with.
            flipped = np.sqrt(still + slope * square + 2 * square**2 / (r * (r - 1)) / n)
            square = quantile * float(flipped) + 1.3 * float(np.sqrt(still + slope * square + square**2 / n))
        return float(np.sqrt(square))
