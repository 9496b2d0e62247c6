"""The unit cube that ranges of parameters are scaled to, groups on it, and proposals of trials in it.

A group that maps a box to itself permutes its axes and reverses some of them. So it also acts on
the unit cube if the axes that it permutes have equal ranges, and their middle is its fixed point.

Agents for noisy rewards repeat good points. Here a repeated trial is moved at random within a fifth
of the distance to the 2 dim + 1 nearest points, and told at its own point: the agent averages over
both, and no point is tried twice.
"""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from orbandit._checks import Array, shown
from orbandit.agents.maker import Maker
from orbandit.agents.suited import CROSSOVER
from orbandit.driver import Driver, Symmetry
from orbandit.errors import InputError
from orbandit.groups import Group
from orbandit.groups.check import Names
from orbandit.spaces import Box
from orbandit.spaces.feasible_set import NamedRule, Rule

MOVE = 1e-6
"""Least move of a proposal, so that two processes with the same trials never try the same point."""
SAME = 1e-5
"""Points nearer than this count as repeated."""
NEAR = 0.2
"""Distance of a repeated trial from its point, over the distance to the 2 dim + 1 nearest
points."""
HALVINGS = 10
"""How often an infeasible point is moved half of the way back."""


def about_middle(group: Group) -> Group:
    """Return the group about the middle of the unit cube, if its centre matters.

    Examples
    --------
    >>> import orbandit as ob
    >>> about_middle(ob.groups.SignFlips(2)).center, about_middle(ob.groups.Symmetric(2)).center
    (array([0.5, 0.5]), array([0., 0.]))
    """
    if (group.generators >= 0).all():
        return group.centered(np.zeros(group.dim)) if group.center.any() else group
    return group.centered(np.full(group.dim, 0.5))


def cube_driver(
    dim: int,
    group: Group | None,
    feasible: Rule | None = None,
    *,
    maker: Maker | None,
    horizon: int | None,
    seed: int,
    sign: float,
    symmetry: Symmetry = "exact",
    names: Names | None = None,
) -> Driver:
    """Return a driver of trials in the unit cube."""
    space = Box(0.0, 1.0, dim=dim)
    return Driver(
        space,
        group,
        maker,
        sign=sign,
        horizon=horizon,
        seed=seed,
        crossover=CROSSOVER,
        feasible=feasible,
        symmetry=symmetry,
        names=names,
    )


def proposal(driver: Driver, running: Sequence[Array], unseen: int, rng: np.random.Generator) -> Array:
    """Return a point to try, given the points being tried and the number of those that are not known yet.

    If the moved point is infeasible, even closer to the agent's choice, the choice itself is tried.
    """
    driver.expect_only(running)
    # those who look now are taken to try the first ones
    asked = [driver.ask() for _ in range(unseen + 1)]
    for point in asked:
        driver.forget(point)  # what is tried is rounded and moved, and told as it was
    *others, point = asked
    apart = _apart(point, np.vstack([driver.points, *running, *others]), rng)
    for _ in range(HALVINGS):
        if driver.is_feasible(apart):
            return apart
        apart = (point + apart) / 2
    return point


@final
class Shown:
    """What a tool's user calls a point of the unit cube: the values that it stands for.

    Parameters
    ----------
    values : callable
        Returns the values that a point stands for.
    """

    def __init__(self, values: Callable[[Array], Any]) -> None:
        self._values = values

    def __call__(self, point: Array) -> str:
        """Return the values in words."""
        return str(self._values(point))


@final
class CubeRule(NamedRule):
    """A constraint on values as a tool gives them to its user, on points of the unit cube.

    Parameters
    ----------
    feasible : callable
        The constraint on values.
    values : callable
        Returns the values that a point stands for.
    """

    def __init__(self, feasible: Callable[[Any], Any], values: Callable[[Array], Any]) -> None:
        self._feasible, self._values, self._shown = feasible, values, Shown(values)

    def __call__(self, points: Array) -> Array:
        """Return the margins of points; 1 and -1 for bools."""
        return np.array([margin(self._feasible, self._values(point)) for point in points])

    def named(self, point: Array) -> str:
        """Return the values that a point stands for."""
        return self._shown(point)


def margin(feasible: Callable[[Any], Any], values: Any) -> float:
    """Return the margin of values, as a tool gives them to a user's constraint; 1 and -1 for bools."""
    try:
        said = feasible(copy.copy(values))
    except Exception as error:
        raise InputError(f"`feasible` failed at {values}: {error!r}.", field="feasible") from error
    if isinstance(said, bool | np.bool_):
        return 1.0 if said else -1.0
    if not isinstance(said, float | np.floating) or math.isnan(said):
        raise InputError(
            f"`feasible` must return a bool, or a float that is feasible if >= 0, but returned {shown(said)} for "
            f"{values}.",
            field="feasible",
        )
    return float(said)


def _apart(point: Array, tried: Array, rng: np.random.Generator) -> Array:
    """Return a point of the unit cube near a given one, and away from tried points."""
    offsets = tried - point
    squares = np.einsum("ij,ij->i", offsets, offsets)
    reach = MOVE
    if squares.min(initial=1.0) < SAME**2:
        few = min(2 * len(point) + 1, len(squares))
        reach = max(MOVE, NEAR * math.sqrt(np.partition(squares, few - 1)[few - 1]))
    while True:
        step = rng.uniform(-1.0, 1.0, size=len(point))
        if step @ step <= len(point) / 3:  # half of the cube or so, in any dimension
            # walls reflect: they would gather points
            return np.asarray(1 - np.abs(1 - np.abs(point + reach * step)))
