"""Learner: an agent on the unit cube of a study's parameters, kept in step with the trials that have ended.

    complete    its gain, the value times the sign of the direction, on a robust scale (see `scale`)
    pruned      the last value it reported, but no better than the median gain: it was given up for a reason
    failed      the first quartile of gains: the agent looks elsewhere, and one crash does not condemn a region

Trials that are still running are told to a copy of the agent, at the mean that it expects there: it is surer of their
surroundings, but not of a better or worse mean.

Agents for noisy rewards measure a good point again. Here a second trial is made nearby instead, at random within a
fifth of the distance to the 2 dim + 1 nearest points, and told as it is: the agent averages over both, and no point
is tried twice.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from orbandit._checks import Array
from orbandit._rows import Rows
from orbandit.agents import Agent
from orbandit.agents.suited import Maker, learns_slopes, suited
from orbandit.groups import Group
from orbandit.integrations.scale import Scale
from orbandit.spaces import Box

MOVE = 1e-6
"""How far a proposal is moved at least, so that two processes that saw the same trials never try the same point."""
SAME = 1e-5
"""Points nearer than this are one point that is tried again."""
NEAR = 0.2
"""How far from a point that was tried another trial of it is, over the distance to the 2 dim + 1 nearest points."""

PATIENCE = 10_000
"""From so many trials on OrbitTree is taken: studies take longer over a trial than a kernel model does."""


@dataclass(frozen=True)
class Outcome:
    """What a trial gave: its point, its gain or None if it failed, and whether it was pruned."""

    point: Array
    gain: float | None
    is_pruned: bool = False


@final
class Learner:
    """Knows the outcomes of trials, and proposes points.

    Parameters
    ----------
    dim : int
        The number of parameters.
    group : Group or None
        Their symmetry, on the unit cube.
    maker : callable, optional
        Makes the agent, as in `maximize`; by default the one that suits the number of trials.
    horizon : int, optional
        The number of trials planned.
    seed : int
        The agent's.
    """

    def __init__(self, dim: int, group: Group | None, maker: Maker | None, horizon: int | None, seed: int) -> None:
        self._space, self._group = Box(0.0, 1.0, dim=dim), group
        self._maker, self._horizon, self._seed = maker, horizon, seed
        self._scale = Scale()
        self._outcomes: list[Outcome] = []
        self._places = Rows(np.empty((0, dim)))  # of all outcomes
        self._used: Maker | None = None
        self._agent: Agent

    def learn(self, outcomes: Sequence[Outcome]) -> None:
        """Learn more outcomes; the agent starts again, with all of them, if the scale or the agent is another now."""
        renewed = False
        for outcome in outcomes:
            if outcome.gain is not None and not outcome.is_pruned:
                renewed |= self._scale.learn(outcome.gain)
        for outcome in outcomes:
            self._places.append(outcome.point[None])
            self._outcomes.append(outcome)
        maker = self._maker or self._suited()
        if renewed or maker is not self._used:
            agent = self._made(maker)
            self._tell(agent, self._outcomes)
            self._agent, self._used = agent, maker
        else:
            self._tell(self._agent, outcomes)

    def propose(self, pending: Sequence[Array], unseen: int, rng: np.random.Generator) -> Array:
        """Return a point to try, given the points being tried and the number of those that are not known yet."""
        tried = self._places.filled
        if not pending and not unseen:
            point: Array = self._agent.ask()
            self._agent.forget(point)  # what is tried is rounded and moved, and told as it was
            return _apart(point, tried, rng)
        agent: Any = copy.deepcopy(self._agent)
        for known in pending:
            mean = float(agent.estimate(known))
            agent.tell(known, 0.5 if math.isnan(mean) else min(max(mean, 0.0), 1.0))
        others = [agent.ask() for _ in range(unseen)]  # what those who look now are taken to try
        return _apart(agent.ask(), np.vstack([tried, *pending, *others]), rng)

    def recommend(self) -> Array:
        """Return the point that the agent thinks best."""
        return np.asarray(self._agent.recommend())

    def _suited(self) -> Maker:
        """Return the agent for the trials so far, or for those planned if that are more."""
        count = max(len(self._outcomes), self._horizon or 0)
        if self._used is None or count >= PATIENCE:
            return suited(count, self._space, self._group, PATIENCE)
        return self._used

    def _made(self, maker: Maker) -> Agent:
        lipschitz = None if learns_slopes(maker) else 2 / self._space.diameter
        return maker(
            self._space,
            self._group,
            horizon=self._horizon,
            lipschitz=lipschitz,
            reward_range=(0.0, 1.0),
            seed=self._seed,
        )

    def _tell(self, agent: Agent, outcomes: Sequence[Outcome]) -> None:
        if not outcomes:
            return
        rewards = [self._scale.reward(outcome.gain, outcome.is_pruned) for outcome in outcomes]
        if getattr(type(agent), "tell_batch", None) is Agent.tell_batch:  # which looks at every point twice
            for outcome, reward in zip(outcomes, rewards, strict=True):
                agent.tell(outcome.point, reward)
        else:
            agent.tell_batch([outcome.point for outcome in outcomes], rewards)


def _apart(point: Array, tried: Array, rng: np.random.Generator) -> Array:
    """Return a point of the unit cube near a given one, and away from what was tried."""
    offsets = tried - point
    squares = np.einsum("ij,ij->i", offsets, offsets)
    reach = MOVE
    if squares.min(initial=1.0) < SAME**2:
        few = min(2 * len(point) + 1, len(squares))
        reach = max(MOVE, NEAR * math.sqrt(np.partition(squares, few - 1)[few - 1]))
    while True:
        step = rng.uniform(-1.0, 1.0, size=len(point))
        if step @ step <= len(point) / 3:  # half of the cube or so, in any dimension
            return np.asarray(1 - np.abs(1 - np.abs(point + reach * step)))  # walls reflect: they would gather points
