"""FiniteAgent: what agents on finitely many arms share; each names its arms, its index and who learns from whom.

Arms are numbered by priority, random and drawn once, so that ties of the index go to the lowest number. A pending ask
counts as an observation in the confidence radius, though not in the mean.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels.arms import COLUMNS, ArmArray
from orbandit.agents.base import ELSEWHERE, Agent, Handles, Means, as_means
from orbandit.agents.files import Arrays
from orbandit.agents.neighborhoods import Neighborhoods
from orbandit.agents.table import Table


class FiniteAgent(Agent):
    """Plays the arm with the largest index, kept in a tournament."""

    _table: Table
    _order: npt.NDArray[np.intp]
    _lists: Neighborhoods | None

    @property
    def n_arms(self) -> int:
        """Number of arms to choose from now."""
        return len(self._table)

    def recommend(self) -> Any:
        """Return the best point by what is known now: the arm with the largest lower confidence bound."""
        return self._point(self._table.best)

    def estimate(self, point: Any) -> float:
        """Return the mean reward observed of the arm nearest to a point, NaN if there is none."""
        return float(self._unscaled(self._table.means[self._nearest(point)]))

    def means(self) -> Array:
        """Return the mean reward observed of each arm, NaN where there is none."""
        return self._by_arm(self._unscaled(self._table.means))

    def counts(self) -> Array:
        """Return the number of observations of each arm."""
        return self._by_arm(self._table.counts)

    def upper_bounds(self) -> Array:
        """Return for each arm a bound on the mean reward of all it stands for: the index of the paper.

        That is mean + sqrt(2 log n / O), and what the observations may be biased by; infinite without observations.
        """
        upper = np.where(self._table.counts > 0, self._table.means + self._table.radii, np.inf)
        return self._by_arm(self._unscaled(upper + self._bias))

    @property
    def _bias(self) -> float:
        """What the index adds to mean and radius, in scaled rewards."""
        return 0.0

    @property
    @abstractmethod
    def _rule(self) -> int:
        """What the tournament ranks arms by: UCB or LEAST."""

    @abstractmethod
    def _reach(self, point: Any) -> ArmArray:
        """Return the arms that learn from a reward at any point, after a check that it is one of X."""

    def _open(self, size: int, priorities: Array | None = None) -> None:
        """Start with new arms, numbered by their priorities, highest first."""
        if priorities is None:
            priorities = self._rng.random(size)
        self._order = np.argsort(-priorities, kind="stable")
        self._table = Table(size, self._rule, 2 * self._log_horizon)
        self._lists = None
        self._open_asks()

    def _by_arm(self, values: Array) -> Array:
        """Return values by the arms' own names instead of their numbers."""
        named = np.empty_like(values)
        named[self._order] = values
        return named

    def _choose(self) -> int:
        return self._table.leader

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        if handle == ELSEWHERE:
            self._observe_elsewhere(point, value, released)
        elif self._lists is None:
            self._table.observe_own(handle, value, released)
        else:
            self._table.observe(self._lists.of(handle), handle, value, released)

    def _expected(self, point: Any) -> int:
        return ELSEWHERE

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self._table.expect(self._learners(handle, point), amount)

    def _learners(self, arm: int, point: Any) -> ArmArray:
        """Return the arms that learn from an ask."""
        if arm == ELSEWHERE:
            return self._reach(point)
        return np.array([arm], dtype=np.int32) if self._lists is None else self._lists.of(arm)

    def _observe_elsewhere(self, point: Any, value: float, released: float) -> None:
        self._table.observe(self._reach(point), ELSEWHERE, value, released)

    def _renew(self) -> None:
        """Take up a new horizon with the same arms."""
        self._table.width = 2 * self._log_horizon
        self._table.refresh()

    def _play_some(self, means: Array, draws: Array) -> Handles:
        return self._table.play(self._lists, means, draws, self._low, self._span, self._quota)

    @property
    def _quota(self) -> float:
        """Observations of every arm after which a compiled loop stops."""
        return np.inf

    def _prepare(self) -> None:
        """See to it that the next arm can be played: list its neighbours, and those of arms likely to follow."""
        arm = self._table.leader
        if self._lists is not None and self._lists.sizes[arm] < 0:
            likely = self._table.upcoming(self._lists.unlisted(), self._lists.batch)
            self._lists.list(np.union1d(likely, [arm]))

    _means: tuple[Table, Any, Array] | None = None

    def _known_means(self, mean: Means) -> Array:
        """Return the means of the arms by number, computed once for each set of arms."""
        if self._means is None or self._means[0] is not self._table or self._means[1] != mean:
            self._means = (self._table, mean, as_means(mean(self._points()), len(self._table)))
        return self._means[2]

    @abstractmethod
    def _points(self) -> npt.NDArray[Any]:
        """Return the points, or the names, of all arms by number."""

    def _table_arrays(self) -> Arrays:
        """Return the arrays that hold the statistics and the pending asks."""
        asks = self._ask_arrays()  # which makes the last one pending
        return {"stats": self._table.stats, "order": self._order, **asks}

    def _set_table(self, arrays: Arrays, size: int, keys: list[Any]) -> None:
        """Undo `_table_arrays`, checked."""
        stats, order = arrays["stats"], arrays["order"]
        if stats.shape != (size, COLUMNS) or stats.dtype != np.float64 or not np.isfinite(stats).all():
            raise ValueError(f"statistics of shape {stats.shape} for {size} arms")
        table = Table(size, self._rule, 2 * self._log_horizon)
        if (stats[:, 1:3] < 0).any() or not np.array_equal(np.sort(order), np.arange(size)):
            raise ValueError("statistics or an order of arms that cannot be")
        self._set_asks(arrays, keys, size)
        table.stats[:] = stats
        table.refresh()
        self._table, self._order, self._lists = table, order.astype(np.intp), None
