"""From the map of a site to a layout: ten turbines on land with a lake, 260 m apart, 80 m off every border.

The map is a polygon with a hole. A layout is feasible if every turbine stands on the land, far
enough from its borders and from all others; `margins` says by how many metres. A measurement is the
energy of a year by a wake model, with an error of half a percent. `--seeds=3 --budget 60 200` plays
more of the same.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

import orbandit as ob
from orbandit.optimize import Best
from orbandit.pictures.figures import new_figure
from orbandit.pictures.palette import COLORS, INK, PAPER

LAND = np.array(
    [(-1100, -700), (-300, -1000), (700, -900), (1100, -100), (500, 150), (800, 800), (-200, 1000), (-900, 500)]
)
LAKE = np.array([(-450, -250), (-100, -400), (150, -150), (0, 150), (-350, 100)])
"""Corners, in metres east and north."""
TURBINES, OFF_BORDERS, APART = 10, 80.0, 260.0
KINDS = {"with the symmetry": True, "without it": False}


def from_border(places: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return how far (m, 2) places are from the border of a polygon, as a positive number inside of it."""
    starts, ends = corners, np.roll(corners, -1, axis=0)
    along, beside = ends - starts, places[:, None] - starts
    share = np.clip((beside * along).sum(axis=2) / (along**2).sum(axis=1), 0.0, 1.0)
    distance = np.linalg.norm(beside - share[..., None] * along, axis=2).min(axis=1)
    # A ray to the east crosses the border an odd number of times if it starts inside.
    passes = (starts[:, 1] > places[:, 1:]) != (ends[:, 1] > places[:, 1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        east = starts[:, 0] + (places[:, 1:] - starts[:, 1]) / along[:, 1] * along[:, 0] > places[:, :1]
    return np.asarray(np.where((passes & east).sum(axis=1) % 2 == 1, distance, -distance))


def margins(layouts: np.ndarray) -> np.ndarray:
    """Return by how many metres (m, 2 TURBINES) layouts keep the rules; negative if they break one."""
    places = layouts.reshape(-1, 2)
    on_land = np.minimum(from_border(places, LAND), -from_border(places, LAKE)) - OFF_BORDERS
    turbines = layouts.reshape(len(layouts), TURBINES, 2)
    first, second = np.triu_indices(TURBINES, 1)
    apart = np.linalg.norm(turbines[:, first] - turbines[:, second], axis=2).min(axis=1) - APART
    return np.asarray(np.minimum(on_land.reshape(len(layouts), TURBINES).min(axis=1), apart))


def search(farm: ob.problems.WindFarm, use_group: bool, budget: int, seed: int) -> Best:
    """Search with the same seed for the agent and for the errors, with the exchange of turbines or without."""
    rng = np.random.default_rng(seed)

    def measure(layout: np.ndarray) -> float:
        return float(farm.annual_energy(layout)) * (1 + 0.005 * rng.standard_normal())

    site = ob.spaces.Box(*np.array([LAND.min(axis=0), LAND.max(axis=0)])) ** TURBINES
    group = ob.groups.BlockPermutation(TURBINES, 2) if use_group else None
    return ob.maximize(measure, site, group, budget=budget, feasible=margins, seed=seed)


def draw(axes: Axes, layout: np.ndarray, title: str, color: str) -> None:
    """Draw the map and a layout, each turbine with half of the distance that it keeps."""
    axes.fill(*LAND.T, facecolor=PAPER, edgecolor=INK, linewidth=1.2)
    axes.fill(*LAKE.T, facecolor="#b9d6ee", edgecolor=INK, linewidth=0.8)
    turn = np.linspace(0, 2 * np.pi, 60)
    for x, y in layout.reshape(-1, 2):
        axes.fill(x + APART / 2 * np.cos(turn), y + APART / 2 * np.sin(turn), color=color, alpha=0.2, linewidth=0)
        axes.plot(x, y, "o", color=color, markersize=6)
    axes.set_title(title, fontsize=10, color=INK)
    axes.set_aspect("equal")
    axes.axis("off")


def main() -> None:
    """Search, print the true energy of what is recommended, and save the picture of the last budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, nargs="+", default=[60], help="evaluations of a search (default 60)")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds: 0, 1, ... (default 1)")
    parser.add_argument("--picture", type=Path, default=Path("out") / "site_layout.png")
    options = parser.parse_args()

    farm = ob.problems.WindFarm(TURBINES, radius=1500, rose="iea37", spacing="constraint")
    print("true energy of a year of the layout recommended, MWh, and by how many metres it keeps the rules")
    for budget in options.budget:
        found: dict[str, list[Best]] = {name: [] for name in KINDS}
        for seed in range(options.seeds):
            for name, use_group in KINDS.items():
                best = search(farm, use_group, budget, seed)
                found[name].append(best)
                energy, room = farm.annual_energy(best.point), margins(best.point[None])[0]
                print(f"{budget:5} evaluations, seed {seed}, {name:18} {energy:9,.0f} {room:8.2g}")
    figure = new_figure(width=9.0, height=4.2)
    for axes, color, (name, runs) in zip(figure.subplots(1, 2), COLORS[:2], found.items(), strict=True):
        energy = farm.annual_energy(runs[0].point)
        draw(axes, runs[0].point, f"{name}, {budget} evaluations: {energy:,.0f} MWh", color)
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.picture, dpi=150, bbox_inches="tight")
    print(f"picture: {options.picture}")


if __name__ == "__main__":
    main()
