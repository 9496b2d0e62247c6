"""Coxeter: the finite reflection groups by name; a fold is a walk of reflections into the chamber."""

import math
from typing import final

import numpy as np

from orbandit._checks import Array, safe_scale
from orbandit.groups.reflection import ReflectionGroup
from orbandit.groups.roots import root_system
from orbandit.groups.ties import TIE


@final
class Coxeter(ReflectionGroup):
    """A finite reflection group by its name.

    Parameters
    ----------
    name : str
        "A3", "B4", "D4" (any rank up to 1,000), "E6", "E7", "E8", "F4", "G2", "H3", "H4" or "I2(m)"
        with m up to 10^12. A_n acts on R^n, as the symmetries of the regular simplex.

    Examples
    --------
    >>> import orbandit as ob
    >>> group = ob.groups.Coxeter("H3")
    >>> group.order, group.preserves(ob.spaces.Polytope.regular("icosahedron"))
    (120, True)
    >>> ob.groups.Coxeter("E8").order
    696729600
    """

    def __init__(self, name: str) -> None:
        self._roots, self._degrees = root_system(name)
        self._label = name
        super().__init__(np.zeros(self._roots.shape[1]))

    @property
    def order(self) -> int:
        """Product of the degrees."""
        return math.prod(self._degrees)

    def _name(self) -> str:
        return f"Coxeter({self._label!r})"

    def _simple_roots(self) -> Array:
        return self._roots

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        from orbandit._kernels.chamber import fold_into_chamber

        folded = np.empty_like(points)
        reflections = sum(degree - 1 for degree in self._degrees)
        size = safe_scale(points)
        fold_into_chamber(points / size, self._roots, TIE, reflections + 1, folded)
        return size * folded
