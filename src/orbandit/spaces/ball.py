"""Ball: everything within a radius of a centre; the disk in the plane."""

import math
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_dim, as_point, as_positive, frozen, norms
from orbandit.errors import InputError
from orbandit.spaces.base import Space


@final
class Ball(Space):
    """The ball {x : ||x - center|| <= radius}.

    Parameters
    ----------
    dim : int
        Number of coordinates, at most 100,000.
    radius : float
        Positive.
    center : (dim,) array, optional
        The origin by default.

    Examples
    --------
    >>> import orbandit as ob
    >>> disk = ob.spaces.Ball(2, radius=2.0)
    >>> round(disk.volume, 4), disk.diameter
    (12.5664, 4.0)
    >>> disk.contains([[0.0, 2.0], [1.5, 1.5]])
    array([ True, False])
    """

    def __init__(self, dim: int, radius: float = 1.0, center: npt.ArrayLike | None = None) -> None:
        dim = as_dim(dim)
        self._radius = as_positive(radius, "radius")
        self._center = frozen(np.zeros(dim) if center is None else as_point(center, dim, "center"))
        with np.errstate(over="ignore"):
            farthest = 2 * (np.abs(self._center).max() + self._radius)
        if not math.isfinite(farthest):
            raise InputError(
                f"`radius` and `center` must be below 4e307 together, but got radius={self._radius} with a center "
                f"as far as {np.abs(self._center).max()}; use other units.",
                field="radius",
                value=radius,
            )

    def __repr__(self) -> str:
        place = f", center={self._center.tolist()}" if self._center.any() else ""
        return f"Ball({self.dim}, radius={self._radius}{place})"

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self._center)

    @property
    def radius(self) -> float:
        """The radius."""
        return self._radius

    @property
    def center(self) -> Array:
        """The centre."""
        return self._center

    @property
    def volume(self) -> float:
        """pi^(d/2) radius^d / Gamma(d/2 + 1)."""
        d = self.dim
        with np.errstate(over="ignore"):
            log = d / 2 * math.log(math.pi) + d * math.log(self._radius) - math.lgamma(d / 2 + 1)
            return float(np.exp(log))

    @property
    def diameter(self) -> float:
        """Twice the radius."""
        return 2 * self._radius

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The box of side 2 radius about the centre."""
        return self._center - self._radius, self._center + self._radius

    def _in_units(self, units: Array) -> "Ball":
        return Ball(self.dim, self._radius / float(units[0]), self._center / units)

    def _excess(self, points: Array) -> Array:
        return norms(points - self._center) - self._radius

    def _sample(self, size: int, rng: np.random.Generator) -> Array:
        directions = rng.standard_normal((size, self.dim))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        radii = self._radius * rng.random((size, 1)) ** (1 / self.dim)
        return self._center + radii * directions

    def _project(self, points: Array) -> Array:
        offsets = points - self._center
        distances = norms(offsets)[:, None]
        outside = distances > self._radius
        scale = np.divide(self._radius, distances, where=outside, out=np.ones_like(distances))
        return np.where(outside, self._center + scale * offsets, points)

    def _support(self, directions: Array) -> Array:
        heights: Array = directions @ self._center + self._radius * norms(directions)
        return heights

    def farthest_distance(self, point: Array) -> float:
        """Return the distance to the centre, and the radius."""
        return float(norms(point - self._center)) + self._radius

    def halfspaces(self) -> tuple[Array, Array]:
        """Return none, or the two ends of an interval."""
        if self.dim == 1:  # an interval is a polytope, and may be swapped with the side of a box
            sides = np.array([[1.0], [-1.0]])
            return sides, self._support(sides)
        return np.empty((0, self.dim)), np.empty(0)

    def ball_constraints(self) -> list[tuple[slice, Array, float]]:
        """Return the ball itself, unless it is an interval."""
        return [] if self.dim == 1 else [(slice(0, self.dim), self._center, self._radius)]
