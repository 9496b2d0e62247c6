"""An experiment from its file to its store: all runs, the same on one process or two, and after any kill."""

import os
import shutil
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import psutil
import pytest
from distributed import Client, LocalCluster

import orbandit as ob
from orbandit.cli import main
from orbandit.errors import InputError, StoreError
from orbandit.experiments.running import CHUNK_SECONDS, MAX_PICTURED_DIM, N_PLAYS, run
from orbandit.experiments.spec import read
from orbandit.experiments.store import Store
from store_cases import missing

FILE = """
name = "disk"
horizons = [200, 1_000]
seeds = 4

[[problem]]
class = "Cone"
space = { class = "Ball", dim = 2 }
group = { class = "Dihedral", m = 5 }
peak = [0.3, 0.4]

[[agent]]
class = "OrbitTree"
group = [true, false]

[[agent]]
class = "UniformMesh"
"""


SPACE = """
horizons = [50]
seeds = 1
[[problem]]
class = "Cone"
space = {{ class = "Ball", dim = {dim} }}
group = {{ class = "Symmetric", dim = {dim} }}
peak = {peak}
[[agent]]
class = "OrbitTree"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "disk.toml"
    path.write_text(FILE)
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the results of the file, played by one process; they are for reading."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "disk.toml").write_text(FILE)
    assert run(read(folder / "disk.toml"), folder / "results.db", jobs=1) == 24
    return folder / "results.db"


def digest(path):
    with Store.open(path, write=False) as store:
        return store.digest()


def test_all_runs_are_played_once_and_as_simulate_plays_them(file, tmp_path):
    experiment, path, seen = read(file), tmp_path / "results.db", []
    assert len(missing(experiment, path)) == 24
    assert run(experiment, path, jobs=1, progress=seen.append) == 24
    assert run(experiment, path, jobs=1) == 0
    assert missing(experiment, path) == []
    assert len({one.key for one in seen}) == 24
    with Store.open(path, write=False) as store:
        stored = {(one.agent, one.horizon, one.seed): one for one in store.runs()}
    cone = experiment.build_problem("Cone")
    runs = ob.simulate(ob.agents.OrbitTree, cone, 1000, seeds=[2], use_group=False, n_plays=N_PLAYS)
    np.testing.assert_array_equal(stored["OrbitTree without group", 1000, 2].regret, runs.regret[0])
    np.testing.assert_array_equal(stored["OrbitTree without group", 1000, 2].plays, runs.plays[0])
    np.testing.assert_array_equal(stored["OrbitTree without group", 1000, 2].simple_regret, runs.simple_regret[0])
    assert {one.plays.shape for one in stored.values()} == {(N_PLAYS, 2)}


def test_points_are_kept_where_they_can_be_pictured(file, tmp_path):
    file.write_text(SPACE.format(dim=MAX_PICTURED_DIM, peak=[0.1] * MAX_PICTURED_DIM))
    run(read(file), tmp_path / "few.db", jobs=1)
    file.write_text(SPACE.format(dim=MAX_PICTURED_DIM + 1, peak=[0.1] * (MAX_PICTURED_DIM + 1)))
    run(read(file), tmp_path / "many.db", jobs=1)
    for name, shape in (("few", (50, MAX_PICTURED_DIM)), ("many", (0, MAX_PICTURED_DIM + 1))):
        with Store.open(tmp_path / f"{name}.db", write=False) as store:
            (one,) = store.runs()
        assert one.plays.shape == shape


def test_processes_and_interruptions_change_nothing(file, tmp_path, whole):
    experiment = read(file)
    run(experiment, tmp_path / "two.db", jobs=2)
    assert digest(whole) == digest(tmp_path / "two.db")

    class StopError(Exception):
        pass

    def stop(_):
        raise StopError

    for _ in range(3):
        with pytest.raises(StopError):
            run(experiment, tmp_path / "three.db", jobs=1, progress=stop)
    assert 0 < len(missing(experiment, tmp_path / "three.db")) < 24
    run(experiment, tmp_path / "three.db", jobs=1)
    assert digest(tmp_path / "three.db") == digest(whole)


def test_a_killed_command_goes_on_where_it_was(file, tmp_path, whole):
    path = tmp_path / "killed.db"
    command = [sys.executable, "-m", "orbandit", "run", str(file), "--out", str(path), "--jobs", "1"]
    # five runs that it tells of before it is killed, perhaps in the middle of the next
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        list(islice(process.stdout, 5))
        process.kill()
    assert 0 < len(missing(read(file), path)) <= 24 - 5
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert digest(path) == digest(whole)


def test_workers_end_with_the_process_that_started_them(tmp_path):
    script = tmp_path / "wait.py"
    script.write_text(
        "import os, time\n"
        "from orbandit.experiments.engines import on_processes\n"
        "def hang(seconds):\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(seconds)\n"
        "if __name__ == '__main__':\n"
        "    list(on_processes(hang, iter([[600.0]] * 4), 2))\n"
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        started = [psutil.Process(int(parent.stdout.readline())) for _ in range(2)]
        parent.kill()
    _, left = psutil.wait_procs(started, timeout=300)
    assert left == []


def test_another_experiment_or_a_foreign_file_is_refused(file, tmp_path, whole):
    path = Path(shutil.copy(whole, tmp_path))
    file.write_text(FILE.replace("seeds = 4", "seeds = 5"))
    before = path.read_bytes()
    with pytest.raises(InputError, match="another experiment"):
        run(read(file), path, jobs=1)
    assert path.read_bytes() == before
    foreign = tmp_path / "notes.txt"
    foreign.write_text("my notes")
    with pytest.raises(StoreError):
        run(read(file), foreign, jobs=1)
    assert foreign.read_text() == "my notes"


def test_the_commands(file, tmp_path, capsys):
    path, table = tmp_path / "results.db", tmp_path / "runs.csv"
    assert main(["run", str(file), "--out", str(path), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "OrbitTree without group" in shown
    assert "24 runs, 14,400 rounds" in shown
    assert not path.exists()
    assert main(["run", str(file), "--out", str(path), "--jobs", "1"]) == 0
    printed = capsys.readouterr().out
    assert "24 of 24 runs" in printed
    assert printed.count("rounds/s") == 24  # plain lines, since this is no terminal
    assert main(["run", str(file), "--out", str(path), "--jobs", "1"]) == 0
    assert "nothing left to play" in capsys.readouterr().out
    assert main(["export", str(path), str(table)]) == 0
    assert table.read_text().count("\n") > 24
    assert main(["export", str(path), str(table)]) == 1
    assert "runs.csv" in capsys.readouterr().err
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert "OrbitTree" in listed
    assert "WindFarm" in listed
    file.write_text(FILE.replace("peak", "peek"))
    assert main(["run", str(file)]) == 1
    assert "line 10" in capsys.readouterr().err


def test_results_that_are_there_may_be_refused(file, tmp_path, capsys):
    path = tmp_path / "results.db"
    command = ["run", str(file), "--out", str(path), "--jobs", "1"]
    file.write_text(FILE.replace("seeds = 4", "seeds = 1"))
    assert main([*command, "--no-resume"]) == 0
    before = path.read_bytes()
    capsys.readouterr()
    for more in ([], ["--dry-run"]):
        assert main([*command, *more, "--no-resume"]) == 1
        told = capsys.readouterr()
        assert f"{path} exists already; leave out --no-resume" in told.err
        assert not told.out
    assert path.read_bytes() == before
    for more in ([], ["--resume"]):
        assert main([*command, *more]) == 0
        assert "nothing left to play" in capsys.readouterr().out


def test_a_damaged_run_is_named_and_played_again_and_tables_do_without_it(file, tmp_path, capsys, whole):
    path, table = tmp_path / "results.db", tmp_path / "runs.csv"
    command = ["run", str(file), "--out", str(path), "--jobs", "1"]
    shutil.copy(whole, path)
    with Store.open(path, write=False) as store:
        regret = next(one.regret.tobytes() for one in store.runs() if (one.seed, one.horizon) == (2, 1000))
    data = bytearray(path.read_bytes())
    data[data.index(regret)] ^= 1
    path.write_bytes(data)
    capsys.readouterr()
    line = f"orbandit: {path}: the run of OrbitTree on Cone, horizon 1000, seed 2 is damaged and counts as missing"
    assert main([*command, "--dry-run"]) == 0
    told = capsys.readouterr()
    assert told.err.count("\n") == told.err.count(line) == 1
    assert "24 runs, 14,400 rounds, 1 runs left" in told.out
    for words in (["export", str(path), str(table)], ["report", str(path)]):
        assert main(words) == 0
        assert capsys.readouterr().err.startswith(line)
    assert "23 of 24" in path.with_suffix(".html").read_text()
    assert path.read_bytes() == data
    assert main(command) == 0
    told = capsys.readouterr()
    assert told.err.count("\n") == told.err.count(line) == 1
    assert "played 1 runs; 24 of 24" in told.out
    assert digest(path) == digest(whole)


SLOW = FILE.replace("[200, 1_000]", "[5_000]").replace("seeds = 4", "seeds = 3")


@pytest.mark.filterwarnings(
    "ignore"
)  # the cluster's own, about ports and unclosed sockets of the worker that was killed
def test_a_dask_cluster_that_loses_a_worker_gives_the_same(file, tmp_path, monkeypatch):
    monkeypatch.setitem(CHUNK_SECONDS, "dask", 0.0)  # a chunk for each run
    file.write_text(SLOW)
    experiment = read(file)
    run(experiment, tmp_path / "local.db", jobs=1)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        killed = []

        def kill_one(_):
            if not killed:
                with Client(cluster) as client:
                    killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        run(experiment, tmp_path / "dask.db", engine="dask", scheduler=cluster.scheduler_address, progress=kill_one)
    assert killed
    assert missing(experiment, tmp_path / "dask.db") == []
    assert digest(tmp_path / "dask.db") == digest(tmp_path / "local.db")


def test_engines_are_checked(file, tmp_path):
    for arguments in (
        {"engine": "slurm"},
        {"scheduler": "tcp://there"},
        {"engine": "dask", "scheduler": "a", "jobs": 2},
    ):
        with pytest.raises(InputError):
            run(read(file), tmp_path / "results.db", **arguments)
    assert not (tmp_path / "results.db").exists()
