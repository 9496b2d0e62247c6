"""WindFarm: layouts of a wind farm with as little wake loss as possible."""

import math
from functools import cached_property, partial
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_finite, as_points, as_positive, frozen, unknown_name
from orbandit._kernels.wakes import DIAMETER, farm_gradients, farm_power, nearest_pairs
from orbandit.errors import InputError
from orbandit.groups import BlockPermutation, Diagonal, Dihedral, Group, Joint
from orbandit.problems.base import Feasible
from orbandit.problems.noise import Noise
from orbandit.problems.search import CLIMBERS, MARGIN, SAMPLES, SearchedProblem, climb
from orbandit.problems.site import Site, disk_rule_slopes, disk_rules, on_circle
from orbandit.spaces import Ball, Product

SITE = 325.0
"""Radius in metres of a site for one turbine, 1300 / sqrt(16): of m turbines, sqrt(m) times as
much."""

LARGEST = 1e5
"""Radius in metres of the largest site: on a larger one, steps of a search would miss wakes."""

WINDS = 16
ROSES: dict[str, tuple[float, ...]] = {
    "uniform": (1 / WINDS,) * WINDS,
    "iea37": (
        *(0.025, 0.024, 0.029, 0.036, 0.063, 0.065, 0.100, 0.122),
        *(0.063, 0.038, 0.039, 0.083, 0.213, 0.046, 0.032, 0.022),
    ),
}

RATED, HOURS = 3.35, 8760.0
"""Power that a turbine is rated for, in MW, and the hours of a year."""

SPACINGS = ("penalty", "constraint")

TURNS, WALKERS, PLACES = 5, 16, 64
GAIN = 1e-3
"""A search moves single turbines while that adds more than this to the mean, and then all of them
at once."""


@final
class WindFarm(SearchedProblem):
    """The layout of a wind farm on a disk, in the simplified Gaussian wake model of IEA Wind Task 37.

    The point (x_1, y_1, ..., x_m, y_m) places m turbines, in metres east and north of the middle.
    All have rotors of D = 130 m and the thrust coefficient C = 8/9; the wind blows at 9.8 m/s. A
    turbine dx > 0 downstream of another and dy beside its axis loses the share

        (1 - sqrt(1 - C D^2 / (8 s^2))) exp(-(dy / s)^2 / 2) h(dx / D),     s = 0.0324555 dx + D / sqrt(8),

    of its wind. Losses from several wakes add up as the root of their squares, and wind of speed V
    yields the share ((V - 4) / (9.8 - 4))^3 of the rated power, nothing below 4 m/s. The mean
    reward is

        (share of the rated power, averaged over turbines and wind directions) min(1, d_min / 2 D)

    with d_min the least distance between two turbines. With `spacing="penalty"` it departs from the
    published model in two ways, so that every bandit can play it. There, a wake begins with a jump,
    of 2/3 on its axis, so that the mean has no Lipschitz constant; here, it sets in by h(t) = t^2
    (3 - 2 t) for t < 1, and from dx = D on (h = 1) it is that of the model. And there, turbines in
    one place take no wind from each other, and a constraint keeps them 2 D apart; here, the last
    factor does.

    With `spacing="constraint"` all is as published: h = 1 for dx > 0, there is no last factor,
    `feasible` has the constraints, and `lipschitz` is None. Then `optimum` is that of feasible
    layouts; others, with turbines in one place, may have larger means.

    Winds are named by where they come from, clockwise from north: of k directions, the i-th comes
    from 360 i / k degrees and blows along (-sin, -cos) of that angle.

    The optimum and the Lipschitz constant, which is per metre, are found by search, once, when
    first asked for. To find the optimum, single turbines of several layouts are moved to better
    places, anywhere on the disk, until there are none, and the layouts then improved by sequential
    quadratic programming. Searches with other seeds find the same optimum for up to 12 turbines at
    the usual density; on crowded sites they may differ by 0.001, and with 16 turbines by 0.01.

    With `spacing="constraint"`, random feasible layouts are improved by sequential quadratic
    programming, and the best 8 repeatedly after one to three of their turbines were moved: 8 times
    for each turbine, but at most 128 times. With rose="iea37" other seeds find the same for 8
    turbines, and differ by 0.008 for 12 and 16. For the case studies it finds 422,923 MWh with 16
    turbines in some 10 seconds, and 869,666 with 36 in 40; by SNOPT with wake expansion, the best
    of the results published for them, it is 418,924 and 863,676. With 64 it takes minutes.

    Parameters
    ----------
    turbines : int
        m, at least 2: one turbine stands in no wake.
    radius : float, optional
        Radius of the disk, in metres, from 65 to 100,000. By default 325 sqrt(m): the density of
        the case of 16 turbines on 1300 m.
    rose : "uniform", "iea37" or (k,) array
        How often the wind comes from each direction. "uniform": 16 directions alike; then the group
        exchanges turbines, and turns and mirrors the farm, Joint(BlockPermutation(m, 2),
        Diagonal(Dihedral(16), m)). "iea37": the 16 frequencies of the case study. An array:
        frequencies of k >= 1 evenly spaced directions, not negative and not all 0; they are scaled
        to sum to 1. With the latter two the group is BlockPermutation(m, 2).
    noise : Noise, optional
        The distribution of rewards around their mean. By default a reward is the mean reward in
        directions drawn from the rose.
    directions : int
        Number of directions drawn for a reward, if there is no `noise`.
    spacing : "penalty" or "constraint"
        Whether turbines too close to each other lower the mean, and all layouts on the disk are
        feasible, or violate a constraint of the published model. Then the disk must have room for
        all turbines.

    Examples
    --------
    >>> import orbandit as ob
    >>> farm = ob.problems.WindFarm(3)
    >>> farm.group.order, round(farm.optimum, 4)
    (192, 0.9873)
    >>> line = [0, 400, 0, 0, 0, -400]  # from north to south
    >>> farm.mean(line).round(3).item()
    0.914
    >>> farm.sample([line] * 4, rng=2).round(3).tolist()  # each in a wind of its own
    [1.0, 1.0, 0.38, 1.0]
    >>> ob.problems.WindFarm(3, rose=[1, 0, 0, 0]).mean(line).round(3).item()  # all wind from the north
    0.38
    >>> published = ob.problems.WindFarm(3, spacing="constraint")
    >>> near = [0, 200, 0, 0, 0, -400]  # 200 m and 400 m apart, at most 400 m from the middle of 563 m
    >>> published.feasible([line, near]).round(1).tolist(), published.annual_energy(line).round().item()
    ([140.0, -60.0], 80466.0)

    References
    ----------
    .. [1] N. F. Baker et al., Best practices for wake model and optimization algorithm selection in wind farm layout
       optimization, AIAA SciTech Forum, 2019: the case studies of IEA Wind Task 37.
    .. [2] M. Bastankhah and F. Porté-Agel, A new analytical model for wind-turbine wakes, Renewable Energy 70, 2014.
    """

    _is_unit = True

    def __init__(
        self,
        turbines: int = 3,
        *,
        radius: float | None = None,
        rose: str | npt.ArrayLike = "uniform",
        noise: Noise | None = None,
        directions: int = 1,
        spacing: Literal["penalty", "constraint"] = "penalty",
    ) -> None:
        self._turbines = as_count(turbines, "turbines", minimum=2)
        self._radius = SITE * math.sqrt(self._turbines) if radius is None else as_positive(radius, "radius")
        if not DIAMETER / 2 <= self._radius <= LARGEST:
            raise InputError(
                f"`{DIAMETER / 2:g} <= radius <= {LARGEST:g}` must hold, but got radius={self._radius:g}: "
                "it is in metres, and a rotor is 130 m wide."
            )
        if not isinstance(spacing, str) or spacing not in SPACINGS:
            raise unknown_name("spacing", spacing, SPACINGS)
        self._site = Site(self._turbines, self._radius, 2 * DIAMETER) if spacing == "constraint" else None
        self._feasible = None if self._site is None else partial(_margins, self._site)
        self._onset = DIAMETER if self._site is None else 0.0
        self._directions = as_count(directions, "directions")
        if noise is not None and self._directions > 1:
            raise InputError(
                f"`directions={directions}` is for rewards of the problem's own; drop it, or `noise`.",
                field="directions",
                value=directions,
            )
        self._frequencies = frozen(_frequencies(rose))
        self._rose = rose if isinstance(rose, str) else self._frequencies.tolist()
        angles = 2 * math.pi * np.arange(len(self._frequencies)) / len(self._frequencies)
        self._winds = -np.column_stack([np.sin(angles), np.cos(angles)])
        group: Group = BlockPermutation(self._turbines, 2)
        if self._rose == "uniform":
            group = Joint(group, Diagonal(Dihedral(WINDS), self._turbines))
        super().__init__(Product(*[Ball(2, self._radius)] * self._turbines), group, noise)

    def __repr__(self) -> str:
        own = f"directions={self._directions}" if self.noise is None else f"noise={self.noise!r}"
        spacing = "" if self._site is None else ", spacing='constraint'"
        return f"WindFarm({self._turbines}, radius={self._radius:g}, rose={self._rose!r}, {own}{spacing})"

    @property
    def lipschitz(self) -> float | None:
        """The steepest slope found, plus 2 %.

        None with spacing="constraint", where wakes begin with a jump.
        """
        return super().lipschitz if self._site is None else None

    @property
    def feasible(self) -> Feasible | None:
        """The constraints; None with spacing="penalty", which has none.

        `farm.feasible(points)` returns margins in metres, (n,), feasible if >= 0: the least of the
        distances of turbines to the rim of the disk, from inside, and of the distances of pairs
        minus 2 D. A violation of less than a nanometre is rounding, and counts as 0.
        """
        return self._feasible

    def annual_energy(self, points: npt.ArrayLike) -> Array:
        """Return the energy of each layout in a year of 365 days, in MWh, if its turbines are rated for 3.35 MW each.

        It is the share of the rated power in the mean wind; the factor of spacing="penalty", which
        is no loss of energy, is left out.

        Parameters
        ----------
        points : (n, dim) array
            Layouts, feasible or not.

        Examples
        --------
        >>> import orbandit as ob
        >>> farm = ob.problems.WindFarm(2, rose=[1, 0, 0, 0], spacing="constraint")  # all wind from the north
        >>> farm.annual_energy([[-300, 0, 300, 0], [0, 300, 0, -300]]).round().tolist()
        [58692.0, 34966.0]
        """
        batch, single = as_points(points, self.space.dim)
        energy = RATED * HOURS * self._turbines * self._power(batch, self._frequencies[None])
        return energy[0] if single else energy

    def _mean(self, points: Array) -> Array:
        return self._power(points, self._frequencies[None]) * self._spacing(points)

    def _draw(self, points: Array, rng: np.random.Generator) -> Array:
        counts = rng.multinomial(self._directions, self._frequencies, size=len(points))
        rewards = self._power(points, counts / self._directions) * self._spacing(points)
        return np.asarray(np.clip(rewards, 0.0, 1.0))  # weights sum to 1 but for rounding

    def _power(self, points: Array, weights: Array) -> Array:
        """Return the share of the rated power, with weights of winds for all layouts, (1, k), or for each, (n, k)."""
        shares = np.empty(len(points))
        farm_power(self._layouts(points), self._winds, weights, shares, self._onset)
        return shares

    def _spacing(self, points: Array) -> Array:
        """Return the factor that keeps turbines apart: 1 if a constraint does."""
        if self._site is not None:
            return np.ones(len(points))
        return np.asarray(np.minimum(1.0, self._nearest(points)[0] / (2 * DIAMETER)))

    def _nearest(self, points: Array) -> tuple[Array, npt.NDArray[np.int64]]:
        """Return the least distance between two turbines of each layout, and which these are."""
        distances, pairs = np.empty(len(points)), np.empty((len(points), 2), dtype=np.int64)
        nearest_pairs(self._layouts(points), distances, pairs)
        return distances, pairs

    def _power_slopes(self, points: Array) -> Array:
        """Return the gradient of the power of each layout, (n, dim)."""
        slopes = np.empty((len(points), self._turbines, 2))
        farm_gradients(self._layouts(points), self._winds, self._frequencies, slopes, self._onset)
        return slopes.reshape(points.shape)

    def _slopes(self, points: Array) -> Array:
        """Return the gradient of the mean at each layout, (n, dim)."""
        distances, pairs = self._nearest(points)
        slopes = self._power_slopes(points) * self._spacing(points)[:, None]
        # Where two turbines are too near, power is gained by moving the one from the other.
        rows = np.flatnonzero((distances > 0) & (distances < 2 * DIAMETER))
        i, j = pairs[rows].T
        layouts, parts = self._layouts(points), slopes.reshape(-1, self._turbines, 2)
        away = (layouts[rows, i] - layouts[rows, j]) / distances[rows, None] / (2 * DIAMETER)
        away *= self._power(points[rows], self._frequencies[None])[:, None]
        parts[rows, i] += away
        parts[rows, j] -= away
        return slopes

    def _layouts(self, points: Array) -> Array:
        return np.ascontiguousarray(points).reshape(len(points), self._turbines, 2)

    def _starts(self) -> Array:
        m = self._turbines
        k = np.arange(m)
        rings = [self._radius * on_circle((k + turn / TURNS) / m) for turn in range(TURNS)]
        # Seeds of a sunflower, evenly spread over the disk: each a golden section of the circle
        # from the last.
        flower = self._radius * np.sqrt((k + 0.5) / m)[:, None] * on_circle(k * (3 - math.sqrt(5)) / 2)
        return np.array([*rings, flower]).reshape(-1, 2 * m)

    def _steep_starts(self) -> Array:
        """Return layouts where the mean may be steep, (k, dim)."""
        starts = self._starts() * min(1.0, SITE * math.sqrt(self._turbines) / self._radius)
        # Two turbines only just too near for the last factor to be 1.
        pairs = self._layouts(starts).copy()
        gaps = pairs[:, 1] - pairs[:, 0]
        pairs[:, 1] = pairs[:, 0] + gaps * np.minimum(1.0, 1.99 * DIAMETER / np.linalg.norm(gaps, axis=1))[:, None]
        # All turbines almost in one place, where they take no wind from each other, and the last
        # factor has its full slope, sqrt(2) / 2 D; one pair is nearer than all others, for there
        # are kinks between pairs.
        heap = 1e-5 * self._layouts(starts[-1:])
        heap[:, 1] = (heap[:, 0] + heap[:, 1]) / 2
        return np.concatenate([starts, pairs.reshape(starts.shape), heap.reshape(1, -1)])

    @cached_property
    def _best(self) -> tuple[Array, float]:
        rng = np.random.default_rng(0)
        if self._site is not None:
            best = self._site.best(self._mean, self._power_slopes, rng)
            return frozen(best), float(self._mean(best[None])[0])
        sample = np.concatenate([self._starts(), self.space.sample(SAMPLES, rng)])
        points = self._moved(sample[np.argsort(-self._mean(sample))[:WALKERS]], rng)
        points = np.array([self._polished(point, 30) for point in points])
        best = points[self._mean(points).argmax()]
        best = self._polished(best, 300)
        return frozen(best), float(self._mean(best[None])[0])

    @cached_property
    def _steepest(self) -> float:
        rng = np.random.default_rng(1)

        def length(points: Array) -> Array:
            return np.asarray(np.linalg.norm(self._slopes(points), axis=1))

        sample = np.concatenate([self.space.sample(SAMPLES, rng), self._steep_starts(), self.optimizer[None]])
        sample = sample[np.argsort(-length(sample))[:CLIMBERS]]
        return MARGIN * float(climb(length, self.space, sample, rng, rounds=200)[1].max())

    def _moved(self, points: Array, rng: np.random.Generator) -> Array:
        """Move one turbine at a time to the best of many places, over and over, until no turbine gains by that."""
        disk = Ball(2, self._radius)
        points, means = points.copy(), self._mean(points)
        rows, idle = np.arange(len(points)), 0
        while idle < 2 * self._turbines:
            for j in rng.permutation(self._turbines):
                # A third of the places are on the rim, where most turbines of good layouts stand.
                places = np.vstack([disk.sample(PLACES, rng), self._radius * on_circle(rng.random(PLACES // 2))])
                trials = np.repeat(points[:, None], len(places), axis=1)
                trials[:, :, 2 * j : 2 * j + 2] = places
                found = self._mean(trials.reshape(-1, points.shape[1])).reshape(len(points), -1)
                which = found.argmax(axis=1)
                better = found[rows, which] > means + GAIN
                points[better], means[better] = trials[rows, which][better], found[rows, which][better]
                idle = 0 if better.any() else idle + 1
        return points

    def _polished(self, point: Array, steps: int) -> Array:
        """Return a better layout near a point, by so many steps, or the point itself.

        The factor min(1, d_min / 2 D) is a variable f of its own, the largest with which every
        distance is at least 2 D f. So all is smooth: maximise f times the power over layouts and f
        <= 1 with these constraints.
        """
        from scipy.optimize import NonlinearConstraint, minimize

        m, unit = self._turbines, 2 * DIAMETER / self._radius
        first, second = np.triu_indices(m, 1)

        def loss(v: Array) -> tuple[float, Array]:
            layout = self._radius * v[None, :-1]
            power = float(self._power(layout, self._frequencies[None])[0])
            return -power * v[-1], -np.append(v[-1] * self._radius * self._power_slopes(layout)[0], power)

        def room(v: Array) -> Array:
            inside, squares = disk_rules(v[:-1], first, second)
            return np.concatenate([inside, squares - (unit * v[-1]) ** 2, [1 - v[-1]]])

        def slopes(v: Array) -> Array:
            matrix = np.zeros((m + len(first) + 1, 2 * m + 1))
            matrix[:-1, :-1] = disk_rule_slopes(v[:-1], first, second)
            matrix[m:-1, -1], matrix[-1, -1] = -2 * unit**2 * v[-1], -1.0
            return matrix

        found = minimize(
            loss,
            np.append(point / self._radius, self._spacing(point[None])),
            jac=True,
            method="SLSQP",
            constraints=NonlinearConstraint(room, 0.0, np.inf, jac=slopes),
            options={"ftol": 1e-10, "maxiter": steps},
        )
        ends = np.stack([point, self.space.project(self._radius * found.x[:-1])])
        return np.asarray(ends[self._mean(ends).argmax()])


def _frequencies(rose: str | npt.ArrayLike) -> Array:
    """Return how often the wind comes from each direction; they sum to 1."""
    if isinstance(rose, str):
        if rose not in ROSES:
            raise unknown_name("rose", rose, ROSES)
        return np.array(ROSES[rose])
    given = as_finite(rose, "rose")
    if given.ndim != 1 or not given.size or given.min() < 0 or given.max() == 0:
        raise InputError(
            "`rose` must be a name or a list of frequencies, none negative and not all 0, but got "
            f"{np.array2string(given, threshold=20)}; leave directions without wind at 0.",
            field="rose",
            value=rose,
        )
    shares = given / given.max()  # sums of what is very large would overflow
    return np.asarray(shares / shares.sum())


def _margins(site: Site, points: npt.ArrayLike) -> Array:
    """Return the margins of layouts, or of a single one."""
    batch, single = as_points(points, 2 * site.units)
    margins = site.margins(batch)
    return margins[0] if single else margins
