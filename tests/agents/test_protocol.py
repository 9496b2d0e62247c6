"""Every agent keeps the protocol: ask, tell in any order and of any point, refuse without harm."""

import copy
import itertools

import numpy as np
import pytest

import orbandit as ob
from agent_cases import (
    AGENTS,
    PAIRS,
    SOME,
    SOME_PAIRS,
    any_points,
    fewer,
    has_no_table,
    is_listed,
    is_tree,
    last_ask,
    learners_of,
    lists_of,
    mean_at,
    means_at,
    nearest,
    play,
    rounds_of,
    state,
    stats,
    summary,
)
from orbandit.errors import InputError, InputTypeError

every = pytest.mark.parametrize("name", AGENTS)
some = pytest.mark.parametrize("name", SOME)
in_turn = pytest.mark.parametrize(("name", "horizon"), PAIRS)
some_in_turn = pytest.mark.parametrize(("name", "horizon"), SOME_PAIRS)


def in_space(agent, point):
    if is_listed(agent):
        return type(point) is int and point >= 0
    return point.shape == (agent.space.dim,) and bool(agent.space.contains(point))


@some_in_turn
def test_asks_points_of_the_space_and_counts_rounds(name, horizon):
    agent = AGENTS[name](horizon=horizon, seed=0)
    assert agent.rounds == 0
    # which chooses any point
    assert hasattr(agent, "n_arms") != isinstance(agent, ob.agents.OrbitGP)
    # which begins with the whole space
    assert getattr(agent, "n_arms", 2) > (0 if name.startswith("StoSOO") else 1)
    assert agent.horizon == horizon
    rounds = fewer(name, 150)
    for t in range(rounds):
        point = agent.ask()
        assert in_space(agent, point)
        agent.tell(point, mean_at(agent, point))
        assert agent.rounds == t + 1
    assert type(agent).__name__ in repr(agent)
    assert f"{rounds} rounds" in repr(agent)


@some_in_turn
def test_the_same_seed_gives_the_same_plays(name, horizon):
    def plays(seed):
        return play(AGENTS[name](horizon=horizon, seed=seed), fewer(name, 70), 1)

    first, other = plays(7), plays(None)
    np.testing.assert_array_equal(first, plays(np.random.default_rng(7)))
    np.testing.assert_array_equal(first, plays(np.random.SeedSequence(7)))
    assert not all(np.array_equal(first, plays(seed)) for seed in (8, 9, 10, 11))
    assert not all(np.array_equal(other, plays(None)) for _ in range(4))


@some
def test_global_random_state_is_left_alone(name):
    before = repr(np.random.get_state())  # noqa: NPY002
    play(AGENTS[name](horizon=500, seed=0), 20, 0)
    assert repr(np.random.get_state()) == before  # noqa: NPY002


@some_in_turn
def test_late_and_shuffled_feedback_ends_in_the_same_statistics(name, horizon):
    agent, rng = AGENTS[name](horizon=horizon, seed=0), np.random.default_rng(1)
    asked = [agent.ask() for _ in range(40)]
    rewards = rng.random(40).round(2)
    for i in rng.permutation(40):
        agent.tell(asked[i], rewards[i])
    late = AGENTS[name](horizon=horizon, seed=0)
    for point, reward in zip(asked, rewards, strict=True):
        late.tell(point, reward)
    np.testing.assert_allclose(summary(agent), summary(late))
    assert (stats(agent)[:, 2] == 0).all()
    assert agent._ledger.pending == {}


@every
def test_pending_asks_count_as_pulls(name):
    """A batch goes over all arms before any arm is asked twice, as far as side observations do not cover them."""
    agent = AGENTS[name](horizon=1000, seed=0)
    k = min(getattr(agent, "n_arms", 12), 12)
    batch = agent.ask_batch(k)
    assert len(batch) == k
    seen = stats(agent)[:, 2]
    assert seen.sum() >= k - 1
    if has_no_table(agent):
        # whose instances begin alike
        few = 2 if isinstance(agent, ob.agents.POO | ob.agents.GPO) else k / 2
        # cells may share a nearest point, or what is known
        assert len(np.unique(batch, axis=0)) >= few
        return
    if not agent.arms.table.alive.all():
        return  # few arms are active yet, and their balls hold everything
    if lists_of(agent) is None:
        assert len(np.unique(batch, axis=0)) == k
    fresh = AGENTS[name](horizon=1000, seed=0)
    learners = set()
    # nobody is asked who would already learn from an earlier ask, while others would not
    for point in batch:
        arms = set(learners_of(fresh, point).tolist())
        if len(learners) < fresh.n_arms:
            own = nearest(fresh, point)
            assert own not in learners
        learners |= arms


@some
def test_after_feedback_a_batch_still_spreads(name):
    agent = AGENTS[name](horizon=1000, seed=0)
    play(agent, fewer(name, 300), 0)
    size = fewer(name, 200)
    batch = agent.ask_batch(size)
    best = max((batch == point).reshape(size, -1).all(axis=1).sum() for point in batch)
    assert best < size
    for point in batch:
        agent.forget(point)
    assert (stats(agent)[:, 2] == 0).all()


@some_in_turn
def test_what_is_expected_is_pending_until_it_is_told_or_forgotten(name, horizon):
    agent, rng = AGENTS[name](horizon=horizon, seed=0), np.random.default_rng(1)
    play(agent, 20, 0)
    points = any_points(agent, 12, 5)
    before = stats(agent)[:, 2].sum()
    for point in points:
        agent.expect(point)
    assert stats(agent)[:, 2].sum() >= before + (1 if isinstance(agent, ob.agents.OrbitGP) else 12)
    rewards = rng.random(6).round(2)
    for i in rng.permutation(6):
        agent.tell(points[i], rewards[i])
    for point in points[6:]:
        agent.forget(point)
    assert (stats(agent)[:, 2] == 0).all()
    assert agent.rounds == 26
    told = AGENTS[name](horizon=horizon, seed=0)
    play(told, 20, 0)
    for point, reward in zip(points, rewards, strict=False):
        told.tell(point, reward)
    np.testing.assert_allclose(summary(agent), summary(told), rtol=1e-9)


@some
def test_choices_allow_for_what_is_expected(name):
    """A choice that somebody else measures counts as asked for: the next choices are those after an ask."""
    asked, expected = (AGENTS[name](horizon=1000, seed=0) for _ in range(2))
    for agent in (asked, expected):
        play(agent, fewer(name, 60), 0)
    for _ in range(5):
        point = asked.ask()
        assert np.array_equal(expected.ask(), point)
        if is_tree(asked) and asked.arms.handle(point) != asked._ledger.last[1]:
            # the cell's point is nearest to it in the space, but its fold lies in another cell
            return
        expected.forget(point)
        expected.expect(point)


@some
def test_what_is_expected_is_refused_outside_and_changes_nothing(name):
    agent = AGENTS[name](horizon=1000, seed=0)
    play(agent, 10, 0)
    agent.ask()
    before = state(copy.deepcopy(agent))
    wrong = 10**6 if is_listed(agent) else np.full(agent.space.dim, 9.0)
    with pytest.raises(InputError):
        agent.expect(wrong)
    assert state(agent) == before


@some
@pytest.mark.parametrize("then", ["expected again", "an epoch ends"])
def test_the_last_ask_is_pending_as_others_are(name, then):
    def known(settles):
        agent = AGENTS[name](horizon=None, seed=0)
        agent.tell_batch(any_points(agent, 63, 0), [0.25, 0.5, 0.75] * 21)
        point = agent.ask()
        if settles:
            agent.settle()
        if then == "expected again":
            agent.expect(any_points(agent, 1, 1)[0])
            agent.expect(point)
        else:
            other = next(one for one in any_points(agent, 20, 1) if agent.arms.key(one) != agent.arms.key(point))
            agent.tell(other, 0.5)
        pending = agent.arms.packed(agent._ledger.keys).tolist()
        agent.tell(point, 1.0)
        # it judges cells by what is pending
        if isinstance(agent, ob.agents.OrbitTree) and then == "an epoch ends":
            return pending, summary(agent)[:3].tolist()
        return pending, state(agent)

    assert known(False) == known(True)


@some
def test_an_epoch_that_could_not_begin_begins_with_the_next_reward(name, monkeypatch):
    agent = AGENTS[name](horizon=None, seed=0)
    points, begun, renew = any_points(agent, 66, 0), [], type(agent)._renew

    def interrupted(agent):
        begun.append(agent._goal)
        if len(begun) == 1:
            raise KeyboardInterrupt
        renew(agent)

    monkeypatch.setattr(type(agent), "_renew", interrupted)
    agent.tell_batch(points[:63], [0.25, 0.5, 0.75] * 21)
    with pytest.raises(KeyboardInterrupt):
        agent.tell(points[63], 0.5)
    assert agent.rounds == 64  # it was learnt
    for point in points[64:]:
        agent.tell(point, 0.5)
    assert begun == [128, 128]
    assert agent.rounds == 66


@some_in_turn
def test_forgetting_undoes_an_ask(name, horizon):
    agent = AGENTS[name](horizon=horizon, seed=0)
    play(agent, 30, 0)
    for _ in range(3):
        for point in agent.ask_batch(5):  # cells that were made for asks stay
            agent.forget(point if not is_listed(agent) else int(point))
    before = state(agent)
    points = [agent.ask() for _ in range(5)]
    for point in points[::-1]:
        agent.forget(point)
    assert state(agent) == before
    with pytest.raises(InputError, match="asked for"):
        agent.forget(points[0])


@some_in_turn
def test_refused_calls_change_nothing(name, horizon):
    agent = AGENTS[name](horizon=horizon, seed=0, reward_range=(-1.0, 2.0))
    play(agent, fewer(name, 70), 0, -1.0, 2.0)
    agent.ask()
    agent.forget(agent.ask())
    before = state(agent)
    point = agent.ask()
    last = last_ask(agent)
    for bad in (np.nan, np.inf, -np.inf, -1.1, 2.0001, 1e300):
        with pytest.raises(InputError, match="reward"):
            agent.tell(point, bad)
    for unknown in ("rewards", "value"):
        with pytest.raises(InputTypeError, match=rf"`tell` of {type(agent).__name__} takes no '{unknown}'"):
            agent.tell(point, 0.5, **{unknown: 0.5})
    for bad in ("1", None, [0.5], 1j, np.array([0.5]), "high"):
        with pytest.raises(InputTypeError, match="reward"):
            agent.tell(point, bad)
    if is_listed(agent):
        wrong = [-1, 100, 1.5, "0", None, [0], True]
    else:
        far = np.full(agent.space.dim, 50.0)
        wrong = [far, point[:-1], np.append(point, 0.0), np.full_like(point, np.nan), "here", None, [point]]
        wrong += [np.full_like(point, np.inf), 1j * point]
    for bad in wrong:
        for call in (lambda x: agent.tell(x, 0.5), agent.forget, agent.estimate):
            with pytest.raises((InputError, InputTypeError)):
                call(bad)
    with pytest.raises((InputError, InputTypeError)):
        agent.ask_batch(0)
    with pytest.raises((InputError, InputTypeError)):
        agent.ask_batch(2.5)
    for k in (100_001, 10**20, 10**400):
        with pytest.raises(InputError, match=r"`k <= 100,000` must hold, but got k=.*tell those of a smaller batch"):
            agent.ask_batch(k)
    for some in ((point for _ in range(2)), np.array(0.5), {1, 2}, 3, None):
        with pytest.raises(InputTypeError, match=r"`points` must be a list or an array, .*list\(points\)"):
            agent.tell_batch(some, [0.5, 0.5])
    with pytest.raises(InputError, match="`reward` must have no masked entries"):
        agent.tell(point, np.ma.masked)
    with pytest.raises(InputError, match="`rewards` must have no masked entries"):
        agent.tell_batch([point, point], np.ma.array([0.5, 0.5], mask=[False, True]))
    with pytest.raises((InputError, InputTypeError)):
        agent.tell_batch([point, wrong[0]], [0.5, 0.5])
    with pytest.raises((InputError, InputTypeError)):
        agent.tell_batch([point, point], [0.5, 9.0])
    with pytest.raises((InputError, InputTypeError)):
        agent.tell_batch([point, point], [0.5])
    assert last_ask(agent) == last
    agent.forget(point)
    assert state(agent) == before


@pytest.mark.parametrize("kind", [ob.agents.OrbitTree, ob.agents.OrbitGP, ob.agents.HOO, ob.agents.Zooming])
def test_what_is_no_space_or_group_is_refused(kind):
    learnt = {"lipschitz": None} if kind in (ob.agents.OrbitTree, ob.agents.OrbitGP) else {}
    for bad in ([0.0, 1.0], "Box", None):
        with pytest.raises(InputTypeError, match="`space` and `group` must be of"):
            kind(bad, horizon=10, **learnt)
    with pytest.raises(InputTypeError, match="`space` and `group` must be of"):
        kind(ob.spaces.Ball(2), "Dihedral", horizon=10, **learnt)


@every
def test_bad_settings_are_refused(name):
    make = AGENTS[name]
    bad = [
        {"horizon": 0},
        {"horizon": 2.5},
        {"horizon": "many"},
        {"horizon": 10**20},
        {"horizon": 10**400},
        {"reward_range": (1, 0)},
        {"reward_range": (0, np.inf)},
    ]
    bad += [{"reward_range": (0, 0)}, {"reward_range": 1.0}, {"seed": "x"}, {"seed": -1}, {"seed": 1.5}]
    agent = make(horizon=10, seed=0)
    if not is_listed(agent):
        bad += [{"lipschitz": 0.0}, {"lipschitz": -1}, {"lipschitz": np.nan}]
    if hasattr(agent, "mesh"):
        bad += [
            {"mesh": "qotient"},
            {"mesh": 3},
            {"mesh": np.zeros(2)},
            {"delta": 0.0},
            {"delta": "mesured"},
            {"delta": -0.1},
        ]
    if hasattr(agent, "nu"):
        rho = "rho" if hasattr(agent, "rho") else "rho_max"
        bad += [{"nu": 0.0}, {rho: 1.0}, {rho: -0.5}]
    if isinstance(agent, ob.agents.GPO):
        bad += [{"base": "OrbitTree"}, {"base": None}, {"base": ob.agents.HOO}]
    if isinstance(agent, ob.agents.HCT | ob.agents.VHCT):
        bad += [{"c": 0.0}, {"c": np.nan}, {"delta": 0.0}, {"delta": 1.0}, {"delta": "small"}]
    if isinstance(agent, ob.agents.OrbitGP):
        bad += [
            {"kernel": "matern"},
            {"acquisition": "ei"},
            {"acquisition": np.zeros(2)},
            {"noise": 0.0},
            {"noise": np.nan},
            {"candidates": 1},
            {"candidates": 10**20},
            {"beta": 0},
        ]
    if isinstance(agent, ob.agents.OrbitTree):
        bad += [
            {"guarantee": "practice"},
            {"guarantee": np.zeros(2)},
            {"guarantee": True},
            {"guarantee": "theory", "lipschitz": None},
        ]
    for settings in bad:
        with pytest.raises((InputError, InputTypeError)):
            make(**{"horizon": 100, "seed": 0, **settings})


@some_in_turn
def test_recommending_and_reporting_change_nothing(name, horizon):
    agent = AGENTS[name](horizon=horizon, seed=0)
    first = agent.recommend()
    assert in_space(agent, first)
    # nothing is known: the next arm is as good as any
    np.testing.assert_array_equal(first, agent.ask())
    agent.tell(first, 0.5)
    play(agent, fewer(name, 80), 0)
    before = state(agent)
    point = agent.recommend()
    assert 0 <= agent.estimate(point) <= 1
    repr(agent)
    assert state(agent) == before
    if has_no_table(agent):
        return
    agent.means(), agent.counts(), agent.upper_bounds()
    assert state(agent) == before
    bounds = agent.upper_bounds()
    assert bounds.shape == (agent.n_arms,)
    assert (bounds[agent.counts() > 0] >= agent.means()[agent.counts() > 0]).all()
    assert np.isposinf(bounds[agent.counts() == 0]).all()


@in_turn
def test_telling_a_batch_is_telling_each(name, horizon):
    one, many = (AGENTS[name](horizon=horizon, seed=0) for _ in range(2))
    size = fewer(name, 80)
    points, rewards = any_points(one, size, 0), np.random.default_rng(0).random(size)
    for point, reward in zip(points, rewards, strict=True):
        one.tell(point, reward)
    many.tell_batch(points, rewards)
    many.tell_batch(points[:0], [])
    assert one.rounds == many.rounds == size
    np.testing.assert_allclose(summary(one), summary(many))
    # which fits its parameters after each batch, not in the midst of it
    if not isinstance(one, ob.agents.OrbitGP):
        np.testing.assert_array_equal(one.ask(), many.ask())


@every
def test_every_arm_learns_from_itself(name):
    agent = AGENTS[name](horizon=500, seed=0)
    if isinstance(agent, ob.agents.HOO):
        inner = [cell for cell in range(1, agent.n_arms) if agent.arms.cells.depths[cell] <= 4]
        # with a group, centres may fold into other cells
        for cell in inner if name == "HOO" else []:
            agent._add(cell, 0.5, 1.0, 0.0)
            assert cell in agent._path(agent.arms.point(cell))
        return
    if isinstance(agent, ob.agents.OrbitTree):
        # others fold, too
        leaves = np.flatnonzero(agent._leaves.live).tolist() if name == "OrbitTree" else []
        assert [agent.arms.handle(agent.arms.point(leaf)) for leaf in leaves] == leaves
        return
    if is_tree(agent):
        tree = name == "HCT" and [agent.arms.handle(agent.arms.point(cell)) for cell in (1, 2)]
        assert not tree or tree == [1, 2]
        return
    if isinstance(agent, ob.agents.OrbitGP):
        play(agent, 10, 0)
        rows = range(len(agent._model.rewards))
        points = agent.arms.units.leave(agent._model.rewards.points)
        features = [agent._model.features(agent._points.inside(points[row])[None])[0] for row in rows]
        assert [agent._model.place(feature)[0] for feature in features] == list(rows)
        return
    if lists_of(agent) is not None:
        assert all(arm in lists_of(agent).of(arm) for arm in range(agent.n_arms))
    numbers = [nearest(agent, agent.arms.point(arm)) for arm in range(agent.n_arms)]
    # images are equally near there
    assert numbers == list(range(agent.n_arms)) or name == "UniformMeshN full"


@pytest.mark.parametrize(("name", "horizon"), [pair for pair in PAIRS if not pair[0].startswith("OrbitGP")])
def test_compiled_loops_play_as_asking_and_telling(name, horizon):
    """A whole loop is the same as asking and telling, whatever was asked, told and left pending before."""
    by_hand, compiled = (AGENTS[name](horizon=horizon, seed=0, reward_range=(-0.5, 1.0)) for _ in range(2))
    for agent in (by_hand, compiled):
        for point in any_points(agent, 10, 1):
            agent.tell(point, 0.5)
        agent.ask_batch(3)
    draws = np.random.default_rng(2).random(fewer(name, 140))
    points, means = [], []
    for draw in draws:
        points.append(by_hand.ask())
        means.append(mean_at(by_hand, points[-1]))
        by_hand.tell(points[-1], float(draw < means[-1]))
    last = len(draws) - 1
    # across the ends of epochs, where the arms change
    keep = [0, 1, *range(5, last - 9, 7), last - 1, last]
    played, kept = rounds_of(compiled, lambda points: np.array([mean_at(compiled, p) for p in points]), draws, keep)
    # points made many at a time may differ in their last bit
    np.testing.assert_allclose(played, means, rtol=1e-12)
    np.testing.assert_array_equal(kept, [points[t] for t in keep])
    assert state(compiled) == state(by_hand)


@some
def test_it_earns_more_than_uniform_play(name):
    needed = {"elimination": 400_000, "OrbitGP": 200, "SequOOL": 600, "CKLUCB": 3000, "VROOM": 60_000}
    many = 10_000 if is_tree(AGENTS[name](horizon=10, seed=0)) else 40_000
    rounds = needed.get(name.split()[0], many)  # elimination plays evenly until it may drop arms
    agent, draws = AGENTS[name](horizon=rounds, seed=0), np.random.default_rng(1).random(rounds)
    means = means_at(agent, any_points(agent, 4000, 0))
    if name.startswith("SequOOL"):  # which is for rewards without noise
        while agent.rounds < rounds:
            point = agent.ask()
            agent.tell(point, mean_at(agent, point))
    else:
        played, _ = rounds_of(agent, lambda points: means_at(agent, points), draws)
        assert played.mean() > np.mean(means) + 0.02
    assert mean_at(agent, agent.recommend()) > np.mean(means)


@some
def test_any_order_of_asks_tells_and_refusals_keeps_the_books(name):
    agent, rng = AGENTS[name](horizon=None, seed=0), np.random.default_rng(4)
    pending, told = [], 0
    for step in itertools.count():
        if told >= fewer(name, 140):
            break
        action = rng.integers(5)
        if action <= 1:
            pending.append(agent.ask())
        elif action == 2 and pending:
            agent.tell(pending.pop(rng.integers(len(pending))), float(rng.random()))
            told += 1
        elif action == 3:
            point = any_points(agent, 1, step)[0]
            agent.tell(point, float(rng.random()))
            told += 1
            if is_listed(agent):  # a play of an arm that was asked for answers the ask
                answered = [i for i, ask in enumerate(pending) if agent.arms.key(ask) == agent.arms.key(point)]
                pending = [ask for i, ask in enumerate(pending) if i not in answered[:1]]
        elif action == 4 and pending and step % 3 == 0:
            agent.forget(pending.pop())
    assert agent.rounds == told
    for point in pending:
        agent.forget(point)
    assert (stats(agent)[:, 2] == 0).all()
    assert (stats(agent)[:, 1] >= 0).all()
