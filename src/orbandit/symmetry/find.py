"""find_symmetry: which symmetries hold, by measurements that were made anyway.

No point need be measured together with its image. If f is invariant under g, then what is measured
near x also tells of f near g x, and a regression that knows this predicts the measurements better.
So the question is put to a Gaussian process (see `Judge`): how likely are the values if f is
invariant under a group, and how likely if it is not? The search for the group is that of `Search`.
A symmetry is accepted if its posterior odds reach 1 / level, at prior odds of one over the number
of candidates, against each group that was compared and does without it; or if the group with it is
no less likely and, even by the model without it, f(g x) and f(x) differ by less than 3 % of the
difference of unrelated points. It is refused if f has more evidence of being nearly symmetric only.
"""

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_finite, as_points, shown
from orbandit._rows import Rows
from orbandit.agents.gaussian.posterior import floored
from orbandit.errors import InputError, InputTypeError
from orbandit.groups import Group
from orbandit.groups.units import class_widths
from orbandit.spaces import Space
from orbandit.symmetry.candidates import Candidate, Given, default_candidates, given_candidates, middle
from orbandit.symmetry.naming import named_group
from orbandit.symmetry.odds import Judge, Model
from orbandit.symmetry.search import Search, Verdict

MIN_POINTS = 10
"""Fewest distinct points from which a symmetry may be found."""
MAX_POINTS = 500
"""Of more points, so many are chosen at random: the time grows with the cube of their number."""
MAX_SUGGESTED = 1000
"""Most points that are suggested at once."""
UNDECIDED = 3
"""So many candidates, those nearest to a decision, are considered for suggestions."""
SHOWN_OTHERS = 5
"""Candidates that do not hold are shown down to so many."""


@final
@dataclass(frozen=True)
class CandidateEvidence:
    """What the measurements say of one candidate.

    Attributes
    ----------
    name : str
        What it does, in words.
    generators : (k, dim, dim) array
        Its matrices, about the middle of the space.
    log_odds : float
        Logarithm of the posterior odds that it holds, beside the rest of what was found; NaN if the
        group would be too large to judge.
    accepted : bool
        Whether it is in the group.
    asymmetry : float
        Estimate of the root mean square of f(g x) - f(x), over that of the difference of unrelated
        points, by the model without it.

    Examples
    --------
    >>> import orbandit as ob
    >>> square = ob.spaces.Box(-1, 1, dim=2)
    >>> points = square.sample(60, 0)
    >>> report = ob.find_symmetry(points, points[:, 0] ** 2 + points[:, 1], square)
    >>> row = report.accepted[0]
    >>> row.name, bool(row.log_odds > 3), round(row.asymmetry, 1)
    ('mirrors coordinate 0', True, 0.0)
    """

    name: str
    generators: Array
    log_odds: float
    accepted: bool
    asymmetry: float

    def __str__(self) -> str:
        verdict = "holds" if self.accepted else "     "
        return f"{verdict}  log odds {self.log_odds:8.1f}  asymmetry {self.asymmetry:5.2f}  {self.name}"


@final
@dataclass(frozen=True)
class FoundSymmetry:
    """The outcome of `find_symmetry`; true in a condition if a group was found.

    Attributes
    ----------
    group : Group or None
        What the accepted candidates generate, judged as a whole; None if there is none.
    evidence : tuple of CandidateEvidence
        One per candidate, in their order.
    measurements : int
        Number of measurements used.
    level : float
        As given.

    Examples
    --------
    >>> import orbandit as ob
    >>> square = ob.spaces.Box(-1, 1, dim=2)
    >>> points = square.sample(60, 0)
    >>> report = ob.find_symmetry(points, points[:, 0] ** 2 + points[:, 1], square)
    >>> bool(report), report.measurements, len(report.evidence) > 3
    (True, 60, True)
    >>> report.group.order, report.suggest(3).shape
    (2, (3, 2))
    """

    group: Group | None
    evidence: tuple[CandidateEvidence, ...]
    measurements: int
    level: float
    _space: Space = field(repr=False)
    _judge: Judge = field(repr=False)
    _verdicts: tuple[Verdict, ...] = field(repr=False)
    _widths: Array = field(repr=False)

    def __bool__(self) -> bool:
        return self.group is not None

    @property
    def accepted(self) -> tuple[CandidateEvidence, ...]:
        """The candidates that hold, the clearest first."""
        return tuple(sorted((row for row in self.evidence if row.accepted), key=lambda row: -row.log_odds))

    def __str__(self) -> str:
        others = [row for row in self.evidence if not row.accepted]
        others.sort(key=lambda row: -math.inf if math.isnan(row.log_odds) else row.log_odds, reverse=True)
        holding = f"{len(self.accepted)} of {len(self.evidence)} candidates hold ({self.measurements} measurements)"
        head = f"{holding}: {self.group!r}" if self.group else holding
        left = len(others) - SHOWN_OTHERS
        tail = [f"and {left} less likely"] if left > 0 else []
        return "\n".join([head, *map(str, self.accepted), *map(str, others[:SHOWN_OTHERS]), *tail])

    def suggest(self, k: int) -> Array:
        """Return points whose measurement would settle most.

        Where the models with and without a candidate disagree most, over what each is sure of: the
        sum of the two Kullback-Leibler divergences of a measurement there, for the candidates
        nearest to a decision. Images of measured points are among those looked at. Each point is
        chosen as if those before it were measured.

        Parameters
        ----------
        k : int
            Number of points, from 1 to 1,000.

        Returns
        -------
        (k, dim) array
        """
        k = as_count(k, "k", maximum=MAX_SUGGESTED)
        needed = math.log(1 / self.level)
        rows = zip(self.evidence, self._verdicts, strict=True)
        open_ = [(abs(row.log_odds - needed), row, verdict) for row, verdict in rows if verdict.holding is not None]
        if not open_:
            return self._space.sample(k, 0)
        open_.sort(key=lambda one: one[0])
        chosen = open_[:UNDECIDED]
        known, center = self._judge.data.features, middle(self._space)
        random = (self._space.sample(max(256, k), 0) - center) / self._widths
        images = [known @ row.generators[0].T for _, row, _ in chosen]
        pool = np.concatenate([random, *images])
        pairs = [
            (_Believer(self._judge, model, pool), _Believer(self._judge, verdict.lacking, pool))
            for _, _, verdict in chosen
            if (model := verdict.holding) is not None
        ]
        places = list[int]()
        for _ in range(k):
            worth = np.asarray(sum(_divergence(*one.predictions(), *two.predictions()) for one, two in pairs))
            worth[places] = -1.0
            places.append(int(worth.argmax()))
            for one, two in pairs:
                one.believe(places[-1])
                two.believe(places[-1])
        return np.asarray(self._space.project(pool[places] * self._widths + center))


@final
class _Believer:
    """A model's predictions at points, and what it predicts once it has its own predictions for measurements.

    Its means then stay, and their covariances lose one rank for each, as in a pivoted Cholesky
    factorisation.
    """

    def __init__(self, judge: Judge, model: Model, pool: Array) -> None:
        posterior, level = judge.posterior(model)
        self._noise, factor = model.parameters.noise, model.parameters.signal / level
        self._within = factor * model.pool.cross(pool, pool, model.parameters.lengths) + posterior.spread
        cross = factor * model.pool.cross(judge.data.features, pool, model.parameters.lengths)
        self._rows = Rows(posterior.halves(cross + posterior.spread))
        self._means, self._variances = posterior.at(cross, self._within.diagonal() - posterior.spread)

    def predictions(self) -> tuple[Array, Array]:
        """Return means and variances of measurements."""
        return self._means, self._variances + self._noise

    def believe(self, place: int) -> None:
        """Take the mean at a point for a measurement."""
        rows = self._rows.filled
        shared = self._within[place] - rows[:, place] @ rows
        row = shared / math.sqrt(self._variances[place] + self._noise)
        own = self._within.diagonal()
        self._variances = floored(self._variances - row**2, own)
        self._rows.append(row[None])


def _divergence(mean: Array, variance: Array, other: Array, spread: Array) -> Array:
    """Return the sum of both Kullback-Leibler divergences of normal distributions."""
    gap = (mean - other) ** 2
    return np.asarray(((variance + gap) / spread + (spread + gap) / variance) / 2 - 1)


def find_symmetry(
    points: npt.ArrayLike,
    values: npt.ArrayLike,
    space: Space,
    candidates: Given | None = None,
    *,
    level: float = 0.05,
) -> FoundSymmetry:
    """Find the symmetries of a noisy function, by measurements that were made anyway.

    Parameters
    ----------
    points : (n, dim) array
        Where the function was measured, at least at 10 different points; of more than 500, a random
        500 are used.
    values : (n,) array
        The measurements, with or without noise; not all equal.
    space : Space
        The space of the points.
    candidates : list or dict, optional
        The candidate symmetries: groups of `ob.groups`, or orthogonal matrices about the middle of
        the space, by name if it is a dict. By default swaps of coordinates and of units of several
        coordinates, reflections about the middle, turns by fractions, and shifts, as far as they
        map the space onto itself.
    level : float
        A symmetry must have posterior odds of 1 / level, at prior odds of one over the number of
        candidates.

    Returns
    -------
    FoundSymmetry
        With `group`, `evidence` and `suggest`.

    Notes
    -----
    Where the function hardly varies, or too little was measured, nothing is found: that is no
    evidence of asymmetry, which rows have by negative log odds. Values far out, such as those of
    crashes, are left out. A class of more than 12 units that may be exchanged, or a group of more
    than 128 elements of any other kind, is not judged. See `check_symmetry` for a test that
    measures points with their images.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> rng = np.random.default_rng(0)
    >>> cube = ob.spaces.Box(0, 1, dim=4)
    >>> x = cube.sample(80, rng)
    >>> y = np.cos(3 * x[:, :3]).sum(axis=1) + x[:, :3].prod(axis=1) * x[:, 3] + rng.normal(scale=0.02, size=80)
    >>> report = ob.find_symmetry(x, y, cube)
    >>> report.group
    Product(Symmetric(3), Trivial(1))
    >>> report.accepted[0].name, report.suggest(2).shape
    ('swaps coordinates 0 and 1', (2, 4))
    """
    if not isinstance(space, Space):
        raise InputTypeError(f"`space` must be one of ob.spaces, but got {shown(space)}.", field="space", value=space)
    if not 0 < float(as_finite(level, "level")) < 1:
        raise InputError(f"`0 < level < 1` must hold, but got level={level}.", field="level", value=level)
    x, y = _measurements(points, values, space)
    looked_for = default_candidates(space) if candidates is None else given_candidates(candidates, space)
    if not looked_for:
        raise InputError(f"{shown(space)} has no symmetry to look for; pass `candidates`.", field="space", value=space)
    widths = class_widths(space, np.concatenate([candidate.generators for candidate in looked_for]))
    center = middle(space)
    judge = Judge((x - center) / widths, y)
    search = Search(judge, looked_for, float(level))
    search.run()
    group = named_group(search.model.pool, center) if len(search.model.pool.generators) else None
    rows = tuple(_row(*one, judge) for one in zip(looked_for, search.verdicts, strict=True))
    return FoundSymmetry(group, rows, len(y), float(level), space, judge, tuple(search.verdicts), widths)


def _row(candidate: Candidate, verdict: Verdict, judge: Judge) -> CandidateEvidence:
    asymmetry = judge.asymmetry(verdict.lacking, candidate.generators)
    return CandidateEvidence(candidate.name, candidate.generators, verdict.log_odds, verdict.accepted, asymmetry)


def _measurements(points: npt.ArrayLike, values: npt.ArrayLike, space: Space) -> tuple[Array, Array]:
    """Return points and values, checked, and at most MAX_POINTS of them."""
    x, single = as_points(points, space.dim)
    y = as_finite(values, "values")
    if single or y.shape != (len(x),):
        raise InputError(
            f"`values` must have one number for each of (n, {space.dim}) `points`, but got shapes "
            f"{np.shape(points)} and {y.shape}.",
            field="values",
            value=values,
        )
    outside = np.flatnonzero(~np.asarray(space.contains(x, tol=space.tolerance)))
    if len(outside):
        raise InputError(
            f"`points` must lie in the space, but {shown(x[outside[0]])} in row {outside[0]} is not in {shown(space)}; "
            "leave out such rows, or widen the space.",
            field="points",
            value=points,
        )
    if len(x) > MAX_POINTS:
        kept = np.sort(np.random.default_rng(0).choice(len(x), MAX_POINTS, replace=False))
        x, y = x[kept], y[kept]
    distinct = len(np.unique(x, axis=0))
    if distinct < MIN_POINTS:
        raise InputError(
            f"`points` must have at least {MIN_POINTS} different rows, but got {distinct}; measure more points.",
            field="points",
            value=points,
        )
    if np.ptp(y) <= 1e-12 * np.abs(y).max():
        raise InputError(
            f"`values` must not all be alike, but all are {y[0]}: any symmetry holds.", field="values", value=values
        )
    return x, y
