"""A list of candidates for four identical machines: one per orbit instead of one per labelling.

Each machine gets a load between 0 and 1, and every load that could matter should be within 0.2 of a
candidate.
"""

import numpy as np

import orbandit as ob


def main() -> None:
    """Compare the plain list with the one that knows the machines are alike."""
    loads, machines = ob.spaces.Box(0.0, 1.0, dim=4), ob.groups.Symmetric(4)
    plain = ob.meshes.net(loads, delta=0.2)
    once = ob.meshes.quotient_net(loads, machines, delta=0.2)
    print(f"candidates: {len(plain)} if machines had names, {len(once)} if they do not")

    tried = np.array([0.9, 0.2, 0.7, 0.1])
    relabelled = tried[[2, 0, 3, 1]]
    for name, loads_tried in (("tried", tried), ("relabelled", relabelled)):
        near = ob.meshes.orbit_neighbors(once, machines, loads_tried, radius=0.2)
        print(f"{name:>10} {loads_tried}: says something of candidates {np.asarray(near).tolist()}")
    graph = ob.meshes.OrbitGraph(once, machines, radius=0.4)
    print(f"one measurement informs {len(graph.indices) / len(graph):.1f} candidates on average")


if __name__ == "__main__":
    main()
