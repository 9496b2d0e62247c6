"""What a group is worth to the algorithms on trees, by simple and by cumulative regret.

Run as `python benchmarks/tree_groups.py`, or with some names of algorithms; 3 minutes. Peaks of
cones are random. S_3 exchanges the axes that cells are cut across, sign flips do not: under S_3
the images of a peak lie in cells of different shapes, of which an algorithm without the group
takes the best.
"""

import sys

import numpy as np

import orbandit as ob
from orbandit._checks import Array
from orbandit.meshes.cells import CellTree

A, G, S = ob.agents, ob.groups, ob.spaces
NAMES = ("HOO", "HCT", "VHCT", "StoSOO", "SequOOL", "StroquOOL", "VROOM", "POO", "GPO")
SETTINGS = {
    "cube under S_3": (S.Box(0.0, 1.0, dim=3), G.Symmetric(3)),
    "square under sign flips": (S.Box(-1.0, 1.0, dim=2), G.SignFlips(2)),
}
ROUNDS, PEAKS, SEEDS, DEPTHS = 10_000, 20, 2, 9


def main() -> None:
    """Print a line for each setting and algorithm: means with the group and without, and errors."""
    for setting, (space, group) in SETTINGS.items():
        farther = ", ".join(f"{gap:.3f}" for gap in gaps_of_centres(space, group))
        print(f"{setting}: how much farther the nearest centre of depths 1, 2, ... is: {farther}")
        peaks = space.sample(PEAKS, np.random.default_rng(11))
        for name in sys.argv[1:] or NAMES:
            ends = np.array([[means(name, space, group, peak, told) for told in (True, False)] for peak in peaks])
            simple, total = ends[..., 0], ends[..., 1]
            print(f"{setting}, {name}: simple {shown(simple, 3)}; cumulative {shown(total, 0)}", flush=True)


def gaps_of_centres(space: ob.spaces.Space, group: ob.groups.Group) -> Array:
    """Return by how much the centre nearest to an orbit is farther with the group, for each depth."""
    peaks, nearest = space.sample(400, np.random.default_rng(0)), np.empty((2, DEPTHS))
    for i, symmetry in enumerate((group, None)):
        tree = CellTree(space, symmetry)
        for depth in range(DEPTHS):
            tree.grow(np.flatnonzero(tree.depths == depth), DEPTHS)
            centres = tree.points(np.flatnonzero(tree.depths == depth + 1))
            nearest[i, depth] = np.mean([group.distance(peak, centres).min() for peak in peaks])
    return np.asarray(nearest[0] - nearest[1])


def means(name: str, space: ob.spaces.Space, group: ob.groups.Group, peak: Array, told: bool) -> tuple[float, float]:
    """Return the mean simple and cumulative regret on a cone."""
    cone = ob.problems.Cone(space, group, peak=peak)
    kind, only = getattr(A, name), [ROUNDS]
    runs = ob.simulate(kind, cone, ROUNDS, seeds=SEEDS, jobs=1, use_group=told, checkpoints=only)
    assert runs.simple_regret is not None
    return float(runs.simple_regret.mean()), float(runs.regret.mean())


def shown(values: Array, digits: int) -> str:
    """Return the means with the group and without, and their difference with its standard error."""
    gaps = values[:, 0] - values[:, 1]
    error = gaps.std(ddof=1) / len(gaps) ** 0.5
    first, second = values.mean(axis=0)
    return f"{first:.{digits}f} and {second:.{digits}f}, {gaps.mean():+.{digits}f} ({error:.{digits}f})"


if __name__ == "__main__":
    main()
