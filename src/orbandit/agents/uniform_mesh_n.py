"""UniformMesh-N: a uniform mesh with side observations along group orbits. Algorithm 1 of the paper.

    delta = (log n / (n |G|))^(1/(d+2))                                   Theorem 1
    index(i) = mean(i) + sqrt(2 log n / O(i)) + 3 delta                    eq. (UCB)
    play the largest; every arm of N(x, 2 delta) observes the reward       Alg. 1

Deviations. The mean is divided by O(i), which the paper forgets. The 3 delta is the same for every arm and changes no
choice: it is in `upper_bounds()` only. The mesh consists of representatives unless asked otherwise: on a mesh that G
maps to itself this is the same algorithm, since every statistic is constant on orbits, with |G| times fewer arms.
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

    Prefer it to `UniformMesh` where the reward is flat but for a small region, as in the worst case of the theory:
    there its regret was 0.8 of that of `UniformMesh` at n = 100,000 and the same at 1,000,000, on [0,1]^3 under
    Symmetric(3). On cones, whose slopes it blurs by averaging over 2 delta, it was the same up to n = 100,000 and 1.24
    times as large at 1,000,000. docs/concepts/agents.md has the table, printed by benchmarks/rounds.py.

    Parameters
    ----------
    space, group, horizon, lipschitz, reward_range, delta, seed
        As for `UniformMesh`; "safe" is by the regret bound of this agent, and for mesh="quotient".
    mesh : "quotient", "full", "tree" or Mesh
        Representatives; the paper's own unfolded net; the leaves of the tree of coverings of Appendix F, whose search
        for N(x, 2 delta) is approximate and widens the reported bounds; or points of your own.

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
        self.arms.begin(self._goal, self._rng)  # Alg. 1, lines 1-2: V and delta by Theorem 1; UCB = infinity, O = 0

    def _choose(self) -> int:
        return self.arms.table.leader  # Alg. 1, line 4: argmax of UCB(x), ties by priority

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        near = self.arms.learning(handle, point)  # Alg. 1, line 6: N(X_t, 2 delta)
        self.arms.table.observe(near, handle, value, released)  # Alg. 1, lines 7-10: O, mean and UCB of each of them
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
        """Return for each arm eq. (UCB), a bound on the mean of all it stands for; infinite without observations.

        That is mean + sqrt(2 log n / O) + 3 delta: two for the observations, and one for the points the arm stands for.
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
