"""run: play what an experiment's file describes, and keep every finished run in its store at once.

Runs are handed out in chunks of the seeds of one problem, agent and horizon, to worker processes; only this process
writes. A run is the same whoever plays it, so that it does not matter where a kill or a failure struck: what is in the
store is not played again.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import groupby, islice
from multiprocessing import get_context
from pathlib import Path

from orbandit._checks import as_count
from orbandit.errors import InputError
from orbandit.experiments.finished import FinishedRun, run_key
from orbandit.experiments.simulate import simulate
from orbandit.experiments.spec import Experiment, Task
from orbandit.experiments.store import Store

CHUNK_ROUNDS = 2_000_000
"""Rounds of a chunk, about a second of compiled play; at least one run."""

Progress = Callable[[FinishedRun], None]
"""Told each run once it is in the store."""


def run(
    experiment: Experiment,
    path: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Play the runs of an experiment that are not in its store yet, and return how many were played.

    Parameters
    ----------
    experiment : Experiment
        What to play (`read` of a file).
    path : path
        The store; a new file, or one that an earlier call for the same experiment left behind.
    jobs : int, optional
        Number of processes, by default one for each processor; 1 plays in this one.
    progress : callable, optional
        Called with each run once it is stored.

    Raises
    ------
    InputError
        If the store holds another experiment.
    StoreError
        If it is damaged, or no store at all.
    """
    workers = (os.cpu_count() or 1) if jobs is None else as_count(jobs, "jobs")
    with _opened(experiment, Path(path)) as store:
        done = store.done()
        chunks = list(_chunks(experiment, done))
        many = 0
        for finished in _played(chunks, workers):
            store.add_many(finished)
            many += len(finished)
            for one in finished:
                if progress is not None:
                    progress(one)
    return many


def missing(experiment: Experiment, path: str | os.PathLike[str]) -> int:
    """Return how many runs of an experiment are still to be played."""
    if not Path(path).exists():
        return len(experiment)
    with Store.open(path, write=False) as store:
        done = store.done()
    return sum(run_key(task.parameters) not in done for task in experiment.tasks())


def _opened(experiment: Experiment, path: Path) -> Store:
    if not path.exists():
        return Store.create(path, experiment.description)
    with Store.open(path, write=False) as store:  # which leaves the file of another experiment as it is
        if store.spec != experiment.description:
            raise InputError(f"{path} holds another experiment than {experiment.name!r}; choose another file.")
    return Store.open(path)


def _chunks(experiment: Experiment, done: set[str]) -> Iterator[list[Task]]:
    """Yield what is to be played: some seeds of one problem, agent and horizon at a time."""
    left = (task for task in experiment.tasks() if run_key(task.parameters) not in done)
    for (_, _, horizon), tasks in groupby(left, key=lambda task: (task.problem, task.agent, task.horizon)):
        while chunk := list(islice(tasks, max(1, CHUNK_ROUNDS // horizon))):
            yield chunk


def _played(chunks: list[list[Task]], workers: int) -> Iterator[list[FinishedRun]]:
    """Yield the finished runs of each chunk, in the order in which they end."""
    if workers == 1 or len(chunks) <= 1:
        yield from map(play, chunks)
        return
    # Spawned workers hold no lock, thread or open file of this process.
    with ProcessPoolExecutor(min(workers, len(chunks)), mp_context=get_context("spawn")) as pool:
        waiting = iter(chunks)
        pending: set[Future[list[FinishedRun]]] = {pool.submit(play, chunk) for chunk in islice(waiting, 2 * workers)}
        while pending:
            ended, pending = wait(pending, return_when=FIRST_COMPLETED)
            pending |= {pool.submit(play, chunk) for chunk in islice(waiting, len(ended))}
            for future in ended:
                yield future.result()


def play(tasks: list[Task]) -> list[FinishedRun]:
    """Play tasks one after the other; a pure function of them but for the seconds."""
    finished = []
    for task in tasks:
        runs = simulate(**task.arguments(), jobs=1)
        finished.append(
            FinishedRun(
                run_key(task.parameters),
                task.problem,
                task.agent,
                task.horizon,
                task.seed,
                task.parameters,
                runs.checkpoints,
                runs.regret[0],
                runs.seconds_per_round * task.horizon,
            )
        )
    return finished
