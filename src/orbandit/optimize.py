"""maximize and minimize: one call for a function to measure, with an agent inside.

The range of the values is learnt (see `driver`), and points are measured here or by an executor
(see `measuring`), asynchronously: as soon as one measurement ends, the next point is chosen. No
measurement is refused or lost, whatever ends the search.
"""

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias, final

import numpy as np

from orbandit._checks import Array, as_count, as_finite, as_points, as_stream, described, shown, unknown_name
from orbandit.agents.base import Seed
from orbandit.agents.maker import Maker
from orbandit.driver import Driver, Outcome, Symmetry
from orbandit.errors import InputError, InputTypeError, MeasurementError
from orbandit.groups import Group
from orbandit.history import History
from orbandit.measuring import Bench, Failed, Measure, Result, bench_of
from orbandit.pictures.figures import as_picture_path, save_picture
from orbandit.pictures.search import Search, draw_search
from orbandit.spaces import Space
from orbandit.spaces.feasible_set import Rule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Best", "History", "State", "maximize", "minimize"]

Failures: TypeAlias = Literal["raise", "avoid"]


@dataclass(frozen=True)
class Best:
    """The result of a search.

    Attributes
    ----------
    point : (dim,) array
        The point recommended.
    value : float
        The agent's estimate of the mean there, from all measurements around it; not the largest
        measurement.
    history : History
        All measurements.
    interrupted : bool
        Whether Ctrl-C ended the search before the budget was spent.
    interval : tuple of two floats
        The 95% interval of the mean at the point, by the model of the agent: `OrbitGP` and
        `OrbitTree` have one, and so may an agent of your own that has `interval(point)`. NaN for
        others, and where nothing is known. It is as good as the model, and too narrow where the
        mean has a kink at its maximum: measure the point again to be sure.
    space : Space or None
        The space that was searched; None in pickles of 0.1.0.
    group : Group or None
        The group that the function was taken to be invariant under.
    is_minimum : bool
        Whether the search was for the minimum.

    Examples
    --------
    >>> import orbandit as ob
    >>> square = ob.spaces.Box(0, 1, dim=2)
    >>> def measure(x):
    ...     return -abs(x.sum() - 1.2)
    >>> best = ob.maximize(measure, square, ob.groups.Symmetric(2), budget=30, seed=0)
    >>> bool(abs(best.point.sum() - 1.2) < 0.1), len(best.history), best.interrupted
    (True, 30, False)
    """

    point: Array
    value: float
    history: History
    interrupted: bool = False
    interval: tuple[float, float] = (math.nan, math.nan)
    space: Space | None = field(default=None, repr=False)
    group: Group | None = field(default=None, repr=False)
    is_minimum: bool = field(default=False, repr=False)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        label: str = "value",
        names: Sequence[str] | None = None,
    ) -> "Figure":
        """Draw the search; needs `orbandit[plot]`.

        Left are the measured values, the best of them so far, and the estimate at the recommended
        point with its 95% interval, if the agent has one (see `interval`). Values beyond Tukey's
        outer fences are triangles at the edge, failed measurements are crosses.

        Right are the points, the better the darker. If they consist of units in the plane, because
        the group moves pairs of coordinates or the space is a product of planar ones, all units are
        drawn in one plane. A single point of one or two dimensions is a dot, and in two dimensions
        the images of the recommended point are drawn, too, if there are at most 500. All others are
        drawn in parallel coordinates: a line for each point, folded by the group. Of more than 500
        evaluations those evenly spaced by the rank of their value are drawn here.

        Parameters
        ----------
        path : str or path, optional
            A .png, .svg or .pdf file to write; missing folders are made.
        label : str
            What values are, with their unit.
        names : sequence of str, optional
            What coordinates are, with their units: two for units in the plane, else one for each.

        Returns
        -------
        matplotlib Figure
            It shows itself where a notebook's cell ends with it, and can be changed before
            `figure.savefig(path)`. `figure.axes` begins with the two pictures.

        Examples
        --------
        >>> import orbandit as ob
        >>> sensors = ob.spaces.Box(0, 4, dim=2) ** 3
        >>> best = ob.maximize(lambda x: x.std(), sensors, ob.groups.BlockPermutation(3, 2),
        ...                    budget=20, seed=0)
        >>> figure = best.plot(label="spread, m", names=["east, m", "north, m"])
        >>> [axes.get_xlabel() for axes in figure.axes[:2]]
        ['evaluations', 'east, m']
        """
        target = None if path is None else as_picture_path(path)
        if self.space is None:
            raise InputError("`plot` needs the space, which a result pickled by 0.1.0 does not have; search again.")
        search = Search(self.space, self.group, self.history, self.point, self.value, self.interval, self.is_minimum)
        figure = draw_search(search, label, names)
        if target is not None:
            save_picture(figure, target)
        return figure


@final
class State:
    """The state of a search that a `callback` gets after a measurement.

    Attributes
    ----------
    value : float
        The value just measured, at the last point of the history; NaN if the measurement failed.

    Examples
    --------
    >>> import orbandit as ob
    >>> def enough(state):
    ...     return state.value > -0.01  # True ends the search
    >>> square = ob.spaces.Box(0, 1, dim=2)
    >>> def measure(x):
    ...     return -abs(x.sum() - 1.2)
    >>> best = ob.maximize(measure, square, budget=200, callback=enough, seed=0)
    >>> len(best.history) < 200, bool(best.history.values[-1] > -0.01)
    (True, True)
    """

    def __init__(self, driver: Driver, value: float) -> None:
        self.value = value
        self._driver, self._many = driver, len(driver)

    @property
    def history(self) -> History:
        """All measurements so far."""
        return self._driver.history(self._many)

    def recommend(self) -> Array:
        """Return the best point so far; this takes as long as a choice, and changes none."""
        return self._driver.recommend()


Callback: TypeAlias = Callable[[State], bool | None]


def maximize(
    measure: Measure,
    space: Space,
    group: Group | None = None,
    *,
    budget: int,
    lipschitz: float | None = None,
    agent: Maker | None = None,
    history: History | None = None,
    feasible: Rule | None = None,
    symmetry: Symmetry = "exact",
    failures: Failures = "raise",
    executor: Executor | None = None,
    workers: int | None = None,
    callback: Callback | None = None,
    seed: Seed = None,
    progress: bool | None = None,
) -> Best:
    """Find a point where the mean of a noisy function is largest.

    Parameters
    ----------
    measure : callable
        Takes a point (dim,) and returns one noisy value, of any range.
    space : Space
        Where to search.
    group : Group, optional
        The symmetry: a group under which the mean of the function is invariant; `check_symmetry`
        tests that. By default there is none.
    budget : int
        Number of measurements that this call makes, besides those of `history`; at least 1.
    lipschitz : float, optional
        The Lipschitz constant of the mean, a positive number. By default `OrbitGP` and `OrbitTree`
        learn it; other agents assume that the mean can cross its range over half the diameter of
        the space. Without it, all agents divide coordinates by the width of the space (those that
        the group mixes share one width), so that units may differ, such as metres and degrees.
    agent : callable, optional
        The algorithm, called as agent(space, group, horizon=, lipschitz=, reward_range=, seed=): a
        class of `ob.agents`, or a `functools.partial` of one, which may have its own horizon, seed,
        group and, if none is given here, `lipschitz`. By default `OrbitGP` with goal="best" below
        40,000 measurements, history included, and `OrbitTree` from there on, since its choices take
        microseconds; also for the few groups for which `OrbitGP` has no
        kernel, and where the first 16 measurements, and all after them, have one of two values: they
        only succeed or fail. With `feasible` and an approximate symmetry it is always `OrbitGP`, since a tree
        needs a constraint that is invariant.
    history : History, optional
        Earlier measurements, as another call returned them or an error carried them. They do not
        count against `budget`.
    feasible : callable, optional
        The constraint on points measured and recommended. It takes (m, dim) points and returns (m,)
        bools, or margins that are feasible if >= 0, such as a distance minus its lower limit;
        margins help with narrow feasible sets. It must be known, cheap, and invariant under the
        group. Points of `history` may violate it. For `OrbitGP`, `OrbitTree` and agents of your own
        that take it.
    symmetry : {"exact", "approximate"}, default "exact"
        Whether the symmetry is exact. If it is approximate, its violation is estimated from the
        measurements, and `OrbitGP` recommends the best image, not only the best orbit, and its
        `feasible` need not be invariant. For `OrbitGP`, `OrbitTree` and agents of your own that
        take it.
    failures : {"raise", "avoid"}, default "raise"
        What to do if `measure` raises or returns no finite number: stop with a `MeasurementError`,
        or continue. Then the point is in `history.failed`, and its neighbourhood in the orbit
        metric is avoided; the more successful measurements are nearby, the less. Failed
        measurements count against `budget`.
    executor : concurrent.futures.Executor, optional
        Runs the measurements: threads, processes, or Dask's `client.get_executor()`. By default,
        points are measured in this thread.
    workers : int, optional
        Number of concurrent measurements; by default the executor's number of workers, or 1 if that
        is unknown. More than one without an executor run in threads. A slow measurement delays no
        other. With more than one worker the order of results depends on their times, so that only
        one worker is reproducible.
    callback : callable, optional
        Called in this thread after each measurement with a `State`, which has `history`, `value`
        and `recommend()`. If it returns True the search ends, after the measurements under way,
        which are kept.
    seed : int, SeedSequence or Generator, optional
        Source of the agent's randomness; by default a fresh one.
    progress : bool, optional
        Whether to show a progress bar; by default only on a terminal.

    Returns
    -------
    Best
        With `.point`, `.value` and `.history`. Ctrl-C stops the search early and returns the result
        so far, without waiting for measurements under way. During the choice of the best point, it
        raises a `MeasurementError`.

    Raises
    ------
    MeasurementError
        If `measure` raises, or returns anything but a finite number, unless such points are
        avoided; if all of them fail; if the executor breaks, or loses three workers with one
        measurement; if `callback` raises. Measurements under way are finished first. The error has
        the `point`, and the `history` of all measurements.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> rng = np.random.default_rng(0)
    >>> def measure(x):                                     # symmetric in x, about 70 at (0.2, 0.6, 0.9)
    ...     return 70 - 100 * np.abs(np.sort(x) - [0.2, 0.6, 0.9]).sum() + rng.normal()
    >>> best = ob.maximize(measure, ob.spaces.Box(0, 1, dim=3), ob.groups.Symmetric(3), budget=80, seed=0)
    >>> len(best.history), bool(best.value > 60)
    (80, True)
    """
    return _optimize(
        1.0,
        measure,
        space,
        group,
        budget=budget,
        lipschitz=lipschitz,
        agent=agent,
        history=history,
        feasible=feasible,
        symmetry=symmetry,
        failures=failures,
        executor=executor,
        workers=workers,
        callback=callback,
        seed=seed,
        progress=progress,
    )


def minimize(
    measure: Measure,
    space: Space,
    group: Group | None = None,
    *,
    budget: int,
    lipschitz: float | None = None,
    agent: Maker | None = None,
    history: History | None = None,
    feasible: Rule | None = None,
    symmetry: Symmetry = "exact",
    failures: Failures = "raise",
    executor: Executor | None = None,
    workers: int | None = None,
    callback: Callback | None = None,
    seed: Seed = None,
    progress: bool | None = None,
) -> Best:
    """Find a point where the mean of a noisy function is smallest.

    Parameters
    ----------
    measure : callable
        Takes a point (dim,) and returns one noisy value, of any range.
    space : Space
        Where to search.
    group : Group, optional
        The symmetry: a group under which the mean of the function is invariant; `check_symmetry`
        tests that. By default there is none.
    budget : int
        Number of measurements that this call makes, besides those of `history`; at least 1.
    lipschitz : float, optional
        The Lipschitz constant of the mean, a positive number. By default `OrbitGP` and `OrbitTree`
        learn it; other agents assume that the mean can cross its range over half the diameter of
        the space. Without it, all agents divide coordinates by the width of the space (those that
        the group mixes share one width), so that units may differ, such as metres and degrees.
    agent : callable, optional
        The algorithm, called as agent(space, group, horizon=, lipschitz=, reward_range=, seed=): a
        class of `ob.agents`, or a `functools.partial` of one, which may have its own horizon, seed,
        group and, if none is given here, `lipschitz`. By default `OrbitGP` with goal="best" below
        40,000 measurements, history included, and `OrbitTree` from there on, since its choices take
        microseconds; also for the few groups for which `OrbitGP` has no
        kernel, and where the first 16 measurements, and all after them, have one of two values: they
        only succeed or fail. With `feasible` and an approximate symmetry it is always `OrbitGP`, since a tree
        needs a constraint that is invariant.
    history : History, optional
        Earlier measurements, as another call returned them or an error carried them. They do not
        count against `budget`.
    feasible : callable, optional
        The constraint on points measured and recommended. It takes (m, dim) points and returns (m,)
        bools, or margins that are feasible if >= 0, such as a distance minus its lower limit;
        margins help with narrow feasible sets. It must be known, cheap, and invariant under the
        group. Points of `history` may violate it. For `OrbitGP`, `OrbitTree` and agents of your own
        that take it.
    symmetry : {"exact", "approximate"}, default "exact"
        Whether the symmetry is exact. If it is approximate, its violation is estimated from the
        measurements, and `OrbitGP` recommends the best image, not only the best orbit, and its
        `feasible` need not be invariant. For `OrbitGP`, `OrbitTree` and agents of your own that
        take it.
    failures : {"raise", "avoid"}, default "raise"
        What to do if `measure` raises or returns no finite number: stop with a `MeasurementError`,
        or continue. Then the point is in `history.failed`, and its neighbourhood in the orbit
        metric is avoided; the more successful measurements are nearby, the less. Failed
        measurements count against `budget`.
    executor : concurrent.futures.Executor, optional
        Runs the measurements: threads, processes, or Dask's `client.get_executor()`. By default,
        points are measured in this thread.
    workers : int, optional
        Number of concurrent measurements; by default the executor's number of workers, or 1 if that
        is unknown. More than one without an executor run in threads. A slow measurement delays no
        other. With more than one worker the order of results depends on their times, so that only
        one worker is reproducible.
    callback : callable, optional
        Called in this thread after each measurement with a `State`, which has `history`, `value`
        and `recommend()`. If it returns True the search ends, after the measurements under way,
        which are kept.
    seed : int, SeedSequence or Generator, optional
        Source of the agent's randomness; by default a fresh one.
    progress : bool, optional
        Whether to show a progress bar; by default only on a terminal.

    Returns
    -------
    Best
        With `.point`, `.value` and `.history`. Ctrl-C stops the search early and returns the result
        so far, without waiting for measurements under way. During the choice of the best point, it
        raises a `MeasurementError`.

    Raises
    ------
    MeasurementError
        If `measure` raises, or returns anything but a finite number, unless such points are
        avoided; if all of them fail; if the executor breaks, or loses three workers with one
        measurement; if `callback` raises. Measurements under way are finished first. The error has
        the `point`, and the `history` of all measurements.

    Examples
    --------
    >>> import orbandit as ob
    >>> best = ob.minimize(lambda x: abs(x[0] - 0.3), ob.spaces.Box(0, 1, dim=1), budget=50, seed=0)
    >>> bool(abs(best.point[0] - 0.3) < 0.01), bool(abs(best.value) < 0.01)
    (True, True)
    """
    return _optimize(
        -1.0,
        measure,
        space,
        group,
        budget=budget,
        lipschitz=lipschitz,
        agent=agent,
        history=history,
        feasible=feasible,
        symmetry=symmetry,
        failures=failures,
        executor=executor,
        workers=workers,
        callback=callback,
        seed=seed,
        progress=progress,
    )


def _optimize(
    sign: float,
    measure: Measure,
    space: Space,
    group: Group | None,
    *,
    budget: int,
    lipschitz: float | None,
    agent: Maker | None,
    history: History | None,
    feasible: Rule | None,
    symmetry: Symmetry,
    failures: Failures,
    executor: Executor | None,
    workers: int | None,
    callback: Callback | None,
    seed: Seed,
    progress: bool | None,
) -> Best:
    """Maximize sign * measure."""
    if not isinstance(failures, str) or failures not in ("raise", "avoid"):
        raise unknown_name("failures", failures, ["raise", "avoid"])
    if callback is not None and not callable(callback):
        raise InputTypeError(f"`callback` must be a function of a state, but got {shown(callback)}.")
    budget, before = as_count(budget, "budget"), _checked(history, space)
    driver = Driver(
        space,
        group,
        agent,
        sign=sign,
        horizon=budget + len(before),
        lipschitz=lipschitz,
        seed=int(as_stream(seed).integers(2**63)),
        feasible=feasible,
        symmetry=symmetry,
        is_watching=True,
    )
    driver.learn(before, at_once=True)
    bench = bench_of(measure, executor, workers)
    interrupted = False
    with _bar(progress, budget) as advance:
        try:
            _search(driver, bench, budget, failures == "avoid", callback, advance)
        except KeyboardInterrupt:
            _kept(driver, bench.abandon(), failures == "avoid")
            if driver.is_blank:
                raise
            interrupted = True
    try:
        point = driver.recommend()
        return Best(
            point,
            driver.estimate(point),
            driver.history(),
            interrupted,
            driver.interval(point),
            space,
            driver.group,
            sign < 0,
        )
    except (Exception, KeyboardInterrupt) as error:
        _stop(driver, bench, failures == "avoid", "choosing the best point", None, error)


def _search(
    driver: Driver,
    bench: Bench,
    budget: int,
    is_avoiding: bool,
    callback: Callback | None,
    advance: Callable[[float], None],
) -> None:
    """Choose, measure and learn until the budget is spent or the callback stops it."""
    begun = 0
    last: Failed | None = None
    while True:
        while begun < budget and bench.has_room:
            try:
                point = driver.ask()
            except Exception as error:
                _stop(driver, bench, is_avoiding, "choosing a point", None, error)
            bench.begin(point)
            begun += 1
        result = bench.next()
        if result is None:
            break
        for failed in _kept(driver, [result], is_avoiding):
            _stop(driver, bench, is_avoiding, f"measuring {shown(failed.point)}", failed.point, failed.error)
        last = result if isinstance(result, Failed) else last
        value = math.nan if isinstance(result, Failed) else result.value
        advance(value)
        if callback is None:
            continue
        try:
            answer = callback(State(driver, value))
        except Exception as error:
            _stop(driver, bench, is_avoiding, "the callback", None, error)
        if isinstance(answer, bool | np.bool_) and answer:
            for failed in _kept(driver, bench.finish(), is_avoiding):
                _stop(driver, bench, is_avoiding, f"measuring {shown(failed.point)}", failed.point, failed.error)
            break
    if driver.is_blank and last is not None:
        raise MeasurementError(
            f"all {len(driver)} measurements failed, the last at {shown(last.point)} ({described(last.error)}); their "
            "points are in `history.failed` of this error.",
            last.point,
            driver.history(),
        ) from last.error


def _kept(driver: Driver, results: list[Result], is_avoiding: bool) -> list[Failed]:
    """Learn results; return the failures that end the search instead."""
    ends = [result for result in results if isinstance(result, Failed) and (result.is_final or not is_avoiding)]
    for result in results:
        if not isinstance(result, Failed):
            driver.learn([Outcome(result.point, result.value)])
        elif is_avoiding and not result.is_final:
            driver.learn([Outcome(result.point, None)])
    return ends


def _stop(
    driver: Driver, bench: Bench, is_avoiding: bool, what: str, point: Array | None, error: BaseException
) -> NoReturn:
    """Raise an error that carries all measurements, those under way included."""
    others = _kept(driver, bench.finish(), is_avoiding)
    history = driver.history()
    failure = MeasurementError(
        f"{what} failed after {len(history)} measurements ({described(error)}); they are in "
        "`history` of this error, and can be passed on as `history`.",
        point,
        history,
    )
    for other in others:
        failure.add_note(f"measuring {shown(other.point)} failed, too ({described(other.error)})")
    raise failure from error


def _checked(history: History | None, space: Space) -> list[Outcome]:
    """Return the outcomes of a history, which must fit the space."""
    if history is None:
        return []
    if not isinstance(history, History):
        raise InputTypeError(f"`history` must be a History(points, values), but got {shown(history)}.")
    points, values = as_points(history.points, space.dim)[0], as_finite(history.values, "history.values")
    failed = as_points(history.failed, space.dim, "history.failed")[0]
    if values.shape != (len(points),):
        raise InputError(f"`history` must have one value for each of its {len(points)} points.")
    numbers, many = np.asarray(history.failed_at), len(points) + len(failed)
    places = set(numbers.tolist())
    if numbers.shape != (len(failed),) or len(places) < len(failed) or not places <= set(range(many)):
        raise InputError(
            f"`history.failed_at` must be {len(failed)} different numbers from 0 to {many - 1}, but got "
            f"{shown(history.failed_at)}."
        )
    both = np.concatenate([points, failed])
    inside = np.asarray(space.contains(both, tol=space.tolerance))
    if not inside.all():
        raise InputError(f"`history` must have points of {shown(space)}, but has {shown(both[~inside][0])}.")
    outcomes: list[Outcome] = [Outcome(point, value) for point, value in zip(points, values.tolist(), strict=True)]
    for place in np.argsort(numbers):
        outcomes.insert(int(numbers[place]), Outcome(failed[place], None))
    return outcomes


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
            bar.update(task, advance=1, description="failed" if math.isnan(value) else f"last value {value:.4g}")

        yield advance
