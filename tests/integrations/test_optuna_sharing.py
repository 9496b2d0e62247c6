"""OrbitSampler with running trials, threads, copies and other parts of Optuna, and what it refuses."""

import copy
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

import orbandit as ob
from optuna_cases import NAMES, PEAK, TREE, loss, points, study_of, suggested
from orbandit.driver import MIN_MEASURED, Outcome
from orbandit.errors import InputError, InputTypeError
from orbandit.integrations import cube
from orbandit.integrations.optuna import OrbitSampler, view

optuna.logging.set_verbosity(optuna.logging.WARNING)


def test_running_trials_are_not_proposed_again():
    study = study_of()
    study.optimize(loss, n_trials=40)
    trials = [study.ask() for _ in range(6)]
    asked = np.sort([suggested(trial) for trial in trials], axis=1)
    gaps = np.abs(asked[:, None] - asked).max(axis=2) + np.eye(6)
    assert gaps.min() > 1e-3  # far beyond the tiny move of each


def test_workers_that_look_at_once_propose_different_points(monkeypatch):
    monkeypatch.setattr(view, "LATE", timedelta(days=1))  # however long it takes to ask three times
    storage = optuna.storages.InMemoryStorage()
    study = study_of(storage=storage)
    study.optimize(loss, n_trials=40)
    trials = [study.ask() for _ in range(3)]  # all started, none with parameters yet
    proposals = []
    for trial in trials:
        sampler = OrbitSampler(exchangeable=NAMES, agent=TREE, seed=0)  # another process each
        frozen = study.trials[trial.number]
        space = sampler.infer_relative_search_space(study, frozen)
        proposals.append(list(sampler.sample_relative(study, frozen, space).values()))
    asked = np.sort(proposals, axis=1)
    gaps = np.abs(asked[:, None] - asked).max(axis=2) + np.eye(3)
    assert gaps.min() > 1e-3


def test_threads_share_a_sampler():
    study = study_of()
    barrier = threading.Barrier(4, timeout=600)

    def objective(trial):
        value = loss(trial)
        if trial.number < 4:
            barrier.wait()
        return value

    study.optimize(objective, n_trials=60, n_jobs=4)
    assert len(study.trials) == 60
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert len(np.unique(points(study), axis=0)) == 60


@pytest.mark.parametrize("agent", [None, TREE, ob.agents.Zooming])
@pytest.mark.parametrize("many", [1, 20])
def test_a_copy_of_a_study_goes_on_as_the_study_does(agent, many):
    study = study_of(OrbitSampler(exchangeable=NAMES, agent=agent, seed=5))
    study.optimize(loss, n_trials=many)
    copied, pickled = copy.deepcopy(study), copy.deepcopy(study)
    pickled.sampler = pickle.loads(pickle.dumps(study.sampler))
    for each in (study, copied, pickled):
        each.optimize(loss, n_trials=6)
        assert len(each.trials) == many + 6
    np.testing.assert_array_equal(points(copied), points(study))
    np.testing.assert_array_equal(points(pickled), points(study))


def test_a_copy_of_a_study_leaves_the_study_alone():
    study, alone = study_of(), study_of()
    for each in (study, alone):
        each.optimize(loss, n_trials=15)
    copied = copy.deepcopy(study)
    copied.optimize(lambda trial: -loss(trial), n_trials=10)
    for each in (study, alone):
        each.optimize(loss, n_trials=5)
    np.testing.assert_array_equal(points(study), points(alone))


def test_a_sampler_is_copied_while_others_use_it():
    study = study_of()
    study.optimize(loss, n_trials=5)
    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(study.optimize, loss, n_trials=40)
        while not going.done():
            assert pickle.loads(pickle.dumps(study.sampler))._seed == copy.deepcopy(study.sampler)._seed
        going.result()
    assert len(study.trials) == 45


def test_one_sampler_may_serve_several_studies(recorder):
    sampler = OrbitSampler(exchangeable=NAMES, agent=recorder, seed=0)
    studies = [
        study_of(sampler, study_name="one"),
        study_of(sampler, study_name="two"),
        study_of(sampler, study_name="one"),
    ]
    for _ in range(MIN_MEASURED + 1):
        for study in studies:
            study.optimize(loss, n_trials=1)
    for study in studies:
        used = points(study)
        recorder.made.clear()
        study.sampler._views.clear()
        study.ask().suggest_float("a", 0, 1)
        np.testing.assert_array_equal([point for point, _ in recorder.made[-1].told], used)


def test_pruners_and_wrappers_work():
    sampler = OrbitSampler(exchangeable=NAMES, agent=TREE, seed=0)
    study = study_of(sampler, pruner=optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9))

    def objective(trial):
        value = loss(trial)
        for step in range(9):
            trial.report(value + 1 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study.optimize(objective, n_trials=40)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE, TrialState.PRUNED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = study_of(optuna.samplers.PartialFixedSampler({"b": 0.25}, sampler))
    study.optimize(loss, n_trials=10)
    assert {trial.params["b"] for trial in study.trials} == {0.25}


def test_studies_with_several_objectives_are_refused():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=OrbitSampler(exchangeable=NAMES))
    with pytest.raises(InputError, match=r"one objective, but .* has 2; combine them"):
        study.optimize(lambda trial: (loss(trial), 1.0), n_trials=1)


def test_names_that_no_trial_has_are_refused_after_the_first_trial():
    study = study_of(OrbitSampler(exchangeable=["a", "b", "z"]))
    with pytest.raises(InputError, match="names 'z', which no trial has suggested; this one has 'a', 'b', 'c'"):
        study.optimize(loss, n_trials=5)
    assert len(study.trials) == 1
    assert study.trials[0].value is not None  # what was measured is kept


def test_ranges_that_do_not_fit_are_refused_after_the_first_trial():
    def objective(trial):
        return trial.suggest_float("a", 0, 1) + trial.suggest_float("b", 0, 2)

    study = study_of(OrbitSampler(exchangeable=["a", "b"]))
    with pytest.raises(InputError, match=r"'a' has floats in \[0, 1\] and 'b' has floats in \[0, 2\]"):
        study.optimize(objective, n_trials=5)
    again = study_of(OrbitSampler(exchangeable=["a", "b"]))
    again.add_trials(study.trials)  # and before the next, where such trials are there
    with pytest.raises(InputError, match=r"'a' has floats in \[0, 1\] and 'b' has floats in \[0, 2\]"):
        again.optimize(objective, n_trials=5)


def test_a_sampler_without_symmetry_searches_all_numbers():
    study = optuna.create_study(sampler=OrbitSampler(agent=TREE, seed=0))
    study.optimize(loss, n_trials=30)
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert list(space) == NAMES


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"agent": "OrbitTree"}, InputTypeError, "class of ob.agents"),
        ({"independent_sampler": "tpe"}, InputTypeError, "sampler of Optuna"),
        ({"n_trials": 0}, InputError, "n_trials >= 1"),
        ({"seed": -1}, InputError, "seed >= 0"),
        ({"seed": 1.5}, InputTypeError, "must be an integer"),
    ],
)
def test_bad_settings_are_refused(options, kind, message):
    with pytest.raises(kind, match=message):
        OrbitSampler(exchangeable=NAMES, **options)


def test_the_recommendation_is_not_the_luckiest_trial():
    rng = np.random.default_rng(0)
    sampler = OrbitSampler(exchangeable=NAMES, agent=TREE, seed=0)
    study = study_of(sampler)
    assert sampler.recommend(study) == {}
    study.optimize(lambda trial: loss(trial) + rng.normal(0, 0.3), n_trials=150)
    best = np.sort(list(sampler.recommend(study).values()))
    assert set(sampler.recommend(study)) == set(NAMES)
    assert np.abs(best - PEAK).sum() < 0.35
    other = OrbitSampler(exchangeable=NAMES, agent=TREE, seed=0)
    assert np.abs(np.sort(list(other.recommend(study).values())) - PEAK).sum() < 0.35


def test_by_default_the_agent_suits_the_number_of_trials():
    study = study_of(OrbitSampler(exchangeable=NAMES))
    study.optimize(loss, n_trials=20)
    used = study.sampler._views[(study.study_name, None)]._driver._agent
    assert isinstance(used, ob.agents.OrbitGP)
    assert used.rounds >= 19


def cube_driver(dim, group=None, maker=None, horizon=None, sign=1.0):
    return cube.cube_driver(dim, group, maker=maker, horizon=horizon, seed=0, sign=sign)


def test_no_corner_is_tried_twice():
    driver, rng = cube_driver(2), np.random.default_rng(0)
    tried = []
    for _ in range(80):
        point = cube.proposal(driver, [], 0, rng)
        assert ((point >= 0) & (point <= 1)).all()
        tried.append(tuple(point))
        driver.learn([Outcome(point, float(point.sum()))])  # best in a corner
    assert sum(min(point) > 0.99 for point in tried) > 20
    assert len(set(tried)) == 80


def test_a_tree_takes_over_after_many_trials_unless_they_were_planned(monkeypatch):
    monkeypatch.setattr("orbandit.integrations.cube.CROSSOVER", 10)
    rng = np.random.default_rng(0)
    outcomes = [Outcome(rng.random(2), float(rng.random())) for _ in range(20)]
    unplanned, planned = (cube_driver(2, horizon=horizon) for horizon in (None, 20))
    kinds = []
    for outcome in outcomes:
        for driver in (unplanned, planned):
            driver.learn([outcome])
            driver.recommend()
        kinds.append((type(unplanned._agent), type(planned._agent)))
    assert kinds[:9] == [(ob.agents.OrbitGP, ob.agents.OrbitTree)] * 9
    assert kinds[9:] == [(ob.agents.OrbitTree, ob.agents.OrbitTree)] * 11
    assert unplanned._agent.rounds == 20


def test_a_named_agent_is_used():
    study = study_of(OrbitSampler(exchangeable=NAMES, agent=ob.agents.Zooming, seed=0))
    study.optimize(loss, n_trials=20)
    assert len(study.trials) == 20


@pytest.mark.parametrize(
    ("agent", "many"), [(TREE, MIN_MEASURED - 1), (ob.agents.OrbitGP, MIN_MEASURED - 1), (None, 50)]
)
def test_a_proposal_leaves_the_driver_as_it_was(agent, many):
    driver = cube_driver(3, ob.groups.Symmetric(3), agent)
    rng = np.random.default_rng(0)
    driver.learn([Outcome(x, float(x.sum())) for x in rng.uniform(size=(many, 3))])
    first = cube.proposal(driver, [], 0, rng)
    busy, late = cube.proposal(driver, [first], 0, rng), cube.proposal(driver, [first], 2, rng)
    assert np.abs(busy - first).max() > 1e-3
    assert np.abs(late - first).max() > 1e-3
    assert np.abs(cube.proposal(driver, [], 0, rng) - first).max() < 1e-5
