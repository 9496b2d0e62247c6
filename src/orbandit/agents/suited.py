"""suited: the agent for a number of evaluations, where nobody names one.

A kernel model matched or beat a tree of cells at every budget measured, except on WindFarm(3) at 100 and 300
evaluations (see the page on OrbitGP in the guide), but a round takes milliseconds, 3 to 20 for most groups, and not
microseconds.
"""

from functools import partial

from orbandit.agents.gaussian.quotient_kernel import quotient_kernel
from orbandit.agents.maker import Maker
from orbandit.agents.orbit_gp import OrbitGP
from orbandit.agents.orbit_tree import OrbitTree
from orbandit.errors import GroupTooLargeError
from orbandit.groups import Group
from orbandit.groups.units import Units
from orbandit.spaces import Space

BEST_GP = partial(OrbitGP, goal="best")
"""OrbitGP for simple regret, that of the last recommendation, and not for cumulative regret."""
CROSSOVER = 12_000
"""From so many evaluations on OrbitTree is taken, unless the caller is more patient: only its speed is for it."""


def suited(evaluations: int, space: Space, group: Group | None, crossover: int = CROSSOVER) -> Maker:
    """Return OrbitGP, for the best, for few evaluations, and OrbitTree for many and for groups without a kernel.

    Examples
    --------
    >>> import orbandit as ob
    >>> space = ob.spaces.Box(0.0, 1.0, dim=6)
    >>> suited(5_000, space, ob.groups.Symmetric(6)) is BEST_GP, suited(10**5, space, None).__name__
    (True, 'OrbitTree')
    """
    if evaluations >= crossover:
        return OrbitTree
    units = Units(space, group)
    try:
        quotient_kernel(units.space, units.group)
    except GroupTooLargeError:
        return OrbitTree
    return BEST_GP
