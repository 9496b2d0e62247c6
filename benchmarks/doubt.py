"""A symmetry one may doubt: exact, approximate and none, where it holds, where it nearly does and where it does not.

Run as `python benchmarks/doubt.py`, or on a part: `--problems facility twosets --breaks true roles --budgets 100
--seeds 3`. Every run that has ended is added to benchmarks/doubt_results.jsonl, and what is there is not run again;
`--table` measures nothing. It needs the extra `bench`.

The problems are those of units_problems.py, with f changed to what `--breaks` names:

    true                  f itself
    0.001, 0.01, 0.1      f plus a smooth function without the symmetry, of this part of the range of f
    roles                 f of coordinates in another order, so that a group like the one stated holds, but not that one

The range is from the mean over random points to the optimum. Regret is (optimum - true mean of the recommended point)
/ range, at least 1e-4; the optimum of a changed f is the best that a search from the images of f's own best point
finds. `gain` is (none - approximate) / (none - exact) of the mean regrets, where the symmetry holds; `cost` is
approximate over none where it is wrong, and over the better of exact and none where it nearly holds.

`--cones` plays OrbitTree for 10,000 rounds on cones in the cube with random peaks, under S_3 that holds, and under S_3
that does not, and prints the regret.
"""

import argparse
import functools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from results import read_lines
from units_problems import Units, units

import orbandit as ob
from orbandit._checks import Array

RESULTS = Path(__file__).with_name("doubt_results.jsonl")
PROBLEMS = ("permutation6", "rastrigin", "griewank", "particles", "twosets", "facility", "medoids", "coverage")
BREAKS, KINDS = ("true", "0.001", "0.01", "0.1", "roles"), ("none", "exact", "approximate")
BUDGETS, FIRST_SEED, SEEDS = (100, 300), 5_000, 10
ROUNDS = 10_000
"""On cones."""
IMAGES, STEPS, TRIES = 64, 300, 64
"""Of the search for an optimum: images to begin with, steps, and points tried in each."""


@dataclass(frozen=True)
class Run:
    """One search: the true mean of what was recommended, less the optimum, over the range."""

    problem: str
    broken: str
    kind: str
    budget: int
    seed: int
    regret: float

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        """What was run."""
        return self.problem, self.broken, self.kind, self.budget, self.seed


class Case(NamedTuple):
    """What is to be run."""

    problem: str
    broken: str
    kind: str
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
    parser.add_argument("--out", type=Path, default=RESULTS, help="file of runs")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--cones", action="store_true", help="OrbitTree on cones instead")
    chosen = parser.parse_args()
    if chosen.cones:
        cones(chosen.seeds)
        return
    runs = {run.key: run for run in read_lines(Run, chosen.out)}
    if not chosen.table:
        cases = [
            Case(problem, broken, kind, budget, FIRST_SEED + seed)
            for budget in chosen.budgets
            for seed in range(chosen.seeds)
            for broken in chosen.breaks
            for problem in chosen.problems
            for kind in KINDS
        ]
        for run in measured([case for case in cases if case not in runs], chosen.jobs, chosen.out):
            runs[run.key] = run
    for budget in chosen.budgets:
        table([run for run in runs.values() if run.budget == budget], budget)


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
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # read by new processes
    pool = ProcessPoolExecutor(min(jobs, len(cases)), mp_context=get_context("spawn"))
    try:
        with path.open("a") as file:
            for future in as_completed([pool.submit(run_of, case) for case in cases]):
                run = future.result()
                file.write(json.dumps(asdict(run)) + "\n")
                file.flush()
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
    span = problem.record.optimum - problem.record.random_mean
    regret = (optimum(case.problem, case.broken) - float(mean(best.point[None])[0])) / span
    return Run(*case, max(1e-4, float(f"{regret:.6g}")))


def changed(name: str, broken: str) -> Callable[[Array], Array]:
    """Return the mean of a problem whose symmetry is broken in a way."""
    problem, rng = units(name), np.random.default_rng(1)
    if broken == "true":
        return problem.mean
    if broken == "roles":
        order = rng.permutation(problem.space.dim)
        return lambda points: problem.mean(np.ascontiguousarray(points[:, order]))
    low, high = problem.space.bounds
    waves = rng.normal(size=(3, problem.space.dim)) * 6 / np.sqrt(problem.space.dim)
    size = float(broken) * (problem.record.optimum - problem.record.random_mean)
    shifts = rng.uniform(0, 2 * np.pi, 3)
    return lambda points: (
        problem.mean(points) + size * np.sin((points - low) / (high - low) @ waves.T + shifts).mean(axis=1)
    )


@functools.cache
def optimum(name: str, broken: str) -> float:
    """Return the largest mean that is found near the images of the best point known."""
    problem, mean, rng = units(name), changed(name, broken), np.random.default_rng(2)
    best = np.array(problem.record.point)
    if broken in ("true", "roles"):
        return problem.record.optimum
    images = problem.space.project(problem.group.act(problem.group.random(IMAGES, rng), best))
    point = images[int(mean(images).argmax())]
    value, width = float(mean(point[None])[0]), _width(problem)
    for step in range(STEPS):
        moves = 0.1 * width * 10 ** (-4 * step / STEPS) * rng.standard_normal((TRIES, problem.space.dim))
        trials = problem.space.project(point + moves * (rng.random(moves.shape) < 0.3))
        means = mean(trials)
        if means.max() > value:
            point, value = trials[int(means.argmax())], float(means.max())
    return value


def _width(problem: Units) -> float:
    low, high = problem.space.bounds
    return float((high - low).max())


def table(runs: Sequence[Run], budget: int) -> None:
    """Print mean regrets, and what doubt gains and costs."""
    print(f"\n{budget} evaluations: mean regret, with its standard error")
    print("| problem | break | none | exact | approximate | seeds | gain | cost |\n| --- " + "| --- " * 7 + "|")
    kept: dict[str, list[float]] = {}
    for broken in BREAKS:
        for name in PROBLEMS:
            found = {
                kind: {
                    run.seed: run.regret for run in runs if (run.problem, run.broken, run.kind) == (name, broken, kind)
                }
                for kind in KINDS
            }
            seeds = sorted(set.intersection(*(set(each) for each in found.values())))
            if not seeds:
                continue
            values = {kind: np.array([found[kind][seed] for seed in seeds]) for kind in KINDS}
            none, exact, approximate = (float(values[kind].mean()) for kind in KINDS)
            better = none if broken == "roles" else min(none, exact)
            gain = (none - approximate) / (none - exact) if broken == "true" and none > exact else float("nan")
            kept.setdefault(broken, []).append(approximate / better)
            cells = " | ".join(_shown(values[kind]) for kind in KINDS)
            said = "" if np.isnan(gain) else f"{gain:.2f}"
            print(f"| {name} | {broken} | {cells} | {len(seeds)} | {said} | {approximate / better:.2f} |")
    for broken, ratios in kept.items():
        print(f"{broken}: cost {np.exp(np.mean(np.log(ratios))):.2f}, the geometric mean over {len(ratios)} problems")


def _shown(values: Array) -> str:
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.2g}" if len(values) > 1 else ""
    return f"{values.mean():.3g}{error}"


if __name__ == "__main__":
    main()
