"""Coordinates: a parametrization made of scalars and arrays as a point of the unit cube, and back.

    bounded            its own value                                    in [low, high]
    bounded, Log       the logarithm of its value                       in [log low, log high]
    whole numbers      its own value, and half a step to either side    in [low - 1/2, high + 1/2]
    unbounded          z = init + sigma atan((x - init) / sigma)        in init -+ sigma pi / 2

These are the user's units, in which a group acts; the unit cube is their range. Parameters with one
bound only are refused, and so are choices, which have no order.
"""

import math
from typing import Any, final

import numpy as np
from nevergrad.parametrization import data as ngdata
from nevergrad.parametrization import parameter
from nevergrad.parametrization.helpers import flatten

from orbandit._checks import Array, shown
from orbandit.errors import InputError
from orbandit.spaces import Box


@final
class Coordinates:
    """The map between candidates and the unit cube.

    Parameters
    ----------
    parametrization : nevergrad Parameter
        Made of `Scalar`, `Log` and `Array`, in any containers.

    Examples
    --------
    >>> import nevergrad as ng
    >>> cube = Coordinates(ng.p.Tuple(ng.p.Log(lower=1, upper=100), ng.p.Array(lower=-1, upper=1, shape=(2,))))
    >>> candidate = cube.candidate([0.5, 0.25, 1.0])
    >>> round(float(candidate.value[0]), 6), candidate.value[1].tolist(), cube.point(candidate).round(6).tolist()
    (10.0, [-0.5, 1.0], [0.5, 0.25, 1.0])
    """

    def __init__(self, parametrization: Any) -> None:
        self._parametrization = parametrization
        self._parts = [_Part(name or "the parameter", part) for name, part in _flat(parametrization)]
        self._low = np.concatenate([part.low for part in self._parts])
        self._high = np.concatenate([part.high for part in self._parts])

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self._low)

    @property
    def box(self) -> Box:
        """The ranges in the user's units."""
        return Box(self._low, self._high)

    def point(self, candidate: Any) -> Array:
        """Return the point of a candidate; refuse one that lies outside."""
        own = np.concatenate(
            [part.inward(data.value) for part, (_, data) in zip(self._parts, _flat(candidate), strict=True)]
        )
        point = (own - self._low) / (self._high - self._low)
        if not (np.isfinite(point).all() and (np.abs(point - 0.5) <= 0.5 + 1e-9).all()):
            raise InputError(f"a candidate must lie within its bounds, but got {shown(candidate.value)}.")
        return np.asarray(np.clip(point, 0.0, 1.0))

    def candidate(self, point: Any) -> Any:
        """Return a candidate at a point."""
        child = self._parametrization.spawn_child()
        own = self._low + np.asarray(point) * (self._high - self._low)
        start = 0
        for part, (_, data) in zip(self._parts, _flat(child), strict=True):
            data.value = part.outward(own[start : start + part.size])
            start += part.size
        return child

    def values(self, point: Any) -> Any:
        """Return the values at a point, as the user sees them."""
        return self.candidate(point).value


def _flat(parametrization: Any) -> list[tuple[str, Any]]:
    """Return the names and parts of a parametrization, in the order of its data."""
    return list(flatten(parametrization, with_containers=False))


class _Part:
    """A scalar or an array: the range of its coordinates, and the maps to and from its values."""

    def __init__(self, name: str, part: Any) -> None:
        if not isinstance(part, ngdata.Data):
            raise InputError(
                f"a parametrization must be made of scalars and arrays, but {name!r} is a {type(part).__name__}; "
                "optimise its options one by one, or with an optimiser for choices."
            )
        low, high = part.bounds
        if (low is None) != (high is None):
            lacks = "no lower" if low is None else "no upper"
            raise InputError(f"{name!r} must have two bounds or none, but has {lacks} one; set both.")
        self.shape = np.shape(part.value)
        self.size = int(np.prod(self.shape, dtype=int))
        self._is_log, self._is_whole = isinstance(part, parameter.Log), bool(part.integer)
        self._is_bounded = low is not None
        if low is None:
            if self._is_log:
                raise InputError(f"{name!r} must have bounds, as a Log without any has no range; set both.")
            self._init = np.ravel(np.asarray(part.value, dtype=float))
            self._sigma = np.broadcast_to(np.ravel(np.asarray(part.sigma.value, dtype=float)), self.size)
            reach = self._sigma * math.pi / 2
            self.low, self.high = self._init - reach, self._init + reach
            return
        self._least, self._most = (np.broadcast_to(np.ravel(end), self.size).astype(float) for end in (low, high))
        margin = 0.5 if self._is_whole else 0.0
        self.low, self.high = self._inward(self._least - margin), self._inward(self._most + margin)

    def inward(self, value: Any) -> Array:
        return self._inward(np.ravel(np.asarray(value, dtype=float)))

    def _inward(self, values: Array) -> Array:
        if self._is_log:
            return np.asarray(np.log(values))
        if self._is_bounded:
            return values
        return np.asarray(self._init + self._sigma * np.arctan((values - self._init) / self._sigma))

    def outward(self, own: Array) -> Any:
        if self._is_log:
            values = np.exp(own)
        elif self._is_bounded:
            values = own
        else:
            angles = np.clip((own - self._init) / self._sigma, -math.pi / 2 + 1e-3, math.pi / 2 - 1e-3)
            values = self._init + self._sigma * np.tan(angles)
        if self._is_whole:
            values = np.round(values)
        if self._is_bounded:
            values = np.clip(values, self._least, self._most)
        if self.shape:
            return values.reshape(self.shape)
        return int(values[0]) if self._is_whole else float(values[0])
