"""fold, distance and domain against brute force over all elements, on random points, near and on the walls."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog

import naive
import orbandit as ob
from cases import FINITE, INFINITE, LARGE, G, coordinates, delicate_points, points_near_walls
from orbandit.groups import domain

GROUPS = {**FINITE, **INFINITE, **LARGE}
WITH_DOMAIN = [name for name in [*FINITE, *LARGE] if name != "joint without a domain"]


def brute(group, a, b):
    return naive.orbit_distances(group.elements(), a - group.center, b - group.center)


@pytest.mark.parametrize("name", FINITE)
def test_distance_is_the_minimum_over_the_group(name):
    group = FINITE[name]()
    a, b = delicate_points(group, 16, seed=2), delicate_points(group, 13, seed=3)
    b[0] = group.act(group.random(1, 0)[0], a[0])
    np.testing.assert_allclose(group.distance(a, b), brute(group, a, b), atol=1e-12)


@pytest.mark.parametrize("name", GROUPS)
def test_distance_vanishes_on_orbits_and_ignores_the_representative(name):
    group = GROUPS[name]()
    a, b = delicate_points(group, 16, seed=4), delicate_points(group, 16, seed=5)
    elements = group.random(16, 6)
    moved = np.array([group.act(g, x) for g, x in zip(elements, a, strict=True)])
    distances = group.distance(a, moved)
    assert distances.diagonal().max() < 1e-9
    np.testing.assert_allclose(group.distance(moved, b), group.distance(a, b), atol=1e-9)
    np.testing.assert_allclose(group.distance(b, a), group.distance(a, b).T, atol=1e-12)
    assert (group.distance(a, b) <= np.linalg.norm(a[:, None] - b, axis=2) + 1e-12).all()


@pytest.mark.parametrize("name", GROUPS)
def test_aligned_points_are_images_at_the_orbit_distance(name):
    group = GROUPS[name]()
    points, targets = delicate_points(group, 12, seed=8), delicate_points(group, 5, seed=9)
    targets[0] = group.act(group.random(1, 0)[0], points[3])
    for target in targets:
        aligned = group.align(points, target)
        np.testing.assert_allclose(
            np.linalg.norm(aligned - target, axis=1), group.distance(points, target), rtol=1e-9, atol=1e-9
        )
        assert group.distance(points, aligned).diagonal().max() < 1e-9
        # ties as well: which of the nearest images it is does not depend on the batch
        np.testing.assert_array_equal([group.align(point, target) for point in points], aligned)
    assert group.align(np.empty((0, group.dim)), target).shape == (0, group.dim)


@pytest.mark.parametrize("name", GROUPS)
def test_folding_elements_are_orthogonal_and_carry_points_to_their_folds(name):
    group = GROUPS[name]()
    points = delicate_points(group, 16, seed=10)
    elements = group.folding_elements(points)
    squares = elements @ np.swapaxes(elements, 1, 2)
    np.testing.assert_allclose(squares, np.broadcast_to(np.eye(group.dim), squares.shape), atol=1e-12)
    np.testing.assert_allclose(group.act(elements, points, paired=True), group.fold(points), atol=1e-9)
    np.testing.assert_allclose(group.folding_elements(points[3]), elements[3], atol=1e-12)
    assert group.folding_elements(points[:0]).shape == (0, group.dim, group.dim)


@pytest.mark.parametrize("name", GROUPS)
def test_aligning_elements_are_what_aligns(name):
    group = GROUPS[name]()
    points, target = delicate_points(group, 6, seed=11), delicate_points(group, 2, seed=12)[0]
    elements = group.aligning_elements(points, target)
    np.testing.assert_allclose(group.act(elements, points, paired=True), group.align(points, target), atol=1e-12)
    np.testing.assert_allclose(group.aligning_elements(points[3], target), elements[3], atol=1e-12)


def test_points_of_any_size_are_aligned_and_others_refused():
    group = G.BlockPermutation(3, 2)
    points, target = np.random.default_rng(0).standard_normal((2, 40, 6))
    for scale in (1e-300, 1e300):
        np.testing.assert_allclose(
            group.align(scale * points, scale * target[0]) / scale, group.align(points, target[0])
        )
    with pytest.raises(ob.errors.InputError, match="`target` must have shape"):
        group.align(points, target[0, :3])


@pytest.mark.parametrize("name", GROUPS)
def test_distance_obeys_the_triangle_inequality(name):
    group = GROUPS[name]()
    points = delicate_points(group, 24, seed=7)
    d = group.distance(points, points)
    assert (d[:, None, :] <= d[:, :, None] + d[None] + 1e-9).all()


@pytest.mark.parametrize("name", FINITE)
def test_metric_axioms_hold_for_awkward_points(name):
    group = FINITE[name]()
    elements = group.elements()

    @settings(max_examples=12)
    @given(*[coordinates(group.dim)] * 3, st.integers(0, group.order - 1))
    def check(x, y, z, which):
        g = elements[which]
        assert group.distance(x, group.act(g, x)) < 1e-9
        assert group.distance(group.act(g, x), group.act(g, y)) == pytest.approx(group.distance(x, y), abs=1e-9)
        assert group.distance(x, z) <= group.distance(x, y) + group.distance(y, z) + 1e-9
        assert group.distance(group.fold(x), x) < 1e-9
        assert group.distance(group.fold(x), group.fold(group.act(g, x))) < 1e-9
        assert group.domain().contains(group.fold(x))

    check()


@pytest.mark.parametrize("name", FINITE)
def test_fold_is_an_image(name):
    group = FINITE[name]()
    points = delicate_points(group, 16, seed=8)
    folded = group.fold(points)
    gaps = [brute(group, x[None], y[None])[0, 0] for x, y in zip(points, folded, strict=True)]
    assert max(gaps) < 1e-12


@pytest.mark.parametrize("name", GROUPS)
def test_fold_is_idempotent(name):
    group = GROUPS[name]()
    folded = group.fold(delicate_points(group, 32, seed=9))
    np.testing.assert_allclose(group.fold(folded), folded, atol=1e-12)


@pytest.mark.parametrize("name", WITH_DOMAIN)
def test_fold_is_idempotent_close_to_walls(name):
    group = GROUPS[name]()
    points = points_near_walls(group, 2000, seed=9)
    folded = group.fold(points)
    assert np.abs(group.fold(folded) - folded).max() < 1e-12
    assert group.domain().contains(folded).all()
    assert not group.domain().excludes(folded, folded).any()


@pytest.mark.parametrize("name", ["blocks 3x2", "signed blocks 3x2", "shift 5", "diagonal D3", "farm 3 D4", "C5"])
@pytest.mark.parametrize("far", [0.3, 1300.0, 1e6])
def test_fold_is_idempotent_about_far_centres(name, far):
    group = FINITE[name]()
    rng = np.random.default_rng(24)
    moved = group.centered(far * (1 + rng.random(group.dim)))
    points = points_near_walls(group, 1000, seed=25) + moved.center
    # ties in decimal numbers
    points[:500] = moved.center + 0.1 * rng.integers(-2, 3, size=(500, group.dim))
    folded = moved.fold(points)
    np.testing.assert_allclose(moved.fold(folded), folded, rtol=0, atol=1e-14 * far + 1e-12)


@pytest.mark.parametrize("name", ["Coxeter H3", "S4", "B3", "D5", "C5", "blocks 3x2", "cube rotations", "O(2) on 5"])
@pytest.mark.parametrize("size", [1e-170, 1e-12, 1e8, 1e200])
def test_units_do_not_matter(name, size):
    group = {**FINITE, **INFINITE}[name]()
    a, b = np.random.default_rng(26).standard_normal((2, 10, group.dim))
    np.testing.assert_allclose(group.fold(size * a) / size, group.fold(a), atol=1e-12)
    np.testing.assert_allclose(group.distance(size * a, size * b) / size, group.distance(a, b), atol=1e-12)


@pytest.mark.parametrize("name", ["H4", "E6"])
def test_large_exceptional_groups_against_all_their_elements(name):
    group = LARGE[name]()
    elements = group.elements()
    a, b = delicate_points(group, 5, seed=27), delicate_points(group, 4, seed=28)
    np.testing.assert_allclose(group.distance(a, b), naive.orbit_distances(elements, a, b), atol=1e-12)
    generic = np.random.default_rng(29).standard_normal(group.dim)
    assert group.domain().contains(elements @ generic).sum() == 1


@pytest.mark.parametrize("name", GROUPS)
def test_fold_is_constant_on_orbits(name):
    group = GROUPS[name]()
    points = delicate_points(group, 16, seed=10)
    folded = group.fold(points)
    generic = np.random.default_rng(11).standard_normal((16, group.dim)) + group.center
    for g in group.random(6, 12):
        again = group.fold(group.act(g, points))
        assert group.distance(again, folded).diagonal().max() < 1e-9  # walls included
        np.testing.assert_allclose(group.fold(group.act(g, generic)), group.fold(generic), atol=1e-9)
        if group.is_reflection:
            np.testing.assert_allclose(again, folded, atol=1e-9)


@pytest.mark.parametrize("name", WITH_DOMAIN)
def test_fold_lands_in_the_domain(name):
    group = GROUPS[name]()
    assert group.domain().contains(group.fold(delicate_points(group, 64, seed=13))).all()
    assert group.domain().contains(group.center)


@pytest.mark.parametrize("name", [name for name in FINITE if FINITE[name]().is_reflection])
def test_the_quotient_of_a_reflection_group_is_the_chamber(name):
    group = FINITE[name]()
    a, b = delicate_points(group, 16, seed=14), delicate_points(group, 16, seed=15)
    folded = np.linalg.norm(group.fold(a)[:, None] - group.fold(b), axis=2)
    np.testing.assert_allclose(folded, brute(group, a, b), atol=1e-12)


@pytest.mark.parametrize("name", FINITE)
def test_the_domain_meets_a_generic_orbit_once(name):
    group = FINITE[name]()
    elements = group.elements()
    rng = np.random.default_rng(16)
    for point in rng.standard_normal((20, group.dim)) + group.center:
        assert group.domain().contains(group.act(elements, point)).sum() == 1


@pytest.mark.parametrize("name", FINITE)
def test_no_face_of_the_domain_is_redundant(name):
    normals = FINITE[name]().domain().normals
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-12)
    for i, normal in enumerate(normals):
        others = np.delete(normals, i, axis=0)
        bounds = [(-1, 1)] * len(normal)
        outside = linprog(normal, A_ub=-others, b_ub=np.zeros(len(others)), bounds=bounds)
        assert outside.fun < -1e-6, f"face {i} is implied by the others"


def test_faces_of_known_domains():
    faces = {
        "S4": 3,
        "B3": 3,
        "C1": 0,
        "C2": 1,
        "C5": 2,
        "D1": 1,
        "shift 5": 4,
        "blocks 3x2": 2,
        "signed blocks 3x2": 3,
        "diagonal D3": 2,
        "diagonal H3": 3,
        "farm 3 D4": 4,
        "joint flips, shift": 4,
        "joint, b within a": 2,
        "point reflection": 1,
        "product": 3,
    }
    assert {name: len(FINITE[name]().domain().normals) for name in faces} == faces
    assert len(LARGE["eight turbines"]().domain().normals) == 9
    assert len(LARGE["joint flips, shift 18"]().domain().normals) == 17 + 17


def test_turbines_have_their_centroid_in_the_dihedral_chamber_and_first_coordinates_sorted():
    farm, chamber = LARGE["eight turbines"](), G.Dihedral(16).domain()
    folded = farm.fold(np.random.default_rng(0).standard_normal((50, 16))).reshape(50, 8, 2)
    assert chamber.contains(folded.mean(axis=1)).all()
    assert (np.diff(folded[:, :, 0], axis=1) >= 0).all()


def test_turbine_distance_is_an_assignment_for_each_turn_of_the_layout():
    farm = LARGE["eight turbines"]()
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 6, 8, 2))
    expected = np.empty((6, 6))
    for i, j in product(range(6), repeat=2):
        costs = [((a[i] @ g.T)[:, None] - b[j]) for g in G.Dihedral(16).elements()]
        squares = [(cost**2).sum(axis=2) for cost in costs]
        expected[i, j] = math.sqrt(min(square[linear_sum_assignment(square)].sum() for square in squares))
    np.testing.assert_allclose(farm.distance(a.reshape(6, 16), b.reshape(6, 16)), expected, atol=1e-12)


def test_block_domains_sort_first_coordinates():
    normals = G.BlockPermutation(3, 2).domain().normals * math.sqrt(2)
    np.testing.assert_allclose(normals, [[-1, 0, 1, 0, 0, 0], [0, 0, -1, 0, 1, 0]], atol=1e-15)
    x = [0.3, 9.0, -0.1, 8.0, 0.3, 7.0]
    np.testing.assert_array_equal(G.BlockPermutation(3, 2).fold(x), [-0.1, 8, 0.3, 9, 0.3, 7])
    y = [-0.3, 1.0, 0.0, -2.0, 0.0, 0.0]
    np.testing.assert_array_equal(G.SignedBlockPermutation(3, 2).fold(y), [0, 2, 0, 0, 0.3, -1])


def test_symmetric_fold_is_a_sort():
    points = np.random.default_rng(0).standard_normal((1000, 20))
    np.testing.assert_array_equal(G.Symmetric(20).fold(points), np.sort(points, axis=1))
    np.testing.assert_array_equal(G.SignedPermutation(20).fold(points), np.sort(np.abs(points), axis=1))


def test_orthogonal_fold_is_the_qr_form():
    points = np.random.default_rng(0).standard_normal((20, 12))
    folded = G.Orthogonal(3, 4).fold(points).reshape(-1, 3, 4)
    np.testing.assert_array_equal(np.tril(folded, -1), 0)
    assert (np.diagonal(folded, axis1=1, axis2=2) > 0).all()
    M = points.reshape(-1, 3, 4)
    np.testing.assert_allclose(
        np.swapaxes(folded, 1, 2) @ folded, np.swapaxes(M, 1, 2) @ M, atol=1e-12
    )  # the invariants M^T M


@pytest.mark.parametrize(("blocks", "size"), [(2, 2), (3, 3), (3, 2), (2, 5)])
def test_matrices_of_deficient_rank_have_one_fold_and_no_distance_to_their_images(blocks, size):
    group = G.Orthogonal(blocks, size)
    rng = np.random.default_rng(30)
    for widths in ([1.0, 0.0, 0.0], [1.0, 1e-9, 0.0], [1.0, 1e-9, 1e-9]):
        U = np.linalg.qr(rng.standard_normal((100, blocks, blocks)))[0]
        M = U * np.array(widths[:blocks]) @ rng.standard_normal((100, blocks, size))
        moved = (np.linalg.qr(rng.standard_normal((100, blocks, blocks)))[0] @ M).reshape(100, -1)
        M = M.reshape(100, -1)
        assert group.distance(M, moved).diagonal().max() < 1e-12
        if 1e-9 not in widths:
            np.testing.assert_allclose(group.fold(moved), group.fold(M), atol=1e-12)


@pytest.mark.parametrize("name", ["O(2) on 2", "product with O(2)", "joint with O(2)", "diagonal O(2)"])
def test_groups_without_a_polyhedral_domain_say_so(name):
    group = INFINITE[name]()
    with pytest.raises(ob.errors.NoDomainError, match="`fold` gives"):
        group.domain()
    with pytest.raises(ob.errors.NoDomainError):
        group.domain(np.arange(1.0, group.dim + 1) ** 2)
    with pytest.raises(ob.errors.NoDomainError, match="faces do not combine"):
        LARGE["joint without a domain"]().domain()
    with pytest.raises(ob.errors.NoDomainError, match="too large for a domain about a given point"):
        LARGE["eight turbines"]().domain(np.arange(16.0) ** 2)


@pytest.mark.parametrize("name", FINITE)
def test_domain_about_a_given_point(name):
    group = FINITE[name]()
    point = np.random.default_rng(17).standard_normal(group.dim) + group.center
    domain = group.domain(point)
    elements = group.elements()
    images = group.act(elements, point)
    for x in np.random.default_rng(18).standard_normal((20, group.dim)) + group.center:
        nearest = np.linalg.norm(images - x, axis=1).min()
        assert domain.contains(x) == (np.linalg.norm(point - x) <= nearest + 1e-12)
    if group.order > 1:
        with pytest.raises(ob.errors.InputError, match="move it off the walls"):
            group.domain(group.center)


@pytest.mark.parametrize("name", WITH_DOMAIN)
def test_excluded_boxes_hold_no_representative(name):
    group = GROUPS[name]()
    domain = group.domain()
    rng = np.random.default_rng(19)
    centers = rng.standard_normal((300, group.dim)) + group.center
    sides = rng.uniform(0, 0.7, size=(300, group.dim)) * rng.choice([0, 1], size=(300, 1))
    low, high = centers - sides, centers + sides
    excluded = domain.excludes(low, high)
    heights = (np.where(domain.normals[:, None] > 0, high, low) - group.center) * domain.normals[:, None]
    np.testing.assert_array_equal(excluded, (heights.sum(axis=2) < -1e-8).any(axis=0))
    inside = rng.uniform(low, high, size=(50, 300, group.dim))
    for i in np.flatnonzero(excluded):
        assert not domain.contains(inside[:, i], tol=0).any()
    if group.order > 1:
        assert excluded.any()
    folded = group.fold(centers)
    assert not domain.excludes(folded, folded).any()


@pytest.mark.parametrize("name", ["S4", "C5", "blocks 3x2", "farm 3 D4", "cube rotations", "Coxeter H3"])
def test_centered_moves_everything(name):
    group = FINITE[name]()
    shift = np.random.default_rng(20).standard_normal(group.dim)
    moved = group.centered(shift)
    a, b = delicate_points(group, 8, seed=21), delicate_points(group, 8, seed=22)
    np.testing.assert_array_equal(moved.center, shift)
    np.testing.assert_array_equal(group.center, 0)
    np.testing.assert_allclose(moved.fold(a + shift), group.fold(a) + shift, atol=1e-9)
    np.testing.assert_allclose(moved.distance(a + shift, b + shift), group.distance(a, b), atol=1e-9)
    np.testing.assert_allclose(moved.orbit(a[-2] + shift), group.orbit(a[-2]) + shift, atol=1e-9)
    assert moved.domain().contains(moved.fold(a)).all()


def test_shapes_of_answers():
    group = G.Symmetric(2)
    many, one = np.zeros((3, 2)), np.zeros(2)
    assert group.fold(many).shape == (3, 2)
    assert group.fold(one).shape == (2,)
    assert group.distance(many, many).shape == (3, 3)
    assert group.distance(one, many).shape == (3,)
    assert group.distance(many, one).shape == (3,)
    assert np.ndim(group.distance(one, one)) == 0
    assert group.fold(np.empty((0, 2))).shape == (0, 2)
    for name, make in GROUPS.items():
        empty = np.empty((0, make().dim))
        assert make().fold(empty).shape == empty.shape, name
        assert make().distance(empty, empty).shape == (0, 0), name


def test_folding_leaves_the_argument_alone():
    for name, make in GROUPS.items():
        points = delicate_points(make(), 8, seed=23)
        before = points.copy()
        folded = make().fold(points)
        folded += 1.0
        np.testing.assert_array_equal(points, before, err_msg=name)


def test_points_in_space_are_compared_over_all_swaps_and_rotations():
    """The distance is the least Procrustes residual over the permutations."""
    group = G.Joint(G.Diagonal(G.Orthogonal(3, 1), 5), G.BlockPermutation(5, 3))
    assert group.order == math.inf
    assert group.preserves(ob.spaces.Ball(3) ** 5)
    assert not group.preserves(ob.spaces.Box(-1, 1, dim=3) ** 5)
    a, b = (ob.spaces.Ball(3) ** 5).sample(2, 0)
    cloud, other = a.reshape(5, 3), b.reshape(5, 3)
    gaps = [naive.orthogonal_distance(cloud[list(order)].T, other.T) for order in permutations(range(5))]
    assert abs(group.distance(a, b) - min(gaps)) < 1e-9
    with pytest.raises(ob.errors.NoDomainError, match="no known fundamental domain"):
        group.domain()


def test_faces_that_are_plainly_redundant_need_no_program_each(monkeypatch):
    calls = []
    one = domain._nearest_combination
    monkeypatch.setattr(domain, "_nearest_combination", lambda *args: calls.append(args) or one(*args))
    everything = G.Permutation([[1, 0, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
    assert everything.order == 720
    assert len(everything.domain().normals) == 5
    assert len(calls) < 50
    calls.clear()
    shift = G.Permutation([[*range(1, 60), 0]])
    assert len(shift.domain().normals) == 59
    assert not calls  # they are independent
