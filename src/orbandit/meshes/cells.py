"""CellTree: a binary tree of boxes over the orbits of a space, grown on demand.

The root is a box about all folds. Cells are cut in half across their longest side, and halves that
hold no representative are never made: those that miss the space, and those outside one face of the
cone of folds (or only touching it: what they hold there, another cell holds too). This is the
orbital branching of the paper's Section 1.2. All cells of one depth are congruent. The point of a
cell is its centre, moved to the nearest point of the space: every point of the space in the cell is
within half a diagonal of it.

With a constraint, the point of a cell is its centre if that is feasible; else that of its parent,
if it lies in the cell; else the nearest to the centre among random points of the cell and that of
its parent moved across the cut, both repaired, and some feasible points of the whole space. Halves
in which no feasible point is found are not made either. In many dimensions a random point of a cell
seldom folds into it after a repair; of the parent's point only one unit moves.
"""

from functools import lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels.cells import NONE as NONE
from orbandit._kernels.cells import UNKNOWN as UNKNOWN
from orbandit._rows import Rows
from orbandit.errors import InputError
from orbandit.groups import Group, Trivial
from orbandit.meshes.region import Region, cells_meet
from orbandit.spaces import Box, Space
from orbandit.spaces.feasible_set import FeasibleSet

DEEPEST = 62
"""Cells are never cut more often than this."""

SOUGHT, MOVED, SEEN = 64, 32, 512
"""Points that are tried for a feasible one of a cell: random ones, those of its parent moved across
the cut, and feasible points of the whole space."""
REPAIRS = 2
"""How often those of the cell are folded, clipped to it and repaired, in turn."""

Nodes = npt.NDArray[np.int64]


@final
class CellTree:
    """Cells and their halves, in the order in which they were made.

    Parameters
    ----------
    space : Space
        The space, which the root covers.
    group : Group, optional
        The symmetry, which must map the space onto itself.
    feasible : FeasibleSet, optional
        The feasible part of the space; by default all of it.

    Attributes
    ----------
    parents, depths : (M,) arrays of int
        Parent and depth of each cell; the root has parent NONE.
    children : (M, 2) array of int
        The lower and the upper half; NONE or UNKNOWN where there is no cell.
    codes : (M,) array of uint64
        The path from the root: a leading 1, and one bit for each cut. Equal paths have equal codes
        in every tree.
    """

    def __init__(self, space: Space, group: Group | None, feasible: FeasibleSet | None = None) -> None:
        self._space, self._group = space, group or Trivial(space.dim)
        self._feasible = feasible or FeasibleSet(space)
        region = Region.of(space, self._group)
        self._origin, self._axes = region.origin, region.axes
        cone = self._group.fold_normals
        self._walls, self._heights = cone @ self._axes.T, cone @ (self._group.center - self._origin)
        # The region's bounds have some room for rounding, which the space's own have not.
        low = np.maximum(region.low, -space.support(-self._axes) - self._axes @ self._origin)
        high = np.minimum(region.high, space.support(self._axes) - self._axes @ self._origin)
        self._sides, self._longest = _all_sides(tuple((high - low).tolist()))
        self._lows = Rows(low[None])
        self._parents = Rows(np.full(1, NONE, dtype=np.int64))
        self._depths = Rows(np.zeros(1, dtype=np.int64))
        self._children = Rows(np.full((1, 2), UNKNOWN, dtype=np.int64))
        self._codes = Rows(np.ones(1, dtype=np.uint64))
        start = space.project(self._origin + (low + high)[None] / 2 @ self._axes)
        if not self._feasible.holds(start)[0]:
            start = self._feasible.sample(1, np.random.default_rng(0))
        self._points = Rows(start)
        self._seen = np.empty((0, space.dim))  # feasible points of the whole space, folded
        if not self._feasible.is_whole:
            self._seen = self._group.fold(self._feasible.sample(SEEN, np.random.default_rng(0)))
            self._seen = self._seen[self._feasible.holds(self._seen)]
        self._seen_places = self.place(self._seen)

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def parents(self) -> Nodes:
        """The parent of each cell."""
        return self._parents.filled

    @property
    def depths(self) -> Nodes:
        """The number of cuts that made each cell."""
        return self._depths.filled

    @property
    def children(self) -> Nodes:
        """The halves of each cell."""
        return self._children.filled

    @property
    def codes(self) -> npt.NDArray[np.uint64]:
        """The code of the path to each cell."""
        return self._codes.filled

    def sides(self, depth: int) -> Array:
        """Return the sides of the cells of a depth."""
        return np.asarray(self._sides[depth])

    def diameter(self, depth: int) -> float:
        """Return the diameter of the cells of a depth."""
        return float(np.linalg.norm(self.sides(depth)))

    def corners(self, nodes: npt.NDArray[np.integer]) -> tuple[Array, Array]:
        """Return the lowest and the highest corners of cells, in the frame of the tree."""
        lows = self._lows.filled[nodes]
        return lows, lows + self._sides[self.depths[nodes]]

    def points(self, nodes: npt.NDArray[np.integer]) -> Array:
        """Return the points of cells."""
        if not self._feasible.is_whole:
            return np.asarray(self._points.filled[nodes])
        lows, highs = self.corners(nodes)
        return self._space.project(self._origin + (lows + highs) / 2 @ self._axes)

    def place(self, points: Array) -> Array:
        """Return the folds of points in the frame of the tree."""
        return np.asarray((self._group.fold(points) - self._origin) @ self._axes.T)

    def child(self, node: int, place: Array) -> int:
        """Return the half of a cell that holds a place in the frame, the other one if it was not made, or NONE."""
        depth = int(self.depths[node])
        axis = self._longest[depth]
        side = int(place[axis] >= self._lows.filled[node, axis] + self._sides[depth + 1, axis])
        half = int(self.children[node, side])
        return half if half >= 0 else int(self.children[node, 1 - side])

    def holds(self, node: int, place: Array) -> bool:
        """Return whether the path to a place in the frame passes through a cell."""
        at = 0
        while at >= 0 and at != node and self.children[at, 0] != UNKNOWN:
            at = self.child(at, place)
        return at == node

    def restore(
        self, parents: npt.NDArray[np.integer], children: npt.NDArray[np.integer], points: Array | None = None
    ) -> None:
        """Make the cells of another tree, given by its parents and children, checked.

        With a constraint, `points` are those of the cells.
        """
        size = len(parents)
        if not self._feasible.is_whole:
            self._points = Rows(self._checked(points, size))
        if size < 1 or parents.shape != (size,) or children.shape != (size, 2):
            raise ValueError("parents and children of different numbers of cells")
        known = np.flatnonzero(children[:, 0] != UNKNOWN)
        given = children[known][children[known] >= 0]
        owners = np.repeat(known, (children[known] >= 0).sum(axis=1))
        proper = (
            parents[0] == NONE
            and ((children >= 0) | (children == NONE) | ((children == UNKNOWN).all(axis=1, keepdims=True))).all()
            and np.array_equal(np.sort(given), np.arange(1, size))
            and (given > owners).all()
            and np.array_equal(parents[given], owners)
        )
        if not proper:
            raise ValueError("parents and children that are no tree")
        depths, codes = np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.uint64)
        lows = np.repeat(self._lows.filled[:1], size, axis=0)
        for node in known.tolist():  # parents come before children
            depth = int(depths[node])
            if depth >= DEEPEST:
                raise ValueError("cells that are cut too often")
            axis = self._longest[depth]
            for side in range(2):
                half = int(children[node, side])
                if half >= 0:
                    depths[half] = depth + 1
                    codes[half] = np.uint64((2 * int(codes[node]) + side) % 2**64)
                    lows[half] = lows[node]
                    lows[half, axis] += side * self.sides(depth + 1)[axis]
        self._parents, self._children = Rows(parents.astype(np.int64)), Rows(children.astype(np.int64))
        self._depths, self._codes, self._lows = Rows(depths), Rows(codes), Rows(lows)

    def grow(self, nodes: npt.NDArray[np.integer], deepest: int) -> None:
        """Make the halves of cells, unless they are made already or the cells are of depth `deepest` or DEEPEST."""
        wanted = (self.children[nodes, 0] == UNKNOWN) & (self.depths[nodes] < min(deepest, DEEPEST))
        nodes = nodes[wanted]
        if not len(nodes):
            return
        depths = self.depths[nodes].repeat(2) + 1
        sides, axes = self._sides[depths], self._longest[depths[1::2] - 1]
        lows = self._lows.filled[nodes].repeat(2, axis=0)
        lows[np.arange(1, len(lows), 2), axes] += sides[np.arange(1, len(lows), 2), axes]
        kept = self._holds(lows, sides).nonzero()[0]
        if not self._feasible.is_whole:
            codes = 2 * self.codes[nodes[kept >> 1]] + (kept & 1).astype(np.uint64)
            inherited = self._points.filled[nodes[kept >> 1]]
            points, found = self._feasible_points(lows[kept], sides[kept], inherited, axes[kept >> 1], codes)
            kept = kept[found]
            self._points.append(points[found])
        made = np.full(2 * len(nodes), NONE, dtype=np.int64)
        made[kept] = np.arange(len(self), len(self) + len(kept))
        self.children[nodes] = made.reshape(-1, 2)
        parents = nodes[kept >> 1]
        self._lows.append(lows[kept])
        self._codes.append(2 * self.codes[parents] + (kept & 1).astype(np.uint64))
        self._parents.append(parents)
        self._depths.append(depths[kept])
        self._children.append(np.full((len(kept), 2), UNKNOWN, dtype=np.int64))

    def _feasible_points(
        self, lows: Array, sides: Array, inherited: Array, axes: Nodes, codes: npt.NDArray[np.uint64]
    ) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Return a feasible point of each box, and where one was found.

        Given are the points of the parents, and the axes that these were cut across.
        """
        points = self._space.project(self._origin + (lows + sides / 2) @ self._axes)
        found = self._feasible.holds(points)
        inherited_places = self.place(inherited)
        kept = ~found & self._are_within(inherited_places, lows, sides)
        points[kept], found = inherited[kept], found | kept
        for box in np.flatnonzero(~found):
            rng, axis = np.random.default_rng(int(codes[box])), axes[box]
            drawn = lows[box] + sides[box] * rng.random((SOUGHT, sides.shape[1]))
            moved = np.repeat(inherited_places[box][None], MOVED, axis=0)
            moved[:, axis] = lows[box, axis] + sides[box, axis] * rng.random(MOVED)
            tried = self._origin + np.concatenate([drawn, moved]) @ self._axes
            for _ in range(REPAIRS):
                clipped = np.clip(self.place(tried), lows[box], lows[box] + sides[box])
                tried = self._feasible.approached(self._origin + clipped @ self._axes)
            tried = np.concatenate([self._group.fold(tried), self._seen])
            places = np.concatenate([self.place(tried[: SOUGHT + MOVED]), self._seen_places])
            good = self._feasible.holds(tried) & self._are_within(places, lows[box], sides[box])
            if good.any():
                away = np.linalg.norm(places - lows[box] - sides[box] / 2, axis=1)
                points[box], found[box] = tried[np.where(good, away, np.inf).argmin()], True
        return points, found

    def _are_within(self, places: Array, lows: Array, sides: Array) -> npt.NDArray[np.bool_]:
        """Return which places lie in boxes."""
        return np.asarray(((places >= lows) & (places <= lows + sides)).all(axis=1))

    def _checked(self, points: Array | None, size: int) -> Array:
        """Return saved points of cells, checked."""
        if points is None or points.shape != (size, self._space.dim) or points.dtype != np.float64:
            raise ValueError("no point for each cell")
        inside = np.asarray(self._space.contains(points, tol=self._space.tolerance))
        if not inside.all():
            raise ValueError("points of cells outside the space")
        broken = np.count_nonzero(~self._feasible.holds(points))
        if broken:
            raise InputError(
                f"`feasible` must be the rule that the agent was saved with, but {broken} of {size} cells have a point "
                "that is not feasible by it; pass that rule, or begin a new agent and tell it what was measured.",
                field="feasible",
            )
        return points

    def _holds(self, lows: Array, sides: Array) -> npt.NDArray[np.bool_]:
        """Return which boxes hold representatives of the space."""
        best = lows @ self._walls.T + sides @ np.maximum(self._walls, 0).T - self._heights
        holds = (best > 1e-9 * np.linalg.norm(sides, axis=1, keepdims=True)).all(axis=1)
        if not isinstance(self._space, Box):
            holds[holds] = cells_meet(self._space, self._origin, self._axes, lows[holds], sides[holds])
        return np.asarray(holds)


def hashes(codes: npt.NDArray[np.uint64], salt: int) -> npt.NDArray[np.uint64]:
    """Return a pseudo-random number for each cell: a hash (splitmix64) of its code and the salt."""
    mixed = codes * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


@lru_cache
def _all_sides(root: tuple[float, ...]) -> tuple[Array, Nodes]:
    """Return the sides of the cells of every depth, and the axis across which each is cut: the first of the longest."""
    sides, table, cut = np.array(root), np.empty((DEEPEST + 2, len(root))), []
    for depth in range(DEEPEST + 2):
        table[depth] = sides
        # rounding must not tell equal sides apart
        cut.append(int(np.argmax(sides > sides.max() * (1 - 1e-9))))
        sides = sides.copy()
        sides[cut[-1]] /= 2
    table.flags.writeable = False
    return table, np.array(cut)
