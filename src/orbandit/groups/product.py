"""Product: each part acts on its own coordinates, and everything splits into the parts."""

import math
from functools import reduce
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, check_room, shown
from orbandit.errors import InputError, InputTypeError
from orbandit.groups.base import Group
from orbandit.groups.closure import check_limit
from orbandit.groups.structures import SideBySide, Structure


@final
class Product(Group):
    """The direct product of groups, side by side: d^2 is the sum of the parts' d^2.

    Parameters
    ----------
    *parts : Group
        At least one; their centres are kept.

    Examples
    --------
    >>> import orbandit as ob
    >>> group = ob.groups.Product(ob.groups.Symmetric(2), ob.groups.SignFlips(1))
    >>> group.order, group.fold([0.7, 0.2, -0.5])
    (4, array([0.2, 0.7, 0.5]))
    """

    def __init__(self, *parts: Group) -> None:
        if not parts:
            raise InputError("a product needs at least one group, but got none.")
        for part in parts:
            if not isinstance(part, Group):
                raise InputTypeError(f"a product is made of groups, but got {shown(part)}.")
        self._parts = parts
        ends = np.cumsum([part.dim for part in parts]).tolist()
        self._slices = [slice(end - part.dim, end) for part, end in zip(parts, ends, strict=True)]
        super().__init__(np.concatenate([part.center for part in parts]))

    @property
    def parts(self) -> tuple[Group, ...]:
        """The groups, in the order of their coordinates."""
        return self._parts

    @property
    def order(self) -> int | float:
        """Product of the parts' orders."""
        orders = [part.order for part in self._parts]
        return math.inf if math.inf in orders else math.prod(orders)

    @property
    def is_reflection(self) -> bool:
        """Whether all parts are reflection groups."""
        return all(part.is_reflection for part in self._parts)

    @property
    def max_generators(self) -> int:
        """Sum over the parts."""
        return sum(part.max_generators for part in self._parts)

    @property
    def _effort(self) -> int:
        return sum(part._effort for part in self._parts)

    @property
    def structure(self) -> Structure:
        """The parts side by side."""
        return SideBySide(tuple(zip(self._parts, self._slices, strict=True)))

    @property
    def unit_coordinates(self) -> list[npt.NDArray[np.intp]]:
        """The parts' units."""
        parts = zip(self._parts, self._slices, strict=True)
        return [own.start + unit for part, own in parts for unit in part.unit_coordinates]

    def _name(self) -> str:
        return f"Product({', '.join(part._name() for part in self._parts)})"

    def _generators(self) -> Array:
        return np.concatenate(
            [self._embed(part.generators, own) for part, own in zip(self._parts, self._slices, strict=True)]
        )

    def _elements(self) -> Array:
        return self._combine([part._elements() for part in self._parts])

    def _stabilizer(self, point: Array, tolerance: float, limit: int) -> Array:
        fixing = [
            part._stabilizer(point[own], tolerance, limit) for part, own in zip(self._parts, self._slices, strict=True)
        ]
        check_limit(math.prod(map(len, fixing)), limit, f"the elements of {shown(self)} that fix this point")
        return self._combine(fixing)

    def _aligning(self, points: Array, target: Array) -> Array:
        matrices = np.zeros((len(points), self.dim, self.dim))
        for part, own in zip(self._parts, self._slices, strict=True):
            matrices[:, own, own] = part._aligning(points[:, own], target[own])
        return matrices

    def _folding_elements(self, points: Array) -> Array:
        matrices = np.zeros((len(points), self.dim, self.dim))
        for part, own in zip(self._parts, self._slices, strict=True):
            matrices[:, own, own] = part._folding_elements(points[:, own])
        return matrices

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        matrices = np.zeros((size, self.dim, self.dim))
        for part, own in zip(self._parts, self._slices, strict=True):
            matrices[:, own, own] = part._random(size, rng)
        return matrices

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        return np.hstack(
            [part._fold(points[:, own], slack) for part, own in zip(self._parts, self._slices, strict=True)]
        )

    def _distance(self, a: Array, b: Array) -> Array:
        return reduce(
            np.hypot,
            [part._distance(a[:, own], b[:, own]) for part, own in zip(self._parts, self._slices, strict=True)],
        )

    @property
    def _base_point(self) -> Array:
        return np.concatenate([part._base_point for part in self._parts])

    @property
    def _normals(self) -> Array:
        return self._side_by_side([part._normals for part in self._parts])

    @property
    def fold_normals(self) -> Array:
        """The parts' normals, each on its own coordinates."""
        return self._side_by_side([part.fold_normals for part in self._parts])

    @property
    def fold_support(self) -> npt.NDArray[np.bool_]:
        """The parts', side by side."""
        return np.concatenate([part.fold_support for part in self._parts])

    def _normals_about(self, point: Array) -> Array:
        return self._side_by_side(
            [part._normals_about(point[own]) for part, own in zip(self._parts, self._slices, strict=True)]
        )

    def _side_by_side(self, normals: list[Array]) -> Array:
        rows = np.zeros((sum(map(len, normals)), self.dim))
        start = 0
        for part_normals, own in zip(normals, self._slices, strict=True):
            rows[start : start + len(part_normals), own] = part_normals
            start += len(part_normals)
        return rows

    def _embed(self, matrices: Array, own: slice) -> Array:
        """Let a part's matrices act on the whole; they fix the other coordinates."""
        check_room("the matrices of the product", len(matrices), self.dim, self.dim)
        whole = np.broadcast_to(np.eye(self.dim), (len(matrices), self.dim, self.dim)).copy()
        whole[:, own, own] = matrices
        return whole

    def _combine(self, lists: list[Array]) -> Array:
        """Return every choice of one matrix per part, the first parts varying slowest."""
        whole = np.eye(self.dim)[None]
        for matrices, own in zip(lists, self._slices, strict=True):
            whole = (whole[:, None] @ self._embed(matrices, own)).reshape(-1, self.dim, self.dim)
        return whole
