"""The part of a space that folds lie in, as half-spaces in a frame of its own dimension."""

from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit.groups import Group
from orbandit.meshes.lattices import covering_scale, lattice_points
from orbandit.spaces import Space

TOUCHING = 1e-9
"""Cells that come this near to the space, as a fraction of its diameter, are kept."""


@final
@dataclass(frozen=True)
class Region:
    """A set { origin + y @ axes : walls @ y >= levels, low <= y <= high } that holds every fold of a space.

    The axes are orthonormal. A flat space has fewer of them than coordinates, and so has a group
    whose folds vanish in some coordinates.
    """

    origin: Array
    axes: Array
    walls: Array
    levels: Array
    low: Array
    high: Array

    @staticmethod
    # a mesh as fine as can be afforded takes many nets of one space, and so do epochs
    @lru_cache(maxsize=16)
    def of(space: Space, group: Group) -> "Region":
        """Return the region of a space that the group preserves."""
        origin, axes = space.frame()
        if not group.fold_support.all() and len(axes) == space.dim:
            origin, axes = group.center, np.eye(space.dim)[group.fold_support]
        # The space's half-spaces n x <= b and the cone's n (x - center) >= 0, in the frame.
        normals, offsets = space.halfspaces()
        cone = group.fold_normals
        inward = np.vstack([-normals, cone])
        levels = np.concatenate([-offsets, cone @ group.center]) - inward @ origin
        walls = inward @ axes.T
        walls = np.where(np.abs(walls) > 1e-12, walls, 0.0)
        used = walls.any(axis=1)
        high = space.support(axes) - axes @ origin
        low = -space.support(-axes) - axes @ origin
        if len(cone):
            low, high = _tightened(walls[used], levels[used], low, high)
        return Region(origin, axes, walls[used], levels[used], low, high)

    def near_lattice(self, delta: float, kind: str, anchor: Array, limit: int) -> Array:
        """Return the points of a lattice about the anchor whose cells may meet the region."""
        scale, t = covering_scale(len(self.axes), kind)
        room = (1 + 1e-9) * delta
        points = lattice_points(
            np.full(len(self.axes), scale * delta),
            t,
            self.axes @ (anchor - self.origin),
            self.low - room,
            self.high + room,
            self.walls,
            self.levels - room,
            limit,
        )
        return np.asarray(self.origin + points @ self.axes)


def _tightened(walls: Array, levels: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the bounding box of { walls @ y >= levels, low <= y <= high }, by linear programs."""
    from scipy.optimize import linprog

    # Rounding must not make the set empty.
    slack = 1e-9 * max(1.0, float(np.abs([low, high]).max()))
    bounds = list(zip((low - slack).tolist(), (high + slack).tolist(), strict=True))
    ends = [
        [linprog(sign * axis, A_ub=-walls, b_ub=slack - levels, bounds=bounds).fun for axis in np.eye(len(low))]
        for sign in (1.0, -1.0)
    ]
    return np.array(ends[0]) - slack, slack - np.array(ends[1])


def cells_meet(space: Space, origin: Array, axes: Array, lows: Array, sides: Array) -> npt.NDArray[np.bool_]:
    """Return which cells, boxes in a frame with given lowest corners and sides, may meet the space.

    Those that a hyperplane separates from it do not. Sides are one row for all cells, or one for
    each.
    """
    sides = np.broadcast_to(sides, lows.shape)
    meets = np.ones(len(lows), dtype=bool)
    rows = np.arange(len(lows))
    places = lows + sides / 2
    # project onto the space and the cell in turn: their nearest points, in the end
    for _ in range(30):
        points = space.project(origin + places @ axes)
        inside = (points - origin) @ axes.T
        nearest = np.clip(inside, lows[rows], lows[rows] + sides[rows])
        gaps = nearest - inside
        apart = np.linalg.norm(gaps, axis=1) > TOUCHING * space.diameter
        # <gap, .> separates if its least value on the cell is above its largest on the space.
        directions = gaps @ axes
        least = np.where(gaps > 0, gaps * lows[rows], gaps * (lows[rows] + sides[rows])).sum(axis=1)
        most = space.support(directions) - directions @ origin
        separated = apart & (least > most)
        meets[rows[separated]] = False
        unsettled = apart & ~separated
        rows, places = rows[unsettled], nearest[unsettled]
        if not len(rows):
            break
    return meets
