"""The shell of every agent: ask for a point, tell its reward, recommend the best.

    point = agent.ask()
    agent.tell(point, reward)

Feedback may be delayed, may come in any order, and may be for points that were never asked for. A
point that was asked for, or is expected, is pending until it is told or forgotten (`Ledger`). A
pending point shrinks the uncertainty but does not move the mean. A refused call changes nothing.
Inside, rewards are scaled to [0, 1].

An algorithm is one final class. Its constructor checks the settings, which `__new__` records, and
ends with `_start`: a new agent begins there, and one from a file resumes. The algorithm implements
the methods below, from `_begin` to `_restore`; this shell handles pending points, epochs, the range
of rewards and files.
"""

import inspect
import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from orbandit._checks import (
    MAX_COUNT,
    Array,
    RandomLike,
    as_batch,
    as_count,
    as_finite,
    as_number,
    as_range,
    as_stream,
    shown,
)
from orbandit.agents import files
from orbandit.agents.ledger import ELSEWHERE, Ledger
from orbandit.agents.table import width_of
from orbandit.errors import InputError, InputTypeError, OrbanditWarning
from orbandit.groups import Group
from orbandit.spaces import Space
from orbandit.spaces.feasible_set import Rule

Seed = RandomLike | None
"""What seeds an agent: an int, a SeedSequence, a Generator to draw from, or None for a fresh
one."""

MAX_BATCH = 100_000
"""Most points to ask for at once."""

CREDIBLE = 1.96
"""A normal distribution has 95% within so many deviations of its mean."""

FIRST_HORIZON = 64
"""The horizon of the first epoch of an agent without one; each epoch doubles it."""

State = tuple[dict[str, Any], files.Arrays]
"""What a file keeps of an algorithm: a few numbers, and arrays."""


class Arms(Protocol):
    """What an agent chooses from. A handle numbers an arm or a cell.

    ELSEWHERE is any other point.
    """

    @property
    def space(self) -> Space | None:
        """Where points live, as the caller knows it; None if arms are indices."""

    @property
    def group(self) -> Group | None:
        """The symmetry, if there is one."""

    def key(self, point: Any) -> Hashable:
        """Return what identifies a point, after a check of its form."""

    def point(self, handle: int) -> Any:
        """Return the point, or the name, of a handle."""

    def check(self, points: Sequence[Any] | npt.NDArray[Any]) -> None:
        """Refuse anything but points of the space, or arms."""

    def handle(self, point: Any) -> int:
        """Return the handle of a point that is measured without an ask."""

    def packed(self, keys: list[Any]) -> npt.NDArray[Any]:
        """Return points as files hold them, given what identifies them."""

    def unpacked(self, points: npt.NDArray[Any]) -> list[Any]:
        """Undo `packed`, checked."""

    def admits(self, key: Any, handle: int) -> bool:
        """Return whether a pending measurement of a point can have a handle."""


class Agent(ABC):
    """Base of all agents: chooses points and learns from noisy rewards.

    Examples
    --------
    >>> import orbandit as ob
    >>> agent = ob.agents.OrbitTree(ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2), seed=0)
    >>> for _ in range(300):
    ...     point = agent.ask()
    ...     agent.tell(point, 1 - abs(point.sum() - 1.2))
    >>> agent.rounds, bool(abs(agent.recommend().sum() - 1.2) < 0.1)
    (300, True)
    """

    _settings: dict[str, Any]
    arms: Arms
    _rng: np.random.Generator
    _horizon: int | None
    _goal: int
    _rounds: int
    _ledger: Ledger
    _file: tuple[dict[str, Any], dict[str, Any], files.Arrays] | None = None
    _is_scaled: bool | None = None  # whether the agent of a file works in scaled coordinates

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Record the settings, all but the seed, by their names."""
        made = super().__new__(cls)
        try:
            given = _signature(cls).bind(made, *args, **kwargs)
        except TypeError:
            return made  # the constructor says the same, with its own name
        given.apply_defaults()
        made._settings = {name: _kept(value) for name, value in given.arguments.items() if name not in ("self", "seed")}
        return made

    def _plan(self, horizon: int | None, reward_range: tuple[float, float]) -> None:
        """Check and keep the settings that all agents have."""
        self._horizon = None if horizon is None else as_count(horizon, "horizon")
        self._low, self._high = self._settings["reward_range"] = as_range(reward_range)
        self._span = self._high - self._low

    def _start(self, seed: Seed) -> None:
        """Begin, or resume from a file; the settings are checked already."""
        self._ledger, self._rounds, self._goal = Ledger(), 0, self._horizon or FIRST_HORIZON
        if self._file is None:
            self._rng = as_stream(seed)
            self._begin()
        else:
            self._resume(*self._file)
            self._file = None

    def __repr__(self) -> str:
        horizon = "anytime" if self._horizon is None else f"horizon={self._horizon}"
        arms = f"{self.n_arms} arms, " if hasattr(self, "n_arms") else ""
        return f"<{type(self).__name__}: {arms}{horizon}, {self._rounds} rounds told>"

    @property
    def rounds(self) -> int:
        """Number of rewards told so far."""
        return self._rounds

    @property
    def horizon(self) -> int | None:
        """The number of rounds planned for, or None."""
        return self._horizon

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest reward."""
        return self._low, self._high

    @property
    def space(self) -> Space | None:
        """Where the points live; None for agents that play indices."""
        return self.arms.space

    @property
    def group(self) -> Group | None:
        """The symmetry, if there is one."""
        return self.arms.group

    def ask(self) -> Any:
        """Return the point to try next."""
        if self._ledger.last is not None:
            self.settle()
        handle, arms = self._choose(), self.arms
        point = arms.point(handle)
        self._ledger.last = (arms.key(point), handle)
        return point

    def tell(self, point: Any, reward: float, **details: Any) -> None:
        """Learn the reward of a point, asked for or not.

        Parameters
        ----------
        point
            Any point of the space. The same point as `ask` returned answers that ask; any other is
            data from elsewhere.
        reward : float
            Within `reward_range`.
        **details
            What else the agent takes, such as `side` of `UCBN`.
        """
        value, key, ledger = self._scaled(reward), self.arms.key(point), self._ledger
        handle, released = ledger.answered(key)
        if details:
            if unknown := details.keys() - _details(type(self)):
                raise InputTypeError(
                    f"`tell` of {type(self).__name__} takes no {', '.join(map(repr, sorted(unknown)))}."
                )
            self._observe(handle, point, value, released, **details)
        else:
            self._observe(handle, point, value, released)  # which is faster
        ledger.close(key, handle, released)
        self._rounds += 1
        if self._rounds >= self._goal:
            self._end_epoch()
        if self._notice is not None:
            self._give_notice()

    def recommend(self) -> Any:
        """Return the point with the best estimate so far; changes nothing."""
        return self._recommend()

    def estimate(self, point: Any) -> float:
        """Return the estimated mean reward at a point, NaN if there are no data about it.

        Parameters
        ----------
        point
            Any point of the space, or any arm.
        """
        self.arms.check([point])
        return float(self._unscaled(self._estimate(point)))

    def expect(self, point: Any) -> None:
        """Register a measurement that is under way at a point, whoever started it.

        It is pending, as after `ask`: it shrinks the uncertainty there but does not move the mean.
        `tell` of the same point answers it, and `forget` removes it.

        Parameters
        ----------
        point
            Any point of the space.
        """
        key = self.arms.key(point)
        self.arms.check([point])
        self.settle()
        handle = self.arms.handle(point)
        self._expect(handle, point, 1.0)
        self._ledger.add(key, handle)

    def forget(self, point: Any) -> None:
        """Remove a pending point that will never be told, as after a failed measurement.

        Parameters
        ----------
        point
            A pending point: asked for or expected, and not told.
        """
        key = self.arms.key(point)
        if self._ledger.last is not None and self._ledger.last[0] == key:
            self._ledger.last = None
        elif key in self._ledger.pending:
            self._expect(self._ledger.pending[key][0], point, -1.0)
            self._ledger.release(key)
        else:
            raise InputError(f"`point` must be pending, asked for or expected and not told, but got {shown(point)}.")

    def ask_batch(self, k: int) -> npt.NDArray[Any]:
        """Return k points to try at once, at most 100,000, one per row.

        Each allows for those before it.

        Parameters
        ----------
        k : int
            Number of points, from 1 to 100,000.
        """
        why = "a batch is chosen point by point without any reward; tell those of a smaller batch before the next"
        return np.array([self.ask() for _ in range(as_count(k, "k", maximum=MAX_BATCH, why=why))])

    def tell_batch(self, points: Sequence[Any] | npt.NDArray[Any], rewards: npt.ArrayLike) -> None:
        """Learn the rewards of several points; if one is refused, none is learnt.

        Parameters
        ----------
        points : sequence or (m, dim) array
            Points of the space, or arms.
        rewards : (m,) array
            The reward of each, within `reward_range`.
        """
        points, values = as_batch(points), as_finite(rewards, "rewards")
        if values.shape != (len(points),):
            raise InputError(f"`rewards` must be one for each of {len(points)} points, but has shape {values.shape}.")
        self.arms.check(points)
        for value in values.tolist():
            self._scaled(value)
        if len(points):
            self._tell_all(points, values)
        if self._notice is not None:
            self._give_notice()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a file, atomically; `load` resumes exactly where it was.

        A file holds no function. It records only whether there is a `feasible`; if so, pass that to
        `load`.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced.
        """
        _, (kind, settings, state, stream, arrays) = self.__reduce__()
        rule = settings.pop("feasible", None)
        header = {"agent": kind.__name__, "settings": settings, "state": state, "stream": stream}
        files.write(path, header if rule is None else header | {"has_rule": True}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, feasible: Rule | None = None) -> Self:
        """Return the agent saved in a file. The file is checked, and nothing in it is executed.

        Parameters
        ----------
        path : str or path
            The file. `Agent.load` reads a file of any agent of this package; a subclass reads only
            its own.
        feasible : callable, optional
            The constraint that the agent had; required if it had one.
        """
        header, arrays = files.read(path)
        name = str(header.get("agent"))
        kind = next((known for known in _kinds(cls) if known.__name__ == name), None)
        if kind is None:
            raise InputError(f"{os.fspath(path)} holds a {name}, not a {cls.__name__}; use {name}.load or Agent.load.")
        if (feasible is None) is ("has_rule" in header):
            with_rule = "which has a constraint; pass it as `feasible`"
            without = "which has no constraint; leave `feasible` out"
            raise InputError(
                f"{os.fspath(path)} holds an agent {name}, {with_rule if feasible is None else without}.",
                field="feasible",
                value=feasible,
            )
        rule = {} if feasible is None else {"feasible": feasible}
        try:
            agent: Self = _revived(kind, header["settings"] | rule, header["state"], header["stream"], arrays)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError) as error:
            if rule and getattr(error, "field", None) == "feasible":
                raise
            raise InputError(f"{os.fspath(path)} holds no valid {name} ({error!r}).") from error
        return agent

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle as `save` and `load` do."""
        self.settle()
        state, arrays = self._state()
        state = {"rounds": self._rounds, "goal": self._goal, **state}
        asks = {"asked": self.arms.packed(self._ledger.keys), "asked_handles": self._ledger.handles}
        return _revived, (type(self), dict(self._settings), state, files.stream_state(self._rng), {**arrays, **asks})

    def _resume(self, state: dict[str, Any], stream: dict[str, Any], arrays: files.Arrays) -> None:
        """Resume from the state that `__reduce__` returned, checked."""
        rest = dict(state)
        self._rng = files.stream(stream)
        self._rounds = as_count(rest.pop("rounds"), "rounds", minimum=0, maximum=MAX_COUNT)
        self._goal = as_goal(rest.pop("goal"), self._horizon, self._rounds)
        self._restore(rest, arrays)
        keys, handles = self.arms.unpacked(arrays["asked"]), arrays["asked_handles"]
        if handles.shape != (len(keys),):
            raise ValueError("pending asks and their points do not match")
        for key, handle in zip(keys, handles.tolist(), strict=True):
            if handle < ELSEWHERE or not self.arms.admits(key, int(handle)):
                raise ValueError("pending asks at points that are not those of their arms or cells")
            self._ledger.add(key, int(handle))

    def settle(self) -> None:
        """Make the last ask pending."""
        if self._ledger.last is not None:
            key, handle = self._ledger.last
            self._expect(handle, None, 1.0)
            self._ledger.add(key, handle)
            self._ledger.last = None

    @property
    def rounds_left(self) -> float:
        """Rounds until the epoch ends.

        Infinite for an agent with a horizon, which has one epoch only.
        """
        return math.inf if self._horizon is not None else self._goal - self._rounds

    def count_rounds(self, rounds: int) -> None:
        """Count rounds, each with one reward; an epoch may end.

        Parameters
        ----------
        rounds : int
            Number of rounds that were played.
        """
        self._rounds += rounds
        if self._rounds >= self._goal:
            self._end_epoch()

    _notice: str | None = None
    """What `tell` is to warn of when all is learnt: where warnings are errors, it ends there."""

    def _give_notice(self) -> None:
        """Warn of what was noticed, once."""
        said, self._notice = self._notice, None
        warnings.warn(str(said), OrbanditWarning, stacklevel=3)

    def _end_epoch(self) -> None:
        """Double the horizon of an agent without one."""
        if self._horizon is not None:
            return
        self.settle()
        before = self._goal
        try:
            while self._goal <= self._rounds:
                self._goal *= 2
            self._renew()
        except BaseException:
            self._goal = before  # to be tried again
            raise

    @abstractmethod
    def _begin(self) -> None:
        """Make the state of an agent without observations."""

    @abstractmethod
    def _choose(self) -> int:
        """Return the handle of what to play next."""

    @abstractmethod
    def _observe(self, handle: int, point: Any, value: float, released: float, *args: Any, **details: Any) -> None:
        """Learn a scaled reward and release pending observations.

        Check the point before any change.
        """

    @abstractmethod
    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        """Learn the rewards of one point or more, all checked.

        At once if possible, else by `_tell_each`.
        """

    @abstractmethod
    def _expect(self, handle: int, point: Any, amount: float) -> None:
        """Add to the pending observations of what an ask will inform.

        By default the handle's point.
        """

    @abstractmethod
    def _recommend(self) -> Any:
        """Return the point with the best estimate so far."""

    @abstractmethod
    def _estimate(self, point: Any) -> Any:
        """Return the scaled estimate of the mean at a point, NaN if there are no data about it."""

    @abstractmethod
    def _renew(self) -> None:
        """Take up the new horizon `_goal`, keeping all observations."""

    @abstractmethod
    def _state(self) -> State:
        """Return the state to save, besides settings and pending points."""

    @abstractmethod
    def _restore(self, state: dict[str, Any], arrays: files.Arrays) -> None:
        """Set the state that `_state` returned, checked."""

    def _tell_each(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        """Tell rewards one after the other."""
        for point, reward in zip(points, rewards.tolist(), strict=True):
            self.tell(point, reward)

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
        return width_of(self._goal) / 2


def as_goal(value: Any, horizon: int | None, rounds: int) -> int:
    """Return the horizon of the present epoch: the given one, or one that a doubling reached."""
    goal = as_count(value, "goal")
    epochs, rest = divmod(goal, FIRST_HORIZON)
    doubled = rest == 0 and epochs.bit_count() == 1 and goal <= max(FIRST_HORIZON, 2 * rounds)
    if not (doubled if horizon is None else goal == horizon):
        raise ValueError(f"a horizon of {goal} after {rounds} rounds")
    return goal


@lru_cache
def _signature(kind: type[Agent]) -> inspect.Signature:
    return inspect.signature(kind.__init__)


def _kept(value: Any) -> Any:
    """Return a setting that the caller cannot change later.

    An array of one number is that number.
    """
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


@lru_cache
def _details(kind: type[Agent]) -> frozenset[str]:
    """Return what `tell` takes besides a point and a reward."""
    parameters = inspect.signature(kind._observe).parameters.values()
    return frozenset(one.name for one in parameters if one.kind is one.KEYWORD_ONLY)


def _kinds(cls: type[Agent]) -> list[type[Any]]:
    """Return the final classes among a class and its subclasses."""
    own = [cls] if getattr(cls, "__final__", False) else []
    return [*own, *(kind for child in cls.__subclasses__() for kind in _kinds(child))]


def _revived(
    kind: type[Any], settings: dict[str, Any], state: dict[str, Any], stream: dict[str, Any], arrays: files.Arrays
) -> Any:
    """Return an agent with the state that a file holds, checked."""
    held = sum(part.size for part in (*arrays.values(), *settings.values()) if isinstance(part, np.ndarray))
    for name in ("n_arms", "candidates"):  # each of them has a row or a column
        if name in settings and as_count(settings[name], name) > held:
            raise ValueError(f"{name} of more than the {held} numbers there are")
    given = {name: value for name, value in settings.items() if name != "is_scaled"}
    agent = Agent.__new__(kind, **given)
    # 0.1.0 never did
    agent._file, agent._is_scaled = (state, stream, arrays), bool(settings.get("is_scaled", False))
    kind.__init__(agent, **given)
    return agent
