"""Task: a run of an experiment, described by values that a file can hold, and made into arguments of `simulate`.

Whoever plays it builds the problem and the agent from their tables, once in a process.
"""

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from orbandit.agents import Agent
from orbandit.errors import InputError, SpecError
from orbandit.experiments import registry
from orbandit.experiments.registry import Entry
from orbandit.experiments.sources import sources_of
from orbandit.experiments.toml_lines import Mistake
from orbandit.problems import Problem

MOST_AGENTS = 1_000
"""Most agents of an experiment."""

SIMULATE = ("agent", "problem", "horizon", "seeds", "jobs", "use_group", "plays", "checkpoints")
"""Arguments of `simulate`, which options of an agent's class must not share."""


@dataclass(frozen=True)
class Task:
    """A run: a problem, an agent, a horizon and a seed.

    Attributes
    ----------
    problem, agent, horizon, seed : str, str, int, int
        The name of the problem, the label of the agent, the number of rounds and the seed.
    parameters : dict
        Everything that determines the run, as JSON can hold it: the tables, horizon, seed, checkpoints and version,
        and the checksums of sources of the user's own, if the tables name any.
    folder : Path
        That of the file.
    """

    problem: str
    agent: str
    horizon: int
    seed: int
    parameters: dict[str, Any] = field(hash=False)
    folder: Path

    @property
    def _player(self) -> tuple[Any, dict[str, Any], bool]:
        return _player(as_text(self.parameters["agent"]), self.folder)

    @property
    def agent_class(self) -> Any:
        """What `simulate` takes as `agent`: a class, or a callable if the class does not take what agents are told."""
        return self._player[0]

    @property
    def options(self) -> dict[str, Any]:
        """Further arguments of `simulate`."""
        return dict(self._player[1])

    @property
    def use_group(self) -> bool:
        """Whether `simulate` tells the agent's class the problem's group."""
        return self._player[2]

    def arguments(self) -> dict[str, Any]:
        """Return all arguments of `simulate`; the problem is built once in a process."""
        text, sources = as_text(self.parameters["problem"]), self.parameters.get("sources", {})
        if sources:
            _check_sources(text, as_text(self.parameters["agent"]), self.folder, as_text(sources))
        problem = problem_of(text, self.folder, sources)
        fixed = {"agent": self.agent_class, "problem": problem, "horizon": self.horizon, "seeds": [self.seed]}
        return {**fixed, "use_group": self.use_group, "checkpoints": self.parameters["checkpoints"], **self.options}


@dataclass(frozen=True)
class _Maker:
    """Makes an agent of a class that takes only some of what agents are told."""

    entry: Entry
    options: dict[str, Any]
    use_group: bool

    def __call__(self, problem: Problem, horizon: int, seed: np.random.SeedSequence) -> Any:
        group = problem.group if self.use_group else None
        told: dict[str, Any] = {"problem": problem, "space": problem.space, "group": group, "horizon": horizon}
        told |= {"seed": seed, "reward_range": problem.reward_range}
        taken = self.entry.signature.parameters
        if "lipschitz" in taken and "lipschitz" not in self.options:
            told["lipschitz"] = problem.lipschitz  # which may take a search to find
        kept = {key: value for key, value in told.items() if key in taken}
        return registry.call(self.entry, kept | self.options)


def problem_of(text: str, folder: Path, sources: dict[str, str]) -> Problem:
    """Build the problem of a table given as JSON, once in a process while its sources are the same."""
    own = {name: checksum for name, checksum in sources.items() if json.dumps(name) in text}
    return _problem(text, folder, as_text(own))


@lru_cache(maxsize=64)
def _problem(text: str, folder: Path, _: str) -> Problem:
    problem: Problem = registry.build("problem", json.loads(text), folder)
    return problem


@lru_cache(maxsize=MOST_AGENTS)
def _check_sources(problem: str, agent: str, folder: Path, expected: str) -> None:
    """Refuse to play other code or data than those that a run is stored under."""
    found = sources_of("problem", json.loads(problem), folder) | sources_of("agent", json.loads(agent), folder)
    other = [name for name, checksum in json.loads(expected).items() if found.get(name) != checksum]
    if other:
        raise InputError(
            f"{', '.join(other)} differ from what the experiment was begun with; start it again, and give all workers "
            "the same files."
        )


@lru_cache(maxsize=MOST_AGENTS)
def _player(text: str, folder: Path) -> tuple[Any, dict[str, Any], bool]:
    """Return the agent, the options and `use_group` that `simulate` takes for the table given as JSON."""
    table = json.loads(text)
    entry = registry.find("agent", table.pop("class"), folder)
    mistakes: list[Mistake] = []
    options = registry.convert(entry, table, (), folder, mistakes)
    if options is None:
        raise SpecError("\n".join(mistake.text for mistake in mistakes), tuple(mistakes))
    use_group = bool(options.pop("group"))
    taken = entry.signature.parameters
    usual = entry.is_open or {"group", "horizon", "lipschitz", "reward_range", "seed"} <= set(taken)
    if isinstance(entry.make, type) and issubclass(entry.make, Agent) and usual and not set(options) & set(SIMULATE):
        return entry.make, options, use_group
    return _Maker(entry, options, use_group), {}, True


def as_text(table: dict[str, Any]) -> str:
    """Return a table as JSON that depends on nothing but its content."""
    return json.dumps(table, sort_keys=True)
