"""What was tried before OrbitTree: other estimates, indices and play points for a tree of cells, side by side.

Run as `python benchmarks/alternatives.py`; it needs numpy and numba only and takes two to four
minutes on two cores.

Every row is a tree of cells on [0, 1]^d under Symmetric(d), with Bernoulli rewards and the
Lipschitz constant 1. The leaf with the largest index is played at one point, or halved along its
longest side once its spread is small:

    index = estimate + beta * spread + alpha * radius,     halved when kappa * spread < radius

Rows differ in what estimates the mean at a cell's point, and in one number or habit at a time.
OrbitTree's constants were chosen on these 60 problems, so its regret here is no evidence of its
worth: it is judged on others.
"""

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeAlias, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IndexArray: TypeAlias = npt.NDArray[np.int64]
F = TypeVar("F", bound=Callable[..., object])

HORIZON = 10_000
CAPACITY = 20_000  # cells of one tree
# runs per problem: of a row, and of the choice that the rows are divided by
SEEDS, REFERENCE_SEEDS = 4, 16
DIMS = (2, 3, 4)
# what a cell's estimate and spread are made of
HOEFFDING, BERNSTEIN, KL, INHERITED, KRIGED = range(5)
CELLS, LEAVES, PLAYED = range(3)  # places in `Tree.sizes`


class Problem(NamedTuple):
    """A mean on [0, 1]^d: height - slope * distance^power about the peak, one 0.08 lower about the decoy, a floor."""

    peak: FloatArray
    height: float
    slope: float
    power: float
    decoy: FloatArray
    floor: float


class Rules(NamedTuple):
    """One row of the table; as it stands, the choice."""

    estimate: int = KRIGED
    beta: float = 2.0
    alpha: float = 0.3
    kappa: float = 4.0
    # kriging: the variogram's root over the distance, at 0 for Matern-3/2 or at 1
    scale: float = 1.0
    length: float = 0.5  # kriging: length of the Matern-3/2 variogram
    power: float = 0.0  # kriging: power of the fractional variogram, or 0 for Matern-3/2
    neighbors: int = 32  # kriging: how many cells an estimate is made of
    weight: float = 5.0  # plays at 1/2 that the noise variance starts with
    batch: float = 0.05  # plays at a time, as a share of the cell's plays
    jitter: float = 0.0  # share of the cell that its point is drawn from; 0 for the centre
    halving: bool = False  # whether rounds 1024, 2048, ... halve the weight of all earlier plays
    level: float = 1.0  # confidence: bounds fail with probability n^-level
    # confidence: whether other cells bound this one by the Lipschitz condition
    envelope: bool = False
    widening: float = 1.9  # inherited: growth of the spread from parent to child


class Tree(NamedTuple):
    """The state of one run: a row for each cell, and lists of the leaves and of the cells that were played."""

    low: FloatArray
    high: FloatArray
    points: FloatArray
    radii: FloatArray
    means: FloatArray
    counts: FloatArray
    sums: FloatArray
    noise: FloatArray  # variance of the average reward
    prior_means: FloatArray
    prior_precisions: FloatArray
    estimates: FloatArray
    spreads: FloatArray
    indices: FloatArray
    caps: FloatArray  # what the parent says the index cannot exceed
    fresh: IndexArray  # the round for which the index was computed
    leaves: IndexArray
    played: IndexArray
    sizes: IndexArray


def main() -> None:
    """Print a row for each alternative, as its share of the choice's regret."""
    problems = tuning_problems()
    choice, seconds = regrets(Rules(), problems, REFERENCE_SEEDS)
    print(f"Regret over that of the choice, n = {HORIZON:,}: mean of 20 problems in each dimension (standard error),")
    print(f"{SEEDS} seeds each and {REFERENCE_SEEDS} for the choice. Spread: standard deviation over seeds / mean.")
    print("us: microseconds per round. Bounds fail with probability n^-level, where level = 1 unless said.")
    print(f"{'':<48}" + "".join(f"{f'd = {dim}':>13}" for dim in DIMS) + f"{'spread':>7}{'us':>6}")
    for label, rules in alternatives().items():
        ends, spent = (choice, seconds) if rules == Rules() else regrets(rules, problems, SEEDS)
        ratios = (ends.mean(axis=1) / choice.mean(axis=1)).reshape(len(DIMS), -1)
        errors = ratios.std(axis=1, ddof=1) / math.sqrt(ratios.shape[1])
        cells = "".join(f"{m:6.2f} ({e:.2f})" for m, e in zip(ratios.mean(axis=1), errors, strict=True))
        # few seeds understate a deviation: as few in all rows
        parts = ends.reshape(len(problems), -1, SEEDS)
        spread = float((parts.std(axis=2, ddof=1) / parts.mean(axis=2)).mean())
        print(f"{label:<48}{cells}{spread:7.2f}{spent / HORIZON * 1e6:6.1f}", flush=True)


def alternatives() -> dict[str, Rules]:
    """Return the rows of the table by label."""
    choice = Rules()
    # levels below 1: the best of a few tried here
    bound = Rules(HOEFFDING, beta=1.0, alpha=1.0, kappa=1.0, batch=0.0)
    return {
        "Hoeffding": bound,
        "Hoeffding, level 0.1": bound._replace(level=0.1),
        "Hoeffding, Lipschitz envelope": bound._replace(envelope=True),
        "Hoeffding, Lipschitz envelope, level 0.3": bound._replace(envelope=True, level=0.3),
        "empirical Bernstein": bound._replace(estimate=BERNSTEIN),
        "empirical Bernstein, level 0.03": bound._replace(estimate=BERNSTEIN, level=0.03),
        "KL": bound._replace(estimate=KL),
        "KL, level 0.1": bound._replace(estimate=KL, level=0.1),
        "KL, Lipschitz envelope, level 0.3": bound._replace(estimate=KL, envelope=True, level=0.3),
        "inherited": Rules(INHERITED, beta=0.9, alpha=0.7, kappa=2.4, widening=1.9, batch=0.0),
        "kriging, Matern-3/2 (the choice)": choice,
        "kriging, fractional": Rules(power=1.74, scale=0.8, alpha=0.41, beta=2.5, kappa=3.1, weight=5.8),
        "choice, point drawn from the cell": choice._replace(jitter=1.0),
        "choice, point drawn from the cell's middle half": choice._replace(jitter=0.5),
        "choice, past halved at rounds 1024, 2048, ...": choice._replace(halving=True),
        "choice, 16 neighbours": choice._replace(neighbors=16),
        "choice, 64 neighbours": choice._replace(neighbors=64),
        "choice, kappa = 2": choice._replace(kappa=2.0),
        "choice, kappa = 8": choice._replace(kappa=8.0),
        "choice, noise variance 1/4": choice._replace(weight=1e12),
        "choice, no batches": choice._replace(batch=0.0),
    }


def tuning_problems() -> list[Problem]:
    """Return 20 problems in each dimension: of ten, seven cones, one quadratic, one with a decoy, one mostly flat."""
    rng = np.random.default_rng(77)
    problems = []
    for dim in DIMS:
        for i in range(20):
            peak, nowhere = np.sort(rng.uniform(0.05, 0.95, dim)), np.full(dim, math.inf)
            height, slope = rng.uniform(0.7, 1.0), float(rng.choice([1.0, 1.0, 0.6]))
            problem = Problem(peak, height, slope, power=1.0, decoy=nowhere, floor=0.0)
            if i % 10 == 5:
                problem = problem._replace(slope=rng.uniform(0.5, 1.0), power=2.0)
            elif i % 10 == 6:
                problem = problem._replace(decoy=np.sort(rng.uniform(0.0, 1.0, dim)))
            elif i % 10 == 7:
                problem = problem._replace(height=0.8, slope=1.0, floor=0.3)
            problems.append(problem)
    return problems


def regrets(rules: Rules, problems: list[Problem], seeds: int) -> tuple[FloatArray, float]:
    """Return the regret of each problem and seed, and the mean seconds of a run."""

    def run(task: tuple[int, int]) -> tuple[float, float]:
        problem, rng = problems[task[0]], np.random.default_rng(task)
        draws, places = rng.random(HORIZON), rng.random((CAPACITY, len(problem.peak)))
        tree, start = new_tree(len(problem.peak)), time.thread_time()
        regret = simulate(rules, problem, tree, draws, places)
        return regret, time.thread_time() - start

    run((0, 0))  # compile
    with ThreadPoolExecutor(max_workers=2) as pool:
        ends = np.array(list(pool.map(run, np.ndindex(len(problems), seeds))))
    return ends[:, 0].reshape(len(problems), seeds), float(ends[:, 1].mean())


def new_tree(dim: int) -> Tree:
    """Return a tree whose only cell is the cube."""
    columns = [np.zeros(CAPACITY) for _ in range(11)]
    flags = [np.zeros(CAPACITY, dtype=np.int64) for _ in range(3)]
    boxes = np.zeros((CAPACITY, dim)), np.ones((CAPACITY, dim)), np.zeros((CAPACITY, dim))
    return Tree._make([*boxes, *columns, *flags, np.array([1, 1, 0])])


def compiled(function: F) -> F:
    """Compile `function` on its first call."""
    return cast("F", numba.njit(nogil=True, error_model="numpy")(function))


@compiled
def simulate(rules: Rules, problem: Problem, tree: Tree, draws: FloatArray, places: FloatArray) -> float:
    """Return the regret of one run; `draws` decide the rewards and `places` the points of cells."""
    settle(0, rules, problem, tree, places)
    tree.prior_means[0], tree.prior_precisions[0], tree.caps[0], tree.indices[0] = 0.5, 4.0, math.inf, math.inf
    regret, t, stamp, next_halving = 0.0, 0, 1, 1024
    while t < len(draws):
        leaf = int(np.argmax(tree.indices[tree.leaves[: tree.sizes[LEAVES]]]))
        cell = tree.leaves[leaf]
        if tree.fresh[cell] != stamp:  # an index not at the top is not worth its computation
            evaluate(cell, rules, tree)
            tree.fresh[cell] = stamp
        elif rules.kappa * tree.spreads[cell] < tree.radii[cell] and tree.sizes[CELLS] + 2 <= CAPACITY:
            split(leaf, rules, problem, tree, places)
        else:
            size = min(len(draws) - t, max(1, int(rules.batch * tree.counts[cell])))
            play(cell, draws[t : t + size], rules, tree)
            regret += size * (problem.height - tree.means[cell])
            t, stamp = t + size, stamp + 1
            if rules.halving and t >= next_halving:
                tree.counts[:] *= 0.5
                tree.sums[:] *= 0.5
                tree.noise[:] *= 2.0
                tree.indices[:] = math.inf  # have all leaves looked at again
                next_halving *= 2
    return regret


@compiled
def play(cell: int, draws: FloatArray, rules: Rules, tree: Tree) -> None:
    """Play a cell's point once for each draw."""
    if tree.counts[cell] == 0.0:
        tree.played[tree.sizes[PLAYED]] = cell
        tree.sizes[PLAYED] += 1
    tree.counts[cell] += len(draws)
    tree.sums[cell] += np.sum(draws < tree.means[cell])
    mean = (tree.sums[cell] + 0.5 * rules.weight) / (tree.counts[cell] + rules.weight)
    tree.noise[cell] = max(mean * (1.0 - mean), 0.01) / tree.counts[cell]


@compiled
def split(leaf: int, rules: Rules, problem: Problem, tree: Tree, places: FloatArray) -> None:
    """Replace a leaf by its halves along its longest side, without those that miss the chamber x1 <= x2 <= ..."""
    cell, replaced = tree.leaves[leaf], False
    sides = tree.high[cell] - tree.low[cell]
    axis = np.argmax(sides)
    middle = 0.5 * (tree.low[cell, axis] + tree.high[cell, axis])
    for upper in range(2):
        child = tree.sizes[CELLS]
        tree.low[child], tree.high[child] = tree.low[cell], tree.high[cell]
        faces = tree.low if upper == 1 else tree.high
        faces[child, axis] = middle
        if misses_chamber(tree.low[child], tree.high[child]):
            continue
        settle(child, rules, problem, tree, places)
        tree.indices[child], tree.caps[child] = tree.indices[cell], math.inf
        if rules.estimate == INHERITED:
            variance = tree.spreads[cell] ** 2 + (rules.widening * sides[axis] / 4.0) ** 2
            tree.prior_means[child], tree.prior_precisions[child] = tree.estimates[cell], 1.0 / variance
            tree.indices[child] = math.inf  # a wider prior may well raise it
        elif rules.estimate != KRIGED:
            tree.caps[child] = tree.indices[cell]
        tree.sizes[CELLS] += 1
        tree.leaves[tree.sizes[LEAVES] if replaced else leaf] = child
        tree.sizes[LEAVES] += int(replaced)
        replaced = True


@compiled
def misses_chamber(low: FloatArray, high: FloatArray) -> bool:
    """Tell whether a box has no inner point with increasing coordinates."""
    least = 0.0
    for axis in range(len(low)):
        least = max(least, low[axis])
        if least >= high[axis]:
            return True
    return False


@compiled
def settle(cell: int, rules: Rules, problem: Problem, tree: Tree, places: FloatArray) -> None:
    """Choose the point of a new cell, folded into the chamber; store its mean and the cell's radius."""
    sides = tree.high[cell] - tree.low[cell]
    tree.points[cell] = np.sort(tree.low[cell] + sides * (0.5 + rules.jitter * (places[cell] - 0.5)))
    tree.radii[cell] = 0.5 * math.sqrt(np.sum(sides**2))
    distance = math.sqrt(squared_distance(tree.points[cell], problem.peak))
    decoy = math.sqrt(squared_distance(tree.points[cell], problem.decoy))
    mean = problem.height - problem.slope * distance**problem.power
    tree.means[cell] = max(mean, problem.height - 0.08 - problem.slope * decoy, problem.floor)


@compiled
def squared_distance(x: FloatArray, y: FloatArray) -> float:
    """Return the squared distance of two points; of two orbits, if both are folded."""
    total = 0.0
    for axis in range(len(x)):
        total += (x[axis] - y[axis]) ** 2
    return total


@compiled
def evaluate(cell: int, rules: Rules, tree: Tree) -> None:
    """Compute the estimate, spread and index of a leaf."""
    if rules.estimate == KRIGED:
        estimate, spread = kriged(cell, rules, tree)
    elif rules.estimate == INHERITED:
        estimate, spread = inherited(cell, tree)
    else:
        estimate, spread = confidence(cell, rules, tree)
    tree.estimates[cell], tree.spreads[cell] = estimate, spread
    index = min(estimate + rules.beta * spread + rules.alpha * tree.radii[cell], tree.caps[cell])
    if rules.envelope:
        for other in tree.played[: tree.sizes[PLAYED]]:
            distance = math.sqrt(squared_distance(tree.points[cell], tree.points[other]))
            index = min(index, tree.estimates[other] + tree.spreads[other] + distance + tree.radii[cell])
    tree.indices[cell] = index


@compiled
def confidence(cell: int, rules: Rules, tree: Tree) -> tuple[float, float]:
    """Return an upper bound of the mean at a cell's point less the confidence width, and that width."""
    count, level = tree.counts[cell], rules.level * math.log(HORIZON)
    if count == 0.0:
        return 0.0, math.inf
    mean = tree.sums[cell] / count
    if rules.estimate == HOEFFDING:
        return mean, math.sqrt(level / (2.0 * count))
    if rules.estimate == BERNSTEIN:
        return mean, math.sqrt(2.0 * mean * (1.0 - mean) * level / count) + 3.0 * level / count
    upper, lower = kl_bound(mean, level / count), 1.0 - kl_bound(1.0 - mean, level / count)
    # not upper - mean alone: that is 0 after a single success
    width = max(upper - mean, mean - lower)
    return upper - width, width


@compiled
def kl_bound(mean: float, limit: float) -> float:
    """Return the largest q for which the divergence from Bernoulli(mean) to Bernoulli(q) is within the limit."""
    low, high = mean, 1.0
    for _ in range(24):
        middle = 0.5 * (low + high)
        divergence = (1.0 - mean) * math.log((1.0 - mean) / (1.0 - middle)) if mean < 1.0 else 0.0
        divergence += mean * math.log(mean / middle) if mean > 0.0 else 0.0
        low, high = (low, middle) if divergence > limit else (middle, high)
    return high


@compiled
def inherited(cell: int, tree: Tree) -> tuple[float, float]:
    """Return the posterior mean and deviation of a cell's mean, given its own rewards and what it inherited."""
    precision, weighted = tree.prior_precisions[cell], tree.prior_precisions[cell] * tree.prior_means[cell]
    if tree.counts[cell] > 0.0:
        precision += 1.0 / tree.noise[cell]
        weighted += tree.sums[cell] / tree.counts[cell] / tree.noise[cell]
    return weighted / precision, 1.0 / math.sqrt(precision)


@compiled
def variogram(squared: float, rules: Rules) -> float:
    """Return the variance that the prior gives to the difference of two means, from the squared distance."""
    if rules.power > 0.0:
        return rules.scale**2 * math.pow(squared, 0.5 * rules.power)
    ratio = math.sqrt(3.0 * squared) / rules.length
    return 2.0 / 3.0 * (rules.scale * rules.length) ** 2 * (1.0 - (1.0 + ratio) * math.exp(-ratio))


@compiled
def nearest(cell: int, rules: Rules, tree: Tree) -> tuple[IndexArray, FloatArray]:
    """Return the cells whose averages say most about a cell's point, and the variogram from there to theirs."""
    size, cells = 0, np.empty(rules.neighbors, dtype=np.int64)
    gaps, scores = np.empty(rules.neighbors), np.empty(rules.neighbors)
    for other in tree.played[: tree.sizes[PLAYED]]:
        gap = variogram(squared_distance(tree.points[other], tree.points[cell]), rules)
        score = gap + tree.noise[other]
        if size < rules.neighbors:
            size += 1
        elif score >= scores[-1]:
            continue
        place = size - 1
        while place > 0 and scores[place - 1] > score:
            scores[place], cells[place], gaps[place] = scores[place - 1], cells[place - 1], gaps[place - 1]
            place -= 1
        scores[place], cells[place], gaps[place] = score, other, gap
    return cells[:size], gaps[:size]


@compiled
def kriged(cell: int, rules: Rules, tree: Tree) -> tuple[float, float]:
    """Return the estimate of the mean at a cell's point from its neighbours' averages, and its deviation.

    Given that mean, the averages differ from it by amounts whose covariance the variogram and the
    noise make. The mean has the root's prior, so a Cholesky factor of the covariance, and 1 and the
    averages solved against it, give both.
    """
    precision, weighted = tree.prior_precisions[0], tree.prior_precisions[0] * tree.prior_means[0]
    cells, gaps = nearest(cell, rules, tree)
    factor, ones, averages = np.empty((len(cells), len(cells))), np.empty(len(cells)), np.empty(len(cells))
    for i, first in enumerate(cells):
        one, average, pivot = 1.0, tree.sums[first] / tree.counts[first], gaps[i] + tree.noise[first]
        for j, second in enumerate(cells[:i]):
            between = variogram(squared_distance(tree.points[first], tree.points[second]), rules)
            entry = 0.5 * (gaps[i] + gaps[j] - between)
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            factor[i, j] = entry / factor[j, j]
            one -= factor[i, j] * ones[j]
            average -= factor[i, j] * averages[j]
            pivot -= factor[i, j] ** 2
        factor[i, i] = math.sqrt(max(pivot, 1e-12))
        ones[i], averages[i] = one / factor[i, i], average / factor[i, i]
        precision += ones[i] ** 2
        weighted += ones[i] * averages[i]
    return weighted / precision, 1.0 / math.sqrt(precision)


if __name__ == "__main__":
    main()
