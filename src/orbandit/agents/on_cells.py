"""CellAgent: what agents share that play the cells of a tree over a space, or over its orbits."""

from typing import Any

import numpy as np

from orbandit._checks import Array
from orbandit.agents.base import ELSEWHERE, Means, as_means
from orbandit.agents.files import Arrays
from orbandit.agents.spatial import SpatialAgent
from orbandit.meshes.cells import CellTree, Rows


class CellAgent(SpatialAgent):
    """Plays the points of cells, which are made where they are wanted."""

    _cells: CellTree
    _means: tuple[Any, Rows] | None = None

    def _point(self, handle: int) -> Array:
        return np.array(self._units.leave(self._cells.points(np.array([handle])))[0]) + 0.0

    def _prepare(self) -> None:
        self._choose()  # makes the cells that this takes

    def _known_means(self, mean: Means) -> Array:
        """Return the means of all cells, computed for those made since the last call."""
        if self._means is None or self._means[0] != mean:
            self._means = (mean, Rows(np.empty(0)))
        known = self._means[1]
        new = np.arange(len(known.filled), len(self._cells))
        if len(new):
            known.append(as_means(mean(self._units.leave(self._cells.points(new))), len(new)))
        return known.filled

    def _cell_arrays(self) -> Arrays:
        """Return the cells and the pending asks, as files hold them."""
        asks = self._ask_arrays()  # which makes the last one pending
        tree = {"parents": self._cells.parents, "children": self._cells.children}
        return {**tree, "asked": self._asked_points(), **asks}

    def _restore_cells(self, arrays: Arrays) -> None:
        """Undo `_cell_arrays`, checked."""
        self._cells.restore(arrays["parents"], arrays["children"])
        self._set_asks(arrays, self._asked_keys(arrays), len(self._cells))
        if (arrays["asked_handles"] == ELSEWHERE).any():
            raise ValueError("pending asks of no cell")
        points, handles = self._units.enter(arrays["asked"]), arrays["asked_handles"]
        gaps = np.abs(self._cells.points(handles) - points).max(axis=1, initial=0.0)  # a cell's point may be outside
        for place, handle, gap in zip(self._cells.place(points), handles.tolist(), gaps, strict=True):
            if gap > self._space.tolerance and not self._cells.holds(handle, place):
                raise ValueError("pending asks of other points than their cells hold")
