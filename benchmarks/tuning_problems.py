"""Problems to tune OrbitGP on: of the kinds that users have, and none of those that it is judged by.

50 noisy problems of 3 to 24 dimensions under symmetries of several kinds. They have other
formulas, sizes, targets and noise than units_problems.py. `benchmarks/tuning.py` plays them.
"""

import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from units_problems import Record, Units
from units_search import search

import orbandit as ob
from orbandit._checks import Array

G, P, S = ob.groups, ob.problems, ob.spaces
OPTIMA = Path(__file__).with_name("tuning_optima.json")
RANDOM_POINTS, SECONDS = 5_000, 8.0
"""Random points of a record, and how long the optimum is searched for."""

Mean = Callable[[Array], Array]


def _pairs(layouts: Array) -> Array:
    """Return the distances of all pairs of units, (m, pairs)."""
    first, second = np.triu_indices(layouts.shape[1], 1)
    return np.asarray(np.linalg.norm(layouts[:, first] - layouts[:, second], axis=2))


def _units(name: str, n: int, mean: Mean, noise: float, **more: Any) -> Units:
    """Return a problem of n exchangeable points of the unit square; its mean takes layouts (m, n, 2)."""
    group = more.pop("group", G.BlockPermutation(n, 2))
    return Units(name, S.Box(0.0, 1.0, dim=2 * n), group, lambda x: mean(x.reshape(-1, n, 2)), deviation=noise, **more)


def _numbers(name: str, n: int, mean: Mean, noise: float, **more: Any) -> Units:
    """Return a problem of n exchangeable numbers in [0, 1]."""
    return Units(name, S.Box(0.0, 1.0, dim=n), G.Symmetric(n), mean, size=1, deviation=noise, **more)


def _levels(n: int, noise: float) -> Units:
    """Levels of a quantiser for a skewed density, by the mean absolute error."""
    sample = np.random.default_rng(n).beta(1.3, 3.0, 400)
    return _numbers(f"levels{n}", n, lambda x: -np.abs(sample[None, :, None] - x[:, None]).min(2).mean(1), noise)


def _cuts(n: int, noise: float) -> Units:
    """Cuts of a line into pieces on each of which a signal is nearly constant: the variance explained."""
    rng = np.random.default_rng(10 + n)
    signal = np.repeat(rng.normal(size=n + 3), 40)[:160] + 0.4 * rng.normal(size=160)
    places = (np.arange(160) + 0.5) / 160

    def mean(x: Array) -> Array:
        soft = 1 / (1 + np.exp(-(places - np.sort(x, axis=1)[:, :, None]) / 0.01))
        ends = np.concatenate([np.ones((len(x), 1, 160)), soft, np.zeros((len(x), 1, 160))], axis=1)
        weights = ends[:, :-1] * (1 - ends[:, 1:])
        means = (weights * signal).sum(2) / np.maximum(weights.sum(2), 1e-9)
        return np.asarray(-((weights * (signal - means[:, :, None]) ** 2).sum((1, 2)) / 160))

    return _numbers(f"cuts{n}", n, mean, noise)


def _hills(n: int, noise: float) -> Units:
    """Planar units on a hilly field that keep a distance softly."""
    rng = np.random.default_rng(20 + n)
    tops, heights = rng.random((9, 2)), rng.uniform(0.4, 1.0, 9)

    def mean(layouts: Array) -> Array:
        squares = ((layouts[:, :, None] - tops) ** 2).sum(3)
        field = (heights * np.exp(-squares / (2 * 0.12**2))).sum(2).sum(1)
        return np.asarray(field - np.exp(-((_pairs(layouts) / 0.18) ** 2)).sum(1)) / n

    return _units(f"hills{n}", n, mean, noise)


def _sensors(n: int, noise: float) -> Units:
    """Sensors of soft range that cover a lopsided crowd."""
    rng = np.random.default_rng(30 + n)
    crowd = np.clip(np.vstack([rng.normal([0.3, 0.35], 0.18, (150, 2)), rng.normal([0.7, 0.75], 0.12, (90, 2))]), 0, 1)

    def mean(layouts: Array) -> Array:
        seen = 1 / (1 + np.exp((np.linalg.norm(layouts[:, :, None] - crowd, axis=3) - 0.17) / 0.03))
        return np.asarray(1 - np.prod(1 - seen, axis=1).mean(1))

    return _units(f"sensors{n}", n, mean, noise)


def _signed(noise: float) -> Units:
    """Three signed factors of three coordinates: how well they explain a matrix."""
    rng = np.random.default_rng(40)
    truth = rng.normal(size=(3, 3)) * [[1.0], [0.7], [0.5]]
    gram = truth.T @ truth

    def mean(x: Array) -> Array:
        factors = x.reshape(-1, 3, 3)
        left = np.einsum("mki,mkj->mij", factors, factors) - gram
        return np.asarray(
            -np.log1p((left**2).sum((1, 2))) - 0.3 * ((factors @ factors.swapaxes(1, 2)) ** 2).sum((1, 2)) ** 0.5
        )

    return Units("signed3", S.Box(-2.0, 2.0, dim=9), G.SignedBlockPermutation(3, 3), mean, 3, noise)


def _morse(n: int, noise: float) -> Units:
    """Particles with Morse potentials in a tilted bowl."""

    def mean(layouts: Array) -> Array:
        pulls = np.exp(-8 * (_pairs(layouts) - 0.3))
        bowl = ((layouts - [0.55, 0.4]) ** 2 * [1.0, 2.0]).sum((1, 2))
        return np.asarray(-(pulls * (pulls - 2)).sum(1) / n - bowl)

    return _units(f"morse{n}", n, mean, noise)


def _repelled(n: int, noise: float) -> Units:
    """Charges in a tilted bowl: energies with a long tail."""

    def mean(layouts: Array) -> Array:
        bowl = ((layouts - [0.45, 0.6]) ** 2 * [3.0, 6.0]).sum((1, 2))
        return np.asarray(-bowl - 0.1 * (1 / (_pairs(layouts) + 0.02)).sum(1))

    return _units(f"repelled{n}", n, mean, noise)


def _far(n: int, noise: float) -> Units:
    """Points far apart in a square, by a soft least distance; the square may be turned, too."""

    def mean(layouts: Array) -> Array:
        gaps = _pairs(layouts)
        walls = np.minimum(layouts, 1 - layouts).min(2)
        return np.asarray(-0.04 * np.log(np.exp(-gaps / 0.04).sum(1) + np.exp(-2 * walls / 0.04).sum(1)))

    group = G.Joint(G.BlockPermutation(n, 2), G.Diagonal(G.Dihedral(4), n))
    space = S.Box(-1.0, 1.0, dim=2 * n)
    return Units(f"far{n}", space, group, lambda x: mean((x.reshape(-1, n, 2) + 1) / 2), deviation=noise)


def _rings(n: int, noise: float) -> Units:
    """Units on a lattice of waves that like a certain distance; a square that may be turned."""

    def mean(layouts: Array) -> Array:
        waves = np.cos(4.2 * layouts).prod(axis=2) + 0.7 * np.cos(7 * np.linalg.norm(layouts, axis=2))
        return np.asarray(waves.mean(1) + np.exp(-(((_pairs(layouts) - 0.7) / 0.2) ** 2)).mean(1))

    group = G.Joint(G.BlockPermutation(n, 2), G.Diagonal(G.Dihedral(4), n))
    return Units(f"rings{n}", S.Box(-1.0, 1.0, dim=2 * n), group, lambda x: mean(x.reshape(-1, n, 2)), deviation=noise)


def _anchors(a: int, b: int, noise: float) -> Units:
    """Depots and shops: each shop wants customers and a depot nearby, depots are apart."""
    rng = np.random.default_rng(50)
    homes = rng.random((120, 2))

    def mean(layouts: Array) -> Array:
        depots, shops = layouts[:, :a], layouts[:, a:]
        near = np.exp(-((homes - shops[:, :, None]) ** 2).sum(3) / (2 * 0.15**2))
        served = (1 - np.prod(1 - 0.9 * near, axis=1)).mean(1)
        way = np.linalg.norm(shops[:, :, None] - depots[:, None], axis=3).min(2).mean(1)
        return np.asarray(served - 0.6 * way - 0.05 * np.exp(-((_pairs(depots) / 0.3) ** 2)).sum(1))

    group = G.Product(G.BlockPermutation(a, 2), G.BlockPermutation(b, 2))
    return _units(f"anchors{a}+{b}", a + b, mean, noise, group=group)


def _orbits(a: int, b: int, noise: float) -> Units:
    """Planets that keep a certain distance of the nearest star, and of each other."""
    tilt = np.array([0.4, -0.25])

    def mean(layouts: Array) -> Array:
        stars, planets = layouts[:, :a], layouts[:, a:]
        gaps = np.linalg.norm(stars[:, :, None] - planets[:, None], axis=3)
        kept = np.exp(-(((gaps - 0.25) / 0.08) ** 2)).max(1).mean(1)
        crowd = np.exp(-((_pairs(planets) / 0.2) ** 2)).sum(1) / b + np.exp(-((_pairs(stars) / 0.4) ** 2)).sum(1) / a
        return np.asarray(kept - 0.5 * crowd + 0.2 * (layouts @ tilt).mean(1))

    group = G.Product(G.BlockPermutation(a, 2) if a > 1 else G.Trivial(2), G.BlockPermutation(b, 2))
    return _units(f"orbits{a}+{b}", a + b, mean, noise, group=group)


def _pulled(a: int, b: int, noise: float) -> Units:
    """Units of two kinds: the second are drawn to the nearest of the first, and repelled by their own."""

    def mean(layouts: Array) -> Array:
        first, second = layouts[:, :a], layouts[:, a:]
        nearest = ((second[:, :, None] - first[:, None]) ** 2).sum(3).min(2).mean(1)
        push = [(1 / (_pairs(each) ** 2 + 3e-4)).sum(1) for each in (first, second)]
        return np.asarray(-nearest - 0.01 * sum(push))

    return _units(
        f"pulled{a}+{b}", a + b, mean, noise, group=G.Product(G.BlockPermutation(a, 2), G.BlockPermutation(b, 2))
    )


def _discs(n: int, noise: float) -> Units:
    """Discs that cover a square, with a price for overlap: kinks and a long tail."""
    places = np.random.default_rng(60).random((700, 2))

    def mean(layouts: Array) -> Array:
        least = np.linalg.norm(layouts[:, :, None] - places, axis=3).min(1)
        return np.asarray((least < 0.19).mean(1) - 0.1 * np.maximum(0.0, 0.34 - _pairs(layouts)).sum(1))

    return _units(f"discs{n}", n, mean, noise)


def _medoids(n: int, noise: float) -> Units:
    """Centres for data on a spiral."""
    rng = np.random.default_rng(70)
    turn = rng.random(300)
    arms = 0.5 + (0.1 + 0.35 * turn)[:, None] * np.column_stack([np.cos(8 * turn), np.sin(8 * turn)])
    data = arms + 0.02 * rng.normal(size=(300, 2))

    def mean(layouts: Array) -> Array:
        return np.asarray(-np.linalg.norm(layouts[:, :, None] - data, axis=3).min(1).mean(1))

    return _units(f"medoids{n}", n, mean, noise)


def _pools(n: int) -> Units:
    """Servers of one load: delays grow near capacity, and so does the noise of a measured mean delay."""
    gains = np.array([1.0, 0.6, 0.35, 0.2, 0.1])[:n]

    def mean(x: Array) -> Array:
        shares = (x + 0.05) / (x + 0.05).sum(1, keepdims=True)
        ranked = -np.sort(-shares, axis=1)
        return np.asarray(-1 / (1.15 - ranked.max(1)) - ((ranked - gains / gains.sum()) ** 2).sum(1) * 4)

    def draw(point: Array, rng: np.random.Generator) -> float:
        value = float(mean(point[None])[0])
        return float(value * (1 + 0.12 * (rng.gamma(2.0) - 2.0) / 2.0**0.5))

    return _numbers(f"pools{n}", n, mean, 0.0, draw=draw)


def _farm(turbines: int, directions: int, *, name: str = "farm", winds: int = 16, radius: float | None = None) -> Units:
    """Turbines measured in some winds drawn from a uniform rose."""
    farm = P.WindFarm(turbines, radius=radius, rose=np.ones(winds), directions=directions)
    return Units(
        f"{name}{turbines}",
        farm.space,
        G.Joint(G.BlockPermutation(turbines, 2), G.Diagonal(G.Dihedral(winds), turbines)),
        farm._mean,
        draw=lambda point, rng: float(farm.sample(point, rng)),
        polish=lambda point: farm._polished(point, 100),
    )


def _process(name: str, group: ob.groups.Group, size: int, noise: float) -> Units:
    """Functions drawn from a Gaussian process."""
    process = P.GaussianProcess(group, tolerance=0.001, seed=77, centers=256)
    found = process.optimizer[None]
    return Units(name, process.space, group, process._mean, size, noise * process._scale, starts=found)


def _spread(n: int, noise: float) -> Units:
    """Units that want their farthest fellow far away, and a little less so to the north: corners."""

    def mean(layouts: Array) -> Array:
        farthest = np.linalg.norm(layouts[:, :, None] - layouts[:, None], axis=3).max(2).mean(1)
        return np.asarray(farthest - 0.05 * np.abs(layouts[:, :, 1].mean(1) - 0.4))

    return _units(f"spread{n}", n, mean, noise)


def _span(n: int, noise: float) -> Units:
    """Units of space that are joined by the longest tree: two opposite corners."""

    def mean(x: Array) -> Array:
        layouts = x.reshape(-1, n, 3)
        gaps = np.linalg.norm(layouts[:, :, None] - layouts[:, None], axis=3)
        return np.array([3 * (n - 1) - minimum_spanning_tree(3 - each).sum() for each in gaps]) / (n - 1)

    corners = np.repeat([0.0, 1.0], [n // 2 * 3, n * 3 - n // 2 * 3])
    group = G.BlockPermutation(n, 3)
    return Units(f"span{n}", S.Box(0.0, 1.0, dim=3 * n), group, mean, 3, noise, starts=corners[None])


def _ties(n: int, noise: float) -> Units:
    """Units of a square that are joined by the longest tree: moves of one unit do not leave all four corners."""

    def mean(layouts: Array) -> Array:
        gaps = np.linalg.norm(layouts[:, :, None] - layouts[:, None], axis=3)
        return np.array([2 * (n - 1) - minimum_spanning_tree(2 - each).sum() for each in gaps]) / (n - 1)

    corners = np.repeat([0.0, 1.0], [n // 2 * 2, n * 2 - n // 2 * 2])
    return _units(f"ties{n}", n, mean, noise, starts=corners[None])


def _design(n: int, noise: float) -> Units:
    """Points of an experiment: how well they determine a quadratic response, by the determinant."""

    def mean(layouts: Array) -> Array:
        x, y = np.moveaxis(2 * layouts - 1, 2, 0)
        terms = np.stack([np.ones_like(x), x, y, x * y, x**2, y**2], axis=2)
        information = terms.swapaxes(1, 2) @ terms / n + 0.01 * np.eye(6)
        return np.asarray(np.linalg.slogdet(information)[1] / 6)

    return _units(f"design{n}", n, mean, noise)


def _griewank(name: str, group: ob.groups.Group) -> Units:
    """Griewank's function: many basins, of nearly one height for this noise."""
    problem = P.Griewank(S.Box(-1.0, 1.0, dim=group.dim), group, seed=8)
    return Units(name, problem.space, group, problem._mean, 1, 0.025, starts=problem.optimizer[None])


def _rastrigin(dim: int) -> Units:
    """Rastrigin under sign flips and permutations, shifted."""
    group = G.SignedPermutation(dim)
    problem = P.Rastrigin(S.Box(-1.0, 1.0, dim=dim), group, seed=5)
    return Units(f"rastrigin{dim}", problem.space, group, problem._mean, 1, 0.03, starts=problem.optimizer[None])


BUILDERS: dict[str, Callable[[], Units]] = {
    "levels5": lambda: _levels(5, 0.003),
    "levels9": lambda: _levels(9, 0.002),
    "cuts4": lambda: _cuts(4, 0.03),
    "hills4": lambda: _hills(4, 0.01),
    "hills7": lambda: _hills(7, 0.02),
    "sensors5": lambda: _sensors(5, 0.01),
    "sensors8": lambda: _sensors(8, 0.02),
    "signed3": lambda: _signed(0.03),
    "morse6": lambda: _morse(6, 0.2),
    "repelled5": lambda: _repelled(5, 0.02),
    "repelled9": lambda: _repelled(9, 0.05),
    "far6": lambda: _far(6, 0.002),
    "anchors3+4": lambda: _anchors(3, 4, 0.01),
    "discs10": lambda: _discs(10, 0.01),
    "medoids12": lambda: _medoids(12, 0.002),
    "pools5": lambda: _pools(5),
    "farm4": lambda: _farm(4, 2),
    "cyclic4": lambda: _process("cyclic4", G.CyclicShift(4), 1, 0.03),
    "symmetric5": lambda: _process("symmetric5", G.Symmetric(5), 1, 0.03),
    "rastrigin4": lambda: _rastrigin(4),
    "hills3": lambda: _hills(3, 0.01),
    "sensors3": lambda: _sensors(3, 0.01),
    "sensors4": lambda: _sensors(4, 0.01),
    "repelled4": lambda: _repelled(4, 0.02),
    "morse4": lambda: _morse(4, 0.1),
    "medoids4": lambda: _medoids(4, 0.003),
    "anchors2+3": lambda: _anchors(2, 3, 0.01),
    "orbits2+4": lambda: _orbits(2, 4, 0.02),
    "orbits1+5": lambda: _orbits(1, 5, 0.02),
    "pulled3+4": lambda: _pulled(3, 4, 0.04),
    "pulled4+5": lambda: _pulled(4, 5, 0.06),
    "rings6": lambda: _rings(6, 0.03),
    "farm6": lambda: _farm(6, 8),
    "far3": lambda: _far(3, 0.002),
    "rings3": lambda: _rings(3, 0.02),
    "levels3": lambda: _levels(3, 0.003),
    "levels4": lambda: _levels(4, 0.003),
    "pools4": lambda: _pools(4),
    "symmetric3": lambda: _process("symmetric3", G.Symmetric(3), 1, 0.03),
    "symmetric4": lambda: _process("symmetric4", G.Symmetric(4), 1, 0.03),
    "process2x2": lambda: _process("process2x2", G.BlockPermutation(2, 2), 2, 0.03),
    "spread7": lambda: _spread(7, 0.005),
    "spread12": lambda: _spread(12, 0.005),
    "span6": lambda: _span(6, 0.02),
    "span9": lambda: _span(9, 0.02),
    "design9": lambda: _design(9, 0.03),
    "design14": lambda: _design(14, 0.03),
    "griewank4": lambda: _griewank("griewank4", G.SignedPermutation(4)),
    "griewank5": lambda: _griewank("griewank5", G.SignFlips(5)),
    "ties10": lambda: _ties(10, 0.003),
    "ties13": lambda: _ties(13, 0.003),
    "gusts3": lambda: _farm(3, 1, name="gusts", winds=12, radius=600.0),
    "gusts4": lambda: _farm(4, 1, name="gusts", winds=10, radius=900.0),
    "process3x2": lambda: _process("process3x2", G.BlockPermutation(3, 2), 2, 0.03),
}


@functools.cache
def problem_of(name: str) -> Units:
    """Return a problem by its name."""
    return BUILDERS[name]()


def records() -> dict[str, Record]:
    """Return what is known of the problems."""
    known = json.loads(OPTIMA.read_text()) if OPTIMA.exists() else {}
    return {name: Record(**entry) for name, entry in known.items()}


def look_for_optima() -> None:
    """Search for the optima that are not known yet, and put them into the file."""
    known = records()
    for name in BUILDERS:
        if name not in known:
            problem, rng = problem_of(name), np.random.default_rng(0)
            sample = problem.means(problem.space.sample(RANDOM_POINTS, rng))
            point = search(problem, time.monotonic() + SECONDS, rng, None)
            value = float(problem.mean(point[None])[0])
            known[name] = Record(float(sample.mean()), float(sample.std()), value, point.tolist(), problem.fixes(point))
            spread = f"{sample.mean():.4g} ± {sample.std():.3g}, optimum {value:.4g}, noise {problem.deviation}"
            print(f"{name} ({problem.space.dim}): {spread}, fixed {known[name].is_fixed}", flush=True)
            OPTIMA.write_text(json.dumps({key: vars(each) for key, each in known.items()}, indent=0))


if __name__ == "__main__":
    look_for_optima()
