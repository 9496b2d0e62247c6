"""An experiment's file: problems, agents, horizons, seeds and checkpoints in TOML, checked before anything runs.

    name = "cube under S_3"
    horizons = [1_000, 10_000]
    seeds = 10                      # a number of runs, or a list of seeds
    checkpoints = 20                # rounds in each factor of ten at which regret is read, or a list of rounds
    timeout = 600                   # seconds that a run may take; without it, as long as it likes

    [[problem]]
    class = "Cone"
    space = { class = "Box", low = 0.0, high = 1.0, dim = 3 }
    group = { class = "Symmetric", dim = 3 }
    peak = [0.9, 0.2, 0.4]

    [[agent]]
    class = "UniformMeshN"
    mesh = ["quotient", "full"]     # a list of values makes a grid; a value that is a list is wrapped in one more
    group = [true, false]           # false: the agent is not told the problem's group

Everything is built once as a check: spaces, groups and problems as they are, agents on an interval,
which finds wrong parameters quickly; on the problem itself a mesh may take seconds. Agents of the
user's own are checked by the signature of their constructor only. All mistakes are reported
together, each with its line.
"""

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from orbandit._checks import unknown_name
from orbandit.errors import MeshTooLargeError, Mistake, OrbanditError, SpecError
from orbandit.experiments import registry
from orbandit.experiments.outline import MAX_AGENTS, AgentName, Namer, Outline, axes, grid, grid_size, problem_names
from orbandit.experiments.registry import Entry, said
from orbandit.experiments.schema import check
from orbandit.experiments.simulation import PER_DECADE
from orbandit.experiments.sources import sources_of
from orbandit.experiments.tasks import Task, as_text, problem_of
from orbandit.experiments.toml_lines import KeyPath, load, located, odd_values, shown
from orbandit.problems import Problem
from orbandit.spaces import Box

Tables: TypeAlias = list[tuple[tuple[str, int], dict[str, Any]]]
SEGMENT = Box(0.0, 1.0, dim=1)
"""Where agents are tried."""
WRAP = " A list makes a grid of values; wrap a value that is a list in one more."
TRUTH = "it is told the problem's group or not"


@dataclass(frozen=True)
class ProblemSpec:
    """A problem of the file: its name, its table without it, and the checksums of its sources (`sources_of`)."""

    name: str
    table: dict[str, Any]
    sources: dict[str, str]


@dataclass(frozen=True)
class AgentSpec:
    """An agent of a grid: its name, class, parameters as in the file without the group, sources and horizons."""

    name: AgentName
    class_name: str
    parameters: dict[str, Any]
    sources: dict[str, str]
    horizons: tuple[int, ...]

    @property
    def label(self) -> str:
        """What it is called."""
        return self.name.label

    @property
    def table(self) -> dict[str, Any]:
        """All its parameters, without the name."""
        return {"class": self.class_name, **self.parameters, "group": self.name.uses_group}


class PlanRow(NamedTuple):
    """A pair, and how many rounds it takes."""

    problem: str
    agent: str
    horizons: tuple[int, ...]
    n_seeds: int
    n_rounds: int


@dataclass(frozen=True)
class Experiment:
    """An experiment: problems, agents, horizons and seeds, as a file describes them.

    Attributes
    ----------
    name : str
        The name, by default that of the file.
    problems, agents : tuple
        Problems and agents in the order of the file, with grids expanded.
    horizons, seeds : tuple of int
        Each pair plays every horizon with every seed; an agent may have only some of the horizons.
    checkpoints : int or tuple of int
        When the regret is recorded: a number of rounds in each factor of ten, or a list of rounds.
    description, folder : dict, Path
        The file's content, as JSON can hold it, and its folder. The timeout is left out: it changes
        no result, and an experiment may be resumed with another.
    timeout : float or None
        Seconds that a run may take.

    Examples
    --------
    >>> import orbandit as ob
    >>> cone = {"class": "Cone", "space": {"class": "Ball", "dim": 2}, "peak": [0.3, 0.4]}
    >>> agent = {"class": "OrbitTree"}
    >>> tables = {"horizons": [100], "seeds": 2, "problem": [cone], "agent": [agent]}
    >>> experiment = ob.experiments.restore(tables, ".")
    >>> len(experiment), experiment.plan()
    (2, [PlanRow(problem='Cone', agent='OrbitTree', horizons=(100,), n_seeds=2, n_rounds=200)])
    """

    name: str
    problems: tuple[ProblemSpec, ...]
    agents: tuple[AgentSpec, ...]
    horizons: tuple[int, ...]
    seeds: tuple[int, ...]
    checkpoints: int | tuple[int, ...]
    description: dict[str, Any] = field(hash=False)
    folder: Path
    timeout: float | None = None

    def __len__(self) -> int:
        return len(self.problems) * sum(len(agent.horizons) for agent in self.agents) * len(self.seeds)

    @property
    def outline(self) -> Outline:
        """The names and the number of runs, which a store keeps."""
        problems = tuple(problem.name for problem in self.problems)
        return Outline(problems, tuple(agent.name for agent in self.agents), len(self))

    def tasks(self) -> Iterator[Task]:
        """Yield every run: by problem, then agent, then horizon, then seed, each in the order of the file."""
        given = self.checkpoints
        rest = {"checkpoints": given if isinstance(given, int) else list(given), "version": version("orbandit")}
        for problem, agent in itertools.product(self.problems, self.agents):
            for horizon, seed in itertools.product(agent.horizons, self.seeds):
                parameters: dict[str, Any] = {
                    "problem": problem.table,
                    "agent": agent.table,
                    "horizon": horizon,
                    "seed": seed,
                }
                if sources := problem.sources | agent.sources:
                    parameters["sources"] = sources
                yield Task(problem.name, agent.label, horizon, seed, {**parameters, **rest}, self.folder)

    def plan(self) -> list[PlanRow]:
        """Return the plan, a row for each problem and agent."""
        n_seeds = len(self.seeds)
        return [
            PlanRow(problem.name, agent.label, agent.horizons, n_seeds, sum(agent.horizons) * n_seeds)
            for problem, agent in itertools.product(self.problems, self.agents)
        ]

    def shortened(self, horizon: int, seeds: int) -> "Experiment":
        """Return the experiment with one horizon and few seeds.

        Parameters
        ----------
        horizon : int
            The only horizon.
        seeds : int
            Number of seeds, which are 0, 1, ...
        """
        description = {**self.description, "horizons": [horizon], "seeds": seeds}
        description["agent"] = [
            {key: value for key, value in table.items() if key != "horizons"} for table in self.description["agent"]
        ]
        agents = tuple(replace(agent, horizons=(horizon,)) for agent in self.agents)
        numbers = tuple(range(seeds))
        return replace(self, agents=agents, horizons=(horizon,), seeds=numbers, description=description)

    def build_problem(self, name: str) -> Problem:
        """Return the problem of a name, which is built once in a process.

        Parameters
        ----------
        name : str
            The name of one of `problems`.
        """
        for problem in self.problems:
            if problem.name == name:
                return problem_of(as_text(problem.table), self.folder, problem.sources)
        raise unknown_name("problem", name, [problem.name for problem in self.problems])


def read(path: str | os.PathLike[str]) -> Experiment:
    """Read an experiment's file.

    Parameters
    ----------
    path : path
        A TOML file.

    Raises
    ------
    SpecError
        If it is missing, or there are mistakes in it: the message has a line for each, with the
        line of the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = '''
    ... horizons = [1_000, 10_000]
    ... seeds = 3
    ... [[problem]]
    ... class = "Cone"
    ... space = { class = "Ball", dim = 2 }
    ... group = { class = "Dihedral", m = 5 }
    ... peak = [0.3, 0.4]
    ... [[agent]]
    ... class = "OrbitTree"
    ... group = [true, false]
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "disk.toml")
    ...     _ = file.write_text(text, encoding="utf-8")
    ...     experiment = read(file)
    >>> experiment.name, len(experiment), [agent.label for agent in experiment.agents]
    ('disk', 12, ['OrbitTree', 'OrbitTree without group'])
    """
    file = Path(path)
    data, lines = load(file)
    reader = _Reader(data, file.absolute().parent)
    experiment = reader.experiment(file.stem)
    if experiment is None:
        raise located(file, lines, reader.mistakes)
    return experiment


def restore(description: dict[str, Any], folder: str | os.PathLike[str], name: str = "experiment") -> Experiment:
    """Return the experiment of a description, as a store keeps it (`Store.spec`), without its file.

    Parameters
    ----------
    description : dict
        `Experiment.description`.
    folder : path
        Where data files and modules of the user's own may lie.
    name : str
        The name, if the description has none.

    Raises
    ------
    SpecError
        If there are mistakes in it, or something that it names is missing; the message has no line
        numbers.

    Examples
    --------
    >>> cone = {"class": "Cone", "space": {"class": "Ball", "dim": 2}, "peak": [0.3, 0.4]}
    >>> agent = {"class": "OrbitTree", "lipschitz": [1.0, 2.0]}
    >>> experiment = restore({"horizons": [100], "seeds": 5, "problem": [cone], "agent": [agent]}, ".")
    >>> len(experiment), [agent.label for agent in experiment.agents]
    (10, ['OrbitTree(lipschitz=1.0)', 'OrbitTree(lipschitz=2.0)'])
    """
    reader = _Reader(description, Path(folder).absolute())
    experiment = reader.experiment(name)
    if experiment is None:
        raise SpecError(reader.mistakes)
    return experiment


class _Reader:
    """Reads the content of a file and gathers its mistakes."""

    def __init__(self, data: dict[str, Any], folder: Path) -> None:
        self._data, self._folder = data, folder
        self.mistakes: list[Mistake] = []
        self._checksums: dict[Path, str] = {}
        self._constrained: str | None = None  # the first problem with a constraint

    def experiment(self, name: str) -> Experiment | None:
        """Return the experiment, by the name given unless it has one.

        None if there are mistakes.
        """
        checked, wrong = check(self._data)
        self.mistakes += wrong
        problems = self._problems(self._tables("problem"))
        agents = self._agents(self._tables("agent"), checked.horizons if checked else [])
        if self.mistakes or checked is None:
            return None
        horizons, seeds = tuple(checked.horizons), tuple(checked.seeds)
        given: int | list[int] | None = checked.checkpoints
        checkpoints = PER_DECADE if given is None else given if isinstance(given, int) else tuple(given)
        description = {key: value for key, value in self._data.items() if key != "timeout"}
        rest = (horizons, seeds, checkpoints, description, self._folder, checked.timeout)
        return Experiment(checked.name or name, tuple(problems), tuple(agents), *rest)

    def _tables(self, key: str) -> Tables:
        """Return the tables of a kind that are well-formed."""
        listed = self._data[key] if isinstance(self._data.get(key), list) else []
        tables = [((key, i), table) for i, table in enumerate(listed) if isinstance(table, dict)]
        odd = {path: list(odd_values(table, path)) for path, table in tables}
        self.mistakes += itertools.chain(*odd.values())
        return [(path, table) for path, table in tables if isinstance(table.get("class"), str) and not odd[path]]

    def _problems(self, tables: Tables) -> list[ProblemSpec]:
        specs: list[ProblemSpec] = []
        seen: dict[str, str] = {}
        for (path, table), name in zip(tables, problem_names(table for _, table in tables), strict=True):
            rest = {key: value for key, value in table.items() if key != "name"}
            text = as_text(rest)
            if name in (spec.name for spec in specs):
                self._add((*path, "name"), f"the name {name!r} is taken by another problem; names must differ.")
            if text in seen:
                self._add(path, f"this problem is the same as {seen[text]!r}; leave one of them out.")
            seen[text] = name
            specs.append(ProblemSpec(name, rest, self._sources("problem", rest, path)))
            try:
                problem = problem_of(text, self._folder, specs[-1].sources)
                if self._constrained is None and getattr(problem, "feasible", None) is not None:
                    self._constrained = name
            except SpecError as error:
                self.mistakes += [Mistake((*path, *one.path), one.text) for one in error.mistakes]
        return specs

    def _agents(self, tables: Tables, horizons: list[int]) -> list[AgentSpec]:
        specs: list[AgentSpec] = []
        seen: dict[str, str] = {}
        namer = Namer()
        for path, table in tables:
            try:
                entry = registry.find("agent", table["class"], self._folder)
            except OrbanditError as error:
                self._add((*path, "class"), str(error))
                continue
            self._check_axes(path, table)
            if self._constrained is not None and not (entry.is_open or "feasible" in entry.signature.parameters):
                self._add(
                    (*path, "class"),
                    f"the problem {self._constrained!r} has a constraint, but {entry.short} takes no `feasible`; "
                    "choose an agent that does, such as OrbitGP or OrbitTree.",
                )
            if len(specs) + grid_size(table) > MAX_AGENTS:
                self._add(path, f"the grids of a file may have {MAX_AGENTS:,} agents at most; shorten some lists.")
                continue
            for given in grid(table):
                self._try(entry, given, path, table)
                name = namer.name(table, given)
                given.pop("group", None)
                own = self._sources("agent", {"class": table["class"], **given}, path)
                spec = AgentSpec(
                    name, table["class"], given, own, tuple(table.get("horizons", horizons) if horizons else ())
                )
                text = as_text(spec.table)
                if seen.setdefault(text, name.label) != name.label:
                    self._add(path, f"the agent {seen[text]} appears twice; leave one of them out.")
                specs.append(spec)
        return specs

    def _check_axes(self, path: KeyPath, table: dict[str, Any]) -> None:
        """Refuse lists without a value, and groups that are not true or false."""
        for key, values in axes(table).items():
            if not values:
                self._add((*path, key), f"`{key}` must have at least one value, but the list is empty.")
        for i, value in enumerate(axes(table).get("group", [])):
            if not isinstance(value, bool):
                where = (*path, "group", i) if isinstance(table["group"], list) else (*path, "group")
                self._add(where, f"`group` of an agent must be true or false: {TRUTH}; but got {shown(value)}.")

    def _try(self, entry: Entry, given: dict[str, Any], path: KeyPath, table: dict[str, Any]) -> None:
        """Check the parameters of an agent, and build it where that is cheap if it is this package's."""
        mistakes: list[Mistake] = []
        values = registry.convert(entry, given, path, self._folder, mistakes)
        if values is not None and ":" not in entry.name:
            options = {key: value for key, value in values.items() if key != "group"}
            try:
                entry.make(SEGMENT, horizon=2, seed=0, **options)
            except MeshTooLargeError:
                pass  # the problem may have a space for which this is right
            except Exception as error:
                mistakes.append(Mistake(registry.blamed(error, given, path), f"agent {entry.short}: {said(error)}"))
        for mistake in mistakes:
            *head, key = mistake.path
            if tuple(head) != path or not isinstance(listed := table.get(str(key)), list):
                self.mistakes.append(mistake)
                continue
            place = next(i for i, value in enumerate(listed) if value is given[str(key)])
            takes_list = any(p.name == key and "[" in p.type for p in entry.parameters)
            self._add((*mistake.path, place), mistake.text + (WRAP if takes_list else ""))

    def _sources(self, kind: str, table: dict[str, Any], path: KeyPath) -> dict[str, str]:
        try:
            return sources_of(kind, table, self._folder, self._checksums)
        except OrbanditError as error:
            self._add(path, str(error))
            return {}

    def _add(self, path: KeyPath, text: str) -> None:
        self.mistakes.append(Mistake(path, text))
