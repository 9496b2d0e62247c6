"""preserves() on pairs whose answer is known, and against samples for the rest."""

import numpy as np
import pytest

import orbandit as ob
from cases import G, S, rotation

disk, square = S.Ball(2), S.Box(-1, 1, dim=2)
disks = disk**3

YES = [
    (S.Box(0, 1, dim=3), G.Symmetric(3)),
    (S.Box([0, 0, -5], [1, 1, 5]), G.Product(G.Symmetric(2), G.SignFlips(1))),
    (S.Box(0, 1, dim=3), G.SignedPermutation(3).centered([0.5] * 3)),
    (S.Box(0, 1, dim=3), G.CyclicShift(3)),
    (S.Box([-1, -2], [1, 2]), G.SignFlips(2)),
    (square, G.Dihedral(4)),
    (square, G.Cyclic(2)),
    (disk, G.Dihedral(17)),
    (S.Ball(2, center=[3.0, 4.0]), G.Cyclic(5).centered([3.0, 4.0])),
    (S.Ball(6), G.Orthogonal(2, 3)),
    (S.Ball(3), G.Coxeter("H3")),
    (S.Simplex(4), G.Symmetric(4)),
    (S.Simplex(4), G.Permutation([1, 0, 3, 2])),
    (S.Polytope.regular("tetrahedron"), G.Coxeter("A3")),
    (S.Polytope.regular("cube"), G.Coxeter("B3")),
    (S.Polytope.regular("octahedron"), G.SignedPermutation(3)),
    (S.Polytope.regular("dodecahedron"), G.Coxeter("H3")),
    (S.Polytope.regular("icosahedron"), G.Coxeter("H3")),
    (S.Polytope.regular("polygon-3"), G.Coxeter("A2")),
    (S.Polytope.regular("polygon-7"), G.Dihedral(7)),
    (S.Polytope.regular("polygon-7"), G.Cyclic(7)),
    (S.Polytope.regular("polygon-6"), G.Dihedral(3)),
    (S.Polytope([[0], [1]]), G.SignFlips(1).centered([0.5])),
    (disks, G.BlockPermutation(3, 2)),
    (disks, G.Diagonal(G.Dihedral(16), 3)),
    (disks, G.Joint(G.BlockPermutation(3, 2), G.Diagonal(G.Dihedral(16), 3))),
    (disks, G.Product(G.Cyclic(3), G.Cyclic(4), G.Cyclic(5))),
    (S.Product(S.Ball(1), S.Box(-1, 1, dim=1)), G.Symmetric(2)),
    (S.Product(S.Simplex(2), S.Simplex(2)), G.BlockPermutation(2, 2)),
    (S.Product(S.Polytope.regular("polygon-4"), S.Polytope.regular("polygon-4")), G.BlockPermutation(2, 2)),
    (S.Product(S.Box(0, 1, dim=2), S.Polytope([[0], [1]])), G.Symmetric(3)),
    (S.Box(0, 1, dim=3), G.Trivial(3)),
    (square, G.Cyclic(1)),
    (S.Product(disk, disk), G.Joint(G.BlockPermutation(2, 2), G.Diagonal(G.Cyclic(1), 2))),
    (disk, G.Cyclic(10**10)),
    (S.Polytope.regular("polygon-2000"), G.Cyclic(2000)),
]

tilt = np.eye(4)
tilt[np.ix_([0, 2], [0, 2])] = rotation(1.4e-5)

NO = [
    (S.Product(disk, disk), G.Matrix(tilt @ np.diag([-1.0, 1, 1, 1]) @ tilt.T)),
    (square, G.Cyclic(10**10)),
    (S.Box([0, 0], [1, 2]), G.Symmetric(2)),
    (S.Box([0, 1], [1, 2]), G.Symmetric(2)),
    (S.Box(0, 1, dim=3), G.SignedPermutation(3)),
    (S.Box(0, 1, dim=3), G.SignedPermutation(3).centered([0.5, 0.5, 0.500001])),
    (square, G.Dihedral(5)),
    (square, G.Dihedral(8)),
    (S.Box(-1, 1, dim=6), G.Orthogonal(2, 3)),
    (S.Box(-1, 1, dim=3), G.Coxeter("H3")),
    (disk, G.Cyclic(5).centered([0.1, 0.0])),
    (S.Ball(2, center=[3.0, 4.0]), G.Cyclic(5)),
    (S.Simplex(3), G.SignFlips(3)),
    (S.Polytope.regular("icosahedron"), G.Coxeter("B3")),
    (S.Polytope.regular("icosahedron"), G.Symmetric(3)),
    (S.Polytope.regular("octahedron"), G.Coxeter("A3")),
    (S.Polytope.regular("cube"), G.Coxeter("A3")),
    (S.Polytope.regular("polygon-5"), G.Dihedral(4)),
    (S.Polytope.regular("polygon-5"), G.Matrix(rotation(np.pi))),
    (S.Product(disk, S.Ball(2, radius=2.0)), G.BlockPermutation(2, 2)),
    (S.Product(disk, S.Ball(2, center=[0.0, 1.0])), G.BlockPermutation(2, 2)),
    (S.Product(disk, square), G.BlockPermutation(2, 2)),
    (disks, G.Symmetric(6)),
    (disks, G.SignedPermutation(6)),
    (S.Product(disk, disk), G.Orthogonal(2, 2)),
]


@pytest.mark.parametrize(("space", "group"), YES, ids=lambda case: repr(case)[:60])
def test_preserved(space, group):
    assert group.preserves(space) is True
    points = space.sample(200, 0)
    for g in group.random(5, 1):
        assert space.contains(group.act(g, points)).all()


@pytest.mark.parametrize(("space", "group"), NO, ids=lambda case: repr(case)[:60])
def test_not_preserved(space, group):
    assert group.preserves(space) is False


def test_mismatched_arguments_are_refused():
    with pytest.raises(ob.errors.InputError, match="one dimension"):
        G.Symmetric(3).preserves(square)
    with pytest.raises(ob.errors.InputTypeError, match="one of ob"):
        G.Symmetric(3).preserves("cube")
