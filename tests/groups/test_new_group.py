"""A group that is added in one file and one table: folds, nets, trees, kernels and files work with it."""

import math

import numpy as np
import pytest

import naive
import orbandit as ob
from alternating import Alternating
from cases import delicate_points
from orbandit.agents.gaussian.families import FAMILIES
from orbandit.agents.gaussian.quotient_kernel import quotient_kernel
from orbandit.experiments import registry
from orbandit.meshes.cells import UNKNOWN, CellTree

G, S = ob.groups, ob.spaces

GROUPS = {
    "A1": lambda: Alternating(1),
    "A2": lambda: Alternating(2),
    "A3": lambda: Alternating(3),
    "A4": lambda: Alternating(4),
    "A4 about another point": lambda: Alternating(4).centered([0.5, 0.5, 0.5, 0.5]),
    "A3 on units": lambda: G.Diagonal(Alternating(3), 2),
    "product": lambda: G.Product(Alternating(3), G.SignFlips(2)),
    "joint": lambda: G.Joint(Alternating(3), G.Matrix(-np.eye(3))),
    "joint, the new group second": lambda: G.Joint(G.SignFlips(3), Alternating(3)),
}
every = pytest.mark.parametrize("name", GROUPS)


@every
def test_elements_are_a_group_of_that_order(name):
    group = GROUPS[name]()
    elements = group.elements()
    assert len(elements) == group.order == len(np.unique(elements.round(9), axis=0))
    closed = G.Matrix(group.generators) if len(group.generators) else G.Trivial(group.dim)
    assert closed.order == group.order
    for element in group.random(20, 0):
        assert np.abs(elements - element).max(axis=(1, 2)).min() < 1e-9


@every
def test_distances_and_folds_are_those_of_brute_force(name):
    group = GROUPS[name]()
    a, b = delicate_points(group, 24, seed=1), delicate_points(group, 20, seed=2)
    brute = naive.orbit_distances(group.elements(), a - group.center, b - group.center)
    np.testing.assert_allclose(group.distance(a, b), brute, atol=1e-9)
    folds = group.fold(a)
    assert group.distance(a, folds).diagonal().max() < 1e-9
    assert np.asarray(group.domain().contains(folds)).all()
    np.testing.assert_array_equal(group.fold(folds), folds)
    generic = np.random.default_rng(3).standard_normal((12, group.dim)) + group.center
    moved = group.act(group.random(12, 4), generic, paired=True)
    np.testing.assert_allclose(group.fold(moved), group.fold(generic), atol=1e-9)
    np.testing.assert_allclose(group.act(group.folding_elements(a), a, paired=True), folds, atol=1e-9)


@pytest.mark.parametrize(
    ("group", "space", "delta"),
    [
        (Alternating(3), S.Box(0.0, 1.0, dim=3), 0.15),
        (Alternating(3), S.Simplex(3), 0.05),
        (Alternating(3), S.Ball(3), 0.3),
        (Alternating(4).centered([0.5] * 4), S.Box(0.0, 1.0, dim=4), 0.4),
        (G.Product(Alternating(3), G.SignFlips(1)), S.Box(-1.0, 1.0, dim=4), 0.6),
    ],
)
def test_nets_cover_the_orbits(group, space, delta):
    mesh = ob.meshes.quotient_net(space, group, delta)
    assert mesh.covering_radius(rng=0) <= delta * (1 + 1e-9)
    assert np.asarray(group.domain().contains(mesh.points)).all()
    assert len(mesh) < len(ob.meshes.net(space, delta))


def test_trees_of_cells_hold_every_fold():
    space, group = S.Box(0.0, 1.0, dim=3), Alternating(3)
    tree = CellTree(space, group)
    for _ in range(8):
        tree.grow(np.arange(len(tree)), 99)
    for point in space.sample(100, 0):
        spot, node = tree.place(point[None])[0], 0
        while tree.children[node, 0] != UNKNOWN:
            node = tree.child(node, spot)
            assert node >= 0
        assert group.distance(point, tree.points(np.array([node]))[0]) <= tree.diameter(tree.depths[node]) / 2 + 1e-9
    assert len(tree) < 2**9 / 2  # of 2^9 - 1 cells without the group


@every
@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_are_positive_and_invariant(name, family):
    group = GROUPS[name]()
    space = S.Ball(group.dim, radius=1.5, center=group.center)
    kernel = quotient_kernel(space, group, family)
    points, lengths = space.sample(16, 5), 0.4 * kernel.unit
    features = kernel.features(points)
    matrix = kernel.cross(features, features, lengths)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9
    np.testing.assert_allclose(np.diag(matrix), 1.0, atol=1e-9)
    for element in group.random(4, 6):
        images = kernel.features(group.act(element, points))
        np.testing.assert_allclose(kernel.cross(images, features, lengths), matrix, atol=1e-9)


def test_the_kernel_is_the_average_over_the_elements():
    space, group = S.Ball(4), Alternating(4)
    kernel = quotient_kernel(space, group, "matern52")
    a, b, elements = space.sample(6, 9), space.sample(5, 10), group.elements()

    def mean(x, y):
        squares = ((group.act(elements, x) - y) ** 2).sum(axis=1) / 0.5**2
        return FAMILIES["matern52"].value(squares).mean()

    expected = [[mean(x, y) / math.sqrt(mean(x, x) * mean(y, y)) for y in b] for x in a]
    values = kernel.cross(kernel.features(a), kernel.features(b), np.array([0.5]))
    np.testing.assert_allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize("agent", [ob.agents.OrbitGP, ob.agents.OrbitTree, ob.agents.UniformMeshN])
def test_agents_learn_of_all_images_at_once(agent):
    space, group = S.Box(0.0, 1.0, dim=3), Alternating(3)
    player, rng = agent(space, group, horizon=60, seed=0), np.random.default_rng(1)
    for _ in range(60):
        point = player.ask()
        player.tell(point, float(rng.random() < 0.9 * math.exp(-2 * group.distance(point, [0.2, 0.9, 0.4]))))
    points = space.sample(10, 7)
    images = group.act(group.random(10, 8), points, paired=True)
    for point, image in zip(points, images, strict=True):
        assert player.estimate(image) == pytest.approx(player.estimate(point), abs=1e-9)


def test_a_search_finds_the_best_point():
    space, group, peak = S.Box(0.0, 1.0, dim=3), Alternating(3), np.array([0.2, 0.9, 0.4])
    best = ob.maximize(lambda x: -(float(group.distance(x, peak)) ** 2), space, group, budget=40, seed=0)
    assert group.distance(best.point, peak) < 0.05
    assert G.Symmetric(3).distance(peak, peak[[1, 0, 2]]) == 0 < group.distance(peak, peak[[1, 0, 2]])


def test_the_table_of_groups_is_all_that_files_and_experiments_need(monkeypatch, tmp_path):
    space = S.Box(0.0, 1.0, dim=3)
    agent = ob.agents.OrbitTree(space, Alternating(3).centered([0.5] * 3), horizon=50, seed=0)
    with pytest.raises(ob.errors.InputError, match="only spaces and groups of this package"):
        agent.save(tmp_path / "agent.npz")
    monkeypatch.setattr(G, "Alternating", Alternating, raising=False)
    monkeypatch.setattr(G, "__all__", [*G.__all__, "Alternating"])
    agent.tell(agent.ask(), 1.0)
    agent.save(tmp_path / "agent.npz")
    loaded = ob.agents.OrbitTree.load(tmp_path / "agent.npz")
    np.testing.assert_array_equal(loaded.ask(), agent.ask())
    registry._known.cache_clear()
    try:
        made = registry.build("group", {"class": "Alternating", "dim": 4, "center": [1.0, 1.0, 1.0, 1.0]})
    finally:
        registry._known.cache_clear()
    assert isinstance(made, Alternating)
    assert made.dim == 4
    assert made.center.tolist() == [1.0] * 4
