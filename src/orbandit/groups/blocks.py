"""BlockPermutation and SignedBlockPermutation: exchangeable units, each described by several coordinates.

With a point written as K blocks x_1, ..., x_K of `size` coordinates, the orbit distance is a linear assignment
problem: which block of x goes with which block of y at the least sum of squares. A fold sorts the blocks.
"""

import math
from abc import abstractmethod
from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.groups.blockwise import Blockwise
from orbandit.groups.closure import close_matrices
from orbandit.groups.signed import random_signs, sign_matrices
from orbandit.groups.symmetric import adjacent_swaps, permutation_matrices, random_permutation_matrices
from orbandit.groups.ties import TIE, ranks, sizes


class BlockGroup(Blockwise):
    """A group that permutes blocks, and may flip their signs."""

    _signed: bool

    @abstractmethod
    def _block_matrices(self) -> Array:
        """Return all elements as (order, blocks, blocks) matrices."""

    def _elements(self) -> Array:
        return self._spread(self._block_matrices())

    def _distance(self, a: Array, b: Array) -> Array:
        from orbandit._kernels.assignment import block_distances

        distances = np.empty((len(a), len(b)))
        block_distances(self._split(a), self._split(b), self._signed, distances)
        return distances

    @property
    def _base_point(self) -> Array:
        point = np.zeros((self._blocks, self._size))
        point[:, 0] = np.arange(1, self._blocks + 1)
        return point.ravel()

    def _stabilizer(self, point: Array, tolerance: float, limit: int) -> Array:
        # Chains of swaps between equal blocks generate it, and flips of blocks that vanish.
        blocks = point.reshape(self._blocks, self._size)
        fixing = []
        for j in range(self._blocks):
            if self._signed and np.abs(blocks[j]).max() <= tolerance:
                flip = np.ones(self._blocks)
                flip[j] = -1.0
                fixing.append(np.diag(flip))
            for i in reversed(range(j)):
                signs = (1.0, -1.0) if self._signed else (1.0,)
                equal = [s for s in signs if np.abs(blocks[i] - s * blocks[j]).max() <= tolerance]
                if equal:
                    swap = np.eye(self._blocks)
                    swap[i, i] = swap[j, j] = 0.0
                    swap[i, j] = swap[j, i] = equal[0]
                    fixing.append(swap)
                    break
        if not fixing:
            return np.eye(self.dim)[None]
        return self._spread(close_matrices(np.array(fixing), limit))

    def _sorted(self, blocks: Array, tolerance: Array) -> Array:
        """Sort blocks by their first coordinates, ties in falling order of the rest, (m, dim).

        Of all arrangements with ascending first coordinates this is the lexicographically largest.
        """
        keys = [-ranks(blocks[:, :, k], tolerance) for k in range(self._size - 1, 0, -1)]
        order = np.lexsort([*keys, ranks(blocks[:, :, 0], tolerance)], axis=-1)
        return np.take_along_axis(blocks, order[:, :, None], axis=1).reshape(len(blocks), self.dim)


@final
class BlockPermutation(BlockGroup):
    """All permutations of consecutive blocks of coordinates: turbines, machines, factors that are alike.

    The domain is "first coordinates of the blocks ascending". Blocks with equal first coordinates are folded
    to falling order of the rest.

    Parameters
    ----------
    blocks : int
        Number of units.
    size : int
        Number of coordinates of a unit.

    Examples
    --------
    >>> import orbandit as ob
    >>> turbines = ob.groups.BlockPermutation(3, 2)
    >>> turbines.fold([0.9, 0.1, 0.2, 0.8, 0.5, 0.5])
    array([0.2, 0.8, 0.5, 0.5, 0.9, 0.1])
    >>> float(turbines.distance([0.9, 0.1, 0.2, 0.8, 0.5, 0.5], [0.2, 0.8, 0.9, 0.1, 0.5, 0.7]).round(12))
    0.2
    """

    _signed = False

    @property
    def order(self) -> int:
        """The factorial of `blocks`."""
        return math.factorial(self._blocks)

    def _generators(self) -> Array:
        return self._spread(adjacent_swaps(self._blocks))

    def _block_matrices(self) -> Array:
        return permutation_matrices(self._blocks)

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        return self._spread(random_permutation_matrices(self._blocks, size, rng))

    def _fold(self, points: Array) -> Array:
        return self._sorted(self._split(points), TIE * sizes(points))

    @property
    def _normals(self) -> Array:
        normals = np.zeros((self._blocks - 1, self._blocks, self._size))
        normals[:, :, 0] = np.diff(np.eye(self._blocks), axis=0) / math.sqrt(2)
        return normals.reshape(-1, self.dim)


@final
class SignedBlockPermutation(BlockGroup):
    """All permutations of blocks and changes of the sign of whole blocks: factors of a signed factorisation.

    The domain is "first coordinates of the blocks non-negative and ascending". A block whose first coordinate
    is zero is folded so that the first that is not zero is positive.

    Parameters
    ----------
    blocks : int
        Number of blocks.
    size : int
        Number of coordinates of a block.

    Examples
    --------
    >>> import orbandit as ob
    >>> factors = ob.groups.SignedBlockPermutation(2, 2)
    >>> factors.order, factors.fold([-0.9, 0.1, 0.2, -0.8])
    (8, array([ 0.2, -0.8,  0.9, -0.1]))
    """

    _signed = True

    @property
    def order(self) -> int:
        """The order 2^blocks blocks!."""
        return (1 << self._blocks) * math.factorial(self._blocks)

    def _generators(self) -> Array:
        first = np.diag([-1.0] + [1.0] * (self._blocks - 1))
        return self._spread(np.concatenate([first[None], adjacent_swaps(self._blocks)]))

    def _block_matrices(self) -> Array:
        products = sign_matrices(self._blocks)[:, None] @ permutation_matrices(self._blocks)
        return products.reshape(-1, self._blocks, self._blocks)

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        signs = random_signs(self._blocks, size, rng)
        return self._spread(signs[:, :, None] * random_permutation_matrices(self._blocks, size, rng))

    def _fold(self, points: Array) -> Array:
        blocks, tolerance = self._split(points), TIE * sizes(points)
        first = np.argmax(np.abs(blocks) > tolerance[:, :, None], axis=2)
        leading = np.take_along_axis(blocks, first[:, :, None], axis=2)
        upright = np.where(leading < 0.0, -blocks, blocks) + 0.0  # + 0.0 turns -0.0 into 0.0
        return self._sorted(upright, tolerance)

    @property
    def _normals(self) -> Array:
        normals = np.zeros((self._blocks, self._blocks, self._size))
        normals[0, 0, 0] = 1.0
        normals[1:, :, 0] = np.diff(np.eye(self._blocks), axis=0) / math.sqrt(2)
        return normals.reshape(-1, self.dim)
