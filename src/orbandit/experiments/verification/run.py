"""verify: run all steps in turn, and report progress as they end."""

import time
from collections.abc import Callable

from orbandit.experiments.verification import geometry, regret, slips
from orbandit.experiments.verification.lines import Line, Verification

Progress = Callable[[str, float], None]
"""Called with the title of a step that begins, and the share of the work done before it."""


def verify(
    quick: bool = False, progress: Progress | None = None, report: Callable[[Line], None] | None = None
) -> Verification:
    """Check the claims of the paper numerically, line by line.

    Parameters
    ----------
    quick : bool
        Smaller horizons and fewer runs: under a minute instead of under ten.
    progress : callable, optional
        Called with the title of each step and the share of the work done so far.
    report : callable, optional
        Called with each line once it is measured.

    Returns
    -------
    Verification
        Its `lines`, its `markdown()`; false if a line failed.

    Examples
    --------
    >>> import orbandit as ob
    >>> class Stop(Exception):
    ...     pass
    >>> def first(line):
    ...     print(line.part, line.verdict.value)
    ...     raise Stop
    >>> try:
    ...     ob.experiments.verify(quick=True, report=first)
    ... except Stop:
    ...     pass
    a pass
    """
    steps = [*geometry.steps(quick), *regret.steps(quick), *slips.steps(quick)]
    total, done = sum(step.weight for step in steps), 0.0
    lines: list[Line] = []
    start = time.perf_counter()
    for step in steps:
        if progress is not None:
            progress(step.title, done / total)
        for line in step.lines():
            lines.append(line)
            if report is not None:
                report(line)
        done += step.weight
    if progress is not None:
        progress("done", 1.0)
    return Verification(tuple(lines), time.perf_counter() - start, quick)
