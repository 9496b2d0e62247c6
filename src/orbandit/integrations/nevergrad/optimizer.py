"""OrbitOptimizer: an agent with the symmetry behind Nevergrad's ask and tell.

Losses may have any range, outliers and NaN included; candidates that were asked for and not told
are pending (see `driver`).
"""

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np
from nevergrad.optimization import base

from orbandit._checks import Array, shown
from orbandit.agents import OrbitGP, OrbitTree
from orbandit.agents.maker import Maker
from orbandit.driver import Driver, Outcome, Symmetry, check_maker
from orbandit.errors import InputError, InputTypeError
from orbandit.groups import Group
from orbandit.groups.check import Names
from orbandit.integrations.cube import CubeRule, Shown, about_middle, cube_driver, proposal
from orbandit.integrations.nevergrad.coordinates import Coordinates

TOO_LARGE = 5e20
"""The value that Nevergrad substitutes for infinite and NaN losses."""


@final
class OrbitOptimizer(base.ConfiguredOptimizer):  # type: ignore[misc]
    """Makes optimisers of parametrizations of scalars and arrays that have a symmetry.

    Parameters
    ----------
    group : Group, optional
        The symmetry: any of `ob.groups` that maps the ranges of all values, in Nevergrad's order,
        onto themselves: in their own units, logarithms for `Log`; unbounded values are relative to
        their initial value. By default there is none.
    agent : callable, optional
        The algorithm, called as agent(space, group, horizon=, lipschitz=, reward_range=, seed=),
        such as a class of `ob.agents`. By default `OrbitGP` below 40,000 tells, planned or made,
        then `OrbitTree`; also where losses have two values only.
    feasible : callable, optional
        The constraint on values asked for and recommended. It takes the `value` of a candidate, and
        returns a bool, or a float that is feasible if >= 0. It must be known, cheap, and invariant
        under the group. Candidates told may violate it.
    symmetry : "exact" or "approximate", default "exact"
        Whether the symmetry is exact. If it is approximate, its violation is estimated from the
        losses, and `OrbitGP` recommends the best image, not only the best orbit.

    Examples
    --------
    >>> import nevergrad as ng
    >>> import orbandit as ob
    >>> machines = ng.p.Array(lower=0.0, upper=1.0, shape=(3,))
    >>> machines.random_state.seed(0)
    >>> make = ob.integrations.nevergrad.OrbitOptimizer(group=ob.groups.Symmetric(3))
    >>> best = make(machines, budget=60).minimize(lambda x: sum(abs(np.sort(x) - [0.2, 0.5, 0.8])))
    >>> bool(sum(abs(np.sort(best.value) - [0.2, 0.5, 0.8])) < 0.2)
    True
    """

    def __init__(
        self,
        *,
        group: Group | None = None,
        agent: Maker | None = None,
        feasible: Callable[[Any], Any] | None = None,
        symmetry: Symmetry = "exact",
    ) -> None:
        if group is not None and not isinstance(group, Group):
            raise InputTypeError(f"`group` must be one of ob.groups, but got {shown(group)}.")
        check_maker(agent, feasible, symmetry)
        self.group, self.agent, self.feasible, self.symmetry = group, agent, feasible, symmetry
        given = {"group": group, "agent": agent, "feasible": feasible, "symmetry": symmetry}
        super().__init__(_Optimizer, given, as_config=True)


class _Optimizer(base.Optimizer):  # type: ignore[misc]
    """Proposes candidates; made by an OrbitOptimizer."""

    def __init__(
        self, parametrization: Any, budget: int | None = None, num_workers: int = 1, *, config: OrbitOptimizer
    ) -> None:
        super().__init__(parametrization, budget=budget, num_workers=num_workers)
        self._cube = Coordinates(self.parametrization)
        group = config.group
        if group is not None:
            box = self._cube.box
            if group.dim != self._cube.dim:
                raise InputError(
                    f"`group` must act on all {self._cube.dim} values, but {shown(group)} acts on {group.dim}; "
                    "ob.groups.Product with a Trivial fixes some."
                )
            if not group.preserves(box):
                raise InputError(
                    f"{shown(group)} does not map the ranges {shown(box)} onto themselves; give values that it "
                    "permutes equal bounds, or use it about their middle, "
                    f"`group.centered({shown(np.mean(box.bounds, axis=0))})`."
                )
            group = about_middle(group)
        self._unit_group, self._maker = group, config.agent
        self._feasible, self._trust = config.feasible, config.symmetry
        self._driver: Driver | None = None
        self._pending: dict[str, Array] = {}

    def _internal_ask_candidate(self) -> Any:
        driver = self._ready()
        rng = np.random.default_rng(self._rng.randint(2**32, size=4, dtype=np.uint32))
        candidate = self._cube.candidate(proposal(driver, list(self._pending.values()), 0, rng))
        # as it will be told: whole numbers are rounded
        self._pending[candidate.uid] = self._cube.point(candidate)
        return candidate

    def _internal_tell_candidate(self, candidate: Any, loss: float) -> None:
        self._pending.pop(candidate.uid, None)
        self._internal_tell_not_asked(candidate, loss)

    def _internal_tell_not_asked(self, candidate: Any, loss: float) -> None:
        if self.num_objectives > 1:
            raise InputError(f"orbandit's optimisers take one loss, but got {self.num_objectives}; combine them.")
        value = None if math.isnan(loss) or loss >= TOO_LARGE else float(loss)
        self._ready().learn([Outcome(self._cube.point(candidate), value)])

    def _internal_provide_recommendation(self) -> Array | None:
        if self._driver is None or not self.num_tell:
            return None
        best = self._cube.candidate(self._driver.recommend())
        return np.asarray(best.get_standardized_data(reference=self.parametrization))

    def _ready(self) -> Driver:
        """Return the driver, which is seeded by the parametrization's random state when it is first needed."""
        if self._driver is None:
            seed = int(self._rng.randint(2**31))
            self._driver = cube_driver(
                self._cube.dim,
                self._unit_group,
                None if self._feasible is None else CubeRule(self._feasible, self._cube.values),
                maker=self._maker,
                horizon=self.budget,
                seed=seed,
                sign=-1.0,
                symmetry=self._trust,
                names=Names(point=Shown(self._cube.values)),
            )
        return self._driver


OrbitOptimizer().set_name("Orbit", register=True)
OrbitOptimizer(agent=OrbitGP).set_name("OrbitGP", register=True)
OrbitOptimizer(agent=OrbitTree).set_name("OrbitTree", register=True)
