"""suited: the default agent for a number of evaluations, and for values that only succeed or fail.

OrbitGP finds better points than OrbitTree where units are many and evaluations few; in two
dimensions, under noise, the tree can be ahead (see the page on OrbitGP in the guide). The first 1,000
rounds of OrbitGP take milliseconds each, 3 to 20 for most groups, not microseconds.
Where successes are rare, Bernoulli rewards tell its process too little: the tree finds better points.
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
"""OrbitGP for simple regret, that of the last recommendation, instead of cumulative regret."""
CROSSOVER = 40_000
"""Number of evaluations from which OrbitTree is the default, since it is much faster."""


def suited(
    evaluations: int, space: Space, group: Group | None, crossover: int = CROSSOVER, *, is_binary: bool = False
) -> Maker:
    """Return OrbitGP with goal="best" for few evaluations, else OrbitTree.

    OrbitTree is also for groups without a kernel, and for values that only succeed or fail.

    Examples
    --------
    >>> import orbandit as ob
    >>> space = ob.spaces.Box(0.0, 1.0, dim=6)
    >>> suited(5_000, space, ob.groups.Symmetric(6)) is BEST_GP, suited(10**5, space, None).__name__
    (True, 'OrbitTree')
    """
    if evaluations >= crossover or is_binary:
        return OrbitTree
    units = Units(space, group)
    try:
        quotient_kernel(units.space, units.group)
    except GroupTooLargeError:
        return OrbitTree
    return BEST_GP
