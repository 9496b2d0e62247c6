"""Engines: who plays chunks of runs. Each yields what a chunk gave, in the order in which chunks end.

A chunk is played by a pure function, so that one may be played again after a worker was lost, and nothing changes.
"""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from importlib import import_module
from itertools import islice
from multiprocessing import connection, get_context, parent_process, resource_tracker
from typing import Any, TypeVar

from orbandit.errors import MissingExtraError

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

LOST = 10
"""So many workers may be lost with a chunk before it is blamed for that."""

RECOUNT = 5.0
"""Seconds after which the threads of a cluster are counted again if no chunk has ended."""


def on_processes(
    play: Callable[[Chunk], Result], chunks: Iterable[Chunk], workers: int
) -> Generator[Result, None, None]:
    """Play on processes of this machine; with one worker, in this process.

    Chunks are asked for when they are to be handed out, after what was learnt from those that have ended. A lost worker
    raises BrokenExecutor.
    """
    if workers == 1:
        yield from map(play, chunks)
        return
    context = get_context("spawn")  # such workers hold no lock, thread or open file of this process
    reader, writer = context.Pipe(duplex=False)
    with reader, writer, ProcessPoolExecutor(workers, context, end_with_parent, (reader,)) as pool:
        waiting = iter(chunks)
        try:
            with _deaf_children():
                pending: set[Future[Result]] = {pool.submit(play, chunk) for chunk in islice(waiting, 2 * workers)}
            while pending:
                ended, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in ended:
                    yield future.result()
                    pending |= {pool.submit(play, chunk) for chunk in islice(waiting, 1)}
        except BaseException:  # an interruption, perhaps, which need not wait for chunks under way
            writer.close()
            raise


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, whoever else it is sent to; the one that started them ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would let the signal through again when it is started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent(line: "connection.Connection | None" = None) -> None:
    """End this worker when the process that started it ends, even by a kill, or closes its end of the line.

    It would wait for work for ever.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        watched = [parent.sentinel, *([] if line is None else [line])]
        threading.Thread(target=_end_after, args=(watched,), daemon=True).start()


def _end_after(watched: list[Any]) -> None:
    connection.wait(watched)
    os._exit(1)


def on_dask(
    play: Callable[[Chunk], Result], chunks: Iterable[Chunk], workers: int, scheduler: str | None
) -> Generator[Result, None, None]:
    """Play on the workers of a Dask cluster: that of a scheduler, or one started on this machine for the purpose.

    Twice as many chunks as the cluster has threads are under way, which are counted again as workers come and go. A
    chunk that was lost with too many workers raises BrokenExecutor.
    """
    try:
        dask, distributed = import_module("dask"), import_module("distributed")
    except ImportError as error:
        raise MissingExtraError("the engine dask needs dask.distributed: pip install 'orbandit[cluster]'.") from error
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": LOST}))
        place: Any = scheduler
        if scheduler is None:
            with _deaf_children():
                local = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            place = stack.enter_context(local)
        client = stack.enter_context(distributed.Client(place))
        waiting = iter(chunks)
        pending: set[Any] = set()
        while True:
            room = 2 * max(1, sum(client.nthreads().values())) - len(pending)
            # A chunk that is lost with its worker is played again, and an old result never passes for a new one.
            pending |= {client.submit(play, chunk, pure=False) for chunk in islice(waiting, max(0, room))}
            if not pending:
                return
            try:
                ended, pending = distributed.wait(pending, timeout=RECOUNT, return_when="FIRST_COMPLETED")
            except TimeoutError:
                continue
            for future in ended:
                try:
                    result = future.result()
                except distributed.KilledWorker as error:
                    raise BrokenExecutor(str(error)) from error
                future.release()
                yield result
