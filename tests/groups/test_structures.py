"""What groups say of their orbits: each claim is compared with the group's own distances."""

import math

import numpy as np
import pytest

from cases import FINITE, INFINITE, LARGE
from orbandit.groups.structures import Extension, GramMatrices, Listed, Multisets, Rearranged, SideBySide

GROUPS = {**FINITE, **INFINITE, **LARGE}
every_group = pytest.mark.parametrize("name", GROUPS)


def about_origin(group):
    return group.centered(np.zeros(group.dim))


@every_group
def test_the_structure_says_what_orbits_are(name):
    group = about_origin(GROUPS[name]())
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 5, group.dim))
    distances = group.distance(a, b)
    match group.structure:
        case Listed():
            assert group.order < math.inf
        case Multisets(blocks, size, is_signed):
            assert blocks * size == group.dim
            assert group.order == math.factorial(blocks) * (2**blocks if is_signed else 1)
        case GramMatrices(blocks, size):
            images = group.act(group.random(5, 1), a, paired=True)
            matrices, moved = a.reshape(-1, blocks, size), images.reshape(-1, blocks, size)
            np.testing.assert_allclose(np.swapaxes(moved, 1, 2) @ moved, np.swapaxes(matrices, 1, 2) @ matrices)
        case Rearranged(inner, places):
            assert sorted(places) == list(range(group.dim))
            np.testing.assert_allclose(about_origin(inner).distance(a[:, places], b[:, places]), distances, atol=1e-9)
        case SideBySide(parts):
            squares = [about_origin(part).distance(a[:, own], b[:, own]) ** 2 for part, own in parts]
            np.testing.assert_allclose(np.sqrt(sum(squares)), distances, atol=1e-9)
        case Extension(normal, cosets, generators):
            np.testing.assert_array_equal(cosets[0], np.eye(group.dim))
            assert len(cosets) * normal.order == group.order
            least = np.min([about_origin(normal).distance(a @ h.T, b) for h in cosets], axis=0)
            np.testing.assert_allclose(least, distances, atol=1e-9)
            for g in generators:
                np.testing.assert_allclose(group.distance(a @ g.T, a).diagonal(), 0.0, atol=1e-7)


@every_group
def test_units_have_all_coordinates_once(name):
    group = GROUPS[name]()
    units = group.unit_coordinates
    assert sorted(np.concatenate(units).tolist()) == list(range(group.dim))


@every_group
def test_folds_lie_in_the_cone_and_in_the_support(name):
    group = about_origin(GROUPS[name]())
    folds = group.fold(np.random.default_rng(2).standard_normal((20, group.dim)))
    assert (folds @ group.fold_normals.T >= -1e-9).all()
    assert np.abs(folds[:, ~group.fold_support]).max(initial=0.0) < 1e-9


@every_group
def test_no_more_generators_than_the_group_says(name):
    group = GROUPS[name]()
    assert len(group.generators) <= group.max_generators
