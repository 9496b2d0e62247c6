"""What a group is worth over 20,000 rounds: the regret of an agent with it and without."""

import sys

import orbandit as ob


def main() -> None:
    """Play a cone on the icosahedron under its 120 symmetries."""
    path = sys.argv[1] if len(sys.argv) > 1 else "out/gallery/regret.png"
    group = ob.groups.Coxeter("H3")
    cone = ob.problems.Cone(ob.spaces.Polytope.regular("icosahedron"), group, peak=[0.2, 0.3, 0.4])
    runs = {
        name: ob.simulate(ob.agents.OrbitTree, cone, 20_000, seeds=4, use_group=use_group)
        for name, use_group in (("with group", True), ("without", False))
    }
    ob.reports.regret_picture(runs, path, "OrbitTree on the icosahedron, 120 symmetries")
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
