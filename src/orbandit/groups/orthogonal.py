"""Orthogonal: all rotations and reflections that mix blocks, an infinite group with closed forms.

A point is a matrix M of shape (blocks, size), and Q in O(blocks) takes it to Q M. The orbit
distance is the orthogonal Procrustes problem, d(A, B)^2 = ||A||^2 + ||B||^2 - 2 ||A B^T||_*, and
the fold the R of a QR decomposition with positive pivots.
"""

import math
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, safe_scale, shown
from orbandit.errors import GroupTooLargeError, InputError, NoDomainError
from orbandit.groups.blockwise import Blockwise
from orbandit.groups.structures import GramMatrices, Structure
from orbandit.groups.symmetric import adjacent_swaps

LEAST_PIVOT = 1e-12
"""Columns that add less than this fraction of ||M|| to the span of those before hold no pivot."""


@final
class Orthogonal(Blockwise):
    """The orthogonal group O(blocks), mixing blocks of `size` coordinates.

    Latent factors of a matrix factorisation H W are known only up to such a mixing.

    Parameters
    ----------
    blocks : int
        Number of blocks mixed, at least 2.
    size : int
        Number of coordinates of a block; at most 100,000 in all blocks.

    Examples
    --------
    >>> import orbandit as ob
    >>> group = ob.groups.Orthogonal(2, 2)
    >>> group.order
    inf
    >>> group.fold([3.0, 1.0, 4.0, 3.0]).round(12)  # the columns (3, 4) and (1, 3)
    array([5., 3., 0., 1.])
    >>> float(group.distance([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]))
    0.0
    """

    def __init__(self, blocks: int, size: int) -> None:
        super().__init__(blocks, size)
        if self._blocks == 1:
            raise InputError(
                "`blocks >= 2` must hold, but got blocks=1; O(1) is a change of sign: use "
                f"SignedBlockPermutation(1, {size}).",
                field="blocks",
                value=blocks,
            )

    @property
    def order(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def structure(self) -> Structure:
        """M^T M, which says all of a matrix that no mixing of its rows changes."""
        return GramMatrices(self._blocks, self._size)

    def _generators(self) -> Array:
        # Turns by one radian, no fraction of a full one, of each pair of neighbours, and one
        # mirror: their products come as near to every element as one likes.
        turns = adjacent_swaps(self._blocks)
        for i, turn in enumerate(turns):
            turn[i : i + 2, i : i + 2] = [[math.cos(1), -math.sin(1)], [math.sin(1), math.cos(1)]]
        mirror = np.diag([-1.0] + [1.0] * (self._blocks - 1))
        return self._spread(np.concatenate([mirror[None], turns]))

    def _elements(self) -> Array:
        raise GroupTooLargeError(f"{shown(self)} has infinitely many elements; use fold, distance or random.")

    def _orbit(self, point: Array, tolerance: float, limit: int) -> Array:
        if np.abs(point).max() <= tolerance:
            return point[None]
        raise GroupTooLargeError(
            f"an orbit of {shown(self)} has infinitely many points, more than `limit`={limit}; use random and act."
        )

    def _stabilizer(self, point: Array, tolerance: float, limit: int) -> Array:
        U, widths, _ = np.linalg.svd(point.reshape(self._blocks, self._size))
        rank = int((widths > tolerance).sum())
        if rank == self._blocks:
            return np.eye(self.dim)[None]
        # the mirror of the one direction that the columns do not reach
        if rank == self._blocks - 1:
            normal = U[:, -1]
            mirror = np.eye(self._blocks) - 2 * np.outer(normal, normal)
            return self._spread(np.array([np.eye(self._blocks), mirror]))
        raise GroupTooLargeError(
            f"the elements of {shown(self)} that fix a matrix of rank {rank} are infinitely many; "
            f"only ranks {self._blocks - 1} and {self._blocks} have a finite stabiliser."
        )

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        from orbandit._kernels.procrustes import echelon_forms

        matrices = self._split(points)
        folded = np.empty_like(matrices)
        size = safe_scale(points)
        echelon_forms(matrices / size, LEAST_PIVOT, 10 * slack / size, folded)
        return size * folded.reshape(points.shape)

    def _distance(self, a: Array, b: Array) -> Array:
        from orbandit._kernels.procrustes import orthogonal_distances

        size = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0)) or 1.0
        distances = np.empty((len(a), len(b)))
        orthogonal_distances(self._split(self._fold(a / size)), self._split(self._fold(b / size)), distances)
        return size * distances

    def _aligning(self, points: Array, target: Array) -> Array:
        # Orthogonal Procrustes (Schönemann 1966).
        # by @, bits would depend on the batch, and so the element where it is not unique
        crossed = np.einsum("is,mjs->mij", self._split(target[None])[0], self._split(points))
        U, _, Vt = np.linalg.svd(crossed)
        return self._spread(U @ Vt)

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        # The Q of a Gaussian matrix is uniform once the diagonal of R is made positive (Mezzadri
        # 2007).
        Q, R = np.linalg.qr(rng.standard_normal((size, self._blocks, self._blocks)))
        return self._spread(Q * np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :])

    @property
    def fold_normals(self) -> Array:
        """The pivots of the echelon form, which are not negative."""
        pivots = np.zeros((min(self._blocks, self._size), self._blocks, self._size))
        for i, pivot in enumerate(pivots):
            pivot[i, i] = 1.0
        return pivots.reshape(-1, self.dim)

    @property
    def fold_support(self) -> npt.NDArray[np.bool_]:
        """The upper triangle."""
        return np.triu(np.ones((self._blocks, self._size), dtype=bool)).ravel()

    @property
    def _normals(self) -> Array:
        raise NoDomainError(
            f"{shown(self)} has no polyhedral fundamental domain: its orbits are curved. `fold` gives "
            "the QR form, one representative per orbit, and `distance` is exact."
        )
