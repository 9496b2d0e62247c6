"""LowerBoundFamily: the hard instances of Appendix C, with a packing in the orbit metric.

    f_i(x) = 1/3 + L max(0, delta/2 - d_G(i, x)),     i in W, rewards 0 and 1, L = 1 in the paper.

W is a maximal delta-packing in the orbit metric d_G: no two of its orbits come within delta of each
other, so that the instances differ from the flat 1/3 on disjoint sets C_i = {x : d_G(i, x) <
delta/2}. That makes them a (|W|, L delta/2)-ensemble, as the lower bound needs
(`ob.theory.lower_bound`).

Deviations from the paper: it uses a strict packing of the Dirichlet domain, kept delta away from
the walls, which need not exist for a large group and a moderate delta (`strict`); and it prints the
distance to i where the nearest image of i is meant.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np

from orbandit._checks import Array, as_count, as_generator, as_positive, as_seed, frozen
from orbandit.errors import InputError
from orbandit.groups import Group, Trivial
from orbandit.groups.base import check_fit
from orbandit.problems.base import Problem
from orbandit.problems.packing import pack, pack_strictly
from orbandit.spaces import Space

BASE = 1 / 3


@final
class HardInstance(Problem):
    """One instance f_i: flat at 1/3, with a small cone at the orbit of its centre."""

    _is_unit = True

    def __init__(self, space: Space, group: Group | None, center: Array, delta: float, lipschitz: float = 1.0) -> None:
        super().__init__(space, group, lipschitz)
        self._center, self._delta = center, delta
        self._metric = group or Trivial(space.dim)

    def __repr__(self) -> str:
        return f"<instance of LowerBoundFamily at {self._center.tolist()}, delta={self._delta}>"

    @property
    def optimizer(self) -> Array:
        """The centre."""
        return self._center

    def _mean(self, points: Array) -> Array:
        distances = np.asarray(self._metric.distance(points, self._center))
        return np.asarray(BASE + self.lipschitz * np.maximum(0.0, self._delta / 2 - distances))


@final
class LowerBoundFamily:
    """The hard instances of the lower bound: no agent has small regret on all of them.

    Parameters
    ----------
    space : Space
        Where points live.
    group : Group or None
        The symmetry of the means, which must map the space onto itself; None for no symmetry.
    delta : float
        The distance between orbits of the packing, below 2 / (3 L): cones are delta / 2 wide and L
        delta / 2 high.
    lipschitz : float
        The Lipschitz constant L, positive.
    seed : int
        Seed for the packing.

    Examples
    --------
    >>> import orbandit as ob
    >>> family = ob.problems.LowerBoundFamily(ob.spaces.Ball(2), ob.groups.Dihedral(5), delta=0.2)
    >>> len(family), round(family.instance(3).optimum, 4), len(family.strict)
    (8, 0.4333, 1)
    """

    def __init__(
        self, space: Space, group: Group | None, delta: float, *, lipschitz: float = 1.0, seed: int = 0
    ) -> None:
        check_fit(space, group)
        self._lipschitz = as_positive(lipschitz, "lipschitz")
        if as_positive(delta, "delta") * self._lipschitz >= 2 / 3:
            raise InputError(
                f"`delta * lipschitz < 2/3` must hold, but got {delta} * {lipschitz}: means must stay below 1.",
                field="delta",
                value=delta,
            )
        self._space, self._group, self._delta = space, group, float(delta)
        self._seed = as_seed(seed)
        packing = pack(space, group, self._delta, as_generator(self._seed))
        self._centers = frozen(packing if group is None else space.project(group.fold(packing)))

    def __len__(self) -> int:
        return len(self._centers)

    def __repr__(self) -> str:
        return f"<LowerBoundFamily: {len(self)} instances, delta={self._delta}, {self._space!r}, {self._group!r}>"

    @property
    def space(self) -> Space:
        """Where points live."""
        return self._space

    @property
    def group(self) -> Group | None:
        """What the means are invariant under."""
        return self._group

    @property
    def delta(self) -> float:
        """The distance of the packing."""
        return self._delta

    @property
    def lipschitz(self) -> float:
        """The slope L of the cones."""
        return self._lipschitz

    @property
    def centers(self) -> Array:
        """The packing W, (k, dim)."""
        return self._centers

    @cached_property
    def instances(self) -> Sequence[HardInstance]:
        """The problems, one for each point of W."""
        return tuple(self.instance(i) for i in range(len(self)))

    def instance(self, index: int) -> HardInstance:
        """Return the problem whose best points are the orbit of W's point of this index.

        Parameters
        ----------
        index : int
            Index of a point of W, below the number of instances.
        """
        i = as_count(index, "index", minimum=0)
        if i >= len(self):
            raise InputError(
                f"`index < {len(self)}` must hold, but got index={index}: so many instances there are.",
                field="index",
                value=index,
            )
        return HardInstance(self._space, self._group, self._centers[i], self._delta, self._lipschitz)

    @cached_property
    def strict(self) -> Array:
        """The paper's own packing, (k, dim): of the fundamental domain, and farther than delta from its boundary.

        It needs a group with a polyhedral domain, and has no points at all if the domain holds no
        ball that large.
        """
        return frozen(pack_strictly(self._space, self._group, self._delta, as_generator(self._seed)))
