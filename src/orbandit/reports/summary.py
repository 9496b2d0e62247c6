"""A summary of results: every number that a page, a figure or a table shows, computed once.

Results are a store's runs. Agents are ordered by their regret, the least first; one that is told the group and the same
one without it are a pair, and what the group is worth is the ratio of their regrets.
"""

import itertools
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit.errors import OrbanditError, StoreError
from orbandit.experiments.finished import FinishedRun
from orbandit.experiments.registry import build
from orbandit.experiments.store import Store
from orbandit.problems import Problem
from orbandit.reports.statistics import CONFIDENCE, Interval, band, mean_of, ratio_of, slope_of

DECADE = 10.0
"""With one horizon a slope is fitted to the last part of the curve, from a tenth of the horizon on."""

COMPARED = 12
"""So many agents, the best, are compared with each other."""

WITHOUT = " without group"
"""How the label of an agent ends that is not told the group."""


@dataclass(frozen=True)
class AgentResult:
    """The runs of an agent on a problem with one horizon.

    Attributes
    ----------
    label, family : str
        Its name, and the name that it shares with its pair.
    uses_group : bool
        Whether it is told the problem's group.
    seeds : tuple of int
        Of the runs, in order.
    checkpoints, regret : (k,) and (runs, k) arrays
        Regret of each run.
    mean, low, high : (k,) arrays
        The mean regret and its interval.
    final : Interval
        Of the regret at the end.
    seconds : float
        Per round, averaged over runs.
    plays : (m, dim) array
        Some of the points played, if any were kept.
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


@dataclass(frozen=True)
class Comparison:
    """Regret of one agent over that of another with the same seeds.

    Attributes
    ----------
    ratio : Interval
        By itself.
    is_clear : bool
        Whether the ratio is not 1 even if all comparisons of the problem and horizon are to be right together.
    """

    ratio: Interval
    is_clear: bool


class Worth(NamedTuple):
    """Regret of an agent with the group and without it, and their ratio."""

    family: str
    told: Interval
    untold: Interval
    ratio: Interval


@dataclass(frozen=True)
class HorizonResult:
    """All agents on a problem with one horizon, by regret, and pairs of the best COMPARED, better before worse."""

    horizon: int
    agents: tuple[AgentResult, ...]
    comparisons: dict[tuple[str, str], Comparison]

    def worth(self) -> Iterator[Worth]:
        """Yield what the group is worth to each agent that was played with it and without."""
        blind = {agent.family: agent for agent in self.agents if not agent.uses_group}
        for agent in self.agents:
            other = blind.get(agent.family)
            if agent.uses_group and other is not None:
                yield Worth(agent.family, agent.final, other.final, _paired(agent, other, CONFIDENCE))


@dataclass(frozen=True)
class Slope:
    """An exponent of the number of rounds: across horizons, or along the last part of the longest curve."""

    exponent: Interval
    is_across: bool


@dataclass(frozen=True)
class ProblemResult:
    """A problem and what was played on it.

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
        Of each agent.
    """

    name: str
    problem: Problem | None
    trouble: str
    horizons: tuple[HorizonResult, ...]
    slopes: dict[str, Slope]

    @property
    def longest(self) -> HorizonResult:
        """What was played with the longest horizon."""
        return self.horizons[-1]

    @property
    def exponent(self) -> float | None:
        """The exponent of n in Theorem 1, (d + 1) / (d + 2), if the dimension is known."""
        if self.problem is None:
            return None
        d = self.problem.space.intrinsic_dim
        return (d + 1) / (d + 2)


@dataclass(frozen=True)
class Summary:
    """What a file of results says."""

    name: str
    path: Path
    problems: tuple[ProblemResult, ...]
    runs: int
    rounds: int
    seconds: float
    seeds: tuple[int, ...]
    versions: tuple[str, ...]
    spec: dict[str, Any] = field(hash=False)

    @property
    def families(self) -> tuple[str, ...]:
        """The names of agents, pairs once, in an order that does not depend on results."""
        return tuple(sorted({a.family for p in self.problems for h in p.horizons for a in h.agents}))


def summarise(path: str | os.PathLike[str]) -> Summary:
    """Read a file of results and compute all that is shown of it.

    Raises
    ------
    StoreError
        If there is no run in it yet, or it is no file of results.
    """
    with Store.open(path, write=False) as store:
        spec, runs = store.spec, list(store.runs())
    if not runs:
        raise StoreError(f"{os.fspath(path)} holds no finished run yet; `orbandit run` adds some.")
    versions = tuple(sorted({str(run.parameters.get("version", "unknown")) for run in runs}))
    if len(versions) > 1:  # the same agent of two versions is two agents
        runs = [replace(run, agent=f"{run.agent} [{run.parameters.get('version', 'unknown')}]") for run in runs]
    named = itertools.groupby(sorted(runs, key=lambda run: run.problem), key=lambda run: run.problem)
    order = [str(table.get("name") or table.get("class")) for table in spec.get("problem", ())]
    problems = [_problem_result(name, list(played), Path(path).absolute().parent) for name, played in named]
    problems.sort(key=lambda result: (order.index(result.name) if result.name in order else len(order), result.name))
    return Summary(
        name=str(spec.get("name") or Path(path).stem),
        path=Path(path),
        problems=tuple(problems),
        runs=len(runs),
        rounds=sum(run.horizon for run in runs),
        seconds=sum(run.seconds for run in runs),
        seeds=tuple(sorted({run.seed for run in runs})),
        versions=versions,
        spec=spec,
    )


def _problem_result(name: str, runs: list[FinishedRun], folder: Path) -> ProblemResult:
    problem, trouble = None, ""
    try:
        problem = build("problem", runs[0].parameters["problem"], folder)
    except (OrbanditError, LookupError) as error:  # own modules and data files may be elsewhere now
        trouble = str(error)
    horizons = tuple(
        _horizon_result(horizon, [run for run in runs if run.horizon == horizon])
        for horizon in sorted({run.horizon for run in runs})
    )
    return ProblemResult(name, problem, trouble, horizons, _slopes(horizons))


def _horizon_result(horizon: int, runs: list[FinishedRun]) -> HorizonResult:
    named = itertools.groupby(sorted(runs, key=lambda run: (run.agent, run.seed)), key=lambda run: run.agent)
    agents = sorted((_agent_result(label, list(played)) for label, played in named), key=lambda one: one.final.value)
    pairs = list(itertools.combinations(agents[:COMPARED], 2))
    strict = 1 - (1 - CONFIDENCE) / max(1, len(pairs))  # Bonferroni
    comparisons = {
        (a.label, b.label): Comparison(_paired(a, b, CONFIDENCE), _paired(a, b, strict).excludes(1.0)) for a, b in pairs
    }
    return HorizonResult(horizon, tuple(agents), comparisons)


def _agent_result(label: str, runs: list[FinishedRun]) -> AgentResult:
    uses_group = bool(runs[0].parameters.get("agent", {}).get("group", True))
    regret = np.array([run.regret for run in runs])
    mean, low, high = band(regret)
    plays = [run.plays for run in runs if len(run.plays)]
    return AgentResult(
        label=label,
        family=label if uses_group else label.replace(WITHOUT, "", 1),
        uses_group=uses_group,
        seeds=tuple(run.seed for run in runs),
        checkpoints=runs[0].checkpoints,
        regret=regret,
        mean=mean,
        low=low,
        high=high,
        final=mean_of(regret[:, -1]),
        seconds=sum(run.seconds for run in runs) / sum(run.horizon for run in runs),
        plays=np.concatenate(plays) if plays else np.empty((0, 0)),
    )


def _paired(a: AgentResult, b: AgentResult, confidence: float) -> Interval:
    """Compare the seeds that both have."""
    shared = sorted(set(a.seeds) & set(b.seeds))
    if not shared:
        return Interval(math.nan, math.nan, math.nan)
    over, under = (one.regret[[one.seeds.index(seed) for seed in shared], -1] for one in (a, b))
    return ratio_of(over, under, confidence)


def _slopes(horizons: tuple[HorizonResult, ...]) -> dict[str, Slope]:
    slopes = {}
    for agent in horizons[-1].agents:
        played = [(h.horizon, one) for h in horizons for one in h.agents if one.label == agent.label]
        if len(played) > 1:
            rounds = np.array([float(horizon) for horizon, _ in played])
            slopes[agent.label] = Slope(slope_of(rounds, [one.regret[:, -1] for _, one in played]), is_across=True)
            continue
        late = agent.checkpoints >= agent.checkpoints[-1] / DECADE
        if late.sum() > 1:
            regrets = list(agent.regret[:, late].T)
            slopes[agent.label] = Slope(slope_of(agent.checkpoints[late].astype(float), regrets), is_across=False)
    return slopes
