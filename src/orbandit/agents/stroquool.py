"""StroquOOL: stochastic sequential online optimisation, on cells over the space or over its orbits.

    h_max = n / (2 (log2 n + 1)^2);    to open a cell m times is to play the points of its halves m times each
    open the root h_max times; for h = 1, ..., h_max and m = 2^p <= h_max / h, largest first, open m times the
    h_max / (h m) cells of depth h with the largest means among those not opened yet that have at least m rewards
    for every p play h_max times the cell with the largest mean among those with 2^p rewards; recommend the best of them

P. L. Bartlett, V. Gabillon, M. Valko, A simple parameter-free and adaptive approach to optimization
under a minimal local smoothness assumption, 2019, Section 4. It needs to know neither the
smoothness nor how noisy rewards are. The last comparison is by rewards of its own, and takes up all
rounds that are left; until it is done, the largest mean - sqrt(log n / 2 T) is recommended. With a
group, halves of cells that hold no representative are never made. How late feedback counts is said
in `openings`.
"""

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels.cells import COUNT, ROOT, SUM
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.cell_arms import CellArms
from orbandit.agents.files import Arrays
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.openings import Openings
from orbandit.agents.points import Points
from orbandit.groups import Group
from orbandit.spaces import Space


@final
class StroquOOL(Agent):
    """Stochastic sequential online optimisation, for simple regret.

    Parameters
    ----------
    space : Space
        Where the arms live: a space of at most 1,000 dimensions.
    group : Group, optional
        The symmetry: a group under which the mean reward is invariant. By default there is none. It
        acts on at most 200 coordinates, and has at most about 100,000 elements if they are listed.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, each with a plan of
        its own, and the tree stays.
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
    >>> agent = ob.agents.StroquOOL(space, group, horizon=10_000, seed=0)
    >>> agent.depth, agent.n_arms
    (24, 3)
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
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        self._openings = Openings(Points(space, group, lipschitz, self._span))
        self.arms = self._openings.table.arms
        self._start(seed)

    def _begin(self) -> None:
        self._openings.table.begin(self._rng)
        self._renew()
        self._choose()  # makes the first cells

    @property
    def n_arms(self) -> int:
        """Number of cells in the tree so far."""
        return self._openings.size

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant of the mean reward."""
        return self._openings.lipschitz

    @property
    def depth(self) -> int:
        """The h_max of the paper: the greatest depth of cells that are opened, as far as cells go."""
        return self._depth

    def _choose(self) -> int:
        return int(self._openings.upcoming(1)[0])

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        node = handle if handle != ELSEWHERE else self.arms.handle(point)
        self._openings.add(node, value, 1.0, -released)

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self._openings.add(handle, 0.0, 0.0, amount)

    def _recommend(self) -> Array:
        known, stats, table = self._openings.known, self._stats, self._openings.table
        if not len(known):
            return self.arms.point(self._choose())
        cells, sums, counts = self._openings.finalists.T
        finalists = cells.astype(np.int64)
        fresh = stats[finalists, COUNT] - counts
        if len(cells) and fresh.min() >= self._depth:  # the comparison is done
            return self.arms.point(int(finalists[np.argmax((stats[finalists, SUM] - sums) / fresh)]))
        low = table.means[known] - np.sqrt(self._log_horizon / (2 * stats[known, COUNT]))
        return self.arms.point(int(known[np.argmax(low)]))

    def _estimate(self, point: Any) -> Any:
        return self._openings.estimate(point)

    def _renew(self) -> None:
        self._depth = max(1, math.floor(self._goal / (2 * (math.log2(self._goal) + 1) ** 2)))
        self._openings.follow(self._opened, self._depth, self._elected)

    def _opened(self, depth: int) -> list[tuple[int, int]]:
        """Return how many cells of a depth are opened, and how often."""
        if depth == 0:
            return [(1, self._depth)]
        most = (self._depth // depth).bit_length() - 1
        return [(self._depth // (depth << p), 1 << p) for p in range(most, -1, -1)]

    def _elected(self) -> npt.NDArray[np.int64]:
        """Return for each p the cell with the largest mean among those with 2^p rewards; the root if there are none."""
        known, cells = self._openings.known, list[int]()
        for p in range(self._depth.bit_length()):
            fit = known[self._stats[known, COUNT] >= 1 << p]
            cells += [self._openings.best(fit)] if len(fit) else []
        return np.array(list(dict.fromkeys(cells)) or [ROOT])

    @property
    def _stats(self) -> Array:
        """Sum, count and pending observations of each cell."""
        return self._openings.table.stats

    def _state(self) -> State:
        return self._openings.state

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._renew()
        self._openings.restore(state, arrays)

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the cells played, and make those that the next round takes."""
        return self._openings.play(means, draws, self._low, self._span)
