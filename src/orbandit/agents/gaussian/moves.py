"""Steps from good points: all coordinates a little, or one unit anywhere.

Units are what a group moves as a whole: a turbine, a machine, a level; see
`Group.unit_coordinates`. If only one unit moves, most of the layout is kept, so that a long step
may still lead to a good layout.
"""

import math

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import Index
from orbandit.spaces.feasible_set import FeasibleSet

SHORTEST_STEP, LONGEST_STEP = 0.01, 1.0
"""Of steps of all coordinates, in length scales."""
LONGEST_UNIT_MOVE = 2.0
"""The longest step of one unit, in length scales; the shortest is SHORTEST_STEP, too."""


def steps_from(around: Array, region: FeasibleSet, length: float, size: int, rng: np.random.Generator) -> Array:
    """Return points at random steps from given points in turn, of 0.01 to 1 length scales."""
    dim = region.space.dim
    reach = length * _log_uniform(SHORTEST_STEP, LONGEST_STEP, size, rng)
    steps = rng.standard_normal((size, dim)) / math.sqrt(dim)
    origins = np.resize(around, (size, dim))
    return region.brought(origins + reach[:, None] * steps, origins)


def unit_moves(
    around: Array,
    region: FeasibleSet,
    units: list[Index],
    elsewhere: Array,
    length: float,
    size: int,
    rng: np.random.Generator,
) -> Array:
    """Return points with one unit moved: in turn by a step, and to its place in another point.

    Parameters
    ----------
    around : (k, dim) array
        Start points, used in turn.
    region : FeasibleSet
        The feasible set.
    units : list of arrays of int
        The coordinates of each unit.
    elsewhere : (n, dim) array
        A space-filling design.
    length : float
        The length scale, the unit of steps.
    size : int
        Number of points to return.
    rng : Generator
        Source of randomness.
    """
    origins = np.resize(around, (size, region.space.dim))
    points = origins.copy()
    chosen, others = rng.integers(len(units), size=size), rng.integers(len(elsewhere), size=size)
    reach = length * _log_uniform(SHORTEST_STEP, LONGEST_UNIT_MOVE, size, rng)
    for i, (point, unit) in enumerate(zip(points, chosen, strict=True)):
        own = units[unit]
        if i // len(around) % 2:
            point[own] = elsewhere[others[i], own]
        else:
            point[own] += reach[i] * rng.standard_normal(len(own))
    return region.brought(points, origins)


def _log_uniform(low: float, high: float, size: int, rng: np.random.Generator) -> Array:
    return np.asarray(np.exp(rng.uniform(math.log(low), math.log(high), size)))
