"""Gaussian process regression on distinct points, by a Cholesky factor that is updated.

    A = K + c^2 1 1^T + diag(s_j / n_j) + jitter
    m(x) = b + (k(x) + c^2)^T A^-1 (y - b)
    v(x) = k(x, x) + c^2 - (k(x) + c^2)^T A^-1 (k(x) + c^2)

for n_j observations of mean y_j and noise variance s_j at point j. The constant has the prior N(b,
c^2) and is learnt with the rest, which is generalised least squares if c is large. A new point
appends a row to the Cholesky factor of A, and another observation of a point lowers one entry of
the diagonal: O(n^2) either way. If rounding makes that impossible, A is factored again, with as
much jitter as needed.
"""

import copy
from typing import final

import numpy as np

from orbandit._checks import Array
from orbandit._kernels.factor import downdate_diagonal, solve_lower, solve_rows, solve_upper
from orbandit._rows import enlarged
from orbandit.errors import InputError

JITTER = 1e-10
"""Jitter on the diagonal, in units of the mean diagonal of K; times 100 until A can be factored."""
FIRST_ROOM = 64
"""Rows allocated at first; the allocation doubles."""


@final
class Posterior:
    """The posterior of a Gaussian process, given the covariances of its points.

    Parameters
    ----------
    center, spread : float
        Mean and variance of the constant, the b and c^2 above.

    Examples
    --------
    >>> import numpy as np
    >>> known = Posterior(center=0.0, spread=1.0)
    >>> known.append(np.empty(0), 1.0, noise=0.1, count=1, mean=0.5)
    >>> known.observe(0, 0.7)
    >>> mean, variance = known.at(np.array([[0.9]]), np.array([1.0]))
    >>> int(known.counts[0]), float(mean[0].round(3)), float(variance[0].round(3))
    (2, 0.556, 0.239)
    """

    def __init__(self, center: float, spread: float) -> None:
        self.center, self.spread = center, spread
        self.size, self.jitter = 0, 0.0
        self._prior, self._factor, self._rows = np.empty((0, 0)), np.empty((0, 0)), np.empty((3, 0))
        self._room(FIRST_ROOM)
        self._weights: Array | None = None
        self._is_branch = False

    @property
    def counts(self) -> Array:
        """How many observations each point has."""
        return self._rows[0, : self.size]

    @property
    def means(self) -> Array:
        """The mean of the observations of each point."""
        return self._rows[1, : self.size]

    @property
    def noise(self) -> Array:
        """The variance of one observation of each point."""
        return self._rows[2, : self.size]

    @property
    def factor(self) -> Array:
        """The lower triangular factor of A, a view."""
        return self._factor[: self.size, : self.size]

    @property
    def covariances(self) -> Array:
        """The covariances K of the points, without the constant; a view."""
        return self._prior[: self.size, : self.size]

    @property
    def weights(self) -> Array:
        """The solution of A w = y - b."""
        if self._weights is None:
            self._weights = self.solve(self.means - self.center)
        return self._weights

    def rebuild(self, covariances: Array, counts: Array, means: Array, noise: Array) -> None:
        """Start again with these points."""
        self.size = 0
        self._room(max(FIRST_ROOM, len(counts)))
        self.size = len(counts)
        self.covariances[:] = covariances
        self.counts[:], self.means[:], self.noise[:] = counts, means, noise
        self._refactor()

    def restore(self, factor: Array, jitter: float) -> None:
        """Use a factor as it was saved; call `rebuild` first."""
        self.factor[:], self.jitter, self._weights = factor, jitter, None

    def append(
        self, covariances: Array, own: float, *, noise: float, count: float, mean: float, half: Array | None = None
    ) -> None:
        """Add a point, by its covariances with the others and its variance.

        Their `half` if known.
        """
        size = self.size
        if size == len(self._prior):
            self._room(2 * size)
        self._prior[size, :size] = self._prior[:size, size] = covariances
        self._prior[size, size] = own
        self._rows[:, size] = count, mean, noise
        if size == 0:
            self.jitter = JITTER * own
        row = self._factor[size]
        row[:size] = self.half(covariances + self.spread) if half is None else half
        square = own + self.spread + noise / count + self.jitter - row[:size] @ row[:size]
        self.size, self._weights = size + 1, None
        if square > self.jitter / 2:  # what is left of a variance that cannot be below the jitter
            row[size] = np.sqrt(square)
        else:
            self._refactor()

    def observe(self, place: int, value: float) -> None:
        """Add an observation of an existing point."""
        self._own()
        count = self._rows[0, place]
        noise = self._rows[2, place]
        self._rows[0, place] = count + 1
        self._rows[1, place] += (value - self._rows[1, place]) / (count + 1)
        self._weights = None
        if not downdate_diagonal(self._factor, self.size, place, noise / count - noise / (count + 1), self._work):
            self._refactor()

    def branch(self) -> "Posterior":
        """Return a copy that changes on its own, valid as long as this one does not.

        They share memory.
        """
        other = copy.copy(self)
        other._rows, other._is_branch = self._rows.copy(), True
        return other

    def half(self, vector: Array) -> Array:
        """Return L^-1 b, for the factor L of A."""
        solution = vector.copy()
        solve_lower(self._factor, self.size, solution)
        return solution

    def other_half(self, vector: Array) -> Array:
        """Return the solution x of A x = b, given L^-1 b."""
        solution = vector.copy()
        solve_upper(self._factor, self.size, solution)
        return solution

    def solve(self, vector: Array) -> Array:
        """Return the solution x of A x = b, for one b or for each row."""
        solution = vector.copy()
        solve_rows(self._factor, self.size, np.atleast_2d(solution))
        return solution

    def at(self, cross: Array, own: Array) -> tuple[Array, Array]:
        """Return mean and variance at points, given their covariances (size, m) and variances."""
        shifted = cross + self.spread
        halves = self.halves(shifted)
        means = self.center + shifted.T @ self.weights
        return means, floored(own + self.spread - np.einsum("ij,ij->j", halves, halves), own + self.spread)

    def halves(self, shifted: Array) -> Array:
        """Return L^-1 B, for the factor L of A."""
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.factor, shifted, lower=True, check_finite=False))

    def _room(self, rows: int) -> None:
        """Allocate so many rows, and keep the existing ones."""
        self._prior = enlarged(self.covariances, (rows, rows))
        self._factor = enlarged(self.factor, (rows, rows))
        self._rows, self._work = enlarged(self._rows[:, : self.size], (3, rows)), np.zeros((3, rows))
        self._is_branch = False

    def _own(self) -> None:
        """Copy shared memory before rows of it change."""
        if self._is_branch:
            self._room(len(self._prior))

    def _refactor(self) -> None:
        """Factor A from scratch, with as much jitter as needed."""
        from scipy.linalg import cholesky

        self._own()
        scale = float(self.covariances.diagonal().mean()) if self.size else 1.0
        matrix = self.covariances + self.spread
        diagonal = matrix.diagonal() + self.noise / self.counts
        self.jitter, self._weights = JITTER * scale, None
        while self.jitter <= scale:
            np.fill_diagonal(matrix, diagonal + self.jitter)
            try:
                self.factor[:] = cholesky(matrix, lower=True, check_finite=False)
                return
            except np.linalg.LinAlgError:
                self.jitter *= 100
        raise InputError("the covariances of the points must be positive definite, but are not to within their size.")


def floored(variances: Array, prior: Array) -> Array:
    """Return variances clipped to be positive, against rounding."""
    return np.asarray(np.maximum(variances, 1e-12 * prior))
