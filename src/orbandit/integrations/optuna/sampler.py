"""OrbitSampler: an agent with the symmetry proposes trials; its only state is Optuna's storage.

A sampler reads the trials of a study, tells the agent those that have ended since, and asks it for
a point. In a new process it reads them all. Randomness comes from the seed and the number of the
trial, so that workers with the same trials never try the same point, and no state has to be saved.
Copies and pickles still keep what was read: an agent that was asked and told in turn need not
choose like one that is told all at once, and a copy of a study should continue like the study.
"""

import copy
import threading
import warnings
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from orbandit._checks import as_count, as_seed, shown
from orbandit.agents.maker import Maker
from orbandit.driver import Symmetry as Trust
from orbandit.driver import check_maker
from orbandit.errors import InputError, InputTypeError, OrbanditWarning
from orbandit.groups import Group
from orbandit.integrations.cube import cube_driver, margin
from orbandit.integrations.optuna.coordinates import is_number, shown_range
from orbandit.integrations.optuna.suggestion import SuggestedSymmetry, suggest_symmetry
from orbandit.integrations.optuna.symmetry import Symmetry, Units
from orbandit.integrations.optuna.view import ParameterRule, View

ATTEMPTS = 200
"""Most draws of a parameter of the first trial until it is feasible."""
STUDIES = 16
"""Number of studies whose trials a sampler caches; those of others are read again."""


@final
class OrbitSampler(BaseSampler):
    """Samples parameters with a symmetry: one trial informs about all its images.

    Parameters
    ----------
    exchangeable : list, optional
        Units that may be exchanged, each a list of parameters (or one name): [["x1", "y1"], ["x2",
        "y2"], ["x3", "y3"]]. For several kinds of units, a list of such lists.
    mirrored : list of str, optional
        Parameters each of which may be reflected about the middle of its range, the geometric one
        if it is logarithmic. If one belongs to a unit, the same parameter of the other units must
        be mirrored too.
    ring : list, optional
        Units, or parameters, in a ring: a cyclic shift by one place gives the same value.
    group : Group, optional
        Any of `ob.groups` that maps the ranges onto themselves, in their own units, logarithms
        where a range is logarithmic. It acts on `parameters`.
    parameters : list of str, optional
        The names that `group` acts on, in the order of its coordinates.
    agent : callable, optional
        The algorithm, called as agent(space, group, horizon=, lipschitz=, reward_range=, seed=),
        such as a class of `ob.agents`. By default `OrbitGP` below 40,000 trials, planned or made,
        then `OrbitTree`; also where trials only succeed or fail.
    n_trials : int, optional
        The number of trials planned, if it is known.
    feasible : callable, optional
        The constraint on parameters tried and recommended. It takes a dict of the searched numbers
        and returns a bool, or a margin that is feasible if >= 0, such as a distance minus its lower
        limit. It must be known, cheap, and invariant under the symmetry.
    search_space : dict of str to distribution, optional
        The numbers that all trials will suggest, with their distributions. Otherwise they are known
        after the first trial, whose parameters are drawn one by one: only the last one that
        `feasible` needs can then be drawn such that the constraint holds, and a warning says if
        none does.
    symmetry : "exact" or "approximate", default "exact"
        Whether the symmetry is exact. If it is approximate, its violation is estimated from the
        trials, and `OrbitGP` recommends the best image, not only the best orbit.
    independent_sampler : BaseSampler, optional
        Samples the parameters outside the joint search space: categorical and conditional ones, and
        all parameters until the first trial is complete. By default `TPESampler`, with a seed for
        each trial.
    seed : int, optional
        Source of all randomness; by default a fresh one. Workers may have the same or different
        seeds.

    Notes
    -----
    Numbers without a symmetry are searched together with the others if every trial has them with
    the same range. The agent ignores a trial that lacks one of the parameters or had it outside the
    present range.

    Values may have any range; they are winsorised at Tukey's outer fences. A pruned trial counts as
    its last reported value, but no better than the median. A failed one counts as worse than the
    trials near it; the more trials failed there, the worse. The running trials of all workers are
    pending (see `Agent.expect`).

    Examples
    --------
    >>> import optuna
    >>> import orbandit as ob
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def objective(trial):
    ...     x = sorted(trial.suggest_float(name, 0, 1) for name in ("a", "b", "c"))
    ...     return abs(x[0] - 0.2) + abs(x[1] - 0.5) + abs(x[2] - 0.8)
    >>> sampler = ob.integrations.optuna.OrbitSampler(exchangeable=["a", "b", "c"], seed=0)
    >>> study = optuna.create_study(sampler=sampler)
    >>> study.optimize(objective, n_trials=60)
    >>> study.best_value < 0.3
    True
    """

    def __init__(
        self,
        *,
        exchangeable: Units | None = None,
        mirrored: Sequence[str] | None = None,
        ring: Units | None = None,
        group: Group | None = None,
        parameters: Sequence[str] | None = None,
        agent: Maker | None = None,
        n_trials: int | None = None,
        feasible: ParameterRule | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
        symmetry: Trust = "exact",
        independent_sampler: BaseSampler | None = None,
        seed: int | None = None,
    ) -> None:
        check_maker(agent, feasible, symmetry)
        if independent_sampler is not None and not isinstance(independent_sampler, BaseSampler):
            raise InputTypeError(
                f"`independent_sampler` must be a sampler of Optuna, but got {shown(independent_sampler)}."
            )
        self._symmetry = Symmetry(exchangeable, mirrored, ring, group, parameters)
        self._trust: Trust = symmetry
        self._feasible, self._space = feasible, _checked(search_space, self._symmetry)
        self._agent = agent
        self._horizon = None if n_trials is None else as_count(n_trials, "n_trials")
        self._independent = independent_sampler
        fresh = np.random.SeedSequence().entropy
        self._seed = as_seed(fresh if seed is None else seed)
        self._views: dict[tuple[str, Any], View] = {}
        self._begin()

    def _begin(self) -> None:
        """Start without a trial under way."""
        self._lock = threading.RLock()
        self._read: dict[tuple[str, int], tuple[View, Sequence[FrozenTrial]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:  # other threads go on while this is written
            kept = self.__dict__ | {"_views": copy.deepcopy(self._views)}
        del kept["_lock"], kept["_read"]
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def reseed_rng(self) -> None:
        """Reseed the independent sampler only.

        Proposals are seeded by the number of their trial.
        """
        if self._independent is not None:
            self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the numbers that all trials have, those with a symmetry first; nothing until a trial is complete."""
        if len(study.directions) > 1:
            raise InputError(
                f"OrbitSampler needs a study with one objective, but {study.study_name!r} has {len(study.directions)}; "
                "combine them into one value, or use a sampler for several, such as NSGAIISampler."
            )
        trials = study.get_trials(deepcopy=False)
        with self._lock:
            view = self._view(study, trials)
            self._read = {**dict(list(self._read.items())[-STUDIES:]), (study.study_name, trial.number): (view, trials)}
            return view.space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the agent's choice for the parameters of the space, given all trials that ended or are running."""
        if not search_space:
            return {}
        with self._lock:
            # a moment ago, for the space
            read = self._read.pop((study.study_name, trial.number), None)
            if read is None:
                now = study.get_trials(deepcopy=False)
                read = (self._view(study, now), now)
            view, trials = read
            params = view.propose(trial, trials, np.random.default_rng([self._seed, trial.number]))
        return {name: params[name] for name in search_space if name in params}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return the independent sampler's choice, drawn again while it violates `feasible`."""
        rule = self._feasible if self._is_unknown(study) and is_number(param_distribution) else None
        numbers = {name: trial.params[name] for name, one in trial.distributions.items() if is_number(one)}
        for attempt in range(ATTEMPTS):
            value = self._drawn(attempt, study, trial, param_name, param_distribution)
            if rule is None or _may_hold(rule, {**numbers, param_name: value}):
                return value
        warnings.warn(
            f"trial {trial.number} violates `feasible` whatever {param_name!r} is, as its parameters were drawn one by "
            "one; pass `search_space`, or enqueue a feasible first trial.",
            OrbanditWarning,
            stacklevel=2,
        )
        return value

    def _is_unknown(self, study: Study) -> bool:
        """Return whether the joint search space is unknown so far."""
        return not any(view.space for (name, _), view in self._views.items() if name == study.study_name)

    def _drawn(
        self, attempt: int, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        sampler = self._independent
        if sampler is None:
            key = [self._seed, trial.number, zlib.crc32(param_name.encode()), *[attempt] * (attempt > 0)]
            (seed,) = np.random.SeedSequence(key).generate_state(1)
            sampler = TPESampler(seed=int(seed))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def recommend(self, study: Study) -> dict[str, Any]:
        """Return the parameters with the best estimated mean, not those of the best trial.

        Parameters
        ----------
        study : Study
            A study with finished trials, of this or of any other sampler.

        Returns
        -------
        dict
            The numbers that all trials have; empty if no trial is complete.
        """
        trials = study.get_trials(deepcopy=False)
        with self._lock:
            return self._view(study, trials).recommend()

    @staticmethod
    def suggest_symmetry(study: Study) -> SuggestedSymmetry:
        """Return the symmetry found in a study's complete trials, by the names of its parameters.

        Parameters
        ----------
        study : Study
            A study with complete trials, at least 10, of any sampler; spread-out trials are the
            most informative.

        Returns
        -------
        SuggestedSymmetry
            With `arguments` for this class and `report`, the evidence, as `ob.find_symmetry` gives
            it.

        Examples
        --------
        >>> import optuna
        >>> import orbandit as ob
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> def objective(trial):
        ...     a, b, c = (trial.suggest_float(name, 0, 1) for name in "abc")
        ...     return (a - 0.3) ** 2 + (b - 0.3) ** 2 + a * b + c
        >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        >>> study.optimize(objective, n_trials=40)
        >>> ob.integrations.optuna.OrbitSampler.suggest_symmetry(study).arguments
        {'exchangeable': ['a', 'b']}
        """
        return suggest_symmetry(study)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Pass it on to the independent sampler."""
        if self._independent is not None:
            self._independent.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Refuse names that no trial has; pass it on to the independent sampler."""
        if self._independent is not None:
            self._independent.after_trial(study, trial, state, values)
        if state != TrialState.COMPLETE:
            return
        missing = [name for name in self._symmetry.names if name not in trial.distributions]
        if missing:
            trials = study.get_trials(deepcopy=False)
            for name in missing:
                if not any(name in other.distributions for other in trials):
                    raise InputError(
                        f"the symmetry names {name!r}, which no trial has suggested; "
                        f"this one has {', '.join(map(repr, trial.distributions)) or 'no parameters'}."
                    )
        else:
            self._symmetry.check(trial.distributions)

    def _view(self, study: Study, trials: Sequence[FrozenTrial]) -> View:
        """Return what was read of a study, brought up to date."""
        # Hyperband shows each bracket by itself
        key = (study.study_name, getattr(study, "_bracket_id", None))
        view = self._views.pop(key, None)
        if view is None or not view.fits(trials):
            sign = 1.0 if study.direction == StudyDirection.MAXIMIZE else -1.0
            (seed,) = np.random.SeedSequence(self._seed).generate_state(1, dtype=np.uint64)
            make = partial(
                cube_driver,
                maker=self._agent,
                horizon=self._horizon,
                seed=int(seed),
                sign=sign,
                symmetry=self._trust,
            )
            view = View(self._symmetry, make, self._feasible, self._space)
        view.update(trials)
        self._views = {**dict(list(self._views.items())[1 - STUDIES :]), key: view}
        return view


def _checked(space: Mapping[str, BaseDistribution] | None, symmetry: Symmetry) -> dict[str, BaseDistribution] | None:
    """Return a search space that has the parameters of a symmetry, and numbers only."""
    if space is None:
        return None
    if not isinstance(space, Mapping) or not all(isinstance(one, BaseDistribution) for one in space.values()):
        raise InputTypeError(f"`search_space` must be a dict of Optuna's distributions, but got {shown(space)}.")
    for name in symmetry.names:
        if name not in space:
            raise InputError(f"`search_space` lacks {name!r}, which the symmetry names.", field="search_space")
    for name, distribution in space.items():
        if not is_number(distribution):
            raise InputError(
                f"`search_space` must have numbers, but {name!r} is {shown_range(distribution)}; leave it out, and the "
                "independent sampler samples it.",
                field="search_space",
            )
    symmetry.check(space)
    return dict(space)


def _may_hold(feasible: ParameterRule, params: dict[str, Any]) -> bool:
    """Return whether parameters are feasible, or not all known yet.

    The constraint then lacks a name.
    """
    try:
        return margin(feasible, params) >= 0
    except InputError as error:
        if isinstance(error.__cause__, KeyError):
            return True
        raise
