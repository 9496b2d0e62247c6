"""UCB-N: UCB1 with side observations along the edges of a fixed graph.

Playing arm i shows a reward of every arm of its neighbourhood N(i), itself included:

    index(i) = mean(i) + sqrt(2 log n / O(i)),     O(i) observations of arm i

S. Caron, B. Kveton, M. Lelarge, S. Bhagat, Leveraging side observations in stochastic bandits,
2012, Algorithm 1. As in `UCB1`, n is the horizon or that of the epoch, not the current round.
"""

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_finite, shown
from orbandit._kernels.arms import ArmArray
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.files import Arrays
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.listed_arms import ListedArms
from orbandit.agents.neighborhoods import Neighborhoods
from orbandit.agents.table import UCB, Table, width_of
from orbandit.errors import InputError, InputTypeError


@final
class UCBN(Agent):
    """UCB-N on the vertices of a graph, named 0, ..., K - 1.

    Parameters
    ----------
    graph : networkx graph, or anything with `indptr` and `indices`, or a pair of them
        The side observations: when an arm is played, its neighbours are observed, too; in a
        directed graph, its successors. An `OrbitGraph` and scipy's CSR arrays have `indptr` and
        `indices`. Every arm observes itself.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, and confidence grows
        with each.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities drawn from it, once for
        each arm.

    Notes
    -----
    `tell(arm, reward)` gives all neighbours the same reward. `tell(arm, reward, side={...})` gives
    each its own: `side` holds a reward for each of the other arms of the neighbourhood.

    Examples
    --------
    >>> import orbandit as ob
    >>> agent = ob.agents.UCBN(([0, 2, 4, 5], [0, 1, 0, 1, 2]), horizon=100, seed=0)
    >>> agent.tell(0, 1.0)                      # one reward for the whole neighbourhood
    >>> agent.tell(1, 0.0, side={0: 0.5})       # a reward of its own for each neighbour
    >>> agent.means().tolist(), agent.counts().tolist()
    ([0.75, 0.5, nan], [2.0, 2.0, 0.0])
    """

    arms: ListedArms

    def __init__(
        self,
        graph: Any,
        *,
        horizon: int | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        self._indptr, self._indices = self._settings["graph"] = as_lists(graph)
        self._start(seed)

    def _begin(self) -> None:
        self._use(Table.by_priority(self._rng.random(len(self._indptr) - 1), UCB, width_of(self._goal)))

    def _use(self, table: Table) -> None:
        self.arms = ListedArms(table)
        self._lists = Neighborhoods(len(table), self._neighbors)

    def _neighbors(self, arms: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.int64], ArmArray]:
        """Return N(i) of each arm, all by their numbers."""
        names = self.arms.table.order[arms]
        starts, sizes = self._indptr[names], self._indptr[names + 1] - self._indptr[names]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(starts - indptr[:-1], sizes) + np.arange(indptr[-1])
        return indptr, self.arms.numbers[self._indices[places]].astype(np.int32)

    def _choose(self) -> int:
        return self.arms.table.leader  # argmax of mean(i) + sqrt(2 log n / O(i))

    def _observe(
        self, handle: int, point: Any, value: float, released: float, *, side: Mapping[int, float] | None = None
    ) -> None:
        arm = handle if handle != ELSEWHERE else self.arms.handle(point)
        if side is None:
            # O, mean and index of all of N(i)
            self.arms.table.observe(self._lists.of(arm), arm, value, released)
            return
        others = self._side(self.arms.key(point), side)
        self.arms.table.observe_own(arm, value, released)
        for number, other in others.items():
            self.arms.table.observe(np.array([number], dtype=np.int32), ELSEWHERE, other, released)

    def _side(self, arm: int, side: Mapping[int, float]) -> dict[int, float]:
        """Return the scaled rewards of the other arms of a neighbourhood, by number."""
        others = set(self._indices[self._indptr[arm] : self._indptr[arm + 1]].tolist()) - {arm}
        if not isinstance(side, Mapping) or {self.arms.key(neighbor) for neighbor in side} != others:
            raise InputError(
                f"`side` must hold a reward for each of {shown(sorted(others))}, the neighbours, but got {shown(side)}."
            )
        return {self.arms.handle(other): self._scaled(reward) for other, reward in side.items()}

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self.arms.table.expect(self._lists.of(handle), amount)

    def _recommend(self) -> int:
        return self.arms.point(self.arms.table.best)  # the largest lower confidence bound

    def _estimate(self, point: Any) -> Any:
        return self.arms.table.means[self.arms.handle(point)]

    def _renew(self) -> None:
        self.arms.table.widen(width_of(self._goal))

    @property
    def n_arms(self) -> int:
        """Number of arms to choose from."""
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
        self._use(Table.restore(arrays, len(self._indptr) - 1, UCB, width_of(self._goal)))

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the numbers of the arms played."""
        return self.arms.table.play(self._lists, means, draws, self._low, self._span)


def as_lists(graph: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return (indptr, indices) with sorted neighbours; every arm is its own neighbour."""
    if hasattr(graph, "adjacency"):
        rows, columns = _edges(graph)
        size = len(graph)
    else:
        rows, columns, size = _entries(graph)
    loops = np.arange(size, dtype=np.int64)
    pairs = np.unique(np.concatenate([rows, loops]) * size + np.concatenate([columns, loops]))
    indptr = np.searchsorted(pairs, np.arange(size + 1) * size)
    return indptr.astype(np.int64), pairs % size


def _edges(graph: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the ends of the edges of a networkx graph, both ways if it is undirected."""
    if set(graph.nodes) != set(range(as_count(len(graph), "number of arms"))):
        raise InputError(
            f"the nodes of `graph` must be 0, ..., {len(graph) - 1}, but it has {list(graph.nodes)[:5]} and others; "
            "use networkx.convert_node_labels_to_integers."
        )
    pairs = [(arm, neighbor) for arm, near in graph.adjacency() for neighbor in near]
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _entries(graph: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """Return the rows and columns of CSR arrays, checked, and the number of rows."""
    if hasattr(graph, "tocsr"):
        graph = graph.tocsr().copy()
        graph.eliminate_zeros()
        if graph.shape[0] != graph.shape[1]:
            raise InputError(f"`graph` must be square, one row and column to an arm, but got shape {graph.shape}.")
    try:
        given = (graph.indptr, graph.indices) if hasattr(graph, "indptr") else tuple(graph)
        indptr, indices = (as_finite(part, "graph") for part in given)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"`graph` must be a networkx graph or CSR arrays (indptr, indices), but got {shown(graph)} ({error})."
        ) from error
    size = len(indptr) - 1 if indptr.ndim == 1 else 0
    whole = indices.ndim == 1 and (indices % 1 == 0).all() and (indptr % 1 == 0).all()
    if size < 1 or not whole or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise InputError("CSR arrays must have indptr[0] = 0, ascending to len(indices), and hold integers.")
    if ((indices < 0) | (indices >= size)).any():
        raise InputError(f"neighbours must be among 0, ..., {size - 1}, but `indices` has others.")
    rows = np.repeat(np.arange(size, dtype=np.int64), np.diff(indptr).astype(np.int64))
    return rows, indices.astype(np.int64), size
