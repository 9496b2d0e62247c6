"""A store shared by real processes, racing for it or killed with SIGKILL, is whole and complete in the end."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

import store_cases
from orbandit.experiments.store import Store, run_key
from store_cases import SPEC, make_run

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked and killed, as POSIX systems do")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


class Nursery:
    """A process that has imported everything and forks workers, so that many can be started in a short time."""

    def __init__(self):
        environment = os.environ | {"PYTHONHASHSEED": "77"}
        command = [sys.executable, store_cases.__file__]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def say(self, *words):
        print(json.dumps(words), file=self.process.stdin, flush=True)

    def hear(self):
        return json.loads(self.process.stdout.readline())


@pytest.fixture(scope="module")
def nursery():
    nursery = Nursery()
    yield nursery
    nursery.process.stdin.close()
    assert nursery.process.wait() == 0
    nursery.process.stdout.close()


@needs_fork
def test_key_is_the_same_in_another_process(nursery):
    parameters = {"z": [0.1, 1e300, -0.0], "a": {"ü": True, "b": None}, "seed": 2**70}
    nursery.say("key", parameters)
    assert nursery.hear() == run_key(parameters)


@needs_fork
def test_processes_add_to_one_store_at_the_same_time(nursery, path):
    Store.create(path, SPEC).close()
    ranges = [(0, 150, 1), (149, 49, -1), (50, 200, 1), (199, -1, -1)]
    nursery.say("race", str(path), ranges)
    new = [nursery.hear() for _ in ranges]
    assert "failed" not in new
    assert sum(new) == 200
    with Store.open(path) as store, Store.create(path.with_name("alone.db"), SPEC) as alone:
        alone.add_many(make_run(seed) for seed in range(200))
        assert [run.key for run in store.runs()] == [run.key for run in alone.runs()]
        assert store.digest() == alone.digest()


@needs_fork
def test_killed_at_random_moments_it_loses_and_doubles_nothing(nursery, path):
    count, kills, rng, reported = 500, 20, np.random.default_rng(7), set()
    Store.create(path, SPEC).close()
    for attempt in range(kills + 1):
        many = int(rng.choice([0, 1, 5, 15]))  # killed while it opens the store, or after some runs
        last = attempt == kills
        # so that none but the last can end
        nursery.say("work", str(path), count, count if last else many + 8)
        worker, told = nursery.hear(), []
        if not last:
            told = [nursery.hear() for _ in range(many)]
            time.sleep(rng.uniform(0.0, 0.002 if told else 0.02))
            os.kill(worker, signal.SIGKILL)
        told += list(iter(nursery.hear, "dead"))
        assert ("end" in told) == last
        assert many <= len(told)
        assert not reported & set(told)  # nothing is done again
        reported |= set(told) - {"end"}
        # at other times the next worker meets the file just as the dead one left it
        if attempt % 2:
            with Store.open(path, write=False) as store:
                assert reported <= store.done()
    raw_connection = sqlite3.connect(path)
    assert raw_connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert raw_connection.execute("SELECT count(*), count(DISTINCT key) FROM runs").fetchall() == [(count, count)]
    raw_connection.close()
    with Store.open(path) as store, Store.create(path.with_name("alone.db"), SPEC) as alone:
        alone.add_many(make_run(seed) for seed in range(count))
        assert store.digest() == alone.digest()
