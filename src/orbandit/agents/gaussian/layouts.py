"""Layouts: a squared distance of multisets of units, for block permutations with or without signs.

A point is a layout of m units x_1, ..., x_m, in any order. It is mapped to the mean of Gaussian bumps on its units,
which no permutation changes, and the squared distance of such means (the maximum mean discrepancy) is

    q(X, Y) = c^2 (S(X, X) + S(Y, Y) - 2 S(X, Y)),     S(X, Y) = 1/m^2 sum_ij kappa(x_i, y_j),
    kappa(u, v) = exp(-||u - v||^2 / (2 WIDTH^2)),     units in length scales,     c = m WIDTH.

The factor c is such that a short move h of one unit has q = ||h||^2, as it has in the plain metric. Where signs of
units do not matter, a unit u is mapped to the mean of its own bump and that of -u, and c is sqrt(2) times as large.

Gaussian bumps are linearly independent, so that q vanishes for layouts of one orbit only, and a family of kernels of q
is positive definite on X/G, exactly. It is smooth but for the family's own kink at q = 0, and costs m^2, not m!. It
is not the orbit-averaged kernel, nor a function of the orbit distance: units much nearer to each other than WIDTH
length scales are seen as their mean moves, and a unit that moves by more than that counts as lost, q = 2 WIDTH^2.

References
----------
A. Gretton, K. Borgwardt, M. Rasch, B. Schölkopf and A. Smola, A kernel two-sample test, 2012.
"""

from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import Metric
from orbandit.agents.gaussian.euclidean import Index
from orbandit.groups.blocks import BlockGroup

WIDTH = 0.5
"""Standard deviation of a bump, in length scales.

Wide bumps see little but the mean of units; to narrow ones, all layouts are alike that have no unit in common. Of
widths from 1/8 to 4, those from 1/4 to 1/2 predicted best in wind farms, dictionaries and random sums over units and
pairs, with Matern-5/2, 60 to 300 values without noise and the likeliest length scale; mostly better than the
orbit-averaged kernel, too. The likeliest lengths were 0.2 to 1.6 widths of the space.
"""


@final
class Layouts(Metric):
    """The squared distance of mean bumps.

    Parameters
    ----------
    group : BlockGroup
        Says how many units there are, and whether their signs matter.
    columns, center
        Which coordinates are seen, and what is taken away from them.
    classes : (c,) array of int
        The length scale of each of these; equal for equal places of all blocks.
    """

    def __init__(self, group: BlockGroup, columns: Index, center: Array, classes: Index) -> None:
        self._group, self._columns, self._center = group, columns, center
        self._units, self._size, self._signed = group.blocks, group.size, group._signed
        self._places = classes[: self._size]
        self._squared_scale = (self._units * WIDTH) ** 2 * (2 if self._signed else 1)

    @property
    def width(self) -> int:
        """Number of coordinates seen."""
        return len(self._columns)

    def features(self, points: Array) -> Array:
        """Return the units, sorted: equal layouts have equal features, and a distance of 0 without rounding."""
        return self._group._fold(points[:, self._columns] - self._center)

    def squared(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return q at all pairs."""
        from orbandit._kernels.layouts import similarities

        out = np.empty((len(a), len(b)))
        similarities(self._layouts(a, lengths), self._turned(b, lengths), self._signed, out)
        own, other = self._own(a, lengths)[0], self._own(b, lengths)[0]
        return self._discrepancy(own[:, None] + other, out)

    def squared_paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return q of the i-th with the i-th."""
        shared = self._paired(a, b, lengths)[0]
        return self._discrepancy(self._own(a, lengths)[0] + self._own(b, lengths)[0], shared)

    def squared_and_slopes(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q and its slopes."""
        from orbandit._kernels.layouts import similarities_and_slopes

        out, by_place = np.empty((len(a), len(b))), np.empty((self._size, len(a), len(b)))
        left, right = self._layouts(a, lengths), self._turned(b, lengths)
        similarities_and_slopes(left, right, self._signed, out, by_place)
        (own, own_slopes), (other, other_slopes) = self._own(a, lengths), self._own(b, lengths)
        by_place = self._squared_scale * (own_slopes[:, :, None] + other_slopes[:, None, :] - 2 * by_place)
        slopes = np.zeros((len(lengths), len(a), len(b)))
        np.add.at(slopes, self._places, by_place)
        return self._discrepancy(own[:, None] + other, out), slopes

    def squared_along(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q and its gradients; the order of units does not matter, so that points are not sorted."""
        from orbandit._kernels.layouts import similarities_along

        a = points[:, self._columns] - self._center
        layouts, m = self._layouts(a, lengths), len(points)
        out, shared = np.empty((m, len(b))), np.empty((m, self._units, self._size, len(b)))
        similarities_along(layouts, self._turned(b, lengths), self._signed, out, shared)
        own, inner = np.empty((m, 1)), np.empty((m, self._units, self._size, 1))
        for i in range(m):  # each with itself: the gradient of S(X, X) is twice that by its first argument
            single = layouts[i : i + 1]
            similarities_along(single, _last_first(single), self._signed, own[i : i + 1], inner[i : i + 1])
        scaled = 2 * self._squared_scale * (inner - shared) / (WIDTH * lengths[self._places])[:, None]
        gradients = np.zeros((m, len(b), points.shape[1]))
        gradients[:, :, self._columns] = scaled.reshape(m, self.width, len(b)).transpose(0, 2, 1)
        return self._discrepancy(own + self._own(b, lengths)[0], out), gradients

    def _discrepancy(self, own: Array, shared: Array) -> Array:
        return np.asarray(self._squared_scale * np.maximum(own - 2 * shared, 0.0))

    def _layouts(self, a: Array, lengths: Array) -> Array:
        """Write features as layouts (n, units, size), in standard deviations of a bump."""
        return np.asarray(a.reshape(-1, self._units, self._size) / (WIDTH * lengths[self._places]))

    def _turned(self, a: Array, lengths: Array) -> Array:
        return _last_first(self._layouts(a, lengths))

    def _own(self, a: Array, lengths: Array) -> tuple[Array, Array]:
        """Return S(X, X) and its slopes by place."""
        return self._paired(a, a, lengths)

    def _paired(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        from orbandit._kernels.layouts import paired_similarities

        out, slopes = np.empty(len(a)), np.empty((self._size, len(a)))
        paired_similarities(self._turned(a, lengths), self._turned(b, lengths), self._signed, out, slopes)
        return out, slopes


def _last_first(layouts: Array) -> Array:
    return np.ascontiguousarray(layouts.transpose(1, 2, 0))
