"""SpatialAgent: what agents share that choose points of a space, alone or with a group."""

from typing import Any

import numpy as np

from orbandit._checks import Array, as_point, as_positive, shown
from orbandit.agents.base import ELSEWHERE, Agent
from orbandit.agents.files import Arrays
from orbandit.agents.sizes import check_sizes
from orbandit.errors import InputError
from orbandit.groups import Group
from orbandit.groups.base import check_fit
from orbandit.groups.units import Units
from orbandit.spaces import Space


class SpatialAgent(Agent):
    """Plays points of a space.

    In the agent's own units rewards lie in [0, 1], and the mean has the Lipschitz constant 1 for the distance
    L / (high - low) d_G, so that every formula is the papers'. An agent that learns L works in coordinates scaled by
    `Units`: then `_space` and `_group` are in these, `_inside` enters them, and `_units.leave` comes back.
    """

    _scale: float

    def _configure_space(
        self, space: Space, group: Group | None, lipschitz: float | None, is_scaled: bool = False
    ) -> None:
        """Check and keep where points live; the range of rewards must be known.

        Without a Lipschitz constant the range may be crossed over half the diameter of the space.
        """
        check_sizes(space, group)
        check_fit(space, group)
        self._given_space, self._given_group, self._is_scaled = space, group, is_scaled
        self._units = Units(space, group) if is_scaled else Units.same(space, group)
        self._space, self._group = self._units.space, self._units.group
        self._is_learning = lipschitz is None
        if lipschitz is None:
            self._lipschitz = self._span / (self._space.diameter / 2)
        else:
            self._lipschitz = as_positive(lipschitz, "lipschitz")
        self._scale = self._lipschitz / self._span
        if not 1e-300 < self._scale < 1e300:
            raise InputError(
                f"`lipschitz` over the width of `reward_range` must lie in (1e-300, 1e300), but got {self._scale:g}."
            )

    @property
    def space(self) -> Space:
        """Where the arms live."""
        return self._given_space

    @property
    def group(self) -> Group | None:
        """The symmetry, if there is one."""
        return self._given_group

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant of the mean reward."""
        return self._lipschitz

    def _key(self, point: Any) -> bytes:
        if type(point) is np.ndarray and point.dtype == np.float64 and point.shape == (self._space.dim,):
            return point.tobytes()
        return as_point(point, self._space.dim).tobytes()

    def _inside(self, point: Any) -> Array:
        """Return a point of the space, checked, in the agent's units."""
        space, inside = self._given_space, as_point(point, self._space.dim)
        if not space.contains(inside, tol=space.tolerance):
            raise InputError(f"`point` must lie in {shown(space)}, but got {shown(inside)}; use `space.project`.")
        return self._units.enter(inside)

    def _spatial_settings(self) -> dict[str, Any]:
        """Return the settings that all such agents have."""
        return {
            "space": self._given_space,
            "group": self._given_group,
            "horizon": self._horizon,
            "lipschitz": None if self._is_learning else self._lipschitz,
            "reward_range": self.reward_range,
        }

    def _asked_points(self) -> Array:
        """Return the points of the pending asks."""
        return np.array([point_of(key) for key in self._pending_keys()]).reshape(-1, self._space.dim)

    def _asked_keys(self, arrays: Arrays) -> list[bytes]:
        """Undo `_asked_points`, checked: pending asks are of points of the space."""
        space, points = self._given_space, arrays["asked"]
        if points.shape != (len(points), space.dim) or points.dtype != np.float64:
            raise ValueError(f"pending asks of shape {points.shape} and type {points.dtype}")
        if not np.all(space.contains(points, tol=space.tolerance)):
            raise ValueError("pending asks of points outside the space")
        return [point.tobytes() for point in points]

    def _check_asks(self) -> None:
        """Refuse pending asks of other points than those of their arms or cells."""
        for key, handles in self._asked.items():
            for handle in set(handles) - {ELSEWHERE}:
                gap = self._units.enter(self._point(handle)) - self._units.enter(point_of(key))
                if np.abs(gap).max() > self._space.tolerance:
                    raise ValueError("pending asks of other points than their arms have")


def point_of(key: bytes) -> Array:
    """Return the point that a key identifies."""
    return np.frombuffer(key)
