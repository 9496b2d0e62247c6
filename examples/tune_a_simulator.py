"""Tune a noisy simulator whose parameters are interchangeable, with one call, and go on after it crashed."""

import numpy as np

import orbandit as ob
from orbandit.errors import MeasurementError


class Simulator:
    """Four identical servers with a load limit each; returns a cost in dollars, and crashes now and then."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.calls = 0

    def cost(self, limits: np.ndarray) -> float:
        """Run once."""
        self.calls += 1
        if self.calls == 60:
            raise OSError("out of licences")
        ideal = np.array([0.25, 0.4, 0.75, 0.95])
        return float(900 + 400 * np.linalg.norm(np.sort(limits) - ideal) + 15 * self.rng.standard_normal())


def main() -> None:
    """Minimise the cost; the measurements made before the crash are kept."""
    servers, alike = ob.spaces.Box(0.0, 1.0, dim=4), ob.groups.Symmetric(4)
    simulator = Simulator(seed=0)
    try:
        best = ob.minimize(simulator.cost, servers, alike, budget=120, seed=1)
    except MeasurementError as error:
        print(f"stopped: {error.__cause__}; {len(error.history)} measurements kept")
        best = ob.minimize(simulator.cost, servers, alike, budget=61, history=error.history, seed=1)
    print(f"limits {np.round(best.point, 2).tolist()} cost about {best.value:.0f} dollars")
    print(f"average of all {len(best.history)} measurements: {best.history.values.mean():.0f}")


if __name__ == "__main__":
    main()
