"""UCB1: the arm with the largest upper confidence bound on its mean reward.

    index(i) = mean(i) + sqrt(2 log n / T(i)),     T(i) plays of arm i

P. Auer, N. Cesa-Bianchi, P. Fischer, Finite-time analysis of the multiarmed bandit problem, 2002, Figure 1. There n
is the current round; here it is the horizon, as in the paper on invariant bandits, or that of the present epoch for
an agent without one. So an index changes only with its arm, and a round costs O(log K).
"""

from typing import Any, final

from orbandit._checks import as_count
from orbandit.agents.base import Seed
from orbandit.agents.listed import MAX_ARMS, ListedAgent


@final
class UCB1(ListedAgent):
    """UCB1 on `n_arms` arms, named 0, ..., n_arms - 1.

    Parameters
    ----------
    n_arms : int
        Number of arms, at most 10,000,000.
    horizon : int, optional
        Number of rounds planned for; without it, confidence grows in epochs that double.
    reward_range : (low, high)
        The least and the largest reward.
    seed : int, SeedSequence or Generator, optional
        Ties go to priorities drawn from it, once for each arm.

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

    def __init__(
        self,
        n_arms: int,
        *,
        horizon: int | None = None,
        reward_range: tuple[float, float] = (0.0, 1.0),
        seed: Seed = None,
    ) -> None:
        super().__init__(seed, n_arms=n_arms, horizon=horizon, reward_range=reward_range)

    def _configure(self, *, n_arms: int, **common: Any) -> None:
        self._configure_common(**common)
        self._size = as_count(n_arms, "n_arms", maximum=MAX_ARMS)

    def _settings(self) -> dict[str, Any]:
        return {"n_arms": self._size, **super()._settings()}
