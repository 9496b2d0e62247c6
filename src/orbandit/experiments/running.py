"""run: play the runs of an experiment, and store each as soon as it is finished.

Runs are dispatched to an engine's workers in chunks of the seeds of one problem, agent and horizon,
as many as fit into a target time; only this process writes. A run is the same whichever worker
plays it, so that an interrupted experiment can be resumed: stored runs are not played again. A run
whose process is killed is retried a few times; one that exceeds the experiment's timeout is
abandoned, and its process ended.
"""

import os
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Self

from orbandit._checks import as_count, described, unknown_name
from orbandit.errors import InputError, OrbanditWarning, RunError, StoreError
from orbandit.experiments import engines
from orbandit.experiments.chunks import DASK_SECONDS, LOCAL_SECONDS, Chunks
from orbandit.experiments.finished import FinishedRun, run_key
from orbandit.experiments.limits import limit_of_task
from orbandit.experiments.players import Outcome
from orbandit.experiments.simulation import simulate
from orbandit.experiments.store import Store, check_new
from orbandit.experiments.tasks import Task

if TYPE_CHECKING:
    from orbandit.experiments.spec import Experiment

CHUNK_SECONDS = {"local": LOCAL_SECONDS, "dask": DASK_SECONDS}
"""Time of a chunk by engine."""

N_PLAYS = 100
"""Number of played points kept of each run, for pictures."""

MAX_PICTURED_DIM = 3
"""Most coordinates of points that a picture can show."""

MAX_ATTEMPTS = 3
"""Most attempts of a run whose process is killed."""

Progress = Callable[[FinishedRun], None]
"""Called with each run once it is stored."""


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
        The experiment, as `read` returns it.
    path : path
        The store: a new file, or that of an earlier call for the same experiment.
    engine : "local" or "dask", default "local"
        The workers: processes of this machine, or those of a Dask cluster. Results do not depend on
        it, except for times.
    jobs : int, optional
        Number of processes, by default one for each processor; 1 plays in this process, unless
        there is a timeout. A cluster with a scheduler has its own number. Processes import the main
        script: keep its actions under `if __name__ == "__main__":`.
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
        If a run fails, perhaps in code of the user's own, at once; if one exceeded the timeout, or
        its process was killed too often, after all others were played. All finished runs are
        stored.

    Warns
    -----
    OrbanditWarning
        At once for each run whose process was killed or took too long, and for damaged runs of the
        store.

    Examples
    --------
    >>> import tempfile
    >>> import orbandit as ob
    >>> cone = {"class": "Cone", "space": {"class": "Ball", "dim": 2}, "peak": [0.3, 0.4]}
    >>> agent = {"class": "OrbitTree"}
    >>> tables = {"horizons": [100], "seeds": 2, "problem": [cone], "agent": [agent]}
    >>> experiment = ob.experiments.restore(tables, ".")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = ob.experiments.run(experiment, f"{folder}/disk.db", jobs=1)
    ...     again = ob.experiments.run(experiment, f"{folder}/disk.db", jobs=1)
    >>> first, again  # what is in the file is not played again
    (2, 0)
    """
    workers_of(engine, jobs, scheduler)
    with Resumed(experiment, path) as resumed:
        return resumed.play(engine=engine, jobs=jobs, scheduler=scheduler, progress=progress)


class Resumed:
    """An experiment and its store, opened once, read-only until runs are played; a context manager.

    Parameters
    ----------
    experiment : Experiment
        The experiment, as `read` returns it.
    path : path
        The store: a new file, or that of an earlier call for the same experiment.

    Attributes
    ----------
    left : list of Task
        The runs that are still to be played.
    n_outdated : int
        Number of stored runs of other code, data or another version than the experiment has now.
    """

    def __init__(self, experiment: "Experiment", path: str | os.PathLike[str]) -> None:
        self._experiment, self._path = experiment, Path(path)
        self._store: Store | None = None
        if self._path.exists():
            self._open()
        else:
            check_new(self._path)
            self.left, self.n_outdated = list(experiment.tasks()), 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._store is not None:
            self._store.close()

    def _open(self) -> Store:
        """Open the store of the experiment; that of another is left as it is."""
        self._store = Store.open(self._path, write=False)
        try:
            if self._store.spec != self._experiment.description:
                raise InputError(
                    f"{self._path} holds another experiment than {self._experiment.name!r}; choose another file."
                )
            done = self._store.done()
        except BaseException:
            self._store.close()
            raise
        tasks = {run_key(task.parameters): task for task in self._experiment.tasks()}
        self.left, self.n_outdated = [task for key, task in tasks.items() if key not in done], len(done - tasks.keys())
        return self._store

    def _to_write(self) -> Store:
        """Return the store, which is made if there is none, open for writing."""
        if self._store is None:
            try:
                self._store = Store.create(self._path, self._experiment.description, self._experiment.outline)
            except StoreError:
                if not self._path.exists():
                    raise
                self._store = self._open()  # another process has made it since
        self._store.begin_writing()
        return self._store

    def play(
        self,
        *,
        engine: str = "local",
        jobs: int | None = None,
        scheduler: str | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Play the remaining runs, like `run`, and return how many were played."""
        workers, timeout = workers_of(engine, jobs, scheduler), self._experiment.timeout
        store = self._to_write()
        chunks, n_played, losses = Chunks(self.left, CHUNK_SECONDS[engine]), 0, _Losses(timeout)
        if engine == "dask":
            played = engines.on_dask(play, chunks, workers, scheduler, timeout)
        else:
            played = engines.on_processes(play, chunks, min(workers, max(1, len(self.left))), timeout)
        with closing(played):
            for chunk, outcome in played:
                if outcome.results:
                    chunks.learn(outcome.results, outcome.seconds)
                    store.add_many(outcome.results)
                    n_played += len(outcome.results)
                    for one in outcome.results:
                        if progress is not None:
                            progress(one)
                if outcome.failure is not None:
                    raise outcome.failure
                if len(outcome.results) < len(chunk):
                    lost, *rest = chunk[len(outcome.results) :]
                    chunks.again([*rest, lost] if losses.may_try_again(lost, outcome) else rest)
        losses.tell()
        return n_played


class _Losses:
    """Keeps count of runs whose process was killed or ended for the time they took."""

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._deaths: Counter[str] = Counter()
        self._given_up: list[str] = []

    def may_try_again(self, task: Task, outcome: Outcome[FinishedRun]) -> bool:
        """Record a loss, warn, and return whether the run is to be played again."""
        name = _named(task)
        if outcome.is_late:
            self._give_up(f"{name}: timed out after {self._timeout:g} s")
            return False
        self._deaths[name] += 1
        if self._deaths[name] == MAX_ATTEMPTS:
            self._give_up(f"{name}: tried {MAX_ATTEMPTS} times, the last time its process {outcome.death}")
            return False
        _warn(f"{name}: its process {outcome.death}; it is played again.")
        return True

    def _give_up(self, what: str) -> None:
        self._given_up.append(what)
        _warn(f"{what}; the other runs continue.")

    def tell(self) -> None:
        """Raise an error that names all abandoned runs, if there are any."""
        if self._given_up:
            raise RunError(
                f"{len(self._given_up):,} runs were abandoned, all others are stored; start again to retry them:\n"
                + "\n".join(self._given_up)
            )


def _warn(text: str) -> None:
    warnings.warn(text, OrbanditWarning, stacklevel=5)


def workers_of(engine: str, jobs: int | None, scheduler: str | None) -> int:
    """Return the number of workers that `run` starts; refuse invalid arguments."""
    if not isinstance(engine, str) or engine not in CHUNK_SECONDS:
        raise unknown_name("engine", engine, tuple(CHUNK_SECONDS))
    if scheduler is not None and (engine != "dask" or jobs is not None):
        raise InputError(f'`scheduler={scheduler!r}` is for engine="dask", and its cluster decides on `jobs`.')
    return (os.cpu_count() or 1) if jobs is None else as_count(jobs, "jobs")


def play(task: Task) -> FinishedRun:
    """Play a task; it is a pure function of it but for the seconds that the run took."""
    try:
        arguments = task.arguments()
        runs = simulate(
            **arguments, jobs=1, n_plays=N_PLAYS if arguments["problem"].space.dim <= MAX_PICTURED_DIM else 0
        )
    except (Exception, SystemExit) as error:  # code of the user's own may raise anything
        failure = _failure(task, error)
    else:
        regret, seconds = runs.regret[0], runs.seconds_per_round * task.horizon
        what = (run_key(task.parameters), task.problem, task.agent, task.horizon, task.seed, task.parameters)
        simple = None if runs.simple_regret is None else runs.simple_regret[0]
        limit = limit_of_task(task, arguments["problem"], runs.mesh)
        return FinishedRun(*what, runs.checkpoints, regret, seconds, runs.plays[0], simple, limit)
    raise failure  # by itself: what caused it may not survive the way from one process to another


def _failure(task: Task, error: BaseException) -> RunError:
    """Return an error that says which run failed, why and where; its note has the traceback."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    failure = RunError(f"{_named(task)}: {described(error)} ({place.filename}, line {place.lineno})")
    failure.add_note("".join(traceback.format_exception(error)))
    return failure


def _named(task: Task) -> str:
    return f"{task.agent} on {task.problem}, horizon {task.horizon:,}, seed {task.seed}"
