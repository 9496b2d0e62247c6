"""Groups and spaces that many tests run over, and points where groups are delicate."""

import math

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import orbandit as ob

G = ob.groups
S = ob.spaces


def rotation(angle):
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


def _space_rotation(i, j, angle):
    matrix = np.eye(3)
    matrix[np.ix_([i, j], [i, j])] = rotation(angle)
    return matrix


CUBE_ROTATIONS = [_space_rotation(0, 1, math.pi / 2), _space_rotation(1, 2, math.pi / 2)]


def icosahedral_rotations():
    reflections = G.Coxeter("H3").generators
    return [reflections[0] @ reflections[1], reflections[1] @ reflections[2]]


FINITE = {
    "trivial": lambda: G.Trivial(3),
    "S1": lambda: G.Symmetric(1),
    "S2": lambda: G.Symmetric(2),
    "S4": lambda: G.Symmetric(4),
    "B1": lambda: G.SignedPermutation(1),
    "B3": lambda: G.SignedPermutation(3),
    "B3 about the cube's centre": lambda: G.SignedPermutation(3).centered([0.5, 0.5, 0.5]),
    "flips": lambda: G.SignFlips(3),
    "C1": lambda: G.Cyclic(1),
    "C2": lambda: G.Cyclic(2),
    "C5": lambda: G.Cyclic(5),
    "C5 moved": lambda: G.Cyclic(5).centered([0.3, -0.2]),
    "D1": lambda: G.Dihedral(1),
    "D2": lambda: G.Dihedral(2),
    "D5": lambda: G.Dihedral(5),
    "D16": lambda: G.Dihedral(16),
    "shift 2": lambda: G.CyclicShift(2),
    "shift 5": lambda: G.CyclicShift(5),
    "Coxeter A1": lambda: G.Coxeter("A1"),
    "Coxeter A2": lambda: G.Coxeter("A2"),
    "Coxeter A3": lambda: G.Coxeter("A3"),
    "Coxeter A4": lambda: G.Coxeter("A4"),
    "Coxeter B3": lambda: G.Coxeter("B3"),
    "Coxeter D4": lambda: G.Coxeter("D4"),
    "Coxeter F4": lambda: G.Coxeter("F4"),
    "Coxeter G2": lambda: G.Coxeter("G2"),
    "Coxeter H3": lambda: G.Coxeter("H3"),
    "Coxeter I2(7)": lambda: G.Coxeter("I2(7)"),
    "blocks 3x2": lambda: G.BlockPermutation(3, 2),
    "blocks 4x1": lambda: G.BlockPermutation(4, 1),
    "blocks 1x3": lambda: G.BlockPermutation(1, 3),
    "signed blocks 2x2": lambda: G.SignedBlockPermutation(2, 2),
    "signed blocks 3x2": lambda: G.SignedBlockPermutation(3, 2),
    "diagonal D3": lambda: G.Diagonal(G.Dihedral(3), 2),
    "diagonal C4": lambda: G.Diagonal(G.Cyclic(4), 3),
    "diagonal S3": lambda: G.Diagonal(G.Symmetric(3), 2),
    "diagonal B2": lambda: G.Diagonal(G.SignedPermutation(2), 2),
    "diagonal flips": lambda: G.Diagonal(G.SignFlips(2), 2),
    "diagonal blocks": lambda: G.Diagonal(G.BlockPermutation(2, 2), 2),
    "diagonal trivial": lambda: G.Diagonal(G.Trivial(2), 2),
    "diagonal H3": lambda: G.Diagonal(G.Coxeter("H3"), 2),
    "diagonal moved": lambda: G.Diagonal(G.Dihedral(3).centered([1.0, 2.0]), 2),
    "one diagonal copy": lambda: G.Diagonal(G.Dihedral(4), 1),
    "farm 3 D4": lambda: G.Joint(G.BlockPermutation(3, 2), G.Diagonal(G.Dihedral(4), 3)),
    "farm 2 C3": lambda: G.Joint(G.BlockPermutation(2, 2), G.Diagonal(G.Cyclic(3), 2)),
    "joint flips, shift": lambda: G.Joint(G.SignFlips(3), G.CyclicShift(3)),
    "joint rotations, flips": lambda: G.Joint(G.Cyclic(3), G.Dihedral(6)),
    "joint, b within a": lambda: G.Joint(G.Symmetric(3), G.CyclicShift(3)),
    "joint signed, turned": lambda: G.Joint(G.SignedBlockPermutation(2, 2), G.Diagonal(G.Cyclic(4), 2)),
    "cube rotations": lambda: G.Matrix(CUBE_ROTATIONS),
    "icosahedral rotations": lambda: G.Matrix(icosahedral_rotations()),
    "point reflection": lambda: G.Matrix(-np.eye(3)),
    "Klein": lambda: G.Permutation([[1, 0, 3, 2], [2, 3, 0, 1]]),
    "alternating": lambda: G.Permutation([[1, 2, 0, 3], [0, 2, 3, 1]]),
    "product": lambda: G.Product(G.Symmetric(2), G.Cyclic(3)),
    "product of reflections": lambda: G.Product(G.Coxeter("A2"), G.SignFlips(1).centered([0.5])),
}

INFINITE = {
    "O(2) on 2": lambda: G.Orthogonal(2, 2),
    "O(3) on 2": lambda: G.Orthogonal(3, 2),
    "O(2) on 5": lambda: G.Orthogonal(2, 5),
    "diagonal O(2)": lambda: G.Diagonal(G.Orthogonal(2, 2), 2),
    "product with O(2)": lambda: G.Product(G.Orthogonal(2, 3), G.Symmetric(2)),
    "points in space": lambda: G.Joint(G.Diagonal(G.Orthogonal(3, 1), 4), G.BlockPermutation(4, 3)),
    "joint with O(2)": lambda: G.Joint(
        G.Orthogonal(2, 2), G.Matrix(np.kron(np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])))
    ),
}

LARGE = {
    "S20": lambda: G.Symmetric(20),
    "B12": lambda: G.SignedPermutation(12),
    "E6": lambda: G.Coxeter("E6"),
    "E7": lambda: G.Coxeter("E7"),
    "E8": lambda: G.Coxeter("E8"),
    "H4": lambda: G.Coxeter("H4"),
    "blocks 12x2": lambda: G.BlockPermutation(12, 2),
    "signed blocks 10x2": lambda: G.SignedBlockPermutation(10, 2),
    "eight turbines": lambda: G.Joint(G.BlockPermutation(8, 2), G.Diagonal(G.Dihedral(16), 8)),
    "diagonal S9": lambda: G.Diagonal(G.Symmetric(9), 2),
    "joint flips, shift 18": lambda: G.Joint(G.SignFlips(18), G.CyclicShift(18)),
    "joint without a domain": lambda: G.Joint(G.SignedBlockPermutation(6, 2), G.Diagonal(G.Cyclic(8), 6)),
}

SPACES = {
    "interval": lambda: S.Box(-1.0, 2.0, dim=1),
    "box": lambda: S.Box([0.0, -1.0, 2.0], [1.0, 3.0, 2.5]),
    "disk": lambda: S.Ball(2, radius=1.5, center=[0.5, -1.0]),
    "ball in 5-D": lambda: S.Ball(5),
    "1-D ball": lambda: S.Ball(1, radius=0.5),
    "simplex 2": lambda: S.Simplex(2),
    "simplex 4": lambda: S.Simplex(4),
    "1-D polytope": lambda: S.Polytope([[0.0], [2.0], [1.0]]),
    "thin triangle": lambda: S.Polytope([[0.0, 0.0], [1.0, 1.0], [1.0, 1.05]]),
    "tetrahedron": lambda: S.Polytope.regular("tetrahedron"),
    "cube": lambda: S.Polytope.regular("cube"),
    "octahedron": lambda: S.Polytope.regular("octahedron"),
    "dodecahedron": lambda: S.Polytope.regular("dodecahedron"),
    "icosahedron": lambda: S.Polytope.regular("icosahedron"),
    "pentagon": lambda: S.Polytope.regular("polygon-5"),
    "4-D cross": lambda: S.Polytope(np.vstack([np.eye(4), -np.eye(4)])),
    "product": lambda: S.Product(S.Ball(2), S.Simplex(3), S.Box(0, 1, dim=1)),
    "nested product": lambda: S.Product(S.Product(S.Ball(2), S.Ball(2, radius=2.0)), S.Polytope.regular("polygon-3")),
}


def delicate_points(group, size, seed):
    """Random points, and points on, just beside and far along the walls of the domain or of coordinates."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((size, group.dim))
    # ties between coordinates
    points[: size // 4] = rng.integers(-1, 2, size=(size // 4, group.dim))
    try:
        normals = group.domain().normals
    except ob.errors.NoDomainError:
        normals = np.empty((0, group.dim))
    if len(normals):
        for i in range(size // 4, size // 2):  # on one or two walls, exactly or within 1e-10
            for normal in normals[rng.integers(len(normals), size=1 + i % 2)]:
                points[i] -= (normal @ points[i]) * normal
            points[i] += [0.0, 1e-10, -1e-13][i % 3] * normal
    points[-1] = 0.0
    return points + group.center


def points_near_walls(group, size, seed):
    """Points of one wall of the domain, moved off it by from 1e-16 to 1e-11 to either side, and their images."""
    rng = np.random.default_rng(seed)
    normals = group.domain().normals
    if not len(normals):
        return group.center + rng.standard_normal((size, group.dim))
    walls = normals[rng.integers(len(normals), size=size)]
    points = rng.standard_normal((size, group.dim))
    points -= (points * walls).sum(axis=1, keepdims=True) * walls
    points += 10.0 ** rng.uniform(-16, -11, (size, 1)) * rng.choice([-1, 1], (size, 1)) * walls
    elements = group.random(8, rng)
    return group.center + np.einsum("mij,mj->mi", elements[rng.integers(8, size=size)], points)


def coordinates(dim):
    """Hypothesis strategy: vectors in which equal, opposite and zero coordinates are common."""
    generic = st.floats(-2, 2, allow_subnormal=False, width=32)
    return arrays(np.float64, dim, elements=st.sampled_from([0.0, 0.5, -0.5, 1.0]) | generic)
