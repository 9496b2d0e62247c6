"""Corners of the regular polytopes, circumradius 1 about the origin, in the frame of the Coxeter groups."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from orbandit._checks import Array, shown, unit_rows, unknown_name
from orbandit.errors import InputError

GOLDEN = (1 + math.sqrt(5)) / 2

MAX_SIDES = 1_000_000
"""Most corners of a polygon."""


def regular_vertices(name: str) -> Array:
    """Return the corners of the regular polytope called `name`."""
    if isinstance(name, str) and name.startswith("polygon-"):
        digits = name.removeprefix("polygon-")
        sides = as_written(digits) if digits.isascii() and digits.isdigit() else 0
        if sides < 3:
            raise InputError(f"`polygon-m` needs an integer m >= 3, but got {shown(name)}.")
        if sides > MAX_SIDES:
            raise InputError(f"`polygon-m` needs m <= {MAX_SIDES:,}, but got {shown(name)}; use Ball(2) for a disk.")
        return polygon(sides)
    corners: dict[str, Callable[[], Array]] = {
        "tetrahedron": lambda: regular_simplex(3),
        "cube": lambda: np.array(list(product((-1.0, 1.0), repeat=3))),
        "octahedron": lambda: np.vstack([np.eye(3), -np.eye(3)]),
        "dodecahedron": lambda: np.vstack([list(product((-1.0, 1.0), repeat=3)), _signed_cycles(1 / GOLDEN, GOLDEN)]),
        "icosahedron": lambda: _signed_cycles(GOLDEN, 1.0),
    }
    if not isinstance(name, str) or name not in corners:
        raise unknown_name("regular polytope", name, [*corners, "polygon-m"], field="name")
    return unit_rows(corners[name]())


def as_written(digits: str) -> int:
    """Return the number that digits write; of more than 20, which Python may refuse, only the first 20 are read."""
    return int(digits.lstrip("0")[:20] or "0")


def polygon(sides: int) -> Array:
    """Return the corners of the regular polygon with one corner on the first axis."""
    angles = 2 * math.pi * np.arange(sides) / sides
    return np.column_stack([np.cos(angles), np.sin(angles)])


def regular_simplex(dim: int) -> Array:
    """Return the dim + 1 corners of the regular simplex in R^dim with one corner on the first axis.

    The simplex of one dimension less, scaled to radius sqrt(1 - 1/dim^2), stands at height -1/dim.
    """
    corners = np.array([[1.0], [-1.0]])
    for d in range(2, dim + 1):
        base = math.sqrt(1 - 1 / d**2) * corners
        corners = np.vstack([np.eye(1, d), np.column_stack([np.full(d, -1 / d), base])])
    return corners


def _signed_cycles(a: float, b: float) -> Array:
    """Return the cyclic shifts of (+-a, +-b, 0)."""
    return np.array([np.roll([s * a, t * b, 0.0], shift) for s, t in product((-1, 1), repeat=2) for shift in range(3)])
