"""View: the trials of one study that a sampler has read, updated with those that ended since.

The joint search space has the parameters with a symmetry, as the last trial that has them all
suggested them, and all other numbers that every such trial has with the same range. Each trial is
read once when it has ended.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeAlias, final

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from orbandit._checks import Array
from orbandit.driver import Driver, Outcome
from orbandit.groups.check import Names
from orbandit.integrations.cube import CubeRule, Shown, proposal
from orbandit.integrations.optuna.coordinates import Coordinates, Number, is_number
from orbandit.integrations.optuna.symmetry import Symmetry

ParameterRule: TypeAlias = Callable[[dict[str, Any]], Any]
"""Takes parameters by name and returns a bool, or a margin that is feasible if >= 0."""
LATE = timedelta(seconds=10)
"""A running trial without parameters that is older than this counts as abandoned."""


@final
class View:
    """The trials of a study as the agent knows them.

    Parameters
    ----------
    symmetry : Symmetry
        The symmetry of the study's parameters.
    make : callable
        Called with the dimension, the group, a constraint on points, if there is one, and the names
        of coordinates and points, to make a driver.
    feasible : callable, optional
        The constraint on parameters by name.
    space : dict, optional
        The distributions of parameters, if they are known before the first trial.
    """

    def __init__(
        self,
        symmetry: Symmetry,
        make: Callable[..., Driver],
        feasible: ParameterRule | None = None,
        space: Mapping[str, BaseDistribution] | None = None,
    ) -> None:
        self._symmetry, self._make, self._feasible = symmetry, make, feasible
        self._next = 0  # trials before this place were read, or are in `_open`
        self._open: list[int] = []
        self._ended: list[FrozenTrial] = []
        self._named: dict[str, BaseDistribution] = {}
        self._plain: dict[str, Number] | None = None
        self._driver: Driver | None = None
        # proposals of this process that have not ended
        self._flying: dict[int, dict[str, Any]] = {}
        self._coordinates = Coordinates({})
        if space is not None:
            self._take(space)
            self._restart([])

    @property
    def space(self) -> dict[str, BaseDistribution]:
        """The distributions of the joint search space; empty until they are known."""
        return dict(self._coordinates.distributions)

    def fits(self, trials: Sequence[FrozenTrial]) -> bool:
        """Return whether these are trials of the same study."""
        if not self._ended:
            return True
        first = self._ended[0]
        same = [trial for trial in trials[: first.number + 1] if trial.number == first.number]
        return bool(same) and same[0].datetime_start == first.datetime_start and same[0].params == first.params

    def update(self, trials: Sequence[FrozenTrial]) -> None:
        """Read the trials that have ended since the last time; `trials` are all of the study, in their order."""
        known = len(trials)  # may be fewer than another thread has shown
        places = [*(place for place in self._open if place < known), *range(self._next, known)]
        later = [place for place in self._open if place >= known]
        still = [place for place in places if not trials[place].state.is_finished()]
        fresh = [trials[place] for place in places if trials[place].state.is_finished()]
        before = (self._named, self._plain)
        try:
            for trial in fresh:
                self._widen(trial)
            if (self._named, self._plain) != before or (self._driver is None and self._plain is not None):
                self._restart([*self._ended, *fresh])
            elif self._driver is not None:
                self._driver.learn(self._outcomes(fresh))
        except BaseException:
            self._named, self._plain = before
            raise
        self._open, self._next = still + later, max(self._next, known)
        self._ended += fresh
        for trial in fresh:
            self._flying.pop(trial.number, None)

    def propose(self, trial: FrozenTrial, trials: Sequence[FrozenTrial], rng: np.random.Generator) -> dict[str, Any]:
        """Return parameters for a trial, all others considered."""
        if self._driver is None:
            return {}
        pending: dict[int, Array] = {}
        unseen = 0
        for other in (trials[place] for place in self._open if place < len(trials)):
            if other.number == trial.number or other.state != TrialState.RUNNING:
                continue
            point = self._coordinates.point({**other.system_attrs.get("fixed_params", {}), **other.params})
            if point is not None:
                pending[other.number] = point
            elif other.number not in self._flying and other.number < trial.number and _is_recent(other, trial):
                unseen += 1
        for number, params in self._flying.items():  # proposed, and not suggested yet
            if number not in pending and number != trial.number:
                point = self._coordinates.point(params)
                if point is not None:
                    pending[number] = point
        params = self._coordinates.params(proposal(self._driver, list(pending.values()), unseen, rng))
        self._flying[trial.number] = params
        return params

    def recommend(self) -> dict[str, Any]:
        """Return the parameters with the best estimated mean over all trials."""
        return {} if self._driver is None else self._coordinates.params(self._driver.recommend())

    def _widen(self, trial: FrozenTrial) -> None:
        """Take a trial into account for the space that is searched."""
        if trial.state not in (TrialState.COMPLETE, TrialState.PRUNED):
            return
        self._take(trial.distributions)

    def _take(self, found: Mapping[str, BaseDistribution]) -> None:
        """Search the parameters that these have, and all earlier ones had."""
        names = self._symmetry.names
        if not all(name in found for name in names):
            return
        self._named = {name: found[name] for name in names}
        others: Mapping[str, BaseDistribution] = found if self._plain is None else self._plain
        self._plain = {
            name: distribution
            for name, distribution in sorted(others.items())
            if name not in names and is_number(distribution) and found.get(name) == distribution
        }

    def _restart(self, trials: Sequence[FrozenTrial]) -> None:
        """Search another space with a new driver, which is told all trials in it."""
        plain = self._plain or {}
        self._symmetry.check(self._named)
        named = {name: d for name, d in self._named.items() if is_number(d)}
        self._coordinates, self._driver, self._flying = Coordinates({**named, **plain}), None, {}
        if self.space:
            values = self._coordinates.params
            rule = None if self._feasible is None else CubeRule(self._feasible, values)
            names = Names(list(self.space), Shown(values))
            driver = self._make(len(self.space), self._symmetry.group(len(plain)), rule, names=names)
            driver.learn(self._outcomes(trials))
            self._driver = driver

    def _outcomes(self, trials: Sequence[FrozenTrial]) -> list[Outcome]:
        """Return the outcomes of trials that have all parameters within their ranges."""
        outcomes = []
        for trial in trials:
            point = self._coordinates.point(trial.params)
            if point is not None:
                is_pruned = trial.state == TrialState.PRUNED
                value = None if trial.state == TrialState.FAIL else _last(trial) if is_pruned else trial.value
                outcomes.append(Outcome(point, value, is_pruned))
        return outcomes


def _last(trial: FrozenTrial) -> float | None:
    """Return the last intermediate value, if there is one."""
    return None if trial.last_step is None else trial.intermediate_values[trial.last_step]


def _is_recent(other: FrozenTrial, trial: FrozenTrial) -> bool:
    """Return whether another trial started so recently that its parameters are still to come."""
    if other.datetime_start is None or trial.datetime_start is None:
        return False
    return trial.datetime_start - other.datetime_start < LATE
