"""Constraints that are not invariant are refused, whatever the margins of other points."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError
from orbandit.groups.feasibility import check_invariant
from orbandit.spaces.feasible_set import FeasibleSet

SQUARE, SWAP = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)


@pytest.mark.parametrize("largest", [1.0, 1e7, 1e12])
def test_large_margins_elsewhere_hide_nothing(largest):
    region = FeasibleSet(SQUARE, lambda x: np.where(x.sum(axis=1) > 1.8, -largest, 0.5 - x[:, 0]))
    with pytest.raises(InputError, match="`feasible` must be invariant"):
        check_invariant(region, SWAP)
    mostly = FeasibleSet(SQUARE, lambda x: np.where(x.sum(axis=1) > 0.8, -largest, 0.3 - x[:, 0]))
    with pytest.raises(InputError, match="`feasible` must be invariant"):
        check_invariant(mostly, SWAP)


def test_rounding_breaks_nothing():
    """On the border the sign of a margin is that of a rounding error."""
    turned, disk = ob.groups.Cyclic(7), ob.spaces.Ball(2)
    check_invariant(FeasibleSet(disk, lambda x: 1e3 * (1 - np.linalg.norm(x, axis=1))), turned)
    check_invariant(FeasibleSet(SQUARE, lambda x: 1e7 * (0.9 - x.max(axis=1)) ** 3), SWAP)
