"""Symmetric: all permutations of the coordinates; a fold is a sort."""

import math
from itertools import permutations
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_dim, check_room, identity
from orbandit.groups.base import Group
from orbandit.groups.reflection import ReflectionGroup
from orbandit.groups.structures import Multisets, Structure


@final
class Symmetric(ReflectionGroup):
    """The permutations of `dim` coordinates: the units are exchangeable.

    The domain is x_0 <= x_1 <= ...; no element is ever listed.

    Parameters
    ----------
    dim : int
        Number of coordinates, at most 100,000.

    Examples
    --------
    >>> import orbandit as ob
    >>> group = ob.groups.Symmetric(3)
    >>> group.order, group.fold([0.7, 0.1, 0.4])
    (6, array([0.1, 0.4, 0.7]))
    >>> float(group.distance([0.7, 0.1, 0.4], [0.1, 0.4, 0.7]))
    0.0
    """

    def __init__(self, dim: int) -> None:
        super().__init__(np.zeros(as_dim(dim)))

    @property
    def order(self) -> int:
        """The factorial of `dim`."""
        return math.factorial(self.dim)

    @property
    def structure(self) -> Structure:
        """Multisets of numbers."""
        return Multisets(self.dim, 1, False)

    def _name(self) -> str:
        return f"Symmetric({self.dim})"

    def _simple_roots(self) -> Array:
        return np.diff(identity(self.dim), axis=0) / math.sqrt(2)

    def _generators(self) -> Array:
        return adjacent_swaps(self.dim)

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        return np.sort(points, axis=1)

    def _on_copies(self, copies: int) -> tuple[int, Group]:
        from orbandit.groups.blocks import BlockPermutation  # which is made of this group

        return self.dim, BlockPermutation(self.dim, copies)

    def _folding_elements(self, points: Array) -> Array:
        return as_matrices(np.argsort(points, axis=1, kind="stable"))

    def _elements(self) -> Array:
        return permutation_matrices(self.dim)

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        return random_permutation_matrices(self.dim, size, rng)


def adjacent_swaps(dim: int) -> Array:
    """Return the swaps of neighbouring coordinates, (dim - 1, dim, dim), free of rounding."""
    check_room("the swaps of neighbours", dim - 1, dim, dim)
    swaps = np.broadcast_to(np.eye(dim), (dim - 1, dim, dim)).copy()
    for i, swap in enumerate(swaps):
        swap[[i, i + 1]] = swap[[i + 1, i]]
    return swaps


def permutation_matrices(dim: int) -> Array:
    """Return all dim! permutation matrices, the identity first."""
    return as_matrices(np.array(list(permutations(range(dim)))))


def random_permutation_matrices(dim: int, size: int, rng: np.random.Generator) -> Array:
    """Draw permutation matrices uniformly, (size, dim, dim)."""
    return as_matrices(rng.permuted(np.tile(np.arange(dim), (size, 1)), axis=1))


def as_matrices(permutations: npt.NDArray[np.intp]) -> Array:
    """Return index permutations (k, dim) as the matrices of x -> x[p], (k, dim, dim)."""
    check_room("the permutations as matrices", *permutations.shape, permutations.shape[1])
    matrices: Array = np.eye(permutations.shape[1])[permutations]
    return matrices
