"""How much of the acquisition's maximum OrbitGP's search attains, in 2 to 40 dimensions.

Run as `OMP_NUM_THREADS=1 python benchmarks/acquisition.py`, or on a part: `--problems d5 coverage
--seeds 1`. All of it takes a core about twenty minutes.

The problems are those of units_problems.py, with their noise. `ob.maximize` measures 300 points of
each: an initial design of 2 (d + 1) uniform points, at most 75, and then its own choices. An agent
with the goal "best" is told the first 30, 100 and 300 of them, and fits its parameters. Its bound m
+ beta sqrt(v) is then maximised for each weight beta of LADDER, by `best_bound` and by two long
searches:

    share = (bound found - median) / (largest bound - median),      median: of the means m at the points observed

The largest bound is that of all three searches. The long ones begin with the best points observed,
the best candidates and the best of other random points, one with the first, third, ... of each
kind, the other with the rest, and with random points with several units in one place. By turns, all
move up the gradient, and each unit of each goes to the best of many places, anywhere in the space
and near its own; the better half goes on, until none gains. `again` is the share of the worse of
the two: as far as it is below 1, the maximum itself is uncertain.

An entry is the mean over seeds, with the worst in brackets; `again` and milliseconds, of the
processor, are over weights, too. Where most points observed are near the best, the median is high,
and little is missed for a low share.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from units_problems import BUILDERS, Units, units

import orbandit as ob
from groups import report
from orbandit._checks import Array
from orbandit.agents.gaussian.acquisition import LADDER, Ground, ascend, best_bound
from orbandit.agents.gaussian.model import Model
from orbandit.spaces.feasible_set import FeasibleSet

PROBLEMS = ("d5", "machines", "permutation6", "thomson6", "twosets", "medoids", "coverage", "distribution")
BLIND = ("d5", "permutation6", "coverage", "distribution")
"""Those that are searched without the group, too."""
SIZES = (30, 100, 300)
"""Values told."""
ROOM = 0.25
"""The range of rewards reaches this part of what was seen beyond it, as that of `ob.maximize`
does."""
STARTS, LEAST_STARTS, KEPT = 240, 8, 8
"""A long search begins with so many of each kind over the dimension, and at least so many; and
keeps so many."""
STEPS = 150
"""Of an ascent in a long search."""
NEAR, FAR, FINEST = 28, 12, 1e-4
"""Places near and far that a unit is tried in, and the least distance of near ones in widths of the
space."""
LITTLE, MOST_TURNS = 1e-4, 30
"""A long search ends when a turn gains less than this part of what the best bound is above the
median."""


class Attained(NamedTuple):
    """The share of one maximum that `best_bound` attained, that of the worse long search, and the times of both."""

    share: float
    again: float
    milliseconds: float
    long_milliseconds: float


def main() -> None:
    """Print a row for each problem and number of values, and means over all."""
    parser = argparse.ArgumentParser(description="How much of the acquisition's maximum does the search attain?")
    parser.add_argument("--problems", nargs="+", choices=list(BUILDERS), default=list(PROBLEMS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3, help="how many, from 0 on")
    chosen = parser.parse_args()
    print(f"share of the largest bound, mean (worst); seeds: {chosen.seeds}")
    print(f"| problem (dim) | n | {' | '.join(f'beta {beta:g}' for beta in LADDER)} | ms | long search, ms | again |")
    print("| --- |" + " --- |" * (len(LADDER) + 4), flush=True)
    shares: dict[tuple[float, int], list[float]] = {}
    for name in chosen.problems:
        for has_group in (True, False) if name in BLIND else (True,):
            problem = units(name)
            title = f"{name} ({problem.space.dim})" + ", no group" * (not has_group)
            runs = [agents(problem, problem.group if has_group else None, seed) for seed in range(chosen.seeds)]
            for size, told in zip(SIZES, zip(*runs, strict=True), strict=True):
                found = [[attained(agent, problem.size, beta) for agent in told] for beta in LADDER]
                row(title, size, found)
                for beta, some in zip(LADDER, found, strict=True):
                    shares.setdefault((beta, size), []).extend(each.share for each in some)
    print()
    for (beta, size), values in sorted(shares.items()):
        report(f"beta {beta:g}, n = {size}: mean share, the lowest {min(values):.3f}", float(np.mean(values)), "")


def row(title: str, size: int, found: list[list[Attained]]) -> None:
    """Print the figures of one problem and number of values: a list for each weight, in it an entry for each seed."""
    shares = [entry([each.share for each in some]) for some in found]
    every = [each for some in found for each in some]
    spent = f"{np.mean([each.milliseconds for each in every]):.1f}"
    long = f"{np.mean([each.long_milliseconds for each in every]):.0f}"
    again = entry([each.again for each in every])
    print(f"| {title} | {size} | {' | '.join(shares)} | {spent} | {long} | {again} |", flush=True)


def entry(values: list[float]) -> str:
    """Return a mean and the worst."""
    return f"{np.mean(values):.3f} ({min(values):.3f})"


def agents(problem: Units, group: ob.groups.Group | None, seed: int) -> Iterator[ob.agents.OrbitGP]:
    """Yield agents that were told the first values of one run, more and more of them."""
    rng = np.random.default_rng([seed, 1])

    def measure(point: Array) -> float:
        return problem.sample(point, rng)

    history = ob.maximize(measure, problem.space, group, budget=SIZES[-1], seed=seed, progress=False).history
    for size in SIZES:
        values = history.values[:size]
        low, high = float(values.min()), float(values.max())
        room = ROOM * (high - low)
        agent = ob.agents.OrbitGP(
            problem.space, group, horizon=SIZES[-1], reward_range=(low - room, high + room), goal="best", seed=seed
        )
        agent.tell_batch(history.points[:size], values)
        yield agent


def attained(agent: ob.agents.OrbitGP, unit: int, beta: float) -> Attained:
    """Search for the largest bound of an agent, with units of so many coordinates."""
    model, space = agent._model, agent._space
    searches: list[Callable[[], Array]] = [
        lambda: best_bound(model, Ground(FeasibleSet(space), agent._group), beta, np.random.default_rng(0)),
        lambda: highest(model, space, unit, beta, 0),
        lambda: highest(model, space, unit, beta, 1),
    ]
    searches[0]()  # compiles
    points, spent = [], []
    for search in searches:
        start = time.process_time()
        points.append(search())
        spent.append(1e3 * (time.process_time() - start))
    gains = bounds(model, beta, np.array(points)) - np.median(model.means)
    share, *long = (gains / gains.max()).tolist()
    return Attained(share, min(long), spent[0], (spent[1] + spent[2]) / 2)


def bounds(model: Model, beta: float, points: Array) -> Array:
    """Return m + beta sqrt(v) at points (m, dim)."""
    means, variances = model.at(model.features(points))
    return np.asarray(means + beta * np.sqrt(variances))


def highest(model: Model, space: ob.spaces.Space, unit: int, beta: float, number: int) -> Array:
    """Return where the first long search, 0, or the second, 1, finds the largest bound."""
    rng = np.random.default_rng([1, number])

    def sloped(points: Array) -> tuple[Array, Array]:
        means, variances, mean_slopes, variance_slopes = model.gradients(points)
        roots = np.sqrt(variances)
        return means + beta * roots, mean_slopes + (beta / 2 / roots)[:, None] * variance_slopes

    starts = max(LEAST_STARTS, STARTS // space.dim)
    kinds = model.rewards.points, model.pool.points, space.sample(len(model.pool.points), rng)
    best = [kind[np.argsort(-bounds(model, beta, kind))[number::2][:starts]] for kind in kinds]
    points = np.concatenate([*best, heaped(space, unit, space.sample(starts, rng), rng)])
    heights, median = bounds(model, beta, points), float(np.median(model.means))
    for _ in range(MOST_TURNS):
        before = heights
        points, heights = ascend(sloped, FeasibleSet(space), points, model.shortest / 16, STEPS, 0.0)
        points, heights = moved(model, space, unit, beta, points, rng)
        if (heights - before).max() < LITTLE * (heights.max() - median):
            break
        kept = np.argsort(-heights)[: max(KEPT, len(heights) // 2)]
        points, heights = points[kept], heights[kept]
    return np.asarray(points[int(heights.argmax())])


def heaped(space: ob.spaces.Space, unit: int, points: Array, rng: np.random.Generator) -> Array:
    """Return points with several units in one place: variances are often largest there, and random points rare."""
    layouts = points.reshape(len(points), -1, unit)
    places = rng.integers(1, layouts.shape[1] + 1, (len(points), 1))
    which = rng.integers(0, places, layouts.shape[:2])
    return np.asarray(space.project(np.take_along_axis(layouts, which[:, :, None], axis=1).reshape(points.shape)))


def moved(
    model: Model, space: ob.spaces.Space, unit: int, beta: float, points: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Move one unit of each point at a time to the best of many places; return the points and their bounds."""
    low, high = space.bounds
    count, width, heights = len(points), float((high - low).max()), bounds(model, beta, points)
    for i in rng.permutation(space.dim // unit):
        own = slice(i * unit, (i + 1) * unit)
        trials = np.repeat(points[:, None], FAR + NEAR, axis=1)
        trials[:, :FAR, own] = space.sample(count * FAR, rng).reshape(count, FAR, -1)[:, :, own]
        lengths = width * FINEST ** rng.random((count, NEAR, 1))
        trials[:, FAR:, own] += lengths * rng.standard_normal((count, NEAR, unit))
        trials = np.asarray(space.project(trials.reshape(-1, space.dim))).reshape(trials.shape)
        found = bounds(model, beta, trials.reshape(-1, space.dim)).reshape(count, -1)
        best = found.argmax(axis=1)
        is_better = found.max(axis=1) > heights
        points = np.where(is_better[:, None], trials[np.arange(count), best], points)
        heights = np.maximum(heights, found.max(axis=1))
    return points, heights


if __name__ == "__main__":
    main()
