"""Which of four like machines should take the batch jobs? Learnt from simulated queues, with the symmetry and without.

Machines that are alike may change places: 24 arms are one. The slope is left to be learnt: the
problem's own is that of arms which are about to overload a machine, sixty times what it is
elsewhere.
"""

from pathlib import Path

import numpy as np

import orbandit as ob


def main() -> None:
    """Play both, print their regret, and draw it."""
    problem = ob.problems.IdenticalMachines(4)
    best, equal = np.sort(problem.optimizer).round(2), problem.mean(np.full(4, 0.5))
    print(f"best affinities {best}: reward {problem.optimum:.3f}; all equal: {equal:.3f}")
    runs = {
        "knowing the group": ob.simulate(ob.agents.OrbitTree, problem, 3_000, seeds=2, lipschitz=None),
        "blind": ob.simulate(ob.agents.OrbitTree, problem, 3_000, seeds=2, lipschitz=None, use_group=False),
    }
    means = {name: float(run.regret[:, -1].mean()) for name, run in runs.items()}
    for name, regret in means.items():
        print(f"{name:>17}: regret {regret:.1f}")
    print(f"{'ratio':>17}: {means['knowing the group'] / means['blind']:.2f}")
    path = Path("out") / "identical_machines.png"
    ob.reports.regret_picture(runs, path, "Four machines, two classes of jobs")
    print(f"{'picture':>17}: {path}")


if __name__ == "__main__":
    main()
