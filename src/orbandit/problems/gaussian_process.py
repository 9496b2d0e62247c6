"""GaussianProcess: a random invariant function with a certified optimum."""

import math
from dataclasses import replace
from typing import final

import numpy as np

from orbandit._checks import Array, as_count, as_positive, as_seed, as_tolerance, frozen, shown
from orbandit.errors import GroupTooLargeError, InputError, InputTypeError, NoDomainError
from orbandit.groups import Domain, Group
from orbandit.groups.base import check_fit
from orbandit.problems.base import ROUNDING, Problem
from orbandit.problems.certify import BumpSum, Certificate, ascend, certify
from orbandit.problems.noise import BERNOULLI, Noise
from orbandit.spaces import Ball, Box, Space

BUMPS = 200_000
"""Most bumps of a function: centres times elements of the group."""
MIN_BUMPS, MAX_BUMPS, USUAL_BUMPS = 16, 64, 12_000
"""Limits of the default number of centres, which is that of length scales in X/G."""

SHORTEST, LONGEST = 1e-4, 4.0
MOST_CENTERS = 4_000
JITTER = 1e-9
"""Added to the diagonal of the kernel's matrix, in units of its mean."""
LEAST, WIDTH = 0.05, 0.9
"""Where in [0, 1] the bounds of the function are mapped to."""
SLOPE_TOLERANCE = 0.1
BUDGET = 400_000_000
MAX_DRAWS = 64
APART = 0.01
"""Least distance of the optimum from fixed points and from the middle of the space, in
diameters."""


@final
class GaussianProcess(Problem):
    """A random invariant function, drawn from a Gaussian process, with a certified optimum.

    The kernel is Matern with nu = 5/2 and length scale l, averaged over the group,

        k(x, y) = (1 + z + z^2 / 3) exp(-z),   z = sqrt(5) ||x - y|| / l,     k_G(x, y) = mean over g of k(g x, y),

    or, if `epsilon` is above 0, the quasi-invariant mixture (1 - epsilon) k_G + epsilon k, to
    measure the cost of a wrong symmetry. Values v of the process are drawn at random centres p_j of
    the space, and

        f(x) = sum_j a_j k_G(x, p_j)   with   sum_j a_j k_G(p_i, p_j) = v_i

    is the posterior mean of the process given these values. The mean reward is 0.05 + 0.9 (f - lo)
    / (hi - lo), scaled to the range of the noise. Branch and bound proves that lo <= f <= hi on the
    whole space, that no mean is above `optimum` by more than `tolerance`, and that no slope is
    above `lipschitz`.

    The proof has a budget, of about ten seconds. With the defaults it takes a fraction of a second
    in two and three dimensions, for a tolerance of 1e-6 too, and `lipschitz` is within 10 % of the
    steepest slope. In six it takes the whole budget, mostly reaches a tolerance of 0.01, and
    `lipschitz` is one and a half to three times the steepest slope found. If the budget does not
    suffice for the requested tolerance, `tolerance` is the proved one, and the representation says
    so.

    The orbit-averaged kernel has its largest variance at fixed points of the group. A draw with its
    optimum there, or in the middle of the space, is rejected, since some agents start there.

    Parameters
    ----------
    group : Group
        A finite group. The function is invariant under it if epsilon is 0.
    space : Space, optional
        Where points live; the group must map it onto itself. By default [0, 1]^dim or, if the group
        does not map that onto itself, the unit ball.
    length_scale : float
        The length scale l, from 1e-4 to 4 diameters of the space.
    centers : int, optional
        Number of centres; at most 200,000 with all their images. By default as many as X/G has
        volumes l^dim, but at most 64 and at most 12,000 images, and at least 16.
    epsilon : float
        From 0, for an invariant function, to 1, for one without the symmetry.
    tolerance : float
        How far the largest mean may be above `optimum`, in units of the range of rewards.
    seed : int
        Seed for the centres and values.
    noise : Noise
        The distribution of rewards around their mean.

    Examples
    --------
    Symmetric(2), CyclicShift(3), Symmetric(6) and, on the disk, Dihedral(5) are the settings of
    Brown et al., who have more centres: 128, and 512 in six dimensions.

    >>> import orbandit as ob
    >>> problem = ob.problems.GaussianProcess(ob.groups.Symmetric(2))
    >>> problem.space, problem.tolerance <= 0.01, round(problem.optimum + problem.tolerance, 4)
    (Box([0.0, 0.0], [1.0, 1.0]), True, 0.95)
    >>> bool(abs(problem.mean([0.3, 0.8]) - problem.mean([0.8, 0.3])) < 1e-12)
    True
    >>> wrong = ob.problems.GaussianProcess(ob.groups.Symmetric(2), epsilon=0.1)
    >>> wrong.group, wrong.nearly
    (None, Symmetric(2))

    References
    ----------
    T. Brown, A. Cioba and I. Bogunovic, Sample-efficient Bayesian optimisation using known
    invariances, 2024.
    """

    def __init__(
        self,
        group: Group,
        space: Space | None = None,
        *,
        length_scale: float = 0.12,
        centers: int | None = None,
        epsilon: float = 0.0,
        tolerance: float = 0.01,
        seed: int = 0,
        noise: Noise = BERNOULLI,
    ) -> None:
        if not isinstance(group, Group):
            raise InputTypeError(
                f"`group` must be one of ob.groups, but got {shown(group)}; pass Trivial(dim) for none.",
                field="group",
                value=group,
            )
        if group.order == math.inf:
            raise GroupTooLargeError(
                f"{shown(group)} has infinitely many elements to average over; pass a finite subgroup."
            )
        space = _usual_space(group) if space is None else space
        check_fit(space, group)
        self._nearly, self._length_scale = group, as_positive(length_scale, "length_scale")
        if not SHORTEST <= self._length_scale / space.diameter <= LONGEST:
            raise InputError(
                f"`length_scale` must be from {SHORTEST:g} to {LONGEST:g} diameters of {shown(space)}, but got "
                f"{length_scale}: such functions would be lost between the samples, or in rounding.",
                field="length_scale",
                value=length_scale,
            )
        self._epsilon = as_tolerance(epsilon, "epsilon")
        if self._epsilon > 1:
            raise InputError(
                f"`epsilon <= 1` must hold, but got epsilon={epsilon}: it is the part of k in a mixture.",
                field="epsilon",
                value=epsilon,
            )
        self._asked, self._seed = as_positive(tolerance, "tolerance"), as_seed(seed)
        count = _usual_centers(group, space, self._length_scale) if centers is None else as_count(centers, "centers")
        if count > MOST_CENTERS:
            raise InputError(
                f"`centers <= {MOST_CENTERS}` must hold, but got centers={count}: their kernel is a matrix.",
                field="centers",
                value=centers,
            )
        if group.order * count > BUMPS:
            raise GroupTooLargeError(
                f"{shown(group)} makes {shown(group.order * count)} images of {count} centres, more than {BUMPS:,}; "
                "pass fewer `centers`, or a subgroup."
            )
        super().__init__(space, None if self._epsilon > 0 else group, 1.0, noise)
        rng = np.random.default_rng(self._seed)
        self._centers = frozen(space.sample(count, rng))
        self._images = group.act(group.elements(BUMPS), self._centers).transpose(1, 0, 2)
        self._draw_function(rng)

    def __repr__(self) -> str:
        proved = f", tolerance proved: {self.tolerance:.2g}" if self.tolerance > self._asked * self._span else ""
        return (
            f"GaussianProcess({self._nearly!r}, {self.space!r}, length_scale={self._length_scale}, "
            f"centers={len(self._centers)}, epsilon={self._epsilon}, tolerance={self._asked}, "
            f"seed={self._seed}{proved})"
        )

    @property
    def nearly(self) -> Group:
        """The group over which the kernel is averaged: `group`; for epsilon > 0, an approximate symmetry.

        Pass it to an agent to measure the cost of a wrong symmetry.
        """
        return self._nearly

    @property
    def optimizer(self) -> Array:
        """The highest point found."""
        return self._optimizer

    @property
    def tolerance(self) -> float:
        """By how much the largest mean may exceed `optimum`, as proved."""
        proved = self._certificate
        return self._scale * (proved.high - proved.highest.value) + ROUNDING * self._span

    @property
    def lipschitz(self) -> float:
        """A bound of the slopes of the mean, proved."""
        return self._scale * self._certificate.slope

    @property
    def _span(self) -> float:
        low, high = self.reward_range
        return high - low

    @property
    def _scale(self) -> float:
        """The mean's change per unit of the function."""
        return WIDTH * self._span / (self._certificate.high - self._certificate.low)

    def _mean(self, points: Array) -> Array:
        height = self._function(points) - self._certificate.low
        return np.asarray(self.reward_range[0] + LEAST * self._span + self._scale * height)

    def _kernel(self) -> Array:
        """Return the kernel's values at all pairs of centres."""
        order = self._images.shape[1]
        matrix = np.empty((len(self._centers), len(self._centers)))
        for j, images in enumerate(self._images):
            averaged = BumpSum(images, np.full(order, 1 / order), self._length_scale)(self._centers)
            own = BumpSum(self._centers[j : j + 1], np.ones(1), self._length_scale)(self._centers)
            matrix[:, j] = (1 - self._epsilon) * averaged + self._epsilon * own
        return (matrix + matrix.T) / 2

    def _parts(self, weights: Array) -> list[tuple[Array, Array]]:
        """Return the images of the centres and the centres themselves, as far as they count, with their weights."""
        order, parts = self._images.shape[1], []
        if self._epsilon < 1:
            shared = np.repeat((1 - self._epsilon) / order * weights, order)
            parts.append((self._images.reshape(-1, self.space.dim), shared))
        if self._epsilon > 0:
            parts.append((self._centers, self._epsilon * weights))
        return parts

    def _draw_function(self, rng: np.random.Generator) -> None:
        """Draw values at the centres until the optimum is at no special point; certify it."""
        kernel = self._kernel()
        factor = np.linalg.cholesky(kernel + JITTER * np.trace(kernel) / len(kernel) * np.eye(len(kernel)))
        starts = np.concatenate([self._centers, self.space.sample(64, rng)])
        for _ in range(MAX_DRAWS):
            normal = rng.standard_normal(len(kernel))
            # K^-1 v for v = L normal
            parts = self._parts(np.asarray(np.linalg.solve(factor.T, normal)))
            places, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
            function = BumpSum(places, weights, self._length_scale)
            if self._tells(ascend(function, self.space, starts)[0]):
                continue
            certificate = self._certify(function, parts, starts)
            if not self._tells(certificate.highest.point):
                self._function, self._certificate, self._values = function, certificate, frozen(factor @ normal)
                self._optimizer = frozen(certificate.highest.point)
                return
        raise InputError(
            f"each of {MAX_DRAWS} draws has its optimum at a fixed point of {shown(self._nearly)} or in the middle of "
            f"{shown(self.space)}; pass a smaller `length_scale`, or more `centers`."
        )

    def _tells(self, point: Array) -> bool:
        """Return whether a point is nearly the middle of the space or a fixed point."""
        near = APART * self.space.diameter
        middle = self.space.project(np.mean(self.space.bounds, axis=0))
        if np.linalg.norm(point - middle) <= near:
            return True
        moves = self._nearly.act(self._nearly.generators, point) - point
        return self._nearly.order > 1 and bool(np.linalg.norm(moves, axis=-1).max() <= near)

    def _certify(self, function: BumpSum, parts: list[tuple[Array, Array]], starts: Array) -> Certificate:
        """Bound the function on the space: as it is or, if that is not enough, the invariant part and the other."""

        def proved(function: BumpSum, domain: Domain | None) -> Certificate:
            return certify(
                function,
                self.space,
                domain,
                starts,
                tolerance=self._asked / WIDTH,
                slope_tolerance=SLOPE_TOLERANCE,
                budget=BUDGET,
            )

        domain = _domain(self._nearly)
        whole = proved(function, domain if self._epsilon == 0 else None)
        if len(parts) == 1 or WIDTH * (whole.high - whole.highest.value) <= self._asked * (whole.high - whole.low):
            return whole
        shared, own = (BumpSum(*part, self._length_scale) for part in parts)
        first, second = proved(shared, domain), proved(own, None)
        return replace(
            whole,
            high=min(whole.high, first.high + second.high),
            low=max(whole.low, first.low + second.low),
            slope=min(whole.slope, first.slope + second.slope),
        )


def _usual_space(group: Group) -> Space:
    for space in (Box(0.0, 1.0, dim=group.dim), Ball(group.dim)):
        if group.preserves(space):
            return space
    raise InputError(f"{shown(group)} preserves neither the unit box nor the unit ball; pass a `space`.")


def _usual_centers(group: Group, space: Space, length_scale: float) -> int:
    """Return as many centres as there are length scales in X/G, within limits."""
    filling = round(space.volume / group.order / length_scale**space.intrinsic_dim)
    usual = min(filling, MAX_BUMPS, int(USUAL_BUMPS // group.order))
    return max(1, min(max(usual, MIN_BUMPS), int(BUMPS // group.order)))


def _domain(group: Group) -> Domain | None:
    try:
        return group.domain()
    except NoDomainError:
        return None
