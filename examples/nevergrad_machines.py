"""Four like machines through Nevergrad: the optimiser is told that they may change places, the loop is as ever.

Nevergrad minimises, so the loss is the reward with its sign changed. Each evaluation simulates the
queues once; what is recommended is the best by all of them together, not the luckiest one.
"""

import nevergrad as ng
import numpy as np

import orbandit as ob

BUDGET = 100


def main() -> None:
    """Search with and without the symmetry."""
    problem = ob.problems.IdenticalMachines(4)
    for name, group in {"exchangeable": ob.groups.Symmetric(4), "blind": None}.items():
        rng = np.random.default_rng(0)
        affinities = ng.p.Array(shape=(4,), lower=0.0, upper=1.0)
        affinities.random_state.seed(0)
        make = ob.integrations.nevergrad.OrbitOptimizer(group=group)
        optimizer = make(affinities, budget=BUDGET)
        for _ in range(BUDGET):
            candidate = optimizer.ask()
            optimizer.tell(candidate, -float(problem.sample(candidate.value, rng)))
        best = optimizer.recommend().value
        shares, mean = ", ".join(f"{x:.2f}" for x in best), float(problem.mean(best))
        print(f"{name:>12}: recommends {shares}, of true mean {mean:.3f} (optimum {problem.optimum:.3f})")


if __name__ == "__main__":
    main()
