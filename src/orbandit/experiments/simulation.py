"""simulate: an agent plays a problem for n rounds, once for each seed; its regret is recorded.

    regret(t) = sum over s <= t of (optimum - mean(point played in round s))
    simple_regret(t) = optimum - mean(point recommended after round t)

and, if requested, some of the points played. A recommendation changes nothing, so that plays do not
depend on the checkpoints. Seed s gives two independent streams, one to the agent and one to the
noise, so that a run does not depend on other runs. Agents of this package on Bernoulli rewards run
compiled, without the GIL; all others use `ask` and `tell`.
"""

import math
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_finite, as_point, as_seed, shown
from orbandit.agents import CKLUCB, Agent, SideObservationElimination, UniformMesh, UniformMeshN
from orbandit.agents.maker import Maker, check_call, check_takes, learns_slopes
from orbandit.errors import InputError, InputTypeError, OrbanditError
from orbandit.experiments.compiled import Shared, Simulable, Simulation
from orbandit.meshes import Mesh
from orbandit.problems import Bernoulli, Problem

CHUNK = 65_536
"""Rounds played at a time by a compiled loop: the draws of a chunk stay in the cache."""

MAX_SEEDS = 1_000_000
"""Most runs of one call."""

MESH_AGENTS = (CKLUCB, SideObservationElimination, UniformMesh, UniformMeshN)
"""Agents whose arms are all points of a mesh; `Zooming` makes points of a mesh its arms as it
goes."""

PER_DECADE = 20
"""Default number of checkpoints in each factor of ten."""


Play = Callable[[range, np.random.Generator, npt.NDArray[np.int64]], tuple[Array, list[Any]]]
"""Plays rounds; returns the means of the points played, and the points of those kept."""


@dataclass(frozen=True)
class Runs:
    """The result of `simulate`.

    Attributes
    ----------
    regret : (seeds, checkpoints) array
        Cumulative pseudo-regret of each run.
    checkpoints : (checkpoints,) array of int
        The rounds at which the regret is recorded; the last is the horizon.
    seconds_per_round : float
        Time of a run's rounds, without building the agent, averaged over runs.
    name : str
        Name of the agent.
    plays : (seeds, m, dim) array
        The points played in m rounds: for i = 1, ..., m in round i * horizon // m.
    simple_regret : (seeds, checkpoints) array or None
        The optimum minus the mean of the point that `recommend` returned; None if the agent has no
        `recommend`.
    mesh : Mesh or None
        The arms of an agent of `ob.agents` that plays one mesh from the first round to the last;
        `theory.instance_limit(problem, runs.mesh)` is for it. None of all others.

    Examples
    --------
    >>> import orbandit as ob
    >>> cone = ob.problems.Cone(ob.spaces.Ball(2), ob.groups.Dihedral(5), peak=[0.3, 0.5])
    >>> runs = ob.simulate(ob.agents.OrbitTree, cone, 500, 3, checkpoints=[50, 500], n_plays=9)
    >>> runs.regret.shape, runs.simple_regret.shape, runs.plays.shape, runs.name
    ((3, 2), (3, 2), (3, 9, 2), 'OrbitTree')
    """

    regret: Array
    checkpoints: npt.NDArray[np.int64]
    seconds_per_round: float
    name: str
    plays: Array = field(default_factory=lambda: np.empty((0, 0, 0)))
    simple_regret: Array | None = None
    mesh: Mesh | None = None

    def __repr__(self) -> str:
        final = self.regret[:, -1]
        error = f" +- {final.std(ddof=1) / np.sqrt(len(final)):.3g}" if len(final) > 1 else ""
        return (
            f"<Runs of {self.name}: {len(final)} seeds, regret {final.mean():.4g}{error} "
            f"after {self.checkpoints[-1]:,} rounds, {1e9 * self.seconds_per_round:.3g} ns a round>"
        )


def simulate(
    agent: Maker,
    problem: Problem,
    horizon: int,
    seeds: int | Iterable[int] = 10,
    jobs: int | None = None,
    *,
    use_group: bool = True,
    n_plays: int = 0,
    checkpoints: int | Iterable[int] | None = None,
    **options: Any,
) -> Runs:
    """Simulate an agent on a problem; return its cumulative pseudo-regret and its simple regret.

    Parameters
    ----------
    agent : callable
        Called as agent(space, group, horizon=, lipschitz=, reward_range=, seed=): a class of
        `ob.agents`, a `functools.partial` of one, or a callable that returns any object with `ask`
        and `tell`, and with `recommend` (which returns a point and changes nothing) if the simple
        regret is needed. All but the horizon and the seed come from the problem, None for what it
        lacks: a problem of arms has no space, and some have no Lipschitz constant, which
        `OrbitTree`, `OrbitGP` and callables of your own may not need. A problem with a constraint
        passes it as `feasible`, and agents that do not take it are refused.
    problem : Problem
        The problem to play.
    horizon : int
        Number of rounds, at least 1.
    seeds : int or sequence of int
        A number of runs, at most 1,000,000, or the seed of each.
    jobs : int, optional
        Number of threads, by default one for each processor, or one if rewards are not Bernoulli,
        since loops that are not compiled share the GIL. Results do not depend on it, except for
        times.
    use_group : bool
        Whether the agent gets the problem's group; if False, it gets None, to measure the gain of
        the symmetry.
    n_plays : int
        Number of rounds, evenly spaced, whose points are kept; if there are fewer rounds, all are.
    checkpoints : int or sequence of int, optional
        When the regret is recorded. A number, by default 20: so many rounds in each factor of ten,
        about evenly spaced in their logarithm. A list: these rounds, without those above the
        horizon. The horizon itself is always one.
    **options
        Further keyword arguments of the call, or other values than the problem's, such as
        `lipschitz=None`. Options take precedence over the settings of a partial, and these over the
        problem.

    Raises
    ------
    InputError, InputTypeError
        If an argument is invalid, or an agent asks for or recommends something that is no point of
        the problem's space, or no arm: the message names the agent, the round and the point.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    >>> cone = ob.problems.Cone(space, group, peak=[0.9, 0.3])
    >>> runs = ob.simulate(ob.agents.UniformMesh, cone, horizon=10_000, seeds=4)
    >>> blind = ob.simulate(ob.agents.UniformMesh, cone, horizon=10_000, seeds=4, use_group=False)
    >>> runs.regret.shape == (4, len(runs.checkpoints)), bool(runs.regret[:, -1].mean() < blind.regret[:, -1].mean())
    (True, True)
    """
    rounds = as_count(horizon, "horizon")
    if not (hasattr(problem, "mean") and hasattr(problem, "optimum")):
        raise InputTypeError(
            f"`problem` must have a mean and an optimum, as those of ob.problems, but got {shown(problem)}."
        )
    if isinstance(seeds, Iterable):
        entropies = [as_seed(seed, "seeds") for seed in seeds]
    else:
        entropies = list(range(as_count(seeds, "seeds", maximum=MAX_SEEDS)))
    if not entropies:
        raise InputError("`seeds` must name at least one run, but got none.")
    compiled = isinstance(getattr(problem, "noise", None), Bernoulli)
    workers = ((os.cpu_count() or 1) if compiled else 1) if jobs is None else as_count(jobs, "jobs")
    read = _reading_rounds(checkpoints, rounds)
    kept = evenly_spaced(rounds, as_count(n_plays, "n_plays", minimum=0))

    make = _maker(agent, problem, use_group, rounds, options)
    # which may take a search to find, and threads would each begin one
    optimum = float(problem.optimum)

    def run(entropy: int) -> _Run:
        return _run(make, problem, optimum, rounds, entropy, read, kept)

    if min(workers, len(entropies)) == 1:
        # in this thread, where an interruption is heard at once
        results = [run(entropy) for entropy in entropies]
    else:
        with ThreadPoolExecutor(min(workers, len(entropies))) as pool:
            results = list(pool.map(run, entropies))
    regrets, simple, points, seconds, names, meshes = zip(*results, strict=True)
    simple_regret = None if any(one is None for one in simple) else np.array(simple)
    per_round = float(np.mean(seconds)) / rounds
    kept_points = np.array(points)
    return Runs(np.array(regrets), read, per_round, names[0], kept_points, simple_regret, meshes[0])


def _reading_rounds(given: int | Iterable[int] | None, horizon: int) -> npt.NDArray[np.int64]:
    """Return the rounds at which the regret is recorded, increasing up to the horizon."""
    if not isinstance(given, Iterable):
        return log_spaced(horizon, PER_DECADE if given is None else as_count(given, "checkpoints"))
    rounds = [as_count(one, "checkpoints") for one in given]
    if not rounds:
        raise InputError("`checkpoints` must name at least one round, but got none; leave it out for the default.")
    return np.unique([*(one for one in rounds if one < horizon), horizon]).astype(np.int64)


def log_spaced(horizon: int, per_decade: int = PER_DECADE) -> npt.NDArray[np.int64]:
    """Return rounds up to the horizon, about evenly spaced in their logarithm: so many in each factor of ten."""
    many = 1 + int(np.ceil(per_decade * np.log10(horizon)))
    return np.unique(np.geomspace(1, horizon, max(many, 1)).round().astype(np.int64))


def evenly_spaced(horizon: int, many: int) -> npt.NDArray[np.int64]:
    """Return so many different rounds, or all, up to the horizon: the ends of parts of about the same length."""
    parts = min(many, horizon)
    step, rest = divmod(horizon, max(parts, 1))
    ends = np.arange(1, parts + 1)
    # ends * horizon // parts, which might overflow
    return ends * step + ends * rest // max(parts, 1)


def _maker(
    agent: Maker, problem: Problem, use_group: bool, horizon: int, options: dict[str, Any]
) -> Callable[[np.random.SeedSequence], Any]:
    """Return the maker of the agent of each run from its seed.

    Agents that take a constraint get it.
    """
    if not callable(agent):
        check_call(agent)
    base: partial[Any] = agent if isinstance(agent, partial) else partial(agent)
    if "seed" in options:
        raise InputError("`seed` is the run's; name the seeds of runs by `seeds`.")
    settings = {**base.keywords, **options}
    if "group" in settings and not use_group:
        raise InputError("`use_group=False` keeps the group from an agent, but `group` gives it one; leave one out.")
    group = getattr(problem, "group", None) if use_group else None
    places = (settings.pop("space", getattr(problem, "space", None)), settings.pop("group", group))
    told = {"horizon": horizon, "reward_range": getattr(problem, "reward_range", None)}
    if "lipschitz" not in settings:
        told["lipschitz"] = getattr(problem, "lipschitz", None)  # which may take a search to find
    rule = getattr(problem, "feasible", None)
    if rule is not None and settings.get("feasible") is None:
        check_takes(base.func, "feasible")
        told["feasible"] = rule
    call = partial(base.func, *base.args)
    check_call(call, *places, **{"seed": None, **told, **settings})
    if "lipschitz" in told and told["lipschitz"] is None and _needs_slope(base.func):
        raise InputError(
            f"{base.func.__name__} needs a Lipschitz constant, but {shown(problem)} has none; pass `lipschitz`, or an "
            "agent that learns it, OrbitTree or OrbitGP."
        )
    return lambda seed: call(*places, **{"seed": seed, **told, **settings})


def _needs_slope(kind: Callable[..., Any]) -> bool:
    """Return whether agents are of this package and need a Lipschitz constant."""
    return isinstance(kind, type) and issubclass(kind, Agent) and not learns_slopes(kind)


class _Run(NamedTuple):
    """Both regrets at the checkpoints, points kept, seconds of rounds, the agent, and its mesh."""

    regret: Array
    simple_regret: Array | None
    points: Array
    seconds: float
    name: str
    mesh: Mesh | None


def _run(
    make: Callable[[np.random.SeedSequence], Any],
    problem: Problem,
    optimum: float,
    horizon: int,
    entropy: int,
    checkpoints: npt.NDArray[np.int64],
    kept: npt.NDArray[np.int64],
) -> _Run:
    """Play one run."""
    own, noise = np.random.SeedSequence(entropy).spawn(2)
    player = make(own)
    if not (hasattr(player, "ask") and hasattr(player, "tell")):
        raise InputTypeError(f"`agent` must make an object with `ask` and `tell`, but made {shown(player)}.")
    play = _playing_compiled(player, problem) if _is_compiled(player, problem) else partial(_play, player, problem)
    rng = np.random.default_rng(noise)
    play(range(0), rng, kept[:0])  # compiles what is not compiled yet
    earned = np.empty(len(checkpoints))
    points, best = list[Any](), list[Any]()
    done, total, place, seconds = 0, 0.0, 0, 0.0
    while done < horizon:
        stop = min(done + CHUNK, horizon)
        last = int(np.searchsorted(checkpoints, stop, side="right"))
        means, first = list[Array](), done
        for end in dict.fromkeys([*checkpoints[place:last].tolist(), stop]):
            keep = kept[len(points) : np.searchsorted(kept, end, side="right")] - first - 1
            start = time.perf_counter()
            played, some = play(range(first, end), rng, keep)
            seconds += time.perf_counter() - start
            means.append(played)
            points += some
            if len(best) < last and end == checkpoints[len(best)]:
                best.append(_recommended(player, problem, end))
            first = end
        sums = total + np.cumsum(np.concatenate(means))
        earned[place:last] = sums[checkpoints[place:last] - done - 1]
        done, total, place = stop, float(sums[-1]), last
    simple = optimum - np.asarray(problem.mean(np.array(best))) if hasattr(player, "recommend") else None
    regret = optimum * checkpoints - earned
    name = type(player).__name__
    return _Run(regret, simple, _as_rows(points, problem), seconds, name, _fixed_mesh(player))


def _fixed_mesh(player: Any) -> Mesh | None:
    """Return the arms of an agent that plays one mesh from the first round to the last, and all of it."""
    if isinstance(player, MESH_AGENTS) and player.arms.is_fixed:
        return player.arms.numbered
    return None


def _recommended(player: Any, problem: Problem, after: int) -> Any:
    """Return the point that an agent recommends after so many rounds, checked; None if it recommends none."""
    if not hasattr(player, "recommend"):
        return None
    point = player.recommend()
    if not isinstance(player, Agent) or not _is_at_home(player, problem):
        _check_point(player, problem, point, "recommended {!r} after round {:,}", after)
    return np.array(point)


def _as_rows(points: list[Any], problem: Problem) -> Array:
    """Return points, or the numbers of arms, one to a row."""
    if points:
        return np.array(points, dtype=np.float64).reshape(len(points), -1)
    return np.empty((0, problem.space.dim if hasattr(problem, "space") else 1))


def _is_compiled(player: Any, problem: Problem) -> bool:
    """Return whether the loop is compiled: Bernoulli rewards in the agent's range."""
    noise = getattr(problem, "noise", None)
    if not isinstance(player, Agent) or not isinstance(player, Simulable | Shared):
        return False
    if not isinstance(noise, Bernoulli):
        return False
    if getattr(player, "tests_symmetry", False):  # it plays images of its arms
        return False
    (low, high), (least, largest) = player.reward_range, noise.reward_range
    return low <= least and largest <= high


def _playing_compiled(player: Any, problem: Problem) -> Play:
    """Return what plays rounds in a compiled loop."""

    def mean(points: npt.NDArray[Any]) -> Array:
        space = problem.space
        if not np.all(inside := np.asarray(space.contains(points, tol=space.tolerance))):
            found = f"has {points[~inside][0].tolist()} among its arms after {player.rounds:,} rounds"
            raise _outside(player, problem, found)
        return problem.mean(points)

    simulation = Simulation(player, problem.mean if _is_at_home(player, problem) else mean)
    return lambda rounds, rng, keep: simulation.play(rng.random(len(rounds)), keep)


def _play(
    player: Any, problem: Problem, rounds: range, rng: np.random.Generator, keep: npt.NDArray[np.int64]
) -> tuple[Array, list[Any]]:
    """Play rounds by asking and telling; return the means of the points played, and the points of those kept."""
    points = []
    trusted = isinstance(player, Agent) and _is_at_home(player, problem)
    rule = None if isinstance(player, Agent) else getattr(problem, "feasible", None)
    for done in rounds:
        point = player.ask()
        if not trusted:
            _check_point(player, problem, point, "asked for {!r} in round {:,}", done + 1)
        if rule is not None and np.min(rule(point)) < 0:
            raise InputError(
                f"an agent must keep to `feasible`, but {type(player).__name__} asked for {point!r} in round "
                f"{done + 1:,}; fix the agent."
            )
        try:
            reward = float(problem.sample(point, rng))
        except IndexError as error:
            if trusted or hasattr(problem, "space"):
                raise
            raise _outside(player, problem, f"asked for {point!r} in round {done + 1:,}") from error
        player.tell(point, reward)
        points.append(np.array(point))
    means = np.asarray(problem.mean(np.array(points))) if points else np.empty(0)
    return means, [points[i] for i in keep]


def _is_at_home(player: Agent, problem: Problem) -> bool:
    """Return whether all plays of an agent of this package lie in the space of the problem."""
    space = getattr(problem, "space", None)
    return space is None or getattr(player, "space", None) is space


def _check_point(player: Any, problem: Problem, point: Any, found: str, at: int) -> None:
    """Refuse anything but a point of the space or, without one, an arm; `found` describes it."""
    try:
        if (space := getattr(problem, "space", None)) is not None:
            inside = bool(space.contains(as_point(point, space.dim), tol=space.tolerance))
        elif np.ndim(point) == 0:
            inside = as_count(point, "point", minimum=0) < getattr(problem, "n_arms", math.inf)
        else:
            inside = bool(as_finite(point, "point").size)
    except OrbanditError as error:
        kind = type(error) if isinstance(error, InputTypeError) else InputError
        raise kind(f"{type(player).__name__} {found.format(point, at)}: {error}") from error
    if not inside:
        raise _outside(player, problem, found.format(point, at))


def _outside(player: Any, problem: Problem, found: str) -> InputError:
    """Return the error of an agent that leaves the space, or the arms, of a problem."""
    where = f"in {problem.space!r}" if hasattr(problem, "space") else "among the arms of the problem"
    return InputError(
        f"an agent must play {where}, but {type(player).__name__} {found}; fix the agent; `space.project` may help."
    )
