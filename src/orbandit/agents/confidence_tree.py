"""ConfidenceTree: what HCT and VHCT have in common, all but the confidence radius.

    d(t) = min(1, c_1 delta / t),    c_1 = (rho / 3 nu)^(1/8),    t+ the least power of two from t on
    U(h, i) = mean + nu rho^h + radius,    B(h, i) = min(U, the larger B of its children)
    from the root follow the larger B as long as a cell was played often enough that radius <= nu rho^h
    play the cell where that ends; if it is a leaf and now played often enough, its halves become leaves

The published algorithm updates all bounds in rounds that are powers of two, and those on the path
in every round, so that for a time some are of t+ and some of t+ / 2. Here all are updated when t+
doubles, in the round after. Pending asks count as plays: the path may lead below a leaf by them,
but only rewards split it.
"""

import math
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_positive
from orbandit._kernels import hct as kernels
from orbandit._kernels.cells import COUNT, ROOT, SUM, UNKNOWN
from orbandit._kernels.hct import COLUMNS, CUT, SQUARES
from orbandit.agents.cell_table import CellTable
from orbandit.agents.files import Arrays
from orbandit.agents.points import Points
from orbandit.agents.smoothness import Smoothness
from orbandit.errors import InputError


@final
class ConfidenceTree:
    """A tree of cells with confidence bounds for every round.

    Parameters
    ----------
    points : Points
        The space and group, and how they are scaled.
    nu, rho, c, delta : float or None
        As the caller gave them; None means the default.
    span : float
        The width of the range of rewards.
    by_variance : bool
        Whether the radius uses the empirical variance of rewards.

    Attributes
    ----------
    table : CellTable
        The cells.
    smooth : Smoothness
        The nu and rho of the paper.
    c : float
        The c of the paper.
    """

    def __init__(
        self,
        points: Points,
        nu: float | None,
        rho: float | None,
        c: float | None,
        delta: float | None,
        span: float,
        by_variance: bool,
    ) -> None:
        self.lipschitz = points.lipschitz
        self.table = CellTable(points, lambda inside: self._path(inside)[-1], COLUMNS)
        self.smooth = Smoothness(self.table.arms, nu, rho, span)
        self.c = 2 * math.sqrt(1 / (1 - self.smooth.rho)) if c is None else as_positive(c, "c")
        self._delta, self._by_variance = None if delta is None else as_positive(delta, "delta"), by_variance
        if self._delta is not None and self._delta >= 1:
            raise InputError(f"`delta < 1` must hold, but got delta={delta}.", field="delta", value=delta)

    def begin(self, n: int, rng: np.random.Generator) -> None:
        """Start with the halves of the root as leaves."""
        self.table.begin(rng)
        self.table.grow(np.array([ROOT]))
        self.table.stats[ROOT, CUT] = 1.0
        self.plan(n, 0)

    def plan(self, n: int, rounds: int) -> None:
        """Work out all that depends on the horizon n and on the number of rounds so far."""
        c_1 = (self.smooth.rho / (3 * self.smooth.nu)) ** (1 / 8)
        self.delta = 1 / n if self._delta is None else self._delta
        self._fraction = c_1 * self.delta
        self._power, self._width = kernels.width_at(rounds + 1.0, self.c**2, self._fraction)
        self._mend_all()

    @property
    def size(self) -> int:
        """Number of cells in the tree of the algorithm."""
        return 1 + int((self.table.arms.cells.children[self.table.stats[:, CUT] != 0] >= 0).sum())

    def choose(self) -> int:
        """Return the cell to play."""
        cells, table = self.table.arms.cells, self.table
        while True:
            node = kernels.follow(
                table.bounds,
                table.stats,
                cells.children,
                cells.depths,
                table.ties,
                self.smooth.widths,
                self._width,
                self._by_variance,
            )
            if node >= 0:
                return int(node)
            self._grow()

    def observe(self, node: int, value: float, released: float, rounds: int) -> None:
        """Learn the reward of a cell, after so many rounds."""
        if rounds + 2 > self._power:  # the next round has another t+
            self._power, self._width = kernels.width_at(rounds + 2.0, self.c**2, self._fraction)
            self._mend_all()
        self._add(node, value, 1.0, -released)

    def expect(self, node: int, amount: float) -> None:
        """Add to the pending observations of a cell."""
        self._add(node, 0.0, 0.0, amount)

    def recommend(self) -> Array:
        """Return the point of the cell whose mean has the largest lower bound."""
        counts = self.table.stats[:, COUNT]
        if not counts.any():
            return self.table.arms.point(self.choose())
        known = np.flatnonzero(counts)
        return self.table.arms.point(int(known[np.argmax(self.table.means[known] - self._radii(known))]))

    def estimate(self, point: Any) -> Any:
        """Return the mean reward of the containing cell with the tightest bound."""
        path = np.array(self._path(self.table.arms.inside(point), grows=False))
        path = path[self.table.stats[path, COUNT] > 0]
        if not len(path):
            return math.nan
        errors = self._radii(path) + self.smooth.widths[self.table.arms.cells.depths[path]]
        return self.table.means[path[int(np.argmin(errors))]]

    def play(self, means: Array, draws: Array, low: float, span: float, rounds: int) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds after so many others, compiled; return the cells played."""
        cells, table, played = self.table.arms.cells, self.table, np.empty(len(draws), dtype=np.int64)
        done = kernels.play_hct(
            table.bounds,
            table.stats,
            cells.children,
            cells.parents,
            cells.depths,
            table.ties,
            self.smooth.widths,
            self._by_variance,
            rounds,
            self.c**2,
            self._fraction,
            means,
            draws,
            low,
            span,
            played,
        )
        self._power, self._width = kernels.width_at(rounds + done + 1.0, self.c**2, self._fraction)
        if done < len(draws):
            self.choose()  # makes the cells that the next round takes
        return played[:done]

    def restore(self, state: dict[str, Any], arrays: Arrays, n: int, rounds: int) -> None:
        """Go on with the cells of a file, checked."""
        self.table.restore(state, arrays)
        stats = self.table.stats
        cut = stats[:, CUT]
        if not ((cut == 0) | (cut == 1)).all() or cut[ROOT] != 1 or (stats[:, SQUARES] > stats[:, SUM] + 1e-6).any():
            raise ValueError("statistics that cannot be")
        self.plan(n, rounds)

    def _path(self, point: Array, grows: bool = True) -> list[int]:
        """Return the cells from the root to the one that a reward at a point counts for."""
        table, fixed = self.table, (self.smooth.widths, self._width, self._by_variance)
        return table.path(point, lambda node: kernels.passes(node, table.stats, table.arms.cells.depths, *fixed), grows)

    def _radii(self, nodes: npt.NDArray[np.int64]) -> Array:
        """Return the confidence radii of cells."""
        radii = np.empty(len(nodes))
        kernels.radii(nodes, self.table.stats, self._width, self._by_variance, radii)
        return radii

    def _grow(self) -> None:
        """Make the halves of all cells that were played, ahead of need."""
        unknown = self.table.arms.cells.children[:, 0] == UNKNOWN
        self.table.grow(np.flatnonzero(unknown & (self.table.visits > 0)))

    def _add(self, node: int, value: float, count: float, pending: float) -> None:
        cells, table = self.table.arms.cells, self.table
        kernels.add(
            node,
            value,
            count,
            pending,
            table.bounds,
            table.stats,
            cells.children,
            cells.parents,
            cells.depths,
            self.smooth.widths,
            self._width,
            self._by_variance,
        )

    def _mend_all(self) -> None:
        """Compute all B-values, children before parents."""
        cells, table = self.table.arms.cells, self.table
        kernels.mend_all(
            table.bounds,
            table.stats,
            cells.children,
            cells.depths,
            self.smooth.widths,
            self._width,
            self._by_variance,
        )
