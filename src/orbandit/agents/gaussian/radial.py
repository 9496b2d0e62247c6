"""Radial: a family of kernels applied to a squared distance of orbits, k(x, y) = k(q(x, y))."""

from itertools import accumulate
from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import Metric, QuotientKernel
from orbandit.agents.gaussian.families import Family


@final
class Radial(QuotientKernel):
    """A function of a squared Hilbert distance; all prior variances are 1."""

    def __init__(self, unit: Array, metric: Metric, family: Family) -> None:
        super().__init__(unit)
        self._metric, self._family = metric, family

    @property
    def width(self) -> int:
        """The metric's."""
        return self._metric.width

    def features(self, points: Array) -> Array:
        """Return the metric's features."""
        return self._metric.features(points)

    def cross(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the family's value at each squared distance."""
        return self._family.value(self._metric.squared(a, b, lengths))

    def paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the family's value at each squared distance."""
        return self._family.value(self._metric.squared_paired(a, b, lengths))

    def diagonal(self, a: Array, lengths: Array) -> Array:
        """Return ones."""
        return np.ones(len(a))

    def cross_and_slopes(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return `cross` and its derivatives by the chain rule."""
        q, slopes = self._metric.squared_and_slopes(a, b, lengths)
        values, by_q = self._family.both(q)
        slopes *= by_q
        return values, slopes

    def along_many(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return values and gradients by the chain rule."""
        q, gradients = self._metric.squared_along(points, b, lengths)
        values, by_q = self._family.both(q)
        gradients *= by_q[:, :, None]
        return values, gradients

    def diagonal_along(self, points: Array, lengths: Array) -> tuple[Array, Array]:
        """Return ones and zeros."""
        return np.ones(len(points)), np.zeros(points.shape)


@final
class Sum(Metric):
    """The sum of squared distances of parts, each of which sees its own coordinates of a point."""

    def __init__(self, parts: list[Metric]) -> None:
        self._parts = parts
        ends = list(accumulate(part.width for part in parts))
        self._slices = [slice(end - part.width, end) for part, end in zip(parts, ends, strict=True)]

    @property
    def width(self) -> int:
        """Sum of the parts' widths."""
        return self._slices[-1].stop

    def features(self, points: Array) -> Array:
        """Return the parts' features side by side."""
        return np.hstack([part.features(points) for part in self._parts])

    def squared(self, a: Array, b: Array, lengths: Array) -> Array:
        """Add up the parts' squared distances."""
        parts = zip(self._parts, self._slices, strict=True)
        return np.asarray(sum(part.squared(a[:, own], b[:, own], lengths) for part, own in parts))

    def squared_paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Add up the parts' squared distances."""
        parts = zip(self._parts, self._slices, strict=True)
        return np.asarray(sum(part.squared_paired(a[:, own], b[:, own], lengths) for part, own in parts))

    def squared_and_slopes(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Add up the parts' squared distances and slopes."""
        parts = zip(self._parts, self._slices, strict=True)
        return _added([part.squared_and_slopes(a[:, own], b[:, own], lengths) for part, own in parts])

    def squared_along(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Add up the parts' squared distances and gradients."""
        parts = zip(self._parts, self._slices, strict=True)
        return _added([part.squared_along(points, b[:, own], lengths) for part, own in parts])


def _added(pairs: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    first, second = zip(*pairs, strict=True)
    return np.asarray(sum(first)), np.asarray(sum(second))
