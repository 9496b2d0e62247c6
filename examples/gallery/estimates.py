"""What OrbitGP makes of the same twelve measurements with a group and without."""

import sys

import numpy as np

import orbandit as ob
from orbandit.pictures.figures import as_picture_path, new_figure, save_picture
from orbandit.pictures.palette import INK, STAR

POINTS, GRID = 12, 61


def truth(points: np.ndarray) -> np.ndarray:
    """Return a mean that does not change if the two coordinates are swapped."""
    low, high = np.sort(points, axis=-1).T
    return np.asarray(0.9 * np.exp(-8 * ((low - 0.25) ** 2 + (high - 0.75) ** 2)))


def main() -> None:
    """Tell both agents the same, and draw the truth and what each expects everywhere."""
    path = as_picture_path(sys.argv[1] if len(sys.argv) > 1 else "out/gallery/estimates.png")
    square, swap = ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2)
    told = square.sample(POINTS, 3)
    side = np.linspace(0, 1, GRID)
    places = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    fields = {"the mean": truth(places)}
    for name, group in (("with the group", swap), ("without it", None)):
        agent = ob.agents.OrbitGP(square, group, horizon=POINTS, seed=0)
        agent.tell_batch(told, truth(told))
        fields[name] = np.array([agent.estimate(place) for place in places])
    figure = new_figure(width=10.0, height=3.8)
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    for axes, (name, field) in zip(panels, fields.items(), strict=True):
        error = np.abs(field - fields["the mean"]).mean()
        levels = np.linspace(0, 1, 21)
        image = axes.contourf(side, side, field.reshape(GRID, GRID), levels, cmap="cividis")
        axes.plot([0, 1], [0, 1], color="white", linewidth=1, linestyle="--")
        axes.plot(*told.T, "o", color=STAR, markeredgecolor="white", markersize=6, clip_on=False, label="measured")
        title = name if name == "the mean" else f"{name}: mean error {error:.3f}"
        axes.set_title(title, fontsize=10, color=INK)
        axes.set(xlabel="$x_1$", aspect="equal")
    panels[0].set_ylabel("$x_2$")
    figure.colorbar(image, ax=panels, label="mean reward", pad=0.02)
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", frameon=False)
    save_picture(figure, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
