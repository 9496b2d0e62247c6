"""Orders, group axioms, actions, orbits, stabilisers and random elements."""

import math
import tracemalloc

import networkx
import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.stats import chisquare

import orbandit as ob
from cases import FINITE, INFINITE, LARGE, G, delicate_points, rotation

KNOWN_ORDERS = {
    "A1": 2,
    "A3": 24,
    "A7": 40_320,
    "B2": 8,
    "B4": 384,
    "D4": 192,
    "D5": 1_920,
    "E6": 51_840,
    "E7": 2_903_040,
    "E8": 696_729_600,
    "F4": 1_152,
    "G2": 12,
    "H3": 120,
    "H4": 14_400,
    "I2(7)": 14,
}


def position(elements):
    """A look-up of matrices among elements: distances to the nearest, and its index."""
    size = elements[0].size
    tree = cKDTree(elements.reshape(-1, size))
    return lambda matrices: tree.query(matrices.reshape(-1, size))


@pytest.mark.parametrize(("name", "order"), KNOWN_ORDERS.items())
def test_coxeter_orders(name, order):
    assert G.Coxeter(name).order == order


@pytest.mark.parametrize("name", ["A4", "B4", "D4", "D5", "F4", "G2", "H3", "H4", "I2(7)"])
def test_coxeter_elements_are_as_many_as_the_degrees_say(name):
    group = G.Coxeter(name)
    assert len(group.elements()) == group.order


def test_e6_elements_are_as_many_as_the_degrees_say():
    assert len(G.Coxeter("E6").elements()) == 51_840


@pytest.mark.parametrize("name", ["A5", "B5", "D6", "E6", "E7", "E8", "F4", "H4"])
def test_simple_roots_meet_at_the_angles_of_the_diagram(name):
    gram = G.Coxeter(name).simple_roots @ G.Coxeter(name).simple_roots.T
    bonds = np.round(np.pi / np.arccos(np.clip(-gram, -1, 1)), 9)
    off_diagonal = bonds[~np.eye(len(gram), dtype=bool)]
    labels = {"A": {2, 3}, "B": {2, 3, 4}, "D": {2, 3}, "E": {2, 3}, "F": {2, 3, 4}, "H": {2, 3, 5}}[name[0]]
    assert set(off_diagonal) == labels
    edges = (off_diagonal > 2).sum() // 2
    assert edges == len(gram) - 1  # the diagram is a tree


@pytest.mark.parametrize(("name", "roots"), {"E6": 72, "E7": 126, "E8": 240, "H3": 30, "H4": 120, "D5": 40}.items())
def test_the_orbit_of_a_simple_root_is_all_roots(name, roots):
    group = G.Coxeter(name)  # simply laced, or H: all roots are one orbit
    assert len(group.orbit(group.simple_roots[0])) == roots


@pytest.mark.parametrize(("name", "branches"), {"E6": [2, 2, 1], "E7": [3, 2, 1], "E8": [4, 2, 1]}.items())
def test_exceptional_diagrams_have_their_three_branches(name, branches):
    gram = G.Coxeter(name).simple_roots @ G.Coxeter(name).simple_roots.T
    diagram = networkx.from_numpy_array(np.abs(gram - np.eye(len(gram))) > 1e-9)
    (fork,) = [node for node in diagram if diagram.degree(node) == 3]
    diagram.remove_node(fork)
    assert sorted(map(len, networkx.connected_components(diagram)), reverse=True) == branches


def test_orders_of_the_other_families():
    assert G.Symmetric(20).order == math.factorial(20)
    assert G.SignedPermutation(4).order == 384
    assert G.SignFlips(10).order == 1024
    assert (G.Cyclic(7).order, G.Dihedral(7).order, G.CyclicShift(7).order) == (7, 14, 7)
    assert G.BlockPermutation(5, 3).order == 120
    assert G.SignedBlockPermutation(5, 3).order == 3840
    assert G.Orthogonal(3, 2).order == math.inf
    assert G.Product(G.Symmetric(3), G.Dihedral(5)).order == 60
    assert G.Product(G.Symmetric(3), G.Orthogonal(2, 2)).order == math.inf
    assert G.Diagonal(G.Dihedral(16), 8).order == 32
    assert LARGE["eight turbines"]().order == math.factorial(8) * 32
    assert FINITE["icosahedral rotations"]().order == 60
    assert FINITE["cube rotations"]().order == 24
    assert FINITE["alternating"]().order == 12
    assert FINITE["joint, b within a"]().order == 6
    assert FINITE["joint rotations, flips"]().order == 12
    assert FINITE["joint flips, shift"]().order == 24


@pytest.mark.parametrize("name", FINITE)
def test_elements_form_a_group(name):
    group = FINITE[name]()
    elements = group.elements()
    assert elements.shape == (group.order, group.dim, group.dim)
    identity = np.eye(group.dim)
    np.testing.assert_allclose(elements @ np.swapaxes(elements, 1, 2) - identity, 0, atol=1e-13)
    find = position(elements)
    assert find(identity[None])[0] < 1e-13
    assert find(group.generators)[0].max(initial=0) < 1e-13
    distances, inverses = find(np.swapaxes(elements, 1, 2))
    assert distances.max() < 1e-13
    assert sorted(inverses) == list(range(group.order))  # also: all elements differ
    chosen = elements[np.random.default_rng(0).integers(group.order, size=20)]
    products = (chosen[:, None] @ elements).reshape(-1, group.dim, group.dim)
    assert find(products)[0].max() < 1e-13


@pytest.mark.parametrize("name", FINITE)
def test_generators_generate(name):
    group = FINITE[name]()
    if group.order == 1:
        assert np.array_equal(group.elements(), np.eye(group.dim)[None])
    else:
        assert G.Matrix(group.generators).order == group.order


@pytest.mark.parametrize("name", FINITE)
def test_orbit_and_stabilizer(name):
    group = FINITE[name]()
    elements = group.elements()
    for point in delicate_points(group, 12, seed=1):
        orbit, stabilizer = group.orbit(point), group.stabilizer(point)
        np.testing.assert_array_equal(orbit[0], (point - group.center) + group.center)
        assert len(orbit) * len(stabilizer) == group.order  # the orbit-stabiliser theorem
        images = group.act(elements, point)
        assert cKDTree(orbit).query(images)[0].max() < 1e-9
        assert np.abs(group.act(stabilizer, point) - point).max() < 1e-8
        assert position(elements)(stabilizer)[0].max() < 1e-8


def test_a_large_group_may_have_small_orbits_and_stabilizers():
    assert len(G.Symmetric(20).orbit(np.eye(20)[3])) == 20
    assert len(G.Symmetric(20).stabilizer(np.arange(20.0))) == 1
    assert len(G.Coxeter("E8").orbit(G.Coxeter("E8").simple_roots[0])) == 240  # the roots
    assert len(G.Coxeter("E8").stabilizer(np.sqrt(np.arange(1.0, 9.0)))) == 1
    assert len(G.BlockPermutation(12, 2).stabilizer(np.r_[np.zeros(6), np.arange(18.0)])) == 6
    turbines = LARGE["eight turbines"]()
    assert len(turbines.orbit(np.tile([1.0, 0.0], 8))) == 16  # all in one place
    with pytest.raises(ob.errors.GroupTooLargeError, match="`limit`=1000;"):
        turbines.orbit(np.arange(16.0), limit=1000)
    ring = np.column_stack([np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)]).ravel()
    fixing = turbines.stabilizer(ring)
    # the turns and mirrors of the ring, each with the relabelling that undoes it
    assert len(fixing) == 16
    np.testing.assert_allclose(turbines.act(fixing, ring), [ring] * 16, atol=1e-12)
    assert len(turbines.stabilizer(np.arange(16.0) ** 2)) == 1


@pytest.mark.parametrize(
    ("group", "point"),
    [
        (G.Symmetric(20), np.ones(20)),
        (G.Symmetric(50), np.zeros(50)),
        (G.SignedPermutation(12), np.zeros(12)),
        (G.Coxeter("E8"), np.zeros(8)),
        (G.BlockPermutation(50, 3), np.zeros(150)),
        (G.Product(G.Symmetric(6), G.Symmetric(6)), np.zeros(12)),
        (G.Diagonal(G.SignFlips(18), 2), np.zeros(36)),
    ],
    ids=repr,
)
def test_a_stabilizer_that_is_too_large_is_refused_before_it_is_listed(group, point):
    tracemalloc.start()
    try:
        with pytest.raises(ob.errors.GroupTooLargeError, match="fix"):
            group.stabilizer(point)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5e6  # as many matrices as `limit` allows take ten times that, and more


def test_orthogonal_orbit_and_stabilizer():
    group = G.Orthogonal(3, 2)
    np.testing.assert_array_equal(group.orbit(np.zeros(6)), np.zeros((1, 6)))
    with pytest.raises(ob.errors.GroupTooLargeError, match="infinitely many"):
        group.orbit(np.arange(6.0))
    rank_two = np.arange(6.0)
    mirror = group.stabilizer(rank_two)
    assert len(mirror) == 2
    np.testing.assert_allclose(group.act(mirror, rank_two), [rank_two] * 2, atol=1e-12)
    assert len(G.Orthogonal(2, 2).stabilizer([1.0, 2.0, 3.0, 5.0])) == 1
    with pytest.raises(ob.errors.GroupTooLargeError, match="rank 1"):
        group.stabilizer([1.0, 2.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("name", FINITE)
def test_random_elements_are_uniform(name):
    group = FINITE[name]()
    elements = group.elements()
    if group.order > 400:
        drawn = group.random(2000, 5)
        distances, which = position(elements)(drawn)
        assert len(set(which)) > 0.5 * min(group.order, 2000)
    else:
        drawn = group.random(20 * group.order, 5)
        distances, which = position(elements)(drawn)
        counts = np.bincount(which, minlength=group.order)
        assert chisquare(counts).pvalue > 1e-4 or group.order == 1
    assert distances.max() < 1e-12


@pytest.mark.parametrize("name", [*INFINITE, *LARGE])
def test_random_elements_of_large_groups_are_elements(name):
    group = {**INFINITE, **LARGE}[name]()
    elements = group.random(4, 3)
    np.testing.assert_allclose(elements @ np.swapaxes(elements, 1, 2), [np.eye(group.dim)] * 4, atol=1e-12)
    x = np.random.default_rng(0).standard_normal(group.dim)
    assert group.distance(x, group.act(elements, x)).max() < 1e-9
    assert not np.allclose(elements[0], elements[1])


def test_random_orthogonal_matrices_have_the_moments_of_haar_measure():
    Q = G.Orthogonal(3, 1).random(20_000, 0)
    np.testing.assert_allclose(Q.mean(axis=0), 0, atol=0.02)  # 4 standard errors are 0.016
    np.testing.assert_allclose((Q**2).mean(axis=0), 1 / 3, atol=0.01)
    assert abs((np.linalg.det(Q) > 0).mean() - 0.5) < 0.02


def test_act_follows_the_shapes_of_its_arguments_and_the_centre():
    group = G.Dihedral(4).centered([1.0, 2.0])
    elements, points = group.elements(), np.random.default_rng(0).random((5, 2))
    assert group.act(elements, points).shape == (8, 5, 2)
    assert group.act(elements[0], points).shape == (5, 2)
    assert group.act(elements, points[0]).shape == (8, 2)
    assert group.act(elements[0], points[0]).shape == (2,)
    expected = [[group.center + g @ (x - group.center) for x in points] for g in elements]
    np.testing.assert_allclose(group.act(elements, points), expected, atol=1e-14)
    np.testing.assert_allclose(group.act(elements, group.center), [group.center] * 8, atol=1e-15)


def test_act_on_pairs_applies_each_element_to_its_own_point():
    group = G.Joint(G.BlockPermutation(3, 2), G.Diagonal(G.Dihedral(4), 3)).centered(np.tile([1.0, 2.0], 3))
    elements, points = group.random(20, 0), np.random.default_rng(0).random((20, 6))
    expected = [group.center + g @ (x - group.center) for g, x in zip(elements, points, strict=True)]
    np.testing.assert_allclose(group.act(elements, points, paired=True), expected, atol=1e-14)
    np.testing.assert_allclose(group.act(elements[3], points[3], paired=True), expected[3], atol=1e-14)
    assert group.act(elements[:0], points[:0], paired=True).shape == (0, 6)
    some = (elements, points[:19]), (elements[0], points), (elements, points[0]), (elements[:1], points[0])
    for wrong in some:
        with pytest.raises(ob.errors.InputError, match=r"must have one length, but got shapes \(.*leave `paired` out"):
            group.act(*wrong, paired=True)


@pytest.mark.parametrize("name", ["E7", "E8", "S20", "eight turbines"])
def test_too_many_elements_are_refused_with_the_limit(name):
    with pytest.raises(ob.errors.GroupTooLargeError, match="`limit`=100000"):
        LARGE[name]().elements()
    with pytest.raises(ob.errors.GroupTooLargeError, match="`limit`=5"):
        G.Symmetric(3).elements(limit=5)


class TestClosure:
    @pytest.mark.parametrize("order", [1000, 9973])
    def test_errors_do_not_grow_with_word_length(self, order):
        elements = G.Matrix(rotation(2 * np.pi / order)).elements()
        assert len(elements) == order
        turns = np.round(np.arctan2(elements[:, 1, 0], elements[:, 0, 0]) / (2 * np.pi / order))
        exact = np.array([rotation(2 * np.pi * turn / order) for turn in turns])
        np.testing.assert_allclose(elements, exact, atol=1e-14)

    def test_all_elements_as_generators(self):
        assert G.Matrix(G.Coxeter("H3").elements()).order == 120
        assert G.Matrix(np.eye(3)).order == 1

    def test_a_tiny_turn_is_not_the_identity(self):
        with pytest.raises(ob.errors.GroupTooLargeError, match="far larger"):
            G.Matrix(rotation(5e-7))

    def test_two_mirrors_at_a_small_angle(self):
        mirrors = G.Dihedral(2000).generators
        group = G.Matrix(mirrors)
        assert group.order == 4000
        find = position(G.Dihedral(2000).elements())
        assert find(group.elements())[0].max() < 1e-14

    def test_sloppy_generators_are_repaired(self):
        noise = 1e-9 * np.random.default_rng(0).standard_normal((2, 3, 3))
        group = G.Matrix(np.array(G.Coxeter("H3").generators[:2]) + noise)
        assert group.order == 10
        find = position(group.elements())
        products = (group.elements()[:, None] @ group.elements()).reshape(-1, 3, 3)
        assert find(products)[0].max() < 1e-14

    @pytest.mark.parametrize(
        "generators",
        [
            rotation(1.0),
            [np.diag([1.0, -1.0]), rotation(1.0) @ np.diag([1.0, -1.0])],
            [np.diag([1.0, 1.0, -1.0]), np.kron(np.eye(1), np.linalg.qr(np.vander([1.0, 2.0, 3.0]))[0])],
        ],
        ids=["irrational turn", "mirrors at an irrational angle", "generic"],
    )
    def test_infinite_groups_are_recognised(self, generators):
        with pytest.raises(ob.errors.GroupTooLargeError, match="`limit`=100000"):
            G.Matrix(generators)

    def test_the_limit_is_named_when_it_is_passed(self):
        with pytest.raises(ob.errors.GroupTooLargeError, match="`limit`=100;"):
            G.Matrix(G.Coxeter("H3").generators, limit=100)
        with pytest.raises(ob.errors.GroupTooLargeError, match="`limit`=100;"):
            G.Permutation([[1, 2, 3, 4, 5, 0], [1, 0, 2, 3, 4, 5]], limit=100)
