"""SequOOL: sequential online optimisation of rewards without noise, on cells over the space or its orbits.

    open the root; for h = 1, ..., h_max open the h_max / h cells of depth h with the largest rewards
    to open a cell is to play the points of its halves, once each

P. L. Bartlett, V. Gabillon, M. Valko, A simple parameter-free and adaptive approach to optimization
under a minimal local smoothness assumption, 2019, Section 3. **It takes each reward for the mean
itself**; where rewards are noisy, use `StroquOOL`. The paper's n counts openings: here n counts
rewards, two to an opening, so that h_max = m / (1 + 1/2 + ... + 1/m) for m = n / 2. The cell with
the largest reward is recommended, and played in the rounds that are left. With a group, halves of
cells that hold no representative are never made. How late feedback counts is said in `openings`.
"""

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels.cells import ROOT
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.cell_arms import CellArms
from orbandit.agents.files import Arrays
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.openings import Openings
from orbandit.agents.points import Points
from orbandit.groups import Group
from orbandit.spaces import Space


@final
class SequOOL(Agent):
    """Sequential online optimisation, for rewards without noise.

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
    >>> agent = ob.agents.SequOOL(space, group, horizon=500, seed=0)
    >>> agent.depth
    40
    >>> for _ in range(500):
    ...     point = agent.ask()
    ...     agent.tell(point, 1 - float(group.distance(point, [0.2, 0.7])))
    >>> float(group.distance(agent.recommend(), [0.2, 0.7])) < 1e-4
    True
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
        return self.arms.point(self._best() if len(self._openings.known) else self._choose())

    def _estimate(self, point: Any) -> Any:
        return self._openings.estimate(point)

    def _renew(self) -> None:
        from scipy.special import digamma

        openings = max(1, self._goal // 2)
        self._depth = max(1, math.floor(openings / (digamma(openings + 1.0) + np.euler_gamma) + 1e-9))
        self._openings.follow(self._opened, self._depth, lambda: np.array([self._best()]))

    def _opened(self, depth: int) -> list[tuple[int, int]]:
        """Return how many cells of a depth are opened, once each."""
        return [(self._depth // max(1, depth), 1)]

    def _best(self) -> int:
        """Return the cell with the largest mean, the finalist if there is one; the root if there are no rewards."""
        openings = self._openings
        if len(openings.finalists):
            return int(openings.finalists[0, 0])
        return openings.best(openings.known) if len(openings.known) else ROOT

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
