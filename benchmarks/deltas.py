"""Regret of the agents on meshes with the paper's delta and with delta="safe", with the group and without.

Run as `python benchmarks/deltas.py`. Peaks of cones are random, and each has its own seed, the same
for all agents: on one peak it is luck how near a mesh comes to it. Ratios are to the agent without
the group, for which both deltas are the same.
"""

import numpy as np

import orbandit as ob
from orbandit._checks import Array

A, G, S, P = ob.agents, ob.groups, ob.spaces, ob.problems
PEAKS = 60
SETTINGS = {
    "cube under S_3": (S.Box(0.0, 1.0, dim=3), G.Symmetric(3)),
    "4-cube under S_4": (S.Box(0.0, 1.0, dim=4), G.Symmetric(4)),
    "disk under D5": (S.Ball(2), G.Dihedral(5)),
    "icosahedron under H3": (S.Polytope.regular("icosahedron"), G.Coxeter("H3")),
}


def main() -> None:
    """Print a table for each agent: mean regret, and its ratio to that without the group, with standard errors."""
    for agent in (A.UniformMesh, A.UniformMeshN):
        print(f"\n{agent.__name__:21s}      n   without the group      the paper's delta, ratio      safe, ratio")
        for name, (space, group) in SETTINGS.items():
            peaks = space.sample(PEAKS, np.random.default_rng(0))
            for n in (1_000, 10_000, 100_000):
                blind = regret(agent, space, group, peaks, n, "order", use_group=False)
                cells = [f"{blind.mean():7.0f} ({error(blind):.0f})".rjust(20)]
                for delta in ("order", "safe"):
                    told = regret(agent, space, group, peaks, n, delta, use_group=True)
                    ratio = told.mean() / blind.mean()
                    margin = error(told - ratio * blind) / blind.mean()
                    cells.append(f"{told.mean():7.0f} ({error(told):.0f}), {ratio:.2f} ({margin:.2f})".rjust(28))
                print(f"{name:20s} {n:7d} {' '.join(cells)}", flush=True)


def regret(
    agent: type[A.Agent], space: S.Space, group: G.Group, peaks: Array, n: int, delta: str, use_group: bool
) -> Array:
    """Return the regret on the cone about each peak."""
    runs = [
        ob.simulate(agent, P.Cone(space, group, peak), n, seeds=[seed], jobs=1, use_group=use_group, delta=delta)
        for seed, peak in enumerate(peaks)
    ]
    return np.array([run.regret[0, -1] for run in runs])


def error(values: Array) -> float:
    """Return the standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


if __name__ == "__main__":
    main()
