"""Acquisition functions on X/G: an upper confidence bound, or Thompson sampling.

    ucb         maximise m(x) + beta sqrt(v(x)),   beta as `deviations` says
    best        the same with the first beta of LADDER that promises to gain enough, beyond the best mean known;
                where none does, late rounds refine the top (`refinement.py`)
    thompson    draw a function from the posterior, at candidates near the best bounds, and play its largest value

A bound is maximised by spectral projected gradients (Birgin, Martinez, Raydan 2000), which need
only the projection onto the space; with constraints, a repair step replaces it. The starts are the
best of the candidates, of the observed points, and of random steps and moves of single units from
these. All starts move at once. An observed point is played again if it is feasible and its bound is
nearly as good.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.fit import Parameters
from orbandit.agents.gaussian.model import Model
from orbandit.agents.gaussian.moves import steps_from, unit_moves
from orbandit.agents.gaussian.refinement import refinement
from orbandit.agents.optimism import deviation_weight
from orbandit.groups import Group
from orbandit.spaces import Box, Space
from orbandit.spaces.feasible_set import FeasibleSet

DESIGN_SHARE = 4
"""The initial design takes at most one of so many rounds."""
BINARY_BETA, USUAL_BETA, QUIET_BETA = 2.0, 2.6, 3.0
"""The weight beta for Bernoulli rewards, for others, and for those with little noise: with little
noise one sample suffices, so we explore more."""
LADDER = 1.0, 3.0, 9.0
"""Weights beta for simple regret. In many dimensions a large one goes to walls and corners, where
the variance is largest, and a small one stays at the first local optimum. The last is for an
overconfident model."""
GAIN_NOISE, GAIN_SPREAD = 1.0, 0.01
"""Least gain of a bound over the best mean: the larger of so many standard deviations of the noise,
and this fraction of the best mean less the median."""
KNOWN = 0.1
"""The top is known, and not refined, if its expected regret is below this part of the least gain.
Where f has several basins, more is found by exploring then."""
CAUTION = 0.5
"""Standard deviations subtracted from the mean of a point to be recommended."""
SETTLING_STEPS, WAYS = 40, (0.0, 0.1, 0.25, 0.5, 0.75)
"""Steps to the point recommended; and parts of the way there, besides all of it: the best of those
that are no less certain than the start is taken. Soon after a fit a model may expect much of a point far from all
that was observed, and nobody has tried it."""
QUIET_NOISE = 0.03
"""Noise counts as little below this fraction of the signal variance."""
ASCENTS = 3
"""Ascents at a time."""
NEARBY_STEPS = 24
"""Random steps from the best points; half of them move one unit if there is a group. Without one,
moves of one coordinate were worse."""
ASCENT_STEPS = 10
"""Steps of an ascent."""
LEAST_GAIN = 1e-4
"""An ascent ends when a step gains less than this fraction of the largest beta sqrt(v) of an
observed point."""
REPLAY_MARGIN = 0.005
"""A point is played again if its bound is below the largest by less than this fraction of beta
sqrt(v)."""
MAX_IMAGES, IMAGES = 64, 8
"""If the symmetry is approximate: all images of the best points are evaluated up to this number,
else a sample of them."""
DRAWN_CANDIDATES = 192
"""Candidates at which a posterior sample is drawn."""


def deviations(horizon: int, is_binary: bool, parameters: Parameters) -> float:
    """Return the weight beta of the standard deviation: that for n rounds, or more by the noise."""
    is_quiet = 0 < parameters.noise < QUIET_NOISE * parameters.signal  # 0 stands for Bernoulli's
    least = BINARY_BETA if is_binary else QUIET_BETA if is_quiet else USUAL_BETA
    return deviation_weight(math.log(max(horizon, 1)), least)


def design_size(space: Space, horizon: int, is_for_best: bool) -> int:
    """Return how many points the initial design has, if the horizon allows it.

    One for each dimension and one more, or twice as many where their own rewards do not count.
    """
    return min((1 + is_for_best) * (space.intrinsic_dim + 1), horizon // DESIGN_SHARE)


class Ground(NamedTuple):
    """The feasible set, the group, and whether the symmetry is exact: then images are one point."""

    region: FeasibleSet
    group: Group | None = None
    is_exact: bool = True

    def folded(self, points: Array) -> Array:
        """Return the folds of points, or the points if rounding makes a fold infeasible."""
        if self.group is None or not self.is_exact:
            return points
        folds = self.group.fold(points)
        return folds if self.region.is_whole else np.where(self.region.holds(folds)[:, None], folds, points)

    def aligned(self, point: Array, target: Array) -> Array:
        """Return the image of a point nearest to another, if the symmetry is exact and the group finite."""
        if self.group is None or not self.is_exact or not 1 < self.group.order < math.inf:
            return point
        return np.asarray(self.group.align(point, target))

    def images(self, points: Array, rng: np.random.Generator) -> Array:
        """Return some feasible images of points, if images are distinct."""
        if self.group is None or self.is_exact:
            return points[:0]
        listed = self.group.order <= MAX_IMAGES
        elements = self.group.elements() if listed else self.group.random(IMAGES, rng)
        images = np.concatenate([self.region.space.project(self.group.act(elements, point)) for point in points])
        return np.asarray(images[self.region.holds(images)])


def spread_out(ground: Ground, size: int, rng: np.random.Generator) -> Array:
    """Return a space-filling design, folded: a Kronecker sequence, shifted at random.

    Points of the bounding box that lie outside the space, or violate a constraint, are replaced by
    random ones.
    """
    region, space = ground.region, ground.region.space
    low, high = space.bounds
    golden = _golden(space.dim)
    steps = golden ** -np.arange(1.0, space.dim + 1)
    places = (rng.random(space.dim) + np.arange(1, size + 1)[:, None] * steps) % 1.0
    points = low + (high - low) * places
    if not isinstance(space, Box):
        inside = points[np.asarray(space.contains(points, tol=0.0))]
        points = np.concatenate([inside, space.sample(size - len(inside), rng)])
    if not region.is_whole:
        inside = points[region.holds(points)]
        points = np.concatenate([inside, region.sample(size - len(inside), rng)])
    return ground.folded(points)


def bounds_of_rows(model: Model, region: FeasibleSet, beta: float) -> Array:
    """Return the bounds of points observed, minus infinity where they are not feasible."""
    bounds = model.means + beta * np.sqrt(model.variances)
    return bounds if region.is_whole else np.where(region.holds(model.rewards.points), bounds, -np.inf)


class Scouts(NamedTuple):
    """Points near the best ones, with their means and variances."""

    points: Array
    means: Array
    variances: Array


def scouts_of(model: Model, ground: Ground, beta: float, rng: np.random.Generator) -> Scouts:
    """Return random steps from the best points and candidates, and moves of the group's units.

    If the symmetry is approximate, images of the best points, too.
    """
    region, group = ground.region, ground.group
    first = np.argpartition(-(model.pool_means + beta * np.sqrt(model.pool_variances)), 1)[:2]
    best = [int(bounds_of_rows(model, region, weight).argmax()) for weight in (beta, 0.0)]
    leaders = model.rewards.points[best] if region.holds(model.rewards.points[best]).all() else model.pool.points[first]
    around = np.concatenate([leaders, model.pool.points[first]])
    if group is None:
        points = steps_from(around, region, model.shortest, NEARBY_STEPS, rng)
    else:
        each = NEARBY_STEPS // 2
        moves = unit_moves(leaders, region, group.unit_coordinates, model.pool.points, model.shortest, each, rng)
        steps = steps_from(around, region, model.shortest, each, rng)
        points = np.concatenate([steps, moves, ground.images(leaders, rng)])
    return Scouts(points, *model.at(model.features(points)))


def best_look(model: Model, ground: Ground, rng: np.random.Generator, share: float) -> Array:
    """Return the point to evaluate for simple regret, after this share of the horizon.

    Exploit first, explore if that gains too little. Where no weight but the last gains enough, the
    top is refined instead if it is not known, with the probability share^2: what is found early may
    still be improved, and what is refined early may be replaced.
    """
    if not model.size:
        return best_bound(model, ground, LADDER[0], rng)
    scouts = scouts_of(model, ground, LADDER[0], rng)
    look = best_bound(model, ground, LADDER[0], rng, scouts)
    told, best = model.posterior.means, float(bounds_of_rows(model, ground.region, 0.0).max())
    enough = max(GAIN_NOISE * math.sqrt(model.parameters.noise), GAIN_SPREAD * float(told.max() - np.median(told)))
    for beta, farther in pairwise(LADDER):
        mean, variance = model.at(model.features(look[None]))
        if mean[0] + beta * math.sqrt(variance[0]) - best >= enough:
            break
        if farther == LADDER[-1] and rng.random() < share**2:
            found = refinement(model, ground.region, _top(model, ground.region), rng)
            if found.regret > KNOWN * enough:
                return np.asarray(ground.folded(found.point[None])[0])
        look = best_bound(model, ground, farther, rng, scouts)
    return look


def _top(model: Model, region: FeasibleSet) -> Array:
    """Return the end of a short ascent from the best observed point, by mean - CAUTION deviations."""
    best = int(bounds_of_rows(model, region, -CAUTION).argmax())
    start = model.rewards.points[best : best + 1]
    tops, _ = ascend(_bounds(model, -CAUTION), region, start, model.shortest / 16, ASCENT_STEPS, 0.0)
    return np.asarray(tops[0])


def settled(model: Model, ground: Ground) -> Array:
    """Return the point to recommend: one with a large mean - CAUTION deviations, near the best.

    By ascents from the best observed points, or if none of these is feasible, from the best
    candidates, no farther than the variance is at most that of the start.
    """
    region = ground.region
    means = bounds_of_rows(model, region, 0.0)
    if means.max() > -np.inf:
        order = np.argsort(-means, kind="stable")[:ASCENTS]
        starts = model.rewards.points[order[means[order] > -np.inf]]
    else:
        cautious = model.pool_means - CAUTION * np.sqrt(model.pool_variances)
        starts = model.pool.points[np.argsort(-cautious, kind="stable")[:ASCENTS]]
    starts = np.concatenate([starts, ground.images(starts[:1], np.random.default_rng(0))])
    tops, _ = ascend(_bounds(model, -CAUTION), region, starts, model.shortest / 16, SETTLING_STEPS, 0.0)
    points = np.concatenate([*(starts + part * (tops - starts) for part in WAYS), tops])
    points[len(starts) : -len(starts)] = region.space.project(points[len(starts) : -len(starts)])
    means, variances = (values.reshape(-1, len(starts)) for values in model.at(model.features(points)))
    bounds = means - CAUTION * np.sqrt(variances)
    bounds[variances > variances[0] * (1 + 1e-9)] = -np.inf
    if not region.is_whole:
        bounds[1:][~region.holds(points).reshape(bounds.shape)[1:]] = -np.inf
    best = int(bounds.argmax())
    return np.asarray(ground.folded(points[best : best + 1])[0])


def _bounds(model: Model, beta: float) -> Callable[[Array], tuple[Array, Array]]:
    """Return m(x) + beta sqrt(v(x)) as a function of points, with gradients."""

    def bounds(points: Array) -> tuple[Array, Array]:
        means, variances, mean_gradients, variance_gradients = model.gradients(points)
        roots = np.sqrt(variances)
        return means + beta * roots, mean_gradients + (beta / 2 / roots)[:, None] * variance_gradients

    return bounds


def best_bound(
    model: Model,
    ground: Ground,
    beta: float,
    rng: np.random.Generator,
    scouts: Scouts | None = None,
) -> Array:
    """Return the point with the largest bound found; scouts may be those of another weight."""
    pool = model.pool_means + beta * np.sqrt(model.pool_variances)
    if not model.size:
        return np.asarray(model.pool.points[int(pool.argmax())])
    region = ground.region
    rows = bounds_of_rows(model, region, beta)
    scouts = scouts_of(model, ground, beta, rng) if scouts is None else scouts
    first = model.pool.points[np.argpartition(-pool, 1)[:2]]
    best = np.argpartition(-(scouts.means + beta * np.sqrt(scouts.variances)), ASCENTS - 2)[: ASCENTS - 2]
    starts = np.concatenate([first, scouts.points[best]])
    enough = LEAST_GAIN * beta * math.sqrt(float(model.variances.max()))
    tops, heights = ascend(_bounds(model, beta), region, starts, model.shortest / 16, ASCENT_STEPS, enough)
    top, row = int(heights.argmax()), int(rows.argmax())
    mean, variance = model.at(model.features(tops[top : top + 1]))
    if rows[row] >= mean[0] + beta * math.sqrt(variance[0]) * (1 - REPLAY_MARGIN):
        return np.asarray(model.rewards.points[row])
    return np.asarray(ground.folded(tops[top : top + 1])[0])


def best_draw(model: Model, ground: Ground, beta: float, rng: np.random.Generator) -> Array:
    """Return the maximiser of a posterior sample at the best candidates and steps from these."""
    pool = model.pool_means + beta * np.sqrt(model.pool_variances)
    region = ground.region
    rows = bounds_of_rows(model, region, beta)
    points = np.concatenate([model.pool.points, model.rewards.points])
    bounds = np.concatenate([pool, rows])
    order = np.argsort(-bounds, kind="stable")[: DRAWN_CANDIDATES - 2 * NEARBY_STEPS]
    chosen = points[order[bounds[order] > -np.inf]]
    if model.size:
        near = steps_from(chosen[:4], region, model.shortest, 2 * NEARBY_STEPS, rng)
        chosen = np.concatenate([chosen, ground.folded(near), ground.images(chosen[:4], rng)])
    means, covariances = model.joint(model.features(chosen))
    covariances.flat[:: len(means) + 1] += 1e-9 * covariances.diagonal().mean()
    values, vectors = np.linalg.eigh(covariances)
    drawn = means + vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(values)))
    return np.asarray(chosen[int(drawn.argmax())])


def ascend(
    bounds: Callable[[Array], tuple[Array, Array]],
    region: FeasibleSet,
    starts: Array,
    stride: float,
    steps: int,
    enough: float,
) -> tuple[Array, Array]:
    """Ascend a function within a region; return the end point of each start, and its value.

    Parameters
    ----------
    bounds : callable
        Returns values (m,) and gradients (m, dim) at points (m, dim).
    region : FeasibleSet
        The feasible set.
    starts : (m, dim) array
        Feasible starts.
    stride : float
        Length of the first step.
    steps : int
        Number of steps.
    enough : float
        A start that gains no more than this in a step stops.
    """
    ends = starts.copy()
    tops, gradients = bounds(ends)
    strides = stride / np.maximum(np.linalg.norm(gradients, axis=1), 1e-300)
    going = np.arange(len(ends))
    points, heights = ends, tops
    for _ in range(steps):
        trials = region.brought(points + strides[:, None] * gradients, points)
        moves = trials - points
        new_heights, new_gradients = bounds(trials)
        rises = np.maximum((moves * gradients).sum(axis=1), 0.0)  # a way back may lead down
        good = new_heights >= heights + 1e-4 * rises
        squares = (moves * moves).sum(axis=1)
        bends = (moves * (gradients - new_gradients)).sum(axis=1)
        spectral = np.where(bends > 0, squares / np.where(bends > 0, bends, 1.0), 4 * strides)
        strides = np.where(good, np.clip(spectral, strides / 16, 16 * strides), strides / 4)
        points = np.where(good[:, None], trials, points)
        gradients = np.where(good[:, None], new_gradients, gradients)
        gains = np.where(good, new_heights - heights, rises)
        heights = np.where(good, new_heights, heights)
        ends[going], tops[going] = points, heights
        on = gains > enough
        if not on.any():
            break
        going, points, heights, gradients, strides = going[on], points[on], heights[on], gradients[on], strides[on]
    return ends, tops


def _golden(dim: int) -> float:
    """Return the root above 1 of x^(dim + 1) = x + 1: the golden ratio for one dimension."""
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (dim + 1))
    return root
