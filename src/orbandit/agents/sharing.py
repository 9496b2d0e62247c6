"""SharingAgent: agents on a mesh where a reward at x is an observation of every arm of N(x, 2 delta).

N(x, 2 delta) are the arms within 2 delta of the orbit of x. What they are told is biased by up to 2 delta.
"""

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels.arms import ArmArray
from orbandit.agents.neighborhoods import Neighborhoods
from orbandit.agents.on_mesh import MeshAgent
from orbandit.groups import Trivial
from orbandit.meshes import CoveringTree, Mesh
from orbandit.meshes.neighbors import ByMetric, Search, search

LISTED = 50_000_000
"""With more neighbours than this in all, lists are made when arms are first played."""

BATCH, SLOW_BATCH = 1024, 32
"""How many lists are then made at a time, and how many where each takes long."""


class SharingAgent(MeshAgent):
    """Shares each reward along the orbit."""

    _search: Search | None
    _tree: CoveringTree | None

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

    def _named_mesh(self, delta: float) -> Mesh:
        return CoveringTree(self._space, delta).mesh if self._mesh_setting == "tree" else super()._named_mesh(delta)

    def _connect(self) -> None:
        self._search, self._tree = None, None
        if self._mesh_setting == "tree":
            self._tree = CoveringTree(self._space, self.delta)
            self._number = np.empty(len(self._order), dtype=np.int32)
            self._number[self._order] = np.arange(len(self._order), dtype=np.int32)
            batch = SLOW_BATCH
        else:
            self._search = search(self._arms, self._group, 2 * self.delta)
            batch = SLOW_BATCH if isinstance(self._search, ByMetric) else self._batch(self._search)
        self._lists = Neighborhoods(len(self._arms), lambda arms: self._reach_all(self._arms.points[arms]), batch)

    def _batch(self, searcher: Search) -> int:
        """Return 0, for lists of all arms now, unless they are too many."""
        sample = self._arms.points[: 1000 if len(self._arms) > 1000 else len(self._arms)]  # random: order is priority
        return 0 if searcher.counts(sample).mean() * len(self._arms) <= LISTED else BATCH

    def _reach_all(self, points: Array) -> tuple[npt.NDArray[np.int64], ArmArray]:
        if self._search is not None:
            return self._search.within(points)
        lists = [self._approximate(point) for point in points]
        indptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
        return indptr, np.concatenate([*lists, np.empty(0, dtype=np.int32)])

    def _approximate(self, point: Array) -> ArmArray:
        """Return the arms that the appendix's search finds, and the leaf that the point is in."""
        assert self._tree is not None
        group = self._group or Trivial(self._space.dim)
        leaves = self._tree.orbit_neighbors(group, point, 2 * self.delta, exact=False)
        nearest = self._tree.mesh.nearest(point)
        return self._number[np.union1d(leaves, nearest)]
