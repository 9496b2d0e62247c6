"""Figures and their files; matplotlib is imported with the first of them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from orbandit._checks import shown
from orbandit.errors import InputError, InputTypeError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
"""Endings of files that pictures are saved in."""
DOTS_PER_INCH = 150
"""Resolution of files."""


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure, made without pyplot so that no global state is kept.

    It shows itself in a notebook.
    """
    try:
        from orbandit.pictures.shown_figure import ShownFigure
    except ImportError as error:
        raise MissingExtraError("pictures need matplotlib: install orbandit with the extra `plot`.") from error
    return ShownFigure(figsize=(width, height), layout="constrained")


def as_picture_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a picture, whose ending must be one of PICTURE_SUFFIXES.

    Examples
    --------
    >>> as_picture_path("layout.jpeg")
    Traceback (most recent call last):
        ...
    orbandit.errors.InputError: `path` must end in one of .png, .svg, .pdf, but got 'layout.jpeg'.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"`path` must be a str or a path, but got {shown(path)}.")
    target = Path(path)
    if target.suffix.lower() not in PICTURE_SUFFIXES:
        endings = ", ".join(PICTURE_SUFFIXES)
        raise InputError(f"`path` must end in one of {endings}, but got {target.name!r}.")
    return target


def save_picture(figure: "Figure", target: Path) -> None:
    """Write a figure to a file; missing folders are made."""
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=DOTS_PER_INCH)
