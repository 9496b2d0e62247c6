"""Chunks: how many runs a worker is handed at once, and that they are committed while others are still played."""

import os
import sys
import time
from itertools import islice
from pathlib import Path

import pytest

from orbandit.experiments import engines
from orbandit.experiments.chunks import Chunks
from orbandit.experiments.running import run
from orbandit.experiments.spec import read
from orbandit.experiments.tasks import Task
from store_cases import missing


def tasks(*kinds, seeds=10):
    return [
        Task("cone", agent, horizon, seed, {"seed": seed}, Path()) for agent, horizon in kinds for seed in range(seeds)
    ]


def test_a_chunk_has_one_run_until_its_time_is_known_and_then_as_many_as_fit():
    chunks = Chunks(tasks(("a", 10), ("a", 20), ("b", 10)), seconds=1.0)
    assert [len(next(chunks)) for _ in range(3)] == [1, 1, 1]
    chunks.learn(tasks(("a", 10))[:1], 0.4)
    assert len(next(chunks)) == 2
    chunks.learn(tasks(("a", 10))[:2], 60.0)
    assert len(next(chunks)) == 1
    chunks.learn(tasks(("a", 10))[:1], 0.0)
    # no further than the last of its kind
    assert [task.seed for task in next(chunks)] == [6, 7, 8, 9]
    assert [(task.horizon, task.seed) for task in next(chunks)] == [(20, 0)]
    chunks.learn(tasks(("a", 20))[:2], 0.2)
    assert [len(chunk) for chunk in islice(chunks, 2)] == [9, 1]
    assert [task.seed for chunk in chunks for task in chunk] == list(range(1, 10))
    assert list(chunks) == []


def test_chunks_are_asked_for_when_they_are_handed_out():
    asked = []

    def chunks():
        for i in range(40):
            asked.append(i)
            yield [0.0]

    next(engines.on_processes(time.sleep, chunks(), 1))
    assert len(asked) == 1
    asked.clear()
    played = engines.on_processes(time.sleep, chunks(), 2)
    next(played)
    assert len(asked) == 4
    assert len(list(played)) == 39
    assert len(asked) == 40


SLOW = """
import os, pathlib, time
import numpy as np

WORKERS, MANY = (pathlib.Path(__file__).with_name(name) for name in ("workers.txt", "many.txt"))

class Patient:
    def __init__(self, space):
        with open(WORKERS, "a") as file:
            file.write(f"{os.getpid()}\\n")

    def ask(self):
        time.sleep(0.04)  # ten rounds are longer than a chunk should be
        while len(set(WORKERS.read_text().split())) < int(MANY.read_text()):
            time.sleep(0.01)
        return np.zeros(2)

    def tell(self, point, reward):
        pass
"""
FILE = """
horizons = [10]
seeds = 12
[[problem]]
class = "Cone"
space = { class = "Ball", dim = 2 }
peak = [0.3, 0.4]
[[agent]]
class = "patient_agents:Patient"
"""


def test_slow_runs_are_spread_over_workers_and_committed_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "patient_agents.py").write_text(SLOW)
    (tmp_path / "file.toml").write_text(FILE)
    experiment, path = read(tmp_path / "file.toml"), tmp_path / "results.db"

    class StopError(Exception):
        pass

    def stop(_):
        raise StopError

    (tmp_path / "many.txt").write_text("1")
    with pytest.raises(StopError):
        run(experiment, path, jobs=1, progress=stop)
    assert len(missing(experiment, path)) == 11
    (tmp_path / "workers.txt").unlink()
    (tmp_path / "many.txt").write_text("2")  # no run ends before another worker has begun one
    run(experiment, path, jobs=2)
    assert missing(experiment, path) == []
    workers = (tmp_path / "workers.txt").read_text().split()
    assert len(workers) == 11
    assert len(set(workers) - {str(os.getpid())}) == 2
