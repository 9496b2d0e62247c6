"""POO: parallel optimistic optimisation, HOO with several values of rho in turn, for a smoothness that is not known.

    D = ln 2 / ln(1 / rho_max),    n = 0,    N = 1,    S = {HOO(nu, rho_max)}
    repeat:  while N <= D ln(n / ln n) / 2:
                 for i = 1, ..., N add HOO(nu, rho_max^(2N / (2i + 1))) to S; it plays n / N rounds
                 n = 2n, N = 2N
             let each of S play one round; n = n + N

J.-B. Grill, M. Valko, R. Munos, Black-box optimization of noisy functions with unknown smoothness,
2015, Algorithm 1. Who plays a round follows from the number of rounds alone; asks that are pending,
and rewards of points that were not asked for, count as rounds of whose turn it is. The instance
with the largest mean reward recommends: its own recommendation, where the paper draws one of the
points that it played. Instances share no rewards, as in the paper.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_positive
from orbandit._kernels.cells import ROOT
from orbandit.agents.base import Agent, Seed, State
from orbandit.agents.cell_arms import CellArms
from orbandit.agents.files import Arrays
from orbandit.agents.hoo import HOO
from orbandit.agents.instances import Base, Check, Instances
from orbandit.agents.points import Points
from orbandit.errors import InputError
from orbandit.groups import Group
from orbandit.spaces import Space


@final
class POO(Agent):
    """Parallel optimistic optimisation, over instances of `HOO`.

    Parameters
    ----------
    space : Space
        Where the arms live: a space of at most 1,000 dimensions.
    group : Group, optional
        The symmetry: a group under which the mean reward is invariant. By default there is none. It
        acts on at most 200 coordinates, and has at most about 100,000 elements if they are listed.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, and the tree stays.
    lipschitz : float, default 1
        The Lipschitz constant of the mean reward for the Euclidean distance of the space, in your
        units: a positive number. It gives `nu`, if that is not stated: the Lipschitz constant times
        the diameter of the whole tree.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    nu : float, optional
        The nu of all instances, in units of rewards: the largest difference of rewards in the
        space.
    rho_max : float, default 0.9
        A number in (0, 1) that gives the values of rho: rho_max itself, and rho_max^(2N / (2i + 1))
        for i = 1, ..., N and N = 1, 2, 4, ... The largest of N is rho_max^(2N / (2N + 1)), a little
        above rho_max. A larger rho_max is for harder problems, and takes more instances.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities that it gives each cell.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    >>> agent = ob.agents.POO(space, group, horizon=1_000, seed=0)
    >>> round(agent.nu, 3)
    1.414
    >>> for _ in range(6):
    ...     agent.tell(agent.ask(), 0.5)
    >>> agent.rhos.round(3)
    array([0.9  , 0.932, 0.869])
    """

    arms: Instances
    _turns: Iterator[int]
    _played_by: list[int]

    def __init__(
        self,
        space: Space,
        group: Group | None = None,
        *,
        horizon: int | None = None,
        lipschitz: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        nu: float | None = None,
        rho_max: float = 0.9,
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        self._rho_max = as_positive(rho_max, "rho_max")
        if self._rho_max >= 1:
            raise InputError(f"`rho_max < 1` must hold, but got rho_max={rho_max}.", field="rho_max", value=rho_max)
        points = Points(space, group, lipschitz, self._span)
        root = CellArms(points, lambda inside: ROOT).cells.diameter(0)
        self._lipschitz = points.lipschitz
        self._nu = self._lipschitz * root if nu is None else as_positive(nu, "nu")
        self.arms = Instances(points, self._turn)
        self._start(seed)

    def _begin(self) -> None:
        self._salt = int(self._rng.integers(2**63))
        self._turns, self._played_by = schedule(self._rho_max), list[int]()
        self._turn()

    @property
    def n_arms(self) -> int:
        """Number of cells of all instances so far."""
        return sum(base.n_arms for base in self.arms.bases)

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant of the mean reward."""
        return self._lipschitz

    @property
    def nu(self) -> float:
        """The nu of all instances, in units of rewards."""
        return self._nu

    @property
    def rho_max(self) -> float:
        """The largest rho of the paper."""
        return self._rho_max

    @property
    def rhos(self) -> Array:
        """The rho of each instance so far."""
        return np.array([base.rho for base in self.arms.bases])

    def turns(self, rounds: int) -> npt.NDArray[np.int64]:
        """Return whose turn it is in each of the next rounds; instances that were not there are made."""
        t = self._rounds + len(self._ledger) + (self._ledger.last is not None)
        while len(self._played_by) < t + rounds:
            self._played_by.append(next(self._turns))
        turns = self._played_by[t : t + rounds]
        while len(self.arms.bases) <= max(turns):
            self.arms.bases.append(self._made(len(self.arms.bases), self._goal))
        return np.array(turns)

    def _turn(self) -> int:
        """Return whose turn it is."""
        return int(self.turns(1)[0])

    def player(self, number: int) -> Base | Check:
        """Return an instance."""
        return self.arms.player(number)

    def _made(self, number: int, horizon: int) -> HOO:
        """Return a new instance."""
        return HOO(
            self.arms.space,
            self.arms.group,
            horizon=horizon,
            lipschitz=self._lipschitz,
            reward_range=(self._low, self._high),
            nu=self._nu,
            rho=rho_of(number, self._rho_max),
            seed=np.random.SeedSequence([self._salt, number]),
        )

    def _choose(self) -> int:
        turn = self._turn()
        return self.arms.name(turn, self.arms.bases[turn]._choose())

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        self.arms.observe(handle, point, value, released)

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self.arms.expect(handle, point, amount)

    def _recommend(self) -> Array:
        best = self.arms.best
        return best._recommend() if best is not None else self.arms.point(self._choose())

    def _estimate(self, point: Any) -> Any:
        best = self.arms.best
        return best._estimate(point) if best is not None else math.nan

    def _renew(self) -> None:
        for base in self.arms.bases:
            base._goal = self._goal
            base._renew()

    @property
    def _stats(self) -> Array:
        """Sum, count and pending observations of each cell of all instances."""
        return self.arms.stats

    def _state(self) -> State:
        scalars, arrays = self.arms.state
        return {"salt": self._salt, "instances": scalars}, arrays

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._salt = as_count(state["salt"], "salt", minimum=0, maximum=2**63 - 1)
        self._turns, self._played_by = schedule(self._rho_max), list[int]()
        self.arms.restore(state["instances"], arrays, self._made)


def schedule(rho_max: float) -> Iterator[int]:
    """Yield the number of the instance that plays in each round.

    Examples
    --------
    >>> from itertools import islice
    >>> list(islice(schedule(0.9), 18))
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 0, 1]
    """
    d, n, step, size = math.log(2) / math.log(1 / rho_max), 0, 1, 1
    while True:
        while n >= 2 and step <= d * math.log(n / math.log(n)) / 2:
            for number in range(size, size + step):
                yield from [number] * max(1, n // step)
            n, step, size = 2 * n, 2 * step, size + step
        yield from range(size)
        n += step


def rho_of(number: int, rho_max: float) -> float:
    """Return the rho of an instance: the first has rho_max, then come those of N = 1, 2, 4, ...

    Examples
    --------
    >>> [round(rho_of(number, 0.9), 3) for number in range(4)]
    [0.9, 0.932, 0.869, 0.919]
    """
    if number == 0:
        return rho_max
    size = 1 << (number.bit_length() - 1)  # N, whose instances are numbered from N on
    return float(rho_max ** (2 * size / (2 * (number - size + 1) + 1)))
