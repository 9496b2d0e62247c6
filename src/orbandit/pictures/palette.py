"""Colours and markers of all figures, distinct for the colour-blind and in print."""

from collections.abc import Sequence
from typing import NamedTuple

INK, PAPER, SHADE, DOT, STAR = "#22313f", "#f4f1ea", "#f2b880", "#5b84b1", "#c8472f"
"""Lines and words, the space, the fundamental domain, an orbit, and its representative."""

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Those of Okabe and Ito that are neither black nor near white."""

SIGNS = ("", "■", "◆", "✚", "✖", "▲", "★")
"""How marks look in a line of text; the first of all is left out."""

GRAY, BEST = "#8a8a8a", "#ffffff"
"""Outlines; the best point on a picture of the mean."""


class Look(NamedTuple):
    """How curves of agents look: a colour, and a mark for when colours are used up."""

    color: str
    mark: int

    @property
    def sign(self) -> str:
        """The mark in a line of text."""
        return SIGNS[self.mark % len(SIGNS)]


def looks(names: Sequence[str], ranking: Sequence[str] = ()) -> dict[str, Look]:
    """Return the look of each name: colours in turn, with another mark for each turn.

    Colours are given in the order of names, so that an agent has the same on every page of the same
    agents. If there are more names than colours, the order is the ranking, if there is one: the
    best, which are shown together, then differ in colour.

    Examples
    --------
    >>> looks(["HOO", "OrbitTree"], ["OrbitTree", "HOO"])["OrbitTree"]
    Look(color='#d55e00', mark=0)
    >>> looks("ABCDEFG", "GFEDCBA")["A"]
    Look(color='#0072b2', mark=1)
    """
    if len(names) > len(COLORS) and ranking:
        names = ranking
    return {name: Look(COLORS[i % len(COLORS)], i // len(COLORS)) for i, name in enumerate(names)}
