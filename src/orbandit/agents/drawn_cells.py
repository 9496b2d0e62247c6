"""DrawnCells: cells of a tree as arms of which a handle also says by which draw they were chosen."""

from typing import Any, final

from orbandit._checks import Array
from orbandit.agents.cell_arms import CellArms

MAX_CELLS = 2**32
"""A handle is the number of a cell, plus this times the depth that was drawn, 0 if none was."""


@final
class DrawnCells:
    """Cells to play, and the depths that were drawn.

    Parameters
    ----------
    arms : CellArms
        The cells; a plain number of theirs is a handle, too.
    """

    def __init__(self, arms: CellArms) -> None:
        self.space, self.group, self.cells = arms.space, arms.group, arms.cells
        self.key, self.check, self.packed = arms.key, arms.check, arms.packed
        self.unpacked, self.inside, self.handle = arms.unpacked, arms.inside, arms.handle
        self.points_from, self._arms = arms.points_from, arms

    def __len__(self) -> int:
        return len(self._arms)

    @property
    def numbering(self) -> object:
        """Another object whenever cells are numbered anew."""
        return self._arms.numbering

    def name(self, cell: int, depth: int) -> int:
        """Return the handle of a cell and a depth."""
        return cell + MAX_CELLS * depth

    def parts(self, handle: int) -> tuple[int, int]:
        """Return the cell and the depth of a handle."""
        depth, cell = divmod(handle, MAX_CELLS)
        return cell, depth

    def point(self, handle: int) -> Array:
        """Return the point of a cell."""
        return self._arms.point(self.parts(handle)[0])

    def admits(self, key: Any, handle: int) -> bool:
        """Tell whether a point is that of a cell, or lies in it, and the cell in one of the depth."""
        cell, depth = self.parts(handle)
        return self._arms.admits(key, cell) and 0 <= depth <= self.cells.depths[cell]
