"""Points: the space of an agent, with its group, and the scaling of points and rewards.

In the agent's own units rewards lie in [0, 1], and the mean has the Lipschitz constant 1 for the
distance L / (high - low) d_G, so that every formula is the papers'. An agent that learns L works in
coordinates scaled by `Units`: there the space and the group are those of `units`, `inside` converts
to them, and `units.leave` converts back.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_point, as_points, as_positive, shown
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.sizes import check_sizes
from orbandit.errors import InputError
from orbandit.groups import Group
from orbandit.groups.base import check_fit
from orbandit.groups.feasibility import check_invariant
from orbandit.groups.units import Units
from orbandit.spaces import Space
from orbandit.spaces.feasible_set import FeasibleSet, Rule, ScaledRule


@final
class Points:
    """The points of a space, and how they and rewards are scaled.

    Parameters
    ----------
    space, group : Space, and Group or None
        As the caller gave them.
    lipschitz : float or None
        Without it, the mean is taken to cross the range of rewards over half the diameter of the
        space.
    span : float
        The width of the range of rewards.
    is_scaled : bool
        Whether coordinates are divided by the width of the space; those that the group mixes share
        one width.
    feasible : callable, optional
        The constraint on points asked for and recommended, in the caller's units.
    is_exact : bool
        Whether the constraint must be invariant under the group.

    Attributes
    ----------
    region : FeasibleSet
        The feasible set, in the agent's units.
    is_learning : bool
        Whether the Lipschitz constant is unknown.
    scale : float
        Lipschitz constant over span: distances times this are differences of scaled rewards.
    """

    def __init__(
        self,
        space: Space,
        group: Group | None,
        lipschitz: float | None,
        span: float,
        is_scaled: bool = False,
        feasible: Rule | None = None,
        is_exact: bool = True,
    ) -> None:
        check_sizes(space, group)
        check_fit(space, group)
        self.space, self.group, self.is_scaled = space, group, is_scaled
        self.units = Units(space, group) if is_scaled else Units.same(space, group)
        self.is_learning = lipschitz is None
        half = self.units.space.diameter / 2
        self.lipschitz = span / half if lipschitz is None else as_positive(lipschitz, "lipschitz")
        self.scale = self.lipschitz / span
        if not 1e-300 < self.scale < 1e300:
            raise InputError(
                f"`lipschitz` over the width of `reward_range` must lie in (1e-300, 1e300), but got {self.scale:g}.",
                field="lipschitz",
                value=lipschitz,
            )

        self.region = self._region(feasible, is_exact)

    def _region(self, rule: Rule | None, is_exact: bool) -> FeasibleSet:
        """Return the feasible set in the agent's units, after a check in the caller's."""
        units = self.units
        if rule is None:
            return FeasibleSet(units.space)
        coordinates = None if self.group is None else self.group.unit_coordinates
        given = FeasibleSet(self.space, rule, coordinates)
        if self.group is not None and is_exact:
            check_invariant(given, self.group)
        return FeasibleSet(units.space, ScaledRule(given, units.leave), coordinates)

    def key(self, point: Any) -> bytes:
        """Return what identifies a point, after a check of its form."""
        if type(point) is np.ndarray and point.dtype == np.float64 and point.shape == (self.space.dim,):
            return point.tobytes()
        return as_point(point, self.space.dim).tobytes()

    def inside(self, point: Any) -> Array:
        """Return a point of the space, checked, in the agent's units."""
        space, inside = self.space, as_point(point, self.space.dim)
        if not space.contains(inside, tol=space.tolerance):
            raise InputError(f"`point` must lie in {shown(space)}, but got {shown(inside)}; use `space.project`.")
        return self.units.enter(inside)

    def check(self, points: Sequence[Any] | npt.NDArray[Any]) -> None:
        """Refuse anything but points of the space."""
        if len(points) > 1:
            batch = as_points(points, self.space.dim)[0]
            points = batch[~np.asarray(self.space.contains(batch, tol=self.space.tolerance))]
        for point in points:
            self.inside(point)

    def packed(self, keys: list[bytes]) -> Array:
        """Return the points that keys identify, one to a row."""
        return np.array([point_of(key) for key in keys]).reshape(-1, self.space.dim)

    def unpacked(self, points: Array) -> list[bytes]:
        """Undo `packed`, checked."""
        self.check_saved(points)
        return [point.tobytes() for point in points]

    def check_saved(self, points: Array) -> None:
        """Refuse an array of a file that does not hold points of the space."""
        if points.ndim != 2 or points.shape[1] != self.space.dim or points.dtype != np.float64:
            raise ValueError(f"points of shape {points.shape} and type {points.dtype}")
        if not np.asarray(self.space.contains(points, tol=self.space.tolerance)).all():
            raise ValueError("points outside the space")


@final
class AnyPoint:
    """The arms of an agent that may choose any point.

    A handle says only whether it was asked for.
    """

    def __init__(self, points: Points) -> None:
        self.space, self.group = points.space, points.group
        self.key, self.check, self.packed, self.unpacked = points.key, points.check, points.packed, points.unpacked
        self.units = points.units
        self.chosen: Array  # in the agent's units

    def point(self, handle: int) -> Array:
        """Return the point that was chosen last."""
        return self.units.leave(self.chosen.copy())

    def handle(self, point: Any) -> int:
        """Return ELSEWHERE: the point was not asked for."""
        return ELSEWHERE

    def admits(self, key: bytes, handle: int) -> bool:
        """Return whether a handle is valid."""
        return handle <= 0


def point_of(key: bytes) -> Array:
    """Return the point that a key identifies."""
    return np.frombuffer(key)
