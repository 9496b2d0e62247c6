"""What groups share that mix whole blocks of coordinates: a point is a (blocks, size) matrix."""

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_dim, check_room, identity
from orbandit.groups.base import Group


def kron(a: Array, b: Array) -> Array:
    """Return the Kronecker products of stacks of matrices, one of which has length 1."""
    shape = len(a) * len(b), a.shape[1] * b.shape[1], a.shape[2] * b.shape[2]
    check_room("the matrices on all blocks", *shape)
    return np.asarray((a[:, :, None, :, None] * b[:, None, :, None, :]).reshape(shape), dtype=np.float64)


class Blockwise(Group):
    """A group of (blocks, blocks) matrices that mix blocks of `size` coordinates; made by those two numbers."""

    def __init__(self, blocks: int, size: int) -> None:
        self._blocks, self._size = as_dim(blocks, "blocks"), as_dim(size, "size")
        as_dim(self._blocks * self._size, "blocks * size")
        super().__init__(np.zeros(self._blocks * self._size))

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return self._blocks

    @property
    def size(self) -> int:
        """Number of coordinates of a block."""
        return self._size

    @property
    def unit_coordinates(self) -> list[npt.NDArray[np.intp]]:
        """Those of each block."""
        return list(np.arange(self.dim).reshape(self._blocks, self._size))

    def _on_copies(self, copies: int) -> tuple[int, Group]:
        return self._blocks, type(self)(self._blocks, copies * self._size)

    def _name(self) -> str:
        return f"{type(self).__name__}({self._blocks}, {self._size})"

    def _split(self, points: Array) -> Array:
        """Write points as (m, blocks, size) matrices."""
        return np.ascontiguousarray(points).reshape(-1, self._blocks, self._size)

    def _spread(self, matrices: Array) -> Array:
        """Let (k, blocks, blocks) matrices act on whole blocks, as (k, dim, dim) ones."""
        return kron(matrices, identity(self._size)[None])
