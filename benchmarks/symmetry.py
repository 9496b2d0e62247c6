"""How many evaluations `check_symmetry` takes, in the median of 40 seeds.

Prints the table of docs/concepts/groups.md.
"""

from collections.abc import Callable

import numpy as np

import orbandit as ob
from orbandit._checks import Array

SCALES = (0.0, 0.1, 0.2, 0.5)
MEANS: dict[str, tuple[int, Callable[[Array], float]]] = {
    "3 machines, one unlike the others": (3, lambda x: float(x.sum() + x[2])),
    "3 machines, all alike": (3, lambda x: float(x.sum())),
    "20 machines, one unlike the others": (20, lambda x: float(x.sum() + x[7])),
    "20 machines, all alike": (20, lambda x: float(x.sum())),
}


def checked(mean: Callable[[Array], float], dim: int, scale: float, seed: int) -> ob.groups.SymmetryReport:
    """Check one noisy function of so many machines."""
    rng = np.random.default_rng([seed, 1])
    space, group = ob.spaces.Box(0.0, 1.0, dim=dim), ob.groups.Symmetric(dim)
    return ob.check_symmetry(lambda x: mean(x) + scale * rng.normal(), space, group, rng=seed)


def main() -> None:
    """Print the table."""
    print("| noise | " + " | ".join(map(str, SCALES)) + " |\n|" + " --- |" * (len(SCALES) + 1))
    for name, (dim, mean) in MEANS.items():
        cells = []
        for scale in SCALES:
            reports = [checked(mean, dim, scale, seed) for seed in range(40)]
            right = sum(report.clear and report.invariant == name.endswith("alike") for report in reports)
            cells.append(f"{np.median([report.evaluations for report in reports]):.0f} ({right / 40:.0%})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
