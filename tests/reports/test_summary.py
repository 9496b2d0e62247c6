"""The numbers of a report are those of the runs."""

import dataclasses

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import StoreError
from orbandit.experiments.finished import FinishedRun, run_key
from orbandit.experiments.store import Store, load
from orbandit.reports.page import page
from orbandit.reports.statistics import Interval
from orbandit.reports.summary import Comparison, summarise


def finished(agent, seed, regret, **given):
    """Return a run of one checkpoint, of 10 rounds."""
    parameters = {"agent": {"class": agent}, "seed": seed, "version": "1.0", "problem": {"class": "mine:Own"}}
    parameters = parameters | given
    values = (run_key(parameters), "own", agent, 10, seed, parameters, np.array([10]), np.array([regret]))
    return FinishedRun(*values, seconds=1e-3, plays=np.empty((0, 0)))


def stored(path, runs):
    with Store.create(path, {"name": "own"}) as store:
        store.add_many(runs)
    return path


def test_it_is_what_the_runs_say(results):
    summary = summarise(results)
    table = load(results)
    assert summary.name == "two <shapes> & a box"
    assert summary.n_runs == table.key.nunique() == 3 * 3 * 2 * 4
    assert summary.n_rounds == 3 * 3 * 4 * (100 + 400)
    assert [result.name for result in summary.problems] == ["disk </script>", "icosahedron", "box of four"]
    assert summary.families == ("OrbitTree", "Zooming")
    for result in summary.problems:
        assert [one.horizon for one in result.horizons] == [100, 400]
        for horizon in result.horizons:
            rows = table[(table.problem == result.name) & (table.horizon == horizon.horizon)]
            finals = rows[rows["round"] == horizon.horizon].groupby("agent").regret.mean().sort_values()
            assert [agent.label for agent in horizon.agents] == list(finals.index)
            np.testing.assert_allclose([agent.final.value for agent in horizon.agents], finals)
            for agent in horizon.agents:
                mine = rows[rows.agent == agent.label].pivot_table("regret", "seed", "round").to_numpy()
                np.testing.assert_allclose(agent.regret, mine)
                np.testing.assert_allclose(agent.mean, mine.mean(axis=0))
                simple = rows[rows.agent == agent.label].pivot_table("simple_regret", "seed", "round").to_numpy()
                np.testing.assert_allclose(agent.simple.mean, simple.mean(axis=0))
                assert agent.simple.final.value == pytest.approx(simple[:, -1].mean())
                assert agent.simple.final.low <= agent.simple.final.value <= agent.simple.final.high
                assert (agent.low <= agent.mean + 1e-12).all()
                assert (agent.high >= agent.mean - 1e-12).all()
                assert agent.seeds == (0, 1, 2, 3)
                assert agent.seconds > 0


@pytest.mark.parametrize(("n_late", "longest"), [(1, 10), (2, 20), (3, 20), (4, 20)])
def test_the_longest_horizon_is_one_that_half_of_the_agents_have_played(tmp_path, n_late, longest):
    names = ["A", "B", "C", "D"]
    late = [finished(name, 0, 2.0, horizon=20) for name in names[:n_late]]
    late = [dataclasses.replace(run, horizon=20, checkpoints=np.array([20])) for run in late]
    path = stored(tmp_path / "results.db", [finished(name, 0, 1.0) for name in names] + late)
    assert summarise(path).problems[0].longest.horizon == longest


def test_what_the_group_is_worth(results):
    for result in summarise(results).problems:
        (worth,) = result.longest.worth()
        named = {agent.label: agent for agent in result.longest.agents}
        assert worth.family == "OrbitTree"
        assert worth.told == named["OrbitTree"].final
        assert worth.untold == named["OrbitTree without group"].final
        assert worth.comparison.ratio.value == pytest.approx(worth.told.value / worth.untold.value)
        assert worth.comparison.ratio.low <= worth.comparison.ratio.value <= worth.comparison.ratio.high


def test_pairs_slopes_and_exponents(results):
    disk, solid, box = summarise(results).problems
    assert (disk.exponent, solid.exponent, box.exponent) == (3 / 4, 4 / 5, 5 / 6)
    for result in (disk, solid, box):
        assert len(result.longest.comparisons) == 3
        for (better, worse), comparison in result.longest.comparisons.items():
            order = [agent.label for agent in result.longest.agents]
            assert order.index(better) < order.index(worse)
            assert comparison.ratio.value <= 1
        for label, slope in result.slopes.items():
            finals = [next(a for a in h.agents if a.label == label).final.value for h in result.horizons]
            assert slope.is_across
            assert slope.exponent.value == pytest.approx(np.log(finals[1] / finals[0]) / np.log(4))


def test_plays_are_gathered_where_a_picture_can_show_them(results):
    disk, solid, box = (result.longest.agents[0].plays for result in summarise(results).problems)
    assert disk.shape[1:] == (2,)
    assert solid.shape[1:] == (3,)
    assert len(disk) == len(solid) >= 4 * 50
    assert (np.linalg.norm(disk, axis=1) <= 1 + 1e-9).all()
    assert box.size == 0


def test_a_problem_that_cannot_be_built_again_is_told(tmp_path):
    summary = summarise(stored(tmp_path / "own.db", [finished("A", 0, 3.0), finished("B", 0, 1.5)]))
    (result,) = summary.problems
    assert result.problem is None
    assert "mine" in result.trouble
    assert result.exponent is None
    assert [agent.label for agent in result.longest.agents] == ["B", "A"]
    (comparison,) = result.longest.comparisons.values()
    assert comparison.ratio.value == 0.5
    assert not comparison.ratio.is_known  # of one run
    assert not comparison.is_clear(1)
    assert result.slopes == {}


def test_clear_means_clear_after_all_comparisons(tmp_path):
    rng = np.random.default_rng(0)
    scales = {"A": 1.0, "B": 1.01, "C": 2.0}
    runs = [finished(name, seed, scale * rng.uniform(0.9, 1.1)) for name, scale in scales.items() for seed in range(12)]
    (result,) = summarise(stored(tmp_path / "own.db", runs)).problems
    found = {frozenset(pair): comparison for pair, comparison in result.longest.comparisons.items()}
    assert {pair: one.is_clear(3) for pair, one in found.items()} == {
        frozenset("AB"): False,
        frozenset("AC"): True,
        frozenset("BC"): True,
    }
    border = Comparison(Interval(0.9, 0.8, 1.0), 0.01)
    assert border.is_clear(4)
    assert not border.is_clear(6)  # 0.05 / 6 < 0.01


def test_runs_are_paired_by_seed(tmp_path):
    """B has seeds that A has not, and what both share makes their ratio sharp."""
    rng = np.random.default_rng(1)
    shared = rng.uniform(50, 150, 20)
    runs = [finished("A", seed, 0.5 * shared[seed] * rng.uniform(0.99, 1.01)) for seed in range(0, 20, 2)]
    runs += [finished("B", seed, shared[seed] * rng.uniform(0.99, 1.01)) for seed in range(20)]
    (result,) = summarise(stored(tmp_path / "own.db", runs)).problems
    ratio = result.longest.comparisons["A", "B"].ratio
    assert ratio.value == pytest.approx(0.5, rel=0.01)
    assert ratio.high - ratio.low < 0.02


def test_with_one_horizon_slopes_are_those_of_the_last_decade(tmp_path):
    """Regret 1 up to a tenth of the horizon and growing like n^0.5 from there."""
    rounds = np.array([1, 10, 100, 200, 400, 1000])
    parameters = {"agent": {"class": "A"}, "seed": 0, "version": "1.0", "problem": {"class": "mine:Own"}}
    regret = np.sqrt(np.maximum(rounds, 100) / 100)
    run = FinishedRun(run_key(parameters), "own", "A", 1000, 0, parameters, rounds, regret, 1e-3, np.empty((0, 0)))
    (result,) = summarise(stored(tmp_path / "own.db", [run])).problems
    assert result.slopes["A"].exponent.value == pytest.approx(0.5)
    assert not result.slopes["A"].is_across


def test_an_unfinished_experiment_says_so_and_shows_all_agents(results, tmp_path):
    with Store.open(results, write=False) as store:
        spec, runs = store.spec, list(store.runs())
    kept = [run for run in runs if run.horizon == 100 or run.agent == "Zooming"]
    with Store.create(tmp_path / "part.db", spec) as store:
        store.add_many(kept)
    summary = summarise(tmp_path / "part.db")
    assert (summary.n_runs, summary.n_expected) == (len(kept), len(runs))
    for result in summary.problems:
        assert result.longest.horizon == 100
        assert len(result.longest.agents) == 3
        assert set(result.slopes) == {"OrbitTree", "OrbitTree without group", "Zooming"}
    assert "48 of 72 runs" in page(summary)
    assert "not finished" in page(summary)


def test_two_versions_are_two_agents(tmp_path):
    runs = [finished("A", 0, 1.0), finished("A", 0, 2.0, version="2.0")]
    summary = summarise(stored(tmp_path / "own.db", runs))
    assert summary.versions == ("1.0", "2.0")
    assert [agent.label for agent in summary.problems[0].longest.agents] == ["A [1.0]", "A [2.0]"]
    runs = [finished("A", 0, 1.0, sources={"mine:Own": "1"}), finished("A", 0, 2.0, sources={"mine:Own": "2"})]
    labels = [agent.label for agent in summarise(stored(tmp_path / "two.db", runs)).problems[0].longest.agents]
    assert all(label.startswith("A [source ") for label in labels)
    assert len(set(labels)) == 2


def test_no_results_are_no_report(tmp_path):
    with pytest.raises(StoreError, match="no finished run"):
        summarise(stored(tmp_path / "empty.db", []))
    with pytest.raises(StoreError, match="missing"):
        ob.reports.report(tmp_path / "nothing.db")
    assert dataclasses.is_dataclass(ob.reports.Summary)
