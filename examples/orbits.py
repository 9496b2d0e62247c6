"""The first things to look at: what groups do to a point, and orbits in the plane."""

from pathlib import Path

import numpy as np

import orbandit as ob
from orbandit.pictures.figures import new_figure

HEADER = ("group", "order", "faces", "a point", "its fold")


def group_table() -> list[tuple[str, ...]]:
    """Return rows under HEADER: each group with its order, its domain's faces, and one fold."""
    groups = [
        ob.groups.Trivial(2),
        ob.groups.Symmetric(3),
        ob.groups.Symmetric(20),
        ob.groups.SignedPermutation(3),
        ob.groups.SignFlips(2),
        ob.groups.Cyclic(5),
        ob.groups.Dihedral(5),
        ob.groups.CyclicShift(4),
        ob.groups.Coxeter("H3"),
        ob.groups.Coxeter("E8"),
        ob.groups.BlockPermutation(3, 2),
        ob.groups.SignedBlockPermutation(3, 2),
        ob.groups.Orthogonal(2, 2),
        ob.groups.Diagonal(ob.groups.Dihedral(3), 2),
        ob.groups.Matrix([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
        ob.groups.Permutation([[1, 0, 3, 2], [2, 3, 0, 1]]),
        ob.groups.Product(ob.groups.Symmetric(2), ob.groups.Cyclic(3)),
        ob.groups.Joint(ob.groups.BlockPermutation(8, 2), ob.groups.Diagonal(ob.groups.Dihedral(16), 8)),
    ]
    return [_row(group) for group in groups]


def orbit_picture(path: Path) -> None:
    """Save a picture of three planar spaces with an orbit and the fundamental domain in each."""
    scenes = [
        (ob.spaces.Ball(2), ob.groups.Dihedral(5), (-0.35, 0.65), "Dihedral(5) on the disk"),
        (ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2), (0.8, 0.3), "Symmetric(2) on the unit square"),
        (ob.spaces.Polytope.regular("polygon-6"), ob.groups.Cyclic(3), (-0.6, -0.2), "Cyclic(3) on the hexagon"),
    ]
    figure = new_figure(width=10.5, height=4.2)
    for axes, (space, group, point, title) in zip(figure.subplots(1, len(scenes)), scenes, strict=True):
        ob.reports.draw_orbit(space, group, point, axes, title)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _row(group: ob.groups.Group) -> tuple[str, ...]:
    point = np.cos(2.0 * np.arange(1, group.dim + 1)).round(1)
    try:
        faces = str(len(group.domain().normals))
    except ob.errors.NoDomainError:
        faces = "curved"
    order = f"{group.order:,}" if group.order < 1e12 else f"{group.order:.2g}"
    return repr(group), order, faces, _short(point), _short(group.fold(point))


def _short(point: np.typing.NDArray[np.float64]) -> str:
    """Write at most three coordinates."""
    shown = [f"{x:.2f}".rstrip("0").rstrip(".") for x in point[:3]]
    return "(" + ", ".join(shown) + (", ..." if len(point) > 3 else "") + ")"


def main() -> None:
    """Print the table and save the picture."""
    rows = [HEADER, *group_table()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    picture = Path("out") / "orbits.png"
    orbit_picture(picture)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
