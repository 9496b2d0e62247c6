"""Pictures of what was computed; they need the extra `orbandit[plot]`."""

from orbandit.reports.orbits import draw_orbit
from orbandit.reports.regret import regret_picture

__all__ = ["draw_orbit", "regret_picture"]
