"""Evolving: an evolution strategy behind ask and tell, once the model has chosen its points.

The strategy draws points that may lie outside the feasible set, and the points asked for are brought
there; it is to learn of the former. So draws are kept, by what was asked for instead, until a reward
comes. A point that nobody asked for counts as its image that is nearest to the mean. The strategy
learns every reward, the model only the first of each generation.
"""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from orbandit._checks import MAX_COUNT, Array, as_count
from orbandit.agents.files import Arrays
from orbandit.agents.gaussian.acquisition import Ground
from orbandit.agents.gaussian.evolution import Evolution, relative_noise
from orbandit.agents.gaussian.model import Model
from orbandit.agents.gaussian.streams import EVOLUTION_STREAM


@final
class Evolving:
    """An evolution strategy, and what it drew for each point asked for.

    Parameters
    ----------
    ground : Ground
        The feasible set and the group.
    search : Evolution
        The strategy.
    salt : int
        A part of the seeds of draws.
    """

    def __init__(self, ground: Ground, search: Evolution, salt: int) -> None:
        self._ground, self.search, self._salt = ground, search, salt
        self._number = 0
        self._drawn: dict[bytes, list[Array]] = {}

    @classmethod
    def begun(cls, model: Model, ground: Ground, start: Array, rounds: int, salt: int) -> "Evolving":
        """Return a new strategy at a point, for so many rounds; the model says how much noise there is."""
        noise = relative_noise(model, ground.region, start, np.random.default_rng([salt, EVOLUTION_STREAM]))
        return cls(ground, Evolution(ground.region, start, rounds, noise), salt)

    def draw(self) -> tuple[Array, Array]:
        """Return a new point as it was drawn, and the feasible point to ask for instead."""
        rng = np.random.default_rng([self._salt, EVOLUTION_STREAM, self._number])
        self._number += 1
        return self.search.drawn(rng)

    def expect(self, key: bytes, drawn: Array) -> None:
        """Keep what was drawn, for a point that was asked for."""
        self._drawn.setdefault(key, []).append(drawn)

    def learn(self, key: bytes, point: Array, value: float, is_pending: Callable[[bytes], bool]) -> bool:
        """Learn the reward of a point; return whether it is the first one of its generation.

        When a generation ends, draws for asks that are no longer pending are dropped.
        """
        waiting, is_first = self._drawn.get(key, []), self.search.is_at_start
        is_end = self.search.add(waiting[0] if waiting else self._ground.aligned(point, self.search.mean), value)
        if waiting:
            del waiting[0]
        if is_end:
            self._drawn = {key: waiting for key, waiting in self._drawn.items() if waiting and is_pending(key)}
        return is_first

    def state(self, packed: Callable[[list[bytes]], Array]) -> tuple[dict[str, Any], Arrays]:
        """Return the state; `packed` makes an array of keys."""
        pairs = [(key, drawn) for key, waiting in self._drawn.items() for drawn in waiting]
        drawn = np.array([drawn for _, drawn in pairs]).reshape(-1, len(self.search.mean))
        arrays = {"drawn": drawn, "drawn_asked": packed([key for key, _ in pairs])}
        return {"number_drawn": self._number}, self.search.arrays() | arrays

    @classmethod
    def restored(
        cls, ground: Ground, salt: int, state: dict[str, Any], arrays: Arrays, unpacked: Callable[[Array], list[bytes]]
    ) -> "Evolving":
        """Return the strategy with this `state`, checked; `unpacked` undoes `packed`."""
        found = cls(ground, Evolution.restored(ground.region, arrays), salt)
        found._number = as_count(state["number_drawn"], "number_drawn", minimum=0, maximum=MAX_COUNT)
        keys, drawn = unpacked(arrays["drawn_asked"]), arrays["drawn"]
        good = drawn.shape == (len(keys), len(found.search.mean)) and drawn.dtype == np.float64
        if not good or not np.isfinite(drawn).all():
            raise ValueError(f"{len(keys)} points drawn, and an array of shape {drawn.shape}")
        for key, row in zip(keys, drawn, strict=True):
            found.expect(key, row)
        return found
