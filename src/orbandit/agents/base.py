"""The protocol of an agent: ask for a point, tell its reward, recommend the best.

    point = agent.ask()
    agent.tell(point, reward)

Feedback may come late and in any order, and for points that were never asked for. An ask is pending until it is told or
forgotten; the last one is made pending only when the next comes, so that asking and telling in turn costs one update.
Whatever an agent refuses, it refuses before its state changes. Inside, rewards are scaled to [0, 1].
"""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from orbandit._checks import (
    MAX_COUNT,
    Array,
    RandomLike,
    as_count,
    as_finite,
    as_generator,
    as_range,
    refuse_masked,
    shown,
)
from orbandit.agents import files
from orbandit.errors import InputError, InputTypeError

Seed = RandomLike | None
"""What seeds an agent's stream: an int, a SeedSequence, a Generator to draw from, or None for a fresh one."""

Means = Callable[[npt.NDArray[Any]], Array]
"""Returns the mean rewards of a batch of points, or of arms."""

Handles = npt.NDArray[np.int64]
"""The numbers of arms or cells."""

ELSEWHERE = -1
"""The handle of a point that was not asked for, or of arms that are no more."""

MAX_BATCH = 100_000
"""Most points to ask for at once."""

FIRST_HORIZON = 64
"""The horizon of the first epoch of an agent without one; each epoch doubles it."""


class Agent(ABC):
    """Chooses points, learns from noisy rewards."""

    _rng: np.random.Generator
    _horizon: int | None
    _goal: int
    _rounds: int
    _asked: dict[Any, list[int]]  # the handles of the pending asks of each point, oldest first; cells may share a point
    _last: tuple[Any, int] | None

    _configure: Callable[..., None]
    """Check and keep the settings; everything else is state."""

    def _configure_common(self, *, horizon: int | None, reward_range: tuple[float, float]) -> None:
        self._horizon = None if horizon is None else as_count(horizon, "horizon")
        self._low, self._high = as_range(reward_range)
        self._span = self._high - self._low
        self._goal = self._horizon or FIRST_HORIZON
        self._rounds = 0

    def __repr__(self) -> str:
        horizon = "anytime" if self._horizon is None else f"horizon={self._horizon}"
        return f"<{type(self).__name__}: {self.n_arms} arms, {horizon}, {self._rounds} rounds told>"

    @property
    def rounds(self) -> int:
        """Number of rewards told so far."""
        return self._rounds

    @property
    @abstractmethod
    def n_arms(self) -> int:
        """Number of arms to choose from now."""

    @property
    def horizon(self) -> int | None:
        """The number of rounds planned for, or None."""
        return self._horizon

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest reward."""
        return self._low, self._high

    def ask(self) -> Any:
        """Return the point to try next."""
        self._settle()
        handle = self._choose()
        point = self._point(handle)
        self._last = (self._key(point), handle)
        return point

    def tell(self, point: Any, reward: float) -> None:
        """Learn the reward of a point, asked for or not.

        Parameters
        ----------
        point
            Any point of the space. As `ask` returned it, it answers that ask; otherwise it is data from elsewhere.
        reward : float
            Within `reward_range`.
        """
        value = self._scaled(reward)
        key = self._key(point)
        handle, released = self._answered(key)
        self._observe(handle, point, value, released)
        self._close(key, released)

    @abstractmethod
    def recommend(self) -> Any:
        """Return the best point by what is known now; changes nothing."""

    @abstractmethod
    def estimate(self, point: Any) -> float:
        """Return the mean reward to expect at a point, NaN if nothing is known of it."""

    def expect(self, point: Any) -> None:
        """Allow for a measurement that is under way at a point, whoever began it.

        It is pending as an ask is: `tell` of the same point answers it, and `forget` takes it back.

        Parameters
        ----------
        point
            Any point of the space.
        """
        key = self._key(point)
        self._nearest(point)  # refuses what is no point of X before anything changes
        self._settle()
        handle = self._expected(point)
        self._expect(handle, point, 1.0)
        self._asked.setdefault(key, []).append(handle)

    def forget(self, point: Any) -> None:
        """Take back an ask, or what is expected, that will never be answered, as after a failed measurement."""
        key = self._key(point)
        if self._last is not None and self._last[0] == key:
            self._last = None
        elif key in self._asked:
            self._expect(self._asked[key][0], point, -1.0)
            self._release(key)
        else:
            raise InputError(
                f"only a point that was asked for or expected, and not told, can be forgotten, but got {shown(point)}."
            )

    def tell_batch(self, points: Sequence[Any] | npt.NDArray[Any], rewards: npt.ArrayLike) -> None:
        """Learn the rewards of several points; if one of them is refused, none is learnt."""
        points, values = as_batch(points), as_finite(rewards, "rewards")
        if values.shape != (len(points),):
            raise InputError(f"`rewards` must be one for each of {len(points)} points, but has shape {values.shape}.")
        for point, value in zip(points, values.tolist(), strict=True):
            self._scaled(value)
            self._nearest(point)
        for point, value in zip(points, values.tolist(), strict=True):
            self.tell(point, value)

    @abstractmethod
    def _nearest(self, point: Any) -> int:
        """Return the arm nearest to a point of X, which is checked."""

    def ask_batch(self, k: int) -> npt.NDArray[Any]:
        """Return k points to try at once, at most 100,000, one to a row; each takes the ones before it into account."""
        why = "a batch is chosen point by point without any reward; tell those of a smaller batch before the next"
        return np.array([self.ask() for _ in range(as_count(k, "k", maximum=MAX_BATCH, why=why))])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a file, in one step; `load` goes on exactly where it was."""
        _, (kind, settings, state, stream, arrays) = self.__reduce__()
        header = {"agent": kind.__name__, "settings": settings, "state": state, "stream": stream}
        files.write(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the agent that was saved in a file; the file is checked, and nothing in it is run.

        `Agent.load` takes a file of any agent of this package, a class only its own.
        """
        header, arrays = files.read(path)
        name = str(header.get("agent"))
        kind = next((known for known in _kinds(cls) if known.__name__ == name), None)
        if kind is None:
            raise InputError(f"{os.fspath(path)} holds a {name}, not a {cls.__name__}; use {name}.load or Agent.load.")
        try:
            agent: Self = _revived(kind, header["settings"], header["state"], header["stream"], arrays)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError) as error:
            raise InputError(f"{os.fspath(path)} holds no valid {name} ({error!r}).") from error
        return agent

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle as `save` and `load` do."""
        settings, state, arrays = self._frozen()
        state = {"rounds": self._rounds, "goal": self._goal, **state}
        return _revived, (type(self), settings, state, files.stream_state(self._rng), arrays)

    @abstractmethod
    def _choose(self) -> int:
        """Return the handle, an arm or a cell, of what to play next."""

    @abstractmethod
    def _point(self, handle: int) -> Any:
        """Return the point, or the name, of a handle."""

    @abstractmethod
    def _key(self, point: Any) -> Hashable:
        """Return what identifies a point, after a check of its form."""

    @abstractmethod
    def _expected(self, point: Any) -> int:
        """Return the handle of a point of X that is measured without an ask."""

    @abstractmethod
    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        """Learn a scaled reward at a point, and release pending observations; refuse the point before anything."""

    @abstractmethod
    def _expect(self, handle: int, point: Any, amount: float) -> None:
        """Add to the pending observations of what an ask will inform; without a point, it is of the handle's own."""

    def _prepare(self) -> None:  # noqa: B027 - a hook that few agents need
        """See to it that the next round can be played."""

    @abstractmethod
    def _known_means(self, mean: Means) -> Array:
        """Return the means of all arms or cells there are, by their handles."""

    @abstractmethod
    def _play_some(self, means: Array, draws: Array) -> Handles:
        """Play rounds in a compiled loop, as `_play` does, until something is due; return what was played."""

    @abstractmethod
    def _next_epoch(self) -> None:
        """Take up the new horizon `_goal`, keeping all observations."""

    def _play(self, mean: Means, draws: Array, keep: Sequence[int] | Handles = ()) -> tuple[Array, list[Any]]:
        """Play one Bernoulli round for each draw, compiled; return the means of the points played, and some points.

        The reward is 1 if the draw is below the mean. The same as asking and telling that many times. The points are
        those of the draws whose indices are in `keep`, ascending: as `ask` would have returned them.
        """
        self._settle()
        played, kept = np.empty(len(draws)), np.asarray(keep, dtype=np.int64)
        points: list[Any] = []
        done = 0
        while True:
            stop = len(draws) if self._horizon is not None else min(len(draws), done + self._goal - self._rounds)
            self._prepare()
            known = self._known_means(mean)
            some = self._play_some(known, draws[done:stop])
            np.take(known, some, out=played[done : done + len(some)], mode="clip")  # which needs no temporary
            if len(points) < len(kept):
                due = kept[len(points) : np.searchsorted(kept, done + len(some))]
                handles = some[due - done].tolist()
                found = {handle: self._point(handle) for handle in set(handles)}  # while it is there
                points += [found[handle] for handle in handles]
            done += len(some)
            self._rounds += len(some)
            if self._rounds >= self._goal:
                self._advance()
            self._review()
            if done == len(draws):
                return played, points

    def _review(self) -> None:  # noqa: B027 - a hook that few agents need
        """Do what is due after some rounds."""

    def _open_asks(self) -> None:
        """Start without any ask."""
        self._asked, self._last = {}, None

    def _ask_arrays(self) -> files.Arrays:
        """Return the handles of the pending asks, in the order of `_pending_keys`."""
        self._settle()
        handles = [handle for handles in self._asked.values() for handle in handles]
        return {"asked_handles": np.array(handles, dtype=np.int64)}

    def _pending_keys(self) -> list[Any]:
        """Return what identifies the point of each pending ask."""
        return [key for key, handles in self._asked.items() for _ in handles]

    def _set_asks(self, arrays: files.Arrays, keys: list[Any], size: int) -> None:
        """Undo `_ask_arrays`, checked: handles are below `size`."""
        handles = arrays["asked_handles"]
        if handles.shape != (len(keys),):
            raise ValueError("pending asks and their points do not match")
        if not ((handles >= ELSEWHERE) & (handles < size)).all():
            raise ValueError("pending asks of what does not exist")
        self._open_asks()
        for key, handle in zip(keys, handles.tolist(), strict=True):
            self._asked.setdefault(key, []).append(int(handle))

    def _answered(self, key: Any) -> tuple[int, float]:
        """Return the handle of the ask that a reward answers, and how many pending observations that releases."""
        if self._last is not None and self._last[0] == key:
            return self._last[1], 0.0
        if key in self._asked:
            return self._asked[key][0], 1.0
        return ELSEWHERE, 0.0

    def _close(self, key: Any, released: float) -> None:
        """Close a round: the ask it answers is no longer pending, and an epoch may end."""
        if released:
            self._release(key)
        elif self._last is not None and self._last[0] == key:
            self._last = None
        self._rounds += 1
        if self._rounds >= self._goal:
            self._advance()

    def _settle(self) -> None:
        """Make the last ask pending."""
        if self._last is not None:
            key, handle = self._last
            self._expect(handle, None, 1.0)
            self._asked.setdefault(key, []).append(handle)
            self._last = None

    def _release(self, key: Any) -> None:
        handles = self._asked[key]
        del handles[0]
        if not handles:
            del self._asked[key]

    def _advance(self) -> None:
        """Double the horizon of an agent without one when its rounds are used up."""
        if self._horizon is not None:
            return
        self._settle()
        before = self._goal
        try:
            while self._goal <= self._rounds:
                self._goal *= 2
            self._next_epoch()
        except BaseException:
            self._goal = before  # to be tried again
            raise

    @abstractmethod
    def _frozen(self) -> tuple[dict[str, Any], dict[str, Any], files.Arrays]:
        """Return the settings for `_configure`, what else is to be remembered, and the arrays of the state."""

    @abstractmethod
    def _thaw(self, state: dict[str, Any], arrays: files.Arrays) -> None:
        """Set the state that `_frozen` returned, checked."""

    def _scaled(self, reward: float) -> float:
        """Return a reward scaled to [0, 1]."""
        value = reward if type(reward) is float else as_number(reward, "reward")
        if self._low <= value <= self._high:
            return (value - self._low) / self._span
        if not math.isfinite(value):
            raise InputError(
                f"`reward` must be finite, but got {value}; leave a failed measurement out, or `forget` it."
            )
        raise InputError(
            f"`reward` must lie in [{self._low:g}, {self._high:g}], but got {value:g}; pass `reward_range=(low, high)`."
        )

    def _unscaled(self, values: Array) -> Array:
        """Return scaled values in the units of rewards."""
        return np.asarray(self._low + self._span * values)

    @property
    def _log_horizon(self) -> float:
        """Log n, for n the horizon or that of the present epoch."""
        return math.log(max(self._goal, 2))


def as_stream(seed: Seed) -> np.random.Generator:
    """Return the agent's stream, of the one kind that files hold; a generator of another kind seeds it."""
    stream = np.random.default_rng() if seed is None else as_generator(seed)
    if isinstance(stream.bit_generator, np.random.PCG64):
        return stream
    return np.random.default_rng(stream.integers(2**63, size=2).tolist())


def as_batch(points: Sequence[Any] | npt.NDArray[Any]) -> Sequence[Any] | npt.NDArray[Any]:
    """Return points that can be counted and read more than once."""
    if isinstance(points, Sequence) or (isinstance(points, np.ndarray) and points.ndim):
        return points
    array = np.asarray(points) if hasattr(points, "__array__") else None  # a table of another package, perhaps
    if array is None or not array.ndim:
        raise InputTypeError(f"`points` must be a list or an array, but got {shown(points)}; pass list(points).")
    return array


def as_number(value: Any, name: str) -> float:
    """Return one real number, NaN and infinity included."""
    refuse_masked(value, name)
    try:
        number = np.asarray(value)
        if number.dtype.kind not in "biuf" or number.ndim != 0:
            raise TypeError
        return float(number)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"`{name}` must be one number, but got {shown(value)}.") from error


def as_means(values: npt.ArrayLike, size: int) -> Array:
    """Return the means of so many arms or cells, which are probabilities."""
    means = np.ascontiguousarray(values, dtype=np.float64)
    if means.shape != (size,) or not ((means >= 0) & (means <= 1)).all():
        raise InputError(f"the means of {size} points must be so many numbers in [0, 1], but got {shown(means)}.")
    return means


def as_goal(value: Any, horizon: int | None, rounds: int) -> int:
    """Return the horizon of the present epoch, which is the one given, or has doubled as often as rounds allow."""
    goal = as_count(value, "goal")
    epochs, rest = divmod(goal, FIRST_HORIZON)
    doubled = rest == 0 and epochs.bit_count() == 1 and goal <= max(FIRST_HORIZON, 2 * rounds)
    if not (doubled if horizon is None else goal == horizon):
        raise ValueError(f"a horizon of {goal} after {rounds} rounds")
    return goal


def _kinds(cls: type[Agent]) -> list[type[Any]]:
    """Return the final classes among the class and all that derive from it."""
    own = [cls] if getattr(cls, "__final__", False) else []
    return [*own, *(kind for child in cls.__subclasses__() for kind in _kinds(child))]


def _revived(
    kind: type[Any], settings: dict[str, Any], state: dict[str, Any], stream: dict[str, Any], arrays: files.Arrays
) -> Any:
    """Return an agent with a state that `_frozen` returned, checked."""
    held = sum(part.size for part in (*arrays.values(), *settings.values()) if isinstance(part, np.ndarray))
    for name in ("n_arms", "candidates"):  # each of them has a row or a column
        if name in settings and as_count(settings[name], name) > held:
            raise ValueError(f"{name} of more than the {held} numbers there are")
    agent = object.__new__(kind)
    agent._configure(**settings)
    rest = dict(state)
    agent._rng = files.stream(stream)
    agent._rounds = as_count(rest.pop("rounds"), "rounds", minimum=0, maximum=MAX_COUNT)
    agent._goal = as_goal(rest.pop("goal"), agent._horizon, agent._rounds)
    agent._thaw(rest, arrays)
    return agent
