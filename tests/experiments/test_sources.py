"""The user's own code and data are part of what determines a run."""

import hashlib
import os
import subprocess
import sys

import pytest

from orbandit.cli import main
from orbandit.errors import RunError, SpecError
from orbandit.experiments.running import Resumed, play, run
from orbandit.experiments.spec import read
from store_cases import missing

PEAK = """
import orbandit as ob

class Peak(ob.problems.Cone):
    def __init__(self):
        super().__init__(ob.spaces.Ball(2), ob.groups.Dihedral(5), peak=[{}, 0.4])

class Tree(ob.agents.OrbitTree):
    pass
"""
FILE = """
horizons = [20]
seeds = 3
[[problem]]
{problem}
[[agent]]
class = "OrbitTree"
[[agent]]
class = "{agent}"
"""
OWN = 'class = "peaks_that_move:Peak"'
DATA = 'class = "RatingFactorization"\nratings = "ratings.csv"\nusers = 1\nitems = 1\nfactors = 1'
PLAIN = 'class = "Cone"\nspace = { class = "Ball", dim = 2 }\npeak = [0.3, 0.4]'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.delitem(sys.modules, "peaks_that_move", raising=False)
    (tmp_path / "peaks_that_move.py").write_text(PEAK.format(0.3))
    ratings(tmp_path, 5)
    return tmp_path


def ratings(folder, most):
    rows = "".join(f"{u},{m},{(u + m) % most + 1},0\n" for u in (1, 2) for m in (1, 2))
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n" + rows)


def write(folder, problem, agent="HOO"):
    path = folder / "file.toml"
    path.write_text(FILE.format(problem=problem, agent=agent))
    return path


def checksum(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def command(*words):
    result = subprocess.run([sys.executable, "-m", "orbandit", "run", *words, "--jobs", "1"], **CAPTURED)
    assert result.returncode == 0, result.stderr
    return result.stdout


CAPTURED = {"capture_output": True, "text": True, "env": {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}}


def test_sources_are_parameters_of_tasks_that_have_any(folder):
    module, data = folder / "peaks_that_move.py", folder / "ratings.csv"
    tree = {"peaks_that_move:Tree": checksum(module)}
    for problem, own in ((OWN, {"peaks_that_move:Peak": checksum(module)}), (DATA, {"ratings.csv": checksum(data)})):
        tasks = list(read(write(folder, problem, "peaks_that_move:Tree")).tasks())
        assert [task.parameters["sources"] for task in tasks] == [own] * 3 + [own | tree] * 3
    tasks = list(read(write(folder, PLAIN, "peaks_that_move:Tree")).tasks())
    assert ["sources" in task.parameters for task in tasks] == [False] * 3 + [True] * 3


def test_a_change_of_a_module_is_played_again(folder, capsys):
    file = write(folder, OWN)
    for told in ("played 6 runs", "nothing left"):
        assert main(["run", str(file), "--jobs", "1"]) == 0
        assert told in capsys.readouterr().out
    (folder / "peaks_that_move.py").write_text(PEAK.format(-0.25))
    printed = command(str(file))
    assert "played 6 runs" in printed
    assert "also holds 6 runs of other code, data or another version" in printed


def test_a_change_of_data_is_played_again_with_the_new_data(folder):
    path = folder / "results.db"
    first = read(write(folder, DATA))
    assert run(first, path, jobs=1) == 6
    before = first.build_problem("RatingFactorization")
    ratings(folder, 2)
    second = read(write(folder, DATA))
    assert second.build_problem("RatingFactorization") is not before
    with Resumed(second, path) as resumed:
        assert len(resumed.left) == resumed.n_outdated == 6
    assert run(second, path, jobs=1) == 6
    assert missing(second, path) == []


def test_who_holds_other_code_or_data_does_not_play(folder):
    tasks = list(read(write(folder, DATA)).tasks())
    ratings(folder, 2)
    with pytest.raises(RunError, match=r"ratings\.csv differ from what the experiment was begun with"):
        play(tasks[0])
    read(write(folder, OWN))
    (folder / "peaks_that_move.py").write_text(PEAK.format(-0.25))
    with pytest.raises(SpecError, match=r"line 4: .*peaks_that_move\.py was changed since it was imported"):
        read(write(folder, OWN))
