"""How good the recommended point is after so many rounds, of four agents that know one group."""

import sys

import numpy as np

import orbandit as ob
from orbandit.pictures.figures import as_picture_path, new_figure, save_picture
from orbandit.pictures.palette import COLORS, INK

AGENTS = [ob.agents.OrbitTree, ob.agents.UniformMesh, ob.agents.Zooming, ob.agents.HOO]
HORIZON, SEEDS = 20_000, 8


def main() -> None:
    """Play a cone on the cube, whose coordinates may be permuted."""
    path = as_picture_path(sys.argv[1] if len(sys.argv) > 1 else "out/gallery/simple_regret.png")
    cone = ob.problems.Cone(ob.spaces.Box(0, 1, dim=3), ob.groups.Symmetric(3), peak=[0.2, 0.5, 0.8])
    figure = new_figure(width=7.2, height=4.2)
    axes = figure.add_subplot()
    for color, agent in zip(COLORS, AGENTS, strict=False):
        runs = ob.simulate(agent, cone, HORIZON, seeds=SEEDS)
        low, middle, high = np.quantile(np.asarray(runs.simple_regret), [0.25, 0.5, 0.75], axis=0)
        axes.plot(runs.checkpoints, middle, color=color, linewidth=1.8)
        axes.fill_between(runs.checkpoints, low, high, color=color, alpha=0.15, linewidth=0)
        end = (runs.checkpoints[-1], middle[-1])
        axes.annotate(
            agent.__name__, end, xytext=(6, 0), textcoords="offset points", color=color, va="center", fontsize=9
        )
    axes.set(xscale="log", yscale="log", xlabel="rounds", ylabel="simple regret", xlim=(10, HORIZON))
    axes.set_title(f"median and quartiles of {SEEDS} seeds", fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    save_picture(figure, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
