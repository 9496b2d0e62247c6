"""Squared distances of features that are functions of the point: folds, aligned images, invariants of Orthogonal.

A feature f_j is measured in a length made of the length scales, w_j = prod_c lengths_c^(-e_jc) with
e_j1 + ... = 2:

    q(x, y) = sum_j w_j (f_j(x) - f_j(y))^2.
"""

from abc import abstractmethod
from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import CompiledMetric, Index
from orbandit.groups import Group
from orbandit.groups.structures import GramMatrices


class Euclidean(CompiledMetric):
    """The squared distance of features, each in its own length.

    Parameters
    ----------
    columns : (c,) array of int
        The coordinates of a point that the distance uses.
    center : (c,) array
        The point subtracted from them.
    exponents : (p, n_scales) array
        The e_jc.
    """

    def __init__(self, columns: Index, center: Array, exponents: Array) -> None:
        self._columns, self._center, self._exponents = columns, center, exponents

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self._exponents)

    def features(self, points: Array) -> Array:
        """Return the features of the coordinates seen, about the centre."""
        return self._image(points[:, self._columns] - self._center)

    def squared_paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the squared distances of pairs."""
        return np.asarray((a - b) ** 2 @ self._weights(lengths))

    def squared_paired_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the squared distances of pairs, and their derivatives."""
        terms, by_scale = (a - b) ** 2 * self._weights(lengths), np.zeros((len(lengths), len(a)))
        by_scale[: self._exponents.shape[1]] = -(terms @ self._exponents).T
        return terms.sum(axis=1), by_scale

    def means(self, family: int, images: Array, b: Array, lengths: Array, is_symmetric: bool) -> Array:
        """Return the means of k(q); as sums of squared differences, without cancellation."""
        (m, _, p), n = images.shape, len(b)
        none = np.empty((1, p, 0)), np.empty((0, m, n)), np.empty((m, 0, n))
        return self._worked_out(family, images, none[0], b[:, None], lengths, is_symmetric, none[1], none[2])

    def means_and_scale_gradients(
        self, family: int, images: Array, b: Array, lengths: Array, is_symmetric: bool
    ) -> tuple[Array, Array]:
        """Return means and derivatives."""
        (m, _, p), n, own = images.shape, len(b), self._exponents.shape[1]
        by_scale, none = np.zeros((len(lengths), m, n)), (np.empty((1, p, 0)), np.empty((m, 0, n)))
        some = by_scale[:own]
        return self._worked_out(family, images, none[0], b[:, None], lengths, is_symmetric, some, none[1]), by_scale

    def means_along(self, family: int, points: Array, images: Array, lengths: Array) -> tuple[Array, Array]:
        """Return means, and gradients by the derivatives f'(x) of features."""
        (m, d), n = points.shape, len(images)
        features, jacobians = self._image_and_jacobians(points[:, self._columns] - self._center)
        by_point = np.eye(d)[None, self._columns]
        if jacobians is not None:
            sees_all = np.array_equal(self._columns, np.arange(d))
            by_point = jacobians if sees_all else jacobians @ by_point
        gradients, none = np.empty((m, d, n)), np.empty((0, m, n))
        values = self._worked_out(family, features[:, None], by_point, images, lengths, False, none, gradients)
        return values, gradients.transpose(0, 2, 1)

    def _worked_out(
        self,
        family: int,
        a: Array,
        jacobians: Array,
        b: Array,
        lengths: Array,
        is_symmetric: bool,
        by_scale: Array,
        gradients: Array,
    ) -> Array:
        """Return the means over images of both, (m, g, p) and (n, h, p), and write derivatives if there is room."""
        from orbandit._kernels.profiles import padded_width
        from orbandit._kernels.squares import square_means

        scale, (n, h, p) = np.sqrt(self._weights(lengths)), b.shape
        turned, out = np.zeros((h, p, padded_width(n))), np.empty((len(a), n))
        turned[:, :, :n] = (b * scale).transpose(1, 2, 0)
        first, by_point = np.ascontiguousarray(a * scale), np.ascontiguousarray(scale[:, None] * jacobians)
        square_means(family, first, turned, self._exponents, by_point, is_symmetric, out, by_scale, gradients)
        return out

    def _weights(self, lengths: Array) -> Array:
        """Return the w_j; a reach is none of the lengths."""
        return np.asarray(np.exp(-self._exponents @ np.log(lengths[: self._exponents.shape[1]])))

    @abstractmethod
    def _image(self, offsets: Array) -> Array:
        """Return the features (m, p) of offsets (m, c) from the centre."""

    @abstractmethod
    def _image_and_jacobians(self, offsets: Array) -> tuple[Array, Array | None]:
        """Return the features, and their derivatives by the offsets, (m, p, c), or None for the identity."""


@final
class Folded(Euclidean):
    """The orbit distance of a reflection group: the distance of folds.

    Scaling by the length scales commutes with the group and maps its chamber onto itself, so it
    commutes with folding.

    Parameters
    ----------
    group : Group
        With `is_reflection`; taken to act about `center`.
    columns : (c,) array of int
        The coordinates of a point that the distance uses.
    center : (c,) array
        The point subtracted from them.
    classes : (c,) array of int
        The length scale of each coordinate.
    n_scales : int
        Number of all length scales.
    """

    def __init__(self, group: Group, columns: Index, center: Array, classes: Index, n_scales: int) -> None:
        super().__init__(columns, center, 2 * np.eye(n_scales)[classes])
        self._group = group.centered(np.zeros(group.dim))  # it sees offsets

    def _image(self, offsets: Array) -> Array:
        return self._group.fold(offsets)

    def _image_and_jacobians(self, offsets: Array) -> tuple[Array, Array | None]:
        folded = self._group.fold(offsets)
        if np.array_equal(folded, offsets):  # as on an ascent within the domain
            return folded, None
        return folded, self._group.folding_elements(offsets)


@final
class Aligned(Euclidean):
    """The plain distance in aligned coordinates: those of the image nearest to a reference point.

    Near the reference it is the orbit distance. Farther away it is no less, and jumps where two
    images are equally near; there the images of one point may count as different. For reflection
    groups it is `Folded`.

    Parameters
    ----------
    group : Group
        A finite group, so that the same element aligns all nearby points. It acts about its centre.
    reference : (dim,) array
        What points are aligned to.
    classes : (dim,) array of int
        The length scale of each coordinate.
    """

    def __init__(self, group: Group, reference: Array, classes: Index) -> None:
        super().__init__(np.arange(group.dim), group.center, 2 * np.eye(classes.max() + 1)[classes])
        self._group, self._reference = group.centered(np.zeros(group.dim)), reference - group.center

    def _image(self, offsets: Array) -> Array:
        return self._image_and_jacobians(offsets)[0]

    def _image_and_jacobians(self, offsets: Array) -> tuple[Array, Array]:
        elements = self._group.aligning_elements(offsets, self._reference)
        return np.einsum("mij,mj->mi", elements, offsets), elements


@final
class Gram(Euclidean):
    """The distance of the invariants of Orthogonal: a matrix M of (blocks, size) is known by M^T M, and no more.

    The entry of columns a and b is divided by 2 sqrt(rho_a rho_b), where rho_a is the usual length
    of column a, and measured in sqrt(lengths_a lengths_b): for columns of that length, a short move
    of M by h changes the features by about ||h||. Entries off the diagonal count twice, so that the
    distance is the Frobenius norm. It is smooth, with kinks nowhere, and vanishes for matrices of
    one orbit only.

    Parameters
    ----------
    matrices : GramMatrices
        Says how many blocks there are.
    columns : (c,) array of int
        The coordinates of a point that the distance uses.
    center : (c,) array
        The point subtracted from them.
    classes : (c,) array of int
        The length scale of each coordinate; equal for equal places of all blocks.
    unit : (n_scales,) array
        The width of the space in each class.
    """

    def __init__(self, matrices: GramMatrices, columns: Index, center: Array, classes: Index, unit: Array) -> None:
        self._blocks, self._size = matrices
        self._left, self._right = np.triu_indices(self._size)
        ones = np.eye(len(unit))[classes[: self._size]]
        super().__init__(columns, center, ones[self._left] + ones[self._right])
        # of a uniform column in a cube
        rho = unit[classes[: self._size]] / 2 * np.sqrt(self._blocks / 3)
        twice = np.where(self._left == self._right, 1.0, np.sqrt(2))
        self._factors = twice / (2 * np.sqrt(rho[self._left] * rho[self._right]))

    def _image(self, offsets: Array) -> Array:
        matrices = offsets.reshape(-1, self._blocks, self._size)
        # by @, bits would depend on the batch
        products = matrices[:, :, self._left] * matrices[:, :, self._right]
        return np.asarray(self._factors * products.sum(axis=1))

    def _image_and_jacobians(self, offsets: Array) -> tuple[Array, Array | None]:
        matrices = offsets.reshape(-1, self._blocks, self._size)
        jacobians = np.zeros((len(offsets), self.width, self._blocks, self._size))
        rows = np.arange(self.width)
        jacobians[:, rows, :, self._left] += np.moveaxis(matrices[:, :, self._right], 2, 0)
        jacobians[:, rows, :, self._right] += np.moveaxis(matrices[:, :, self._left], 2, 0)
        jacobians *= self._factors[:, None, None]
        return self._image(offsets), jacobians.reshape(len(offsets), self.width, offsets.shape[1])
