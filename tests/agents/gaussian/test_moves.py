"""Steps and moves of units stay in the space, change what they say, and reach far."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.agents.gaussian.moves import steps_from, unit_moves
from orbandit.spaces.feasible_set import FeasibleSet

G, S = ob.groups, ob.spaces
TURBINES = G.BlockPermutation(4, 2)
CASES = {
    "turbines": (S.Ball(2) ** 4, G.Joint(TURBINES, G.Diagonal(G.Dihedral(16), 4)), 4),
    "two kinds": (S.Box(-1.0, 1.0, dim=11), G.Product(TURBINES, G.Symmetric(3)), 7),
    "levels": (S.Box(0.0, 1.0, dim=5), G.Symmetric(5), 5),
    "nothing": (S.Box(0.0, 1.0, dim=3), G.Trivial(3), 3),
    "factors": (S.Box(-1.0, 1.0, dim=6), G.Orthogonal(2, 3), 2),
    "shares": (S.Simplex(4), G.Symmetric(4), 4),
}


@pytest.mark.parametrize("name", CASES)
def test_units_part_the_coordinates(name):
    space, group, count = CASES[name]
    units = group.unit_coordinates
    assert len(units) == count
    np.testing.assert_array_equal(np.concatenate(units), np.arange(space.dim))


@pytest.mark.parametrize("name", CASES)
def test_one_unit_moves_at_a_time_near_and_far(name):
    space, group, _ = CASES[name]
    units, rng = group.unit_coordinates, np.random.default_rng(0)
    around, elsewhere = 0.5 * space.sample(2, 1) + 0.5 * space.sample(1, 2), space.sample(50, 3)
    moved = unit_moves(around, FeasibleSet(space), units, elsewhere, 0.3, 200, rng)
    assert space.contains(moved).all()
    gaps = np.abs(moved - np.resize(around, moved.shape))
    lengths = np.linalg.norm(gaps, axis=1)
    assert lengths.min() < 0.02 < 0.3 < lengths.max()
    if name != "shares":  # there a projection moves the others, too
        changed = np.array([(gaps[:, own] > 1e-12).any(axis=1) for own in units])
        assert (changed.sum(axis=0) == 1).all()
        assert changed.any(axis=1).all()  # each unit is moved at some time


@pytest.mark.parametrize("name", CASES)
def test_steps_are_a_length_scale_long_at_most(name):
    space, _, _ = CASES[name]
    around = space.sample(3, 0)
    points = steps_from(around, FeasibleSet(space), 0.2, 300, np.random.default_rng(1))
    assert space.contains(points).all()
    lengths = np.linalg.norm(points - np.resize(around, points.shape), axis=1)
    assert lengths.max() < 0.2 * 3.5  # Gaussian
    assert lengths.min() < 0.01
