"""MatrixFactorization and RatingFactorization: find the factors of a matrix of ratings.

The arm is a pair of factor matrices H, W, as `problems/factors.py` writes them, and what it
predicts is P = H W^T. In `MatrixFactorization` some H, W are hidden, and the reward of an arm has
the mean

    1 - ||P - R|| / c,     R the product of the hidden factors, c the largest ||P - R|| of all arms (Frobenius norms).

That is Appendix E of the paper with two corrections: its f is a loss, and its arm set [0, 1] is not
invariant under O(K).

In `RatingFactorization` R is a table of real ratings, and a reward comes from a single one of them:
a cell (a, b) of the table is drawn, then a rating r from that cell, and the reward is

    1 - (r - P_ab)^2 / c,     c the largest such square there can be,

so that its mean is 1 minus the mean over cells of ((R_ab - P_ab)^2 + v_ab) / c, for the mean R_ab
and the variance v_ab of the ratings in a cell.
"""

from functools import cached_property
from os import PathLike
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_points, as_seed, frozen, shown
from orbandit.errors import InputTypeError
from orbandit.problems.base import Problem
from orbandit.problems.factors import Arms, Factors
from orbandit.problems.noise import BERNOULLI, Noise
from orbandit.problems.ratings import Ratings, group_ratings, load_ratings
from orbandit.spaces import Ball

STARTS = 64
"""Random starts of the search for the best factors in a box."""
FOUND = 1e-6
"""How far a search may have ended below its local optimum."""


@final
class MatrixFactorization(Problem):
    """Hidden factors H, W of a matrix R = H W^T, and the mean reward 1 - ||P - R|| / c of an arm that predicts P.

    The arm is x = M.ravel(), M of shape (K, I + J): row k has the weights of factor k for the I
    users and then for the J items, so that P_ij = sum over k of M[k, i] M[k, I + j]. The largest
    mean is 1, at the hidden factors, and the least is 0. `lipschitz` is (the largest ||M||) / c: as
    dP = dH W^T + H dW^T, no ||dP|| exceeds ||M|| ||dM||. All are closed forms; c is only a bound in
    a box with more than 12 users and more than 12 items.

    Parameters
    ----------
    users, items, factors : int
        I, J and K; the dimension is d = K (I + J).
    arms : "ball", "signed", "nonnegative" or "subgroup"
        The arm set, and with it the group. A ball of radius sqrt(2 sqrt(I J)), under all of O(K).
        Entries in [-1, 1], under permutations of the factors and changes of their signs. Entries in
        [0, 1], under permutations only. Or the paper's choice: the ball, under a finite subgroup of
        O(K) whose order is the integer q nearest to n^(1 / (2 d + 2)), for n rounds. It acts in the
        plane of the first two factors: by the symmetries of a polygon with q / 2 corners if q is
        even, by q rotations if it is odd. One factor has two elements at most.
    horizon : int, optional
        Number of rounds n, for arms="subgroup" only.
    seed : int
        Seed for the hidden factors, which are uniform on the arm set.
    noise : Noise
        The distribution of rewards around their mean.

    Examples
    --------
    The ball is searched up to all of O(2). The finite subgroup has 2 elements for a million rounds,
    and 3 from fifteen million on:

    >>> import orbandit as ob
    >>> problem = ob.problems.MatrixFactorization(users=2, items=2, factors=2)
    >>> problem.group, problem.optimum, bool(ob.problems.check(problem))
    (Orthogonal(2, 4), 1.0, True)
    >>> paper = ob.problems.MatrixFactorization(users=2, items=2, factors=2, arms="subgroup", horizon=1_000_000)
    >>> paper.group.order
    2
    """

    _is_unit = True

    def __init__(
        self,
        users: int = 2,
        items: int = 2,
        factors: int = 2,
        *,
        arms: Arms = "ball",
        horizon: int | None = None,
        seed: int = 0,
        noise: Noise = BERNOULLI,
    ) -> None:
        self._factors = Factors(users, items, factors, arms, horizon)
        self._seed = as_seed(seed)
        space = self._factors.space
        self._hidden = frozen(space.sample(1, np.random.default_rng(self._seed))[0])
        self._matrix = frozen(self._factors.predict(self._hidden[None])[0])
        self._scale = self._factors.largest_error(self._matrix)
        super().__init__(space, self._factors.group, self._factors.longest / self._scale, noise)

    def __repr__(self) -> str:
        return f"MatrixFactorization({self._factors!r}, seed={self._seed})"

    @property
    def matrix(self) -> Array:
        """R, (I, J)."""
        return self._matrix

    @property
    def optimizer(self) -> Array:
        """The hidden factors."""
        return self._hidden

    def predict(self, points: npt.ArrayLike) -> Array:
        """Return the prediction P of each point, (m, I, J).

        Parameters
        ----------
        points : (m, dim) or (dim,) array
            Arms, as points of the space.
        """
        batch, single = as_points(points, self.space.dim)
        predictions = self._factors.predict(batch)
        return predictions[0] if single else predictions

    def _mean(self, points: Array) -> Array:
        errors = np.linalg.norm(self._factors.predict(points) - self._matrix, axis=(1, 2))
        return np.asarray(1.0 - errors / self._scale)


@final
class RatingFactorization(Problem):
    """Factors of a table of real ratings, learnt from one rating a round.

    Users are sorted by their mean rating and cut into groups with nearly equal numbers of ratings,
    items likewise. R_ab is the mean rating of items of group b by users of group a, scaled to [0,
    1] by the least and the largest rating. A round draws a cell, then one of its ratings r, and
    rewards 1 - (r - P_ab)^2 / c.

    With D the largest ||P - R|| of all arms, the mean has slopes up to

        lipschitz = 2 D (the largest ||M||) / (I J c).

    The best factors in a ball are a closed form. With s_1, s_2, ... the singular values of R, no
    product of rank K comes nearer than the truncated singular value decomposition (Eckart and
    Young). Its ||M||^2 is at least twice the sum of s_1, ..., s_K, and where that leaves the ball,
    they are projected onto numbers of an allowed sum. In a box, the same decomposition is best if
    it fits, each factor being scaled between its users and items. If it does not fit, alternating
    least squares search from 64 random points (`searched`), and how much better the true optimum
    can be is bounded by the decomposition (`gap`; often 0).

    Parameters
    ----------
    ratings : Ratings or path
        The ratings, or a file that `load_ratings` reads.
    users, items : int
        Numbers of groups, I and J.
    factors : int
        K; the dimension is K (I + J).
    arms : "ball", "signed", "nonnegative" or "subgroup"
        The arm set, and with it the group. A ball of radius sqrt(2 sqrt(I J)), under all of O(K).
        Entries in [-1, 1], under permutations of the factors and changes of their signs. Entries in
        [0, 1], under permutations only. Or the paper's choice: the ball, under a finite subgroup of
        O(K) whose order is the integer nearest to n^(1 / (2 d + 2)), for n rounds.
    horizon : int, optional
        Number of rounds n, for arms="subgroup" only.
    noise : Noise, optional
        Distribution of rewards around their mean, instead of rewards from single ratings.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> users, items = np.divmod(np.arange(60), 10)
    >>> ratings = ob.problems.Ratings(users, items, values=1 + (users * items) % 5)
    >>> problem = ob.problems.RatingFactorization(ratings, users=2, items=2, factors=2)
    >>> problem.matrix.round(2).tolist()
    [[0.1, 0.23], [0.4, 0.6]]
    >>> np.allclose(problem.predict(problem.optimizer), problem.matrix), problem.searched
    (True, False)

    From a file: `RatingFactorization("ml-100k.inter", users=3, items=3, factors=2)`.

    References
    ----------
    C. Eckart, G. Young, The approximation of one matrix by another of lower rank, 1936.

    A. Cichocki, A.-H. Phan, Fast local algorithms for large scale nonnegative matrix and tensor
    factorizations, 2009.
    """

    _is_unit = True

    def __init__(
        self,
        ratings: Ratings | str | PathLike[str],
        users: int = 3,
        items: int = 3,
        factors: int = 2,
        *,
        arms: Arms = "ball",
        horizon: int | None = None,
        noise: Noise | None = None,
    ) -> None:
        self._factors = Factors(users, items, factors, arms, horizon)
        if not isinstance(ratings, Ratings | str | PathLike):
            raise InputTypeError(
                f"`ratings` must be Ratings or the path of a file of them, but got {shown(ratings)}.",
                field="ratings",
                value=ratings,
            )
        self._ratings = ratings if isinstance(ratings, Ratings) else load_ratings(ratings)
        self._cells = group_ratings(self._ratings, users, items)
        low, high = self._factors.entries
        self._scale = max(1.0 - low, high) ** 2
        R = self._cells.means
        steepest = 2 * self._factors.largest_error(R) * self._factors.longest / (R.size * self._scale)
        super().__init__(self._factors.space, self._factors.group, steepest, noise)

    def __repr__(self) -> str:
        return f"RatingFactorization({self._ratings!r}, {self._factors!r})"

    @property
    def matrix(self) -> Array:
        """R, (I, J): the mean of the scaled ratings of each pair of groups."""
        return self._cells.means

    @property
    def optimizer(self) -> Array:
        """The best factors, in closed form or as found."""
        return self._best[0]

    @property
    def searched(self) -> bool:
        """Whether `optimizer` was found by search; otherwise it is a closed form."""
        return self._best[1]

    @property
    def gap(self) -> float:
        """By how much the true optimum can exceed `optimum`, proved: 0 for a closed form, else by Eckart and Young."""
        if not self.searched:
            return 0.0
        tail = np.linalg.svd(self.matrix, compute_uv=False)[self._factors.factors :]
        return max(0.0, float(self._reward_of_squares((tail**2).sum())) - self.optimum)

    @property
    def tolerance(self) -> float:
        """By how much the largest mean may exceed `optimum`: rounding, or the error of a search."""
        return max(super().tolerance, min(FOUND, self.gap))

    def predict(self, points: npt.ArrayLike) -> Array:
        """Return the prediction P of each point, (m, I, J).

        Parameters
        ----------
        points : (m, dim) or (dim,) array
            Arms, as points of the space.
        """
        batch, single = as_points(points, self.space.dim)
        predictions = self._factors.predict(batch)
        return predictions[0] if single else predictions

    def _mean(self, points: Array) -> Array:
        return self._reward_of_squares(((self._factors.predict(points) - self.matrix) ** 2).sum(axis=(1, 2)))

    def _reward_of_squares(self, squares: npt.ArrayLike) -> Array:
        """Return the mean reward of arms with given ||P - R||^2."""
        cells = self._cells
        return np.asarray(1.0 - (np.asarray(squares) + cells.variances.sum()) / (cells.means.size * self._scale))

    def _draw(self, points: Array, rng: np.random.Generator) -> Array:
        cells = rng.integers(self.matrix.size, size=len(points))
        ratings = self._cells.values[self._cells.starts[cells] + rng.integers(self._cells.counts[cells])]
        predictions = self._factors.predict(points).reshape(len(points), -1)[np.arange(len(points)), cells]
        return np.asarray(np.clip(1.0 - (ratings - predictions) ** 2 / self._scale, 0.0, 1.0))

    @cached_property
    def _best(self) -> tuple[Array, bool]:
        """The best factors, and whether a search was needed."""
        point = self._decomposition()
        if self.space.contains(point):
            return frozen(self.space.project(point)), False
        starts = np.concatenate([[point], self.space.sample(STARTS, np.random.default_rng(0))])
        return frozen(self._factors.descend(self.matrix, starts)), True

    def _decomposition(self) -> Array:
        """Return the singular value decomposition as an arm, shrunk into the ball if that is the arm set."""
        rank, space = self._factors.factors, self.space
        U, widths, Vt = np.linalg.svd(self.matrix, full_matrices=False)
        few = min(rank, len(widths))
        H, W, widths = U.T[:few], Vt[:few], widths[:few]
        if isinstance(space, Ball):
            widths = _with_sum_at_most(space.radius**2 / 2, widths)
            balance = np.ones(few)
        else:  # the largest entry of a factor is the same for its users and its items
            balance = np.sqrt(np.abs(W).max(axis=1) / np.abs(H).max(axis=1))
        # Of a factor and its negative, both of which predict the same, take the one with more on
        # the positive side.
        balance *= np.where(H.sum(axis=1) + W.sum(axis=1) < 0, -1.0, 1.0)
        M = np.zeros((rank, self._factors.users + self._factors.items))
        M[:few] = np.sqrt(widths)[:, None] * np.hstack([H * balance[:, None], W / balance[:, None]])
        return M.ravel()


def _with_sum_at_most(total: float, widths: Array) -> Array:
    """Return the point nearest to falling, non-negative numbers among those of a sum of at most `total`."""
    excess = (np.cumsum(widths) - total) / np.arange(1, len(widths) + 1)
    return np.asarray(np.maximum(widths - max(0.0, float(excess.max())), 0.0))
