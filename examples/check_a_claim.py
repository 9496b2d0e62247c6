"""Is the simulator really symmetric? Ask before you rely on it, and search with what the answer cost.

Three pumps are said to be interchangeable. One of them is older: the check says which swap gives it
away. Either way its measurements are the first ones of the search, which is told the symmetry that
is left.
"""

from functools import partial

import numpy as np

import orbandit as ob


def main() -> None:
    """Check the claim for a fair and for an unfair set of pumps."""
    rng = np.random.default_rng(0)
    space, group = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)

    def efficiency(rates: np.ndarray, wear: np.ndarray) -> float:
        """Return a noisy measurement of how much three pumps deliver for the power they draw."""
        delivered = np.sum(np.sqrt(rates) * wear)
        return float(delivered - 0.4 * rates.sum() + rng.normal(scale=0.05))

    two_alike = ob.groups.Product(ob.groups.Symmetric(2), ob.groups.Trivial(1))
    for name, wear in {"three new pumps": np.ones(3), "the last one old": np.array([1.0, 1.0, 0.7])}.items():
        measure = partial(efficiency, wear=wear)
        report = ob.check_symmetry(measure, space, group)
        print(f"{name}: {report}")
        best = ob.maximize(measure, space, group if report else two_alike, budget=60, history=report.history, seed=0)
        print(f"best of {len(best.history)} measurements: {best.value:.2f} at {best.point.round(1).tolist()}\n")


if __name__ == "__main__":
    main()
