"""Task: a run of an experiment as plain values, and its arguments of `simulate`.

A worker builds the problem and the agent from their tables, once in a process.
"""

import json
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from orbandit.agents.maker import Maker
from orbandit.errors import InputError, Mistake, SpecError
from orbandit.experiments import registry
from orbandit.experiments.outline import MAX_AGENTS
from orbandit.experiments.registry import OFFERED, Entry
from orbandit.experiments.sources import sources_of
from orbandit.groups import Group
from orbandit.problems import Problem
from orbandit.spaces import Space


@dataclass(frozen=True)
class Task:
    """A run: a problem, an agent, a horizon and a seed.

    Attributes
    ----------
    problem, agent, horizon, seed : str, str, int, int
        The name of the problem, the label of the agent, the number of rounds and the seed.
    parameters : dict
        All parameters of the run, as JSON can hold them: the tables, horizon, seed, checkpoints and
        version, and the checksums of sources of the user's own, if the tables name any.
    folder : Path
        The folder of the file.
    """

    problem: str
    agent: str
    horizon: int
    seed: int
    parameters: dict[str, Any] = field(hash=False)
    folder: Path

    def arguments(self) -> dict[str, Any]:
        """Return all arguments of `simulate`; the problem is built once in a process."""
        text, sources = as_text(self.parameters["problem"]), self.parameters.get("sources", {})
        if sources:
            _check_sources(text, as_text(self.parameters["agent"]), self.folder, as_text(sources))
        problem = problem_of(text, self.folder, sources)
        agent, use_group = _player(as_text(self.parameters["agent"]), self.folder)
        return {
            "agent": agent,
            "problem": problem,
            "horizon": self.horizon,
            "seeds": [self.seed],
            "use_group": use_group,
            "checkpoints": self.parameters["checkpoints"],
        }


def problem_of(text: str, folder: Path, sources: dict[str, str]) -> Problem:
    """Build the problem of a table given as JSON, once in a process while its sources are the same."""
    own = {name: checksum for name, checksum in sources.items() if json.dumps(name) in text}
    return _problem(text, folder, as_text(own))


@lru_cache(maxsize=64)
def _problem(text: str, folder: Path, _: str) -> Problem:
    problem: Problem = registry.build("problem", json.loads(text), folder)
    return problem


@lru_cache(maxsize=MAX_AGENTS)
def _check_sources(problem: str, agent: str, folder: Path, expected: str) -> None:
    """Refuse to play other code or data than those in a run's key."""
    found = sources_of("problem", json.loads(problem), folder) | sources_of("agent", json.loads(agent), folder)
    other = [name for name, checksum in json.loads(expected).items() if found.get(name) != checksum]
    if other:
        raise InputError(
            f"{', '.join(other)} differ from what the experiment was begun with; start it again, and give all workers "
            "the same files."
        )


@lru_cache(maxsize=MAX_AGENTS)
def _player(text: str, folder: Path) -> tuple[Maker, bool]:
    """Return the agent and `use_group` that `simulate` takes for the table given as JSON."""
    table = json.loads(text)
    entry = registry.find("agent", table.pop("class"), folder)
    mistakes: list[Mistake] = []
    options = registry.convert(entry, table, (), folder, mistakes)
    if options is None:
        raise SpecError(mistakes)
    use_group = bool(options.pop("group"))
    if entry.takes_all():
        return partial(entry.make, **options), use_group
    unused = {} if _takes(entry, "lipschitz") else {"lipschitz": None}  # which may take a search
    return partial(_told_some, entry, **unused, **options), use_group


def _told_some(entry: Entry, space: Space, group: Group | None, /, **told: Any) -> Any:
    """Make an agent of the user's own, whose class takes only some of the arguments, by name."""
    if "feasible" in told and not _takes(entry, "feasible"):
        raise InputError(f"the problem has a constraint, but {entry.name} takes no `feasible`; choose another agent.")
    known = {"space": space, "group": group, **told}
    usual = {"space", "group", "horizon", "seed", *OFFERED}
    return registry.call(entry, {key: known[key] for key in known if key not in usual or _takes(entry, key)})


def _takes(entry: Entry, key: str) -> bool:
    return entry.is_open or key in entry.signature.parameters


def as_text(table: dict[str, Any]) -> str:
    """Return a table as JSON that depends on nothing but its content."""
    return json.dumps(table, sort_keys=True)
