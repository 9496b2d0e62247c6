"""The kernel by distances between units: its slow twin, what leaves it alone, and its derivatives."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import naive_gp
import orbandit as ob
from orbandit.agents.gaussian.distances import FREQUENCIES
from orbandit.agents.gaussian.families import FAMILIES
from orbandit.agents.gaussian.quotient_kernel import distance_kernel
from orbandit.groups.units import scale_classes

G, S = ob.groups, ob.spaces
GROUPS = {
    "units": G.BlockPermutation(5, 2),
    "two units": G.BlockPermutation(2, 3),
    "about a point": G.BlockPermutation(4, 2).centered(np.tile([0.4, -0.2], 4)),
    "signed": G.SignedBlockPermutation(4, 2),
    "signed about a point": G.SignedBlockPermutation(3, 3).centered(np.full(9, 0.3)),
    "two kinds": G.Product(G.BlockPermutation(3, 2), G.SignedBlockPermutation(4, 3)),
    "alike kinds": G.Product(G.BlockPermutation(3, 2), G.BlockPermutation(2, 2)),
    "beside one": G.Product(G.BlockPermutation(3, 2), G.Trivial(2)),
    "beside others": G.Product(G.BlockPermutation(3, 2), G.Trivial(3)),
    "rearranged": G.Diagonal(G.BlockPermutation(3, 2), 2),
    "turned": G.Joint(G.BlockPermutation(4, 2), G.Diagonal(G.Dihedral(5), 4)),
    "kinds turned": G.Joint(
        G.Product(G.BlockPermutation(3, 2), G.Trivial(2)), G.Diagonal(G.Cyclic(3), 4).centered(np.tile([0.2, 0.1], 4))
    ),
}
every_group = pytest.mark.parametrize("name", GROUPS)


def setting(name, family="matern52"):
    """Return a group, a ball that it preserves, the kernel and unequal scales."""
    group = GROUPS[name]
    space = S.Ball(group.dim, radius=1.5, center=group.center)
    kernel = distance_kernel(space, group, family)
    return group, space, kernel, kernel.unit * np.random.default_rng(0).uniform(0.2, 0.9, kernel.n_scales)


@pytest.mark.parametrize(
    ("name", "signed"), [("units", False), ("about a point", False), ("signed about a point", True)]
)
def test_it_is_the_kernel_of_the_mean_wave_over_pairs(name, signed):
    group, space, kernel, lengths = setting(name)
    a, b = space.sample(6, 1).reshape(2, 3, -1)
    found = kernel.cross(kernel.features(a), kernel.features(b), lengths)
    frequencies = all_frequencies()

    def units(point):
        return (point - group.center).reshape(group.blocks, group.size) / lengths[: group.size]

    for i, j in np.ndindex(found.shape):
        square = naive_gp.distance_square(units(a[i]), units(b[j]), frequencies, signed) / lengths[-1] ** 2
        assert found[i, j] == pytest.approx(naive_gp.radial("matern52", math.sqrt(square)), abs=1e-9)


def all_frequencies():
    return 2 * norm.ppf([0.5 + (k + 0.5) / (2 * FREQUENCIES) for k in range(FREQUENCIES)])


@pytest.mark.parametrize(("name", "first"), [("alike kinds", 3), ("beside one", 3), ("turned", 4), ("kinds turned", 3)])
def test_distances_between_kinds_and_from_the_centre_are_added(name, first):
    group, space, kernel, lengths = setting(name)
    a, b = space.sample(6, 1).reshape(2, 3, -1)
    found = kernel.cross(kernel.features(a), kernel.features(b), lengths)
    classes, frequencies, is_turned = scale_classes(group.generators), all_frequencies(), name.endswith("turned")

    def kinds(point):
        """Units of both kinds in their own length scales, and those of the second in those of the first."""
        units = (point - group.center).reshape(-1, 2)
        scales = lengths[classes].reshape(-1, 2)
        return (units / scales)[:first], (units / scales)[first:], (units / scales[0])[first:]

    for i, j in np.ndindex(found.shape):
        (x, more_x, x_seen), (y, more_y, y_seen) = kinds(a[i]), kinds(b[j])
        square = naive_gp.distance_square(x, y, frequencies, signed=False)
        if len(more_x) > 1:
            square += naive_gp.distance_square(more_x, more_y, frequencies, signed=False)
        if len(more_x):
            square += naive_gp.distance_square(x, y, frequencies, signed=False, others=(x_seen, y_seen))
        if is_turned:
            for one, two in ((x, y), (more_x, more_y)):
                middle = np.zeros((1, 2))
                if len(one):
                    square += naive_gp.distance_square(one, two, frequencies, signed=False, others=(middle, middle))
        expected = naive_gp.radial("matern52", math.sqrt(square) / lengths[-1])
        assert found[i, j] == pytest.approx(expected, abs=1e-9)


def test_kinds_in_other_regions_or_of_other_sizes_are_at_no_distance():
    kinds = G.Product(G.BlockPermutation(3, 2), G.BlockPermutation(2, 2))
    together = S.Box(0.0, 1.0, dim=10)
    apart = S.Product(S.Box(0.0, 1.0, dim=6), S.Box(0.5, 1.5, dim=4))
    point = np.linspace(0.5, 1.0, 10)[None]
    moved = point + np.array([*[0.0] * 6, *[-0.2] * 4])  # all of the second kind
    values = [
        float(kernel.paired(kernel.features(point), kernel.features(moved), 0.3 * kernel.unit)[0])
        for kernel in (distance_kernel(space, kinds, "matern52") for space in (together, apart))
    ]
    assert values[0] < 0.999
    assert values[1] == pytest.approx(1.0, abs=1e-12)


@every_group
@pytest.mark.parametrize("family", FAMILIES)
def test_symmetric_positive_and_invariant(name, family):
    group, space, kernel, lengths = setting(name, family)
    points = space.sample(9, 1)
    points = np.concatenate([points, points[:3], points[:2] + 1e-9])
    features = kernel.features(points)
    matrix = kernel.cross(features, features, lengths)
    rounding = 1e-6 if family == "matern12" else 1e-9  # it has a kink at 0, where images are but for rounding
    np.testing.assert_allclose(matrix, matrix.T, atol=rounding)
    np.testing.assert_allclose(np.diag(matrix), 1.0, atol=rounding)
    assert np.linalg.eigvalsh((matrix + matrix.T) / 2).min() > -rounding
    np.testing.assert_allclose(
        kernel.paired(features, features[::-1], lengths), np.diag(matrix[:, ::-1]), atol=rounding
    )
    for element in group.random(4, 3):
        images = kernel.features(group.act(element, points))
        np.testing.assert_allclose(kernel.cross(images, features, lengths), matrix, atol=rounding)
    assert (matrix[:9, :9][~np.eye(9, dtype=bool)] < 1 - 1e-4).all()


def test_an_isometry_of_all_units_changes_nothing_and_a_move_of_a_unit_does():
    _, space, kernel, lengths = setting("units")
    point, equal = space.sample(1, 4)[0], np.array([lengths[0], lengths[0], lengths[-1]])
    shifted, moved = point + np.tile([0.2, -0.1], 5), point + np.eye(10)[0] * 0.2
    turned = (point.reshape(5, 2) @ [[0.6, -0.8], [0.8, 0.6]]).ravel()
    own, *others = kernel.features(np.array([point, shifted, turned, moved]))[:, None]
    values = [kernel.paired(own, each, equal)[0] for each in others]
    np.testing.assert_allclose(values[:2], 1.0, atol=1e-12)
    assert values[2] < 0.999
    # in length scales: a turn changes distances if those of the places differ
    assert kernel.paired(own, others[1], lengths)[0] < 0.999


def test_distances_of_far_layouts_are_about_one_over_the_reach():
    """If no pair of one layout has a distance that another one has, q is about 1 / reach^2."""
    kernel = distance_kernel(S.Box(0.0, 1.0, dim=16), G.BlockPermutation(8, 2), "rbf")
    features = kernel.features(np.random.default_rng(2).random((40, 16)))
    values = kernel.cross(features, features, np.array([0.01, 0.01, 0.7]))
    squares = -2 * np.log(values[np.triu_indices(40, 1)])
    assert squares.mean() == pytest.approx(1 / 0.7**2, rel=0.1)


def test_units_that_meet_have_slopes():
    """The derivative of a distance has a jump there, that of its cosine has none."""
    _, _, kernel, lengths = setting("units")
    point = np.array([0.1, 0.2, 0.1, 0.2, 0.5, 0.3, -0.2, 0.4, 0.0, 0.0])
    others = kernel.features(np.random.default_rng(5).uniform(-1, 1, (3, 10)))
    (value,), (gradient,) = kernel.along_many(point[None], others, lengths)
    np.testing.assert_allclose(value, kernel.cross(kernel.features(point[None]), others, lengths)[0], atol=1e-12)
    for axis, step in enumerate(1e-5 * np.eye(10)):
        high, low = (kernel.along_many((point + side * step)[None], others, lengths)[0][0] for side in (1, -1))
        np.testing.assert_allclose(gradient[:, axis], (high - low) / 2e-5, atol=1e-6)


@every_group
@pytest.mark.parametrize("family", ["matern32", "rbf"])
def test_slopes_by_scales_and_by_the_point(name, family):
    group, space, kernel, lengths = setting(name, family)
    points = space.sample(4, 6)
    a, b = kernel.features(points), kernel.features(space.sample(70, 7))  # so many are remembered
    values, slopes = kernel.cross_and_scale_gradients(a, b, lengths)
    np.testing.assert_allclose(values, kernel.cross(a, b, lengths), atol=1e-12)
    for scale in range(kernel.n_scales):
        step = np.exp(1e-5 * np.eye(kernel.n_scales)[scale])
        difference = kernel.cross(a, b, lengths * step) - kernel.cross(a, b, lengths / step)
        np.testing.assert_allclose(slopes[scale], difference / 2e-5, atol=1e-6)
    paired = kernel.paired_and_scale_gradients(a, b[:4], lengths)
    np.testing.assert_allclose(paired[0], values[:, :4].diagonal(), atol=1e-12)
    np.testing.assert_allclose(paired[1], slopes[:, :, :4].diagonal(axis1=1, axis2=2), atol=1e-10)
    along, gradients = kernel.along_many(points, b, lengths)
    np.testing.assert_allclose(along, values, atol=1e-11)
    for axis, step in enumerate(1e-6 * np.eye(group.dim)):
        high, low = (kernel.cross(kernel.features(points + side * step), b, lengths) for side in (1, -1))
        np.testing.assert_allclose(gradients[:, :, axis], (high - low) / 2e-6, atol=1e-5)
    assert np.isfinite(kernel.along(points[0], a[:1], lengths)[1]).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("units", [2, 5, 12])
def test_equal_layouts_have_a_distance_of_0(units, family):
    """So that a point that is told again is no new one."""
    space = S.Box(0.0, 1.0, dim=2 * units)
    kernel = distance_kernel(space, G.BlockPermutation(units, 2), family)
    features = kernel.features(space.sample(80, 3))
    values = kernel.cross(features, features, np.array([0.3, 0.2, 0.01]))
    np.testing.assert_array_equal(values.diagonal(), 1.0)


def test_the_region_is_that_of_the_caller_and_centres_matter_to_signs_only():
    kinds = G.Product(G.BlockPermutation(3, 2), G.Trivial(2))
    space = S.Box(0.0, 1.0, dim=8)
    widths = {
        "alike": distance_kernel(space, kinds, "matern52", np.ones(8)).width,
        "other units": distance_kernel(space, kinds, "matern52", np.array([*[1.0] * 6, 1000.0, 5.0])).width,
        "another centre": distance_kernel(
            space, G.Product(G.BlockPermutation(3, 2).centered(np.full(6, 0.5)), G.Trivial(2)), "matern52"
        ).width,
    }
    assert widths == {"alike": 6 + 8, "other units": 6, "another centre": 6 + 8}


def test_only_distances_that_an_element_changes_are_left_out():
    """A group that turns one kind of units and not the other keeps distances within kinds."""
    turned = G.Joint(G.BlockPermutation(4, 2), G.Diagonal(G.Cyclic(4), 4))
    for group in (G.Product(turned, G.Trivial(2)), G.Product(turned, G.BlockPermutation(3, 2))):
        kernel = distance_kernel(S.Box(-1.0, 1.0, dim=group.dim), group, "matern52")
        assert kernel.width == 8 + (6 if group.dim > 10 else 0)


def test_there_is_no_distance_from_a_centre_that_is_one_of_many():
    """A mirror fixes a line."""
    mirror = G.Joint(G.BlockPermutation(3, 2), G.Diagonal(G.Matrix([[[-1.0, 0.0], [0.0, 1.0]]]), 3))
    turns = G.Joint(G.BlockPermutation(3, 2), G.Diagonal(G.Cyclic(2), 3))
    widths = [distance_kernel(S.Box(-1.0, 1.0, dim=6), group, "matern52").width for group in (mirror, turns)]
    assert widths == [6, 12]


def test_only_exchangeable_units_of_several_coordinates_have_one():
    for group in (G.Trivial(4), G.Symmetric(6), G.SignedPermutation(4), G.Dihedral(5), G.Orthogonal(3, 2)):
        assert distance_kernel(S.Ball(group.dim), group, "matern52") is None


def test_a_group_that_changes_distances_between_units_has_none():
    """Signed exchanges of two units are the symmetries of a square; an eighth of a turn normalises them."""
    eighth = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2)
    group = G.Joint(G.SignedBlockPermutation(2, 2), G.Matrix([np.kron(eighth, np.eye(2))]))
    assert group.order == 16
    assert distance_kernel(S.Ball(4), group, "matern52") is None
    assert distance_kernel(S.Ball(4), G.SignedBlockPermutation(2, 2), "matern52") is not None
