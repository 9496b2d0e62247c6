"""Leaves: the statistics and keys of the cells of an OrbitTree, as its kernels work on them.

Rows are added as cells are made. Derived data (boxes, ties, the tournament) are computed here and
not saved.
"""

from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import MAX_COUNT, Array
from orbandit._kernels import kriging
from orbandit._kernels import orbit_tree as kernels
from orbandit._kernels.kriging import COLUMNS, COUNT, FOREIGN, NOISE, PENDING, SPREAD, SQUARES, STEEPEST, SUM, Tree
from orbandit._kernels.tournament import levels_of, raise_all
from orbandit._rows import Rows
from orbandit.meshes.cells import DEEPEST, CellTree, hashes

PRIOR = 4.0
"""Pseudo-observations of the largest possible variance that are added to the pooled noise."""
MAX_TIE = 1e-9
"""Priorities of cells, which break ties of keys, are below this."""


@final
class Leaves:
    """The rows of all cells, and the tournament of those that are leaves.

    Parameters
    ----------
    cells : CellTree
        The cells, which others make; `extend` must be called then.
    scale : float
        The unit of places: the Lipschitz constant for rewards in [0, 1], or a guess of it.
    salt : int
        Seed of the priorities of cells.
    rules : array
        The rules of the kernels.
    stats, keys, places, pool : arrays
        The statistics of the existing cells, their keys (minus infinity for inner cells), the mean
        places of their rewards, and the statistics of all of them pooled.
    """

    def __init__(
        self,
        cells: CellTree,
        scale: float,
        salt: int,
        rules: Array,
        stats: Array,
        keys: Array,
        places: Array,
        pool: Array,
    ) -> None:
        self._cells, self._scale, self._salt, self._rules = cells, scale, salt, rules
        self._radii = radii(cells, scale)
        self._work = kriging.workspace()
        self.pool = pool.copy()
        dim = places.shape[1]
        self._rows = {
            "stats": Rows(stats),
            "centers": Rows(np.empty((0, dim))),
            "places": Rows(places),
            "boxes": Rows(np.empty((0, 2, dim))),
            "quiet": Rows(np.empty(0)),
            "ties": Rows(np.empty(0)),
        }
        self._set_keys(keys)
        self.extend()
        for node in np.flatnonzero(stats[:, [COUNT, PENDING]].any(axis=1)):
            kernels.enter(self.tree, int(node))
            kernels.hush(self.tree, int(node))

    @property
    def stats(self) -> Array:
        """The statistics of each cell."""
        return self._rows["stats"].filled

    @property
    def centers(self) -> Array:
        """The place of the point of each cell."""
        return self._rows["centers"].filled

    @property
    def places(self) -> Array:
        """The mean place of the rewards of each cell."""
        return self._rows["places"].filled

    @property
    def keys(self) -> Array:
        """The key of each cell."""
        return self._keys[: len(self._cells)]

    @property
    def live(self) -> npt.NDArray[np.bool_]:
        """Which cells are leaves."""
        return self.keys > -np.inf

    @property
    def leader(self) -> int:
        """The leaf with the largest key."""
        return int(self._heads[self._levels[-2]])

    def use(self, rules: Array) -> None:
        """Take up other rules."""
        self._rules = rules
        self._assemble()

    def extend(self) -> None:
        """Add rows for new cells.

        Statistics, places, empty boxes without noise, ties, room for keys.
        """
        new = np.arange(len(self.centers), len(self._cells))
        empty = np.empty((len(new), 2, self.centers.shape[1]))
        empty[:, 0], empty[:, 1] = np.inf, -np.inf
        self._rows["stats"].append(np.zeros((len(self._cells) - len(self.stats), COLUMNS)))
        self._rows["centers"].append(self._cells.place(self._cells.points(new)) * self._scale)
        self._rows["places"].append(self.centers[len(self.places) :])
        self._rows["boxes"].append(empty)
        self._rows["quiet"].append(np.full(len(new), np.inf))
        self._rows["ties"].append(hashes(self._cells.codes[new], self._salt) * (MAX_TIE / 2.0**64))
        if len(self._cells) > self._room:
            self._set_keys(self._keys[: self._room])
        self._assemble()

    def _set_keys(self, keys: Array) -> None:
        """Make the tournament of some keys, with room for more."""
        self._room = 2 * len(self._cells)
        self._levels = levels_of(self._room)
        self._keys = np.full(self._levels[-1], -np.inf)
        self._keys[: len(keys)] = keys
        self._heads = np.zeros(self._levels[-1], dtype=np.int64)
        self._heads[: self._room] = np.arange(self._room)
        raise_all(self._keys, self._heads, self._levels)

    def _assemble(self) -> None:
        """Collect the arrays for the kernels; valid until cells are made or the rules change."""
        self.tree = Tree(
            self.stats,
            self.centers,
            self.places,
            self._rows["boxes"].filled,
            self._rows["quiet"].filled,
            self._cells.children,
            self._cells.parents,
            self._cells.depths,
            self._radii,
            self._rows["ties"].filled,
            self._keys,
            self._heads,
            self._levels,
            self._rules,
            self.pool,
            *self._work,
        )


def radii(cells: CellTree, scale: float) -> Array:
    """Return the radius of the cells of each depth, in units of the scale."""
    return np.array([cells.diameter(depth) / 2 * scale for depth in range(DEEPEST + 1)])


def is_pool(pool: Array, rewards: float) -> bool:
    """Return whether a tree with so many rewards can have these pooled statistics."""
    now, scale, residual, freedom = pool.tolist()
    return bool(
        0 <= now <= MAX_COUNT
        and 1 <= scale <= STEEPEST
        and PRIOR <= freedom <= PRIOR + rewards
        # a residual is at most 1 over the least m (1 - m), 0.01
        and PRIOR <= residual <= PRIOR + 100 * rewards
    )


def check_state(stats: Array, keys: Array, places: Array, pool: Array, cells: CellTree) -> None:
    """Refuse statistics that no tree can have."""
    size, children = len(cells), cells.children
    if stats.shape != (size, COLUMNS) or keys.shape != (size,) or pool.shape != (4,):
        raise ValueError(f"statistics of shape {stats.shape} and {keys.shape} for {size} cells")
    if places.shape != (size, len(cells.sides(0))) or not np.isfinite(places).all():
        raise ValueError(f"places of shape {places.shape} for {size} cells")
    if not (stats.dtype == keys.dtype == places.dtype == pool.dtype == np.float64):
        raise ValueError("statistics of another type")
    spread = stats[:, SPREAD]
    if not np.isfinite(np.delete(stats, SPREAD, axis=1)).all() or not (spread >= 0).all() or not (keys < np.inf).all():
        raise ValueError("statistics that are no numbers")
    counts, sums = stats[:, COUNT], stats[:, SUM]
    visits = counts + stats[:, PENDING]
    proper = (
        (stats[:, [SUM, COUNT, PENDING, SQUARES, FOREIGN]] >= 0).all()
        and (sums <= counts).all()
        and (stats[:, SQUARES] <= sums + 1e-9 * counts).all()
        and (stats[visits > 0, NOISE] > 0).all()
        and is_pool(pool, float(counts.sum()))
    )
    if not proper:
        raise ValueError("statistics that cannot be")
    reached = np.zeros(size, dtype=bool)
    reached[0] = True
    for node in np.flatnonzero(keys == -np.inf):
        halves = children[node][children[node] >= 0]
        if reached[node]:
            if not len(halves):
                raise ValueError("a cell that is neither a leaf nor divided")
            reached[halves] = True
    if (~reached & ((visits > 0) | (keys > -np.inf))).any():
        raise ValueError("leaves below leaves")
