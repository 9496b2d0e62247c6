"""Is a change of OrbitGP for the better? Two versions on problems that nothing is judged by.

    python benchmarks/tuning.py run NAME --sources ../other/src --budgets 100 300 --seeds 4
    python benchmarks/tuning.py compare NEW OLD

`run` plays `ob.maximize` of some sources, by default these, and adds every run that has ended to
out/tuning/NAME.jsonl; what is there is not run again. `compare` prints the mean regrets of one name
over those of another, by problem and in geometric means, for the seeds that both have: of the point
recommended, and of the best point played. `--plain` plays without the group, `--approximate` with a
symmetry that may be doubted, and `--bump 0.3` adds to each f a bump of the first unit alone, of this
part of the range: then the group is wrong, and the optimum is the best mean of all runs compared.
With `--chance 0.9` measurements only succeed or fail, with the probability 0.9 exp(-1.5 regret).
`--agent OrbitGP` names the agent, where `maximize` would take another one.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from units_problems import Record

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "out" / "tuning"
FIRST_SEED = 700

Row = dict[str, Any]


def main() -> None:
    """Run, or compare."""
    parser = argparse.ArgumentParser(description="Is a change for the better?")
    parser.add_argument("what", choices=["run", "compare", "worker"])
    parser.add_argument("name", nargs="*")
    parser.add_argument("--sources", type=Path, default=ROOT / "src")
    parser.add_argument("--problems", nargs="+")
    parser.add_argument("--budgets", nargs="+", type=int, default=[100, 300])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--approximate", action="store_true")
    parser.add_argument("--bump", type=float, default=0.0)
    parser.add_argument("--chance", type=float, default=0.0)
    parser.add_argument("--agent", choices=["OrbitGP", "OrbitTree"])
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.what == "worker":
        work()
    elif chosen.what == "compare":
        new, old = (rows_of(name) for name in chosen.name)
        compare(new, old, chosen.budgets)
    else:
        run(chosen)


def rows_of(name: str) -> list[Row]:
    """Return the runs of a name."""
    path = FOLDER / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(chosen: argparse.Namespace) -> None:
    """Make the runs that are missing."""
    from tuning_problems import BUILDERS

    (name,) = chosen.name
    known = {(row["problem"], row["seed"], row["budget"]) for row in rows_of(name)}
    wanted = [
        (problem, FIRST_SEED + seed, budget)
        for seed in range(chosen.seeds)
        for budget in chosen.budgets
        for problem in chosen.problems or BUILDERS
    ]
    todo = [job for job in wanted if job not in known]
    FOLDER.mkdir(parents=True, exist_ok=True)
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    place = {**os.environ, **one, "PYTHONPATH": str(chosen.sources.resolve())}

    settings = chosen.plain, chosen.approximate, chosen.bump, chosen.chance, chosen.agent

    def play(part: list[tuple[str, int, int]]) -> None:
        command, pipe = [sys.executable, __file__, "worker"], subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=place) as process:
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("a worker must have pipes")
            for job in part:
                process.stdin.write(json.dumps([*job, *settings]) + "\n")
                process.stdin.flush()
                answer = process.stdout.readline()
                if not answer:
                    raise RuntimeError(f"a worker ended in {job}")
                with (FOLDER / f"{name}.jsonl").open("a") as file:
                    file.write(answer)
            process.stdin.close()

    with ThreadPoolExecutor(chosen.jobs) as pool:
        list(pool.map(play, [todo[i :: chosen.jobs] for i in range(chosen.jobs)]))


def work() -> None:
    """Make the runs that lines of the input ask for."""
    from tuning_problems import problem_of

    import orbandit as ob
    from orbandit.agents.suited import BEST_GP

    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        name, seed, budget, is_plain, is_approximate, bump, chance, agent = json.loads(line)
        problem = problem_of(name)
        best = ob.maximize(
            measure := Measure(problem, seed, bump, chance),
            problem.space,
            None if is_plain else problem.group,
            budget=budget,
            symmetry="approximate" if is_approximate else "exact",
            agent={None: None, "OrbitGP": BEST_GP, "OrbitTree": ob.agents.OrbitTree}[agent],
            seed=seed,
            progress=False,
        )
        mean = measure.mean(best.point)
        row = {"problem": name, "seed": seed, "budget": budget, "recommended": mean, "played": measure.best}
        print(json.dumps({**row, "seconds": round(time.process_time() - measure.begun, 2)}), file=answers, flush=True)


class Measure:
    """A problem as a search sees it; the i-th noise depends on the seed and i alone."""

    def __init__(self, problem: Any, seed: int, bump: float, chance: float) -> None:
        self._problem, self._seed, self._bump, self._chance, self._count = problem, seed, bump, chance, 0
        self.best, self.begun = -np.inf, time.process_time()

    def __call__(self, point: Any) -> float:
        """Return one noisy value."""
        self.best = max(self.best, self.mean(point))
        self._count += 1
        rng = np.random.default_rng([self._seed, 1, self._count])
        if self._chance:
            return float(rng.random() < self._chance * np.exp(-1.5 * self._record.regret(self.mean(point))))
        value = self._problem.sample(point, rng)
        return float(value + self._extra(point))

    def mean(self, point: Any) -> float:
        """Return the true mean."""
        return float(self._problem.mean(point[None])[0]) + self._extra(point)

    @property
    def _record(self) -> "Record":
        """What is known of the problem."""
        from tuning_problems import records

        return records()[self._problem.name]

    def _extra(self, point: Any) -> float:
        """Return the bump of the first unit, whose top is off the middle."""
        if not self._bump:
            return 0.0
        (low, high), size = self._problem.space.bounds, self._problem.size
        away = (point - low)[:size] / (high - low)[:size] - np.linspace(0.3, 0.8, size)
        known = self._record
        return self._bump * (known.optimum - known.random_mean) * float(np.exp(-((away / 0.25) ** 2).sum() / 2))


def compare(new: list[Row], old: list[Row], budgets: Sequence[int]) -> None:
    """Print ratios of mean regrets."""
    from tuning_problems import BUILDERS, records
    from units_problems import Record

    known = records()
    for row in [*new, *old]:
        record = known[row["problem"]]
        best = max(record.optimum, row["recommended"], row["played"])
        known[row["problem"]] = Record(record.random_mean, 1.0, best, [], False)
    for budget in budgets:
        logs: list[tuple[float, float]] = []
        print(f"{budget} evaluations: recommended new, old, ratio; played new, old, ratio; seeds; seconds")
        for problem in BUILDERS:
            both = [
                {row["seed"]: row for row in rows if (row["problem"], row["budget"]) == (problem, budget)}
                for rows in (new, old)
            ]
            seeds = sorted(set(both[0]) & set(both[1]))
            if not seeds:
                continue
            means = [
                [np.mean([known[problem].regret(each[seed][what]) for seed in seeds]) for each in both]
                for what in ("recommended", "played")
            ]
            spent = [np.mean([each[seed]["seconds"] for seed in seeds]) for each in both]
            ratios = float(means[0][0] / means[0][1]), float(means[1][0] / means[1][1])
            logs.append(ratios)
            cells = [f"{value:9.4f}" for value in (*means[0], ratios[0], *means[1], ratios[1])]
            print(f"{problem:12}", *cells, len(seeds), *(f"{value:.1f}" for value in spent))
        if logs:
            print(
                "geometric means",
                np.exp(np.log(logs).mean(axis=0)).round(3),
                "median",
                np.median(logs, axis=0).round(3),
            )


if __name__ == "__main__":
    main()
