"""UniformMesh: UCB1 on a mesh of the space, or of its orbits.

    delta = (log n / n)^(1/(d+2)),     index(i) = mean(i) + sqrt(2 log n / T(i))

R. Kleinberg, Nearly tight bounds for the continuum-armed bandit problem, 2005. With a group the mesh has
representatives only, and delta = (log n / (n |G|))^(1/(d+2)), as in UniformMesh-N: no reward is shared, but there are
|G| times fewer arms.
"""

from typing import final

import numpy as np

from orbandit.agents.on_mesh import MeshAgent
from orbandit.agents.table import UCB
from orbandit.meshes import Mesh


@final
class UniformMesh(MeshAgent):
    """Uniform discretisation and UCB1.

    A reward at any point updates the arm nearest to it in the orbit metric. Of the agents on a mesh this is the one
    to prefer, unless the reward is flat but for a small region: see `UniformMeshN`.

    Parameters
    ----------
    space : Space
        Where the arms live; in at most 1,000 dimensions.
    group : Group, optional
        The symmetry; None means none. On at most 200 coordinates, and with at most about 100,000 elements if they are
        listed.
    horizon : int, optional
        Number of rounds n planned for. Without it, epochs double, each with a finer mesh; no reward is lost.
    lipschitz : float
        The Lipschitz constant of the mean reward for the Euclidean distance of the space, in your units. If they
        differ from one coordinate to another, use `maximize`, which scales them, or scale them yourself.
    reward_range : (low, high)
        The least and the largest reward.
    mesh : "quotient" or Mesh
        Representatives of a net, or points of your own.
    delta : "auto", "order", "measured" or float
        How fine: by the order of the group, (log n / (n |G|))^(1/(d+2)); from the measured size K of the net,
        n delta^2 = K log n; "auto" is the first for groups of at most 10,000 elements, otherwise the second. A number
        is a length in the space. The rules scale with (high - low) / lipschitz.
    seed : int, SeedSequence or Generator, optional
        Ties go to priorities drawn from it, once for each arm.

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

    _rule = UCB

    @property
    def _bias(self) -> float:
        """A reward may come from delta away, and the arm stands for points delta away."""
        return 2 * self.delta * self._scale

    def _distinct(self, mesh: Mesh) -> Mesh:
        """Return one point of each orbit: a reward is for the nearest, and there must be no two equally near."""
        mesh = super()._distinct(mesh)
        if self._group is None:
            return mesh
        folds = self._group.fold(mesh.points).round(9 - int(np.floor(np.log10(self._space.diameter))))
        first = np.sort(np.unique(folds, axis=0, return_index=True)[1])
        return mesh if len(first) == len(mesh) else Mesh(mesh.points[first], mesh.delta, mesh.space, mesh.group)
