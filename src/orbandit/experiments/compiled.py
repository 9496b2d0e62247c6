"""Compiled simulation: whole bandit loops on Bernoulli rewards, for agents that have one.

An agent can be simulated so if it has `play_rounds`: its arms return the points of their handles,
and it plays rounds in a compiled loop until an epoch ends, or until arms or cells have to be made
first.

An agent of several players that share no rewards says whose turn each round is: each of them is
simulated in its own rounds, one after the other, which is the same as in turn.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, shown
from orbandit._rows import Rows
from orbandit.errors import InputError

Means = Callable[[npt.NDArray[Any]], Array]
"""Returns the mean rewards of a batch of points, or of arms."""


class KnownArms(Protocol):
    """Arms or cells that are numbered."""

    @property
    def numbering(self) -> object:
        """An object that is replaced whenever arms are renumbered."""

    def __len__(self) -> int:
        """Return how many there are now; there may be more later."""

    def point(self, handle: int) -> Any:
        """Return the point of a handle."""

    def points_from(self, first: int) -> npt.NDArray[Any]:
        """Return the points of the handles from one on."""


@runtime_checkable
class Simulable(Protocol):
    """An agent with a compiled loop."""

    @property
    def arms(self) -> Any:
        """What is chosen from: `KnownArms`."""

    @property
    def rounds_left(self) -> float:
        """Rounds until an epoch ends."""

    def settle(self) -> None:
        """Make the last ask pending."""

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play rounds, given the means of all handles: the reward is 1 if the draw is below the mean.

        Returns the handles played. If they are fewer than the draws, the arms or cells of the next
        round were made.
        """

    def count_rounds(self, rounds: int) -> None:
        """Close rounds."""


@runtime_checkable
class Shared(Protocol):
    """An agent whose rounds are shared among players that learn nothing from each other."""

    @property
    def rounds_left(self) -> float:
        """Rounds until an epoch ends."""

    def settle(self) -> None:
        """Make the last ask pending."""

    def turns(self, rounds: int) -> npt.NDArray[np.int64]:
        """Return the number of the player of each of the next rounds, at most up to an epoch's end.

        Of players that recommend and those that try it, the second have the larger numbers.
        """

    def player(self, number: int) -> Simulable:
        """Return a player that has a turn."""

    def count_rounds(self, rounds: int) -> None:
        """Close rounds."""


@final
class Simulation:
    """Plays an agent against means, which are computed once for each arm or cell.

    Parameters
    ----------
    agent : Simulable or Shared
        The agent.
    mean : callable
        Returns the mean rewards of a batch of points, in [0, 1].
    """

    def __init__(self, agent: Simulable | Shared, mean: Means) -> None:
        self._agent: Any = agent
        self._mean, self._shared = mean, agent if isinstance(agent, Shared) else None
        self._numbering: object = None
        self._known = Rows(np.empty(0))
        self._players: dict[int, Simulation] = {}

    def play(self, draws: Array, keep: Sequence[int] | npt.NDArray[np.int64] = ()) -> tuple[Array, list[Any]]:
        """Play one Bernoulli round for each draw; return the means of the points played, and some points.

        The same as asking and telling that many times. The points are those of the draws whose
        indices are in `keep`, ascending: as `ask` would have returned them.
        """
        agent, kept = self._agent, np.asarray(keep, dtype=np.int64)
        agent.settle()
        if self._shared is not None:
            return self._play_in_turn(self._shared, draws, kept)
        played, points, done = np.empty(len(draws)), list[Any](), 0
        while True:
            stop = int(min(len(draws), done + agent.rounds_left))
            known = self._means(agent.arms)
            some = agent.play_rounds(known, draws[done:stop])
            # which needs no temporary
            np.take(known, some, out=played[done : done + len(some)], mode="clip")
            if len(points) < len(kept):
                due = kept[len(points) : np.searchsorted(kept, done + len(some))]
                handles = some[due - done].tolist()
                # while it is there
                found = {handle: agent.arms.point(handle) for handle in set(handles)}
                points += [found[handle] for handle in handles]
            done += len(some)
            agent.count_rounds(len(some))
            if done == len(draws):
                return played, points

    def _play_in_turn(self, agent: Shared, draws: Array, kept: npt.NDArray[np.int64]) -> tuple[Array, list[Any]]:
        """Play the rounds of each player of an agent that has several."""
        played, points, done = np.empty(len(draws)), dict[int, Any](), 0
        while done < len(draws):
            stop = int(min(len(draws), done + agent.rounds_left))
            turns = agent.turns(stop - done)
            order = np.argsort(turns, kind="stable")
            for own in np.split(order, np.flatnonzero(np.diff(turns[order])) + 1):
                number, rounds = int(turns[own[0]]), done + own
                if number not in self._players:
                    self._players[number] = Simulation(agent.player(number), self._mean)
                due = np.flatnonzero(np.isin(rounds, kept))
                played[rounds], found = self._players[number].play(draws[rounds], due)
                points |= dict(zip(rounds[due].tolist(), found, strict=True))
            agent.count_rounds(stop - done)
            done = stop
        return played, [points[i] for i in kept.tolist()]

    def _means(self, arms: KnownArms) -> Array:
        """Return the means of all handles, computed for those made since the last call."""
        if arms.numbering is not self._numbering:
            self._numbering, self._known = arms.numbering, Rows(np.empty(0))
        if len(self._known.filled) < len(arms):
            new = arms.points_from(len(self._known.filled))
            self._known.append(as_means(self._mean(new), len(new)))
        return self._known.filled


def as_means(values: npt.ArrayLike, size: int) -> Array:
    """Return the means of so many arms or cells, which are probabilities."""
    means = np.ascontiguousarray(values, dtype=np.float64)
    if means.shape != (size,) or not ((means >= 0) & (means <= 1)).all():
        raise InputError(f"the means of {size} points must be so many numbers in [0, 1], but got {shown(means)}.")
    return means
