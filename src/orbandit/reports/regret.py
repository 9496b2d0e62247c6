"""A figure of regret: a curve for each agent, with the spread over seeds, and the final values."""

import os
from collections.abc import Mapping

import numpy as np

from orbandit._checks import shown
from orbandit.errors import InputError, InputTypeError
from orbandit.experiments.simulation import Runs
from orbandit.pictures.figures import as_picture_path, new_figure, save_picture
from orbandit.pictures.palette import COLORS, INK


def regret_picture(runs: Mapping[str, Runs], path: str | os.PathLike[str], title: str) -> None:
    """Save a picture of mean regret over rounds, with a band from the least to the largest of the seeds.

    Parameters
    ----------
    runs : dict of str to Runs
        The results of `ob.simulate`, by the name to show.
    path : str or path
        A .png, .svg or .pdf file; missing folders are made.
    title : str
        The title of the figure.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import orbandit as ob
    >>> cone = ob.problems.Cone(ob.spaces.Ball(2), ob.groups.Dihedral(5), peak=[0.3, 0.5])
    >>> runs = {"D5": ob.simulate(ob.agents.OrbitTree, cone, 300, seeds=2)}
    >>> runs["no group"] = ob.simulate(ob.agents.OrbitTree, cone, 300, seeds=2, use_group=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ob.reports.regret_picture(runs, f"{folder}/regret.svg", "a cone on a disk")
    ...     print(Path(folder, "regret.svg").exists())
    True
    """
    if not isinstance(runs, Mapping) or not all(isinstance(run, Runs) for run in runs.values()):
        raise InputTypeError(f"`runs` must map names to what `ob.simulate` returned, but got {shown(runs)}.")
    if not runs:
        raise InputError("`runs` must hold at least one curve, but is empty.")
    target = as_picture_path(path)
    figure = new_figure(width=8.0, height=3.8)
    curves, bars = figure.subplots(1, 2, width_ratios=(2, 1))
    for color, (name, run) in zip(np.resize(COLORS, len(runs)), runs.items(), strict=True):
        curves.plot(run.checkpoints, run.regret.mean(axis=0), color=color, linewidth=1.8, label=name)
        curves.fill_between(
            run.checkpoints, run.regret.min(axis=0), run.regret.max(axis=0), color=color, alpha=0.15, linewidth=0
        )
        final = run.regret[:, -1]
        bars.bar(name, final.mean(), color=color, alpha=0.85)
        bars.plot([name] * len(final), final, "o", color=INK, markersize=3, alpha=0.6)
    curves.set_xlabel("rounds")
    curves.set_ylabel("regret")
    curves.legend(frameon=False)
    seeds = sorted({len(run.regret) for run in runs.values()})
    bars.set_title(f"at the end, {' or '.join(map(str, seeds))} seeds", fontsize=10, color=INK)
    if max(map(len, runs)) > 12 or len(runs) > 3:  # names that would run into each other
        bars.tick_params(axis="x", rotation=20)
    for axes in (curves, bars):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, color=INK)
    save_picture(figure, target)
