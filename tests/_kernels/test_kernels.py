"""Every compiled kernel against its slow twin, compiled and as plain Python."""

import numpy as np
import pytest

import naive
import orbandit as ob
from orbandit._kernels.assignment import block_assignments, block_distances
from orbandit._kernels.chamber import LANES, fold_into_chamber
from orbandit._kernels.cones import nonnegative_weights, onto_cone, onto_polytope
from orbandit._kernels.images import image_distances, images_of
from orbandit._kernels.neighbors import count_within, list_within
from orbandit._kernels.procrustes import echelon_forms, nuclear_norm, orthogonal_distances
from orbandit.meshes.neighbors import Cells

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def pick(kernel, compiled):
    return kernel if compiled else kernel.py_func


@both
@pytest.mark.parametrize("name", ["A4", "B3", "E8", "H4", "I2(9)"])
def test_fold_into_chamber(name, compiled):
    roots = np.array(ob.groups.Coxeter(name).simple_roots)
    rng = np.random.default_rng(1)
    points = rng.standard_normal((LANES + 3 if compiled else 5, len(roots)))
    points[0] = 0.0
    points[1] = rng.integers(-1, 2, len(roots))
    folded = np.empty_like(points)
    pick(fold_into_chamber, compiled)(points, roots, 1e-13, 121, folded)
    np.testing.assert_allclose(folded, naive.fold_into_chamber(points, roots), atol=1e-12)


@both
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("blocks", "size"), [(1, 1), (2, 3), (4, 1), (5, 2)])
def test_block_distances(blocks, size, signed, compiled):
    rng = np.random.default_rng(blocks)
    a, b = rng.standard_normal((2, 4, blocks, size))
    a[0], b[0] = rng.integers(-1, 2, (2, blocks, size))  # ties
    b[1] = a[1][rng.permutation(blocks)]
    if signed:
        b[1, 0] *= -1
    out = np.empty((4, 4))
    pick(block_distances, compiled)(a, b, signed, out)
    expected = [[naive.block_distance(x, y, signed) for y in b] for x in a]
    np.testing.assert_allclose(out, expected, atol=1e-12)
    assert out[1, 1] == 0.0
    columns, signs = np.empty((4, blocks), dtype=np.int64), np.empty((4, blocks))
    pick(block_assignments, compiled)(a, b[1], signed, columns, signs)
    images = signs[:, :, None] * np.take_along_axis(a, columns[:, :, None], axis=1)
    np.testing.assert_array_equal(np.sort(columns, axis=1), np.tile(np.arange(blocks), (4, 1)))
    np.testing.assert_allclose(np.linalg.norm(images - b[1], axis=(1, 2)), out[:, 1], atol=1e-12)
    np.testing.assert_array_equal(images[1], b[1])


@both
def test_image_distances(compiled):
    rng = np.random.default_rng(2)
    images, b = rng.standard_normal((3, 7, 4)), rng.standard_normal((5, 4))
    out = np.empty((3, 5))
    pick(image_distances, compiled)(images, b, out)
    np.testing.assert_allclose(out, naive.image_distances(images, b), atol=1e-14)


@both
def test_images_of(compiled):
    rng = np.random.default_rng(3)
    points, center, elements = rng.standard_normal((5, 3)), rng.standard_normal(3), rng.standard_normal((4, 3, 3))
    out, alone = np.empty((5, 4, 3)), np.empty((1, 4, 3))
    pick(images_of, compiled)(points, center, elements, out)
    expected = [[center + element @ (point - center) for element in elements] for point in points]
    np.testing.assert_allclose(out, expected, atol=1e-13)
    pick(images_of, compiled)(points[2:3], center, elements, alone)
    np.testing.assert_array_equal(alone[0], out[2])


@both
@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 5), (3, 2), (4, 4)])
def test_echelon_forms(rows, columns, compiled):
    rng = np.random.default_rng(rows)
    matrices = rng.standard_normal((6, rows, columns))
    matrices[1] = np.outer(rng.standard_normal(rows), rng.standard_normal(columns))  # rank one
    matrices[2] = 0.0
    matrices[3, :, 0] = 0.0  # the first column holds no pivot
    matrices[4] = rng.integers(-1, 2, (rows, columns))
    forms = np.empty_like(matrices)
    pick(echelon_forms, compiled)(matrices, 1e-12, 0.0, forms)
    np.testing.assert_allclose(forms, [naive.echelon_form(matrix) for matrix in matrices], atol=1e-12)
    again = np.empty_like(forms)
    pick(echelon_forms, compiled)(forms, 1e-12, 0.0, again)
    np.testing.assert_array_equal(again, forms)


@both
def test_orthogonal_distances_far_near_and_degenerate(compiled):
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    a = rng.standard_normal((5, 3, 4))
    a[2] = np.outer(rng.standard_normal(3), rng.standard_normal(4))
    a[3] = 0.0
    a[4] = np.diag([1.0, 1e-9, 0.0]) @ rng.standard_normal((3, 4))
    b = Q @ a
    b[1] += 1e-7 * rng.standard_normal((3, 4))
    kernel, forms = pick(orthogonal_distances, compiled), pick(echelon_forms, compiled)
    fa, fb, out = np.empty_like(a), np.empty_like(b), np.empty((5, 5))
    forms(a, 1e-12, 0.0, fa)
    forms(b, 1e-12, 0.0, fb)
    kernel(fa, fb, out)
    expected = np.array([[naive.orthogonal_distance(x, y) for y in b] for x in a])
    np.testing.assert_allclose(out, expected, atol=2e-9)
    assert out.diagonal()[[0, 2, 3, 4]].max() < 1e-13  # same orbit
    assert 1e-8 < out[1, 1] < 1e-6


@both
def test_nuclear_norm_is_the_sum_of_singular_values(compiled):
    rng = np.random.default_rng(4)
    for n in (1, 2, 3, 6):
        M, V = rng.standard_normal((n, n)), np.empty((n, n))
        given = M.copy()
        norm = pick(nuclear_norm, compiled)(M, V)
        assert norm == pytest.approx(np.linalg.svd(given, compute_uv=False).sum(), rel=1e-13)
        np.testing.assert_allclose(given @ V, M, atol=1e-13)
        np.testing.assert_allclose(V @ V.T, np.eye(n), atol=1e-13)


@both
def test_nonnegative_weights(compiled):
    rng = np.random.default_rng(5)
    for trial in range(300 if compiled else 40):
        rows, target = rng.standard_normal((rng.integers(1, 9), 4)), rng.standard_normal(4)
        if trial % 2:  # degenerate: parallel, opposite and dependent rows, targets on faces
            rows, target = rng.integers(-1, 2, rows.shape).astype(float), rng.integers(-1, 2, 4).astype(float)
        weights = np.empty(len(rows))
        distance = pick(nonnegative_weights, compiled)(rows, target, weights)
        assert weights.min() >= 0
        assert distance == pytest.approx(np.linalg.norm(rows.T @ weights - target), abs=1e-12)
        assert distance == pytest.approx(naive.nonnegative_distance(rows, target), abs=1e-9)


def test_a_point_within_the_polar_cone_s_border_stays():
    # The gradient is nothing but rounding here; a solver that follows it goes astray.
    normals = ob.groups.Symmetric(3).domain().normals
    point = np.full((1, 3), 5 / 6)
    moved = np.empty_like(point)
    onto_cone(point, np.array(normals), moved)
    np.testing.assert_allclose(moved, point, atol=1e-15)


@both
def test_onto_polytope_meets_the_optimality_conditions(compiled):
    cube = ob.spaces.Box(-1, 1, dim=3)
    normals, offsets = cube.halfspaces()
    points = np.random.default_rng(6).uniform(-3, 3, (20, 3))
    nearest, weights = np.empty_like(points), np.empty((20, 6))
    pick(onto_polytope, compiled)(points, normals, offsets, cube.diameter, nearest, weights)
    np.testing.assert_allclose(nearest, np.clip(points, -1, 1), atol=1e-12)


@both
@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_lists_of_points_within_a_radius(dim, compiled):
    rng = np.random.default_rng(dim)
    points, queries = rng.random((200, dim)), rng.uniform(-0.3, 1.3, (30, dim))
    queries[0] = points[0]
    for radius in (0.0, 0.1, 0.5, 3.0):
        cells = Cells(points, radius)
        counts = np.empty(30, dtype=np.int64)
        grid = (cells._starts, cells._origin, cells._side, cells._shape, radius)
        pick(count_within, compiled)(queries, cells._points, *grid, counts)
        expected = naive.count_within(queries, points, radius)
        np.testing.assert_array_equal(counts, [len(one) for one in expected])
        indptr = np.concatenate([[0], np.cumsum(counts)])
        indices = np.empty(indptr[-1], dtype=np.int32)
        pick(list_within, compiled)(queries, cells._points, cells._order, *grid, indptr, indices)
        np.testing.assert_array_equal(indices, np.concatenate(expected))
