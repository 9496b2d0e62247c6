"""Ackley, Rastrigin and Griewank: multimodal test functions on the quotient of a reflection group.

The originals have their optimum at the origin, which most groups fix, and in the middle of their
domain, where most optimisers start. Here they are functions of the folded point relative to the
folded optimum:

    mean(x) = 1 - F(z) / F_max,     z = scale (fold(x) - fold(peak)).

The quotient of a reflection group is its chamber with the Euclidean metric, ||fold(x) - fold(y)|| =
d_G(x, y). So the mean is invariant, has the slope of F times scale / F_max, and its optimum is the
orbit of the peak, wherever that is.
"""

from abc import abstractmethod
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_point, as_positive, as_seed, frozen, shown
from orbandit.errors import InputError
from orbandit.groups import Group
from orbandit.problems.base import Problem
from orbandit.problems.noise import BERNOULLI, Noise
from orbandit.spaces import Space


class Landscape(Problem):
    """Base of the three: the peak and the scale."""

    _is_unit = True
    _classic_width: float
    """The width unless another is given."""

    def __init__(
        self,
        space: Space,
        group: Group | None = None,
        peak: npt.ArrayLike | None = None,
        *,
        width: float | None = None,
        seed: int = 0,
        noise: Noise = BERNOULLI,
    ) -> None:
        super().__init__(space, group, 1.0, noise)
        if group is not None and not group.is_reflection:
            raise InputError(
                f"{type(self).__name__} needs a reflection group, whose folds are as far apart as orbits, but got "
                f"{shown(group)}; use Cone or GaussianProcess with it."
            )
        draw = as_seed(seed)
        self._peak = frozen(well_moved_point(space, group, draw) if peak is None else as_point(peak, space.dim, "peak"))
        if not space.contains(self._peak, tol=space.tolerance):
            raise InputError(
                f"`peak` must lie in {shown(space)}, but got {shown(self._peak)}.", field="peak", value=peak
            )
        self._width = as_positive(self._classic_width if width is None else width, "width")
        if not 1e-3 <= self._width <= 1e6:
            raise InputError(f"`1e-3 <= width <= 1e6` must hold, but got width={width}.")
        low, high = space.bounds
        self._scale = self._width / float((high - low).max())
        self._home = self._folded(self._peak[None])
        # No point is farther away, in units of the classic domain, than this.
        self._reach = self._scale * space.diameter
        self._largest = self._bound()
        self._lipschitz = self._scale * self._slope() / self._largest

    def __repr__(self) -> str:
        place = f"{self.space!r}, {self.group!r}, peak={self._peak.tolist()}"
        return f"{type(self).__name__}({place}, width={self._width}, noise={self.noise})"

    @property
    def optimizer(self) -> Array:
        """The peak."""
        return self._peak

    def _folded(self, points: Array) -> Array:
        return points if self.group is None else np.asarray(self.group.fold(points))

    def _mean(self, points: Array) -> Array:
        classic = self._classic(self._scale * (self._folded(points) - self._home))
        return np.asarray(1.0 - classic / self._largest)

    @abstractmethod
    def _classic(self, z: Array) -> Array:
        """Return F, which is 0 at the origin and positive elsewhere."""

    @abstractmethod
    def _bound(self) -> float:
        """Return a bound of F over ||z|| <= reach."""

    @abstractmethod
    def _slope(self) -> float:
        """Return a Lipschitz constant of F over ||z|| <= reach."""


@final
class Ackley(Landscape):
    """Ackley's function: ripples on a funnel.

        F(z) = 20 (1 - exp(-0.2 ||z|| / sqrt d)) + e - exp(mean of cos 2 pi z_i)

    Its slope is at most (4 + 2 pi max over c of e^c sqrt(1 - c^2)) / sqrt d = 13.17 / sqrt d: the
    first term has 4 / sqrt d, and if the cosines have mean c, the squares of the sines have mean 1
    - c^2 at most.

    Parameters
    ----------
    space : Space
        Where points live.
    group : Group or None
        The symmetry: a reflection group that maps the space onto itself (`group.is_reflection`);
        None for no symmetry.
    peak : (dim,) array, optional
        The best point; by default drawn by the seed, away from walls and from the middle.
    width : float, optional
        The length of the original domain that the longest side of the space represents: the number
        of ripples across it, by default 10.
    seed : int
        Seed for the peak.
    noise : Noise
        The distribution of rewards around their mean.

    Examples
    --------
    >>> import orbandit as ob
    >>> problem = ob.problems.Ackley(ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2), peak=[0.8, 0.3])
    >>> problem.optimum, problem.mean([[0.3, 0.8], [0.5, 0.5]]).round(3).tolist()
    (1.0, [1.0, 0.593])
    """

    _classic_width = 10.0

    def _classic(self, z: Array) -> Array:
        funnel = 20 * -np.expm1(-0.2 * np.sqrt((z**2).mean(axis=1)))
        return np.asarray(funnel + np.e - np.exp(np.cos(2 * np.pi * z).mean(axis=1)))

    def _bound(self) -> float:
        return float(20 * -np.expm1(-0.2 * self._reach / np.sqrt(self.space.dim)) + np.e - np.exp(-1))

    def _slope(self) -> float:
        c = (np.sqrt(5) - 1) / 2  # where e^c sqrt(1 - c^2) is largest
        return float((4 + 2 * np.pi * np.exp(c) * np.sqrt(1 - c**2)) / np.sqrt(self.space.dim))


@final
class Rastrigin(Landscape):
    """Rastrigin's function: a bowl full of ripples.

        F(z) = sum of z_i^2 + 10 (1 - cos 2 pi z_i)

    A coordinate has slope 2 z_i + 20 pi sin 2 pi z_i, so the whole at most 2 ||z|| + 20 pi sqrt d.

    Parameters
    ----------
    space : Space
        Where points live.
    group : Group or None
        The symmetry: a reflection group that maps the space onto itself (`group.is_reflection`);
        None for no symmetry.
    peak : (dim,) array, optional
        The best point; by default drawn by the seed, away from walls and from the middle.
    width : float, optional
        The length of the original domain that the longest side of the space represents: the number
        of ripples across it, by default 4.
    seed : int
        Seed for the peak.
    noise : Noise
        The distribution of rewards around their mean.

    Examples
    --------
    >>> import orbandit as ob
    >>> problem = ob.problems.Rastrigin(ob.spaces.Ball(2), ob.groups.Dihedral(5), seed=1)
    >>> problem.optimum, bool(ob.problems.check(problem))
    (1.0, True)
    """

    _classic_width = 4.0

    def _classic(self, z: Array) -> Array:
        return np.asarray((z**2 + 10 * (1 - np.cos(2 * np.pi * z))).sum(axis=1))

    def _bound(self) -> float:
        return float(self._reach**2 + 20 * self.space.dim)

    def _slope(self) -> float:
        return float(2 * self._reach + 20 * np.pi * np.sqrt(self.space.dim))


@final
class Griewank(Landscape):
    """Griewank's function: a shallow bowl under a product of cosines.

        F(z) = ||z||^2 / 4000 + 1 - product of cos(z_i / sqrt i)

    Its slope is at most ||z|| / 2000 + sqrt(1 + 1/2 + ... + 1/d).

    Parameters
    ----------
    space : Space
        Where points live.
    group : Group or None
        The symmetry: a reflection group that maps the space onto itself (`group.is_reflection`);
        None for no symmetry.
    peak : (dim,) array, optional
        The best point; by default drawn by the seed, away from walls and from the middle.
    width : float, optional
        The length of the original domain that the longest side of the space represents, by default
        40; a ripple is 2 pi long on the first axis.
    seed : int
        Seed for the peak.
    noise : Noise
        The distribution of rewards around their mean.

    Examples
    --------
    >>> import orbandit as ob
    >>> cube, group = ob.spaces.Box(-1, 1, dim=3), ob.groups.SignedPermutation(3)
    >>> problem = ob.problems.Griewank(cube, group, peak=[0.1, -0.8, 0.4])
    >>> round(float(problem.mean([0.8, -0.4, 0.1])), 9)
    1.0
    """

    _classic_width = 40.0

    def _classic(self, z: Array) -> Array:
        axes = np.sqrt(np.arange(1, z.shape[1] + 1))
        return np.asarray((z**2).sum(axis=1) / 4000 + 1 - np.cos(z / axes).prod(axis=1))

    def _bound(self) -> float:
        return float(self._reach**2 / 4000 + 2)

    def _slope(self) -> float:
        return float(self._reach / 2000 + np.sqrt((1 / np.arange(1, self.space.dim + 1)).sum()))


def well_moved_point(space: Space, group: Group | None, seed: int) -> Array:
    """Return a random point of the space, away from walls and from the middle.

    Of 32 points it is the one whose least distance to its images under the generators and to the
    middle is the upper quartile; extremes would lie in corners.
    """
    points = space.sample(32, np.random.default_rng(seed))
    ways = [np.linalg.norm(points - space.project(np.mean(space.bounds, axis=0)), axis=1)]
    if group is not None and len(group.generators):
        ways.extend(np.linalg.norm(group.act(group.generators, points) - points, axis=-1))
    return np.asarray(points[np.argsort(np.min(ways, axis=0))[24]])
