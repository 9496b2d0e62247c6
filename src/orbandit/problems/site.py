"""Site: layouts of units on a disk that keep a distance from each other, drawn at random and improved by search.

The layout x = (x_1, ..., x_m) of units in a disk of radius R about 0, at least d apart, has the
margin

    min( min_i R - ||x_i||,  min_{i < j} ||x_i - x_j|| - d ),

and is feasible if that is >= 0. There is none unless R >= d / (2 sin(pi / min(m, 6))), which
suffices for m <= 7, and, by Groemer's inequality, m <= 2 pi R^2 / (sqrt(3) d^2) + pi R / d + 1.

To find a good one, random layouts are improved by sequential quadratic programming. The best of
them are then perturbed (basin hopping): a few units, one after the other, move to the best of many
places, all are improved again, and a better layout is kept.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels.wakes import nearest_pairs
from orbandit.errors import InputError

Indices: TypeAlias = npt.NDArray[np.intp]
Values: TypeAlias = Callable[[Array], Array]
"""Returns a number for each point of a batch."""
Slopes: TypeAlias = Callable[[Array], Array]
"""Returns the gradient at each point of a batch."""

ROUNDING = 1e-9
"""Margins that are below 0 by less than this count as 0, since units on the rim are rounded."""

ROOM = 1e-4
"""Slack of the constraints in an improvement, which satisfies them to 1e-6 or so."""

NEAR = 3.0
"""Pairs farther apart than this many distances are no constraints of an improvement, but checked
after it."""

STARTS, WALKERS, PLACES, STEPS = 32, 8, 96, 100
MOST_HOPS = 128
"""Hops of a walker: 8 for each unit, but at most so many."""

ATTEMPTS = 20
"""Restarts of a random layout that has no place left for a unit, and then of one on a lattice."""


@final
@dataclass(frozen=True)
class Site:
    """A disk for units that keep their distance.

    Parameters
    ----------
    units : int
        m, at least 2.
    radius, distance : float
        R and d, in metres.
    """

    units: int
    radius: float
    distance: float

    def __post_init__(self) -> None:
        """Refuse a disk that is too small for any layout, as far as theory tells."""
        ratio = self.radius / self.distance
        most = math.floor(2 * math.pi * ratio**2 / math.sqrt(3) + math.pi * ratio + 1 + ROUNDING)
        least = self.distance / (2 * math.sin(math.pi / min(self.units, 6)))
        if self.units > most or self.radius < least - ROUNDING:
            raise self._too_small("do not fit")

    def margins(self, points: Array) -> Array:
        """Return the margin of each layout, in metres; feasible if >= 0."""
        layouts = np.ascontiguousarray(points).reshape(len(points), self.units, 2)
        distances, pairs = np.empty(len(points)), np.empty((len(points), 2), dtype=np.int64)
        nearest_pairs(layouts, distances, pairs)
        inside = self.radius - np.sqrt((layouts**2).sum(axis=2)).max(axis=1)
        margins = np.minimum(inside, distances - self.distance)
        return np.where((margins < 0) & (margins >= -ROUNDING), 0.0, margins)

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        """Draw feasible layouts, (size, dim): unit by unit, each uniform given the earlier ones.

        If no place is left repeatedly, units are put on random vertices of a lattice, or on a ring.
        """
        return np.array([self._drawn(rng) for _ in range(size)]).reshape(size, 2 * self.units)

    def best(self, values: Values, slopes: Slopes, rng: np.random.Generator) -> Array:
        """Search for the feasible layout with the largest value, (dim,)."""

        def improved(point: Array) -> Array:
            return self.improved(point, values, slopes)

        ends = np.array([improved(point) for point in self.sample(STARTS, rng)])
        found = []
        for point in ends[np.argsort(-values(ends))[:WALKERS]]:
            for hop in range(min(8 * self.units, MOST_HOPS)):
                both = np.stack([point, improved(self._moved(point, min(1 + hop % 3, self.units), values, rng))])
                point = both[values(both).argmax()]
            found.append(point)
        best: Array = found[int(values(np.array(found)).argmax())]
        return best

    def improved(self, point: Array, values: Values, slopes: Slopes) -> Array:
        """Improve a feasible layout by sequential quadratic programming.

        Return it, or the layout itself.
        """
        from scipy.optimize import NonlinearConstraint, minimize

        radius, layout = self.radius - ROOM, point.reshape(-1, 2)
        apart = (self.distance + ROOM) / radius
        first, second = np.triu_indices(self.units, 1)
        near = np.linalg.norm(layout[first] - layout[second], axis=1) < NEAR * self.distance
        first, second = first[near], second[near]

        def loss(v: Array) -> tuple[float, Array]:
            here = radius * v[None]
            return -float(values(here)[0]), -radius * slopes(here)[0]

        def room(v: Array) -> Array:
            inside, squares = disk_rules(v, first, second)
            return np.concatenate([inside, squares - apart**2])

        def room_slopes(v: Array) -> Array:
            return disk_rule_slopes(v, first, second)

        found = minimize(
            loss,
            point / radius,
            jac=True,
            method="SLSQP",
            constraints=NonlinearConstraint(room, 0.0, np.inf, jac=room_slopes),
            options={"ftol": 1e-9, "maxiter": STEPS},
        )
        both = np.stack([point, radius * found.x])
        return np.asarray(both[np.where(self.margins(both) >= 0, values(both), -np.inf).argmax()])

    def _moved(self, point: Array, many: int, values: Values, rng: np.random.Generator) -> Array:
        """Move so many units, one after the other, each to the best of many places, if there are any for it."""
        point = point.copy()
        for j in rng.choice(self.units, many, replace=False):
            # A third of the places are on the rim, where most units of good layouts stand.
            places = np.vstack([self._places(PLACES * 2 // 3, rng), self.radius * on_circle(rng.random(PLACES // 3))])
            trials = np.repeat(point[None], len(places), axis=0)
            trials[:, 2 * j : 2 * j + 2] = places
            trials = trials[self.margins(trials) >= 0]
            if len(trials):
                point = trials[values(trials).argmax()]
        return point

    def _drawn(self, rng: np.random.Generator) -> Array:
        for layout in self._proposals(rng):
            if len(layout) == self.units and self.margins(layout.reshape(1, -1))[0] >= 0:
                return layout.ravel()
        raise self._too_small("were not found to fit")

    def _proposals(self, rng: np.random.Generator) -> Iterator[Array]:
        """Yield layouts that may have too few units or be infeasible, (k, 2)."""
        for _ in range(ATTEMPTS):
            layout = np.empty((0, 2))
            for _ in range(self.units):
                places = self._places(PLACES, rng)
                gaps = np.linalg.norm(places[:, None] - layout, axis=2).min(axis=1, initial=np.inf)
                layout = np.concatenate([layout, places[gaps >= self.distance][:1]])
            yield layout
        reach = math.ceil(2 * self.radius / self.distance) + 1
        i, j = np.mgrid[-reach : reach + 1, -reach : reach + 1].reshape(2, -1)
        lattice = self.distance * (1 + ROUNDING) * np.column_stack([i + j / 2, j * math.sqrt(0.75)])
        for _ in range(ATTEMPTS):
            x, y = on_circle(rng.random(1))[0]
            vertices = (lattice + rng.uniform(-self.distance, self.distance, 2)) @ np.array([[x, y], [-y, x]])
            vertices = vertices[np.linalg.norm(vertices, axis=1) <= self.radius]
            yield rng.permutation(vertices)[: self.units]
        for ring in (self.units, self.units - 1):
            rim = self.radius * on_circle(rng.random() + np.arange(ring) / ring)
            yield np.concatenate([rim, np.zeros((self.units - ring, 2))])

    def _places(self, size: int, rng: np.random.Generator) -> Array:
        return self.radius * np.sqrt(rng.random(size))[:, None] * on_circle(rng.random(size))

    def _too_small(self, why: str) -> InputError:
        return InputError(
            f"{self.units} units at least {self.distance:g} apart {why} on a disk of radius {self.radius:g}; pass a "
            "larger `radius`.",
            field="radius",
            value=self.radius,
        )


def disk_rules(v: Array, first: Indices, second: Indices) -> tuple[Array, Array]:
    """Return 1 - ||x_i||^2 for each unit, and the squared distance of each pair."""
    layout = v.reshape(-1, 2)
    gaps = layout[first] - layout[second]
    return 1 - (layout**2).sum(axis=1), (gaps**2).sum(axis=1)


def disk_rule_slopes(v: Array, first: Indices, second: Indices) -> Array:
    """Return the gradients of all that `disk_rules` returns, one to a row."""
    layout = v.reshape(-1, 2)
    units, rows = np.arange(len(layout)), len(layout) + np.arange(len(first))
    matrix = np.zeros((len(layout) + len(first), len(v)))
    matrix[units, 2 * units], matrix[units, 2 * units + 1] = -2 * layout.T
    for axis in (0, 1):
        gaps = 2 * (layout[first, axis] - layout[second, axis])
        matrix[rows, 2 * first + axis], matrix[rows, 2 * second + axis] = gaps, -gaps
    return matrix


def on_circle(turns: Array) -> Array:
    """Return points on the unit circle, at angles in turns, (k, 2)."""
    return np.column_stack([np.cos(2 * math.pi * turns), np.sin(2 * math.pi * turns)])
