"""Engines: they run chunks of tasks, and yield each chunk with its results as soon as it ends.

A task is a pure function, so that it may be run again with the same result after its process was
lost. Chunks are made when they are dispatched, from the times of those that have ended; an iterator
without a chunk now may have one after the next result.
"""

import atexit
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from importlib import import_module
from itertools import islice
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

from orbandit.errors import MissingExtraError
from orbandit.experiments.players import GRACE_SECONDS, Outcome, Player, deaf_children, play_here

Task = TypeVar("Task")
Result = TypeVar("Result")
Played: TypeAlias = Generator[tuple[Sequence[Task], Outcome[Result]], None, None]

MAX_LOST_WORKERS = 10
"""Workers of a cluster that may be lost with a chunk before it counts as the cause."""

RECOUNT_SECONDS = 5.0
"""Seconds after which the threads of a cluster are counted again if no chunk has ended."""

_here = threading.local()


def on_processes(
    play: Callable[[Task], Result], chunks: Iterator[Sequence[Task]], workers: int, timeout: float | None = None
) -> Played[Task, Result]:
    """Play on processes of this machine; with one worker and without a timeout, in this process."""
    if workers == 1 and timeout is None:
        for chunk in chunks:
            yield chunk, play_here(play, chunk)
        return
    players = [Player() for _ in range(workers)]
    free: SimpleQueue[Player] = SimpleQueue()
    for player in players:
        free.put(player)

    def played(chunk: Sequence[Task]) -> Outcome[Result]:
        player = free.get()
        try:
            return player.play(play, chunk, timeout)
        finally:
            free.put(player)

    try:
        with ThreadPoolExecutor(workers) as pool:
            try:
                pending: dict[Future[Outcome[Result]], Sequence[Task]] = {}
                while True:
                    room = 2 * workers - len(pending)
                    pending |= {pool.submit(played, chunk): chunk for chunk in islice(chunks, room)}
                    if not pending:
                        break
                    ended, _ = wait(pending, return_when=FIRST_COMPLETED)
                    future = ended.pop()
                    yield pending.pop(future), future.result()
            except BaseException:  # an interruption, perhaps, which need not wait for chunks under way
                pool.shutdown(wait=False, cancel_futures=True)
                for player in players:
                    player.close()
                raise
    finally:
        for player in players:
            player.close(GRACE_SECONDS)


def on_dask(
    play: Callable[[Task], Result],
    chunks: Iterator[Sequence[Task]],
    workers: int,
    scheduler: str | None,
    timeout: float | None = None,
) -> Played[Task, Result]:
    """Play on a Dask cluster: that of a scheduler, or one started on this machine.

    Each thread of a worker has a process for tasks, so that a task that is killed or hangs does not
    affect the worker. Twice as many chunks as the cluster has threads are under way; threads are
    counted again as workers join and leave.
    """
    try:
        dask, distributed = import_module("dask"), import_module("distributed")
    except ImportError as error:
        raise MissingExtraError(
            "the engine dask needs dask.distributed: install orbandit with the extra `cluster`."
        ) from error
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": MAX_LOST_WORKERS}))
        place: Any = scheduler
        if scheduler is None:
            with deaf_children():
                local = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            place = stack.enter_context(local)
        client = stack.enter_context(distributed.Client(place))
        pending: dict[Any, Sequence[Task]] = {}

        def submit(chunk: Sequence[Task]) -> None:
            # A chunk that is lost with its worker is played again, and an old result never passes
            # for a new one.
            pending[client.submit(_play_beside, play, chunk, timeout, pure=False)] = chunk

        while True:
            room = 2 * max(1, sum(client.nthreads().values())) - len(pending)
            for chunk in islice(chunks, max(0, room)):
                submit(chunk)
            if not pending:
                return
            try:
                ended, _ = distributed.wait(list(pending), timeout=RECOUNT_SECONDS, return_when="FIRST_COMPLETED")
            except TimeoutError:
                continue
            for future in ended:
                chunk = pending.pop(future)
                try:
                    outcome = future.result()
                except distributed.KilledWorker as error:
                    if len(chunk) > 1:  # which of them was it?
                        for task in chunk:
                            submit([task])
                        continue
                    outcome = Outcome([], 0.0, death=f"was lost with its worker repeatedly ({error})")
                future.release()
                yield chunk, outcome


def _play_beside(play: Callable[[Task], Result], chunk: Sequence[Task], timeout: float | None) -> Outcome[Result]:
    """Play a chunk in the process that belongs to this thread of a worker."""
    if not hasattr(_here, "player"):
        _here.player = Player()
        atexit.register(_here.player.close)
    outcome: Outcome[Result] = _here.player.play(play, chunk, timeout)
    return outcome
