"""OrbitUCB1: UCB1 on one representative per orbit of arms, the warm-up of the paper's Section 2.3.

Rewards are invariant under a group that permutes K arms. Its orbits are found by union-find from
permutations that generate it. A reward of an arm counts for its whole orbit, and only the first arm
of each orbit is played.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_finite, shown
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.files import Arrays
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.listed_arms import MAX_ARMS, ListedArms
from orbandit.agents.table import UCB, Table, width_of
from orbandit.errors import InputError


@final
class OrbitUCB1(Agent):
    """UCB1 on the orbits of `n_arms` arms.

    The agent's `n_arms` is the number of orbits, from which it chooses; `tell` takes any of the
    arms.

    Parameters
    ----------
    n_arms : int
        Number of arms, named 0, ..., n_arms - 1; at most 10,000,000.
    generators : (k, n_arms) array of int
        Permutations of the arms that generate the group: arm i goes to generators[j][i].
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, and confidence grows
        with each.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities drawn from it, once for
        each orbit.

    Examples
    --------
    >>> import orbandit as ob
    >>> agent = ob.agents.OrbitUCB1(6, [[1, 2, 0, 3, 5, 4]], horizon=100, seed=0)
    >>> agent.n_arms, agent.representatives.tolist(), agent.orbits.tolist()
    (3, [0, 3, 4], [0, 0, 0, 1, 2, 2])
    """

    arms: ListedArms

    def __init__(
        self,
        n_arms: int,
        generators: npt.ArrayLike,
        *,
        horizon: int | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        permutations = as_permutations(generators, as_count(n_arms, "n_arms", maximum=MAX_ARMS))
        self._settings["generators"] = permutations
        self._representatives, self._orbits = orbits_of(permutations)
        self._start(seed)

    def _begin(self) -> None:
        self._use(Table.by_priority(self._rng.random(len(self._representatives)), UCB, width_of(self._goal)))

    def _use(self, table: Table) -> None:
        self.arms = ListedArms(table, self._representatives, self._orbits)

    def _choose(self) -> int:
        return self.arms.table.leader  # as UCB1, among representatives

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        arm = handle if handle != ELSEWHERE else self.arms.handle(point)
        self.arms.table.observe_own(arm, value, released)  # a reward of the whole orbit

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self.arms.table.expect(np.array([handle], dtype=np.int32), amount)

    def _recommend(self) -> int:
        return self.arms.point(self.arms.table.best)  # the largest lower confidence bound

    def _estimate(self, point: Any) -> Any:
        return self.arms.table.means[self.arms.handle(point)]

    def _renew(self) -> None:
        self.arms.table.widen(width_of(self._goal))

    @property
    def representatives(self) -> npt.NDArray[np.intp]:
        """The representative of each orbit, the lowest of its arms."""
        return self._representatives

    @property
    def orbits(self) -> npt.NDArray[np.intp]:
        """The orbit of each arm."""
        return self._orbits

    @property
    def n_arms(self) -> int:
        """Number of orbits, which is what it chooses from."""
        return len(self.arms)

    def means(self) -> Array:
        """Return the mean reward observed of each arm, NaN where there is none."""
        return self._unscaled(self.arms.table.by_name(self.arms.table.means))

    def counts(self) -> Array:
        """Return the number of observations of each arm."""
        return self.arms.table.by_name(self.arms.table.counts)

    def upper_bounds(self) -> Array:
        """Return the index of each arm, mean + sqrt(2 log n / O); infinite without observations."""
        return self._unscaled(self.arms.table.by_name(self.arms.table.upper_bounds))

    def _state(self) -> State:
        return {}, self.arms.table.arrays_to_save

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._use(Table.restore(arrays, len(self._representatives), UCB, width_of(self._goal)))

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the numbers of the arms played."""
        return self.arms.table.play(None, means, draws, self._low, self._span)


def as_permutations(generators: npt.ArrayLike, size: int) -> npt.NDArray[np.intp]:
    """Return generators as (k, size) permutations of 0, ..., size - 1."""
    given = as_finite(generators, "generators")
    if given.shape in ((0,), (0, size)):
        return np.empty((0, size), dtype=np.intp)
    rows = np.atleast_2d(given)
    proper = rows.ndim == 2 and rows.shape[1] == size and (np.sort(rows, axis=1) == np.arange(size)).all()
    if not proper:
        raise InputError(
            f"`generators` must be permutations of 0, ..., {size - 1}, one to a row, but got {shown(generators)}."
        )
    return rows.astype(np.intp)


def orbits_of(permutations: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the lowest member of each orbit, ascending, and the orbit of each arm, by union-find."""
    parents = list(range(permutations.shape[1]))

    def root(arm: int) -> int:
        while parents[arm] != arm:
            parents[arm] = parents[parents[arm]]  # halve the path
            arm = parents[arm]
        return arm

    for permutation in permutations.tolist():
        for arm, image in enumerate(permutation):
            a, b = root(arm), root(image)
            parents[max(a, b)] = min(a, b)
    roots = np.array([root(arm) for arm in range(len(parents))], dtype=np.intp)
    representatives, orbits = np.unique(roots, return_inverse=True)
    orbits = orbits.astype(np.intp)
    for array in (representatives, orbits):
        array.flags.writeable = False
    return representatives, orbits
