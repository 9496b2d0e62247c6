"""Runs that fail, workers that are killed and commands that are interrupted: what is said, and what is kept."""

import os
import pickle
import signal
import subprocess
import sys
import time

import psutil
import pytest
from distributed import LocalCluster

from orbandit.cli import main
from orbandit.errors import OrbanditError, RunError
from orbandit.experiments.run import missing, play, run
from orbandit.experiments.spec import read

MODULE = """
import os, time
import numpy as np

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
            raise LocalError("too", "hot")  # line 22
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
            time.sleep(2.0)
            os._exit(9)
        return np.zeros(2)

class Waits(Base):
    def ask(self):
        time.sleep(0.1 if self.seed < 2 else 600.0)
        return np.zeros(2)
"""
FILE = """
horizons = [5]
seeds = 4
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

    def written(name):
        (tmp_path / "file.toml").write_text(FILE.format(name))
        return tmp_path / "file.toml"

    return written


def told(place):
    return f"Raises on Cone, horizon 5, seed 2: LocalError: too hot ({place}, line 22)"


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
    assert main(["run", str(write("Raises")), "--out", str(path), "--jobs", str(jobs)]) == 1
    printed = capsys.readouterr().err
    assert printed == f"orbandit: {caught.value}\n"


def test_the_error_survives_pickling_and_a_run_that_exits_fails(write):
    with pytest.raises(RunError) as caught:
        play(list(read(write("Exits")).tasks())[:1])
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert str(again).startswith("Exits on Cone, horizon 5, seed 0: SystemExit: 0 (")
    assert again.__notes__ == caught.value.__notes__


def test_an_error_without_a_text_is_named_by_its_kind(write):
    with pytest.raises(RunError, match="Mute on Cone, horizon 5, seed 0: MuteError: its text cannot") as caught:
        play(list(read(write("Mute")).tasks())[:1])
    assert "in ask" in caught.value.__notes__[0]


@pytest.mark.filterwarnings("ignore")  # the cluster's own, about ports and sockets
def test_a_run_that_fails_on_a_cluster_is_named_too(write, tmp_path):
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        with pytest.raises(RunError) as caught:
            run(read(write("Raises")), tmp_path / "one.db", engine="dask", scheduler=cluster.scheduler_address)
        assert str(caught.value) == told(tmp_path / "agents_that_fail.py")


def test_a_worker_that_is_killed_is_told_of(write, tmp_path):
    experiment, path = read(write("Dies")), tmp_path / "results.db"
    with pytest.raises(RunError, match=r"a worker was killed, .*; \d runs are stored, start again to go on"):
        run(experiment, path, jobs=2)
    assert {2} <= {task.seed for task in missing(experiment, path)} <= {2, 3}


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
        time.sleep(0.5)
        workers = process.children(recursive=True)
        assert bool(workers) == (jobs == "2")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it, to all
        out, err = process.communicate(timeout=60)
    finally:
        if process.is_running():
            process.kill()
    assert process.returncode == 130
    assert err == f"orbandit: interrupted; what is finished is in {path}; start again to go on\n"
    assert "Traceback" not in out
    _, left = psutil.wait_procs(workers, timeout=30)
    assert left == []
    assert {task.seed for task in missing(read(file), path)} == {2, 3}
