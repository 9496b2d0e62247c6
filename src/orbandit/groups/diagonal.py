"""Diagonal: one element moves all copies at once; rotating a layout rotates every turbine by the same angle."""

from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_dim, identity, shown
from orbandit.errors import GroupTooLargeError, InputTypeError
from orbandit.groups.base import Group, listed
from orbandit.groups.blockwise import kron
from orbandit.groups.enumerated import EnumeratedGroup
from orbandit.groups.structures import Rearranged, Structure


@final
class Diagonal(Group):
    """The same element of a group acting on each of several consecutive blocks.

    Where the part permutes coordinates or blocks, or mixes them, the copies of one coordinate move
    together like a block, and the closed forms of `BlockPermutation`, `SignedBlockPermutation` and
    `Orthogonal` hold. Any other part is listed, if it has at most 100,000 elements, and their
    matrices 2^24 entries. The domain is the part's, for the first copy.

    Parameters
    ----------
    group : Group
        The part.
    copies : int
        Number of blocks of `group.dim` coordinates; at most 100,000 in all blocks.

    Examples
    --------
    >>> import orbandit as ob
    >>> layout = ob.groups.Diagonal(ob.groups.Dihedral(4), 3)  # three turbines, turned and mirrored together
    >>> layout.dim, layout.order, len(layout.domain().normals)
    (6, 8, 2)
    """

    _part: Group
    _copies: int

    def __init__(self, group: Group, copies: int) -> None:
        if not isinstance(group, Group):
            raise InputTypeError(f"`group` must be a group, but got {shown(group)}.", field="group", value=group)
        copies = as_dim(copies, "copies")
        as_dim(copies * group.dim, "copies * group.dim")
        center = np.tile(group.center, copies)
        if isinstance(group, Diagonal):  # copies of copies
            copies *= group._copies
            group = group._part
        self._part, self._copies = group, copies
        blocks, self._inner = group._on_copies(copies)
        places = np.arange(self._inner.dim).reshape(self._copies, blocks, -1)
        self._places = places.transpose(1, 0, 2).ravel()  # inner point = point[places]
        self._back = np.argsort(self._places)
        super().__init__(center)

    @property
    def copies(self) -> int:
        """Number of blocks."""
        return self._copies

    @property
    def order(self) -> int | float:
        """The part's order."""
        return self._part.order

    @property
    def is_reflection(self) -> bool:
        """Whether reflections generate the group: only for a single copy of a reflection group."""
        return self._copies == 1 and self._part.is_reflection

    @property
    def max_generators(self) -> int:
        """The part's."""
        return self._part.max_generators

    @property
    def _effort(self) -> int:
        return self._inner._effort

    @property
    def structure(self) -> Structure:
        """That of the group which moves all copies together."""
        return Rearranged(self._inner, self._places)

    @property
    def unit_coordinates(self) -> list[npt.NDArray[np.intp]]:
        """Those of each copy."""
        return list(np.arange(self.dim).reshape(self._copies, -1))

    def _name(self) -> str:
        return f"Diagonal({self._part._name()}, {self._copies})"

    def _generators(self) -> Array:
        return on_copies(self._part.generators, self._copies)

    def _elements(self) -> Array:
        return on_copies(self._part._elements(), self._copies)

    def _stabilizer(self, point: Array, tolerance: float, limit: int) -> Array:
        inner = self._inner._stabilizer(point[self._places], tolerance, limit)
        return inner[:, self._back][:, :, self._back]

    def _aligning(self, points: Array, target: Array) -> Array:
        inner = self._inner._aligning(points[:, self._places], target[self._places])
        return np.asarray(inner[:, self._back][:, :, self._back])

    def _folding_elements(self, points: Array) -> Array:
        if self._copies == 1:
            return self._part._folding_elements(points)
        inner = self._inner._folding_elements(points[:, self._places])
        return np.asarray(inner[:, self._back][:, :, self._back])

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        return on_copies(self._part._random(size, rng), self._copies)

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        return self._inner._fold(points[:, self._places], slack)[:, self._back]

    def _distance(self, a: Array, b: Array) -> Array:
        return self._inner._distance(a[:, self._places], b[:, self._places])

    @property
    def _base_point(self) -> Array:
        return self._inner._base_point[self._back]

    @property
    def _normals(self) -> Array:
        return self._inner._normals[:, self._back]

    @property
    def fold_normals(self) -> Array:
        """Those of the group that moves all copies together."""
        return self._inner.fold_normals[:, self._back]

    @property
    def fold_support(self) -> npt.NDArray[np.bool_]:
        """That of the group that moves all copies together."""
        return self._inner.fold_support[self._back]

    def _normals_about(self, point: Array) -> Array:
        return self._inner._normals_about(point[self._places])[:, self._back]


def on_copies(matrices: Array, copies: int) -> Array:
    """Let (k, dim, dim) matrices act on each of several blocks."""
    return kron(identity(copies)[None], matrices)


@final
class Copies(EnumeratedGroup):
    """The listed elements of a part, acting on every copy."""

    def __init__(self, part: Group, copies: int) -> None:
        self._part, self._copies = part, copies
        try:
            self._listed = listed(part)
        except GroupTooLargeError as error:
            raise GroupTooLargeError(
                f"Diagonal must list the elements of {shown(part)}, which are too many; it has closed forms for "
                "Symmetric, SignedPermutation, SignFlips, BlockPermutation, SignedBlockPermutation and Orthogonal."
            ) from error
        identity = np.abs(self._listed - np.eye(part.dim)).max(axis=(1, 2)).argmin()
        self._listed[[0, identity]] = self._listed[[identity, 0]]
        super().__init__(np.zeros(part.dim * copies))

    @property
    def order(self) -> int:
        """The part's order."""
        return len(self._listed)

    def _name(self) -> str:
        return f"Copies({self._part._name()}, {self._copies})"

    def _generators(self) -> Array:
        return on_copies(self._part.generators, self._copies)

    def _elements(self) -> Array:
        return on_copies(self._listed, self._copies)

    def _images(self, points: Array) -> Array:
        blocks = points.reshape(len(points), self._copies, self._part.dim)
        images = np.einsum("gij,mcj->mgci", self._listed, blocks)
        return np.asarray(images).reshape(len(points), self.order, self.dim)

    @property
    def _base_point(self) -> Array:
        return np.concatenate([self._part._base_point, np.zeros(self.dim - self._part.dim)])
