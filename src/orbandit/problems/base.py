"""The protocol of a problem: a mean reward on a space, invariant under a group, whose best point is known."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, RandomLike, as_finite, as_generator, as_points, as_positive, refuse_masked, shown
from orbandit.errors import InputError, InputTypeError
from orbandit.groups import Group
from orbandit.groups.base import check_fit
from orbandit.problems.noise import BERNOULLI, Noise
from orbandit.spaces import Space

Feasible: TypeAlias = Callable[[npt.ArrayLike], Array]
"""Returns the margin of each point of a batch with respect to known constraints; feasible if >=
0."""

ROUNDING = 1e-9
"""Tolerance, for rounding, of means outside the range of rewards and of points better than the
optimum."""


class Problem(ABC):
    """Noisy rewards at the points of a space.

    A subclass defines the space, the group, the mean at a batch of points (`_mean`), and where it
    is largest (`optimizer`). One with its own sampling of rewards implements `_draw`, which is used
    if `noise` is None.

    Parameters
    ----------
    space : Space
        Where points live.
    group : Group or None
        The symmetry of the mean, which must map the space onto itself; None for no symmetry.
    lipschitz : float or None
        The Lipschitz constant of the mean; None if there is none, or it is unknown.
    noise : Noise or None
        The distribution of rewards around their mean, Bernoulli by default. None if the problem
        draws them itself.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> class Ring(ob.problems.Problem):  # largest at distance 1/2 from the centre
    ...     def __init__(self):
    ...         super().__init__(ob.spaces.Ball(2), ob.groups.Orthogonal(2, 1), lipschitz=1.0)
    ...     def _mean(self, points):
    ...         return 1 - abs(np.linalg.norm(points, axis=1) - 0.5)
    ...     @property
    ...     def optimizer(self):
    ...         return np.array([0.5, 0.0])
    >>> ring = Ring()
    >>> float(ring.optimum), ring.mean([[0.0, 0.5], [0.0, 1.0]])
    (1.0, array([1. , 0.5]))
    """

    _is_unit = False
    """Whether means lie in [0, 1] by construction; then no other range of rewards is accepted."""

    def __init__(
        self, space: Space, group: Group | None, lipschitz: float | None, noise: Noise | None = BERNOULLI
    ) -> None:
        check_fit(space, group)
        if not isinstance(noise, Noise | None):
            raise InputTypeError(
                f"`noise` must be one of ob.problems, such as Bernoulli(), but got {shown(noise)}.",
                field="noise",
                value=noise,
            )
        if noise is None and type(self)._draw is Problem._draw:
            raise self._no_draws()
        if self._is_unit and noise is not None and tuple(noise.reward_range) != (0.0, 1.0):
            raise InputError(
                f"means of {type(self).__name__} lie in [0, 1], but {shown(noise)} has another range; leave out its "
                "`reward_range`."
            )
        self._space, self._group, self._noise = space, group, noise
        self._lipschitz = None if lipschitz is None else as_positive(lipschitz, "lipschitz")

    @property
    def space(self) -> Space:
        """Where points live."""
        return self._space

    @property
    def group(self) -> Group | None:
        """The symmetry of the mean; None for no symmetry."""
        return self._group

    @property
    def lipschitz(self) -> float | None:
        """The Lipschitz constant of the mean in the orbit metric.

        None if there is none or it is unknown.
        """
        return self._lipschitz

    @property
    def feasible(self) -> Feasible | None:
        """The constraint on points, invariant under the group; None if all points are feasible.

        `problem.feasible(points)` returns a margin for each point of a batch, feasible if >= 0.
        `optimum` is then the largest mean of feasible points. Means are defined at all points.
        """
        return None

    @property
    def noise(self) -> Noise | None:
        """The distribution of rewards around the mean; None if the problem draws them itself."""
        return self._noise

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest reward."""
        return (0.0, 1.0) if self._noise is None else self._noise.reward_range

    @property
    @abstractmethod
    def optimizer(self) -> Array:
        """A point with the largest mean, (dim,)."""

    @property
    def optimum(self) -> float:
        """The largest mean."""
        return float(self.mean(self.optimizer))

    @property
    def tolerance(self) -> float:
        """By how much the largest mean may exceed `optimum`.

        Rounding, or more if it was found by search.
        """
        low, high = self.reward_range
        return ROUNDING * (high - low)

    @property
    def bias(self) -> float:
        """The largest bias of rewards: mean reward minus `mean`; 0 unless the problem says why."""
        return 0.0

    def mean(self, points: npt.ArrayLike) -> Array:
        """Return the mean reward of each point.

        Parameters
        ----------
        points : (m, dim) or (dim,) array
            Points of the space.
        """
        batch, single = as_points(points, self._space.dim)
        answer = self._mean(batch)
        refuse_masked(answer, "mean")
        means = np.asarray(answer)
        if means.shape != (len(batch),):
            raise InputError(
                f"the mean of {type(self).__name__} must return {len(batch)} numbers for {len(batch)} points, "
                f"but its answer has shape {means.shape}."
            )
        low, high = self.reward_range
        slack = ROUNDING * (high - low)
        if not (means.min(initial=low) >= low - slack and means.max(initial=high) <= high + slack):
            worst = int(np.argmax(np.nan_to_num(np.maximum(low - means, means - high), nan=np.inf)))
            raise InputError(
                f"the mean of {type(self).__name__} must lie in [{low:g}, {high:g}], but is {means[worst]:g} at "
                f"{shown(batch[worst])}; rescale it, or give its noise another `reward_range`."
            )
        return means[0] if single else means

    def sample(self, points: npt.ArrayLike, rng: RandomLike) -> Array:
        """Draw one reward for each point.

        Parameters
        ----------
        points : (m, dim) or (dim,) array
            Points of the space.
        rng : int, SeedSequence or Generator
            Source of randomness; a generator is advanced.
        """
        batch, single = as_points(points, self._space.dim)
        generator = as_generator(rng)
        if self._noise is None:
            rewards = as_finite(self._draw(batch, generator), "rewards")
            low, high = self.reward_range
            if rewards.shape != (len(batch),) or not ((rewards >= low) & (rewards <= high)).all():
                raise InputError(
                    f"{type(self).__name__} must draw one reward in [{low:g}, {high:g}] for each of {len(batch)} "
                    f"points, but drew {shown(rewards)}."
                )
        else:
            rewards = self._noise.sample(np.asarray(self.mean(batch)), generator)
        return rewards[0] if single else rewards

    @abstractmethod
    def _mean(self, points: Array) -> Array:
        """Return the means of a batch (m, dim)."""

    def _draw(self, points: Array, rng: np.random.Generator) -> Array:
        """Draw a reward for each point of a batch (m, dim); called if the problem has no noise."""
        raise self._no_draws()

    def _no_draws(self) -> InputTypeError:
        return InputTypeError(f"{type(self).__name__} draws no rewards of its own; pass a `noise`.")
