"""ListedArms: the arms 0, ..., K - 1 of a finite bandit, with their table."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import as_count, shown
from orbandit.agents.table import Table
from orbandit.errors import InputError

MAX_ARMS = 10_000_000
"""Most arms, so that their statistics fit into memory."""


@final
class ListedArms:
    """Arms by their names, which a table numbers by priority.

    Parameters
    ----------
    table : Table
        The statistics of the arms that are played.
    representatives, orbits : arrays of int, optional
        If one arm is played for a whole orbit: the name of each arm of the table, and the orbit of
        each arm.
    """

    space = group = None

    def __init__(
        self,
        table: Table,
        representatives: npt.NDArray[np.intp] | None = None,
        orbits: npt.NDArray[np.intp] | None = None,
    ) -> None:
        self.table, self._representatives, self._orbits = table, representatives, orbits
        self._names = None if representatives is None else representatives[orbits]
        self._size = len(table) if orbits is None else len(orbits)
        self.numbers = np.empty(len(table), dtype=np.intp)
        self.numbers[table.order] = np.arange(len(table))

    def __len__(self) -> int:
        return len(self.table)

    @property
    def numbering(self) -> object:
        """An object that is replaced whenever arms are renumbered."""
        return self.table

    def key(self, point: Any) -> int:
        """Return the arm that is played for a given arm."""
        arm = point if type(point) is int else as_count(point, "arm", minimum=0)
        if not 0 <= arm < self._size:
            raise InputError(f"`arm` must be one of 0, ..., {self._size - 1}, but got {shown(arm)}.")
        return arm if self._names is None else int(self._names[arm])

    def point(self, handle: int) -> int:
        """Return the name of an arm."""
        name = self.table.order[handle]
        return int(name if self._representatives is None else self._representatives[name])

    def points_from(self, first: int) -> npt.NDArray[np.intp]:
        """Return the names of the arms from a number on."""
        names = self.table.order[first:]
        return names if self._representatives is None else self._representatives[names]

    def check(self, points: Sequence[Any] | npt.NDArray[Any]) -> None:
        """Refuse anything but arms."""
        for point in points:
            self.key(point)

    def handle(self, point: Any) -> int:
        """Return the number of an arm."""
        arm = self.key(point)
        return int(self.numbers[arm if self._orbits is None else self._orbits[arm]])

    def packed(self, keys: list[int]) -> npt.NDArray[np.int64]:
        """Return arms as files hold them."""
        return np.array(keys, dtype=np.int64)

    def unpacked(self, points: npt.NDArray[Any]) -> list[int]:
        """Undo `packed`, checked."""
        return [self.key(arm) for arm in points]

    def admits(self, key: int, handle: int) -> bool:
        """Return whether an arm has a number."""
        return 0 <= handle < len(self.table) and self.point(handle) == key
