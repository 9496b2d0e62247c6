"""Symmetry groups.

Isometries with folds, orbit metrics and fundamental domains, one family per file.
"""

from orbandit.groups.base import Group
from orbandit.groups.blocks import BlockPermutation, SignedBlockPermutation
from orbandit.groups.check import GeneratorCheck, SymmetryReport, check_symmetry
from orbandit.groups.coxeter import Coxeter
from orbandit.groups.diagonal import Diagonal
from orbandit.groups.domain import Domain
from orbandit.groups.generated import CyclicShift, Matrix, Permutation
from orbandit.groups.joint import Joint
from orbandit.groups.orthogonal import Orthogonal
from orbandit.groups.planar import Cyclic, Dihedral
from orbandit.groups.product import Product
from orbandit.groups.signed import SignedPermutation, SignFlips
from orbandit.groups.symmetric import Symmetric
from orbandit.groups.trivial import Trivial

__all__ = [
    "BlockPermutation",
    "Coxeter",
    "Cyclic",
    "CyclicShift",
    "Diagonal",
    "Dihedral",
    "Domain",
    "GeneratorCheck",
    "Group",
    "Joint",
    "Matrix",
    "Orthogonal",
    "Permutation",
    "Product",
    "SignFlips",
    "SignedBlockPermutation",
    "SignedPermutation",
    "Symmetric",
    "SymmetryReport",
    "Trivial",
    "check_symmetry",
]
