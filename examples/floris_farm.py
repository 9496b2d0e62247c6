"""Five turbines in FLORIS, a simulator of wakes in which the mirror symmetry of a farm holds only nearly.

The wind blows from the west, as often from the north of it as from the south, so that the farm may
be mirrored north to south, and turbines may be exchanged. In FLORIS the mirror image of a layout
has another power all the same, a little. `symmetry="approximate"` lets measurements say how far the
group can be trusted, and recommends the better image. It needs the extra `floris`.
"""

import argparse
from typing import Literal

import numpy as np
from floris import FlorisModel

import orbandit as ob

TURBINES, ROTOR, SPEED = 5, 126.0, 8.0
WINDS = np.array([255.0, 262.0, 270.0, 278.0, 285.0])
SHARES = np.array([0.15, 0.2, 0.3, 0.2, 0.15])
KINDS: tuple[tuple[str, bool, Literal["exact", "approximate"]], ...] = (
    ("exact", True, "exact"),
    ("approximate", True, "approximate"),
    ("no group", False, "exact"),
)


def simulator() -> FlorisModel:
    """Return FLORIS with its default turbines and the winds of the site."""
    model = FlorisModel("defaults")
    model.set(
        wind_directions=WINDS,
        wind_speeds=np.full(len(WINDS), SPEED),
        turbulence_intensities=np.full(len(WINDS), 0.06),
    )
    return model


def power(model: FlorisModel, layout: np.ndarray) -> float:
    """Return the mean power of a layout, in MW."""
    places = layout.reshape(TURBINES, 2)
    model.set(layout_x=places[:, 0], layout_y=places[:, 1])
    model.run()
    return float(SHARES @ model.get_farm_power().ravel()) / 1e6


def apart(layouts: np.ndarray) -> np.ndarray:
    """Return by how many metres turbines keep two rotor diameters from each other."""
    places = layouts.reshape(len(layouts), TURBINES, 2)
    first, second = np.triu_indices(TURBINES, 1)
    return np.asarray(np.linalg.norm(places[:, first] - places[:, second], axis=2).min(axis=1) - 2 * ROTOR)


def main() -> None:
    """Measure by how much the symmetry is broken, and search with the group, doubted and not, and without."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=60, help="evaluations of a search (default 60)")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds: 0, 1, ... (default 1)")
    options = parser.parse_args()

    model = simulator()
    site = ob.spaces.Box([-600.0, -400.0], [600.0, 400.0]) ** TURBINES
    mirror = ob.groups.Diagonal(ob.groups.Matrix([[[1.0, 0.0], [0.0, -1.0]]]), TURBINES)
    group = ob.groups.Joint(ob.groups.BlockPermutation(TURBINES, 2), mirror)
    layouts = site.sample(20, 0)
    mirrored = layouts * np.tile([1.0, -1.0], TURBINES)
    pairs = np.array([[power(model, one), power(model, other)] for one, other in zip(layouts, mirrored, strict=True)])
    broken = np.abs(pairs[:, 0] - pairs[:, 1]).max() / pairs.mean()
    print(f"the mirror image of a layout has up to {broken:.1e} more or less power; the group has order {group.order}")
    for seed in range(options.seeds):
        for name, stated, symmetry in KINDS:
            best = ob.maximize(
                lambda layout: power(model, layout),
                site,
                group if stated else None,
                budget=options.budget,
                feasible=apart,
                symmetry=symmetry,
                seed=seed,
            )
            print(f"seed {seed}, {name:12} {power(model, best.point):.4f} MW")


if __name__ == "__main__":
    main()
