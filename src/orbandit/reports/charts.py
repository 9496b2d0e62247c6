"""Charts of a page: a summary's curves and scenes as figures of plotly.js, plain dictionaries of data and layout.

The `meta` of a trace lists the parts of the page that it belongs to, such as an agent, all that is
told the group, or all bands. A page has one switch for each part, and shows a trace if all of its
switches are on. Sizes, and colours of words, axes and paper, are left to the page, which knows the
screen and whether it is dark.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array
from orbandit.experiments.finished import Limit
from orbandit.pictures.palette import BEST, GRAY, INK, SHADE, Look
from orbandit.reports.scenes import PlanarScene, Solid, SolidScene
from orbandit.reports.summary import AgentResult, Curve, HorizonResult, ProblemResult

Chart: TypeAlias = dict[str, Any]
Looks: TypeAlias = dict[str, Look]

SCALE = "Cividis"
"""Colours of mean rewards, in even steps for the colour-blind, too."""
FLAT_MARKS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "star")
SOLID_MARKS = ("circle", "square", "diamond", "cross", "x", "circle-open", "square-open")
MAX_PLAYS = 1_000
"""Most plays of an agent that are drawn, chosen at random."""

BAR_HEIGHT = 34
"""Pixels above a chart that are left to the toolbar."""

COLORBAR = {"title": {"text": "mean"}, "thickness": 12, "orientation": "h", "len": 0.6, "y": 0, "yanchor": "top"}
"""The scale of mean rewards lies below pictures, which have the whole width then."""

FEW_DECADES = 100.0
"""A logarithmic axis over less than this factor has numbers between its powers of ten."""

MAX_TICKS = 6
"""So many numbers stand along an axis at most, about as many as a phone has room for."""

MAX_MARKS = 9
"""So many marks are drawn at most on a curve, which would be hidden by more."""

TOLD, UNTOLD, BANDS, SLOPE, LIMIT = "told", "untold", "bands", "slope", "limit"
"""Parts of charts: agents told the group, agents that are not, intervals; the slope of the theory's
worst case, and its limits on the meshes played."""


def agent_part(family: str) -> str:
    """Return the name of the part that an agent's curves are, with the group and without it."""
    return f"agent {family}"


def plays_part(family: str) -> str:
    """Return the name of the part that an agent's plays are in a picture."""
    return f"plays of {family}"


def regret_chart(result: HorizonResult, looks: Looks, exponent: float | None = None, *, log: bool) -> Chart:
    """Return regret over rounds with its intervals; in logarithms, with lines of the theory."""
    data = _curves(result, [agent.cumulative for agent in result.agents], looks, log, "regret")
    if log:
        data += [_limit(agent, agent.limit, looks) for agent in result.agents if agent.limit is not None]
    if log and exponent is not None:
        data.append(_reference(result, exponent))
    return _chart(data, "rounds", "regret", log)


def simple_chart(result: HorizonResult, looks: Looks) -> Chart:
    """Return simple regret over rounds with its intervals, in logarithms, of the agents that have it."""
    data = _curves(result, [agent.simple for agent in result.agents], looks, True, "simple regret")
    return _chart(data, "rounds", "simple regret", log=True)


def _curves(result: HorizonResult, curves: list[Curve | None], looks: Looks, log: bool, name: str) -> list[Chart]:
    """Return a curve for each agent that has one, with its interval."""
    data: list[Chart] = []
    present = [curve for curve in curves if curve is not None and not curve.is_nothing.all()]
    least = min((float(curve.mean[~curve.is_nothing].min()) for curve in present), default=1.0)
    for agent, curve in zip(result.agents, curves, strict=True):
        if curve is None:
            continue
        common = {"name": agent.label, "type": "scatter", "mode": "lines", "meta": _parts(agent)}
        kept = ~curve.is_nothing if log else np.ones(len(curve.mean), dtype=bool)
        x, mean, low, high = (values[kept] for values in (agent.checkpoints, curve.mean, curve.low, curve.high))
        if np.isfinite(low).all() and len(x):
            low = np.maximum(low, 0.1 * least) if log else low
            around = {"x": numbers(np.concatenate([x, x[::-1]])), "y": numbers(np.concatenate([high, low[::-1]]))}
            fill = {"fill": "toself", "fillcolor": _see_through(looks[agent.family].color), "line": {"width": 0}}
            data.append({**common, **around, **fill, "hoverinfo": "skip", "meta": [*_parts(agent), BANDS]})
        hover = f"%{{x:,}} rounds<br>{name} %{{y:,.4g}}"
        line = _line(agent, looks)
        data.append({**common, "x": numbers(x), "y": numbers(mean), "line": line, "hovertemplate": hover})
        if looks[agent.family].mark or len(x) < 2:
            data[-1] |= {"mode": "lines+markers", "marker": _mark(looks[agent.family], 7)}
    return data


def horizon_chart(result: ProblemResult, looks: Looks) -> Chart:
    """Return regret at the end over the horizon, in logarithms, a line for each agent."""
    data: list[Chart] = []
    for agent in result.longest.agents:
        played = [(h.horizon, one) for h in result.horizons for one in h.agents if one.label == agent.label]
        look = looks[agent.family]
        finals = [one.final for _, one in played]
        above = [final.high - final.value if final.is_known else 0.0 for final in finals]
        below = [final.value - final.low if final.is_known else 0.0 for final in finals]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": agent.label,
                "meta": _parts(agent),
                "x": [horizon for horizon, _ in played],
                "y": numbers([final.value for final in finals]),
                "error_y": {"type": "data", "array": numbers(above), "arrayminus": numbers(below), "thickness": 1},
                "line": _line(agent, looks),
                "marker": _mark(look, 7),
                "hovertemplate": "horizon %{x:,}<br>regret %{y:,.4g}",
            }
        )
    chart = _chart(data, "horizon", "regret at the end", log=True)
    horizons = [one.horizon for one in result.horizons]
    if len(horizons) <= MAX_TICKS:
        chart["layout"]["xaxis"] |= _ticks(horizons)
    return chart


def scene_chart(scene: PlanarScene | SolidScene, agents: tuple[AgentResult, ...], looks: Looks) -> Chart:
    """Return a picture of a problem, and of where each agent played."""
    chart = _flat(scene) if isinstance(scene, PlanarScene) else _turnable(scene)
    is_flat = isinstance(scene, PlanarScene)
    for agent in agents:
        if not len(agent.plays):
            continue
        plays = agent.plays
        if len(plays) > MAX_PLAYS:
            plays = np.random.default_rng(0).choice(plays, MAX_PLAYS, replace=False)
        points = scene.plane.lay(plays) if isinstance(scene, PlanarScene) else plays
        marks, look = FLAT_MARKS if is_flat else SOLID_MARKS, looks[agent.family]
        marker: Chart = {"color": look.color, "size": 4 if is_flat else 2.5, "opacity": 0.75}
        symbol = marks[look.mark % len(marks)]
        marker["symbol"] = symbol if agent.uses_group else f"{symbol.removesuffix('-open')}-open"
        chart["data"].append(
            {
                **_coordinates(points),
                "type": "scatter" if is_flat else "scatter3d",
                "mode": "markers",
                "meta": [plays_part(agent.family), TOLD if agent.uses_group else UNTOLD],
                "marker": marker,
                "hoverinfo": "skip",
            }
        )
    return chart


def numbers(values: npt.ArrayLike) -> list[float | int | None]:
    """Return values as JSON holds them, to six digits; None for NaN."""
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        return [int(value) for value in array]
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in array.tolist()]


def _reference(result: HorizonResult, exponent: float) -> Chart:
    """Return a line of the theory's slope over the last part of the lowest curve."""
    lowest = result.agents[0]
    x = lowest.checkpoints[lowest.checkpoints >= lowest.checkpoints[-1] / 100]
    y = 0.6 * lowest.mean[-1] * (x / x[-1]) ** exponent
    line = {"color": GRAY, "width": 1.5, "dash": "dot"}
    name = f"slope {exponent:.3g} (theory, worst case)"
    values = {"x": numbers(x), "y": numbers(y), "line": line, "name": name, "hoverinfo": "name"}
    return {"type": "scatter", "mode": "lines", "meta": [SLOPE], **values}


def _limit(agent: AgentResult, limit: Limit, looks: Looks) -> Chart:
    """Return the line n (f* - mu*) + c log n of the mesh that an agent plays."""
    x = agent.checkpoints[agent.checkpoints > 1]
    line = _line(agent, looks) | {"width": 1.5, "dash": "dot" if agent.uses_group else "dashdot"}
    hover = "%{x:,} rounds<br>limit %{y:,.4g}"
    common = {"type": "scatter", "mode": "lines", "name": f"limit of {agent.label}", "hovertemplate": hover}
    return {**common, "x": numbers(x), "y": numbers(limit.regret(x)), "line": line, "meta": [*_parts(agent), LIMIT]}


def _parts(agent: AgentResult) -> list[str]:
    return [agent_part(agent.family), TOLD if agent.uses_group else UNTOLD]


def _line(agent: AgentResult, looks: Looks) -> Chart:
    return {"color": looks[agent.family].color, "width": 2, "dash": "solid" if agent.uses_group else "dash"}


def _flat(scene: PlanarScene) -> Chart:
    mean = [numbers(np.round(row, 4)) for row in scene.mean]
    field = {"type": "heatmap", "x": numbers(scene.x), "y": numbers(scene.y), "z": mean, "colorscale": SCALE}
    data: list[Chart] = [{**field, "colorbar": COLORBAR | {"y": -0.12}, "hovertemplate": "mean %{z:.3f}", "name": ""}]
    line = {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}
    closed = np.vstack([scene.outline, scene.outline[:1]])
    data.append({**line, **_coordinates(closed), "line": {"color": GRAY, "width": 1}})
    if len(scene.cell):
        closed = np.vstack([scene.cell, scene.cell[:1]])
        look = {"line": {"color": SHADE, "width": 2}, "fill": "toself", "fillcolor": _see_through(SHADE)}
        data.append({**line, **_coordinates(closed), **look, "meta": ["fundamental domain"]})
    data += _orbit_marks(scene.orbit, scene.best, "scatter", 9)
    layout = _layout("", "", log=False) | {"margin": {"l": 36, "r": 16, "t": BAR_HEIGHT, "b": 36}}
    layout["yaxis"] |= {"scaleanchor": "x", "showgrid": False, "zeroline": False}
    layout["xaxis"] |= {"showgrid": False, "zeroline": False, "constrain": "domain"}
    return {"data": data, "layout": layout}


def _turnable(scene: SolidScene) -> Chart:
    # so that colours are the mean's alone
    plain = {"ambient": 1.0, "diffuse": 0.0, "specular": 0.0}
    look = {
        "lighting": plain,
        "colorscale": SCALE,
        "opacity": 0.35,
        "hoverinfo": "skip",
        "name": "mean",
        "colorbar": COLORBAR,
    }
    data: list[Chart] = [{**_mesh(scene.body), **look, "intensity": numbers(np.round(scene.mean, 4))}]
    data.append(_edges(scene.body, GRAY))
    if scene.cell is not None:
        group = {"meta": ["fundamental domain"]}
        data.append({**_mesh(scene.cell), **group, "color": SHADE, "opacity": 0.35, "hoverinfo": "skip"})
        data.append(_edges(scene.cell, SHADE) | group)
    data += _orbit_marks(scene.orbit, scene.best, "scatter3d", 4)
    axis = {"title": {"text": ""}, "showbackground": False, "showspikes": False}
    eye = {"eye": {"x": 1.7, "y": 1.2, "z": 0.9}}
    axes = {"xaxis": axis, "yaxis": dict(axis), "zaxis": dict(axis)}
    view = {"aspectmode": "data", **axes, "camera": eye, "dragmode": "turntable"}
    margin = {"l": 0, "r": 0, "t": BAR_HEIGHT, "b": 0}
    return {"data": data, "layout": {"scene": view, "margin": margin, "showlegend": False}}


def _orbit_marks(orbit: Array, best: Array, kind: str, size: float) -> list[Chart]:
    """Return marks of the best point and its images, white with a dark rim, which stand out on any colour."""
    rim = {"color": INK, "width": 1.5}
    common = {"type": kind, "mode": "markers", "hoverinfo": "name"}
    images = {"color": BEST, "size": size, "line": rim, "symbol": "circle"}
    first = {"color": BEST, "size": 1.8 * size, "line": rim, "symbol": "star" if kind == "scatter" else "diamond"}
    named = [(orbit, images, f"images of the best point ({len(orbit)})"), (best[None], first, "the best point")]
    return [
        {**common, **_coordinates(points), "marker": marker, "name": name, "meta": [name]}
        for points, marker, name in named
    ]


def _mesh(solid: Solid) -> Chart:
    corners = {"i": 0, "j": 1, "k": 2}
    sides = {key: solid.triangles[:, place].tolist() for key, place in corners.items()}
    return {"type": "mesh3d", **_coordinates(solid.corners), **sides}


def _edges(solid: Solid, color: str) -> Chart:
    """Return all edges as one line with gaps."""
    gaps = np.full((len(solid.edges), 1, 3), np.nan)
    points = np.concatenate([solid.edges, gaps], axis=1).reshape(-1, 3)
    look = {"line": {"color": color, "width": 3}, "hoverinfo": "skip"}
    return {"type": "scatter3d", "mode": "lines", **_coordinates(points), **look}


def _coordinates(points: Array) -> Chart:
    return {key: numbers(column) for key, column in zip("xyz", points.T, strict=False)}


def _mark(look: Look, size: float) -> Chart:
    symbol = FLAT_MARKS[look.mark % len(FLAT_MARKS)]
    return {"color": look.color, "symbol": symbol, "size": size, "maxdisplayed": MAX_MARKS}


def _chart(data: list[Chart], x: str, y: str, log: bool) -> Chart:
    """Return a chart of curves; a short logarithmic axis has numbers between its powers of ten."""
    layout = _layout(x, y, log)
    for name in ("x", "y") if log else ():
        curves = [trace[name] for trace in data if "fill" not in trace]
        values = [value for curve in curves for value in curve if value is not None and value > 0]
        if values and max(values) < FEW_DECADES * min(values):
            powers = np.arange(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
            layout[f"{name}axis"] |= _ticks([step * 10.0**power for power in powers for step in (1, 2, 5)])
    return {"data": data, "layout": layout}


def _ticks(values: Sequence[float]) -> Chart:
    return {"tickvals": list(values), "ticktext": [f"{value:,.10g}" for value in values]}


def _layout(x: str, y: str, log: bool) -> Chart:
    kind = {"type": "log", "dtick": 1, "exponentformat": "SI"} if log else {"type": "linear", "rangemode": "tozero"}
    common = {**kind, "automargin": True, "nticks": MAX_TICKS}
    axes = {name: {"title": {"text": text, "standoff": 8}, **common} for name, text in (("xaxis", x), ("yaxis", y))}
    return {**axes, "margin": {"l": 52, "r": 16, "t": BAR_HEIGHT, "b": 44}, "showlegend": False}


def _see_through(color: str) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
