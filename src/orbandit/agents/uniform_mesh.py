"""UniformMesh: UCB1 on a mesh of the space, or of its orbits.

    delta = (log n / n)^(1/(d+2)),     index(i) = mean(i) + sqrt(2 log n / T(i))

R. Kleinberg, Nearly tight bounds for the continuum-armed bandit problem, 2005. With a group the
mesh has representatives only, and delta = (log n / (n |G|))^(1/(d+2)), as in UniformMesh-N: no
reward is shared, but there are |G| times fewer arms.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.files import Arrays
from orbandit.agents.learners import NearestArm
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.mesh_arms import MeshArms
from orbandit.agents.mesh_rule import ARM_BY_ARM, MeshRule
from orbandit.agents.points import Points
from orbandit.agents.table import UCB
from orbandit.groups import Group
from orbandit.meshes import Mesh
from orbandit.spaces import Space


@final
class UniformMesh(Agent):
    """Uniform discretisation and UCB1.

    A reward at any point updates the arm nearest to it in the orbit metric. Prefer this one among
    the agents on a mesh, unless the mean reward is constant outside a small region: see
    `UniformMeshN`.

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
        What to play: representatives of the orbits of a net, or points of your own.
    delta : "auto", "order", "measured", "safe" or float, default "auto"
        How fine the mesh is. "order" is by the order of the group, (log n / (n |G|))^(1/(d+2)).
        "measured" is by the measured size K of the net, n delta^2 = K log n. "auto" is "order" for
        groups of at most 10,000 elements, otherwise "measured". "safe" has the least regret bound
        among meshes not coarser than without the group, so that a group cannot make that bound
        larger; without a group it is "order". Prefer it for short horizons: docs/concepts/agents.md
        has a table. A number is a length in the space. The rules scale with (high - low) /
        lipschitz.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities drawn from it, once for
        each arm.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
    >>> agent = ob.agents.UniformMesh(space, group, horizon=10_000, seed=0)
    >>> agent
    <UniformMesh: 40 arms, horizon=10000, 0 rounds told>
    >>> agent.tell([0.9, 0.1, 0.5], 1.0)
    >>> int(agent.counts().sum()), float(group.distance(agent.recommend(), [0.9, 0.1, 0.5]).round(3)) < agent.delta
    (1, True)
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
        rule = MeshRule(points, mesh, delta, one_per_orbit=True, bound=ARM_BY_ARM)
        self.arms = MeshArms(points, rule, UCB, NearestArm, horizon is None)
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

    def _choose(self) -> int:
        return self.arms.table.leader  # argmax of mean(i) + sqrt(2 log n / T(i))

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        if handle == ELSEWHERE:
            self.arms.table.observe(self.arms.learning(handle, point), handle, value, released)
            self.arms.remember(point, value)
        else:
            # T(i), mean(i) and the index of the arm played
            self.arms.table.observe_own(handle, value, released)

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        if self._ledger.is_empty and self.arms.observe_all(points, (rewards - self._low) / self._span):
            self.count_rounds(len(points))
        else:
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
        """Return for each arm an upper bound on the mean of all points that it represents.

        It is mean + sqrt(2 log n / T) + 2 delta: a reward may come from delta away, and the arm
        represents points up to delta away. Infinite without observations.
        """
        upper = self.arms.table.upper_bounds + 2 * self.delta * self.arms.scale
        return self._unscaled(self.arms.table.by_name(upper))

    def _state(self) -> State:
        return self.arms.state

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.arms.restore(state, arrays, self._goal)

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the numbers of the arms played."""
        return self.arms.play(means, draws, self._low, self._span)
