"""Blended: an invariant kernel plus another one.

    k(x, y) = (k_G(x, y) + r k_0(x, y)) / (1 + r)

is the covariance of an invariant function plus a remainder. The ratio r of their variances is a
hyper-parameter, learnt as the length scales are. It has two uses. If the symmetry is approximate,
the remainder is without it: r is small if the symmetry holds, and one measurement informs about all
images; if not, images differ by the remainder. If the symmetry is exact, the remainder is invariant,
too, by another kernel, for what the first one does not explain.
"""

from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.gaussian.base import QuotientKernel


@final
class Blended(QuotientKernel):
    """A mean of two kernels. The scales are those of the invariant one, those of the other, and r.

    Parameters
    ----------
    invariant, remainder : QuotientKernel
        The k_G and the k_0.

    Attributes
    ----------
    parts : pair of QuotientKernel
        Both.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> from orbandit.agents.gaussian.quotient_kernel import quotient_kernel
    >>> line = ob.spaces.Box(0, 1, dim=2)
    >>> kernel = Blended(quotient_kernel(line, ob.groups.Symmetric(2)), quotient_kernel(line))
    >>> a = kernel.features(np.array([[0.1, 0.9], [0.9, 0.1]]))
    >>> kernel.cross(a, a, np.array([0.3, 0.3, 0.3, 0.25])).round(3)  # images agree but for a fifth of the variance
    array([[1.   , 0.801],
           [0.801, 1.   ]])
    """

    def __init__(self, invariant: QuotientKernel, remainder: QuotientKernel) -> None:
        super().__init__(invariant.widths)
        self.parts = invariant, remainder
        self._own = slice(0, invariant.width), slice(invariant.width, invariant.width + remainder.width)
        first = invariant.n_scales
        self._scales = slice(0, first), slice(first, first + remainder.n_scales)

    @property
    def has_reach(self) -> bool:
        """Whether the last scale is a reach: it is a ratio."""
        return False

    @property
    def unit(self) -> Array:
        """Those of both kernels, and 1."""
        return np.concatenate([*(part.unit for part in self.parts), [1.0]])

    @property
    def n_scales(self) -> int:
        """Those of both kernels, and one more."""
        return self._scales[1].stop + 1

    @property
    def width(self) -> int:
        """Those of both kernels."""
        return int(self._own[1].stop)

    def shortest(self, lengths: Array) -> float:
        """Return the shortest length scale of the part with the larger variance."""
        larger = int(lengths[-1] > 1)
        return self.parts[larger].shortest(lengths[self._scales[larger]])

    def features(self, points: Array) -> Array:
        """Return the features of both kernels side by side."""
        return np.hstack([part.features(points) for part in self.parts])

    def cross(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the mean of values."""
        return self._mean([part.cross(a[:, own], b[:, own], lengths[of]) for part, own, of in self._each()], lengths)

    def paired(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return the mean of values."""
        return self._mean([part.paired(a[:, own], b[:, own], lengths[of]) for part, own, of in self._each()], lengths)

    def paired_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the mean of values, and its derivatives."""
        return self._with_ratio(
            [part.paired_and_scale_gradients(a[:, own], b[:, own], lengths[of]) for part, own, of in self._each()],
            lengths,
        )

    def cross_and_scale_gradients(self, a: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the mean of values, and its derivatives."""
        return self._with_ratio(
            [part.cross_and_scale_gradients(a[:, own], b[:, own], lengths[of]) for part, own, of in self._each()],
            lengths,
        )

    def along_many(self, points: Array, b: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the mean of values, and of gradients."""
        both = [part.along_many(points, b[:, own], lengths[of]) for part, own, of in self._each()]
        values, gradients = zip(*both, strict=True)
        return self._mean(list(values), lengths), self._mean(list(gradients), lengths)

    def _each(self) -> list[tuple[QuotientKernel, slice, slice]]:
        return list(zip(self.parts, self._own, self._scales, strict=True))

    def _mean(self, values: list[Array], lengths: Array) -> Array:
        ratio, (first, second) = lengths[-1], values
        mean: Array = ratio * second
        mean += first
        mean /= 1 + ratio
        return mean

    def _with_ratio(self, both: list[tuple[Array, Array]], lengths: Array) -> tuple[Array, Array]:
        (invariant, by_own), (remainder, by_other) = both
        ratio = lengths[-1]
        by_ratio = ratio * (remainder - invariant) / (1 + ratio) ** 2
        by_scale = np.concatenate([by_own / (1 + ratio), ratio * by_other / (1 + ratio), by_ratio[None]])
        return self._mean([invariant, remainder], lengths), by_scale
