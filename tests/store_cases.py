"""Finished runs for tests of the store; as a script, a process that forks workers which add them, killed or racing."""

import json
import os
import signal
import sqlite3
import sys
import traceback

import numpy as np

from orbandit.experiments.finished import FinishedRun, Limit, run_key
from orbandit.experiments.running import Resumed
from orbandit.experiments.store import Store

SPEC = {"title": "Ünïcode", "horizons": [100, 1000], "agents": {"HOO": {"rho": 0.1, "group": None}}}


def make_run(seed, /, **changes):
    """A run that depends on its seed only, in every bit."""
    rng = np.random.default_rng(seed)
    horizon, agent = 10 ** (2 + seed % 3), ("HOO", "UniformMeshN")[seed % 2]
    parameters = {"problem": "cone", "agent": agent, "horizon": horizon, "seed": seed, "rho": float(rng.random())}
    checkpoints = np.unique(np.geomspace(1, horizon, 60).round().astype(int))
    fields = {
        "key": run_key(parameters),
        "problem": "cone",
        "agent": agent,
        "horizon": horizon,
        "seed": seed,
        "parameters": parameters,
        "checkpoints": checkpoints,
        "regret": np.cumsum(rng.random(len(checkpoints))),
        "seconds": float(rng.random()),
        "plays": rng.normal(size=(seed % 5, 2)),
    }
    if seed % 4 != 1 and "checkpoints" not in changes:  # as if others were of an older version
        fields["simple_regret"] = rng.random(len(checkpoints))
    if seed % 4 == 2:
        fields["limit"] = Limit(40, 1 / 3, 20.1 + seed, None if seed % 8 == 2 else 0.1)
    return FinishedRun(**(fields | changes))


def raw(path, *statements):
    """Execute statements behind the store's back."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(*([statement] if isinstance(statement, str) else statement))
    connection.commit()
    connection.close()


def missing(experiment, path):
    """The runs that are still to be played."""
    with Resumed(experiment, path) as resumed:
        return resumed.left


def serve():
    """Do what is asked on standard input, in forked workers that answer on standard output."""
    for line in sys.stdin:
        task, *words = json.loads(line)
        if task == "key":
            tell(run_key(*words))
        elif task == "race":
            path, ranges = words
            workers = [fork(race, path, seeds) for seeds in ranges]
            for worker in workers:
                if os.waitpid(worker, 0)[1]:
                    tell("failed")
        elif task == "work":
            worker = fork(work, *words)
            os.waitpid(worker, 0)
            tell("dead")


def fork(task, *words):
    worker = os.fork()
    if not worker:
        try:
            task(*words)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return worker


def race(path, seeds):
    with Store.open(path) as store:
        new = sum(store.add(make_run(seed)) for seed in range(*seeds))
    tell(new)


def work(path, count, ration):
    """Add runs that are missing until there are so many, or the ration is used up: then wait to be killed."""
    tell(os.getpid())
    with Store.open(path) as store:
        done = store.done()
        for seed in range(count):
            run = make_run(seed)
            if run.key not in done:
                if not ration:
                    signal.pause()
                assert store.add(run)
                tell(run.key)
                ration -= 1
    tell("end")


def tell(word):
    os.write(1, json.dumps(word).encode() + b"\n")


if __name__ == "__main__":
    serve()
