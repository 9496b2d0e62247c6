"""Speed of folds and orbit distances, as ratios to a named rival measured in the same run.

Run as `make bench` or `python benchmarks/groups.py`. Each figure is the median over rounds that
time both sides in turn, so that a busy machine slows both.
"""

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import linear_sum_assignment

import orbandit as ob
from orbandit._checks import Array


def main() -> None:
    """Print one line per figure: what was measured, the ratio, and what is aimed at."""
    rng = np.random.default_rng(0)

    points = rng.standard_normal((1_000_000, 20))
    group: ob.groups.Group = ob.groups.Symmetric(20)
    ratio = compare(lambda: group.fold(points), lambda: np.sort(points, axis=1))
    report("Symmetric(20).fold, 10^6 points, time over numpy.sort", ratio, "at most 1.5")

    points = rng.standard_normal((100_000, 8))
    e8 = ob.groups.Coxeter("E8")
    ratio = compare(lambda: e8.fold(points), lambda: np.sort(points, axis=1))
    report('Coxeter("E8").fold, 10^5 points, time over numpy.sort', ratio, "at most 60")

    a, b = rng.standard_normal((2, 1000, 60))
    mixing = ob.groups.Orthogonal(3, 20)
    ratio = compare(lambda: procrustes_loop(a[:20], b), lambda: mixing.distance(a, b)) * 50
    report("Orthogonal(3, 20).distance, 1000 x 1000, faster than a scipy loop on 20 rows by", ratio, "at least 30")
    error = float(np.abs(procrustes_loop(a[:20], b) - mixing.distance(a[:20], b)).max())
    report("Orthogonal(3, 20).distance, largest difference to the scipy loop", error, "")

    a, b = rng.random((2, 300, 12))
    units = ob.groups.BlockPermutation(6, 2)
    ratio = compare(lambda: assignment_loop(a, b), lambda: units.distance(a, b), rounds=3)
    report("BlockPermutation(6, 2).distance, 300 x 300, faster than a scipy loop by", ratio, "at least 8")
    error = np.abs(assignment_loop(a, b) - units.distance(a, b)).max()
    report("BlockPermutation(6, 2).distance, largest difference to the scipy loop", error, "at most 1e-10")


def compare(numerator: Callable[[], object], denominator: Callable[[], object], rounds: int = 7) -> float:
    """Return the median ratio of the two running times over alternating rounds, after one warm-up each."""
    numerator(), denominator()
    return median(seconds(numerator) / seconds(denominator) for _ in range(rounds))


def seconds(function: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def procrustes_loop(a: Array, b: Array) -> Array:
    """Solve each pair with scipy.linalg.orthogonal_procrustes; it multiplies from the right, so transpose."""
    distances = np.empty((len(a), len(b)))
    for i, left in enumerate(a.reshape(-1, 3, 20)):
        for j, right in enumerate(b.reshape(-1, 3, 20)):
            _, nuclear_norm = orthogonal_procrustes(left.T, right.T)
            distances[i, j] = (left * left).sum() + (right * right).sum() - 2 * nuclear_norm
    return np.sqrt(distances)


def assignment_loop(a: Array, b: Array) -> Array:
    """Build each cost matrix with NumPy and solve it with scipy.optimize.linear_sum_assignment."""
    distances = np.empty((len(a), len(b)))
    for i, left in enumerate(a.reshape(-1, 6, 2)):
        for j, right in enumerate(b.reshape(-1, 6, 2)):
            cost = ((left[:, None] - right) ** 2).sum(axis=2)
            rows, columns = linear_sum_assignment(cost)
            distances[i, j] = np.sqrt(cost[rows, columns].sum())
    return distances


def report(what: str, value: float, aim: str) -> None:
    """Print one aligned line."""
    print(f"{what:<90} {value:10.3g}   {aim}")


if __name__ == "__main__":
    main()
