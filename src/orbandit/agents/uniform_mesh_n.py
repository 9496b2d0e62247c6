"""UniformMesh-N: a uniform mesh with side observations along group orbits. Algorithm 1 of the paper.

    delta = (log n / (n |G|))^(1/(d+2))                                   Theorem 1
    index(i) = mean(i) + sqrt(2 log n / O(i)) + 3 delta                    eq. (UCB)
    play the largest; every arm of N(x, 2 delta) observes the reward       Alg. 1

Deviations. The mean is divided by O(i), which the paper forgets. The 3 delta is the same for every
arm and changes no choice: it is in `upper_bounds()` only. The mesh has one representative per orbit
by default. On a mesh that is invariant under G this is the same algorithm, since every statistic is
constant on orbits, with |G| times fewer arms.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.files import Arrays
from orbandit.agents.learners import OrbitNeighbors, orbit_neighbors
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.mesh_arms import MeshArms
from orbandit.agents.mesh_rule import CLIQUE_BY_CLIQUE, MeshRule
from orbandit.agents.points import Points
from orbandit.agents.table import UCB
from orbandit.groups import Group
from orbandit.meshes import Mesh
from orbandit.spaces import Space


@final
class UniformMeshN(Agent):
    """UniformMesh-N, with side observations along orbits.

    Prefer it to `UniformMesh` if the mean reward is constant outside a small region, as in the
    worst case of the theory. There its regret was 0.8 of that of `UniformMesh` at n = 100,000 and
    the same at 1,000,000, on [0,1]^3 under Symmetric(3). On cones, whose slopes it smooths by
    averaging over 2 delta, it was the same up to n = 100,000 and 1.24 times as large at 1,000,000.
    docs/concepts/agents.md has the table, printed by benchmarks/rounds.py.

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
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
    >>> agent = ob.agents.UniformMeshN(space, group, horizon=10_000, seed=0)
    >>> full = ob.agents.UniformMeshN(space, group, horizon=10_000, mesh="full", seed=0)
    >>> agent.n_arms, full.n_arms, round(agent.delta, 3)
    (40, 128, 0.173)
    >>> point = agent.ask()
    >>> agent.tell(point, 1.0)
    >>> neighbors = ob.meshes.orbit_neighbors(agent.mesh, group, point, 2 * agent.delta)
    >>> agent.counts().nonzero()[0].tolist() == neighbors.tolist()
    True
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
        rule = MeshRule(points, mesh, delta, names=("quotient", "full", "tree"), bound=CLIQUE_BY_CLIQUE)
        self.arms = MeshArms(points, rule, UCB, partial(orbit_neighbors, rule), horizon is None)
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
        # Alg. 1, lines 1-2: V and delta by Theorem 1; UCB = infinity, O = 0
        self.arms.begin(self._goal, self._rng)

    def _choose(self) -> int:
        return self.arms.table.leader  # Alg. 1, line 4: argmax of UCB(x), ties by priority

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        near = self.arms.learning(handle, point)  # Alg. 1, line 6: N(X_t, 2 delta)
        # Alg. 1, lines 7-10: O, mean and UCB of each of them
        self.arms.table.observe(near, handle, value, released)
        if handle == ELSEWHERE:
            self.arms.remember(point, value)

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        if self._ledger.is_empty and self.arms.observe_all(points, (rewards - self._low) / self._span):
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
        self.arms.renew(self._goal, self._rng, self._ledger)

    def means(self) -> Array:
        """Return the mean reward observed of each arm, NaN where there is none."""
        return self._unscaled(self.arms.table.by_name(self.arms.table.means))

    def counts(self) -> Array:
        """Return the number of observations of each arm."""
        return self.arms.table.by_name(self.arms.table.counts)

    def upper_bounds(self) -> Array:
        """Return for each arm eq. (UCB), an upper bound on the mean of all points it represents.

        It is mean + sqrt(2 log n / O) + 3 delta: 2 delta for the side observations, and one for the
        points that the arm represents. Infinite without observations.
        """
        upper = self.arms.table.upper_bounds + (self.arms.learners.reach + self.delta) * self.arms.scale
        return self._unscaled(self.arms.table.by_name(upper))

    def _state(self) -> State:
        return self.arms.state

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.arms.restore(state, arrays, self._goal)

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the numbers of the arms played."""
        return self.arms.play(means, draws, self._low, self._span)
