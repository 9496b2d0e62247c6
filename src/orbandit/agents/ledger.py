"""Ledger: the pending points, asked for or expected, that were not told yet.

The last ask becomes pending only with the next one, so that asking and telling in turn costs one
update.
"""

from typing import Any, final

import numpy as np
import numpy.typing as npt

ELSEWHERE = -1
"""The handle of a point that was not asked for, or whose arm no longer exists."""


@final
class Ledger:
    """Pending measurements by the keys of their points.

    Attributes
    ----------
    pending : dict
        The handles of the pending measurements of each point, oldest first; cells may share a
        point.
    last : (key, handle) or None
        The last ask, if it is not pending yet.
    """

    def __init__(self) -> None:
        self.pending: dict[Any, list[int]] = {}
        self.last: tuple[Any, int] | None = None

    def __len__(self) -> int:
        return sum(map(len, self.pending.values()))

    @property
    def is_empty(self) -> bool:
        """Whether every ask was answered."""
        return self.last is None and not self.pending

    @property
    def keys(self) -> list[Any]:
        """The key of the point of each pending measurement."""
        return [key for key, handles in self.pending.items() for _ in handles]

    @property
    def handles(self) -> npt.NDArray[np.int64]:
        """The handle of each pending measurement, in the order of `keys`."""
        return np.array([handle for handles in self.pending.values() for handle in handles], dtype=np.int64)

    def holds(self, key: Any) -> bool:
        """Return whether a point was asked for or expected, and not told."""
        return key in self.pending or (self.last is not None and self.last[0] == key)

    def add(self, key: Any, handle: int) -> None:
        """Add a pending measurement."""
        self.pending.setdefault(key, []).append(handle)

    def answered(self, key: Any) -> tuple[int, float]:
        """Return the handle that a reward answers, and how many pending ones it releases."""
        last = self.last
        if last is not None and last[0] == key:
            return last[1], 0.0
        if key in self.pending:
            return self.pending[key][0], 1.0
        return ELSEWHERE, 0.0

    def close(self, key: Any, handle: int, released: float) -> None:
        """Remove what a reward answered, as `answered` returned it."""
        if released:
            self.release(key)
        elif handle != ELSEWHERE:
            self.last = None

    def release(self, key: Any) -> None:
        """Remove the oldest pending measurement of a point."""
        handles = self.pending[key]
        del handles[0]
        if not handles:
            del self.pending[key]

    def displace(self) -> None:
        """Forget the handles of all pending measurements, since arms are renumbered.

        The points stay.
        """
        for handles in self.pending.values():
            handles[:] = [ELSEWHERE] * len(handles)
