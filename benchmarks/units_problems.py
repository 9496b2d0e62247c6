"""Problems of exchangeable units, 2 to 40 dimensions, all maximised: formulas, spaces, groups, noise and optima.

Units are planar points p_1, ..., p_n in [-1, 1]^2 and the group is BlockPermutation(n, 2) unless a
builder says otherwise. Random targets are drawn once, by `default_rng(0)` for each problem, in the
order of its formula; an even mixture is one half of either kind. Noise is Gaussian with 2 % of the
deviation of the function over random points, but for problems that say otherwise: those of
docs/concepts/orbit_gp.md have the noise they have there, and real parts their own.

What is computed once is kept in units_optima.json: the mean and deviation over 20,000 random
points, the best value known, and where; `units_search.py` raises it. The first seven are those of
GP-Perm (Fotias and Gaganis, arXiv 2605.02409), with their constants, but for the centroid's target
in `particles`, which is theirs moved off the middle.
"""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import logsumexp

import orbandit as ob
from orbandit._checks import Array
from orbandit._kernels.compiled import FloatArray, compiled
from orbandit._kernels.wakes import _in_wind, _share, deficit
from orbandit.errors import GroupTooLargeError

G, P, S = ob.groups, ob.problems, ob.spaces
OPTIMA = Path(__file__).with_name("units_optima.json")
NOISE = 0.02
"""Deviation of noise over that of the function at random points."""
RANDOM_POINTS, CHUNK = 20_000, 500
SAME = 1e-3
"""An element fixes an optimum that it moves by less than this, in widths of the space: a search
finds no exact ones."""
CAP = 1e3
"""Charges that come together have no more energy than this."""


@dataclass(frozen=True)
class Record:
    """What is known of a problem: over random points, and the best that any search or run has found."""

    random_mean: float
    random_deviation: float
    optimum: float
    point: list[float]
    is_fixed: bool
    """Whether an element of the group other than the identity fixes the point."""

    def regret(self, mean: float) -> float:
        """Return the normalised regret of a true mean: 0 is the best known, 1 a random point."""
        return max(1e-4, (self.optimum - mean) / (self.optimum - self.random_mean))


@dataclass(frozen=True)
class Units:
    """A problem: where, what leaves it alone, its true mean at points (m, dim), how it is measured, and its units.

    `deviation` is that of Gaussian noise, if it is not 2 % of the function's own; `draw` a
    measurement that is no mean plus Gaussian noise. `size` is the number of coordinates of a unit,
    for searches that move one at a time.
    """

    name: str
    space: ob.spaces.Space
    group: ob.groups.Group
    mean: Callable[[Array], Array]
    size: int = 2
    deviation: float | None = None
    draw: Callable[[Array, np.random.Generator], float] | None = None
    polish: Callable[[Array], Array] | None = None
    starts: Array | None = None

    @property
    def record(self) -> Record:
        """What is known of it."""
        return records()[self.name]

    @property
    def noise(self) -> float:
        """Deviation of the Gaussian noise."""
        return NOISE * self.record.random_deviation if self.deviation is None else self.deviation

    def sample(self, point: Array, rng: np.random.Generator, mean: float | None = None) -> float:
        """Measure once; where the true mean is known already, it need not be computed again."""
        if self.draw is not None:
            return self.draw(point, rng)
        mean = float(self.mean(point[None])[0]) if mean is None else mean
        return float(mean + self.noise * rng.standard_normal())

    def means(self, points: Array) -> Array:
        """Return the true means of many points, a few at a time."""
        return np.concatenate([self.mean(points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)])

    def fixes(self, point: Array) -> bool:
        """Tell whether an element other than the identity fixes a point."""
        low, high = self.space.bounds
        try:
            return len(self.group._stabilizer(point - self.group.center, SAME * float((high - low).max()), 1_000)) > 1
        except GroupTooLargeError:
            return True


@functools.cache
def records() -> dict[str, Record]:
    """Return all that is known, by name."""
    known = json.loads(OPTIMA.read_text()) if OPTIMA.exists() else {}
    return {name: Record(**entry) for name, entry in known.items()}


def keep(name: str, point: Array) -> str:
    """Put a better point into the file; return what is to be said of it, nothing if it is no better."""
    records.cache_clear()  # another process may have raised others
    problem, known = units(name), dict(records())
    point = np.asarray(problem.space.project(point))
    value, old = float(problem.mean(point[None])[0]), known.get(name)
    if old is not None and value <= old.optimum:
        return ""
    if old is None:
        sample = problem.means(problem.space.sample(RANDOM_POINTS, np.random.default_rng(0)))
        mean, deviation = float(sample.mean()), float(sample.std())
    else:
        mean, deviation = old.random_mean, old.random_deviation
    known[name] = Record(mean, deviation, value, point.tolist(), problem.fixes(point))
    lines = [f"{json.dumps(key)}: {json.dumps(vars(known[key]))}" for key in BUILDERS if key in known]
    OPTIMA.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    records.cache_clear()
    return f"{name}: best known mean {'none' if old is None else repr(old.optimum)} -> {value!r}"


# --- after GP-Perm ---


def _planar(name: str, n: int, mean: Callable[[Array], Array], **more: Any) -> Units:
    """Return a problem of n exchangeable points of the square; its mean takes layouts (m, n, 2)."""
    more = {"group": G.BlockPermutation(n, 2), **more}
    space = S.Box(-1.0, 1.0, dim=2 * n)
    return Units(name, space, mean=lambda points: mean(np.ascontiguousarray(points).reshape(-1, n, 2)), **more)


def _pairs(layouts: Array) -> Array:
    """Return the differences of all pairs of units, (m, pairs, 2)."""
    first, second = np.triu_indices(layouts.shape[1], 1)
    return np.asarray(layouts[:, first] - layouts[:, second])


def _particles() -> Units:
    def mean(layouts: Array) -> Array:
        dx, dy = np.moveaxis(_pairs(layouts), 2, 0)
        away = ((layouts.mean(axis=1) - [0.2, -0.1]) ** 2).sum(axis=1)
        return np.asarray(-(away + (1 / (dx**2 + 2 * dy**2 + 1e-4)).sum(axis=1)))

    return _planar("particles", 10, mean)


def _coverage() -> Units:
    targets = np.random.default_rng(0).uniform(-1.0, 1.0, (5_000, 2))

    def mean(layouts: Array) -> Array:
        shares = np.empty(len(layouts))
        _covered(layouts, targets, 0.25**2, shares)
        gaps = np.linalg.norm(_pairs(layouts), axis=2)
        return np.asarray(4 * shares - 0.2 * np.maximum(0.0, 10 * (0.5 - gaps)).sum(axis=1))

    # discs that just touch
    grid = np.stack(np.meshgrid(*[[-0.75, -0.25, 0.25, 0.75]] * 2), axis=-1)
    return _planar("coverage", 16, mean, starts=grid.reshape(1, -1))


@compiled
def _covered(layouts: FloatArray, targets: FloatArray, square: float, out: FloatArray) -> None:
    """Write the share of targets that are within a distance of a unit."""
    for p in range(layouts.shape[0]):
        count = 0
        for t in range(targets.shape[0]):
            for i in range(layouts.shape[1]):
                if (layouts[p, i, 0] - targets[t, 0]) ** 2 + (layouts[p, i, 1] - targets[t, 1]) ** 2 <= square:
                    count += 1
                    break
        out[p] = count / targets.shape[0]


def _distribution() -> Units:
    rng = np.random.default_rng(0)
    targets = np.vstack([rng.normal(center, 0.2, (2_500, 2)) for center in (-0.5, 0.5)])
    among = _kernel_sum(targets) / (5_000 * 4_999)

    def mean(layouts: Array) -> Array:
        n, across = layouts.shape[1], np.empty(len(layouts))
        _kernel_mean(layouts, targets, across)
        within = 2 * np.exp(-(_pairs(layouts) ** 2).sum(axis=2) / (2 * 0.3**2)).sum(axis=1) / (n * (n - 1))
        return np.asarray(-np.maximum(0.0, within + among - 2 * across))

    return _planar("distribution", 20, mean)


@compiled
def _kernel_sum(targets: FloatArray) -> float:
    """Return the sum of the Gaussian kernel of deviation 0.3 over all ordered pairs of different targets."""
    total = 0.0
    for i in range(targets.shape[0]):
        for j in range(i):
            square = (targets[i, 0] - targets[j, 0]) ** 2 + (targets[i, 1] - targets[j, 1]) ** 2
            total += 2 * np.exp(-square / (2 * 0.3**2))
    return total


@compiled
def _kernel_mean(layouts: FloatArray, targets: FloatArray, out: FloatArray) -> None:
    """Write the mean of that kernel over units and targets."""
    for p in range(layouts.shape[0]):
        total = 0.0
        for i in range(layouts.shape[1]):
            for t in range(targets.shape[0]):
                square = (layouts[p, i, 0] - targets[t, 0]) ** 2 + (layouts[p, i, 1] - targets[t, 1]) ** 2
                total += np.exp(-square / (2 * 0.3**2))
        out[p] = total / (layouts.shape[1] * targets.shape[0])


def _tree() -> Units:
    def mean(layouts: Array) -> Array:
        gaps = np.linalg.norm(layouts[:, :, None] - layouts[:, None], axis=3)
        # The least tree of 10 - length: sparse graphs take 0 for no edge, so lengths must not be
        # turned to that.
        edges = len(layouts[0]) - 1
        return np.array([10 * edges - minimum_spanning_tree(10 - each).sum() for each in gaps])

    # Every edge is at most a diagonal, and all are if the units share two opposite corners.
    corners = np.repeat([[-1.0, -1.0], [1.0, 1.0]], [7, 8], axis=0)
    return _planar("tree", 15, mean, starts=corners.reshape(1, -1))


def _facility() -> Units:
    rng = np.random.default_rng(0)
    clients = np.vstack([rng.normal(center, 0.25, (1_000, 2)) for center in ([-0.5, 0.5], [0.5, -0.5])])

    def mean(layouts: Array) -> Array:
        served = np.empty(len(layouts))
        _served(layouts, clients, served)
        gaps = np.linalg.norm(_pairs(layouts), axis=2)
        return np.asarray(served - 0.02 * np.logaddexp(0.0, 20 * (0.15 - gaps)).sum(axis=1) / 20)

    return _planar("facility", 12, mean)


@compiled
def _served(layouts: FloatArray, clients: FloatArray, out: FloatArray) -> None:
    """Write the mean over clients of 1 - prod over units of (1 - exp(-square / (2 0.2^2)))."""
    for p in range(layouts.shape[0]):
        total = 0.0
        for c in range(clients.shape[0]):
            missed = 1.0
            for i in range(layouts.shape[1]):
                square = (layouts[p, i, 0] - clients[c, 0]) ** 2 + (layouts[p, i, 1] - clients[c, 1]) ** 2
                missed *= 1.0 - np.exp(-square / (2 * 0.2**2))
            total += 1.0 - missed
        out[p] = total / clients.shape[0]


def _medoids() -> Units:
    rng = np.random.default_rng(0)
    angles, radii = rng.uniform(0.0, 2 * np.pi, 1_000), rng.normal(0.7, 0.05, 1_000)
    ring = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    data = np.vstack([ring, rng.normal(0.0, 0.2, (1_000, 2))])

    def mean(layouts: Array) -> Array:
        near = np.empty(len(layouts))
        _soft_nearest(layouts, data, near)
        return near

    return _planar("medoids", 12, mean)


@compiled
def _soft_nearest(layouts: FloatArray, data: FloatArray, out: FloatArray) -> None:
    """Write the mean over data of 0.05 log sum over units of exp(-square / 0.05)."""
    squares = np.empty(layouts.shape[1])
    for p in range(layouts.shape[0]):
        total = 0.0
        for d in range(data.shape[0]):
            for i in range(layouts.shape[1]):
                squares[i] = (layouts[p, i, 0] - data[d, 0]) ** 2 + (layouts[p, i, 1] - data[d, 1]) ** 2
            least = squares.min()
            total += 0.05 * np.log(np.exp((least - squares) / 0.05).sum()) - least
        out[p] = total / data.shape[0]


def _two_sets() -> Units:
    def repulsion(layouts: Array) -> Array:
        return np.asarray((1 / ((_pairs(layouts) ** 2).sum(axis=2) + 1e-4)).sum(axis=1))

    def mean(layouts: Array) -> Array:
        four, six = layouts[:, :4], layouts[:, 4:]
        squares = ((six[:, :, None] - four[:, None]) ** 2).sum(axis=3)
        away = -0.05 * logsumexp(-squares / 0.05, axis=2).mean(axis=1)
        return np.asarray(-(away + 0.05 * (repulsion(four) + repulsion(six))))

    return _planar("twosets", 10, mean, group=G.Product(G.BlockPermutation(4, 2), G.BlockPermutation(6, 2)))


# --- others of many dimensions ---


def _thomson(n: int) -> Units:
    def mean(points: Array) -> Array:
        charges = points.reshape(-1, n, 3)
        lengths = np.linalg.norm(charges, axis=2, keepdims=True)
        gaps = np.linalg.norm(_pairs(charges / np.maximum(lengths, 1e-300)), axis=2)
        return np.asarray(-np.minimum(CAP, (1 / np.maximum(gaps, 1e-9)).sum(axis=1)))

    return Units(f"thomson{n}", S.Product(*[S.Ball(3)] * n), G.BlockPermutation(n, 3), mean, size=3)


def _farm(name: str, farm: Any, *, is_drawn: bool) -> Units:
    """Return the problem of a farm; `is_drawn` if a measurement is the power in winds drawn, without other noise."""
    draw = (lambda point, rng: float(farm.sample(point, rng))) if is_drawn else None
    return Units(name, farm.space, farm.group, farm._mean, draw=draw, polish=lambda point: farm._polished(point, 100))


def _strong_farm() -> Units:
    """Return WindFarm(8) with a last turbine of twice the rated power, which only the others can be exchanged for."""
    farm, shares = P.WindFarm(8), np.array([1.0] * 7 + [2.0]) / 9

    def mean(points: Array) -> Array:
        power = np.empty(len(points))
        _rated_power(farm._layouts(points), farm._winds, shares, power)
        return np.asarray(power * farm._spacing(points))

    alike = G.Product(G.BlockPermutation(7, 2), G.Trivial(2))
    return Units("strongfarm", farm.space, G.Joint(alike, G.Diagonal(G.Dihedral(16), 8)), mean)


@compiled
def _rated_power(layouts: FloatArray, winds: FloatArray, shares: FloatArray, out: FloatArray) -> None:
    """Write the power of each layout with shares of the rated power for turbines, over winds that are alike."""
    losses = np.empty(layouts.shape[1])
    for p in range(layouts.shape[0]):
        out[p] = 0.0
        for w in range(winds.shape[0]):
            losses[:] = 0.0
            for i in range(layouts.shape[1]):
                for j in range(i):
                    dx, dy = _in_wind(layouts[p], i, j, winds[w])
                    losses[j if dx > 0.0 else i] += deficit(abs(dx), dy) ** 2
            for j in range(layouts.shape[1]):
                out[p] += shares[j] / winds.shape[0] * _share(losses[j]) ** 3


# --- those of docs/concepts/orbit_gp.md ---


def _process(name: str, group: ob.groups.Group, size: int, centers: int | None = None) -> Units:
    """Return the first function of benchmarks/gp.py, with its noise: of deviation 0.01 in units of the process."""
    process = P.GaussianProcess(group, tolerance=0.001, seed=0, centers=centers)
    found = process.optimizer[None]
    return Units(name, process.space, group, process._mean, size, 0.01 * process._scale, starts=found)


def _landscape(name: str, kind: type[P.Rastrigin] | type[P.Griewank], group: ob.groups.Group) -> Units:
    """Return a landscape as in benchmarks/gp.py; its optimum is inside the chamber and away from the middle."""
    problem = kind(S.Box(-1.0, 1.0, dim=group.dim), group, seed=0)
    return Units(name, problem.space, group, problem._mean, 1, 0.02, starts=problem.optimizer[None])


def _machines() -> Units:
    shop = P.IdenticalMachines(4)

    def draw(point: Array, rng: np.random.Generator) -> float:
        return float(shop.sample(point, rng))

    return Units("machines", shop.space, G.Symmetric(4), shop._mean, 1, draw=draw, starts=shop.optimizer[None])


BUILDERS: dict[str, Callable[[], Units]] = {
    "d5": lambda: _process("d5", G.Dihedral(5), 2, centers=128),
    "cyclic3": lambda: _process("cyclic3", G.CyclicShift(3), 1, centers=256),
    "machines": _machines,
    "rastrigin": lambda: _landscape("rastrigin", P.Rastrigin, G.SignedPermutation(5)),
    "griewank": lambda: _landscape("griewank", P.Griewank, G.SignFlips(6)),
    "permutation6": lambda: _process("permutation6", G.Symmetric(6), 1),
    "farm3": lambda: _farm("farm3", P.WindFarm(3), is_drawn=True),
    "farm8": lambda: _farm("farm8", P.WindFarm(8), is_drawn=False),
    "strongfarm": _strong_farm,
    "thomson6": lambda: _thomson(6),
    "particles": _particles,
    "twosets": _two_sets,
    "thomson8": lambda: _thomson(8),
    "facility": _facility,
    "medoids": _medoids,
    "tree": _tree,
    "coverage": _coverage,
    "iea37": lambda: _farm("iea37", P.WindFarm(16, radius=1300.0, rose="iea37", directions=4), is_drawn=True),
    "distribution": _distribution,
}
"""By dimension."""


@functools.cache
def units(name: str) -> Units:
    """Return a problem by its name."""
    return BUILDERS[name]()


def check(name: str) -> npt.NDArray[np.float64]:
    """Return by how much the mean changes at most under elements and folds, and how the record departs from the mean.

    In units of the deviation over random points, over 50 random points and 20 random elements.
    """
    problem, rng = units(name), np.random.default_rng(1)
    points = problem.space.sample(50, rng)
    means, unit = problem.means(points), problem.record.random_deviation
    images = problem.group.act(problem.group.random(20, rng), points)
    moved = max(float(np.abs(problem.means(each) - means).max()) for each in images)
    folded = float(np.abs(problem.means(np.asarray(problem.group.fold(points))) - means).max())
    best = np.array(problem.record.point)
    if not problem.space.contains(best):
        raise ValueError(f"the best point known of {name} lies outside of {problem.space!r}")
    return np.array([moved, folded, abs(float(problem.mean(best[None])[0]) - problem.record.optimum)]) / unit
