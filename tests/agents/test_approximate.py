"""Agents that doubt their group: a true one is used, a wrong one is found out, and the best image is recommended."""

import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pytest

import orbandit as ob
from orbandit.agents import HOO, OrbitGP, OrbitTree
from orbandit.agents.asymmetry import OTHERS, Asymmetry
from orbandit.agents.gaussian import fit
from orbandit.agents.gaussian.hypotheses import Hypotheses
from orbandit.errors import InputError, OrbanditWarning
from orbandit.optimize import History

SPACE, SWAP = ob.spaces.Box(0.0, 1.0, dim=4), ob.groups.BlockPermutation(2, 2)
PEAK = np.array([0.8, 0.6, 0.2, 0.3])
"""Not the fold of itself: exact agents never look there."""


def true_symmetry(points):
    """Two alike units, each wants one of two places."""
    first, second = points[:, :2], points[:, 2:]
    straight = ((first - PEAK[:2]) ** 2).sum(axis=1) + ((second - PEAK[2:]) ** 2).sum(axis=1)
    crossed = ((second - PEAK[:2]) ** 2).sum(axis=1) + ((first - PEAK[2:]) ** 2).sum(axis=1)
    return -np.minimum(straight, crossed)


def no_symmetry(points):
    """Each unit wants a place of its own."""
    return -((points - PEAK) ** 2).sum(axis=1)


def nearly(points):
    """The straight order is a little better."""
    return true_symmetry(points) + 0.05 * (points[:, 0] - points[:, 2])


def found(function, symmetry, budget=60, seed=0, group=SWAP, **how):
    """Return the true mean of what is recommended, and the search."""
    rng = np.random.default_rng([seed, 1])
    best = ob.maximize(
        lambda x: float(function(x[None])[0]) + 0.002 * rng.standard_normal(),
        SPACE,
        group,
        budget=budget,
        symmetry=symmetry,
        seed=seed,
        progress=False,
        **how,
    )
    return float(function(best.point[None])[0]), best


def test_a_wrong_group_hides_the_optimum_unless_it_is_doubted():
    with pytest.warns(OrbanditWarning, match="violate the symmetry"):
        exact = found(no_symmetry, "exact", budget=50)[0]
    doubted = found(no_symmetry, "approximate", budget=50)[0]
    assert exact < -0.1
    assert doubted > -0.02


@pytest.mark.parametrize("seed", [0, 1])
def test_a_true_group_is_used_and_a_wrong_one_is_not(seed):
    """Estimates at 200 points and their images agree if the group is true; if not, they differ as the means do."""
    points = SPACE.sample(200, 1)
    for function in (true_symmetry, no_symmetry):
        how = {"reward_range": (-4.0, 1.0), "goal": "best", "symmetry": "approximate", "seed": seed}
        agent = OrbitGP(SPACE, SWAP, horizon=60, **how)
        for _ in range(40):
            point = agent.ask()
            agent.tell(point, float(function(point[None])[0]))
        images = points[:, [2, 3, 0, 1]]
        found = np.array(
            [agent.estimate(one) - agent.estimate(other) for one, other in zip(points, images, strict=True)]
        )
        true = function(points) - function(images)
        if function is true_symmetry:
            assert np.abs(found).max() < 0.005
        else:
            assert np.corrcoef(found, true)[0, 1] > 0.9
            assert ((found - true) ** 2).mean() < 0.25 * (true**2).mean()


def test_the_best_image_is_recommended_and_not_only_the_orbit():
    for seed in range(2):
        value, best = found(nearly, "approximate", budget=50, seed=seed)
        assert best.point[0] > best.point[2]
        assert value > 0.02  # the other order has 0.03 less at its best


def test_points_are_not_folded():
    agent = OrbitGP(SPACE, SWAP, horizon=40, symmetry="approximate", seed=0)
    points = agent.ask_batch(10)
    assert not np.allclose(points, SWAP.fold(points))


def test_without_a_group_there_is_nothing_to_doubt():
    one = found(no_symmetry, "approximate", budget=30, group=None)[1]
    other = found(no_symmetry, "exact", budget=30, group=None)[1]
    assert np.array_equal(one.history.points, other.history.points)


@pytest.mark.parametrize("function", [true_symmetry, no_symmetry])
@pytest.mark.parametrize("settings", [{"goal": "best"}, {"acquisition": "thompson"}])
def test_files_and_copies_go_on_alike(function, settings, tmp_path):
    agent = OrbitGP(SPACE, SWAP, horizon=60, reward_range=(-4.0, 1.0), symmetry="approximate", seed=0, **settings)
    for _ in range(24):
        point = agent.ask()
        agent.tell(point, float(function(point[None])[0]))
    agent.save(tmp_path / "agent")
    others = [OrbitGP.load(tmp_path / "agent"), copy.deepcopy(agent)]
    for _ in range(5):
        point = agent.ask()
        for other in others:
            assert np.array_equal(other.ask(), point)
        for one in (agent, *others):
            one.tell(point, float(function(point[None])[0]))
    for other in others:
        assert np.array_equal(other.recommend(), agent.recommend())


def test_a_rule_need_not_be_invariant_then():
    def rule(points):
        return points[:, 0] - points[:, 2]

    with pytest.raises(InputError, match="`feasible` must be invariant"):
        found(true_symmetry, "exact", feasible=rule)
    value, best = found(true_symmetry, "approximate", feasible=rule)
    assert (rule(best.history.points) >= 0).all()
    assert rule(best.point[None])[0] >= 0
    assert value > -0.01


def test_what_cannot_doubt_is_refused():
    with pytest.raises(InputError, match="symmetry"):
        OrbitGP(SPACE, SWAP, symmetry="nearly")
    with pytest.raises(InputError, match="symmetry"):
        found(true_symmetry, "nearly")
    with pytest.raises(InputError, match=r"`symmetry` needs an agent that takes it.*HOO does not"):
        found(true_symmetry, "approximate", agent=HOO)
    with pytest.raises(InputError, match="symmetry"):
        OrbitTree(SPACE, SWAP, symmetry="nearly")
    with pytest.raises(InputError, match="needs an exact symmetry"):
        OrbitTree(SPACE, SWAP, lipschitz=1.0, guarantee="theory", symmetry="approximate")
    with pytest.raises(InputError, match="`symmetry` is the search's"):
        found(true_symmetry, "approximate", agent=partial(OrbitGP, symmetry="exact"))


# --- an exact symmetry that measurements violate ---


def history(function, points=40, seed=0):
    """Return measurements made before, at random points."""
    rng = np.random.default_rng(seed)
    places = SPACE.sample(points, rng)
    return History(places, function(places) + 0.002 * rng.standard_normal(points))


def test_data_that_violate_an_exact_symmetry_are_told_once():
    with pytest.warns(OrbanditWarning, match="violate the symmetry") as caught:
        found(no_symmetry, "exact", history=history(no_symmetry))
    (only,) = [one for one in caught if "violate the symmetry" in str(one.message)]
    assert "an element swaps coordinates 0 and 2, 1 and 3, the mean at [" in str(only.message)
    difference, error = (float(part) for part in str(only.message).split("changes by ")[1].split(";")[0].split(" ± "))
    assert 0.1 < abs(difference) < 3
    assert abs(difference) > 3 * error


@pytest.mark.parametrize("seed", range(4))
def test_data_that_keep_a_symmetry_raise_no_warning(seed, recwarn):
    found(true_symmetry, "exact", budget=20, history=history(true_symmetry, seed=seed), seed=seed)
    assert not [one for one in recwarn if "symmetry" in str(one.message)]


def test_a_wrong_group_is_noticed_without_a_history():
    """Here all points were folds: the optimum was hidden, and nothing was said."""
    for seed in range(2):
        with pytest.warns(OrbanditWarning, match="violate the symmetry: where an element swaps coordinates 0 and 1"):
            ob.maximize(
                lambda x: -((x[0] - 0.8) ** 2) - (x[1] - 0.2) ** 2,
                SQUARE,
                ORDER,
                budget=50,
                seed=seed,
                progress=False,
            )


def test_an_approximate_symmetry_raises_no_warning(recwarn):
    found(no_symmetry, "approximate", budget=20, history=history(no_symmetry))
    assert not [one for one in recwarn if "symmetry" in str(one.message)]


def asked(agent, rounds, function):
    """Return the points that an agent asks for, each told at once."""
    points = []
    for _ in range(rounds):
        points.append(agent.ask())
        agent.tell(points[-1], float(function(points[-1][None])[0]))
    return np.array(points)


@pytest.mark.parametrize("goal", ["best", "regret"])
def test_images_of_folds_are_played_and_change_nothing_else(goal, monkeypatch):
    """With the right group, the plays are those of an agent that asks for folds only, up to elements of the group."""
    sure = {"horizon": 60, "reward_range": (-4.0, 1.0), "goal": goal, "seed": 0}
    agent = OrbitGP(SPACE, SWAP, **sure)
    points = asked(agent, 30, true_symmetry)
    later, images = points[12:], np.abs(points - SWAP.fold(points)).max(axis=1) > 0
    is_moved = np.abs(points[:, :2] - points[:, 2:]).max(axis=1) > 1e-6
    np.testing.assert_array_equal(images[12:], (np.arange(12, 30) % 3 == 0) & is_moved[12:])
    assert images[12:].sum() >= 4
    assert images[:5].any()
    np.testing.assert_array_equal(agent.recommend(), SWAP.fold(agent.recommend()))
    monkeypatch.setattr(OrbitGP, "_turned", lambda self, point: self._placed(point))
    folds = asked(OrbitGP(SPACE, SWAP, **sure), 30, true_symmetry)
    np.testing.assert_array_equal(folds, SWAP.fold(points))
    assert len(np.unique(later, axis=0)) > 10


def test_images_that_are_asked_for_are_feasible():
    def rule(points):
        return 0.9 - np.abs(points[:, :2] - points[:, 2:]).sum(axis=1)

    agent = OrbitGP(SPACE, SWAP, horizon=40, reward_range=(-4.0, 1.0), feasible=rule, seed=0)
    points = asked(agent, 20, true_symmetry)
    assert (rule(points) >= 0).all()
    assert (np.abs(points - SWAP.fold(points)).max(axis=1) > 0).any()


@pytest.mark.parametrize("is_batch", [False, True])
def test_a_warning_that_is_an_error_loses_nothing(is_batch):
    """Warnings as errors: what was told is all learnt, and the agent goes on as one that only warned."""
    points, values = told_before()
    alike, strict = (OrbitGP(SPACE, SWAP, horizon=100, reward_range=(-3.0, 3.0), seed=0) for _ in range(2))
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        told(alike, points, values, is_batch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        caught = told(strict, points, values, is_batch)
    assert caught == 1
    assert strict.rounds == alike.rounds == len(points)
    assert strict.has_warned
    for agent in (alike, strict):
        agent.tell(points[0], values[0])
    assert np.array_equal(strict.ask(), alike.ask())
    assert np.array_equal(strict.recommend(), alike.recommend())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_a_copy_does_not_warn_again(copied, recwarn):
    points, values = told_before()
    agent = OrbitGP(SPACE, SWAP, horizon=100, reward_range=(-3.0, 3.0), seed=0)
    assert not copied(agent).has_warned
    agent.tell_batch(points, values)
    assert len(recwarn) == 1
    other = copied(agent)
    assert other.has_warned
    other.tell_batch(points, values)
    assert len(recwarn) == 1


def told_before():
    before = history(no_symmetry)
    return before.points, before.values


def told(agent, points, values, is_batch):
    """Tell an agent; return how often it raised a warning."""
    if is_batch:
        try:
            agent.tell_batch(points, values)
        except OrbanditWarning:
            return 1
        return 0
    caught = 0
    for point, value in zip(points, values, strict=True):
        try:
            agent.tell(point, value)
        except OrbanditWarning:
            caught += 1
    return caught


# --- trees ---

SQUARE, ORDER = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)


def alike(point):
    return 0.9 - np.abs(np.sort(point) - [0.3, 0.8]).sum() / 2


def unlike(point):
    """The better order is not the one that folds have."""
    return 0.9 - np.abs(point - [0.8, 0.3]).sum() / 2


def played(agent, mean, rounds, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        point = agent.ask()
        agent.tell(point, float(rng.random() < mean(point)))


@pytest.mark.parametrize("horizon", [2_000, None])
def test_a_tree_parts_images_that_differ_and_finds_the_better_one(horizon):
    agent = OrbitTree(SQUARE, ORDER, horizon=horizon, symmetry="approximate", seed=0)
    sure = OrbitTree(SQUARE, ORDER, horizon=horizon, seed=0)
    played(agent, unlike, 2_000)
    played(sure, unlike, 2_000)
    assert not agent.tests_symmetry
    assert agent.group is None
    assert unlike(agent.recommend()) > 0.75
    assert unlike(sure.recommend()) < 0.7


def test_a_tree_keeps_a_true_group_and_plays_its_images():
    agent = OrbitTree(SQUARE, ORDER, horizon=1_000, symmetry="approximate", seed=0)
    points = np.array([agent.ask() for _ in range(20)])
    assert not np.allclose(points, ORDER.fold(points))
    agent = OrbitTree(SQUARE, ORDER, horizon=1_000, symmetry="approximate", seed=0)
    played(agent, alike, 1_000)
    assert agent.tests_symmetry
    assert alike(agent.recommend()) > 0.8
    assert np.array_equal(agent.recommend(), agent.recommend())


def test_the_search_without_the_group_goes_on_where_it_ended(monkeypatch):
    """With few steps in each fit, the model gets better from fit to fit."""
    monkeypatch.setattr(fit, "MAX_STEPS", 4)
    most_likely, fits = Hypotheses.most_likely, []

    def noted(*given, **named):
        fits.append(most_likely(*given, **named))
        return fits[-1]

    monkeypatch.setattr(Hypotheses, "most_likely", noted)
    space, group = ob.spaces.Box(0.0, 1.0, dim=6), ob.groups.Symmetric(6)
    points = space.sample(60, np.random.default_rng(0))
    agent = OrbitGP(space, group, horizon=200, symmetry="approximate", seed=0)
    agent.tell_batch(points, 0.5 + 0.3 * np.sin(7 * points[:, 0]) * points[:, 1])
    for _ in range(3):
        agent._fit(60)
    assert all(each.choice.used == "none" for each in fits)
    losses = [each.model.loss for each in fits]
    assert (np.diff(losses) <= 0).all()
    assert losses[-1] < losses[1] - 1.0


def test_a_true_symmetry_is_seldom_given_up_whatever_the_noise():
    """At most one run in a hundred, by Ville; here 200 runs, with noise that depends on the orbit."""
    rng, given_up = np.random.default_rng(0), 0
    for _ in range(200):
        doubt = Asymmetry(ORDER.center, 1.4)
        for _ in range(100):
            point = rng.random(2)
            images = ORDER.act(ORDER.random(1 + OTHERS, rng), point)
            value = float(rng.random() < 0.2 + 0.6 * point.max()) if rng.random() < 0.5 else float(point.prod())
            doubt.learn(images, value, float(rng.random()))
        given_up += doubt.is_clear
    assert given_up <= 2 + 3 * np.sqrt(2)


CURVED = {
    "saddle": (ob.spaces.Ball(2), ob.groups.Cyclic(4), lambda x: 0.5 + 0.4 * (x[0] ** 2 - x[1] ** 2)),
    "quadrants": (
        ob.spaces.Box(-1.0, 1.0, dim=2),
        ob.groups.SignFlips(2),
        lambda x: 0.5 + 0.4 * np.tanh(10 * x[0] * x[1]),
    ),
}


@pytest.mark.parametrize("name", CURVED)
def test_images_that_differ_without_a_slope_are_parted(name):
    """Linear functions of the image find nothing here."""
    space, group, mean = CURVED[name]
    agent, rng = OrbitTree(space, group, horizon=2_000, symmetry="approximate", seed=0), np.random.default_rng(0)
    while agent.tests_symmetry and agent.rounds < 2_000:
        point = agent.ask()
        agent.tell(point, float(rng.random() < mean(point)))
    assert agent.rounds < 1_000


def test_bets_of_0_2_0_go_on():
    """It bet on coordinates only: other bets begin anew."""
    rng, doubt = np.random.default_rng(0), Asymmetry(ORDER.center, 1.4)
    for _ in range(20):
        doubt.learn(ORDER.act(ORDER.random(1 + OTHERS, rng), rng.random(2)), float(rng.random()), 0.5)
    saved = doubt.arrays_to_save
    old = {name: saved[name] for name in ("doubt_inverse", "doubt_slopes")} | {
        "doubt_numbers": saved["doubt_numbers"][:3]
    }
    other = Asymmetry(ORDER.center, 1.4)
    other.restore(old)
    again = other.arrays_to_save
    np.testing.assert_array_equal(again["doubt_inverse"], saved["doubt_inverse"])
    np.testing.assert_array_equal(again["doubt_numbers"], [*saved["doubt_numbers"][:3], 0.0, 0.0])
    for name in saved:
        with pytest.raises(ValueError, match="bets"):
            other.restore({**saved, name: np.full((2, 3), np.nan)})


@pytest.mark.parametrize("rounds", [0, 30, 700])
def test_trees_that_doubt_go_on_from_files_and_copies(rounds, tmp_path):
    agent = OrbitTree(SQUARE, ORDER, horizon=2_000, symmetry="approximate", seed=0)
    played(agent, unlike, rounds)
    assert agent.tests_symmetry == (rounds < 700)
    waiting = [agent.ask() for _ in range(3)]
    agent.save(tmp_path / "agent")
    others = [OrbitTree.load(tmp_path / "agent"), copy.deepcopy(agent)]
    for one in (agent, *others):
        for point in waiting:
            one.tell(point, 1.0)
        one.expect([0.2, 0.4])
    for _ in range(30):
        point = agent.ask()
        for other in others:
            assert np.array_equal(other.ask(), point)
        for one in (agent, *others):
            one.tell(point, 0.4)
    for other in others:
        assert np.array_equal(other.recommend(), agent.recommend())


def test_asks_that_wait_while_images_are_parted_are_answered_after():
    agent, rng = OrbitTree(SQUARE, ORDER, horizon=2_000, symmetry="approximate", seed=0), np.random.default_rng(0)
    waiting = [agent.ask() for _ in range(5)]
    for _ in range(2_000):
        point = agent.ask()
        agent.tell(point, float(rng.random() < unlike(point)))
        if not agent.tests_symmetry:
            break
    assert not agent.tests_symmetry
    rounds = agent.rounds
    for point in waiting[:-1]:
        agent.tell(point, 0.5)
    agent.forget(waiting[-1])
    assert agent.rounds == rounds + 4
    with pytest.raises(InputError, match="`point` must be pending"):
        agent.forget(waiting[-1])


def test_trees_in_simulations_and_searches_doubt_as_well():
    cone = ob.problems.Cone(SQUARE, ORDER, peak=[0.3, 0.8])
    runs = ob.simulate(OrbitTree, cone, horizon=300, seeds=2, symmetry="approximate")
    exact = ob.simulate(OrbitTree, cone, horizon=300, seeds=2)
    assert runs.regret[:, -1].mean() < 2 * exact.regret[:, -1].mean()
    best = ob.maximize(
        unlike, SQUARE, ORDER, budget=900, agent=OrbitTree, symmetry="approximate", seed=0, progress=False
    )
    assert unlike(best.point) > 0.8


# --- a tree that takes its group to be exact ---


def wrong(point):
    return 0.9 - np.abs(point - [0.8, 0.2]).sum() / 2


def told_of(function, rounds, seed, group=ORDER, space=SQUARE):
    """Return the warnings of a tree that watches its symmetry, and the tree."""
    agent, rng = OrbitTree(space, group, horizon=rounds, seed=seed), np.random.default_rng(seed)
    agent.watch_symmetry()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(rounds):
            point = agent.ask()
            agent.tell(point, float(np.clip(function(point) + 0.1 * rng.standard_normal(), 0.0, 1.0)))
    return [str(each.message) for each in said], agent


def test_a_tree_that_watches_warns_once_of_a_wrong_group():
    for seed in range(3):
        said, agent = told_of(wrong, 1_200, seed)
        assert len(said) == 1
        assert agent.has_warned
        assert "swaps coordinates 0 and 1, the mean at" in said[0]
        change, deviation = (float(part.split(";")[0]) for part in said[0].split("changes by ")[1].split(" ± "))
        assert abs(change) > 2.5 * deviation


def test_a_tree_that_watches_is_silent_about_a_right_group():
    for seed in range(6):
        said, _ = told_of(lambda x: 0.9 - np.abs(np.sort(x) - [0.2, 0.8]).sum() / 2, 1_200, seed)
        assert said == []


def test_a_tree_that_watches_plays_images_of_what_it_would_play():
    agents = [OrbitTree(SQUARE, ORDER, horizon=300, seed=0) for _ in range(2)]
    agents[1].watch_symmetry()
    moved = 0
    for _ in range(300):
        one, other = (agent.ask() for agent in agents)
        np.testing.assert_array_equal(np.sort(one), np.sort(other))
        moved += not np.array_equal(one, other)
        for agent, point in zip(agents, (one, other), strict=True):
            agent.tell(point, 0.9 - np.abs(np.sort(point) - [0.2, 0.8]).sum() / 2)
    assert moved > 60
    np.testing.assert_array_equal(agents[0].recommend(), agents[1].recommend())


def test_a_tree_that_watches_goes_on_alike_from_a_file(tmp_path):
    _, agent = told_of(wrong, 800, 0)
    agent.save(tmp_path / "agent")
    other = OrbitTree.load(tmp_path / "agent")
    assert other.has_warned == agent.has_warned
    for _ in range(30):
        point = agent.ask()
        np.testing.assert_array_equal(other.ask(), point)
        agent.tell(point, 0.5)
        other.tell(point, 0.5)


@pytest.mark.parametrize(
    "how", [{"symmetry": "approximate"}, {"guarantee": "theory", "lipschitz": 1.0}, {"group": None}]
)
def test_there_is_nothing_to_watch_for(how):
    one, other = (OrbitTree(**({"space": SQUARE, "group": ORDER, "horizon": 60, "seed": 0} | how)) for _ in range(2))
    other.watch_symmetry()
    for _ in range(60):
        point = one.ask()
        np.testing.assert_array_equal(other.ask(), point)
        one.tell(point, 0.5)
        other.tell(point, 0.5)


def test_maximize_warns_where_a_tree_has_a_wrong_group():
    rng = np.random.default_rng(0)
    with pytest.warns(OrbanditWarning, match="violate the symmetry: where an element swaps"):
        ob.maximize(
            lambda x: 10 * wrong(x) + rng.standard_normal(),
            SQUARE,
            ORDER,
            budget=1_500,
            agent=OrbitTree,
            seed=0,
            progress=False,
        )


def test_pending_images_are_kept_in_copies():
    """The fold of a cell's own point may lie in another cell."""
    for seed in range(6):
        agent = OrbitTree(SPACE, SWAP, horizon=200, seed=seed)
        agent.watch_symmetry()
        points = agent.ask_batch(8)
        other = copy.deepcopy(agent)
        for point in points:
            agent.tell(point, 0.5)
            other.tell(point, 0.5)
        np.testing.assert_array_equal(other.ask(), agent.ask())


@pytest.mark.parametrize("batch", [1, 20])
def test_every_image_that_is_told_is_bet_on(batch, monkeypatch):
    """Those that were asked for more than once as well, in any order; none that was forgotten."""
    bets = []
    learn = Asymmetry.learn
    monkeypatch.setattr(Asymmetry, "learn", lambda self, *given: (bets.append(given), learn(self, *given)))
    agent, rng = OrbitTree(SQUARE, ORDER, horizon=200, seed=0), np.random.default_rng(0)
    agent.watch_symmetry()
    for _ in range(100 // batch):
        points = agent.ask_batch(batch)
        for point in rng.permutation(points):
            agent.tell(point, 0.5)
    assert len(bets) == 100
    point = agent.ask()
    agent.settle()
    agent.forget(point)
    agent.expect(point)
    agent.tell(point, 0.5)
    agent.tell([0.3, 0.4], 0.5)
    assert len(bets) == 100


def test_a_batch_is_learnt_before_a_tree_warns():
    agent = OrbitTree(SQUARE, ORDER, horizon=2_000, seed=0)
    agent.watch_symmetry()
    points = agent.ask_batch(400)
    rewards = [wrong(point) for point in points]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(OrbanditWarning, match="violate the symmetry"):
            agent.tell_batch(points, rewards)
    assert agent.rounds == 400


def test_the_test_goes_on_in_an_agent_for_other_units():
    _, agent = told_of(wrong, 60, 0)
    _, longer = told_of(wrong, 1_200, 0)
    assert (agent.has_warned, longer.has_warned) == (False, True)
    other = OrbitTree(SQUARE, ORDER, horizon=2_000, reward_range=(-1.0, 2.0), seed=1)
    other.watch_symmetry(agent)
    assert other._doubt._rounds == agent._doubt._rounds == 60
    last = OrbitTree(SQUARE, ORDER, horizon=2_000, reward_range=(-1.0, 2.0), seed=1)
    last.watch_symmetry(longer)
    assert last.has_warned
    last.watch_symmetry(OrbitGP(SQUARE, ORDER, seed=0))
    assert last.has_warned
