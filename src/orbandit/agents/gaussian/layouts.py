"""Layouts: a squared distance of multisets of units, for block permutations with or without signs.

A point is a layout of m units x_1, ..., x_m, in any order. It is mapped to the mean of Gaussian bumps on its units,
which no permutation changes, and the squared distance of such means (the maximum mean discrepancy) is

    q(X, Y) = c^2 (S(X, X) + S(Y, Y) - 2 S(X, Y)),     S(X, Y) = 1/m^2 sum_ij kappa(x_i, y_j),
    kappa(u, v) = exp(-||u - v||^2 / (2 WIDTH^2)),     units in length scales,     c = WIDTH sqrt(2 m) / reach.

The length scales say when two units are alike, and the reach how many units may differ before layouts are unrelated:
q = 1 / reach^2 if all do. A sum over units has a reach beyond all bounds, however fast its terms change, so that what
was learnt of some units holds for others. A short move h of one unit has q = 2 ||h||^2 / (m reach^2). Where signs of
units do not matter, a unit u is mapped to the mean of its own bump and that of -u, and c is sqrt(2) times as large.

Gaussian bumps are linearly independent, so that q vanishes for layouts of one orbit only, and a family of kernels of q
is positive definite on X/G, exactly. It is smooth but for the family's own kink at q = 0, and costs m^2, not m!. It
is not the orbit-averaged kernel, nor a function of the orbit distance: units much nearer to each other than WIDTH
length scales are seen as their mean moves, and a unit that moves by more than that counts as lost.

References
----------
A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf and A. Smola, A kernel two-sample test, 2012.
"""

import math
from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import CompiledMetric
from orbandit.agents.gaussian.euclidean import Index
from orbandit.groups.blocks import BlockGroup

WIDTH = 0.5
"""Standard deviation of a bump, in length scales.

Only what length scales are called depends on it. Likely ones were 0.3 to 0.6 widths of the space, with a reach of 0.6
to 1.8, on sums and pairs of planar units, quantisers and layouts that cover data, 100 values near the best known.
"""


@final
class Layouts(CompiledMetric):
    """The squared distance of mean bumps; the last of its `lengths` is the reach.

    Parameters
    ----------
    group : BlockGroup
        Says how many units there are, and whether their signs matter.
    columns, center
        Which coordinates are seen, and what is taken away from them.
    classes : (c,) array of int
        The length scale of each of these; equal for equal places of all blocks.
    """

    has_reach = True

    def __init__(self, group: BlockGroup, columns: Index, center: Array, classes: Index) -> None:
        self._columns, self._center = columns, center
        self._units, self._size, self._signed = group.blocks, group.size, group._signed
        self._places = classes[: self._size]
        self._own_classes, kinds = np.unique(self._places, return_inverse=True)
        self._kinds = kinds.astype(np.int64)
        self._square = 2 * self._units * WIDTH**2 * (2 if self._signed else 1)

    @property
    def width(self) -> int:
        """Number of coordinates seen."""
        return len(self._columns)

    def features(self, points: Array) -> Array:
        """Return the units, sorted: equal layouts have equal features, and a distance of 0 without rounding."""
        from orbandit._kernels.layouts import sort_units

        offsets = np.ascontiguousarray(points[:, self._columns] - self._center)
        sort_units(offsets.reshape(len(offsets), self._units, self._size), self._signed)
        return offsets

    def squared_paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return q of the i-th with the i-th."""
        one, two = self._in_blocks(a, lengths), self._in_blocks(b, lengths)
        own, other, shared = (self._similar(*pair)[0] for pair in ((one, one), (two, two), (one, two)))
        apart = np.maximum(own + other - 2 * shared, 0.0).reshape(-1)[1 : 1 + len(a)]
        return np.asarray(self._square / lengths[-1] ** 2 * apart)

    def means(self, family: int, images: Array, b: Array, lengths: Array, is_symmetric: bool) -> Array:
        """Return the means of k(q)."""
        layouts, (m, h, _), n = self._layouts(images, lengths), images.shape, len(b)
        none = np.empty((h, 0, 0)), np.empty((0, m, n)), np.empty((m, 0, n))
        return self._worked_out(family, layouts, none[0], b, lengths, is_symmetric, none[1], none[2])

    def means_and_slopes(
        self, family: int, images: Array, b: Array, lengths: Array, is_symmetric: bool
    ) -> tuple[Array, Array]:
        """Return means and slopes."""
        layouts, (m, h, _), n = self._layouts(images, lengths), images.shape, len(b)
        by_scale, none = np.empty((len(self._own_classes) + 1, m, n)), (np.empty((h, 0, 0)), np.empty((m, 0, n)))
        values = self._worked_out(family, layouts, none[0], b, lengths, is_symmetric, by_scale, none[1])
        if len(by_scale) == len(lengths):
            return values, by_scale
        slopes = np.zeros((len(lengths), m, n))
        slopes[[*self._own_classes, -1]] = by_scale
        return values, slopes

    def means_along(self, family: int, images: Array, turns: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return means and gradients; the order of units does not matter, so that images are not sorted."""
        (m, _, d), n = images.shape, len(b)
        layouts = self._layouts(images[:, :, self._columns] - self._center, lengths)
        own, gradients = np.ascontiguousarray(turns[:, self._columns]), np.empty((m, d, n))
        values = self._worked_out(family, layouts, own, b, lengths, False, np.empty((0, m, n)), gradients)
        return values, gradients.transpose(0, 2, 1)

    def _worked_out(
        self,
        family: int,
        layouts: Array,
        turns: Array,
        b: Array,
        lengths: Array,
        is_symmetric: bool,
        by_scale: Array,
        gradients: Array,
    ) -> Array:
        """Return the means, and write derivatives where there is room for them."""
        from orbandit._kernels.layouts import Own, layout_means

        blocks, out = self._in_blocks(b, lengths), np.empty((len(layouts), len(b)))
        own, square = Own(*self._similar(blocks, blocks), self._kinds), self._square / lengths[-1] ** 2
        units = self._units_of(lengths)
        layout_means(family, square, layouts, blocks, own, turns, units, is_symmetric, out, by_scale, gradients)
        return out

    def _units_of(self, lengths: Array) -> Array:
        """Return what the places of a unit are divided by, (size,), so that a bump is 2^-||u - v||^2."""
        return np.asarray(math.sqrt(2 * math.log(2)) * WIDTH * lengths[self._places])

    def _layouts(self, a: Array, lengths: Array) -> Array:
        """Write features (..., p) as layouts (..., units, size)."""
        shape = (*a.shape[:-1], self._units, self._size)
        return np.ascontiguousarray(a.reshape(shape) / self._units_of(lengths))

    def _in_blocks(self, a: Array, lengths: Array) -> Array:
        """Return layouts in blocks, (blocks, units, size, LANES), from lane 1 on.

        The negatives of units come with them if those count.
        """
        from orbandit._kernels.layouts import LANES, blocks_for

        lanes = np.zeros((blocks_for(len(a)) * LANES, self._units, self._size))
        lanes[1 : 1 + len(a)] = self._layouts(a, lengths)
        blocks = lanes.reshape(-1, LANES, self._units, self._size).transpose(0, 2, 3, 1)
        return np.concatenate([blocks, -blocks], axis=1) if self._signed else np.ascontiguousarray(blocks)

    def _similar(self, one: Array, two: Array) -> tuple[Array, Array]:
        """Return S of each lane with the same lane, (blocks, LANES), and its slopes, (blocks, kinds, LANES)."""
        from orbandit._kernels.layouts import paired_similarities

        blocks, lanes = len(one), one.shape[-1]
        out, slopes = np.empty((blocks, lanes)), np.empty((blocks, len(self._own_classes), lanes))
        for block in range(blocks):
            paired_similarities(one[block, : self._units], two[block], self._kinds, out[block], slopes[block])
        return out, slopes
