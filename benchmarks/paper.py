"""The standing table: published algorithms on the paper's settings, with the group and without it.

The runs are those of an experiment, which may be killed and goes on:

    orbandit run examples/paper.toml --out out/paper.db
    python benchmarks/paper.py out/paper.db

The second command writes benchmarks/paper_results.jsonl, a line for each problem, horizon and
agent, and prints the tables; `python benchmarks/paper.py` prints what is there. The whole
experiment takes days of a core. `--horizons 1000 10000` plays some of its horizons, each into a
file of its own, out/paper-1000.db and out/paper-10000.db, which are then read:

    python benchmarks/paper.py --horizons 1000 10000
"""

import argparse
import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from results import read_lines

import orbandit as ob
from orbandit.reports.summary import AgentResult, HorizonResult, summarise

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("paper_results.jsonl")


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


def main() -> None:
    """Play what is asked for, read files of runs if there are any, and print the tables."""
    parser = argparse.ArgumentParser(description="Published algorithms on the paper's settings.")
    parser.add_argument("runs", nargs="*", type=Path, help="results of `orbandit run examples/paper.toml`")
    parser.add_argument("--horizons", nargs="+", type=int, default=[], help="play these first")
    parser.add_argument("--jobs", type=int, help="processes")
    parser.add_argument("--table", action="store_true", help="only print what is there")
    chosen = parser.parse_args()
    files = [*chosen.runs, *(played(horizon, chosen.jobs) for horizon in chosen.horizons)]
    if files and not chosen.table:
        results = [result for file in files for result in summarise(file).problems]
        rows = [row for result in results for at in result.horizons for row in rows_of(result.name, at)]
        RESULTS.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    table(list(read_lines(Row, RESULTS)))


def played(horizon: int, jobs: int | None) -> Path:
    """Play what the experiment has of one horizon; return the file of runs."""
    description = tomllib.loads((ROOT / "examples" / "paper.toml").read_text())
    agents: list[dict[str, Any]] = description["agent"]
    own = [agent for agent in agents if horizon in agent.get("horizons", [horizon])]
    short = [{key: value for key, value in agent.items() if key != "horizons"} for agent in own]
    path = ROOT / "out" / f"paper-{horizon}.db"
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
    """Print regrets with the group, and their ratios to those without, for each horizon."""
    problems, agents = list(dict.fromkeys(row.problem for row in rows)), sorted({row.agent for row in rows})
    for horizon in sorted({row.horizon for row in rows}):
        at = {(row.agent, row.problem): row for row in rows if row.horizon == horizon}
        seeds = sorted({row.seeds for row in at.values()})
        shown = f"{seeds[0]} seeds" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
        print(f"\nn = {horizon:,}, {shown}: cumulative regret with the group, and its ratio to that without it (95 %)")
        print_table(agents, problems, {key: cumulative(row) for key, row in at.items()})
        print(f"\nn = {horizon:,}, {shown}: simple regret with the group / without it")
        print_table(agents, problems, {key: simple(row) for key, row in at.items()})


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
    return f"{row.told:,.4g}, {f'**{worth}**' if high < 1 else worth}"


def simple(row: Row) -> str:
    """Return the simple regrets of both."""
    return (
        ""
        if row.simple_told is None or row.simple_untold is None
        else f"{row.simple_told:.3g} / {row.simple_untold:.3g}"
    )


if __name__ == "__main__":
    main()
