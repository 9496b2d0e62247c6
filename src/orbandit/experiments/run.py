"""run: play what an experiment's file describes, and keep every finished run in its store at once.

Runs are handed out in chunks of the seeds of one problem, agent and horizon, to an engine's workers, as many as fit
into a time that is measured; only this process writes. A run is the same whoever plays it, so that it does not matter
where a kill or a failure struck: what is in the store is not played again.
"""

import os
import time
import traceback
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from orbandit._checks import as_count, described, unknown_name
from orbandit.errors import InputError, RunError, StoreError
from orbandit.experiments import engines
from orbandit.experiments.chunks import DASK_SECONDS, LOCAL_SECONDS, Chunks
from orbandit.experiments.finished import FinishedRun, run_key
from orbandit.experiments.simulate import simulate
from orbandit.experiments.store import Store, check_new
from orbandit.experiments.tasks import Task

if TYPE_CHECKING:
    from orbandit.experiments.spec import Experiment

SECONDS = {"local": LOCAL_SECONDS, "dask": DASK_SECONDS}
"""Time of a chunk by engine."""

PLAYS = 100
"""So many points played are kept of each run, for pictures."""

PICTURED = 3
"""Most coordinates of points that a picture can show."""

Progress = Callable[[FinishedRun], None]
"""Told each run once it is in the store."""


def run(
    experiment: "Experiment",
    path: str | os.PathLike[str],
    *,
    engine: str = "local",
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> int:
    """Play the runs of an experiment that are not in its store yet, and return how many were played.

    Parameters
    ----------
    experiment : Experiment
        What to play (`read` of a file).
    path : path
        The store; a new file, or one that an earlier call for the same experiment left behind.
    engine : "local" or "dask"
        Who plays: processes of this machine, or the workers of a Dask cluster. It changes no number but the time.
    jobs : int, optional
        Number of processes, by default one for each processor; 1 plays in this one. A cluster with a
        scheduler has its own. Processes import the main script: keep what it does under `if __name__ == "__main__":`.
    scheduler : str, optional
        Address of a Dask scheduler; without it, a cluster is started on this machine.
    progress : callable, optional
        Called with each run once it is stored.

    Raises
    ------
    InputError
        If the store holds another experiment.
    StoreError
        If it is damaged, or no store at all.
    RunError
        If a run fails, in code of the user's own perhaps, or its worker is lost; all that was finished is stored.
    """
    workers = workers_of(engine, jobs, scheduler)
    with _opened(experiment, Path(path)) as store:
        left = _left(experiment, store.done())
        chunks, many = Chunks(left, SECONDS[engine]), 0
        if engine == "dask":
            played = engines.on_dask(play, chunks, workers, scheduler)
        else:
            played = engines.on_processes(play, chunks, min(workers, max(1, len(left))))
        try:
            with closing(played):
                for finished, seconds in played:
                    chunks.learn(finished, seconds)
                    store.add_many(finished)
                    many += len(finished)
                    for one in finished:
                        if progress is not None:
                            progress(one)
        except BrokenExecutor as error:
            raise RunError(
                f"a worker was killed, perhaps for want of memory; {len(store.done()):,} runs are stored, "
                "start again to go on."
            ) from error
    return many


def workers_of(engine: str, jobs: int | None, scheduler: str | None) -> int:
    """Return the number of workers that `run` starts; arguments that it does not take are refused."""
    if not isinstance(engine, str) or engine not in SECONDS:
        raise unknown_name("engine", engine, tuple(SECONDS))
    if scheduler is not None and (engine != "dask" or jobs is not None):
        raise InputError(f'`scheduler={scheduler!r}` is for engine="dask", and its cluster decides on `jobs`.')
    return (os.cpu_count() or 1) if jobs is None else as_count(jobs, "jobs")


def missing(experiment: "Experiment", path: str | os.PathLike[str]) -> list[Task]:
    """Return the runs of an experiment that are still to be played; a path that `run` refuses is refused."""
    done: set[str] = set()
    if Path(path).exists():
        with Store.open(path, write=False) as store:
            _check_same(experiment, store)
            done = store.done()
    else:
        check_new(Path(path))
    return _left(experiment, done)


def outdated(experiment: "Experiment", path: str | os.PathLike[str]) -> int:
    """Return how many runs of a store come from other code, data or another version than the experiment has now."""
    if not Path(path).exists():
        return 0
    with Store.open(path, write=False) as store:
        return len(store.done() - {run_key(task.parameters) for task in experiment.tasks()})


def _left(experiment: "Experiment", done: set[str]) -> list[Task]:
    return [task for task in experiment.tasks() if run_key(task.parameters) not in done]


def _opened(experiment: "Experiment", path: Path) -> Store:
    if not path.exists():
        try:
            return Store.create(path, experiment.description)
        except (StoreError, FileExistsError):
            if not path.exists():
                raise
            # Another process has made it since.
    with Store.open(path, write=False) as store:  # which leaves the file of another experiment as it is
        _check_same(experiment, store)
    return Store.open(path)


def _check_same(experiment: "Experiment", store: Store) -> None:
    if store.spec != experiment.description:
        raise InputError(f"{store.path} holds another experiment than {experiment.name!r}; choose another file.")


def play(tasks: list[Task]) -> tuple[list[FinishedRun], float]:
    """Play tasks one after the other, and return what they gave and the seconds that all of it took.

    It is a pure function of the tasks but for the seconds.
    """
    begun = time.perf_counter()
    finished = [_played(task) for task in tasks]
    return finished, time.perf_counter() - begun


def _played(task: Task) -> FinishedRun:
    try:
        arguments = task.arguments()
        runs = simulate(**arguments, jobs=1, plays=PLAYS if arguments["problem"].space.dim <= PICTURED else 0)
    except (Exception, SystemExit) as error:  # code of the user's own may raise anything
        failure = _failure(task, error)
    else:
        regret, seconds = runs.regret[0], runs.seconds_per_round * task.horizon
        what = (run_key(task.parameters), task.problem, task.agent, task.horizon, task.seed, task.parameters)
        return FinishedRun(*what, runs.checkpoints, regret, seconds, runs.plays[0])
    raise failure  # by itself: what caused it may not survive the way from one process to another


def _failure(task: Task, error: BaseException) -> RunError:
    """Return an error that says which run failed, why and where; its note has the traceback."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    failure = RunError(
        f"{task.agent} on {task.problem}, horizon {task.horizon:,}, seed {task.seed}: "
        f"{described(error)} ({place.filename}, line {place.lineno})"
    )
    failure.add_note("".join(traceback.format_exception(error)))
    return failure
