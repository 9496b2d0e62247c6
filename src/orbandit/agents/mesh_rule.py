"""MeshRule: which mesh to play on for n rounds.

Rules for delta, for rewards in [0, 1] and a Lipschitz constant of 1; distances in X are `scale` = L
/ (high - low) times shorter:

    order       delta = (log n / (n |G|))^(1/(d+2)),                    Theorem 1
    measured    n delta^2 = K(delta) log n, K the size of the quotient net: what Theorem 1's choice balances,
                with the net's own size in place of c delta^-d / |G|
    safe        the regret bound of the agent is at most that of the same agent without the group

The first needs a finite group, and delta < c / |G| for the theorem to apply: for an infinite group
it is 0, and for S_20 absurdly small. The second works for any group. With either, knowing the group
may increase the regret: many points of a quotient net lie near walls, so that there are more than 1
/ |G| of those of a plain net, and a mesh finer by the full factor has more arms than n rounds can
use.

Safe. With probability 1 - 2 K n^-3 (Hoeffding) every mean is always within sqrt(2 log n / T) of the
truth, up to the bias of side observations. Then, for all Lipschitz f,

    UniformMesh      R_n <=   n delta + sqrt(8 (K - 1) n log n) + K - 1 + 2 K / n^2
    UniformMesh-N    R_n <= 7 n delta + sqrt(8 |C| n log n) + |C| + 2 K / n^2

with C a partition of G_2delta into cliques. For the first, an arm is played again only while
Delta_i is at most sqrt(8 log n / T_i): T_i plays after its first lose at most sqrt(8 log n T_i),
all arms together at most as if they were played equally often (Cauchy), and the best arm loses n
delta. For the second, an arm is played again only while Delta_i is at most 4 delta + sqrt(8 log n /
O_i), and O_i is at least the number of plays in its clique; what this says of the arm played last
holds for all arms of the clique, with 2 delta more.

Without a group the rule is the paper's, delta_1 = (log n / n)^(1/(d+2)). With one it takes the
least bound among quotient nets with delta <= delta_1, |C| measured, and the plain net for delta_1,
which is a mesh for d_G too: cliques for the plain distance are cliques for d_G. So the bound is at
most that without the group, for every space, group and n, and the mesh is never coarser. The
exponents are Theorem 1's.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_positive, shown, unknown_name
from orbandit.agents.points import Points
from orbandit.agents.sizes import check_sizes
from orbandit.errors import GroupTooLargeError, InputError, InputTypeError, MeshTooLargeError
from orbandit.groups import Group, Trivial
from orbandit.groups.base import MAX_ELEMENTS
from orbandit.meshes import CoveringTree, Mesh, OrbitGraph, net, quotient_net
from orbandit.meshes.nets import log_least_size
from orbandit.spaces import Space

MANY = 10_000
"""Groups with more elements than this get the rule "measured" unless the caller names one."""

CLOSE = 1.02
"""The measured delta is within this factor of the smallest."""

STEP, MAX_SCANNED = 1.1, 5_000
"""The rule "safe" tries nets with deltas in such steps, of at most so many points."""

ALIKE, FEW = 64, 2**17
"""Most leaves of a covering tree for each distinct point of them, unless there are few. `load`
relies on it: it reads the points and makes the tree again."""


@final
class MeshRule:
    """The settings `mesh` and `delta` of an agent, and the meshes that they mean.

    Parameters
    ----------
    points : Points
        The space and group, and how they are scaled.
    mesh : str or Mesh
        One of the names, or a mesh of the user's own.
    delta : "auto", "order", "measured", "safe" or float
        How fine.
    names : sequence of str
        What `mesh` may be: "quotient", "full", "tree".
    one_per_orbit : bool
        Whether two points of one orbit count as one: if a reward counts for the nearest arm, no two
        arms may be equally near.
    bound : RegretShape, optional
        The regret bound of the agent, if it has the rule "safe".
    """

    def __init__(
        self,
        points: Points,
        mesh: str | Mesh,
        delta: str | float,
        names: Sequence[str] = ("quotient",),
        one_per_orbit: bool = False,
        bound: "RegretShape | None" = None,
    ) -> None:
        self._bound = bound
        self._points, self._space, self._group = points, points.space, points.group
        self._names, self._one_per_orbit = names, one_per_orbit
        self._mesh, self._delta = self._checked_mesh(mesh), delta
        if not isinstance(delta, str):
            self._delta = as_positive(delta, "delta")
        elif delta not in (rules := ("auto", "order", "measured") + (() if bound is None else ("safe",))):
            raise unknown_name("rule for delta", delta, rules)
        if isinstance(mesh, Mesh) and delta != "auto":
            raise InputError(
                f"a given mesh has its own delta, but got delta={shown(delta)} too; drop it.", field="delta"
            )
        self._tree: CoveringTree | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether the mesh does not depend on the horizon."""
        return isinstance(self._mesh, Mesh) or not isinstance(self._delta, str)

    @property
    def is_tree(self) -> bool:
        """Whether arms are the leaves of a covering tree."""
        return self._mesh == "tree"

    def mesh(self, n: int) -> Mesh:
        """Return the mesh for n rounds."""
        if isinstance(self._mesh, Mesh):
            return self.distinct(self._mesh)
        rule = self._delta
        if rule == "auto":
            rule = "measured" if self._group is not None and self._group.order > MANY else "order"
        if rule in ("measured", "safe"):
            place = (self._space, self._group, n, self._points.scale)
            bound = self._bound if rule == "safe" else None
            found = measured_net(*place) if bound is None else safe_net(*place, bound)
            if self._mesh == "quotient":
                return self.distinct(found)
            delta = found.delta
        elif isinstance(rule, str):
            order = 1 if self._group is None else self._group.order
            delta = order_delta(n, order, self._space.intrinsic_dim) / self._points.scale
        else:
            delta = rule
        return self.mesh_of(delta)

    def mesh_of(self, delta: float) -> Mesh:
        """Return the mesh of the name given, with another delta."""
        if self.is_tree:
            return self.distinct(self._leaves(delta))
        if self._mesh == "full" or self._group is None:
            return self.distinct(net(self._space, delta))
        return self.distinct(quotient_net(self._space, self._group, delta))

    def distinct(self, mesh: Mesh) -> Mesh:
        """Return the mesh without duplicate points, since a point identifies an arm."""
        mesh = _at(mesh, np.unique(mesh.points, axis=0, return_index=True)[1])
        if self._group is None or not self._one_per_orbit:
            return mesh
        folds = self._group.fold(mesh.points).round(9 - int(np.floor(np.log10(self._space.diameter))))
        return _at(mesh, np.unique(folds, axis=0, return_index=True)[1])

    def tree(self, delta: float, points: int) -> CoveringTree:
        """Return the covering tree whose leaves are a mesh with so many distinct points."""
        if self._tree is None or self._tree.mesh.delta != delta:
            self._tree = CoveringTree(self._space, delta, limit=2 * _most_leaves(points))
        return self._tree

    def restore(self, points: Array, delta: float) -> Mesh:
        """Return a mesh as a file holds it, checked."""
        mesh = Mesh(points, delta, self._space, self._group)
        self._checked_mesh(mesh)
        if self.distinct(mesh) is not mesh:
            raise ValueError("duplicate points")
        return mesh

    def _leaves(self, delta: float) -> Mesh:
        tree = CoveringTree(self._space, delta)
        if len(tree.mesh) > _most_leaves(len(self.distinct(tree.mesh))):
            raise MeshTooLargeError(
                f"the leaves of mesh='tree' must have a distinct point for every {ALIKE} of them, but with delta="
                f"{delta:.3g} there are {len(tree.mesh):,} with fewer; use a larger `delta`, or mesh='quotient'."
            )
        self._tree = tree
        return tree.mesh

    def _checked_mesh(self, mesh: str | Mesh) -> str | Mesh:
        if isinstance(mesh, Mesh):
            check_sizes(mesh.space, mesh.group)
            inside = mesh.dim == self._space.dim and self._space.contains(mesh.points, tol=self._space.tolerance)
            if not np.all(inside):
                raise InputError(
                    f"`mesh` must have points of {shown(self._space)}, but {shown(mesh)} has others.", field="mesh"
                )
            return mesh
        if not isinstance(mesh, str):
            raise InputTypeError(
                f"`mesh` must be a Mesh or one of {', '.join(self._names)}, but got {shown(mesh)}.", field="mesh"
            )
        if mesh not in self._names:
            raise unknown_name("mesh", mesh, self._names)
        if mesh == "tree" and self._group is not None and self._group.order > MAX_ELEMENTS:
            raise GroupTooLargeError(
                f"the search of mesh='tree' lists orbits, but {shown(self._group)} has {shown(self._group.order)} "
                "elements; use mesh='quotient'."
            )
        return mesh


def order_delta(n: int, order: int | float, dim: int) -> float:
    """Return delta by the order of the group."""
    if order == math.inf:
        raise InputError('delta="order" needs a finite group, but this one is infinite; use delta="measured".')
    log_n = math.log(max(n, 2))
    return math.exp((math.log(log_n) - math.log(n) - math.log(order)) / (dim + 2))  # Theorem 1


def measured_net(space: Space, group: Group | None, n: int, scale: float) -> Mesh:
    """Return the finest quotient net with K log n <= n min(1, delta)^2, to within a few per cent of delta."""
    symmetry = group or Trivial(space.dim)

    def affordable(delta: float) -> Mesh | None:
        most = n * min(1.0, scale * delta) ** 2 / math.log(max(n, 2))  # rewards differ by 1 at most
        if most < 1 or log_least_size(space, symmetry, delta) > math.log(most):
            return None
        try:
            mesh = quotient_net(space, symmetry, delta) if group else net(space, delta)
        except MeshTooLargeError:
            return None
        return mesh if len(mesh) <= most else None

    fine, coarse = None, space.diameter
    # one arm, if even that is too much
    best = affordable(coarse) or quotient_net(space, symmetry, coarse)
    while fine is None or coarse / fine > CLOSE:
        delta = coarse / 2 if fine is None else math.sqrt(coarse * fine)
        mesh = affordable(delta)
        if mesh is None:
            fine = delta
        else:
            best, coarse = mesh, delta
    return best


def count_arms(mesh: Mesh) -> int:
    """Return the number of arms but the best."""
    return len(mesh) - 1


def count_cliques(mesh: Mesh) -> int:
    """Return how many cliques of G_2delta the mesh is divided into."""
    return len(OrbitGraph(mesh, mesh.group, 2 * mesh.delta).clique_cover())


@final
@dataclass(frozen=True)
class RegretShape:
    """A regret bound b n delta + sqrt(8 m n log n) + m, with m arms or cliques to tell apart."""

    bias: int
    count: Callable[[Mesh], int]

    def terms(self, mesh: Mesh, n: int, scale: float) -> tuple[float, float]:
        """Return the regret of discretisation, b n delta, and that of learning."""
        parts = self.count(mesh)
        return self.bias * n * scale * mesh.delta, math.sqrt(8 * parts * n * math.log(max(n, 2))) + parts


ARM_BY_ARM = RegretShape(1, count_arms)
"""The bound of UniformMesh."""

CLIQUE_BY_CLIQUE = RegretShape(7, count_cliques)
"""The bound of UniformMesh-N."""


@lru_cache(maxsize=16)  # the seeds of an experiment ask for the same
def safe_net(space: Space, group: Group | None, n: int, scale: float, shape: RegretShape) -> Mesh:
    """Return the net with the least regret bound: a quotient net, or the plain one.

    The plain one is for (log n / n)^(1/(d+2)). Quotient nets are tried from coarse to fine, until
    learning alone costs more than the best.
    """
    delta = order_delta(n, 1, space.intrinsic_dim) / scale
    if group is None:
        return net(space, delta)
    bound = math.inf
    try:
        plain = net(space, delta)
        best, bound = Mesh(plain.points, delta, space, group), sum(shape.terms(plain, n, scale))
    except MeshTooLargeError:  # nothing to lose to: without the group there is no such agent
        best = quotient_net(space, group, delta)
    while log_least_size(space, group, delta) <= math.log(MAX_SCANNED):
        try:
            mesh = quotient_net(space, group, delta)
        except MeshTooLargeError:
            break
        bias, cost = shape.terms(mesh, n, scale)
        if cost >= bound or len(mesh) > MAX_SCANNED:
            break
        if bias + cost < bound:
            best, bound = mesh, bias + cost
        delta /= STEP
    return best


def _at(mesh: Mesh, rows: npt.NDArray[np.intp]) -> Mesh:
    """Return the points of a mesh at some rows, in their order; the mesh itself if that is all."""
    return mesh if len(rows) == len(mesh) else Mesh(mesh.points[np.sort(rows)], mesh.delta, mesh.space, mesh.group)


def _most_leaves(points: int) -> int:
    """Return how many leaves a tree with so many distinct points may have."""
    return max(FEW, ALIKE * points)
