"""The test whether a noisy measurement really has the symmetry that its user claims.

For a generator g, points x_1..x_n are drawn uniformly and x_i and g x_i measured r times each. With the
differences D_ij = y_j(x_i) - y_j(g x_i), the statistic

    T = mean over i of mean over j != k of D_ij D_ik

has expectation mean_i (f(x_i) - f(g x_i))^2 whatever the noise, since different repetitions are independent.
If the claim is true, measurements at x_i and at g x_i have one distribution, so that every D_ij may change
its sign: random signs give the law of T and an exact p-value.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from orbandit._checks import Array, RandomLike, as_count, as_generator
from orbandit.errors import InputError
from orbandit.groups.base import Group
from orbandit.spaces import Space

FLIPS = 9_999
ROUNDING = 1e-9
"""Asymmetry below this fraction of the spread of the measurements is rounding, not a violation."""


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
        Probability of as large an estimate if the symmetry holds.
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
        An asymmetry about this large would have been seen nine times in ten; smaller ones may hide in
        the noise.
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
        head = "no asymmetry found" if self.invariant else f"{len(self.failed)} generators fail"
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
    seed: RandomLike = 0,
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
        points * repeats * (number of generators + 1) times.
    level : float
        Probability that a true symmetry is refuted, over all generators together.
    seed : int, SeedSequence or Generator
        Draws points and signs.

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
    if not 0 < level < 1:
        raise InputError(f"`0 < level < 1` must hold, but got level={level}.")
    if not group.preserves(space):
        raise InputError(f"{group!r} does not preserve {space!r}, so f(g x) may not exist; see `preserves`.")
    rng = as_generator(seed)
    sample = space.sample(n, rng)
    here = _measured(measure, sample, r)
    results = []
    for g in group.generators:
        there = _measured(measure, space.project(group.act(g, sample)), r)
        results.append((*_asymmetry(here - there, rng), np.ptp(np.concatenate([here, there]))))
    checks = []
    for g, (square, p_value, _, worst, spread) in zip(group.generators, results, strict=True):
        asymmetry = float(np.sqrt(max(0.0, square)))
        holds = p_value > level / len(results) or asymmetry <= ROUNDING * spread
        checks.append(GeneratorCheck(g, describe(g), asymmetry, p_value, sample[worst], bool(holds)))
    noise = max((deviation for _, _, deviation, _, _ in results), default=0.0)
    return SymmetryReport(tuple(checks), float(np.sqrt(4.0 * noise)), n * r * (len(results) + 1))


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


def _measured(measure: Callable[[Array], float], points: Array, repeats: int) -> Array:
    """Return `repeats` measurements at each point, (n, repeats)."""
    values = np.array([[float(measure(point.copy())) for _ in range(repeats)] for point in points])
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise InputError(f"`measure` must return finite numbers, but gave {values[i, j]} at {points[i].tolist()}.")
    return values


def _asymmetry(differences: Array, rng: np.random.Generator) -> tuple[float, float, float, int]:
    """Return T, its p-value, its standard deviation if the symmetry holds, and the worst point's index."""
    n, r = differences.shape
    signs = rng.integers(0, 2, size=(FLIPS, n, r), dtype=np.int8) * np.int8(2) - np.int8(1)
    squares = (differences**2).sum(axis=1)

    def statistic(sums: Array) -> Array:
        return np.asarray((sums**2 - squares).mean(axis=-1) / (r * (r - 1)))

    observed = float(statistic(differences.sum(axis=1)))
    flipped = statistic(np.einsum("fij,ij->fi", signs, differences))
    p_value = (1 + int((flipped >= observed).sum())) / (FLIPS + 1)
    worst = int(np.abs(differences.mean(axis=1)).argmax())
    return observed, p_value, float(flipped.std()), worst
