"""Chunks: batches of runs for a worker, as many as fit into a target time.

The time of a run is known only once one was played: agents of this package take nanoseconds to
microseconds a round, those of the user's own perhaps a second. So chunks are made on demand, and
those of a problem, agent and horizon have a single run until one of them has finished.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from orbandit.experiments.finished import FinishedRun
from orbandit.experiments.tasks import Task

LOCAL_SECONDS = 0.3
"""Seconds per chunk on this machine, where dispatch takes a millisecond; a kill loses that much per
worker."""

DASK_SECONDS = 2.0
"""Seconds per chunk on a cluster, where dispatch takes many milliseconds."""

Kind = tuple[str, str, int]


class Chunks(Iterator[list[Task]]):
    """Hands out tasks in their order, in chunks of one problem, agent and horizon; after `again` it has more.

    Parameters
    ----------
    tasks : sequence of Task
        Those of one problem, agent and horizon next to each other.
    seconds : float
        The time that a chunk should take; a run that takes longer is one by itself.

    Examples
    --------
    >>> from pathlib import Path
    >>> chunks = Chunks([Task("cone", "HOO", 100, seed, {}, Path()) for seed in range(8)], seconds=0.35)
    >>> first = next(chunks)
    >>> chunks.learn(first, 0.1)
    >>> [[task.seed for task in chunk] for chunk in (first, *chunks)]
    [[0], [1, 2, 3], [4, 5, 6], [7]]
    """

    def __init__(self, tasks: Sequence[Task], seconds: float) -> None:
        self._tasks, self._next, self._target = list(tasks), 0, seconds
        self._taken: dict[Kind, float] = {}

    def __next__(self) -> list[Task]:
        if self._next == len(self._tasks):
            raise StopIteration
        kind = _kind(self._tasks[self._next])
        taken = self._taken.get(kind, math.inf)
        most = int(min(self._target / taken, len(self._tasks))) if taken > 0 else len(self._tasks)
        begin = self._next
        self._next += 1
        while self._next < min(begin + most, len(self._tasks)) and _kind(self._tasks[self._next]) == kind:
            self._next += 1
        return list(self._tasks[begin : self._next])

    def again(self, tasks: Iterable[Task]) -> None:
        """Hand out tasks once more, after all others; one that takes all memory may then be alone."""
        self._tasks += tasks

    def learn(self, chunk: Sequence[Task | FinishedRun], seconds: float) -> None:
        """Record the time that a chunk took, building its agents included; the last one counts.

        The first chunks of a process may include compilation.
        """
        self._taken[_kind(chunk[0])] = seconds / len(chunk)


def _kind(one: Task | FinishedRun) -> Kind:
    return one.problem, one.agent, one.horizon
