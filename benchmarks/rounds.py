"""Speed of agents per round, as ratios to a named rival in the same run, and regret with and without the group.

Run as `make bench` or `python benchmarks/rounds.py`; needs the extra `bench` for PyXAB.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from PyXAB.algos.Zooming import Zooming

import orbandit as ob
from groups import report
from orbandit._checks import Array
from orbandit._kernels.cones import onto_cone

A, G, S, M = ob.agents, ob.groups, ob.spaces, ob.meshes
CUBE, S3 = S.Box(0.0, 1.0, dim=3), G.Symmetric(3)
CONE = ob.problems.Cone(CUBE, S3, peak=[0.85, 0.2, 0.55])


def main() -> None:
    """Print one line per figure: what was measured, the ratio, and what is aimed at; then tables of regret."""
    against_loops()
    quotient_and_full()
    many_arms()
    large_groups()
    one_pair()
    threads()
    regret("cones of slope 1", lambda peak: ob.problems.Cone(CUBE, S3, peak))
    regret("flat at 0.4, with a bump 0.2 high and 0.2 wide", Bump)


def per_round(make: Callable[..., Any], problem: ob.problems.Problem, horizon: int, repeats: int = 5) -> float:
    """Return the median seconds per round of single runs."""
    ob.simulate(make, problem, 1000, seeds=1)
    return median(ob.simulate(make, problem, horizon, seeds=[s], jobs=1).seconds_per_round for s in range(repeats))


def against_loops() -> None:
    """Compare UniformMesh with a NumPy loop on as many arms, and with PyXAB's Zooming."""
    mesh = M.quotient_net(CUBE, S3, 0.047)
    ours = per_round(partial(A.UniformMesh, mesh=mesh), CONE, 1_000_000)
    loop = numpy_loop(CONE.mean(mesh.points), 30_000)
    title = f"simulated UniformMesh, K = {len(mesh)}: faster per round than"
    report(f"{title} a NumPy loop", loop / ours, "at least 100")
    report(f"{title} PyXAB's Zooming, n = 100,000", zooming(100_000) / ours, "at least 200")


def numpy_loop(means: Array, rounds: int) -> float:
    """Return the seconds per round of UCB written with whole-array operations."""
    rng, width = np.random.default_rng(0), 2 * math.log(rounds)
    sums, counts = (rng.random(len(means)) < means).astype(float), np.ones(len(means))
    start = time.perf_counter()
    for _ in range(rounds):
        arm = np.argmax(sums / counts + np.sqrt(width / counts))
        sums[arm] += rng.random() < means[arm]
        counts[arm] += 1
    return (time.perf_counter() - start) / rounds


def zooming(rounds: int) -> float:
    """Return the seconds per round of PyXAB's Zooming, without those of the problem."""
    agent, rng = Zooming(domain=[[0, 1]] * 3), np.random.default_rng(0)
    spent = 0.0
    for t in range(1, rounds + 1):
        start = time.perf_counter()
        point = agent.pull(t)
        spent += time.perf_counter() - start
        reward = float(rng.random() < CONE.mean(point))
        start = time.perf_counter()
        agent.receive_reward(t, reward)
        spent += time.perf_counter() - start
    return spent / rounds


def quotient_and_full() -> None:
    """Compare UniformMesh-N on representatives with the paper's own unfolded mesh."""
    space, group = S.Box(0.0, 1.0, dim=4), G.Symmetric(4)
    cone = ob.problems.Cone(space, group, peak=[0.85, 0.2, 0.55, 0.35])

    for delta in (0.12, 0.09, 0.07, 0.055):
        makers = [partial(A.UniformMeshN, mesh=mesh, delta=delta) for mesh in ("full", "quotient")]
        full, quotient = (per_round(make, cone, 100_000, 3) for make in makers)
        sizes = [make(space, group, horizon=100, seed=0).n_arms for make in makers]
        report(
            f"UniformMesh-N, Symmetric(4), delta = {delta}: cost of full ({sizes[0]} arms) over quotient ({sizes[1]})",
            full / quotient,
            "at least 20",
        )


def many_arms() -> None:
    """Compare a million arms with a thousand."""
    rng = np.random.default_rng(0)
    seconds = []
    for size in (1_000, 1_000_000):
        mesh = M.Mesh(rng.random((size, 3)), 0.01)
        seconds.append(per_round(partial(A.UniformMesh, mesh=mesh), CONE, 3_000_000, 3))
    report("UniformMesh, cost per round of 10^6 arms over 10^3", seconds[1] / seconds[0], "at most 6")


def large_groups() -> None:
    """Compare groups of 2 to 720 elements with as many arms, and as many neighbours on average."""
    seconds: dict[str, list[float]] = {"UniformMesh": [], "UniformMesh-N": []}
    for m in range(2, 7):
        space, group = S.Box(0.0, 1.0, dim=m), G.Symmetric(m)
        points = group.fold(space.sample(1000, m))
        distances = np.sort(np.asarray(group.distance(points, points)), axis=None)
        mesh = M.Mesh(points, distances[30 * 1000] / 2)  # 30 neighbours each, on average
        cone = ob.problems.Cone(space, group, peak=np.linspace(0.85, 0.2, m))
        seconds["UniformMesh"].append(per_round(partial(A.UniformMesh, mesh=mesh), cone, 1_000_000, 3))
        seconds["UniformMesh-N"].append(per_round(partial(A.UniformMeshN, mesh=mesh), cone, 200_000, 3))
    for name, costs in seconds.items():
        title = f"{name}, 1000 arms, Symmetric(2) to Symmetric(6): largest cost per round over smallest"
        report(title, max(costs) / min(costs), "at most 2")


def one_pair() -> None:
    """Compare one ask and tell from Python with one step of the NumPy loop."""
    mesh = M.Mesh(np.random.default_rng(0).random((1000, 3)), 0.1)
    means = CONE.mean(mesh.points)
    agent = A.UniformMesh(CUBE, S3, horizon=100_000, mesh=mesh, seed=0)
    agent.tell(agent.ask(), 0.5)

    def pairs() -> float:
        start = time.perf_counter()
        for _ in range(20_000):
            agent.tell(agent.ask(), 0.5)
        return (time.perf_counter() - start) / 20_000

    ratio = median(pairs() / numpy_loop(means, 20_000) for _ in range(5))
    report("one ask and tell from Python, K = 1000, over one step of a NumPy loop", ratio, "below 1")


def threads() -> None:
    """Compare two threads with one."""

    def seconds(jobs: int) -> float:
        start = time.perf_counter()
        ob.simulate(A.UniformMeshN, CONE, 1_000_000, seeds=8, jobs=jobs)
        return time.perf_counter() - start

    seconds(2)
    report(
        "simulate, 8 seeds: faster with jobs=2 by", median(seconds(1) / seconds(2) for _ in range(3)), "at least 1.7"
    )


class Bump(ob.problems.Problem):
    """Flat but for a small cone about the peak and its images."""

    def __init__(self, peak: Array) -> None:
        super().__init__(CUBE, S3, 1.0)
        self._peak = peak

    @property
    def optimizer(self) -> Array:
        """The peak."""
        return self._peak

    def _mean(self, points: Array) -> Array:
        return np.asarray(0.4 + np.maximum(0.0, 0.2 - np.asarray(S3.distance(points, self._peak))))


def regret(title: str, problem_at: Callable[[Array], ob.problems.Problem], peaks: int = 16) -> None:
    """Print the mean regret over random peaks and meshes, with the group and without."""
    print(f"regret on {title}, [0,1]^3, Symmetric(3), mean of {peaks} random peaks and meshes (standard error)")
    agents: dict[str, tuple[Any, G.Group | None]] = {
        "UniformMesh, no group": (A.UniformMesh, None),
        "UniformMesh": (A.UniformMesh, S3),
        "UniformMeshN, no group": (A.UniformMeshN, None),
        "UniformMeshN": (A.UniformMeshN, S3),
        "SideObservationElimination": (A.SideObservationElimination, S3),
    }
    for horizon in (10_000, 100_000, 1_000_000):
        ends: dict[str, list[float]] = {name: [] for name in agents}
        for seed in range(peaks):
            rng = np.random.default_rng(seed)
            problem = problem_at(CUBE.sample(1, rng)[0])
            for name, (kind, group) in agents.items():
                order = 1 if group is None else 6
                delta = (math.log(horizon) / (horizon * order)) ** (1 / 5)
                mesh = shifted_mesh(group, delta, np.random.default_rng(seed))
                runs = ob.simulate(kind, problem, horizon, seeds=[seed], group=group, mesh=mesh)
                ends[name].append(float(runs.regret[0, -1]))
        print(f"  n = {horizon:,}")
        for name, values in ends.items():
            print(f"    {name:<28}{np.mean(values):10.0f} ({np.std(values) / math.sqrt(peaks):.0f})")
        ratio = float(np.mean(ends["UniformMesh"]) / np.mean(ends["UniformMesh, no group"]))
        report(f"    UniformMesh with the group over without, n = {horizon:,}", ratio, "at most 0.85 on cones at 10^6")


def shifted_mesh(group: G.Group | None, delta: float, rng: np.random.Generator) -> M.Mesh:
    """Return a net of the cube, or of its orbits, from a lattice at a random place."""
    lattice = M.net(S.Box(-2 * delta, 1 + 2 * delta, dim=3), delta).points + rng.uniform(-delta, delta, 3)
    points = lattice.copy()
    if group is not None:
        onto_cone(lattice, group.domain().normals, points)
    points = np.clip(points, 0.0, 1.0)
    # the others' cells miss the cube or the chamber
    covering = np.linalg.norm(points - lattice, axis=1) <= delta
    return M.Mesh(np.unique(points[covering], axis=0), delta)


if __name__ == "__main__":
    main()
