"""Distances: a squared distance of multisets of pair distances, for block permutations with or without signs.

What layouts are worth often depends on how far units are from each other: wakes, overlaps,
repulsion. Then what one pair of units teaches holds for all pairs at that distance, wherever they
are. With frequencies w_1, ..., w_M,

    phi_k(X) = mean over pairs i < j of cos(w_k ||x_i - x_j||),     units in length scales,
    q(X, Y) = P / (M reach^2) sum_k (phi_k(X) - phi_k(Y))^2,        P = m (m - 1) / 2 pairs.

The frequencies are quantiles of the absolute value of a normal variable with the standard deviation
1 / BUMP_WIDTH, so that q is proportional to the squared maximum mean discrepancy of Gaussian bumps
at the distances and at their negatives, up to about 20 length scales. It is an exact squared
distance of the phi, whatever M. If signs of units do not matter, pairs x_i, -x_j count as well, and
P is twice as large. Pairs are those of units of one kind, or of a unit of one kind and one of
another (depots and shops, turbines and a substation), or of a unit and the centre.

No permutation changes q, nor does, in length scales, an isometry of all units (about the centre, if
signs do not matter). So layouts are not told apart where only their place or orientation differs,
and the kernel is meant as a part of a sum.

References
----------
A. Rahimi and B. Recht, Random features for large-scale kernel machines, 2007.
"""

import math
from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import Index, Metric, is_same
from orbandit.agents.gaussian.layouts import BUMP_WIDTH, sorted_units
from orbandit.agents.gaussian.memory import Memory
from orbandit.groups.structures import Multisets

FREQUENCIES = 32
"""Number M of frequencies."""


@final
class Distances(Metric):
    """The squared distance of mean waves of pair distances; the last of its `lengths` is the reach.

    Parameters
    ----------
    *kinds : Multisets
        One kind, of at least 2 units: pairs are within it. Or two kinds, whose units have the same
        number of coordinates, and signs that matter for both or for none: pairs are between them.
    columns : (c,) array of int
        The coordinates of a point that the distance uses, kind by kind.
    center : (c,) array
        The point subtracted from them.
    classes : (c,) array of int
        The length scale of each coordinate; equal for equal places of all units of a kind. Distances
        between kinds are in length scales of the first.
    is_central : bool
        Whether pairs are those of the units of the one kind with the centre.
    """

    has_reach = True

    def __init__(
        self, *kinds: Multisets, columns: Index, center: Array, classes: Index, is_central: bool = False
    ) -> None:
        from scipy.special import ndtri

        self._columns, self._center = columns, center
        self._counts, (_, self._size, self._signed) = [kind.blocks for kind in kinds], kinds[0]
        self._units, self._places = sum(self._counts), classes[: self._size]
        self._is_central = is_central
        first, *others = [*self._counts, 1] if is_central else self._counts
        among = np.arange(first, first + sum(others)) if others else np.arange(first)
        self._pairs = np.array([(i, j) for i in range(first) for j in among if others or j < i])
        frequencies = ndtri(0.5 + (np.arange(FREQUENCIES) + 0.5) / (2 * FREQUENCIES)) / BUMP_WIDTH
        self._quarters = np.asarray(frequencies / (math.pi / 2))
        self._scale = 1 / math.sqrt(len(self._pairs) * (2 if self._signed else 1) * FREQUENCIES)
        self._memory = Memory(lambda images, lengths: self._phi(images[:, 0], lengths))

    @property
    def width(self) -> int:
        """Number of coordinates seen."""
        return len(self._columns)

    def features(self, points: Array) -> Array:
        """Return the units, those of each kind sorted."""
        kinds = np.split(points[:, self._columns] - self._center, self._size * np.cumsum(self._counts)[:-1], axis=1)
        both = zip(kinds, self._counts, strict=True)
        return np.hstack([sorted_units(kind, units, self._size, self._signed) for kind, units in both])

    def squared(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return q at all pairs."""
        return _gaps(*(self._memory.of(features[:, None], lengths) for features in (a, b)))

    def squared_paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return q of the i-th with the i-th."""
        one, two = (self._phi(features, lengths) for features in (a, b))
        return np.asarray(((one - two) ** 2).sum(axis=1))

    def squared_paired_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q of the i-th with the i-th, and its derivatives; it is proportional to reach^-2."""
        (one, one_by), (two, two_by) = (self._phi_and_scale_gradients(features, lengths) for features in (a, b))
        q = ((one - two) ** 2).sum(axis=1)
        by_scale = 2 * ((one - two) * (one_by - two_by)).sum(axis=2)
        by_scale[-1] = -2 * q
        return q, by_scale

    def squared_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q at all pairs, and its derivatives."""
        one, one_by = self._phi_and_scale_gradients(a, lengths)
        two, two_by = (one, one_by) if is_same(a, b) else self._phi_and_scale_gradients(b, lengths)
        q, by_scale = _gaps(one, two), np.zeros((len(lengths), len(a), len(b)))
        for scale in np.unique(self._places):
            first, second = one_by[scale], two_by[scale]
            own, others = (one * first).sum(axis=1), (two * second).sum(axis=1)
            by_scale[scale] = 2 * (own[:, None] + others - one @ second.T - first @ two.T)
        by_scale[-1] = -2 * q
        return q, by_scale

    def squared_along(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q and its gradients; the order of units does not matter, so that points are not sorted."""
        one, _, by_unit = self._waves(points[:, self._columns] - self._center, lengths, by_unit=True)
        gaps = one[:, None] - self._memory.of(b[:, None], lengths)
        jacobians = (by_unit / lengths[self._places]).reshape(len(points), FREQUENCIES, self.width)
        by_column = np.zeros((len(points), FREQUENCIES, points.shape[1]))
        by_column[:, :, self._columns] = 2 * jacobians
        return np.einsum("ijk,ijk->ij", gaps, gaps), gaps @ by_column

    def _phi(self, features: Array, lengths: Array) -> Array:
        """Return phi, (n, M), in units that make q a sum of squares."""
        return self._waves(features, lengths)[0]

    def _phi_and_scale_gradients(self, features: Array, lengths: Array) -> tuple[Array, Array]:
        """Return `_phi`, and its derivatives by the logarithm of each length scale, (n_scales, n, M)."""
        phi, by_place, _ = self._waves(features, lengths, by_place=True)
        by_scale = np.zeros((len(lengths), *phi.shape))
        for place, scale in enumerate(self._places):
            by_scale[scale] += by_place[:, place]
        by_scale[-1] = -phi
        return phi, by_scale

    def _waves(
        self, features: Array, lengths: Array, *, by_place: bool = False, by_unit: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return phi with its derivatives by logarithms of scales and by units in length scales, if wanted."""
        from orbandit._kernels.waves import pair_waves

        n = len(features)
        layouts = np.ascontiguousarray(features).reshape(n, self._units, self._size) / lengths[self._places]
        if self._is_central:
            layouts = np.concatenate([layouts, np.zeros((n, 1, self._size))], axis=1)
        phi = np.empty((n, FREQUENCIES))
        places = np.empty((n if by_place else 0, self._size, FREQUENCIES))
        units = np.empty((n if by_unit else 0, FREQUENCIES, layouts.shape[1], self._size))
        pair_waves(layouts, self._pairs, self._quarters, self._signed, phi, places, units)
        scale = self._scale / lengths[-1]
        return scale * phi, scale * places, scale * units[:, :, : self._units]


def _gaps(one: Array, two: Array) -> Array:
    """Return the squared distances of all rows; by differences, so that equal ones have 0."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(one, two, "sqeuclidean"))
