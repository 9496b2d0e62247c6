"""Adaptive agents: regret and speed against PyXAB's algorithms and CMA-ES, and with the group against without.

Run as `make bench` or `python benchmarks/adaptive.py`; needs the extra `bench` for the peers, and
five minutes.
"""

import time
from statistics import median
from typing import Any

import numpy as np
from cmaes import CMA
from PyXAB.algos.HCT import HCT
from PyXAB.algos.HOO import T_HOO
from PyXAB.algos.VHCT import VHCT
from PyXAB.algos.Zooming import Zooming

import orbandit as ob
from groups import report

A, G, S = ob.agents, ob.groups, ob.spaces
PEAKS = {2: [0.15, 0.7], 3: [0.2, 0.5, 0.8], 4: [0.1, 0.35, 0.6, 0.9]}


def main() -> None:
    """Print one line per figure, then a table of regret."""
    tree_against_peers()
    tree_with_and_without()
    tree_by_horizon()
    cone = cone_in(2)
    ours = per_round(A.HOO, cone, 10_000)
    theirs = peer(T_HOO, cone, 10_000)[1]
    report("HOO, n = 10,000: faster per round than PyXAB's T_HOO by", theirs / ours, "at least 1000")
    cone = cone_in(3)
    ours = per_round(A.Zooming, cone, 100_000)
    theirs = peer(Zooming, cone, 100_000)[1]
    report("Zooming, n = 100,000: faster per round than PyXAB's by", theirs / ours, "at least 100")
    regret()


def tree_against_peers() -> None:
    """Print the regret of OrbitTree beside that of HCT, VHCT and CMA-ES, and their ratios."""
    print("regret on cones of height 0.95 under Symmetric(d): mean (standard deviation), microseconds per round")
    for dim in PEAKS:
        cone = cone_in(dim)
        for horizon, rivals in ((10_000, {"HCT": HCT, "VHCT": VHCT, "CMA-ES": CMA}), (100_000, {"CMA-ES": CMA})):
            runs = ob.simulate(A.OrbitTree, cone, horizon, seeds=30)
            ours = runs.regret[:, -1]
            row = [f"OrbitTree {ours.mean():,.0f} ({ours.std(ddof=1):,.0f}), {runs.seconds_per_round * 1e6:.1f} us"]
            means = {}
            for name, kind in rivals.items():
                seeds = 10 if kind is CMA else 4
                ends, seconds = zip(*(peer(kind, cone, horizon, s) for s in range(seeds)), strict=True)
                means[name] = float(np.mean(ends))
                spread = np.std(ends, ddof=1)
                row.append(f"{name} {means[name]:,.0f} ({spread:,.0f}), {median(seconds) * 1e6:.0f} us")
            print(f"  d = {dim}, n = {horizon:,}: {'; '.join(row)}")
            if horizon == 10_000:
                report(
                    "  over the better of HCT and VHCT", ours.mean() / min(means["HCT"], means["VHCT"]), "at most 0.4"
                )
            else:
                report("  over CMA-ES", ours.mean() / means["CMA-ES"], "at most 0.1")
            report("  standard deviation over mean", ours.std(ddof=1) / ours.mean(), "at most 0.33")


def tree_with_and_without() -> None:
    """Print what the group is worth to OrbitTree."""
    for dim, aim in ((3, "at most 0.7"), (4, "at most 0.6")):
        cone = cone_in(dim)
        ends = [
            ob.simulate(A.OrbitTree, cone, 100_000, seeds=30, use_group=told).regret[:, -1].mean()
            for told in (True, False)
        ]
        report(f"OrbitTree, n = 100,000, d = {dim}: with the group over without", ends[0] / ends[1], aim)


def tree_by_horizon() -> None:
    """Print the cost per round of OrbitTree at long horizons over that at short ones."""
    for dim in PEAKS:
        seconds = [
            ob.simulate(A.OrbitTree, cone_in(dim), n, seeds=4, jobs=1).seconds_per_round for n in (10_000, 10**6)
        ]
        title = f"OrbitTree, d = {dim}: cost per round at n = 1,000,000 over that at 10,000"
        report(title, seconds[1] / seconds[0], "at most 2")


def cone_in(dim: int) -> ob.problems.Cone:
    """Return the cone of a dimension."""
    return ob.problems.Cone(S.Box(0.0, 1.0, dim=dim), G.Symmetric(dim), PEAKS[dim])


def per_round(kind: Any, problem: ob.problems.Problem, horizon: int) -> float:
    """Return the median seconds per round of single runs, without the group, as the peers are."""
    ob.simulate(kind, problem, 1000, seeds=1, use_group=False)
    runs = [ob.simulate(kind, problem, horizon, seeds=[seed], jobs=1, use_group=False) for seed in range(5)]
    return median(run.seconds_per_round for run in runs)


def peer(kind: Any, problem: ob.problems.Problem, rounds: int, seed: int = 0) -> tuple[float, float]:
    """Return the regret of a peer, and its seconds per round without those of the problem."""
    dim = problem.space.dim
    rng = np.random.default_rng(seed)
    np.random.seed(seed)  # noqa: NPY002 - PyXAB draws from it
    domain = [[0, 1]] * dim
    if kind is CMA:
        agent: Any = Generations(CMA(rng.random(dim), 0.3, bounds=np.array(domain, dtype=float), seed=seed))
    else:
        agent = kind(rounds=rounds, domain=domain) if kind is T_HOO else kind(domain=domain)
    spent, total = 0.0, 0.0
    for t in range(1, rounds + 1):
        start = time.perf_counter()
        point = agent.pull(t)
        spent += time.perf_counter() - start
        mean = float(problem.mean(point))
        total += mean
        reward = float(rng.random() < mean)
        start = time.perf_counter()
        agent.receive_reward(t, reward)
        spent += time.perf_counter() - start
    return rounds * problem.optimum - total, spent / rounds


class Generations:
    """CMA-ES with PyXAB's methods; it starts anywhere, and plays its mean once it has converged."""

    def __init__(self, search: CMA) -> None:
        self._search, self._stopped = search, False
        self._told: list[tuple[Any, float]] = []

    def pull(self, time: int) -> Any:
        """Return the next point of the generation."""
        self._point = self._search.mean if self._stopped else self._search.ask()
        return self._point

    def receive_reward(self, time: int, reward: float) -> None:
        """Tell the generation once it is complete; CMA-ES minimises."""
        self._told.append((self._point, -reward))
        if not self._stopped and len(self._told) == self._search.population_size:
            self._search.tell(self._told)
            self._told, self._stopped = [], self._search.should_stop()


def regret() -> None:
    """Print the mean regret on cones, with the group and without."""
    print("regret on cones of height 0.95 under Symmetric(d), n = 100,000, mean of 10 seeds (standard deviation)")
    rows: list[tuple[str, Any, dict[str, Any]]] = [
        ("UniformMesh", A.UniformMesh, {}),
        ("Zooming", A.Zooming, {}),
        ("HOO", A.HOO, {}),
        ("OrbitTree, theory", A.OrbitTree, {"guarantee": "theory"}),
        ("OrbitTree, L learnt", A.OrbitTree, {"lipschitz": None}),
        ("OrbitTree", A.OrbitTree, {}),
    ]
    for dim in PEAKS:
        for name, kind, settings in rows:
            ends = [
                ob.simulate(kind, cone_in(dim), 100_000, seeds=10, use_group=told, **settings).regret[:, -1]
                for told in (True, False)
            ]
            row = "".join(f"{end.mean():12,.0f} ({end.std(ddof=1):,.0f})" for end in ends)
            print(f"  d = {dim}  {name:<20} with the group, without:{row}")


if __name__ == "__main__":
    main()
