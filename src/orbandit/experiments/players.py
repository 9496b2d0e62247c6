"""Players: worker processes for chunks of tasks; a task that is killed or hangs affects no other.

A player acknowledges a chunk, and then sends each result as soon as it is ready. So it is known
which task was under way when the process died or timed out, and no finished result is lost.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, current_process, get_context, parent_process, resource_tracker
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, TypeVar, final

from orbandit.errors import RunError

Task = TypeVar("Task")
Result = TypeVar("Result")

MAX_STARTS = 3
"""Most processes that may end before they begin a chunk."""

IDLE_SECONDS = 60.0
"""Seconds after which an idle player ends, since on a cluster nothing else may end it."""

POLL_SECONDS = 1.0
"""Seconds between checks of a silent player: children of a dead one may keep its pipe open."""

GRACE_SECONDS = 5.0
"""Seconds that a player without work has to end by itself."""

clock = time.monotonic
CONTEXT = get_context("spawn")  # such processes hold no lock, thread or open file of this one
_starting = threading.Lock()


@dataclass(frozen=True)
class Outcome(Generic[Result]):
    """The results of a chunk.

    Attributes
    ----------
    results : list
        Results of the first tasks, in their order. If there are fewer than tasks, the next one
        ended the chunk early, in one of the ways below, and those after it were not begun.
    seconds : float
        The time that all of it took.
    failure : Exception or None
        What the next task raised.
    death : str
        How the process of the next task ended, if it did.
    is_late : bool
        Whether the next task took more time than it may.
    """

    results: list[Result]
    seconds: float
    failure: Exception | None = None
    death: str = ""
    is_late: bool = False


def play_here(play: Callable[[Task], Result], chunk: Sequence[Task]) -> Outcome[Result]:
    """Play a chunk in this process."""
    begun, results = clock(), []
    for task in chunk:
        try:
            results.append(play(task))
        except Exception as error:
            return Outcome(results, clock() - begun, failure=error)
    return Outcome(results, clock() - begun)


@final
class Player:
    """A process that plays one chunk at a time; after its death the next chunk gets a new one."""

    def __init__(self) -> None:
        self._process: SpawnProcess | None = None
        self._line: Any = None
        self._is_closed = False

    def play(
        self, play: Callable[[Task], Result], chunk: Sequence[Task], timeout: float | None = None
    ) -> Outcome[Result]:
        """Play a chunk, and wait for its results.

        Parameters
        ----------
        play : callable
            Plays a task. It can be imported by its name.
        chunk : sequence
            The tasks.
        timeout : float, optional
            Seconds that a task may take.
        """
        process = self._begun((play, chunk))
        begun = last = clock()
        results: list[Result] = []
        while len(results) < len(chunk):
            try:
                result, failure = self._heard(process, None if timeout is None else last + timeout)
            except TimeoutError:
                self._end(process, 0.0)
                return Outcome(results, clock() - begun, is_late=True)
            except (EOFError, OSError):
                return Outcome(results, clock() - begun, death=self._end(process, GRACE_SECONDS))
            last = clock()
            if failure is not None:
                return Outcome(results, last - begun, failure=failure)
            results.append(result)
        return Outcome(results, last - begun)

    def close(self, patience: float = 0.0) -> None:
        """End the process for good.

        An idle one within `patience` seconds by itself, else by a kill.
        """
        with _starting:
            self._is_closed = True
        process = self._process
        if process is not None and patience:
            self._end(process, patience)
        elif process is not None:
            process.kill()  # whoever waits for it sees to the rest

    def _begun(self, work: tuple[Any, ...]) -> SpawnProcess:
        """Hand out work to a process that lives, and return it."""
        death = ""
        for _ in range(MAX_STARTS):
            process = self._process or self._started()
            try:
                self._line.send(work)
                self._heard(process, None)
            except (EOFError, OSError):
                death = self._end(process, GRACE_SECONDS)
            else:
                return process
        raise RunError(
            f"processes that play runs end before they begin ({death}); a script must keep what it does under "
            '`if __name__ == "__main__":`, and there must be memory for them.'
        )

    def _started(self) -> SpawnProcess:
        with _starting:
            if self._is_closed:
                raise RunError("a player that was closed starts no process.")
            self._line, theirs = CONTEXT.Pipe()
            process = CONTEXT.Process(target=_serve, args=(theirs,), daemon=current_process().daemon)
            with deaf_children(), _as_parent():
                process.start()
            theirs.close()
            self._process = process
            return process

    def _heard(self, process: SpawnProcess, deadline: float | None) -> Any:
        """Return the next message of a process.

        EOFError or OSError if it is dead, TimeoutError if late.
        """
        while True:
            left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, max(0.0, deadline - clock()))
            connection.wait([self._line, process.sentinel], left)
            is_dead, is_late = process.exitcode is not None, deadline is not None and clock() >= deadline
            if self._line.poll():  # what it said before comes first
                return self._line.recv()
            if is_dead:
                raise EOFError
            if is_late:
                raise TimeoutError

    def _end(self, process: SpawnProcess, patience: float) -> str:
        """End a process within so many seconds, or by a kill, and return how it ended."""
        self._line.close()
        process.join(patience)
        process.kill()
        process.join()
        self._process = None
        code = process.exitcode or 0
        if code >= 0:
            return f"ended with code {code}"
        name = {number.value: number.name for number in signal.Signals}.get(-code, f"signal {-code}")
        return f"was killed by {name}{', perhaps out of memory' if name == 'SIGKILL' else ''}"


def _serve(line: Any) -> None:
    """Play chunks as they come, in a process of their own, until there are no more."""
    end_with_parent()
    try:
        while line.poll(IDLE_SECONDS):
            play, chunk = line.recv()
            line.send(None)
            for task in chunk:
                try:
                    result = play(task)
                except Exception as error:
                    line.send((None, error))
                    break
                line.send((result, None))
    except (EOFError, OSError):  # nobody listens
        return


def end_with_parent() -> None:
    """End this process when its parent ends, even by a kill; else it might run for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Start processes that ignore Ctrl-C; their parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would let the signal through again when it is started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _as_parent() -> Iterator[None]:
    """Let a worker of a cluster start processes, which daemons may not; they end with it all the same."""
    here = current_process()
    is_daemon, here.daemon = here.daemon, False
    try:
        yield
    finally:
        here.daemon = is_daemon
