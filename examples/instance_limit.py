"""What the group is worth on one instance: the limit of Graves and Lai on a mesh, and on its orbits.

Run as `python examples/instance_limit.py`. The grid of m^3 points of the cube is mapped to itself
by permutations of coordinates, so that both agents choose among the same means: one from the
points, the other from the orbits.
"""

import numpy as np

import orbandit as ob

CUBE, S3 = ob.spaces.Box(0, 1, dim=3), ob.groups.Symmetric(3)


def main() -> None:
    """Print c with and without the group; and without any structure, where no arm tells anything of another."""
    cone = ob.problems.Cone(CUBE, S3, peak=[0.83, 0.21, 0.37])
    print("points  orbits  unstructured       c  c of orbits  ratio")
    for m in (3, 5, 7, 9, 11):
        steps = (np.arange(m) + 0.5) / m
        grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
        points = ob.meshes.Mesh(grid, np.sqrt(3) / 2 / m)
        orbits = ob.meshes.Mesh(np.unique(S3.fold(grid), axis=0), points.delta, group=S3)
        limit, on_orbits = (ob.theory.instance_limit(cone, mesh) for mesh in (points, orbits))
        alone = unstructured(cone, grid)
        sizes = f"{len(points):6d}  {len(orbits):6d}"
        print(f"{sizes}  {alone:12.1f}  {limit:6.1f}  {on_orbits:11.1f}  {limit / on_orbits:5.2f}")


def unstructured(cone: ob.problems.Cone, grid: np.ndarray) -> float:
    """Return the limit of Lai and Robbins, the sum of gaps over divergences."""
    means = np.asarray(cone.mean(grid))
    lesser = means[means < means.max() - 1e-9]
    divergences = ob.problems.Bernoulli().divergence(lesser, np.full(len(lesser), means.max()))
    return float(((means.max() - lesser) / divergences).sum())


if __name__ == "__main__":
    main()
