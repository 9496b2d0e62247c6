"""Which arms a reward at a point updates: the nearest arm of a mesh, or every arm of N(x, 2 delta).

N(x, 2 delta) are the arms within 2 delta of the orbit of x. A reward at x is a side observation of
each of them, biased by up to 2 delta.
"""

from typing import Protocol, cast, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels.arms import ArmArray
from orbandit.agents.mesh_rule import MeshRule
from orbandit.agents.neighborhoods import Neighborhoods
from orbandit.groups import Group, Trivial
from orbandit.meshes import CoveringTree, Mesh
from orbandit.meshes.neighbors import ByMetric, Search, search

MAX_NEIGHBORS = 50_000_000
"""With more neighbours in total than this, lists are made when arms are first played."""

LISTS_AT_ONCE, SLOW_LISTS_AT_ONCE = 1024, 32
"""How many lists are then made at a time, and how many where each takes long."""

Lists = tuple[npt.NDArray[np.int64], ArmArray]
"""(indptr, indices): the arms of the i-th point are indices[indptr[i]:indptr[i + 1]]."""


class Learners(Protocol):
    """Which arms a reward updates."""

    @property
    def lists(self) -> Neighborhoods | None:
        """The arms that a reward of each arm updates; None if that is the arm alone."""

    def of(self, arm: int) -> ArmArray:
        """Return the arms that a reward of an arm updates."""

    def at(self, points: Array) -> Lists:
        """Return the arms that a reward at each point updates."""


@final
class NearestArm:
    """A reward updates the arm nearest to its point in the orbit metric."""

    lists = None

    def __init__(self, arms: Mesh) -> None:
        self._arms = arms

    def of(self, arm: int) -> ArmArray:
        """Return the arm alone."""
        return np.array([arm], dtype=np.int32)

    def at(self, points: Array) -> Lists:
        """Return the nearest arm of each point."""
        nearest = np.asarray(self._arms.nearest(points))
        return np.arange(len(nearest) + 1), nearest.astype(np.int32)


@final
class OrbitNeighbors:
    """A reward updates all arms within 2 delta of the orbit of its point.

    Parameters
    ----------
    arms : Mesh
        By their numbers.
    group : Group or None
        The symmetry.
    tree : CoveringTree, optional
        The arms are its leaves, and the search is the appendix's, which is approximate.
    """

    def __init__(self, arms: Mesh, group: Group | None, tree: CoveringTree | None = None) -> None:
        self._arms, self._group, self._tree, self._radius = arms, group, tree, 2 * arms.delta
        self._search: Search | None = None
        if tree is None:
            self._search = search(arms, group, self._radius)
        else:  # leaves whose centres lie outside may share an arm
            numbers = {point.tobytes(): number for number, point in enumerate(arms.points)}
            self._leaves = np.array([numbers[(point + 0.0).tobytes()] for point in tree.mesh.points], dtype=np.int32)
        self.lists = Neighborhoods(len(arms), lambda chosen: self.at(arms.points[chosen]), self._batch())
        self.of = self.lists.of  # N(x, 2 delta) of an arm

    @property
    def reach(self) -> float:
        """The largest distance between an arm and a reward that updates it, in units of X."""
        return self._radius + (0.0 if self._tree is None else self._tree.extra_width(self._radius))

    def at(self, points: Array) -> Lists:
        """Return N(x, 2 delta) of each point."""
        if self._search is not None:
            return self._search.within(points)
        lists = [self._approximate(point) for point in points]
        indptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
        return indptr, np.concatenate([*lists, np.empty(0, dtype=np.int32)])

    def _approximate(self, point: Array) -> ArmArray:
        """Return the arms that the appendix's search finds, and the one nearest to the point."""
        tree, group = cast("CoveringTree", self._tree), self._group or Trivial(len(point))
        leaves = tree.orbit_neighbors(group, point, self._radius, exact=False)
        return np.union1d(self._leaves[leaves], self._leaves[tree.mesh.nearest(point)])

    def _batch(self) -> int:
        """Return how many lists to make at a time.

        0 makes all now, unless they are too many or slow.
        """
        if self._search is None or isinstance(self._search, ByMetric):
            return SLOW_LISTS_AT_ONCE
        sample = self._arms.points[:1000]  # the order is random
        return 0 if self._search.counts(sample).mean() * len(self._arms) <= MAX_NEIGHBORS else LISTS_AT_ONCE


def orbit_neighbors(rule: MeshRule, arms: Mesh) -> OrbitNeighbors:
    """Return who is in N(x, 2 delta) of a point x, by the search that the rule's meshes are for."""
    return OrbitNeighbors(arms, arms.group, rule.tree(arms.delta, len(arms)) if rule.is_tree else None)
