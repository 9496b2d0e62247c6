"""maximize and minimize: one call for a function to measure, with an agent inside.

The range of the rewards is learnt. The first points are spread over the space before any reward is told; then the agent
works with the range seen so far and some room. A value outside makes the range wider, and the agent starts
again with all measurements told. Nothing that was measured is refused or lost.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbandit._checks import Array, as_count, as_finite, as_points, as_positive
from orbandit.agents import Agent, UniformMesh
from orbandit.agents.base import Seed, as_number, as_stream
from orbandit.errors import InputError, InputTypeError, MeasurementError
from orbandit.groups import Group
from orbandit.meshes import Mesh
from orbandit.spaces import Space

SPREAD = 16
"""Measurements made before the range of rewards is guessed."""

ROOM = 0.25
"""The range reaches this fraction of what was seen beyond it on either side."""

Measure = Callable[[Array], float]
Maker = Callable[..., Agent]


@dataclass(frozen=True)
class History:
    """All measurements, in their order: `points` (m, dim) and `values` (m,)."""

    points: Array
    values: Array

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Best:
    """What was found.

    Attributes
    ----------
    point : (dim,) array
        The point recommended.
    value : float
        The mean measured there (at points nearest to it): an estimate, not the luckiest measurement.
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
        Number of measurements to make.
    lipschitz : float, optional
        The Lipschitz constant of the mean, if it is known. Otherwise it is taken that the whole range of values may be
        crossed over half the diameter of the space.
    agent : callable, optional
        Called as agent(space, group, horizon=, lipschitz=, reward_range=, seed=), as the classes of `ob.agents` are. By
        default `UniformMesh` with delta="measured".
    history : History, optional
        Measurements made before, as another call returned them or an error carried them.
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
    >>> best = ob.maximize(measure, ob.spaces.Box(0, 1, dim=3), ob.groups.Symmetric(3), budget=2000, seed=0)
    >>> len(best.history), bool(best.value > 30)
    (2000, True)
    """
    if not callable(measure):
        raise InputTypeError(f"`measure` must be a function of a point, but got {measure!r}.")
    search = _Search(space, group, as_count(budget, "budget"), lipschitz, agent, history, seed)
    interrupted = False
    with _bar(progress, search.budget) as advance:
        try:
            for _ in range(search.budget):
                search.step(measure)
                advance(search.values[-1])
        except KeyboardInterrupt:
            if not search.values:
                raise
            interrupted = True
    return search.best(interrupted)


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

    Examples
    --------
    >>> import orbandit as ob
    >>> best = ob.minimize(lambda x: abs(x[0] - 0.3), ob.spaces.Box(0, 1, dim=1), budget=500, seed=0)
    >>> bool(abs(best.point[0] - 0.3) < 0.1), bool(best.value >= 0)
    (True, True)
    """
    if not callable(measure):
        raise InputTypeError(f"`measure` must be a function of a point, but got {measure!r}.")

    def gain(point: Array) -> float:
        return -as_number(measure(point), "the value of `measure`")

    before = None if history is None else _negated(history)
    try:
        best = maximize(
            gain,
            space,
            group,
            budget=budget,
            lipschitz=lipschitz,
            agent=agent,
            history=before,
            seed=seed,
            progress=progress,
        )
    except MeasurementError as error:
        raise MeasurementError(str(error), error.point, _negated(error.history)) from error.__cause__
    return Best(best.point, -best.value, _negated(best.history), best.interrupted)


class _Search:
    """The state of a search: the agent, and all that was measured."""

    def __init__(
        self,
        space: Space,
        group: Group | None,
        budget: int,
        lipschitz: float | None,
        agent: Maker | None,
        history: History | None,
        seed: Seed,
    ) -> None:
        if not isinstance(space, Space):
            raise InputTypeError(f"`space` must be one of ob.spaces, but got {space!r}.")
        self._space, self._group, self.budget = space, group, budget
        self._lipschitz = None if lipschitz is None else as_positive(lipschitz, "lipschitz")
        self._maker = _default_maker() if agent is None else agent
        self._seed = int(as_stream(seed).integers(2**63))  # the same priorities whenever an agent starts again
        self.points, self.values = _checked(history, space)
        self._horizon = budget + len(self.values)
        self._start((0.0, 1.0))
        self._ready = False

    def step(self, measure: Measure) -> None:
        """Ask, measure, tell."""
        if not self._ready and len(self.values) >= SPREAD:
            self._restart()
        point = self._agent.ask()
        try:
            value = as_number(measure(point.copy()), "the value of `measure`")
            if not np.isfinite(value):
                raise ValueError(f"`measure` must return a finite number, but returned {value}")
        except Exception as error:
            raise MeasurementError(
                f"measuring {point.tolist()} failed after {len(self.values)} measurements ({type(error).__name__}: "
                f"{error}); they are in `history` of this error, and can be passed on as `history`.",
                point,
                self.history(),
            ) from error
        self.points.append(point)
        self.values.append(value)
        if not self._ready:
            return
        if self._low <= value <= self._high:
            self._agent.tell(point, value)
        else:
            self._restart()

    def history(self) -> History:
        """Return what was measured so far."""
        points = np.array(self.points).reshape(-1, self._space.dim)
        return History(points, np.array(self.values))

    def best(self, interrupted: bool) -> Best:
        """Return the recommendation."""
        if not self._ready:
            self._restart()
        point = self._agent.recommend()
        return Best(point, self._agent.estimate(point), self.history(), interrupted)

    def _restart(self) -> None:
        """Start an agent with the range seen so far, and tell it everything."""
        low, high = min(self.values), max(self.values)
        room = ROOM * (high - low) if high > low else max(1.0, abs(high))
        self._start((low - room, high + room))
        for point, value in zip(self.points, self.values, strict=True):
            self._agent.tell(point, value)
        self._ready = True

    def _start(self, reward_range: tuple[float, float]) -> None:
        self._low, self._high = reward_range
        span = self._high - self._low
        lipschitz = 2 * span / self._space.diameter if self._lipschitz is None else self._lipschitz
        self._agent = self._maker(
            self._space,
            self._group,
            horizon=self._horizon,
            lipschitz=lipschitz,
            reward_range=reward_range,
            seed=self._seed,
        )


def _default_maker() -> Maker:
    """Return a maker of `UniformMesh` that measures a mesh once and uses it again at the same scale."""
    meshes: dict[float, Mesh] = {}

    def make(space: Space, group: Group | None, **settings: Any) -> Agent:
        low, high = settings["reward_range"]
        scale = round(settings["lipschitz"] / (high - low), 12)
        if scale in meshes:
            return UniformMesh(space, group, mesh=meshes[scale], **settings)
        agent = UniformMesh(space, group, delta="measured", **settings)
        meshes[scale] = agent.mesh
        return agent

    return make


def _checked(history: History | None, space: Space) -> tuple[list[Array], list[float]]:
    """Return the points and values of a history, which must fit the space."""
    if history is None:
        return [], []
    points, values = as_points(history.points, space.dim)[0], as_finite(history.values, "history.values")
    if values.shape != (len(points),):
        raise InputError(f"`history` must have one value for each of its {len(points)} points.")
    inside = np.asarray(space.contains(points, tol=1e-9 * max(1.0, float(np.abs(space.bounds).max()))))
    if not inside.all():
        raise InputError(f"`history` must have points of {space!r}, but has {points[~inside][0].tolist()}.")
    return list(points), values.tolist()


def _negated(history: History) -> History:
    return History(history.points, -as_finite(history.values, "history.values"))


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
