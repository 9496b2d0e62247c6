"""BlockPermutation and SignedBlockPermutation: exchangeable units, each described by several coordinates.

With a point written as K blocks x_1, ..., x_K of `size` coordinates, the orbit distance is a linear
assignment problem: which block of x goes with which block of y at the least sum of squares. A fold
sorts the blocks.
"""

import math
from typing import final

import numpy as np

from orbandit._checks import Array, as_dim, shown
from orbandit.groups.blockwise import Blockwise
from orbandit.groups.closure import check_limit, close_matrices
from orbandit.groups.signed import SignedPermutation
from orbandit.groups.structures import Multisets, Structure
from orbandit.groups.symmetric import Symmetric
from orbandit.groups.ties import ranks, tolerances


class BlockGroup(Blockwise):
    """A group that permutes blocks, and may flip their signs, as `rows` does with single coordinates."""

    def __init__(self, blocks: int, size: int, rows: Symmetric | SignedPermutation) -> None:
        super().__init__(blocks, size)
        self._rows = rows
        self._signed = isinstance(rows, SignedPermutation)

    @property
    def order(self) -> int:
        """As many as permutations of the blocks, with signs or without."""
        return self._rows.order

    @property
    def is_reflection(self) -> bool:
        """Whether blocks are single coordinates."""
        return self._size == 1

    @property
    def structure(self) -> Structure:
        """Multisets of blocks."""
        return Multisets(self._blocks, self._size, self._signed)

    def _generators(self) -> Array:
        return self._spread(self._rows.generators)

    def _elements(self) -> Array:
        return self._spread(self._rows._elements())

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        return self._spread(self._rows._random(size, rng))

    def _distance(self, a: Array, b: Array) -> Array:
        from orbandit._kernels.assignment import block_distances

        distances = np.empty((len(a), len(b)))
        block_distances(self._split(a), self._split(b), self._signed, distances)
        return distances

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        blocks, tolerance = self._split(points), tolerances(points, slack)
        if self._signed:  # the first coordinate that is not zero becomes positive
            first = np.argmax(np.abs(blocks) > tolerance[:, :, None], axis=2)
            leading = np.take_along_axis(blocks, first[:, :, None], axis=2)
            blocks = np.where(leading < 0.0, -blocks, blocks) + 0.0  # + 0.0 turns -0.0 into 0.0
        # First coordinates ascend, and ties fall in the rest: of all arrangements with ascending
        # first coordinates this is the lexicographically largest.
        keys = [-ranks(blocks[:, :, k], tolerance) for k in range(self._size - 1, 0, -1)]
        order = np.lexsort([*keys, ranks(blocks[:, :, 0], tolerance)], axis=-1)
        return np.take_along_axis(blocks, order[:, :, None], axis=1).reshape(points.shape)

    def _folding_elements(self, points: Array) -> Array:
        return self._rows._folding_elements(points) if self._size == 1 else super()._folding_elements(points)

    @property
    def _base_point(self) -> Array:
        return self._on_first(self._rows._base_point[None]).ravel()

    @property
    def _normals(self) -> Array:
        return self._on_first(self._rows.simple_roots)

    def _on_first(self, rows: Array) -> Array:
        """Write (k, blocks) vectors on the first coordinates of the blocks, (k, dim)."""
        whole = np.zeros((len(rows), self._blocks, self._size))
        whole[:, :, 0] = rows
        return whole.reshape(-1, self.dim)

    def _stabilizer(self, point: Array, tolerance: float, limit: int) -> Array:
        # Swaps between equal blocks generate it, and flips of blocks that vanish.
        blocks = point.reshape(self._blocks, self._size)
        fixing, order = [], 1
        left = list(range(self._blocks))
        while left:
            i = left[0]
            signs = {j: self._sign(blocks[i], blocks[j], tolerance) for j in left}
            alike = [j for j in left if signs[j]]
            vanish = self._signed and np.abs(blocks[i]).max() <= tolerance
            order *= math.factorial(len(alike)) << (len(alike) if vanish else 0)
            if vanish:
                fixing.append(np.diag([-1.0 if k == i else 1.0 for k in range(self._blocks)]))
            for j in alike[1:]:
                swap = np.eye(self._blocks)
                swap[[i, j], [i, j]] = 0.0
                swap[[i, j], [j, i]] = signs[j]
                fixing.append(swap)
            left = [j for j in left if not signs[j]]
        check_limit(order, limit, f"the elements that fix {shown(point)}")
        return self._spread(close_matrices(np.array(fixing).reshape(-1, self._blocks, self._blocks), limit))

    def _aligning(self, points: Array, target: Array) -> Array:
        from orbandit._kernels.assignment import block_assignments

        m, places = len(points), np.arange(self._blocks)
        columns, signs = np.empty((m, self._blocks), dtype=np.int64), np.empty((m, self._blocks))
        block_assignments(self._split(points), self._split(target[None])[0], self._signed, columns, signs)
        rows = np.zeros((m, self._blocks, self._blocks))
        rows[np.arange(m)[:, None], places, columns] = signs
        return self._spread(rows)

    def _sign(self, block: Array, other: Array, tolerance: float) -> float:
        """Return the sign with which the other block equals the block, or 0 for none."""
        signs = (1.0, -1.0) if self._signed else (1.0,)
        return next((s for s in signs if np.abs(block - s * other).max() <= tolerance), 0.0)


@final
class BlockPermutation(BlockGroup):
    """All permutations of consecutive blocks of coordinates: turbines, machines, factors that are alike.

    The domain is "first coordinates of the blocks ascending". Blocks with equal first coordinates
    are folded to falling order of the rest.

    Parameters
    ----------
    blocks : int
        Number of units.
    size : int
        Number of coordinates of a unit; at most 100,000 in all blocks.

    Examples
    --------
    >>> import orbandit as ob
    >>> turbines = ob.groups.BlockPermutation(3, 2)
    >>> turbines.fold([0.9, 0.1, 0.2, 0.8, 0.5, 0.5])
    array([0.2, 0.8, 0.5, 0.5, 0.9, 0.1])
    >>> float(turbines.distance([0.9, 0.1, 0.2, 0.8, 0.5, 0.5], [0.2, 0.8, 0.9, 0.1, 0.5, 0.7]).round(12))
    0.2
    """

    def __init__(self, blocks: int, size: int) -> None:
        super().__init__(blocks, size, Symmetric(as_dim(blocks, "blocks")))


@final
class SignedBlockPermutation(BlockGroup):
    """All permutations of blocks and changes of the sign of whole blocks: factors of a signed factorisation.

    The domain is "first coordinates of the blocks non-negative and ascending". A block whose first
    coordinate is zero is folded so that the first that is not zero is positive.

    Parameters
    ----------
    blocks : int
        Number of blocks.
    size : int
        Number of coordinates of a block; at most 100,000 in all blocks.

    Examples
    --------
    >>> import orbandit as ob
    >>> factors = ob.groups.SignedBlockPermutation(2, 2)
    >>> factors.order, factors.fold([-0.9, 0.1, 0.2, -0.8])
    (8, array([ 0.2, -0.8,  0.9, -0.1]))
    """

    def __init__(self, blocks: int, size: int) -> None:
        super().__init__(blocks, size, SignedPermutation(as_dim(blocks, "blocks")))
