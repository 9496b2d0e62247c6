"""Where to put six sensors in a room of 10 m by 6 m: a search, and its picture by `best.plot`."""

import sys

import numpy as np

import orbandit as ob

ROOM, SENSORS, REACH = np.array([10.0, 6.0]), 6, 1.6
SPOTS = np.stack(np.meshgrid(np.linspace(0, 10, 41), np.linspace(0, 6, 25)), axis=-1).reshape(-1, 2)


def detected(layout: np.ndarray) -> float:
    """Return how much of the floor is detected, in %: each sensor misses more the farther it is."""
    squares = ((SPOTS[:, None] - layout.reshape(-1, 2)) ** 2).sum(axis=2)
    missed = np.prod(1 - np.exp(-squares / (2 * REACH**2)), axis=1)
    return float(100 * (1 - missed).mean())


def main() -> None:
    """Search with measurements that err by one percent, and draw the search."""
    path = sys.argv[1] if len(sys.argv) > 1 else "out/gallery/sensors.png"
    rng = np.random.default_rng(0)
    best = ob.maximize(
        lambda layout: detected(layout) + rng.normal(),
        ob.spaces.Box([0, 0], ROOM) ** SENSORS,
        ob.groups.BlockPermutation(SENSORS, 2),
        budget=120,
        seed=0,
    )
    best.plot(path, label="floor detected, %", names=["x, m", "y, m"])
    print(f"floor detected: {detected(best.point):.1f} %, estimated {best.value:.1f} %")
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
