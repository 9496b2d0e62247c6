"""Trivial: no symmetry; the baseline against which a group is measured."""

from typing import final

import numpy as np

from orbandit._checks import Array, as_dim
from orbandit.groups.base import Group
from orbandit.groups.reflection import ReflectionGroup


@final
class Trivial(ReflectionGroup):
    """The group of the identity alone.

    Parameters
    ----------
    dim : int
        Number of coordinates, at most 100,000.

    Examples
    --------
    >>> import orbandit as ob
    >>> float(ob.groups.Trivial(2).distance([0, 0], [3, 4]))
    5.0
    """

    def __init__(self, dim: int) -> None:
        super().__init__(np.zeros(as_dim(dim)))

    @property
    def order(self) -> int:
        """1."""
        return 1

    def _name(self) -> str:
        return f"Trivial({self.dim})"

    def _simple_roots(self) -> Array:
        return np.empty((0, self.dim))

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        return points.copy()

    def _on_copies(self, copies: int) -> tuple[int, Group]:
        return 1, Trivial(self.dim * copies)

    def _folding_elements(self, points: Array) -> Array:
        return np.broadcast_to(np.eye(self.dim), (len(points), self.dim, self.dim))
