"""Nets cover, in the space and in the orbit metric, with as few points as promised."""

import math
from itertools import product

import numpy as np
import pytest

import orbandit as ob
from cases import SPACES, G, S
from orbandit.errors import InputError, InputTypeError, MeshTooLargeError
from orbandit.meshes import region
from orbandit.meshes.lattices import _centred_radius, covering_scale, lattice_points

M = ob.meshes

DELTAS = {"ball in 5-D": 0.6, "4-D cross": 0.3, "product": 0.6, "nested product": 1.1, "simplex 4": 0.1}

PAIRS = {
    "S2 square": (S.Box(0, 1, dim=2), G.Symmetric(2), 0.08),
    "S3 cube": (S.Box(0, 1, dim=3), G.Symmetric(3), 0.12),
    "S4 cube": (S.Box(0, 1, dim=4), G.Symmetric(4), 0.25),
    "B3 cube": (S.Box(0, 1, dim=3), G.SignedPermutation(3).centered([0.5] * 3), 0.1),
    "flips, uneven box": (S.Box([-1, -2], [1, 2]), G.SignFlips(2), 0.2),
    "D5 disk": (S.Ball(2), G.Dihedral(5), 0.1),
    "D40 disk": (S.Ball(2), G.Dihedral(40), 0.1),
    "C3 disk elsewhere": (S.Ball(2, center=[3.0, 4.0]), G.Cyclic(3).centered([3.0, 4.0]), 0.15),
    "H3 icosahedron": (S.Polytope.regular("icosahedron"), G.Coxeter("H3"), 0.12),
    "rotations of the dodecahedron": (
        S.Polytope.regular("dodecahedron"),
        G.Matrix([G.Coxeter("H3").generators[0] @ g for g in G.Coxeter("H3").generators[1:]]),
        0.2,
    ),
    "A3 tetrahedron": (S.Polytope.regular("tetrahedron"), G.Coxeter("A3"), 0.1),
    "D7 heptagon": (S.Polytope.regular("polygon-7"), G.Dihedral(7), 0.1),
    "S4 simplex": (S.Simplex(4), G.Symmetric(4), 0.1),
    "shift on the simplex": (S.Simplex(3), G.CyclicShift(3), 0.1),
    "two disks": (S.Product(S.Ball(2), S.Ball(2)), G.BlockPermutation(2, 2), 0.4),
    "two turbines": (
        S.Product(S.Ball(2), S.Ball(2)),
        G.Joint(G.BlockPermutation(2, 2), G.Diagonal(G.Dihedral(4), 2)),
        0.4,
    ),
    "O(2) on a ball": (S.Ball(4), G.Orthogonal(2, 2), 0.4),
    "trivial": (S.Ball(2), G.Trivial(2), 0.3),
}


def border_points(space, seed):
    """Corners and points of faces: extreme points in random directions, and of pairs of them the middles."""
    rng = np.random.default_rng(seed)
    far = space.project(10 * space.diameter * rng.standard_normal((500, space.dim)))
    return np.vstack([far, (far[:250] + far[250:]) / 2, space.project(space.sample(500, seed) * 1.5)])


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("lattice", ["best", "cubic"])
def test_nets_cover_every_space_from_within(name, lattice):
    space = SPACES[name]()
    delta = DELTAS.get(name, space.diameter / 15)
    mesh = M.net(space, delta, lattice)
    assert space.contains(mesh.points).all()
    assert mesh.distances(space.sample(6_000, 0)).max() <= delta * (1 + 1e-9)
    assert mesh.distances(border_points(space, 1)).max() <= delta * (1 + 1e-9)
    assert mesh.delta == delta


@pytest.mark.parametrize("name", PAIRS)
def test_quotient_nets_cover_in_the_orbit_metric(name):
    space, group, delta = PAIRS[name]
    mesh = M.quotient_net(space, group, delta)
    assert space.contains(mesh.points).all()
    np.testing.assert_allclose(group.fold(mesh.points), mesh.points, atol=1e-9)
    assert mesh.distances(space.sample(5_000, 0)).max() <= delta * (1 + 1e-9)
    assert mesh.distances(border_points(space, 1)).max() <= delta * (1 + 1e-9)
    if group.order > 1:
        assert len(mesh) < len(M.net(space, delta))


@pytest.mark.parametrize("seed", range(6))
def test_nets_of_random_boxes_and_scales_cover(seed):
    rng = np.random.default_rng(seed)
    for dim in (1, 2, 3):
        low = rng.uniform(-1e3, 1e3, dim)
        sides = 10 ** rng.uniform(-2, 1, dim)
        space = S.Box(low, low + sides)
        delta = np.linalg.norm(sides) * rng.uniform(0.03, 0.6)
        mesh = M.net(space, delta)
        corners = np.array(list(product(*zip(low, low + sides, strict=True))))
        assert mesh.distances(np.vstack([space.sample(20_000, seed), corners])).max() <= delta * (1 + 1e-9)
        assert space.contains(mesh.points).all()


def test_the_best_lattice_needs_far_fewer_points_than_the_grid():
    # delta = 0.1 on the unit cube: at most 0.75 of the grid's points in three dimensions, 0.5 in
    # five.
    sizes = {d: [len(M.net(S.Box(0, 1, dim=d), 0.1, kind)) for kind in ("best", "cubic")] for d in (3, 5)}
    assert sizes[3][1] == 9**3
    assert sizes[3][0] <= 0.75 * sizes[3][1]
    assert sizes[5][0] <= 0.5 * sizes[5][1]


def test_nets_of_one_space_and_group_share_the_box_about_the_domain(monkeypatch):
    solved, tightened = [], region._tightened
    monkeypatch.setattr(region, "_tightened", lambda *halfspaces: solved.append(1) or tightened(*halfspaces))
    space, group = S.Ball(3), G.Symmetric(3)
    for delta in (0.4, 0.3, 0.2):
        M.quotient_net(space, group, delta)
    assert len(solved) == 1


def test_best_is_never_worse_than_cubic():
    for name in SPACES:
        space = SPACES[name]()
        for delta in (space.diameter / 2, space.diameter / (8 if space.dim < 4 else 3)):
            assert len(M.net(space, delta)) <= len(M.net(space, delta, "cubic")), name


LEMMA_1 = {
    "S2 square": (S.Box(0, 1, dim=2), G.Symmetric(2), [0.1, 0.05, 0.025, 0.0125]),
    "S3 cube": (S.Box(0, 1, dim=3), G.Symmetric(3), [0.2, 0.1, 0.05, 0.025]),
    "B3 cube": (S.Box(0, 1, dim=3), G.SignedPermutation(3).centered([0.5] * 3), [0.2, 0.1, 0.05, 0.025]),
    "D5 disk": (S.Ball(2), G.Dihedral(5), [0.2, 0.1, 0.05, 0.025]),
    "H3 icosahedron": (S.Polytope.regular("icosahedron"), G.Coxeter("H3"), [0.2, 0.1, 0.05]),
}


@pytest.mark.parametrize("name", LEMMA_1)
def test_lemma_1_the_quotient_times_the_order_approaches_the_whole(name):
    space, group, deltas = LEMMA_1[name]
    rows = [(delta, len(M.quotient_net(space, group, delta)), len(M.net(space, delta))) for delta in deltas]
    ratios = [small * group.order / whole for _, small, whole in rows]
    table = "\n".join(
        f"{delta:8} {small:8} {whole:8} {r:6.2f}" for (delta, small, whole), r in zip(rows, ratios, strict=True)
    )
    # The excess over 1 comes from the walls, and falls like their share of the volume, about like
    # delta.
    excess = np.array(ratios) - 1
    assert (excess > -0.05).all(), table
    assert excess[-1] < 0.7 * excess[0], table
    assert (np.diff(excess) < 0.05).all(), table


def test_six_exchangeable_coordinates_need_neither_the_mesh_nor_the_group():
    space, group = S.Box(0, 1, dim=6), G.Symmetric(6)
    mesh = M.quotient_net(space, group, 0.2)
    assert len(mesh) < 1000
    assert mesh.distances(space.sample(5_000, 0)).max() <= 0.2 * (1 + 1e-9)


@pytest.mark.parametrize("name", SPACES)
def test_a_delta_larger_than_the_space_gives_one_point(name):
    space = SPACES[name]()
    assert len(M.net(space, 1.01 * space.diameter)) == 1
    assert len(M.net(space, 100 * space.diameter)) == 1


@pytest.mark.parametrize(
    ("space", "delta"),
    [
        (S.Simplex(200), 2.0),
        (S.Ball(600), 1.5),
        (S.Box(0, 1e-6, dim=60), 1.0),
        (S.Box(0, 1e6, dim=60), 1e8),
    ],
    ids=repr,
)
def test_volumes_that_no_float_can_hold_do_not_matter(space, delta):
    assert len(M.net(space, delta)) == 1
    assert len(M.CoveringTree(space, 100 * delta).mesh) == 1


@pytest.mark.parametrize(
    ("space", "delta", "most"),
    [
        (S.Box(0, 1, dim=12), 1.0, 2048),
        (S.Box(np.zeros(4), [1e6, 1, 1e-3, 1e-3]), 10.0, 60_000),
        (S.Box(np.zeros(10), np.r_[1.0, [0.001] * 9]), 0.01, 60),
        (S.Box(np.zeros(3), [1, 0.01, 0.01]), 0.05, 11),
        (S.Box(np.zeros(3), [1e4, 1, 1]), 10.0, 502),
        (S.Ball(7), 0.8, 1000),
    ],
    ids=repr,
)
def test_a_lattice_that_does_not_fit_leaves_the_others(space, delta, most):
    mesh = M.net(space, delta)
    assert len(mesh) <= most
    assert mesh.distances(space.sample(5000, 0)).max() <= delta * (1 + 1e-9)


def test_one_point_suffices_for_a_quotient_too():
    assert len(M.quotient_net(S.Ball(2), G.Dihedral(5), 1.0)) == 1
    assert len(M.quotient_net(S.Box(0, 1, dim=3), G.Symmetric(3), 2.0)) == 1


def test_radii_are_measured():
    mesh = M.net(S.Box(0, 1, dim=2), 0.1)
    assert 0.09 < mesh.covering_radius() <= 0.1 * (1 + 1e-9)
    assert 0.03 < mesh.packing_radius() < 0.1
    grid = M.Mesh([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.8, space=S.Box(0, 1, dim=2))
    assert grid.covering_radius() == pytest.approx(math.sqrt(0.5), rel=1e-3)
    assert grid.packing_radius() == 0.5
    folded = M.Mesh(grid.points, 0.8, space=grid.space, group=G.Symmetric(2))
    assert folded.packing_radius() == 0.0
    assert M.Mesh([[0.0, 0.0]], 1.0).packing_radius() == math.inf
    turned = M.Mesh([[0.5, 0.0], [0.0, 0.7]], 1.0, group=G.Cyclic(4))
    assert turned.packing_radius() == pytest.approx(0.1)
    with pytest.raises(InputError, match="needs a space"):
        M.Mesh([[0.0]], 1.0).covering_radius()


def test_lattices_have_the_covering_radius_they_are_scaled_to():
    for dim in (1, 2, 3, 4):
        for kind in ("cubic", "A*"):
            s, t = covering_scale(dim, kind)
            box = np.full(dim, 4.0)
            points = lattice_points(np.full(dim, s), t, np.zeros(dim), -box, box, np.empty((0, dim)), [], 10**6)
            basis = s * (np.eye(dim) + t)
            assert ob.meshes.Mesh(points, 1.0).distances(basis).max() < 1e-12
            inner = M.Mesh(points, 1.0, space=S.Box(-1.0, 1.0, dim=dim))
            assert inner.covering_radius() == pytest.approx(1.0, rel=0.02)
            assert inner.covering_radius() <= 1 + 1e-9


def test_the_bound_for_centred_cells_is_a_bound():
    rng = np.random.default_rng(0)
    for dim in (2, 3):
        for cell in rng.uniform(0.7, 1.4, (10, dim)):
            corners = np.array(list(product(range(-2, 4), repeat=dim))) * cell
            mesh = M.Mesh(np.vstack([corners, corners + cell / 2]), 1.0, space=S.Box(np.zeros(dim), cell))
            assert mesh.covering_radius(samples=5000) <= _centred_radius(cell) + 1e-9
    assert _centred_radius(np.ones(3)) == pytest.approx(math.sqrt(5) / 4)
    assert _centred_radius(np.array([1.0, math.sqrt(3)])) == pytest.approx(1 / math.sqrt(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: M.net(S.Ball(2), 0.0), "`delta > 0` must hold"),
        (lambda: M.net(S.Ball(2), -1.0), "delta=-1.0"),
        (lambda: M.net(S.Ball(2), np.nan), "finite"),
        (lambda: M.net(S.Ball(2), 0.1, lattice="hexagonal"), "'best' or 'cubic', but got 'hexagonal'"),
        (lambda: M.quotient_net(S.Box([0, 0], [1, 2]), G.Symmetric(2), 0.1), "does not preserve"),
        (lambda: M.Mesh([[0.0]], 0.0), "`delta > 0`"),
        (lambda: M.Mesh([0.0], 1.0), r"shape \(K, dim\)"),
        (lambda: M.Mesh(np.empty((0, 2)), 1.0), "K >= 1"),
        (lambda: M.Mesh([[0.0]], 1.0, space=S.Ball(2)), "do not fit"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_wrong_types_are_refused():
    for bad in ("0.3", [[0.1], [0.1, 0.2]], 1j, None):
        with pytest.raises(InputTypeError, match="`delta` must be real numbers"):
            M.net(S.Ball(2), bad)
    with pytest.raises(InputTypeError, match="must be of ob"):
        M.Mesh([[0.0]], 1.0, space="x")
    with pytest.raises(InputTypeError, match="one of ob"):
        M.net("cube", 0.1)
    with pytest.raises(InputTypeError, match="use `net` for no symmetry"):
        M.quotient_net(S.Ball(2), None, 0.1)


def test_a_mesh_too_large_is_refused_before_the_work_starts():
    with pytest.raises(MeshTooLargeError, match=r"at least 10\^\d+\.\d points"):
        M.net(S.Box(0, 1, dim=10), 0.1)
    with pytest.raises(MeshTooLargeError, match="more than"):
        M.net(S.Box(0, 1, dim=6), 0.05)
    with pytest.raises(MeshTooLargeError):
        M.quotient_net(S.Ball(30), G.Orthogonal(3, 10), 0.1)


@pytest.mark.parametrize("delta", [1.2, 0.8, 0.6])
@pytest.mark.parametrize("dim", [9, 20])
def test_many_exchangeable_coordinates_need_few_points(dim, delta):
    space, group = ob.spaces.Box(0.0, 1.0, dim=dim), ob.groups.Symmetric(dim)
    mesh = ob.meshes.quotient_net(space, group, delta)
    cells = math.ceil(math.sqrt(dim) / (2 * delta) - 1e-9)
    assert len(mesh) <= math.comb(dim + cells - 1, dim)  # sorted points of the grid
    points = np.vstack(
        [space.sample(2000, 0), space.project(9 * np.random.default_rng(1).standard_normal((2000, dim)))]
    )
    assert mesh.distances(points).max() <= delta


def test_a_grid_is_folded_under_signs_and_blocks():
    box = ob.spaces.Box(-1.0, 1.0, dim=4)
    for group in (ob.groups.SignedPermutation(4), ob.groups.BlockPermutation(2, 2), ob.groups.CyclicShift(4)):
        mesh = ob.meshes.quotient_net(box, group, 0.5)
        assert box.contains(mesh.points).all()
        assert np.asarray(group.distance(box.sample(2000, 0), mesh.points)).min(axis=1).max() <= 0.5
        assert mesh.packing_radius() > 0.1  # no orbit twice


def test_the_nearest_point_is_the_nearest_in_the_orbit_metric():
    rng = np.random.default_rng(0)
    for group in (ob.groups.Symmetric(3), ob.groups.CyclicShift(3), ob.groups.Trivial(3)):
        mesh = ob.meshes.Mesh(rng.random((40, 3)), 0.2, group=group)
        points = rng.random((30, 3))
        distances = np.asarray(group.distance(points, mesh.points))
        np.testing.assert_array_equal(mesh.nearest(points), distances.argmin(axis=1))
        np.testing.assert_allclose(mesh.distances(points), distances.min(axis=1))
        assert mesh.nearest(points[0]) == distances[0].argmin()
