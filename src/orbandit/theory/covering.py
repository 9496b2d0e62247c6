"""Proposition 1: bounds on covering and packing numbers by volumes.

    (1/delta)^d vol(S) / vol(B)  <=  N(S, delta)  <=  P(S, delta)  <=  (3/delta)^d vol(S) / vol(B)

N is the covering number, P the packing number, B the unit ball. The upper bound needs S convex with
a ball of radius delta inside: then S + (delta/2) B lies in a copy of S one and a half times as
large. The paper leaves that out, and a box of 1 x 0.01 breaks it. With a group, S is the
fundamental domain cut with the space: its volume is vol(X) / |G|.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from orbandit._checks import as_positive, shown
from orbandit.errors import InputError
from orbandit.groups import Group
from orbandit.groups.base import check_fit
from orbandit.problems.packing import deepest, depths, log_ball_count
from orbandit.spaces import Space


@final
@dataclass(frozen=True)
class CoveringBounds:
    """Proposition 1 for a set and a delta.

    Attributes
    ----------
    lower, upper : float
        The bounds of covering and packing number.
    inradius : float
        The radius of the largest ball in the set.
    holds : bool
        Whether the condition of the upper bound does: inradius >= delta.

    Examples
    --------
    >>> import orbandit as ob
    >>> bounds = ob.theory.covering_bounds(ob.spaces.Ball(2), 0.1, ob.groups.Dihedral(5))
    >>> round(bounds.lower), round(bounds.upper), round(bounds.inradius, 2)
    (10, 90, 0.24)
    """

    lower: float
    upper: float
    inradius: float
    holds: bool


def covering_bounds(space: Space, delta: float, group: Group | None = None) -> CoveringBounds:
    """Return Proposition 1's bounds for a space, or for a fundamental domain in it.

    Parameters
    ----------
    space : Space
        The set S, or the space that the group acts on.
    delta : float
        The covering radius, or the distance of the packing; positive.
    group : Group, optional
        The symmetry: S is then its fundamental domain in the space. It must be finite. By default
        there is none.

    Examples
    --------
    >>> import orbandit as ob
    >>> bounds = ob.theory.covering_bounds(ob.spaces.Box(0, 1, dim=2), 0.1)
    >>> round(bounds.lower, 1), round(bounds.upper), bounds.holds
    (31.8, 286, True)
    >>> ob.theory.covering_bounds(ob.spaces.Box([0, 0], [1, 0.01]), 0.1).holds
    False
    """
    check_fit(space, group)
    radius, d = as_positive(delta, "delta"), space.intrinsic_dim
    order = 1 if group is None else group.order
    if math.isinf(order):
        raise InputError(f"{shown(group)} is infinite: its domain has no volume of this dimension.")
    lower = math.exp(log_ball_count(space, radius) - math.log(order))
    inradius = float(depths(space, group)(deepest(space, group, np.random.default_rng(0))[None])[0])
    return CoveringBounds(lower, lower * 3.0**d, inradius, inradius >= radius * (1 - 1e-9))
