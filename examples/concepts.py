"""Pictures of the concepts: the fold, the orbit metric, invariant kernels, and nets of a quotient.

`--pictures=docs/images` makes those of the guide.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

import orbandit as ob
from orbandit.pictures.figures import new_figure
from orbandit.pictures.palette import COLORS, GRAY, INK, PAPER, SHADE, STAR

SQUARE, SWAP = ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2)
DISK, ANGLES = ob.spaces.Ball(2), np.linspace(0, 2 * np.pi, 181)
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
CORNERS = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
LENGTH = 0.2
"""The length scale of the kernels."""
SHADES = LinearSegmentedColormap.from_list("shades", [PAPER, COLORS[5], COLORS[0], INK])


def gaussian(squares: np.ndarray) -> np.ndarray:
    """Return the squared exponential kernel of squared distances."""
    return np.asarray(np.exp(-squares / (2 * LENGTH**2)))


def averaged(group: ob.groups.Group, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the orbit-averaged kernel, the mean over g of k(g a, b), for points in rows."""
    images = group.act(group.elements(), a)
    squares = ((images[:, :, None] - b) ** 2).sum(axis=3)
    return np.asarray(gaussian(squares).mean(axis=0))


def normalised(group: ob.groups.Group, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the orbit-averaged kernel, scaled to prior variances of 1."""
    moves = [group.act(group.elements(), side) - side for side in (a, b)]
    variances = [gaussian((move**2).sum(axis=2)).mean(axis=0) for move in moves]
    return np.asarray(averaged(group, a, b) / np.sqrt(np.outer(*variances)))


def finish(axes: Axes, title: str, low: float, high: float) -> None:
    """Give a panel its title and limits, the same for all panels of a picture."""
    axes.set_title(title, fontsize=10, color=INK)
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    axes.axis("off")


def plot_field(axes: Axes, outline: np.ndarray, grid: np.ndarray, values: np.ndarray, top: float) -> None:
    """Draw filled contours of values from 0 to a top on a grid (k, k, 2), within an outline."""
    (clip,) = axes.fill(*outline.T, facecolor="none", edgecolor=INK, linewidth=1.2, zorder=3)
    levels = np.linspace(0, top, 13)
    drawn = axes.contourf(grid[..., 0], grid[..., 1], values, levels=levels, cmap=SHADES, extend="both")
    drawn.set_clip_path(clip)


def grid_of(low: float, high: float, count: int = 121) -> np.ndarray:
    """Return the points of a square grid, (count, count, 2)."""
    ticks = np.linspace(low, high, count)
    return np.stack(np.meshgrid(ticks, ticks), axis=2)


def fold_picture() -> Figure:
    """Draw a square of exchangeable coordinates, folded along its diagonal like a sheet of paper."""
    figure = new_figure(width=7.6, height=3.9)
    points = np.random.default_rng(4).permutation(SQUARE.sample(14, rng=4))
    folds = SWAP.fold(points)
    moved = np.abs(points - folds).max(axis=1) > 0
    before, after = figure.subplots(1, 2)
    before.fill(*CORNERS.T, facecolor=PAPER, edgecolor=INK, linewidth=1.2)
    for axes in (before, after):
        axes.fill(*CORNERS[[0, 2, 3]].T, facecolor=SHADE, edgecolor=INK, linewidth=1.2)
        axes.plot(*points[~moved].T, "o", color=COLORS[0], markeredgecolor="white", markersize=7)
    before.plot(*points[moved].T, "o", color=COLORS[1], markeredgecolor="white", markersize=7)
    after.plot(*folds[moved].T, "o", color=COLORS[1], markeredgecolor="white", markersize=7)
    for (x, y), (u, v) in zip(points[moved], folds[moved], strict=True):
        style = {"arrowstyle": "->", "color": GRAY, "shrinkA": 4, "shrinkB": 0}
        before.annotate("", (u, v), (x, y), arrowprops=style)
    finish(before, "points, and where the swap folds them", -0.03, 1.03)
    finish(after, "the quotient: a triangle", -0.03, 1.03)
    return figure


def metric_picture() -> Figure:
    """Draw contours of the plain distance and of the orbit distance to one point, in two spaces."""
    figure = new_figure(width=11.0, height=3.2)
    scenes = (
        (SWAP, CORNERS, grid_of(0, 1), np.array([0.75, 0.3]), "swap"),
        (ob.groups.Dihedral(5), CIRCLE, grid_of(-1, 1), np.array([0.44, 0.52]), "Dihedral(5)"),
    )
    panels = iter(figure.subplots(1, 4))
    for group, outline, grid, point, name in scenes:
        flat, (low, high) = grid.reshape(-1, 2), (grid.min() - 0.03, grid.max() + 0.03)
        for one, title in ((ob.groups.Trivial(2), "plain distance"), (group, f"orbit distance, {name}")):
            axes, distances = next(panels), np.asarray(one.distance(point, flat)).reshape(grid.shape[:2])
            top = 0.55 * (high - low)
            plot_field(axes, outline, grid, top - distances, top)
            axes.plot(*one.orbit(point).T, "o", color="white", markersize=4, zorder=4)
            axes.plot(*point, "*", color=STAR, markeredgecolor="white", markersize=13, zorder=5)
            finish(axes, title, low, high)
    return figure


def kernel_picture() -> Figure:
    """Draw a plain kernel and three invariant ones about a point of a disk."""
    figure = new_figure(width=11.0, height=3.5)
    group, point, grid = ob.groups.Dihedral(3), np.array([[0.6, 0.2]]), grid_of(-1, 1)
    flat, shape = grid.reshape(-1, 2), grid.shape[:2]
    kernels = {
        "plain kernel": gaussian(((flat - point) ** 2).sum(axis=1)),
        "max kernel, Dihedral(3)": gaussian(np.asarray(group.distance(point[0], flat)) ** 2),
        "orbit-averaged kernel": averaged(group, flat, point),
        "averaged, variances scaled to 1": normalised(group, flat, point),
    }
    for axes, (name, values) in zip(figure.subplots(1, 4), kernels.items(), strict=True):
        plot_field(axes, CIRCLE, grid, values.reshape(shape), float(values.max()))
        axes.plot(*point[0], "*", color=STAR, markeredgecolor="white", markersize=13, zorder=5)
        finish(axes, f"{name}\nlargest value {values.max():.2f}", -1.03, 1.03)
    return figure


def net_picture() -> Figure:
    """Draw nets of a disk and of its orbits, with the same radius."""
    figure = new_figure(width=7.6, height=3.9)
    group, delta = ob.groups.Dihedral(5), 0.15
    nets = {
        "a net of the disk": ob.meshes.net(DISK, delta),
        "a net of its orbits": ob.meshes.quotient_net(DISK, group, delta),
    }
    for axes, color, (name, mesh) in zip(figure.subplots(1, 2), COLORS[1::-1], nets.items(), strict=True):
        axes.fill(*CIRCLE.T, facecolor=PAPER, edgecolor=INK, linewidth=1.2)
        for point in mesh.points:
            axes.fill(*(point + delta * CIRCLE).T, facecolor=color, alpha=0.16, edgecolor=color, linewidth=0.5)
        axes.plot(*mesh.points.T, "o", color=color, markersize=4)
        finish(axes, f"{name}, radius {delta}: {len(mesh)} points", -1.17, 1.17)
    return figure


def main() -> None:
    """Save the pictures, and print the figures of the guide."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, default=Path("out"), help="folder for the pictures (default out)")
    folder: Path = parser.parse_args().pictures
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {"fold": fold_picture, "orbit_metric": metric_picture, "kernels": kernel_picture, "nets": net_picture}
    for name, make in pictures.items():
        make().savefig(folder / f"{name}.png", dpi=130)
        print(f"picture: {folder / name}.png")
    points = DISK.sample(200, rng=0)
    for group in (ob.groups.Dihedral(3), ob.groups.Cyclic(3)):
        squares = np.asarray(group.distance(points, points)) ** 2
        least = float(np.linalg.eigvalsh(gaussian(squares)).min())
        print(f"{group!r}: least eigenvalue of the max kernel on 200 points {round(least, 6) + 0.0:.2f}")


if __name__ == "__main__":
    main()
