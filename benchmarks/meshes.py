"""Sizes and speed of meshes and their graphs, as ratios to a named rival measured in the same run.

Run as `make bench` or `python benchmarks/meshes.py`. Times are medians over several rounds, but for
the rival on the icosahedron, which takes too long to be timed more than once.
"""

import resource
from statistics import median

import numpy as np
from scipy.spatial import cKDTree

import orbandit as ob
from groups import compare, report, seconds
from orbandit._checks import Array


def main() -> None:
    """Print one line per figure: what was measured, the ratio, and what is aimed at."""
    nets()
    lemma_1()
    icosahedron()
    queries()
    six_coordinates()


def nets() -> None:
    """Compare the best lattice with the grid on the unit cube."""
    for d, aim in ((3, 0.75), (5, 0.5)):
        cube = ob.spaces.Box(0.0, 1.0, dim=d)
        best, grid = len(ob.meshes.net(cube, 0.1)), len(ob.meshes.net(cube, 0.1, lattice="cubic"))
        report(
            f"net of the unit {d}-cube, delta = 0.1: {best} points over the grid's {grid}",
            best / grid,
            f"at most {aim}",
        )


def lemma_1() -> None:
    """Print the size of quotient nets times the order over the size of the full net, for falling delta."""
    cube, g = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups
    pairs: list[tuple[str, ob.spaces.Space, ob.groups.Group]] = [
        ("Symmetric(2), square", ob.spaces.Box(0.0, 1.0, dim=2), g.Symmetric(2)),
        ("Symmetric(3), cube", cube, g.Symmetric(3)),
        ("SignedPermutation(3), cube", cube, g.SignedPermutation(3).centered([0.5, 0.5, 0.5])),
        ("Dihedral(5), disk", ob.spaces.Ball(2), g.Dihedral(5)),
        ('Coxeter("H3"), icosahedron', ob.spaces.Polytope.regular("icosahedron"), g.Coxeter("H3")),
    ]
    deltas = (0.2, 0.1, 0.05, 0.025)
    print("Lemma 1: size of the quotient net x order / size of the net, delta = " + ", ".join(map(str, deltas)))
    for name, space, group in pairs:
        sizes = [(len(ob.meshes.quotient_net(space, group, d)), len(ob.meshes.net(space, d))) for d in deltas]
        print(f"  {name:<28}" + "".join(f"{small * group.order / full:8.2f}" for small, full in sizes))


def icosahedron() -> None:
    """Build the quotient and the full picture of the icosahedron under its 120 symmetries."""
    space, group, delta = ob.spaces.Polytope.regular("icosahedron"), ob.groups.Coxeter("H3"), 0.04

    def quotient() -> ob.meshes.OrbitGraph:
        return ob.meshes.OrbitGraph(ob.meshes.quotient_net(space, group, delta), group, 2 * delta)

    full = ob.meshes.net(space, delta)
    rival, edges = plain_graph(full.points, group, 2 * delta)  # once is enough: it takes minutes
    graph = quotient()
    report(f"icosahedron, H3: full mesh {len(full)} over quotient {len(graph)}", len(full) / len(graph), "at least 40")
    report(
        f"icosahedron, H3: graph entries, full {edges} over quotient {len(graph.indices)}",
        edges / len(graph.indices),
        "at least 3000",
    )
    ours = median(seconds(quotient) for _ in range(5))
    report("icosahedron, H3: quotient mesh and graph, faster than a plain k-d tree's by", rival / ours, "at least 100")


def plain_graph(points: Array, group: ob.groups.Group, radius: float) -> tuple[float, int]:
    """Return the time and the entries of a graph found with scipy's k-d tree and all images of every point."""
    entries = 0

    def build() -> None:
        nonlocal entries
        tree, elements = cKDTree(points), group.elements()
        for point in points:
            entries += len(np.unique(np.concatenate(tree.query_ball_point(group.act(elements, point), radius))))

    return seconds(build), entries


def queries() -> None:
    """Find exact neighbourhoods of 10,000 queries on a 100,000-point mesh of the cube under permutations."""
    rng = np.random.default_rng(0)
    group = ob.groups.Symmetric(3)
    mesh, points, radius = ob.meshes.Mesh(rng.random((100_000, 3)), 0.015), rng.random((10_000, 3)), 0.03

    def plain() -> list[Array]:
        tree = cKDTree(mesh.points)
        images = [tree.query_ball_point(group.act(g, points), radius) for g in group.elements()]
        return [np.unique(np.concatenate(lists)) for lists in zip(*images, strict=True)]

    ratio = compare(plain, lambda: ob.meshes.orbit_neighbors(mesh, group, points, radius), rounds=5)
    report(
        "N(x, 2 delta), 10^4 queries on 10^5 points, S_3: faster than a k-d tree with 6 images by",
        ratio,
        "at least 2.5",
    )


def six_coordinates() -> None:
    """Build net and graph of six exchangeable coordinates, and read off the memory it took."""
    space, group = ob.spaces.Box(0.0, 1.0, dim=6), ob.groups.Symmetric(6)
    mesh = ob.meshes.quotient_net(space, group, 0.1)
    graph = ob.meshes.OrbitGraph(mesh, group, 0.2)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    report(
        f"[0,1]^6 under S_6, delta = 0.1: points of the quotient net ({len(graph.indices)} entries)",
        len(mesh),
        "about 10^4",
    )
    report("[0,1]^6 under S_6: peak memory of this whole process, GiB", peak, "at most 2")


if __name__ == "__main__":
    main()
