"""The protocol of a kernel on X/G, and of the squared distances that most of them are made of.

A point is mapped to features once; later steps use features and length scales only, never the
group. Length scales belong to classes of coordinates: those that a generator mixes share one, so
that dividing by length scales commutes with the group. Kernels of layouts have one scale more,
their reach (see `Layouts`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels.profiles import SQUARE

Index = npt.NDArray[np.intp]

VALUES_AT_ONCE = 1_000_000
"""About how many values of images are computed at a time, if their mean is not compiled."""


class QuotientKernel(ABC):
    """A positive definite function of pairs of orbits; k(x, x) = 1, except for `Averaged`.

    `lengths` is always a (n_scales,) array of positive scales: those of the classes, in the units
    of the space's coordinates, and then the reach, if there is one.

    Parameters
    ----------
    widths : (classes,) array
        The width of the space in the coordinates of each class.
    """

    def __init__(self, widths: Array) -> None:
        self._widths = widths

    @property
    def widths(self) -> Array:
        """The width of the space in the coordinates of each class."""
        return self._widths

    @property
    @abstractmethod
    def has_reach(self) -> bool:
        """Whether the last scale is a reach."""

    @property
    def unit(self) -> Array:
        """Units of the scales: the width of the space in each class of coordinates.

        1 for a reach.
        """
        return np.append(self._widths, 1.0) if self.has_reach else self._widths

    @property
    def n_scales(self) -> int:
        """Number of scales."""
        return len(self._widths) + self.has_reach

    def shortest(self, lengths: Array) -> float:
        """Return the shortest length scale; a reach is none."""
        return float(lengths[: len(self._widths)].min())

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @abstractmethod
    def features(self, points: Array) -> Array:
        """Return the features (m, p) of (m, dim) points; the same for all images of a point."""

    @abstractmethod
    def cross(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the kernel at all pairs, (len(a), len(b)), of features a and b."""

    @abstractmethod
    def paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the kernel of the i-th with the i-th features, (len(a),)."""

    @abstractmethod
    def paired_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return `paired`, and its derivatives by the logarithm of each length scale, (n_scales, len(a))."""

    @abstractmethod
    def cross_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return `cross`, and its derivatives by the logarithm of each length scale, (n_scales, len(a), len(b))."""

    def along(self, point: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the kernel of one point (dim,) with features b, (n,), and its gradient by the point, (n, dim).

        Where the kernel has a kink, on the walls of a domain, the gradient is that of one side.
        """
        values, gradients = self.along_many(point[None], b, lengths)
        return values[0], gradients[0]

    @abstractmethod
    def along_many(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return what `along` does for each of (m, dim) points: (m, n) and (m, n, dim)."""

    def means(self, images: Array, b: Array, lengths: Array, is_symmetric: bool) -> Array:
        """Return the mean of `cross` over images, (m, len(b)).

        `images` are the features (m, h, p) of h images of m points. If the result is symmetric,
        half of it may be computed.
        """
        m, h, p = images.shape
        total = np.zeros((m, len(b)))
        for some in _steps(h, total.size):
            values = self.cross(images[:, some].reshape(-1, p), b, lengths)
            total += values.reshape(m, some.stop - some.start, len(b)).sum(axis=1)
        return np.asarray(total / h)

    def means_and_scale_gradients(
        self, images: Array, b: Array, lengths: Array, is_symmetric: bool
    ) -> tuple[Array, Array]:
        """Return the means over images of what `cross_and_scale_gradients` returns."""
        m, h, p = images.shape
        total, totals = np.zeros((m, len(b))), np.zeros((len(lengths), m, len(b)))
        for some in _steps(h, totals.size):
            values, by_scale = self.cross_and_scale_gradients(images[:, some].reshape(-1, p), b, lengths)
            shape = m, some.stop - some.start, len(b)
            total += values.reshape(shape).sum(axis=1)
            totals += by_scale.reshape(len(lengths), *shape).sum(axis=2)
        return total / h, totals / h

    def means_along(self, points: Array, images: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the means of `along_many` over images (n, h, p) of the second points.

        So gradients are by the points themselves, not by their images.
        """
        (m, d), (n, h, p) = points.shape, images.shape
        total, totals = np.zeros((m, n)), np.zeros((m, n, d))
        for some in _steps(h, totals.size):
            values, gradients = self.along_many(points, images[:, some].reshape(-1, p), lengths)
            total += values.reshape(m, n, some.stop - some.start).sum(axis=2)
            totals += gradients.reshape(m, n, some.stop - some.start, d).sum(axis=2)
        return total / h, totals / h


def _steps(images: int, size: int) -> Iterator[slice]:
    """Yield ranges of images, given how many values there are for each."""
    step = max(1, VALUES_AT_ONCE // max(1, size))
    return (slice(start, min(start + step, images)) for start in range(0, images, step))


class Metric(ABC):
    """A squared Hilbert distance q of orbits, in units of the length scales."""

    has_reach = False
    """Whether the last scale is a reach."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @abstractmethod
    def features(self, points: Array) -> Array:
        """Return the features (m, width) of (m, dim) points."""

    @abstractmethod
    def squared(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return q at all pairs of features, (len(a), len(b))."""

    @abstractmethod
    def squared_paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return q of the i-th with the i-th features, (len(a),)."""

    @abstractmethod
    def squared_paired_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return `squared_paired`, and its derivatives by the logarithm of each length scale, (n_scales, len(a))."""

    @abstractmethod
    def squared_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q, and its derivatives by the logarithm of each length scale, (n_scales, len(a), len(b))."""

    @abstractmethod
    def squared_along(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q between (m, dim) points and features b, (m, n), and its gradients by the points, (m, n, dim)."""


class CompiledMetric(Metric):
    """A squared distance q with compiled loops for kernels k(q): values, and means over images.

    The families of kernels are numbered as in `_kernels/profiles.py`.
    """

    @abstractmethod
    def means(self, family: int, images: Array, b: Array, lengths: Array, is_symmetric: bool) -> Array:
        """Return the mean of k(q) over images, as `QuotientKernel.means` does."""

    @abstractmethod
    def means_and_scale_gradients(
        self, family: int, images: Array, b: Array, lengths: Array, is_symmetric: bool
    ) -> tuple[Array, Array]:
        """Return means and derivatives, as `QuotientKernel.means_and_scale_gradients` does."""

    @abstractmethod
    def means_along(self, family: int, points: Array, images: Array, lengths: Array) -> tuple[Array, Array]:
        """Return means and gradients, as `QuotientKernel.means_along` does."""

    def squared(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return q at all pairs."""
        return self.means(SQUARE, a[:, None], b, lengths, is_same(a, b))

    def squared_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q and its derivatives."""
        return self.means_and_scale_gradients(SQUARE, a[:, None], b, lengths, is_same(a, b))

    def squared_along(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q and its gradients."""
        return self.means_along(SQUARE, points, b[:, None], lengths)


def is_same(a: Array, b: Array) -> bool:
    """Return whether two arrays are one, so that a kernel's values at all pairs are symmetric."""
    return a is b or (
        a.shape == b.shape
        and a.strides == b.strides
        and bool(a.__array_interface__["data"] == b.__array_interface__["data"])
    )


def side_by_side(widths: list[int]) -> list[slice]:
    """Return where the features of parts are among those of all, given how many each has.

    Examples
    --------
    >>> side_by_side([2, 3])
    [slice(0, 2, None), slice(2, 5, None)]
    """
    return [slice(end - width, end) for width, end in zip(widths, accumulate(widths), strict=True)]
