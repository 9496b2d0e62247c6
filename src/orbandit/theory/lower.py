"""The lower bound: Theorem 2 through the lemma it rests on, with that lemma's constants and conditions.

Kleinberg, Slivkins and Upfal (2019), Theorem 5.7: for a (k, eps)-ensemble with k > 2, eps < 1/12
and n <= k eps^-2 / 128, any agent has regret at least eps n / 60 on at least half of the k
instances. `LowerBoundFamily` is a (k, L delta/2)-ensemble.

The paper reverses the condition on n: it is an upper bound. With k about c delta^-d / |G| the
longest n allowed is about delta^-(d+2) / |G|, so that delta = (n |G|)^(-1/(d+2)) up to constants,
and eps n has Theorem 2's shape.
"""

import math
from dataclasses import dataclass
from typing import final

from orbandit._checks import as_count, as_positive, shown
from orbandit.errors import InputError, InputTypeError
from orbandit.groups import Group
from orbandit.groups.base import check_fit
from orbandit.problems import LowerBoundFamily
from orbandit.problems.packing import log_ball_count
from orbandit.spaces import Space


@final
@dataclass(frozen=True)
class LowerBound:
    """A lower bound on the regret of any agent.

    Attributes
    ----------
    each : float
        At least half of the instances have this much regret or more: eps n / 60.
    average : float
        So the average over all instances is at least this: eps n / 120.
    longest : int
        The largest n for which the lemma holds, floor(k eps^-2 / 128).
    broken : tuple of str
        Which conditions do not hold; then the bounds are 0.

    Examples
    --------
    >>> import orbandit as ob
    >>> family = ob.problems.LowerBoundFamily(ob.spaces.Box(0, 1, dim=1), None, delta=0.02)
    >>> bound = ob.theory.lower_bound(family, 2000)
    >>> bound.longest, bound.broken, round(bound.average, 3)
    (2890, (), 0.167)
    """

    each: float
    average: float
    longest: int
    broken: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.broken


def lower_bound(family: LowerBoundFamily, horizon: int) -> LowerBound:
    """Return the lower bound on the regret of any agent on a hard family.

    Parameters
    ----------
    family : LowerBoundFamily
        The hard instances.
    horizon : int
        Number of rounds n, at least 1.

    Examples
    --------
    >>> import orbandit as ob
    >>> family = ob.problems.LowerBoundFamily(ob.spaces.Box(0, 1, dim=1), None, delta=0.02)
    >>> bound = ob.theory.lower_bound(family, 2000)
    >>> bool(bound), round(bound.each, 3), ob.theory.lower_bound(family, 10**6).broken
    (True, 0.333, ('n = 1000000 is above k eps^-2 / 128 = 2890',))
    """
    if not isinstance(family, LowerBoundFamily):
        raise InputTypeError(f"`family` must be a LowerBoundFamily, but got {shown(family)}.")
    n, k, epsilon = as_count(horizon, "horizon"), len(family), family.lipschitz * family.delta / 2
    longest = math.floor(k / epsilon**2 / 128)
    broken = []
    if k <= 2:
        broken.append(f"k = {k} instances, not more than 2")
    if epsilon >= 1 / 12:
        broken.append(f"eps = {epsilon:.4g} is not below 1/12")
    if n > longest:
        broken.append(f"n = {n} is above k eps^-2 / 128 = {longest}")
    each = 0.0 if broken else epsilon * n / 60
    return LowerBound(each, each / 2, longest, tuple(broken))


def hard_delta(space: Space, group: Group | None, horizon: int, lipschitz: float = 1.0) -> float:
    """Return a delta for which the lower bound holds at n rounds, about as large as can be.

    A maximal packing has at least vol(X) / (|G| vol(ball of radius delta)) points, since balls
    around it cover X/G. So the conditions hold for delta with n <= (that) (L delta/2)^-2 / 128, L
    delta below 1/6, and three points or more.

    Parameters
    ----------
    space : Space
        The space X.
    group : Group or None
        The symmetry, which must be finite; None for no symmetry.
    horizon : int
        Number of rounds n, at least 1.
    lipschitz : float, default 1
        The Lipschitz constant L, positive.

    Examples
    --------
    >>> import orbandit as ob
    >>> disk, group = ob.spaces.Ball(2), ob.groups.Dihedral(5)
    >>> delta = ob.theory.hard_delta(disk, group, 10_000)
    >>> bool(ob.theory.lower_bound(ob.problems.LowerBoundFamily(disk, group, delta), 10_000))
    True
    """
    check_fit(space, group)
    n, d = as_count(horizon, "horizon"), space.intrinsic_dim
    order = 1 if group is None else group.order
    if math.isinf(order):
        raise InputError("`group` must be finite, but is infinite; choose `delta` of LowerBoundFamily.")
    slope = as_positive(lipschitz, "lipschitz")
    at_one = log_ball_count(space, 1.0) - math.log(
        order
    )  # of the number of balls of radius 1; delta^-d as many of delta
    for_n = math.exp((at_one + math.log(4 / 128 / slope**2) - math.log(n)) / (d + 2))
    return min(for_n, (1 / 6 - 1e-9) / slope, math.exp((at_one - math.log(3)) / d))
