"""Eight turbines on a disk: 1,290,240 layouts that are one and the same.

Turbines are interchangeable, and under a uniform wind rose of 16 directions the whole layout may be
turned and mirrored. The orbit distance sees through both; the plain distance through neither.
"""

import numpy as np

import orbandit as ob


def main() -> None:
    """Scramble a layout beyond recognition, and recognise it."""
    rng = np.random.default_rng(1)
    site = ob.spaces.Ball(2, radius=919.0) ** 8
    group = ob.groups.Joint(
        ob.groups.BlockPermutation(8, 2),  # turbines are alike
        ob.groups.Diagonal(ob.groups.Dihedral(16), 8),  # one turn moves them all
    )
    assert group.preserves(site)

    layout = site.sample(1, rng)[0]
    twin = group.act(group.random(1, rng)[0], layout)
    other = site.sample(1, rng)[0]
    print(f"{group!r} has {group.order:,} elements and a domain of {len(group.domain().normals)} faces")
    print(f"layout to scrambled twin: plain {np.linalg.norm(layout - twin):7.1f} m", end="")
    print(f"   orbit distance {group.distance(layout, twin):7.1f} m")
    print(f"layout to another layout: plain {np.linalg.norm(layout - other):7.1f} m", end="")
    print(f"   orbit distance {group.distance(layout, other):7.1f} m")
    print(f"same representative: {np.allclose(group.fold(layout), group.fold(twin))}")


if __name__ == "__main__":
    main()
