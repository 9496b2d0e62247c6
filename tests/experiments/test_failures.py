"""Runs that fail, workers that are killed and commands that are interrupted: what is said, and what is kept."""

import os
import pickle
import signal
import subprocess
import sys
import time
from importlib import import_module

import psutil
import pytest
from distributed import LocalCluster

from orbandit.cli import main
from orbandit.errors import OrbanditError, OrbanditWarning, RunError
from orbandit.experiments import engines, players
from orbandit.experiments.running import MAX_ATTEMPTS, play, run
from orbandit.experiments.spec import read
from orbandit.experiments.store import Store
from store_cases import missing

MODULE = """
import os, pathlib, signal, time
import numpy as np

def path_of(name):
    return os.path.join(os.path.dirname(__file__), name)

def mark(name):
    with open(path_of(name), "a") as file:
        file.write(f"{os.getpid()}\\n")

class LocalError(Exception):
    def __init__(self, one, two):  # which cannot be unpickled
        super().__init__(f"{one} {two}")

class Base:
    def __init__(self, space, seed):
        self.seed = seed.entropy

    def ask(self):
        return np.zeros(2)

    def tell(self, point, reward):
        pass

class Raises(Base):
    def ask(self):
        if self.seed == 2:
            raise LocalError("too", "hot")  # line 29
        return np.zeros(2)

class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("no words")

class Mute(Base):
    def ask(self):
        raise MuteError

class Exits(Base):
    def ask(self):
        raise SystemExit(0)

class Dies(Base):
    def ask(self):
        if self.seed == 2:
            mark("dies")
            os.kill(os.getpid(), signal.SIGKILL)
        return np.zeros(2)

class DiesOnce(Base):
    def ask(self):
        if self.seed == 2 and not os.path.exists(path_of("dies")):
            mark("dies")
            os.kill(os.getpid(), signal.SIGKILL)
        return np.zeros(2)

class KillsItsParent(Base):
    def ask(self):
        if self.seed == 2:
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1e6)
        return np.zeros(2)

class Hangs(Base):
    def ask(self):
        if self.seed == 2:
            mark("hangs")
            time.sleep(1e6)
        return np.zeros(2)

class HangsAlways(Base):
    def ask(self):
        mark("hangs")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1e6)

class Leaves(Base):
    def ask(self):
        return np.array([0.0, 1.5])

class Waits(Base):
    def ask(self):
        time.sleep(0.1)  # five rounds are longer than a chunk should be
        if self.seed >= 2:
            pathlib.Path(__file__).with_name("waiting").touch()
            time.sleep(600.0)
        return np.zeros(2)
"""
FILE = """
horizons = [5]
seeds = {}
{}
[[problem]]
class = "Cone"
space = {{ class = "Ball", dim = 2 }}
peak = [0.3, 0.4]
[[agent]]
class = "agents_that_fail:{}"
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.delitem(sys.modules, "agents_that_fail", raising=False)
    (tmp_path / "agents_that_fail.py").write_text(MODULE)

    def written(name, more="", seeds=4):
        (tmp_path / "file.toml").write_text(FILE.format(seeds, more, name))
        return tmp_path / "file.toml"

    return written


def told(place):
    return f"Raises on Cone, horizon 5, seed 2: LocalError: too hot ({place}, line 29)"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_fails_is_named_with_its_error_and_its_place(write, tmp_path, capsys, jobs):
    experiment, path = read(write("Raises")), tmp_path / "results.db"
    with pytest.raises(RunError) as caught:
        run(experiment, path, jobs=jobs)
    assert isinstance(caught.value, OrbanditError)
    assert isinstance(caught.value, RuntimeError)
    assert str(caught.value) == told(tmp_path / "agents_that_fail.py")
    assert "in ask" in caught.value.__notes__[0]
    assert 2 in {task.seed for task in missing(experiment, path)}
    assert main(["run", str(write("Raises")), "--out", str(path), "--jobs", "1"]) == 1
    printed = capsys.readouterr().err
    assert printed == f"orbandit: {caught.value}\n"


def test_the_error_survives_pickling_and_a_run_that_exits_fails(write):
    with pytest.raises(RunError) as caught:
        play(next(read(write("Exits")).tasks()))
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert str(again).startswith("Exits on Cone, horizon 5, seed 0: SystemExit: 0 (")
    assert again.__notes__ == caught.value.__notes__


def test_an_error_without_a_text_is_named_by_its_kind(write):
    with pytest.raises(RunError, match="Mute on Cone, horizon 5, seed 0: MuteError: its text cannot") as caught:
        play(next(iter(read(write("Mute")).tasks())))
    assert "in ask" in caught.value.__notes__[0]


@pytest.mark.filterwarnings("ignore")  # the cluster's own, about ports and sockets
def test_a_run_that_fails_on_a_cluster_is_named_too(write, tmp_path):
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        with pytest.raises(RunError) as caught:
            run(read(write("Raises")), tmp_path / "one.db", engine="dask", scheduler=cluster.scheduler_address)
        assert str(caught.value) == told(tmp_path / "agents_that_fail.py")


def digest(path):
    with Store.open(path, write=False) as store:
        return store.digest()


KILLED = "its process was killed by SIGKILL, perhaps out of memory"


def lines_of(path):
    return path.read_text().splitlines()


def test_a_run_whose_process_was_killed_is_played_again(write, tmp_path):
    experiment = read(write("DiesOnce"))
    with pytest.warns(OrbanditWarning, match=f"DiesOnce on Cone, horizon 5, seed 2: {KILLED}; it is played again"):
        assert run(experiment, tmp_path / "killed.db", jobs=2) == 4
    assert len(lines_of(tmp_path / "dies")) == 1
    run(experiment, tmp_path / "whole.db", jobs=1)  # it dies no more
    assert digest(tmp_path / "killed.db") == digest(tmp_path / "whole.db")


@pytest.mark.parametrize("how", [{"jobs": 2}, {"engine": "dask", "jobs": 1}], ids=["local", "dask"])
@pytest.mark.filterwarnings("ignore")  # the cluster's own, about ports and sockets
def test_a_run_whose_process_is_killed_every_time_is_given_up_after_all_others(write, tmp_path, capsys, how):
    file, path = write("Dies"), tmp_path / "results.db"
    words = [word for key, value in how.items() for word in (f"--{key}", str(value))]
    assert main(["run", str(file), "--out", str(path), *words]) == 1
    told = capsys.readouterr()
    run_of, tries = "Dies on Cone, horizon 5, seed 2", f"tried 3 times, the last time {KILLED}"
    assert f"orbandit: {run_of}: {KILLED}; it is played again.\n" in told.err
    assert f"orbandit: {run_of}: {tries}; the other runs continue.\n" in told.err
    assert (
        f"orbandit: 1 runs were abandoned, all others are stored; start again to retry them:\n{run_of}: {tries}\n"
        in told.err
    )
    assert told.out.count("seed") == 3
    assert len(lines_of(tmp_path / "dies")) == MAX_ATTEMPTS == 3
    assert [task.seed for task in missing(read(file), path)] == [2]


@pytest.mark.filterwarnings("ignore")  # the cluster's own, about ports and sockets
def test_a_run_that_takes_workers_of_a_cluster_with_it_is_named(write, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "MAX_LOST_WORKERS", 0)
    monkeypatch.setattr(import_module("orbandit.experiments.running"), "MAX_ATTEMPTS", 1)
    experiment, path = read(write("KillsItsParent")), tmp_path / "results.db"
    with pytest.raises(RunError, match=r"seed 2: tried 1 times, the last time its process was lost with its worker"):
        run(experiment, path, engine="dask", jobs=1)
    assert 2 in {task.seed for task in missing(experiment, path)}


class Clock:
    """Stands still but while nothing is played but a run that hangs: then an hour goes by from one look to the next.

    So it does not matter when its process is looked at, and no other run can be late on a busy
    machine.
    """

    def __init__(self, path, many):
        self.path, self.many, self.stored, self.now = path, many, [], 0.0

    def __call__(self):
        if len(self.stored) >= self.many and self.path.exists():
            workers = lines_of(self.path)
            self.now += 3600.0 * bool(workers and psutil.pid_exists(int(workers[0])))
        return self.now


def check_given_up(experiment, path, place):
    assert [task.seed for task in missing(experiment, path)] == [2]
    (worker,) = lines_of(place / "hangs")
    assert not psutil.pid_exists(int(worker))


def test_a_run_that_hangs_is_given_up_and_the_others_are_played(write, tmp_path, monkeypatch):
    experiment, path = read(write("Hangs", "timeout = 3600")), tmp_path / "results.db"
    clock = Clock(tmp_path / "hangs", 2)
    monkeypatch.setattr(players, "clock", clock)
    words = "Hangs on Cone, horizon 5, seed 2: timed out after 3600 s"
    with (
        pytest.warns(OrbanditWarning, match=f"^{words}; the other runs continue"),
        pytest.raises(RunError, match=f"{words}$"),
    ):
        run(experiment, path, jobs=1, progress=clock.stored.append)
    check_given_up(experiment, path, tmp_path)


@pytest.mark.filterwarnings("ignore")  # the cluster's own, about ports and sockets
def test_a_run_that_hangs_on_a_cluster_is_given_up_and_the_others_are_played(write, tmp_path, monkeypatch):
    experiment, path = read(write("Hangs", "timeout = 3600")), tmp_path / "results.db"
    clock = Clock(tmp_path / "hangs", 2)
    monkeypatch.setattr(players, "clock", clock)
    local = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**local) as cluster:
        how = {"engine": "dask", "scheduler": cluster.scheduler_address, "progress": clock.stored.append}
        with pytest.raises(RunError, match="seed 2: timed out after 3600 s"):
            run(experiment, path, **how)
    check_given_up(experiment, path, tmp_path)


def test_the_command_tells_of_runs_that_timed_out(write, tmp_path, capsys):
    file = write("HangsAlways", "timeout = 0.2", seeds=3)
    assert main(["run", str(file), "--out", str(tmp_path / "results.db"), "--jobs", "2"]) == 1
    told = capsys.readouterr().err
    for seed in range(3):
        assert told.count(f"HangsAlways on Cone, horizon 5, seed {seed}: timed out after 0.2 s") == 2
    assert "3 runs were abandoned" in told
    assert len(lines_of(tmp_path / "hangs")) == 3
    assert not any(psutil.pid_exists(int(worker)) for worker in lines_of(tmp_path / "hangs"))


def test_a_timeout_is_shown_and_may_change_from_one_start_to_the_next(write, tmp_path, capsys):
    path = str(tmp_path / "results.db")
    assert main(["run", str(write("Base", "timeout = 5_000.5")), "--out", path, "--dry-run"]) == 0
    assert "timeout: 5000.5 s for a run\n" in capsys.readouterr().out
    assert main(["run", str(write("Base", "timeout = 5_000")), "--out", path, "--jobs", "1"]) == 0
    for more in ("", "timeout = 1e6"):
        assert main(["run", str(write("Base", more)), "--out", path]) == 0
        assert "nothing left to play" in capsys.readouterr().out


def test_an_agent_that_leaves_the_space_is_named(write, tmp_path):
    words = (
        r"Leaves on Cone, horizon 5, seed 0: InputError: an agent must play in Ball.*, but Leaves asked for .* round 1;"
    )
    with pytest.raises(RunError, match=words):
        run(read(write("Leaves")), tmp_path / "results.db", jobs=1)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_command_says_how_to_go_on_and_leaves_nobody_behind(write, tmp_path, jobs):
    file, path = write("Waits"), tmp_path / "results.db"
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from orbandit.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", code, "run", str(file), "--out", str(path), "--jobs", jobs]
    process = psutil.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        for seed in range(2):
            assert "seed" in process.stdout.readline(), seed
        while not (tmp_path / "waiting").exists():
            assert process.poll() is None
            time.sleep(0.01)
        workers = process.children(recursive=True)
        assert bool(workers) == (jobs == "2")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it, to all
        out, err = process.communicate(timeout=300)
    finally:
        if process.is_running():
            process.kill()
    assert process.returncode == 130
    assert err == f"orbandit: interrupted; what is finished is in {path}; start again to go on\n"
    assert "Traceback" not in out
    _, left = psutil.wait_procs(workers, timeout=300)
    assert left == []
    assert {task.seed for task in missing(read(file), path)} == {2, 3}
