"""SharingAgent: agents on a mesh where a reward at x is an observation of every arm of N(x, 2 delta).

N(x, 2 delta) are the arms within 2 delta of the orbit of x. What they are told is biased by up to 2 delta.
"""

from typing import cast

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, shown
from orbandit._kernels.arms import ArmArray
from orbandit.agents.neighborhoods import Neighborhoods
from orbandit.agents.on_mesh import MeshAgent
from orbandit.errors import GroupTooLargeError, MeshTooLargeError
from orbandit.groups import Trivial
from orbandit.groups.base import MAX_ELEMENTS
from orbandit.meshes import CoveringTree, Mesh
from orbandit.meshes.neighbors import ByMetric, Search, search

LISTED = 50_000_000
"""With more neighbours than this in all, lists are made when arms are first played."""

BATCH, SLOW_BATCH = 1024, 32
"""How many lists are then made at a time, and how many where each takes long."""


ALIKE, FEW = 64, 2**17
"""A tree of coverings has at most so many leaves for each distinct point of them, unless it has few: `load` counts on
that, which is told the points and makes the tree again."""


class SharingAgent(MeshAgent):
    """Shares each reward along the orbit."""

    _search: Search | None
    _tree: CoveringTree | None = None

    _meshes = ("quotient", "full", "tree")

    @property
    def _reward_bias(self) -> float:
        """How much an observation may be off the mean of an arm, in scaled rewards."""
        extra = 0.0 if self._tree is None else self._tree.extra_width(2 * self.delta)
        return (2 * self.delta + extra) * self._scale

    @property
    def _bias(self) -> float:
        """Three deltas: two for the observations, and one for the points the arm stands for."""
        return self._reward_bias + self.delta * self._scale

    def _checked_mesh(self, mesh: str | Mesh) -> str | Mesh:
        if isinstance(mesh, str) and mesh == "tree" and self._group is not None and self._group.order > MAX_ELEMENTS:
            raise GroupTooLargeError(
                f"the search of mesh='tree' lists orbits, but {shown(self._group)} has {shown(self._group.order)} "
                "elements; use mesh='quotient'."
            )
        return super()._checked_mesh(mesh)

    def _named_mesh(self, delta: float) -> Mesh:
        if self._mesh_setting != "tree":
            return super()._named_mesh(delta)
        tree = CoveringTree(self._space, delta)
        if len(tree.mesh) > _most_leaves(len(self._distinct(tree.mesh))):
            raise MeshTooLargeError(
                f"the leaves of mesh='tree' must have a distinct point for every {ALIKE} of them, but with delta="
                f"{delta:.3g} there are {len(tree.mesh):,} with fewer; use a larger `delta`, or mesh='quotient'."
            )
        self._tree = tree
        return tree.mesh

    def _connect(self) -> None:
        if self._mesh_setting == "tree":
            self._search, batch = None, SLOW_BATCH
            self._number_leaves()
        else:
            self._search = search(self._arms, self._group, 2 * self.delta)
            batch = SLOW_BATCH if isinstance(self._search, ByMetric) else self._batch(self._search)
        self._lists = Neighborhoods(len(self._arms), self._neighbors, batch)

    def _batch(self, searcher: Search) -> int:
        """Return 0, for lists of all arms now, unless they are too many."""
        sample = self._arms.points[:1000]  # the order is random
        return 0 if searcher.counts(sample).mean() * len(self._arms) <= LISTED else BATCH

    def _neighbors(self, arms: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.int64], ArmArray]:
        """Return who learns from each arm."""
        return self._reach_all(self._arms.points[arms])

    def _reach_all(self, points: Array) -> tuple[npt.NDArray[np.int64], ArmArray]:
        if self._search is not None:
            return self._search.within(points)
        lists = [self._approximate(point) for point in points]
        indptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
        return indptr, np.concatenate([*lists, np.empty(0, dtype=np.int32)])

    def _number_leaves(self) -> None:
        """Find the arm of each leaf of the tree; leaves whose centres lie outside may share one."""
        if self._tree is None or self._tree.mesh.delta != self.delta:
            self._tree = CoveringTree(self._space, self.delta, limit=2 * _most_leaves(len(self._arms)))
        numbers = {point.tobytes(): number for number, point in enumerate(self._arms.points)}
        self._leaves = np.array([numbers[(point + 0.0).tobytes()] for point in self._tree.mesh.points], dtype=np.int32)

    def _approximate(self, point: Array) -> ArmArray:
        """Return the arms that the appendix's search finds, and the one nearest to the point."""
        tree = cast("CoveringTree", self._tree)
        group = self._group or Trivial(self._space.dim)
        leaves = tree.orbit_neighbors(group, point, 2 * self.delta, exact=False)
        nearest = self._leaves[tree.mesh.nearest(point)]
        return np.union1d(self._leaves[leaves], nearest)


def _most_leaves(points: int) -> int:
    """Return how many leaves a tree with so many distinct points may have."""
    return max(FEW, ALIKE * points)
