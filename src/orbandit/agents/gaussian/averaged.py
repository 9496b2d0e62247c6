"""Averaged and Times: kernels made of kernels.

The invariant (orbit-averaged) kernel, the average over elements h of a finite group,

    k_G(x, y) = mean over h of k(h x, y),

is a kernel on X/G if k(h x, h y) = k(x, y). The k may itself be invariant under a subgroup; then h
runs over its cosets.

References
----------
T. Brown, A. Cioba and I. Bogunovic, Sample-efficient Bayesian optimisation using known invariances,
2024.
"""

from functools import reduce
from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import Index, QuotientKernel, is_same, side_by_side

GRADIENTS_AT_ONCE = 8
"""Points per batch of gradients of prior variances: more rows are faster than more calls."""


@final
class Averaged(QuotientKernel):
    """The average of a kernel over group elements; prior variances are largest at fixed points.

    Parameters
    ----------
    inner : QuotientKernel
        The kernel k.
    elements : (h, c, c) array
        Orthogonal matrices, the identity first.
    columns : (c,) array of int
        The coordinates they act on.
    center : (c,) array
        The point about which they act.
    """

    def __init__(self, inner: QuotientKernel, elements: Array, columns: Index, center: Array) -> None:
        super().__init__(inner.widths)
        self._inner, self._elements, self._columns, self._center = inner, elements, columns, center
        self._whole: tuple[Array, Array] | None = None

    @property
    def has_reach(self) -> bool:
        """The inner kernel's."""
        return self._inner.has_reach

    @property
    def width(self) -> int:
        """Number of features: those of all images."""
        return len(self._elements) * self._inner.width

    def features(self, points: Array) -> Array:
        """Return the features of all images side by side, those of the point itself first."""
        images = self._images(points).reshape(-1, points.shape[1])
        return self._inner.features(images).reshape(len(points), self.width)

    def cross(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the mean over all images of one argument.

        The shorter one, since long rows are fast.
        """
        if len(b) < len(a):
            return self.cross(b, a, lengths).T
        return self._inner.means(self._each(a), self.first(b), lengths, is_same(a, b))

    def first(self, a: Array) -> Array:
        """Return the features of the points themselves, without those of their other images."""
        return a[:, : self._inner.width]

    def paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the mean over all images of the first of a pair."""
        h, p = len(self._elements), self._inner.width
        values = self._inner.paired(a.reshape(-1, p), np.repeat(self.first(b), h, axis=0), lengths)
        return np.asarray(values.reshape(-1, h).mean(axis=1))

    def paired_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the means of values and derivatives over all images of the first of a pair."""
        h, p = len(self._elements), self._inner.width
        values, by_scale = self._inner.paired_and_scale_gradients(
            a.reshape(-1, p), np.repeat(self.first(b), h, axis=0), lengths
        )
        return values.reshape(-1, h).mean(axis=1), by_scale.reshape(len(lengths), -1, h).mean(axis=2)

    def cross_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the means of values and derivatives."""
        return self._inner.means_and_scale_gradients(self._each(a), self.first(b), lengths, is_same(a, b))

    def diagonal(self, a: Array, lengths: Array) -> Array:
        """Return the prior variances k(x, x), (len(a),), of features a."""
        return self.paired(a, a, lengths)

    def diagonal_and_scale_gradients(self, a: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the means of the kernel of each point with its own images, and their derivatives."""
        return self.paired_and_scale_gradients(a, a, lengths)

    def along_many(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the means over all images of the second points, of values and gradients."""
        return self._inner.means_along(points, self._each(b), lengths)

    def diagonal_along(self, points: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the means of the kernel of each point with its own images, and the gradients of that."""
        values, gradients = np.empty(len(points)), np.empty(points.shape)
        for start in range(0, len(points), GRADIENTS_AT_ONCE):
            some = points[start : start + GRADIENTS_AT_ONCE]
            m, own = len(some), np.arange(len(some))
            images = self.features(some).reshape(-1, self._inner.width)
            pairs, by_point = self._inner.along_many(some, images, lengths)
            values[start : start + m] = pairs.reshape(m, m, -1)[own, own].mean(axis=1)
            # Twice, since k(x, y) = k(y, x).
            gradients[start : start + m] = 2 * by_point.reshape(m, m, -1, points.shape[1])[own, own].mean(axis=1)
        return values, gradients

    def _each(self, a: Array) -> Array:
        """Return the features of images apart, (m, h, p)."""
        return a.reshape(len(a), len(self._elements), self._inner.width)

    def _images(self, points: Array) -> Array:
        """Return all images of each point, (m, h, dim)."""
        from orbandit._kernels.images import images_of

        turns, center = self._turns(points.shape[1])
        images = np.empty((len(points), *turns.shape[:2]))
        images_of(np.require(points, requirements=["C", "W"]), center, turns, images)
        return images

    def _turns(self, dim: int) -> tuple[Array, Array]:
        """Return the elements and the centre for all coordinates, (h, dim, dim) and (dim,)."""
        if self._whole is None:
            turns, center = np.tile(np.eye(dim), (len(self._elements), 1, 1)), np.zeros(dim)
            turns[:, self._columns[:, None], self._columns] = self._elements
            center[self._columns] = self._center
            self._whole = turns, center
        return self._whole


@final
class Times(QuotientKernel):
    """The product of kernels that see different coordinates of a point."""

    def __init__(self, parts: list[QuotientKernel]) -> None:
        super().__init__(parts[0].widths)
        self._parts, self._slices = parts, side_by_side([part.width for part in parts])

    @property
    def has_reach(self) -> bool:
        """Whether a part's last scale is one; then it is the same for all."""
        return any(part.has_reach for part in self._parts)

    @property
    def width(self) -> int:
        """Sum of the parts' widths."""
        return int(self._slices[-1].stop)

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

    def paired_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Multiply the parts' values, and apply the product rule."""
        parts = zip(self._parts, self._slices, strict=True)
        pairs = [part.paired_and_scale_gradients(a[:, own], b[:, own], lengths) for part, own in parts]
        return reduce(lambda one, two: (one[0] * two[0], one[1] * two[0] + one[0] * two[1]), pairs)

    def cross_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Multiply the parts' values, and apply the product rule."""
        parts = zip(self._parts, self._slices, strict=True)
        pairs = [part.cross_and_scale_gradients(a[:, own], b[:, own], lengths) for part, own in parts]
        return reduce(lambda one, two: (one[0] * two[0], one[1] * two[0] + one[0] * two[1]), pairs)

    def along_many(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Multiply the parts' values, and apply the product rule."""
        parts = zip(self._parts, self._slices, strict=True)
        pairs = [part.along_many(points, b[:, own], lengths) for part, own in parts]
        return reduce(_product_rule, pairs)


def _product_rule(one: tuple[Array, Array], two: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the product of values and its gradients, which have one axis more."""
    return one[0] * two[0], one[1] * two[0][..., None] + one[0][..., None] * two[1]
