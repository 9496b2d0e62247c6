"""Where points are measured: in this thread, or by the workers of an executor.

A measurement fails if `measure` raises or returns no finite number; that is a result like a value.
A measurement that is lost with its worker has not failed: it is started again, at most three times.
Any other error of an executor, such as a broken pool of processes, ends the search.
"""

import math
import pickle
import sys
import traceback
import uuid
import warnings
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from concurrent.futures import wait as wait_for
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeAlias, final

from orbandit._checks import Array, as_count, as_number, described, shown
from orbandit.errors import InputError, InputTypeError, OrbanditWarning

ATTEMPTS = 3
"""Most starts of a measurement before the loss of its workers counts as its failure."""

Measure: TypeAlias = Callable[[Array], float]
Attempt: TypeAlias = float | Exception


class Measured(NamedTuple):
    """A finite value at a point."""

    point: Array
    value: float


class Failed(NamedTuple):
    """Why there is no value at a point; `is_final` if the executor can measure no more."""

    point: Array
    error: Exception
    is_final: bool = False


Result: TypeAlias = Measured | Failed


class Bench(Protocol):
    """Measures points."""

    @property
    def has_room(self) -> bool:
        """Whether another measurement may begin."""

    def begin(self, point: Array) -> None:
        """Begin to measure a point."""

    def next(self) -> Result | None:
        """Return the result of a measurement that has ended, after waiting for it; None if none is under way."""

    def finish(self) -> list[Result]:
        """Wait for all measurements under way and return their results; none is started again."""

    def abandon(self) -> list[Result]:
        """Return the results so far, without waiting."""


def bench_of(measure: Measure, executor: Executor | None, workers: int | None) -> Bench:
    """Return where to measure: by the executor.

    Without one, in this thread, or in several threads.
    """
    if not callable(measure):
        raise InputTypeError(f"`measure` must be a function of a point, but got {shown(measure)}.")
    if executor is not None and not isinstance(executor, Executor):
        raise InputTypeError(
            f"`executor` must be a concurrent.futures.Executor, but got {shown(executor)}; Dask's is "
            "`client.get_executor()`."
        )
    many = None if workers is None else as_count(workers, "workers", maximum=100_000)
    if executor is None:
        return Here(measure) if many in (None, 1) else Pool(measure, ThreadPoolExecutor(many), many or 1, is_own=True)
    if isinstance(executor, ProcessPoolExecutor):
        try:
            pickle.dumps(measure)
        except Exception as error:
            raise InputError(
                f"`measure` must be sent to other processes, but {shown(measure)} cannot be pickled "
                f"({described(error)}); define it at the top of a module, or use threads."
            ) from error
    return Pool(measure, executor, many or _workers_of(executor))


def _workers_of(executor: Any) -> int:
    """Return how many workers an executor says it has, else 1."""
    for name in ("_max_workers", "num_workers"):  # of concurrent.futures and of mpi4py
        if isinstance(many := getattr(executor, name, None), int):
            return max(1, many)
    client: Any = getattr(executor, "_client", None)  # Dask's
    return max(1, sum(client.nthreads().values())) if hasattr(client, "nthreads") else 1


def attempt(measure: Measure, point: Array, is_sent: bool = False, _token: str = "") -> Attempt:
    """Measure once; return the value, or the error, in a form that can be pickled if it is sent."""
    try:
        value = as_number(measure(point), "the value of `measure`")
        if not math.isfinite(value):
            raise ValueError(f"`measure` must return a finite number, but returned {value}")
    except Exception as error:
        return _portable(error) if is_sent else error
    return value


def _portable(error: Exception) -> Exception:
    """Return an error that another process can read, with its traceback as a note."""
    try:
        same: Any = pickle.loads(pickle.dumps(error))
    except Exception:
        same = None
    sent = same if isinstance(same, Exception) else RuntimeError(described(error))
    sent.add_note("".join(traceback.format_tb(error.__traceback__)).rstrip())
    return sent


def _result(point: Array, made: Attempt) -> Result:
    return Failed(point, made) if isinstance(made, Exception) else Measured(point, made)


@final
class Here:
    """Measures in this thread, one point at a time."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._point: Array | None = None

    @property
    def has_room(self) -> bool:
        """Whether no point waits."""
        return self._point is None

    def begin(self, point: Array) -> None:
        """Keep the point for `next`."""
        self._point = point

    def next(self) -> Result | None:
        """Measure the point."""
        point, self._point = self._point, None
        return None if point is None else _result(point, attempt(self._measure, point.copy()))

    def finish(self) -> list[Result]:
        """Return nothing: what was not measured is not begun."""
        return []

    abandon = finish


@final
class Pool:
    """Measures with the workers of an executor, which is shut down in the end if it is the pool's own."""

    def __init__(self, measure: Measure, executor: Executor, workers: int, is_own: bool = False) -> None:
        self._measure, self._executor, self._workers, self._is_own = measure, executor, workers, is_own
        self._is_sent = not isinstance(executor, ThreadPoolExecutor)
        # by age, each with how often it was lost
        self._flying: dict[Future[Attempt], tuple[Array, int]] = {}
        self._name, self._numbers = uuid.uuid4().hex, count()

    @property
    def has_room(self) -> bool:
        """Whether a worker is free."""
        return len(self._flying) < self._workers

    def begin(self, point: Array) -> None:
        """Hand a point out."""
        self._submit(point, 0)

    def next(self) -> Result | None:
        """Return a finished measurement, the oldest first; lost ones are started again."""
        while self._flying:
            wait_for(self._flying, return_when=FIRST_COMPLETED)
            future = next(future for future in self._flying if future.done())
            result = self._result(future, again=True)
            if result is not None:
                return result
        self._close()
        return None

    def finish(self) -> list[Result]:
        """Wait for all that is under way."""
        wait_for(self._flying)
        return self.abandon()

    def abandon(self) -> list[Result]:
        """Return finished measurements, and cancel those not started."""
        found = [self._result(future, again=False) for future in list(self._flying) if future.done()]
        for future in self._flying:
            future.cancel()
        self._flying.clear()
        self._close()
        return [result for result in found if result is not None]

    def _submit(self, point: Array, losses: int) -> None:
        # A token, since Dask takes two calls with the same arguments for one.
        token = f"{self._name}-{next(self._numbers)}"
        future: Future[Attempt]
        try:
            future = self._executor.submit(attempt, self._measure, point.copy(), self._is_sent, token)
        except Exception as error:  # the executor was shut down, or cannot send the measurement
            future = Future()
            future.set_exception(error)
        self._flying[future] = (point, losses)

    def _result(self, future: Future[Attempt], again: bool) -> Result | None:
        """Return the result of a measurement; None if it was lost or interrupted.

        If `again`, start lost ones again.
        """
        point, losses = self._flying.pop(future)
        try:
            return _result(point, future.result())
        except Exception as error:
            if not _is_loss(error):
                return Failed(point, error, is_final=True)
            if not again:
                return None
            if losses + 1 == ATTEMPTS:
                return Failed(point, error, is_final=True)
            warnings.warn(
                f"a worker was lost while it measured {shown(point)} ({described(error)}); it is measured again.",
                OrbanditWarning,
                stacklevel=2,
            )
            self._submit(point, losses + 1)
            return None
        except BaseException:  # Ctrl-C reaches workers, too
            if again:
                raise
            return None

    def _close(self) -> None:
        if self._is_own:
            self._executor.shutdown(wait=False, cancel_futures=True)


def _is_loss(error: Exception) -> bool:
    """Return whether an error means that a worker was lost, not that the executor is broken."""
    distributed = sys.modules.get("distributed")
    return isinstance(error, CancelledError) or (
        distributed is not None and isinstance(error, distributed.KilledWorker)
    )
