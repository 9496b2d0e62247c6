"""OrbitSampler with a rule for what is feasible."""

import copy
import math
import pickle

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from orbandit.agents import HOO, OrbitTree
from orbandit.errors import InputError, InputTypeError, OrbanditWarning
from orbandit.integrations.optuna import OrbitSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)
TURBINES = [["x1", "y1"], ["x2", "y2"]]
SPACE = {name: FloatDistribution(-2.0, 2.0) for unit in TURBINES for name in unit}


def apart(params):
    """Return the margin of the distance between two turbines."""
    return math.hypot(params["x1"] - params["x2"], params["y1"] - params["y2"]) - 2.0


def is_apart(params):
    """Tell the same by yes and no."""
    return apart(params) >= 0


def power(trial):
    """Both turbines want to be near (1, 0)."""
    names = [name for unit in TURBINES for name in unit]
    params = {name: trial.suggest_float(name, -2.0, 2.0) for name in names}
    return -sum(math.hypot(params[x] - 1, params[y]) for x, y in TURBINES)


@pytest.mark.parametrize("rule", [apart, is_apart])
@pytest.mark.parametrize("space", [None, SPACE])
@pytest.mark.parametrize("agent", [None, OrbitTree])
def test_every_trial_and_the_recommendation_are_feasible(rule, space, agent):
    sampler = OrbitSampler(exchangeable=TURBINES, feasible=rule, search_space=space, agent=agent, seed=0)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    study.optimize(power, n_trials=40)
    assert all(apart(trial.params) >= 0 for trial in study.trials)
    assert apart(sampler.recommend(study)) >= 0
    assert study.best_value > -3.0  # the best is -2, and -4 or so what random feasible layouts give


def test_integers_are_judged_by_what_is_tried():
    """A point of the cube stands for the integer that it is rounded to."""

    def tidy(params):
        return params["a"] + params["b"] == 6

    sampler = OrbitSampler(exchangeable=["a", "b"], feasible=tidy, seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: abs(trial.suggest_int("a", 0, 9) - trial.suggest_int("b", 0, 9)), n_trials=25)
    assert all(tidy(trial.params) for trial in study.trials)
    assert study.best_value == 0


def test_trials_that_break_the_rule_are_data():
    sampler = OrbitSampler(exchangeable=TURBINES, feasible=apart, seed=0)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    study.enqueue_trial({"x1": 1.0, "y1": 0.0, "x2": 1.0, "y2": 0.1})
    study.optimize(power, n_trials=20)
    assert apart(study.trials[0].params) < 0
    assert all(apart(trial.params) >= 0 for trial in study.trials[1:])
    assert apart(sampler.recommend(study)) >= 0


def test_copies_of_a_study_go_on_alike():
    sampler = OrbitSampler(exchangeable=TURBINES, feasible=apart, search_space=SPACE, seed=0)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    study.optimize(power, n_trials=12)
    others = [copy.deepcopy(study), pickle.loads(pickle.dumps(study))]
    for one in (study, *others):
        one.optimize(power, n_trials=4)
    for other in others:
        assert [trial.params for trial in study.trials] == [trial.params for trial in other.trials]


def test_a_first_trial_that_cannot_keep_the_rule_is_told_with_the_remedy():
    """x1, y1 and x2 are drawn before the rule can be asked, and no y2 then sets them right."""

    def narrow(params):
        return params["x1"] * params["x2"] - 3.9 + 0 * params["y2"]

    sampler = OrbitSampler(exchangeable=TURBINES, feasible=narrow, seed=0)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    with pytest.warns(OrbanditWarning, match="trial 0 violates `feasible` whatever 'y2' is.*pass `search_space`"):
        study.optimize(power, n_trials=1)
    study.optimize(power, n_trials=10)
    assert all(narrow(trial.params) >= 0 for trial in study.trials[1:])


@pytest.mark.filterwarnings("ignore:trial 0 violates")
@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (lambda params: params["x1"] < 1, r"must be invariant under the group.* takes {'x1': .* to {'x1': "),
        (lambda params: None, "returned None for {'x1': "),
        (lambda params: 1, "returned 1 for {'x1': "),
        (lambda params: math.nan, "returned nan for {'x1': "),
        (lambda params: 1 / 0, r"failed at {'x1': .*ZeroDivisionError"),
        (lambda params: params["z"], r"failed at {'x1': .*KeyError\('z'\)"),
        (lambda params: params["x1"] + params["x2"] > 9, r"no feasible point was found.*, at {'x1': "),
    ],
)
def test_rules_that_are_none_are_refused_with_the_parameters(rule, said):
    study = optuna.create_study(sampler=OrbitSampler(exchangeable=TURBINES, feasible=rule, seed=0))
    with pytest.raises(InputError, match=said):
        study.optimize(power, n_trials=3)


def test_what_cannot_be_a_search_space_is_refused():
    with pytest.raises(InputTypeError, match="must be a dict of Optuna's distributions, but got 3"):
        OrbitSampler(search_space=3)
    with pytest.raises(InputError, match="lacks 'x2', which the symmetry names"):
        OrbitSampler(exchangeable=TURBINES, search_space={"x1": SPACE["x1"], "y1": SPACE["y1"]})
    with pytest.raises(InputError, match="but 'kind' is categorical; leave it out"):
        OrbitSampler(search_space={"kind": CategoricalDistribution(["a", "b"])})
    with pytest.raises(InputError, match="x2"):
        OrbitSampler(exchangeable=TURBINES, search_space=SPACE | {"x2": FloatDistribution(0.0, 1.0)})


def test_a_search_space_makes_the_first_trial_the_agents():
    sampler = OrbitSampler(search_space={"n": IntDistribution(1, 8), "x": FloatDistribution(0.0, 1.0)}, seed=0)
    study = optuna.create_study(sampler=sampler)
    assert set(sampler.infer_relative_search_space(study, study.ask())) == {"n", "x"}


def test_agents_that_take_no_rule_are_refused_by_name():
    with pytest.raises(InputError, match="but HOO does not"):
        OrbitSampler(exchangeable=TURBINES, feasible=apart, agent=HOO)
    with pytest.raises(InputTypeError, match="must be a function, but got 2"):
        OrbitSampler(exchangeable=TURBINES, feasible=2)
