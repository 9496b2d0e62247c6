"""suited: the agent for a number of evaluations, where nobody names one.

A kernel model finds better points than a tree of cells with every budget that was measured (docs/orbit_gp.md), but its
rounds take milliseconds and not microseconds. It is taken as long as that adds up to some ten seconds.
"""

from orbandit.agents.gaussian.quotient_kernel import quotient_kernel
from orbandit.agents.orbit_gp import OrbitGP
from orbandit.agents.orbit_tree import OrbitTree
from orbandit.errors import GroupTooLargeError
from orbandit.groups import Group
from orbandit.spaces import Space

CROSSOVER = 3_000
"""From so many evaluations on OrbitTree is taken."""


def suited(evaluations: int, space: Space, group: Group | None) -> type[OrbitGP] | type[OrbitTree]:
    """Return OrbitGP for few evaluations, and OrbitTree for many and for groups without a kernel.

    Examples
    --------
    >>> import orbandit as ob
    >>> space = ob.spaces.Box(0.0, 1.0, dim=6)
    >>> suited(100, space, ob.groups.Symmetric(6)).__name__, suited(10**5, space, None).__name__
    ('OrbitGP', 'OrbitTree')
    """
    if evaluations >= CROSSOVER:
        return OrbitTree
    try:
        quotient_kernel(space, group)
    except GroupTooLargeError:
        return OrbitTree
    return OrbitGP
