"""Factors: pairs of factor matrices as arms, with the symmetry of their product.

An arm is x = M.ravel() with M of shape (K, I + J): factor k is one block, its weights for I users
and then for J items. The prediction is P = H W^T with H = M[:, :I]^T and W = M[:, I:]^T,

    P_ij = sum over k of M[k, i] M[k, I + j],

and Q M predicts the same for every Q in O(K). No box is preserved by O(K), so each arm set has a
group of its own:

    "ball"         ||M|| <= r = sqrt(2 sqrt(I J))    all of O(K)
    "subgroup"     the same ball                     a finite subgroup of O(K), of about n^(1 / (2 d + 2)) elements
    "signed"       -1 <= M <= 1                      permutations of the factors, and changes of their signs
    "nonnegative"  0 <= M <= 1                       permutations of the factors

The radius r is that of the shortest factorisation of a matrix of ones.
"""

import math
from itertools import product
from typing import Literal

import numpy as np

from orbandit._checks import Array, as_count, unknown_name
from orbandit.errors import InputError
from orbandit.groups import BlockPermutation, Group, Matrix, Orthogonal, SignedBlockPermutation, Trivial
from orbandit.spaces import Ball, Box, Space

Arms = Literal["ball", "subgroup", "signed", "nonnegative"]
KINDS = ("ball", "subgroup", "signed", "nonnegative")

LISTED = 12
"""Corners of a box are listed for the largest error if there are at most 2^LISTED of the fewer of
users and items."""

SWEEPS = 5000
"""Most rounds of alternating least squares."""


class Factors:
    """An arm set of factor matrices, with its group and the extreme values of its predictions.

    Parameters
    ----------
    users, items, factors : int
        I, J and K.
    arms : "ball", "subgroup", "signed" or "nonnegative"
        The arm set.
    horizon : int or None
        Sets the size of the subgroup; None for other arms.
    """

    def __init__(self, users: int, items: int, factors: int, arms: str, horizon: int | None) -> None:
        self.users, self.items = as_count(users, "users"), as_count(items, "items")
        self.factors = as_count(factors, "factors")
        if not isinstance(arms, str) or arms not in KINDS:
            raise unknown_name("arms", arms, KINDS)
        if arms == "subgroup" and horizon is None:
            raise InputError(
                'arms="subgroup" needs `horizon`, a number n of rounds: its group has about n^(1 / (2 d + 2)) elements.'
            )
        if arms != "subgroup" and horizon is not None:
            raise InputError(
                f'`horizon` sets the size of the group of arms="subgroup" and does nothing for arms={arms!r}; '
                "leave it out.",
                field="horizon",
                value=horizon,
            )
        self.arms, self.horizon = arms, None if horizon is None else as_count(horizon, "horizon")
        self.space, self.group = self._arm_set()

    def _arm_set(self) -> tuple[Space, Group]:
        blocks, size = self.factors, self.users + self.items
        if self.arms == "signed":
            return Box(-1.0, 1.0, dim=self.dim), SignedBlockPermutation(blocks, size)
        if self.arms == "nonnegative":
            return Box(0.0, 1.0, dim=self.dim), BlockPermutation(blocks, size)
        ball = Ball(self.dim, radius=math.sqrt(2 * math.sqrt(self.users * self.items)))
        if self.horizon is not None:
            return ball, subgroup(blocks, size, self.horizon ** (1 / (2 * self.dim + 2)))
        return ball, Orthogonal(blocks, size) if blocks > 1 else SignedBlockPermutation(1, size)

    def __repr__(self) -> str:
        end = "" if self.horizon is None else f", horizon={self.horizon}"
        return f"users={self.users}, items={self.items}, factors={self.factors}, arms={self.arms!r}{end}"

    @property
    def dim(self) -> int:
        """The dimension, d = K (I + J)."""
        return self.factors * (self.users + self.items)

    @property
    def longest(self) -> float:
        """The largest ||M||; all ||dP|| <= longest ||dM||, since dP = dH W^T + H dW^T."""
        return self.space.radius if isinstance(self.space, Ball) else math.sqrt(self.dim)

    @property
    def entries(self) -> tuple[float, float]:
        """The least and the largest entry that a prediction can have."""
        if isinstance(self.space, Ball):
            return -(self.longest**2) / 2, self.longest**2 / 2
        return (-float(self.factors) if self.arms == "signed" else 0.0), float(self.factors)

    def predict(self, points: Array) -> Array:
        """Return P for each point, (m, I, J)."""
        M = points.reshape(len(points), self.factors, self.users + self.items)
        return np.asarray(np.einsum("mki,mkj->mij", M[:, :, : self.users], M[:, :, self.users :]))

    def largest_error(self, R: Array) -> float:
        """Return the largest ||P - R|| there is, or a bound of it if there are many users and many items.

        Predictions lie in the convex hull of those with K equal factors, or one long one in the
        ball, where a convex function is largest: in the ball at P = -(r^2 / 2) u v^T, for the first
        singular vectors of R, and in a box at K a b^T, a and b corners; for each a, each entry of b
        is chosen by itself.
        """
        if isinstance(self.space, Ball):
            t, widths = self.longest**2 / 2, np.linalg.svd(R, compute_uv=False)
            return math.hypot(t + widths[0], *widths[1:])
        ends = (-1.0 if self.arms == "signed" else 0.0, 1.0)
        R = R if len(R) <= R.shape[1] else R.T
        if len(R) > LISTED:
            return float(np.sqrt(np.maximum(*((end - R) ** 2 for end in self.entries)).sum()))
        corners = np.array(list(product(ends, repeat=len(R))))[:, :, None]
        squares = [((self.factors * corners * end - R) ** 2).sum(axis=1) for end in ends]
        return float(np.sqrt(np.maximum(*squares).sum(axis=1).max()))

    def descend(self, R: Array, starts: Array) -> Array:
        """Return the best factors in a box, by ||P - R||^2, that alternating least squares reach from starts (m, d).

        With all else fixed, the best weight of a factor for a user is the minimum of a parabola,
        clipped to the box: h_i + <E_i, w> / ||w||^2, with w the weights of the factor for the items
        and E = R - P. For items likewise.
        """
        (low, *_), (high, *_) = self.space.bounds
        M = self.space.project(starts).reshape(len(starts), self.factors, -1)
        # Both sides of a factor take their turn with errors laid out as they need them.
        sides = (M[:, :, : self.users], M[:, :, self.users :])
        E = R - self.predict(M.reshape(starts.shape))
        errors = (E, E.transpose(0, 2, 1))
        least = np.inf
        for sweep in range(SWEEPS):
            for k in range(self.factors):
                for mine, other, left in zip(sides, sides[::-1], errors, strict=True):
                    w = other[:, k]
                    steps = np.einsum("mij,mj->mi", left, w) / np.maximum((w**2).sum(axis=1, keepdims=True), 1e-300)
                    steps = np.clip(mine[:, k] + steps, low, high) - mine[:, k]
                    mine[:, k] += steps
                    left -= steps[:, :, None] * w[:, None, :]
            if sweep % 50 == 49:
                before, least = least, float((E**2).sum(axis=(1, 2)).min())
                if before - least <= 1e-13:
                    break
        best = (E**2).sum(axis=(1, 2)).argmin()
        return np.asarray(self.space.project(M[best].ravel()))


def subgroup(factors: int, size: int, target: float) -> Group:
    """Return a subgroup of O(factors) on blocks of `size` coordinates, its order the integer nearest to the target.

    It acts in the plane of the first two factors: if the order is even as the symmetries of a
    polygon with half as many corners, if it is odd as rotations only. O(1) has two elements.
    """
    order = max(1, math.floor(target + 0.5))
    order = min(order, 2) if factors == 1 else order
    if order == 1:
        return Trivial(factors * size)
    generators = []
    if order % 2 == 0:
        mirror = np.eye(factors)
        mirror[min(factors, 2) - 1] *= -1
        generators.append(mirror)
    turns = order // 2 if order % 2 == 0 else order
    if turns > 1:
        angle = 2 * math.pi / turns
        turn = np.eye(factors)
        turn[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        generators.append(turn)
    return Matrix([np.kron(generator, np.eye(size)) for generator in generators])
