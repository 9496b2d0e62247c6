"""report: an HTML report from a file of results, and figures for a paper."""

import os
from pathlib import Path

from orbandit.errors import InputError
from orbandit.reports.page import check_extras, write_page
from orbandit.reports.paper import save_figures
from orbandit.reports.summary import Summary, summarise


def report(
    results: str | os.PathLike[str],
    page: str | os.PathLike[str] | None = None,
    *,
    figures: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Summary:
    """Write an HTML report of an experiment, finished or not, and return its numbers.

    It needs `orbandit[report]`. The page is self-contained and works offline.

    Parameters
    ----------
    results : path
        A file of results, as `orbandit run` makes it.
    page : path, optional
        The .html file to write; by default beside the results. An existing file is replaced.
    figures : path, optional
        A folder for figures as PNG and SVG files.
    folder : path, optional
        Where the experiment's own modules and data files lie, by default that of the results.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import orbandit as ob
    >>> cone = {"class": "Cone", "space": {"class": "Ball", "dim": 2}, "peak": [0.3, 0.4]}
    >>> agent = {"class": "OrbitTree"}
    >>> tables = {"horizons": [100], "seeds": 2, "problem": [cone], "agent": [agent]}
    >>> experiment = ob.experiments.restore(tables, ".")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     played = ob.experiments.run(experiment, f"{folder}/disk.db", jobs=1)
    ...     summary = ob.reports.report(f"{folder}/disk.db")
    ...     print(summary.n_runs, Path(folder, "disk.html").exists())
    2 True
    """
    check_extras()
    summary = summarise(results, folder)
    target = page_of(results) if page is None else Path(page)
    if target.resolve() == Path(results).resolve():
        raise InputError(f"`page` must be another file than the results, but got {target}.")
    write_page(summary, target)
    if figures is not None:
        save_figures(summary, figures)
    return summary


def page_of(results: str | os.PathLike[str]) -> Path:
    """Return where the page of some results lies by default.

    Examples
    --------
    >>> page_of("out/demo.db").name
    'demo.html'
    """
    return Path(results).with_suffix(".html")
