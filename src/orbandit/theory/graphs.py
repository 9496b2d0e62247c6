"""Bounds by independent sets, for side observations on a graph.

    Cohen, Hazan, Koren (2016), arm elimination:    O(log n  max over I of sum over i in I of 1 / Delta_i)
                                                    and O~(sqrt(alpha n)) whatever the gaps
    Lykouris, Tardos, Wali (2020), UCB-N:           the same up to further logarithms

I runs over the independent sets of the graph and alpha is the size of the largest. They replace the
cliques of Lemmas 5 and 6: an independent set has at most one arm in each clique, so its sum is
never larger, and often far smaller.

Both are orders without constants, as the paper cites them: what is returned has constant 1. They
assume that side observations are unbiased; those of UniformMesh-N are biased by up to 2 delta, so
arms that are not worse than `bias` are left out of the sum, and the loss of playing them is not
counted. The largest independent set is hard to find: it is bracketed by a greedy one and by the
cliques.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_finite, as_tolerance, shown
from orbandit.errors import InputError, InputTypeError
from orbandit.meshes import OrbitGraph


@final
@dataclass(frozen=True)
class IndependentSetBounds:
    """Orders of regret, each as (from the best independent set found, from a clique cover).

    Attributes
    ----------
    alpha : (int, int)
        The size of the largest independent set.
    gap_dependent : (float, float)
        log n times the largest sum of 1 / Delta_i over an independent set.
    gap_free : (float, float)
        sqrt(alpha n log n).

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> line = ob.meshes.net(ob.spaces.Box(0, 1, dim=1), 0.05)
    >>> graph = ob.meshes.OrbitGraph(line, None, 0.1)
    >>> bounds = ob.theory.independent_set_bounds(graph, np.full(len(line), 0.2), 1000)
    >>> len(line), bounds.alpha
    (10, (5, 5))
    """

    alpha: tuple[int, int]
    gap_dependent: tuple[float, float]
    gap_free: tuple[float, float]


def independent_set_bounds(
    graph: OrbitGraph, gaps: npt.ArrayLike, horizon: int, bias: float = 0.0
) -> IndependentSetBounds:
    """Return the orders of regret of Cohen et al. and Lykouris et al. on a graph of arms.

    Parameters
    ----------
    graph : OrbitGraph
        The graph of side observations.
    gaps : (vertices,) array
        The gaps Delta_i, at least 0.
    horizon : int
        Number of rounds n.
    bias : float
        Arms with gaps up to this are left out.

    Examples
    --------
    >>> import orbandit as ob
    >>> cone = ob.problems.Cone(ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2), peak=[0.9, 0.3])
    >>> mesh = ob.meshes.quotient_net(cone.space, cone.group, 0.05)
    >>> graph = ob.meshes.OrbitGraph(mesh, cone.group, 0.1)
    >>> bounds = ob.theory.independent_set_bounds(graph, cone.optimum - cone.mean(mesh.points), 10**5, bias=0.1)
    >>> bounds.alpha, [round(x) for x in bounds.gap_dependent]
    ((30, 43), [1146, 1633])
    """
    if not isinstance(graph, OrbitGraph):
        raise InputTypeError(f"`graph` must be an OrbitGraph, but got {shown(graph)}.")
    n, gap = as_count(horizon, "horizon", minimum=2), as_finite(gaps, "gaps")
    if gap.shape != (len(graph),) or (gap < 0).any():
        raise InputError(f"`gaps` must be {len(graph)} numbers, none below 0, but got {shown(gap)}.")
    counted = gap > as_tolerance(bias, "bias")
    weights = np.where(counted, 1 / np.where(counted, gap, 1.0), 0.0)
    cliques = graph.clique_cover()
    found = max(_greedy(graph, weights), float(weights[graph.independent_set()].sum()))
    above = float(sum(weights[clique].max() for clique in cliques))
    alpha = (max(len(graph.independent_set()), round(_greedy(graph, np.ones(len(graph))))), len(cliques))
    log_n = math.log(n)
    return IndependentSetBounds(
        alpha, (log_n * found, log_n * above), (math.sqrt(alpha[0] * n * log_n), math.sqrt(alpha[1] * n * log_n))
    )


def _greedy(graph: OrbitGraph, weights: Array) -> float:
    """Return the weight of an independent set: the heaviest for their number of neighbours first."""
    degrees = np.diff(graph.indptr)
    free = np.ones(len(graph), dtype=bool)
    total = 0.0
    for vertex in np.argsort(-weights / degrees, kind="stable"):
        if free[vertex]:
            total += float(weights[vertex])
            free[graph.neighbors(int(vertex))] = False
    return total
