"""How six equal pumps share a flow of 300 l/s: parallel coordinates, by `best.plot`."""

import sys

import numpy as np

import orbandit as ob
from orbandit.pictures.figures import as_picture_path, save_picture

PUMPS, FLOW = 6, 300.0


def power(flows: np.ndarray) -> float:
    """Return the power in kW: what a pump takes to turn at all, and what its flow takes."""
    return float((6 * (1 - np.exp(-flows / 8)) + 0.1 * flows + 0.0008 * flows**2).sum())


def main() -> None:
    """Search for the least power, measured to within 0.5 kW, and draw the search."""
    path = as_picture_path(sys.argv[1] if len(sys.argv) > 1 else "out/gallery/pumps.png")
    rng = np.random.default_rng(0)
    best = ob.minimize(
        lambda flows: power(flows) + 0.5 * rng.normal(),
        ob.spaces.Simplex(PUMPS, total=FLOW),
        ob.groups.Symmetric(PUMPS),
        budget=60,
        seed=0,
    )
    figure = best.plot(label="power, kW", names=[f"pump {i + 1}" for i in range(PUMPS)])
    figure.axes[1].set_ylabel("flow, l/s")
    figure.axes[1].set_title("Flows, the pumps sorted by them", fontsize=10)
    save_picture(figure, path)
    print(f"recommended flows: {np.sort(best.point).round(0).tolist()} l/s, {power(best.point):.1f} kW")
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
