"""Pictures: what is drawn is what was computed."""

import sys

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import orbandit as ob
from cases import G, S
from orbandit.pictures.outlines import extremes, flat_directions
from orbandit.reports.orbits import draw_orbit
from orbandit.reports.scenes import clip


@pytest.mark.parametrize(
    ("space", "group"),
    [
        (S.Ball(2), G.Dihedral(5)),
        (S.Box(0, 1, dim=2), G.Symmetric(2)),
        (S.Box(0, 1, dim=2), G.SignedPermutation(2).centered([0.5, 0.5])),
        (S.Polytope.regular("polygon-6"), G.Cyclic(3)),
        (S.Polytope.regular("polygon-5"), G.Trivial(2)),
    ],
    ids=repr,
)
def test_the_shaded_cell_is_one_part_in_order(space, group):
    outline = extremes(space, flat_directions())
    assert ConvexHull(outline).volume == pytest.approx(space.volume, rel=1e-3)
    cell = clip(outline, group.domain())
    assert group.domain().contains(cell).all()
    assert ConvexHull(cell).volume == pytest.approx(space.volume / group.order, rel=1e-3)


def test_dots_are_the_orbit_and_the_star_is_the_fold(tmp_path):
    group, point = G.Dihedral(5), [0.3, 0.6]
    axes = draw_orbit(S.Ball(2), group, point)
    dots, star = (np.asarray(collection.get_offsets()) for collection in axes.collections)
    np.testing.assert_allclose(dots, group.orbit(point))
    np.testing.assert_allclose(star, [group.fold(point)])
    assert "Dihedral(5)" in axes.get_title()
    axes.figure.savefig(tmp_path / "orbit.svg")
    assert (tmp_path / "orbit.svg").stat().st_size > 1000


def test_a_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "orbandit.pictures.shown_figure", raising=False)
    with pytest.raises(ob.errors.MissingExtraError, match="with the extra `plot`"):
        draw_orbit(S.Ball(2), G.Dihedral(5), [0.3, 0.6])


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ob.errors.InputError, match="only the plane"):
        draw_orbit(S.Ball(3), G.Symmetric(3), np.zeros(3))
    with pytest.raises(ob.errors.InputError, match="does not preserve"):
        draw_orbit(S.Box([0, 0], [1, 2]), G.Symmetric(2), [0.0, 0.0])
