"""What four workers cost in regret, and gain in time, beside one, for the same number of measurements.

Run as `OPENBLAS_NUM_THREADS=1 python benchmarks/workers.py`; it takes about two minutes. A
measurement sleeps for 0.05 to 0.15 s, as a call of a simulator would, and the workers are threads.
Simple regret is that of the point recommended.
"""

import argparse
import threading
import time
from collections.abc import Callable

import numpy as np

import orbandit as ob
from orbandit._checks import Array

PROBLEMS: dict[str, tuple[int, ob.groups.Group]] = {
    "3 numbers in any order": (3, ob.groups.Symmetric(3)),
    "3 pairs in any order": (6, ob.groups.BlockPermutation(3, 2)),
}
WORKERS = (1, 2, 4)


class Simulator:
    """A smooth function with a peak somewhere, noise, and a time that varies; threads may share it."""

    def __init__(self, group: ob.groups.Group, seed: int, sleep: Callable[[float], None]) -> None:
        self._group, self._sleep, self._lock = group, sleep, threading.Lock()
        self._rng = np.random.default_rng(seed)
        self._peak = self._rng.uniform(0.1, 0.9, group.dim)

    def mean(self, x: Array) -> float:
        """Return 1 at the peak and its images, and less elsewhere."""
        return float(np.exp(-((self._group.distance(x, self._peak) / 0.4) ** 2)))

    def measure(self, x: Array) -> float:
        """Return the mean and some noise, after a while."""
        with self._lock:
            seconds, noise = self._rng.uniform(0.05, 0.15), self._rng.normal(0.0, 0.02)
        self._sleep(seconds)
        return self.mean(x) + noise


def main() -> None:
    """Print a line for each problem and number of workers."""
    parser = argparse.ArgumentParser(description="Compare numbers of workers.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=60)
    chosen = parser.parse_args()
    for name, (dim, group) in PROBLEMS.items():
        space = ob.spaces.Box(0.0, 1.0, dim=dim)
        ob.maximize(lambda x: float(x.sum()), space, group, budget=20, seed=0)  # compiles
        print(f"{name}, {chosen.budget} measurements, {chosen.seeds} seeds")
        for workers in WORKERS:
            regrets, seconds = [], []
            for seed in range(chosen.seeds):
                simulator = Simulator(group, seed, time.sleep)
                begun = time.perf_counter()
                best = ob.maximize(
                    simulator.measure, space, group, budget=chosen.budget, workers=workers, seed=seed, progress=False
                )
                seconds.append(time.perf_counter() - begun)
                regrets.append(1 - simulator.mean(best.point))
            error = np.std(regrets, ddof=1) / np.sqrt(len(regrets))
            print(f"    {workers} workers: simple regret {np.mean(regrets):.4f} ({error:.4f}), ", end="")
            print(f"{np.mean(seconds):.1f} s a search")


if __name__ == "__main__":
    main()
