"""The standing table: published algorithms on the paper's settings, with the group and without it.

The runs are those of an experiment, which may be killed and goes on:

    orbandit run examples/paper.toml --out out/paper.db
    python benchmarks/paper.py out/paper.db

The second command adds to benchmarks/paper_results.jsonl a line for each problem, horizon and agent
of the runs, in the place of an older one, and prints the tables; `python benchmarks/paper.py`
prints what is there. The whole experiment takes days of a core. A part of it is played by

    python benchmarks/paper.py --horizons 1000 10000 --agents HCT VHCT

each horizon and agent into a file of its own, out/paper-1000-HCT.db and so on, which is then read.
"""

import argparse
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from results import read_lines

import orbandit as ob
from orbandit.meshes.cells import CellTree
from orbandit.reports.summary import AgentResult, HorizonResult, summarise

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("paper_results.jsonl")
OURS = "OrbitTree"
NEW = ("HCT", "VHCT", "POO", "GPO", "StoSOO", "SequOOL", "StroquOOL", "VROOM", "CKLUCB")
"""Published algorithms that `OrbitTree` is compared with."""
TREES = ("HOO", "HCT", "VHCT", "POO", "GPO", "StoSOO", "SequOOL", "StroquOOL", "VROOM", OURS)
"""Agents on a tree of cells."""
DEPTHS = range(4, 9)
"""Depths whose cells are shown."""


@dataclass(frozen=True)
class Row:
    """An agent on a problem: mean regrets with the group and without, and the ratio with its interval."""

    problem: str
    horizon: int
    agent: str
    seeds: int
    told: float
    untold: float
    ratio: list[float]
    """The ratio of cumulative regrets, and the ends of its 95 % interval."""
    simple_told: float | None
    simple_untold: float | None

    @property
    def key(self) -> tuple[str, int, str]:
        """What was measured."""
        return self.problem, self.horizon, self.agent


def main() -> None:
    """Play what is asked for, read files of runs if there are any, and print the tables."""
    parser = argparse.ArgumentParser(description="Published algorithms on the paper's settings.")
    parser.add_argument("runs", nargs="*", type=Path, help="results of `orbandit run examples/paper.toml`")
    parser.add_argument("--horizons", nargs="+", type=int, default=[], metavar="N", help="play these first")
    parser.add_argument("--agents", nargs="+", metavar="NAME", help="of these agents; by default of all")
    parser.add_argument("--jobs", type=int, help="processes")
    parser.add_argument("--table", action="store_true", help="only print what is there")
    chosen = parser.parse_args()
    if not chosen.table:
        for file in chosen.runs:
            keep(read_runs(file), RESULTS)
        for horizon in chosen.horizons:
            for name in chosen.agents or names(horizon):
                keep(read_runs(played(horizon, name, chosen.jobs)), RESULTS)
    table(list(read_lines(Row, RESULTS)))


def keep(rows: Iterable[Row], path: Path) -> None:
    """Write rows to a file, in the place of older ones of the same problem, horizon and agent."""
    known = {row.key: row for row in read_lines(Row, path)}
    known.update({row.key: row for row in rows})
    path.write_text("".join(json.dumps(asdict(row)) + "\n" for row in known.values()))


def read_runs(file: Path) -> list[Row]:
    """Return the rows of a file of runs."""
    return [row for result in summarise(file).problems for at in result.horizons for row in rows_of(result.name, at)]


def described() -> dict[str, Any]:
    """Return the experiment's description."""
    return tomllib.loads((ROOT / "examples" / "paper.toml").read_text())


def names(horizon: int) -> list[str]:
    """Return the names of the agents that play a horizon."""
    agents: list[dict[str, Any]] = described()["agent"]
    own = [agent for agent in agents if horizon in agent.get("horizons", [horizon])]
    return [agent.get("name", agent["class"]) for agent in own]


def played(horizon: int, name: str, jobs: int | None) -> Path:
    """Play one horizon of an agent, with the group and without it; return the file of runs."""
    description = described()
    agents: list[dict[str, Any]] = description["agent"]
    own = [agent for agent in agents if agent.get("name", agent["class"]) == name]
    short = [{key: value for key, value in agent.items() if key != "horizons"} for agent in own]
    path = ROOT / "out" / f"paper-{horizon}-{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-')}.db"
    path.parent.mkdir(exist_ok=True)
    experiment = ob.experiments.restore({**description, "horizons": [horizon], "agent": short}, ROOT)
    ob.experiments.run(
        experiment, path, jobs=jobs, progress=lambda run: print(run.problem, run.agent, run.seed, flush=True)
    )
    return path


def rows_of(problem: str, at: HorizonResult) -> Iterator[Row]:
    """Yield a row for each agent that was played with the group and without."""
    by_label = {(agent.family, agent.uses_group): agent for agent in at.agents}
    for worth in at.worth():
        told, untold = by_label[worth.family, True], by_label[worth.family, False]
        ratio = worth.comparison.ratio
        yield Row(
            problem,
            at.horizon,
            worth.family,
            min(len(told.seeds), len(untold.seeds)),
            round(told.final.value, 2),
            round(untold.final.value, 2),
            [round(part, 3) for part in (ratio.value, ratio.low, ratio.high)],
            simple_of(told),
            simple_of(untold),
        )


def simple_of(agent: AgentResult) -> float | None:
    """Return the mean simple regret at the end, if the runs have it."""
    return None if agent.simple is None else round(agent.simple.final.value, 5)


def table(rows: Sequence[Row]) -> None:
    """Print what is missing and the comparisons, then all regrets of each horizon."""
    problems, agents = list(dict.fromkeys(row.problem for row in rows)), sorted({row.agent for row in rows})
    horizons = sorted({row.horizon for row in rows})
    for horizon, absent in missing(rows):
        print(f"not measured at n = {horizon:,}: {absent}")
    print(f"\ncumulative regret of {OURS} with the group over that of the best of {', '.join(measured(rows, NEW))}")
    print(f"| n | {' | '.join(problems)} |")
    print("| --- |" + " --- |" * len(problems))
    for horizon in horizons:
        print(f"| {horizon:,} | {' | '.join(over_best(rows, problem, horizon) for problem in problems)} |")
    print(f"\non how many of {len(problems)} problems the group lowers the regret, its 95 % interval below 1")
    print(f"| agent | {' | '.join(f'n = {horizon:,}' for horizon in horizons)} |")
    print("| --- |" + " --- |" * len(horizons))
    for agent in measured(rows, TREES):
        print(f"| {agent} | {' | '.join(helped(rows, agent, horizon) for horizon in horizons)} |")
    what = "how many, and the optimum less the largest mean at their points, with the group / without it"
    print(f"\ncells of depth h: {what}")
    print(f"| problem | {' | '.join(f'h = {depth}' for depth in DEPTHS)} |")
    print("| --- |" + " --- |" * len(DEPTHS))
    experiment = ob.experiments.restore(described(), ROOT)
    for problem in problems:
        print(f"| {problem} | {' | '.join(best_cells(experiment.build_problem(problem)))} |")
    for horizon in horizons:
        at = {(row.agent, row.problem): row for row in rows if row.horizon == horizon}
        seeds = sorted({row.seeds for row in at.values()})
        shown = f"{seeds[0]} seeds" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
        print(f"\nn = {horizon:,}, {shown}: cumulative regret with the group, and its ratio to that without it (95 %)")
        print_table(agents, problems, {key: cumulative(row) for key, row in at.items()})
        print(f"\nn = {horizon:,}, {shown}: simple regret with the group / without it")
        print_table(agents, problems, {key: simple(row) for key, row in at.items()})


def missing(rows: Sequence[Row]) -> Iterator[tuple[int, str]]:
    """Yield horizons of the experiment, and the agents that lack some problem there."""
    description = described()
    problems, found = [problem["name"] for problem in description["problem"]], {row.key for row in rows}
    for horizon in description["horizons"]:
        planned = names(horizon)
        counts = {name: sum((problem, horizon, name) in found for problem in problems) for name in planned}
        absent = [
            f"{name} ({count} of {len(problems)} problems measured)" if count else name
            for name, count in counts.items()
            if count < len(problems)
        ]
        if absent:
            yield horizon, "all agents" if not any(counts.values()) else "; ".join(absent)


def measured(rows: Sequence[Row], agents: Sequence[str]) -> list[str]:
    """Return those of some agents that have rows."""
    found = {row.agent for row in rows}
    return [agent for agent in agents if agent in found]


def over_best(rows: Sequence[Row], problem: str, horizon: int) -> str:
    """Return the ratio of regrets, and which algorithm was the best: in bold where the ratio is above one half."""
    at = {row.agent: row.told for row in rows if (row.problem, row.horizon) == (problem, horizon)}
    others = {agent: regret for agent, regret in at.items() if agent in NEW}
    if OURS not in at or not others:
        return ""
    best = min(others, key=others.__getitem__)
    ratio = at[OURS] / others[best]
    return f"**{ratio:.2f}** ({best})" if ratio > 0.5 else f"{ratio:.2f} ({best})"


def helped(rows: Sequence[Row], agent: str, horizon: int) -> str:
    """Return on how many problems the group helps an agent, of those measured."""
    at = {row.problem: row.ratio[2] < 1 for row in rows if (row.agent, row.horizon) == (agent, horizon)}
    return f"{sum(at.values())} of {len(at)}" if at else ""


def best_cells(problem: ob.problems.Problem) -> Iterator[str]:
    """Yield for each depth how many cells a tree has, and how near the best of them comes to the optimum."""
    trees = [CellTree(problem.space, group) for group in (problem.group, None)]
    levels = [np.array([0]), np.array([0])]
    for depth in range(1, DEPTHS[-1] + 1):
        shown = []
        for i, tree in enumerate(trees):
            tree.grow(levels[i], DEPTHS[-1])
            halves = tree.children[levels[i]].ravel()
            levels[i] = halves[halves >= 0]
            shown.append(f"{len(levels[i])}: {problem.optimum - problem.mean(tree.points(levels[i])).max():.3f}")
        if depth in DEPTHS:
            yield " / ".join(shown)


def print_table(agents: Sequence[str], problems: Sequence[str], cells: dict[tuple[str, str], str]) -> None:
    """Print a row for each agent that has a cell."""
    print(f"| agent | {' | '.join(problems)} |")
    print("| --- |" + " --- |" * len(problems))
    for agent in agents:
        own = [cells.get((agent, problem), "") for problem in problems]
        if any(own):
            print(f"| {agent} | {' | '.join(own)} |")


def cumulative(row: Row) -> str:
    """Return a regret, and what the group is worth: in bold where the whole interval is below 1."""
    ratio, low, high = row.ratio
    worth = f"{ratio:.2f} ({low:.2f} to {high:.2f})"
    regret = f"{row.told:,.0f}" if row.told >= 1_000 else f"{row.told:.4g}"
    return f"{regret}, {f'**{worth}**' if high < 1 else worth}"


def simple(row: Row) -> str:
    """Return the simple regrets of both."""
    return (
        ""
        if row.simple_told is None or row.simple_untold is None
        else f"{row.simple_told:.3g} / {row.simple_untold:.3g}"
    )


if __name__ == "__main__":
    main()
