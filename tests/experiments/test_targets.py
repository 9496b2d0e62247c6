"""Where the results of an experiment go: files that others make meanwhile, and what is refused, by plans too."""

import pytest

from orbandit.cli import main
from orbandit.errors import InputError
from orbandit.experiments.running import run
from orbandit.experiments.spec import read
from orbandit.experiments.store import Store
from store_cases import missing

FILE = """
horizons = [50]
seeds = 4
[[problem]]
class = "Cone"
space = { class = "Ball", dim = 2 }
group = { class = "Dihedral", m = 5 }
peak = [0.3, 0.4]
[[agent]]
class = "OrbitTree"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "disk.toml"
    path.write_text(FILE)
    return path


def test_a_file_that_another_process_makes_meanwhile_is_shared(file, tmp_path, monkeypatch):
    experiment, create = read(file), Store.create

    def late(path, description, outline):
        create(path, made).close()
        return create(path, description, outline)

    monkeypatch.setattr(Store, "create", late)
    made = experiment.description
    assert run(experiment, tmp_path / "results.db", jobs=1) == 4
    assert missing(experiment, tmp_path / "results.db") == []
    made = {"horizons": [1]}
    with pytest.raises(InputError, match="another experiment"):
        run(experiment, tmp_path / "other.db", jobs=1)
    with Store.open(tmp_path / "other.db", write=False) as store:
        assert store.done() == set()


@pytest.mark.parametrize(
    ("place", "words", "told"),
    [
        ("other.db", [], "other.db holds another experiment than 'disk'"),
        ("notes.db", [], "notes.db is no"),
        ("none/results.db", [], "none is no folder; make it first"),
        ("gone.db", [], "gone.db-wal is left of a removed file"),
        ("results.db", ["--jobs", "0"], "`jobs"),
        ("results.db", ["--scheduler", "tcp://there:1"], "`scheduler="),
        ("whole.db", ["--jobs", "0"], "`jobs"),
    ],
)
def test_a_plan_refuses_what_the_command_refuses(file, tmp_path, capsys, place, words, told):
    Store.create(tmp_path / "other.db", {"horizons": [1]}).close()
    (tmp_path / "notes.db").write_text("my notes")
    (tmp_path / "gone.db-wal").write_text("")
    if place == "whole.db":
        run(read(file), tmp_path / place, jobs=1)
    there = sorted(tmp_path.iterdir())
    said = set()
    for more in ([], ["--dry-run"]):
        assert main(["run", str(file), "--out", str(tmp_path / place), *words, *more]) == 1
        printed = capsys.readouterr()
        assert told in printed.err
        assert not printed.out
        said.add(printed.err)
    assert len(said) == 1
    assert sorted(tmp_path.iterdir()) == there


def test_remedies_are_told_in_words_of_the_command(file, tmp_path, capsys):
    assert main(["export", str(tmp_path / "none.db"), str(tmp_path / "runs.csv")]) == 1
    assert "none.db is missing; `orbandit run`, or" in capsys.readouterr().err
    run(read(file), tmp_path / "results.db", jobs=1)
    (tmp_path / "runs.csv").write_text("")
    assert main(["export", str(tmp_path / "results.db"), str(tmp_path / "runs.csv")]) == 1
    assert "runs.csv exists already; replace it with --overwrite" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "none.toml")]) == 1
    assert (
        capsys.readouterr().err
        == f"orbandit: {tmp_path / 'none.toml'} is missing; name the TOML file of an experiment.\n"
    )
