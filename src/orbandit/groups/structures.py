"""The structure of an orbit space, from which kernels are built.

A group has one of these as its `structure`. `Listed` always holds, and costs a pass over all
elements; the others describe the orbits of larger groups. Reflection groups need none, since their
orbit space is that of their folds; permutations of coordinates are multisets as well.
"""

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array

if TYPE_CHECKING:
    from orbandit.groups.base import Group


class Listed(NamedTuple):
    """Nothing is known but the elements: invariant functions are averages over all of them."""


class Multisets(NamedTuple):
    """An orbit is a multiset of `blocks` vectors of `size` coordinates each; up to their signs, if `is_signed`."""

    blocks: int
    size: int
    is_signed: bool


class GramMatrices(NamedTuple):
    """An orbit is what M^T M says of a matrix M of shape (blocks, size)."""

    blocks: int
    size: int


class Rearranged(NamedTuple):
    """The group acts on x as another one does on x[places]."""

    group: "Group"
    places: npt.NDArray[np.intp]


class SideBySide(NamedTuple):
    """An orbit is one of each part, on the part's own coordinates."""

    parts: tuple[tuple["Group", slice], ...]


class Extension(NamedTuple):
    """An orbit is one of a quotient group on the orbits of a normal subgroup.

    That group is given by one element of each coset, (h, dim, dim), the identity first, and by its
    generators.
    """

    normal: "Group"
    cosets: Array
    generators: Array


Structure: TypeAlias = Listed | Multisets | GramMatrices | Rearranged | SideBySide | Extension
