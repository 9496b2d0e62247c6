"""OrbitUCB1: UCB1 on one representative per orbit of arms, the warm-up of the paper's Section 2.3.

A group that permutes K arms and leaves rewards alone cuts them into orbits, found by union-find from permutations that
generate it. A reward of an arm is one of its whole orbit, and only the first arm of each orbit is played.
"""

from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import as_count, as_finite, shown
from orbandit.agents.base import Seed
from orbandit.agents.listed import MAX_ARMS, ListedAgent
from orbandit.errors import InputError


@final
class OrbitUCB1(ListedAgent):
    """UCB1 on the orbits of `n_arms` arms.

    `n_arms` of the agent is the number of orbits, which is what it chooses from; `tell` takes any of the arms.

    Parameters
    ----------
    n_arms : int
        Number of arms, named 0, ..., n_arms - 1; at most 10,000,000.
    generators : (k, n_arms) array of int
        Permutations of the arms that generate the group: arm i goes to generators[j][i].
    horizon, reward_range, seed
        As for `UCB1`.

    Examples
    --------
    >>> import orbandit as ob
    >>> agent = ob.agents.OrbitUCB1(6, [[1, 2, 0, 3, 5, 4]], horizon=100, seed=0)
    >>> agent.n_arms, agent.representatives.tolist(), agent.orbits.tolist()
    (3, [0, 3, 4], [0, 0, 0, 1, 2, 2])
    """

    def __init__(
        self,
        n_arms: int,
        generators: npt.ArrayLike,
        *,
        horizon: int | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: Seed = None,
    ) -> None:
        super().__init__(seed, n_arms=n_arms, generators=generators, horizon=horizon, reward_range=reward_range)

    def _configure(self, *, n_arms: int, generators: npt.ArrayLike, **common: Any) -> None:
        self._configure_common(**common)
        self._generators = as_permutations(generators, as_count(n_arms, "n_arms", maximum=MAX_ARMS))
        self._representatives, self._orbits = orbits_of(self._generators)
        self._size = len(self._representatives)

    @property
    def representatives(self) -> npt.NDArray[np.intp]:
        """The arm that stands for each orbit, the lowest of its arms."""
        return self._representatives

    @property
    def orbits(self) -> npt.NDArray[np.intp]:
        """The orbit of each arm."""
        return self._orbits

    def _point(self, arm: int) -> int:
        return int(self._representatives[self._order[arm]])

    def _points(self) -> npt.NDArray[Any]:
        return self._representatives[self._order]

    def _key(self, point: Any) -> int:
        """Return the representative of an arm, so that telling any arm of an orbit answers an ask of it."""
        arm = point if type(point) is int else as_count(point, "arm", minimum=0)
        if not 0 <= arm < len(self._orbits):
            raise InputError(f"`arm` must be one of 0, ..., {len(self._orbits) - 1}, but got {arm}.")
        return int(self._representatives[self._orbits[arm]])

    def _nearest(self, point: Any) -> int:
        return int(self._number[self._orbits[self._key(point)]])

    def _settings(self) -> dict[str, Any]:
        return {"n_arms": len(self._orbits), "generators": self._generators, **super()._settings()}


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
