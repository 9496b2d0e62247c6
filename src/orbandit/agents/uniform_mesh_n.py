"""UniformMesh-N: a uniform mesh with side observations along group orbits. Algorithm 1 of the paper.

    delta = (log n / (n |G|))^(1/(d+2))                                   Theorem 1
    index(i) = mean(i) + sqrt(2 log n / O(i)) + 3 delta                    eq. (UCB)
    play the largest; every arm of N(x, 2 delta) observes the reward       Alg. 1

Deviations. The mean is divided by O(i), which the paper forgets. The 3 delta is the same for every arm and changes no
choice: it is in `upper_bounds()` only. The mesh consists of representatives unless asked otherwise: on a mesh that G
maps to itself this is the same algorithm, since every statistic is constant on orbits, with |G| times fewer arms.
"""

from typing import final

from orbandit.agents.sharing import SharingAgent
from orbandit.agents.table import UCB


@final
class UniformMeshN(SharingAgent):
    """UniformMesh-N, with side observations along orbits.

    Prefer it to `UniformMesh` where the reward is flat but for a small region, as in the worst case of the theory:
    there its regret was 0.8 of that of `UniformMesh` at n = 100,000 and the same at 1,000,000, on [0,1]^3 under
    Symmetric(3). On cones, whose slopes it blurs by averaging over 2 delta, it was the same up to n = 100,000 and 1.24
    times as large at 1,000,000. docs/agents.md has the table, printed by benchmarks/rounds.py.

    Parameters
    ----------
    space, group, horizon, lipschitz, reward_range, delta, seed
        As for `UniformMesh`.
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

    _rule = UCB
