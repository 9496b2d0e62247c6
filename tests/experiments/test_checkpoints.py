"""Checkpoints: the rounds at which the regret is read, for simulate and as a key of an experiment's file."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, InputTypeError, SpecError
from orbandit.experiments.finished import run_key
from orbandit.experiments.running import run
from orbandit.experiments.simulation import log_spaced
from orbandit.experiments.spec import read
from orbandit.experiments.store import Store
from store_cases import missing

DISK, GROUP = ob.spaces.Ball(2), ob.groups.Dihedral(5)
CONE = ob.problems.Cone(DISK, GROUP, peak=[0.3, 0.4])
FILE = """
horizons = [30, 200]
seeds = 1
{}
[[problem]]
class = "Cone"
space = {{ class = "Ball", dim = 2 }}
group = {{ class = "Dihedral", m = 5 }}
peak = [0.3, 0.4]
[[agent]]
class = "UniformMesh"
"""


@pytest.fixture
def write(tmp_path):
    def written(line, name="disk.toml"):
        path = tmp_path / name
        path.write_text(FILE.format(line))
        return path

    return written


def simulated(horizon, **settings):
    return ob.simulate(ob.agents.UniformMesh, CONE, horizon, seeds=[0, 1], **settings)


def test_a_list_of_rounds_reads_the_regret_there_and_at_the_horizon():
    every = simulated(200, checkpoints=range(1, 201))
    assert every.checkpoints.tolist() == list(range(1, 201))
    for rounds in ([10, 50, 200], [50, 10], [50, 10, 50, 201, 10**18], np.array([10, 50])):
        runs = simulated(200, checkpoints=rounds)
        assert runs.checkpoints.tolist() == [10, 50, 200]
        assert runs.checkpoints.dtype == np.int64
        np.testing.assert_array_equal(runs.regret, every.regret[:, [9, 49, 199]])
    assert simulated(5, checkpoints=[6, 7]).checkpoints.tolist() == [5]


def test_a_number_is_that_of_rounds_in_each_factor_of_ten():
    for many in (1, 3, 20, 100):
        runs = simulated(20_000, checkpoints=many)
        np.testing.assert_array_equal(runs.checkpoints, log_spaced(20_000, many))
        assert runs.checkpoints[[0, -1]].tolist() == [1, 20_000]
        late = runs.checkpoints[runs.checkpoints > 1000]
        assert np.diff(np.log10(late)) == pytest.approx(1 / many, rel=0.25)
    np.testing.assert_array_equal(simulated(500, checkpoints=20).regret, simulated(500).regret)


@pytest.mark.parametrize("wrong", [0, -3, 2.5, "ten", True, [], [0], [5, -1], [1.5], [None], [[1, 2]]])
def test_bad_values_are_refused(wrong):
    with pytest.raises((InputError, InputTypeError), match="`checkpoints"):
        simulated(100, checkpoints=wrong)


@pytest.mark.parametrize(
    ("line", "few", "many"),
    [
        ("checkpoints = [100, 10, 1_000]", [10, 30], [10, 100, 200]),
        ("checkpoints = 2", log_spaced(30, 2).tolist(), log_spaced(200, 2).tolist()),
        ("", log_spaced(30).tolist(), log_spaced(200).tolist()),
    ],
)
def test_a_file_says_when_the_regret_is_read(write, tmp_path, line, few, many):
    run(read(write(line)), tmp_path / "results.db", jobs=1)
    with Store.open(tmp_path / "results.db", write=False) as store:
        assert [one.checkpoints.tolist() for one in store.runs()] == [few, many]


def test_checkpoints_are_part_of_what_determines_a_run(write, tmp_path):
    lines = ("checkpoints = 3", "checkpoints = [3]", "checkpoints = [3, 4]", "")
    experiments = [read(write(line, f"{i}.toml")) for i, line in enumerate(lines)]
    assert [one.checkpoints for one in experiments] == [3, (3,), (3, 4), 20]
    assert len({run_key(task.parameters) for one in experiments for task in one.tasks()}) == 8
    same = read(write("checkpoints = 20", "same.toml"))
    assert [task.parameters for task in same.tasks()] == [task.parameters for task in experiments[-1].tasks()]
    run(experiments[0], tmp_path / "results.db", jobs=1)
    assert missing(experiments[0], tmp_path / "results.db") == []
    with pytest.raises(InputError, match="another experiment"):
        run(experiments[1], tmp_path / "results.db", jobs=1)


RULE = "`checkpoints` must be a whole number of rounds in each factor of ten, from 1 to 1,000, or a list of rounds"


@pytest.mark.parametrize(
    ("line", "place", "text"),
    [
        ("checkpoints = 0", 4, f"{RULE}, but got 0."),
        ("checkpoints = 1_001", 4, f"{RULE}, but got 1001."),
        ('checkpoints = "20"', 4, f'{RULE}, but got "20".'),
        ("checkpoints = 2.0", 4, f"{RULE}, but got 2.0."),
        ("checkpoints = true", 4, f"{RULE}, but got true."),
        ("checkpoints = {a = 1}", 4, f'{RULE}, but got {{"a": 1}}.'),
        ("checkpoints = []", 4, "`checkpoints` must have at least 1 item"),
        ("checkpoints = [\n  5,\n  0,\n]", 6, "`checkpoints[1]` must be greater than or equal to 1, but got 0"),
        ("checkpoints = [5, 2.5]", 4, "`checkpoints[1]` must be a valid integer, but got 2.5"),
        ("checkpoints = [5, 5]", 4, "`checkpoints` must all be different (5 appears twice), but got [5, 5]."),
        ("checkpoint = 5", 4, "unknown key 'checkpoint' of an experiment. Did you mean 'checkpoints'"),
    ],
)
def test_mistakes_are_told_with_their_line(write, line, place, text):
    path = write(line)
    with pytest.raises(SpecError) as caught:
        read(path)
    (told,) = str(caught.value).splitlines()
    assert told.startswith(f"{path}, line {place}: {text}")
    assert "brackets" not in told
