"""Figures of results for a paper: regret, its growth with the horizon, and pictures, as PNG and SVG files."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from orbandit.errors import InputError
from orbandit.pictures.figures import new_figure
from orbandit.pictures.palette import BEST, GRAY, INK, SHADE, Look, looks
from orbandit.reports.scenes import PlanarScene, SolidScene, scene_of
from orbandit.reports.summary import MAX_AGENTS_COMPARED, AgentResult, Curve, HorizonResult, ProblemResult, Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_KINDS = ("png", "svg")
MARKS = "osD^vPX"
MAX_AGENTS_SHOWN = 2
"""Number of agents whose plays are in a picture: the best with the group, and the best without."""


def save_figures(summary: Summary, folder: str | os.PathLike[str], kinds: Sequence[str] = FIGURE_KINDS) -> list[Path]:
    """Save the figures of every problem in a folder, which is made if it is missing, and return their paths.

    Parameters
    ----------
    summary : Summary
        The results, as `summarise` returns them.
    folder : path
        Where to save them; files of the same names are replaced.
    kinds : sequence of str
        Endings of files that matplotlib can write.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError(f"`folder` must be a folder, but {target} is a file.")
    look = looks(summary.families, summary.ranking)
    paths: list[Path] = []
    for name, result in zip(_names(summary), summary.problems, strict=True):
        drawn = {"regret": regret_figure(result.longest, look, result.exponent)}
        if any(agent.simple is not None for agent in result.longest.agents):
            drawn["simple-regret"] = simple_figure(result.longest, look)
        if len(result.horizons) > 1:
            drawn["horizons"] = horizon_figure(result, look)
        scene = scene_of(result.problem) if result.problem is not None else None
        if scene is not None:
            drawn["scene"] = scene_figure(scene, result.longest.agents, look)
        target.mkdir(parents=True, exist_ok=True)
        for part, figure in drawn.items():
            for kind in kinds:
                paths.append(target / f"{name}-{part}.{kind}")
                figure.savefig(paths[-1], dpi=200)
    return paths


def regret_figure(result: HorizonResult, looks: dict[str, Look], exponent: float | None = None) -> "Figure":
    """Return a figure of the regret of the best agents over rounds, as it is and in logarithms."""
    figure = new_figure(width=7.2, height=3.6)
    linear, log = figure.subplots(1, 2)
    for axes in (linear, log):
        for agent in result.agents[:MAX_AGENTS_COMPARED]:
            _draw_curve(axes, agent, agent.cumulative, looks[agent.family], log=axes is log)
        axes.set_xlabel("rounds")
        axes.spines[["top", "right"]].set_visible(False)
    linear.set_ylabel("regret")
    log.set_xscale("log")
    log.set_yscale("log")
    if exponent is not None:
        lowest = result.agents[0]
        x = lowest.checkpoints[lowest.checkpoints >= lowest.checkpoints[-1] / 100]
        log.plot(x, 0.6 * lowest.mean[-1] * (x / x[-1]) ** exponent, ":", color=GRAY, label=f"slope {exponent:.3g}")
    handles, labels = log.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=7)
    return figure


def simple_figure(result: HorizonResult, looks: dict[str, Look]) -> "Figure":
    """Return a figure of the simple regret of the best agents over rounds, in logarithms, where it is known."""
    figure = new_figure(width=4.6, height=4.2)
    axes = figure.subplots()
    for agent in result.agents[:MAX_AGENTS_COMPARED]:
        if agent.simple is not None:
            _draw_curve(axes, agent, agent.simple, looks[agent.family], log=True)
    axes.set(xscale="log", yscale="log", xlabel="rounds", ylabel="simple regret")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=7)
    return figure


def _draw_curve(axes: Any, agent: AgentResult, curve: Curve, look: Look, *, log: bool) -> None:
    """Draw the mean of an agent's runs with its interval."""
    kept = ~curve.is_nothing if log else np.ones(len(curve.mean), dtype=bool)
    x, mean, low, high = (values[kept] for values in (agent.checkpoints, curve.mean, curve.low, curve.high))
    style: dict[str, Any] = {"color": look.color, "linestyle": "-" if agent.uses_group else "--"}
    if look.mark or len(x) < 2:
        style |= {"marker": MARKS[look.mark % len(MARKS)], "markersize": 3, "markevery": 8}
    axes.plot(x, mean, linewidth=1.4, label=agent.label, **style)
    if np.isfinite(low).all():
        low = np.maximum(low, 0.1 * mean) if log else low
        axes.fill_between(x, low, high, color=look.color, alpha=0.15, linewidth=0)


def horizon_figure(result: ProblemResult, looks: dict[str, Look]) -> "Figure":
    """Return a figure of regret at the end over the horizon, in logarithms, with intervals."""
    figure = new_figure(width=4.6, height=4.2)
    axes = figure.subplots()
    for agent in result.longest.agents[:MAX_AGENTS_COMPARED]:
        played = [(h.horizon, one.final) for h in result.horizons for one in h.agents if one.label == agent.label]
        values = np.array([final.value for _, final in played])
        ends = np.array([(final.low, final.high) if final.is_known else (final.value,) * 2 for _, final in played])
        look = looks[agent.family]
        axes.errorbar(
            [horizon for horizon, _ in played],
            values,
            yerr=np.abs(ends.T - values),
            color=look.color,
            linestyle="-" if agent.uses_group else "--",
            marker=MARKS[look.mark % len(MARKS)],
            markersize=4,
            capsize=2,
            label=agent.label,
        )
    axes.set(xscale="log", yscale="log", xlabel="horizon", ylabel="regret at the end")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=7)
    return figure


def scene_figure(scene: PlanarScene | SolidScene, agents: Sequence[AgentResult], looks: dict[str, Look]) -> "Figure":
    """Return a picture of the mean, the fundamental domain, the best point, its images, and of some plays."""
    figure = new_figure(width=4.8, height=4.8)
    played = [agent for agent in agents if len(agent.plays)]
    told = [agent for agent in played if agent.uses_group][: MAX_AGENTS_SHOWN - 1]
    shown = [*told, *[agent for agent in played if not agent.uses_group][: MAX_AGENTS_SHOWN - len(told)]]
    if isinstance(scene, PlanarScene):
        axes: Any = figure.subplots()
        image = axes.pcolormesh(scene.x, scene.y, np.ma.masked_invalid(scene.mean), cmap="cividis", rasterized=True)
        axes.fill(*scene.outline.T, fill=False, edgecolor=GRAY, linewidth=1)
        if len(scene.cell):
            axes.fill(*scene.cell.T, fill=False, edgecolor=SHADE, linewidth=2, label="fundamental domain")
        axes.set_aspect("equal")
        axes.axis("off")
    else:
        axes = figure.add_subplot(projection="3d")
        corners, triangles = scene.body.corners, scene.body.triangles
        image = axes.plot_trisurf(*corners.T, triangles=triangles, cmap="cividis", alpha=0.25, linewidth=0)
        image.set_array(scene.mean[triangles].mean(axis=1))
        image.autoscale()
        for solid, color, name in ((scene.body, GRAY, None), (scene.cell, SHADE, "fundamental domain")):
            for place, edge in enumerate(() if solid is None else solid.edges):
                axes.plot(*edge.T, color=color, linewidth=1.2, label=name if place == 0 else None)
        axes.set_aspect("equal")
        axes.set_axis_off()
    figure.colorbar(image, ax=axes, shrink=0.6, label="mean reward")
    for agent in shown:
        points = scene.plane.lay(agent.plays) if isinstance(scene, PlanarScene) else agent.plays
        face = looks[agent.family].color if agent.uses_group else "none"
        rim = looks[agent.family].color
        axes.scatter(*points.T, s=5, facecolor=face, edgecolor=rim, linewidth=0.6, label=f"plays of {agent.label}")
    axes.scatter(*scene.orbit.T, s=28, color=BEST, edgecolor=INK, zorder=5, label="the best point and its images")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=7)
    return figure


def _names(summary: Summary) -> list[str]:
    """Return a different file name for each problem, in letters that all systems take."""
    plain = [re.sub(r"[^a-z0-9]+", "-", result.name.lower()).strip("-") for result in summary.problems]
    return [f"{place + 1}-{name}" if plain.count(name) > 1 or not name else name for place, name in enumerate(plain)]
