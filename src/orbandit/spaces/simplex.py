"""Simplex: ways to divide one unit among `dim` takers; a flat set, of dimension dim - 1."""

import math
from typing import final

import numpy as np

from orbandit._checks import Array, as_count, unit_rows
from orbandit.spaces.base import Space


@final
class Simplex(Space):
    """The probability simplex {x : x >= 0, sum x = 1}.

    It is flat: points have `dim` coordinates, but the set has dimension dim - 1, and its volume is
    measured there.

    Parameters
    ----------
    dim : int
        Number of coordinates, at least 2.

    Examples
    --------
    >>> import orbandit as ob
    >>> budget = ob.spaces.Simplex(3)
    >>> budget.dim, budget.intrinsic_dim, round(budget.volume, 4)
    (3, 2, 0.866)
    >>> budget.project([1.0, 1.0, 0.0])
    array([0.5, 0.5, 0. ])

    References
    ----------
    The projection is Algorithm 1 of Duchi, Shalev-Shwartz, Singer and Chandra (ICML 2008).
    """

    def __init__(self, dim: int) -> None:
        self._dim = as_count(dim, "dim", minimum=2)

    def __repr__(self) -> str:
        return f"Simplex({self._dim})"

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self._dim

    @property
    def intrinsic_dim(self) -> int:
        """One less than the number of coordinates."""
        return self._dim - 1

    @property
    def volume(self) -> float:
        """sqrt(dim) / (dim - 1)!, the measure in dimension dim - 1."""
        return math.exp(0.5 * math.log(self._dim) - math.lgamma(self._dim))

    @property
    def diameter(self) -> float:
        """The distance of two corners, sqrt(2)."""
        return math.sqrt(2.0)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The unit cube."""
        return np.zeros(self._dim), np.ones(self._dim)

    def _excess(self, points: Array) -> Array:
        off_plane = np.abs(points.sum(axis=1) - 1.0) / math.sqrt(self._dim)
        excess: Array = np.maximum(off_plane, -points.min(axis=1))
        return excess

    def _sample(self, size: int, rng: np.random.Generator) -> Array:
        shares = rng.standard_exponential((size, self._dim))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def _project(self, points: Array) -> Array:
        # The answer is max(x - theta, 0), with the one theta that makes it sum to 1; equal shifts do not matter.
        points = points - points.max(axis=1, keepdims=True, initial=-np.inf)
        falling = -np.sort(-points, axis=1)
        thetas = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, self._dim + 1)
        last = self._dim - 1 - np.argmax((falling > thetas)[:, ::-1], axis=1)
        theta = np.take_along_axis(thetas, last[:, None], axis=1)
        return np.maximum(points - theta, 0.0)

    def _support(self, directions: Array) -> Array:
        heights: Array = directions.max(axis=1)
        return heights

    def _farthest(self, point: Array) -> float:
        return float(np.linalg.norm(np.eye(self._dim) - point, axis=1).max())

    def _frame(self) -> tuple[Array, Array]:
        # Helmert's axes: the k-th compares the mean of the first k coordinates with the next one.
        axes = np.tri(self._dim - 1, self._dim, 0)
        axes[np.arange(self._dim - 1), np.arange(1, self._dim)] = -np.arange(1, self._dim)
        return np.full(self._dim, 1 / self._dim), unit_rows(axes)

    def _halfspaces(self) -> tuple[Array, Array]:
        flat = np.full((1, self._dim), 1 / math.sqrt(self._dim))
        normals = np.vstack([-np.eye(self._dim), flat, -flat])
        return normals, np.concatenate([np.zeros(self._dim), normals[-2:].sum(axis=1) / self._dim])
