"""Table: the statistics of finitely many arms, and the tournament over their indices.

Arms are numbered by random priority, drawn once: of several with the same index the lowest number
is played. A pending ask counts as an observation in the confidence radius, but not in the mean.
Rewards are scaled to [0, 1].
"""

import math
from typing import Self, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit._kernels import arms as kernels
from orbandit._kernels.arms import ALIVE, COLUMNS, COUNT, LEAST, OWN_COUNT, OWN_SUM, SUM, UCB, ZOOM, ArmArray
from orbandit._kernels.tournament import HeadArray, levels_of, raise_all
from orbandit.agents.files import Arrays
from orbandit.agents.neighborhoods import Neighborhoods

__all__ = ["LEAST", "UCB", "ZOOM", "Table", "width_of"]


@final
class Table:
    """Rows of statistics, one per arm, and the arm to play next.

    Parameters
    ----------
    size : int
        Number of arms.
    rule : int
        UCB, or LEAST to play the arm with the fewest observations.
    width : float
        2 log n, the square of the confidence radius after one observation.
    order : (size,) array of int, optional
        The name of each arm by its number; by default they are the same.
    """

    def __init__(self, size: int, rule: int, width: float, order: npt.NDArray[np.intp] | None = None) -> None:
        self.rule, self.width = rule, width
        self.order = np.arange(size) if order is None else order
        self.stats = np.zeros((size, COLUMNS))
        self.stats[:, ALIVE] = 1.0
        self._levels = levels_of(size)
        self._keys = np.full(self._levels[-1], -np.inf)
        self._heads = np.zeros(self._levels[-1], dtype=np.int64)
        self._heads[:size] = np.arange(size)
        self.refresh()

    @classmethod
    def by_priority(cls, priorities: Array, rule: int, width: float) -> Self:
        """Return a table whose arms are numbered by their priorities, highest first."""
        return cls(len(priorities), rule, width, np.argsort(-priorities, kind="stable"))

    @classmethod
    def restore(cls, arrays: Arrays, size: int, rule: int, width: float) -> Self:
        """Undo `arrays_to_save`, checked."""
        stats, order = arrays["stats"], arrays["order"]
        if stats.shape != (size, COLUMNS) or stats.dtype != np.float64 or not np.isfinite(stats).all():
            raise ValueError(f"statistics of shape {stats.shape} for {size} arms")
        if (stats[:, 1:3] < 0).any() or not np.array_equal(np.sort(order), np.arange(size)):
            raise ValueError("statistics or an order of arms that cannot be")
        table = cls(size, rule, width, order.astype(np.intp))
        table.stats[:] = stats
        table.refresh()
        return table

    @property
    def arrays_to_save(self) -> Arrays:
        """The arrays that a file keeps."""
        return {"stats": self.stats, "order": self.order}

    def __len__(self) -> int:
        return len(self.stats)

    def by_name(self, values: Array) -> Array:
        """Return values by the arms' own names instead of their numbers."""
        named = np.empty_like(values)
        named[self.order] = values
        return named

    @property
    def leader(self) -> int:
        """The arm with the largest index."""
        return int(self._heads[-1])

    @property
    def least_seen(self) -> float:
        """Under LEAST, the fewest observations of an arm alive; pending observations count."""
        return -float(self._keys[-1])

    @property
    def counts(self) -> Array:
        """The number of observations O of each arm."""
        return self.stats[:, COUNT]

    @property
    def means(self) -> Array:
        """The mean observed reward of each arm, NaN without observations."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.stats[:, SUM] / self.counts)

    @property
    def radii(self) -> Array:
        """The confidence radius sqrt(2 log n / O) of each arm."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.sqrt(self.width / self.counts))

    @property
    def alive(self) -> npt.NDArray[np.bool_]:
        """Which arms may be played."""
        return np.asarray(self.stats[:, ALIVE] != 0.0)

    @property
    def upper_bounds(self) -> Array:
        """The index of each arm, mean + radius; infinite without observations."""
        return np.where(self.counts > 0, self.means + self.radii, np.inf)

    @property
    def best(self) -> int:
        """The arm alive with the largest lower confidence bound.

        Before any observation, the next to play.
        """
        lower = np.where(self.alive & (self.counts > 0), self.means - self.radii, -np.inf)
        return self.leader if np.isneginf(lower).all() else int(np.argmax(lower))

    def widen(self, width: float) -> None:
        """Set another width, that of another horizon."""
        self.width = width
        self.refresh()

    def refresh(self) -> None:
        """Compute all indices anew, after a change of statistics or width."""
        kernels.all_indices(self.stats, self.rule, self.width, self._keys)
        raise_all(self._keys, self._heads, self._levels)

    @property
    def arrays(self) -> tuple[Array, Array, HeadArray, npt.NDArray[np.int64]]:
        """Statistics, keys, heads and levels, for kernels."""
        return self.stats, self._keys, self._heads, self._levels

    def revive(self, arm: int) -> None:
        """Make one more arm alive."""
        self.stats[arm, ALIVE] = 1.0
        self.expect(np.array([arm], dtype=np.int32), 0.0)

    def keep(self, alive: npt.NDArray[np.bool_]) -> None:
        """Keep only these arms alive."""
        self.stats[:, ALIVE] = alive
        self.refresh()

    def add(self, arms: npt.NDArray[np.integer], sums: Array, counts: Array) -> None:
        """Add several observations at once: arm arms[i] gets counts[i] of them, with the sum sums[i]."""
        np.add.at(self.stats[:, SUM], arms, sums)
        np.add.at(self.stats[:, COUNT], arms, counts)
        self.refresh()

    def own(self) -> tuple[Array, Array]:
        """Return the sums and counts of the rewards of each arm's own plays."""
        return self.stats[:, OWN_SUM], self.stats[:, OWN_COUNT]

    def observe(self, arms: ArmArray, own: int, reward: float, released: float) -> None:
        """Add an observation to each of the arms; `own` was played (-1: none).

        Release pending ones.
        """
        kernels.observe(
            self.stats, self._keys, self._heads, self._levels, arms, own, reward, released, self.rule, self.width
        )

    def observe_own(self, arm: int, reward: float, released: float) -> None:
        """Add one observation to the arm that was played."""
        kernels.observe_own(
            self.stats, self._keys, self._heads, self._levels, arm, reward, released, self.rule, self.width
        )

    def expect(self, arms: ArmArray, pending: float) -> None:
        """Add to the pending observations of the arms."""
        kernels.expect(self.stats, self._keys, self._heads, self._levels, arms, pending, self.rule, self.width)

    def play(
        self, lists: Neighborhoods | None, means: Array, draws: Array, low: float, span: float, quota: float = np.inf
    ) -> npt.NDArray[np.int64]:
        """Play Bernoulli rounds.

        Return the arms played, fewer if a list is missing or a quota is met.
        """
        played = np.empty(len(draws), dtype=np.int64)
        if lists is None:
            done = kernels.play(
                self.stats,
                self._keys,
                self._heads,
                self._levels,
                means,
                draws,
                low,
                span,
                self.rule,
                self.width,
                played,
            )
        else:
            done = kernels.play_sharing(
                self.stats,
                self._keys,
                self._heads,
                self._levels,
                lists.starts,
                lists.sizes,
                lists.pool,
                means,
                draws,
                low,
                span,
                self.rule,
                self.width,
                quota,
                played,
            )
        return played[:done]

    def list_ahead(self, lists: Neighborhoods | None) -> None:
        """List the neighbours of the next arm, and of arms likely to follow."""
        if lists is not None and lists.sizes[self.leader] < 0:
            lists.list(np.union1d(self.upcoming(lists.unlisted(), lists.batch), [self.leader]))

    def upcoming(self, arms: npt.NDArray[np.intp], limit: int) -> npt.NDArray[np.intp]:
        """Return up to `limit` of the arms, those with the largest indices, to be played soon."""
        keys = self._keys[arms]
        fresh = arms[np.isposinf(keys)]
        if len(fresh) or len(arms) <= limit:
            return (fresh if len(fresh) else arms)[:limit]
        return arms[np.argpartition(-keys, limit)[:limit]]


def width_of(n: int) -> float:
    """Return 2 log n, the square of the confidence radius after one observation, for n rounds."""
    return 2 * math.log(max(n, 2))
