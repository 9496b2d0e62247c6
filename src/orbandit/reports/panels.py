"""Small multiples: the regret of each agent in a panel of its own, before all others in gray.

Panels are drawings of the page itself, in a square of 100 units that it stretches, and need no
script. All panels of a problem have the same axes, from 0 to the last round and to the largest mean
regret.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orbandit._checks import Array
from orbandit.reports.summary import AgentResult, HorizonResult

SIDE = 100.0
"""The width and the height of a panel."""


class Path(NamedTuple):
    """A curve as SVG has it, and whether its agent is told the group."""

    line: str
    uses_group: bool


@dataclass(frozen=True)
class Panel:
    """What is drawn of an agent: a curve for each form of it, with the group and without."""

    family: str
    agents: tuple[AgentResult, ...]
    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Panels:
    """The panels of a problem, the least regret first, and the largest values of their axes."""

    horizon: int
    top: float
    panels: tuple[Panel, ...]


def panels_of(result: HorizonResult) -> Panels:
    """Return a panel for each agent."""
    top = max(float(agent.mean.max()) for agent in result.agents) or 1.0
    by_family = {family: result.of_family(family) for family in result.families}
    panels = (
        Panel(family, agents, tuple(_path(agent, result.horizon, top) for agent in agents))
        for family, agents in by_family.items()
    )
    return Panels(result.horizon, top, tuple(panels))


def _path(agent: AgentResult, horizon: int, top: float) -> Path:
    x = np.concatenate([[0.0], agent.checkpoints / horizon])
    y = np.concatenate([[0.0], agent.mean / top])
    return Path(_line(SIDE * x, SIDE * (1 - y)), agent.uses_group)


def _line(x: Array, y: Array) -> str:
    """Return a line through points as SVG has it, without those that lie on the one before."""
    points = dict.fromkeys(f"{a:.4g} {b:.4g}" for a, b in zip(x, y, strict=True))
    return "M" + "L".join(points)
