"""What groups share whose elements are few enough to list: Dirichlet folds, and distances over all images."""

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from orbandit._checks import Array, identity, shown
from orbandit.groups.base import Group
from orbandit.groups.closure import SAME_POINT, check_limit, distinct, generic_point
from orbandit.groups.domain import dirichlet_normals
from orbandit.groups.ties import Flags, best_image, settled, tolerances

IMAGES_AT_ONCE = 4_000_000
"""Most numbers held at once while images of a batch are formed."""


class EnumeratedGroup(Group):
    """A finite group known by all its elements.

    With a base point p that no element but the identity fixes, fold(x) is the image of x with the
    largest <g x, p>. Images that tie lie on the walls; the lexicographically largest is taken.
    """

    @abstractmethod
    def _images(self, points: Array) -> Array:
        """Return all images of each point, (m, order, dim), the point itself first."""

    @property
    def _effort(self) -> int:
        return int(self.order)

    def _fold(self, points: Array, slack: float = 0.0) -> Array:
        base = self._base_point / (np.linalg.norm(self._base_point) or 1.0)

        def once(batch: Array) -> tuple[Array, Flags]:
            images = self._images(batch)
            return best_image(images, images @ base, tolerances(batch, slack))

        folded = np.empty_like(points)
        for rows in self._chunks(len(points)):
            folded[rows] = settled(points[rows], once)
        return folded

    def _distance(self, a: Array, b: Array) -> Array:
        from orbandit._kernels.images import image_distances

        if len(a) > len(b):  # list the images of the shorter side
            return self._distance(b, a).T
        distances = np.empty((len(a), len(b)))
        for rows in self._chunks(len(a)):
            image_distances(np.ascontiguousarray(self._images(a[rows])), b, distances[rows])
        return distances

    def _random(self, size: int, rng: np.random.Generator) -> Array:
        return self._elements()[rng.integers(int(self.order), size=size)]

    @cached_property
    def _base_point(self) -> Array:
        """A sparse point, so that few faces bound the domain: axes are added until all elements move it."""
        axes = identity(self.dim)
        fixed = np.array([np.abs(self._images(e[None])[0] - e).max(axis=1) <= SAME_POINT for e in axes])
        point, weight = np.zeros(self.dim), 1.0
        fixing = np.ones(int(self.order), dtype=bool)
        while fixing.sum() > 1:
            best = int((fixed & fixing).sum(axis=1).argmin())
            point[best] += weight
            fixing &= fixed[best]
            weight /= 2
        moved = np.abs(self._images(point[None])[0] - point).max(axis=1) > 1e-3
        return point if moved.sum() == self.order - 1 else generic_point(self.dim)

    def _orbit(self, point: Array, tolerance: float, limit: int) -> Array:
        images = self._images(point[None])[0]
        orbit: Array = images[distinct(images, tolerance)]
        check_limit(len(orbit), limit, f"the images of {shown(point)}")
        return orbit

    @cached_property
    def _normals(self) -> Array:
        return self._normals_about(self._base_point)

    def _normals_about(self, point: Array) -> Array:
        return dirichlet_normals(point, self._images(point[None])[0])

    def _chunks(self, rows: int) -> Iterator[slice]:
        step = max(1, IMAGES_AT_ONCE // (int(self.order) * self.dim))
        return (slice(start, start + step) for start in range(0, rows, step))
