"""Engines: who plays chunks of runs. Each yields what a chunk gave, in the order in which chunks end.

A chunk is played by a pure function, so that one may be played again after a worker was lost, and nothing changes.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from importlib import import_module
from itertools import islice
from multiprocessing import connection, get_context, parent_process
from typing import Any, TypeVar

from orbandit.errors import MissingExtraError

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

LOST = 10
"""So many workers may be lost with a chunk before it is blamed for that."""

RECOUNT = 5.0
"""Seconds after which the threads of a cluster are counted again if no chunk has ended."""


def on_processes(play: Callable[[Chunk], Result], chunks: Iterable[Chunk], workers: int) -> Iterator[Result]:
    """Play on processes of this machine; with one worker, in this process.

    Chunks are asked for when they are to be handed out, after what was learnt from those that have ended.
    """
    if workers == 1:
        yield from map(play, chunks)
        return
    # Spawned workers hold no lock, thread or open file of this process.
    with ProcessPoolExecutor(workers, get_context("spawn"), end_with_parent) as pool:
        waiting = iter(chunks)
        pending: set[Future[Result]] = {pool.submit(play, chunk) for chunk in islice(waiting, 2 * workers)}
        while pending:
            ended, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in ended:
                yield future.result()
                pending |= {pool.submit(play, chunk) for chunk in islice(waiting, 1)}


def end_with_parent() -> None:
    """End this worker when the process that started it ends, even by a kill; it would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def on_dask(
    play: Callable[[Chunk], Result], chunks: Iterable[Chunk], workers: int, scheduler: str | None
) -> Iterator[Result]:
    """Play on the workers of a Dask cluster: that of a scheduler, or one started on this machine for the purpose.

    Twice as many chunks as the cluster has threads are under way, which are counted again as workers come and go.
    """
    try:
        dask, distributed = import_module("dask"), import_module("distributed")
    except ImportError as error:
        raise MissingExtraError("the engine dask needs dask.distributed: pip install 'orbandit[cluster]'.") from error
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": LOST}))
        place: Any = scheduler
        if scheduler is None:
            place = stack.enter_context(
                distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            )
        client = stack.enter_context(distributed.Client(place))
        waiting = iter(chunks)
        pending: set[Any] = set()
        while True:
            room = 2 * max(1, sum(client.nthreads().values())) - len(pending)
            # A lost chunk is played again, and an old result never passes for a new one.
            pending |= {client.submit(play, chunk, pure=False, retries=LOST) for chunk in islice(waiting, max(0, room))}
            if not pending:
                return
            try:
                ended, pending = distributed.wait(pending, timeout=RECOUNT, return_when="FIRST_COMPLETED")
            except TimeoutError:
                continue
            for future in ended:
                result = future.result()
                future.release()
                yield result
