"""Eight turbines on a disk, played to the end: the same search with the group of the farm and without it.

A measurement is the efficiency of a layout, its share of the rated power over 16 winds that are
alike, with an error of half a percent. Judged is the true mean, which no search sees. `--seeds=3
--budget 100 300` plays more of the same.
"""

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

import orbandit as ob
from orbandit.optimize import Best
from orbandit.pictures.figures import new_figure
from orbandit.pictures.palette import COLORS, GRAY, INK, PAPER

KINDS = {"with the group": True, "without it": False}


def search(farm: ob.problems.WindFarm, use_group: bool, budget: int, seed: int) -> Best:
    """Search with the same seed for the agent and for the errors, with the group or without."""
    rng = np.random.default_rng(seed)

    def measure(layout: np.ndarray) -> float:
        return float(farm.sample(layout, rng))

    return ob.maximize(measure, farm.space, farm.group if use_group else None, budget=budget, seed=seed)


def draw_layout(farm: ob.problems.WindFarm, layout: np.ndarray, axes: Axes, color: str, name: str) -> None:
    """Draw turbines, and lines between those that take wind from each other, as wide as what the two alone lose."""
    radius, angles = farm.space.bounds[1][0], np.linspace(0, 2 * np.pi, 361)
    axes.fill(radius * np.cos(angles), radius * np.sin(angles), facecolor=PAPER, edgecolor=INK, linewidth=1.2)
    two = ob.problems.WindFarm(2, radius=radius)
    turbines = layout.reshape(-1, 2)
    for pair in combinations(turbines, 2):
        loss = 1 - float(two.mean(np.concatenate(pair)))
        axes.plot(*np.transpose(pair), color=GRAY, linewidth=60 * loss, solid_capstyle="butt")
    axes.plot(*turbines.T, "o", markersize=9, color=color, markeredgecolor="white", clip_on=False, zorder=3)
    axes.set_title(f"seed 0 {name}: {100 * farm.mean(layout):.1f} %", fontsize=10, color=INK)
    axes.set_aspect("equal")
    axes.axis("off")


def draw(farm: ob.problems.WindFarm, found: dict[str, list[Best]], path: Path) -> None:
    """Save a picture: what the first seed recommends, and the best true mean so far of all seeds and on average."""
    figure = new_figure(width=12.0, height=3.7)
    *disks, axes = figure.subplots(1, 3, width_ratios=(1, 1, 1.35))
    for place, color, (name, runs) in zip(disks, COLORS, found.items(), strict=False):
        draw_layout(farm, runs[0].point, place, color, name)
        curves = 100 * np.maximum.accumulate([farm.mean(best.history.points) for best in runs], axis=1)
        rounds = np.arange(1, curves.shape[1] + 1)
        axes.plot(rounds, curves.T, color=color, linewidth=0.8, alpha=0.5)
        axes.plot(rounds, curves.mean(axis=0), color=color, linewidth=2.2, label=name)
    axes.axhline(100 * farm.optimum, color=INK, linestyle="--", linewidth=1.2, zorder=1, label="best layout known")
    axes.set(xlim=(1, len(rounds)), ylim=(75, 100), xlabel="evaluations", ylabel="efficiency, % of the rated power")
    axes.set_title("best true mean so far, of each seed and on average", fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Play, print the true mean of what is recommended, and save the picture of the last budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, nargs="+", default=[100], help="evaluations of a search (default 100)")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds: 0, 1, ... (default 1)")
    parser.add_argument("--picture", type=Path, default=Path("out") / "eight_turbines.png")
    options = parser.parse_args()

    farm = ob.problems.WindFarm(8, noise=ob.problems.ClippedGaussian(0.005))
    print(f"true mean efficiency of the layout recommended; of the best layout known: {farm.optimum:.3f}")
    print(f"{'evaluations':>11}{'seed':>6}" + "".join(f"{name:>16}" for name in KINDS))
    for budget in options.budget:
        found: dict[str, list[Best]] = {name: [] for name in KINDS}
        for seed in range(options.seeds):
            for name, use_group in KINDS.items():
                found[name].append(search(farm, use_group, budget, seed))
            print(f"{budget:>11}{seed:>6}" + "".join(f"{farm.mean(runs[-1].point):16.3f}" for runs in found.values()))
        means = [np.mean([farm.mean(best.point) for best in runs]) for runs in found.values()]
        print(f"{budget:>11}{'mean':>6}" + "".join(f"{mean:16.3f}" for mean in means))
    draw(farm, found, options.picture)
    print(f"picture: {options.picture}")


if __name__ == "__main__":
    main()
