"""SignFlips and SignedPermutation: coordinates whose sign does not matter, and may be permuted as well."""

import math
from itertools import product
from typing import final

import numpy as np

from orbandit._checks import Array, as_dim, identity
from orbandit.groups.base import Group
from orbandit.groups.product import Product
from orbandit.groups.reflection import ReflectionGroup
from orbandit.groups.structures import Multisets, Structure
from orbandit.groups.symmetric import adjacent_swaps, as_matrices, permutation_matrices, random_permutation_matrices


@final
class SignFlips(ReflectionGroup):
    """All changes of signs; the domain is x >= 0.

    Parameters
    ----------
    dim : int
        Number of coordinates, at most 100,000.

    Examples
    --------
    >>> import orbandit as ob
    >>> group = ob.groups.SignFlips(2)
    >>> group.order, group.fold([-1.0, 2.0])
    (4, array([1., 2.]))
    """

    def __init__(self, dim: int) -> None:
        super().__init__(np.zeros(as_dim(dim)))

    @property
    def order(self) -> int:
        """2^dim."""
        return 1 << self.dim

    def _name(self) -> str:
        return f"SignFlips({self.dim})"

    def _simple_roots(self) -> Array:
        return identity(self.dim)

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        return np.abs(points)

    def _on_copies(self, copies: int) -> tuple[int, Group]:
        # which is made of the group below
        from orbandit.groups.blocks import SignedBlockPermutation

        return self.dim, Product(*[SignedBlockPermutation(1, copies)] * self.dim)

    def _folding_elements(self, points: Array) -> Array:
        return np.asarray(np.where(points < 0, -1.0, 1.0)[:, :, None] * np.eye(self.dim))

    def _elements(self) -> Array:
        return sign_matrices(self.dim)

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        return random_signs(self.dim, size, rng)[:, :, None] * identity(self.dim)


@final
class SignedPermutation(ReflectionGroup):
    """All permutations and changes of signs, the symmetries B_d of the cube; the domain is 0 <= x_0 <= x_1 <= ...

    Parameters
    ----------
    dim : int
        Number of coordinates, at most 100,000.

    Examples
    --------
    >>> import orbandit as ob
    >>> group = ob.groups.SignedPermutation(3)
    >>> group.order, group.fold([-3.0, 1.0, 2.0])
    (48, array([1., 2., 3.]))
    """

    def __init__(self, dim: int) -> None:
        super().__init__(np.zeros(as_dim(dim)))

    @property
    def order(self) -> int:
        """2^dim dim!."""
        return (1 << self.dim) * math.factorial(self.dim)

    @property
    def structure(self) -> Structure:
        """Multisets of numbers up to their signs."""
        return Multisets(self.dim, 1, True)

    def _name(self) -> str:
        return f"SignedPermutation({self.dim})"

    def _simple_roots(self) -> Array:
        return np.vstack([np.eye(1, self.dim), np.diff(identity(self.dim), axis=0) / math.sqrt(2)])

    def _generators(self) -> Array:
        first = np.diag([-1.0] + [1.0] * (self.dim - 1))
        return np.concatenate([first[None], adjacent_swaps(self.dim)])

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        folded = np.abs(points)
        folded.sort(axis=1)
        return folded

    def _on_copies(self, copies: int) -> tuple[int, Group]:
        from orbandit.groups.blocks import SignedBlockPermutation  # which is made of this group

        return self.dim, SignedBlockPermutation(self.dim, copies)

    def _folding_elements(self, points: Array) -> Array:
        order = np.argsort(np.abs(points), axis=1, kind="stable")
        return as_matrices(order) * np.where(points < 0, -1.0, 1.0)[:, None, :]

    def _elements(self) -> Array:
        products = sign_matrices(self.dim)[:, None] @ permutation_matrices(self.dim)
        return products.reshape(-1, self.dim, self.dim)

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        return random_signs(self.dim, size, rng)[:, :, None] * random_permutation_matrices(self.dim, size, rng)


def sign_matrices(dim: int) -> Array:
    """Return all 2^dim diagonal matrices of signs, the identity first."""
    return np.array(list(product((1.0, -1.0), repeat=dim)))[:, :, None] * np.eye(dim)


def random_signs(dim: int, size: int, rng: np.random.Generator) -> Array:
    """Draw vectors of signs uniformly, (size, dim)."""
    return rng.choice([-1.0, 1.0], size=(size, dim))
