"""A group of one's own, in one file: what CONTRIBUTING.md says of adding a group, done."""

import math
from typing import final

import numpy as np

from orbandit._checks import Array, as_dim
from orbandit.groups import Group
from orbandit.groups.symmetric import as_matrices, permutation_matrices
from orbandit.groups.ties import tolerances


@final
class Alternating(Group):
    """The even permutations of `dim` coordinates: chirality matters, the names of the coordinates do not.

    A fold is sorted, but for its first two coordinates, which say whether the point was an even or
    an odd arrangement. The domain is x_0, x_1 <= x_2 <= x_3 <= ...

    Parameters
    ----------
    dim : int
        Number of coordinates.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(np.zeros(as_dim(dim)))

    @property
    def order(self) -> int:
        """Half of all permutations."""
        return max(1, math.factorial(self.dim) // 2)

    def _name(self) -> str:
        return f"Alternating({self.dim})"

    def _generators(self) -> Array:
        cycles = [[1, k, *(i if i != k else 0 for i in range(2, self.dim))] for k in range(2, self.dim)]
        return as_matrices(np.array(cycles, dtype=np.intp).reshape(-1, self.dim))

    def _elements(self) -> Array:
        matrices = permutation_matrices(self.dim)
        return matrices[~_is_odd(matrices)]

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        matrices = as_matrices(rng.permuted(np.tile(np.arange(self.dim), (size, 1)), axis=1))
        return _swapped(matrices, _is_odd(matrices))

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        order = np.argsort(points, axis=1, kind="stable")
        folded = np.take_along_axis(points, order, axis=1)
        # both even and odd
        has_ties = (np.diff(folded, axis=1) <= tolerances(points, slack)).any(axis=1)
        return _swapped(folded, _is_odd(as_matrices(order)) & ~has_ties)

    def _distance(self, a: Array, b: Array) -> Array:
        # Sorted points are nearest. If one is even and the other odd, the swap of neighbours that
        # costs least is added.
        (one, other), parities = (np.sort(a), np.sort(b)), [_is_odd(as_matrices(np.argsort(x))) for x in (a, b)]
        squares = ((one[:, None] - other) ** 2).sum(axis=2)
        swaps = 2 * np.diff(one)[:, None] * np.diff(other)
        return np.sqrt(squares + np.where(parities[0][:, None] != parities[1], swaps.min(axis=2, initial=np.inf), 0.0))

    @property
    def _normals(self) -> Array:
        eye = np.eye(self.dim)
        rows = [eye[2] - eye[0], eye[2] - eye[1], *np.diff(eye[2:], axis=0)] if self.dim > 2 else []
        return np.array(rows).reshape(-1, self.dim) / math.sqrt(2)


def _is_odd(matrices: Array) -> np.ndarray:
    return np.linalg.det(matrices) < 0


def _swapped(rows: Array, chosen: np.ndarray) -> Array:
    """Return rows with the first two entries swapped where chosen."""
    rows[chosen, :2] = rows[chosen, 1::-1]
    return rows
