"""CellTable: cells of a tree with a row of statistics each; ties go to hashed priorities."""

from collections.abc import Callable
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count
from orbandit._kernels.cells import COUNT, PENDING, ROOT, SUM
from orbandit._rows import Rows
from orbandit.agents.cell_arms import CellArms
from orbandit.agents.files import Arrays
from orbandit.agents.points import Points
from orbandit.meshes.cells import DEEPEST, UNKNOWN, hashes

LEVELS = 3
"""How many levels of cells are made at a time."""


@final
class CellTable:
    """Cells and their statistics.

    Parameters
    ----------
    points : Points
        The space and group, and how they are scaled.
    locate : callable
        Returns the cell that a reward at a point counts for, given the point in the agent's units.
    columns : int
        Numbers in a row: SUM, COUNT and PENDING, and those of the algorithm, none of them negative.

    Attributes
    ----------
    arms : CellArms
        The cells as arms.
    """

    def __init__(self, points: Points, locate: Callable[[Array], int], columns: int) -> None:
        self.arms = CellArms(points, locate)
        self._columns = columns

    def begin(self, rng: np.random.Generator) -> None:
        """Start without observations."""
        self._salt = int(rng.integers(2**64, dtype=np.uint64))
        self._open(np.zeros((len(self.arms), self._columns)))

    @property
    def salt(self) -> int:
        """What hashes of cells and rounds are mixed with; the seed gives it."""
        return self._salt

    @property
    def stats(self) -> Array:
        """The statistics of each cell."""
        return self._rows.filled

    @property
    def ties(self) -> Array:
        """The priority of each cell, in [0, 1): it breaks ties, the highest wins."""
        return self._ties.filled

    @property
    def bounds(self) -> Array:
        """The bound by which the algorithm ranks each cell, infinite for new ones; not saved."""
        return self._bounds.filled

    @property
    def means(self) -> Array:
        """The mean reward of each cell, NaN without rewards."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.stats[:, SUM] / self.stats[:, COUNT])

    @property
    def visits(self) -> Array:
        """Number of rewards of each cell, pending ones included."""
        return np.asarray(self.stats[:, COUNT] + self.stats[:, PENDING])

    def grow(self, nodes: npt.NDArray[np.integer], levels: int = LEVELS, deepest: int = DEEPEST) -> None:
        """Make the halves of cells, and theirs, for some levels."""
        cells = self.arms.cells
        for _ in range(levels):
            first = len(cells)
            cells.grow(nodes, deepest)
            nodes = np.arange(first, len(cells))
        codes = cells.codes[len(self._rows) :]
        self._rows.append(np.zeros((len(codes), self._columns)))
        self._bounds.append(np.full(len(codes), np.inf))
        self._ties.append(priorities(codes, self._salt))

    def path(self, point: Array, leads_on: Callable[[int], bool], grows: bool = True) -> list[int]:
        """Return the cells that contain a point, from the root down while `leads_on` holds.

        Where cells are not made yet, they are made, or the path ends.
        """
        cells = self.arms.cells
        place, path = cells.place(point[None])[0], [ROOT]
        while leads_on(path[-1]):
            if cells.children[path[-1], 0] == UNKNOWN:
                if not grows:
                    break
                self.grow(np.array([path[-1]]))
            half = cells.child(path[-1], place)
            if half < 0:
                break
            path.append(half)
        return path

    @property
    def state(self) -> tuple[dict[str, Any], Arrays]:
        """What a file keeps."""
        return {"salt": self._salt}, {"stats": self.stats, **self.arms.arrays_to_save}

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Undo `state`, checked."""
        self._salt = as_count(state["salt"], "salt", minimum=0, maximum=2**64 - 1)
        stats, parents = arrays["stats"], arrays["parents"]
        if stats.shape != (len(parents), self._columns) or stats.dtype != np.float64 or not np.isfinite(stats).all():
            raise ValueError(f"statistics of shape {stats.shape} for {len(parents)} cells")
        if (stats < 0).any() or (stats[:, SUM] > stats[:, COUNT]).any():
            raise ValueError("statistics that cannot be")
        self.arms.restore(arrays)
        self._open(stats)

    def _open(self, stats: Array) -> None:
        self._rows, self._bounds = Rows(stats), Rows(np.full(len(stats), np.inf))
        self._ties = Rows(priorities(self.arms.cells.codes, self._salt))


def priorities(codes: npt.NDArray[np.uint64], salt: int) -> Array:
    """Return a number in [0, 1) for each cell, from a hash of its code.

    Examples
    --------
    >>> import numpy as np
    >>> first, second = priorities(np.array([2, 3], dtype=np.uint64), salt=0)
    >>> bool(0 <= first < 1), bool(first == second)
    (True, False)
    """
    return np.asarray((hashes(codes, salt) >> np.uint64(11)) * 2.0**-53)
