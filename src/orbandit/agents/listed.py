"""ListedAgent: agents whose arms are numbers 0, ..., K - 1, told apart by nothing else."""

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from orbandit._checks import as_count, shown
from orbandit._kernels.arms import ArmArray
from orbandit.agents.base import Seed, as_stream
from orbandit.agents.files import Arrays
from orbandit.agents.finite import FiniteAgent
from orbandit.agents.table import UCB
from orbandit.errors import InputError

MAX_ARMS = 10_000_000
"""Most arms of a list, for whose statistics there must be memory."""


class ListedAgent(FiniteAgent):
    """Plays arms by their index."""

    _rule = UCB

    def __init__(self, seed: Seed, **settings: Any) -> None:
        self._configure(**settings)
        self._rng = as_stream(seed)
        self._open(self._size)
        self._connect()

    _size: int
    """Number of arms played."""

    def _connect(self) -> None:
        """Make the lists of who learns from whom, and number the arms both ways."""
        self._number = np.empty(self._size, dtype=np.intp)
        self._number[self._order] = np.arange(self._size)

    def _point(self, arm: int) -> int:
        return int(self._order[arm])

    def _points(self) -> npt.NDArray[Any]:
        return self._order

    def _key(self, point: Any) -> int:
        """Return the arm, checked."""
        arm = point if type(point) is int else as_count(point, "arm", minimum=0)
        if not 0 <= arm < self._size:
            raise InputError(f"`arm` must be one of 0, ..., {self._size - 1}, but got {shown(arm)}.")
        return arm

    def _nearest(self, point: Any) -> int:
        return int(self._number[self._key(point)])

    def _expected(self, point: Any) -> int:
        return self._nearest(point)

    def _reach(self, point: Any) -> ArmArray:
        number = self._nearest(point)
        return np.array([number], dtype=np.int32) if self._lists is None else self._lists.of(number)

    def _observe_elsewhere(self, point: Any, value: float, released: float) -> None:
        """Learn from a play of an arm that was not asked for: a play like any other."""
        self._table.observe(self._reach(point), self._nearest(point), value, released)

    def _next_epoch(self) -> None:
        self._renew()

    def _frozen(self) -> tuple[dict[str, Any], dict[str, Any], Arrays]:
        arrays = self._table_arrays()
        arrays["asked"] = np.array(self._pending_keys(), dtype=np.int64)
        return self._settings(), {}, arrays

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """Return the settings for `_configure`; those that all agents have come from here."""
        return {"horizon": self._horizon, "reward_range": self.reward_range}

    def _thaw(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._set_table(arrays, self._size, [self._key(arm) for arm in arrays["asked"]])
        if any({key} != {self._point(handle) for handle in handles} for key, handles in self._asked.items()):
            raise ValueError("pending asks of other arms than their numbers say")
        self._connect()
