"""Layouts: a squared distance of multisets of units, for block permutations with or without signs.

A point is a layout of m units x_1, ..., x_m, in any order. It is mapped to the mean of Gaussian
bumps on its units, which no permutation changes, and the squared distance of such means (the
maximum mean discrepancy) is

    q(X, Y) = c^2 (S(X, X) + S(Y, Y) - 2 S(X, Y)),     S(X, Y) = 1/m^2 sum_ij kappa(x_i, y_j),
    kappa(u, v) = exp(-||u - v||^2 / (2 w^2)),   units in length scales,   w = BUMP_WIDTH,   c = w sqrt(2 m) / reach.

The length scales say when two units are similar, and the reach how many units may differ before
layouts are uncorrelated: q = 1 / reach^2 if all do. An additive function of units has an infinite
reach, however fast its terms change: data on some units then inform about others. A short move h of
one unit has q = 2 ||h||^2 / (m reach^2). If signs of units do not matter, a unit u is mapped to the
mean of its own bump and that of -u, and c is sqrt(2) times as large.

Gaussian bumps are linearly independent, so that q vanishes for layouts of one orbit only, and a
family of kernels of q is exactly positive definite on X/G. It is smooth except for the family's own
kink at q = 0, and costs m^2, not m!. It is neither the orbit-averaged kernel nor a function of the
orbit distance: units much closer to each other than BUMP_WIDTH length scales act as one at their
mean, and a unit that moves by more than that counts as removed.

References
----------
A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf and A. Smola, A kernel two-sample test, 2012.
"""

import math
from typing import NamedTuple, final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import CompiledMetric, Index
from orbandit.agents.gaussian.memory import Memory
from orbandit.groups.structures import Multisets

BUMP_WIDTH = 0.5
"""Standard deviation of a bump, in length scales.

It only sets the unit of length scales. Fitted ones were 0.3 to 0.6 widths of the space, with a
reach of 0.6 to 1.8, on sums and pairs of planar units, quantisers and layouts that cover data, 100
values near the best known.
"""


def sorted_units(offsets: Array, units: int, size: int, is_signed: bool) -> Array:
    """Return layouts (n, units * size) with sorted units: equal layouts are equal, and at a distance of 0."""
    from orbandit._kernels.layouts import sort_units

    offsets = np.ascontiguousarray(offsets)
    sort_units(offsets.reshape(len(offsets), units, size), is_signed)
    return offsets


class Second(NamedTuple):
    """Second layouts: in blocks, (h, blocks, units, size, LANES), with their S(Y, Y) and its derivatives."""

    blocks: Array
    values: Array
    by_kind: Array


@final
class Layouts(CompiledMetric):
    """The squared distance of mean bumps; the last of its `lengths` is the reach.

    Parameters
    ----------
    units : Multisets
        The number of units, and whether their signs do not matter.
    columns : (c,) array of int
        The coordinates of a point that the distance uses.
    center : (c,) array
        The point subtracted from them.
    classes : (c,) array of int
        The length scale of each coordinate; equal for equal places of all blocks.
    """

    has_reach = True

    def __init__(self, units: Multisets, columns: Index, center: Array, classes: Index) -> None:
        self._columns, self._center = columns, center
        self._units, self._size, self._signed = units
        self._places = classes[: self._size]
        self._own_classes, kinds = np.unique(self._places, return_inverse=True)
        self._kinds = kinds.astype(np.int64)
        self._memory = Memory(self._second)
        self._square = 2 * self._units * BUMP_WIDTH**2 * (2 if self._signed else 1)

    @property
    def width(self) -> int:
        """Number of coordinates seen."""
        return len(self._columns)

    def features(self, points: Array) -> Array:
        """Return the units, sorted."""
        return sorted_units(points[:, self._columns] - self._center, self._units, self._size, self._signed)

    def squared_paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return q of the i-th with the i-th."""
        return self.squared_paired_and_scale_gradients(a, b, lengths)[0]

    def squared_paired_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q of the i-th with the i-th, and its derivatives; it is proportional to reach^-2."""
        one, two = (self._in_blocks(features[:, None], lengths)[0] for features in (a, b))
        own, other, shared = (self._similar(*pair) for pair in ((one, one), (two, two), (one, two)))
        square, lanes = self._square / lengths[-1] ** 2, slice(1, 1 + len(a))
        q = square * np.maximum(own[0] + other[0] - 2 * shared[0], 0.0).reshape(-1)[lanes]
        by_kind = square * (own[1] + other[1] - 2 * shared[1])
        by_scale = np.zeros((len(lengths), len(a)))
        by_scale[self._own_classes] = by_kind.swapaxes(0, 1).reshape(len(self._own_classes), -1)[:, lanes]
        by_scale[-1] = -2 * q
        return q, by_scale

    def means(self, family: int, images: Array, b: Array, lengths: Array, is_symmetric: bool) -> Array:
        """Return the means of k(q)."""
        layouts, m, n = self._layouts(images, lengths), len(images), len(b)
        second = self._memory.of(b[:, None], lengths)
        return self._worked_out(family, layouts, second, n, lengths, is_symmetric, np.empty((0, m, n)))

    def means_and_scale_gradients(
        self, family: int, images: Array, b: Array, lengths: Array, is_symmetric: bool
    ) -> tuple[Array, Array]:
        """Return means and derivatives."""
        layouts, m, n = self._layouts(images, lengths), len(images), len(b)
        second, by_scale = self._second(b[:, None], lengths), np.empty((len(self._own_classes) + 1, m, n))
        values = self._worked_out(family, layouts, second, n, lengths, is_symmetric, by_scale)
        if len(by_scale) == len(lengths):
            return values, by_scale
        by_every_scale = np.zeros((len(lengths), m, n))
        by_every_scale[[*self._own_classes, -1]] = by_scale
        return values, by_every_scale

    def means_along(self, family: int, points: Array, images: Array, lengths: Array) -> tuple[Array, Array]:
        """Return means and gradients; the order of units does not matter, so that points are not sorted."""
        (m, d), n = points.shape, len(images)
        layouts = self._layouts(points[:, None, self._columns] - self._center, lengths)
        second = self._memory.of(images, lengths)
        by_unit = np.empty((m, self.width, n))
        values = self._worked_out(family, layouts, second, n, lengths, False, np.empty((0, m, n)), by_unit)
        if np.array_equal(self._columns, np.arange(d)):
            return values, by_unit.transpose(0, 2, 1)
        gradients = np.zeros((m, d, n))
        gradients[:, self._columns] = by_unit
        return values, gradients.transpose(0, 2, 1)

    def _worked_out(
        self,
        family: int,
        layouts: Array,
        second: Second,
        n: int,
        lengths: Array,
        is_symmetric: bool,
        by_scale: Array,
        by_unit: Array | None = None,
    ) -> Array:
        """Return the means with n second layouts, and write derivatives where there is room for them."""
        from orbandit._kernels.layouts import Own, layout_means

        own, out = Own(second.values, second.by_kind, self._kinds), np.empty((len(layouts), n))
        square, units = self._square / lengths[-1] ** 2, self._units_of(lengths)
        by_unit = np.empty((len(layouts), 0, n)) if by_unit is None else by_unit
        layout_means(family, square, layouts, second.blocks, own, units, is_symmetric, out, by_scale, by_unit)
        return out

    def _units_of(self, lengths: Array) -> Array:
        """Return what the places of a unit are divided by, (size,), so that a bump is 2^-||u - v||^2."""
        return np.asarray(math.sqrt(2 * math.log(2)) * BUMP_WIDTH * lengths[self._places])

    def _layouts(self, a: Array, lengths: Array) -> Array:
        """Write features (..., p) as layouts (..., units, size)."""
        shape = (*a.shape[:-1], self._units, self._size)
        return np.ascontiguousarray(a.reshape(shape) / self._units_of(lengths))

    def _second(self, images: Array, lengths: Array) -> Second:
        """Return what the kernel needs of (n, h, p) features of second layouts."""
        blocks = self._in_blocks(images, lengths)
        flat = blocks.reshape(-1, *blocks.shape[2:])
        values, by_kind = self._similar(flat, flat)
        return Second(
            blocks,
            values.reshape(*blocks.shape[:2], *values.shape[1:]),
            by_kind.reshape(*blocks.shape[:2], *by_kind.shape[1:]),
        )

    def _in_blocks(self, images: Array, lengths: Array) -> Array:
        """Return layouts of (n, h, p) features in blocks, (h, blocks, units, size, LANES), from lane 1 on.

        The negatives of units come with them if those count.
        """
        from orbandit._kernels.layouts import LANES, blocks_for

        n, h, _ = images.shape
        lanes = np.zeros((h, blocks_for(n) * LANES, self._units, self._size))
        lanes[:, 1 : 1 + n] = self._layouts(images, lengths).swapaxes(0, 1)
        blocks = lanes.reshape(h, -1, LANES, self._units, self._size).transpose(0, 1, 3, 4, 2)
        return np.concatenate([blocks, -blocks], axis=2) if self._signed else np.ascontiguousarray(blocks)

    def _similar(self, one: Array, two: Array) -> tuple[Array, Array]:
        """Return S of each lane with the same lane, (blocks, LANES), and its derivatives, (blocks, kinds, LANES)."""
        from orbandit._kernels.layouts import paired_similarities

        blocks, lanes = len(one), one.shape[-1]
        out, by_kind = np.empty((blocks, lanes)), np.empty((blocks, len(self._own_classes), lanes))
        paired_similarities(np.ascontiguousarray(one[:, : self._units]), two, self._kinds, out, by_kind)
        return out, by_kind
