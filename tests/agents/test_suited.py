"""Which agent is taken where nobody names one."""

from functools import partial

import numpy as np
import pytest

import orbandit as ob
from orbandit.agents.suited import BEST_GP, CROSSOVER, suited
from orbandit.driver import Driver, Outcome

CUBE = ob.spaces.Box(0.0, 1.0, dim=6)


def test_a_kernel_model_for_few_evaluations_and_a_tree_for_many():
    square = ob.spaces.Box(0.0, 1.0, dim=2)
    assert suited(CROSSOVER - 1, square, ob.groups.Symmetric(2)) is BEST_GP
    assert suited(CROSSOVER, square, None) is ob.agents.OrbitTree
    assert suited(CROSSOVER, CUBE, ob.groups.Symmetric(6)) is ob.agents.OrbitTree
    assert suited(CROSSOVER, CUBE, ob.groups.Symmetric(6), crossover=CROSSOVER + 1) is BEST_GP


def test_a_tree_where_values_only_succeed_or_fail():
    """From the 16th on; a third value takes the model back, which is told all."""
    driver, rng = Driver(CUBE, ob.groups.Symmetric(6), None, horizon=300, seed=0), np.random.default_rng(0)
    kinds = []
    for number in range(60):
        value = 3.5 if number == 40 else float(rng.random() < 0.2)
        driver.learn([Outcome(driver.ask(), value)])
        driver.recommend()
        kinds.append(type(driver._agent))
    assert kinds[:15] == [ob.agents.OrbitGP] * 15
    assert kinds[15:40] == [ob.agents.OrbitTree] * 25
    assert kinds[40:] == [ob.agents.OrbitGP] * 20
    assert driver._agent.rounds == 60


def test_rare_successes_are_found():
    """One in fifty at random; the model alone recommended points of 0.02."""
    top = np.array([0.2, 0.5, 0.7])

    def chance(x):
        return 0.02 + 0.9 * np.exp(-20 * ((np.sort(x) - top) ** 2).sum())

    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        best = ob.maximize(
            lambda x, rng=rng: float(rng.random() < chance(x)),
            ob.spaces.Box(0.0, 1.0, dim=3),
            ob.groups.Symmetric(3),
            budget=500,
            seed=seed,
        )
        found.append(chance(best.point))
    assert min(found) > 0.6


def test_a_tree_for_groups_without_a_kernel():
    even = ob.groups.Permutation([[1, 2, 0, 3, 4, 5], [0, 1, 3, 4, 5, 2], [1, 2, 3, 4, 0, 5]])
    assert even.order > 128
    assert suited(20, CUBE, even) is ob.agents.OrbitTree


@pytest.mark.parametrize("settings", [{}, {"kernel": "rbf"}])
def test_an_agent_with_settings_learns_slopes_too(settings):
    made = []

    def maker(*args, **told):
        made.append(told["lipschitz"])
        return ob.agents.OrbitTree(*args, **told)

    ob.maximize(lambda x: float(x.sum()), CUBE, budget=3, agent=maker, seed=0)
    assert None not in made  # who knows what it does without
    one = ob.maximize(lambda x: float(x.sum()), CUBE, budget=20, agent=partial(ob.agents.OrbitGP, **settings), seed=0)
    two = ob.maximize(
        lambda x: float(x.sum()),
        CUBE,
        budget=20,
        agent=lambda *args, **told: ob.agents.OrbitGP(*args, **{**told, **settings, "lipschitz": None}),
        seed=0,
    )
    np.testing.assert_array_equal(one.history.points, two.history.points)


def test_what_maximize_takes(monkeypatch):
    made = []
    for kind in (ob.agents.OrbitGP, ob.agents.OrbitTree):
        original = kind.__init__

        def noted(self, *args, original=original, kind=kind, **settings):
            made.append((kind, settings["lipschitz"]))
            original(self, *args, **settings)

        monkeypatch.setattr(kind, "__init__", noted)
    few = ob.maximize(lambda x: -float(x.sum()), CUBE, budget=20, seed=0)
    assert set(made) == {(ob.agents.OrbitGP, None)}  # the Lipschitz constant is learnt
    made.clear()
    many = ob.optimize.History(np.tile(few.history.points, (2_000, 1)), np.tile(few.history.values, 2_000))
    ob.maximize(lambda x: -float(x.sum()), CUBE, budget=1, history=many, seed=0)
    assert set(made) == {(ob.agents.OrbitTree, None)}  # 40,001 measurements in all
