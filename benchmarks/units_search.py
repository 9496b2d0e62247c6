"""Long searches without noise for the optima of benchmarks/units_problems.py; they only ever raise what is known.

Run as `python benchmarks/units_search.py --minutes=5 coverage iea37`: all problems by default, so
many minutes each. `--seed` gives other searches; they begin with the best known layout and random
ones, or `--anew` without it: where searches of several seeds end in the same value, there is hardly
a better one.

A few layouts are kept and improved by turns: one or two units of one go anywhere, then single units
are moved to the best of many places, near and far, until none gains, and all move at once by L-BFGS
(or, for farms, by their own sequential quadratic programming). A layout is replaced by what it
became if that is better. Half of the turns begin with the best layout of all, and some with a new
one.
"""

import argparse
import time

import numpy as np
from scipy.optimize import minimize
from units_problems import BUILDERS, Units, keep, records, units

from orbandit._checks import Array

KEPT, FIRST = 6, 2_000
"""Layouts that are kept; the best of so many random ones."""
PLACES, FINEST = 40, 1e-6
"""Places that a unit is tried in, and the least of their distances in widths of the space."""
STEP = 1e-6
"""Of the differences that give slopes, in widths of the space."""


def main() -> None:
    """Search, and keep what is better than what was known."""
    parser = argparse.ArgumentParser(description="Raise the best known optima.")
    parser.add_argument("problem", nargs="*", default=list(BUILDERS))
    parser.add_argument("--minutes", type=float, default=1.0, help="for each problem")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--anew", action="store_true", help="begin without the best known layout")
    chosen = parser.parse_args()
    for name in chosen.problem:
        end = time.monotonic() + 60 * chosen.minutes
        problem, rng = units(name), np.random.default_rng(chosen.seed)
        known = records().get(name)
        start = None if chosen.anew or known is None else np.array(known.point)
        found = search(problem, end, rng, start)
        value = float(problem.mean(found[None])[0])
        print(keep(name, found) or f"{name}: nothing better, {value!r}", flush=True)


def search(problem: Units, end: float, rng: np.random.Generator, start: Array | None) -> Array:
    """Return the best point found until a time."""
    sample = problem.space.sample(FIRST, rng)
    kept = sample[np.argsort(-problem.means(sample))[:KEPT]]
    if problem.starts is not None:
        kept[: len(problem.starts)] = problem.starts
    if start is not None:
        kept[-1] = start
    kept = np.array([improved(problem, point, rng, end) for point in kept])
    means = problem.mean(kept)
    while time.monotonic() < end:
        row = int(means.argmax()) if rng.random() < 0.5 else int(rng.integers(KEPT))
        is_new = row != means.argmax() and rng.random() < 0.2
        first = problem.space.sample(1, rng)[0] if is_new else relocated(problem, kept[row], rng)
        point = improved(problem, first, rng, end)
        value = float(problem.mean(point[None])[0])
        if value > means[row]:
            kept[row], means[row] = point, value
    return np.asarray(kept[means.argmax()])


def relocated(problem: Units, point: Array, rng: np.random.Generator) -> Array:
    """Return the point with one or two units elsewhere, or all of them shaken a little."""
    anywhere = problem.space.sample(1, rng)[0]
    if rng.random() < 0.25:
        return np.asarray(problem.space.project(point + rng.uniform(0.01, 0.1) * (anywhere - point)))
    moved = point.copy().reshape(-1, problem.size)
    which = rng.choice(len(moved), min(len(moved), int(rng.integers(1, 3))), replace=False)
    moved[which] = anywhere.reshape(moved.shape)[which]
    return moved.ravel()


def improved(problem: Units, point: Array, rng: np.random.Generator, end: float) -> Array:
    """Return what is better near a point: moves of units, slopes, and moves again."""
    point = moved_units(problem, point, rng, end)
    ascend = climbed if problem.polish is None else lambda problem, point: problem.polish(point)
    after = np.asarray(problem.space.project(ascend(problem, point)))
    if problem.mean(after[None])[0] > problem.mean(point[None])[0]:
        point = after
    return moved_units(problem, point, rng, end, sweeps=2)


def moved_units(problem: Units, point: Array, rng: np.random.Generator, end: float, sweeps: int = 20) -> Array:
    """Move one unit at a time to the best of many places, a third of them anywhere, until a sweep gains little."""
    low, high = problem.space.bounds
    width, value = float((high - low).max()), float(problem.mean(point[None])[0])
    for _ in range(sweeps):
        before = value
        for i in rng.permutation(len(point) // problem.size):
            own = slice(i * problem.size, (i + 1) * problem.size)
            trials = np.repeat(point[None], PLACES, axis=0)
            far = PLACES // 3
            trials[:far, own] = problem.space.sample(far, rng)[:, own]
            lengths = width * FINEST ** rng.random((PLACES - far, 1))
            trials[far:, own] += lengths * rng.standard_normal((PLACES - far, problem.size))
            trials = np.asarray(problem.space.project(trials))
            means = problem.mean(trials)
            best = int(means.argmax())
            if means[best] > value:
                point, value = trials[best], float(means[best])
        if time.monotonic() > end or value - before < 1e-7 * abs(value):
            break
    return point


def climbed(problem: Units, point: Array) -> Array:
    """Return where L-BFGS ends, with slopes by differences that stay in the space."""
    low, high = problem.space.bounds
    width = high - low
    steps = STEP * np.diag(width)

    def loss(place: Array) -> tuple[float, Array]:
        here = low + width * place
        ends = np.asarray(problem.space.project(np.vstack([here, here + steps, here - steps])))
        means = problem.mean(ends)
        dim = len(place)
        rises, gaps = means[1 : dim + 1] - means[dim + 1 :], ends[1 : dim + 1] - ends[dim + 1 :]
        runs = np.linalg.norm(gaps / width, axis=1)
        return -scale * float(means[0]), -scale * np.where(runs > 0, rises / np.maximum(runs, 1e-12), 0.0)

    scale = 1.0 / float(problem.means(problem.space.sample(200, np.random.default_rng(0))).std())
    found = minimize(
        loss,
        (point - low) / width,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(point),
        options={"maxiter": 200, "ftol": 1e-14, "gtol": 1e-9},
    )
    return np.asarray(low + width * found.x)


if __name__ == "__main__":
    main()
