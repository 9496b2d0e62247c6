"""Driver: runs an agent on measurements of unknown range.

Measurements may fail, be under way, or come from elsewhere. Used by `maximize` and by the samplers.
A gain is a value times the sign of the search: gains are maximised.

Range
    The agent is told nothing before 16 measurements were made. Then its range is the range of gains
    so far, extended by a quarter on either side; if there are only two values, such as 0 and 1,
    they are the ends of the range. A gain outside widens the range: a new agent is told everything.
    Outliers are winsorised, at Tukey's outer fences.

Failures
    A failed measurement f counts as a gain between the least one and those of successful
    measurements nearby,

        least + share (near - least),   share = (W + 1) / (W + F + 2),   near = (sum_i w_i gain_i + median) / (W + 1),

    where w_i = exp(-d_G(f, x_i)^2 / 2 h^2), W sums the weights of successful measurements and F
    those of the other failed ones, and h is the mean distance between orbits over n^(1/d). So an
    isolated failure counts as about the first quartile, many failures as the least gain, and one
    failure among successful measurements as their mean.

Under way
    A point under way is pending with the agent, by its own `ask` or by `expect`, until it is told
    or forgotten.

An agent of the user's own needs `ask` and `tell`. Without `expect` and `forget` it does not learn
of points under way that it did not ask for. Without `recommend` the best measured point is
recommended, and without `estimate` its value is the mean of the measurements at the nearest point.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Self, TypeAlias, final, get_args

import numpy as np

from orbandit._checks import MAX_COUNT, Array, as_positive, shown, unknown_name
from orbandit._rows import Rows
from orbandit.agents.maker import TOLD, Maker, check_call, check_takes, learns_slopes
from orbandit.agents.suited import CROSSOVER, suited
from orbandit.errors import InputError, InputTypeError
from orbandit.groups import Group, Trivial
from orbandit.groups.base import check_fit
from orbandit.groups.check import Names
from orbandit.groups.units import Units
from orbandit.history import History
from orbandit.spaces import Space
from orbandit.spaces.feasible_set import FeasibleSet, Rule, ScaledRule

Symmetry: TypeAlias = Literal["exact", "approximate"]
"""Whether the symmetry is exact."""
MIN_MEASURED = 16
"""Measurements made before the range of gains is guessed."""
ROOM = 0.25
"""The range extends beyond the gains so far by this fraction of theirs, on either side."""
FENCE = 3.0
"""Tukey's outer fences, in interquartile ranges below the first quartile and above the third."""
RANGE_GROWTH = 1.25
"""If some values are imputed or winsorised, a new agent is told everything at each growth by this
factor."""
HUGE, TINY_UNIT = 1e300, 1e-20
"""Gains from this size on are divided by a unit that keeps their differences finite."""
PROBES = 64
"""Random points that estimate the mean distance between orbits."""
ROWS = 256
"""Failed points whose distances to all others are computed at once."""


class Outcome(NamedTuple):
    """The result of a measurement: a value, or None if it failed.

    A pruned one counts at most as the median.
    """

    point: Array
    value: float | None
    is_pruned: bool = False


class Range(NamedTuple):
    """The agent's range of gains, in `unit`s, and the rewards that gains count as."""

    low: float
    high: float
    least: float = 0.0
    median: float = 0.5
    unit: float = 1.0

    @classmethod
    def of(cls, gains: Sequence[float]) -> Self:
        """Return the range of gains without outliers, extended on either side.

        Examples
        --------
        >>> Range.of([1.0, 2.0, 3.0, 4.0, 5.0])[:2], Range.of([0.0, 1.0, 1.0])[:2]
        ((0.0, 6.0), (0.0, 1.0))
        >>> Range.of([1.0, 2.0, 3.0, 4.0, 5.0, 3.5, 2.5, 1e9]).high < 20
        True
        """
        seen = np.array(gains)
        unit = TINY_UNIT if np.abs(seen).max() > HUGE else 1.0
        seen *= unit
        least, median, largest = (float(end) for end in (seen.min(), np.median(seen), seen.max()))
        if np.isin(seen, (least, largest)).all() and least < largest:
            # successes and failures, which agents know by these ends
            return cls(least, largest, least, median, unit)
        low, high = least, largest
        # where half of all gains are one number, the quartiles say nothing
        for share in (0.25, 0.05):
            first, last = np.quantile(seen, [share, 1 - share]).tolist()
            if last > first:
                low = max(least, first - FENCE * (last - first))
                high = min(largest, last + FENCE * (last - first))
                break
        room = ROOM * (high - low) if high > low else max(1.0, abs(high))
        return cls(low - room, high + room, low, median, unit)

    def holds(self, gain: float) -> bool:
        """Return whether a gain lies within."""
        return self.low <= gain * self.unit <= self.high

    def rewards(self, gains: Array) -> Array:
        """Return the rewards that gains count as."""
        return np.clip(gains * self.unit, self.low, self.high)


@final
class Driver:
    """An agent, all measurements and all points under way, in the caller's units.

    Parameters
    ----------
    space : Space
        Where to search.
    group : Group, optional
        The symmetry: a group under which the mean is invariant. By default there is none.
    maker : callable, optional
        Makes agents: called as maker(space, group, horizon=, lipschitz=, reward_range=, seed=). By
        default the agent that `suited` returns for the number of measurements. The group, horizon
        and seed of a `functools.partial` take precedence over those below, and its `lipschitz` if
        none is given.
    sign : float
        1 to maximise values, -1 to minimise them.
    horizon : int, optional
        The number of measurements planned.
    lipschitz : float, optional
        The Lipschitz constant of the mean, a positive number, if it is known.
    seed : int
        The agent's seed, the same whenever a new agent is made.
    crossover : int
        Number of measurements from which `suited` returns `OrbitTree`; never, if the symmetry is
        approximate and there is a constraint. It also does where values only succeed or fail.
    feasible : callable, optional
        The constraint on points to measure: takes (m, dim) points and returns (m,) bools, or
        margins that are feasible if >= 0. The agent must take it.
    symmetry : "exact" or "approximate", default "exact"
        Whether the symmetry is exact; for "approximate" the agent must take `symmetry`.
    names : Names, optional
        What warnings call coordinates and points.
    is_watching : bool
        Whether agents that can do so play images to notice a wrong group (`watch_symmetry`).
    """

    def __init__(
        self,
        space: Space,
        group: Group | None,
        maker: Maker | None,
        *,
        sign: float = 1.0,
        horizon: int | None = None,
        lipschitz: float | None = None,
        seed: int,
        crossover: int = CROSSOVER,
        feasible: Rule | None = None,
        symmetry: Symmetry = "exact",
        names: Names | None = None,
        is_watching: bool = False,
    ) -> None:
        check_maker(maker, feasible, symmetry)
        if feasible is not None and symmetry == "approximate":
            crossover = MAX_COUNT  # the constraint of a tree must be invariant, and this one need not be
        if isinstance(maker, partial):  # whose settings go before those of the search
            own = dict(maker.keywords)
            group, horizon, seed = own.pop("group", group), own.get("horizon", horizon), own.get("seed", seed)
            lipschitz = own.get("lipschitz") if lipschitz is None else lipschitz
            maker = partial(maker.func, *maker.args, **own)
        check_fit(space, group)
        self._space, self._group, self._sign, self._horizon, self._seed = space, group, sign, horizon, seed
        self._lipschitz = None if lipschitz is None else as_positive(lipschitz, "lipschitz")
        self._crossover, self._is_free, self._suited_for = crossover, maker is None, horizon or 0
        self._maker = maker or suited(self._suited_for, space, group, crossover)
        # those that learn do it themselves
        is_scaled = lipschitz is None and not learns_slopes(self._maker)
        self._units = Units(space, group) if is_scaled else Units.same(space, group)
        self._region, self._symmetry, self._names = FeasibleSet(space, feasible), symmetry, names
        self._is_watching = is_watching
        self._outcomes: list[Outcome] = []
        self._were_pending: list[bool] = []
        self._places = Rows(np.empty((0, space.dim)))  # of all outcomes, as the agent knows them
        self._gains: list[float] = []  # finite ones, of measurements that went well
        self._levels: set[float] = set()  # the first three different ones
        self._was_binary = False
        # the places under way, by the bytes of their points
        self._pending: dict[bytes, list[Array]] = {}
        self._range: Range | None = None
        self._set_at, self._is_rough = 0, False
        self._metric: Units | None = None
        self._spacing: float | None = None
        self._agent: Any = None
        self._known = -1  # how many outcomes the agent knows; below 0, it starts again
        if feasible is not None:
            self._update()  # which refuses a rule that is none, before anything is measured

    def __len__(self) -> int:
        return len(self._outcomes)

    @property
    def is_blank(self) -> bool:
        """Whether no measurement succeeded."""
        return not self._gains

    @property
    def group(self) -> Group | None:
        """What the agent knows of the symmetry, in the caller's units."""
        return self._group

    @property
    def points(self) -> Array:
        """The points of all outcomes, as the agent knows them."""
        return self._places.filled

    def is_feasible(self, point: Array) -> bool:
        """Return whether a point is feasible."""
        return bool(self._region.holds(point[None])[0])

    def _kept(self, point: Array, what: str) -> Array:
        """Return a feasible point; refuse that of an agent that ignores the constraint."""
        if not self.is_feasible(point):
            raise InputError(
                f"an agent must keep to `feasible`, but {type(self._agent).__name__} {what} "
                f"{self._region.named(point)}; fix the agent.",
                field="feasible",
            )
        return point

    def ask(self) -> Array:
        """Return a point to measure, which is then under way."""
        self._update()
        place = np.asarray(self._agent.ask())
        point = self._kept(self._units.leave(place), "asked for")
        self._pending.setdefault(point.tobytes(), []).append(place)
        return point

    def expect(self, point: Array) -> None:
        """Register a point as under way, whoever measures it."""
        self._update()
        place = self._units.enter(point)
        _inform(self._agent, "expect", place)
        self._pending.setdefault(point.tobytes(), []).append(place)

    def forget(self, point: Array) -> None:
        """Remove a point that is no longer under way."""
        self._update()
        _inform(self._agent, "forget", self._ended(point))

    def expect_only(self, points: Sequence[Array]) -> None:
        """Register these points, and no others, as under way."""
        wanted = Counter(point.tobytes() for point in points)
        flying = Counter({key: len(places) for key, places in self._pending.items()})
        for key in (flying - wanted).elements():
            self.forget(np.frombuffer(key))
        for key in (wanted - flying).elements():
            self.expect(np.frombuffer(key))

    def learn(self, outcomes: Iterable[Outcome], at_once: bool = False) -> None:
        """Learn the results of measurements, under way or not.

        The range is set as if they had come one after another, so that it depends on their order
        only; with `at_once`, it is set for all of them.
        """
        for outcome in outcomes:
            self._record(outcome)
            if not at_once and self._gains and len(self) >= MIN_MEASURED and self._is_due(outcome):
                self._set_range()
        if at_once and self._gains and len(self) >= MIN_MEASURED:
            self._set_range()
        is_binary = self._is_binary
        is_many = len(self) > self._suited_for and len(self) >= self._crossover
        if self._is_free and (is_many or is_binary != self._was_binary):
            self._suited_for, self._was_binary = max(self._suited_for, len(self)), is_binary
            maker = suited(self._suited_for, self._space, self._group, self._crossover, is_binary=is_binary)
            self._known = self._known if maker is self._maker else -1
            self._maker = maker

    @property
    def _is_binary(self) -> bool:
        """Whether measurements only succeed or fail, as far as is known, and a tree may take over."""
        return len(self._levels) == 2 and len(self._gains) >= MIN_MEASURED and self._crossover < MAX_COUNT

    def recommend(self) -> Array:
        """Return the best point so far; changes no choice."""
        agent, _ = self._informed()
        if hasattr(agent, "recommend"):
            return self._kept(self._units.leave(np.asarray(agent.recommend())), "recommended")
        rows, gains = self._good()
        if len(rows):
            is_feasible = self._region.holds(np.array([self._outcomes[row].point for row in rows]))
            rows, gains = rows[is_feasible], gains[is_feasible]
        if not len(rows):
            raise InputError(
                "an agent without `recommend` needs a feasible point that was measured successfully, but there is "
                "none; measure more points."
            )
        return self._outcomes[int(rows[gains.argmax()])].point.copy()

    def estimate(self, point: Array) -> float:
        """Return the estimated mean value at a point."""
        agent, unit = self._informed()
        place = self._units.enter(point)
        if hasattr(agent, "estimate"):
            return float(self._sign * agent.estimate(place) / unit)
        rows, gains = self._good()
        distances = self._distances(place[None], self.points[rows])[0]
        return float(self._sign * gains[distances <= distances.min()].mean())

    def interval(self, point: Array) -> tuple[float, float]:
        """Return what the mean value at a point lies between, with 95%; NaN if the agent has no `interval`."""
        agent, unit = self._informed()
        if not hasattr(agent, "interval"):
            return math.nan, math.nan
        low, high = sorted(self._sign * end / unit for end in agent.interval(self._units.enter(point)))
        return float(low), float(high)

    def history(self, many: int | None = None) -> History:
        """Return the measurements among the first `many` outcomes, by default all."""
        outcomes = self._outcomes[:many]
        good = [outcome for outcome in outcomes if outcome.value is not None]
        points = np.array([outcome.point for outcome in good]).reshape(-1, self._space.dim)
        failed = np.array([outcome.point for outcome in outcomes if outcome.value is None])
        values = np.array([outcome.value for outcome in good], dtype=np.float64)
        failed_at = [number for number, outcome in enumerate(outcomes) if outcome.value is None]
        return History(points, values, failed.reshape(-1, self._space.dim), np.array(failed_at, dtype=np.intp))

    def _ended(self, point: Array) -> Array:
        """Return the place of a point that is no longer under way."""
        key = point.tobytes()
        places = self._pending[key]
        place = places.pop(0)
        if not places:
            del self._pending[key]
        return place

    def _record(self, outcome: Outcome) -> None:
        was_pending = outcome.point.tobytes() in self._pending
        place = self._ended(outcome.point) if was_pending else self._units.enter(outcome.point)
        self._places.append(place[None])
        self._were_pending.append(was_pending)
        value = outcome.value
        if value is None or math.isnan(value):
            outcome = outcome._replace(value=None)
        elif math.isfinite(value) and not outcome.is_pruned:
            self._gains.append(self._sign * value)
            if len(self._levels) < 3:
                self._levels.add(value)
        self._outcomes.append(outcome)

    def _is_due(self, outcome: Outcome) -> bool:
        """Return whether the last outcome requires a new range."""
        if self._range is None:
            return True
        if self._known >= 0 and getattr(self._agent, "is_robust", False):
            return self._is_above(outcome)
        is_grown = len(self) >= RANGE_GROWTH * self._set_at
        if outcome.value is None or outcome.is_pruned or math.isinf(outcome.value):
            self._is_rough = True
        elif not self._range.holds(self._sign * outcome.value):
            if Range.of(self._gains).holds(self._sign * outcome.value):
                return True
            self._is_rough = True  # an outlier
        return self._is_rough and is_grown

    def _is_above(self, outcome: Outcome) -> bool:
        """Return whether a value is above the range and no outlier, so that its rank would be lost."""
        if self._range is None or outcome.value is None or outcome.is_pruned or not math.isfinite(outcome.value):
            return False
        gain = self._sign * outcome.value
        return gain * self._range.unit > self._range.high and Range.of(self._gains).holds(gain)

    def _set_range(self) -> None:
        self._range = Range.of(self._gains)
        self._set_at, self._known = len(self), -1
        rows, gains = self._good()
        self._is_rough = len(rows) < len(self) or not all(map(self._range.holds, gains.tolist()))

    def _update(self) -> None:
        """Bring the agent up to date."""
        known, many = self._known, len(self)
        if known < 0:
            self._agent = self._made(self._range)
            self._tell(self._agent, self._range)
            for places in self._pending.values():
                for place in places:
                    _inform(self._agent, "expect", place)
        elif known < many:
            self._known = -1  # if this is interrupted
            self._tell(self._agent, self._range, known)
        self._known = many

    def _informed(self) -> tuple[Any, float]:
        """Return an agent that was told everything, and its unit of gains."""
        self._update()
        if self._range is not None or not self._gains:
            return self._agent, 1.0 if self._range is None else self._range.unit
        early = Range.of(self._gains)
        agent = self._made(early)
        self._tell(agent, early)
        return agent, early.unit

    def _made(self, given: Range | None) -> Any:
        low, high, *_, unit = given or Range(0.0, 1.0)
        lipschitz = None if self._lipschitz is None else self._lipschitz * unit
        if lipschitz is None and not learns_slopes(self._maker):
            lipschitz = 2 * (high - low) / self._units.space.diameter
        made = self._maker(
            self._units.space,
            self._units.group,
            horizon=self._horizon,
            lipschitz=lipschitz,
            reward_range=(low, high),
            seed=self._seed,
            **self._extras,
        )
        if getattr(self._agent, "has_warned", False):
            made.has_warned = True  # of a violated symmetry, once in a search
        if self._names is not None and hasattr(made, "names"):
            made.names = self._names
        if self._is_watching and hasattr(made, "watch_symmetry"):
            made.watch_symmetry(self._agent)
        return made

    @property
    def _extras(self) -> dict[str, Any]:
        """Arguments that agents get only if they matter."""
        rule = {} if self._region.is_whole else {"feasible": ScaledRule(self._region, self._units.leave)}
        return rule if self._symmetry == "exact" else rule | {"symmetry": self._symmetry}

    def _tell(self, agent: Any, given: Range | None, known: int | None = None) -> None:
        """Tell an agent the outcomes it does not know.

        Without a range, register them as under way.
        """
        start = known or 0
        places = self.points[start:]
        if given is None:
            for place, was_pending in zip(places, self._were_pending[start:], strict=True):
                if known is None or not was_pending:
                    _inform(agent, "expect", place)
            return
        rewards = self._rewards(given, start)
        if len(places) > 1 and hasattr(agent, "tell_batch"):
            agent.tell_batch(places, rewards)
        else:
            for place, reward in zip(places, rewards.tolist(), strict=True):
                agent.tell(place, reward)

    def _rewards(self, given: Range, start: int) -> Array:
        """Return the rewards of the outcomes from a number on."""
        outcomes = self._outcomes[start:]
        gains = self._sign * np.array([math.nan if outcome.value is None else outcome.value for outcome in outcomes])
        rewards = given.rewards(gains)
        pruned = np.array([outcome.is_pruned for outcome in outcomes], dtype=bool)
        rewards[pruned] = np.minimum(rewards[pruned], given.median)
        failed = np.flatnonzero(np.isnan(gains))
        for first in range(0, len(failed), ROWS):
            rows = failed[first : first + ROWS]
            rewards[rows] = self._supposed(given, start + rows)
        return rewards

    def _supposed(self, given: Range, rows: Any) -> Array:
        """Return the rewards imputed to failed outcomes."""
        if self._spacing is None:
            probes = self._units.enter(self._space.sample(PROBES, np.random.default_rng(0)))
            self._spacing = float(self._distances(probes, probes).sum() / (PROBES * (PROBES - 1)))
        reach = self._spacing * len(self) ** (-1 / self._space.intrinsic_dim)
        good, gains = self._good()
        failed = np.array([i for i, outcome in enumerate(self._outcomes) if outcome.value is None], dtype=np.intp)
        to_good, to_failed = (
            np.exp(-0.5 * (self._distances(self.points[rows], self.points[others]) / reach) ** 2)
            for others in (good, failed)
        )
        # each with one more: its own failure, and a guess
        well, ill = to_good.sum(axis=1) + 1, to_failed.sum(axis=1)
        near = (to_good @ given.rewards(gains) + given.median) / well
        return np.asarray(given.least + well / (well + ill) * (near - given.least))

    def _good(self) -> tuple[Any, Array]:
        """Return the numbers of the outcomes with finite values, and their gains."""
        rows = [
            i
            for i, (_, value, is_pruned) in enumerate(self._outcomes)
            if value is not None and math.isfinite(value) and not is_pruned
        ]
        return np.array(rows, dtype=np.intp), np.array(self._gains)

    def _distances(self, points: Array, others: Array) -> Array:
        """Return orbit distances between places, (m, k), in coordinates that are all about one wide."""
        if self._metric is None:
            self._metric = Units(self._space, self._group)
        group = self._metric.group or Trivial(self._space.dim)
        own, other = (self._metric.enter(self._units.leave(places)) for places in (points, others))
        return np.asarray(group.distance(own, other))


def check_maker(maker: Maker | None, feasible: Callable[..., Any] | None = None, symmetry: Symmetry = "exact") -> None:
    """Refuse a maker that cannot make agents, or whose agents lack `feasible` or `symmetry`."""
    if feasible is not None and not callable(feasible):
        raise InputTypeError(f"`feasible` must be a function, but got {shown(feasible)}.")
    if not isinstance(symmetry, str) or symmetry not in get_args(Symmetry):
        raise unknown_name("symmetry", symmetry, get_args(Symmetry))
    if maker is None:
        return
    own = dict(maker.keywords) if isinstance(maker, partial) else {}
    extras = [
        name for name, is_told in (("feasible", feasible is not None), ("symmetry", symmetry != "exact")) if is_told
    ]
    for name in ("space", "reward_range", *extras):
        if name in own:
            raise InputError(f"`{name}` is the search's, but `agent` has one of its own; leave it out of the partial.")
    own.pop("group", None)  # which goes before that of the search
    for name in extras:
        if callable(maker):
            check_takes(maker, name)
    made = partial(maker.func, *maker.args, **own) if isinstance(maker, partial) else maker
    check_call(made, None, None, **dict.fromkeys((*TOLD, *extras)))


def _inform(agent: Any, what: str, place: Array) -> None:
    """Call a method that an agent of the user's own may lack."""
    method = getattr(agent, what, None)
    if method is not None:
        method(place)
