"""The layouts of IEA Wind Task 37: annual energy as a black box, without gradients, beside published results.

Run as `python benchmarks/iea37.py`, or on a part: `--turbines 16 --kinds exact --rivals group plain
--budget 1000 --seeds 2 --jobs 2`. It needs the extra `bench`. Every run that has ended is added to
benchmarks/iea37_results.jsonl, and what is there is not run again. At the end, and with `--table`
without measuring anything, the tables are printed; `--picture docs/images/iea37.png` draws them,
too.

    group, plain                 `ob.maximize` by OrbitGP with the exchanges of turbines and without, and the rules as
                                 `feasible`
    tree-group, tree-plain       the same by OrbitTree
    random                       random layouts
    cmaes, tpe, turbo            CMA-ES from a random start, Optuna's TPE, TuRBO-1

All have the same repair, that of `FeasibleSet`: layouts that break a rule are brought back along
its margins. What rivals propose is told as it was proposed. `exact` measures the energy of a year;
`noisy` that of four winds drawn from the rose, scaled to the year. Judged is the true energy: of
the best layout measured if measurements are exact, else of the one recommended, by the luckiest
measurement for rivals. Where a search has no run of a budget, its next longer one is read off
there. Seeds are 0, 1, ...
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.patches import Circle
from results import read_lines

import orbandit as ob
from orbandit._checks import Array
from orbandit.pictures.figures import new_figure
from orbandit.pictures.palette import COLORS, GRAY, INK, PAPER
from orbandit.spaces.feasible_set import FeasibleSet


class Look(NamedTuple):
    """How a search is drawn: by what name and colour."""

    name: str
    color: str


ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("iea37_results.jsonl")
BUDGETS, SEEDS = (300, 1_000, 5_000), 5
RADII = {16: 1_300.0, 36: 2_000.0, 64: 3_000.0}
REPAIRS = 20
"""How often a rival's layout takes eight Newton steps towards what is feasible, at most."""
KINDS = {"exact": 16, "noisy": 4}
"""Winds of a measurement."""
AGENTS = {"group": "OrbitGP", "plain": "OrbitGP", "tree-group": "OrbitTree", "tree-plain": "OrbitTree"}
RIVALS = (*AGENTS, "random", "cmaes", "tpe", "turbo")
LOOKS = {
    "group": Look("orbandit with the symmetry", COLORS[0]),
    "plain": Look("orbandit without it", COLORS[1]),
    "turbo": Look("TuRBO", COLORS[3]),
    "tpe": Look("TPE (Optuna)", COLORS[2]),
    "cmaes": Look("CMA-ES", COLORS[4]),
    "random": Look("random layouts", GRAY),
}
"""Which searches are drawn: OrbitTree is of no use in so many dimensions."""
PUBLISHED: dict[str, dict[int, int]] = {
    "particle swarm (300 x 20 evaluations)": {16: 388_758, 36: 776_000, 64: 1_364_943},
    "genetic algorithm (25 x 500)": {16: 392_588},
    "full pseudo-gradient": {16: 402_319, 36: 828_746, 64: 1_455_076},
    "PSQP": {16: 409_689, 36: 849_370, 64: 1_506_388},
    "SNOPT with wake expansion": {16: 418_924, 36: 863_676, 64: 1_513_311},
}
"""MWh of published layouts that keep the rules."""


class Case(NamedTuple):
    """What is to be run."""

    turbines: int
    kind: str
    rival: str
    seed: int
    budget: int


@dataclass(frozen=True)
class Run:
    """One search: MWh after each of some numbers of evaluations, the last layout, and the core's seconds."""

    turbines: int
    kind: str
    rival: str
    seed: int
    budget: int
    checkpoints: list[int]
    energy: list[float]
    layout: list[float]
    seconds: float

    @property
    def case(self) -> Case:
        """What was run."""
        return Case(self.turbines, self.kind, self.rival, self.seed, self.budget)

    def at(self, budget: int) -> float:
        """Return the energy after so many evaluations, at most the run's."""
        return self.energy[self.checkpoints.index(budget)]


def main() -> None:
    """Run what is missing, and print and draw what there is."""
    parser = argparse.ArgumentParser(description="Layouts of IEA Wind Task 37.")
    parser.add_argument("--turbines", nargs="+", type=int, choices=list(RADII), default=[16, 36], metavar="M")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), metavar="KIND")
    parser.add_argument("--rivals", nargs="+", choices=RIVALS, default=list(RIVALS), metavar="NAME")
    parser.add_argument("--budget", type=int, choices=BUDGETS, default=BUDGETS[-1], metavar="N")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many, from 0 on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file of runs")
    parser.add_argument("--picture", type=Path, metavar="PATH", help="draw the results, too")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    chosen = parser.parse_args()
    runs = {run.case: run for run in read_lines(Run, chosen.out)}
    if not chosen.table:
        cases = [
            Case(turbines, kind, rival, seed, chosen.budget)
            for seed in range(chosen.seeds)
            for turbines in chosen.turbines
            for kind in chosen.kinds
            for rival in chosen.rivals
        ]
        for run in measured([case for case in cases if case not in runs], chosen.jobs, chosen.out):
            runs[run.case] = run
    for turbines in chosen.turbines:
        for kind in chosen.kinds:
            own = [run for run in runs.values() if (run.turbines, run.kind) == (turbines, kind)]
            if own:
                table(own, turbines, kind)
            else:
                print(f"\n{turbines} turbines, {kind}: not measured")
    if chosen.picture is not None:
        draw(list(runs.values()), chosen.picture)
        print(f"picture: {chosen.picture}")


# --- runs ---


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
                what = f"{run.turbines} turbines, {run.kind}, {run.rival}, seed {run.seed}"
                print(f"{done} of {len(cases)}: {what}, {run.energy[-1]:,.0f} MWh in {run.seconds:.0f} s", flush=True)
                yield run
    finally:
        pool.shutdown(cancel_futures=True)


@cache
def farm_of(turbines: int, directions: int = 1) -> ob.problems.WindFarm:
    """Return the case of so many turbines, with rewards of so many winds."""
    radius = RADII[turbines]
    return ob.problems.WindFarm(turbines, radius=radius, rose="iea37", spacing="constraint", directions=directions)


@cache
def region_of(turbines: int) -> FeasibleSet:
    """Return what is feasible of it."""
    farm = farm_of(turbines)
    return FeasibleSet(farm.space, farm.feasible, ob.groups.BlockPermutation(turbines, 2).unit_coordinates)


class Log:
    """What was measured, and the true energy of what is best so far, at some numbers of evaluations."""

    def __init__(self, case: Case) -> None:
        self._farm, self._is_exact = farm_of(case.turbines), case.kind == "exact"
        self._winds = farm_of(case.turbines, directions=KINDS[case.kind])
        self._rng = np.random.default_rng([case.seed, 1])
        spaced = np.geomspace(10, case.budget, 40).round().astype(int).tolist()
        self.checkpoints = sorted({*spaced, *(budget for budget in BUDGETS if budget <= case.budget)})
        self.energy: list[float] = []
        self.best: tuple[float, Array] | None = None
        self._done = 0

    def measure(self, layout: Array) -> float:
        """Return the energy of a year, or what some winds of it promise."""
        if self._farm.feasible is None or np.asarray(self._farm.feasible(layout)) < 0:
            raise ValueError(f"a layout that breaks the rules: {layout.tolist()}")
        energy, share = float(self._farm.annual_energy(layout)), float(self._farm.mean(layout))
        value = energy if self._is_exact else energy / share * float(self._winds.sample(layout, self._rng))
        if self.best is None or value > self.best[0]:
            self.best = value, layout.copy()
        self._done += 1
        return value

    def luckiest(self) -> Array:
        """Return the layout of the largest value measured."""
        if self.best is None:
            raise ValueError("nothing was measured yet")
        return self.best[1]

    def read(self, recommend: Callable[[], Array]) -> None:
        """Note the true energy of what is best, if this is a checkpoint."""
        if self._done in self.checkpoints:
            layout = self.luckiest() if self._is_exact else recommend()
            self.energy.append(float(self._farm.annual_energy(layout)))


def run_of(case: Case) -> Run:
    """Run one search."""
    log, start = Log(case), time.process_time()
    layout = searched(case, log) if case.rival in AGENTS else driven(case, log)
    if case.kind == "exact":
        layout = log.luckiest()
    spent = time.process_time() - start
    return Run(*case, log.checkpoints, log.energy, layout.tolist(), round(spent, 1))


def searched(case: Case, log: Log) -> Array:
    """Search by `maximize`."""
    farm = farm_of(case.turbines)
    kind: Any = getattr(ob.agents, AGENTS[case.rival])
    best = ob.maximize(
        log.measure,
        farm.space,
        None if case.rival.endswith("plain") else farm.group,
        budget=case.budget,
        agent=partial(kind, goal="best") if kind is ob.agents.OrbitGP else kind,
        feasible=farm.feasible,
        callback=lambda state: log.read(state.recommend),
        seed=case.seed,
        progress=False,
    )
    return best.point


def driven(case: Case, log: Log) -> Array:
    """Search by a rival that asks for any layout of the space; what breaks a rule is repaired."""
    from units_rivals import SEARCHES

    farm, region = farm_of(case.turbines), region_of(case.turbines)
    search = SEARCHES[case.rival](farm, case.seed)  # type: ignore[arg-type]
    rng = np.random.default_rng([case.seed, 2])
    for _ in range(case.budget):
        asked = search.ask()
        layout = repaired(np.asarray(asked)[None], region, rng)[0]
        search.tell(asked, log.measure(layout))
        log.read(log.luckiest)
    return log.luckiest()


def repaired(layout: Array, region: FeasibleSet, rng: np.random.Generator) -> Array:
    """Return a feasible layout near a rival's, which may break several rules at once.

    If Newton steps do not get there, it is on the way from a random feasible layout: on that from
    the best one, what cannot be repaired would be told as good.
    """
    for _ in range(REPAIRS):
        layout = region.approached(layout)
        if region.holds(layout)[0]:
            return layout
    return region.brought(layout, region.sample(1, rng))


# --- what they say ---


def table(runs: Sequence[Run], turbines: int, kind: str) -> None:
    """Print the energy at each budget, over seeds."""
    print(f"\n{turbines} turbines, {kind}: MWh, mean over seeds with its standard error, and the best seed")
    print("| search | " + " | ".join(f"{budget:,}" for budget in BUDGETS) + " |")
    print("| --- " * (1 + len(BUDGETS)) + "|")
    for rival in RIVALS:
        own = [run for run in runs if run.rival == rival]
        cells = [_cell([run.at(budget) for run in shortest(own, budget)]) for budget in BUDGETS]
        if any(cells):
            print(f"| {rival} | " + " | ".join(cells) + " |")
    for name, known in PUBLISHED.items():
        if turbines in known:
            print(f"| published: {name} | {known[turbines]:,} |")


def shortest(runs: Sequence[Run], budget: int) -> list[Run]:
    """Return for each seed the shortest run that has so many evaluations: agents know their budget."""
    chosen: dict[int, Run] = {}
    for run in sorted((run for run in runs if run.budget >= budget), key=lambda run: run.budget, reverse=True):
        chosen[run.seed] = run
    return list(chosen.values())


def _cell(energies: Sequence[float]) -> str:
    if not energies:
        return ""
    values = np.array(energies)
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):,.0f}" if len(values) > 1 else ""
    return f"{values.mean():,.0f}{error}, best {values.max():,.0f} (n = {len(values)})"


def draw(runs: Sequence[Run], path: Path) -> None:
    """Draw the energy of 16 turbines over exact evaluations, and the best layouts of three searches."""
    exact = {
        rival: longest([run for run in runs if (run.turbines, run.kind, run.rival) == (16, "exact", rival)])
        for rival in LOOKS
    }
    figure = new_figure(width=13.5, height=4.2)
    curves, *layouts = figure.subplots(1, 4, width_ratios=[6.0, 2.5, 2.5, 2.5])
    _draw_curves(curves, {rival: own for rival, own in exact.items() if own})
    for place, rival in zip(layouts, ("group", "plain", "tpe"), strict=True):
        if exact[rival]:
            _draw_layout(place, max(exact[rival], key=lambda run: run.energy[-1]))
        else:
            place.set_axis_off()
    figure.savefig(path, dpi=110)


def longest(runs: Sequence[Run]) -> list[Run]:
    """Return the runs of the budget that has most seeds, the largest of these."""
    budgets = [run.budget for run in runs]
    chosen = max(budgets, key=lambda budget: (budgets.count(budget), budget), default=0)
    return [run for run in runs if run.budget == chosen]


def _draw_curves(place: Any, searches: Mapping[str, Sequence[Run]]) -> None:
    """Draw mean energy over evaluations, each search by name at its end, and published results."""
    ends: list[tuple[float, int, str]] = []
    for rival, runs in searches.items():
        mean = np.mean([run.energy for run in runs], axis=0) / 1e3
        place.plot(runs[0].checkpoints, mean, color=LOOKS[rival].color, linewidth=2 if rival in AGENTS else 1.4)
        ends.append((mean[-1], runs[0].budget, rival))
    for name, known in PUBLISHED.items():
        place.axhline(known[16] / 1e3, color=GRAY, linewidth=0.6, zorder=0)
        place.text(10, known[16] / 1e3, f"{name}: {known[16] / 1e3:.0f}", fontsize=7, color=INK, va="bottom")
    last = dict.fromkeys(BUDGETS, -np.inf)  # heights of names, of runs that end together
    behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
    for end, budget, rival in sorted(ends):
        at = last[budget] = max(end, last[budget] + 4.0)
        name = f"{LOOKS[rival].name}: {end:.0f}"
        place.text(1.06 * budget, at, name, color=LOOKS[rival].color, fontsize=9, va="center", bbox=behind)
    place.set(xscale="log", xlabel="evaluations", ylabel="GWh in a year", title="IEA Wind Task 37, 16 turbines")
    place.spines[["top", "right"]].set_visible(False)


def _draw_layout(place: Any, run: Run) -> None:
    """Draw a layout on its site, each turbine with a disk: where disks do not overlap, turbines keep the rule."""
    turn = np.linspace(0, 2 * np.pi, 200)
    look, radius, layout = LOOKS[run.rival], RADII[run.turbines], np.array(run.layout).reshape(-1, 2)
    place.fill(radius * np.cos(turn), radius * np.sin(turn), facecolor=PAPER, edgecolor=INK, linewidth=0.8)
    for x, y in layout:
        place.add_patch(Circle((x, y), 130.0, color=look.color, alpha=0.3, linewidth=0))
    place.plot(layout[:, 0], layout[:, 1], ".", color=look.color)
    place.set_title(f"{look.name}\nbest seed: {run.energy[-1] / 1e3:.1f} GWh", fontsize=9)
    place.set(aspect="equal", xticks=[], yticks=[])
    place.spines[:].set_visible(False)


if __name__ == "__main__":
    main()
