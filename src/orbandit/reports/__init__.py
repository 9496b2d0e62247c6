"""Pictures of what was computed; they need the extra `orbandit[plot]`."""

from orbandit.reports.orbits import draw_orbit

__all__ = ["draw_orbit"]
