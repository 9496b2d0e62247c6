"""What was measured so far: the record that a search begins with, goes on with, and leaves behind."""

from dataclasses import dataclass

from orbandit._checks import Array


@dataclass(frozen=True)
class History:
    """All measurements, in their order: `points` (m, dim) and `values` (m,)."""

    points: Array
    values: Array

    def __len__(self) -> int:
        return len(self.values)
