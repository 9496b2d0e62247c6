"""Blended kernels: values are means of two kernels, derivatives are slopes, images are told apart by the remainder."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.agents.gaussian.blended import Blended
from orbandit.agents.gaussian.quotient_kernel import aligned_kernel, plain_kernel, quotient_kernel

G, S = ob.groups, ob.spaces
GROUPS = {
    "sorted": (S.Box(0.0, 1.0, dim=3), G.Symmetric(3)),
    "units": (S.Box(0.0, 1.0, dim=10), G.BlockPermutation(5, 2)),
    "turned": (S.Ball(2), G.Cyclic(5)),
    "two kinds": (S.Box(0.0, 1.0, dim=4), G.Product(G.Symmetric(2), G.Symmetric(2))),
}


def setting(name, ratio=0.3):
    space, group = GROUPS[name]
    kernel = Blended(quotient_kernel(space, group), plain_kernel(space, group, "matern52"))
    lengths = 0.4 * kernel.unit * np.random.default_rng(0).uniform(0.7, 1.4, kernel.n_scales)
    lengths[-1] = ratio
    return space, group, kernel, lengths


@pytest.mark.parametrize("name", GROUPS)
def test_values_are_means_of_the_two_kernels(name):
    space, group, kernel, lengths = setting(name)
    points, others = space.sample(7, 1), space.sample(5, 2)
    invariant, plain = quotient_kernel(space, group), plain_kernel(space, group, "matern52")
    first, second = lengths[: invariant.n_scales], lengths[invariant.n_scales : -1]
    expected = (
        invariant.cross(invariant.features(points), invariant.features(others), first)
        + 0.3 * plain.cross(points, others, second)
    ) / 1.3
    found = kernel.cross(kernel.features(points), kernel.features(others), lengths)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    a, b = kernel.features(points[:5]), kernel.features(others)
    np.testing.assert_allclose(kernel.paired(a, b, lengths), np.diag(found[:5]), atol=1e-12)
    np.testing.assert_allclose(kernel.paired(a, a, lengths), 1.0, atol=1e-9)
    assert np.linalg.eigvalsh(kernel.cross(a, a, lengths)).min() > 0


@pytest.mark.parametrize("name", GROUPS)
def test_derivatives_by_scales_are_slopes(name):
    space, _, kernel, lengths = setting(name)
    a, b = kernel.features(space.sample(4, 1)), kernel.features(space.sample(4, 2))
    values, by_scale = kernel.cross_and_scale_gradients(a, b, lengths)
    pairs, by_pair = kernel.paired_and_scale_gradients(a, b, lengths)
    np.testing.assert_allclose(values, kernel.cross(a, b, lengths), atol=1e-12)
    np.testing.assert_allclose(pairs, np.diag(values), atol=1e-12)
    for scale in range(kernel.n_scales):
        step = np.zeros(kernel.n_scales)
        step[scale] = 1e-6
        ends = [kernel.cross(a, b, lengths * np.exp(sign * step)) for sign in (1, -1)]
        np.testing.assert_allclose(by_scale[scale], (ends[0] - ends[1]) / 2e-6, atol=1e-7)
        np.testing.assert_allclose(by_pair[scale], np.diag(by_scale[scale]), atol=1e-12)


@pytest.mark.parametrize("name", GROUPS)
def test_gradients_by_the_point_are_slopes(name):
    space, _, kernel, lengths = setting(name)
    points, b = space.sample(3, 1), kernel.features(space.sample(4, 2))
    values, gradients = kernel.along_many(points, b, lengths)
    np.testing.assert_allclose(values, kernel.cross(kernel.features(points), b, lengths), atol=1e-10)
    for axis in range(space.dim):
        step = 1e-6 * np.eye(space.dim)[axis]
        ends = [kernel.cross(kernel.features(points + sign * step), b, lengths) for sign in (1, -1)]
        np.testing.assert_allclose(gradients[:, :, axis], (ends[0] - ends[1]) / 2e-6, atol=1e-5)


def test_images_are_told_apart_by_the_remainder_only():
    space, group, kernel, lengths = setting("units")
    points = space.sample(5, 1)
    images = group.act(group.random(1, 3)[0], points)
    for ratio in (1e-3, 0.1, 10.0):
        lengths[-1] = ratio
        a, b = kernel.features(points), kernel.features(images)
        apart = 1 - kernel.paired(a, b, lengths)
        assert (apart > 0).all()
        assert (apart <= ratio / (1 + ratio) + 1e-9).all()


def test_aligned_coordinates_blend_as_well():
    space, group = GROUPS["units"]
    kernel = Blended(
        aligned_kernel(space, group, "matern52", space.sample(1, 0)[0]), plain_kernel(space, group, "matern52")
    )
    assert kernel.n_scales == 5
    assert kernel.features(space.sample(3, 1)).shape == (3, kernel.width)
