"""An orbit and a fundamental domain in the plane: of three groups on three shapes."""

import sys

import orbandit as ob
from orbandit.pictures.figures import as_picture_path, new_figure, save_picture

SCENES = [
    (ob.spaces.Polytope.regular("polygon-5"), ob.groups.Dihedral(5), (-0.3, 0.5)),
    (ob.spaces.Box(-1, 1, dim=2), ob.groups.SignedPermutation(2), (-0.35, 0.8)),
    (ob.spaces.Ball(2), ob.groups.Cyclic(6), (-0.6, 0.5)),
]


def main() -> None:
    """Draw each scene beside the others."""
    path = as_picture_path(sys.argv[1] if len(sys.argv) > 1 else "out/gallery/orbit_and_domain.png")
    figure = new_figure(width=10.0, height=4.0)
    for axes, (space, group, point) in zip(figure.subplots(1, len(SCENES)), SCENES, strict=True):
        ob.reports.draw_orbit(space, group, point, axes, title=f"{group!r}, order {group.order}")
    save_picture(figure, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
