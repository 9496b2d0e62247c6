"""Where OrbitTree plays: it zooms in on one image of the peak with the group, on all without."""

import sys

import numpy as np

import orbandit as ob
from orbandit.pictures.figures import as_picture_path, new_figure, save_picture
from orbandit.pictures.palette import COLORS, INK, PAPER

HORIZON, PLAYS = 3_000, 1_500


def main() -> None:
    """Play a cone on the disk under the pentagon's symmetries, with them and without."""
    path = as_picture_path(sys.argv[1] if len(sys.argv) > 1 else "out/gallery/zooming.png")
    disk, group = ob.spaces.Ball(2), ob.groups.Dihedral(5)
    cone = ob.problems.Cone(disk, group, peak=[0.55, 0.2])
    turn = np.linspace(0, 2 * np.pi, 361)
    peaks = group.orbit(cone.optimizer)
    figure = new_figure(width=9.0, height=5.2)
    for axes, use_group, color in zip(figure.subplots(1, 2), (True, False), COLORS, strict=False):
        runs = ob.simulate(ob.agents.OrbitTree, cone, HORIZON, seeds=1, n_plays=PLAYS, use_group=use_group, jobs=1)
        cells, counts = np.unique(runs.plays[0].round(9), axis=0, return_counts=True)
        axes.fill(np.cos(turn), np.sin(turn), facecolor=PAPER, edgecolor=INK, linewidth=1.2)
        axes.scatter(cells[:, 0], cells[:, 1], s=3 * counts, color=color, alpha=0.5, linewidth=0, label="cells played")
        axes.plot(*peaks.T, "+", color=INK, markersize=9, label="the peak and its images")
        name = "with the group" if use_group else "without it"
        title = f"{name}: {len(cells)} cells, regret {runs.regret[0, -1]:.0f}"
        axes.set_title(title, fontsize=10, color=INK)
        axes.set_aspect("equal")
        axes.axis("off")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, frameon=False, fontsize=9)
    save_picture(figure, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
