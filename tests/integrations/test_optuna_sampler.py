"""OrbitSampler in studies of every kind: what it proposes, and what it learns from."""

import math
import subprocess
import sys
from typing import ClassVar

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

import orbandit as ob
from optuna_cases import NAMES, PEAK, TREE, loss, points, study_of, suggested
from orbandit.integrations.optuna import OrbitSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)


def test_the_extra_is_named_where_optuna_is_missing():
    code = "import sys; sys.modules['optuna'] = None; import orbandit as ob\ntry: ob.integrations.optuna\n"
    code += "except ob.errors.MissingExtraError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "the sampler needs Optuna: install orbandit with the extra `optuna`."


def test_optuna_is_imported_on_first_use():
    code = "import orbandit as ob, sys; ob.integrations; print('optuna' in sys.modules); ob.integrations.optuna"
    code += "; print('optuna' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    with pytest.raises(AttributeError, match="no attribute 'optunna'"):
        _ = ob.integrations.optunna


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_it_finds_the_optimum_in_both_directions(direction):
    sign = 1.0 if direction == "minimize" else -1.0
    study = study_of(direction=direction)
    study.optimize(lambda trial: sign * 1e4 * loss(trial), n_trials=150)
    last = [sign * trial.value / 1e4 for trial in study.trials[-30:]]
    assert sign * study.best_value / 1e4 < 0.2
    assert np.mean(last) < 0.5  # at random it is 0.62 on average


def test_it_searches_the_orbits_only():
    study = study_of()
    study.optimize(loss, n_trials=60)
    is_sorted = (np.diff(points(study)[1:], axis=1) > -0.05).all(axis=1)
    # one order of the six, but for cells that a wall cuts; at random 0.2
    assert is_sorted.mean() > 0.6


def test_a_wrong_symmetry_is_told_in_the_names_of_parameters():
    best = {"rate": 12.0, "size": 17.0}

    def objective(trial):
        return sum((trial.suggest_float(name, 10.0, 20.0) - value) ** 2 for name, value in best.items())

    study = optuna.create_study(sampler=OrbitSampler(exchangeable=list(best), n_trials=40, seed=0))
    with pytest.warns(ob.errors.OrbanditWarning, match="element swaps rate and size, the mean at {'rate': 1") as caught:
        study.optimize(objective, n_trials=40)
    assert len(caught) == 1


def test_no_point_is_proposed_twice_and_seeds_repeat():
    studies = [study_of(OrbitSampler(exchangeable=NAMES, agent=TREE, seed=seed)) for seed in (3, 3, 4)]
    for study in studies:
        study.optimize(loss, n_trials=40)
    one, same, other = map(points, studies)
    assert len(np.unique(one, axis=0)) == 40
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_the_agent_is_told_the_values_really_used(recorder):
    sampler = OrbitSampler(exchangeable=["n", "m"], agent=recorder, n_trials=99, seed=0)
    study = optuna.create_study(sampler=sampler)

    def objective(trial):
        n, m = (trial.suggest_int(name, 0, 10, step=5) for name in ("n", "m"))
        rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
        tilt = trial.suggest_float("tilt", 0.0, 1.0, step=0.25)
        return n + m + rate + tilt

    study.optimize(objective, n_trials=20)
    study.ask().suggest_int("n", 0, 10, step=5)
    agent = recorder.made[-1]
    assert agent.horizon == 99
    assert agent.lipschitz == pytest.approx(2 / math.sqrt(4) * np.diff(agent.reward_range)[0])
    assert agent.group.order == 2
    assert agent.space.dim == 4  # two with the symmetry, then the others by name
    told = {tuple(point.tolist()) for point, _ in agent.told}
    used = {
        (
            (trial.params["n"] / 5 + 0.5) / 3,
            (trial.params["m"] / 5 + 0.5) / 3,
            1 + math.log10(trial.params["rate"]) / 4,
            (trial.params["tilt"] / 0.25 + 0.5) / 5,
        )
        for trial in study.trials[:20]
    }
    assert np.allclose(sorted(told), sorted(used))


def test_categorical_and_conditional_parameters_go_to_the_independent_sampler(recorder):
    class Counting(optuna.samplers.RandomSampler):
        names: ClassVar[list] = []

        def sample_independent(self, study, trial, param_name, param_distribution):
            self.names.append((trial.number, param_name))
            return super().sample_independent(study, trial, param_name, param_distribution)

    independent = Counting(seed=0)
    sampler = OrbitSampler(exchangeable=NAMES, agent=recorder, independent_sampler=independent, seed=0)
    study = study_of(sampler)

    def objective(trial):
        kind = trial.suggest_categorical("kind", ["p", "q"])
        extra = trial.suggest_float("extra", 0, 1) if kind == "p" else 0.0
        return loss(trial) + extra

    study.optimize(objective, n_trials=20)
    kinds = [trial.params["kind"] for trial in study.trials]
    assert {"p", "q"} == set(kinds)
    late = {name for number, name in independent.names if number > 1 + kinds.index("q") and number > 0}
    assert late == {"kind", "extra"}
    assert {name for number, name in independent.names if number == 0} >= {"a", "b", "c", "kind"}
    assert recorder.made[-1].space.dim == 3


def test_by_default_categories_are_learnt():
    study = study_of()
    study.optimize(
        lambda t: (
            loss(t) + {"bad": 5.0, "good": 0.0, "worse": 9.0}[t.suggest_categorical("k", ["bad", "good", "worse"])]
        ),
        n_trials=60,
    )
    assert [trial.params["k"] for trial in study.trials[-30:]].count("good") > 15


def test_dynamic_ranges_leave_the_common_space():
    study = study_of()

    def objective(trial):
        return loss(trial) + trial.suggest_float("moving", 0, 1 + trial.number)

    study.optimize(objective, n_trials=8)
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert list(space) == NAMES
    assert max(trial.params["moving"] for trial in study.trials) > 1


def test_ranges_with_a_symmetry_may_change_for_all(recorder):
    study = study_of(OrbitSampler(exchangeable=NAMES, agent=recorder, seed=0))

    def objective(trial):
        high = 1.0 if trial.number < 10 else 0.9
        return sum(trial.suggest_float(name, 0, high) for name in NAMES)

    study.optimize(objective, n_trials=20)
    study.ask().suggest_float("a", 0, 0.9)
    inside = [trial for trial in study.trials[:20] if max(trial.params.values()) <= 0.9]
    assert 20 > len(recorder.made[-1].told) == len(inside) > 10  # old trials count where they fit


def test_failed_points_are_not_proposed_for_ever():
    study = study_of()

    def objective(trial):
        x = suggested(trial)
        if np.abs(np.sort(x) - PEAK).max() < 0.15:
            raise RuntimeError("the simulator crashed")
        return float(np.abs(np.sort(x) - PEAK).sum())

    study.optimize(objective, n_trials=120, catch=RuntimeError)
    failed = [trial.state == TrialState.FAIL for trial in study.trials]
    assert any(failed)
    assert sum(failed[-60:]) < 30


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e9, -1e9])
def test_one_wild_value_changes_little(value):
    study = study_of()
    study.optimize(lambda trial: value if trial.number in (5, 40) else loss(trial), n_trials=120)
    good = [trial.value for trial in study.trials[-40:]]
    assert np.mean(good) < 0.5


def test_what_trials_count_for(recorder):
    sampler = OrbitSampler(exchangeable=NAMES, agent=recorder, seed=0)
    study = study_of(sampler, direction="maximize")
    space = {name: FloatDistribution(0, 1) for name in NAMES}

    def add(x, **what):
        study.add_trial(create_trial(params=dict.fromkeys(NAMES, x), distributions=space, **what))

    for x in np.linspace(0.05, 0.45, 9):
        add(x, value=10 * x)
    add(0.5, state=TrialState.PRUNED, intermediate_values={0: 1.0, 3: 9.0})
    add(0.6, state=TrialState.PRUNED, intermediate_values={0: 9.0, 3: 1.0})
    add(0.7, state=TrialState.PRUNED)
    add(0.72, state=TrialState.FAIL)
    add(0.2, state=TrialState.FAIL)
    for x in (0.95, 0.96, 0.97):
        add(x, state=TrialState.FAIL)
    study.add_trial(create_trial(value=3.0, params={"a": 0.9}, distributions={"a": space["a"]}))
    trial = study.ask()
    trial.suggest_float("a", 0, 1)
    told = {}
    for point, reward in recorder.made[-1].told:
        told.setdefault(round(float(point[0]), 6), []).append(reward)
    assert [told[round(x, 6)][0] for x in np.linspace(0.05, 0.45, 9)] == pytest.approx(np.linspace(0.5, 4.5, 9))
    assert told[0.5] == [2.5]  # the median
    assert told[0.6] == [1.0]
    # one of four failures, one of two
    assert 0.5 < told[0.95][0] < told[0.7][0] < told[0.72][0] + 0.2 < 2.5
    assert told[0.2][1] == pytest.approx(2.0, abs=0.3)  # a crash among trials that went well
    assert sum(map(len, told.values())) == 17


def test_enqueued_trials_are_tried_and_learnt(recorder):
    sampler = OrbitSampler(exchangeable=NAMES, agent=recorder, seed=0)
    study = study_of(sampler)
    study.optimize(loss, n_trials=16)
    study.enqueue_trial({"a": 0.8, "b": 0.2, "c": 0.5})
    study.enqueue_trial({"a": 0.33})
    study.optimize(loss, n_trials=3)
    assert study.best_value == pytest.approx(0.0)
    assert study.trials[17].params["a"] == 0.33
    study.ask().suggest_float("a", 0, 1)
    told = [point.tolist() for point, _ in recorder.made[-1].told]
    assert [0.8, 0.2, 0.5] in told
    assert study.trials[17].params["b"] in [point[1] for point in told]
    assert len(told) == 19


def test_a_study_with_trials_warms_the_agent_up(recorder):
    old = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    old.optimize(loss, n_trials=30)
    old.sampler = OrbitSampler(exchangeable=NAMES, agent=recorder, seed=0)
    old.optimize(loss, n_trials=1)
    assert len(recorder.made) == 1
    assert len(recorder.made[0].told) == 30


def test_trials_are_told_once_and_a_new_sampler_goes_on_alike(recorder):
    study = study_of(OrbitSampler(exchangeable=NAMES, agent=recorder, seed=0))
    study.optimize(loss, n_trials=200)
    work = sum(len(agent.told) for agent in recorder.made)
    # restarts included, since the scale is set when there are a tenth more or twice as many
    assert work < 200 * 12
    study.ask().suggest_float("a", 0, 1)
    used = recorder.made[-1]
    fresh = OrbitSampler(exchangeable=NAMES, agent=recorder, seed=0)
    fresh.sample_relative(study, study.trials[-1], dict.fromkeys(NAMES, FloatDistribution(0, 1)))
    again = next(agent for agent in reversed(recorder.made) if agent is not used and len(agent.told) >= 200)
    assert all(np.array_equal(p, q) and r == s for (p, r), (q, s) in zip(used.told, again.told, strict=False))
