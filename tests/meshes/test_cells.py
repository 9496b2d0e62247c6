"""Trees of cells: they cover all folds, and hold nothing that another cell stands for."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.meshes.cells import NONE, UNKNOWN, CellTree
from orbandit.spaces.feasible_set import FeasibleSet

G, S = ob.groups, ob.spaces

PLACES = {
    "square": (S.Box(0.0, 1.0, dim=2), None),
    "long box": (S.Box([0.0, -3.0], [1.0, 5.0]), None),
    "cube S3": (S.Box(0.0, 1.0, dim=3), G.Symmetric(3)),
    "cube B3": (S.Box(0.0, 1.0, dim=3), G.SignedPermutation(3).centered([0.5, 0.5, 0.5])),
    "cube shift": (S.Box(0.0, 1.0, dim=3), G.CyclicShift(3)),
    "disk D5": (S.Ball(2), G.Dihedral(5)),
    "simplex S4": (S.Simplex(4), G.Symmetric(4)),
    "icosahedron H3": (S.Polytope.regular("icosahedron"), G.Coxeter("H3")),
    "two disks": (S.Product(S.Ball(2), S.Ball(2)), G.BlockPermutation(2, 2)),
    "disk and shares": (S.Product(S.Ball(2), S.Simplex(3)), None),
    "factors": (S.Ball(4), G.Orthogonal(2, 2)),
    "twelve": (S.Box(0.0, 1.0, dim=12), G.Symmetric(12)),
}

places = pytest.mark.parametrize("place", PLACES)


def grown(place, levels):
    tree = CellTree(*PLACES[place])
    for _ in range(levels):
        tree.grow(np.arange(len(tree)), 99)
    return tree


@places
def test_every_fold_is_in_a_leaf_and_near_its_point(place):
    space, group = PLACES[place]
    tree = grown(place, 8)
    metric = group or G.Trivial(space.dim)
    for point in space.sample(150, 0):
        spot = tree.place(point[None])[0]
        node = 0
        while tree.children[node, 0] != UNKNOWN:
            node = tree.child(node, spot)
            assert node >= 0
        low, high = tree.corners(np.array([node]))
        assert (spot >= low - 1e-9).all()
        assert (spot <= high + 1e-9).all()
        assert metric.distance(point, tree.points(np.array([node]))[0]) <= tree.diameter(tree.depths[node]) / 2 + 1e-9


@places
def test_cells_of_one_depth_are_congruent_halves(place):
    tree = grown(place, 6)
    low, high = tree.corners(np.arange(len(tree)))
    for node in range(len(tree)):
        halves = [half for half in tree.children[node] if half >= 0]
        for half in halves:
            assert tree.parents[half] == node
            assert tree.depths[half] == tree.depths[node] + 1
            assert np.prod(high[half] - low[half]) == pytest.approx(np.prod(high[node] - low[node]) / 2)
            assert (low[half] >= low[node] - 1e-12).all()
            assert (high[half] <= high[node] + 1e-12).all()
    assert len(np.unique(tree.codes)) == len(tree)


@places
def test_cells_that_miss_the_space_or_the_domain_are_not_made(place):
    space, group = PLACES[place]
    tree = grown(place, 8)
    leaves = np.flatnonzero(tree.children[:, 0] == UNKNOWN)
    low, high = tree.corners(leaves)
    if group is not None and tree._axes.shape == (space.dim, space.dim) and np.allclose(tree._axes, np.eye(space.dim)):
        try:
            domain = group.domain()
        except ob.errors.NoDomainError:
            return
        assert not domain.excludes(low + tree._origin, high + tree._origin).any()
    for a, b in zip(low, high, strict=True):  # project onto the cell and the space in turn
        spot = (a + b) / 2
        for _ in range(200):
            inside = (space.project(tree._origin + spot @ tree._axes) - tree._origin) @ tree._axes.T
            spot = np.clip(inside, a, b)
            if np.linalg.norm(spot - inside) < 1e-2 * space.diameter:
                break
        else:
            pytest.fail(f"the cell from {a} to {b} misses the space")


def test_symmetry_leaves_few_cells():
    sizes = {place: len(grown(place, 9)) for place in ("cube S3", "cube B3", "square")}
    assert sizes["square"] == 2**10 - 1
    assert sizes["cube S3"] < 0.45 * (2**10 - 1)
    assert len(grown("twelve", 12)) < 200  # of 8191: the first coordinates are sorted


@places
def test_a_restored_tree_is_the_same(place):
    tree = grown(place, 5)
    tree.grow(np.array([len(tree) - 1]), 99)
    other = CellTree(*PLACES[place])
    other.restore(tree.parents, tree.children)
    nodes = np.arange(len(tree))
    for name in ("parents", "children", "depths", "codes"):
        np.testing.assert_array_equal(getattr(other, name), getattr(tree, name))
    np.testing.assert_allclose(other.corners(nodes), tree.corners(nodes), atol=1e-12)
    other.grow(nodes, 99)
    tree.grow(nodes, 99)
    np.testing.assert_array_equal(other.children, tree.children)


def test_what_is_no_tree_is_not_restored():
    tree = grown("square", 3)
    parents, children = tree.parents, tree.children

    def changed(array, place, value):
        array = array.copy()
        array[place] = value
        return array

    for bad in (
        (changed(parents, 0, 3), children),
        (changed(parents, 4, 2), children),
        (parents, changed(children, (0, 0), 0)),
        (parents, changed(children, (1, 1), 99)),
        (parents, changed(children, (0, 0), UNKNOWN)),
        (parents, changed(children, (0, 1), NONE)),
        (parents, changed(children, (0, 1), -7)),
        (parents[:-1], children),
        (parents[:0], children[:0]),
    ):
        with pytest.raises(ValueError, match="parents and children"):
            CellTree(*PLACES["square"]).restore(*bad)


def test_cells_are_cut_only_so_often():
    tree = CellTree(S.Box(0.0, 1.0, dim=1), None)
    for _ in range(70):
        tree.grow(np.array([len(tree) - 1]), 99)
    assert tree.depths.max() == 62
    tree.grow(np.array([1]), 1)
    assert tree.children[1, 0] == UNKNOWN


def test_feasible_layouts_of_many_units_keep_their_cells():
    """In cells that hold a feasible layout one is found, though hardly any random point folds into them."""
    farm = ob.problems.WindFarm(16, radius=1300.0, rose="iea37", spacing="constraint")
    region = FeasibleSet(farm.space, farm.feasible, farm.group.unit_coordinates)
    tree = CellTree(farm.space, farm.group, region)
    kept = 0
    for place in tree.place(region.sample(8, np.random.default_rng(5))):
        node, depth = 0, 0
        while node >= 0 and depth < 22:
            tree.grow(np.array([node]), 99)
            halves = tree.children[node]
            within = [half for half in halves[halves >= 0] if holds(tree, half, place)]
            node, depth = (within[0], depth + 1) if within else (NONE, depth)
        kept += depth == 22
    assert kept >= 6  # none when cells were searched by random points alone; rounding may cost one or two
    assert (region.holds(tree.points(np.arange(len(tree))))).all()


def holds(tree, node, place):
    low, high = tree.corners(np.array([node]))
    return bool(((low[0] <= place) & (place <= high[0])).all())
