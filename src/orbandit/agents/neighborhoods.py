"""Neighborhoods.

For each arm the arms that its rewards update, listed at once or when first played.
"""

from collections.abc import Callable
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._kernels.arms import ArmArray
from orbandit._rows import Rows

Arms = npt.NDArray[np.intp]
Finder = Callable[[Arms], tuple[npt.NDArray[np.int64], ArmArray]]
"""Returns (indptr, indices): the neighbours of the i-th arm asked about are
indices[indptr[i]:indptr[i + 1]]."""


@final
class Neighborhoods:
    """Lists of neighbours in one growing pool: those of an arm are pool[starts[arm]:][:sizes[arm]].

    Parameters
    ----------
    size : int
        Number of arms.
    find : callable
        Finds the neighbours of a batch of arms.
    batch : int
        How many lists to make at a time in a compiled loop; 0 lists all arms now.
    """

    def __init__(self, size: int, find: Finder, batch: int = 0) -> None:
        self._find, self.batch = find, batch
        self.starts = np.zeros(size, dtype=np.int64)
        self.sizes = np.full(size, -1, dtype=np.int64)
        self._grown = Rows(np.empty(0, dtype=np.int32))
        self.pool: ArmArray = self._grown.filled
        if batch == 0:
            self.list(np.arange(size))

    def of(self, arm: int) -> ArmArray:
        """Return the neighbours of an arm, which is one of them."""
        if self.sizes[arm] < 0:
            self.list(np.array([arm]))
        return self.pool[self.starts[arm] : self.starts[arm] + self.sizes[arm]]

    def unlisted(self) -> Arms:
        """Return the arms without a list."""
        return np.flatnonzero(self.sizes < 0)

    def list(self, arms: Arms) -> None:
        """Find the neighbours of arms that have no list yet."""
        indptr, indices = self._find(arms)
        self.starts[arms] = len(self._grown) + indptr[:-1]
        self._grown.append(indices)
        self.pool = self._grown.filled
        self.sizes[arms] = np.diff(indptr)
