"""Does knowing the symmetry pay? OrbitGP with the group and without against other searches, 2 to 40 dimensions.

Run as `python benchmarks/units.py`, or on a part: `--problems coverage iea37 --rivals group plain
--budgets 100 300 --seeds 5 --jobs 2`. Every run that has ended is added to
benchmarks/units_results.jsonl, and what is there is not run again: rivals do not change, and a
benchmark that was stopped goes on. `--quick` is 3 seeds. At the end, and with `--table` without
measuring anything, the tables are printed; `--picture docs/images/units.png` draws the ratios, too.
`--check` measures whether means are invariant, whether the optima are what the file says, and
whether 0.1.0 has the same problems.

It needs the extra `bench` (of torch, the build for processors will do), git, and a clone that has
the commit of 0.1.0: that version's sources are taken from it once, into out/, and run in processes
that find them first. A run of 300 takes a core 3 to 15 seconds (TPE, OrbitGP; 100 under a `Joint`
group), a minute or two (GPSampler) or three to five (TuRBO), and the time grows with the square of
the budget: all of it takes days.

    group, plain                 `ob.maximize` with the group and without, by the sources that are run
    old-group, old-plain         the same of 0.1.0; from 3,000 evaluations on its `maximize` takes OrbitTree
    random                       uniform random search
    cmaes, cmaes-lr              CMA-ES from a random start, without and with adapted learning rates
    tpe, gpsampler               Optuna's samplers, with their defaults
    tpe-folded, gpsampler-folded poor man's symmetry: what they propose is folded, measured and told as folded
    turbo                        TuRBO-1

The problems are those of units_problems.py. The i-th evaluation of a seed has the same noise for
all. Regret is (optimum - true mean) / (optimum - mean over random points), at least 1e-4: of the
point recommended, and of the best point played. The file keeps true means, so that an optimum can
be raised: a run that beats one says so and raises it. Seeds are 5000, 5001, ...: nobody tuned on
them. Agents that know their budget have a run for each, others are read off. GPSampler and TuRBO
have budgets up to 300 and 5 seeds. Figures are compared for seeds that both have, never others.
"""

import argparse
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from results import read_lines
from units_problems import BUILDERS, Record, Units, check, keep, records, units

import orbandit as ob
from groups import report
from orbandit._checks import Array

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("units_results.jsonl")
BUDGETS, FIRST_SEED, SEEDS, QUICK = (100, 300, 1_000, 5_000), 5_000, 10, 3
OLD, OLD_COMMIT = "0.1.0", "8e2aff0"
OURS, WITHOUT = "group", ("plain", "old-plain")
ORBANDIT = {"group": "", "plain": "", "old-group": OLD, "old-plain": OLD}
"""Rivals that are orbandit's, which know their budget, and their version, if it is not that of the
sources run."""
SLOW, SLOW_BUDGET, SLOW_SEEDS = ("gpsampler", "gpsampler-folded", "turbo"), 300, 5
RIVALS = (*ORBANDIT, "random", "cmaes", "cmaes-lr", "tpe", "tpe-folded", *SLOW)
AIMS = {
    "over without": (0.6, 0.5, 0.5, 0.6),
    "worst": (1.1, 1.1, 1.1, 1.1),
    "over the best rival": (0.8, 0.6, 0.6, 0.8),
    "recommended over played": (1.5, 1.5, 1.5, 1.5),
}
"""What geometric means over the problems are to be at most, for each budget; "worst" is a single
problem's."""
TICKS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
ENDS = TICKS[0], TICKS[-1]
"""Ratios beyond are drawn at the ends."""
CHOICES = [f"src/orbandit/{part}" for part in ("_kernels", "agents", "groups", "spaces", "optimize.py")]
"""What choices depend on: a change of these is another version."""


@dataclass(frozen=True)
class Row:
    """A run read off after a budget: true means at the point recommended and at the best point played."""

    problem: str
    rival: str
    version: str
    seed: int
    budget: int
    recommended: float
    played: float
    seconds: float

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        """What was run."""
        return self.problem, self.rival, self.version, self.seed, self.budget


@dataclass(frozen=True)
class Job:
    """A run to make, and the budgets after which it is read off."""

    problem: str
    rival: str
    version: str
    seed: int
    budgets: tuple[int, ...]


def main() -> None:
    """Run what is missing, and print and draw what there is."""
    parser = argparse.ArgumentParser(description="Does knowing the symmetry pay?")
    parser.add_argument("--problems", nargs="+", choices=list(BUILDERS), default=list(BUILDERS), metavar="NAME")
    parser.add_argument("--rivals", nargs="+", choices=RIVALS, default=list(RIVALS), metavar="NAME")
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS), metavar="N")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many, from {FIRST_SEED} on")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--version", default="", help="of orbandit: by default, of the sources that are run")
    parser.add_argument("--against", metavar="VERSION", help="measure nothing; compare with another version")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file of runs")
    parser.add_argument("--picture", type=Path, metavar="PATH", help="draw the ratios, too")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--check", action="store_true", help="check the problems")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        return work()
    if chosen.check:
        return checked(chosen.problems)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that workers are ended, too
    version = chosen.version or sources()
    known = {row.key: row for row in read_lines(Row, chosen.out)}
    if chosen.against:
        return compare([row for row in known.values() if row.problem in chosen.problems], version, chosen.against)
    if not chosen.table:
        seeds = range(FIRST_SEED, FIRST_SEED + (QUICK if chosen.quick else chosen.seeds))
        jobs = list(missing(known, chosen.problems, chosen.rivals, sorted(chosen.budgets), seeds, version))
        for row in measured(jobs, chosen.jobs, chosen.out):
            known[row.key] = row
    table([row for row in known.values() if row.problem in chosen.problems], version, chosen.budgets, chosen.picture)
    return None


# --- runs ---


def sources() -> str:
    """Return the commit that last changed what choices depend on, with a digest of changes since."""
    commit = git("log", "-1", "--format=%h", "--", *CHOICES).decode().strip()
    changes = git("diff", "HEAD", "--", *CHOICES)
    return f"{commit}+{hashlib.sha256(changes).hexdigest()[:6]}" if changes else commit


def git(*words: str) -> bytes:
    """Return what git prints."""
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, check=True).stdout


def old_sources() -> Path:
    """Return where the sources of 0.1.0 are, after taking them from their commit if they are not there."""
    folder = ROOT / "out" / f"orbandit-{OLD}"
    if not (folder / "src").exists():
        archive = git("archive", "--prefix=src/", f"{OLD_COMMIT}:src")
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(folder, filter="data")
    return folder / "src"


def missing(
    known: dict[Any, Row],
    problems: Sequence[str],
    rivals: Sequence[str],
    budgets: Sequence[int],
    seeds: range,
    version: str,
) -> Iterator[Job]:
    """Yield what is to be run, the first seed of everything first."""
    for seed in seeds:
        for rival in rivals:
            own = (ORBANDIT[rival] or version) if rival in ORBANDIT else ""
            for problem in problems:
                if rival in SLOW and seed >= FIRST_SEED + SLOW_SEEDS:
                    continue
                allowed = [budget for budget in budgets if rival not in SLOW or budget <= SLOW_BUDGET]
                left = tuple(each for each in allowed if (problem, rival, own, seed, each) not in known)
                if rival in ORBANDIT:
                    yield from (Job(problem, rival, own, seed, (each,)) for each in left)
                elif left:
                    yield Job(problem, rival, own, seed, left)


def measured(jobs: Sequence[Job], processes: int, path: Path) -> Iterator[Row]:
    """Yield rows as runs end, each when it is in the file."""
    if not jobs:
        return
    is_cut = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    workers = Workers()
    pool = ThreadPoolExecutor(min(processes, len(jobs)))
    try:
        with path.open("a") as file:
            file.write("\n" * is_cut)
            futures = {pool.submit(workers.run, job): job for job in jobs}
            for done, future in enumerate(as_completed(futures), 1):
                job, (rows, point) = futures[future], future.result()
                file.writelines(json.dumps(asdict(row)) + "\n" for row in rows)
                file.flush()
                spent = f"{job.budgets[-1]:,} evaluations in {rows[-1].seconds:.1f} s of a core"
                print(f"{done} of {len(jobs)}: {job.problem}, {job.rival}, seed {job.seed}, {spent}", flush=True)
                if point is not None:
                    print(keep(job.problem, np.array(point)), flush=True)
                yield from rows
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        workers.close()  # which ends what a thread is waiting for


class Workers:
    """Processes that make runs, for each thread one for each version of orbandit, started when first needed."""

    def __init__(self) -> None:
        self._started: dict[tuple[int, bool], subprocess.Popen[str]] = {}
        self._lock = threading.Lock()

    def run(self, job: Job) -> tuple[list[Row], list[float] | None]:
        """Return the rows of a run, and a point that beats the best known mean, if there was one."""
        process = self._process((threading.get_ident(), job.version == OLD))
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a worker must have pipes")
        process.stdin.write(json.dumps(asdict(job)) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the worker ended with code {process.wait()} in {job}; what it said is above")
        rows, point = json.loads(answer)
        return [Row(**row) for row in rows], point

    def close(self) -> None:
        """End all processes."""
        for process in self._started.values():
            process.kill()
            process.wait()

    def _process(self, key: tuple[int, bool]) -> subprocess.Popen[str]:
        with self._lock:
            if key not in self._started:
                command, pipe = [sys.executable, __file__, "--worker"], subprocess.PIPE
                self._started[key] = subprocess.Popen(
                    command, stdin=pipe, stdout=pipe, text=True, env=surroundings(is_old=key[1])
                )
            return self._started[key]


def surroundings(*, is_old: bool) -> dict[str, str]:
    """Return the environment of a worker: one thread for linear algebra, and the sources of 0.1.0 first if asked."""
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    paths = [str(old_sources())] * is_old + [os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **one, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def work() -> None:
    """Make the runs that lines of the input ask for."""
    answers, sys.stdout = sys.stdout, sys.stderr  # so that nothing else is taken for an answer
    for line in sys.stdin:
        asked = json.loads(line)
        rows, point = run(Job(**{**asked, "budgets": tuple(asked["budgets"])}))
        print(json.dumps([[asdict(row) for row in rows], point]), file=answers, flush=True)


class Measure:
    """A problem as a search sees it; it keeps the best point, and the seconds that measuring took."""

    def __init__(self, problem: Units, seed: int) -> None:
        self._problem, self._seed, self._count = problem, seed, 0
        self.best, self.point, self.seconds = -np.inf, np.empty(0), 0.0

    def __call__(self, point: Array) -> float:
        """Return one noisy value, whose noise depends on the seed and on how many there were before."""
        start = time.process_time()
        mean = float(self._problem.mean(point[None])[0])
        if mean > self.best:
            self.best, self.point = mean, point.copy()
        value = self._problem.sample(point, np.random.default_rng([self._seed, 1, self._count]), mean)
        self._count += 1
        self.seconds += time.process_time() - start
        return value


def run(job: Job) -> tuple[list[Row], list[float] | None]:
    """Make a run, and return its rows and a point that beats the best known mean, if there was one."""
    problem = units(job.problem)
    measure, start = Measure(problem, job.seed), time.process_time()
    rows = []

    def read_off(budget: int, point: Array) -> None:
        spent = time.process_time() - start - measure.seconds
        mean = float(problem.mean(np.asarray(point)[None])[0])
        where = (job.problem, job.rival, job.version, job.seed, budget)
        rows.append(Row(*where, float(f"{mean:.10g}"), float(f"{measure.best:.10g}"), round(spent, 2)))

    if job.rival in ORBANDIT:
        group = problem.group if job.rival.endswith(OURS) else None
        (budget,) = job.budgets
        best = ob.maximize(measure, problem.space, group, budget=budget, seed=job.seed, progress=False)
        read_off(budget, best.point)
    else:
        from units_rivals import SEARCHES

        search = SEARCHES[job.rival](problem, job.seed)
        for count in range(1, job.budgets[-1] + 1):
            point = search.ask()
            search.tell(point, measure(point))
            if count in job.budgets:
                read_off(count, search.recommend())
    is_better = measure.best > problem.record.optimum + 1e-12 * abs(problem.record.optimum)
    return rows, measure.point.tolist() if is_better else None


def checked(problems: Sequence[str]) -> None:
    """Print how far means are from invariant, and records and 0.1.0's problems from these."""
    said = "import sys, json, units_problems as u, numpy as n; p = u.units(sys.argv[1]); print(json.dumps(p.means(" \
           "p.space.sample(50, n.random.default_rng(2))).tolist()))"  # fmt: skip
    for name in problems:
        moved, folded, departs = check(name)
        points = units(name).space.sample(50, np.random.default_rng(2))
        command = [sys.executable, "-c", said, name]
        place = {**surroundings(is_old=True)}
        place["PYTHONPATH"] += os.pathsep + str(Path(__file__).parent)
        old = json.loads(subprocess.run(command, env=place, capture_output=True, text=True, check=True).stdout)
        apart = float(np.abs(units(name).means(points) - old).max()) / units(name).record.random_deviation
        worst = max(moved, folded, departs, apart)
        what = f"{name}: elements {moved:.1e}, folds {folded:.1e}, record {departs:.1e}, 0.1.0 {apart:.1e}; at most"
        report(what, worst, "at most 1e-8")


# --- what they say ---

Figures = dict[int, tuple[float, float]]
"""Regret recommended and of the best played, by seed."""
Table = dict[str, dict[str, Figures]]
"""By problem and rival."""


def table(rows: Sequence[Row], version: str, budgets: Sequence[int], picture: Path | None) -> None:
    """Print, and draw if there is a path, all that there is of a version of orbandit, and of its rivals."""
    if rows and not any(row.version == version for row in rows):
        others = [row.version for row in rows if row.version not in ("", OLD)]
        print(f"there is no run of orbandit {version}; the last one there is: {others[-1] if others else 'none'}")
        version = others[-1] if others else version
    known = records()
    free = [name for name, record in known.items() if not record.is_fixed]
    print(f"{len(free)} of {len(known)} problems have an optimum that no element fixes: {', '.join(free)}")
    print(f"orbandit {version}, seeds from {FIRST_SEED} on; regret: mean over seeds, with its standard error")
    ratios: dict[str, dict[int, dict[str, float]]] = {"over without": {}, "over the best rival": {}}
    for budget in sorted(budgets):
        at = by_problem([row for row in rows if row.budget == budget and row.version in ("", OLD, version)], known)
        if any(rival in found for found in at.values() for rival in ORBANDIT if not ORBANDIT[rival]):
            entries(at, budget)
            summary(at, budget, ratios)
        elif at:
            print(f"\n{budget:,} evaluations: orbandit {version} was not run")
    if picture is None:
        return
    if any(values for found in ratios.values() for values in found.values()):
        draw(ratios, picture)
        print(f"\npicture: {picture}")
    else:
        print(f"\nno picture: there is no run of {OURS} to compare")


def compare(rows: Sequence[Row], version: str, other: str) -> None:
    """Print mean regrets with the group of one version over those of another, by the seeds that both have."""
    known = records()
    for budget in BUDGETS:
        mine, theirs = (
            by_problem([row for row in rows if (row.budget, row.rival, row.version) == (budget, OURS, each)], known)
            for each in (version, other)
        )
        for title, which in (("recommended", 0), ("best point played", 1)):
            one, two = (
                {
                    problem: {seed: (each[which], each[which]) for seed, each in at[OURS].items()}
                    for problem, at in found.items()
                }
                for found in (mine, theirs)
            )
            ratios = {problem: over(one[problem], [two[problem]]) for problem in one if problem in two}
            shared = {problem: ratio for problem, ratio in ratios.items() if ratio.seeds}
            line(f"{budget:,} evaluations, {title}: {version} over {other}", shared, "")


def by_problem(rows: Iterable[Row], known: dict[str, Record]) -> Table:
    """Return regrets by problem, rival and seed, problems and rivals in their order."""
    found: Table = {}
    for row in rows:
        regret = known[row.problem].regret
        found.setdefault(row.problem, {}).setdefault(row.rival, {})[row.seed] = (
            regret(row.recommended),
            regret(row.played),
        )
    return {
        problem: {rival: found[problem][rival] for rival in RIVALS if rival in found[problem]}
        for problem in BUILDERS
        if problem in found
    }


def entries(at: Table, budget: int) -> None:
    """Print the regret of each rival on each problem, in brackets of how many seeds if of fewer than others."""
    rivals = [rival for rival in RIVALS if any(rival in found for found in at.values())]
    for title, which in (("recommended", 0), ("of the best point played", 1)):
        most = max(len(figures) for found in at.values() for figures in found.values())
        print(f"\n{budget:,} evaluations: regret {title}, {most} seeds or (n)")
        print(f"| problem (dim) | {' | '.join(rivals)} |")
        print("| --- |" + " --- |" * len(rivals))
        for problem, found in at.items():
            cells = [entry([each[which] for each in found.get(rival, {}).values()], most) for rival in rivals]
            print(f"| {problem} ({len(records()[problem].point)}) | {' | '.join(cells)} |")
    fewer = {rival: sum(rival in found for found in at.values()) for rival in rivals}
    if fewer := {rival: count for rival, count in fewer.items() if count < len(BUILDERS)}:
        print("on fewer problems: " + ", ".join(f"{rival} {count}" for rival, count in fewer.items()))


def entry(values: Sequence[float], most: int) -> str:
    """Return a mean with its standard error, and the number of seeds if it is less than the most."""
    if not values:
        return ""
    error = f" ± {np.std(values, ddof=1) / np.sqrt(len(values)):.2g}" if len(values) > 1 else ""
    return f"{np.mean(values):.3g}{error}" + f" ({len(values)})" * (len(values) < most)


def summary(at: Table, budget: int, ratios: dict[str, dict[int, dict[str, float]]]) -> None:
    """Print ratios for each problem, their geometric means, and what these are to be."""
    have = {problem: found for problem, found in at.items() if OURS in found}
    which = BUDGETS.index(budget) if budget in BUDGETS else None
    aims = dict.fromkeys(AIMS, "") if which is None else {name: f"at most {aim[which]}" for name, aim in AIMS.items()}
    both = {problem: found for problem, found in have.items() if all(rival in found for rival in WITHOUT)}
    blind = {problem: over(found[OURS], [found[rival] for rival in WITHOUT]) for problem, found in both.items()}
    blind = {problem: each for problem, each in blind.items() if each.seeds}
    outside = [rival for rival in RIVALS if rival not in ORBANDIT]
    # all other searches, 0.1.0 and this version without the group among them
    rest, others = best_of(at, OURS, [rival for rival in RIVALS if rival != OURS]), best_of(at, OURS, outside)
    if have:
        print(f"\n{budget:,} evaluations: mean regret with the group over that of others, with its standard error")
        print("| problem | over without | over the best rival | which |")
        print("| --- | --- | --- | --- |")
        for problem in have:
            cells = [ratio_of(each[problem]) if problem in each else "" for each in (blind, rest)]
            print(f"| {problem} | {' | '.join(cells)} | {rest[problem].rival if problem in rest else ''} |")
    print(f"\n{budget:,} evaluations, geometric means over problems")
    line("group over without", blind, aims["over without"])
    beyond = {problem: each.ratio - 2 * each.error for problem, each in blind.items() if not np.isnan(each.error)}
    if beyond:
        worst = max(beyond, key=lambda problem: beyond[problem])
        what = f"  the worst problem over without, less two standard errors: {worst}, {blind[worst].ratio:.3g}"
        report(what, beyond[worst], aims["worst"])
    line("group over the best rival", rest, aims["over the best rival"])
    line("group over the best of other packages", others, "")
    line("old-group over old-plain", best_of(at, "old-group", ["old-plain"]), "")
    line("old-group over the best of other packages", best_of(at, "old-group", outside), "")
    for rival in ORBANDIT:
        own = {problem: found[rival] for problem, found in at.items() if rival in found}
        played = {problem: Ratio(lag(figures), np.nan, len(figures), rival) for problem, figures in own.items()}
        line(f"{rival}: recommended over best played", played, aims["recommended over played"] * (rival == OURS))
    ratios["over without"][budget] = {problem: each.ratio for problem, each in blind.items()}
    ratios["over the best rival"][budget] = {problem: each.ratio for problem, each in rest.items()}


class Ratio(NamedTuple):
    """A ratio of mean regrets, its standard error, the number of seeds, and over whom."""

    ratio: float
    error: float
    seeds: int
    rival: str = ""


def over(one: Figures, others: Sequence[Figures], rival: str = "") -> Ratio:
    """Return the ratio of mean regrets to the least of others, over the seeds that all have."""
    seeds = sorted(set(one).intersection(*others))
    if not seeds:
        return Ratio(np.nan, np.nan, 0)
    ours = np.array([one[seed][0] for seed in seeds])
    theirs = min((np.array([other[seed][0] for seed in seeds]) for other in others), key=np.mean)
    ratio = float(ours.mean() / theirs.mean())
    # of a ratio of means, seed by seed
    spread = np.std(ours - ratio * theirs, ddof=1) if len(seeds) > 1 else np.nan
    return Ratio(ratio, float(spread / np.sqrt(len(seeds)) / theirs.mean()), len(seeds), rival)


def best_of(at: Table, one: str, rivals: Sequence[str]) -> dict[str, Ratio]:
    """Return the largest ratio of each problem: each to one rival, over the seeds that both have."""
    each = {
        problem: [over(found[one], [found[rival]], rival) for rival in rivals if rival in found]
        for problem, found in at.items()
        if one in found
    }
    known = {problem: [ratio for ratio in some if ratio.seeds] for problem, some in each.items()}
    return {problem: max(some) for problem, some in known.items() if some}


def lag(figures: Figures) -> float:
    """Return the mean regret recommended over that of the best point played."""
    recommended, played = np.mean(list(figures.values()), axis=0)
    return float(recommended / played)


def ratio_of(ratio: Ratio) -> str:
    """Return a ratio in words."""
    return f"{ratio.ratio:.2f}" + ("" if np.isnan(ratio.error) else f" ± {ratio.error:.2f}")


def line(what: str, parts: dict[str, Ratio], aim: str) -> None:
    """Print a geometric mean, with the number of problems and seeds it is of."""
    if not parts:
        return
    seeds = sorted({each.seeds for each in parts.values()})
    shown = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    mean = float(np.exp(np.mean(np.log([each.ratio for each in parts.values()]))))
    report(f"  {what}; {len(parts)} of {len(BUILDERS)} problems, {shown} seeds", mean, aim)


def draw(ratios: dict[str, dict[int, dict[str, float]]], path: Path) -> None:
    """Draw the ratios of each problem, a dot for each budget, and their geometric means."""
    # 0.1.0, which workers import in its place, has no pictures
    from orbandit.pictures.figures import new_figure
    from orbandit.pictures.palette import COLORS, GRAY, INK

    figure = new_figure(width=9.6, height=5.6)
    names = list(BUILDERS)
    known = records()
    for axes, (title, found) in zip(figure.subplots(1, 2, sharey=True), ratios.items(), strict=True):
        for color, (budget, values) in zip(COLORS, sorted(found.items()), strict=False):
            if values:
                rows, shown = [names.index(problem) for problem in values], np.clip(list(values.values()), *ENDS)
                axes.scatter(shown, rows, color=color, s=26, zorder=3, clip_on=False, label=f"{budget:,} evaluations")
                mean = np.exp(np.mean(np.log(list(values.values()))))
                axes.axvline(mean, color=color, linewidth=1.2, linestyle="--")
        axes.axvline(1.0, color=INK, linewidth=1.0)
        axes.set_xscale("log")
        axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.set_xlim(*ENDS)
        axes.minorticks_off()
        axes.set_yticks(range(len(names)), [f"{name} ({len(known[name].point)})" for name in names])
        axes.grid(axis="y", color=GRAY, alpha=0.25)
        axes.set_xlabel("ratio of mean regrets, dashed their geometric mean")
        axes.set_title(f"with the group {title}", fontsize=10, color=INK)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].invert_yaxis()
    handles = max((axes.get_legend_handles_labels() for axes in figure.axes), key=lambda each: len(each[0]))
    figure.legend(*handles, frameon=False, ncols=4, loc="outside lower center")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
