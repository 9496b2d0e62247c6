"""The first things to look at: what groups do to a point, and orbits in the plane."""

from pathlib import Path

import numpy as np

from orbandit import groups as g
from orbandit import spaces as s
from orbandit._checks import Array
from orbandit.errors import NoDomainError
from orbandit.reports.orbits import draw_orbit, new_figure

HEADER = ("group", "order", "faces", "a point", "its fold")


def group_table() -> list[tuple[str, ...]]:
    """Return rows under HEADER: each group with its order, its domain's faces, and one fold."""
    groups = [
        g.Trivial(2),
        g.Symmetric(3),
        g.Symmetric(20),
        g.SignedPermutation(3),
        g.SignFlips(2),
        g.Cyclic(5),
        g.Dihedral(5),
        g.CyclicShift(4),
        g.Coxeter("H3"),
        g.Coxeter("E8"),
        g.BlockPermutation(3, 2),
        g.SignedBlockPermutation(3, 2),
        g.Orthogonal(2, 2),
        g.Diagonal(g.Dihedral(3), 2),
        g.Matrix([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
        g.Permutation([[1, 0, 3, 2], [2, 3, 0, 1]]),
        g.Product(g.Symmetric(2), g.Cyclic(3)),
        g.Joint(g.BlockPermutation(8, 2), g.Diagonal(g.Dihedral(16), 8)),
    ]
    return [_row(group) for group in groups]


def orbit_picture(path: Path) -> None:
    """Save a picture of three planar spaces with an orbit and the fundamental domain in each."""
    scenes = [
        (s.Ball(2), g.Dihedral(5), (-0.35, 0.65), "Dihedral(5) on the disk"),
        (s.Box(0, 1, dim=2), g.Symmetric(2), (0.8, 0.3), "Symmetric(2) on the unit square"),
        (s.Polytope.regular("polygon-6"), g.Cyclic(3), (-0.6, -0.2), "Cyclic(3) on the hexagon"),
    ]
    figure = new_figure(width=10.5, height=4.2)
    for axes, (space, group, point, title) in zip(figure.subplots(1, len(scenes)), scenes, strict=True):
        draw_orbit(space, group, point, axes, title)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _row(group: g.Group) -> tuple[str, ...]:
    point = np.cos(2.0 * np.arange(1, group.dim + 1)).round(1)
    try:
        faces = str(len(group.domain().normals))
    except NoDomainError:
        faces = "curved"
    order = f"{group.order:,}" if group.order < 1e12 else f"{group.order:.2g}"
    return repr(group), order, faces, _short(point), _short(group.fold(point))


def _short(point: Array) -> str:
    """Write at most three coordinates."""
    shown = [f"{x:.2f}".rstrip("0").rstrip(".") for x in point[:3]]
    return "(" + ", ".join(shown) + (", ..." if len(point) > 3 else "") + ")"
