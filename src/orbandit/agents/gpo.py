"""GPO: general parallel optimisation, any of HOO, HCT and VHCT with several values of rho, and a comparison at the end.

    D = ln 2 / ln(1 / rho_max),    N = ceil(D ln(n/2 / ln(n/2)) / 2)
    for i = 1, ..., N let the algorithm with nu and rho_max^(2N / (2i + 1)) play n / 2N rounds
    play what each of them recommends n / 2N times, and recommend the best by these rewards

X. Shang, E. Kaufmann, M. Valko, General parallel optimization without a metric, 2019; over HCT it
is PCT. It is for simple regret. Who plays a round follows from the number of rounds alone, with
asks that are pending and rewards of points that were not asked for, which count for whose turn it
is. What is compared is played in turn, and in all rounds that are left; until all have rewards, the
instance with the largest mean recommends. Without a horizon, every epoch has instances of its own,
which begin anew.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_positive, shown
from orbandit._kernels.cells import ROOT
from orbandit.agents.base import FIRST_HORIZON, Agent, Seed, State
from orbandit.agents.cell_arms import CellArms
from orbandit.agents.files import Arrays
from orbandit.agents.hct import HCT
from orbandit.agents.hoo import HOO
from orbandit.agents.instances import CHECKED, Base, Check, Instances
from orbandit.agents.points import Points
from orbandit.agents.vhct import VHCT
from orbandit.errors import InputError
from orbandit.groups import Group
from orbandit.spaces import Space

BASES: dict[str, type[Base]] = {"HOO": HOO, "HCT": HCT, "VHCT": VHCT}
"""Algorithms whose instances may play."""


@final
class GPO(Agent):
    """General parallel optimisation, over instances of `HOO`, `HCT` or `VHCT`.

    Parameters
    ----------
    space : Space
        Where the arms live: a space of at most 1,000 dimensions.
    group : Group, optional
        The symmetry: a group under which the mean reward is invariant. By default there is none. It
        acts on at most 200 coordinates, and has at most about 100,000 elements if they are listed.
    horizon : int, optional
        Number of rounds n planned for, at least 1. Without it, epochs double, and each has
        instances of its own, which begin anew.
    lipschitz : float, default 1
        The Lipschitz constant of the mean reward for the Euclidean distance of the space, in your
        units: a positive number. It gives `nu`, if that is not stated: the Lipschitz constant times
        the diameter of the whole tree.
    reward_range : (low, high), default (0, 1)
        The least and the largest reward, with low < high.
    base : "HOO", "HCT" or "VHCT", default "HOO"
        The algorithm whose instances play.
    nu : float, optional
        The nu of all instances, in units of rewards: the largest difference of rewards in the
        space.
    rho_max : float, default 0.9
        A number in (0, 1) that gives the values of rho: rho_max^(2N / (2i + 1)) for i = 1, ..., N.
        The largest is rho_max^(2N / (2N + 1)), a little above rho_max. A larger rho_max is for
        harder problems, and takes more instances.
    seed : int, SeedSequence or Generator, optional
        Source of randomness; by default a fresh one. Ties go to priorities that it gives each cell.

    Examples
    --------
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    >>> agent = ob.agents.GPO(space, group, horizon=1_000, base="HCT", rho_max=0.7, seed=0)
    >>> agent.n_instances
    5
    """

    arms: Instances

    def __init__(
        self,
        space: Space,
        group: Group | None = None,
        *,
        horizon: int | None = None,
        lipschitz: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        base: Literal["HOO", "HCT", "VHCT"] = "HOO",
        nu: float | None = None,
        rho_max: float = 0.9,
        seed: Seed = None,
    ) -> None:
        self._plan(horizon, reward_range)
        self._rho_max = as_positive(rho_max, "rho_max")
        if self._rho_max >= 1:
            raise InputError(f"`rho_max < 1` must hold, but got rho_max={rho_max}.", field="rho_max", value=rho_max)
        if not isinstance(base, str) or base not in BASES:
            raise InputError(
                f"`base` must be one of {', '.join(BASES)}, but got {shown(base)}.", field="base", value=base
            )
        self._kind = base
        points = Points(space, group, lipschitz, self._span)
        root = CellArms(points, lambda inside: ROOT).cells.diameter(0)
        self._lipschitz = points.lipschitz
        self._nu = self._lipschitz * root if nu is None else as_positive(nu, "nu")
        self.arms = Instances(points, self._turn)
        self._start(seed)

    def _begin(self) -> None:
        self._salt = int(self._rng.integers(2**63))
        self._renew()

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
    def n_instances(self) -> int:
        """The N of the paper."""
        return self._stages[-1].size

    def turns(self, rounds: int) -> npt.NDArray[np.int64]:
        """Return whose turn it is in each of the next rounds, + CHECKED for those that are checked.

        Instances that were not there are made.
        """
        stage = self._stages[-1]
        start = self._rounds + len(self._ledger) + (self._ledger.last is not None) - stage.start
        t, explored = start + np.arange(rounds), stage.size * stage.share
        checked = stage.first + (t - explored) % stage.size + CHECKED
        turns = np.where(t < explored, stage.first + t // stage.share, checked)
        while len(self.arms.bases) <= (turns % CHECKED).max():
            self.arms.bases.append(self._made(len(self.arms.bases), 0))
        return turns

    def _turn(self) -> int:
        """Return whose turn it is."""
        return int(self.turns(1)[0])

    def player(self, number: int) -> Base | Check:
        """Return an instance, or what checks it."""
        return self.arms.player(number)

    def _made(self, number: int, horizon: int) -> Base:
        """Return a new instance; its horizon is its share of that of its epoch."""
        stage = next(one for one in self._stages if number < one.first + one.size)
        if horizon not in (0, stage.share):
            raise ValueError(f"an instance with a horizon of {horizon}, not {stage.share}")
        return BASES[self._kind](
            self.arms.space,
            self.arms.group,
            horizon=stage.share,
            lipschitz=self._lipschitz,
            reward_range=(self._low, self._high),
            nu=self._nu,
            rho=self._rho_max ** (2 * stage.size / (2 * (number - stage.first) + 3)),
            seed=np.random.SeedSequence([self._salt, number]),
        )

    def _choose(self) -> int:
        turn = self._turn()
        return self.arms.name(turn, self.arms.bases[turn]._choose() if turn < CHECKED else 0)

    def _observe(self, handle: int, point: Any, value: float, released: float) -> None:
        self.arms.observe(handle, point, value, released)

    def _tell_all(self, points: Sequence[Any] | npt.NDArray[Any], rewards: Array) -> None:
        self._tell_each(points, rewards)

    def _expect(self, handle: int, point: Any, amount: float) -> None:
        self.arms.expect(handle, point, amount)

    def _recommend(self) -> Array:
        stage, checks, best = self._stages[-1], self.arms.checks, self.arms.best
        numbers = range(stage.first, stage.first + stage.size)
        if all(number in checks for number in numbers):
            return checks[max(numbers, key=lambda number: checks[number][1] / checks[number][2])][0].copy()
        return best._recommend() if best is not None else self.arms.point(self._choose())

    def _estimate(self, point: Any) -> Any:
        best = self.arms.best
        return best._estimate(point) if best is not None else math.nan

    def _renew(self) -> None:
        self._stages = stages(self._goal, self._horizon is None, self._rho_max)
        self._turn()

    @property
    def _stats(self) -> Array:
        """Sum, count and pending observations of each cell of all instances."""
        return self.arms.stats

    def _state(self) -> State:
        scalars, arrays = self.arms.state
        return {"salt": self._salt, "instances": scalars}, arrays

    def _restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._salt = as_count(state["salt"], "salt", minimum=0, maximum=2**63 - 1)
        self._stages = stages(self._goal, self._horizon is None, self._rho_max)
        if len(state["instances"]) > self._stages[-1].first + self._stages[-1].size:
            raise ValueError(f"{len(state['instances'])} instances")
        self.arms.restore(state["instances"], arrays, self._made)


class Stage(NamedTuple):
    """The instances of an epoch: the round it starts with, their first number, their number N, and n / 2N."""

    start: int
    first: int
    size: int
    share: int


def stages(goal: int, is_anytime: bool, rho_max: float) -> list[Stage]:
    """Return the stages up to that of an epoch; there is one only if the horizon is known.

    Examples
    --------
    >>> stages(1_000, False, 0.5)
    [Stage(start=0, first=0, size=3, share=166)]
    >>> [stage.start for stage in stages(256, True, 0.5)]
    [0, 64, 128]
    """
    starts = [0]
    while is_anytime and max(FIRST_HORIZON, 2 * starts[-1]) < goal:
        starts.append(max(FIRST_HORIZON, 2 * starts[-1]))
    d, first, found = math.log(2) / math.log(1 / rho_max), 0, list[Stage]()
    for start, end in zip(starts, [*starts[1:], goal], strict=True):
        half = max((end - start) / 2, math.e)
        size = max(1, math.ceil(d * math.log(half / math.log(half)) / 2))
        found.append(Stage(start, first, size, max(1, (end - start) // (2 * size))))
        first += size
    return found
