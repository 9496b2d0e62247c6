"""Cone: a cone about the orbit of one peak."""

from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_point, as_positive, frozen, shown
from orbandit.errors import InputError
from orbandit.groups import Group, Trivial
from orbandit.problems.base import Problem
from orbandit.spaces import Space


@final
class Cone(Problem):
    """The mean clip(height - L d_G(x, peak), 0, 1), with Bernoulli rewards.

    Parameters
    ----------
    space : Space
        Where points live.
    group : Group or None
        The symmetry of the mean, which must map the space onto itself; None for no symmetry.
    peak : (dim,) array
        A point of the space; best neither in its middle nor on a fixed point of the group.
    height : float
        The mean at the peak, in (0, 1].
    lipschitz : float
        The slope L, positive.

    Examples
    --------
    >>> import orbandit as ob
    >>> cube, group = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
    >>> cone = ob.problems.Cone(cube, group, peak=[0.9, 0.2, 0.4])
    >>> cone.optimum, cone.mean([[0.2, 0.4, 0.8], [0.9, 0.2, 0.4]]).round(3).tolist()
    (0.95, [0.85, 0.95])
    """

    _is_unit = True

    def __init__(
        self,
        space: Space,
        group: Group | None,
        peak: npt.ArrayLike,
        height: float = 0.95,
        lipschitz: float = 1.0,
    ) -> None:
        self._slope = as_positive(lipschitz, "lipschitz")
        super().__init__(space, group, self._slope)
        self._peak = frozen(as_point(peak, space.dim, "peak"))
        if not space.contains(self._peak):
            raise InputError(
                f"`peak` must lie in {shown(space)}, but got {shown(self._peak)}.", field="peak", value=peak
            )
        self._height = as_positive(height, "height")
        if self._height > 1:
            raise InputError(
                f"`height <= 1` must hold, but got height={height}: it is a probability.", field="height", value=height
            )
        self._metric = group or Trivial(space.dim)

    def __repr__(self) -> str:
        shape = f"peak={self._peak.tolist()}, height={self._height}, lipschitz={self.lipschitz}"
        return f"Cone({self.space!r}, {self.group!r}, {shape})"

    @property
    def optimizer(self) -> Array:
        """The peak."""
        return self._peak

    def _mean(self, points: Array) -> Array:
        distances = np.asarray(self._metric.distance(points, self._peak))
        return np.asarray(np.clip(self._height - self._slope * distances, 0.0, 1.0))
