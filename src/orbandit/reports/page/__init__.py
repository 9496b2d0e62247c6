"""The self-contained HTML report: tables, charts and the experiment; it needs no network."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module, resources
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from orbandit._files import in_one_step
from orbandit.errors import InputError, MissingExtraError
from orbandit.experiments.limits import MAX_ARMS
from orbandit.pictures.palette import looks
from orbandit.reports.charts import (
    TOLD,
    UNTOLD,
    Chart,
    agent_part,
    horizon_chart,
    plays_part,
    regret_chart,
    scene_chart,
    simple_chart,
)
from orbandit.reports.panels import Panels, panels_of
from orbandit.reports.scenes import SolidScene, scene_of
from orbandit.reports.statistics import MIN_RUNS_TO_BOOTSTRAP, RESAMPLES, Interval
from orbandit.reports.summary import MAX_AGENTS_COMPARED, AgentResult, ProblemResult, Summary
from orbandit.reports.words import duration, ends, interval, ranges, size, span

MAX_SOLIDS = 8
"""Turnable pictures on a page; browsers keep no more than about sixteen alive."""


MAX_SHOWN = 6
"""So many agents, the best, are shown in one chart at first; of more, each has a panel of its
own."""


class Layer(NamedTuple):
    """A part of a picture that can be shown and hidden."""

    name: str
    color: str
    is_shown: bool


@dataclass(frozen=True)
class Section:
    """What the page shows of a problem.

    Attributes
    ----------
    id : str
        Where the page has it; names of its charts begin with it.
    result : ProblemResult
        Its numbers.
    layers : tuple of Layer
        Those of its picture, if it has one.
    is_solid : bool
        Whether that can be turned.
    panels : Panels or None
        A panel for each agent, if there are too many for one chart.
    """

    id: str
    result: ProblemResult
    layers: tuple[Layer, ...]
    is_solid: bool
    panels: Panels | None

    @property
    def limited(self) -> list[AgentResult]:
        """The agents whose asymptotic limit is known."""
        return [agent for agent in self.result.longest.agents if agent.limit is not None]

    @property
    def has_both(self) -> bool:
        """Whether some agents are told the group, and some are not."""
        return len({agent.uses_group for agent in self.result.longest.agents}) == 2

    @property
    def is_across(self) -> bool:
        """Whether exponents are fitted across horizons."""
        return any(slope.is_across for slope in self.result.slopes.values())

    @property
    def without_simple(self) -> list[str]:
        """The agents whose simple regret is not known."""
        return [agent.label for agent in self.result.longest.agents if agent.simple is None]

    @property
    def has_simple(self) -> bool:
        """Whether the simple regret of any agent is known."""
        return len(self.without_simple) < len(self.result.longest.agents)


def write_page(summary: Summary, path: str | os.PathLike[str]) -> None:
    """Write the page of a summary, in one step, over an older one if there is one."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"`path` must end in .html, but got {target.name!r}.")
    text = page(summary)
    target.parent.mkdir(parents=True, exist_ok=True)
    with in_one_step(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(summary: Summary) -> str:
    """Return the page of a summary as HTML."""
    jinja, plotly = _needed("jinja2"), _needed("plotly.offline")
    environment = jinja.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja.StrictUndefined
    )
    environment.filters |= {
        "ends": ends,
        "interval": interval,
        "ranges": ranges,
        "size": size,
        "span": span,
        "time": duration,
    }
    sections, charts = _sections(summary)
    own = resources.files(__package__)
    part = {name: own.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js")}
    raw = jinja.utils.markupsafe.Markup
    template = environment.from_string(part["page.html"])
    text: str = template.render(
        summary=summary,
        sections=sections,
        worth=_worth(summary),
        looks=looks(summary.families, summary.ranking),
        compared=MAX_AGENTS_COMPARED,
        most_shown=MAX_SHOWN,
        part_of=agent_part,
        most_arms=MAX_ARMS,
        draws=RESAMPLES,
        few=MIN_RUNS_TO_BOOTSTRAP,
        spec=json.dumps(summary.spec, indent=2, ensure_ascii=False),
        made_with=f"{version('orbandit')}, Python {platform.python_version()}, plotly {version('plotly')}",
        style=raw(part["page.css"]),
        script=raw(part["page.js"]),
        library=raw(plotly.get_plotlyjs()),
        charts=raw(json.dumps(charts, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")),
    )
    return text


def _sections(summary: Summary) -> tuple[list[Section], dict[str, Chart]]:
    sections, charts, solids = [], {}, 0
    look = looks(summary.families, summary.ranking)
    for place, result in enumerate(summary.problems):
        name = f"problem-{place + 1}"
        scene = scene_of(result.problem) if result.problem is not None else None
        solids += isinstance(scene, SolidScene)
        if solids > MAX_SOLIDS and isinstance(scene, SolidScene):
            scene = None
        charts[f"{name}-linear"] = regret_chart(result.longest, look, log=False)
        charts[f"{name}-log"] = regret_chart(result.longest, look, result.exponent, log=True)
        if any(agent.simple is not None for agent in result.longest.agents):
            charts[f"{name}-simple"] = simple_chart(result.longest, look)
        if len(result.horizons) > 1:
            charts[f"{name}-horizons"] = horizon_chart(result, look)
        if scene is not None:
            charts[f"{name}-scene"] = scene_chart(scene, result.longest.agents, look)
        layers = _layers(charts[f"{name}-scene"], result.longest.families) if scene is not None else ()
        panels = panels_of(result.longest) if len(result.longest.families) > MAX_SHOWN else None
        sections.append(Section(name, result, layers, isinstance(scene, SolidScene), panels))
    return sections, charts


def _layers(chart: Chart, families: Sequence[str]) -> tuple[Layer, ...]:
    """Return the parts of a picture; of agents only the plays of the best are shown at first."""
    plays = [plays_part(family) for family in families]
    layers = {}
    for trace in chart["data"]:
        for name in trace.get("meta", ()):
            if name not in (TOLD, UNTOLD):
                look = trace.get("marker") or trace.get("line") or trace
                layers[name] = Layer(name, look["color"], name not in plays[1:])
    return tuple(layers.values())


def _worth(summary: Summary) -> dict[str, Any]:
    """Return the table of the gain of the group.

    A row for each pair of agents, a column per problem.
    """
    cells = summary.worth()
    columns = list(dict.fromkeys(name for name, _ in cells))
    rows: dict[str, list[tuple[Interval | None, str]]] = {}
    for name, worth in cells:
        row = rows.setdefault(worth.family, [(None, "")] * len(columns))
        ratio = worth.comparison.ratio
        verdict = ("better" if ratio.value < 1 else "worse") if worth.comparison.is_clear(len(cells)) else ""
        row[columns.index(name)] = (ratio, verdict)
    return {"problems": columns, "rows": dict(sorted(rows.items())), "cells": len(cells)}


def check_extras() -> None:
    """Refuse to start without the libraries that reports need."""
    for name in ("jinja2", "plotly.offline", "matplotlib"):
        _needed(name)


def _needed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingExtraError(f"pages need {package}: install orbandit with the extra `report`.") from error
