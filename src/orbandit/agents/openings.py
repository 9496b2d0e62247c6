"""Openings: what SequOOL and StroquOOL have in common, a tree that is opened depth by depth, by plan.

To open a cell m times is to play each of its halves m times. At depth h the plan says how often,
and how many cells:

    for (number, m) in plan(h):  open m times the `number` cells of depth h with the largest means among those that
                                 were not opened yet and have at least m rewards

What is to be played follows from the statistics alone, so that asks can be taken back and rewards
may come late and from anywhere. A cell whose rewards are all pending has the mean of the cell it is
a half of. When all openings have their rewards, finalists are elected, which are played in turn for
the rest of the rounds.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels import openings as kernels
from orbandit._kernels.cells import COUNT, PENDING, ROOT, SUM, UNKNOWN
from orbandit._kernels.openings import COLUMNS, OPEN
from orbandit.agents.cell_table import CellTable
from orbandit.agents.files import Arrays
from orbandit.agents.points import Points
from orbandit.meshes.cells import DEEPEST
from orbandit.spaces import Box

Nodes = npt.NDArray[np.int64]

AHEAD, AHEAD_IN_BOX = 64, 512
"""How many cells are made at a time, level by level below those that are opened; in a box they cost
little."""

Plan = Callable[[int], list[tuple[int, int]]]
"""Returns how many cells of a depth are opened, and how often, in turn."""


class Level(NamedTuple):
    """What is opened at a depth: the halves to play, each until it has so many rewards, and the opening each is of."""

    depth: int
    halves: Nodes
    times: Nodes
    opening: Nodes


@final
class Openings:
    """A tree of cells that is opened by a plan.

    Parameters
    ----------
    points : Points
        The space and group, and how they are scaled.

    Attributes
    ----------
    table : CellTable
        The cells, with a sum, a count and pending observations each, and whether they were opened.
    finalists : (F, 3) array
        Once all openings are done: cells, and the sums and counts of the rewards that they had by
        then.
    """

    finalists: Array
    _level: Level | None

    def __init__(self, points: Points) -> None:
        self.lipschitz = points.lipschitz
        self.table = CellTable(points, lambda inside: self._path(inside)[-1], COLUMNS)
        self._ahead = AHEAD_IN_BOX if isinstance(points.units.space, Box) else AHEAD

    def follow(self, plan: Plan, deepest: int, elect: Callable[[], Nodes]) -> None:
        """Take up a plan for depths up to a greatest one, and a way to elect the finalists; rewards stay."""
        self._plan, self._deepest, self._elect = plan, min(deepest, DEEPEST - 1), elect
        self.finalists, self._level, self._is_waiting = np.empty((0, 3)), None, False
        rows = [plan(depth) for depth in range(self._deepest + 1)]
        self._rows = np.array([row for some in rows for row in some], dtype=np.int64)
        self._starts = np.cumsum([0, *map(len, rows)])

    @property
    def size(self) -> int:
        """Number of cells in the tree of the algorithm."""
        return 1 + int((self.table.arms.cells.children[self.table.stats[:, OPEN] != 0] >= 0).sum())

    def upcoming(self, rounds: int) -> Nodes:
        """Return the cells of the next rounds: at least one, and as many as do not depend on their rewards."""
        if not len(self.finalists):
            self._level = self._walked(self._level, PENDING)
            if self._lacks(self._level, PENDING).any():
                return self._plays(self._level, rounds)
            cells = self._elect()
            if self.table.stats[:, PENDING].any() and not self._is_waiting:
                self._is_waiting = bool(self._lacks(self._walked(None, COUNT), COUNT).any())
            if self._is_waiting:  # the last rewards are pending
                return in_turn(cells, self._visits(cells, PENDING), 1)
            self.finalists = np.column_stack([cells, self.table.stats[cells][:, [SUM, COUNT]]])
        cells = self.finalists[:, 0].astype(np.int64)
        return in_turn(cells, self._visits(cells, PENDING) - self.finalists[:, 2], rounds)

    @property
    def known(self) -> Nodes:
        """The cells that have rewards."""
        return np.flatnonzero(self.table.stats[:, COUNT])

    def best(self, cells: Nodes) -> int:
        """Return the cell with the largest mean, of equal ones that with the highest priority."""
        means = self.table.means[cells]
        largest = cells[means == means.max()]
        return int(largest[np.argmax(self.table.ties[largest])])

    def add(self, node: int, value: float, count: float, pending: float) -> None:
        """Add a reward and pending observations to a cell."""
        depth, visits = int(self.table.arms.cells.depths[node]), self.table.stats[node, COUNT:].sum()
        self.table.stats[node, : PENDING + 1] += value, count, pending
        was_ranked = self._level is not None and depth <= self._level.depth
        if (was_ranked and (count > 0 or visits < self._plan(depth)[0][1])) or count + pending < 0:
            # what was opened may have changed, by its mean or by how often it may be opened
            self._level = None
        self._is_waiting &= count == 0

    def estimate(self, point: Any) -> Any:
        """Return the mean reward of the smallest cell about a point that has rewards, NaN if there is none."""
        return self._means(np.array([self._path(self.table.arms.inside(point))[-1]]), np.nan)[0]

    def play(self, means: Array, draws: Array, low: float, span: float) -> Nodes:
        """Play Bernoulli rounds; return the cells played, and make those that the next round takes."""
        if len(self.finalists) or self.table.stats[:, PENDING].any():
            return self._play_listed(means, draws, low, span)
        self._level = level = self._walked(self._level, PENDING)
        cells, stats, played = self.table.arms.cells, self.table.stats, np.empty(len(draws), dtype=np.int64)
        if len(stats) > len(means):  # they were made just now
            return played[:0]
        done, depth, halves, times, opening = kernels.play_openings(
            level.depth,
            self._deepest,
            level.halves,
            level.times,
            level.opening,
            self._rows,
            self._starts,
            stats,
            cells.children,
            self.table.ties,
            means,
            draws,
            low,
            span,
            played,
        )
        self._level = Level(depth, halves, times, opening)
        if done < len(draws):
            self.upcoming(1)
        return played[:done]

    def _play_listed(self, means: Array, draws: Array, low: float, span: float) -> Nodes:
        """Play the rounds that do not depend on their rewards."""
        cells, stats = self.upcoming(max(1, len(draws)))[: len(draws)], self.table.stats
        if not len(cells) or len(stats) > len(means):  # they were made just now
            return cells[:0]
        rewards = ((draws[: len(cells)] < means[cells]).astype(float) - low) / span
        np.add.at(stats[:, SUM], cells, rewards)
        np.add.at(stats[:, COUNT], cells, 1.0)
        self._is_waiting = False
        if self._level is not None and self.table.arms.cells.depths[cells[0]] <= self._level.depth:
            self._level = None
        if len(cells) < len(draws):
            self.upcoming(1)
        return cells

    @property
    def state(self) -> tuple[dict[str, Any], Arrays]:
        """What a file keeps."""
        scalars, arrays = self.table.state
        return scalars, {**arrays, "finalists": self.finalists}

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Undo `state`, checked; the plan is taken up already."""
        self.table.restore(state, arrays)
        is_open = self.table.stats[:, OPEN] != 0
        if (self.table.stats[is_open, OPEN] != 1).any():
            raise ValueError("statistics that cannot be")
        if (self.table.arms.cells.children[is_open, 0] == UNKNOWN).any():
            raise ValueError("cells that were opened and have no halves")
        finalists = arrays["finalists"]
        if finalists.ndim != 2 or finalists.shape[1] != 3 or finalists.dtype != np.float64:
            raise ValueError(f"finalists of shape {finalists.shape} and type {finalists.dtype}")
        cells = finalists[:, 0]
        if not np.isin(cells, np.arange(len(self.table.arms))).all() or len(np.unique(cells)) < len(cells):
            raise ValueError("finalists that are no cells")
        now = self.table.stats[cells.astype(np.int64)][:, [SUM, COUNT]]
        if not ((finalists[:, 1:] >= 0) & (finalists[:, 1:] <= now)).all():
            raise ValueError("finalists that had more rewards than there are")
        self.finalists = finalists.copy()

    def _walked(self, level: Level | None, last: int) -> Level:
        """Go down from a level, or from the root, to the first that lacks rewards, or to the last.

        With `last` = PENDING, pending observations count; with COUNT, they do not.
        """
        level = level or self._opened(0, np.array([ROOT]), last)
        while level.depth < self._deepest and len(level.halves) and not self._lacks(level, last).any():
            level = self._opened(level.depth + 1, level.halves, last)
        return level

    def _opened(self, depth: int, cells: Nodes, last: int) -> Level:
        """Open cells of a depth as the plan says."""
        rows, ties = self._rows[self._starts[depth] : self._starts[depth + 1]], self.table.ties
        known = (self._visits(cells, last), self._means(cells, 0.5), ties[cells])
        chosen, times = kernels.choose_cells(cells, *known, rows, depth == 0)
        self._grow(chosen)
        self.table.stats[chosen, OPEN] = 1.0
        return Level(depth, *kernels.halves_of(chosen, times, self.table.arms.cells.children, self.table.ties))

    def _grow(self, chosen: Nodes) -> None:
        """Make the halves of cells, and theirs, ahead of need."""
        new = chosen[self.table.arms.cells.children[chosen, 0] == UNKNOWN]
        if len(new):
            self.table.grow(new, levels=max(1, (self._ahead // len(new)).bit_length() - 2))

    def _lacks(self, level: Level, last: int) -> npt.NDArray[np.bool_]:
        """Tell which halves of a level lack rewards."""
        return self._visits(level.halves, last) < level.times

    def _plays(self, level: Level, rounds: int) -> Nodes:
        """Return the cells of the next rounds at a level: one opening after the other, its halves in turn."""
        lacking = np.flatnonzero(self._lacks(level, PENDING))
        if level.times[lacking].max() == 1:
            return level.halves[lacking[:rounds]]
        plays, first = list[Nodes](), 0
        for last in [*np.flatnonzero(np.diff(level.opening[lacking])) + 1, len(lacking)]:
            some = lacking[first:last]
            visits = self._visits(level.halves[some], PENDING)
            needed = min(rounds, int((level.times[some] - visits).sum()))
            plays.append(in_turn(level.halves[some], visits, needed))
            rounds, first = rounds - needed, last
            if rounds == 0:
                break
        return np.concatenate(plays)

    def _visits(self, cells: Nodes, last: int) -> Array:
        """Return how many rewards cells have, with those that are pending or without."""
        return np.asarray(self.table.stats[cells, COUNT : last + 1].sum(axis=1))

    def _means(self, cells: Nodes, nothing: float) -> Array:
        """Return the mean rewards of cells, those of the cells about them where they have none."""
        means, above = self.table.means, cells.copy()
        while (unknown := np.isnan(means[above]) & (above != ROOT)).any():
            above[unknown] = self.table.arms.cells.parents[above[unknown]]
        return np.where(np.isnan(means[above]), nothing, means[above])

    def _path(self, point: Array) -> list[int]:
        """Return the cells about a point, down to the smallest in the tree of the algorithm."""
        return self.table.path(point, lambda node: bool(self.table.stats[node, OPEN]))


def in_turn(cells: Nodes, visits: Array, rounds: int) -> Nodes:
    """Return which cells to play in some rounds, those with the fewest visits first.

    Examples
    --------
    >>> import numpy as np
    >>> in_turn(np.array([7, 8, 9]), np.array([0.0, 2.0, 1.0]), 6).tolist()
    [7, 7, 9, 7, 8, 9]
    """
    levels = visits.min() + np.arange(-(-rounds // len(cells)) + int(np.ptp(visits)))
    return cells[np.nonzero(levels[:, None] >= visits)[1][:rounds]]
