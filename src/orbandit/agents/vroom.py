"""VROOM: optimisation that is robust to the order of rewards, on cells of the space or its orbits.

    rank the cells of each depth h = 1, ..., log2 n by mean - sqrt(log(4 n^3 / delta) / 2 T)
    draw a cell with probability p = 1 / (h rank total), and play a random point of it
    F(h, i) = sum of reward / chance over the rounds in which cell (h, i), or a cell about it, was
              drawn and the point lay in (h, i); chance is the probability of that
    recommend the cell with the largest F - sqrt(2 log(2 n^2 / delta) sum over rounds of 1 / p)

H. Bou Ammar, V. Gabillon, R. Tutunov, M. Valko, Derivative-free & order-robust optimisation, 2020,
Figure 2, with f_max = 1 and b = 1 for scaled rewards, so that delta = 4 / sqrt(n). Ranks are for
rewards that are drawn independently; F, which is unbiased whatever the rewards of a round depend
on, is for those that are not. It is for simple regret, and needs to know no smoothness.

The way down from the cell drawn takes either half with the same probability. It ends at the
greatest depth, where the centre is played; the paper's goes on for ever. The centre of the best
cell is recommended, where the paper draws a point of it. The bound of F is the term of the variance
in Freedman's inequality; that of the range, of lower order in n, is left out. No depth is greater
than 16, which n = 65,536 asks for. Cells that were never played rank last. Among equal cells ranks
are arbitrary: random at first, and a cell whose bound changes changes places with one cell of each
block of equal ones that it passes, so that a round costs O(log^2 n) and not O(n). With a group,
halves that hold no representative are never made, and ranks are those of the cells there are.

Rewards that come late are weighed by the ranks of the cells when they come. Those of points that
were not asked for have no probability: they count in the means alone. Asks that are pending change
no rank. Without a horizon, epochs double: the tree stays and becomes deeper, and F of new cells
counts what they missed as 0, so that F less its bound is still a lower bound.
"""

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count
from orbandit._kernels import vroom as kernels
from orbandit._kernels.cells import COUNT, UNKNOWN
from orbandit._kernels.compiled import IndexArray
from orbandit._kernels.vroom import COLUMNS, RANKS, SINCE, WEIGHED
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.cell_table import CellTable
from orbandit.agents.drawn_cells import DrawnCells
from orbandit.agents.files import Arrays
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.points import Points
from orbandit.groups import Group
from orbandit.meshes.cells import hashes
from orbandit.spaces import Space

MAX_DEPTH = 16
"""The greatest depth of cells: all cells are made beforehand, at most twice 2^16."""

PICKS, TURNS = 2**62, 2**63
"""Numbers from which rounds are counted in hashes, apart from each other and from codes of
cells."""


@final
class VROOM(Agent):
    """Order-robust optimisation by ranks, for simple regret.

    Parameters
    ----------
    space : Space
        Where the arms live: a space of at most 1,000 dimensions.
    group : Group, optional
        The symmetry: a group under which the mean reward is invariant. By default there is none. It
        acts on at most 200 coordinates, and has at most about 100,000 elements if they are listed.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, and the tree becomes
        deeper.
    lipschitz : float, default 1
        The Lipschitz constant of the mean reward: a positive number. It changes no play, since the
        algorithm adapts to any smoothness; it is a parameter because all agents are called alike.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Cells, their points, and first ranks are drawn
        from it.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    >>> agent = ob.agents.VROOM(space, group, horizon=10_000, seed=0)
    >>> agent.depth, agent.n_arms
    (13, 8382)
    """

    arms: DrawnCells
    _order: IndexArray

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
        self.arms = DrawnCells(self._table.arms)
        self._start(seed)

    def _begin(self) -> None:
        self._table.begin(self._rng)
        self._clock, self._order = 0, np.zeros(1, dtype=np.int64)
        self._deepen()

    @property
    def n_arms(self) -> int:
        """Number of cells."""
        return len(self.arms)

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant of the mean reward."""
        return self._lipschitz

    @property
    def depth(self) -> int:
        """The greatest depth of cells."""
        return self._depth

    def _choose(self) -> int:
        picks, turns = self._draws(1)
        cells, drawing = self.arms.cells, (self._first, self._harmonics, self._total)
        drawn = kernels.draw(picks[0], int(turns[0]), cells.children, self._order, *drawing)
        return self.arms.name(*drawn)

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        cell = handle if handle != ELSEWHERE else self.arms.handle(point)
        leaf, drawn = self.arms.parts(cell)
        cells, table = self.arms.cells, self._table
        kernels.add(
            leaf,
            drawn,
            value,
            float(self._clock),
            table.bounds,
            table.stats,
            cells.children,
            cells.parents,
            cells.depths,
            self._order,
            self._places,
            self._first,
            self._total,
            self._width,
        )
        self._clock += int(drawn > 0)
        if released:
            self._expect(cell, None, -released)

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        kernels.expect(self.arms.parts(handle)[0], amount, self._stats, self.arms.cells.parents)

    def _recommend(self) -> Array:
        if self._clock:
            variances = self._total * self.arms.cells.depths * self._rank_sums()
            lows = self._stats[:, WEIGHED] - np.sqrt(2 * self._log * variances)
            return self.arms.point(1 + int(np.argmax(lows[1:])))  # the root is never drawn
        best = int(np.argmin(self._table.bounds))
        return self.arms.point(best if self._stats[best, COUNT] else self._choose())

    def _estimate(self, point: Any) -> Any:
        """Return the mean reward of the smallest cell about a point that has rewards."""
        path = np.array(self._path(self.arms.inside(point)))
        path = path[self._stats[path, COUNT] > 0]
        return self._table.means[path[-1]] if len(path) else math.nan

    def _renew(self) -> None:
        self._stats[:, RANKS] = self._rank_sums()
        self._stats[:, SINCE] = self._clock
        self._deepen()

    def _set_horizon(self) -> None:
        """Work out what depends on n: the depth, and the logarithms with delta = 4 / sqrt(n)."""
        n = max(self._goal, 2)
        self._depth = min(MAX_DEPTH, int(n).bit_length() - 1)
        self._width = 3.5 * math.log(n) / 2
        self._log = 2.5 * math.log(n) - math.log(2)

    def _deepen(self) -> None:
        """Make all cells, down to the greatest depth, and rank them; new ones are in random order."""
        self._set_horizon()
        cells, size = self.arms.cells, len(self._order)
        for depth in range(int(cells.depths[-1]), self._depth):
            self._table.grow(np.flatnonzero(cells.depths == depth), levels=1)
        self._stats[size:, SINCE] = self._clock
        new = size + np.argsort(-self._table.ties[size:])
        self._rank(np.concatenate([self._order, new]))

    def _rank(self, order: IndexArray) -> None:
        """Rank the cells of every depth by their lower bounds; those that are level stay in order."""
        cells, table, stats = self.arms.cells, self._table, self._stats
        known = stats[:, COUNT] > 0
        table.bounds[:] = np.inf
        table.bounds[known] = np.sqrt(self._width / stats[known, COUNT]) - table.means[known]
        self._order = order[np.lexsort((table.bounds[order], cells.depths[order]))]
        self._places: IndexArray = np.argsort(self._order)
        self._first: IndexArray = np.searchsorted(cells.depths, np.arange(self._depth + 2))
        sizes = np.diff(self._first)
        self._harmonics: Array = np.cumsum(np.append(0, 1 / np.arange(1.0, sizes.max() + 1)))
        self._total = float((self._harmonics[sizes[1:]] / np.arange(1.0, len(sizes))).sum())

    def _rank_sums(self) -> Array:
        """Return the sum of the ranks of each cell over all rounds."""
        ranks = self._places - self._first[self.arms.cells.depths] + 1
        return np.asarray(self._stats[:, RANKS] + ranks * (self._clock - self._stats[:, SINCE]))

    def _draws(self, rounds: int) -> tuple[Array, npt.NDArray[np.int64]]:
        """Return the random numbers of the next rounds, by hashes of their numbers."""
        start = self._rounds + len(self._ledger) + (self._ledger.last is not None)
        numbers, salt = np.arange(start, start + rounds, dtype=np.uint64), self._table.salt
        picks = np.asarray((hashes(numbers + np.uint64(PICKS), salt) >> np.uint64(11)) * 2.0**-53)
        turns = hashes(numbers + np.uint64(TURNS), salt) >> np.uint64(1)
        return picks, turns.astype(np.int64)

    def _path(self, point: Array) -> list[int]:
        """Return the cells about a point, down to the smallest."""
        children = self.arms.cells.children
        return self._table.path(point, lambda node: bool(children[node, 0] != UNKNOWN))

    @property
    def _stats(self) -> Array:
        """Sum, count and pending observations of each cell, and more."""
        return self._table.stats

    def _state(self) -> State:
        scalars, arrays = self._table.state
        return scalars | {"clock": self._clock}, {**arrays, "order": self._order}

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._clock = as_count(state["clock"], "clock", minimum=0, maximum=self._rounds)
        self._table.restore(state, arrays)
        self._set_horizon()
        depths, is_cut = self.arms.cells.depths, self.arms.cells.children[:, 0] != UNKNOWN
        if (np.diff(depths) < 0).any() or (is_cut != (depths < self._depth)).any():
            raise ValueError(f"cells that do not all go down to depth {self._depth}")
        if (self._stats[:, SINCE] > self._clock).any():
            raise ValueError("statistics that cannot be")
        order = arrays["order"]
        if order.dtype != np.int64 or not np.array_equal(np.sort(order), np.arange(len(depths))):
            raise ValueError("ranks that are no order of the cells")
        self._rank(order)
        if not np.array_equal(self._order, order):
            raise ValueError("ranks that are not by the lower bounds")

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the cells played."""
        cells, table, played = self.arms.cells, self._table, np.empty(len(draws), dtype=np.int64)
        kernels.play_vroom(
            *self._draws(len(draws)),
            float(self._clock),
            table.bounds,
            table.stats,
            cells.children,
            cells.parents,
            cells.depths,
            self._order,
            self._places,
            self._first,
            self._harmonics,
            self._total,
            self._width,
            means,
            draws,
            self._low,
            self._span,
            played,
        )
        self._clock += len(draws)
        return played
