"""maximize and minimize: one call for a function to measure, with an agent inside.

The range of the rewards is learnt. The first points are spread over the space before any reward is told; then the agent
works with the range seen so far and some room. A value outside makes the range wider, and the agent starts
again with all measurements told. Nothing that was measured is refused or lost.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from orbandit._checks import Array, as_count, as_finite, as_points, as_positive, described, shown
from orbandit.agents import Agent
from orbandit.agents.base import Seed, as_number, as_stream
from orbandit.agents.suited import Maker, learns_slopes, suited
from orbandit.errors import InputError, InputTypeError, MeasurementError
from orbandit.groups import Group
from orbandit.groups.base import check_fit
from orbandit.groups.units import Units
from orbandit.history import History as History
from orbandit.spaces import Space

SPREAD = 16
"""Measurements made before the range of rewards is guessed."""

ROOM = 0.25
"""The range reaches this fraction of what was seen beyond it on either side."""

Measure = Callable[[Array], float]


@dataclass(frozen=True)
class Best:
    """What was found.

    Attributes
    ----------
    point : (dim,) array
        The point recommended.
    value : float
        The agent's estimate of the mean there, from all measurements around it; not the luckiest measurement.
    history : History
        All measurements.
    interrupted : bool
        Whether Ctrl-C ended the search before the budget was spent.
    """

    point: Array
    value: float
    history: History
    interrupted: bool = False


def maximize(
    measure: Measure,
    space: Space,
    group: Group | None = None,
    *,
    budget: int,
    lipschitz: float | None = None,
    agent: Maker | None = None,
    history: History | None = None,
    seed: Seed = None,
    progress: bool | None = None,
) -> Best:
    """Find a point where a noisy function is largest on average.

    Parameters
    ----------
    measure : callable
        Takes a point (dim,) and returns one noisy value, of any range.
    space : Space
        Where to search.
    group : Group, optional
        What leaves the function alone; `check_symmetry` measures whether that is so.
    budget : int
        Number of measurements that this call makes, besides those of `history`.
    lipschitz : float, optional
        The Lipschitz constant of the mean, if it is known. Otherwise `OrbitGP` and `OrbitTree` learn it, other agents
        are told that the whole range of values may be crossed over half the diameter of the space, and all work in
        coordinates divided by the width of the space, each class that the group mixes by its own: metres may stand
        beside degrees.
    agent : callable, optional
        Called as agent(space, group, horizon=, lipschitz=, reward_range=, seed=), as the classes of `ob.agents` are. By
        default `OrbitGP` below 3,000 measurements, history included, or 12,000 in more than four dimensions, and
        `OrbitTree` from there on, since its choices take microseconds instead of milliseconds; also for the few groups
        for which `OrbitGP` has no kernel.
    history : History, optional
        Measurements made before, as another call returned them or an error carried them; they do not count against
        `budget`.
    seed : int, SeedSequence or Generator, optional
        The source of the agent's randomness.
    progress : bool, optional
        Whether to show a progress bar, by default on a terminal only.

    Returns
    -------
    Best
        With `.point`, `.value` and `.history`. Ctrl-C ends the search early and returns what is known.

    Raises
    ------
    MeasurementError
        If `measure` raises, or returns anything but a finite number. It has the `point`, and the `history` up to there.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> rng = np.random.default_rng(0)
    >>> def measure(x):                                     # symmetric in x, about 70 at (0.2, 0.6, 0.9)
    ...     return 70 - 100 * np.abs(np.sort(x) - [0.2, 0.6, 0.9]).sum() + rng.normal()
    >>> best = ob.maximize(measure, ob.spaces.Box(0, 1, dim=3), ob.groups.Symmetric(3), budget=300, seed=0)
    >>> len(best.history), bool(best.value > 60)
    (300, True)
    """
    return _optimize(1.0, measure, space, group, budget, lipschitz, agent, history, seed, progress)


def minimize(
    measure: Measure,
    space: Space,
    group: Group | None = None,
    *,
    budget: int,
    lipschitz: float | None = None,
    agent: Maker | None = None,
    history: History | None = None,
    seed: Seed = None,
    progress: bool | None = None,
) -> Best:
    """Find a point where a noisy function is smallest on average; as `maximize`, for a loss.

    `budget` measurements are made here too, besides those of `history`.

    Examples
    --------
    >>> import orbandit as ob
    >>> best = ob.minimize(lambda x: abs(x[0] - 0.3), ob.spaces.Box(0, 1, dim=1), budget=500, seed=0)
    >>> bool(abs(best.point[0] - 0.3) < 0.1), bool(best.value >= 0)
    (True, True)
    """
    return _optimize(-1.0, measure, space, group, budget, lipschitz, agent, history, seed, progress)


def _optimize(
    sign: float,
    measure: Measure,
    space: Space,
    group: Group | None,
    budget: int,
    lipschitz: float | None,
    agent: Maker | None,
    history: History | None,
    seed: Seed,
    progress: bool | None,
) -> Best:
    """Maximize sign * measure."""
    if not callable(measure):
        raise InputTypeError(f"`measure` must be a function of a point, but got {shown(measure)}.")
    search = _Search(sign, space, group, as_count(budget, "budget"), lipschitz, agent, history, seed)
    interrupted = False
    with _bar(progress, search.budget) as advance:
        try:
            for _ in range(search.budget):
                advance(search.step(measure))
        except KeyboardInterrupt:
            if not search.measured:
                raise
            interrupted = True
    return search.best(interrupted)


class _Search:
    """The state of a search: the agent, and all that was measured, in the caller's units."""

    def __init__(
        self,
        sign: float,
        space: Space,
        group: Group | None,
        budget: int,
        lipschitz: float | None,
        agent: Maker | None,
        history: History | None,
        seed: Seed,
    ) -> None:
        check_fit(space, group)
        if agent is not None and not callable(agent):
            raise InputTypeError(
                f"`agent` must be a class of ob.agents or a callable like one, but got {shown(agent)}."
            )
        self._sign, self._space, self.budget = sign, space, budget
        self._lipschitz = None if lipschitz is None else as_positive(lipschitz, "lipschitz")
        self._seed = int(as_stream(seed).integers(2**63))  # the same priorities whenever an agent starts again
        self.measured = _checked(history, space)
        self._horizon = budget + len(self.measured)
        self._maker = agent or suited(self._horizon, space, group)
        is_scaled = lipschitz is None and not learns_slopes(self._maker)  # those that learn do it themselves
        self._units = Units(space, group) if is_scaled else Units.same(space, group)
        self._places = [self._units.enter(point) for point, _ in self.measured]  # as the agent knows them
        self._low, self._high, self._unit = 0.0, 1.0, 1.0
        self._agent = self._make()
        self._told = -1  # how much of what was measured the agent knows; none, until a range can be guessed

    def step(self, measure: Measure) -> float:
        """Ask, measure, tell; return the value."""
        try:
            if self._told < len(self.measured) and len(self.measured) >= SPREAD:
                self._restart()
            place = self._agent.ask()
            point = self._units.leave(place)
        except Exception as error:
            raise self._failure("choosing a point", None, error) from error
        try:
            value = as_number(measure(point.copy()), "the value of `measure`")
            if not np.isfinite(value):
                raise ValueError(f"`measure` must return a finite number, but returned {value}")
        except Exception as error:
            raise self._failure(f"measuring {shown(point)}", point, error) from error
        self.measured.append((point, value))
        self._places.append(place)
        gain = self._sign * value * self._unit
        if self._told == len(self.measured) - 1 and self._low <= gain <= self._high:
            self._agent.tell(place, gain)
            self._told += 1
        return value

    def history(self) -> History:
        """Return what was measured so far."""
        points = np.array([point for point, _ in self.measured]).reshape(-1, self._space.dim)
        return History(points, np.array([value for _, value in self.measured]))

    def best(self, interrupted: bool) -> Best:
        """Return the recommendation."""
        if self._told < len(self.measured):
            self._restart()
        place = self._agent.recommend()
        value = self._sign * self._agent.estimate(place) / self._unit
        return Best(self._units.leave(place), value, self.history(), interrupted)

    def _failure(self, what: str, point: Array | None, error: Exception) -> MeasurementError:
        return MeasurementError(
            f"{what} failed after {len(self.measured)} measurements ({described(error)}); they are in "
            "`history` of this error, and can be passed on as `history`.",
            point,
            self.history(),
        )

    def _restart(self) -> None:
        """Start an agent with the range seen so far, and tell it everything."""
        gains = self._sign * np.array([value for _, value in self.measured])
        self._unit = 1e-20 if np.abs(gains).max() > 1e300 else 1.0  # so that differences are finite
        gains = gains * self._unit
        low, high = float(gains.min()), float(gains.max())
        room = ROOM * (high - low) if high > low else max(1.0, abs(high))
        self._low, self._high = low - room, high + room
        agent = self._make()
        agent.tell_batch(self._places, gains)
        self._agent, self._told = agent, len(self.measured)

    def _make(self) -> Agent:
        span = self._high - self._low
        lipschitz = None if self._lipschitz is None else self._lipschitz * self._unit
        if lipschitz is None and not learns_slopes(self._maker):
            lipschitz = 2 * span / self._units.space.diameter
        return self._maker(
            self._units.space,
            self._units.group,
            horizon=self._horizon,
            lipschitz=lipschitz,
            reward_range=(self._low, self._high),
            seed=self._seed,
        )


def _checked(history: History | None, space: Space) -> list[tuple[Array, float]]:
    """Return the points and values of a history, which must fit the space."""
    if history is None:
        return []
    if not isinstance(history, History):
        raise InputTypeError(f"`history` must be a History(points, values), but got {shown(history)}.")
    points, values = as_points(history.points, space.dim)[0], as_finite(history.values, "history.values")
    if values.shape != (len(points),):
        raise InputError(f"`history` must have one value for each of its {len(points)} points.")
    inside = np.asarray(space.contains(points, tol=space.tolerance))
    if not inside.all():
        raise InputError(f"`history` must have points of {shown(space)}, but has {shown(points[~inside][0])}.")
    return list(zip(points, values.tolist(), strict=True))


@contextmanager
def _bar(progress: bool | None, total: int) -> Iterator[Callable[[float], None]]:
    """Yield a function to call with each value, which moves a progress bar if there is one."""
    if not (sys.stderr.isatty() if progress is None else progress):
        yield lambda value: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    words = TextColumn("{task.description}")
    columns = (TextColumn("measuring"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), words)
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)

        def advance(value: float) -> None:
            bar.update(task, advance=1, description=f"last value {value:.4g}")

        yield advance
