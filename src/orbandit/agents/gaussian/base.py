"""The protocol of a kernel on X/G, and of the squared distances that most of them are made of.

A point is turned into features once; what follows sees features and length scales only, never the group.
Length scales belong to classes of coordinates: those that a generator mixes share one, so that dividing by
length scales commutes with the group.
"""

from abc import ABC, abstractmethod

import numpy as np

from orbandit._checks import Array


class QuotientKernel(ABC):
    """A positive definite function of pairs of orbits.

    `lengths` is always a (n_scales,) array of positive length scales, in the units of the space's coordinates.

    Parameters
    ----------
    unit : (n_scales,) array
        The width of the space in the coordinates of each class.
    """

    def __init__(self, unit: Array) -> None:
        self._unit = unit

    @property
    def unit(self) -> Array:
        """The width of the space in the coordinates of each class: what length scales are to be compared with."""
        return self._unit

    @property
    def n_scales(self) -> int:
        """Number of length scales."""
        return len(self._unit)

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @abstractmethod
    def features(self, points: Array) -> Array:
        """Return what the kernel sees of (m, dim) points, (m, p); the same for all images of a point."""

    @abstractmethod
    def cross(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the kernel at all pairs, (len(a), len(b)), of features a and b."""

    @abstractmethod
    def paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the kernel of the i-th with the i-th features, (len(a),)."""

    def diagonal(self, a: Array, lengths: Array) -> Array:
        """Return the prior variances k(x, x), (len(a),), of features a."""
        return self.paired(a, a, lengths)

    @abstractmethod
    def cross_and_slopes(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
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

    def diagonal_along(self, points: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the prior variances of (m, dim) points, (m,), and their gradients by the point, (m, dim)."""
        features = self.features(points)
        pairs = [self.along(x, f[None], lengths) for x, f in zip(points, features, strict=True)]
        values = np.array([value[0] for value, _ in pairs])
        gradients = np.array([2 * gradient[0] for _, gradient in pairs])  # k(x, y) = k(y, x)
        return values, gradients.reshape(points.shape)


class Metric(ABC):
    """A squared Hilbert distance q of orbits, in units of the length scales."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features."""

    @abstractmethod
    def features(self, points: Array) -> Array:
        """Return what the distance sees of (m, dim) points, (m, width)."""

    @abstractmethod
    def squared(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return q at all pairs of features, (len(a), len(b))."""

    @abstractmethod
    def squared_paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return q of the i-th with the i-th features, (len(a),)."""

    @abstractmethod
    def squared_and_slopes(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q, and its derivatives by the logarithm of each length scale, (n_scales, len(a), len(b))."""

    @abstractmethod
    def squared_along(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return q between (m, dim) points and features b, (m, n), and its gradients by the points, (m, n, dim)."""
