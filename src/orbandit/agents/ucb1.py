"""UCB1: the arm with the largest upper confidence bound on its mean reward.

    index(i) = mean(i) + sqrt(2 log n / T(i)),     T(i) plays of arm i

P. Auer, N. Cesa-Bianchi, P. Fischer, Finite-time analysis of the multiarmed bandit problem, 2002,
Figure 1. There n is the current round; here it is the horizon, as in the paper on invariant
bandits, or that of the present epoch for an agent without one. So an index changes only when its
arm is played, and a round costs O(log K).
"""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.files import Arrays
from orbandit.agents.ledger import ELSEWHERE
from orbandit.agents.listed_arms import MAX_ARMS, ListedArms
from orbandit.agents.table import UCB, Table, width_of


@final
class UCB1(Agent):
    """UCB1 on `n_arms` arms, named 0, ..., n_arms - 1.

    Parameters
    ----------
    n_arms : int
        Number of arms, at most 10,000,000.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, and confidence grows
        with each.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities drawn from it, once for
        each arm.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> agent, rng = ob.agents.UCB1(3, horizon=2000, seed=0), np.random.default_rng(1)
    >>> for _ in range(2000):
    ...     arm = agent.ask()
    ...     agent.tell(arm, rng.random() < [0.2, 0.8, 0.4][arm])
    >>> agent.recommend(), agent.rounds
    (1, 2000)
    """

    arms: ListedArms

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        self._n_arms = as_count(n_arms, "n_arms", maximum=MAX_ARMS)
        self._start(seed)

    def _begin(self) -> None:
        self._use(Table.by_priority(self._rng.random(self._n_arms), UCB, width_of(self._goal)))

    def _use(self, table: Table) -> None:
        self.arms = ListedArms(table)

    def _choose(self) -> int:
        return self.arms.table.leader  # argmax of mean(i) + sqrt(2 log n / T(i))

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        arm = handle if handle != ELSEWHERE else self.arms.handle(point)
        # T(i), mean(i) and the index of the arm played
        self.arms.table.observe_own(arm, value, released)

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self.arms.table.expect(np.array([handle], dtype=np.int32), amount)

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
        self._use(Table.restore(arrays, self._n_arms, UCB, width_of(self._goal)))

    def play_rounds(self, means: Array, draws: Array) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds, compiled; return the numbers of the arms played."""
        return self.arms.table.play(None, means, draws, self._low, self._span)
