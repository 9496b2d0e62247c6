"""History: the record of all measurements, which a search can start from and returns."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array


@dataclass(frozen=True)
class History:
    """All measurements, in the order in which they ended.

    Attributes
    ----------
    points : (m, dim) array
        Where values were measured.
    values : (m,) array
        The values.
    failed : (k, dim) array
        Where measurements failed; none by default.
    failed_at : (k,) array of int
        The numbers of the failed ones among all m + k measurements, counted from 0; by default they
        come last.

    Examples
    --------
    >>> history = History(np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([5.0, 6.0]))
    >>> len(history), history.failed.shape
    (2, (0, 2))
    >>> History(history.points, history.values, failed=np.array([[0.5, 0.6]])).failed_at
    array([2])
    """

    points: Array
    values: Array
    failed: Array = field(default_factory=lambda: np.empty(0))
    failed_at: npt.NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def __post_init__(self) -> None:
        if not len(self.failed):
            object.__setattr__(self, "failed", np.empty((0, *np.shape(self.points)[1:])))
        if not len(self.failed_at):
            last = np.arange(len(self.values), len(self.values) + len(self.failed), dtype=np.intp)
            object.__setattr__(self, "failed_at", last)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle, also one of 0.1.0, which had no failures."""
        self.__dict__.update({"failed": np.empty(0), "failed_at": np.empty(0, dtype=np.intp)} | state)
        self.__post_init__()

    def __len__(self) -> int:
        return len(self.values)
