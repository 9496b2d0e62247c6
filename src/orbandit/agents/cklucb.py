"""CKLUCB: CKL-UCB on a mesh of the space, or of its orbits; all arms' rewards bound each index.

    index(k) = the largest q with  sum over j of T(j) kl(m(j), q - L d(k, j)) <= log t + 3 log log t
    over the arms j with q - L d(k, j) > m(j);  kl is that of Bernoulli rewards, d the orbit metric

S. Magureanu, R. Combes, A. Proutiere, Lipschitz bandits: regret lower bound and optimal algorithms,
2014, Section 4.2. Regret against the best arm of the mesh is asymptotically that of
`theory.instance_limit`. The paper is about finitely many arms; this class plays the mesh of
`UniformMesh`. Rewards need only be bounded: Bernoulli rewards have the largest variance. Until t =
e the second term is left out. The index is found by bisection on a grid of 2^-30 of the range. A
round takes up to K^2 terms for K arms, usually a small multiple of K.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels import cklucb as kernels
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.files import Arrays
from orbandit.agents.learners import NearestArm
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.mesh_arms import MeshArms
from orbandit.agents.mesh_rule import ARM_BY_ARM, MeshRule
from orbandit.agents.points import Points
from orbandit.agents.table import UCB
from orbandit.errors import MeshTooLargeError
from orbandit.groups import Group, Trivial
from orbandit.meshes import Mesh
from orbandit.spaces import Space

MAX_ARMS = 4_000
"""Most arms: the distances of more would take too much memory and time."""


@final
class CKLUCB(Agent):
    """CKL-UCB, for Lipschitz rewards on a mesh.

    A reward at any point updates the arm nearest to it in the orbit metric.

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
        them, or scale them yourself. It is also the L of the index.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    mesh : "quotient" or Mesh, default "quotient"
        What to play: representatives of the orbits of a net, or points of your own. At most 4,000
        of them.
    delta : "auto", "order", "measured", "safe" or float, default "auto"
        How fine the mesh is. "order" is by the order of the group, (log n / (n |G|))^(1/(d+2)).
        "measured" is by the measured size K of the net, n delta^2 = K log n. "auto" is "order" for
        groups of at most 10,000 elements, otherwise "measured". "safe" has the least regret bound
        of `UniformMesh` among meshes not coarser than without the group; no such bound is proved
        for CKL-UCB. Without a group it is "order". A number is a length in the space. The rules
        scale with (high - low) / lipschitz.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities drawn from it, once for
        each arm.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    >>> agent = ob.agents.CKLUCB(space, group, horizon=1_000, seed=0)
    >>> agent
    <CKLUCB: 6 arms, horizon=1000, 0 rounds told>
    >>> agent.tell([0.9, 0.1], 0.0)
    >>> float(group.distance(agent.ask(), [0.9, 0.1])) > agent.delta
    True
    """

    arms: MeshArms[NearestArm]
    _measured: object = None
    _scaled_distances: Array

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
        self.arms = MeshArms(points, rule, UCB, NearestArm, horizon is None, lambda n: _limited(rule.mesh(n)))
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
        table = self.arms.table
        return int(kernels.leader(0, table.stats, self._distances, self._budget))

    @property
    def _budget(self) -> float:
        """Return log t + 3 log log t for the coming round."""
        return float(kernels.budget_at(self._rounds + 1.0))

    @property
    def _distances(self) -> Array:
        """The distances of arms by number, with rewards scaled to [0, 1]."""
        if self._measured is not self.arms.numbering:
            points, group = self.arms.numbered.points, self.group or Trivial(self.arms.space.dim)
            self._scaled_distances = self.arms.scale * np.asarray(group.distance(points, points))
            np.fill_diagonal(self._scaled_distances, 0.0)  # not rounding
            self._measured = self.arms.numbering
        return self._scaled_distances

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

        It is the index, or the mean if that is larger, + 2 delta: a reward may come from delta
        away, and the arm represents points up to delta away. Infinite without observations.
        """
        table, indices = self.arms.table, np.empty(len(self.arms))
        kernels.all_indices(table.stats, self._distances, self._budget, indices)
        upper = np.where(table.counts > 0, np.fmax(indices, table.means), np.inf) + 2 * self.delta * self.arms.scale
        return self._unscaled(table.by_name(upper))

    def _state(self) -> State:
        return self.arms.state

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self.arms.restore(state, arrays, self._goal)

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the numbers of the arms played."""
        table, played = self.arms.table, np.empty(len(draws), dtype=np.int64)
        kernels.play_cklucb(self._rounds, table.stats, self._distances, means, draws, self._low, self._span, played)
        table.refresh()
        return played


def _limited(mesh: Mesh) -> Mesh:
    """Return a mesh; refuse one with too many pairs of points."""
    if len(mesh) > MAX_ARMS:
        raise MeshTooLargeError(
            f"CKLUCB plays at most {MAX_ARMS:,} arms, but the mesh has {len(mesh):,}; take a larger `delta`, or "
            "UniformMesh."
        )
    return mesh
