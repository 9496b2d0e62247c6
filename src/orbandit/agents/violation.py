"""Violation: what rewards say against a symmetry that was taken to be exact, in words."""

from typing import NamedTuple

from orbandit._checks import Array
from orbandit.groups.check import Names, describe


class Violation(NamedTuple):
    """An element, a point, and the difference of the mean at its image, with its deviation.

    Examples
    --------
    >>> import numpy as np
    >>> found = Violation(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.2, 0.9]), 0.5, 0.01)
    >>> print(found.said(Names(), found.point, span=10.0)[:92])
    the rewards violate the symmetry: where an element swaps coordinates 0 and 1, the mean at [0
    """

    element: Array
    point: Array
    difference: float
    deviation: float

    def said(self, names: Names, point: Array, span: float) -> str:
        """Return a warning.

        Parameters
        ----------
        names : Names
            What coordinates and points are called.
        point : (dim,) array
            The point in the caller's units.
        span : float
            The range of rewards, the unit of the difference.
        """
        what, where = describe(self.element, names), names.point(point)
        return (
            f"the rewards violate the symmetry: where an element {what}, the mean at {where} changes by "
            f"{self.difference * span:.3g} ± {self.deviation * span:.2g}; check the group, or pass "
            'symmetry="approximate".'
        )
