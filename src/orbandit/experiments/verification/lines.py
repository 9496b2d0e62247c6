"""A line of the verification: a claim of the paper, what was measured, and a verdict."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import final

HEADING = """# The paper's claims, measured

Written by `orbandit verify`. Parts: (a) fundamental domains, (b) sizes of nets, (c) the orbit
graph, (d) regret bounds, (e) the exponent of n, (f) the exponent of |G|, (g) the lower bound, (h)
slips of the paper. "Open" means not confirmed at this size, "vacuous" that the bound says nothing.
Under (h), "pass" means that the slip was shown."""


class Verdict(Enum):
    """The verdict on a claim."""

    PASS = "pass"
    FAIL = "FAIL"
    OPEN = "open"
    VACUOUS = "vacuous"


@final
@dataclass(frozen=True)
class Line:
    """One claim.

    Attributes
    ----------
    part : str
        The letter under which it is listed.
    claim : str
        Where the paper says it, and on what it was measured.
    says : str
        What the paper says.
    measured : str
        The numbers, with seeds and margins where chance is at work.
    verdict : Verdict
        PASS, FAIL, OPEN if it cannot be confirmed at this size, VACUOUS if a bound says nothing.
    """

    part: str
    claim: str
    says: str
    measured: str
    verdict: Verdict

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return what the line's row shows."""
        return self.part, self.claim, self.says, self.measured, self.verdict.value


@final
@dataclass(frozen=True)
class Step:
    """Work that yields lines; `weight` is about how many seconds it takes."""

    title: str
    weight: float
    lines: Callable[[], Iterator[Line]]


@final
@dataclass(frozen=True)
class Verification:
    """All lines; true in a condition if none failed.

    Attributes
    ----------
    lines : tuple of Line
        The lines, in the order of the table.
    seconds : float
        Time of all steps.
    quick : bool
        Whether horizons were smaller and runs fewer.

    Examples
    --------
    >>> import orbandit as ob
    >>> from orbandit.experiments.verification.lines import Line, Verdict
    >>> line = Line("a", "fold is constant on orbits", "exactly", "1,000 points", Verdict.PASS)
    >>> result = ob.experiments.Verification((line,), seconds=3.0, quick=True)
    >>> bool(result), result.summary()
    (True, '1 pass in 3 s (quick)')
    """

    lines: tuple[Line, ...]
    seconds: float
    quick: bool

    def __bool__(self) -> bool:
        return not any(line.verdict is Verdict.FAIL for line in self.lines)

    def summary(self) -> str:
        """Count the verdicts, in words."""
        counts = {verdict: sum(line.verdict is verdict for line in self.lines) for verdict in Verdict}
        shown = ", ".join(f"{many} {verdict.value}" for verdict, many in counts.items() if many)
        return f"{shown} in {self.seconds:.0f} s{' (quick)' if self.quick else ''}"

    def markdown(self) -> str:
        """Return the table."""
        head = ("part", "claim", "the paper says", "measured", "verdict")
        rows = [head, ("---",) * len(head), *(line.cells() for line in self.lines)]
        table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
        return f"{HEADING}\n\n{table}\n\n{self.summary()}\n"


def judged(holds: bool) -> Verdict:
    """Return PASS or FAIL."""
    return Verdict.PASS if holds else Verdict.FAIL
