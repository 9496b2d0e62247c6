"""Figures and HTML reports of results.

They need the extras `orbandit[plot]` and `orbandit[report]`.
"""

from orbandit.reports.orbits import draw_orbit
from orbandit.reports.regret import regret_picture
from orbandit.reports.reporting import report
from orbandit.reports.summary import Summary, summarise

__all__ = ["Summary", "draw_orbit", "regret_picture", "report", "summarise"]
