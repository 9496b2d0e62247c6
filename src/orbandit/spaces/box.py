"""Box: independent bounds on every coordinate."""

import math
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_dim, as_finite, frozen, identity, norms
from orbandit.errors import InputError
from orbandit.spaces.base import Classes, Space


@final
class Box(Space):
    """The box {x : low <= x <= high}.

    Parameters
    ----------
    low, high : float or (dim,) array
        The bounds, low < high in every coordinate. Numbers hold for all coordinates.
    dim : int, optional
        Number of coordinates, at most 100,000; needed only when both bounds are numbers.

    Examples
    --------
    >>> import orbandit as ob
    >>> cube = ob.spaces.Box(0.0, 1.0, dim=3)
    >>> cube.volume, round(cube.diameter, 3)
    (1.0, 1.732)
    >>> cube.project([2.0, 0.5, -1.0])
    array([1. , 0.5, 0. ])
    """

    def __init__(self, low: npt.ArrayLike, high: npt.ArrayLike, dim: int | None = None) -> None:
        lo, hi = as_finite(low, "low"), as_finite(high, "high")
        given = {lo.shape, hi.shape} | (set() if dim is None else {(as_dim(dim),)})
        shapes = given - {()}
        if len(shapes) != 1 or len(shape := shapes.pop()) != 1 or shape == (0,):
            raise InputError(
                f"a box needs bounds of one shape (dim,), or numbers and `dim`, "
                f"but got shapes {lo.shape} and {hi.shape} with dim={dim}."
            )
        lo, hi = np.broadcast_to(lo, shape), np.broadcast_to(hi, shape)
        if not (lo < hi).all():
            i = int(np.argmin(lo < hi))
            raise InputError(
                f"`low < high` must hold, but got low={lo[i]}, high={hi[i]} in coordinate {i}; "
                "drop a coordinate that cannot vary.",
                field="low",
                value=low,
            )
        with np.errstate(over="ignore"):
            widths = hi - lo
        if not np.isfinite(widths).all():
            i = int(np.argmin(np.isfinite(widths)))
            raise InputError(
                f"a box must be narrower than 1.8e308, but got low={lo[i]}, high={hi[i]} in coordinate {i}; "
                "use other units."
            )
        self._low, self._high = frozen(lo), frozen(hi)

    def __repr__(self) -> str:
        return f"Box({self._low.tolist()}, {self._high.tolist()})"

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self._low)

    @property
    def volume(self) -> float:
        """Product of the sides."""
        return float(math.prod((self._high - self._low).tolist()))

    @property
    def diameter(self) -> float:
        """Length of the diagonal."""
        return float(norms(self._high - self._low))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The bounds themselves."""
        return self._low, self._high

    @property
    def unit_classes(self) -> Classes:
        """Each coordinate may have a unit of its own."""
        return np.arange(self.dim)

    def _in_units(self, units: Array) -> "Box":
        return Box(self._low / units, self._high / units)

    def _excess(self, points: Array) -> Array:
        outside: Array = np.maximum(self._low - points, points - self._high).max(axis=1)
        return outside

    def _sample(self, size: int, rng: np.random.Generator) -> Array:
        return rng.uniform(self._low, self._high, size=(size, self.dim))

    def _project(self, points: Array) -> Array:
        return np.clip(points, self._low, self._high)

    def _support(self, directions: Array) -> Array:
        heights: Array = np.maximum(directions * self._low, directions * self._high).sum(axis=1)
        return heights

    def farthest_distance(self, point: Array) -> float:
        """Return the distance to the farthest corner."""
        return float(norms(np.maximum(point - self._low, self._high - point)))

    def halfspaces(self) -> tuple[Array, Array]:
        """Return the upper bounds, then the lower ones."""
        eye = identity(self.dim)
        return np.vstack([eye, -eye]), np.concatenate([self._high, -self._low])
