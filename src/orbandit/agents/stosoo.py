"""StoSOO: stochastic simultaneous optimistic optimisation, on cells over the space or over its orbits.

    b(h, i) = mean + sqrt(log(n k / delta) / 2 T),    k = n / log^3 n,    delta = 1 / sqrt(n)
    sweep over the depths h = 0, 1, ..., at most sqrt(n / k): if the largest b of the leaves of depth h is at least
    every b that was cut in this sweep, play that leaf, or cut it if it was played k times

M. Valko, A. Carpentier, R. Munos, Stochastic simultaneous optimistic optimization, 2013, Algorithm
1, with the constants of its Corollary 1. It minimises simple regret, and needs no smoothness
parameters. Cells are cut in two; the paper's experiments cut them in three. With a group, halves
that hold no representative are never made.

A reward that answers an ask moves the sweep one depth on. With pending asks, the choice runs ahead
of the sweep by as many depths, but only rewards cut a cell. When no leaf is left within the
greatest depth, the recommended point is played.
"""

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels import stosoo as kernels
from orbandit._kernels.cells import COUNT, PENDING, SUM, UNKNOWN
from orbandit._kernels.compiled import IndexArray
from orbandit._kernels.stosoo import BEST, COLUMNS, CUT, DEPTH
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.cell_arms import CellArms
from orbandit.agents.cell_table import CellTable
from orbandit.agents.files import Arrays
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.points import Points
from orbandit.groups import Group
from orbandit.meshes.cells import DEEPEST
from orbandit.spaces import Space

Known = tuple[Array, int, IndexArray, IndexArray, Array, IndexArray, IndexArray, Array, float, float, int]
"""Arguments of kernels: the sweep, number of pending asks, lists of leaves, cells, statistics,
constants."""


@final
class StoSOO(Agent):
    """Stochastic simultaneous optimistic optimisation.

    Parameters
    ----------
    space : Space
        Where the arms live: a space of at most 1,000 dimensions.
    group : Group, optional
        The symmetry: a group under which the mean reward is invariant. By default there is none. It
        acts on at most 200 coordinates, and has at most about 100,000 elements if they are listed.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, each with its own k
        and depth, and the tree stays.
    lipschitz : float, default 1
        The Lipschitz constant of the mean reward: a positive number. It changes no play, since the
        algorithm adapts to any smoothness; it is a parameter because all agents are called alike.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities that it gives each cell.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    >>> agent = ob.agents.StoSOO(space, group, horizon=10_000, seed=0)
    >>> agent.k, agent.depth
    (13, 27)
    """

    arms: CellArms
    _first: IndexArray
    _following: IndexArray

    def __init__(
        self,
        space: Space,
        group: Group | None = None,
        *,
        horizon: int | None = None,
        lipschitz: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        points = Points(space, group, lipschitz, self._span)
        self._lipschitz = points.lipschitz
        self._table = CellTable(points, lambda inside: self._path(inside)[-1], COLUMNS)
        self.arms = self._table.arms
        self._start(seed)

    def _begin(self) -> None:
        self._table.begin(self._rng)
        self._renew()

    @property
    def n_arms(self) -> int:
        """Number of cells in the tree so far."""
        return 1 + int((self.arms.cells.children[self._stats[:, CUT] != 0] >= 0).sum())

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant of the mean reward."""
        return self._lipschitz

    @property
    def k(self) -> int:
        """Number of rewards after which a cell may be cut."""
        return self._k

    @property
    def depth(self) -> int:
        """The greatest depth of cells that are played."""
        return self._depth

    def _choose(self) -> int:
        while (node := self._follow()) < 0:  # the halves of a leaf are not made yet
            self._grow(-1 - node)
        return node

    def _follow(self) -> int:
        """Return the cell to play, or -1 - a leaf without halves."""
        return int(kernels.choose(*self._arrays()))

    def _arrays(self) -> Known:
        """Return what kernels take."""
        cells, table = self.arms.cells, self._table
        if len(self._following) < len(cells):
            more = np.full(len(cells) - len(self._following), -1, dtype=np.int64)
            self._following = np.concatenate([self._following, more])
        lists = (self._place, len(self._ledger), self._first, self._following)
        return (*lists, table.stats, cells.children, cells.depths, table.ties, self._width, float(self._k), self._depth)

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        node = handle if handle != ELSEWHERE else self.arms.handle(point)
        self._stats[node, [SUM, COUNT, PENDING]] += value, 1.0, -released
        if handle != ELSEWHERE:
            self._place[DEPTH] = min(self._place[DEPTH] + 1, self._depth + 1)

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self._stats[handle, PENDING] += amount

    def _recommend(self) -> Array:
        best = int(kernels.favourite(self._stats, self.arms.cells.depths, self._table.ties))
        return self.arms.point(best if best >= 0 else self._choose())

    def _estimate(self, point: Any) -> Any:
        """Return the mean reward of the smallest cell with rewards that contains a point."""
        path = [node for node in self._path(self.arms.inside(point)) if self._stats[node, COUNT] > 0]
        return self._stats[path[-1], SUM] / self._stats[path[-1], COUNT] if path else math.nan

    def _renew(self) -> None:
        self._set_horizon()
        self._place = np.array([0.0, -np.inf])  # a new sweep
        self._list()

    def _set_horizon(self) -> None:
        """Set what depends on n: k, the greatest depth, and log(n k / delta) / 2."""
        n = max(self._goal, 2)
        self._k = max(1, math.ceil(n / math.log(n) ** 3))
        self._depth = min(DEEPEST - 1, max(1, math.floor(math.sqrt(n / self._k))))
        self._width = math.log(n**1.5 * self._k) / 2

    def _list(self) -> None:
        """List the leaves of each depth."""
        self._first = np.full(DEEPEST + 1, -1, dtype=np.int64)
        self._following = np.full(len(self.arms), -1, dtype=np.int64)
        cells = self.arms.cells
        kernels.list_leaves(self._stats, cells.children, cells.depths, self._first, self._following)

    def _path(self, point: Array) -> list[int]:
        """Return the cells from the root to the leaf that contains a point."""
        return self._table.path(point, lambda node: bool(self._stats[node, CUT]))

    def _grow(self, node: int) -> None:
        """Make the halves of a leaf, and of others that were played, in advance."""
        wanted = (self.arms.cells.children[:, 0] == UNKNOWN) & (self._table.visits > 0)
        wanted[node] = True
        self._table.grow(np.flatnonzero(wanted))

    @property
    def _stats(self) -> Array:
        """Sum, count and pending observations of each cell, and whether it is cut."""
        return self._table.stats

    def _state(self) -> State:
        scalars, arrays = self._table.state
        return scalars, {**arrays, "place": self._place}

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._table.restore(state, arrays)
        self._set_horizon()
        is_cut, place = self._stats[:, CUT] != 0, arrays["place"]
        if (self._stats[is_cut, CUT] != 1).any() or (self.arms.cells.children[is_cut, 0] == UNKNOWN).any():
            raise ValueError("cells that are cut and have no halves")
        if place.shape != (2,) or place.dtype != np.float64 or np.isnan(place[BEST]) or place[BEST] == np.inf:
            raise ValueError("a sweep that cannot be")
        if place[DEPTH] not in range(DEEPEST + 1):
            raise ValueError(f"a sweep at depth {place[DEPTH]}")
        self._place = place.copy()
        self._list()

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the cells played, and make those that the next round takes."""
        played = np.empty(len(draws), dtype=np.int64)
        done = kernels.play_stosoo(*self._arrays(), means, draws, self._low, self._span, played)
        if done < len(draws):
            self._choose()
        return played[:done]
