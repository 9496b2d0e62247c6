"""Coordinates: the parameters of a trial as a point of the unit cube, and back.

A float parameter is scaled from its range, a logarithmic one from the range of its logarithm. An
integer, or a float with a step, has a cell around each of its values, half a step to either side:
all values are equally wide, and a point means the value of its cell.
"""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias, TypeGuard, final

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from orbandit._checks import Array

Number: TypeAlias = FloatDistribution | IntDistribution
"""The distributions that have an order."""


def is_number(distribution: BaseDistribution | None) -> TypeGuard[Number]:
    """Return whether a distribution is of numbers, at least two."""
    return isinstance(distribution, FloatDistribution | IntDistribution) and not distribution.single()


def shown_range(distribution: BaseDistribution) -> str:
    """Return a distribution in a few words."""
    if not isinstance(distribution, FloatDistribution | IntDistribution):
        return "categorical"
    kind = "integers" if isinstance(distribution, IntDistribution) else "floats"
    step = "" if distribution.step in (None, 1) else f" in steps of {distribution.step:g}"
    return f"{kind} in [{distribution.low:g}, {distribution.high:g}]{step}{', log' if distribution.log else ''}"


@final
class Coordinates:
    """The map between parameters and the unit cube.

    Parameters
    ----------
    distributions : dict
        The distribution of each parameter, in the order of the coordinates.

    Examples
    --------
    >>> from optuna.distributions import FloatDistribution, IntDistribution
    >>> cube = Coordinates({"rate": FloatDistribution(1, 100, log=True), "layers": IntDistribution(1, 4)})
    >>> cube.point({"rate": 10.0, "layers": 1})
    array([0.5  , 0.125])
    >>> cube.params([1.0, 0.74])
    {'rate': 100.0, 'layers': 3}
    """

    def __init__(self, distributions: Mapping[str, Number]) -> None:
        self.distributions = dict(distributions)
        self._axes = [(name, _Axis(distribution)) for name, distribution in self.distributions.items()]

    def point(self, params: Mapping[str, Any]) -> Array | None:
        """Return the point of some parameters; None if one is missing or out of its range."""
        try:
            place = [axis.place(params[name]) for name, axis in self._axes]
        except (KeyError, TypeError, ValueError):
            return None
        if not all(-1e-9 <= x <= 1 + 1e-9 for x in place):
            return None
        return np.asarray(np.clip(place, 0.0, 1.0))

    def params(self, point: Any) -> dict[str, float | int]:
        """Return the parameters of a point, rounded to allowed values."""
        return {name: axis.value(float(x)) for (name, axis), x in zip(self._axes, point, strict=True)}


class _Axis:
    """One coordinate: `place` of a value in [0, 1], `value` of a place."""

    def __init__(self, distribution: Number) -> None:
        self._low, self._high, self._log = distribution.low, distribution.high, distribution.log
        self._whole = isinstance(distribution, IntDistribution)
        self._step = distribution.step
        margin = 0.0 if self._step is None else self._step / 2
        self._start = self._scale(self._low - margin)
        self._width = self._scale(self._high + margin) - self._start

    def place(self, value: Any) -> float:
        return (self._scale(value) - self._start) / self._width

    def value(self, place: float) -> float | int:
        raw = self._start + place * self._width
        raw = math.exp(raw) if self._log else raw
        if self._step is not None:
            raw = self._low + self._step * round((raw - self._low) / self._step)
        raw = min(max(raw, self._low), self._high)
        return int(raw) if self._whole else float(raw)

    def _scale(self, value: Any) -> float:
        return math.log(value) if self._log else float(value)
