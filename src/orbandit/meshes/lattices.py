"""Lattices of points that cover space, and the pieces of them that nets are cut from.

Three lattices, each scaled to a covering radius delta:

- the cubic grid Z^d;
- A_d*, the thinnest known lattice covering for d <= 5 and far thinner than the grid beyond, in a
  frame that permutations of the coordinates preserve: v_i = s (z_i + t S) with S = z_1 + ... + z_d,
  t = -(1 + (d + 1)^(-1/2)) / d, and covering radius s (d (d + 2) / (12 (d + 1)))^(1/2); in space it
  is the body-centred cubic lattice with its usual axes;
- in boxes of two and three dimensions the centred lattice, all coordinates even or all odd
  multiples of a half cell, with cells stretched so that its mirror planes are the box's faces: a
  nearest lattice point outside has a mirror image inside that is at least as near, so that no point
  is wasted on the border.
"""

import math
from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from orbandit._checks import Array
from orbandit.errors import MeshTooLargeError

STEP_ROUNDING = 1e-9
"""Lattice points this fraction of a step beyond a bound are still within it."""


def covering_scale(dim: int, kind: str) -> tuple[float, float]:
    """Return (s, t) of the lattice v_i = s (z_i + t S) with covering radius 1."""
    if kind == "cubic":
        return 2 / math.sqrt(dim), 0.0
    return math.sqrt(12 * (dim + 1) / (dim * (dim + 2))), -(1 + 1 / math.sqrt(dim + 1)) / dim


def cell_volume(dim: int, delta: float, kind: str) -> float:
    """Return the volume per lattice point at covering radius delta."""
    s, t = covering_scale(dim, kind)
    return (s * delta) ** dim * abs(1 + dim * t)


def lattice_points(
    steps: Array,
    t: float,
    anchor: Array,
    low: Array,
    high: Array,
    normals: Array,
    offsets: Array,
    limit: int,
) -> Array:
    """Return the points v_i = anchor_i + steps_i (z_i + t S) within a box that meet normals @ v >= offsets.

    They are built coordinate by coordinate, and a half-space discards unfinished points as soon as
    the last coordinate it depends on is known, so that for a chamber of sorted coordinates the rest
    of the cube is never enumerated.

    Raises
    ------
    MeshTooLargeError
        If more than `limit` (unfinished) points are alive at once.
    """
    d = len(anchor)
    lows, highs = (low - anchor) / steps, (high - anchor) / steps
    if t:
        ends = sorted((lows.sum() / (1 + d * t), highs.sum() / (1 + d * t)))
        S = np.arange(math.ceil(ends[0] - STEP_ROUNDING), math.floor(ends[1] + STEP_ROUNDING) + 1.0)
    else:
        S = np.zeros(1)
    last_seen = [int(np.flatnonzero(normal).max(initial=0)) for normal in normals]
    points, sums = np.empty((len(S), 0)), np.zeros(len(S))
    for k in range(d):
        first, last = np.ceil(lows[k] - t * S - STEP_ROUNDING), np.floor(highs[k] - t * S + STEP_ROUNDING)
        if t and k == d - 1:  # the sum is promised: one choice, or none
            fits = (S - sums >= first) & (S - sums <= last)
            first, last = S - sums, np.where(fits, S - sums, -np.inf)
        counts = np.maximum(last - first + 1, 0).astype(np.intp)
        if counts.sum() > limit:
            raise MeshTooLargeError(
                f"a mesh with steps of about {steps.mean():.3g} in {d} dimensions needs more than {limit:,} lattice "
                "points; use a larger `delta`, a larger group, or fewer dimensions."
            )
        parent = np.repeat(np.arange(len(S)), counts)
        place = np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
        z = first[parent] + place
        S, sums = S[parent], sums[parent] + z
        points = np.column_stack([points[parent], anchor[k] + steps[k] * (z + t * S)])
        for normal, offset, seen in zip(normals, offsets, last_seen, strict=True):
            if seen == k:
                alive = points @ normal[: k + 1] >= offset
                points, S, sums = points[alive], S[alive], sums[alive]
    return points


def box_cells(sides: Array, delta: float) -> Array:
    """Return into how many equal parts to cut each side so that cells have corners within delta of their centres."""
    counts = np.maximum(1, np.ceil(sides * math.sqrt(len(sides)) / (2 * delta) - STEP_ROUNDING))
    # rounding up, and thin sides, leave room: use it on the longest sides first
    for _ in range(len(sides)):
        before = counts.copy()
        for i in np.argsort(-sides / counts, kind="stable"):
            room = (2 * delta) ** 2 * (1 + 1e-12) - ((np.delete(sides / counts, i)) ** 2).sum()
            if room > 0:
                counts[i] = min(counts[i], max(1.0, math.ceil(sides[i] / math.sqrt(room) - STEP_ROUNDING)))
        if (counts == before).all():
            break
    return counts


def centred_lattices(low: Array, high: Array, delta: float) -> Iterator[Array]:
    """Yield stretched centred lattices that fit a box of two or three dimensions, the fewest points first.

    The first one, and the first with equal numbers of layers on equal sides, which permutations
    preserve.
    """
    sides = high - low
    d = len(sides)
    a = 4 / math.sqrt(5)
    ideals: list[tuple[float, ...]] = [(a, a, a)] if d == 3 else [(math.sqrt(3), 3.0), (3.0, math.sqrt(3))]
    found = []
    for ideal in ideals:
        middle = [max(1, round(2 * side / (a * delta))) for side, a in zip(sides, ideal, strict=True)]
        for layers in product(*(range(max(1, m - 3), m + 5) for m in middle)):
            if _centred_radius(2 * sides / layers) <= delta * (1 + 1e-12):
                size = math.prod(n // 2 + 1 for n in layers) + math.prod((n + 1) // 2 for n in layers)
                found.append((size, layers))
    found.sort()
    equal = [f for f in found if len(set(zip(sides.tolist(), f[1], strict=True))) == len(set(sides.tolist()))]
    for _, layers in dict.fromkeys([*found[:1], *equal[:1]]):
        planes = [lo + side * np.arange(n + 1) / n for lo, side, n in zip(low, sides, layers, strict=True)]
        yield np.vstack([_combinations([p[parity::2] for p in planes]) for parity in (0, 1)])


def _centred_radius(cell: Array) -> float:
    """Return a bound on the covering radius of the centred lattice with the given cell, exact for good cells.

    The lattice cuts the plane or space into simplices; no point of a simplex is farther than its
    circumradius from the nearest corner.
    """
    if len(cell) == 2:
        short, long = sorted(cell)
        return float((short**2 + long**2) / (4 * long))
    squares = cell**2
    radii = [
        squares[i] / 4 + ((squares[j] + squares[k] - squares[i]) / (4 * cell[k])) ** 2
        for i, j, k in permutations(range(3))
    ]
    return math.sqrt(max(radii))


def _combinations(rows: list[Array]) -> Array:
    grids = np.meshgrid(*rows, indexing="ij")
    return np.column_stack([grid.ravel() for grid in grids])
