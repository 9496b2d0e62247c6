"""Arm elimination with side observations, on the graph of UniformMesh-N.

Phase r ends when every arm still alive has been observed 2 log n / eps_r^2 times, eps_r = 2^-r, so that its radius
sqrt(2 log n / O) is at most eps_r. Then arm i is dropped if

    mean(i) + radius(i) + 2 delta  <  mean(j) - radius(j) - 2 delta     for some arm j

A. Cohen, T. Hazan, T. Koren, Online learning with feedback graphs without the graphs, 2016, Section 4. Deviations:

- a side observation is a reward from up to 2 delta away, so both sides are widened by 2 delta, or the best arm of the
  mesh might be dropped;
- the graph is fixed and known here, and instead of a random arm among those short of observations the one observed
  least is played: the arms that bring all counts from c to c + 1 are independent in the graph, so that a phase costs
  at most alpha 2 log n / eps_r^2 plays, with alpha the independence number;
- observations of earlier phases count, with the radius of each arm in place of eps_r.
"""

from typing import Any, final

import numpy as np

from orbandit._checks import as_count
from orbandit.agents.files import Arrays
from orbandit.agents.sharing import SharingAgent
from orbandit.agents.table import LEAST


@final
class SideObservationElimination(SharingAgent):
    """Plays all arms evenly, and drops those that cannot be the best.

    An arm is dropped only if it is worse by more than 4 delta, and until then arms at the border, which few others
    inform, are played most often. So its regret is far above that of `UniformMesh` unless rewards differ by much more
    than that: see the table in docs/agents.md, printed by benchmarks/rounds.py.

    Parameters
    ----------
    space, group, horizon, lipschitz, reward_range, mesh, delta, seed
        As for `UniformMeshN`. Without a horizon, all arms are alive again when an epoch begins, and what is known of
        them is kept.

    Examples
    --------
    >>> import orbandit as ob
    >>> agent = ob.agents.SideObservationElimination(ob.spaces.Box(0.0, 1.0, dim=1), horizon=100_000, seed=0)
    >>> for _ in range(100_000):
    ...     point = agent.ask()
    ...     agent.tell(point, 0.9 - abs(point[0] - 0.3))
    >>> int(agent.alive().sum()) < agent.n_arms, bool(abs(agent.recommend()[0] - 0.3) < 2 * agent.delta)
    (True, True)
    """

    _rule = LEAST
    _phase: int

    def alive(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which arms of the mesh may still be the best."""
        return self._by_arm(self._table.alive.astype(np.float64)) > 0

    @property
    def _quota(self) -> float:
        """Observations of every arm that end the phase."""
        return self._table.width * 4.0**self._phase

    def _open(self, size: int, priorities: Any = None) -> None:
        super()._open(size, priorities)
        self._phase = 1

    def tell(self, point: Any, reward: float) -> None:
        """Learn the reward of a point, asked for or not; a phase may end."""
        super().tell(point, reward)
        self._review()

    def _review(self) -> None:
        """End phases; observations that are still pending do not count."""
        while self._table.least_seen >= self._quota and self._table.counts[self._table.alive].min() >= self._quota:
            self._eliminate()

    def _renew(self) -> None:
        self._phase = 1
        self._table.keep(np.ones(len(self._table), dtype=bool))
        super()._renew()

    def _eliminate(self) -> None:
        """Drop the arms that cannot be the best."""
        means = np.where(self._table.counts > 0, self._table.means, 0.0)
        reach = self._table.radii + self._reward_bias
        alive = self._table.alive
        best = (means - reach)[alive].max()
        self._table.keep(alive & (means + reach >= best))
        self._phase += 1

    def _frozen(self) -> tuple[dict[str, Any], dict[str, Any], Arrays]:
        settings, state, arrays = super()._frozen()
        return settings, {**state, "phase": self._phase}, arrays

    def _thaw(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._phase = as_count(state["phase"], "phase")
        super()._thaw(state, arrays)
        if not self._table.alive.any():
            raise ValueError("no arm is alive")
        if self._phase > 1 and self._quota / 4 > self._table.counts[self._table.alive].min():
            raise ValueError(f"phase {self._phase} before the one before it can have ended")
