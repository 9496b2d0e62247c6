"""Global search of noiseless functions on a space, for optima and slopes without a closed form.

Many starts run at once, each a (1 + lambda) evolution strategy: it proposes points around the
current one, moves to the best if it is better, and adapts its step size. It needs no gradients and
handles kinks and walls.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np

from orbandit._checks import Array, frozen
from orbandit.groups import Group
from orbandit.problems.base import Problem
from orbandit.problems.noise import Noise
from orbandit.spaces import Space

Values = Callable[[Array], Array]
"""Returns a number for each point of a batch."""

SAMPLES, CLIMBERS, PROPOSALS, ROUNDS = 4096, 24, 16, 400
WIDER, NARROWER = 1.5, 0.75
FINEST = 1e-10
"""Steps below this fraction of the diameter end a search."""

STEP = 1e-6
"""Half the distance, in diameters, over which a slope is measured."""

MARGIN = 1.02
"""Safety factor on the steepest slope found by search."""


def climb(
    values: Values, space: Space, starts: Array, rng: np.random.Generator, rounds: int = ROUNDS
) -> tuple[Array, Array]:
    """Return the end points of the searches from the starts, (k, dim), and their values, (k,)."""
    axes = space.frame()[1]
    points, best = starts.copy(), np.asarray(values(starts))
    steps = np.full(len(points), 0.1 * space.diameter)
    for _ in range(rounds):
        if steps.max() < FINEST * space.diameter:
            break
        # Steps of many lengths at once: a climber need not know how near it is.
        lengths = steps[:, None] * 2.0 ** rng.uniform(-3, 1, (len(points), PROPOSALS))
        moves = rng.standard_normal((len(points), PROPOSALS, len(axes))) @ axes
        moves *= (lengths / np.linalg.norm(moves, axis=2))[..., None]
        proposals = space.project((points[:, None] + moves).reshape(-1, space.dim))
        found = np.asarray(values(proposals)).reshape(len(points), PROPOSALS)
        which = found.argmax(axis=1)
        rows = np.arange(len(points))
        better = found[rows, which] > best
        chosen = proposals.reshape(len(points), PROPOSALS, -1)[rows, which]
        points = np.where(better[:, None], chosen, points)
        best = np.where(better, found[rows, which], best)
        steps = np.clip(steps * np.where(better, WIDER, NARROWER), 0.0, 0.2 * space.diameter)
    return points, best


def highest(values: Values, space: Space, rng: np.random.Generator, starts: Array | None = None) -> tuple[Array, float]:
    """Return the best point found from a sample and from given starts, and its value."""
    sample = space.sample(SAMPLES, rng)
    sample = sample[np.argsort(-np.asarray(values(sample)))[:CLIMBERS]]
    if starts is not None:
        sample = np.concatenate([sample, space.project(starts)])
    points, best = climb(values, space, sample, rng)
    winner = int(best.argmax())
    return points[winner], float(best[winner])


def steepness(values: Values, space: Space) -> Values:
    """Return the function that measures the slope at each point, along its gradient by central differences.

    The slope is that between two points, so that kinks, where a gradient is none, do not exaggerate
    it.
    """
    axes = space.frame()[1]
    h = STEP * space.diameter

    def rises(points: Array, directions: Array) -> Array:
        """Return f(x + h u) - f(x - h u) for the directions (m, k, dim) of each point."""
        shifted = points[:, None, None] + h * np.stack([directions, -directions], axis=2)
        ends = np.asarray(values(shifted.reshape(-1, space.dim))).reshape(*directions.shape[:2], 2)
        return np.asarray(ends[..., 0] - ends[..., 1])

    def slope(points: Array) -> Array:
        gradient = rises(points, np.broadcast_to(axes, (len(points), *axes.shape))) @ axes
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        uphill = gradient / np.maximum(length, 1e-300)
        return np.abs(rises(points, uphill[:, None])[:, 0]) / (2 * h)

    return slope


class SearchedProblem(Problem):
    """A problem whose optimum and Lipschitz constant are found by search, once, on first use.

    A subclass may give good starts. The results are not proved: the Lipschitz constant is the
    steepest slope found, plus 2 %.
    """

    def __init__(self, space: Space, group: Group | None, noise: Noise | None) -> None:
        super().__init__(space, group, 1.0, noise)

    @cached_property
    def _best(self) -> tuple[Array, float]:
        point, value = highest(self._mean, self.space, np.random.default_rng(0), self._starts())
        return frozen(point), value

    @property
    def optimizer(self) -> Array:
        """The best point found."""
        return self._best[0]

    @property
    def tolerance(self) -> float:
        """How far the search may have ended below its local optimum; there may be a better one."""
        return 1e-6

    @cached_property
    def _steepest(self) -> float:
        rng = np.random.default_rng(1)
        length = steepness(self._mean, self.space)
        sample = np.concatenate([self.space.sample(512, rng), self._starts(), self.optimizer[None]])
        sample = sample[np.argsort(-length(sample))[:8]]
        return MARGIN * float(climb(length, self.space, sample, rng, rounds=120)[1].max())

    @property
    def lipschitz(self) -> float | None:
        """The steepest slope found, plus 2 %."""
        return self._steepest

    @abstractmethod
    def _starts(self) -> Array:
        """Return points worth starting a search from, (k, dim); k may be 0."""
