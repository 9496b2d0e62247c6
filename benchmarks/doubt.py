"""A symmetry one may doubt: exact, approximate and none, where it holds, nearly holds or does not.

Run as `python benchmarks/doubt.py`, or on a part: `--problems facility twosets --breaks true roles
--budgets 100 --seeds 3`. Every run that has ended is added to benchmarks/doubt_results.jsonl, and
what is there is not run again: a benchmark that was stopped goes on. Rows carry the version of the
sources, as those of units.py do, and versions are never mixed. `--table` measures nothing. It needs
the extra `bench` and git.

The problems are those of units_problems.py, with f changed to what `--breaks` names:

    true                  f itself
    0.001, 0.01, 0.1      f plus a smooth function without the symmetry, of this part of the range
    roles                 f of coordinates in another order, so that a group like the one stated
                          holds, but not that one. Where all of S_n acts, no order matters, and the
                          second half of the coordinates runs backwards instead. Where all signs
                          change, neither matters, and there is no such problem.
    unit                  f plus a bump of the first unit alone, of 0.3 of the range
    centre                f(x - s): a group about a centre has a wrong one. All coordinates move by
                          0.15 of the width. Swaps keep any such centre, so under a group of swaps
                          each coordinate moves by an offset of its own, up to 0.15 of the width.

The range is from the mean over random points to the optimum. Regret is (optimum - true mean of the
recommended point) / range, at least 1e-4. The optimum of a changed f is the best mean that any run
recommended or that a search found, from the images of f's own best point.

The table has the mean regret of each kind, and from these

    gain = (none - approximate) / (none - exact)      where the symmetry holds
    cost = approximate / none                         where it is wrong (roles, unit, centre)
    cost = approximate / min(none, exact)             where it nearly holds

over seeds that all kinds have, with jackknife standard errors. The gain of several problems is
that of the geometric means of their regrets. The cost of several is the geometric mean of theirs,
with a standard error by how much they differ.

`--cones` plays OrbitTree for 10,000 rounds on cones in the cube with random peaks, under S_3 that
holds, and under S_3 that does not, and prints the regret.
"""

import argparse
import functools
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from results import read_lines
from units import sources
from units_problems import records, units

import orbandit as ob
from orbandit._checks import Array

RESULTS = Path(__file__).with_name("doubt_results.jsonl")
PROBLEMS = ("permutation6", "rastrigin", "griewank", "particles", "twosets", "facility", "medoids", "coverage")
SMALL, WRONG, KINDS = ("0.001", "0.01", "0.1"), ("roles", "unit", "centre"), ("none", "exact", "approximate")
BREAKS = ("true", *SMALL, *WRONG)
WITHOUT_ROLES = ("rastrigin", "griewank")
"""All signs change, so that every symmetry of the box maps the group onto itself."""
BACKWARDS = ("permutation6",)
"""All coordinates are exchanged: orders do not matter, but directions do."""
BUDGETS, FIRST_SEED, SEEDS = (100, 300, 1_000), 5_000, 10
BUMP, BUMP_WIDTH, OFFSET = 0.3, 0.25, 0.15
"""Height of the bump of a unit in ranges, its deviation and the shift of a centre in widths of the
space."""
LEAST = 1e-4
"""No regret is less."""
ROUNDS = 10_000
"""On cones."""
IMAGES, STARTS, STEPS, TRIES = 256, 1, 300, 64
"""Of the search for an optimum: images, how many of them it starts from, steps, and points tried in
each."""


@dataclass(frozen=True)
class Run:
    """One search: the true mean of what was recommended, and the largest mean known to it."""

    problem: str
    broken: str
    kind: str
    version: str
    budget: int
    seed: int
    mean: float
    optimum: float

    @property
    def case(self) -> "Case":
        """What was run."""
        return Case(self.problem, self.broken, self.kind, self.version, self.budget, self.seed)


class Case(NamedTuple):
    """What is to be run."""

    problem: str
    broken: str
    kind: str
    version: str
    budget: int
    seed: int


def main() -> None:
    """Run what is missing, and print what there is."""
    parser = argparse.ArgumentParser(description="A symmetry one may doubt.")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), metavar="NAME")
    parser.add_argument("--breaks", nargs="+", choices=BREAKS, default=list(BREAKS), metavar="BREAK")
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS), metavar="N")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many, from {FIRST_SEED} on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--version", default="", help="of orbandit: by default, of the sources that are run")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file of runs")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--cones", action="store_true", help="OrbitTree on cones instead")
    chosen = parser.parse_args()
    if chosen.cones:
        cones(chosen.seeds)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that workers are ended, too
    version = chosen.version or sources()
    runs = {run.case: run for run in read_lines(Run, chosen.out)}
    if not chosen.table:
        cases = [
            Case(problem, broken, kind, version, budget, FIRST_SEED + seed)
            for budget in chosen.budgets
            for seed in range(chosen.seeds)
            for broken in chosen.breaks
            for problem in chosen.problems
            for kind in KINDS
            if broken != "roles" or problem not in WITHOUT_ROLES
        ]
        for run in measured([case for case in cases if case not in runs], chosen.jobs, chosen.out):
            runs[run.case] = run
    if runs and not any(run.version == version for run in runs.values()):
        last = list(runs.values())[-1].version
        print(f"there is no run of orbandit {version}; the last one there is: {last}")
        version = last
    for budget in chosen.budgets:
        table([run for run in runs.values() if run.version == version], budget)


def cones(peaks: int) -> None:
    """Print the regret of OrbitTree on cones with random peaks, with the group, doubted and not, and without."""
    cube, swaps, rng = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3), np.random.default_rng(7)
    ways: dict[str, dict[str, Any]] = {
        "none": {"group": None},
        "exact": {"group": swaps},
        "approximate": {"group": swaps, "symmetry": "approximate"},
    }
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(peaks):
        peak = rng.uniform(0.1, 0.9, 3)
        cases = {
            "holds": ob.problems.Cone(cube, swaps, peak=np.sort(peak)),
            "is wrong": ob.problems.Cone(cube, None, peak=peak),
        }
        for case, cone in cases.items():
            for kind, told in ways.items():
                runs = ob.simulate(ob.agents.OrbitTree, cone, horizon=ROUNDS, seeds=[seed], jobs=1, **told)
                found.setdefault((case, kind), []).append(float(runs.regret[0, -1]))
    print(f"OrbitTree, {ROUNDS:,} rounds, cones with {peaks} random peaks: regret, with its standard error")
    for (case, kind), values in found.items():
        print(f"S_3 {case:8} {kind:12} {_shown(np.array(values))}")


def measured(cases: Sequence[Case], jobs: int, path: Path) -> Iterator[Run]:
    """Yield runs as they end, each when it is in the file."""
    if not cases:
        return
    # read by new processes
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    is_cut = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    pool = ProcessPoolExecutor(min(jobs, len(cases)), mp_context=get_context("spawn"))
    try:
        with path.open("a") as file:
            file.write("\n" * is_cut)
            for done, future in enumerate(as_completed([pool.submit(run_of, case) for case in cases]), 1):
                run = future.result()
                file.write(json.dumps(asdict(run)) + "\n")
                file.flush()
                print(f"{done} of {len(cases)}: {', '.join(map(str, run.case))}", flush=True)
                yield run
    finally:
        pool.shutdown(cancel_futures=True)


def run_of(case: Case) -> Run:
    """Run one search."""
    problem, mean = units(case.problem), changed(case.problem, case.broken)
    rng = np.random.default_rng([case.seed, 1])

    def measure(point: Array) -> float:
        return float(mean(point[None])[0] + problem.noise * rng.standard_normal())

    symmetry: Literal["exact", "approximate"] = "approximate" if case.kind == "approximate" else "exact"
    group = None if case.kind == "none" else problem.group
    best = ob.maximize(
        measure, problem.space, group, budget=case.budget, symmetry=symmetry, seed=case.seed, progress=False
    )
    found, known = float(mean(best.point[None])[0]), optimum(case.problem, case.broken)
    return Run(*case, float(f"{found:.10g}"), float(f"{known:.10g}"))


def changed(name: str, broken: str) -> Callable[[Array], Array]:
    """Return the mean of a problem whose symmetry is broken in a way."""
    problem, rng = units(name), np.random.default_rng(1)
    dim, (low, high), size = problem.space.dim, problem.space.bounds, span(name)
    if broken == "true":
        return problem.mean
    if broken == "roles" and name in BACKWARDS:
        turned, middles = np.where(np.arange(dim) < dim // 2, 1.0, -1.0), (low + high) / 2
        return lambda points: problem.mean(middles + turned * (points - middles))
    if broken == "roles":
        order = rng.permutation(dim)
        return lambda points: problem.mean(np.ascontiguousarray(points[:, order]))
    if broken == "unit":
        place = low[: problem.size] + (high - low)[: problem.size] * rng.uniform(0.1, 0.9, problem.size)
        wide = BUMP_WIDTH * (high - low)[: problem.size]

        def with_bump(points: Array) -> Array:
            squares = (((points[:, : problem.size] - place) / wide) ** 2).sum(axis=1)
            return np.asarray(problem.mean(points) + BUMP * size * np.exp(-squares / 2))

        return with_bump
    if broken == "centre":
        is_about = name in WITHOUT_ROLES  # those with signs
        offset = OFFSET * (high - low) * (np.ones(dim) if is_about else rng.uniform(-1.0, 1.0, dim))
        return lambda points: problem.mean(points - offset)
    waves, shifts = rng.normal(size=(3, dim)) * 6 / np.sqrt(dim), rng.uniform(0, 2 * np.pi, 3)
    return lambda points: (
        problem.mean(points)
        + float(broken) * size * np.sin((points - low) / (high - low) @ waves.T + shifts).mean(axis=1)
    )


def span(name: str) -> float:
    """Return the range of a problem, which need not be made for that."""
    record = records()[name]
    return record.optimum - record.random_mean


@functools.cache
def optimum(name: str, broken: str) -> float:
    """Return the largest mean that is found near the images of the best point known."""
    problem, mean, rng = units(name), changed(name, broken), np.random.default_rng(2)
    if broken in ("true", "roles"):
        return problem.record.optimum
    images = problem.group.act(problem.group.random(IMAGES, rng), np.array(problem.record.point))
    images = np.asarray(problem.space.project(images))
    low, high = problem.space.bounds
    values = []
    for start in np.argsort(-mean(images))[:STARTS]:
        point, value = images[start], float(mean(images[start : start + 1])[0])
        for step in range(STEPS):
            moves = 0.3 * (high - low) * 10 ** (-4 * step / STEPS) * rng.standard_normal((TRIES, problem.space.dim))
            trials = problem.space.project(point + moves * (rng.random(moves.shape) < 0.3))
            means = mean(trials)
            if means.max() > value:
                point, value = trials[int(means.argmax())], float(means.max())
        values.append(value)
    return max(values)


# --- what they say ---

Statistic = Callable[[Array], float]
"""Of the mean regrets of the kinds."""


def gain(means: Array) -> float:
    """Return the part of what the group gains that is left if it is doubted; NaN if it gains nothing."""
    none, exact, approximate = means
    return float((none - approximate) / (none - exact)) if none > exact else float("nan")


def over_none(means: Array) -> float:
    """Return the cost where the group is wrong."""
    return float(means[2] / means[0])


def over_better(means: Array) -> float:
    """Return the cost where the group may be right."""
    return float(means[2] / means[:2].min())


def with_error(statistic: Statistic, values: Array) -> tuple[float, float]:
    """Return a statistic of the mean regrets (kinds, seeds), and its jackknife standard error."""
    seeds = values.shape[1]
    if seeds < 2:
        return statistic(values.mean(axis=1)), float("nan")
    left = np.array([statistic(np.delete(values, seed, axis=1).mean(axis=1)) for seed in range(seeds)])
    error = np.sqrt((seeds - 1) / seeds * ((left - left.mean()) ** 2).sum())
    return statistic(values.mean(axis=1)), float(error)


def table(runs: Sequence[Run], budget: int) -> None:
    """Print mean regrets, and what doubt gains and costs."""
    found = {
        (broken, name): values
        for broken in BREAKS
        for name in PROBLEMS
        if (values := regrets([run for run in runs if (run.problem, run.broken) == (name, broken)], budget)).size
    }
    if not found:
        return
    print(f"\n{budget:,} evaluations: mean regret, with its standard error")
    print("| break | problem | none | exact | approximate | seeds | gain | cost |\n|" + " --- |" * 8)
    for (broken, name), values in found.items():
        cells = " | ".join(_shown(each) for each in values)
        gained = _entry(*with_error(gain, values)) if broken == "true" else ""
        cost = _entry(*with_error(cost_of(broken), values))
        print(f"| {broken} | {name} | {cells} | {values.shape[1]} | {gained} | {cost} |")
    print(f"\n{budget:,} evaluations: geometric means over problems, and the worst problem")
    print("| break | problems | seeds | gain | cost | largest cost | its problem |\n|" + " --- |" * 7)
    for broken in BREAKS:
        own = {name: values for (each, name), values in found.items() if each == broken}
        if own:
            summary(broken, own)


def summary(broken: str, own: dict[str, Array]) -> None:
    """Print the line of a break: regrets (kinds, seeds) by problem."""
    statistic = cost_of(broken)
    costs = {name: with_error(statistic, values) for name, values in own.items()}
    least, most = min(values.shape[1] for values in own.values()), max(values.shape[1] for values in own.values())
    whole = np.exp(np.mean([np.log(values.mean(axis=1)) for values in own.values()], axis=0))
    gained = _entry(gain(whole), float("nan")) if broken == "true" else ""
    logs = np.log([ratio for ratio, _ in costs.values()])
    spread = logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.nan
    cost = _entry(float(np.exp(logs.mean())), float(np.exp(logs.mean()) * spread))
    worst = max(costs, key=lambda name: costs[name][0])
    seeds = f"{least}" if least == most else f"{least} to {most}"
    print(f"| {broken} | {len(own)} | {seeds} | {gained} | {cost} | {_entry(*costs[worst])} | {worst} |")


def cost_of(broken: str) -> Statistic:
    """Return what is called the cost under a break."""
    return over_none if broken in WRONG else over_better


def regrets(runs: Sequence[Run], budget: int) -> Array:
    """Return the regrets of runs on one problem with one break, (kinds, seeds), for seeds that all kinds have."""
    best = max((max(run.mean, run.optimum) for run in runs), default=0.0)
    by_kind: dict[str, dict[int, float]] = {kind: {} for kind in KINDS}
    for run in runs:
        if run.budget == budget:
            by_kind[run.kind][run.seed] = max(LEAST, (best - run.mean) / span(run.problem))
    seeds = sorted(set.intersection(*(set(each) for each in by_kind.values())))
    return np.array([[by_kind[kind][seed] for seed in seeds] for kind in KINDS])


def _entry(value: float, error: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.2f}" + ("" if np.isnan(error) else f" ± {error:.2f}")


def _shown(values: Array) -> str:
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.2g}" if len(values) > 1 else ""
    return f"{values.mean():.3g}{error}"


if __name__ == "__main__":
    main()
