"""HOO: hierarchical optimistic optimisation, on a tree of cells over the space or over its orbits.

    U(h, i) = mean + sqrt(2 log n / T(h, i)) + nu rho^h              upper bound on the reward in cell i of depth h
    B(h, i) = min(U, the larger B of its children)                    infinite for a cell that was never entered
    from the root follow the larger B to a cell that was never entered, play its point, update all cells above it

S. Bubeck, R. Munos, G. Stoltz, C. Szepesvari, X-armed bandits, 2011, Section 3, truncated for a
known horizon n as in Section 4.2: with log n for the current round's, a reward changes only the
cells it passed through, and cells are not cut once nu rho^h <= n^(-1/2), so that a round costs
O(depth). Without a horizon, epochs double and the tree stays. With a group, halves of cells that
hold no representative are never made.
"""

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count
from orbandit._kernels import hoo as kernels
from orbandit._kernels.cells import COUNT, SUM
from orbandit._rows import Rows
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.cell_arms import CellArms
from orbandit.agents.files import Arrays
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.points import Points
from orbandit.agents.smoothness import Smoothness
from orbandit.agents.table import width_of
from orbandit.groups import Group
from orbandit.meshes.cells import DEEPEST, UNKNOWN, hashes
from orbandit.spaces import Box, Space

FIRST = 10
"""Levels of cells made at the start in a box, where cells cost little; fewer for short horizons."""

LEVELS = 3
"""Levels of cells made at a time, below every cell that was entered since the last time."""


@final
class HOO(Agent):
    """Hierarchical optimistic optimisation, truncated.

    Parameters
    ----------
    space : Space
        Where the arms live: a space of at most 1,000 dimensions.
    group : Group, optional
        The symmetry: a group under which the mean reward is invariant. By default there is none. It
        acts on at most 200 coordinates, and has at most about 100,000 elements if they are listed.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, and the tree stays.
    lipschitz : float, default 1
        The Lipschitz constant of the mean reward for the Euclidean distance of the space, in your
        units: a positive number. If units differ between coordinates, use `maximize`, which scales
        them, or scale them yourself.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    nu, rho : float, optional
        Smoothness: rewards in a cell of depth h must lie within nu rho^h of each other, in units of
        rewards. By default rho is 2^(-1/d), since d cuts halve a cell, and nu the least that fits
        the Lipschitz constant and the cells' diameters.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities that it gives each cell.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    >>> agent = ob.agents.HOO(space, group, horizon=10_000, seed=0)
    >>> round(agent.nu, 3), round(agent.rho, 3), agent.depth
    (1.581, 0.707, 15)
    """

    arms: CellArms

    def __init__(
        self,
        space: Space,
        group: Group | None = None,
        *,
        horizon: int | None = None,
        lipschitz: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        nu: float | None = None,
        rho: float | None = None,
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        points = Points(space, group, lipschitz, self._span)
        self._lipschitz = points.lipschitz
        self.arms = CellArms(points, lambda inside: self._path(inside)[-1])
        self._smooth = Smoothness(self.arms, nu, rho, self._span)
        self._start(seed)

    def _begin(self) -> None:
        self._salt = int(self._rng.integers(2**64, dtype=np.uint64))
        self._set_horizon()
        self._open(np.zeros((1, 3)))
        self._grow(0)

    @property
    def n_arms(self) -> int:
        """Number of cells made so far."""
        return len(self.arms.cells)

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant of the mean reward."""
        return self._lipschitz

    @property
    def nu(self) -> float:
        """The nu of the paper, in units of rewards."""
        return self._smooth.nu * self._span

    @property
    def rho(self) -> float:
        """The rho of the paper."""
        return self._smooth.rho

    @property
    def depth(self) -> int:
        """The greatest depth: the least h with nu rho^h <= n^(-1/2); such cells are not cut."""
        return self._depth

    def _choose(self) -> int:
        while (node := self._follow()) < 0:  # the halves of a cell are not made yet
            self._grow(-1 - node)
        return node

    def _follow(self) -> int:
        """Follow the largest B to a cell never entered.

        Return it, or -1 - a cell without halves.
        """
        cells = self.arms.cells
        return int(kernels.follow(self._bounds, self._stats, cells.children, cells.depths, self._prefers, self._depth))

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        node = handle if handle != ELSEWHERE else self.arms.handle(point)
        self._add(node, value, 1.0, -released)  # T, mean, U and B of the cell and of all above it

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self._add(handle, 0.0, 0.0, amount)

    def _recommend(self) -> Array:
        counts = self._stats[:, COUNT]
        if not counts.any():
            return self.arms.point(self._choose())
        with np.errstate(divide="ignore", invalid="ignore"):
            low = (
                self._stats[:, SUM] / counts
                - np.sqrt(self._width / counts)
                - self._smooth.widths[self.arms.cells.depths]
            )
        # largest lower bound
        return self.arms.point(int(np.nanargmax(np.where(counts > 0, low, -np.inf))))

    def _estimate(self, point: Any) -> Any:
        """Return the mean reward of the containing cell with the tightest bound."""
        path = self._path(self.arms.inside(point), grows=False)
        counts = self._stats[path, COUNT]
        if not counts.any():
            return math.nan
        with np.errstate(divide="ignore"):
            errors = np.sqrt(self._width / counts) + self._smooth.widths[self.arms.cells.depths[path]]
        best = path[int(np.argmin(errors))]
        return self._stats[best, SUM] / self._stats[best, COUNT]

    def _renew(self) -> None:
        self._set_horizon()
        self._mend_all()  # all bounds change with log n, the cells stay

    def _set_horizon(self) -> None:
        """Set what depends on n: 2 log n, and the greatest depth."""
        self._width = width_of(self._goal)
        cuts = math.ceil((math.log(self._goal) / 2 + math.log(self._smooth.nu)) / -math.log(self._smooth.rho) - 1e-12)
        self._depth = min(DEEPEST, max(0, cuts))

    def _add(self, node: int, amount: float, count: float, pending: float) -> None:
        cells = self.arms.cells
        kernels.add(
            node,
            amount,
            count,
            pending,
            self._bounds,
            self._stats,
            cells.children,
            cells.parents,
            cells.depths,
            self._smooth.widths,
            self._width,
            self._depth,
        )

    def _mend_all(self) -> None:
        """Compute all B-values, children before parents."""
        cells = self.arms.cells
        kernels.mend_all(
            self._bounds,
            self._stats,
            cells.children,
            cells.depths,
            self._smooth.widths,
            self._width,
            self._depth,
        )

    def _path(self, point: Array, grows: bool = True) -> list[int]:
        """Return the cells from the root to the one that a play at a point would enter first.

        Where cells are not made yet, they are made, or the path ends.
        """
        place, path = self.arms.cells.place(point[None])[0], [0]
        while path[-1] == 0 or self._stats[path[-1], COUNT:].sum() > 0:
            if self.arms.cells.depths[path[-1]] >= self._depth:
                break
            if self.arms.cells.children[path[-1], 0] == UNKNOWN:
                if not grows:
                    break
                self._grow(path[-1])
            half = self.arms.cells.child(path[-1], place)
            if half < 0:
                break
            path.append(half)
        return path

    def _grow(self, node: int) -> None:
        """Make some levels below a cell, and below others that were entered, in advance."""
        entered = (self.arms.cells.children[:, 0] == UNKNOWN) & (self._bounds < np.inf)
        entered[node] = True
        wanted = np.flatnonzero(entered)
        is_first = node == 0 and isinstance(self.arms.units.space, Box)
        for _ in range(min(FIRST, self._goal.bit_length()) if is_first else LEVELS):
            first = len(self.arms.cells)
            self.arms.cells.grow(wanted, self._depth)
            wanted = np.arange(first, len(self.arms.cells))
        codes = self.arms.cells.codes[len(self._stats) :]
        self._rows[0].append(np.zeros((len(codes), 3)))
        self._rows[1].append(np.full(len(codes), np.inf))
        self._rows[2].append(preferences(codes, self._salt))

    def _open(self, stats: Array) -> None:
        """Start with the statistics of the existing cells."""
        prefers = preferences(self.arms.cells.codes, self._salt)
        self._rows = (Rows(stats), Rows(np.full(len(stats), np.inf)), Rows(prefers))

    @property
    def _stats(self) -> Array:
        """Sum, count and pending observations of each cell."""
        return self._rows[0].filled

    @property
    def _bounds(self) -> Array:
        """The B-value of each cell."""
        return self._rows[1].filled

    @property
    def _prefers(self) -> npt.NDArray[np.int64]:
        """The half of each cell that wins a tie."""
        return self._rows[2].filled

    def _state(self) -> State:
        return {"salt": self._salt}, {"stats": self._stats, **self.arms.arrays_to_save}

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._salt = as_count(state["salt"], "salt", minimum=0, maximum=2**64 - 1)
        stats, parents = arrays["stats"], arrays["parents"]
        if stats.shape != (len(parents), 3) or stats.dtype != np.float64 or not np.isfinite(stats).all():
            raise ValueError(f"statistics of shape {stats.shape} for {len(parents)} cells")
        if (stats < 0).any() or (stats[:, SUM] > stats[:, COUNT]).any():
            raise ValueError("statistics that cannot be")
        self.arms.restore(arrays)
        self._set_horizon()
        self._open(stats)
        self._mend_all()

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the cells played, and make those that the next round takes."""
        cells, played = self.arms.cells, np.empty(len(draws), dtype=np.int64)
        done = kernels.play_hoo(
            self._bounds,
            self._stats,
            cells.children,
            cells.parents,
            cells.depths,
            self._prefers,
            self._smooth.widths,
            self._width,
            self._depth,
            means,
            draws,
            self._low,
            self._span,
            played,
        )
        if done < len(draws):
            self._choose()
        return played[:done]


def preferences(codes: npt.NDArray[np.uint64], salt: int) -> npt.NDArray[np.int64]:
    """Return for each cell which half wins a tie: a bit of its hash."""
    return (hashes(codes, salt) & np.uint64(1)).astype(np.int64)
