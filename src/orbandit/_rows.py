"""Rows: an array that grows, for whatever is learnt one at a time."""

from typing import Any, final

import numpy as np
import numpy.typing as npt


@final
class Rows:
    """An array that rows are added to, with room to spare: adding n rows one by one takes O(n) in all.

    Parameters
    ----------
    first : array
        The rows to begin with, perhaps none; they are copied.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows(np.empty((0, 2)))
    >>> rows.append(np.array([[1.0, 2.0]]))
    >>> rows.append(np.array([[3.0, 4.0], [5.0, 6.0]]))
    >>> len(rows), rows.filled[-1]
    (3, array([5., 6.]))
    """

    def __init__(self, first: npt.NDArray[Any]) -> None:
        self._room, self._size = first.copy(), len(first)

    def __len__(self) -> int:
        return self._size

    @property
    def filled(self) -> npt.NDArray[Any]:
        """The rows so far, a view that is good until rows are added."""
        return self._room[: self._size]

    def append(self, rows: npt.NDArray[Any]) -> None:
        """Add rows at the end."""
        size = self._size + len(rows)
        if size > len(self._room):
            self._room = enlarged(self.filled, (max(size, 2 * len(self._room)), *self._room.shape[1:]))
        self._room[self._size : size] = rows
        self._size = size


def enlarged(array: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return a larger array with the given one in its corner, and zeros elsewhere."""
    larger = np.zeros(shape, dtype=array.dtype)
    larger[tuple(map(slice, array.shape))] = array
    return larger
