"""Three turbines on a disk: what it is worth to know that they are alike, and that the wind comes from everywhere.

Each measurement is the power of the farm in one wind direction. Of 192 layouts that are the same
farm, turned, mirrored or with turbines exchanged, the agent that knows the group learns about all
from any.
"""

from pathlib import Path

import numpy as np

import orbandit as ob
from orbandit.pictures.figures import new_figure
from orbandit.pictures.palette import DOT, INK, PAPER


def draw_layout(farm: ob.problems.WindFarm, path: Path) -> None:
    """Save a picture of the best layout that is known: turbines, and lines along the winds through each."""
    figure = new_figure(width=4.0, height=4.2)
    axes = figure.add_subplot(aspect="equal")
    radius, angles = farm.space.bounds[1][0], np.linspace(0, 2 * np.pi, 361)
    axes.fill(radius * np.cos(angles), radius * np.sin(angles), facecolor=PAPER, edgecolor=INK)
    for x, y in farm.optimizer.reshape(-1, 2):
        for angle in np.pi / 8 * np.arange(8):
            axes.axline((x, y), (x + np.sin(angle), y + np.cos(angle)), color=DOT, linewidth=0.4)
        axes.plot(x, y, "o", color=INK)
    axes.set(
        xlim=(-1.1 * radius, 1.1 * radius), ylim=(-1.1 * radius, 1.1 * radius), xlabel="east, m", ylabel="north, m"
    )
    axes.set_title(f"{100 * farm.optimum:.1f} % of the rated power, in 16 winds", fontsize=10)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Play with and without the group, print the regrets, and save two pictures."""
    farm = ob.problems.WindFarm(3)
    print(f"best layout {farm.optimum:.4f}, slope at most {farm.lipschitz:.2g} / m, {farm.group!r}")
    runs = {
        "knowing the group": ob.simulate(ob.agents.OrbitTree, farm, horizon=2500, seeds=3),
        "blind": ob.simulate(ob.agents.OrbitTree, farm, horizon=2500, seeds=3, use_group=False),
    }
    means = {name: run.regret[:, -1].mean() for name, run in runs.items()}
    for name, mean in means.items():
        print(f"{name:>18}: regret {mean:.0f} after 2,500 measurements")
    print(f"{'ratio':>18}: {means['knowing the group'] / means['blind']:.2f}")
    out = Path("out")
    out.mkdir(exist_ok=True)
    ob.reports.regret_picture(runs, out / "wind_farm.png", "Three turbines, wind from 16 directions")
    draw_layout(farm, out / "wind_farm_layout.png")
    print(f"{'pictures':>18}: {out / 'wind_farm.png'}, {out / 'wind_farm_layout.png'}")


if __name__ == "__main__":
    main()
