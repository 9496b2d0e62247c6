"""Averaged and Times: kernels made of kernels.

The average over elements h of a finite group,

    k_G(x, y) = mean over h of k(h x, y),

is a kernel on X/G if k(h x, h y) = k(x, y). The k may itself know a part of the group, and h run over the cosets of it.

References
----------
T. Brown, A. Cioba and I. Bogunovic, Sample-efficient Bayesian optimisation using known invariances, 2024.
"""

from collections.abc import Iterator
from functools import reduce
from itertools import accumulate
from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import QuotientKernel
from orbandit.agents.gaussian.euclidean import Index

CHUNK = 1_000_000
"""About how many values are computed at a time."""


@final
class Averaged(QuotientKernel):
    """The average of a kernel over elements of a group; prior variances are largest where elements fix a point.

    Parameters
    ----------
    inner : QuotientKernel
        The k.
    elements : (h, c, c) array
        Orthogonal matrices, the identity first.
    columns : (c,) array of int
        The coordinates they act on.
    center : (c,) array
        The point about which they act.
    """

    def __init__(self, inner: QuotientKernel, elements: Array, columns: Index, center: Array) -> None:
        super().__init__(inner.unit)
        self._inner, self._elements, self._columns, self._center = inner, elements, columns, center

    @property
    def width(self) -> int:
        """Number of features: those of all images."""
        return len(self._elements) * self._inner.width

    def features(self, points: Array) -> Array:
        """Return the features of all images side by side, those of the point itself first."""
        images = self._images(points, self._elements)
        return self._inner.features(images.reshape(-1, points.shape[1])).reshape(len(points), -1)

    def cross(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the mean over all images of the first point."""
        total, first = np.zeros((len(a), len(b))), b[:, : self._inner.width]
        for images in self._chunks(a, total.size):
            values = self._inner.cross(images.reshape(-1, self._inner.width), first, lengths)
            total += values.reshape(len(a), -1, len(b)).sum(axis=1)
        return total / len(self._elements)

    def paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the mean over all images of the first of a pair."""
        total, first = np.zeros(len(a)), b[:, : self._inner.width]
        for images in self._chunks(a, len(a)):
            h = images.shape[1]
            values = self._inner.paired(images.reshape(-1, self._inner.width), np.repeat(first, h, axis=0), lengths)
            total += values.reshape(-1, h).sum(axis=1)
        return total / len(self._elements)

    def cross_and_slopes(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the means of values and slopes."""
        total, first = np.zeros((len(a), len(b))), b[:, : self._inner.width]
        total_slopes = np.zeros((len(lengths), len(a), len(b)))
        for images in self._chunks(a, total_slopes.size):
            values, slopes = self._inner.cross_and_slopes(images.reshape(-1, self._inner.width), first, lengths)
            total += values.reshape(len(a), -1, len(b)).sum(axis=1)
            total_slopes += slopes.reshape(len(lengths), len(a), -1, len(b)).sum(axis=2)
        return total / len(self._elements), total_slopes / len(self._elements)

    def along_many(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the means of values, and of gradients carried back from the images."""
        m, n, d = len(points), len(b), points.shape[1]
        total, total_gradients, first = np.zeros((m, n)), np.zeros((m, n, d)), b[:, : self._inner.width]
        for start, stop in self._steps(total_gradients.size):
            elements = self._elements[start:stop]
            images = self._images(points, elements).reshape(-1, d)
            values, gradients = self._inner.along_many(images, first, lengths)
            total += values.reshape(m, -1, n).sum(axis=1)
            gradients = gradients.reshape(m, -1, n, d)
            own = np.einsum("mhni,hij->mnj", gradients[..., self._columns], elements, optimize=True)
            gradients = gradients.sum(axis=1)
            gradients[..., self._columns] = own
            total_gradients += gradients
        return total / len(self._elements), total_gradients / len(self._elements)

    def _images(self, points: Array, elements: Array) -> Array:
        """Return all images of each point, (m, h, dim)."""
        images = np.repeat(points[:, None], len(elements), axis=1)
        offsets = points[:, self._columns] - self._center
        images[:, :, self._columns] = np.einsum("hij,mj->mhi", elements, offsets) + self._center
        return images

    def _chunks(self, a: Array, size: int) -> Iterator[Array]:
        """Yield the features of some images at a time, (m, h, p)."""
        images = a.reshape(len(a), len(self._elements), self._inner.width)
        for start, stop in self._steps(size):
            yield images[:, start:stop]

    def _steps(self, size: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of elements, given how many values there are for each."""
        step = max(1, CHUNK // max(1, size))
        return ((start, start + step) for start in range(0, len(self._elements), step))


@final
class Times(QuotientKernel):
    """The product of kernels that see different coordinates of a point."""

    def __init__(self, parts: list[QuotientKernel]) -> None:
        super().__init__(parts[0].unit)
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

    def cross(self, a: Array, b: Array, lengths: Array) -> Array:
        """Multiply the parts' values."""
        parts = zip(self._parts, self._slices, strict=True)
        return reduce(np.multiply, [part.cross(a[:, own], b[:, own], lengths) for part, own in parts])

    def paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Multiply the parts' values."""
        parts = zip(self._parts, self._slices, strict=True)
        return reduce(np.multiply, [part.paired(a[:, own], b[:, own], lengths) for part, own in parts])

    def cross_and_slopes(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Multiply the parts' values, and apply the product rule."""
        parts = zip(self._parts, self._slices, strict=True)
        pairs = [part.cross_and_slopes(a[:, own], b[:, own], lengths) for part, own in parts]
        return reduce(lambda one, two: (one[0] * two[0], one[1] * two[0] + one[0] * two[1]), pairs)

    def along_many(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Multiply the parts' values, and apply the product rule."""
        parts = zip(self._parts, self._slices, strict=True)
        pairs = [part.along_many(points, b[:, own], lengths) for part, own in parts]
        return reduce(
            lambda one, two: (one[0] * two[0], one[1] * two[0][:, :, None] + one[0][:, :, None] * two[1]), pairs
        )
