"""Arm elimination with side observations, on the graph of UniformMesh-N.

Phase r ends when every arm still alive has been observed 2 log n / eps_r^2 times, eps_r = 2^-r, so
that its radius sqrt(2 log n / O) is at most eps_r. Then arm i is dropped if

    mean(i) + radius(i) + 2 delta  <  mean(j) - radius(j) - 2 delta     for some arm j

A. Cohen, T. Hazan, T. Koren, Online learning with feedback graphs without the graphs, 2016, Section
4. Deviations:

- a side observation is a reward from up to 2 delta away, so both sides are widened by 2 delta;
  else the best arm of the mesh might be dropped;
- the graph is fixed and known here, and instead of a random arm among those short of observations
  the one observed least is played: the arms that bring all counts from c to c + 1 are independent
  in the graph, so that a phase costs at most alpha 2 log n / eps_r^2 plays, with alpha the
  independence number;
- observations of earlier phases count, with the radius of each arm in place of eps_r.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.files import Arrays
from orbandit.agents.learners import OrbitNeighbors, orbit_neighbors
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.mesh_arms import MeshArms
from orbandit.agents.mesh_rule import MeshRule
from orbandit.agents.points import Points
from orbandit.agents.table import LEAST
from orbandit.groups import Group
from orbandit.meshes import Mesh
from orbandit.spaces import Space


@final
class SideObservationElimination(Agent):
    """Successive elimination with side observations: drops arms that cannot be the best.

    An arm is dropped only if it is worse by more than 4 delta. Until then arms at the border, which
    have few neighbours, are played most often. So its regret is far above that of `UniformMesh`
    unless rewards differ by much more than 4 delta: see the table in docs/concepts/agents.md,
    printed by benchmarks/rounds.py.

    Parameters
    ----------
    space : Space
        Where the arms live: a space of at most 1,000 dimensions.
    group : Group, optional
        The symmetry: a group under which the mean reward is invariant. By default there is none. It
        acts on at most 200 coordinates, and has at most about 100,000 elements if they are listed.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, each with a finer
        mesh: all arms are alive again when an epoch begins, and no reward is lost.
    lipschitz : float, default 1
        The Lipschitz constant of the mean reward for the Euclidean distance of the space, in your
        units: a positive number. If units differ between coordinates, use `maximize`, which scales
        them, or scale them yourself.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    mesh : "quotient", "full", "tree" or Mesh, default "quotient"
        What to play: representatives of the orbits of a net; the paper's own unfolded net; the
        leaves of the covering tree of Appendix F, whose search for N(x, 2 delta) is approximate and
        widens the reported bounds; or points of your own.
    delta : "auto", "order", "measured", "safe" or float, default "auto"
        How fine the mesh is. "order" is by the order of the group, (log n / (n |G|))^(1/(d+2)).
        "measured" is by the measured size K of the net, n delta^2 = K log n. "auto" is "order" for
        groups of at most 10,000 elements, otherwise "measured". "safe" has the least regret bound
        of this agent among meshes not coarser than without the group; it needs mesh="quotient", and
        without a group it is "order". A number is a length in the space. The rules scale with (high
        - low) / lipschitz.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities drawn from it, once for
        each arm.

    Examples
    --------
    >>> import orbandit as ob
    >>> agent = ob.agents.SideObservationElimination(ob.spaces.Box(0.0, 1.0, dim=1), horizon=100_000, seed=0)
    >>> for _ in range(100_000):
    ...     point = agent.ask()
    ...     agent.tell(point, 0.9 - abs(point[0] - 0.3))
    >>> int(agent.alive().sum()) < agent.n_arms, bool(abs(agent.recommend()[0] - 0.3) < 2 * agent.delta)
    (True, True)
    """

    arms: MeshArms[OrbitNeighbors]

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
        rule = MeshRule(points, mesh, delta, names=("quotient", "full", "tree"))
        self.arms = MeshArms(points, rule, LEAST, partial(orbit_neighbors, rule), horizon is None)
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
        self._phase = 1

    def _choose(self) -> int:
        return self.arms.table.leader  # the living arm observed least, ties by priority

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        near = self.arms.learning(handle, point)  # N(x, 2 delta)
        self.arms.table.observe(near, handle, value, released)
        if handle == ELSEWHERE:
            self.arms.remember(point, value)
        self._end_phases()

    def _end_phases(self) -> None:
        """Drop the arms that cannot be the best, as often as every living one has been observed often enough."""
        table = self.arms.table
        # none is pending
        while table.least_seen >= self._quota and table.counts[table.alive].min() >= self._quota:
            means = np.where(table.counts > 0, table.means, 0.0)
            reach = table.radii + self.arms.learners.reach * self.arms.scale  # radius + 2 delta
            best = (means - reach)[table.alive].max()
            table.keep(table.alive & (means + reach >= best))
            self._phase += 1

    @property
    def _quota(self) -> float:
        """Observations of every living arm that end the phase: 2 log n / eps^2, eps = 2^-phase."""
        return self.arms.table.width * 4.0**self._phase

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        if self._ledger.is_empty and self.arms.observe_all(points, (rewards - self._low) / self._span):
            self._end_phases()
            self.count_rounds(len(points))
        else:
            self.arms.learning_all(points)  # which refuses all if one is no arm's
            self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self.arms.table.expect(self.arms.learning(handle, point), amount)

    def _recommend(self) -> Array:
        return self.arms.point(self.arms.table.best)  # the largest lower confidence bound

    def _estimate(self, point: Any) -> Any:
        return self.arms.table.means[self.arms.nearest(point)]

    def _renew(self) -> None:
        self._phase = 1
        if not self.arms.renew(self._goal, self._rng, self._ledger):
            self.arms.table.keep(np.ones(self.n_arms, dtype=bool))
        self._end_phases()

    def alive(self) -> npt.NDArray[np.bool_]:
        """Return which arms of the mesh may still be the best."""
        return self.arms.table.by_name(self.arms.table.alive.astype(np.float64)) > 0

    def means(self) -> Array:
        """Return the mean reward observed of each arm, NaN where there is none."""
        return self._unscaled(self.arms.table.by_name(self.arms.table.means))

    def counts(self) -> Array:
        """Return the number of observations of each arm."""
        return self.arms.table.by_name(self.arms.table.counts)

    def upper_bounds(self) -> Array:
        """Return for each arm an upper bound on the mean of all points that it represents.

        It is mean + sqrt(2 log n / O) + 3 delta: 2 delta for the side observations, and one for the
        points that the arm represents. Infinite without observations.
        """
        upper = self.arms.table.upper_bounds + (self.arms.learners.reach + self.delta) * self.arms.scale
        return self._unscaled(self.arms.table.by_name(upper))

    def _state(self) -> State:
        state, arrays = self.arms.state
        return {**state, "phase": self._phase}, arrays

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.arms.restore(state, arrays, self._goal)
        self._phase, table = as_count(state["phase"], "phase"), self.arms.table
        if not table.alive.any():
            raise ValueError("no arm is alive")
        if self._phase > 1 and self._quota / 4 > table.counts[table.alive].min():
            raise ValueError(f"phase {self._phase} before the one before it can have ended")

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the numbers of the arms played."""
        played = self.arms.play(means, draws, self._low, self._span, self._quota)
        self._end_phases()
        return played
