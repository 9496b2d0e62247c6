"""Upper bounds for UniformMesh-N: Lemmas 5 and 6 on a given problem and mesh, and the shape of Theorem 1.

With rewards in [0, 1], a Lipschitz constant of 1, V a delta-net, Delta_i = f* - f(i), and a
partition C of the graph G_2delta into cliques,

    Lemma 5     R_n <= sum over C in C_1 of 8 log n  max Delta / (min Delta - 5 delta)^2  + 4 sum Delta_i + 8 n delta,
                C_1 the cliques with min Delta > 6 delta
    Lemma 6     R_n <= |C| 64 log n / delta + 4 sum Delta_i + 8 n delta
    Theorem 1   R_n <= a_1 (log n / |G|)^(1/(d+2)) n^((d+1)/(d+2)) + a_2 (|G| / log n)^(d/(d+2)) n^(d/(d+2))
                for delta = (log n / (n |G|))^(1/(d+2)) and n = Omega(|G|^(2d+2))

The lemmas need cliques that are disjoint: `OrbitGraph.clique_cover` is a partition. Their proof
writes n t^-4 where it means t n^-4; the constants stand. The paper gives a_1 and a_2 no values:
those here are measured on a net (see `theorem1`).

`worst_case_bound` is another, for all Lipschitz means on a mesh, which agents with delta="safe"
minimise:

    UniformMesh      R_n <=   n delta + sqrt(8 (K - 1) n log n) + K - 1 + 2 K / n^2
    UniformMesh-N    R_n <= 7 n delta + sqrt(8 |C| n log n) + |C| + 2 K / n^2

Rewards of other ranges and other Lipschitz constants are scaled, as in every agent.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_positive, as_range, shown
from orbandit.agents.mesh_rule import ARM_BY_ARM, CLIQUE_BY_CLIQUE, order_delta
from orbandit.errors import InputError, InputTypeError
from orbandit.groups import Trivial
from orbandit.meshes import Mesh, OrbitGraph, quotient_net
from orbandit.problems import Problem

Indices = npt.NDArray[Any]


@final
@dataclass(frozen=True)
class RegretBound:
    """A bound of the regret after n rounds, with its terms.

    Attributes
    ----------
    cliques, vertices, bias : float
        Its three terms: learning which cliques (or arms) are bad; the first plays of each arm, or
        the failure of confidence bounds; and the bias of the mesh, n delta times a constant.
    horizon : int
        Number of rounds n.
    width : float
        The width of the range of rewards: no agent can lose more than that in a round.

    Examples
    --------
    >>> import orbandit as ob
    >>> mesh = ob.meshes.net(ob.spaces.Box(0, 1, dim=1), 0.01)
    >>> bound = ob.theory.worst_case_bound(mesh, 1_000_000)
    >>> round(float(bound)), round(bound.bias), bound.vacuous
    (83640, 10000, False)
    """

    cliques: float
    vertices: float
    bias: float
    horizon: int
    width: float = 1.0

    def __float__(self) -> float:
        return self.cliques + self.vertices + self.bias

    @property
    def per_round(self) -> float:
        """The bound over n."""
        return float(self) / self.horizon

    @property
    def vacuous(self) -> bool:
        """Whether the bound is no better than n times the width of the range of rewards."""
        return self.per_round >= self.width


def paper_delta(horizon: int, order: int | float, dim: int) -> float:
    """Return the paper's delta, (log n / (n |G|))^(1/(d+2)).

    Parameters
    ----------
    horizon : int
        Number of rounds n, at least 2.
    order : int
        Order |G| of the group; an infinite group has no such delta (agents then use
        `delta="measured"`).
    dim : int
        Dimension d of the space.

    Examples
    --------
    >>> import orbandit as ob
    >>> round(ob.theory.paper_delta(1_000_000, order=6, dim=3), 4)
    0.0745
    """
    if order == math.inf:
        raise InputError('`order` must be finite, but got inf; agents use delta="measured" instead.')
    return order_delta(as_count(horizon, "horizon", minimum=2), as_count(order, "order"), as_count(dim, "dim"))


def gap_dependent_bound(problem: Problem, mesh: Mesh, horizon: int) -> RegretBound:
    """Return Lemma 5's bound for UniformMesh-N on this problem and mesh.

    Parameters
    ----------
    problem : Problem
        Its means at the mesh give the gaps.
    mesh : Mesh
        The net V, with delta in units of the space; of the whole space, or of representatives.
    horizon : int
        Number of rounds n, at least 2.

    Examples
    --------
    >>> import orbandit as ob
    >>> cone = ob.problems.Cone(ob.spaces.Box(0, 1, dim=1), None, peak=[0.3])
    >>> mesh = ob.meshes.net(cone.space, ob.theory.paper_delta(10**6, 1, 1))
    >>> bound = ob.theory.gap_dependent_bound(cone, mesh, 10**6)
    >>> round(bound.per_round, 3), bound.vacuous
    (0.202, False)
    """
    gaps, delta, width, n, parts = _checked(problem, mesh, horizon)
    lost = 0.0
    for clique in parts:
        least, most = gaps[clique].min(), gaps[clique].max()
        if least > 6 * delta:  # the clique is in C_1
            lost += 8 * math.log(n) * float(most / (least - 5 * delta) ** 2)
    return RegretBound(width * lost, width * 4 * float(gaps.sum()), width * 8 * n * delta, n, width)


def gap_free_bound(problem: Problem, mesh: Mesh, horizon: int) -> RegretBound:
    """Return Lemma 6's bound for UniformMesh-N on this problem and mesh.

    Parameters
    ----------
    problem : Problem
        Its means at the mesh give the gaps.
    mesh : Mesh
        The net V, with delta in units of the space; of the whole space, or of representatives.
    horizon : int
        Number of rounds n, at least 2.

    Examples
    --------
    >>> import orbandit as ob
    >>> cone = ob.problems.Cone(ob.spaces.Box(0, 1, dim=1), None, peak=[0.3])
    >>> mesh = ob.meshes.net(cone.space, ob.theory.paper_delta(10**6, 1, 1))
    >>> round(ob.theory.gap_free_bound(cone, mesh, 10**6).per_round, 2)
    0.6
    """
    gaps, delta, width, n, parts = _checked(problem, mesh, horizon)
    lost = len(parts) * 64 * math.log(n) / delta
    return RegretBound(width * lost, width * 4 * float(gaps.sum()), width * 8 * n * delta, n, width)


def worst_case_bound(
    mesh: Mesh,
    horizon: int,
    *,
    side_observations: bool = False,
    lipschitz: float = 1.0,
    reward_range: tuple[float, float] = (0.0, 1.0),
) -> RegretBound:
    """Return a regret bound on a mesh for all Lipschitz means that are invariant under its group.

    Agents with delta="safe" minimise it: it is at most as large with a group as without. The proof
    is in `orbandit.agents.mesh_rule`.

    Parameters
    ----------
    mesh : Mesh
        A delta-net, in the metric of its group.
    horizon : int
        Number of rounds n, at least 2.
    side_observations : bool
        Whether the bound is for UniformMesh-N; otherwise for UniformMesh.
    lipschitz : float, default 1
        The Lipschitz constant of the mean reward for the Euclidean distance of the space, a
        positive number.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group, n = ob.spaces.Box(0, 1, dim=3), ob.groups.Symmetric(3), 1_000_000
    >>> told = ob.agents.UniformMesh(space, group, horizon=n, delta="safe")
    >>> blind = ob.agents.UniformMesh(space, horizon=n, delta="safe")
    >>> [round(ob.theory.worst_case_bound(agent.mesh, n).per_round, 3) for agent in (told, blind)]
    [0.217, 0.316]
    """
    if not isinstance(mesh, Mesh):
        raise InputTypeError(f"`mesh` must be a Mesh, but got {shown(mesh)}.", field="mesh", value=mesh)
    n, (low, high) = as_count(horizon, "horizon", minimum=2), as_range(reward_range)
    width = high - low
    shape = CLIQUE_BY_CLIQUE if side_observations else ARM_BY_ARM
    bias, learning = shape.terms(mesh, n, as_positive(lipschitz, "lipschitz") / width)
    return RegretBound(width * learning, width * 2 * len(mesh) / n**2, width * bias, n, width)


@final
@dataclass(frozen=True)
class Theorem1:
    """The two terms of Theorem 1, with constants measured on a net.

    Attributes
    ----------
    a1, a2 : float
        a_1 = 64 |C| delta^d |G| + 8 and a_2 = 4 |V| delta^d (mean gap): what Lemma 6 makes of the
        measured net.
    leading, second : float
        The terms.
    delta : float
        The paper's delta, in units of the space.
    condition : float
        n / |G|^(2d+2); the theorem needs it to be at least a constant that the paper does not give.

    Examples
    --------
    >>> import orbandit as ob
    >>> cone = ob.problems.Cone(ob.spaces.Ball(2), ob.groups.Dihedral(5), peak=[0.3, 0.5])
    >>> bound = ob.theory.theorem1(cone, 10**6)
    >>> float(bound) == bound.leading + bound.second, round(bound.condition, 2)
    (True, 1.0)
    """

    a1: float
    a2: float
    leading: float
    second: float
    delta: float
    condition: float

    def __float__(self) -> float:
        return self.leading + self.second


def theorem1(problem: Problem, horizon: int) -> Theorem1:
    """Return Theorem 1's bound with its constants measured on the quotient net for n rounds.

    Parameters
    ----------
    problem : Problem
        The problem, with a Lipschitz constant and a finite group or none.
    horizon : int
        Number of rounds n, at least 2.

    Examples
    --------
    >>> import orbandit as ob
    >>> cone = ob.problems.Cone(ob.spaces.Ball(2), ob.groups.Dihedral(5), peak=[0.3, 0.5])
    >>> bound = ob.theory.theorem1(cone, 10**6)
    >>> round(bound.a1), round(bound.a2, 1), round(bound.delta, 4)
    (44, 0.2, 0.0343)
    """
    if not isinstance(problem, Problem):
        raise InputTypeError(f"`problem` must be one of ob.problems, but got {shown(problem)}.")
    n, d = as_count(horizon, "horizon", minimum=2), problem.space.intrinsic_dim
    group = problem.group or Trivial(problem.space.dim)
    delta = paper_delta(n, group.order, d)
    width = float(np.ptp(problem.reward_range))
    mesh = quotient_net(problem.space, group, delta * width / slope_of(problem))
    bound = gap_free_bound(problem, mesh, n)
    cover = bound.cliques / (width * 64 * math.log(n) / delta)
    shape = (math.log(n) / group.order) ** (1 / (d + 2)) * n ** ((d + 1) / (d + 2))
    rest = (group.order / math.log(n)) ** (d / (d + 2)) * n ** (d / (d + 2))
    a1 = 64 * cover * delta**d * group.order + 8
    a2 = bound.vertices / width / rest
    return Theorem1(a1, a2, width * a1 * shape, width * a2 * rest, mesh.delta, n / group.order ** (2 * d + 2))


def _checked(problem: Problem, mesh: Mesh, horizon: int) -> tuple[Array, float, float, int, list[Indices]]:
    """Return the gaps and delta in the paper's units, the width of the rewards, n, and a cover by cliques."""
    if not isinstance(problem, Problem) or not isinstance(mesh, Mesh):
        raise InputTypeError(f"a problem and a mesh are needed, but got {shown(problem)} and {shown(mesh)}.")
    n = as_count(horizon, "horizon", minimum=2)
    space = problem.space
    if mesh.dim != space.dim or not np.all(space.contains(mesh.points, tol=space.tolerance)):
        raise InputError(f"`mesh` must have points of {shown(space)}, but {shown(mesh)} has others.")
    slope, width = slope_of(problem), float(np.ptp(problem.reward_range))
    gaps = np.maximum(problem.optimum - np.asarray(problem.mean(mesh.points)), 0.0) / width
    cliques = OrbitGraph(mesh, problem.group, 2 * mesh.delta).clique_cover()
    return gaps, mesh.delta * slope / width, width, n, cliques


def slope_of(problem: Problem) -> float:
    """Return the Lipschitz constant of a problem; one without is refused."""
    if problem.lipschitz is None:
        raise InputError(
            f"bounds on the regret are for problems with a Lipschitz constant, but {shown(problem)} has none; take "
            "another problem.",
            field="problem",
            value=problem,
        )
    return problem.lipschitz
