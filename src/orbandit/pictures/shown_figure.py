"""A figure that shows itself in a notebook; the one module that imports matplotlib at its top."""

from io import BytesIO
from typing import final

from matplotlib.figure import Figure

NOTEBOOK_DPI = 100
"""Dots per inch in a notebook."""


@final
class ShownFigure(Figure):
    """A figure that is not known to pyplot.

    A notebook shows it where a cell ends with it, and only there: pyplot would show it a second
    time, and keep it until it is closed.
    """

    def _repr_png_(self) -> bytes:
        """Return the picture, as notebooks ask for it."""
        written = BytesIO()
        self.savefig(written, format="png", dpi=NOTEBOOK_DPI)
        return written.getvalue()
