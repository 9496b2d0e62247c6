"""FeasibleSet: points drawn and brought back are feasible, and drawn by the law that is stated."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, InputTypeError
from orbandit.spaces.feasible_set import FeasibleSet

SQUARE = ob.spaces.Box(0.0, 1.0, dim=2)


def spacing(units, least):
    """Return the margin of the distances between planar units."""
    i, j = np.triu_indices(units, 1)

    def margins(points):
        layouts = points.reshape(len(points), units, 2)
        return np.linalg.norm(layouts[:, i] - layouts[:, j], axis=2).min(axis=1) - least

    return margins


RULES = {
    "half": (SQUARE, lambda x: x[:, 0] - x[:, 1]),
    "ring": (SQUARE, lambda x: 0.02 - np.abs(np.linalg.norm(x - 0.5, axis=1) - 0.3)),
    "pieces": (SQUARE, lambda x: np.sin(20 * x[:, 0]) * np.sin(20 * x[:, 1]) - 0.8),
    "yes or no": (SQUARE, lambda x: (np.abs(x - 0.5).max(axis=1) > 0.4) & (x[:, 0] > 0.05)),
    "steps": (SQUARE, lambda x: np.floor(5 * x).sum(axis=1) - 6.0),
    "needle": (SQUARE, lambda x: 1e-3 - np.abs(x - [0.3, 0.8]).max(axis=1)),
    "units": (ob.spaces.Ball(2) ** 7, spacing(7, 0.8)),
    "flat": (ob.spaces.Simplex(4), lambda x: 0.1 - x.max(axis=1) + 0.3),
    "the space's own border": (ob.spaces.Ball(3), lambda x: 1 - np.linalg.norm(x, axis=1)),
}


def units_of(space):
    return None if space.dim != 14 else list(np.arange(14).reshape(7, 2))


@pytest.mark.parametrize("name", RULES)
def test_what_is_drawn_and_brought_is_feasible_and_in_the_space(name):
    space, rule = RULES[name]
    region, rng = FeasibleSet(space, rule, units_of(space)), np.random.default_rng(0)
    drawn = region.sample(100, rng)
    assert drawn.shape == (100, space.dim)
    steps = rng.standard_normal(drawn.shape) * space.diameter * np.geomspace(1e-6, 3, 100)[:, None]
    brought = region.brought(drawn + steps, drawn)
    for points in (drawn, brought):
        assert region.holds(points).all()
        assert space.contains(points, tol=1e-12).all()
    short = np.linalg.norm(steps, axis=1) < 1e-4 * space.diameter
    assert (np.linalg.norm(brought - drawn, axis=1)[short] <= 2e-4 * space.diameter).all()


def test_a_feasible_point_stays_where_it_is():
    region = FeasibleSet(SQUARE, lambda x: x[:, 0] - 0.5)
    points = np.array([[0.7, 0.2], [0.5, 0.9]])
    assert np.allclose(region.brought(points, points), points, rtol=0, atol=1e-9)


def test_a_margin_is_followed_and_not_only_backed_away_from():
    """The way back from beyond a wall keeps the move along it; a rule of yes and no can only stop on the segment."""
    origin, target = np.array([[0.6, 0.1]]), np.array([[0.2, 0.9]])
    follows = FeasibleSet(SQUARE, lambda x: x[:, 0] - 0.5).brought(target, origin)
    stops = FeasibleSet(SQUARE, lambda x: x[:, 0] >= 0.5).brought(target, origin)
    assert np.allclose(follows, [[0.5, 0.9]], atol=1e-6)
    assert np.allclose(stops, [[0.5, 0.3]], atol=1e-3)


def test_without_a_rule_everything_is_the_spaces_own():
    region, points = FeasibleSet(SQUARE), np.array([[1.5, 0.3]])
    assert np.array_equal(region.brought(points, points), [[1.0, 0.3]])
    assert np.array_equal(region.sample(3, np.random.default_rng(1)), SQUARE.sample(3, np.random.default_rng(1)))
    assert region.holds(points).all()
    assert region.is_whole


def test_the_law_of_draws_is_uniform_on_the_set():
    """Units far apart are rare, so that the Gibbs sampler draws them; plain rejection is the slow twin."""
    space, rule = ob.spaces.Box(0.0, 1.0, dim=8), spacing(4, 0.55)
    region = FeasibleSet(space, rule, list(np.arange(8).reshape(4, 2)))
    drawn = region.sample(4_000, np.random.default_rng(0))
    many = space.sample(400_000, np.random.default_rng(1))
    twin = many[rule(many) >= 0]
    assert 200 < len(twin) < 0.02 * len(many)  # rarer than draws would find
    for statistic in (rule, lambda x: np.abs(x - 0.5).mean(axis=1), lambda x: x[:, 0]):
        ours, theirs = np.sort(statistic(drawn)), np.sort(statistic(twin))
        levels = np.linspace(0.1, 0.9, 9)
        apart = np.abs(np.searchsorted(ours, np.quantile(theirs, levels)) / len(ours) - levels).max()
        assert apart < 0.08


def test_all_pieces_are_drawn():
    corners = FeasibleSet(SQUARE, lambda x: np.abs(x - 0.5).min(axis=1) - 0.45)
    drawn = corners.sample(200, np.random.default_rng(0))
    assert len({(a, b) for a, b in (drawn > 0.5).tolist()}) == 4


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (lambda x: x[0] > 0, "of shape"),
        (lambda x: np.ones((len(x), 1)), "of shape"),
        (lambda x: np.ones(len(x), dtype=int), "int64"),
        (lambda x: [None] * len(x), "object"),
        (lambda x: np.where(x[:, 0] > 0.5, np.nan, 1.0), "NaN, but did at"),
        (lambda x: [1.0 / (row[0] > 0.5) for row in x], "failed at"),
        (lambda x: np.zeros(len(x), dtype=bool), "131,072 random points"),
        (lambda x: x[:, 0] - 3, "the largest is -2"),
    ],
)
def test_rules_that_are_none_are_refused_with_what_went_wrong(rule, said):
    with pytest.raises(InputError, match=said) as caught:
        FeasibleSet(SQUARE, rule).sample(10, np.random.default_rng(0))
    assert caught.value.field == "feasible"


def test_an_exception_is_told_with_the_point_that_raised_it():
    def rule(points):
        if (points[:, 0] > 0.9).any():
            raise RuntimeError("too far east")
        return points[:, 0]

    with pytest.raises(InputError, match=r"at \[0.95, 0.5\]: RuntimeError\('too far east'\)"):
        FeasibleSet(SQUARE, rule).margins(np.array([[0.2, 0.2], [0.95, 0.5]]))


def test_what_is_no_function_is_refused():
    with pytest.raises(InputTypeError, match="must be a function of points, but got 3"):
        FeasibleSet(SQUARE, 3)


def test_a_rule_cannot_change_the_points_it_is_shown():
    def rule(points):
        points[:] = 0.0
        return np.ones(len(points))

    points = np.array([[0.2, 0.3]])
    FeasibleSet(SQUARE, rule).margins(points)
    assert np.array_equal(points, [[0.2, 0.3]])


@pytest.mark.parametrize(("low", "dim"), [(0.9, 5), (0.8, 12), (0.99, 8)])
def test_a_corner_that_several_rules_cut_out_is_found(low, dim):
    """The margin is the least of many, with a kink wherever two are equal: steps must not stall there."""
    box = ob.spaces.Box(0.0, 1.0, dim=dim)
    for seed in range(4):
        drawn = FeasibleSet(box, lambda x: x.min(axis=1) - low).sample(20, np.random.default_rng(seed))
        assert (drawn >= low).all()


@pytest.mark.parametrize("space", [SQUARE, ob.spaces.Simplex(3), ob.spaces.Ball(3)], ids=repr)
def test_a_rule_is_asked_about_points_of_the_space_only(space):
    def rule(points):
        assert space.contains(points, tol=1e-12).all()
        return 0.3 - points[:, 0] - 0.2 * points[:, 1]

    region, rng = FeasibleSet(space, rule), np.random.default_rng(0)
    drawn = region.sample(50, rng)
    brought = region.brought(drawn + rng.standard_normal(drawn.shape), drawn)
    assert region.holds(brought).all()


def test_a_gibbs_sampler_keeps_off_the_border_of_a_ball():
    cap = FeasibleSet(ob.spaces.Ball(3), lambda x: x[:, 0] - 0.93).sample(2_000, np.random.default_rng(0))
    assert (np.linalg.norm(cap, axis=1) > 1 - 1e-6).mean() < 0.01
