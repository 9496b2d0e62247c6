"""What a symmetry is worth: the regret of one agent with the group and without, over several seeds."""

import numpy as np

import orbandit as ob


def main() -> None:
    """Simulate both, and print the regret along the way."""
    disk, flower = ob.spaces.Ball(2), ob.groups.Dihedral(5)
    cone = ob.problems.Cone(disk, flower, peak=[0.35, 0.55])

    def without(problem: ob.problems.Problem, horizon: int, seed: np.random.SeedSequence) -> ob.agents.Agent:
        return ob.agents.UniformMesh(problem.space, horizon=horizon, seed=seed)

    knowing = ob.simulate(ob.agents.UniformMesh, cone, horizon=100_000, seeds=8)
    blind = ob.simulate(without, cone, horizon=100_000, seeds=8)
    for name, runs in (("knowing D5", knowing), ("blind", blind)):
        print(f"{name:>10}: {runs}")
    ratio = knowing.regret[:, -1].mean() / blind.regret[:, -1].mean()
    print(f"{'ratio':>10}: {ratio:.2f}")


if __name__ == "__main__":
    main()
