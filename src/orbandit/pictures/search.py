"""The picture of a search: what it measured, what it expects, and where it looked.

Left are the values over evaluations, the best so far, and the estimate at the recommended point
with its interval. Right are the points: a layout where they consist of units in the plane, a
scatter plot in one or two dimensions, and parallel coordinates of folded points otherwise.

Values beyond Tukey's outer fences, three interquartile ranges from the quartiles, are drawn as
triangles at the edge: one penalty of -1e6 must not flatten all others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, shown
from orbandit.errors import GroupTooLargeError, InputError, InputTypeError
from orbandit.groups import Group
from orbandit.history import History
from orbandit.pictures.figures import new_figure
from orbandit.pictures.outlines import extremes, flat_directions
from orbandit.pictures.palette import COLORS, GRAY, INK, PAPER
from orbandit.spaces import Product, Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Indices: TypeAlias = npt.NDArray[np.intp]
Look: TypeAlias = dict[str, Any]

FENCE = 3.0
"""Tukey's outer fences are so many interquartile ranges from the quartiles."""
MAX_DRAWN = 500
"""At most so many evaluations are drawn on the right, evenly spaced by the rank of their value."""
MAX_IMAGES = 500
"""Larger orbits of the recommended point are left out."""
MAX_NAMED = 12
"""Of more coordinates than these, parallel coordinates have the numbers below them, not the
names."""
SAME_SCALE = 5.0
"""Coordinates of the plane are drawn to one scale if their widths differ by no more than this."""
SAME = 1e-9
"""Outlines and ranges that differ by less than this, of their size, are one."""
VALUE, FOUND = COLORS[0], COLORS[1]
"""Colours of what was measured, and of what is recommended."""


@final
@dataclass(frozen=True)
class Search:
    """What a search found and knew.

    Attributes
    ----------
    space, group
        Where it searched, and under which symmetry.
    history : History
        What was measured; at least one value.
    point : (dim,) array
        The point recommended.
    estimate : float
        The estimate there.
    interval : tuple of two floats
        Of the estimate; NaN if it is not known.
    is_minimum : bool
        Whether small values are good.
    """

    space: Space
    group: Group | None
    history: History
    point: Array
    estimate: float
    interval: tuple[float, float]
    is_minimum: bool

    @cached_property
    def numbers(self) -> Indices:
        """The numbers of the measurements that went well, from 1."""
        many = len(self.history.values) + len(self.history.failed)
        return np.delete(np.arange(1, many + 1), self.history.failed_at)

    @cached_property
    def fences(self) -> tuple[float, float]:
        """The least and the largest value that is drawn where it is."""
        values = self.history.values
        first, last = np.quantile(values, [0.25, 0.75])
        room = FENCE * (last - first)
        near = values[(values >= first - room) & (values <= last + room)]
        return float(near.min()), float(near.max())

    @cached_property
    def drawn(self) -> Indices:
        """The evaluations drawn on the right, the worst first, so that the best lie on top."""
        order = np.argsort(self.history.values, kind="stable")
        if self.is_minimum:
            order = order[::-1]
        if len(order) > MAX_DRAWN:
            order = order[np.linspace(0, len(order) - 1, MAX_DRAWN).round().astype(np.intp)]
        return order

    @cached_property
    def units(self) -> list[Indices]:
        """The two coordinates of each unit in the plane; none if points do not consist of such units.

        They are what the group moves as a whole, or the parts of a product.
        """
        dim = self.space.dim
        if dim <= 2:
            return []
        if self.group is not None:
            moved = self.group.unit_coordinates
            if all(len(unit) == 2 for unit in moved):
                return moved
        if isinstance(self.space, Product) and all(part.dim == 2 for part in self.space.parts):
            return list(np.arange(dim, dtype=np.intp).reshape(-1, 2))
        return []

    @cached_property
    def images(self) -> Array:
        """The images of the recommended point other than itself; none if there are too many."""
        none = np.empty((0, self.space.dim))
        if self.group is None or self.group.order == math.inf:
            return none
        try:
            return self.group.orbit(self.point, limit=MAX_IMAGES)[1:]
        except GroupTooLargeError:
            return none


def draw_search(search: Search, label: str, names: Sequence[str] | None) -> "Figure":
    """Return the picture of a search.

    Parameters
    ----------
    search : Search
        What to draw.
    label : str
        What values are, for the axis.
    names : sequence of str, optional
        What coordinates are: two for units in the plane, else one for each coordinate.
    """
    wanted = 2 if search.units else search.space.dim
    titles = [f"$x_{{{i + 1}}}$" for i in range(wanted)] if names is None else _checked(names, wanted)
    figure = new_figure(width=10.0, height=4.4)
    left, right = figure.subplots(1, 2)
    _draw_values(left, search, label)
    if search.units:
        _draw_layout(right, search, titles, label)
    elif search.space.dim == 1:
        _draw_line(right, search, titles, label)
    elif search.space.dim == 2:
        _draw_plane(right, search, titles, label)
    else:
        _draw_parallel(right, search, titles, label, with_names=names is not None)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize=9)
    return figure


def _checked(names: Sequence[str], wanted: int) -> list[str]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InputTypeError(f"`names` must be a sequence of str, but got {shown(names)}.")
    if len(names) != wanted:
        what = "two, of the coordinates of the plane" if wanted == 2 else f"{wanted}, one for each coordinate"
        raise InputError(f"`names` must be {what}, but got {len(names)}.")
    return list(names)


def _draw_values(axes: "Axes", search: Search, label: str) -> None:
    """Draw values over evaluations, the best so far, and the estimate with its interval."""
    from matplotlib.ticker import MaxNLocator

    values, numbers, (low, high) = search.history.values, search.numbers, search.fences
    is_near = (values >= low) & (values <= high)
    dots: Look = {"linestyle": "", "color": VALUE, "alpha": 0.5, "rasterized": len(values) > MAX_DRAWN}
    axes.plot(numbers[is_near], values[is_near], marker="o", markersize=3.5, label="measured", **dots)
    for far, edge, mark in ((values > high, high, "^"), (values < low, low, "v")):
        if far.any():
            name = f"{far.sum()} {'above' if mark == '^' else 'below'} the axis"
            axes.plot(numbers[far], np.full(far.sum(), edge), marker=mark, markersize=5, label=name, **dots)
    if len(search.history.failed):
        _draw_failed(axes, search.history.failed_at + 1)
    best = (np.minimum if search.is_minimum else np.maximum).accumulate(values)
    end = len(values) + len(search.history.failed)
    axes.step(
        np.append(numbers, end),
        np.clip(np.append(best, best[-1]), low, high),
        where="post",
        color=INK,
        linewidth=1.4,
        label="best measured so far",
    )
    if math.isfinite(search.estimate):
        text = f"estimate, {search.estimate:.4g}"
        axes.axhline(search.estimate, color=FOUND, linewidth=1.6, linestyle="--", label=text)
    if np.isfinite(search.interval).all():
        lower, upper = search.interval
        text = f"95% interval, {lower:.4g} to {upper:.4g}"
        axes.axhspan(lower, upper, color=FOUND, alpha=0.18, linewidth=0, label=text)
    axes.set(xlabel="evaluations", ylabel=label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlim(0.5, end + 0.5)
    axes.set_title("What was measured", fontsize=10, color=INK)


def _draw_failed(axes: "Axes", places: Array | Indices, height: float = 0.02) -> None:
    """Mark failed measurements at the lower edge."""
    axes.plot(
        places,
        np.full(len(places), height),
        "x",
        color=GRAY,
        markersize=5,
        transform=axes.get_xaxis_transform(),
        label=f"{len(places)} failed",
        clip_on=False,
    )


def _colored(search: Search) -> Look:
    """Return how values are coloured: the better the darker."""
    from matplotlib.colors import Normalize

    low, high = search.fences
    if low == high:  # all are the best
        low, high = (low, high + 1.0) if search.is_minimum else (low - 1.0, high)
    return {
        "cmap": "cividis" if search.is_minimum else "cividis_r",
        "norm": Normalize(low, high, clip=True),
    }


def _draw_bar(axes: "Axes", search: Search, label: str) -> None:
    """Draw the scale of the colours, unless all values are one."""
    from matplotlib.cm import ScalarMappable

    low, high = search.fences
    if low < high:
        axes.figure.colorbar(ScalarMappable(**_colored(search)), ax=axes, label=label, pad=0.02, aspect=30)


def _frame_plane(axes: "Axes", outlines: list[Array], titles: list[str]) -> None:
    """Draw outlines in the plane, each once, to one scale if that can be read."""
    seen: list[Array] = []
    same = SAME * float(np.ptp(np.concatenate(outlines), axis=0).max())
    for outline in outlines:
        if not any(one.shape == outline.shape and np.abs(one - outline).max() <= same for one in seen):
            seen.append(outline)
            axes.fill(*outline.T, facecolor=PAPER, edgecolor=INK, linewidth=1.2, zorder=0)
    widths = np.ptp(np.concatenate(seen), axis=0)
    if widths.max() <= SAME_SCALE * widths.min():
        axes.set_aspect("equal")
    axes.set(xlabel=titles[0], ylabel=titles[1])


def _draw_layout(axes: "Axes", search: Search, titles: list[str], label: str) -> None:
    """Draw the units of all points, and those of the recommended one."""
    units, history = search.units, search.history
    directions, outlines = flat_directions(), []
    for unit in units:
        spread = np.zeros((len(directions), search.space.dim))
        spread[:, unit] = directions
        outlines.append(extremes(search.space, spread)[:, unit])
    _frame_plane(axes, outlines, titles)
    columns = np.array(units)
    places = history.points[search.drawn][:, columns].reshape(-1, 2)
    values = np.repeat(history.values[search.drawn], len(units))
    look: Look = {"s": 7, "alpha": 0.35, "linewidth": 0, "rasterized": True, "zorder": 1}
    axes.scatter(places[:, 0], places[:, 1], c=values, **look, **_colored(search))
    axes.plot([], [], "o", color=INK, markersize=2.5, label="units measured")
    if len(history.failed):
        crashed = history.failed[-MAX_DRAWN:][:, columns].reshape(-1, 2)
        axes.plot(*crashed.T, "x", color=GRAY, markersize=3, alpha=0.5, zorder=1, label="units that failed")
    axes.plot(
        *search.point[columns].T,
        "o",
        color=FOUND,
        markersize=9,
        markeredgecolor="white",
        clip_on=False,
        zorder=3,
        label="units recommended",
    )
    _draw_bar(axes, search, label)
    axes.set_title("Where units lie", fontsize=10, color=INK)


def _draw_line(axes: "Axes", search: Search, titles: list[str], label: str) -> None:
    """Draw values over the only coordinate."""
    history, (low, high) = search.history, search.fences
    values, places = np.clip(history.values[search.drawn], low, high), history.points[search.drawn, 0]
    axes.plot(places, values, "o", color=VALUE, alpha=0.5, markersize=3.5, label="measured")
    if len(history.failed):
        _draw_failed(axes, history.failed[:, 0])
    if math.isfinite(search.estimate):
        ends = np.abs(np.array(search.interval) - search.estimate)[:, None]
        bar = ends if np.isfinite(ends).all() else None
        if len(search.images):
            levels = np.full(len(search.images), search.estimate)
            axes.plot(search.images[:, 0], levels, "*", color=FOUND, alpha=0.35, markersize=11, label="its images")
        text = "recommended, with its estimate" + ("" if bar is None else " and interval")
        axes.errorbar(
            search.point,
            [search.estimate],
            yerr=bar,
            fmt="*",
            color=FOUND,
            markersize=14,
            markeredgecolor="white",
            capsize=4,
            zorder=3,
            label=text,
        )
    edges = np.array(search.space.bounds)[:, 0]
    axes.set(xlabel=titles[0], ylabel=label, xlim=edges + np.array([-0.02, 0.02]) * np.ptp(edges))
    axes.set_title("Where points lie", fontsize=10, color=INK)


def _draw_plane(axes: "Axes", search: Search, titles: list[str], label: str) -> None:
    """Draw all points of the plane, and the images of the recommended one."""
    history = search.history
    _frame_plane(axes, [extremes(search.space, flat_directions())], titles)
    places, values = history.points[search.drawn], history.values[search.drawn]
    axes.scatter(places[:, 0], places[:, 1], c=values, s=16, alpha=0.8, linewidth=0, **_colored(search))
    axes.plot([], [], "o", color=INK, markersize=4, label="measured")
    if len(history.failed):
        axes.plot(*history.failed.T, "x", color=GRAY, markersize=5, label=f"{len(history.failed)} failed")
    star: Look = {"linestyle": "", "marker": "*", "color": FOUND, "markeredgecolor": "white", "clip_on": False}
    if len(search.images):
        axes.plot(*search.images.T, **star, markersize=12, alpha=0.4, label="its images")
    axes.plot(*search.point[:, None], **star, markersize=16, zorder=3, label="recommended")
    _draw_bar(axes, search, label)
    axes.set_title("Where points lie", fontsize=10, color=INK)


def _draw_parallel(axes: "Axes", search: Search, titles: list[str], label: str, *, with_names: bool) -> None:
    """Draw a line for each point, over its coordinates; each coordinate fills the height.

    Coordinates of one range have one scale, which stands at the axis.
    """
    from matplotlib.collections import LineCollection

    group, dim, history = search.group, search.space.dim, search.history
    is_folded = group is not None and group.order != 1
    low, high = search.space.bounds
    is_alike = max(np.ptp(low), np.ptp(high)) <= SAME * (high - low).max()
    across = np.arange(1, dim + 1)

    def lines(points: Array) -> Array:
        folded = group.fold(points) if group is not None and is_folded else points
        heights = folded if is_alike else (folded - low) / np.where(high > low, high - low, 1.0)
        return np.stack([np.broadcast_to(across, heights.shape), heights], axis=-1)

    drawn = lines(history.points[search.drawn])
    measured = LineCollection(list(drawn), alpha=0.35, linewidth=0.8, **_colored(search))
    axes.plot([], [], color=INK, linewidth=0.8, label="measured")
    measured.set_array(history.values[search.drawn])
    measured.set_rasterized(len(drawn) * dim > 10_000)
    axes.add_collection(measured)
    if len(history.failed):
        crashed = lines(history.failed[-MAX_DRAWN:])
        broken: Look = {"colors": GRAY, "linestyle": ":", "linewidth": 0.8, "label": f"{len(history.failed)} failed"}
        axes.add_collection(LineCollection(list(crashed), **broken))
    axes.plot(
        *lines(search.point[None])[0].T, "o-", color=FOUND, linewidth=2, markersize=5, zorder=3, label="recommended"
    )
    if dim <= MAX_NAMED:
        axes.set_xticks(across, titles, rotation=30 if with_names and dim > 4 else 0)
    else:
        axes.set_xlabel("number of the coordinate")
    height = (low[0], high[0]) if is_alike else (0.0, 1.0)
    room = 0.03 * (height[1] - height[0])
    axes.set(
        xlim=(0.7, dim + 0.3),
        ylim=(height[0] - room, height[1] + room),
        ylabel="coordinate" if is_alike else "share of its range",
    )
    axes.grid(axis="x", color=GRAY, alpha=0.3, linewidth=0.6)
    _draw_bar(axes, search, label)
    whole = "Coordinates, one line for each point"
    axes.set_title(f"{whole}, folded" if is_folded else whole, fontsize=10, color=INK)
