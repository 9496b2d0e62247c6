"""check: test numerically whether a problem has the symmetry, slope, range and optimum it claims.

range       all means seen anywhere below, and climbing down from the lowest
rewards     in range, and the averages of 200 at each of eight points, and of all, within five standard errors of the
            mean, besides the problem's own `bias`
asymmetry   the largest |f(x) - f(g x)| over sampled points and random elements
steepest    the largest |f(x) - f(y)| / ||x - y|| over sampled pairs, far and near, and climbing from the steepest.
            For an invariant f this is the slope in the orbit metric too: |f(x) - f(y)| = |f(x) - f(g y)|.
            A problem without a constant claims none
best        the largest f over sampled points, points around the optimizer, and climbing from the best
rules       `feasible`, if the problem has it: the same at x and g x, and kept by the optimizer; `best` is then among
            points that keep them
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from orbandit._checks import Array, RandomLike, as_count, as_generator, shown
from orbandit.errors import InputError, InputTypeError
from orbandit.problems.base import ROUNDING, Problem
from orbandit.problems.search import STEP, climb, steepness

SLACK = 1e-6
"""Relative tolerance of slopes, which are quotients of small differences."""


@final
@dataclass(frozen=True)
class ProblemReport:
    """The result of `check`; true in a condition if no claim of the problem was refuted.

    Attributes
    ----------
    asymmetry : float
        The largest change of the mean under an element of the group.
    steepest : float
        The steepest slope found.
    lowest, highest : float
        The least and the largest mean found.
    troubles : tuple of str
        The claims that fail, each with the point where it was found.

    Examples
    --------
    >>> import orbandit as ob
    >>> disk, turns = ob.spaces.Ball(2), ob.groups.Cyclic(3)
    >>> def mean(x):  # not invariant under turns
    ...     return 0.5 + 0.3 * x[:, 0]
    >>> problem = ob.problems.Function(mean, disk, turns, lipschitz=0.3, optimizer=[1.0, 0.0])
    >>> report = ob.problems.check(problem)
    >>> bool(report), round(report.steepest, 3), len(report.troubles)
    (False, 0.3, 1)
    """

    asymmetry: float
    steepest: float
    lowest: float
    highest: float
    troubles: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.troubles

    def __str__(self) -> str:
        head = "as claimed" if self else "; ".join(self.troubles)
        return (
            f"{head} (asymmetry {self.asymmetry:.2g}, steepest slope {self.steepest:.4g}, "
            f"means from {self.lowest:.4g} to {self.highest:.4g})"
        )


def check(problem: Problem, *, points: int = 1000, rng: RandomLike = 0) -> ProblemReport:
    """Test numerically whether a problem is as it claims.

    Parameters
    ----------
    problem : Problem
        The problem to test.
    points : int
        Size of the samples, at least 16.
    rng : int, SeedSequence or Generator
        Source of randomness of the samples.

    Examples
    --------
    >>> import orbandit as ob
    >>> cone = ob.problems.Cone(ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2), peak=[0.9, 0.3])
    >>> print(ob.problems.check(cone))
    as claimed (asymmetry 0, steepest slope 1, means from 0.001317 to 0.95)
    """
    if not isinstance(problem, Problem):
        raise InputTypeError(
            f"`problem` must be one of ob.problems, but got {shown(problem)}.", field="problem", value=problem
        )
    size, generator = as_count(points, "points", minimum=16), as_generator(rng)
    problem.mean(problem.optimizer)  # refuses means of a wrong shape
    seen, troubles = _Watch(problem), list[str]()
    sample = problem.space.sample(size, generator)
    means = seen(sample)
    asymmetry = _asymmetry(problem, seen, sample, means, generator, troubles)
    steepest = _steepest(problem, seen, sample, means, generator, troubles)
    _look_for_optimum(problem, seen, sample, generator, troubles)
    _look_at_optimizer(problem, troubles)
    lowest = sample[np.argsort(means)[:8]]
    climb(lambda points: -seen(points), problem.space, lowest, generator, rounds=60)
    seen.look_at_range(troubles)
    if not any("outside" in trouble for trouble in troubles):  # no reward has a mean out of range
        _look_at_rewards(problem, sample, generator, troubles)
    return ProblemReport(asymmetry, steepest, seen.lowest[0], seen.highest[0], tuple(troubles))


class _Watch:
    """The mean as a function that records the least and the largest value, and where they were.

    `best` is the largest of feasible points.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.lowest, self.highest = (np.inf, problem.optimizer), (-np.inf, problem.optimizer)
        self.best = (-np.inf, problem.optimizer)

    def __call__(self, points: Array) -> Array:
        return self._looked_at(points)[0]

    def worths(self, points: Array) -> Array:
        """Return the means of feasible points, and minus infinity at others."""
        return self._looked_at(points)[1]

    def _looked_at(self, points: Array) -> tuple[Array, Array]:
        """Return means and worths."""
        means = np.asarray(self._problem._mean(points))
        low, high = int(means.argmin()), int(means.argmax())
        if means[low] < self.lowest[0]:
            self.lowest = (float(means[low]), points[low].copy())
        if means[high] > self.highest[0]:
            self.highest = (float(means[high]), points[high].copy())
        feasible = self._problem.feasible
        worths = means if feasible is None else np.where(feasible(points) >= 0, means, -np.inf)
        if worths[best := int(worths.argmax())] > self.best[0]:
            self.best = (float(worths[best]), points[best].copy())
        return means, worths

    def look_at_range(self, troubles: list[str]) -> None:
        low, high = self._problem.reward_range
        slack = ROUNDING * (high - low)
        for value, point in (self.lowest, self.highest):
            if not low - slack <= value <= high + slack:
                troubles.append(f"mean {value:.6g} at {shown(point)}, outside [{low:g}, {high:g}]")


def _asymmetry(
    problem: Problem, seen: _Watch, sample: Array, means: Array, rng: np.random.Generator, troubles: list[str]
) -> float:
    group = problem.group
    if group is None:
        return 0.0
    elements = np.concatenate([group.generators, group.random(8, rng)])
    images = problem.space.project(group.act(elements, sample).reshape(-1, problem.space.dim))
    changes = np.abs(seen(images).reshape(len(elements), -1) - means)
    g, i = np.unravel_index(changes.argmax(), changes.shape)
    # An image is rounded: the mean may change by what its slope makes of that.
    rounding = 1e-9 * problem.space.diameter
    allowed = ROUNDING * np.ptp(problem.reward_range) + rounding * (problem.lipschitz or 0.0)
    if changes[g, i] > allowed:
        troubles.append(f"{shown(group)} changes the mean by {changes[g, i]:.3g} at {shown(sample[i])}")
    _look_at_rules(problem, sample, images, troubles)
    return float(changes[g, i])


def _steepest(
    problem: Problem, seen: _Watch, sample: Array, means: Array, rng: np.random.Generator, troubles: list[str]
) -> float:
    space = problem.space
    # A difference of two means is rounded to this.
    rounding = 8 * float(np.finfo(float).eps) * max(np.abs(problem.reward_range).max(), np.abs(means).max())
    slopes = [_slopes(seen, sample, means, rng.permutation(sample), rounding)]
    axes = space.frame()[1]
    for scale in (1e-1, 1e-2, 1e-3, 1e-4):
        moves = rng.standard_normal((len(sample), len(axes))) @ axes
        moves *= scale * space.diameter / np.linalg.norm(moves, axis=1, keepdims=True)
        slopes.append(_slopes(seen, sample, means, space.project(sample + moves), rounding))
    pairs = np.max(slopes, axis=0)
    length = steepness(lambda points: seen(space.project(points)), space)
    starts = np.concatenate([sample[np.argsort(-pairs)[:6]], problem.optimizer[None]])
    ends, climbed = climb(length, space, starts, rng, rounds=60)
    climbed = climbed - rounding / (2 * STEP * space.diameter)
    steepest = float(max(pairs.max(), climbed.max()))
    if problem.lipschitz is not None and steepest > problem.lipschitz * (1 + SLACK):
        where = ends[climbed.argmax()] if climbed.max() >= pairs.max() else sample[pairs.argmax()]
        troubles.append(f"slope {steepest:.6g} at {shown(where)}, steeper than lipschitz={problem.lipschitz:.6g}")
    return steepest


def _slopes(seen: _Watch, sample: Array, means: Array, others: Array, rounding: float) -> Array:
    """Return the slope of the mean between each point and its partner, less what rounding may add."""
    distances = np.linalg.norm(others - sample, axis=1)
    rises = np.abs(seen(others) - means) - rounding
    return np.asarray(np.where(distances > 0, rises / np.maximum(distances, 1e-300), 0.0))


def _look_at_rules(problem: Problem, sample: Array, images: Array, troubles: list[str]) -> None:
    """Check that images of points are feasible where the points are."""
    if problem.feasible is None:
        return
    margins = problem.feasible(sample)
    others = problem.feasible(images).reshape(-1, len(sample))
    wrong = ((others >= 0) != (margins >= 0)) & (np.abs(others - margins) > 1e-9 * problem.space.diameter)
    if wrong.any():
        i = int(wrong.any(axis=0).argmax())
        troubles.append(f"{shown(problem.group)} changes what is feasible at {shown(sample[i])}")


def _look_for_optimum(
    problem: Problem, seen: _Watch, sample: Array, rng: np.random.Generator, troubles: list[str]
) -> None:
    space = problem.space
    around = problem.optimizer + rng.standard_normal((len(sample), space.dim)) * (
        space.diameter * 10.0 ** rng.uniform(-6, -1, (len(sample), 1))
    )
    seen(space.project(around))
    starts = np.concatenate([sample[np.argsort(-seen.worths(sample))[:8]], space.project(around[:4])])
    climb(seen.worths, space, starts, rng, rounds=150)
    value, point = seen.best
    if value > problem.optimum + problem.tolerance:
        troubles.append(f"mean {value:.9g} at {shown(point)}, above optimum={problem.optimum:.9g}")


def _look_at_optimizer(problem: Problem, troubles: list[str]) -> None:
    """Check that the optimum lies in the space, and neither in its middle nor on a fixed point."""
    space, group, point = problem.space, problem.group, problem.optimizer
    if not space.contains(point, tol=space.tolerance):
        troubles.append(f"optimizer {shown(point)} outside {shown(space)}")
    if problem.feasible is not None and not problem.feasible(point) >= 0:
        troubles.append(f"optimizer {shown(point)} not feasible")
    middle = np.mean(space.bounds, axis=0)
    if np.linalg.norm(point - space.project(middle)) <= 1e-3 * space.diameter:
        troubles.append("optimizer in the middle of the space, where many agents begin")
    if group is not None and group.order > 1:
        moved = np.linalg.norm(group.act(group.generators, point) - point, axis=-1)
        if moved.max() <= 1e-3 * space.diameter:
            troubles.append("optimizer on a fixed point of the group")


def _look_at_rewards(problem: Problem, sample: Array, rng: np.random.Generator, troubles: list[str]) -> None:
    low, high = problem.reward_range
    places = np.repeat(sample[:8], 200, axis=0)
    try:
        rewards = np.asarray(problem.sample(places, rng))
    except InputError as error:  # a problem's own draws are checked when they are made
        troubles.append(f"rewards outside what was claimed: {error}")
        return
    if rewards.shape != (len(places),) or not ((rewards >= low) & (rewards <= high)).all():
        troubles.append(f"rewards outside [{low:g}, {high:g}], or not one for each point")
        return
    drawn = rewards.reshape(8, 200)
    means = problem._mean(sample[:8])
    # Equal rewards do not estimate their deviation: at most that of rewards at the ends.
    most = np.sqrt(np.maximum((means - low) * (high - means), 1e-12 * (high - low) ** 2))
    errors = np.where(np.ptp(drawn, axis=1) > 0, drawn.std(axis=1), most) / np.sqrt(200)
    off = np.abs(drawn.mean(axis=1) - means) - problem.bias
    worst = int((off / errors).argmax())
    if off[worst] > 5 * errors[worst]:
        troubles.append(f"rewards at {shown(sample[worst])} are off their mean by {off[worst]:.3g} on average")
    pooled = abs(float((drawn.mean(axis=1) - means).mean())) - problem.bias
    if pooled > 5 * float(np.linalg.norm(errors)) / 8:
        troubles.append(f"rewards are off their mean by {pooled:.3g} on average")
