"""Studies of real parts through Optuna: OrbitSampler with the symmetry and without, TPE, CMA-ES and random search.

Run as `python benchmarks/studies.py` or, for one problem, `python benchmarks/studies.py machines`;
the other is `wind`. It needs the extra `bench` and, with all seeds, some fifteen minutes of one
core. To try it out, `--seeds=1 --trials=60 --out=out/try.jsonl --picture=out/try.png`. Each run
that has ended is added to a file (`--out`), and a benchmark that was stopped goes on from there:
delete the file to measure anew. `--jobs` processes, by default one for each core, take a run each,
with one thread for linear algebra.

A trial is one noisy measurement: a simulation of the queues, or the power in one wind. Judged is
the true mean, which no sampler sees, of

    recommended   what the user gets: `sampler.recommend(study)` of OrbitSampler, `study.best_params` of all others;
    found         the best of all trials so far, by their true means, which nobody can tell from noisy values.

All samplers have their defaults, and none is told the number of trials, so that one study of 1,000
is read off after 100, 300 and 1,000. The sites of turbines are discs: studies search the square
around each, and what lies outside of a disc is brought back radially. Of the symmetries of the farm
the square keeps those of Dihedral(4), 48 elements with the exchanges of turbines. Seeds are 100,
101, ...: smaller ones were used while the sampler was written.
"""

import argparse
import functools
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler, CmaEsSampler, RandomSampler, TPESampler
from results import read_lines

import orbandit as ob
from groups import report
from orbandit._checks import Array
from orbandit.integrations.optuna import OrbitSampler
from orbandit.pictures.figures import new_figure
from orbandit.pictures.palette import COLORS, INK

ROOT = Path(__file__).parents[1]
BUDGETS, FIRST_SEED, SEEDS = (100, 300, 1_000), 100, 10
CHECKPOINTS = 20
"""About so many numbers of trials after which a study is read off, the budgets among them."""
READINGS = ("recommended", "found")
OURS, BLIND = "OrbitSampler", "OrbitSampler, no group"
BOUND, JUDGED, RIVALS = 8, 300, ("TPESampler", "CmaEsSampler")
"""In so many seeds of ten, after so many trials, OrbitSampler is to be above each of these."""


@dataclass(frozen=True)
class Part:
    """A problem as a study sees it: its title, itself, the names of its parameters and how to say its symmetry."""

    title: str
    problem: ob.problems.Problem
    names: tuple[str, ...]
    symmetry: dict[str, Any]

    def point(self, params: dict[str, float]) -> Array:
        """Return the point of the space that parameters stand for."""
        return np.asarray(self.problem.space.project(np.array([params[name] for name in self.names])))


@dataclass(frozen=True)
class Run:
    """One study: the true means after each of some numbers of trials, and the core's seconds until then."""

    problem: str
    sampler: str
    seed: int
    trials: int
    checkpoints: list[int]
    recommended: list[float]
    found: list[float]
    seconds: list[float]

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What was run."""
        return self.problem, self.sampler, self.seed, self.trials


@functools.cache
def part(name: str) -> Part:
    """Return a problem by its name."""
    if name == "machines":
        machines = ("x1", "x2", "x3", "x4")
        shop = ob.problems.IdenticalMachines(4)
        return Part("four identical machines", shop, machines, {"exchangeable": list(machines)})
    turbines = ("x1", "y1", "x2", "y2", "x3", "y3")
    square = ob.groups.Diagonal(ob.groups.Dihedral(4), 3)
    group = ob.groups.Joint(ob.groups.BlockPermutation(3, 2), square)
    farm = ob.problems.WindFarm(3)
    return Part("wind farm of three turbines", farm, turbines, {"group": group, "parameters": list(turbines)})


PARTS = ("wind", "machines")
SAMPLERS: dict[str, Callable[[Part, int], BaseSampler]] = {
    OURS: lambda part, seed: OrbitSampler(**part.symmetry, seed=seed),
    BLIND: lambda part, seed: OrbitSampler(seed=seed),
    "TPESampler": lambda part, seed: TPESampler(seed=seed),
    "CmaEsSampler": lambda part, seed: CmaEsSampler(seed=seed),
    "RandomSampler": lambda part, seed: RandomSampler(seed=seed),
}


def main() -> None:
    """Run what is missing, and print and draw what there is."""
    parser = argparse.ArgumentParser(description="Studies of real parts through Optuna.")
    parser.add_argument("problem", nargs="*", help=f"{' or '.join(PARTS)}; both by default")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many, from {FIRST_SEED} on")
    parser.add_argument("--trials", type=int, default=BUDGETS[-1], help="of each study")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("out/studies.jsonl"), help="file of runs")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "optuna_studies.png")
    chosen = parser.parse_args()
    names = tuple(dict.fromkeys(chosen.problem)) or PARTS
    if unknown := set(names) - set(PARTS):
        parser.error(f"there is no problem {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    seeds = range(FIRST_SEED, FIRST_SEED + chosen.seeds)
    wanted = [(name, sampler, seed, chosen.trials) for sampler in SAMPLERS for name in names for seed in seeds]
    runs = {run.key: run for run in read_lines(Run, chosen.out)}
    missing = [key for key in wanted if key not in runs]
    for run in measured(missing, chosen.jobs, chosen.out):
        runs[run.key] = run
    kept = [runs[key] for key in wanted]
    for name in names:
        table([run for run in kept if run.problem == name])
    draw(kept, names, chosen.picture)
    print(f"picture: {chosen.picture}")


# --- runs ---


def measured(keys: Sequence[tuple[str, str, int, int]], jobs: int, path: Path) -> Iterator[Run]:
    """Yield runs as they end, each when it is in the file."""
    if not keys:
        return
    # read by new processes
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    path.parent.mkdir(parents=True, exist_ok=True)
    is_cut = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
    pool = ProcessPoolExecutor(min(jobs, len(keys)), mp_context=multiprocessing.get_context("spawn"))
    try:
        with path.open("a") as file:
            file.write("\n" * is_cut)
            for done, future in enumerate(as_completed([pool.submit(study_of, *key) for key in keys]), 1):
                run = future.result()
                file.write(json.dumps(asdict(run)) + "\n")
                file.flush()
                where = f"{done} of {len(keys)}: {run.problem}, {run.sampler}, seed {run.seed}"
                print(f"{where}, {run.trials} trials in {run.seconds[-1]:.1f} s of a core", flush=True)
                yield run
    finally:
        pool.shutdown(cancel_futures=True)


def study_of(name: str, sampler_name: str, seed: int, trials: int) -> Run:
    """Run one study, and read it off on the way."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    place, rng = part(name), np.random.default_rng([seed, 1])
    low, high = place.problem.space.bounds
    means: list[float] = []

    def objective(trial: optuna.Trial) -> float:
        ranges = zip(place.names, low, high, strict=True)
        point = place.point({name: trial.suggest_float(name, float(a), float(b)) for name, a, b in ranges})
        means.append(float(place.problem.mean(point)))
        return float(place.problem.sample(point, rng))

    sampler = SAMPLERS[sampler_name](place, seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    stops = checkpoints(trials)
    recommended, found, seconds, spent = [], [], [], 0.0
    for stop in stops:
        start = time.process_time()
        study.optimize(objective, n_trials=stop - len(means))
        spent += time.process_time() - start
        best = sampler.recommend(study) if isinstance(sampler, OrbitSampler) else study.best_params
        recommended.append(float(place.problem.mean(place.point(best))))
        found.append(max(means))
        seconds.append(round(spent, 3))
    return Run(name, sampler_name, seed, trials, stops, recommended, found, seconds)


def checkpoints(trials: int) -> list[int]:
    """Return the numbers of trials after which a study is read off, evenly spaced in logarithms."""
    budgets = [budget for budget in BUDGETS if budget <= trials]
    spaced = np.geomspace(min(5, trials), trials, CHECKPOINTS).round().astype(int).tolist()
    apart = [count for count in spaced[:-1] if not any(0.9 < count / budget < 1.1 for budget in budgets)]
    return sorted({*apart, *budgets, trials})


# --- what they say ---


def table(runs: Sequence[Run]) -> None:
    """Print true means after each budget, and in how many seeds OrbitSampler is above the others."""
    place = part(runs[0].problem)
    budgets = [budget for budget in BUDGETS if budget <= runs[0].trials] or [runs[0].trials]
    by_sampler = {sampler: [run for run in runs if run.sampler == sampler] for sampler in SAMPLERS}
    seeds = len(by_sampler[OURS])
    for reading in READINGS:
        print(f"\n{place.title}: true mean {reading}, seeds: {seeds}; the optimum is {place.problem.optimum:.4f}")
        trials = " | ".join(f"{budget:,} trials" for budget in budgets)
        print(f"| sampler | {trials} | seeds in which it is below {OURS} |")
        print("| --- |" + " --- |" * (len(budgets) + 1))
        for sampler, own in by_sampler.items():
            at = [entry(values_at(own, reading, budget)) for budget in budgets]
            above = [str(wins_over(by_sampler, sampler, reading, budget)) for budget in budgets]
            print(f"| {sampler} | {' | '.join(at)} | {'' if sampler == OURS else ', '.join(above)} |")
    costs = {name: np.median([1e3 * run.seconds[-1] / run.trials for run in own]) for name, own in by_sampler.items()}
    print("\nms of a core per trial: " + ", ".join(f"{name} {cost:.1f}" for name, cost in costs.items()))
    if JUDGED in budgets and seeds == SEEDS:
        for reading in READINGS:
            for rival in RIVALS:
                above_rival = wins_over(by_sampler, rival, reading, JUDGED)
                what = f"{runs[0].problem}: {reading} above {rival}'s after {JUDGED} trials, of {seeds}"
                report(what, above_rival, f"at least {BOUND} seeds of {SEEDS}")


def values_at(runs: Sequence[Run], reading: str, budget: int) -> Array:
    """Return the true means after so many trials, one for each run."""
    return np.array([getattr(run, reading)[run.checkpoints.index(budget)] for run in runs])


def wins_over(by_sampler: dict[str, list[Run]], rival: str, reading: str, budget: int) -> int:
    """Return the number of seeds in which OrbitSampler with the group is above another."""
    ours, theirs = (values_at(by_sampler[sampler], reading, budget) for sampler in (OURS, rival))
    return int((ours > theirs).sum())


def entry(values: Array) -> str:
    """Return a mean with its standard error."""
    error = f" ± {standard_error(values[:, None])[0]:.4f}" if len(values) > 1 else ""
    return f"{values.mean():.4f}{error}"


def standard_error(values: Array) -> Array:
    """Return the standard error of the mean of each column; 0 for one row."""
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return np.asarray(spread / np.sqrt(len(values)))


def draw(runs: Sequence[Run], names: Sequence[str], path: Path) -> None:
    """Draw the true mean of what is recommended over trials, a panel for each problem."""
    figure = new_figure(width=4.4 * len(names), height=3.9)
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for color, sampler in zip(COLORS, SAMPLERS, strict=False):
            own = [run for run in runs if (run.problem, run.sampler) == (name, sampler)]
            values = np.array([run.recommended for run in own])
            x, mean, error = own[0].checkpoints, values.mean(axis=0), standard_error(values)
            axes.plot(x, mean, color=color, linewidth=1.6, label=sampler)
            axes.fill_between(x, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)
        axes.axhline(part(name).problem.optimum, color=INK, linewidth=1.0, linestyle="--", label="optimum")
        axes.set_xscale("log")
        ticks = [count for count in (10, 30, *BUDGETS) if count <= own[0].trials]
        axes.set_xticks(ticks, [f"{count:,}" for count in ticks])
        axes.minorticks_off()
        axes.set_xlabel("noisy trials")
        axes.set_title(part(name).title, fontsize=10, color=INK)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("true mean of what is recommended")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), frameon=False, ncols=3, loc="outside lower center")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
