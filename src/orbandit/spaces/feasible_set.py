"""FeasibleSet: the part of a space where a known constraint holds.

A constraint (`rule`) returns whether points are feasible, or a margin that is feasible if >= 0. A
margin h allows repairs: an infeasible point takes Newton steps

    x <- x + (slack - h(x)) grad h(x) / |grad h(x)|^2,

with finite differences for the gradient. Where that fails, and for constraints without margins, a
point is moved back along the segment to a feasible one, as far as needed.

Points are drawn uniformly (rejection sampling) as long as about one in sixteen is feasible.
Otherwise the few feasible ones, or points repaired by raising their margins, are starts of a Gibbs
sampler: each unit in turn moves to a place drawn from the whole space, if that is feasible, so that
the uniform distribution on the set is stationary, except on flat spaces, where single coordinates
cannot move.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, shown
from orbandit.errors import InputError, InputTypeError
from orbandit.spaces.base import BoolArray, Space

Rule: TypeAlias = Callable[[Array], Any]
"""Takes (m, dim) points and returns (m,) bools, or margins that are feasible if >= 0."""

FIRST_DRAWS, DRAWS = 256, 16
"""Points are drawn until enough are feasible, at most this many and so many for each that is
wanted,"""
MOST_DRAWS = 131_072
"""or this many if none is feasible and the constraint has no margins."""
STARTS = 4
"""Points that are repaired if no draw is feasible."""
RAISES, PLACES = 100, 16
"""Most rounds of repairs, and places tried for each unit in a round."""
CHAINS, ATTEMPTS, APART = 32, 4, 4
"""Of the Gibbs sampler: most chains at once, places proposed for a unit, and states kept of a chain
per sweep over the units."""
NEWTON_STEPS = 8
"""Most Newton steps of a repair."""
PARTS, LEVELS = 16, 3
"""Parts into which a segment is cut, and how often the part after the last feasible point is cut
again."""
INNER = 1e-9
"""Points are kept off the border of the space by this fraction of their distance from its middle,
so that rounding does not violate a constraint that repeats the space's own."""
DIFFERENCE = 1e-7
"""The step of differences, in widths of the space."""
SLACK = DIFFERENCE
"""The margin that a repair aims at, in units of the change of the margin over the width of the
space; with less, steps stall at a kink of the margin, since gradients are finite differences."""


class NamedRule(ABC):
    """A constraint on points that its author knows by other names."""

    @abstractmethod
    def __call__(self, points: Array) -> Any:
        """Return bools, or margins, of (m, dim) points."""

    @abstractmethod
    def named(self, point: Array) -> str:
        """Return what a message calls a point."""


@final
class FeasibleSet:
    """The points of a space where a constraint holds; without a constraint, all of them.

    Parameters
    ----------
    space : Space
        The space.
    rule : callable, optional
        The constraint: takes (m, dim) points and returns (m,) bools, or margins that are feasible
        if >= 0.
    units : sequence of arrays of int, optional
        Coordinates that move together, by default each by itself.

    Attributes
    ----------
    named : callable
        What messages call a point: its coordinates, or as a `NamedRule` says.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> apart = FeasibleSet(ob.spaces.Box(0.0, 1.0, dim=2), lambda x: abs(x[:, 0] - x[:, 1]) - 0.5)
    >>> bool(apart.holds(apart.sample(100, np.random.default_rng(0))).all())
    True
    >>> apart.brought(np.array([[0.5, 0.6]]), np.array([[0.0, 0.9]])).round(6)
    array([[0.3, 0.8]])
    """

    def __init__(
        self, space: Space, rule: Rule | None = None, units: Sequence[npt.NDArray[np.intp]] | None = None
    ) -> None:
        if rule is not None and not callable(rule):
            raise InputTypeError(f"`feasible` must be a function of points, but got {shown(rule)}.")
        self.space, self._rule = space, rule
        self.named = rule.named if isinstance(rule, NamedRule) else shown
        self._units = list(np.arange(space.dim)[:, None]) if units is None else list(units)
        low, high = space.bounds
        self._middle = np.asarray(space.project((low + high) / 2))
        self._width = float((high - low).max())

    @property
    def is_whole(self) -> bool:
        """Whether there is no constraint."""
        return self._rule is None

    def margins(self, points: Array) -> Array:
        """Return the margin of each point; 1 and -1 for a constraint that returns bools."""
        if self._rule is None or not len(points):
            return np.ones(len(points))
        try:
            answer = np.asarray(self._rule(points.copy()))
        except Exception as error:
            if isinstance(error, InputError) and error.field == "feasible":
                raise  # of a rule of ours, which says already what is wrong
            raise self._blamed(points, error) from error
        if answer.shape != (len(points),) or answer.dtype.kind not in "bf":
            raise InputError(
                f"`feasible` must return a bool, or a float that is feasible if >= 0, for each of {len(points)} "
                f"points, but returned {answer.dtype} of shape {answer.shape} for points of shape {points.shape}.",
                field="feasible",
            )
        if answer.dtype.kind == "b":
            return np.where(answer, 1.0, -1.0)
        if np.isnan(answer).any():
            (first, *_) = points[np.isnan(answer)]
            raise InputError(f"`feasible` must return no NaN, but did at {self.named(first)}.", field="feasible")
        return np.asarray(answer, dtype=np.float64)

    def _blamed(self, points: Array, error: Exception) -> InputError:
        """Return the error for a constraint that raised.

        It names the first point where it fails alone.
        """
        for point in points:
            try:
                self._rule(point[None])  # type: ignore[misc]
            except Exception as own:
                return InputError(f"`feasible` failed at {self.named(point)}: {own!r}.", field="feasible")
        return InputError(f"`feasible` failed at {len(points)} points at once: {error!r}.", field="feasible")

    def holds(self, points: Array) -> BoolArray:
        """Return which points are feasible."""
        return self.margins(points) >= 0

    def inside(self, points: Array) -> Array:
        """Return the nearest points of the space, just off its border if there is a constraint."""
        nearest = self.space.project(points)
        return nearest if self._rule is None else self._middle + (1 - INNER) * (nearest - self._middle)

    def brought(self, points: Array, origins: Array) -> Array:
        """Repair points: return feasible points near them.

        Parameters
        ----------
        points : (m, dim) array
            Points to repair.
        origins : (m, dim) array
            Feasible points, one for each, to which a point falls back if nothing else is feasible.
        """
        points = self.inside(points)
        if self._rule is None:
            return points
        points, margins = self._steps_back(points, self.margins(points))
        outside = np.flatnonzero(margins < 0)
        if len(outside):
            points[outside] = self._way_back(points[outside], origins[outside])
        return points

    def approached(self, points: Array) -> Array:
        """Return points closer to the feasible set, or in it, by Newton steps on the margin."""
        points = self.inside(points)
        return self._steps_back(points, self.margins(points))[0]

    def _steps_back(self, points: Array, margins: Array) -> tuple[Array, Array]:
        """Return points after Newton steps towards the set, as long as their margins rise, and the margins."""
        going = np.flatnonzero(margins < 0)
        for _ in range(NEWTON_STEPS):
            if not len(going):
                break
            gradients = self._gradients(points[going], margins[going])
            squares = (gradients**2).sum(axis=1)
            wanted = SLACK * self._width * np.sqrt(squares) - margins[going]
            on = (squares > 0) & np.isfinite(wanted)
            going, gradients = going[on], gradients[on]
            trials = self.inside(points[going] + (wanted[on] / squares[on])[:, None] * gradients)
            reached = self.margins(trials)
            better = reached > margins[going]
            points[going[better]], margins[going[better]] = trials[better], reached[better]
            going = going[better & (reached < 0)]
        return points, margins

    def _gradients(self, points: Array, margins: Array) -> Array:
        """Return finite differences of the margin for each coordinate, inwards, (m, dim)."""
        dim, step = self.space.dim, DIFFERENCE * self._width
        steps = np.where(points > self._middle, -step, step)
        moved = self.space.project((points[:, None] + steps[:, :, None] * np.eye(dim)).reshape(-1, dim))
        with np.errstate(invalid="ignore"):
            return np.asarray((self.margins(moved).reshape(-1, dim) - margins[:, None]) / steps)

    def _way_back(self, points: Array, origins: Array) -> Array:
        """Return the farthest feasible points found on the segments from feasible ones."""
        near, ways = np.zeros(len(points)), points - origins
        for level in range(1, LEVELS + 1):
            shares = near[:, None] + np.arange(PARTS + 1) / PARTS**level
            places = origins[:, None] + shares[..., None] * ways[:, None]
            good = self.margins(places.reshape(-1, self.space.dim)).reshape(shares.shape) >= 0
            good[:, 0] = True  # where the segment begins, or what was found before
            near = shares[np.arange(len(points)), PARTS - good[:, ::-1].argmax(axis=1)]
        return np.asarray(np.where(near[:, None] > 0, origins + near[:, None] * ways, origins))

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        """Return random feasible points; the module describes their distribution."""
        if self._rule is None:
            return self.space.sample(size, rng)
        kept, nearest, drawn = np.empty((0, self.space.dim)), np.empty((0, self.space.dim)), 0
        while len(kept) < size:
            many = max(FIRST_DRAWS, 2 * size)
            points = self.inside(self.space.sample(many, rng))
            margins = self.margins(points)
            kept, drawn = np.concatenate([kept, points[margins >= 0]]), drawn + many
            nearest = points[np.argsort(-margins, kind="stable")[:STARTS]]
            is_blind = margins.max() == margins.min() < 0  # nothing says which way to go
            if drawn >= (MOST_DRAWS if is_blind and not len(kept) else DRAWS * (FIRST_DRAWS // DRAWS + size)):
                break
        if len(kept) >= size:
            return kept[:size]
        return self._states(kept if len(kept) else self._raised(nearest, drawn, rng), size, rng)

    def _raised(self, points: Array, drawn: int, rng: np.random.Generator) -> Array:
        """Return feasible points, at least one, by repairs and by moves of the units at fault."""
        margins = self.margins(points)
        for _ in range(RAISES):
            points, margins = self._steps_back(points, margins)
            if (margins >= 0).any():
                return points[margins >= 0]
            gradients = self._gradients(points, margins)
            for row, gradient in enumerate(gradients):
                trials = self._relocations(points[row], gradient, rng)
                reached = self.margins(trials)
                best = int(reached.argmax())
                if reached[best] > margins[row]:
                    points[row], margins[row] = trials[best], reached[best]
        best = int(margins.argmax())
        raise InputError(
            f"no feasible point was found: not among {drawn:,} random points of the space, nor by raising "
            f"the margins of {len(points)} of them, the largest is {margins[best]:g}, at {self.named(points[best])}."
            " Check the sign of `feasible`; margins instead of bools help to find small sets.",
            field="feasible",
        )

    def _relocations(self, point: Array, gradient: Array, rng: np.random.Generator) -> Array:
        """Return points in which one unit has moved anywhere.

        One that the margin depends on, if any.
        """
        active = [own for own in self._units if gradient[own].any()] or self._units
        trials = np.repeat(point[None], PLACES * len(active), axis=0)
        places = self.space.sample(len(trials), rng)
        for j, place in enumerate(places):
            own = active[j % len(active)]
            trials[j, own] = place[own]
        return self.inside(trials)

    def _states(self, starts: Array, size: int, rng: np.random.Generator) -> Array:
        """Return states of a Gibbs sampler, from feasible points."""
        points = starts[np.arange(min(max(len(starts), CHAINS), size)) % len(starts)]
        rows, dim, units = np.arange(len(points)), self.space.dim, self._units
        # where no coordinate can move by itself, points are brought back
        is_flat = self.space.intrinsic_dim < dim
        taken: list[Array] = []
        step = 0
        while len(taken) * len(points) < size:
            own = units[step % len(units)]
            trials = np.repeat(points[:, None], ATTEMPTS, axis=1)
            places = self.space.sample(len(points) * ATTEMPTS, rng)[:, own]
            trials[:, :, own] = places.reshape(len(points), ATTEMPTS, -1)
            trials = trials.reshape(-1, dim)
            stays = is_flat | np.asarray(self.space.contains(trials, tol=0.0))
            trials = self.inside(trials)
            good = (stays & self.holds(trials)).reshape(len(points), ATTEMPTS)
            moved = trials.reshape(len(points), ATTEMPTS, dim)[rows, good.argmax(axis=1)]
            points = np.where(np.any(good, axis=1)[:, None], moved, points)
            step += 1
            if step >= len(units) and step % max(1, len(units) // APART) == 0:
                taken.append(points)
        return np.concatenate(taken)[:size]


@final
class ScaledRule(NamedRule):
    """The constraint of a feasible set, on points in other units.

    Parameters
    ----------
    region : FeasibleSet
        The feasible set.
    leave : callable
        Converts points to the units of the set.
    """

    def __init__(self, region: FeasibleSet, leave: Callable[[Array], Array]) -> None:
        self._region, self._leave = region, leave

    def __call__(self, points: Array) -> Array:
        """Return the margins of points."""
        return self._region.margins(self._leave(points))

    def named(self, point: Array) -> str:
        """Return what the set calls a point."""
        return self._region.named(self._leave(point))
