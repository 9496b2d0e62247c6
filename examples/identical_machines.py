"""Which of four like machines should take the batch jobs? Learnt from simulated queues, with the symmetry and without.

Machines that are alike may change places: 24 arms are one. The slope is left to be learnt: the problem's own is that
of arms which are about to overload a machine, sixty times what it is elsewhere.
"""

from pathlib import Path

import numpy as np

import orbandit as ob


def knowing(problem: ob.problems.Problem, horizon: int, seed: np.random.SeedSequence) -> ob.agents.Agent:
    """Make an agent that knows the group."""
    return ob.agents.OrbitTree(problem.space, problem.group, horizon=horizon, lipschitz=None, seed=seed)


def blind(problem: ob.problems.Problem, horizon: int, seed: np.random.SeedSequence) -> ob.agents.Agent:
    """Make the same agent without it."""
    return ob.agents.OrbitTree(problem.space, horizon=horizon, lipschitz=None, seed=seed)


def main() -> None:
    """Play both, print their regret, and draw it."""
    problem = ob.problems.IdenticalMachines(4)
    print(f"best affinities {np.sort(problem.optimizer).round(2)}: reward {problem.optimum:.3f}; all equal: 0.370")
    # A reward is drawn in Python, where threads would wait for each other: one job is the fastest.
    runs = {
        "knowing the group": ob.simulate(knowing, problem, horizon=3_000, seeds=2, jobs=1),
        "blind": ob.simulate(blind, problem, horizon=3_000, seeds=2, jobs=1),
    }
    means = {name: float(run.regret[:, -1].mean()) for name, run in runs.items()}
    for name, regret in means.items():
        print(f"{name:>17}: regret {regret:.1f}")
    print(f"{'ratio':>17}: {means['knowing the group'] / means['blind']:.2f}")
    ob.reports.regret_picture(runs, Path("out") / "identical_machines.png", "Four machines, two classes of jobs")


if __name__ == "__main__":
    main()
