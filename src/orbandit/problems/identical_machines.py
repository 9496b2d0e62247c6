"""IdenticalMachines: split two classes of jobs among identical machines."""

import math
from typing import Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, shown, unknown_name
from orbandit._kernels.queues import share_processors
from orbandit.errors import InputError
from orbandit.groups import Symmetric
from orbandit.problems.noise import Noise
from orbandit.problems.search import SearchedProblem, steepness
from orbandit.spaces import Box

Indices: TypeAlias = npt.NDArray[np.int64]

ARRIVALS = np.array([[0.24], [0.045]])
"""Jobs of each class that come in a unit of time, for each machine there is."""
WORK = np.array([[1.0], [4.0]])
"""Mean size ES_k of the jobs of each class, alone on a machine."""
FLOOR = 0.05
"""Every machine takes some jobs of both classes: added to affinities."""
MIXING = 2.0
"""What a machine loses that works on both classes."""

WINDOW = 2_000
"""Jobs whose slowdown is averaged in a reward."""
HOPELESS = 1_000.0
"""A window with at least this mean slowdown need not be served to its end: its reward is 0, not
0.001 or less."""
CROWDED = 100_000
"""At most so many jobs are present on a machine at first. More are only where its load is within
some 1e-5 of 1."""
EDGE = 400
"""Steps along an edge of the cube in search of the steepest slope."""
FIRST_TAIL, LONGEST_TAIL = 256, 65_536
"""Jobs that come after the window are drawn so many at a time: at first, and at most."""

VARIATION = 10.0
"""Squared coefficient of variation of hyperexponential sizes."""
SHORT = (1 + math.sqrt((VARIATION - 1) / (VARIATION + 1))) / 2
"""The part of hyperexponential sizes that are short; short and long ones add up to the same work
("balanced means")."""


@final
class IdenticalMachines(SearchedProblem):
    """Two classes of jobs on m identical machines; the arm is the batch affinity of each machine.

    Small jobs (class 1, mean size ES_1 = 1) come at rate 0.24 m, batch jobs (class 2, ES_2 = 4) at
    rate 0.045 m. Machine i, with batch affinity x_i in [0, 1], takes its share of either,

        l_1i = 0.24 m  (1 - x_i + 0.05) / sum_j (1 - x_j + 0.05)
        l_2i = 0.045 m (x_i + 0.05) / sum_j (x_j + 0.05),

    and is slower the more it mixes them: sizes there have the means

        S_ki = ES_k (1 + 2 l_1i l_2i / (l_1i + l_2i)^2).

    It serves all jobs present at once, each at the same rate (processor sharing). So with a load
    rho_i = sum_k l_ki S_ki below 1 a job of class k spends the time S_ki / (1 - rho_i) there on
    average. The mean reward is 1 / the mean of (time in system / ES_k) over all jobs, the slowdown,
    and 0 if any rho_i >= 1. It is invariant under all permutations of the machines, and continuous:
    as rho_i -> 1 it goes to 0 linearly in 1 - rho_i, with a kink there.

    The best arms set some machines apart for batch jobs: equal affinities reach 0.370, four
    machines 0.489, three 0.519. Optimum and Lipschitz constant are found by search, not proved. The
    steepest slopes found are on the edge (t, 0, ..., 0): 1.4 for m = 2, 2.8 for m = 3, which no arm
    overloads, and for m >= 4 where that machine is about to be overloaded, 7.2 for m = 4, 23 for m
    = 8 and 3.3 m for many. Such places are rare: at random arms of four machines the slope is 0.12
    in the median and below 1 in 99 of 100. So let OrbitTree learn the slope (lipschitz=None), as
    `examples/identical_machines.py` does.

    Parameters
    ----------
    machines : int
        m, at least 2.
    sizes : "exponential" or "hyperexponential"
        The distribution of job sizes around their means; the latter with a squared coefficient of
        variation of 10. It matters to the noise only: the mean of processor sharing is insensitive
        to it.
    noise : Noise, optional
        The distribution of rewards around their mean. By default they come from a simulation of the
        queues.

    Notes
    -----
    A reward of the simulation is 1 / the mean slowdown of a window of 2,000 jobs. The first of them
    finds the stationary state: on machine i a geometric number of jobs, P(n) = (1 - rho_i) rho_i^n,
    each of class k with probability l_ki S_ki / rho_i and with a remaining size from the
    equilibrium distribution of its class. Jobs keep coming after the last of the window until all
    of the window have left, so that every one of the 2,000 has the stationary mean slowdown, and
    their average is unbiased. Its inverse is not: by Jensen's inequality its mean is higher, by
    about the variance of the average divided by the cube of its mean. In 10,000 windows of four
    machines, to +- 0.001:

    =======================  ======  ================  ================
    arm                      mean    exponential       hyperexponential
    =======================  ======  ================  ================
    (0.5, 0.5, 0.5, 0.5)     0.370   +0.002 (0.029)    +0.011 (0.065)
    (0.1, 0.3, 0.6, 0.8)     0.383   +0.003 (0.032)    +0.014 (0.070)
    (0.04, 0.04, 0.04, 1)    0.489   +0.004 (0.043)    +0.017 (0.086)
    (0, 0, 0, 1)             0.480   +0.007 (0.057)    +0.025 (0.100)
    (0, 1, 1, 1)             0.171   +0.012 (0.043)    +0.037 (0.079)
    =======================  ======  ================  ================

    with the bias of rewards, and their standard deviation in brackets. The bias is largest near
    overload. It is small against the 0.12 between equal affinities and the best, but for
    hyperexponential sizes as large as what parts the best two arms of the table. With a `noise`
    there is none.

    Jobs can be small by luck and have a slowdown below 1, so a reward above 1 cannot be ruled out,
    though none came near: it would be clipped to 1. A window is given up, with reward 0, once its
    mean slowdown is sure to be 1,000 or more, which takes a load within some 0.001 of 1.

    Examples
    --------
    >>> import orbandit as ob
    >>> shop = ob.problems.IdenticalMachines(4)
    >>> shop.mean([[0.1, 0.3, 0.6, 0.8], [0.5, 0.5, 0.5, 0.5], [0, 0, 0, 1]]).round(3).tolist()
    [0.383, 0.37, 0.48]
    >>> round(shop.optimum, 3), sorted(shop.optimizer.round(2).tolist())
    (0.489, [0.04, 0.04, 0.04, 1.0])
    >>> rewards = shop.sample([[0, 0, 0, 1]] * 200, rng=0)
    >>> float(rewards.mean().round(1)), float(rewards.std().round(1))
    (0.5, 0.1)

    References
    ----------
    L. Kleinrock, Queueing Systems, volume 2, 1976, chapter 4. F. P. Kelly, Reversibility and
    Stochastic Networks, 1979, chapter 3 (the stationary state, insensitive to the distribution of
    sizes).
    """

    _is_unit = True

    def __init__(
        self,
        machines: int = 4,
        *,
        sizes: Literal["exponential", "hyperexponential"] = "exponential",
        noise: Noise | None = None,
    ) -> None:
        m = as_count(machines, "machines", minimum=2)
        if not isinstance(sizes, str) or sizes not in ("exponential", "hyperexponential"):
            raise unknown_name("distribution of sizes", sizes, ("exponential", "hyperexponential"), field="sizes")
        if noise is not None and sizes != "exponential":
            raise InputError(
                f"`sizes={shown(sizes)}` is for rewards of the problem's own; drop it, or `noise`.",
                field="sizes",
                value=sizes,
            )
        super().__init__(Box(0.0, 1.0, dim=m), Symmetric(m), noise)
        self._machines, self._sizes = m, sizes

    def __repr__(self) -> str:
        noise = "" if self.noise is None else f", noise={self.noise!r}"
        return f"IdenticalMachines({self._machines}, sizes={self._sizes!r}{noise})"

    @property
    def bias(self) -> float:
        """The bias of the inverse of a window's mean slowdown, which is largest near overload."""
        if self.noise is not None:
            return 0.0
        return 0.02 if self._sizes == "exponential" else 0.05

    def _flows(self, points: Array) -> tuple[Array, Array]:
        """Return the rates l_ki of jobs and their mean sizes S_ki, both (m, 2, machines)."""
        affinities = np.stack([1 - points, points], axis=1) + FLOOR
        rates = self._machines * ARRIVALS * affinities / affinities.sum(axis=2, keepdims=True)
        mixing = 1 + MIXING * rates.prod(axis=1) / rates.sum(axis=1) ** 2
        return rates, WORK * mixing[:, None]

    def _mean(self, points: Array) -> Array:
        rates, means = self._flows(points)
        idle = 1 - (rates * means).sum(axis=1)
        stable = (idle > 0).all(axis=1)
        times = means / np.where(stable[:, None], idle, 1.0)[:, None]
        slowdowns = (rates * times / WORK).sum(axis=(1, 2)) / (self._machines * ARRIVALS.sum())
        return np.where(stable, 1 / slowdowns, 0.0)

    def _starts(self) -> Array:
        """Return the corners up to permutation, and the steepest points of the edge (t, 0, ..., 0)."""
        corners = np.tri(self._machines + 1, self._machines, -1)
        edge = np.zeros((EDGE + 1, self._machines))
        edge[:, 0] = np.linspace(0, 1, EDGE + 1)
        edge = np.concatenate([edge, self._brinks(edge)])
        lengths = steepness(self._mean, self.space)(edge)
        return np.concatenate([corners, edge[np.argsort(-lengths)[:4]]])

    def _brinks(self, edge: Array) -> Array:
        """Return points where a machine is just not overloaded: one between two on the edge of which one is.

        The mean is steepest there, and a search that steps over the kink sees half of the slope at
        most.
        """
        stable = self._mean(edge) > 0
        flips = np.flatnonzero(stable[1:] != stable[:-1])
        sound = edge[np.where(stable[flips], flips, flips + 1)]
        over = edge[np.where(stable[flips], flips + 1, flips)]
        for _ in range(40):
            middle = (sound + over) / 2
            is_sound = (self._mean(middle) > 0)[:, None]
            sound, over = np.where(is_sound, middle, sound), np.where(is_sound, over, middle)
        # beyond the differences that measure slopes
        away = np.sign(sound - over) * 5e-6 * self.space.diameter
        return sound + away

    def _draw(self, points: Array, rng: np.random.Generator) -> Array:
        rewards = np.zeros(len(points))
        for row, (rates, means) in enumerate(zip(*self._flows(self.space.project(points)), strict=True)):
            if (rates * means).sum(axis=0).max() < 1:
                slowdown = self._slowdown(rates, means, rng)
                rewards[row] = min(1 / slowdown, 1.0) if slowdown < HOPELESS else 0.0
        return rewards

    def _slowdown(self, rates: Array, means: Array, rng: np.random.Generator) -> float:
        """Simulate a window.

        Return the mean slowdown of its jobs, or a lower bound that gives reward 0.
        """
        old_places, old_sizes = self._present(rates, means, rng)
        gaps, classes, places, sizes = self._arrivals(WINDOW, rates, means, rng)
        # so that arrivals see the stationary state; in a time before the first, machines would
        # empty
        gaps[0] = 0.0
        times, queues = gaps.cumsum(), _Queues(self._machines, WINDOW)
        queues.serve(np.zeros(len(old_places)), old_places, old_sizes)
        queues.serve(times, places, sizes, np.arange(WINDOW))
        length = FIRST_TAIL
        while True:
            left = queues.departures
            slowdown = float(((np.minimum(left, queues.time) - times) / WORK[classes, 0]).mean())
            waiting = np.bincount(places[left == np.inf], minlength=self._machines) > 0
            if slowdown >= HOPELESS or not waiting.any():
                return slowdown
            # Jobs that come later matter where a job of the window waits, and nowhere else.
            gaps, _, later, sizes = self._arrivals(length, rates * waiting, means, rng)
            queues.serve(queues.time + gaps.cumsum(), later, sizes)
            length = min(2 * length, LONGEST_TAIL)

    def _arrivals(
        self, count: int, rates: Array, means: Array, rng: np.random.Generator
    ) -> tuple[Array, Indices, Indices, Array]:
        """Draw the next jobs to come: the time from the one before to each, their classes, machines and sizes."""
        ends = rates.ravel().cumsum()
        flows = np.searchsorted(ends, ends[-1] * rng.random(count), side="right")
        sizes = self._unit_sizes(count, rng) * means.ravel()[flows]
        return rng.standard_exponential(count) / ends[-1], *np.divmod(flows, self._machines), sizes

    def _present(self, rates: Array, means: Array, rng: np.random.Generator) -> tuple[Indices, Array]:
        """Draw the stationary state: the machine of each job present, and what remains of its size."""
        loads = rates * means
        total = loads.sum(axis=0)
        crowds = np.minimum(rng.geometric(1 - total) - 1, CROWDED)
        places = np.repeat(np.arange(self._machines), crowds)
        classes = np.where(rng.random(len(places)) * total[places] < loads[0, places], 0, 1)
        return places, self._unit_sizes(len(places), rng, remaining=True) * means[classes, places]

    def _unit_sizes(self, count: int, rng: np.random.Generator, *, remaining: bool = False) -> Array:
        """Draw sizes of mean 1, or what remains of such jobs in the stationary state.

        An exponential size keeps its distribution. Of a mixture, jobs present are of a branch in
        proportion to the work it brings, a half each here.
        """
        sizes = rng.standard_exponential(count)
        if self._sizes == "hyperexponential":
            short = rng.random(count) < (0.5 if remaining else SHORT)
            sizes *= np.where(short, 0.5 / SHORT, 0.5 / (1 - SHORT))
        return sizes


class _Queues:
    """The jobs on all machines; `departures` holds when those leave that are watched, infinity until then."""

    def __init__(self, machines: int, watched: int) -> None:
        self.time, self.departures = 0.0, np.full(watched, np.inf)
        self._clocks, self._present = np.zeros((machines, 2)), np.zeros(machines, np.int64)
        self._targets, self._holders = np.empty((machines, 0)), np.empty((machines, 0), np.int64)

    def serve(self, times: Array, places: Indices, sizes: Array, watched: Indices | None = None) -> None:
        """Let jobs come, and serve until the last of them does."""
        if not len(times):
            return
        machines = len(self._present)
        old = int(self._present.max())
        room = int((self._present + np.bincount(places, minlength=machines)).max())
        targets, holders = np.empty((machines, room)), np.empty((machines, room), np.int64)
        targets[:, :old], holders[:, :old] = self._targets[:, :old], self._holders[:, :old]
        self._targets, self._holders, self.time = targets, holders, float(times[-1])
        jobs = np.full(len(times), -1) if watched is None else watched
        share_processors(
            times, places, sizes, jobs, self.time, self._clocks, self._present, targets, holders, self.departures
        )
