"""The tree of coverings: its leaves cover, its exact search is exact, and the appendix's is not."""

import numpy as np
import pytest

import orbandit as ob
from cases import SPACES, G, S
from orbandit.errors import GroupTooLargeError, InputError, InputTypeError, MeshTooLargeError

M = ob.meshes


def scale(space):
    return space.diameter / (12 if space.dim <= 3 else 4)


@pytest.mark.parametrize("name", SPACES)
def test_every_point_is_in_a_leaf_that_is_near(name):
    space = SPACES[name]()
    delta = scale(space)
    tree = M.CoveringTree(space, delta)
    far = space.project(10 * space.diameter * np.random.default_rng(0).standard_normal((500, space.dim)))
    points = np.vstack([space.sample(5000, 1), far])
    leaves = tree.locate(points)
    assert leaves.min() >= 0
    assert leaves.max() < len(tree.mesh)
    assert np.linalg.norm(tree.mesh.points[leaves] - points, axis=1).max() <= delta * (1 + 1e-9)
    assert space.contains(tree.mesh.points).all()
    assert tree.locate(points[0]) == leaves[0]


@pytest.mark.parametrize("name", ["disk", "simplex 4", "icosahedron", "product"])
def test_cells_that_miss_the_space_are_dropped(name):
    space = SPACES[name]()
    tree = M.CoveringTree(space, scale(space) / 2)
    assert len(tree.mesh) < 0.9 * 2**tree.depth
    # Almost all leaves that are left are met by samples: what is kept by mistake is a sliver.
    met = np.unique(tree.locate(space.sample(200_000, 2)))
    assert len(met) > 0.7 * len(tree.mesh)


def test_diameters_shrink_geometrically():
    tree = M.CoveringTree(S.Box([0, 0, 0], [1, 2, 3]), 0.05)
    diameters = np.array([tree.diameter(depth) for depth in range(tree.depth + 1)])
    assert diameters[0] == pytest.approx(np.sqrt(14))
    assert (diameters[3:] <= diameters[:-3] * 0.51).all()
    assert diameters[-1] <= 0.1 < diameters[-2]


@pytest.mark.parametrize(
    ("space", "group"),
    [
        (S.Box(0, 1, dim=2), G.Symmetric(2)),
        (S.Box(0, 1, dim=3), G.CyclicShift(3)),
        (S.Ball(2), G.Dihedral(5)),
        (S.Ball(2), G.Cyclic(7)),
        (S.Polytope.regular("icosahedron"), G.Coxeter("H3")),
        (S.Simplex(3), G.Symmetric(3)),
        (S.Product(S.Ball(2), S.Ball(2)), G.Joint(G.BlockPermutation(2, 2), G.Diagonal(G.Dihedral(16), 2))),
        (S.Ball(4), G.Orthogonal(2, 2)),
        (S.Ball(2), G.Trivial(2)),
    ],
    ids=repr,
)
def test_the_exact_search_is_exact(space, group):
    tree = M.CoveringTree(space, scale(space))
    radius = 2 * scale(space)
    for point in [*space.sample(10, 3), *tree.mesh.points[:5]]:
        found = tree.orbit_neighbors(group, point, radius)
        expected = M.orbit_neighbors(tree.mesh, group, point, radius)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("space", "group"),
    [(S.Box(0, 1, dim=2), G.Symmetric(2)), (S.Ball(2), G.Dihedral(5)), (S.Simplex(3), G.CyclicShift(3))],
    ids=repr,
)
def test_what_the_appendix_s_search_returns_is_within_twice_the_radius(space, group):
    tree = M.CoveringTree(space, scale(space) / 2)
    radius = scale(space)
    assert tree.extra_width(radius) <= radius
    missed = 0
    for point in space.sample(50, 4):
        found = tree.orbit_neighbors(group, point, radius, exact=False)
        assert len(np.unique(found)) == len(found)
        distances = group.distance(point, tree.mesh.points[found])
        assert distances.max() <= (radius + tree.extra_width(radius)) * (1 + 1e-9)
        missed += len(np.setdiff1d(tree.orbit_neighbors(group, point, radius), found))
    assert missed > 0


def test_the_appendix_s_search_misses_a_neighbour_across_a_cell_border():
    tree = M.CoveringTree(S.Box(0, 1, dim=1), 1 / 64)
    group = G.Trivial(1)
    # one node at that scale is [0, 1/2], and the query lies just inside its end
    point, radius = [0.499], 0.25
    exact = tree.orbit_neighbors(group, point, radius)
    approximate = tree.orbit_neighbors(group, point, radius, exact=False)
    across = int(tree.locate([0.51]))
    assert across in exact
    assert across not in approximate
    # less than a tenth of the radius away, and missed
    assert abs(tree.mesh.points[across, 0] - 0.499) < 0.02


@pytest.mark.parametrize("radius", [0.01, 0.05, 0.3])
def test_the_stated_width_holds_for_every_radius(radius):
    space, group = S.Simplex(3), G.Symmetric(3)
    tree = M.CoveringTree(space, 0.1)
    for point in space.sample(50, 5):
        found = tree.orbit_neighbors(group, point, radius, exact=False)
        bound = (radius + tree.extra_width(radius)) * (1 + 1e-9)
        assert group.distance(point, tree.mesh.points[found]).max() <= bound


def test_the_exact_search_has_room_for_coarse_coordinates():
    for seed in range(30):
        space = S.Box(1e4, 1e4 + 1e-3, dim=1)
        tree = M.CoveringTree(space, 1e-4)
        point = space.sample(1, seed)[0]
        radius = float(abs(tree.mesh.points[seed % len(tree.mesh), 0] - point[0]))
        found = tree.orbit_neighbors(G.Trivial(1), point, radius)
        expected = np.flatnonzero(np.abs(tree.mesh.points[:, 0] - point[0]) <= radius)
        assert np.isin(expected, found).all()


def test_points_on_cell_borders_have_a_leaf():
    tree = M.CoveringTree(S.Box(0, 1, dim=2), 0.1)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 17)] * 2), axis=-1).reshape(-1, 2)
    leaves = tree.locate(grid)
    assert np.linalg.norm(tree.mesh.points[leaves] - grid, axis=1).max() <= 0.1 * (1 + 1e-9)
    far = S.Ball(2, radius=1e8)
    points = far.project(1e9 * np.random.default_rng(0).standard_normal((50, 2)))
    assert M.CoveringTree(far, 1e7).locate(points).shape == (50,)


def test_coarse_trees():
    one = M.CoveringTree(S.Ball(2), 5.0)
    assert (one.depth, len(one.mesh)) == (0, 1)
    assert one.locate([0.3, 0.4]) == 0
    assert one.orbit_neighbors(G.Dihedral(3), [0.3, 0.4], 2.0).tolist() == [0]
    assert one.orbit_neighbors(G.Dihedral(3), [0.3, 0.4], 0.1, exact=False).tolist() == [0]


def test_bad_input_is_refused():
    tree = M.CoveringTree(S.Ball(2), 0.2)
    with pytest.raises(InputError, match=r"must lie in Ball.*got \[2.0, 0.0\]"):
        tree.locate([[0.0, 0.0], [2.0, 0.0]])
    with pytest.raises(InputError, match="must lie in"):
        tree.orbit_neighbors(G.Dihedral(3), [5.0, 5.0], 0.2, exact=False)
    with pytest.raises(InputTypeError, match="no symmetry"):
        tree.orbit_neighbors(None, [0.0, 0.0], 0.2)
    with pytest.raises(InputError, match="`radius > 0`"):
        tree.extra_width(-1.0)
    with pytest.raises(InputError, match="`depth <= "):
        tree.diameter(99)
    with pytest.raises(InputError, match="`radius > 0`"):
        tree.orbit_neighbors(G.Dihedral(3), [0.0, 0.0], 0.0)
    with pytest.raises(InputError, match="shape"):
        tree.orbit_neighbors(G.Dihedral(3), [0.0], 0.1)
    with pytest.raises(InputError, match="`delta > 0`"):
        M.CoveringTree(S.Ball(2), -1.0)
    with pytest.raises(InputTypeError, match="one of ob"):
        M.CoveringTree("disk", 1.0)
    with pytest.raises(MeshTooLargeError, match="larger `delta`"):
        M.CoveringTree(S.Box(0, 1, dim=6), 0.01)
    with pytest.raises(GroupTooLargeError, match="infinitely many"):
        M.CoveringTree(S.Ball(4), 0.5).orbit_neighbors(G.Orthogonal(2, 2), [0.1, 0.2, 0.3, 0.4], 0.5, exact=False)


def test_a_limit_of_cells_is_kept():
    assert len(ob.meshes.CoveringTree(S.Ball(2), 0.1, limit=1000).mesh) > 100
    with pytest.raises(MeshTooLargeError, match="the 100 that are attempted"):
        ob.meshes.CoveringTree(S.Ball(2), 0.1, limit=100)
