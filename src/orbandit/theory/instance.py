"""The lower bound of Graves and Lai on the regret of consistent agents, on one problem and mesh.

Arms are the points of a mesh, mu_k their means, mu* the largest of these, d their distances, and it
is known that means are Lipschitz with constant L. With

    c = min  sum over k of c_k (mu* - mu_k)     over c >= 0 such that, for every arm k that is not optimal,
             sum over j of c_j kl(mu_j, max(mu_j, mu* - L d(k, j))) >= 1

the regret against mu* is at least c log n (1 + o(1)) for every agent that is consistent: its regret
is below every power of n on all Lipschitz means. Arm j must be played c_j log n times. The row of k
says why: in the alternative instance, k is raised to mu*, and others as far as the Lipschitz
constant requires; plays must reject that instance. Arms whose mean is unchanged, mu_j >= mu* - L
d(k, j), carry no information, and optimal arms never do: ties are one set. Without structure (L
infinite) c is the sum over k of (mu* - mu_k) / kl(mu_k, mu*), the limit of Lai and Robbins.

Ends of the range of rewards. An arm whose rewards are all `low` has kl(low, q) = log 1 / P_q(low),
a number. If mu* is `high`, kl(mu_k, mu*) is infinite: no instance has a better arm, an agent that
has seen no other reward of an arm may stay with it, and c = 0.

The gain of a group. On a mesh of representatives d is the orbit metric d_G. Let V be a mesh that G
maps to itself and Q have one point of each orbit of V. Then

    c(Q, d_G) = c(V, d_G) <= c(V, d) <= |G| c(Q, d_G).

The first: means and d_G are constant on orbits, so only the sum of c_j over an orbit matters. The
second: d_G <= d, so every term of every row is larger with d_G; these are the side observations
along orbits. The third: c_j for every image of j is feasible for d, since the nearest image of j is
at d_G(k, j) from k. So c(V, d) / c(Q, d_G), which is between 1 and |G|, is the gain of the group on
this instance: same arms, same means, same mu*. Two nets of different points have another mu* and
other gaps, and their limits are not comparable.

The linear program has few rows that matter. It is solved with some of them, which is a lower bound
on c; its solution scaled until it satisfies all is an upper bound; and rows that it violates are
added until the two are close. Both are made safe against the solver's tolerances: the lower bound
is that of a dual solution scaled until it is feasible.

    T. Graves, T. L. Lai, Asymptotically efficient adaptive choice of control laws, 1997
    S. Magureanu, R. Combes, A. Proutiere, Lipschitz bandits: regret lower bounds and optimal
        algorithms, 2014
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_tolerance, shown
from orbandit.errors import InputError, InputTypeError, OrbanditError
from orbandit.groups import Group, Trivial
from orbandit.meshes import Mesh
from orbandit.problems import Noise, Problem
from orbandit.problems.base import ROUNDING
from orbandit.theory.upper import slope_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Indices = npt.NDArray[np.intp]

MAX_WHOLE = 1_000
"""Most suboptimal arms for which all rows are used from the start, so that the limit is exact."""

ROWS_AT_ONCE = 300
"""Rows added at a time."""

MAX_PAIRS = 4_000_000
"""Pairs of arms per batch."""

STEEPER = 1e-6
"""Relative tolerance, for rounding, of slopes above the Lipschitz constant."""


class InstanceBounds(NamedTuple):
    """Bounds of the constant c of an instance.

    Attributes
    ----------
    lower, upper : float
        lower <= c <= upper.

    Examples
    --------
    >>> import orbandit as ob
    >>> cone = ob.problems.Cone(ob.spaces.Box(0, 1, dim=1), None, peak=[0.3])
    >>> lower, upper = ob.theory.instance_bounds(cone, ob.meshes.net(cone.space, 0.05))
    >>> bool(0 < lower <= upper)
    True
    """

    lower: float
    upper: float


def instance_limit(problem: Problem, mesh: Mesh, gap: float = 1e-3) -> float:
    """Return the constant c of Graves and Lai's asymptotic lower bound c log n on the regret.

    The regret is against the best arm of the mesh: at least (1 + o(1)) c log n for every agent that
    plays this mesh and is consistent on all Lipschitz means there. The value is the lower one of
    `instance_bounds`: c itself up to 1,000 arms, and otherwise at least c / (1 + gap).

    Parameters
    ----------
    problem : Problem
        Its means at the mesh, its Lipschitz constant, and its noise: Bernoulli or ClippedGaussian.
    mesh : Mesh
        The arms. Distances are those of the orbit metric of `mesh.group`, or plain ones if it has
        none.
    gap : float
        The relative gap, positive: with more than 1,000 suboptimal arms, rows of the linear program
        are added until upper <= (1 + gap) lower. With fewer, all rows are used, and the bounds
        differ by rounding alone.

    Examples
    --------
    The gain of the group: the constant on a grid that is invariant under it, and on one point of
    each orbit:

    >>> import numpy as np
    >>> import orbandit as ob
    >>> square, swap = ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2)
    >>> cone = ob.problems.Cone(square, swap, peak=[0.83, 0.31])
    >>> grid = np.stack(np.meshgrid(np.arange(0.1, 1, 0.2), np.arange(0.1, 1, 0.2)), axis=-1).reshape(-1, 2)
    >>> every = ob.meshes.Mesh(grid, 0.15)
    >>> orbits = ob.meshes.Mesh(np.unique(swap.fold(grid), axis=0), 0.15, group=swap)
    >>> [(len(mesh), round(ob.theory.instance_limit(cone, mesh), 2)) for mesh in (every, orbits)]
    [(25, 28.04), (15, 15.8)]
    """
    return instance_bounds(problem, mesh, gap).lower


def instance_bounds(problem: Problem, mesh: Mesh, gap: float = 1e-3) -> InstanceBounds:
    """Return lower and upper bounds of the constant c of `instance_limit`.

    Parameters
    ----------
    problem : Problem
        Its means at the mesh, its Lipschitz constant, and its noise: Bernoulli or ClippedGaussian.
    mesh : Mesh
        The arms. Distances are those of the orbit metric of `mesh.group`, or plain ones if it has
        none.
    gap : float
        The relative gap, positive: with more than 1,000 suboptimal arms, rows of the linear program
        are added until upper <= (1 + gap) lower. With fewer, all rows are used, and the bounds
        differ by rounding alone.

    Examples
    --------
    >>> import orbandit as ob
    >>> cone = ob.problems.Cone(ob.spaces.Box(0, 1, dim=1), None, peak=[0.3])
    >>> bounds = ob.theory.instance_bounds(cone, ob.meshes.net(cone.space, 0.01))
    >>> round(bounds.lower, 3), bool(bounds.upper / bounds.lower < 1.000001)
    (23.846, True)
    """
    closeness = as_tolerance(gap, "gap")
    arms = _Arms.of(problem, mesh)
    if arms is None:
        return InstanceBounds(0.0, 0.0)
    size = len(arms.means)
    rows = np.arange(size) if size <= MAX_WHOLE else np.linspace(0, size - 1, ROWS_AT_ONCE).astype(np.intp)
    program, lower, upper = arms.rows(rows), 0.0, np.inf
    while True:
        losses, least = _solved(program)
        told = program @ losses if len(rows) == size else arms.told(losses)
        worst = told.min()
        lower, upper = max(lower, least), min(upper, losses.sum() / worst if worst > 0 else np.inf)
        missing = np.setdiff1d(np.flatnonzero(told < 1), rows)
        if upper <= (1 + closeness) * lower or not len(missing):
            return InstanceBounds(float(min(lower, upper)), float(upper))
        added = missing[np.argsort(told[missing], kind="stable")[:ROWS_AT_ONCE]]
        rows, program = np.concatenate([rows, added]), _stacked(program, arms.rows(added))


@final
@dataclass(frozen=True)
class _Arms:
    """The suboptimal arms, by their gaps, and the information of their plays.

    The unknowns of the program are losses, x_j = c_j (mu* - mu_j), so that its objective is their
    sum.
    """

    points: Array
    means: Array
    best: float
    lipschitz: float
    slack: float
    group: Group
    noise: Noise

    @classmethod
    def of(cls, problem: Problem, mesh: Mesh) -> "_Arms | None":
        """Return the arms of a problem on a mesh, checked; None if there is nothing to learn."""
        if not isinstance(problem, Problem) or not isinstance(mesh, Mesh):
            raise InputTypeError(f"a problem and a mesh are needed, but got {shown(problem)} and {shown(mesh)}.")
        space, noise = problem.space, problem.noise
        if mesh.dim != space.dim or not np.all(space.contains(mesh.points, tol=space.tolerance)):
            raise InputError(f"`mesh` must have points of {shown(space)}, but {shown(mesh)} has others.", field="mesh")
        if noise is None:
            raise InputError(
                f"{type(problem).__name__} draws rewards in a way of its own, whose divergence is not known; give it "
                "`noise` Bernoulli() or ClippedGaussian(...).",
                field="problem",
            )
        low, high = problem.reward_range
        means = np.clip(np.asarray(problem.mean(mesh.points)), low, high)
        noise.divergence(means[:1], means[:1])  # refuses kinds without one
        best, slack = float(means.max()), ROUNDING * (high - low)
        order = np.argsort(-means, kind="stable")
        lesser = order[means[order] < best - slack]
        group = mesh.group or Trivial(mesh.dim)
        arms = cls(mesh.points[lesser], means[lesser], best, slope_of(problem), slack, group, noise)
        if not len(lesser) or best > high - slack:
            return None
        arms._check_slope(np.asarray(group.distance(mesh.points[order[:1]], arms.points)), means[order[:1]], arms.means)
        return arms

    def rows(self, chosen: Indices) -> "csr_array":
        """Return rows of the program: kl(mu_j, max(mu_j, mu* - L d(k, j))) / (mu* - mu_j) for some k and all j."""
        return self._program(chosen, np.arange(len(self.means)))

    def told(self, losses: Array) -> Array:
        """Return the left side of every row."""
        played = np.flatnonzero(losses)
        return np.asarray(self._program(np.arange(len(self.means)), played) @ losses[played])

    def _program(self, rows: Indices, columns: Indices) -> "csr_array":
        """Return a part of the program, made in pieces."""
        from scipy.sparse import csr_array, vstack

        step = max(1, MAX_PAIRS // len(columns))
        if len(rows) > step:
            pieces = [self._program(rows[start : start + step], columns) for start in range(0, len(rows), step)]
            return csr_array(vstack(pieces))
        distances = np.asarray(self.group.distance(self.points[rows], self.points[columns]))
        distances[rows[:, None] == columns] = 0.0  # not rounding
        self._check_slope(distances, self.means[rows], self.means[columns])
        raised = self.best - self.lipschitz * distances
        k, j = np.nonzero(raised > self.means[columns])
        means = self.means[columns[j]]
        values = self.noise.divergence(means, raised[k, j]) / (self.best - means)
        return csr_array((values, (k, j)), shape=raised.shape)

    def _check_slope(self, distances: Array, left: Array, right: Array) -> None:
        """Refuse means that are not Lipschitz in the metric of the mesh."""
        steep = np.abs(left[:, None] - right) - (1 + STEEPER) * self.lipschitz * distances
        if (steep > self.slack).any():
            raise InputError(
                f"means on the mesh must be Lipschitz with constant {self.lipschitz:g} in the metric of "
                f"{shown(self.group)}, but two of them differ by {float(steep.max()):.3g} more; state a larger "
                "`lipschitz` for the problem, or pass a mesh whose `group` the mean is invariant under."
            )


def _solved(program: "csr_array") -> tuple[Array, float]:
    """Return losses that solve a program up to rounding, and a lower bound of its value.

    Rows are divided by their largest entries. The bound is a dual solution's: y >= 0 with program^T
    y <= 1.
    """
    from scipy.optimize import linprog
    from scipy.sparse import diags_array

    largest = program.max(axis=1).toarray().ravel()
    scaled = diags_array(1 / largest) @ program
    answer: Any = linprog(np.ones(program.shape[1]), A_ub=-scaled, b_ub=-1 / largest, method="highs")
    if answer.status != 0:
        raise OrbanditError(f"the linear program with {program.shape[0]} rows was not solved: {answer.message}")
    prices = np.maximum(-answer.ineqlin.marginals, 0.0) / largest
    return np.maximum(answer.x, 0.0), float(prices.sum() / max(1.0, (program.T @ prices).max()))


def _stacked(above: "csr_array", below: "csr_array") -> "csr_array":
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack([above, below]))
