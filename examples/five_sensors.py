"""Five gas sensors in a hall, the problem of "Getting started": with the group and without it.

A measurement releases gas 400 times, each time at one of 40 valves, and returns the percentage that
was detected. Judged is the true mean, which no search sees. `--seeds=5 --budget 60 120` plays more.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import minimize

import orbandit as ob
from orbandit.optimize import Best
from orbandit.pictures.figures import new_figure
from orbandit.pictures.palette import COLORS, INK, PAPER

HALL = ob.spaces.Box([0.0, 0.0], [100.0, 60.0])
"""In metres."""
PLACES = np.repeat([[12, 12], [20, 48], [50, 30], [84, 14], [80, 50]], 8, axis=0)
VALVES = HALL.project(PLACES + np.random.default_rng(7).normal(scale=6.0, size=PLACES.shape))
"""Where gas may leak: eight valves about each of five places."""
SENSORS, REACH, RELEASES = 5, 10.0, 400
KINDS = {"with the group": ob.groups.BlockPermutation(SENSORS, 2), "without it": None}


def detected(layouts: np.ndarray) -> np.ndarray:
    """Return the true percentages: a sensor detects a leak at r with exp(-r^2 / 2 REACH^2)."""
    sensors = np.reshape(layouts, (-1, SENSORS, 1, 2))
    squares = ((sensors - VALVES) ** 2).sum(axis=3)
    missed = np.prod(1 - np.exp(-squares / (2 * REACH**2)), axis=1)
    return np.asarray(100 * (1 - missed.mean(axis=1)))


def search(group: ob.groups.Group | None, budget: int, seed: int) -> Best:
    """Search with the same seed for the agent and for the releases."""
    rng = np.random.default_rng(seed)

    def measure(layout: np.ndarray) -> float:
        return float(100 * rng.binomial(RELEASES, detected(layout)[0] / 100) / RELEASES)

    return ob.maximize(measure, HALL**SENSORS, group, budget=budget, seed=seed)


def best_known() -> float:
    """Return the largest percentage that ten local searches find, which know the true means."""
    bounds = list(zip(*(HALL**SENSORS).bounds, strict=True))
    starts = (HALL**SENSORS).sample(10, rng=0)

    def loss(layout: np.ndarray) -> float:
        return -float(detected(layout)[0])

    return max(-float(minimize(loss, start, bounds=bounds).fun) for start in starts)


def draw_hall(axes: Axes, layout: np.ndarray, color: str, title: str, names: str = "") -> None:
    """Draw the hall, its valves, and the sensors of a layout with their reach and names."""
    axes.fill([0, 100, 100, 0], [0, 0, 60, 60], facecolor=PAPER, edgecolor=INK, linewidth=1.2)
    sensors, angles = layout.reshape(-1, 2), np.linspace(0, 2 * np.pi, 91)
    circle = REACH * np.column_stack([np.cos(angles), np.sin(angles)])
    for name, (x, y) in zip(names or " " * SENSORS, sensors, strict=True):
        axes.fill(*HALL.project(np.array([x, y]) + circle).T, facecolor=color, alpha=0.18, linewidth=0)
        place = (6 if x < 94 else -13, 5)
        axes.annotate(name, (x, y), place, textcoords="offset points", fontsize=10, color=INK)
    axes.plot(*VALVES.T, "x", markersize=4.5, color=INK, alpha=0.7)
    axes.plot(*sensors.T, "o", markersize=8, color=color, markeredgecolor="white", clip_on=False)
    axes.set_title(title, fontsize=10, color=INK)
    axes.set_aspect("equal")
    axes.axis("off")


def draw_problem(path: Path) -> None:
    """Save a picture of one layout, described in two orders, and one random layout besides."""
    figure = new_figure(width=12.0, height=2.9)
    layout, other = (HALL**SENSORS).sample(2, rng=2)
    turned = np.roll(layout.reshape(-1, 2), 2, axis=0).ravel()
    shown = ((layout, "a layout"), (turned, "the same, in another order"), (other, "another layout"))
    for axes, color, (one, name) in zip(figure.subplots(1, 3), (COLORS[0], COLORS[0], COLORS[2]), shown, strict=True):
        draw_hall(axes, one, color, f"{name}: {detected(one)[0]:.1f} % detected", "12345")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def draw_search(found: dict[str, list[Best]], best: float, path: Path) -> None:
    """Save a picture: what the first seed recommends, and the best true mean so far."""
    figure = new_figure(width=12.0, height=3.3)
    *halls, axes = figure.subplots(1, 3, width_ratios=(1.2, 1.2, 1))
    for place, color, (name, runs) in zip(halls, COLORS, found.items(), strict=False):
        draw_hall(place, runs[0].point, color, f"seed 0 {name}: {detected(runs[0].point)[0]:.1f} %")
        curves = np.maximum.accumulate([detected(run.history.points) for run in runs], axis=1)
        rounds = np.arange(1, curves.shape[1] + 1)
        axes.plot(rounds, curves.T, color=color, linewidth=0.8, alpha=0.5)
        axes.plot(rounds, curves.mean(axis=0), color=color, linewidth=2.2, label=name)
    axes.axhline(best, color=INK, linestyle="--", linewidth=1.2, label="best layout known")
    axes.set(xlim=(1, len(rounds)), xlabel="evaluations", ylabel="detected, %")
    axes.set_title("best true mean so far, each seed and mean", fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False, fontsize=9)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Search, print the true means of what is recommended, and save the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, nargs="+", default=[40], help="evaluations of a search (default 40)")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds: 0, 1, ... (default 1)")
    parser.add_argument("--pictures", type=Path, default=Path("out"), help="folder for the pictures (default out)")
    options = parser.parse_args()

    draw_problem(options.pictures / "sensors_problem.png")
    best, random = best_known(), detected((HALL**SENSORS).sample(10_000, rng=0))
    print(f"detected, %: random layouts {random.mean():.1f}, best of 10,000 {random.max():.1f}, best known {best:.1f}")
    print(f"{'evaluations':>11}{'seed':>6}" + "".join(f"{name:>16}" for name in KINDS))
    for budget in options.budget:
        found: dict[str, list[Best]] = {name: [] for name in KINDS}
        for seed in range(options.seeds):
            for name, group in KINDS.items():
                found[name].append(search(group, budget, seed))
            last = [detected(runs[-1].point)[0] for runs in found.values()]
            print(f"{budget:>11}{seed:>6}" + "".join(f"{value:16.1f}" for value in last))
        means = [np.mean([detected(run.point)[0] for run in runs]) for runs in found.values()]
        print(f"{budget:>11}{'mean':>6}" + "".join(f"{mean:16.1f}" for mean in means))
    draw_search(found, best, options.pictures / "sensors_search.png")
    print(f"pictures: {options.pictures / 'sensors_problem.png'}, {options.pictures / 'sensors_search.png'}")


if __name__ == "__main__":
    main()
