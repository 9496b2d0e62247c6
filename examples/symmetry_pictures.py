"""Is my problem symmetric? A picture of each stage: check a claim, find a group, allow for a break.

Four pumps are said to be interchangeable; the last one is older. `check_symmetry` measures points
together with their images, and names the swap that fails. `find_symmetry` asks the same of
measurements that were made anyway, and finds the group that is left. Then two pumps that are nearly
alike are tuned, once with an exact and once with an approximate symmetry. `--folder` says where the
pictures go.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import orbandit as ob
from orbandit.groups.check import SymmetryReport
from orbandit.optimize import Best
from orbandit.pictures.figures import new_figure
from orbandit.pictures.palette import COLORS, GRAY, INK, STAR
from orbandit.symmetry import FoundSymmetry

NOISE = 0.02
WEAR = np.array([1.0, 1.0, 1.0, 0.7])
PUMPS = ob.spaces.Box(0.0, 1.0, dim=4)
TWO = ob.spaces.Box(0.0, 1.0, dim=2)
BUDGET = 30


def efficiency(rates: np.ndarray) -> np.ndarray:
    """Return what four pumps deliver, less the power that they draw, for each row of rates."""
    return np.asarray((np.sqrt(rates) * WEAR).sum(axis=1) - 0.1 * rates.sum(axis=1) ** 1.5)


def two_pumps(rates: np.ndarray) -> np.ndarray:
    """Return the mean of two pumps that are nearly alike: of two good ways to run them one is better."""
    squares = [((rates - peak) ** 2).sum(axis=1) for peak in ([0.75, 0.25], [0.25, 0.75])]
    return np.asarray(np.exp(-squares[0] / 0.06) + 0.85 * np.exp(-squares[1] / 0.06))


def draw_check(report: SymmetryReport, path: Path) -> None:
    """Draw what was measured at a point and at its image, and the asymmetry of each swap."""
    figure = new_figure(width=8.4, height=3.6)
    pairs, bars = figure.subplots(1, 2)
    points, values = report.history.points, report.history.values
    rows = range(len(report.checks))
    colors = [COLORS[0] if check.holds else COLORS[1] for check in report.checks]
    for row, check, color in zip(rows, report.checks, colors, strict=True):
        if check.point is None:  # not compared: the answer was clear before
            continue
        here = np.abs(points - check.point).max(axis=1) < 1e-9
        there = np.abs(points - check.generator @ check.point).max(axis=1) < 1e-9
        center = (values[here].mean() + values[there].mean()) / 2
        for place, own in ((row - 0.15, here), (row + 0.15, there)):
            pairs.scatter(np.full(own.sum(), place), values[own] - center, color=color, alpha=0.6)
            pairs.plot([place - 0.1, place + 0.1], [values[own].mean() - center] * 2, color=INK)
    pairs.set_xticks([row + side for row in rows for side in (-0.15, 0.15)], ["x", "g x"] * len(rows))
    pairs.set_ylabel("measured, less the mean of both")
    pairs.set_title("g swaps 0 and 1, 1 and 2, 2 and 3", fontsize=10, color=INK)
    bars.barh(rows, [check.asymmetry for check in report.checks], color=colors)
    bars.set_yticks(rows, [check.description for check in report.checks])
    bars.axvline(report.variation, color=GRAY, linestyle="--")
    bars.set_xlabel("asymmetry; dashed: unrelated points")
    bars.set_title(f"{report.evaluations} measurements", fontsize=10, color=INK)
    _save(figure, path)


def draw_find(report: FoundSymmetry, path: Path) -> None:
    """Draw the evidence for each candidate, the likeliest first."""
    rows = sorted(report.evidence, key=lambda row: row.log_odds)[-14:]
    figure = new_figure(width=8.4, height=4.2)
    axes = figure.subplots()
    colors = [COLORS[0] if row.accepted else GRAY for row in rows]
    axes.barh(range(len(rows)), [row.log_odds for row in rows], color=colors)
    axes.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=8)
    axes.axvline(np.log(1 / report.level), color=COLORS[1], linestyle="--")
    axes.axvline(0.0, color=INK, linewidth=1)
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xticks([-100, -10, 0, 10], ["-100", "-10", "0", "10"])
    axes.set_xlabel("log posterior odds that it holds; dashed: what is asked of it")
    axes.set_title(f"{report.measurements} measurements: {report.group!r}", fontsize=10, color=INK)
    _save(figure, path)


def draw_approximate(searches: dict[str, Best], path: Path) -> None:
    """Draw the mean of two pumps, where each search measured, and what it recommends."""
    grid = np.linspace(0.0, 1.0, 101)
    places = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    heights = two_pumps(places).reshape(len(grid), -1)
    figure = new_figure(width=8.4, height=4.2)
    for axes, (name, best) in zip(figure.subplots(1, 2, sharey=True), searches.items(), strict=True):
        axes.contour(grid, grid, heights, levels=12, colors=GRAY, linewidths=0.8)
        axes.plot([0, 1], [0, 1], color=INK, linestyle="--", linewidth=1)
        axes.scatter(*best.history.points.T, color=COLORS[0], s=16, zorder=3, label="measured")
        axes.scatter(*best.point, color=STAR, marker="*", s=160, zorder=4, label="recommended")
        true = float(two_pumps(best.point[None])[0])
        axes.set_title(f"{name}: true mean {true:.2f}", fontsize=10, color=INK)
        axes.set_xlabel("rate of the first pump")
        axes.set_aspect("equal")
    figure.axes[0].set_ylabel("rate of the second pump")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), frameon=False, ncols=2, loc="outside lower center")
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    print(f"picture: {path}")


def main() -> None:
    """Check, find and search, and draw each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("out"), help="of the pictures")
    folder = parser.parse_args().folder
    rng = np.random.default_rng(0)

    def measure(rates: np.ndarray) -> float:
        return float(efficiency(rates[None])[0] + NOISE * rng.normal())

    claim = ob.check_symmetry(measure, PUMPS, ob.groups.Symmetric(4), rng=0)
    print(f"check: {', '.join(check.description for check in claim.failed)} fails")
    draw_check(claim, folder / "symmetry_check.png")

    points = PUMPS.sample(80, rng)
    found = ob.find_symmetry(points, efficiency(points) + NOISE * rng.normal(size=len(points)), PUMPS)
    print(f"find: {found.group!r}")
    draw_find(found, folder / "symmetry_find.png")

    def noisy(rates: np.ndarray) -> float:
        return float(two_pumps(rates[None])[0] + NOISE * rng.normal())

    swap, searches = ob.groups.Symmetric(2), dict[str, Best]()
    for kind in ("exact", "approximate"):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            searches[kind] = ob.maximize(noisy, TWO, swap, budget=BUDGET, symmetry=kind, seed=0, progress=False)
        for warning in said:
            print(f"{kind}: {warning.message}")
        print(f"{kind}: true mean {float(two_pumps(searches[kind].point[None])[0]):.2f} of 1.00")
    draw_approximate(searches, folder / "symmetry_approximate.png")


if __name__ == "__main__":
    main()
