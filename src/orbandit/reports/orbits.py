"""A picture of an orbit in the plane: the space, the fundamental domain, the images and their representative."""

from typing import TYPE_CHECKING

import numpy.typing as npt

from orbandit._checks import as_point, shown
from orbandit.errors import InputError
from orbandit.groups import Group
from orbandit.pictures.figures import new_figure
from orbandit.pictures.outlines import extremes, flat_directions
from orbandit.pictures.palette import DOT, INK, PAPER, SHADE, STAR
from orbandit.reports.scenes import clip
from orbandit.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_orbit(
    space: Space, group: Group, point: npt.ArrayLike, axes: "Axes | None" = None, title: str | None = None
) -> "Axes":
    """Draw a planar space, the part of it in the fundamental domain, and the orbit of a point.

    Parameters
    ----------
    space : Space
        A space of two dimensions.
    group : Group
        A finite group with a fundamental domain, which maps the space onto itself.
    point : (2,) array
        The point; its orbit is drawn as dots, its fold as a star.
    axes : matplotlib Axes, optional
        Where to draw; a new figure by default.
    title : str, optional
        The title; by default the group and the space.

    Returns
    -------
    matplotlib Axes
        `axes.figure.savefig(path)` writes the picture.

    Examples
    --------
    >>> import orbandit as ob
    >>> axes = ob.reports.draw_orbit(ob.spaces.Ball(2), ob.groups.Dihedral(5), [0.3, 0.5])
    >>> axes.get_legend_handles_labels()[1]
    ['orbit (10 points)', 'fold']
    """
    if space.dim != 2 or group.dim != 2:
        raise InputError(
            f"only the plane can be drawn, but got dimensions {space.dim} and {group.dim}; pick two coordinates."
        )
    if not group.preserves(space):
        raise InputError(f"{shown(group)} does not preserve {shown(space)}: an orbit would leave it; see `centered`.")
    start = as_point(point, 2)
    orbit, representative = group.orbit(start), group.fold(start)
    outline = extremes(space, flat_directions())
    cell = clip(outline, group.domain())

    if axes is None:
        axes = new_figure(width=4.0, height=4.4).add_subplot()
    axes.fill(*outline.T, facecolor=PAPER, edgecolor=INK, linewidth=1.2)
    axes.fill(*cell.T, facecolor=SHADE, edgecolor=INK, linewidth=0.8)
    images = f"orbit ({len(orbit)} points)"
    axes.scatter(orbit[:, 0], orbit[:, 1], s=36, color=DOT, edgecolor="white", zorder=3, label=images)
    x, y = representative
    axes.scatter(x, y, s=150, marker="*", color=STAR, edgecolor="white", zorder=4, label="fold")
    axes.set_aspect("equal")
    axes.axis("off")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False, fontsize=9)
    axes.set_title(f"{group!r}\non {space!r}" if title is None else title, fontsize=10, color=INK)
    return axes
