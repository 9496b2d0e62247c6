"""Coordinates scaled by classes: the same group acts, and stretching by powers of two changes nothing."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.groups.units import Units, class_widths, scale_classes

G, S = ob.groups, ob.spaces

CASES = {
    "no group": (S.Box([0.0, -3.0], [0.1, 70.0]), None),
    "swap beside one": (S.Box([1.0, 1.0, 5.0], [1.5, 1.5, 900.0]), G.Permutation([[1, 0, 2]])),
    "units of two kinds": (S.Box([0, 2, 0, 2, 0, 2], [1e-3, 9, 1e-3, 9, 1e-3, 9]), G.BlockPermutation(3, 2)),
    "signs": (S.Box([0.0, 10.0], [0.02, 70.0]), G.SignFlips(2).centered([0.01, 40.0])),
    "disks": (S.Product(S.Ball(2, 1300.0), S.Ball(2, 1300.0)), G.BlockPermutation(2, 2)),
    "disk and angle": (S.Product(S.Ball(2, 50.0), S.Box(0, 1e-4, dim=1)), G.Product(G.Dihedral(5), G.Trivial(1))),
    "shares and a knob": (S.Product(S.Simplex(3), S.Box(0, 1e5, dim=1)), G.Product(G.Symmetric(3), G.Trivial(1))),
    "pentagon": (S.Polytope.regular("polygon-5"), G.Dihedral(5)),
    "factors": (S.Ball(4, 7.0), G.Orthogonal(2, 2)),
}
all_cases = pytest.mark.parametrize("name", CASES)


def stretched(space, group, name_seed=0):
    """The case in other units: another power of two for each class of coordinates."""
    generators = np.empty((0, space.dim, space.dim)) if group is None else group.generators
    classes = scale_classes(generators, space.unit_classes)
    factors = 2.0 ** np.array([-31, 17, 5, 40, -3, 11])[classes]
    other = space.in_units(1 / factors)
    return other, group and group.centered(group.center * factors), factors


@all_cases
def test_the_space_is_one_wide_and_the_group_is_the_same(name):
    space, group = CASES[name]
    units = Units(space, group)
    low, high = units.space.bounds
    assert (high - low).max() == pytest.approx(1.0)
    assert (high - low).min() > 0.9
    points = space.sample(40, 0)
    entered = units.enter(points)
    assert units.space.contains(entered).all()
    np.testing.assert_allclose(units.leave(entered), points, rtol=1e-14, atol=1e-14 * space.diameter)
    if group is not None:
        assert units.group.preserves(units.space)
        g = group.random(20, 1)
        # D g = g D: to act and to enter is the same in either order.
        np.testing.assert_allclose(units.group.act(g, entered), units.enter(group.act(g, points)), atol=1e-9)


@all_cases
def test_stretching_by_powers_of_two_changes_no_bit(name):
    space, group = CASES[name]
    other, moved, factors = stretched(space, group)
    units, changed = Units(space, group), Units(other, moved)
    np.testing.assert_array_equal(changed.sizes, units.sizes * factors)
    points = space.sample(40, 0)
    np.testing.assert_array_equal(changed.enter(points * factors), units.enter(points))
    np.testing.assert_array_equal(np.array(changed.space.bounds), np.array(units.space.bounds))


def test_what_leaves_lies_in_the_space_whatever_the_rounding():
    rng = np.random.default_rng(0)
    low = rng.uniform(-1, 1, 200)
    box = S.Box(low, low + rng.uniform(1e-3, 1e3, 200))
    units = Units(box, None)
    for corner in units.space.bounds:
        assert box.contains(units.leave(corner), tol=0.0)


def test_tolerances_do_not_hide_small_sides_beside_large_ones():
    """A swap of sides 1e-6 and 2e-6 is none, however long the third side is."""
    swap = G.Product(G.Symmetric(2), G.Trivial(1))
    assert not swap.preserves(S.Box([0, 0, 0], [1e-6, 2e-6, 1e6]))
    assert swap.preserves(S.Box([0, 0, 0], [1e-6, 1e-6, 1e6]))
    assert not G.SignFlips(2).centered([1e-9, 0]).preserves(S.Box([-1e-6, -1e6], [1e-6, 1e6]))


def test_widths_whose_sums_are_no_numbers():
    box = S.Box(0.0, 1.7e308, dim=3)
    np.testing.assert_array_equal(class_widths(box, G.Symmetric(3).generators), [1.7e308] * 3)
