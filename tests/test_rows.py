"""Arrays that grow: they keep what they hold, in few allocations."""

import numpy as np

from orbandit._rows import Rows, enlarged


def test_rows_grow_and_keep_what_they_hold():
    rows = Rows(np.zeros((1, 2)))
    for i in range(1, 40):
        rows.append(np.full((i % 3, 2), float(i)))
    assert len(rows) == len(rows.filled) == 1 + sum(i % 3 for i in range(1, 40))
    assert rows.filled[1].tolist() == [1.0, 1.0]
    assert rows.filled[-1].tolist() == [38.0, 38.0]


def test_rows_keep_their_type_and_copy_what_they_are_given():
    first = np.arange(3)
    rows = Rows(first)
    rows.append(np.array([3]))
    rows.filled[0] = 7
    assert rows.filled.tolist() == [7, 1, 2, 3]
    assert rows.filled.dtype == first.dtype
    assert first.tolist() == [0, 1, 2]


def test_rows_move_only_when_their_number_has_doubled():
    rows, moves = Rows(np.empty((1, 3))), 0
    for _ in range(1000):
        before = rows.filled
        rows.append(np.zeros((1, 3)))
        moves += not np.shares_memory(before, rows.filled)
    assert moves == 10


def test_an_enlarged_array_has_the_old_one_in_its_corner():
    larger = enlarged(np.array([[1, 2], [3, 4]]), (3, 4))
    assert larger.tolist() == [[1, 2, 0, 0], [3, 4, 0, 0], [0, 0, 0, 0]]
    assert enlarged(np.empty((0, 0)), (1, 1)).tolist() == [[0.0]]
