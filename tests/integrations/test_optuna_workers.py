"""Several processes on one storage, one of them killed: nothing finished is lost, and no point is proposed twice."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

from orbandit.agents import OrbitTree
from orbandit.integrations.optuna import OrbitSampler

UNITS = [["x1", "y1"], ["x2", "y2"], ["x3", "y3"]]
NAMES = [name for unit in UNITS for name in unit]

WORKER = """
import json, os, sys, time
import optuna
from orbandit.agents import OrbitTree
from orbandit.integrations.optuna import OrbitSampler

url, units, number_to_hang_at, wanted, death = json.loads(sys.argv[1])
optuna.logging.set_verbosity(optuna.logging.ERROR)
storage = optuna.storages.RDBStorage(url, engine_kwargs={"connect_args": {"timeout": 600}} if "sqlite" in url else None)
sampler = OrbitSampler(exchangeable=units, agent=OrbitTree, seed=0)
study = optuna.load_study(study_name="shared", storage=storage, sampler=sampler)
own = 0

def objective(trial):
    global own
    own += 1
    points = [[trial.suggest_float(name, -1.0, 1.0) for name in unit] for unit in units]
    print(json.dumps(["started", trial.number]), flush=True)
    if own == number_to_hang_at:
        time.sleep(600)
    time.sleep(0.02)
    return sum((x - y) ** 2 for x, y in points)

def finished(study, trial):
    print(json.dumps(["finished", trial.number, trial.value, trial.params]), flush=True)

while (done := sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False))) < wanted:
    if number_to_hang_at or done < wanted // 2 or os.path.exists(death):  # the rest is for after the death
        study.optimize(objective, n_trials=1, callbacks=[finished])
    else:
        time.sleep(0.02)
"""


def worker(url, hang_at, wanted, death):
    given = json.dumps([url, UNITS, hang_at, wanted, str(death)])
    return subprocess.Popen([sys.executable, "-c", WORKER, given], stdout=subprocess.PIPE, text=True)


def read(line):
    return json.loads(line)


def run(url, workers, wanted, death):
    """Run so many workers until so many trials are finished, kill one in its third, and return what was printed.

    The file `death` tells the others of it: however slow the first is, some trials are left when it
    dies.
    """
    started = [worker(url, 3 if i == 0 else 0, wanted, death) for i in range(workers)]
    victim, lines = started[0], []
    try:
        for line in victim.stdout:
            lines.append(read(line))
            if [kind for kind, *_ in lines].count("started") == 3:
                break
        os.kill(victim.pid, signal.SIGKILL)
        assert victim.wait() == -signal.SIGKILL
        death.touch()
        for other in started[1:]:
            out, _ = other.communicate(timeout=600)
            assert other.returncode == 0
            lines += map(read, out.splitlines())
    finally:
        for process in started:
            process.kill()
            process.wait()
            process.stdout.close()
    (lost,) = [number for kind, number, *_ in lines if kind == "started"][2:3]
    return lost, {
        number: (value, params) for kind, number, *rest in lines if kind == "finished" for value, params in [rest]
    }


@contextmanager
def opened(url):
    """Open a storage whose connections are closed at the end."""
    storage = optuna.storages.RDBStorage(url)
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def check(url, workers, wanted, death):
    """Let workers share a study, and go on with it afterwards."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with opened(url) as storage:
        follow(storage, url, workers, wanted, death)


def follow(storage, url, workers, wanted, death):
    study = optuna.create_study(study_name="shared", storage=storage)
    lost, finished = run(url, workers, wanted, death)
    trials = study.get_trials(deepcopy=False)
    complete = {trial.number: (trial.value, trial.params) for trial in trials if trial.state == TrialState.COMPLETE}
    assert complete == finished  # all that a worker finished, and nothing else
    assert wanted <= len(complete) < wanted + workers
    assert trials[lost].state == TrialState.RUNNING
    assert len(trials) == len(complete) + 1

    sampler = OrbitSampler(exchangeable=UNITS, agent=OrbitTree, seed=0)
    study = optuna.load_study(study_name="shared", storage=storage, sampler=sampler)
    study.optimize(lambda trial: sum(trial.suggest_float(name, -1.0, 1.0) for name in NAMES), n_trials=3)
    again = study.get_trials(deepcopy=False)
    assert len(again) == len(trials) + 3
    points = np.array([[trial.params[name] for name in NAMES] for trial in again])
    gaps = np.abs(points[:, None] - points).max(axis=2) + np.eye(len(points))
    assert gaps.min() > 1e-7
    # close only if both ran at the same time
    for one, two in zip(*np.nonzero(np.triu(gaps < 1e-4)), strict=True):
        ended = again[one].datetime_complete
        assert ended is None or again[two].datetime_start < ended


@pytest.fixture(scope="module")
def compiled():
    """Compile what workers need once, so that they find it in the cache."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=OrbitSampler(exchangeable=UNITS, agent=OrbitTree, seed=0))
    study.optimize(lambda trial: sum(trial.suggest_float(name, -1.0, 1.0) for name in NAMES), n_trials=12)
    for _ in range(3):
        study.ask().suggest_float("x1", -1.0, 1.0)


@pytest.fixture
def postgres():
    """The address of a private server on a Unix socket."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    found = shutil.which("initdb") or (homes and homes[-1] / "initdb")
    if not found:
        pytest.skip("PostgreSQL is not installed; run tests/install_postgresql.sh, or install the package postgresql.")
    home = Path(found).parent
    user = {}
    # a short path, as sockets need, that others may enter
    folder = Path(tempfile.mkdtemp(prefix="orbandit-"))
    if os.geteuid() == 0:  # which PostgreSQL refuses to run as
        known = {entry.pw_name for entry in pwd.getpwall()}
        owner = "postgres" if "postgres" in known else "nobody"
        entry = pwd.getpwnam(owner)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def call(name, *words):
        done = subprocess.run([home / name, *words], cwd=folder, capture_output=True, text=True, timeout=600, **user)
        assert done.returncode == 0, done.stdout + done.stderr

    data, log = folder / "data", folder / "log"
    try:
        call("initdb", "-D", data, "-U", "orbandit", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        options = f"-k {folder} -c listen_addresses= -c fsync=off -c max_connections=40"
        call("pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "-t", "600", "start")
        try:
            yield f"postgresql+psycopg://orbandit@/postgres?host={folder}"
        finally:
            call("pg_ctl", "-D", data, "-m", "immediate", "-w", "-t", "600", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_four_workers_on_postgresql_one_of_them_killed(compiled, postgres, tmp_path):
    check(postgres, workers=4, wanted=24, death=tmp_path / "death")


def test_two_workers_on_sqlite_one_of_them_killed(compiled, tmp_path):
    check(f"sqlite:///{tmp_path / 'study.db'}", workers=2, wanted=16, death=tmp_path / "death")
