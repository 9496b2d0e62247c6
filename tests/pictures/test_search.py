"""The picture of a search: what is drawn is what was measured, in every space."""

import math
import pickle
import sys

import numpy as np
import pytest

import orbandit as ob
from cases import G, S
from orbandit.errors import InputError, InputTypeError, MissingExtraError
from orbandit.history import History
from orbandit.optimize import Best

RNG = np.random.default_rng(0)


def best_of(space, group=None, points=None, values=None, failed_at=(), **more):
    """A result as a search returns it, of random points, the third of which is recommended."""
    points = space.sample(8, 0) if points is None else np.asarray(points)
    values = np.arange(1.0, len(points) + 1) % 5 if values is None else np.asarray(values)
    failed = space.sample(len(failed_at), 1)
    history = History(points, values, failed, np.array(failed_at, dtype=np.intp))
    more = {"interval": (3.5, 4.75)} | more
    return Best(points[min(2, len(points) - 1)], 4.25, history, space=space, group=group, **more)


def drawn(axes):
    """What the lines of axes show, by their labels."""
    return {line.get_label(): np.array(line.get_data()).T for line in axes.get_lines()}


def names(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


# --- left: values ---


@pytest.mark.parametrize("is_minimum", [False, True])
def test_values_stand_over_their_evaluations_with_the_best_so_far(is_minimum):
    best = best_of(S.Box(0, 1, dim=2), values=[2, 1, 3, 2, 0, 5, 4, 1], failed_at=[1, 4], is_minimum=is_minimum)
    axes = best.plot().axes[0]
    lines = drawn(axes)
    went_well = [1, 3, 4, 6, 7, 8, 9, 10]
    np.testing.assert_array_equal(lines["measured"], np.c_[went_well, best.history.values])
    np.testing.assert_array_equal(lines["2 failed"][:, 0], [2, 5])
    so_far = [2, 1, 1, 1, 0, 0, 0, 0] if is_minimum else [2, 2, 3, 3, 3, 5, 5, 5]
    np.testing.assert_array_equal(lines["best measured so far"], np.c_[[*went_well, 10], [*so_far, so_far[-1]]])
    np.testing.assert_array_equal(lines["estimate, 4.25"][:, 1], 4.25)
    (span,) = [patch for patch in axes.patches if patch.get_label() == "95% interval, 3.5 to 4.75"]
    extent = span.get_extents().transformed(axes.transData.inverted())
    assert extent.ymin == pytest.approx(3.5)
    assert extent.ymax == pytest.approx(4.75)


def test_an_agent_without_an_interval_has_the_estimate_alone():
    axes = best_of(S.Box(0, 1, dim=2), interval=(math.nan, math.nan)).plot().axes[0]
    assert "estimate, 4.25" in names(axes)
    assert not any("interval" in name for name in names(axes))


def test_a_penalty_flattens_nothing():
    values = [*np.linspace(1, 2, 18), -1e6, 1e12]
    figure = best_of(S.Box(0, 1, dim=3), points=RNG.random((20, 3)), values=values).plot()
    lines = drawn(figure.axes[0])
    np.testing.assert_array_equal(lines["1 below the axis"], [[19, 1]])
    np.testing.assert_array_equal(lines["1 above the axis"], [[20, 2]])
    assert lines["best measured so far"][:, 1].max() == 2
    assert np.ptp(figure.axes[0].get_ylim()) < 10
    assert figure.axes[1].collections[0].norm.vmin == 1


# --- right: points ---


@pytest.mark.parametrize(
    ("space", "group", "outline"),
    [
        (S.Ball(2, radius=900.0) ** 3, G.BlockPermutation(3, 2), 900.0),
        (S.Ball(2, radius=900.0) ** 3, G.Joint(G.BlockPermutation(3, 2), G.Diagonal(G.Dihedral(4), 3)), 900.0),
        (S.Ball(2, radius=900.0) ** 3, None, 900.0),
        (S.Box(-1, 1, dim=6), G.BlockPermutation(3, 2), math.sqrt(2)),
        (S.Polytope.regular("polygon-6") ** 3, G.BlockPermutation(3, 2), 1.0),
        (S.Ball(6), G.Diagonal(G.Cyclic(4), 3), 1.0),
    ],
    ids=repr,
)
def test_units_in_the_plane_are_a_layout_with_its_outline(space, group, outline):
    best = best_of(space, group)
    axes = best.plot(names=["east, m", "north, m"]).axes[1]
    order = np.argsort(best.history.values, kind="stable")
    (dots,) = axes.collections
    np.testing.assert_array_equal(dots.get_offsets(), best.history.points[order].reshape(-1, 2))
    np.testing.assert_array_equal(dots.get_array(), np.repeat(best.history.values[order], 3))
    np.testing.assert_array_equal(drawn(axes)["units recommended"], best.point.reshape(3, 2))
    (border,) = axes.patches  # one for all units
    assert np.linalg.norm(border.get_xy(), axis=1).max() == pytest.approx(outline, rel=1e-6)
    assert axes.get_aspect() == 1.0
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("east, m", "north, m")


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_parts_of_different_outlines_are_all_drawn_in_any_unit(unit):
    near, far = S.Ball(2, radius=unit), S.Ball(2, radius=2 * unit)
    axes = best_of(S.Product(near, far, near)).plot().axes[1]
    radii = [np.linalg.norm(border.get_xy() / unit, axis=1).max() for border in axes.patches]
    np.testing.assert_allclose(radii, [1, 2])


def test_the_better_the_darker():
    for is_minimum in (False, True):
        (dots, *_) = best_of(S.Box(0, 1, dim=2), is_minimum=is_minimum).plot().axes[1].collections
        low, high = (sum(dots.to_rgba([value])[0][:3]) for value in (0, 4))
        assert bool(low < high) is is_minimum


def test_the_plane_has_all_images_of_what_is_recommended():
    best = best_of(S.Ball(2), G.Dihedral(5), failed_at=[0])
    axes = best.plot().axes[1]
    lines = drawn(axes)
    np.testing.assert_array_equal(lines["recommended"], [best.point])
    np.testing.assert_allclose(lines["its images"], G.Dihedral(5).orbit(best.point)[1:])
    np.testing.assert_array_equal(lines["1 failed"], best.history.failed)
    assert "its images" not in drawn(best_of(S.Ball(2), G.Dihedral(300)).plot().axes[1])
    assert "its images" not in drawn(best_of(S.Ball(2), G.Orthogonal(2, 1)).plot().axes[1])


def test_coordinates_of_different_units_fill_the_plane():
    assert best_of(S.Box([0, 0], [1, 1000])).plot().axes[1].get_aspect() == "auto"
    assert best_of(S.Box([0, 0], [1, 2])).plot().axes[1].get_aspect() == 1.0


def test_a_line_has_values_over_points_and_the_interval():
    best = best_of(S.Box(-1, 1, dim=1), G.SignFlips(1), failed_at=[3])
    axes = best.plot(label="loss").axes[1]
    lines = drawn(axes)
    assert {tuple(row) for row in lines["measured"]} == set(
        zip(best.history.points[:, 0], best.history.values, strict=True)
    )
    np.testing.assert_array_equal(lines["its images"], [[-best.point[0], 4.25]])
    np.testing.assert_array_equal(lines["1 failed"][:, 0], best.history.failed[:, 0])
    (bar,) = axes.containers
    (segment,) = bar.lines[2][0].get_segments()
    np.testing.assert_allclose(segment, [[best.point[0], 3.5], [best.point[0], 4.75]])
    assert axes.get_ylabel() == "loss"


def test_others_are_lines_of_folded_points():
    space, group = S.Box(0, 10, dim=5), G.Symmetric(5)
    best = best_of(space, group, failed_at=[2])
    figure = best.plot(names=list("abcde"))
    axes = figure.axes[1]
    measured, failed = axes.collections
    order = np.argsort(best.history.values, kind="stable")
    heights = np.array([line[:, 1] for line in measured.get_segments()])
    np.testing.assert_allclose(heights, group.fold(best.history.points[order]))
    np.testing.assert_array_equal(measured.get_array(), best.history.values[order])
    np.testing.assert_allclose(failed.get_segments()[0][:, 1], group.fold(best.history.failed[0]))
    np.testing.assert_allclose(drawn(axes)["recommended"], np.c_[np.arange(1, 6), group.fold(best.point)])
    assert [tick.get_text() for tick in axes.get_xticklabels()] == list("abcde")
    assert "folded" in axes.get_title()


def test_coordinates_of_different_ranges_are_shares_of_them():
    low, high = np.arange(40.0), np.arange(40.0) + np.geomspace(1e-3, 1e6, 40)
    best = best_of(S.Box(low, high), values=np.ones(8))
    figure = best.plot()
    heights = np.array([line[:, 1] for line in figure.axes[1].collections[0].get_segments()])
    np.testing.assert_allclose(heights, (best.history.points - low) / (high - low), atol=1e-9)
    assert len(figure.axes) == 2  # no scale of colours for one value
    assert "folded" not in figure.axes[1].get_title()


def test_small_ranges_are_told_apart():
    tiny = S.Box([0, 0, 0], [1e-12, 2e-12, 1e-12])
    assert best_of(tiny).plot().axes[1].get_ylabel() == "share of its range"
    assert best_of(S.Box(0, 1e-12, dim=3)).plot().axes[1].get_ylabel() == "coordinate"


def test_of_many_evaluations_those_of_every_rank_are_drawn():
    points = S.Box(0, 1, dim=2).sample(2000, 0)
    best = best_of(S.Box(0, 1, dim=2), points=points, values=points[:, 0])
    left, right = best.plot().axes[:2]
    assert len(drawn(left)["measured"]) == 2000
    values = right.collections[0].get_array()
    assert len(values) == 500
    assert (values[0], values[-1]) == (points[:, 0].min(), points[:, 0].max())
    assert np.diff(values).max() < 0.02


# --- searches ---


@pytest.mark.parametrize(
    "space",
    [
        S.Box(0, 1, dim=1),
        S.Ball(3),
        S.Simplex(2),
        S.Simplex(4),
        S.Polytope([[0, 0], [2, 0], [0, 1]]),
        S.Polytope.regular("icosahedron"),
        S.Product(S.Ball(2), S.Box(80, 120, dim=1)),
        S.Ball(40),
    ],
    ids=repr,
)
@pytest.mark.parametrize("budget", [1, 3])
def test_every_space_and_short_searches(space, budget, tmp_path):
    best = ob.minimize(lambda x: 1e6 * float(x[0]), space, budget=budget, seed=0)
    figure = best.plot(tmp_path / "search.png")
    assert drawn(figure.axes[0])["measured"].shape == (budget, 2)
    assert (tmp_path / "search.png").stat().st_size > 10_000


def test_a_search_that_goes_on_under_constraints_with_failures():
    space, group = S.Box([0, 0], [2000, 1000]) ** 3, G.BlockPermutation(3, 2)
    before = best_of(space, group, failed_at=[0, 5]).history
    count = iter(range(10))

    def measure(layout):
        if next(count) == 1:
            raise OSError("crashed")
        return float(layout.std())

    best = ob.maximize(
        measure,
        space,
        group,
        budget=4,
        history=before,
        feasible=lambda x: 1500 - x[:, ::2].max(axis=1),
        failures="avoid",
        seed=0,
    )
    figure = best.plot()
    np.testing.assert_array_equal(drawn(figure.axes[0])["3 failed"][:, 0], [1, 6, 12])
    np.testing.assert_array_equal(drawn(figure.axes[1])["units recommended"], best.point.reshape(3, 2))


# --- files and notebooks ---


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("new/b.SVG", b"<?xml"), ("c.pdf", b"%PDF")])
def test_it_is_saved(tmp_path, name, start):
    best_of(S.Ball(2)).plot(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_what_is_no_picture_is_refused_before_anything_is_drawn(tmp_path, monkeypatch):
    best = best_of(S.Box(0, 1, dim=3))
    for names, kind in ((["a"], InputError), ("abc", InputTypeError), ([1, 2, 3], InputTypeError)):
        with pytest.raises(kind, match="names"):
            best.plot(names=names)
    with pytest.raises(InputError, match="two, of the coordinates of the plane"):
        best_of(S.Ball(2) ** 2).plot(names=list("abcd"))
    monkeypatch.setattr("orbandit.optimize.draw_search", None)
    with pytest.raises(InputError, match=r"one of .png, .svg, .pdf, but got 'a.jpeg'"):
        best.plot(tmp_path / "new" / "a.jpeg")
    with pytest.raises(InputTypeError, match="must be a str or a path"):
        best.plot(3)
    assert not list(tmp_path.iterdir())


def test_results_of_an_older_version_say_what_they_lack():
    best = best_of(S.Ball(2))
    assert pickle.loads(pickle.dumps(best)).plot().axes
    old = Best.__new__(Best)
    old.__dict__.update({name: vars(best)[name] for name in ("point", "value", "history", "interrupted")})
    with pytest.raises(InputError, match="needs the space"):
        old.plot()


def test_a_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "orbandit.pictures.shown_figure", raising=False)
    with pytest.raises(MissingExtraError, match="with the extra `plot`"):
        best_of(S.Ball(2)).plot()


def test_a_notebook_shows_it_once():
    """By itself, and not by pyplot, which would show it again."""
    from matplotlib import pyplot

    figure = best_of(S.Ball(2)).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert pyplot.get_fignums() == []
