"""Outline: the names of an experiment's problems and agents, and the number of its runs.

They follow from the description alone; nothing is built for them. A store keeps the outline of its
experiment, so that a report needs neither the classes of agents nor the rules for their names.
"""

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from orbandit.experiments.schema import check

MAX_AGENTS = 1_000
"""Most agents of an experiment."""

MAX_VALUE_LENGTH = 24
"""Most characters of a value in a label."""

WITHOUT_GROUP = " without group"
"""The end of the label of an agent that does not get the group."""


class AgentName(NamedTuple):
    """The label of an agent, and the name it shares with the one that differs in the group only."""

    label: str
    family: str
    uses_group: bool


@dataclass(frozen=True)
class Outline:
    """Names of problems and agents, in the order of the file, and the number of planned runs."""

    problems: tuple[str, ...]
    agents: tuple[AgentName, ...]
    n_runs: int

    @classmethod
    def of(cls, description: dict[str, Any]) -> Self | None:
        """Return the outline of an experiment's description; None of a dictionary that describes none."""
        checked, _ = check(description)
        if checked is None:
            return None
        tables, namer = description["agent"], Namer()
        if sum(map(grid_size, tables)) > MAX_AGENTS:
            return None
        agents = tuple(namer.name(table, given) for table in tables for given in grid(table))
        problems = tuple(problem_names(description["problem"]))
        n_pairs = sum(grid_size(table) * len(table.get("horizons", checked.horizons)) for table in tables)
        return cls(problems, agents, len(problems) * n_pairs * len(checked.seeds))

    def as_text(self) -> str:
        """Return it as JSON."""
        return json.dumps({"problems": self.problems, "agents": self.agents, "n_runs": self.n_runs})

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Undo `as_text`."""
        kept = json.loads(text)
        return cls(tuple(kept["problems"]), tuple(AgentName(*one) for one in kept["agents"]), kept["n_runs"])


def problem_names(tables: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the names of problems: their own, or that of the class, with a number if it is taken."""
    tables = list(tables)
    taken = {table["name"] for table in tables if isinstance(table.get("name"), str)}
    for table in tables:
        name = table.get("name")
        if not isinstance(name, str):
            name = _unused(_short(table), taken)
        taken.add(name)
        yield name


def axes(table: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the values that each key of an agent's table takes."""
    return {
        key: value if isinstance(value, list) else [value]
        for key, value in table.items()
        if key not in ("class", "name", "horizons")
    }


def grid(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parameters of each agent of a table."""
    values = axes(table)
    for choice in itertools.product(*values.values()):
        yield dict(zip(values, choice, strict=True))


def grid_size(table: Mapping[str, Any]) -> int:
    """Return how many agents a table stands for."""
    return math.prod(map(len, axes(table).values()))


class Namer:
    """Gives agents different labels.

    Examples
    --------
    >>> table, namer = {"class": "HOO", "rho": 0.5, "group": [True, False]}, Namer()
    >>> [namer.name(table, given).label for given in (*grid(table), {"rho": 0.5})]
    ['HOO(rho=0.5)', 'HOO(rho=0.5) without group', 'HOO(rho=0.5) 2']
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, table: Mapping[str, Any], given: Mapping[str, Any]) -> AgentName:
        """Return the name of an agent: class or own name, parameters, and if it lacks the group.

        With a name of its own, parameters that are the same for all agents of the table are left
        out.
        """
        values = axes(table)
        words = []
        for key, value in given.items():
            if key == "group" or (table.get("name") and len(values[key]) == 1):
                continue
            text = value if isinstance(value, str) else json.dumps(value)
            words.append(f"{key}={text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 3] + '...'}")
        family = str(table.get("name") or _short(table)) + (f"({', '.join(words)})" if words else "")
        uses_group = given.get("group") is not False
        plain = family if uses_group else family + WITHOUT_GROUP
        label = _unused(plain, self._taken)
        self._taken.add(label)
        return AgentName(label, family + label.removeprefix(plain), uses_group)


def _short(table: Mapping[str, Any]) -> str:
    """Return the name of a table's class without its module."""
    return str(table["class"]).rpartition(":")[2]


def _unused(name: str, taken: set[str]) -> str:
    """Return the name, with a number if it is taken."""
    return next(one for one in itertools.chain([name], (f"{name} {i}" for i in itertools.count(2))) if one not in taken)
