"""Radial: a family of kernels applied to a squared distance of orbits, k(x, y) = k(q(x, y))."""

from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import CompiledMetric, Metric, QuotientKernel, is_same, side_by_side
from orbandit.agents.gaussian.families import Family


class Radial(QuotientKernel):
    """A function of a squared Hilbert distance.

    Parameters
    ----------
    widths : (classes,) array
        The width of the space in the coordinates of each class.
    metric : Metric
        The squared distance.
    family : Family
        The function.
    """

    def __init__(self, widths: Array, metric: Metric, family: Family) -> None:
        super().__init__(widths)
        self._metric, self._family = metric, family

    @property
    def has_reach(self) -> bool:
        """The metric's."""
        return self._metric.has_reach

    @property
    def width(self) -> int:
        """The metric's."""
        return self._metric.width

    def features(self, points: Array) -> Array:
        """Return the metric's features."""
        return self._metric.features(points)

    def paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the family's value at each squared distance."""
        return self._family.value(self._metric.squared_paired(a, b, lengths))

    def paired_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return `paired` and its derivatives by the chain rule."""
        q, by_scale = self._metric.squared_paired_and_scale_gradients(a, b, lengths)
        values, by_q = self._family.both(q)
        return values, by_scale * by_q


@final
class Chained(Radial):
    """The family after the metric, array by array."""

    def cross(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the family's value at each squared distance."""
        return self._family.value(self._metric.squared(a, b, lengths))

    def cross_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return `cross` and its derivatives by the chain rule."""
        q, by_scale = self._metric.squared_and_scale_gradients(a, b, lengths)
        values, by_q = self._family.both(q)
        by_scale *= by_q
        return values, by_scale

    def along_many(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return values and gradients by the chain rule."""
        q, gradients = self._metric.squared_along(points, b, lengths)
        values, by_q = self._family.both(q)
        gradients *= by_q[:, :, None]
        return values, gradients


@final
class Fused(Radial):
    """The family within the loops of a compiled metric, over the images of a point or the point alone."""

    _metric: CompiledMetric

    def cross(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the values at all pairs; the fewer points come first, since long rows are fast."""
        if len(b) < len(a):
            return self.cross(b, a, lengths).T
        return self.means(a[:, None], b, lengths, is_same(a, b))

    def cross_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return `cross` and its derivatives."""
        return self.means_and_scale_gradients(a[:, None], b, lengths, is_same(a, b))

    def along_many(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return values and gradients."""
        return self.means_along(points, b[:, None], lengths)

    def means(self, images: Array, b: Array, lengths: Array, is_symmetric: bool) -> Array:
        """Return the means over images."""
        return self._metric.means(self._family.number, images, b, lengths, is_symmetric)

    def means_and_scale_gradients(
        self, images: Array, b: Array, lengths: Array, is_symmetric: bool
    ) -> tuple[Array, Array]:
        """Return the means over images, and their derivatives."""
        return self._metric.means_and_scale_gradients(self._family.number, images, b, lengths, is_symmetric)

    def means_along(self, points: Array, images: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the means over images, and their gradients."""
        return self._metric.means_along(self._family.number, points, images, lengths)


@final
class Sum(Metric):
    """The sum of squared distances of parts, each of which sees its own coordinates of a point."""

    def __init__(self, parts: list[Metric]) -> None:
        self._parts, self._slices = parts, side_by_side([part.width for part in parts])
        self.has_reach = any(part.has_reach for part in parts)

    @property
    def width(self) -> int:
        """Sum of the parts' widths."""
        return int(self._slices[-1].stop)

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

    def squared_paired_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Add up the parts' squared distances and derivatives."""
        parts = zip(self._parts, self._slices, strict=True)
        return _added([part.squared_paired_and_scale_gradients(a[:, own], b[:, own], lengths) for part, own in parts])

    def squared_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Add up the parts' squared distances and derivatives."""
        parts = zip(self._parts, self._slices, strict=True)
        return _added([part.squared_and_scale_gradients(a[:, own], b[:, own], lengths) for part, own in parts])

    def squared_along(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Add up the parts' squared distances and gradients."""
        parts = zip(self._parts, self._slices, strict=True)
        return _added([part.squared_along(points, b[:, own], lengths) for part, own in parts])


def _added(pairs: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    first, second = zip(*pairs, strict=True)
    return np.asarray(sum(first)), np.asarray(sum(second))


def radial(widths: Array, metric: Metric, family: Family) -> Radial:
    """Return the kernel of a family and a metric, compiled if the metric is."""
    if isinstance(metric, CompiledMetric):
        return Fused(widths, metric, family)
    return Chained(widths, metric, family)
