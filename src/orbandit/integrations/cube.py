"""The unit cube that ranges of parameters are scaled to, and groups on it.

A group that maps a box to itself permutes its axes and turns some of them round, so that equal ranges of the axes that
it permutes, and their middle as its fixed point, are all it takes to act on the unit cube instead.
"""

import numpy as np

from orbandit.groups import Group


def about_middle(group: Group) -> Group:
    """Return the group about the middle of the unit cube, where it matters.

    Examples
    --------
    >>> import orbandit as ob
    >>> about_middle(ob.groups.SignFlips(2)).center, about_middle(ob.groups.Symmetric(2)).center
    (array([0.5, 0.5]), array([0., 0.]))
    """
    if (group.generators >= 0).all():
        return group.centered(np.zeros(group.dim)) if group.center.any() else group
    return group.centered(np.full(group.dim, 0.5))
