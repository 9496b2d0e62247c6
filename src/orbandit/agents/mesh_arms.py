"""MeshArms: the points of a mesh as arms, numbered by priority, with their table.

Delta and points are in units of X. Without a horizon an agent plans for epochs that double. Each
has its own, finer mesh, which is told all rewards so far, each at the point where it was observed.
Rewards of arms are in the table; those of other points are kept.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_point, as_points, shown
from orbandit._kernels.arms import ArmArray
from orbandit.agents.base import State
from orbandit.agents.files import Arrays
from orbandit.agents.learners import Learners
from orbandit.agents.ledger import ELSEWHERE, Ledger
from orbandit.agents.mesh_rule import MeshRule
from orbandit.agents.points import Points, point_of
from orbandit.agents.table import Table, width_of
from orbandit.errors import InputError, MeshTooLargeError
from orbandit.meshes import Mesh

L = TypeVar("L", bound=Learners)


@final
class MeshArms(Generic[L]):
    """A mesh to play, and finer ones in later epochs.

    Parameters
    ----------
    points : Points
        The space and group, and how they are scaled.
    rule : MeshRule
        Which mesh to play for n rounds.
    index : int
        What the table ranks arms by: UCB, LEAST or ZOOM.
    learners : callable
        Makes the `Learners`, given the mesh with its points by number.
    refines : bool
        Whether the horizon is unknown.
    mesh_for : callable, optional
        Returns the mesh for n rounds; by default the rule's.

    Attributes
    ----------
    mesh, numbered : Mesh
        The points played now, and the same in the order of their numbers.
    table : Table
        Their statistics.
    learners : Learners
        Which arms a reward updates.
    """

    mesh: Mesh
    numbered: Mesh
    table: Table
    learners: L

    def __init__(
        self,
        points: Points,
        rule: MeshRule,
        index: int,
        learners: Callable[[Mesh], L],
        refines: bool,
        mesh_for: Callable[[int], Mesh] | None = None,
    ) -> None:
        self.space, self.group = points.space, points.group
        self.lipschitz, self.scale = points.lipschitz, points.scale
        self.key, self.check, self.packed, self.unpacked = points.key, points.check, points.packed, points.unpacked
        self._points, self._rule, self._index, self._make = points, rule, index, learners
        self._mesh_for = mesh_for or rule.mesh
        self._refines = refines and not rule.is_fixed
        # points, and the sums and counts of their rewards
        self._told: list[tuple[Array, float, float]] = []

    def __len__(self) -> int:
        return len(self.table)

    @property
    def numbering(self) -> object:
        """An object that is replaced whenever arms are renumbered."""
        return self.table

    @property
    def is_fixed(self) -> bool:
        """Whether the mesh stays the same, whatever the number of rounds."""
        return not self._refines

    def begin(self, n: int, rng: np.random.Generator) -> None:
        """Start on the mesh for n rounds."""
        mesh = self._mesh_for(n)
        self.open(mesh, rng.random(len(mesh)), n)

    def open(self, mesh: Mesh, priorities: Array, n: int) -> None:
        """Start on a mesh, with arms numbered by their priorities, highest first."""
        self._use(mesh, Table.by_priority(priorities, self._index, width_of(n)))

    def renew(self, n: int, rng: np.random.Generator, ledger: Ledger) -> bool:
        """Set another horizon; return whether the mesh changed.

        A new mesh gets all rewards and pending points. If it would be too large, the old one stays.
        """
        try:
            mesh = self._mesh_for(n) if self._refines else None
        except MeshTooLargeError:
            mesh = None
        if mesh is None:
            self.table.widen(width_of(n))
            return False
        sums, counts = self.table.own()
        played = np.flatnonzero(counts)
        told = [*self._told, *zip(self.numbered.points[played], sums[played], counts[played], strict=True)]
        self.open(mesh, rng.random(len(mesh)), n)
        self._told = told
        points, sums, counts = self._told_arrays()
        indptr, arms = self.learners.at(points)
        sizes = np.diff(indptr)
        self.table.add(arms, np.repeat(sums, sizes), np.repeat(counts, sizes))
        ledger.displace()
        for key, handles in ledger.pending.items():
            self.table.expect(self.learning(ELSEWHERE, point_of(key)), float(len(handles)))
        return True

    def point(self, handle: int) -> Array:
        """Return the point of an arm."""
        return np.array(self._places[handle])

    def points_from(self, first: int) -> Array:
        """Return the points of the arms from a number on."""
        return self.numbered.points[first:]

    def handle(self, point: Any) -> int:
        """Return ELSEWHERE: the arms that learn from a point are found when it is told."""
        return ELSEWHERE

    def admits(self, key: bytes, handle: int) -> bool:
        """Return whether a point is that of an arm, or of none."""
        if not 0 <= handle < len(self.table):
            return handle == ELSEWHERE
        return bool(np.abs(self.numbered.points[handle] - point_of(key)).max() <= self.space.tolerance)

    def nearest(self, point: Any) -> int:
        """Return the arm nearest to a point of the space, which is checked."""
        return int(self.numbered.nearest(self._points.inside(point)))

    def learning(self, handle: int, point: Any) -> ArmArray:
        """Return the arms that learn from a reward of an arm, or at any point, which is checked."""
        if handle != ELSEWHERE:
            return self.learners.of(handle)
        inside = self._points.inside(point)
        arms = self.learners.at(inside[None])[1]
        if not len(arms):
            raise InputError(
                f"`mesh` must cover the space, but has no point near {shown(inside)}; add points, "
                "or use a larger `delta`."
            )
        return arms

    def remember(self, point: Any, value: float) -> None:
        """Keep a reward of a point that is no arm, if later epochs have other meshes."""
        if self._refines:
            self._told.append((as_point(point, self.space.dim).copy(), value, 1.0))

    def observe_all(self, points: Sequence[Any] | npt.NDArray[Any], values: Array) -> bool:
        """Learn many scaled rewards at once.

        Return False if they must be kept one by one for later meshes.
        """
        if self._refines:
            return False
        sizes, arms = self.learning_all(points)
        self.table.add(arms, np.repeat(values, sizes), np.ones(len(arms)))
        return True

    def learning_all(self, points: Sequence[Any] | npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], ArmArray]:
        """Return how many arms a reward at each of many points updates, and which.

        Refuse points with none.
        """
        batch = as_points(points, self.space.dim)[0]
        indptr, arms = self.learners.at(batch)
        sizes = np.diff(indptr)
        if not sizes.all():
            self.learning(ELSEWHERE, batch[np.argmin(sizes)])  # refuses it
        return sizes, arms

    def play(self, means: Array, draws: Array, low: float, span: float, quota: float = np.inf) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled.

        Return the arms played, and list neighbours of the next.
        """
        played = self.table.play(self.learners.lists, means, draws, low, span, quota)
        if len(played) < len(draws):
            self.table.list_ahead(self.learners.lists)
        return played

    @property
    def state(self) -> State:
        """What a file keeps."""
        points, sums, counts = self._told_arrays()
        told = {"told_points": points, "told_sums": sums, "told_counts": counts}
        return {"delta": self.mesh.delta}, {"mesh": self.mesh.points, **self.table.arrays_to_save, **told}

    def restore(self, state: dict[str, Any], arrays: Arrays, n: int) -> None:
        """Undo `state`, checked, for n rounds."""
        mesh = self._rule.restore(arrays["mesh"], state["delta"])
        table = Table.restore(arrays, len(mesh), self._index, width_of(n))
        points, sums, counts = arrays["told_points"], arrays["told_sums"], arrays["told_counts"]
        if points.shape != (len(sums), self.space.dim) or sums.shape != counts.shape or not (counts >= 1).all():
            raise ValueError("rewards and the points they were told of do not match")
        if not ((sums >= 0).all() and (sums <= counts).all()):
            raise ValueError("rewards that were told and cannot be")
        if len(points):
            self._points.check_saved(points)
        self._told = list(zip(points, sums.tolist(), counts.tolist(), strict=True))
        self._use(mesh, table)

    def _use(self, mesh: Mesh, table: Table) -> None:
        by_number = mesh.points[table.order] + 0.0  # no negative zeros
        self.mesh, self.table = mesh, table
        self.numbered = Mesh(by_number, mesh.delta, self.space, self.group)
        self._places, self.learners = self.numbered.points, self._make(self.numbered)

    def _told_arrays(self) -> tuple[Array, Array, Array]:
        """Return observed points that are no arms of this mesh, with sums and counts of rewards."""
        points = np.array([point for point, _, _ in self._told]).reshape(-1, self.space.dim)
        return points, np.array([s for _, s, _ in self._told]), np.array([c for _, _, c in self._told])
