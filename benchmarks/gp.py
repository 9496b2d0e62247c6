"""OrbitGP: regret and speed against kernels averaged over orbits, CMA-ES, TPE and OrbitTree, with a group and without.

Run as `python benchmarks/gp.py` or, for one part, `python benchmarks/gp.py cones`, with fewer seeds
than usual by `--seeds=3`, and without rivals by `--ours`. The parts are brown, stuck, steps,
landscapes, cones, longcones, speed, applications and crossover. It needs the extra `bench` and,
with all seeds, some three hours of one core. Run it with OMP_NUM_THREADS=1, as the figures were
measured: matrices are small, and threads get in each other's way.

Seeds are 0, 1, 2, ... throughout: a seed gives the agent's randomness and the noise and, in `brown`
and `landscapes`, the function too. An entry is a mean with its standard error. OrbitGP has its
defaults and is told neither Lipschitz constant, length scale nor noise, but on cones, whose slope
its rivals know. Noise of a deviation s is Gaussian, clipped six deviations beyond the range of
means, so that nothing is lost of it.
"""

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from gp_peers import CmaEs, OrbitAveraged, Tpe, hundred, step_apart

import orbandit as ob
from groups import report
from orbandit._checks import Array
from orbandit.agents.suited import BEST_GP

A, G, P, S = ob.agents, ob.groups, ob.problems, ob.spaces
PEAKS = {2: [0.15, 0.7], 3: [0.2, 0.5, 0.8], 4: [0.1, 0.35, 0.6, 0.9]}
BEST_PEERS = {1000: {2: 115, 3: 161, 4: 232}, 10_000: {2: 1014, 3: 1238, 4: 1820}}
"""Regret on the cones of the best of HCT, VHCT and CMA-ES."""
OURS = "--ours"
STEP_LIMIT = 3.0
"""Seconds that a step of a peer may take, for the peer to be run."""


Maker = Callable[[P.Problem, int, int, float | None], Any]


class Run(NamedTuple):
    """Cumulative regret after each round, simple regret of the recommendation, and the agent's seconds."""

    regret: Array
    simple: float
    seconds: float


def main() -> None:
    """Print one line per figure, its bound beside it."""
    parts: dict[str, Callable[[], None]] = {
        "brown": brown,
        "stuck": stuck,
        "steps": steps,
        "landscapes": landscapes,
        "cones": cones,
        "longcones": longcones,
        "speed": speed,
        "applications": applications,
        "crossover": crossover,
    }
    for name in [word for word in sys.argv[1:] if not word.startswith("--")] or parts:
        parts[name]()


def up_to(many: int) -> range:
    """Return so many seeds, or as many as `--seeds=3`, say, allows: to try a part out."""
    allowed = [int(word.removeprefix("--seeds=")) for word in sys.argv if word.startswith("--seeds=")]
    return range(min([many, *allowed]))


def asked_for(kinds: dict[str, Maker]) -> dict[str, Maker]:
    """Return all kinds of agents, or only OrbitGP if that is asked for: others do not change."""
    return {title: maker for title, maker in kinds.items() if OURS not in sys.argv or title.startswith("OrbitGP")}


def play(agent: Any, problem: P.Problem, rounds: int, seed: int, deviation: float | None = None) -> Run:
    """Play a problem with its own noise, or with Gaussian noise."""
    rng = np.random.default_rng([seed, 1])
    low, high = noisy_range(problem, deviation)
    means, spent = np.empty(rounds), 0.0
    for t in range(rounds):
        start = time.perf_counter()
        point = agent.ask()
        spent += time.perf_counter() - start
        means[t] = problem.mean(point)
        if deviation is None:
            reward = float(problem.sample(point, rng))
        else:
            reward = float(np.clip(means[t] + deviation * rng.standard_normal(), low, high))
        start = time.perf_counter()
        agent.tell(point, reward)
        spent += time.perf_counter() - start
    simple = problem.optimum - float(problem.mean(agent.recommend()))
    return Run(np.cumsum(problem.optimum - means), simple, spent)


def noisy_range(problem: P.Problem, deviation: float | None) -> tuple[float, float]:
    """Return the range of rewards."""
    low, high = problem.reward_range
    margin = 6 * (deviation or 0.0)
    return low - margin, high + margin


def ours(use_group: bool = True, **settings: Any) -> Maker:
    """Return a maker of OrbitGP."""

    def make(problem: P.Problem, horizon: int, seed: int, deviation: float | None) -> Any:
        options = {"lipschitz": None, "reward_range": noisy_range(problem, deviation), **settings}
        return A.OrbitGP(problem.space, problem.group if use_group else None, horizon=horizon, seed=seed, **options)

    return make


def peer(kind: Any) -> Maker:
    """Return a maker of a peer."""
    return lambda problem, horizon, seed, deviation: kind(problem, seed)


def entry(values: Iterable[float]) -> str:
    """Return a mean with its standard error."""
    each = np.array(list(values))
    error = f" +- {each.std(ddof=1) / np.sqrt(len(each)):.2g}" if len(each) > 1 else ""
    return f"{each.mean():.3g}{error}"


def row(title: str, runs: list[Run]) -> None:
    """Print the figures of some runs."""
    each = [run.seconds / len(run.regret) for run in runs]
    print(
        f"  {title:<36} cumulative {entry(run.regret[-1] for run in runs):<14} "
        f"simple {entry(run.simple for run in runs):<18} {len(runs)} seeds, {1e3 * median(each):.3g} ms a step",
        flush=True,
    )


# --- brown ---

BROWN: list[tuple[str, Any, int, dict[str, Any], str, str]] = [
    ("permutation, 2-D", G.Symmetric(2), 128, {"centers": 64}, "at most 14.7 (17.3)", ""),
    ("cyclic, 3-D", G.CyclicShift(3), 256, {"centers": 256}, "at most 15.0", ""),
    ("permutation, 6-D", G.Symmetric(6), 200, {}, "", "at most 0.01"),
    ("dihedral D5, disk", G.Dihedral(5), 512, {"centers": 128}, "", ""),
]


def brown() -> None:
    """Print regret on Gaussian processes, in the units of Brown, Cioba and Bogunovic.

    They draw one function with a Matern-5/2 kernel of variance 1 and length 0.12, averaged over the
    group, from values at 64 (plane), 256 (three dimensions) or 512 (six) random points, and measure
    it with Gaussian noise of deviation 0.01. Their agent knows the kernel, takes the noise to have
    variance 0.01, begins at a random point and takes the bound with beta = 2, that is sqrt(2)
    deviations. Their regret is in units of the function, whose own deviation is about 1 / sqrt |G|,
    and against the best value that any of their runs found. Here each seed has another function,
    regret is against the proved optimum, and OrbitGP learns the kernel's parameters.

    `GaussianProcess` maps its function to means in [0.05, 0.95]. The factor is no part of its
    public face: `_scale`, 0.9 over the proved height of the function. In six dimensions the proof
    copes with 16 centres, not with 512.
    """
    print("Gaussian processes as Brown et al.'s, each seed another function; regret in units of the process")
    for name, group, rounds, options, aim, simple_aim in BROWN:
        kinds = {"OrbitGP": ours(), "OrbitGP, no group": ours(use_group=False)}
        runs: dict[str, list[Run]] = {title: [] for title in kinds}
        proved = []
        for seed in up_to(16):
            problem = P.GaussianProcess(group, seed=seed, tolerance=0.001, **options)
            unit = problem._scale
            proved.append(problem.tolerance / unit)
            for title, maker in kinds.items():
                agent = maker(problem, rounds, seed, 0.01 * unit)
                run = play(agent, problem, rounds, seed, 0.01 * unit)
                runs[title].append(Run(run.regret / unit, run.simple / unit, run.seconds))
        print(f"{name}, T = {rounds}; optimum proved to {median(proved):.2g} in the median, {max(proved):.2g} at worst")
        for title, some in runs.items():
            row(title, some)
        known = [theirs(group, rounds, options, seed) for seed in up_to(4)] if group.order <= 3 else []
        if known:
            row("theirs, same functions, kernel known", known)
        if aim:
            report(f"  {name}: cumulative regret", mean_of(run.regret[-1] for run in runs["OrbitGP"]), aim)
        if simple_aim:
            report(f"  {name}: simple regret", mean_of(run.simple for run in runs["OrbitGP"]), simple_aim)


def stuck() -> None:
    """Print how many runs never play within 0.01 of the optimum: a model that is sure, and wrong."""
    rounds, close, first = 200, 0.01, 9_000
    print(f"stuck: Gaussian processes under D5 on the disk, {rounds} rounds, seeds from {first:,} on")
    for title, maker in {"goal regret": ours(), "goal best": ours(goal="best")}.items():
        runs, count = [], 0
        for seed in (first + number for number in up_to(40)):
            problem = P.GaussianProcess(G.Dihedral(5), seed=seed, tolerance=0.001, centers=128)
            deviation = 0.01 * problem._scale
            run = play(maker(problem, rounds, seed, deviation), problem, rounds, seed, deviation)
            runs.append(run)
            count += bool(np.diff(run.regret, prepend=0.0).min() > close)
        row(title, runs)
        report(f"  {title}: stuck runs of {len(runs)}", count, "at most 0")


def theirs(group: Any, rounds: int, options: dict[str, Any], seed: int) -> Run:
    """Return a run of their agent, which knows the kernel, on one of the functions; in units of the process."""
    problem = P.GaussianProcess(group, seed=seed, tolerance=0.001, **options)
    unit = problem._scale
    # the mean where the process is 0, which is the mean of its prior
    zero = 0.05 - unit * problem._certificate.low
    run = play(OrbitAveraged(problem, seed, 0.12, zero, unit), problem, rounds, seed, 0.01 * unit)
    return Run(run.regret / unit, run.simple / unit, run.seconds)


def mean_of(values: Iterable[float]) -> float:
    """Return the mean."""
    return float(np.mean(list(values)))


# --- landscapes ---


def landscapes() -> None:
    """Print regret on classic landscapes whose optimum is nowhere special."""
    rounds, deviation = 200, 0.02
    settings: list[tuple[str, Any, Any, int]] = [
        ("Ackley, 2-D, |G| = 8", P.Ackley, G.SignedPermutation(2), 5),
        ("Griewank, 6-D, |G| = 64", P.Griewank, G.SignFlips(6), 1),
        ("Rastrigin, 5-D, |G| = 3,840", P.Rastrigin, G.SignedPermutation(5), 0),
    ]
    print(f"landscapes on [-1, 1]^d, means in [0, 1], noise of deviation {deviation}, {rounds} evaluations")
    for name, kind, group, averaged in settings:
        space = S.Box(-1.0, 1.0, dim=group.dim)
        kinds = {"OrbitGP": ours(), "OrbitGP, no group": ours(use_group=False), "CMA-ES": peer(CmaEs), "TPE": peer(Tpe)}
        print(name)
        for title, maker in asked_for(kinds).items():
            runs = []
            for seed in up_to(10):
                problem = kind(space, group, seed=seed)
                runs.append(play(maker(problem, rounds, seed, deviation), problem, rounds, seed, deviation))
            row(title, runs)
        if OURS in sys.argv:
            continue
        step = step_apart(group)
        print(f"  orbit-averaged kernel, BoTorch: a step at n = 100 {step.words}", flush=True)
        if not step.seconds <= STEP_LIMIT:
            continue
        runs = []
        for seed in up_to(averaged):
            problem = kind(space, group, seed=seed)
            runs.append(play(OrbitAveraged(problem, seed), problem, rounds, seed, deviation))
        row("orbit-averaged kernel, BoTorch", runs)


# --- cones ---


def cones() -> None:
    """Print regret on the cones of benchmarks/adaptive.py, and on others."""
    cones_at(1000, 0.5)


def longcones() -> None:
    """Print the same after 10,000 rounds."""
    cones_at(10_000, 0.25)


def cones_at(horizon: int, share: float) -> None:
    """Print regret on cones: of the usual peaks, of five that nobody tuned on, and without the group."""
    print("Bernoulli cones of height 0.95 and slope 1, which the agent knows, under Symmetric(d)")
    for dim, peak in PEAKS.items():
        best = BEST_PEERS[horizon][dim]
        usual = [cone_run(dim, peak, horizon, seed) for seed in up_to(10)]
        title = (
            f"  d = {dim}, n = {horizon:,}: regret {entry(usual)}, {len(usual)} seeds; over the best peer's {best:,}"
        )
        report(title, mean_of(usual) / best, f"at most {share}")
        peaks = np.random.default_rng(dim).random((len(up_to(5)), dim))
        others, blind = (
            [cone_run(dim, own, horizon, seed, use_group) for seed, own in zip(up_to(5), peaks, strict=True)]
            for use_group in (True, False)
        )
        print(f"    {len(others)} random peaks: {entry(others)};  without the group: {entry(blind)}", flush=True)


def cone_run(dim: int, peak: Any, horizon: int, seed: int, use_group: bool = True) -> float:
    """Return the regret of a run."""
    cone = P.Cone(S.Box(0.0, 1.0, dim=dim), G.Symmetric(dim), peak)
    agent = ours(use_group, lipschitz=1.0)(cone, horizon, seed, None)
    return float(play(agent, cone, horizon, seed).regret[-1])


# --- speed ---


def speed() -> None:
    """Print the time and memory of a step under Symmetric(6), at n = 100 and later."""
    group = G.Symmetric(6)
    steps_after(group, 100, 2), steps_after(None, 100, 2)  # compiles
    after = {name: steps_after(who, 100, 20) for name, who in (("S_6", group), ("no group", None))}
    for name, each in after.items():
        times = f"{1e3 * median(each):.3g} ms in the median, {1e3 * mean_of(each):.3g} ms with its share of fits"
        print(f"OrbitGP, n = 100, d = 6, {name}: {times}")
    theirs = step_apart(group)
    print(f"invariantkernels and BoTorch, one step on the same data {theirs.words}")
    if theirs.seconds < math.inf:
        report("  faster by, without fits", theirs.seconds / median(after["S_6"]), "at least 200")
    if theirs.fitted < math.inf:
        report("  faster by, with fits", theirs.fitted / mean_of(after["S_6"]), "at least 200")
    pairs = [median(steps_after(group, 100, 20)) / median(steps_after(None, 100, 20)) for _ in range(5)]
    report("step under S_6 over that under no group", median(pairs), "at most 1.5")
    early = [each for _ in range(10) for each in steps_after(group, 100, 20)]
    late = steps_after(group, 2000, 400)
    report("cost per step at n = 2,000 over n = 100, with fits", mean_of(late) / mean_of(early), "at most 20")
    report("the same without fits", median(late) / median(early), "")
    done = subprocess.run([sys.executable, "-c", MEASURED], capture_output=True, text=True, check=True)
    before, peak = (float(word) / 1024 for word in done.stdout.split())
    print(f"interpreter with numpy, scipy and numba {before:.0f} MB; peak of 150 rounds under S_6 {peak:.0f} MB")
    report("memory of OrbitGP beyond those, MB", peak - before, "under 200")


def steps() -> None:
    """Print the time of a step of `goal="best"` at n = 300 under groups of exchangeable units."""
    square, turbines = S.Box(-1.0, 1.0, dim=32), G.BlockPermutation(8, 2)
    settings: list[tuple[str, Any, Any, str]] = [
        ("no group, 32-D", square, None, ""),
        ("BlockPermutation(16, 2)", square, G.BlockPermutation(16, 2), "at most 15"),
        ("Joint, 8 turbines", S.Ball(2) ** 8, G.Joint(turbines, G.Diagonal(G.Dihedral(16), 8)), "at most 60"),
    ]
    for name, space, group, aim in settings:
        agent, rng = A.OrbitGP(space, group, horizon=400, goal="best", seed=0), np.random.default_rng(0)
        points = space.sample(290, rng)
        agent.tell_batch(points, [apart(point) for point in points])
        each = []
        for _ in range(40):
            start = time.perf_counter()
            point = agent.ask()
            agent.tell(point, float(np.clip(apart(point) + 0.005 * rng.standard_normal(), 0.0, 1.0)))
            each.append(time.perf_counter() - start)
        report(f"{name}, n = 300: milliseconds of a step in the median", 1e3 * median(each), aim)


def apart(layout: Array) -> float:
    """Return how far planar units are from each other: the mean of exp(-d / 2) over pairs, taken from 1."""
    units = layout.reshape(-1, 2)
    first, second = np.triu_indices(len(units), 1)
    return float(1 - np.exp(-np.linalg.norm(units[first] - units[second], axis=1) / 2).mean())


def steps_after(group: Any, size: int, steps: int) -> list[float]:
    """Return the seconds of each ask and tell after so many random points."""
    problem, points, rewards = hundred(G.Symmetric(6), size)
    agent = A.OrbitGP(problem.space, group, horizon=size + steps, lipschitz=None, seed=0)
    agent.tell_batch(points, rewards)
    rng, each = np.random.default_rng(1), []
    for _ in range(steps):
        start = time.perf_counter()
        point = agent.ask()
        middle = time.perf_counter()
        reward = float(np.clip(problem.mean(point) + 0.02 * rng.standard_normal(), 0, 1))
        told = time.perf_counter()
        agent.tell(point, reward)
        each.append(time.perf_counter() - told + middle - start)
    return each


MEASURED = """
import numba, numpy, scipy.linalg, scipy.optimize, scipy.special
def peak():  # getrusage would count what the parent had, too
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(peak())
import orbandit as ob
agent = ob.agents.OrbitGP(ob.spaces.Box(0.0, 1.0, dim=6), ob.groups.Symmetric(6), horizon=150, seed=0)
for _ in range(150):
    point = agent.ask()
    agent.tell(point, float(1 - abs(numpy.sort(point) - numpy.linspace(0.1, 0.9, 6)).mean()))
print(peak())
"""

# --- applications ---


def applications() -> None:
    """Print the best mean found with 300 noisy evaluations of two applications, whose own noise it is."""
    rounds = 300
    for problem in (P.WindFarm(3), P.IdenticalMachines(4)):
        print(f"{problem!r}, {rounds} evaluations: true mean at the point recommended")
        print(f"  optimum {problem.optimum:.4f}; {len(up_to(8))} seeds")
        kinds: dict[str, Maker] = {
            "OrbitGP": ours(),
            "OrbitGP, no group": ours(use_group=False),
            "CMA-ES, its mean": peer(CmaEs),
            "TPE, its best trial": peer(Tpe),
        }
        for title, maker in asked_for(kinds).items():
            runs = [play(maker(problem, rounds, seed, None), problem, rounds, seed) for seed in up_to(8)]
            found = entry(problem.optimum - run.simple for run in runs)
            cumulative = entry(run.regret[-1] for run in runs)
            each = median(run.seconds / rounds for run in runs)
            print(
                f"  {title:<22} found {found:<18} cumulative regret {cumulative:<14} {1e3 * each:.3g} ms a step",
                flush=True,
            )


# --- crossover ---


def crossover() -> None:
    """Print the simple regret of OrbitGP and OrbitTree in `ob.maximize`, by budget."""
    process = P.GaussianProcess(G.Symmetric(2), centers=64, noise=P.ClippedGaussian(0.1))
    problems: dict[str, tuple[P.Problem, int]] = {
        "Cone, 3-D": (P.Cone(S.Box(0.0, 1.0, dim=3), G.Symmetric(3), PEAKS[3]), 10_000),
        "GaussianProcess, 2-D": (process, 30_000),
        "WindFarm(3)": (P.WindFarm(3), 1000),
        "IdenticalMachines(4)": (P.IdenticalMachines(4), 3000),
    }
    print("ob.maximize, Lipschitz constant unknown: simple regret and seconds without those of measuring")
    for name, (problem, most) in problems.items():
        for budget in (100, 300, 1000, 3000, 10_000, 30_000):
            if budget > most:
                continue
            seeds = up_to(5 if budget <= 1000 else 3)
            each = {
                name: [maximized(kind, problem, budget, seed) for seed in seeds]
                for name, kind in {"OrbitGP": BEST_GP, "OrbitTree": A.OrbitTree}.items()
            }
            cells = [
                f"{kind} {entry(gap for gap, _ in ends):<19} {median(spent for _, spent in ends):6.2f} s"
                for kind, ends in each.items()
            ]
            print(f"  {name:<21} budget {budget:>6,}   {'   '.join(cells)}   {len(seeds)} seeds", flush=True)


def maximized(kind: Any, problem: P.Problem, budget: int, seed: int) -> tuple[float, float]:
    """Return the simple regret of a call of `maximize`, and its seconds."""
    rng, measuring = np.random.default_rng([seed, 1]), 0.0

    def measure(point: Array) -> float:
        nonlocal measuring
        began = time.perf_counter()
        value = float(problem.sample(point, rng))
        measuring += time.perf_counter() - began
        return value

    start = time.perf_counter()
    best = ob.maximize(measure, problem.space, problem.group, budget=budget, agent=kind, seed=seed, progress=False)
    spent = time.perf_counter() - start - measuring
    return problem.optimum - float(problem.mean(best.point)), spent


if __name__ == "__main__":
    main()
