"""Is the simulator really symmetric? Ask before you rely on it.

Three pumps are said to be interchangeable. One of them is older: the check says which swap gives it away.
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

    for name, wear in {"three new pumps": np.ones(3), "the last one old": np.array([1.0, 1.0, 0.7])}.items():
        report = ob.check_symmetry(partial(efficiency, wear=wear), space, group)
        print(f"{name}: {report}\n")


if __name__ == "__main__":
    main()
