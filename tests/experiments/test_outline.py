"""Outlines: names and counts of an experiment from its description alone, kept by its store, and stores of 0.1.0."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import orbandit as ob
from orbandit.cli import main
from orbandit.experiments import spec, store
from orbandit.experiments.outline import AgentName, Outline
from orbandit.experiments.running import Resumed, run
from orbandit.experiments.store import Store
from orbandit.reports.summary import summarise
from store_cases import make_run, raw

SAVED = Path(__file__).parent / "saved" / "begun-0.1.0.db"
"""Begun by 0.1.0: 44 of 48 runs, without an outline."""

WITHOUT_SIMPLE = SAVED.with_name("begun-format-3.db")
"""Begun before simple regret was recorded: 10 of 12 runs, in format 3."""

WITHOUT_LIMITS = SAVED.with_name("begun-format-4.db")
"""Begun before limits were recorded: 10 of 12 runs, of UniformMesh and OrbitTree, in format 4."""

FILE = """
horizons = [20, 40]
seeds = [3, 5]
[[problem]]
class = "Cone"
space = { class = "Ball", dim = 2 }
group = { class = "Dihedral", m = 5 }
peak = [0.3, 0.4]
[[problem]]
class = "Cone"
space = { class = "Ball", dim = 2 }
peak = [0.2, 0.4]
[[problem]]
name = "a disk"
class = "Cone"
space = { class = "Ball", dim = 2 }
peak = [0.1, 0.4]
[[agent]]
name = "tree"
class = "OrbitTree"
lipschitz = 1.0
group = [true, false]
[[agent]]
name = "tree"
class = "OrbitTree"
lipschitz = 2.0
group = [true, false]
[[agent]]
class = "UniformMesh"
delta = [0.5, 0.7]
group = false
"""

NAMES = (
    AgentName("tree", "tree", True),
    AgentName("tree without group", "tree", False),
    AgentName("tree 2", "tree 2", True),
    AgentName("tree without group 2", "tree 2", False),
    AgentName("UniformMesh(delta=0.5) without group", "UniformMesh(delta=0.5)", False),
    AgentName("UniformMesh(delta=0.7) without group", "UniformMesh(delta=0.7)", False),
)


@pytest.fixture
def experiment(tmp_path):
    path = tmp_path / "three.toml"
    path.write_text(FILE)
    return spec.read(path)


@pytest.fixture
def begun(tmp_path):
    return shutil.copy(SAVED, tmp_path / "begun.db")


@pytest.fixture
def no_agents(monkeypatch):
    """Let no agent of this package be built."""

    def refuse(self, *args, **kwargs):
        raise AssertionError(f"{type(self).__name__} was built")

    for name in ob.agents.__all__:
        monkeypatch.setattr(getattr(ob.agents, name), "__init__", refuse)


def test_an_outline_needs_the_description_only(experiment, no_agents):
    expected = Outline(("Cone", "Cone 2", "a disk"), NAMES, 3 * 6 * 2 * 2)
    assert experiment.outline == expected
    assert Outline.of(experiment.description) == expected
    assert Outline.from_text(expected.as_text()) == expected


@pytest.mark.parametrize("other", [{}, {"name": "mine"}, {"horizons": [3]}, {"agent": 3, "problem": "x"}])
def test_what_describes_no_experiment_has_no_outline(experiment, other):
    assert Outline.of(other) is None
    huge = {"class": "HOO", **{f"a{i}": [1, 2] for i in range(10)}}
    assert Outline.of({**experiment.description, "agent": [huge]}) is None


def test_a_store_keeps_the_names_that_its_runs_have(experiment, tmp_path, monkeypatch):
    path = tmp_path / "kept.db"
    assert run(experiment, path, jobs=1) == 72
    # as another version may have it
    monkeypatch.setattr("orbandit.experiments.outline.WITHOUT_GROUP", " (blind)")
    assert Outline.of(experiment.description) != experiment.outline
    with Store.open(path, write=False) as kept:
        assert kept.outline == experiment.outline
    summary = summarise(path)
    assert summary.n_expected == 72
    assert [result.name for result in summary.problems] == ["Cone", "Cone 2", "a disk"]
    for result in summary.problems:
        for horizon in result.horizons:
            assert {(one.label, one.family, one.uses_group) for one in horizon.agents} == set(NAMES)
            assert {row.family for row in horizon.worth()} == {"tree", "tree 2"}


def test_a_page_is_written_where_no_agent_can_be_built(experiment, tmp_path, begun, no_agents):
    with Store.create(tmp_path / "new.db", experiment.description, experiment.outline) as new, Store.open(begun) as old:
        runs = list(old.runs())
        new.add_many(runs)
    for path in (tmp_path / "new.db", begun):
        assert ob.reports.report(path).n_runs == len(runs)
        assert path.with_suffix(".html").stat().st_size > 10_000


def test_a_page_does_without_the_module_of_an_agent(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "agents_soon_gone.py").write_text("from orbandit.agents import OrbitTree as Mine\n")
    file = tmp_path / "mine.toml"
    file.write_text(FILE.replace('"OrbitTree"', '"agents_soon_gone:Mine"'))
    experiment = spec.read(file)
    run(experiment, tmp_path / "mine.db", jobs=1)
    (tmp_path / "agents_soon_gone.py").unlink()
    monkeypatch.delitem(__import__("sys").modules, "agents_soon_gone")
    summary = summarise(tmp_path / "mine.db")
    assert summary.n_expected == summary.n_runs == 72
    assert summary.problems[0].longest.agents[0].family in {name.family for name in NAMES}


def test_a_store_of_0_1_0_is_reported_as_it_was(begun):
    summary = summarise(begun)
    assert (summary.n_runs, summary.n_expected, summary.versions) == (44, 48, ("0.1.0",))
    assert [result.name for result in summary.problems] == ["square", "Ackley"]
    assert summary.families == ("UniformMesh(delta=0.3)", "UniformMesh(delta=0.5)", "tree")
    told = [(one.label, one.family, one.uses_group) for one in summary.problems[0].longest.agents]
    assert told == [
        ("tree", "tree", True),
        ("tree without group", "tree", False),
        ("UniformMesh(delta=0.5) without group", "UniformMesh(delta=0.5)", False),
        ("UniformMesh(delta=0.5)", "UniformMesh(delta=0.5)", True),
        ("UniformMesh(delta=0.3) without group", "UniformMesh(delta=0.3)", False),
        ("UniformMesh(delta=0.3)", "UniformMesh(delta=0.3)", True),
    ]
    finals = [one.final.value for one in summary.problems[0].longest.agents]
    assert finals == pytest.approx([9.4834, 9.8127, 11.7090, 11.7284, 12.4060, 13.7055], abs=1e-4)


def test_a_store_of_0_1_0_is_gone_on_with(begun, tmp_path, monkeypatch):
    # whose runs are those of that version
    monkeypatch.setattr(spec, "version", lambda name: "0.1.0")
    with Store.open(begun, write=False) as kept:
        experiment = spec.restore(kept.spec, tmp_path)
    assert run(experiment, begun, jobs=1) == 4
    assert summarise(begun).n_runs == 48


@pytest.mark.parametrize("saved", [SAVED, WITHOUT_SIMPLE, WITHOUT_LIMITS], ids=["format 2", "format 3", "format 4"])
def test_older_formats_are_read_as_they_are_and_gone_on_with(saved, tmp_path):
    path, keeps = shutil.copy(saved, tmp_path / "old.db"), saved != SAVED
    more = make_run(2)
    kept = more if keeps else replace(more, simple_regret=None, limit=None)  # which 0.1.0 can read
    with Store.open(path, write=False) as old:
        runs, outline, digest = list(old.runs()), old.outline, old.digest()
        assert path.read_bytes() == saved.read_bytes()
        assert {one.limit for one in runs} == {None}
        assert {one.simple_regret is None for one in runs} == {saved != WITHOUT_LIMITS}
        with Store.open(path), Store.open(path) as new:
            assert new.add(more)
            assert kept in old.runs()  # by one that was opened before
    with Store.open(path, write=False) as new:
        assert (new.spec, new.outline) == (old.spec, outline)
        assert [one for one in new.runs() if one != kept] == runs
        again = next(one for one in new.runs() if one == kept)
        assert (again.simple_regret is not None) == (again.limit is not None) == keeps
    raw(path, f"DELETE FROM runs WHERE key = '{more.key}'")
    with Store.open(path, write=False) as new:
        assert new.digest() == digest


def test_runs_with_and_without_simple_regret_are_of_one_experiment(tmp_path, monkeypatch):
    path = shutil.copy(WITHOUT_SIMPLE, tmp_path / "old.db")
    with Store.open(path, write=False) as kept:
        old, experiment = list(kept.runs()), spec.restore(kept.spec, tmp_path)
    monkeypatch.setattr(spec, "version", lambda name: old[0].parameters["version"])
    assert run(experiment, path, jobs=1) == 2
    with Store.open(path, write=False) as kept:
        runs = list(kept.runs())
    assert [one for one in runs if one.simple_regret is None] == old
    for one in runs:
        told = {"seeds": [one.seed], "checkpoints": 2, "use_group": one.agent == "OrbitTree"}
        again = ob.simulate(ob.agents.OrbitTree, experiment.build_problem("Cone"), one.horizon, **told)
        np.testing.assert_array_equal(one.regret, again.regret[0])
        if one.simple_regret is not None:
            np.testing.assert_array_equal(one.simple_regret, again.simple_regret[0])


def test_runs_with_and_without_limits_are_of_one_experiment(tmp_path, monkeypatch):
    path = shutil.copy(WITHOUT_LIMITS, tmp_path / "old.db")
    assert {one.limit for h in summarise(path).problems[0].horizons for one in h.agents} == {None}
    with Store.open(path, write=False) as kept:
        old, experiment = list(kept.runs()), spec.restore(kept.spec, tmp_path)
    monkeypatch.setattr(spec, "version", lambda name: old[0].parameters["version"])
    assert run(experiment, path, jobs=1) == 2
    with Store.open(path, write=False) as kept:
        runs = list(kept.runs())
    (new,) = (one for one in runs if one.limit is not None)
    assert (new.agent, new.horizon, new.seed) == ("UniformMesh", 40, 2)
    assert [one for one in runs if one.horizon == 20 or one.seed < 2] == old
    limits = {(h.horizon, one.label): one.limit for h in summarise(path).problems[0].horizons for one in h.agents}
    tree = {(horizon, "OrbitTree"): None for horizon in (20, 40)}
    assert limits == {(20, "UniformMesh"): None, (40, "UniformMesh"): new.limit, **tree}


def test_a_resume_checks_the_store_once(experiment, tmp_path, monkeypatch):
    path, checks = tmp_path / "results.db", []

    def interrupt(one):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(experiment, path, jobs=1, progress=interrupt)
    found = store._found
    monkeypatch.setattr(store, "_found", lambda *given: checks.append(given) or found(*given))
    assert main(["run", str(tmp_path / "three.toml"), "--out", str(path), "--jobs", "1"]) == 0
    assert len(checks) == 1
    assert run(experiment, path, jobs=1) == 0
    assert main(["run", str(tmp_path / "three.toml"), "--out", str(path), "--dry-run"]) == 0
    assert len(checks) == 3


def test_what_is_resumed_is_only_read_until_it_is_played(begun, tmp_path, monkeypatch):
    monkeypatch.setattr(spec, "version", lambda name: "another")
    before = begun.read_bytes()
    with Store.open(begun, write=False) as kept:
        experiment = spec.restore(kept.spec, tmp_path)
    with Resumed(experiment, begun) as resumed:
        assert (len(resumed.left), resumed.n_outdated) == (48, 44)
    assert begun.read_bytes() == before
