"""Pools against means over all elements; groups that are found have the names of their classes."""

import math

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import GroupTooLargeError
from orbandit.symmetry.naming import named_group
from orbandit.symmetry.pooling import Pool

G = ob.groups
LAYOUT = G.Joint(G.BlockPermutation(3, 2), G.Diagonal(G.Dihedral(3), 3))
NAMED = [
    G.Symmetric(4),
    G.SignedPermutation(3),
    G.SignFlips(3),
    G.CyclicShift(5),
    G.Dihedral(5),
    G.Cyclic(6),
    G.BlockPermutation(3, 2),
    G.SignedBlockPermutation(2, 2),
    G.Diagonal(G.Symmetric(3), 2),
    G.Diagonal(G.Dihedral(4), 2),
    LAYOUT,
    G.Product(G.Symmetric(3), G.Trivial(1), G.SignFlips(2)),
    G.Product(G.Dihedral(3), G.Symmetric(2)),
]
LISTED = [
    G.Coxeter("A3"),
    G.Permutation([[1, 0, 2, 3], [2, 3, 0, 1]]),
    G.Permutation([[2, 1, 0, 3], [0, 3, 2, 1]]),
    G.Permutation([[1, 2, 0, 4, 3]]),
    G.Permutation([[1, 0, 2, 3, 4], [1, 2, 3, 4, 0]]),
]


@pytest.mark.parametrize("group", [*NAMED, *LISTED, G.Trivial(3)], ids=repr)
def test_a_pool_averages_over_all_elements(group):
    rng, pool, elements = np.random.default_rng(0), Pool(group.generators), group.elements()
    x, y, lengths = rng.normal(size=(5, group.dim)), rng.normal(size=(3, group.dim)), np.full(pool.n_scales, 1.5)
    gaps = np.einsum("gij,nj->gni", elements, x)[:, :, None] - y
    slow = np.exp(-(gaps**2).sum(axis=3) / (2 * 1.5**2)).mean(axis=0)
    np.testing.assert_allclose(pool.cross(x, y, lengths), slow, rtol=1e-10)
    assert pool.order == group.order


@pytest.mark.parametrize("group", [*NAMED, *LISTED, G.Trivial(3)], ids=repr)
def test_weighted_derivatives_are_those_of_the_kernel(group):
    """Against differences of the kernel, pair by pair."""
    rng, pool = np.random.default_rng(0), Pool(group.generators)
    x, lengths = rng.normal(size=(5, group.dim)), rng.uniform(1.0, 2.0, pool.n_scales)
    weights = rng.normal(size=(5, 5))
    values, contracted = pool.within(x, lengths)
    np.testing.assert_allclose(values, pool.cross(x, x, lengths), rtol=1e-12)
    slow = []
    for scale in range(pool.n_scales):
        factors = np.exp(1e-5 * (np.arange(pool.n_scales) == scale))
        difference = pool.cross(x, x, lengths * factors) - pool.cross(x, x, lengths / factors)
        slow.append(((weights + weights.T) * difference).sum() / 2e-5)
    np.testing.assert_allclose(contracted(weights + weights.T), slow, atol=1e-8)


@pytest.mark.parametrize("group", [*NAMED, *LISTED], ids=repr)
def test_elements_are_recognised(group):
    pool, elements = Pool(group.generators), group.elements()
    assert pool.contains(elements).all()
    others = np.linalg.qr(np.random.default_rng(1).normal(size=(4, group.dim, group.dim)))[0]
    assert not pool.contains(others).any()
    flip = np.diag([-1.0, *np.ones(group.dim - 1)])
    assert pool.contains(flip[None])[0] == (np.abs(elements - flip).max(axis=(1, 2)).min() < 1e-9)


def test_turns_by_near_fractions_are_told_apart():
    tenth, twelfth = G.Cyclic(10).generators, G.Cyclic(12).generators
    assert not Pool(tenth).contains(twelfth)[0]


def test_large_groups_have_a_form_or_are_refused():
    assert Pool(G.SignedPermutation(8).generators).order == 2**8 * math.factorial(8)
    both = np.concatenate([G.BlockPermutation(5, 2).generators, G.Diagonal(G.Dihedral(6), 5).generators])
    assert Pool(both).order == 120 * 12
    with pytest.raises(GroupTooLargeError):
        Pool(G.Symmetric(13).generators)
    with pytest.raises(GroupTooLargeError):
        Pool(G.Coxeter("F4").generators)


@pytest.mark.parametrize("group", NAMED, ids=repr)
def test_a_group_is_called_by_its_class(group):
    middle = np.full(group.dim, 0.5)
    found = named_group(Pool(group.generators), middle)
    assert repr(found).split(".centered")[0] == repr(group)
    np.testing.assert_allclose(found.act(group.generators, middle), np.tile(middle, (len(group.generators), 1)))


@pytest.mark.parametrize("group", LISTED, ids=repr)
def test_a_group_without_a_class_is_listed(group):
    found = named_group(Pool(group.generators), np.full(group.dim, 0.5))
    assert found.order == group.order
    assert Pool(group.generators).contains(found.generators).all()
