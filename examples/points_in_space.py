"""Points in space that may be turned, mirrored and exchanged: rotations with swaps.

What counts is the shape of a cloud of equal points, not how it is turned nor which point is which.
Rotations of all points at once are infinitely many, and go first in a `Joint`; the swaps, which are
finite, go second. The search spreads four points in a ball as far apart as can be: the best shape
is the regular tetrahedron.
"""

import numpy as np

import orbandit as ob


def alike(points: int) -> ob.groups.Joint:
    """Return the group of so many equal points in space."""
    # one rotation or mirror moves them all
    turns = ob.groups.Diagonal(ob.groups.Orthogonal(3, 1), points)
    return ob.groups.Joint(turns, ob.groups.BlockPermutation(points, 3))


def spread(cloud: np.ndarray) -> float:
    """Return the least distance of two of the points."""
    corners = cloud.reshape(-1, 3)
    first, second = np.triu_indices(len(corners), 1)
    return float(np.linalg.norm(corners[first] - corners[second], axis=1).min())


def main() -> None:
    """Recognise clouds of five points, and spread four."""
    five, clouds = alike(5), ob.spaces.Ball(3) ** 5
    assert five.preserves(clouds)
    drawn = clouds.sample(3, rng=0)
    # each cloud turned and mixed in its own way
    twins = five.act(five.random(3, rng=1), drawn, paired=True)
    print(f"{five!r} has order {five.order}")
    print(f"orbit distances to the twins:\n{five.distance(drawn, twins).round(6) + 0.0}")
    print(f"same representatives: {np.allclose(five.fold(drawn), five.fold(twins))}")

    best = {
        name: ob.maximize(spread, ob.spaces.Ball(3) ** 4, group, budget=60, seed=0).point
        for name, group in (("with the group", alike(4)), ("without", None))
    }
    for name, cloud in best.items():
        print(f"four points, {name}: {spread(cloud):.3f} apart (a tetrahedron: {np.sqrt(8 / 3):.3f})")


if __name__ == "__main__":
    main()
