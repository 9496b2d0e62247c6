"""Refinement: the measurement near the top of the mean that tells most of where the maximum is.

Near its maximiser x the posterior mean is m(x + u) = m(x) - u^T H u / 2, and the gradient g of the
function at x is N(0, C) given the data. So the maximum is about g^T H^-1 g / 2 above f(x), and the
expected regret of x, as far as its basin goes, is tr(H^-1 C) / 2. A measurement at z, with the noise
variance s, lowers it by

    c^T H^-1 c / (2 (v(z) + s)),     c = Cov(g, f(z)).

S. Mueller, A. von Rohr, S. Trimpe, Local policy search with Bayesian optimization, 2021, minimise
tr(C), the uncertainty of the gradient by which they ascend. What differs: the weights H^-1, by which
a direction counts for as much as may be gained along it; and z is taken from ellipsoids on which the
mean is a few deviations of the noise below its top, so that the model is not relied on far away.
"""

import math
from typing import NamedTuple

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.model import Model
from orbandit.spaces import Space
from orbandit.spaces.feasible_set import FeasibleSet

TRIALS = 48
"""Points tried."""
DROP, NEAREST, FARTHEST = 4.0, 0.25, 1.25
"""They are where the mean is about so many standard deviations of the noise below its top; and these
factors of the way there are the least and the most. None is farther than a length scale."""
MOST_DROP = 2.0
"""None is more than so many times DROP deviations below the top, by the model."""
STEP = 0.05
"""Step of finite differences, in length scales."""
BLOCKED = 0.1
"""A direction leaves the space if a step along it is put back by more than this part of it."""
FLATTEST = 1e-3
"""Least curvature over the largest one, for the size of ellipsoids."""


class Refinement(NamedTuple):
    """A point to measure, the expected regret of the top, as far as its basin goes, and how much lower it is then."""

    point: Array
    regret: float
    gain: float


def refinement(model: Model, region: FeasibleSet, top: Array, rng: np.random.Generator) -> Refinement:
    """Return the measurement that most reduces the expected regret of the top.

    Parameters
    ----------
    model : Model
        The model, with observed points.
    region : FeasibleSet
        The feasible set.
    top : (dim,) array
        A feasible point, a maximiser of the posterior mean or nearly so.
    rng : Generator
        Source of randomness.
    """
    step, deviation = STEP * model.shortest, math.sqrt(model.parameters.noise)
    ways = free_ways(region.space, top, step)
    if not len(ways):
        return Refinement(top, 0.0, 0.0)
    near = region.space.project(np.concatenate([top[None], top + step * ways]))
    slopes = model.mean_gradients(near) @ ways.T
    bends = (slopes[0] - slopes[1:]) / step
    curvatures, axes = np.linalg.eigh((bends + bends.T) / 2)  # H
    points = np.concatenate([top[None], _ellipsoid(model, region, top, curvatures, axes.T @ ways, deviation, rng)])
    means, known = model.joint(model.features(np.concatenate([near, points])))
    first = len(near)
    covariances = (known[1:first] - known[0]) / step  # of the gradient with all values
    own = (covariances[:, 1:first] - covariances[:, :1]) / step  # C
    spreads = np.maximum(np.einsum("ji,jk,ki->i", axes, own, axes), 0.0)
    # where the mean is flat, the way to the maximum is at most a length scale
    curvatures = np.maximum(curvatures, np.sqrt(spreads) / model.shortest)
    curvatures = np.maximum(curvatures, np.finfo(float).tiny)
    shares = (axes.T @ covariances[:, first:]) ** 2 / curvatures[:, None]
    gains = shares.sum(axis=0) / (known.diagonal()[first:] + model.parameters.noise) / 2
    gains[means[first] - means[first:] > MOST_DROP * DROP * deviation] = 0.0
    best = int(gains.argmax())
    return Refinement(points[best], float((spreads / curvatures).sum() / 2), float(gains[best]))


def free_ways(space: Space, point: Array, step: float) -> Array:
    """Return orthonormal directions, (k, dim), along which a step either way stays in the space.

    On a wall of a box these are the directions within the wall, in a corner there is none.

    Examples
    --------
    >>> import orbandit as ob
    >>> free_ways(ob.spaces.Box(0, 1, dim=2), np.array([1.0, 0.5]), 0.01).round(6) + 0.0
    array([[0., 1.]])
    """
    steps = step * np.eye(space.dim)
    trials = np.concatenate([point + steps, point - steps])
    put_back = space.project(trials) - trials  # along the normals of walls
    if not put_back.any():
        return np.eye(space.dim)
    _, sizes, ways = np.linalg.svd(put_back)
    return np.asarray(ways[int((sizes > BLOCKED * step).sum()) :])


def _ellipsoid(
    model: Model,
    region: FeasibleSet,
    top: Array,
    curvatures: Array,
    axes: Array,
    deviation: float,
    rng: np.random.Generator,
) -> Array:
    """Return feasible points at which the mean is about DROP deviations of the noise below the top.

    The rows of `axes` are the directions with these curvatures.
    """
    curvatures = np.maximum(curvatures, max(FLATTEST * float(curvatures.max()), np.finfo(float).tiny))
    sides = rng.standard_normal((TRIALS, len(axes)))
    sides /= np.linalg.norm(sides, axis=1, keepdims=True)
    sizes = math.sqrt(2 * DROP * deviation) * rng.uniform(NEAREST, FARTHEST, (TRIALS, 1))
    moves = sizes * sides / np.sqrt(curvatures) @ axes
    lengths = np.linalg.norm(moves, axis=1, keepdims=True)
    moves *= np.minimum(1.0, model.shortest / np.maximum(lengths, np.finfo(float).tiny))
    return region.brought(top + moves, np.repeat(top[None], TRIALS, axis=0))
