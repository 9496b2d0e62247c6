"""Zooming: arms are activated where confidence balls leave a gap, so that the mesh is fine only near the best.

    r(v) = sqrt(2 log n / (N(v) + 1))                      confidence radius after N(v) plays
    v is covered if d_G(u, v) <= r(u) for an active arm u
    activation: while a point is not covered, make it an arm
    selection:  play the active arm with the largest index  mean(v) + 2 r(v)

R. Kleinberg, A. Slivkins, E. Upfal, Bandits and experts in metric spaces, Journal of the ACM, 2019,
Section 4, with the radius for a known horizon; without one, epochs double. With a group the metric
is the orbit metric, and everything runs on X/G. Covering is checked on a finite net: a quotient net
twice as fine as that of UniformMesh, or as fine as 4,096 points allow.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels.arms import COUNT, ArmArray
from orbandit._kernels.zooming import play_zooming, shrink
from orbandit._rows import Rows
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.files import Arrays
from orbandit.agents.learners import NearestArm
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.mesh_arms import MeshArms
from orbandit.agents.mesh_rule import MeshRule
from orbandit.agents.points import Points
from orbandit.agents.table import ZOOM
from orbandit.errors import MeshTooLargeError
from orbandit.groups import Group, Trivial
from orbandit.meshes import Mesh
from orbandit.spaces import Space

MAX_NET = 4096
"""Most points of the net that stands for the space."""


@final
class Zooming(Agent):
    """The zooming algorithm, on the space or on its orbits.

    Parameters
    ----------
    space : Space
        Where the arms live: a space of at most 1,000 dimensions.
    group : Group, optional
        The symmetry: a group under which the mean reward is invariant. By default there is none. It
        acts on at most 200 coordinates, and has at most about 100,000 elements if they are listed.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, each with a finer
        mesh; no reward is lost.
    lipschitz : float, default 1
        The Lipschitz constant of the mean reward for the Euclidean distance of the space, in your
        units: a positive number. If units differ between coordinates, use `maximize`, which scales
        them, or scale them yourself.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    mesh : "quotient" or Mesh, default "quotient"
        The net that stands for the space, whose points may become arms: representatives of the
        orbits of a net, or points of your own.
    delta : "auto", "order", "measured" or float, default "auto"
        How fine the net is. "order" is by the order of the group, (log n / (n |G|))^(1/(d+2)).
        "measured" is by the measured size K of a net, n delta^2 = K log n. "auto" is "order" for
        groups of at most 10,000 elements, otherwise "measured". The net is twice as fine as the
        rule says, if it then has at most 4,096 points. A number is the net's own delta, a length in
        the space. The rules scale with (high - low) / lipschitz.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities drawn from it, once for
        each arm.

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

    arms: MeshArms[NearestArm]

    def __init__(
        self,
        space: Space,
        group: Group | None = None,
        *,
        horizon: int | None = None,
        lipschitz: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        mesh: str | Mesh = "quotient",
        delta: str | float = "auto",
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        points = Points(space, group, lipschitz, self._span)
        rule = MeshRule(points, mesh, delta)
        self.arms = MeshArms(points, rule, ZOOM, NearestArm, horizon is None, partial(fine_net, rule))
        self._start(seed)

    @property
    def n_arms(self) -> int:
        """Number of arms to choose from now."""
        return len(self.arms)

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant of the mean reward."""
        return self.arms.lipschitz

    @property
    def mesh(self) -> Mesh:
        """The points played now."""
        return self.arms.mesh

    @property
    def delta(self) -> float:
        """The scale of the mesh, in units of the space."""
        return self.arms.mesh.delta

    def _begin(self) -> None:
        self.arms.begin(self._goal, self._rng)
        self._activate_all(np.zeros(self.n_arms, dtype=bool))

    def _activate_all(self, active: npt.NDArray[np.bool_]) -> None:
        """Make the balls of the active arms, and activate others until all points are covered."""
        size = self.n_arms
        self.arms.table.keep(active)
        self._metric = self.group or Trivial(self.arms.space.dim)
        self._rows = np.full(size, -1, dtype=np.int64)
        self._ranked, self._distances = Rows(np.empty((0, size), dtype=np.int32)), Rows(np.empty((0, size)))
        self._edges, self._covers = Rows(np.empty(0, dtype=np.int64)), np.zeros(size, dtype=np.int64)
        for arm in np.flatnonzero(active):
            self._activate(int(arm))
        self._cover()

    def _activate(self, arm: int) -> None:
        """Make a point an arm, with a ball about it."""
        places = self.arms.numbered.points
        distances = np.asarray(self._metric.distance(places[arm], places)) * self.arms.scale
        order = np.argsort(distances)
        radius = np.sqrt(self.arms.table.width / (self.arms.table.counts[arm] + 1.0))
        edge = np.searchsorted(distances[order], radius, side="right")
        self._covers[order[:edge]] += 1
        self._rows[arm] = len(self._edges)
        for grown, row in ((self._ranked, order), (self._distances, distances[order]), (self._edges, edge)):
            grown.append(row[None])
        self.arms.table.revive(arm)

    @property
    def _balls(self) -> tuple[ArmArray, Array, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """For each active arm: points by distance, distances, size of its ball.

        And the covers of points.
        """
        return self._ranked.filled, self._distances.filled, self._edges.filled, self._covers

    def _cover(self) -> None:
        """Activate points, by priority, until all are covered."""
        while len(bare := np.flatnonzero(self._covers == 0)):  # activation rule
            self._activate(int(bare[0]))

    def _choose(self) -> int:
        # selection rule: argmax of mean(v) + 2 r(v) among active arms
        return self.arms.table.leader

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        arm, table = handle, self.arms.table
        if handle == ELSEWHERE:
            near = self.arms.learning(handle, point)
            arm = int(near[0])
            table.observe(near, handle, value, released)
            self.arms.remember(point, value)
        else:
            table.observe_own(handle, value, released)
        radius = float(np.sqrt(table.width / (table.stats[arm, COUNT] + 1.0)))  # r(v)
        row = self._rows[arm]
        if row >= 0 and shrink(row, radius, *self._balls):
            self._cover()

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self.arms.table.expect(self.arms.learning(handle, point), amount)

    def _recommend(self) -> Array:
        return self.arms.point(self.arms.table.best)  # the largest lower confidence bound

    def _estimate(self, point: Any) -> Any:
        return self.arms.table.means[self.arms.nearest(point)]

    def _renew(self) -> None:
        is_other = self.arms.renew(self._goal, self._rng, self._ledger)
        self._activate_all(self.arms.table.counts > 0 if is_other else self.arms.table.alive)

    def active(self) -> npt.NDArray[np.bool_]:
        """Return which points of the mesh are arms now."""
        return self.arms.table.by_name(self.arms.table.alive.astype(np.float64)) > 0

    def means(self) -> Array:
        """Return the mean reward observed of each arm, NaN where there is none."""
        return self._unscaled(self.arms.table.by_name(self.arms.table.means))

    def counts(self) -> Array:
        """Return the number of observations of each arm."""
        return self.arms.table.by_name(self.arms.table.counts)

    def upper_bounds(self) -> Array:
        """Return the index mean + 2 r of each active arm, which bounds the reward in its ball; infinite elsewhere."""
        table = self.arms.table
        index = np.where(table.counts > 0, table.means, 0.0) + 2 * np.sqrt(table.width / (table.counts + 1.0))
        return self._unscaled(table.by_name(np.where(table.alive, index, np.inf)))

    def _state(self) -> State:
        return self.arms.state

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.arms.restore(state, arrays, self._goal)
        self._activate_all(self.arms.table.alive)

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the numbers of the arms played."""
        played = np.empty(len(draws), dtype=np.int64)
        stats, keys, heads, levels = self.arms.table.arrays
        done = play_zooming(
            stats,
            keys,
            heads,
            levels,
            self._rows,
            *self._balls,
            means,
            draws,
            self._low,
            self._span,
            ZOOM,
            self.arms.table.width,
            played,
        )
        self._cover()
        return played[:done]


def fine_net(rule: MeshRule, n: int) -> Mesh:
    """Return a net twice as fine as a rule says for n rounds, or as fine as MAX_NET allows."""
    coarse = rule.mesh(n)
    if rule.is_fixed:
        return coarse
    delta = coarse.delta / 2
    while delta < coarse.delta:
        try:
            fine = rule.mesh_of(delta)
        except MeshTooLargeError:
            fine = coarse
        if fine is not coarse and len(fine) <= MAX_NET:
            return fine
        delta *= 1.2
    return coarse
