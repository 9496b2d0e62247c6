"""What a symmetry is worth: the regret of one agent with the group and without, over several seeds."""

import orbandit as ob


def main() -> None:
    """Simulate both, and print the regret along the way."""
    disk, flower = ob.spaces.Ball(2), ob.groups.Dihedral(5)
    cone = ob.problems.Cone(disk, flower, peak=[0.35, 0.55])

    knowing = ob.simulate(ob.agents.UniformMesh, cone, horizon=100_000, seeds=8)
    blind = ob.simulate(ob.agents.UniformMesh, cone, horizon=100_000, seeds=8, use_group=False)
    for name, runs in (("knowing D5", knowing), ("blind", blind)):
        print(f"{name:>10}: {runs}")
    ratio = knowing.regret[:, -1].mean() / blind.regret[:, -1].mean()
    print(f"{'ratio':>10}: {ratio:.2f}")


if __name__ == "__main__":
    main()
