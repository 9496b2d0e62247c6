"""A summary of results: every number of a report, a figure or a table, computed once.

Results are a store's runs. Agents are ordered by their regret, the least first. An agent with the
group and the same one without it are a pair, and the gain of the group is the ratio of their
regrets.
"""

import itertools
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit.errors import OrbanditError, StoreError
from orbandit.experiments.finished import FinishedRun, Limit, run_key
from orbandit.experiments.outline import AgentName
from orbandit.experiments.registry import build
from orbandit.experiments.store import Store
from orbandit.problems import Problem
from orbandit.reports.statistics import CONFIDENCE, UNKNOWN, Interval, band, chance_of, mean_of, ratio_of, slope_of

DECADE = 10.0
"""With one horizon a slope is fitted to the last part of the curve, from a tenth of the horizon
on."""

ROUNDING_PER_ROUND = 1e-9
"""A regret of less than this per round is rounding."""

MAX_AGENTS_COMPARED = 12
"""Number of agents, the best, that are compared with each other."""


@dataclass(frozen=True)
class Curve:
    """A mean over runs at checkpoints.

    Attributes
    ----------
    mean, low, high : (k,) arrays
        The mean and its interval.
    is_nothing : (k,) array of bool
        Where the mean is only rounding.
    final : Interval
        The mean at the end.
    """

    mean: Array
    low: Array
    high: Array
    is_nothing: npt.NDArray[np.bool_]
    final: Interval


@dataclass(frozen=True)
class AgentResult:
    """The runs of an agent on a problem with one horizon.

    Attributes
    ----------
    label, family : str
        Its name, and the name that it shares with its pair.
    uses_group : bool
        Whether it gets the problem's group.
    seeds : tuple of int
        The seeds of the runs, in order.
    checkpoints, regret : (k,) and (runs, k) arrays
        Regret of each run.
    mean, low, high : (k,) arrays
        The mean regret and its interval.
    final : Interval
        The mean regret at the end.
    seconds : float
        Seconds per round, averaged over runs.
    plays : (m, dim) array
        Some of the points played, if any were kept.
    simple : Curve or None
        The simple regret; None if some of the runs have none.
    limit : Limit or None
        The asymptotic limit on the mesh that it plays; None if it plays no fixed mesh, or no run
        has one.
    """

    label: str
    family: str
    uses_group: bool
    seeds: tuple[int, ...]
    checkpoints: npt.NDArray[np.int64]
    regret: Array
    mean: Array
    low: Array
    high: Array
    final: Interval
    seconds: float
    plays: Array
    simple: Curve | None
    limit: Limit | None

    @property
    def cumulative(self) -> Curve:
        """The mean regret and its interval."""
        return Curve(self.mean, self.low, self.high, self.is_nothing, self.final)

    @property
    def is_nothing(self) -> npt.NDArray[np.bool_]:
        """Where the mean regret is nothing but rounding, (k,)."""
        return self.mean <= ROUNDING_PER_ROUND * self.checkpoints


@dataclass(frozen=True)
class Comparison:
    """Regret of one agent over that of another with the same seeds.

    Attributes
    ----------
    ratio : Interval
        The ratio of mean regrets, without correction for other comparisons.
    chance : float
        The p-value for equal mean regrets.
    """

    ratio: Interval
    chance: float

    def is_clear(self, among: int) -> bool:
        """Whether the regrets differ, corrected for `among` comparisons (Bonferroni)."""
        return self.chance < (1 - CONFIDENCE) / max(1, among)


class Worth(NamedTuple):
    """Regret of an agent with the group and without it, and their comparison."""

    family: str
    told: Interval
    untold: Interval
    comparison: Comparison


@dataclass(frozen=True)
class HorizonResult:
    """All agents on a problem with one horizon, by regret, and pairs of the best of them, better before worse."""

    horizon: int
    agents: tuple[AgentResult, ...]
    comparisons: dict[tuple[str, str], Comparison]

    @property
    def families(self) -> tuple[str, ...]:
        """The names of agents, pairs once, by the better of the two."""
        return tuple(dict.fromkeys(agent.family for agent in self.agents))

    def of_family(self, family: str) -> tuple[AgentResult, ...]:
        """Return the agents of a name, those that are told the group first."""
        found = (agent for agent in self.agents if agent.family == family)
        return tuple(sorted(found, key=lambda agent: not agent.uses_group))

    def worth(self) -> Iterator[Worth]:
        """Yield the gain of the group for each agent that was played with it and without."""
        blind = {agent.family: agent for agent in self.agents if not agent.uses_group}
        for agent in self.agents:
            other = blind.get(agent.family)
            if agent.uses_group and other is not None:
                yield Worth(agent.family, agent.final, other.final, _compared(agent, other))


@dataclass(frozen=True)
class Slope:
    """An exponent of the number of rounds: across horizons, or along the last part of the longest curve."""

    exponent: Interval
    is_across: bool


@dataclass(frozen=True)
class ProblemResult:
    """A problem and its results.

    Attributes
    ----------
    name : str
        As the runs have it.
    problem : Problem or None
        Built again from its description, for pictures and exponents.
    trouble : str
        Why that failed, if it did.
    horizons : tuple of HorizonResult
        The shortest first.
    slopes : dict
        The exponent of each agent's regret.
    """

    name: str
    problem: Problem | None
    trouble: str
    horizons: tuple[HorizonResult, ...]
    slopes: dict[str, Slope]

    @property
    def longest(self) -> HorizonResult:
        """The results with the longest horizon that at least half of the agents have played."""
        most = max(len(result.agents) for result in self.horizons)
        half = [result for result in self.horizons if 2 * len(result.agents) >= most]
        return max(half, key=lambda result: result.horizon)

    @property
    def has_group(self) -> bool:
        """Whether the problem has a symmetry; assumed if the problem is unknown."""
        return self.problem is None or (self.problem.group is not None and self.problem.group.order > 1)

    @property
    def exponent(self) -> float | None:
        """The exponent of n in Theorem 1, (d + 1) / (d + 2), if the dimension of the quotient is known."""
        if self.problem is None or (self.problem.group is not None and self.problem.group.order == math.inf):
            return None
        d = self.problem.space.intrinsic_dim
        return (d + 1) / (d + 2)


@dataclass(frozen=True)
class Summary:
    """All numbers of a file of results.

    Attributes
    ----------
    name : str
        Name of the experiment.
    path : Path
        The file of results.
    problems : tuple of ProblemResult
        The problems and their results.
    n_runs, n_rounds : int
        Number of finished runs, and of their rounds.
    seconds : float
        Time of all rounds.
    seeds : tuple of int
        All seeds.
    versions : tuple of str
        Versions of orbandit that played the runs.
    spec : dict
        The description of the experiment.
    n_expected : int or None
        Number of planned runs, if the experiment is known.

    Examples
    --------
    >>> import tempfile
    >>> import orbandit as ob
    >>> cone = {"class": "Cone", "space": {"class": "Ball", "dim": 2}, "peak": [0.3, 0.4]}
    >>> cone["group"] = {"class": "Dihedral", "m": 5}
    >>> agents = [{"class": "OrbitTree", "group": [True, False]}]
    >>> tables = {"horizons": [300], "seeds": 3, "problem": [cone], "agent": agents}
    >>> experiment = ob.experiments.restore(tables, ".")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     played = ob.experiments.run(experiment, f"{folder}/a.db", jobs=1)
    ...     summary = ob.reports.summarise(f"{folder}/a.db")
    >>> summary.n_runs, summary.families
    (6, ('OrbitTree',))
    >>> [(problem, row.family) for problem, row in summary.worth()]
    [('Cone', 'OrbitTree')]
    """

    name: str
    path: Path
    problems: tuple[ProblemResult, ...]
    n_runs: int
    n_rounds: int
    seconds: float
    seeds: tuple[int, ...]
    versions: tuple[str, ...]
    spec: dict[str, Any] = field(hash=False)
    n_expected: int | None
    """How many runs there are to be, if the experiment is known."""

    def worth(self) -> list[tuple[str, Worth]]:
        """Return the gain of the group for each agent on each problem that has one."""
        return [
            (result.name, worth) for result in self.problems if result.has_group for worth in result.longest.worth()
        ]

    @property
    def families(self) -> tuple[str, ...]:
        """The names of agents, pairs once, in the order of the alphabet."""
        return tuple(sorted({a.family for p in self.problems for h in p.horizons for a in h.agents}))

    @property
    def ranking(self) -> tuple[str, ...]:
        """The names of agents, pairs once, by their mean place among the agents of each problem."""
        places: dict[str, list[int]] = {family: [] for family in self.families}
        for result in self.problems:
            for place, family in enumerate(result.longest.families):
                places[family].append(place)
        last = len(places)
        return tuple(sorted(places, key=lambda name: float(np.mean(places[name] or [last]))))


def summarise(path: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> Summary:
    """Read a file of results and compute its summary.

    Parameters
    ----------
    path : path
        A file of results.
    folder : path, optional
        Where the experiment's own modules and data files lie, by default that of the results.

    Raises
    ------
    StoreError
        If there is no run in it yet, or it is no file of results.

    Examples
    --------
    >>> import tempfile
    >>> import orbandit as ob
    >>> cone = {"class": "Cone", "space": {"class": "Ball", "dim": 2}, "peak": [0.3, 0.4]}
    >>> agent = {"class": "OrbitTree"}
    >>> tables = {"horizons": [100], "seeds": 2, "problem": [cone], "agent": [agent]}
    >>> experiment = ob.experiments.restore(tables, ".")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     played = ob.experiments.run(experiment, f"{folder}/disk.db", jobs=1)
    ...     summary = ob.reports.summarise(f"{folder}/disk.db")
    >>> summary.n_runs, summary.n_rounds, summary.problems[0].longest.agents[0].final.value > 0
    (2, 200, True)
    """
    with Store.open(path, write=False) as store:
        spec, outline, runs = store.spec, store.outline, list(store.runs())
    if not runs:
        raise StoreError(f"{os.fspath(path)} holds no finished run yet; `orbandit run` adds some.")
    place = Path(path if folder is None else folder).absolute()
    place = place.parent if folder is None else place
    order = () if outline is None else outline.problems
    named = _named(runs, () if outline is None else outline.agents)
    by_problem = itertools.groupby(sorted(named, key=_problem_name), key=_problem_name)
    problems = [_problem_result(name, list(played), place) for name, played in by_problem]
    problems.sort(key=lambda result: (order.index(result.name) if result.name in order else len(order), result.name))
    return Summary(
        name=str(spec.get("name") or Path(path).stem),
        path=Path(path),
        problems=tuple(problems),
        n_runs=len(runs),
        n_rounds=sum(run.horizon for run in runs),
        seconds=sum(run.seconds for run in runs),
        seeds=tuple(sorted({run.seed for run in runs})),
        versions=tuple(sorted({_version(run) for run in runs})),
        spec=spec,
        n_expected=None if outline is None else outline.n_runs,
    )


def _version(run: FinishedRun) -> str:
    return str(run.parameters.get("version", "unknown"))


NamedRun: TypeAlias = tuple[AgentName, FinishedRun]


def _problem_name(named: NamedRun) -> str:
    return named[1].problem


def _named(runs: list[FinishedRun], agents: Iterable[AgentName]) -> list[NamedRun]:
    """Name the agent of each run, by its version or sources, too, where it was played with several.

    Each of these is an agent of its own. One that the experiment does not name, a script's perhaps,
    is by itself.
    """
    known = {name.label: name for name in agents}
    editions: dict[tuple[str, str], tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for run in runs:
        versions, sources = editions[run.problem, run.agent]
        versions.add(_version(run))
        sources.add(_source(run))
    named = []
    for run in runs:
        versions, sources = editions[run.problem, run.agent]
        words = [_version(run)] if len(versions) > 1 else []
        words += [f"source {_source(run)}"] if len(sources) > 1 else []
        edition = f" [{', '.join(words)}]" if words else ""
        uses_group = bool(run.parameters.get("agent", {}).get("group", True))
        name = known.get(run.agent, AgentName(run.agent, run.agent, uses_group))
        named.append((AgentName(name.label + edition, name.family + edition, name.uses_group), run))
    return named


def _source(run: FinishedRun) -> str:
    """Return a short name of the modules and data of the user's own that a run depends on."""
    return run_key(run.parameters["sources"])[:6] if "sources" in run.parameters else "none"


def _problem_result(name: str, runs: list[NamedRun], folder: Path) -> ProblemResult:
    problem, trouble = None, ""
    try:
        problem = build("problem", runs[0][1].parameters["problem"], folder)
    except (OrbanditError, LookupError) as error:  # own modules and data files may be elsewhere now
        trouble = str(error)
    horizons = tuple(
        _horizon_result(horizon, [(name, run) for name, run in runs if run.horizon == horizon])
        for horizon in sorted({run.horizon for _, run in runs})
    )
    return ProblemResult(name, problem, trouble, horizons, _slopes(horizons))


def _horizon_result(horizon: int, runs: list[NamedRun]) -> HorizonResult:
    played: dict[AgentName, list[FinishedRun]] = defaultdict(list)
    for name, run in sorted(runs, key=lambda named: (named[0].label, named[1].seed)):
        played[name].append(run)
    agents = sorted((_agent_result(*item) for item in played.items()), key=lambda one: one.final.value)
    pairs = itertools.combinations(agents[:MAX_AGENTS_COMPARED], 2)
    return HorizonResult(horizon, tuple(agents), {(a.label, b.label): _compared(a, b) for a, b in pairs})


def _agent_result(name: AgentName, runs: list[FinishedRun]) -> AgentResult:
    regret = np.array([run.regret for run in runs])
    mean, low, high = band(regret)
    plays = [run.plays for run in runs if len(run.plays)]
    simple = [run.simple_regret for run in runs if run.simple_regret is not None]
    return AgentResult(
        label=name.label,
        family=name.family,
        uses_group=name.uses_group,
        seeds=tuple(run.seed for run in runs),
        checkpoints=runs[0].checkpoints,
        regret=regret,
        mean=mean,
        low=low,
        high=high,
        final=mean_of(regret[:, -1]),
        seconds=sum(run.seconds for run in runs) / sum(run.horizon for run in runs),
        plays=np.concatenate(plays) if plays else np.empty((0, 0)),
        simple=_simple_curve(np.array(simple)) if len(simple) == len(runs) else None,
        limit=next((run.limit for run in runs if run.limit is not None), None),
    )


def _simple_curve(regret: Array) -> Curve:
    mean, low, high = band(regret)
    return Curve(mean, low, high, mean <= ROUNDING_PER_ROUND, mean_of(regret[:, -1]))


def _compared(a: AgentResult, b: AgentResult) -> Comparison:
    """Compare the seeds that both have."""
    shared = sorted(set(a.seeds) & set(b.seeds))
    if not shared:
        return Comparison(UNKNOWN, 1.0)
    over, under = (one.regret[[one.seeds.index(seed) for seed in shared], -1] for one in (a, b))
    return Comparison(ratio_of(over, under), chance_of(over, under))


def _slopes(horizons: tuple[HorizonResult, ...]) -> dict[str, Slope]:
    slopes = {}
    for label in {agent.label for h in horizons for agent in h.agents}:
        played = [(h.horizon, agent) for h in horizons for agent in h.agents if agent.label == label]
        if len(played) > 1:
            rounds = np.array([float(horizon) for horizon, _ in played])
            slopes[label] = Slope(slope_of(rounds, [agent.regret[:, -1] for _, agent in played]), is_across=True)
            continue
        ((_, agent),) = played
        late = (agent.checkpoints >= agent.checkpoints[-1] / DECADE) & ~agent.is_nothing
        if late.sum() > 1:
            regrets = list(agent.regret[:, late].T)
            slopes[label] = Slope(slope_of(agent.checkpoints[late].astype(float), regrets), is_across=False)
    return slopes
