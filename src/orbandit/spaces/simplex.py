"""Simplex: ways to divide a total among `dim` takers; a flat set, of dimension dim - 1."""

import math
from typing import final

import numpy as np

from orbandit._checks import Array, as_dim, as_positive, check_room, identity, norms, unit_rows
from orbandit.spaces.base import Space


@final
class Simplex(Space):
    """The simplex {x : x >= 0, sum x = total}; of probabilities or shares by default.

    It is flat: points have `dim` coordinates, but the set has dimension dim - 1, and its volume is
    measured there.

    Parameters
    ----------
    dim : int
        Number of coordinates, from 2 to 100,000.
    total : float
        What the coordinates sum to, positive.

    Examples
    --------
    >>> import orbandit as ob
    >>> budget = ob.spaces.Simplex(3)
    >>> budget.dim, budget.intrinsic_dim, round(budget.volume, 4)
    (3, 2, 0.866)
    >>> budget.project([1.0, 1.0, 0.0])
    array([0.5, 0.5, 0. ])
    >>> ob.spaces.Simplex(3, total=60.0).project([30.0, 30.0, 30.0])
    array([20., 20., 20.])

    References
    ----------
    The projection is Algorithm 1 of Duchi, Shalev-Shwartz, Singer and Chandra (ICML 2008).
    """

    def __init__(self, dim: int, total: float = 1.0) -> None:
        self._dim = as_dim(dim, minimum=2)
        self._total = as_positive(total, "total")

    def __repr__(self) -> str:
        total = "" if self._total == 1 else f", total={self._total}"
        return f"Simplex({self._dim}{total})"

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self._dim

    @property
    def intrinsic_dim(self) -> int:
        """One less than the number of coordinates."""
        return self._dim - 1

    @property
    def total(self) -> float:
        """What the coordinates of a point sum to."""
        return self._total

    @property
    def volume(self) -> float:
        """sqrt(dim) / (dim - 1)! times total^(dim - 1), the measure in dimension dim - 1."""
        log = 0.5 * math.log(self._dim) - math.lgamma(self._dim) + (self._dim - 1) * math.log(self._total)
        with np.errstate(over="ignore"):
            return float(np.exp(log))

    @property
    def diameter(self) -> float:
        """The distance of two corners, sqrt(2) times the total."""
        return math.sqrt(2.0) * self._total

    @property
    def bounds(self) -> tuple[Array, Array]:
        """From nothing to the total in every coordinate."""
        return np.zeros(self._dim), np.full(self._dim, self._total)

    def _in_units(self, units: Array) -> "Simplex":
        return Simplex(self._dim, self._total / float(units[0]))

    def _excess(self, points: Array) -> Array:
        off_plane = np.abs(points.sum(axis=1) - self._total) / math.sqrt(self._dim)
        excess: Array = np.maximum(off_plane, -points.min(axis=1))
        return excess

    def _sample(self, size: int, rng: np.random.Generator) -> Array:
        shares = rng.standard_exponential((size, self._dim))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares * self._total

    def _project(self, points: Array) -> Array:
        # The answer is max(x - theta, 0), with the theta that makes it sum to the total; equal
        # shifts do not matter.
        points = points - points.max(axis=1, keepdims=True, initial=-np.inf)
        falling = -np.sort(-points, axis=1)
        thetas = (np.cumsum(falling, axis=1) - self._total) / np.arange(1, self._dim + 1)
        last = self._dim - 1 - np.argmax((falling > thetas)[:, ::-1], axis=1)
        theta = np.take_along_axis(thetas, last[:, None], axis=1)
        return np.maximum(points - theta, 0.0)

    def _support(self, directions: Array) -> Array:
        heights: Array = self._total * directions.max(axis=1)
        return heights

    def farthest_distance(self, point: Array) -> float:
        """Return the distance to the farthest vertex."""
        return float(norms(self._total * identity(self._dim) - point).max())

    def frame(self) -> tuple[Array, Array]:
        """Return the middle and Helmert's axes."""
        # The k-th compares the mean of the first k coordinates with the next one.
        check_room("the axes of the simplex", self._dim, self._dim)
        axes = np.tri(self._dim - 1, self._dim, 0)
        axes[np.arange(self._dim - 1), np.arange(1, self._dim)] = -np.arange(1, self._dim)
        return np.full(self._dim, self._total / self._dim), unit_rows(axes)

    def halfspaces(self) -> tuple[Array, Array]:
        """Return x >= 0, and the sum from both sides."""
        flat = np.full((1, self._dim), 1 / math.sqrt(self._dim))
        normals = np.vstack([-identity(self._dim), flat, -flat])
        offsets = self._total * normals[-2:].sum(axis=1) / self._dim
        return normals, np.concatenate([np.zeros(self._dim), offsets])
