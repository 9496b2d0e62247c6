"""The tournament and the loops on it against full scans, compiled and as plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from orbandit._kernels import arms as kernels
from orbandit._kernels import tournament
from orbandit.agents.neighborhoods import Neighborhoods
from orbandit.agents.table import LEAST, UCB, Table

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])


def pick(kernel, compiled):
    return kernel if compiled else kernel.py_func


def tree(keys):
    levels = tournament.levels_of(len(keys))
    every = np.full(levels[-1], -np.inf)
    heads = np.zeros(levels[-1], dtype=np.int64)
    every[: len(keys)], heads[: len(keys)] = keys, np.arange(len(keys))
    return every, heads, levels


@both
@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 63, 64, 65, 300, 513])
def test_the_head_is_the_first_of_the_largest_keys(size, compiled):
    rng = np.random.default_rng(size)
    values = np.array([-np.inf, -1.0, 0.0, 0.5, 1.0, np.inf])  # ties everywhere
    keys = rng.choice(values, size)
    every, heads, levels = tree(keys)
    pick(tournament.raise_all, compiled)(every, heads, levels)
    for _ in range(600):
        arm = rng.integers(size)
        keys[arm] = rng.choice(values) if rng.random() < 0.5 else rng.standard_normal()
        pick(tournament.set_key, compiled)(every, heads, levels, arm, keys[arm])
        if np.isneginf(keys).all():
            continue
        assert heads[-1] == keys.argmax()
        assert every[-1] == keys.max()
    fresh = tree(keys)
    tournament.raise_all(*fresh)
    np.testing.assert_array_equal(every, fresh[0])  # mended and built anew are the same


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 19), st.sampled_from([-np.inf, -1.0, 0.0, 1.0, np.inf])), max_size=60))
def test_no_sequence_of_keys_misleads_it(changes):
    keys = np.zeros(20)
    every, heads, levels = tree(keys)
    tournament.raise_all(every, heads, levels)
    for arm, key in changes:
        keys[arm] = key
        tournament.set_key(every, heads, levels, arm, key)
        assert every[-1] == keys.max()
        assert keys[heads[-1]] == keys.max()
        if keys.max() > -np.inf:
            assert heads[-1] == keys.argmax()


def neighbor_lists(size, rng, shared):
    near = rng.random((size, size)) < (0.15 if shared else 0.0)
    near = near | near.T | np.eye(size, dtype=bool)
    return [np.flatnonzero(row) for row in near]


@both
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("rule", [UCB, LEAST])
def test_whole_loops_play_as_full_scans_do(rule, shared, compiled, monkeypatch):
    rng = np.random.default_rng(3)
    size, rounds, width = 30, 400 if compiled else 150, 2 * np.log(400)
    sees = neighbor_lists(size, rng, shared)
    means, draws = rng.random(size), rng.random(rounds)
    lists = None
    if shared:
        lists = Neighborhoods(size, lambda arms: listed([sees[arm] for arm in arms]))
    for name in ("play", "play_sharing", "all_indices"):
        monkeypatch.setattr(kernels, name, pick(getattr(kernels, name), compiled))
    table = Table(size, rule, width)
    played = table.play(lists, means, draws, 0.0, 1.0, np.inf)
    twin = naive.SharedUCB(sees, width) if rule == UCB else naive.Elimination(sees, np.inf, 0.0)
    for t in range(rounds):
        arm = twin.ask()
        assert played[t] == arm
        twin.tell(arm, float(draws[t] < means[arm]))
    np.testing.assert_array_equal(table.counts, twin.counts)
    np.testing.assert_array_equal(table.stats[:, kernels.SUM], twin.sums)


def listed(rows):
    return np.cumsum([0, *map(len, rows)]), np.concatenate([*rows, np.empty(0, dtype=np.int32)]).astype(np.int32)


def test_a_loop_stops_where_a_list_is_missing_or_a_quota_is_met():
    sees = [np.array([0, 1]), np.array([0, 1]), np.array([2])]
    lists = Neighborhoods(3, lambda arms: listed([sees[arm] for arm in arms]), batch=1)
    table, draws = Table(3, LEAST, 1.0), np.zeros(10)
    assert len(table.play(lists, np.ones(3), draws, 0.0, 1.0, np.inf)) == 0
    for arm in range(3):
        assert lists.of(arm).tolist() == sees[arm].tolist()
    assert not len(lists.unlisted())
    # two plays for each of {0, 1} and 2
    assert len(table.play(lists, np.ones(3), draws, 0.0, 1.0, 2.0)) == 4
    np.testing.assert_array_equal(table.counts, [2, 2, 2])


def test_pending_observations_narrow_the_index_and_leave_no_trace():
    table = Table(5, UCB, 3.0)
    for arm, reward in ((0, 1.0), (1, 0.0), (2, 1.0)):
        table.observe_own(arm, reward, 0.0)
    before = table.stats.copy(), table._keys.copy()
    arms = np.array([0, 3], dtype=np.int32)
    table.expect(arms, 2.0)
    assert table._keys[0] == 1.0 + np.sqrt(3.0 / 3.0)
    # nothing known but that two observations will come
    assert table._keys[3] == 0.5 + np.sqrt(3.0 / 2.0)
    assert table.leader == 4
    table.expect(arms, -2.0)
    np.testing.assert_array_equal(table.stats, before[0])
    np.testing.assert_array_equal(table._keys, before[1])
