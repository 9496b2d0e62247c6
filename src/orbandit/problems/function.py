"""Function: a problem from a mean of the user's own."""

from collections.abc import Callable
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_finite, as_point, as_points, frozen, shown
from orbandit.errors import InputError, InputTypeError
from orbandit.groups import Group
from orbandit.problems.base import Feasible, Problem
from orbandit.problems.noise import BERNOULLI, Noise
from orbandit.spaces import Space
from orbandit.spaces.feasible_set import FeasibleSet


@final
class Function(Problem):
    """The problem whose mean is a given function; `ob.problems.check` tests its claims.

    Parameters
    ----------
    function : callable
        Takes points (m, dim) and returns their means (m,).
    space : Space
        Where points live.
    group : Group or None
        The symmetry of the mean, which must map the space onto itself; None for no symmetry.
    optimizer : (dim,) array
        A point with the largest mean.
    lipschitz : float or None
        The Lipschitz constant of the mean; None if there is none, or it is unknown.
    noise : Noise
        The distribution of rewards around their mean; its `reward_range` contains all means.
    feasible : callable, optional
        The constraint: takes (m, dim) points and returns (m,) bools, or margins that are feasible
        if >= 0. It must be invariant under the group. Agents that take it play feasible points
        only.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> def mean(x):
    ...     return 0.9 - 0.5 * np.linalg.norm(np.sort(x, axis=1) - [0.2, 0.7], axis=1)
    >>> square, swap = ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2)
    >>> problem = ob.problems.Function(mean, square, swap, optimizer=[0.7, 0.2], lipschitz=0.5)
    >>> problem.optimum, bool(ob.problems.check(problem))
    (0.9, True)
    """

    def __init__(
        self,
        function: Callable[[Array], npt.ArrayLike],
        space: Space,
        group: Group | None = None,
        *,
        optimizer: npt.ArrayLike,
        lipschitz: float | None,
        noise: Noise = BERNOULLI,
        feasible: Callable[[Array], npt.ArrayLike] | None = None,
    ) -> None:
        if not callable(function):
            raise InputTypeError(
                f"`function` must take points (m, dim) and return means (m,), but got {shown(function)}.",
                field="function",
                value=function,
            )
        super().__init__(space, group, lipschitz, noise)
        self._function = function
        self._optimizer = frozen(as_point(optimizer, space.dim, "optimizer"))
        if not space.contains(self._optimizer, tol=space.tolerance):
            raise InputError(
                f"`optimizer` must lie in {shown(space)}, but got {shown(self._optimizer)}.",
                field="optimizer",
                value=optimizer,
            )
        # refuses a function of single points
        self.mean(np.array([self._optimizer, self._optimizer]))
        self._region = FeasibleSet(space, feasible)
        if not self._region.holds(self._optimizer[None])[0]:
            raise InputError(
                f"`optimizer` must be feasible, but `feasible` rejects {shown(self._optimizer)}.",
                field="optimizer",
                value=optimizer,
            )

    def __repr__(self) -> str:
        name: Any = getattr(self._function, "__name__", repr(self._function))
        return f"Function({name}, {self.space!r}, {self.group!r})"

    @property
    def optimizer(self) -> Array:
        """The point given."""
        return self._optimizer

    @property
    def feasible(self) -> Feasible | None:
        """The margins of points, if there is a constraint; 1 and -1 for one that returns bools."""
        return None if self._region.is_whole else self._margins

    def _margins(self, points: npt.ArrayLike) -> Array:
        batch, single = as_points(points, self.space.dim)
        margins = self._region.margins(batch)
        return np.asarray(margins[0] if single else margins)

    def _mean(self, points: Array) -> Array:
        return as_finite(self._function(points.copy()), "the mean")
