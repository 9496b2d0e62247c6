"""CellArms: the cells of a tree over a space, or over its orbits, as arms, made on demand."""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.files import Arrays
from orbandit.agents.points import Points, point_of
from orbandit.meshes.cells import CellTree


@final
class CellArms:
    """Cells to play.

    Parameters
    ----------
    points : Points
        The space and group, and how they are scaled.
    locate : callable
        Returns the cell that a reward at a point counts for, given the point in the agent's units.
    """

    def __init__(self, points: Points, locate: Callable[[Array], int]) -> None:
        self.space, self.group, self.scale, self.units = points.space, points.group, points.scale, points.units
        self.key, self.check, self.packed, self.unpacked = points.key, points.check, points.packed, points.unpacked
        self.inside, self._locate = points.inside, locate
        # what is asked for instead of the point of a cell
        self.turned: Callable[[Array], Array] | None = None
        self._is_whole = points.region.is_whole
        self.cells = CellTree(points.units.space, points.units.group, points.region)

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def numbering(self) -> object:
        """An object that is replaced whenever cells are renumbered."""
        return self.cells

    def point(self, handle: int) -> Array:
        """Return the point to ask for in a cell: its own, or an image of it."""
        if self.turned is None:
            return self.own_point(handle)
        return np.array(self.units.leave(self.turned(self.cells.points(np.array([handle]))[0]))) + 0.0

    def own_point(self, handle: int) -> Array:
        """Return the point of a cell."""
        return np.array(self.units.leave(self.cells.points(np.array([handle])))[0]) + 0.0

    def points_from(self, first: int) -> Array:
        """Return the points of the cells from a number on."""
        return self.units.leave(self.cells.points(np.arange(first, len(self.cells))))

    def handle(self, point: Any) -> int:
        """Return the cell that a reward at a point counts for."""
        return self._locate(self.inside(point))

    def admits(self, key: bytes, handle: int) -> bool:
        """Return whether a point is a cell's own or an image of that, or lies in it.

        The fold of a cell's own point may lie in another cell.
        """
        if not 0 <= handle < len(self.cells):
            return False
        own = self.cells.points(np.array([handle]))
        place, other = self.cells.place(np.concatenate([self.units.enter(point_of(key))[None], own]))
        is_own = np.abs(place - other).max() <= self.units.space.tolerance
        return bool(is_own) or self.cells.holds(handle, place)

    @property
    def arrays_to_save(self) -> Arrays:
        """The cells, as files hold them."""
        cells = {"parents": self.cells.parents, "children": self.cells.children}
        return cells if self._is_whole else cells | {"cell_points": self.cells.points(np.arange(len(self.cells)))}

    def restore(self, arrays: Arrays) -> None:
        """Undo `arrays_to_save`, checked."""
        self.cells.restore(arrays["parents"], arrays["children"], arrays.get("cell_points"))
