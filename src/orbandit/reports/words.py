"""Numbers as people read them."""

import math
from collections.abc import Iterable

from orbandit.reports.statistics import Interval


def size(value: float) -> str:
    """Write a number to three digits, or all digits of a large one.

    Examples
    --------
    >>> size(0.012345), size(999.7), size(1234567.8), size(math.nan)
    ('0.0123', '1,000', '1,234,568', '-')
    """
    if not math.isfinite(value):
        return "infinite" if math.isinf(value) else "-"
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e12 else f"{value:.3g}"


def ends(interval: Interval) -> str:
    """Write where an estimate may lie."""
    return f"{size(interval.low)} to {size(interval.high)}" if interval.is_known else "-"


def interval(estimate: Interval | None) -> str:
    """Write an estimate near 1 and where it may lie.

    Examples
    --------
    >>> interval(Interval(0.62, 0.51, 0.76)), interval(Interval(0.62, math.nan, math.nan)), interval(None)
    ('0.62 (0.51 to 0.76)', '0.62', '-')
    """
    if estimate is None or math.isnan(estimate.value):
        return "-"
    return f"{estimate.value:.2f}" + (f" ({span(estimate)})" if estimate.is_known else "")


def span(estimate: Interval) -> str:
    """Write where an estimate near 1 may lie."""
    return f"{estimate.low:.2f} to {estimate.high:.2f}" if estimate.is_known else ""


def duration(seconds: float) -> str:
    """Write a time in a unit that suits it.

    Examples
    --------
    >>> duration(2.5e-7), duration(0.012), duration(90.0), duration(8000.0)
    ('250 ns', '12 ms', '90 s', '2.2 h')
    """
    for unit, length in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if seconds < 1000 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 3600 else f"{seconds / 3600:.2g} h"


def ranges(numbers: Iterable[int]) -> str:
    """Write sorted whole numbers, runs of them as their ends.

    Examples
    --------
    >>> ranges([0, 1, 2, 3, 7, 9, 10])
    '0 to 3, 7, 9, 10'
    """
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{p[0]} to {p[-1]}" if len(p) > 2 else ", ".join(map(str, p)) for p in parts)
