"""A sequential test of a noisy function for invariance, from pairs of measurements.

Points x are drawn uniformly from the space. Elements g are the generators in turn and, in groups of
more than two elements, every other time a random element. Random elements detect any violation: if
f is not invariant under some generator, with root mean square a of f(g x) - f(x), then its distance
to its mean over orbits is a / 2 or more, and the root mean square for uniform g is a / sqrt(2) or
more. Each pair (x, g x) is measured in random order, so that a drift does no harm, and `evidence`
bets on the sign of the difference.

- **A violation is clear** when the evidence of all pairs together has reached 1 / level. If the
  symmetry holds that has probability at most `level`, at any stopping time. Then a generator is
  named if its own pairs have evidence k / level, where k counts the generators, and random elements
  as one more. The whole group is tested first, then each part with Bonferroni's correction: the
  probability of naming any generator that holds is at most `level`, too. If none is named at once,
  the generators alone are measured, for at most as many evaluations again, or 48 and 8 for each
  generator. If none is named then, the part with most evidence is reported.
- **Invariance is clear**, within the tolerance, when the test had a power of 0.9 against an
  asymmetry of `tolerance` times the difference of unrelated points (sqrt(2) standard deviations of
  f over the space, less its standard error); when the estimated asymmetry is below that, too; when
  the evidence is below level^(-1/2); and when 16 points were compared: with probability 0.9 one of
  them meets a violation on 13 % of the space.
- **Otherwise** the budget ends the test, and the report says what would have been detected.

The next comparison is one whose mean difference exceeds 1.5 standard errors, the largest first. If
there is none, every comparison is measured in turn, twice if there is noise, and up to four times
while noise hides an asymmetry of the tolerated size. Then comes a new point.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from orbandit._checks import (
    Array,
    RandomLike,
    as_count,
    as_finite,
    as_generator,
    as_positive,
    described,
    refuse_masked,
    shown,
)
from orbandit.errors import InputError, InputTypeError, MeasurementError
from orbandit.groups.base import Group
from orbandit.groups.evidence import Evidence
from orbandit.history import History
from orbandit.spaces import Space

MAX_BUDGET = 1_000_000
"""Most evaluations; memory for all is allocated at the start."""

MIN_POINTS = 16
"""Points that must be compared before invariance is clear."""

MAX_REPEATS = 4
"""Pairs at a point without a notable difference: a search from the history needs other points."""

PROMISING = 1.5
"""Standard errors from which a mean difference is measured again."""

FIRST_PASS = 4
"""Up to so many generators are compared before the first random element; more alternate with it."""

NAMING = 48
"""Evaluations, plus 8 per generator, at most, to name the failing one after the group was
rejected."""


@final
@dataclass(frozen=True)
class GeneratorCheck:
    """What was measured for one generator, or for random elements.

    Attributes
    ----------
    generator : (dim, dim) array
        The matrix; of the random elements, the one with the largest difference.
    description : str
        What it does, in words.
    asymmetry : float
        Estimate of the root mean square of f(x) - f(g x) over the space, without the noise.
    p_value : float
        Bound on the probability that any generator has as much evidence against it if the symmetry
        holds.
    point : (dim,) array or None
        The point whose measurements differ most from those of its image; None if there is none.
    holds : bool
        False if the symmetry is rejected at the level of the whole report.
    points : int
        Number of points compared with their images.

    Examples
    --------
    >>> import orbandit as ob
    >>> def yields(x):  # the second machine is better
    ...     return x[0] + 2 * x[1]
    >>> report = ob.check_symmetry(yields, ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2))
    >>> check = report.checks[0]
    >>> check.holds, check.description, bool(check.asymmetry > 0.3)
    (False, 'swaps coordinates 0 and 1', True)
    """

    generator: Array
    description: str
    asymmetry: float
    p_value: float
    point: Array | None
    holds: bool
    points: int

    def __str__(self) -> str:
        if not self.points:
            return f"not compared  {self.description}"
        verdict = "passes" if self.holds else "FAILS "
        size = f"asymmetry {self.asymmetry:.3g} at {self.points} point{'s' if self.points > 1 else ''}"
        return f"{verdict} {size}  p = {self.p_value:.2g}  {self.description}"


@final
@dataclass(frozen=True)
class SymmetryReport:
    """The outcome of `check_symmetry`; true in a condition if no violation was found.

    Attributes
    ----------
    checks : tuple of GeneratorCheck
        One per generator.
    elements : GeneratorCheck or None
        The same for random elements of the group, if it has more than two elements.
    clear : bool
        Whether the answer is clear; otherwise the budget, or Ctrl-C, ended the test first.
    resolution : float
        The test had a power of 0.9 against an asymmetry of this root mean square over points and
        elements. Smaller ones may hide in the noise, and those on a small part of the space between
        the points.
    variation : float
        Estimate of the root mean square of f(x) - f(z) for unrelated points x and z, the scale of
        an asymmetry.
    history : History
        All measurements, in their order; `maximize` and `minimize` can start from it.
    interrupted : bool
        Whether Ctrl-C ended the test.

    Examples
    --------
    >>> import orbandit as ob
    >>> cube, group = ob.spaces.Box(0, 1, dim=3), ob.groups.Symmetric(3)
    >>> report = ob.check_symmetry(lambda x: x.max() - x.min(), cube, group)
    >>> bool(report), report.clear, report.failed, report.evaluations == len(report.history)
    (True, True, (), True)
    """

    checks: tuple[GeneratorCheck, ...]
    elements: GeneratorCheck | None
    clear: bool
    resolution: float
    variation: float
    history: History
    interrupted: bool = False

    @property
    def evaluations(self) -> int:
        """Number of measurements."""
        return len(self.history)

    @property
    def invariant(self) -> bool:
        """Whether no violation was found; `clear` tells whether that is an answer."""
        return not self.failed

    @property
    def failed(self) -> tuple[GeneratorCheck, ...]:
        """The generators that failed, the worst first, then random elements if they failed."""
        worst = sorted(self.checks, key=lambda check: -check.asymmetry)
        return tuple(part for part in (*worst, self.elements) if part is not None and not part.holds)

    def __bool__(self) -> bool:
        return self.invariant

    def __str__(self) -> str:
        parts = [*self.checks, *([self.elements] if self.elements else [])]
        named = sum(not check.holds for check in self.checks)
        if not self.invariant:
            head = f"{named} of {len(self.checks)} generators fail" if named else "random elements of the group fail"
            head += f" ({self.evaluations} evaluations)"
        else:
            doubt = "" if self.clear else ", but the answer is not clear"
            head = f"no asymmetry found{doubt} ({self.evaluations} evaluations; {self._findable()})"
        return "\n".join([head, *map(str, parts)])

    def _findable(self) -> str:
        """Say what would have been detected."""
        points = sum(check.points for check in self.checks) + (self.elements.points if self.elements else 0)
        if not self.checks:
            return "nothing to compare"
        if self.resolution == math.inf:
            return "too few to find any"
        what = f"one of {self.resolution:.2g}"
        if self.resolution == 0:
            what = f"one on {1 - 0.1 ** (1 / points):.0%} of the space"
        elif self.variation:
            what += f", {self.resolution / self.variation:.0%} of what unrelated points differ by,"
        return f"{what} would have been found nine times in ten"


def check_symmetry(
    measure: Callable[[Array], float],
    space: Space,
    group: Group,
    *,
    budget: int = 200,
    tolerance: float = 0.3,
    level: float = 0.01,
    rng: RandomLike = 0,
) -> SymmetryReport:
    """Test whether a noisy function is invariant under a group, and stop once that is clear.

    Parameters
    ----------
    measure : callable
        Takes a point (dim,) and returns a number, with or without noise.
    space : Space
        Where the function is defined.
    group : Group
        The symmetry to test; it must map the space onto itself.
    budget : int
        Most measurements, up to 1,000,000. Without noise a wrong group takes some 10 to 60 of them
        and a right one 36; the default suffices for noise up to a third of the standard deviation
        of f over the space.
    tolerance : float
        Invariance is clear once an asymmetry of this fraction of the difference between unrelated
        points is excluded: its square is the fraction of the variance of f over the space that may
        still not be invariant.
    level : float
        Probability in (0, 1) that a true symmetry is rejected, over all generators together and at
        any stopping time.
    rng : int, SeedSequence or Generator
        Source of randomness: draws points, elements and the order within pairs.

    Returns
    -------
    SymmetryReport
        With `failed`, `clear`, and the `history` that a search can start from. Ctrl-C stops the
        test early and returns the report so far.

    Raises
    ------
    MeasurementError
        If `measure` raises, or returns anything but a finite number. It has the `point`, and the
        `history` up to there.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> rng = np.random.default_rng(0)
    >>> def yields(x):  # the third machine is better than the other two
    ...     return x[0] + x[1] + 1.5 * x[2] + rng.normal(scale=0.1)
    >>> cube, group = ob.spaces.Box(0, 1, dim=3), ob.groups.Symmetric(3)
    >>> report = ob.check_symmetry(yields, cube, group)
    >>> bool(report), report.failed[0].description, report.evaluations < 200
    (False, 'swaps coordinates 1 and 2', True)

    Whatever the answer, no measurement is lost:

    >>> two_alike = ob.groups.Product(ob.groups.Symmetric(2), ob.groups.Trivial(1))
    >>> best = ob.maximize(yields, cube, two_alike, budget=20, history=report.history, seed=0)
    >>> len(best.history) == report.evaluations + 20
    True
    """
    budget = as_count(budget, "budget", minimum=2, maximum=MAX_BUDGET)
    if not isinstance(group, Group):
        raise InputTypeError(f"`group` must be one of ob.groups, but got {shown(group)}.", field="group", value=group)
    if not callable(measure):
        raise InputTypeError(f"`measure` must be callable, but got {shown(measure)}.")
    tolerance = as_positive(tolerance, "tolerance")
    if not 0 < float(as_finite(level, "level")) < 1:
        raise InputError(f"`0 < level < 1` must hold, but got level={level}.")
    if not group.preserves(space):
        raise InputError(f"{shown(group)} does not preserve {shown(space)}, so f(g x) may not exist; see `preserves`.")
    test = _Test(measure, space, group, budget, tolerance, float(level), as_generator(rng))
    interrupted = False
    try:
        test.run()
    except KeyboardInterrupt:
        if not test.values:
            raise
        interrupted = True
    return test.report(interrupted)


class Names(NamedTuple):
    """What messages call coordinates and points.

    Attributes
    ----------
    coordinates : sequence of str, optional
        By default coordinates are called by their numbers.
    point : callable
        Returns what a point is called: by default, its coordinates.
    """

    coordinates: Sequence[str] | None = None
    point: Callable[[Array], str] = shown


def describe(matrix: Array, names: Names | None = None) -> str:
    """Say in words what an orthogonal matrix does to coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> describe(np.array([[0, 1], [1, 0]])), describe(np.array([[0, 1], [1, 0]]), Names(["rate", "size"]))
    ('swaps coordinates 0 and 1', 'swaps rate and size')
    """
    d = len(matrix)
    named = None if names is None else names.coordinates
    name, kind = (list(map(str, range(d))), "coordinates ") if named is None else (list(named), "")
    if np.abs(np.abs(matrix).max(axis=1) - 1).max() <= 1e-9:  # a signed permutation
        source = np.abs(matrix).argmax(axis=1)
        moved = np.flatnonzero(source != np.arange(d)).tolist()
        flipped = np.flatnonzero(matrix[np.arange(d), source] < 0).tolist()
        words = []
        if moved:
            pairwise = np.array_equal(source[source], np.arange(d))
            pairs = [f"{name[i]} and {name[source[i]]}" for i in moved if i < source[i]]
            before, after = (f"[{', '.join(name[i] for i in places)}]" for places in (source[moved], moved))
            words.append(f"swaps {kind}" + ", ".join(pairs) if pairwise else f"moves {kind}{before} to {after}")
        if flipped:
            words.append(f"changes the sign of {kind}" + ", ".join(name[i] for i in flipped))
        return ", then ".join(words) or "does nothing"
    if abs(np.trace(matrix) - (d - 2)) <= 1e-9 and np.allclose(matrix, matrix.T):
        normal = np.linalg.eigh(matrix)[1][:, 0]
        return f"reflects in the plane with normal {shown((normal + 0.0).round(3))}"
    return f"maps by the matrix {shown((matrix + 0.0).round(3))}"


@final
class _Test:
    """The state of a test: what was measured, and what is to be measured next."""

    def __init__(
        self,
        measure: Callable[[Array], float],
        space: Space,
        group: Group,
        budget: int,
        tolerance: float,
        level: float,
        rng: np.random.Generator,
    ) -> None:
        self._measure, self._space, self._group, self._rng = measure, space, group, rng
        self._budget, self._tolerance, self._level = budget, tolerance, level
        self._generators = len(group.generators)
        self._members = self._generators + (group.order > 2)  # the last one is random elements
        self._evidence = Evidence(self._members, budget // 2)
        self._compared: list[tuple[Array, Array, Array]] = []  # point, image, element
        self._turns = self._in_turn()
        self._repeats = 2
        self._refuted: int | None = None  # after how many evaluations
        self._invariant = self._generators == 0
        self._points: list[Array] = []
        self.values: list[float] = []

    def run(self) -> None:
        """Measure pairs until the answer is clear or the budget spent."""
        while not self._answered() and len(self.values) + 2 <= self._budget:
            index = self._next()
            (here, there), flip = self._compared[index][:2], self._rng.random() < 0.5
            pair = [self._value(point) for point in ((there, here) if flip else (here, there))]
            self._evidence.add(index, *(reversed(pair) if flip else pair))

    def report(self, interrupted: bool) -> SymmetryReport:
        """Return what is known."""
        evidence, unit = self._evidence, self._evidence.unit
        checks = tuple(self._check(member) for member in range(self._members))
        return SymmetryReport(
            checks[: self._generators],
            checks[-1] if self._members > self._generators else None,
            self._refuted is not None or self._invariant,
            evidence.resolution(self._level) * unit if self._generators else 0.0,
            math.sqrt(2 * evidence.variance()[0]) * unit,
            self._history(),
            interrupted,
        )

    def _answered(self) -> bool:
        evidence, spent = self._evidence, len(self.values)
        if self._refuted is None and evidence.p_value() <= self._level:
            self._refuted = spent
        if self._refuted is not None:
            patience = max(self._refuted, NAMING + 8 * self._generators)
            return spent >= self._refuted + patience or any(map(self._named, range(self._generators)))
        if len(evidence) >= MIN_POINTS:
            variance, error = evidence.variance()
            tolerated = self._tolerated(variance - error)
            small = max(evidence.resolution(self._level) ** 2, evidence.square()) <= tolerated
            self._invariant = bool(tolerated > 0 and small and evidence.standing < self._level**-0.5)
        return self._invariant

    def _named(self, member: int) -> bool:
        return self._evidence.p_value(member) * self._members <= self._level

    def _tolerated(self, variance: float) -> float:
        """Return the mean square of the asymmetry that is tolerated if f has this variance."""
        return self._tolerance**2 * 2 * variance

    def _next(self) -> int:
        """Return the comparison to measure next, perhaps a new one."""
        evidence, size = self._evidence, len(self._evidence)
        count = evidence.count[:size]
        # Once the group is rejected, only a generator is left to be named.
        eligible = (evidence.member[:size] < self._generators) | (self._refuted is None)
        scores = np.abs(evidence.mean[:size]) * np.sqrt(count) * eligible
        known = not evidence.noisy or evidence.freedom >= 3
        if size and known and scores.max() > PROMISING * math.sqrt(evidence.noise):
            return int(scores.argmax())
        late = np.flatnonzero(eligible & (count < (self._repeats if evidence.noisy or size <= 2 else 1)))
        if len(late):
            return int(late[0])
        if evidence.noisy and size >= MIN_POINTS and self._repeats < MAX_REPEATS:
            # Repeats, not points, are missing as long as the variance of a point's square is that
            # of its noise.
            hidden = evidence.noise / math.sqrt(self._repeats * (self._repeats - 1))
            if hidden > self._tolerated(evidence.variance()[0]):
                self._repeats += 1
                return self._next()
        return self._begin()

    def _begin(self) -> int:
        """Begin a comparison at a new point."""
        member = next(self._turns)
        element = self._group.generators[member] if member < self._generators else self._random_element()
        (point,) = self._space.sample(1, self._rng)
        self._compared.append((point, self._space.project(self._group.act(element, point)), element))
        return self._evidence.begin(member)

    def _in_turn(self) -> Iterator[int]:
        """Yield whose turn it is: generators, and from some time on every other time random elements."""
        alone = self._members == self._generators
        if self._generators <= FIRST_PASS:
            yield from range(self._generators)
        while True:
            for generator in self._rng.permutation(self._generators).tolist():
                if not alone and self._refuted is None:
                    yield self._generators
                yield generator

    def _random_element(self) -> Array:
        while True:
            (element,) = self._group.random(1, self._rng)
            if np.abs(element - np.eye(self._group.dim)).max() > 1e-9:
                return np.asarray(element)

    def _value(self, point: Array) -> float:
        """Measure at a point, and keep it."""
        try:
            given = self._measure(point.copy())
            refuse_masked(given, "measure")
            value = np.asarray(given)
            if value.dtype.kind not in "biuf" or value.ndim != 0:
                raise TypeError(f"`measure` must return a number, but gave {shown(given)}")
            if not np.isfinite(value):
                raise ValueError(f"`measure` must return a finite number, but gave {value}")
        except Exception as error:
            raise MeasurementError(
                f"measuring {shown(point)} failed after {len(self.values)} measurements ({described(error)}); "
                f"they are in `history` of this error, and a search can begin with them.",
                point,
                self._history(),
            ) from error
        self._points.append(point)
        self.values.append(float(value))
        return self.values[-1]

    def _history(self) -> History:
        return History(np.array(self._points).reshape(-1, self._space.dim), np.array(self.values))

    def _check(self, member: int) -> GeneratorCheck:
        evidence = self._evidence
        mine = np.flatnonzero(evidence.member[: len(evidence)] == member)
        worst = int(mine[np.abs(evidence.mean[mine]).argmax()]) if len(mine) else None
        random = member == self._generators
        if random:
            element = np.eye(self._group.dim) if worst is None else self._compared[worst][2]
        else:
            element = self._group.generators[member]
        # If the group is rejected but no part by itself, the part with most evidence is reported.
        suspect = min(range(self._members), key=evidence.p_value)
        deputy = member == suspect and not any(map(self._named, range(self._members)))
        whole, part = evidence.p_value(), self._members * evidence.p_value(member)
        return GeneratorCheck(
            element,
            f"a random element {describe(element)}" if random else describe(element),
            math.sqrt(evidence.square(member)) * evidence.unit,
            whole if deputy else min(1.0, max(whole, part)),
            None if worst is None else self._compared[worst][0],
            self._refuted is None or not (deputy or self._named(member)),
            len(mine),
        )
