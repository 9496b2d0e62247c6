"""VHCT: the high-confidence tree with variances, on cells over the space or over its orbits.

    U(h, i) = mean + nu rho^h + sqrt(2 c^2 V log(1 / d(t+)) / T) + 3 c^2 log(1 / d(t+)) / T
    V the variance of the T rewards of cell i of depth h; the rest is as in HCT, and the way down leads
    on from a cell if T is so large that the last two terms are at most nu rho^h

W. Li, C.-H. Wang, G. Cheng, Q. Song, Optimum-statistical collaboration towards general and
efficient black-box optimization, 2023, for independent rewards within [0, 1]. With a group, halves
of cells that hold no representative are never made. `confidence_tree` says when bounds are updated,
and how delayed feedback counts.
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.cell_arms import CellArms
from orbandit.agents.confidence_tree import ConfidenceTree
from orbandit.agents.files import Arrays
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.points import Points
from orbandit.groups import Group
from orbandit.spaces import Space


@final
class VHCT(Agent):
    """High-confidence tree with variances.

    Rewards count for the cell whose point was played. A cell is played until its confidence radius
    is at most nu rho^h, the variation of rewards within it. With little noise far fewer plays
    suffice than for `HCT`.

    Parameters
    ----------
    space : Space
        Where the arms live: a space of at most 1,000 dimensions.
    group : Group, optional
        The symmetry: a group under which the mean reward is invariant. By default there is none. It
        acts on at most 200 coordinates, and has at most about 100,000 elements if they are listed.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, and the tree stays.
        It sets `delta` only.
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
    c : float, optional
        The width of confidence bounds, a positive number. By default 2 / sqrt(1 - rho), as the
        paper's proof needs; 0.1 explores far less.
    delta : float, optional
        The probability, in (0, 1), with which bounds may fail; by default 1 / n.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities that it gives each cell.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    >>> agent = ob.agents.VHCT(space, group, horizon=10_000, seed=0)
    >>> round(agent.nu, 3), round(agent.rho, 3), round(agent.c, 3), agent.delta
    (1.581, 0.707, 3.696, 0.0001)
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
        c: float | None = None,
        delta: float | None = None,
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        points = Points(space, group, lipschitz, self._span)
        self._tree = ConfidenceTree(points, nu, rho, c, delta, self._span, by_variance=True)
        self.arms = self._tree.table.arms
        self._start(seed)

    def _begin(self) -> None:
        self._tree.begin(self._goal, self._rng)

    @property
    def n_arms(self) -> int:
        """Number of cells in the tree so far."""
        return self._tree.size

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant of the mean reward."""
        return self._tree.lipschitz

    @property
    def nu(self) -> float:
        """The nu of the paper, in units of rewards."""
        return self._tree.smooth.nu * self._span

    @property
    def rho(self) -> float:
        """The rho of the paper."""
        return self._tree.smooth.rho

    @property
    def c(self) -> float:
        """The c of the paper."""
        return self._tree.c

    @property
    def delta(self) -> float:
        """The probability with which bounds may fail."""
        return self._tree.delta

    def _choose(self) -> int:
        return self._tree.choose()  # Alg. VHCT, OptTraverse

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        node = handle if handle != ELSEWHERE else self.arms.handle(point)
        self._tree.observe(node, value, released, self._rounds)

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self._tree.expect(handle, amount)

    def _recommend(self) -> Array:
        return self._tree.recommend()

    def _estimate(self, point: Any) -> Any:
        return self._tree.estimate(point)

    def _renew(self) -> None:
        self._tree.plan(self._goal, self._rounds)

    @property
    def _stats(self) -> Array:
        """Sum, count and pending observations of each cell, and more."""
        return self._tree.table.stats

    def _state(self) -> State:
        return self._tree.table.state

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._tree.restore(state, arrays, self._goal, self._rounds)

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the cells played, and make those that the next round takes."""
        return self._tree.play(means, draws, self._low, self._span, self._rounds)
