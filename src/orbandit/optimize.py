"""maximize and minimize: one call for a function to measure, with an agent inside.

The range of the values is learnt (see `driver`). Nothing that was measured is refused or lost.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from orbandit._checks import Array, as_count, as_finite, as_points, described, shown
from orbandit.agents.base import Seed, as_number, as_stream
from orbandit.agents.suited import Maker
from orbandit.driver import Driver, Outcome
from orbandit.errors import InputError, InputTypeError, MeasurementError
from orbandit.groups import Group
from orbandit.history import History as History
from orbandit.spaces import Space

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
    budget, before = as_count(budget, "budget"), _checked(history, space)
    driver = Driver(
        space,
        group,
        agent,
        sign=sign,
        horizon=budget + len(before),
        lipschitz=lipschitz,
        seed=int(as_stream(seed).integers(2**63)),
    )
    driver.learn(before, at_once=True)
    interrupted = False
    with _bar(progress, budget) as advance:
        try:
            for _ in range(budget):
                advance(_step(driver, measure))
        except KeyboardInterrupt:
            if driver.is_blank:
                raise
            interrupted = True
    point = driver.recommend()
    return Best(point, driver.estimate(point), driver.history(), interrupted)


def _step(driver: Driver, measure: Measure) -> float:
    """Ask, measure, tell; return the value."""
    try:
        point = driver.ask()
    except Exception as error:
        raise _failure(driver, "choosing a point", None, error) from error
    try:
        value = as_number(measure(point.copy()), "the value of `measure`")
        if not np.isfinite(value):
            raise ValueError(f"`measure` must return a finite number, but returned {value}")
    except Exception as error:
        raise _failure(driver, f"measuring {shown(point)}", point, error) from error
    driver.learn([Outcome(point, value)])
    return value


def _failure(driver: Driver, what: str, point: Array | None, error: Exception) -> MeasurementError:
    history = driver.history()
    return MeasurementError(
        f"{what} failed after {len(history)} measurements ({described(error)}); they are in "
        "`history` of this error, and can be passed on as `history`.",
        point,
        history,
    )


def _checked(history: History | None, space: Space) -> list[Outcome]:
    """Return the outcomes of a history, which must fit the space."""
    if history is None:
        return []
    if not isinstance(history, History):
        raise InputTypeError(f"`history` must be a History(points, values), but got {shown(history)}.")
    points, values = as_points(history.points, space.dim)[0], as_finite(history.values, "history.values")
    if values.shape != (len(points),):
        raise InputError(f"`history` must have one value for each of its {len(points)} points.")
    inside = np.asarray(space.contains(points, tol=space._tolerance))
    if not inside.all():
        raise InputError(f"`history` must have points of {shown(space)}, but has {shown(points[~inside][0])}.")
    return [Outcome(point, value) for point, value in zip(points, values.tolist(), strict=True)]


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
