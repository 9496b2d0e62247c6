"""Adaptive agents: speed per round against PyXAB's, and regret on cones with the group and without.

Run as `make bench` or `python benchmarks/adaptive.py`; needs the extra `bench` for PyXAB. T_HOO takes about a minute.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from PyXAB.algos.HOO import T_HOO
from PyXAB.algos.Zooming import Zooming

import orbandit as ob
from groups import report

A, G, S = ob.agents, ob.groups, ob.spaces
PEAKS = {2: [0.15, 0.7], 3: [0.2, 0.5, 0.8], 4: [0.1, 0.35, 0.6, 0.9]}


def main() -> None:
    """Print one line per figure, then a table of regret."""
    cone = cone_in(2)
    ours = per_round(A.HOO, cone, 10_000)
    report("HOO, n = 10,000: faster per round than PyXAB's T_HOO by", peer(T_HOO, cone, 10_000) / ours, "at least 1000")
    cone = cone_in(3)
    ours = per_round(A.Zooming, cone, 100_000)
    title = "Zooming, n = 100,000: faster per round than PyXAB's by"
    report(title, peer(Zooming, cone, 100_000) / ours, "at least 100")
    regret()


def cone_in(dim: int) -> ob.problems.Cone:
    """Return the cone of a dimension."""
    return ob.problems.Cone(S.Box(0.0, 1.0, dim=dim), G.Symmetric(dim), PEAKS[dim])


def without_group(kind: Any) -> Callable[..., A.Agent]:
    """Return a maker of agents that do not know the group."""
    return lambda problem, horizon, seed: kind(problem.space, horizon=horizon, seed=seed)


def per_round(kind: Any, problem: ob.problems.Problem, horizon: int) -> float:
    """Return the median seconds per round of single runs, without the group, as the peers are."""
    ob.simulate(without_group(kind), problem, 1000, seeds=1)
    runs = [ob.simulate(without_group(kind), problem, horizon, seeds=[seed], jobs=1) for seed in range(5)]
    return median(run.seconds_per_round for run in runs)


def peer(kind: Any, problem: ob.problems.Problem, rounds: int) -> float:
    """Return the seconds per round of an algorithm of PyXAB, without those of the problem."""
    domain = [[0, 1]] * problem.space.dim
    agent = kind(rounds=rounds, domain=domain) if kind is T_HOO else kind(domain=domain)
    rng, spent = np.random.default_rng(0), 0.0
    for t in range(1, rounds + 1):
        start = time.perf_counter()
        point = agent.pull(t)
        spent += time.perf_counter() - start
        reward = float(rng.random() < problem.mean(point))
        start = time.perf_counter()
        agent.receive_reward(t, reward)
        spent += time.perf_counter() - start
    return spent / rounds


def regret() -> None:
    """Print the mean regret on cones, with the group and without."""
    print("regret on cones of height 0.95 under Symmetric(d), n = 100,000, mean of 10 seeds (standard deviation)")
    for dim in PEAKS:
        for name, kind in (("UniformMesh", A.UniformMesh), ("Zooming", A.Zooming), ("HOO", A.HOO)):
            ends = [
                ob.simulate(maker, cone_in(dim), 100_000, seeds=10).regret[:, -1]
                for maker in (kind, without_group(kind))
            ]
            row = "".join(f"{end.mean():12.0f} ({end.std(ddof=1):.0f})" for end in ends)
            print(f"  d = {dim}  {name:<14} with the group, without:{row}")


if __name__ == "__main__":
    main()
