"""Kernels on X/G for every group: what makes them kernels, invariance, derivatives, and slow twins."""

import math

import numpy as np
import pytest

import cases
import naive_gp
import orbandit as ob
from orbandit.agents.gaussian import base
from orbandit.agents.gaussian.families import FAMILIES
from orbandit.agents.gaussian.layouts import BUMP_WIDTH
from orbandit.agents.gaussian.level import Level
from orbandit.agents.gaussian.memory import MIN_REMEMBERED_POINTS
from orbandit.agents.gaussian.quotient_kernel import (
    MAX_AVERAGED,
    MAX_AVERAGED_REFLECTIONS,
    QuotientKernel,
    aligned_kernel,
    is_of_folds,
    multiset_kernel,
    quotient_kernel,
)
from orbandit.groups.units import scale_classes

G, S = ob.groups, ob.spaces

GROUPS = cases.FINITE | cases.INFINITE | cases.LARGE
every_group = pytest.mark.parametrize("name", GROUPS)
every_family = pytest.mark.parametrize("family", FAMILIES)
SMALL = [name for name, make in cases.FINITE.items() if make().order <= MAX_AVERAGED]
REFLECTION = [name for name in SMALL if GROUPS[name]().is_reflection]
LISTED = ["C2", "C5", "C5 moved", "shift 5", "diagonal D3", "diagonal C4", "diagonal H3", "diagonal moved"]
LISTED += ["cube rotations", "icosahedral rotations", "point reflection", "Klein", "alternating"]


def setting(name, family="matern52", seed=0):
    """Return a group, a ball that it preserves, its kernel and unequal length scales."""
    group = GROUPS[name]()
    space = S.Ball(group.dim, radius=1.5, center=group.center)
    kernel = quotient_kernel(space, group, family)
    return group, space, kernel, kernel.unit * np.random.default_rng(seed).uniform(0.2, 0.6, kernel.n_scales)


@every_group
@every_family
def test_symmetric_and_positive(name, family):
    group, space, kernel, lengths = setting(name, family)
    points = np.concatenate([space.sample(8, 1), cases.delicate_points(group, 12, 2)])
    points = np.concatenate([points, points[::3], points[:4] + 1e-9])
    features = kernel.features(points)
    assert features.shape == (len(points), kernel.width)
    matrix = kernel.cross(features, features, lengths)
    # Distances from 1e-16 to 1e-7 cancel where layouts are compared; Matern-1/2 has a kink there.
    rounding = 1e-5 if family == "matern12" else 1e-9
    np.testing.assert_allclose(matrix, matrix.T, atol=rounding)
    assert np.linalg.eigvalsh((matrix + matrix.T) / 2).min() > -rounding
    np.testing.assert_allclose(np.diag(matrix), 1.0, atol=rounding)
    np.testing.assert_allclose(
        kernel.paired(features, features[::-1], lengths), np.diag(matrix[:, ::-1]), atol=rounding
    )
    assert (matrix <= 1 + 1e-12).all()


@every_group
@every_family
def test_invariant(name, family):
    group, space, kernel, lengths = setting(name, family)
    points = np.concatenate([space.sample(8, 1), cases.delicate_points(group, 8, 2)])
    features = kernel.features(points)
    before = kernel.cross(features, features, lengths)
    for element in group.random(4, 3):
        images = kernel.features(group.act(element, points))
        np.testing.assert_allclose(
            kernel.cross(images, features, lengths), before, atol=1e-5 if family == "matern12" else 1e-10
        )


@every_group
def test_orbits_are_told_apart(name):
    _, space, kernel, lengths = setting(name)
    points = space.sample(6, 4)
    moved = points + 0.1 * np.random.default_rng(5).standard_normal(points.shape)
    a, b = kernel.features(points), kernel.features(moved)
    assert (kernel.paired(a, b, lengths) < 1 - 1e-7).all()


@every_group
@every_family
def test_slopes_by_length_scales(name, family):
    _, space, kernel, lengths = setting(name, family)
    a, b = kernel.features(space.sample(6, 6)), kernel.features(space.sample(5, 7))
    values, slopes = kernel.cross_and_scale_gradients(a, b, lengths)
    np.testing.assert_allclose(values, kernel.cross(a, b, lengths), atol=1e-12)
    assert slopes.shape == (kernel.n_scales, 6, 5)
    h = 1e-4
    for scale in range(kernel.n_scales):
        step = np.exp(h * np.eye(kernel.n_scales)[scale])
        difference = kernel.cross(a, b, lengths * step) - kernel.cross(a, b, lengths / step)
        np.testing.assert_allclose(slopes[scale], difference / (2 * h), atol=1e-6)
    own = kernel.cross_and_scale_gradients(a, a, lengths)[1]
    assert np.isfinite(own).all()
    paired = kernel.paired_and_scale_gradients(a[:5], b, lengths)
    np.testing.assert_allclose(paired[0], values[:5].diagonal(), atol=1e-12)
    np.testing.assert_allclose(paired[1], slopes[:, :5].diagonal(axis1=1, axis2=2), atol=1e-10)


@every_group
@every_family
def test_gradients_by_the_point(name, family):
    group, space, kernel, lengths = setting(name, family)
    b, points = kernel.features(space.sample(5, 8)), space.sample(3, 9)
    values, gradients = kernel.along_many(points, b, lengths)
    np.testing.assert_allclose(values, kernel.cross(kernel.features(points), b, lengths), atol=1e-11)
    h = 1e-6
    for axis in range(group.dim):
        high, low = (kernel.features(points + sign * h * np.eye(group.dim)[axis]) for sign in (1, -1))
        difference = kernel.cross(high, b, lengths) - kernel.cross(low, b, lengths)
        np.testing.assert_allclose(gradients[:, :, axis], difference / (2 * h), atol=1e-5)
    value, gradient = kernel.along(points[1], b, lengths)
    np.testing.assert_allclose(value, values[1], rtol=1e-12)
    np.testing.assert_allclose(gradient, gradients[1], atol=1e-9)
    at_itself = kernel.along(points[0], kernel.features(points[:1]), lengths)
    assert np.isfinite(at_itself[1]).all()


@pytest.mark.parametrize("name", cases.FINITE | cases.LARGE)
def test_aligned_coordinates(name):
    group = GROUPS[name]()
    space = S.Ball(group.dim, radius=1.5, center=group.center)
    reference, points = space.sample(1, 1)[0], space.sample(9, 2)
    kernel = aligned_kernel(space, group, "matern52", reference)
    lengths, features = 0.5 * kernel.unit, kernel.features(points)
    gaps = np.linalg.norm(features + group.center - reference, axis=1)
    np.testing.assert_allclose(gaps, group.distance(points, reference), atol=1e-9)
    for element in group.random(3, 3):  # away from points with two nearest images
        np.testing.assert_allclose(kernel.features(group.act(element, points)), features, atol=1e-9)
    values, gradients = kernel.along_many(points[:3], features, lengths)
    whole = kernel.cross(features, features, lengths)
    assert np.linalg.eigvalsh(whole).min() > -1e-12
    np.testing.assert_allclose(values, whole[:3], atol=1e-12)
    for axis, step in enumerate(1e-6 * np.eye(group.dim)):
        high, low = (kernel.cross(kernel.features(points[:3] + side * step), features, lengths) for side in (1, -1))
        np.testing.assert_allclose(gradients[:, :, axis], (high - low) / 2e-6, atol=1e-5)


@every_group
def test_length_scales_commute_with_the_group(name):
    group = GROUPS[name]()
    classes = scale_classes(group.generators)
    assert set(classes) == set(range(classes.max() + 1))
    scales = np.diag(np.random.default_rng(10).uniform(1, 2, classes.max() + 1)[classes])
    np.testing.assert_allclose(scales @ group.generators, group.generators @ scales, atol=1e-8)


@pytest.mark.parametrize("name", REFLECTION)
@every_family
def test_folds_give_the_largest_kernel(name, family):
    group, space, kernel, lengths = setting(name, family)
    a, b = space.sample(4, 11), space.sample(3, 12)
    each = lengths[scale_classes(group.generators)]
    expected = [
        [naive_gp.images_of_kernel(family, group.elements(), group.center, x, y, each).max() for y in b] for x in a
    ]
    np.testing.assert_allclose(kernel.cross(kernel.features(a), kernel.features(b), lengths), expected, atol=1e-12)


@pytest.mark.parametrize("name", LISTED)
@every_family
def test_listed_groups_give_the_averaged_kernel_over_its_prior_variances(name, family):
    group, space, kernel, lengths = setting(name, family)
    a, b = space.sample(3, 11), space.sample(2, 12)
    each = lengths[scale_classes(group.generators)]

    def mean(x, y):
        return naive_gp.images_of_kernel(family, group.elements(), group.center, x, y, each).mean()

    expected = [[mean(x, y) / math.sqrt(mean(x, x) * mean(y, y)) for y in b] for x in a]
    np.testing.assert_allclose(kernel.cross(kernel.features(a), kernel.features(b), lengths), expected, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in REFLECTION if 1 < GROUPS[name]().order <= MAX_AVERAGED_REFLECTIONS])
def test_small_reflection_groups_of_smooth_means_are_averaged_over(name):
    group = GROUPS[name]()
    space = S.Ball(group.dim, radius=1.5, center=group.center)
    kernel = quotient_kernel(space, group, "rbf", is_smooth=True)
    assert not is_of_folds(group, is_smooth=True)
    assert is_of_folds(group, is_smooth=False)
    lengths = 0.5 * kernel.unit
    scales = lengths[scale_classes(group.generators)]
    a, b = np.concatenate([space.sample(4, 1), cases.delicate_points(group, 4, 2)]), space.sample(5, 3)
    images = np.array([group.act(element, b) for element in group.elements()])

    def mean(x, others):
        return np.mean([np.exp(-(((x - y) / scales) ** 2).sum() / 2) for y in others])

    def of(x, at):
        own = mean(x, [group.act(element, x) for element in group.elements()])
        theirs = mean(b[at], images[:, at])
        return mean(x, images[:, at]) / math.sqrt(own * theirs)

    expected = [[of(x, at) for at in range(len(b))] for x in a]
    np.testing.assert_allclose(kernel.cross(kernel.features(a), kernel.features(b), lengths), expected, atol=1e-10)


def test_a_smooth_mean_is_level_across_a_wall_and_the_max_kernel_is_not():
    square, swap, h = S.Box(0.0, 1.0, dim=2), G.Symmetric(2), 1e-5
    across = np.array([0.4, 0.4]) + np.array([[h, -h], [-h, h], [2 * h, -2 * h]])
    kinks = {}
    for is_smooth in (True, False):
        kernel = quotient_kernel(square, swap, "rbf", is_smooth)
        other = kernel.features(np.array([[0.7, 0.2]]))
        one, twin, further = kernel.cross(kernel.features(across), other, 0.3 * kernel.unit)[:, 0]
        assert one == pytest.approx(twin, abs=1e-12)
        kinks[is_smooth] = abs(further - one) / h
    assert kinks[True] < 1e-3 < 0.1 < kinks[False]


def test_larger_reflection_groups_stay_with_folds():
    for group in (G.Symmetric(5), G.Trivial(3)):
        kernels = [quotient_kernel(S.Box(0.0, 1.0, dim=group.dim), group, is_smooth=each) for each in (True, False)]
        points = np.random.default_rng(0).random((6, group.dim))
        values = [each.cross(each.features(points), each.features(points), 0.3 * each.unit) for each in kernels]
        np.testing.assert_array_equal(*values)


PERMUTED = {
    "numbers": G.Symmetric(5),
    "numbers about a point": G.Symmetric(5).centered(np.full(5, 0.4)),
    "signed numbers": G.SignedPermutation(4).centered(np.full(4, 0.3)),
    "two kinds": G.Product(G.Symmetric(5), G.SignedPermutation(4)),
    "beside signs": G.Product(G.Symmetric(5), G.SignFlips(2)),
}


@pytest.mark.parametrize("name", PERMUTED)
@every_family
def test_permuted_coordinates_have_a_kernel_of_multisets(name, family):
    group = PERMUTED[name]
    space = S.Ball(group.dim, radius=1.5, center=group.center)
    kernel = multiset_kernel(space, group, family)
    lengths = kernel.unit * np.random.default_rng(0).uniform(0.3, 0.6, kernel.n_scales)
    points, b = space.sample(4, 1), kernel.features(space.sample(5, 2))
    values, gradients = kernel.along_many(points, b, lengths)
    np.testing.assert_allclose(values, kernel.cross(kernel.features(points), b, lengths), atol=1e-11)
    for element in group.random(4, 3):
        images = kernel.features(group.act(element, points))
        np.testing.assert_allclose(kernel.cross(images, b, lengths), values, atol=1e-9)
    h = 1e-6
    for axis in range(group.dim):
        high, low = (kernel.features(points + sign * h * np.eye(group.dim)[axis]) for sign in (1, -1))
        difference = kernel.cross(high, b, lengths) - kernel.cross(low, b, lengths)
        np.testing.assert_allclose(gradients[:, :, axis], difference / (2 * h), atol=1e-5)


@pytest.mark.parametrize(("name", "signed"), [("numbers", False), ("signed numbers", True)])
def test_the_kernel_of_multisets_is_that_of_mean_bumps(name, signed):
    group = PERMUTED[name]
    kernel = multiset_kernel(S.Ball(group.dim, radius=1.5, center=group.center), group, "matern52")
    length, reach = 0.4, 0.8
    a, b = S.Ball(group.dim, center=group.center).sample(6, 1).reshape(2, 3, -1)
    found = kernel.cross(kernel.features(a), kernel.features(b), np.array([length, reach]))
    unit = math.sqrt(2 * math.log(2)) * BUMP_WIDTH * length
    factor = 2 * group.dim * BUMP_WIDTH**2 * (2 if signed else 1) / reach**2
    for i, j in np.ndindex(found.shape):
        x, y = ((point - group.center)[:, None] / unit for point in (a[i], b[j]))
        q = factor * naive_gp.layout_square(x, y, signed)
        assert found[i, j] == pytest.approx(naive_gp.radial("matern52", math.sqrt(q)), abs=1e-9)


@pytest.mark.parametrize("group", [G.BlockPermutation(2, 2), G.BlockPermutation(3, 2), G.SignedBlockPermutation(2, 2)])
def test_few_units_have_the_kernel_of_multisets(group):
    kernel = quotient_kernel(S.Ball(group.dim), group, "matern32", is_smooth=True)
    lengths, signed = np.array([0.4, 0.6, 0.8]), group.structure.is_signed
    a, b = S.Ball(group.dim).sample(6, 1).reshape(2, 3, -1)
    found = kernel.cross(kernel.features(a), kernel.features(b), lengths)
    factor = 2 * group.blocks * BUMP_WIDTH**2 * (2 if signed else 1) / lengths[-1] ** 2
    for i, j in np.ndindex(found.shape):
        unit = math.sqrt(2 * math.log(2)) * BUMP_WIDTH * lengths[:-1]
        x, y = (point.reshape(-1, 2) / unit for point in (a[i], b[j]))
        q = factor * naive_gp.layout_square(x, y, signed)
        assert found[i, j] == pytest.approx(naive_gp.radial("matern32", math.sqrt(q)), abs=1e-9)


def test_no_kernel_of_multisets_where_folds_are_not_of_many_permutations():
    others = G.SignFlips(6), G.Dihedral(7), G.BlockPermutation(5, 2), G.Symmetric(4), G.Coxeter("A4"), G.Trivial(3)
    for group in others:
        assert multiset_kernel(S.Ball(group.dim), group, "matern52") is None


def test_a_short_move_of_a_unit_and_a_move_of_all():
    """The former has q = 2 |h|^2 / (m reach^2), units in length scales; if no unit stays near one, q = 1 / reach^2."""
    rng = np.random.default_rng(13)
    for group in (G.BlockPermutation(5, 2), G.SignedBlockPermutation(3, 3)):
        kernel = quotient_kernel(S.Box(-1.0, 1.0, dim=group.dim), group, "rbf")
        point = rng.uniform(0.5, 1.0, group.dim)  # units that are not near their negatives
        lengths = np.array([*[0.2] * group.size, 0.7])
        moved = point.copy()
        step = 1e-3 * rng.standard_normal(group.size)
        moved[: group.size] += step
        (value,) = kernel.paired(kernel.features(point[None]), kernel.features(moved[None]), lengths)
        assert -2 * math.log(value) == pytest.approx(2 * step @ step / 0.2**2 / group.blocks / 0.7**2, rel=1e-3)
    kernel = quotient_kernel(S.Box(0.0, 1.0, dim=10), G.BlockPermutation(5, 2), "rbf")
    layouts = np.arange(20.0).reshape(2, 10) / 20
    one, other = kernel.features(layouts)[:, None]
    (value,) = kernel.paired(one, other, np.array([0.005, 0.005, 0.7]))
    assert -2 * math.log(value) == pytest.approx(1 / 0.7**2, rel=1e-9)


def test_layouts_far_apart_in_one_unit_stay_related():
    kernel = quotient_kernel(S.Box(0.0, 1.0, dim=6), G.BlockPermutation(3, 2))
    layouts = np.array([[0.1, 0.1, 0.5, 0.5, 0.9, 0.9], [0.5, 0.5, 0.9, 0.9, 0.1, 0.9], [0.9, 0.1, 0.1, 0.9, 0.5, 0.1]])
    features = kernel.features(layouts)
    matrix = kernel.cross(features, features, 0.2 * kernel.unit)
    assert matrix[0, 1] > matrix[0, 2]


def test_number_of_length_scales():
    def count(group):
        return quotient_kernel(S.Ball(group.dim), group).n_scales

    assert count(G.BlockPermutation(2, 3)) == count(G.BlockPermutation(5, 3)) == 4  # and the reach
    # one for both
    assert count(G.Product(G.BlockPermutation(5, 3), G.BlockPermutation(6, 2), G.SignFlips(1))) == 7
    assert count(G.Symmetric(5)) == 1
    assert count(G.SignFlips(3)) == 3
    assert count(G.Orthogonal(2, 3)) == 3
    assert count(G.Joint(G.BlockPermutation(3, 2), G.Diagonal(G.Dihedral(4), 3))) == 2


def test_units_are_widths_of_the_space():
    space = S.Box([0.0, 0.0, 1.0, 0.0], [2.0, 2.0, 1.5, 7.0])
    assert quotient_kernel(space).unit.tolist() == [2.0, 2.0, 0.5, 7.0]
    kernel = quotient_kernel(space, G.Product(G.Symmetric(2), G.Trivial(2)))
    assert kernel.unit.tolist() == [2.0, 0.5, 7.0]


@pytest.mark.parametrize("name", cases.SPACES)
def test_every_space_without_a_group(name):
    space = cases.SPACES[name]()
    kernel = quotient_kernel(space)
    features = kernel.features(space.sample(5, 14))
    assert kernel.n_scales == space.dim
    assert np.linalg.eigvalsh(kernel.cross(features, features, kernel.unit)).min() > 0


def test_gradients_within_the_domain_and_out_of_it_agree():
    group, space = G.Coxeter("H3"), S.Ball(3)
    kernel = quotient_kernel(space, group)
    b, point = kernel.features(space.sample(4, 15)), space.sample(1, 16)[0]
    element = group.random(1, 17)[0]
    one, two = kernel.along(group.fold(point), b, kernel.unit), kernel.along(point @ element.T, b, kernel.unit)
    np.testing.assert_allclose(one[0], two[0], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(one[1], axis=1), np.linalg.norm(two[1], axis=1), atol=1e-12)


@every_group
def test_no_points_at_all(name):
    group, space, kernel, lengths = setting(name)
    none, some = kernel.features(np.empty((0, group.dim))), kernel.features(space.sample(2, 18))
    assert none.shape == (0, kernel.width)
    assert kernel.cross(none, some, lengths).shape == (0, 2)
    assert kernel.cross(some, none, lengths).shape == (2, 0)
    assert kernel.cross(none, none, lengths).shape == (0, 0)
    assert kernel.paired(none, none, lengths).shape == (0,)
    assert [each.shape for each in kernel.cross_and_scale_gradients(none, some, lengths)] == [
        (0, 2),
        (kernel.n_scales, 0, 2),
    ]
    along = kernel.along_many(np.empty((0, group.dim)), some, lengths)
    assert [each.shape for each in along] == [(0, 2), (0, 2, group.dim)]


@every_group
def test_features_do_not_depend_on_what_comes_with_them(name):
    _, space, kernel, _ = setting(name)
    points = space.sample(5, 18)
    whole = kernel.features(points)
    for i in range(5):
        np.testing.assert_array_equal(kernel.features(points[i : i + 1])[0], whole[i])


@every_group
@every_family
def test_features_with_themselves(name, family):
    _, space, kernel, lengths = setting(name, family)
    a = kernel.features(space.sample(11, 18))
    twice = kernel.cross_and_scale_gradients(a, a, lengths)
    apart = kernel.cross_and_scale_gradients(a, a.copy(), lengths)
    values = kernel.cross(a, a, lengths)
    np.testing.assert_allclose(values, kernel.cross(a, a.copy(), lengths), atol=1e-5 if family == "matern12" else 1e-10)
    for one, two in zip(twice, apart, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5 if family == "matern12" else 1e-10)


LEVEL = [name for name in GROUPS if isinstance(setting(name)[2], Level)]


@pytest.mark.parametrize("name", LEVEL)
@every_family
def test_prior_variances_of_averages(name, family):
    group, space, level, lengths = setting(name, family)
    points = np.concatenate([space.sample(6, 1), group.center[None], cases.delicate_points(group, 6, 2)])
    features, kernel = level.features(points), level._inner
    np.testing.assert_allclose(level.paired(features, features, lengths), 1.0, atol=1e-12)
    variances, slopes = kernel.diagonal_and_scale_gradients(features, lengths)
    expected = kernel.diagonal(features, lengths)
    np.testing.assert_allclose(variances, expected, atol=1e-7 if family == "matern12" else 1e-12)
    assert variances[6] == pytest.approx(1.0, abs=1e-6)  # the centre is fixed
    assert variances[:6].min() < 0.99
    h = 1e-4
    for scale in range(kernel.n_scales):
        step = np.exp(h * np.eye(kernel.n_scales)[scale])
        difference = kernel.diagonal(features, lengths * step) - kernel.diagonal(features, lengths / step)
        np.testing.assert_allclose(slopes[scale], difference / (2 * h), atol=1e-6)
    points, h = space.sample(3, 9), 1e-6
    variances, gradients = kernel.diagonal_along(points, lengths)
    np.testing.assert_allclose(variances, kernel.diagonal(kernel.features(points), lengths), atol=1e-6)
    for axis in range(group.dim):
        high, low = (kernel.features(points + sign * h * np.eye(group.dim)[axis]) for sign in (1, -1))
        difference = kernel.diagonal(high, lengths) - kernel.diagonal(low, lengths)
        np.testing.assert_allclose(gradients[:, axis], difference / (2 * h), atol=1e-5)


@pytest.mark.parametrize("name", LEVEL)
@every_family
def test_means_over_images_are_those_of_a_list(name, family):
    _, space, level, lengths = setting(name, family)
    kernel = level._inner
    inner, a, b = kernel._inner, kernel.features(space.sample(5, 18)), kernel.features(space.sample(4, 19))
    images, first, points = a.reshape(5, -1, inner.width), b[:, : inner.width], space.sample(3, 20)
    listed = QuotientKernel.means(inner, images, first, lengths, False)
    np.testing.assert_allclose(kernel.cross(a, b, lengths), listed, atol=1e-12)
    np.testing.assert_allclose(kernel.cross(b, a, lengths), listed.T, atol=1e-7 if family == "matern12" else 1e-12)
    two = QuotientKernel.means_and_scale_gradients(inner, images, first, lengths, False)
    for one, other in zip(kernel.cross_and_scale_gradients(a, b, lengths), two, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)
    two = QuotientKernel.means_along(inner, points, b.reshape(4, -1, inner.width), lengths)
    for one, other in zip(kernel.along_many(points, b, lengths), two, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def test_many_elements_are_averaged_in_steps(monkeypatch):
    parts = G.Product(G.BlockPermutation(2, 2), G.SignFlips(2))
    group = G.Joint(parts, G.Product(G.Diagonal(G.Dihedral(5), 2), G.Trivial(2)))
    space = S.Ball(6)
    kernel = quotient_kernel(space, group)
    lengths = 0.3 * kernel.unit
    a, b = kernel.features(space.sample(5, 18)), kernel.features(space.sample(4, 19))
    points = space.sample(2, 20)
    whole = (
        kernel.cross(a, b, lengths),
        kernel.paired(a[:4], b, lengths),
        *kernel.cross_and_scale_gradients(a, b, lengths),
    )
    whole += kernel.along_many(points, b, lengths)
    monkeypatch.setattr(base, "VALUES_AT_ONCE", 50)
    parts = (
        kernel.cross(a, b, lengths),
        kernel.paired(a[:4], b, lengths),
        *kernel.cross_and_scale_gradients(a, b, lengths),
    )
    parts += kernel.along_many(points, b, lengths)
    for one, two in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-13)


def mirrored_mean():
    """Block permutations, and the reflection of the units' mean, which normalises them and changes shapes."""
    mirror = np.kron(np.eye(3) - 2 * np.ones((3, 3)) / 3, np.eye(2))
    return G.Joint(G.BlockPermutation(3, 2), G.Matrix(mirror))


def test_a_kernel_that_the_second_part_changes_is_not_averaged_over_it():
    group, space = mirrored_mean(), S.Ball(6)
    kernel, points = quotient_kernel(space, group), space.sample(6, 21)
    features, lengths = kernel.features(points), 0.3 * quotient_kernel(space, group).unit
    matrix = kernel.cross(features, features, lengths)
    assert kernel.width == group.order * group.dim  # all images
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    images = kernel.features(group.act(group.random(1, 22)[0], points))
    np.testing.assert_allclose(kernel.cross(images, features, lengths), matrix, atol=1e-12)


def test_groups_too_large_to_list_are_refused():
    even = G.Permutation([[1, 2, 0, 3, 4, 5], [1, 2, 3, 4, 0, 5], [0, 1, 2, 4, 5, 3]])
    assert even.order == 360
    turns = G.Joint(G.BlockPermutation(2, 2), G.Diagonal(G.Cyclic(300), 2))
    for group in (even, turns, G.Product(G.Symmetric(2), even)):
        with pytest.raises(ob.errors.GroupTooLargeError, match=r"at most 128 elements.*pass a subgroup"):
            quotient_kernel(S.Ball(group.dim), group)


def test_bad_input_is_refused():
    box = S.Box(0.0, 1.0, dim=2)
    with pytest.raises(ob.errors.InputError, match="matern52"):
        quotient_kernel(box, None, "matern")
    with pytest.raises(ob.errors.InputError, match="preserve"):
        quotient_kernel(S.Box([0.0, 0.0], [1.0, 2.0]), G.Symmetric(2))
    with pytest.raises(ob.errors.InputTypeError, match="space"):
        quotient_kernel(3)


@pytest.mark.parametrize("turned", [False, True], ids=["blocks", "joint"])
def test_what_is_remembered_is_what_is_worked_out(turned):
    """Whether an array grows, changes in place or comes back with other length scales."""
    blocks = G.BlockPermutation(5, 2)
    group = G.Joint(blocks, G.Diagonal(G.Dihedral(3), 5)) if turned else blocks
    space = S.Ball(2) ** 5
    kernel, points = quotient_kernel(space, group), space.sample(2 * MIN_REMEMBERED_POINTS, 0)
    grown = kernel.features(points)
    a = grown[:3]
    changed = grown.copy()
    changed[MIN_REMEMBERED_POINTS] = grown[0]
    for features in (grown[: MIN_REMEMBERED_POINTS + 1], grown, grown[: MIN_REMEMBERED_POINTS + 1], changed, grown):
        for lengths in (0.3 * kernel.unit, 0.5 * kernel.unit):
            fresh = quotient_kernel(space, group)
            np.testing.assert_array_equal(kernel.cross(a, features, lengths), fresh.cross(a, features, lengths))
            found, expected = (each.along_many(points[:2], features, lengths) for each in (kernel, fresh))
            for one, two in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, two)
