"""The hard family: a packing of orbits with no room left, instances that are Lipschitz, invariant and disjoint."""

from functools import lru_cache

import numpy as np
import pytest
from scipy.optimize import linprog

import orbandit as ob
from cases import G, S
from orbandit.errors import InputError, InputTypeError, MeshTooLargeError, NoDomainError
from orbandit.problems.packing import deepest, depths

P = ob.problems
CASES = {
    "interval": lambda: (S.Box(0, 1, dim=1), None, 0.05),
    "flipped interval": lambda: (S.Box(-1, 1, dim=1), G.SignFlips(1), 0.05),
    "disk, D5": lambda: (S.Ball(2), G.Dihedral(5), 0.15),
    "disk, C7": lambda: (S.Ball(2), G.Cyclic(7), 0.15),
    "cube, S3": lambda: (S.Box(0, 1, dim=3), G.Symmetric(3), 0.2),
    "cube, shifts": lambda: (S.Box(0, 1, dim=3), G.CyclicShift(3), 0.25),
    "icosahedron, H3": lambda: (S.Polytope.regular("icosahedron"), G.Coxeter("H3"), 0.12),
    "simplex": lambda: (S.Simplex(3), G.Symmetric(3), 0.08),
    "factors": lambda: (S.Ball(4), G.Orthogonal(2, 2), 0.4),
    "turbines": lambda: (S.Product(S.Ball(2, radius=0.5), S.Ball(2, radius=0.5)), G.BlockPermutation(2, 2), 0.5),
    "layout": lambda: (
        S.Product(S.Ball(2, radius=0.5), S.Ball(2, radius=0.5)),
        G.Joint(G.BlockPermutation(2, 2), G.Diagonal(G.Dihedral(4), 2)),
        0.35,
    ),
    "six exchangeable": lambda: (S.Box(0, 1, dim=6), G.Symmetric(6), 0.35),
}


@lru_cache
def family_of(name):
    space, group, delta = CASES[name]()
    return space, group, delta, P.LowerBoundFamily(space, group, delta)


@pytest.mark.parametrize("name", CASES)
def test_the_packing_keeps_its_distance_and_leaves_no_room(name):
    space, group, delta, family = family_of(name)
    metric = group or G.Trivial(space.dim)
    between = np.asarray(metric.distance(family.centers, family.centers))
    assert between[~np.eye(len(family), dtype=bool)].min() > delta
    assert space.contains(family.centers).all()
    # Maximal: every point of a fresh sample is within delta of the packing.
    assert np.asarray(metric.distance(space.sample(10_000, 99), family.centers)).min(axis=1).max() <= delta
    assert len(family.instances) == len(family) > 2


@pytest.mark.parametrize("name", ["interval", "disk, D5", "factors"])
def test_the_packing_is_the_same_every_time(name):
    space, group, delta, family = family_of(name)
    np.testing.assert_array_equal(P.LowerBoundFamily(space, group, delta).centers, family.centers)


@pytest.mark.parametrize("name", CASES)
def test_instances_are_lipschitz_invariant_and_differ_on_disjoint_sets(name):
    space, _, delta, family = family_of(name)
    for i in (0, len(family) - 1):
        report = P.check(family.instance(i), points=300)
        # W is spread over walls too
        fixed = [trouble for trouble in report.troubles if "optimizer" not in trouble]
        assert not fixed, fixed
        assert family.instance(i).optimum == pytest.approx(1 / 3 + delta / 2)
    points = np.concatenate([space.sample(4000, 5), family.centers])
    raised = np.array([f.mean(points) > 1 / 3 + 1e-12 for f in family.instances])
    assert raised.sum(axis=0).max() == 1
    assert raised.any(axis=1).all()


def test_the_mean_by_hand_over_all_images():
    space, group, delta, family = family_of("icosahedron, H3")
    points = np.concatenate([space.sample(100, 3), group.orbit(family.centers[2])[:40]])
    images = group.act(group.elements(), family.centers[2])
    nearest = np.linalg.norm(points[:, None] - images, axis=2).min(axis=1)
    np.testing.assert_allclose(
        family.instance(2).mean(points), 1 / 3 + np.maximum(0, delta / 2 - nearest), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("name", ["disk, D5", "disk, C7", "cube, S3", "simplex"])
def test_the_strict_packing_keeps_away_from_the_boundary(name):
    space, group, delta = CASES[name]()
    family = P.LowerBoundFamily(space, group, delta / 3)
    depth = depths(space, group)(family.strict)
    assert depth.min() > delta / 3
    assert group.domain().contains(family.strict).all()
    gaps = np.linalg.norm(family.strict[:, None] - family.strict, axis=2)
    assert gaps[~np.eye(len(gaps), dtype=bool)].min(initial=1) > delta / 3
    # Instances of the paper are fewer: its packing is one of orbits, too, but without the points
    # near walls.
    assert 0 < len(family.strict) < len(family)


def test_no_strict_packing_fits_into_the_domain_of_the_icosahedron():
    space, group, delta, family = family_of("icosahedron, H3")
    assert len(family.strict) == 0
    # The largest ball within the domain, as a linear program: maximise r with normal . x + r <=
    # offset.
    normals, offsets = space.halfspaces()
    rows = np.vstack([normals, -group.domain().normals])
    heights = np.concatenate([offsets, np.zeros(len(group.domain().normals))])
    best = linprog(
        [0, 0, 0, -1], A_ub=np.column_stack([rows, np.ones(len(rows))]), b_ub=heights, bounds=[(None, None)] * 4
    )
    assert -best.fun < delta
    found = deepest(space, group, np.random.default_rng(0))
    assert depths(space, group)(found[None])[0] == pytest.approx(-best.fun, abs=1e-6)


def test_the_quotient_by_an_infinite_group_is_small():
    # of a disk by rotations: an interval
    family = P.LowerBoundFamily(S.Ball(2), G.Orthogonal(2, 1), 0.01)
    assert 50 < len(family) < 100


def test_bad_input_is_refused():
    square, swap = S.Box(0, 1, dim=2), G.Symmetric(2)
    for delta in (0.0, -1.0, 0.7):
        with pytest.raises(InputError):
            P.LowerBoundFamily(square, swap, delta)
    with pytest.raises(MeshTooLargeError, match="larger `delta`"):
        P.LowerBoundFamily(S.Box(0, 1, dim=6), None, 0.05)
    with pytest.raises(InputError, match="does not preserve"):
        P.LowerBoundFamily(square, G.SignFlips(2), 0.2)
    with pytest.raises(InputError, match="lipschitz"):
        P.LowerBoundFamily(square, swap, 0.2, lipschitz=4.0)
    with pytest.raises(InputTypeError):
        P.LowerBoundFamily("square", swap, 0.2)
    family = P.LowerBoundFamily(square, swap, 0.3)
    with pytest.raises(InputError, match="so many instances"):
        family.instance(len(family))
    with pytest.raises(NoDomainError):
        _ = P.LowerBoundFamily(S.Ball(4), G.Orthogonal(2, 2), 0.5).strict
