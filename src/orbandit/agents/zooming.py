"""Zooming: arms are activated where confidence balls leave a gap, so that the mesh is fine only near the best.

    r(v) = sqrt(2 log n / (N(v) + 1))                      confidence radius after N(v) plays
    v is covered if d_G(u, v) <= r(u) for an active arm u
    activation: while a point is not covered, make it an arm
    selection:  play the active arm with the largest index  mean(v) + 2 r(v)

R. Kleinberg, A. Slivkins, E. Upfal, Bandits and experts in metric spaces, Journal of the ACM, 2019, Section 4, with
the radius for a known horizon; without one, epochs double. With a group the metric is the orbit metric, and everything
runs on X/G. The covering check is by a finite net: points are those of a quotient net twice as fine as UniformMesh's,
or as fine as 4,096 points allow.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels.arms import COUNT
from orbandit._kernels.zooming import play_zooming, shrink
from orbandit.agents.base import ELSEWHERE, Agent, Handles
from orbandit.agents.on_mesh import MeshAgent
from orbandit.agents.table import ZOOM
from orbandit.errors import MeshTooLargeError
from orbandit.groups import Trivial
from orbandit.meshes import Mesh

MOST = 4096
"""Most points of the net that stands for the space."""


@final
class Zooming(MeshAgent):
    """The zooming algorithm, on the space or on its orbits.

    Parameters
    ----------
    space, group, horizon, lipschitz, reward_range, seed
        As for `UniformMesh`.
    mesh : "quotient" or Mesh
        The net that stands for the space, whose points may become arms.
    delta : "auto", "order", "measured" or float
        A rule gives the delta of `UniformMesh`, and the net is twice as fine, if it then has at most 4,096 points; a
        number is the net's own delta.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    >>> cone = ob.problems.Cone(space, group, peak=[0.15, 0.7])
    >>> runs = ob.simulate(ob.agents.Zooming, cone, horizon=100_000, seeds=4)
    >>> blind = ob.simulate(ob.agents.Zooming, cone, horizon=100_000, seeds=4, use_group=False)
    >>> bool(runs.regret[:, -1].mean() < 0.9 * blind.regret[:, -1].mean())
    True
    """

    _rule = ZOOM

    def active(self) -> npt.NDArray[np.bool_]:
        """Return which points of the mesh are arms now."""
        return self._by_arm(self._table.alive.astype(np.float64)) > 0

    def upper_bounds(self) -> Array:
        """Return the index mean + 2 r of each active arm, which bounds the reward in its ball; infinite elsewhere."""
        index = np.where(self._table.counts > 0, self._table.means, 0.0) + 2 * self._radii()
        return self._by_arm(self._unscaled(np.where(self._table.alive, index, np.inf)))

    def _radii(self) -> Array:
        return np.asarray(np.sqrt(self._table.width / (self._table.counts + 1.0)))

    def _make_mesh(self) -> Mesh:
        """Return a net twice as fine as the rule says, or as fine as the number of points allows."""
        coarse = super()._make_mesh()
        if self._is_fixed:
            return coarse
        delta = coarse.delta / 2
        while delta < coarse.delta:
            try:
                fine = self._named_mesh(delta)
            except MeshTooLargeError:
                fine = coarse
            if fine is not coarse and len(fine) <= MOST:
                return fine
            delta *= 1.2
        return coarse

    def _connect(self) -> None:
        """Make the balls of the active arms, and activate others until all points are covered."""
        size = len(self._arms)
        self._metric = self._group or Trivial(self._space.dim)
        self._centred = self._arms.points - self._metric.center
        self._rows = np.full(size, -1, dtype=np.int64)
        self._ranked = np.empty((0, size), dtype=np.int32)
        self._distances = np.empty((0, size))
        self._edges, self._covers = np.empty(0, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self._active = 0
        for arm in np.flatnonzero(self._table.alive):
            self._activate(int(arm))
        self._cover()

    def _open(self, size: int, priorities: Array | None = None) -> None:
        super()._open(size, priorities)
        self._table.keep(np.zeros(size, dtype=bool))

    def _resume(self) -> None:
        """Begin an epoch with the arms that have been observed."""
        self._table.keep(self._table.counts > 0)
        self._connect()

    def tell_batch(self, points: Sequence[Any] | npt.NDArray[Any], rewards: npt.ArrayLike) -> None:
        """Learn the rewards of several points, one after the other; if one of them is refused, none is learnt."""
        Agent.tell_batch(self, points, rewards)

    def _activate(self, arm: int) -> None:
        """Make a point an arm, with a ball about it."""
        if self._active == len(self._edges):
            room = max(64, self._active)
            size = len(self._arms)
            self._ranked = np.concatenate([self._ranked, np.empty((room, size), dtype=np.int32)])
            self._distances = np.concatenate([self._distances, np.empty((room, size))])
            self._edges = np.concatenate([self._edges, np.zeros(room, dtype=np.int64)])
        row, self._active = self._active, self._active + 1
        distances = self._metric._distance(self._centred[arm : arm + 1], self._centred)[0] * self._scale
        order = np.argsort(distances)
        self._ranked[row], self._distances[row] = order, distances[order]
        radius = np.sqrt(self._table.width / (self._table.counts[arm] + 1.0))
        self._edges[row] = np.searchsorted(self._distances[row], radius, side="right")
        self._covers[self._ranked[row, : self._edges[row]]] += 1
        self._rows[arm] = row
        self._table.revive(arm)

    def _cover(self) -> None:
        """Activate points, by priority, until all are covered."""
        while len(bare := np.flatnonzero(self._covers == 0)):
            self._activate(int(bare[0]))

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        arm = handle if handle != ELSEWHERE else int(self._reach(point)[0])
        super()._observe(handle, point, value, released)
        self._shrink(arm)

    def _shrink(self, arm: int) -> None:
        row = self._rows[arm]
        radius = float(np.sqrt(self._table.width / (self._table.stats[arm, COUNT] + 1.0)))
        if row >= 0 and shrink(row, radius, self._ranked, self._distances, self._edges, self._covers):
            self._cover()

    def _review(self) -> None:
        self._cover()

    def _renew(self) -> None:
        super()._renew()
        self._connect()

    def _play_some(self, means: Array, draws: Array) -> Handles:
        played = np.empty(len(draws), dtype=np.int64)
        stats, keys, heads, levels = self._table.arrays
        done = play_zooming(
            stats,
            keys,
            heads,
            levels,
            self._rows,
            self._ranked,
            self._distances,
            self._edges,
            self._covers,
            means,
            draws,
            self._low,
            self._span,
            self._rule,
            self._table.width,
            played,
        )
        return played[:done]
