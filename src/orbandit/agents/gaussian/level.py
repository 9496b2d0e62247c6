"""Level: an average over a group, scaled so that all prior variances are 1.

    k'(x, y) = k(x, y) / sqrt(k(x, x) k(y, y))

is positive definite and invariant if k is. The orbit-averaged kernel of a group of order h has
prior variances from 1 / h, where all images of a point are far apart, to 1, where the group fixes
it. An upper confidence bound would explore the fixed points first, for that reason alone.
"""

from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.averaged import Averaged
from orbandit.agents.gaussian.base import QuotientKernel, is_same
from orbandit.agents.gaussian.memory import MIN_REMEMBERED_POINTS

MAX_BLOCKS = 4
"""Number of arrays of features whose prior variances are cached."""


@final
class Level(QuotientKernel):
    """A kernel scaled to prior variances of 1.

    Parameters
    ----------
    inner : Averaged
        The kernel k.
    """

    def __init__(self, inner: Averaged) -> None:
        super().__init__(inner.widths)
        self._inner = inner
        self._known: list[tuple[Array, Array, Array]] = []

    @property
    def has_reach(self) -> bool:
        """The inner kernel's."""
        return self._inner.has_reach

    @property
    def width(self) -> int:
        """The inner kernel's."""
        return self._inner.width

    def features(self, points: Array) -> Array:
        """Return the inner kernel's features."""
        return self._inner.features(points)

    def cross(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the inner kernel's values over the roots of both variances."""
        own = self._diagonal(a, lengths)
        others = own if is_same(a, b) else self._diagonal(b, lengths)
        values = self._inner.cross(a, b, lengths)
        values /= np.sqrt(own)[:, None]
        values /= np.sqrt(others)
        return values

    def paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the inner kernel's values over the roots of both variances."""
        own = self._diagonal(a, lengths) * self._diagonal(b, lengths)
        return np.asarray(self._inner.paired(a, b, lengths) / np.sqrt(own))

    def paired_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return values and derivatives by the quotient rule."""
        values, by_scale = self._inner.paired_and_scale_gradients(a, b, lengths)
        own, own_by_scale = self._inner.diagonal_and_scale_gradients(a, lengths)
        others, other_by_scale = self._inner.diagonal_and_scale_gradients(b, lengths)
        roots = np.sqrt(own * others)
        values = values / roots
        return values, by_scale / roots - 0.5 * values * (own_by_scale / own + other_by_scale / others)

    def cross_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return values and derivatives by the quotient rule."""
        values, by_scale = self._inner.cross_and_scale_gradients(a, b, lengths)
        own, own_by_scale = self._inner.diagonal_and_scale_gradients(a, lengths)
        others, other_by_scale = (
            (own, own_by_scale) if is_same(a, b) else self._inner.diagonal_and_scale_gradients(b, lengths)
        )
        roots = np.sqrt(own[:, None] * others)
        values /= roots
        by_scale /= roots
        by_scale -= 0.5 * values * ((own_by_scale / own)[:, :, None] + (other_by_scale / others)[:, None])
        return values, by_scale

    def along_many(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return values and gradients by the quotient rule."""
        values, gradients = self._inner.along_many(points, b, lengths)
        own, own_gradients = self._inner.diagonal_along(points, lengths)
        roots = np.sqrt(own[:, None] * self._diagonal(b, lengths))
        values = values / roots
        gradients = gradients / roots[:, :, None]
        gradients -= 0.5 * values[:, :, None] * (own_gradients / own[:, None])[:, None]
        return values, gradients

    def _diagonal(self, a: Array, lengths: Array) -> Array:
        """Return the inner prior variances; those of long arrays are cached, row by row.

        A model needs those of its points and candidates repeatedly. The first image of a point,
        itself, identifies it.
        """
        if len(a) < MIN_REMEMBERED_POINTS:
            return self._inner.diagonal(a, lengths)
        values, first = np.empty(0), self._inner.first(a)
        for entry in self._known:
            features, scales, known = entry
            if (
                len(known) <= len(a)
                and np.array_equal(scales, lengths)
                and np.array_equal(features, first[: len(known)])
            ):
                if len(known) == len(a):
                    return known
                values = known
                self._known = [other for other in self._known if other is not entry]
                break
        values = np.concatenate([values, self._inner.diagonal(a[len(values) :], lengths)])
        self._known = [(first.copy(), lengths.copy(), values), *self._known][:MAX_BLOCKS]
        return values
