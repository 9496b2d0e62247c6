"""An experiment without its file: what a store keeps of it is enough."""

import json
import sys
import tomllib

import pytest

from orbandit.errors import SpecError
from orbandit.experiments import spec

GOOD = """
name = "cube under S_3"
horizons = [1_000, 100]
seeds = 3

[[problem]]
name = "cone"
class = "Cone"
space = { class = "Box", low = 0.0, high = 1.0, dim = 3 }
group = { class = "Symmetric", dim = 3 }
peak = [0.9, 0.2, 0.4]

[[agent]]
class = "OrbitTree"
group = [true, false]
lipschitz = ["none", 2.0]
"""


def test_an_experiment_is_restored_from_its_description(tmp_path, monkeypatch):
    (tmp_path / "peaks_of_mine.py").write_text(
        "import orbandit as ob\nclass Mine(ob.problems.Cone):\n    def __init__(self, height: float = 1.0):\n"
        "        super().__init__(ob.spaces.Ball(2), None, peak=[0.1, 0.2], height=height)\n"
    )
    monkeypatch.setattr("sys.path", list(sys.path))
    path = tmp_path / "file.toml"
    path.write_text(GOOD + '[[problem]]\nclass = "peaks_of_mine:Mine"\n')
    read = spec.read(path)
    kept = json.loads(json.dumps(read.description))  # as a store keeps it
    again = spec.restore(kept, tmp_path)
    assert again == read
    assert [task.parameters for task in again.tasks()] == [task.parameters for task in read.tasks()]
    nameless = {key: value for key, value in kept.items() if key != "name"}
    assert spec.restore(nameless, tmp_path).name == "experiment"
    assert spec.restore(nameless, tmp_path, "cube").name == "cube"


def test_a_description_with_mistakes_is_refused_without_lines(tmp_path):
    description = tomllib.loads(GOOD)
    description["problem"][0]["peek"] = description["problem"][0].pop("peak")
    description["horizons"] = [0]
    with pytest.raises(SpecError) as caught:
        spec.restore(description, tmp_path)
    assert [one.path for one in caught.value.mistakes] == [("horizons", 0), ("problem", 0, "peek"), ("problem", 0)]
    assert "line" not in str(caught.value)
    assert str(caught.value).startswith("`horizons[0]` must be greater than or equal to 1, but got 0.\nunknown key")
