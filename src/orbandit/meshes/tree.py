"""CoveringTree: the covering tree of Appendix F, with its approximate search and an exact one.

The bounding box of the space is bisected repeatedly, each time across its longest side, so that
after d cuts all diameters are halved. Cells that miss the space are dropped. The splitting ends
when cells have diameters of at most 2 delta; each leaf's centre, moved to its nearest point of the
space, is a mesh point:

    ||x - nearest(c)|| <= ||x - c|| <= delta     for x in the space and in the cell with centre c.

The appendix searches N(x, eps) by taking, for each z in the orbit of x, the one node that holds z
among those with diameters of at most 2 eps, and all leaves below it. What it returns is within 2
eps of the orbit, and not within eps (if leaves are that fine): the confidence bound of an agent
that uses it must be wider by eps. What it misses is anything across the border of that node,
however near. The exact search descends into every node that can hold a point within eps: with m the
centre and r the radius of a ball about the node's leaves, d_G(x, leaf) >= d_G(x, m) - r. It needs
no orbit, so the group may be large or infinite.
"""

import math
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_point, as_points, as_positive, shown
from orbandit.errors import InputError, InputTypeError, MeshTooLargeError
from orbandit.groups import Group
from orbandit.meshes.mesh import Mesh
from orbandit.meshes.neighbors import BORDER, Indices
from orbandit.meshes.region import cells_meet
from orbandit.spaces import Space

MAX_LEVEL_CELLS = 5_000_000
"""Most cells kept on one level, unless the caller says otherwise."""


@final
class CoveringTree:
    """A binary tree of cells whose leaves are a mesh.

    Parameters
    ----------
    space : Space
        The space that the tree covers.
    delta : float
        Leaves have diameters of at most 2 delta.
    limit : int
        Most cells kept on one level.

    Examples
    --------
    >>> import orbandit as ob
    >>> tree = ob.meshes.CoveringTree(ob.spaces.Box(0.0, 1.0, dim=2), delta=0.1)
    >>> tree.depth, len(tree.mesh)
    (6, 64)
    >>> leaf = tree.locate([0.3, 0.8])
    >>> bool(abs(tree.mesh.points[leaf] - [0.3, 0.8]).max() <= 0.1)
    True
    """

    def __init__(self, space: Space, delta: float, limit: int = MAX_LEVEL_CELLS) -> None:
        if not isinstance(space, Space):
            raise InputTypeError(f"`space` must be one of ob.spaces, but got {shown(space)}.")
        delta = as_positive(delta, "delta")
        self._space, self._limit = space, as_count(limit, "limit")
        self._origin, self._axes = space.frame()
        self._high = space.support(self._axes) - self._axes @ self._origin
        self._low = -space.support(-self._axes) - self._axes @ self._origin
        self._cuts = _cuts(self._high - self._low, delta)
        leaf = math.prod(_sides(self._high - self._low, self._cuts).tolist())
        # too small to tell: the tree has a limit of its own
        leaves = space.volume / leaf if leaf > 0 else 0.0
        if leaves > self._limit:
            raise MeshTooLargeError(
                f"a tree of coverings of {shown(space)} with delta={delta:.3g} has at least {leaves:.2g} leaves, more "
                f"than the {self._limit:,} that are attempted; use a larger `delta`."
            )
        codes, centers = self._grow()
        self._codes = codes
        self._mesh = Mesh(space.project(centers), delta, space)
        self._levels = self._balls()

    def __repr__(self) -> str:
        return f"CoveringTree({self._space!r}, delta={self._mesh.delta:.4g})"

    @property
    def mesh(self) -> Mesh:
        """The leaves' points; a leaf is an index into them."""
        return self._mesh

    @property
    def depth(self) -> int:
        """Number of cuts from the root to a leaf."""
        return len(self._cuts)

    def diameter(self, depth: int) -> float:
        """Return the diameter of the cells at a depth.

        Parameters
        ----------
        depth : int
            The depth, from 0 for the root to that of the leaves.
        """
        if as_count(depth, "depth", minimum=0) > self.depth:
            raise InputError(f"`depth <= {self.depth}` must hold, but got depth={depth}.")
        return float(np.linalg.norm(_sides(self._high - self._low, self._cuts[:depth])))

    def locate(self, points: npt.ArrayLike) -> npt.NDArray[np.intp] | np.intp:
        """Return the leaf whose cell contains each point, in O(depth) steps.

        Parameters
        ----------
        points : (m, dim) or (dim,) array
            Points of the space.
        """
        batch, single = as_points(points, self._space.dim)
        self._check_inside(batch)
        leaves = np.searchsorted(self._codes, self._descend(self._space.project(batch), self.depth))
        return np.intp(leaves[0]) if single else leaves

    def _check_inside(self, points: Array) -> None:
        inside = np.asarray(self._space.contains(points, tol=self._space.tolerance))
        if not inside.all():
            outside = points[np.flatnonzero(~inside)[0]]
            raise InputError(f"`points` must lie in {shown(self._space)}, but got {shown(outside)}; use `project`.")

    def orbit_neighbors(self, group: Group, point: npt.ArrayLike, radius: float, exact: bool = True) -> Indices:
        """Return the leaves whose points are within `radius` of the orbit of a point, sorted.

        Parameters
        ----------
        group : Group
            Any group for the exact search; one whose orbits can be listed for the appendix's.
        point : (dim,) array
            In the space; for the exact search anywhere.
        radius : float
            Positive; for the exact search, distances up to radius (1 + 1e-9) are within it.
        exact : bool
            False is the search of Appendix F. Its leaves are within radius + extra_width(radius) of
            the orbit, at most 2 radius unless radius is below delta, so that means along them are
            biased by so much, and `extra_width(radius)` must be added to a confidence bound. It
            misses leaves across the border of the one node it takes for each image, however near
            they are; it finds all leaves whose cells that node holds.
        """
        if not isinstance(group, Group):
            raise InputTypeError(
                f"`group` must be one of ob.groups, but got {shown(group)}; Trivial(dim) is no symmetry."
            )
        size, center = as_positive(radius, "radius"), as_point(point, self._space.dim)
        if exact:
            return self._within(group, center, size)
        self._check_inside(center[None])
        return self._below(group, center, size)

    def extra_width(self, radius: float) -> float:
        """Return how much farther than `radius` the approximate search may reach.

        That is at most `radius`, or what the leaves' diameter exceeds it by if they are coarser.

        Parameters
        ----------
        radius : float
            The radius of the search, positive.
        """
        size = as_positive(radius, "radius")
        return max(0.0, self.diameter(self._search_depth(size)) - size)

    def _within(self, group: Group, point: Array, radius: float) -> Indices:
        reach = radius * (1 + BORDER) + 1e-15
        # Far from the origin coordinates are coarse: leave room for that wherever a node is
        # dropped.
        room = reach + 16 * float(np.finfo(np.float64).eps * max(np.abs(self._mesh.points).max(), np.abs(point).max()))
        nodes = np.zeros(1, dtype=np.intp)
        for centers, radii, first in self._levels:
            distances = np.asarray(group.distance(point, centers[nodes]))
            nodes = nodes[distances <= room + radii[nodes]]
            # The children of node i are first[i], ..., first[i + 1] - 1 on the next level.
            counts = first[nodes + 1] - first[nodes]
            nodes = np.repeat(first[nodes] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        distances = np.asarray(group.distance(point, self._mesh.points[nodes])).reshape(-1)
        return nodes[distances <= reach].astype(np.int32)

    def _below(self, group: Group, point: Array, radius: float) -> Indices:
        depth = self._search_depth(radius)
        images = self._space.project(group.orbit(point))
        prefixes = np.unique(self._descend(images, depth))
        shift = self.depth - depth
        first = np.searchsorted(self._codes, prefixes << shift)
        last = np.searchsorted(self._codes, (prefixes + 1) << shift)
        return np.concatenate([np.arange(a, b, dtype=np.int32) for a, b in zip(first, last, strict=True)])

    def _search_depth(self, radius: float) -> int:
        """Return the least depth at which cells have diameters of at most 2 radius, or that of the leaves."""
        fits = (d for d in range(self.depth) if self.diameter(d) <= 2 * radius)
        return next(fits, self.depth)

    def _descend(self, points: Array, depth: int) -> npt.NDArray[np.int64]:
        """Return the code of the cell that holds each point: one bit per cut, 1 for the upper half."""
        places = (points - self._origin) @ self._axes.T
        low, high = np.tile(self._low, (len(points), 1)), np.tile(self._high, (len(points), 1))
        codes = np.zeros(len(points), dtype=np.int64)
        for axis in self._cuts[:depth]:
            middle = (low[:, axis] + high[:, axis]) / 2
            upper = places[:, axis] >= middle
            low[:, axis] = np.where(upper, middle, low[:, axis])
            high[:, axis] = np.where(upper, high[:, axis], middle)
            codes = 2 * codes + upper
        return codes

    def _grow(self) -> tuple[npt.NDArray[np.int64], Array]:
        """Return the codes, ascending, and the centres of the leaves that may meet the space."""
        codes, lows = np.zeros(1, dtype=np.int64), self._low[None].copy()
        for depth, axis in enumerate(self._cuts):
            half = _sides(self._high - self._low, self._cuts[: depth + 1])
            lows = np.repeat(lows, 2, axis=0)
            lows[1::2, axis] += half[axis]
            codes = np.repeat(2 * codes, 2)
            codes[1::2] += 1
            meeting = cells_meet(self._space, self._origin, self._axes, lows, half)
            codes, lows = codes[meeting], lows[meeting]
            if len(codes) > self._limit:
                raise MeshTooLargeError(
                    f"a tree of coverings of {shown(self._space)} has more than {self._limit:,} cells at depth "
                    f"{depth + 1}; use a larger `delta`."
                )
        half = _sides(self._high - self._low, self._cuts)
        return codes, self._origin + (lows + half / 2) @ self._axes

    def _balls(self) -> list[tuple[Array, Array, npt.NDArray[np.intp]]]:
        """Return for each level the balls about the nodes' leaves, and where their children start below."""
        levels = []
        points = self._mesh.points
        for depth in range(self.depth):
            prefixes, starts = np.unique(self._codes >> (self.depth - depth), return_index=True)
            below = np.unique(self._codes >> (self.depth - depth - 1))
            first = np.append(np.searchsorted(below >> 1, prefixes), len(below))
            low = np.minimum.reduceat(points, starts, axis=0)
            high = np.maximum.reduceat(points, starts, axis=0)
            levels.append(((low + high) / 2, np.linalg.norm(high - low, axis=1) / 2, first))
        return levels


def _cuts(sides: Array, delta: float) -> list[int]:
    """Return the axes to cut, the longest side first, until the diameter is at most 2 delta."""
    sides, cuts = sides.copy(), []
    while np.linalg.norm(sides) > 2 * delta * (1 + 1e-12):
        axis = int(np.argmax(sides > sides.max() * (1 - 1e-9)))
        sides[axis] /= 2
        cuts.append(axis)
        if len(cuts) > 62:
            raise MeshTooLargeError(f"delta={delta:.3g} needs a tree deeper than 62 cuts; use a larger `delta`.")
    return cuts


def _sides(sides: Array, cuts: list[int]) -> Array:
    """Return the sides of a cell after the given cuts."""
    halvings = np.bincount(cuts, minlength=len(sides)) if cuts else np.zeros(len(sides), dtype=np.intp)
    return np.asarray(sides / 2.0**halvings)
