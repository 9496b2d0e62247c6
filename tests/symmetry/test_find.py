"""find_symmetry: planted groups are found, and nothing where there is nothing."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, InputTypeError
from orbandit.symmetry import find
from orbandit.symmetry.candidates import default_candidates

G, S = ob.groups, ob.spaces
CUBE = S.Box(0.0, 1.0, dim=4)


def lopsided(x):
    return np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + np.exp(x[:, 3]) - x[:, 1] ** 2


def alike(x):
    return np.cos(3 * x[:, :3]).sum(axis=1) + x[:, :3].prod(axis=1) * x[:, 3]


def units(x):
    blocks = x.reshape(len(x), 3, 2)
    return np.sin(2 * blocks[:, :, 0] + blocks[:, :, 1] ** 2).sum(axis=1) + blocks[:, :, 0].prod(axis=1)


def mirrored(x):
    return np.cos(4 * (x[:, 0] - 0.5)) * (1 + x[:, 1]) + x[:, 2] * x[:, 3] ** 2


def ring(x):
    return ((x - np.roll(x, 1, axis=1)) ** 3 + x * np.roll(x, 1, axis=1)).sum(axis=1)


def waves(x):
    pair = x[:, 0] + 1j * x[:, 1]
    return (pair**3).real + 0.5 * np.abs(pair) ** 2 + 0.5 * x[:, 2]


def measured(function, space, n, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    x = space.sample(n, rng)
    y = function(x)
    return x, y + noise * y.std() * rng.normal(size=n)


@pytest.mark.parametrize(
    ("function", "space", "n", "group"),
    [
        (alike, CUBE, 80, "Product(Symmetric(3), Trivial(1))"),
        (units, S.Box(0.0, 1.0, dim=6), 80, "BlockPermutation(3, 2)"),
        (mirrored, CUBE, 80, "Product(SignFlips(1), Trivial(3)).centered([0.5, 0.0, 0.0, 0.0])"),
        (ring, CUBE, 80, "CyclicShift(4)"),
        (waves, S.Product(S.Ball(2), S.Box(-1.0, 1.0, dim=1)), 100, "Product(Dihedral(3), Trivial(1))"),
        (lopsided, CUBE, 60, "None"),
    ],
)
def test_planted_groups_are_found(function, space, n, group):
    x, y = measured(function, space, n)
    report = ob.find_symmetry(x, y, space)
    assert repr(report.group) == group
    assert bool(report) == (group != "None")
    for row in report.evidence:
        images = (x - 0.5 * sum(space.bounds)) @ row.generators[0].T + 0.5 * sum(space.bounds)
        assert row.accepted == (np.abs(function(images) - function(x)).max() < 1e-9), row
        assert row.asymmetry >= 0
        assert row.accepted or row.log_odds < np.log(1 / report.level)
    if report:
        assert report.group.preserves(space)


def test_units_of_measurement_and_repeated_points_change_nothing():
    x, y = measured(mirrored, CUBE, 60)
    x, y = np.concatenate([x, x[:10]]), np.concatenate([y, y[:10] + 0.01])
    wide = S.Box([0.0, 0.0, 0.0, 0.0], [1.0, 1024.0, 1.0, 4.0])
    here, there = ob.find_symmetry(x, y, CUBE), ob.find_symmetry(x * wide.bounds[1], 8.0 * y - 3.0, wide)
    assert [row.name for row in here.accepted] == [row.name for row in there.accepted] == ["mirrors coordinate 0"]


def test_what_is_broken_is_left_out():
    """The first coordinate is a little unlike the others: images differ by a quarter of what unrelated points do."""
    x, y = measured(lambda x: alike(x) + 0.5 * x[:, 0], CUBE, 100)
    assert repr(ob.find_symmetry(x, y, CUBE).group) == "Product(Trivial(1), Symmetric(2), Trivial(1))"


def test_random_functions_have_no_symmetry():
    """Ten functions and 26 candidates each; at most one in twenty may have a symmetry by chance."""
    for seed in range(10):
        rng = np.random.default_rng([seed, 5])
        frequencies, phases = rng.normal(size=(30, 4)) / 0.7, rng.uniform(0, 2 * np.pi, 30)
        x, y = measured(lambda x, w=frequencies, b=phases: np.cos(x @ w.T + b).sum(axis=1), CUBE, 40, 0.05, seed)
        assert ob.find_symmetry(x, y, CUBE).group is None


def test_one_crash_does_no_harm():
    x, y = measured(alike, CUBE, 80)
    y[3] = -1e9
    assert repr(ob.find_symmetry(x, y, CUBE).group) == "Product(Symmetric(3), Trivial(1))"


def test_candidates_may_be_given():
    x, y = measured(alike, CUBE, 80)
    given = {"three alike": G.Product(G.Symmetric(3), G.Trivial(1)), "all alike": G.Symmetric(4)}
    report = ob.find_symmetry(x, y, CUBE, given)
    assert [(row.name, row.accepted) for row in report.evidence] == [("three alike", True), ("all alike", False)]
    assert repr(report.group) == "Product(Symmetric(3), Trivial(1))"
    swap = np.eye(4)[[1, 0, 2, 3]]
    by_matrix = ob.find_symmetry(x, y, CUBE, [swap, G.SignFlips(4).centered([0.5] * 4)])
    assert [row.name for row in by_matrix.accepted] == ["swaps coordinates 0 and 1"]
    assert repr(by_matrix.group) == "Product(Symmetric(2), Trivial(2))"


def test_a_report_says_what_holds():
    x, y = measured(alike, CUBE, 80)
    text = str(ob.find_symmetry(x, y, CUBE)).splitlines()
    assert text[0] == "3 of 26 candidates hold (80 measurements): Product(Symmetric(3), Trivial(1))"
    assert all(line.startswith("holds  log odds ") for line in text[1:4])
    assert text[-1] == "and 18 less likely"
    assert "swaps coordinates 0 and 1" in text[1]


def test_suggestions_lie_in_the_space_and_settle():
    """With 26 points the symmetry is in doubt; twelve more settle it (fixed seeds)."""
    x, y = measured(alike, CUBE, 26, noise=0.05, seed=1)
    before = ob.find_symmetry(x, y, CUBE)
    points = before.suggest(12)
    np.testing.assert_array_equal(points, before.suggest(12))
    assert points.shape == (12, 4)
    assert CUBE.contains(points).all()
    assert len(np.unique(points, axis=0)) == 12
    assert not before
    after = ob.find_symmetry(np.concatenate([x, points]), np.concatenate([y, alike(points)]), CUBE)
    assert repr(after.group) == "Product(Symmetric(3), Trivial(1))"


def test_what_a_model_believes_is_what_it_predicts_with_its_own_predictions():
    """Against a posterior that each of them is added to."""
    x, y = measured(alike, CUBE, 30, noise=0.05, seed=1)
    report = ob.find_symmetry(x, y, CUBE)
    judge, model = report._judge, report._verdicts[0].lacking
    pool = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 4))
    believer = find._Believer(judge, model, pool)
    posterior, level = judge.posterior(model)
    factor, lengths, noise = model.parameters.signal / level, model.parameters.lengths, model.parameters.noise
    within = factor * model.pool.cross(pool, pool, lengths)
    cross = factor * model.pool.cross(judge.data.features, pool, lengths)
    for place in (3, 11, 3, 0):
        means, variances = posterior.at(cross, within.diagonal())
        np.testing.assert_allclose(believer.predictions(), [means, variances + noise], atol=1e-7)
        posterior.append(cross[:, place].copy(), within[place, place], noise=noise, count=1.0, mean=means[place])
        cross = np.concatenate([cross, within[place : place + 1]])
        believer.believe(place)


def test_what_a_space_does_not_allow_is_no_candidate():
    names = [candidate.name for candidate in default_candidates(S.Simplex(3))]
    assert names == [
        "swaps coordinates 0 and 1",
        "swaps coordinates 0 and 2",
        "swaps coordinates 1 and 2",
        "shifts all coordinates by one place",
    ]
    pentagon = [candidate.name for candidate in default_candidates(S.Polytope.regular("polygon-5"))]
    assert pentagon == ["mirrors coordinate 1", "turns coordinates (0, 1) by 1/5 of a turn"]


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"points": np.zeros((20, 3))}, InputError, "shape"),
        ({"points": np.zeros(4)}, InputError, "one number for each"),
        ({"values": np.zeros(19)}, InputError, "one number for each"),
        ({"values": np.full(20, np.nan)}, InputError, "finite"),
        ({"values": np.ones(20)}, InputError, "must not all be alike"),
        ({"points": np.full((20, 4), 2.0)}, InputError, "must lie in the space"),
        ({"points": np.full((20, 4), 0.5)}, InputError, "at least 10 different rows"),
        ({"space": "box"}, InputTypeError, "one of ob.spaces"),
        ({"level": 1.0}, InputError, "0 < level < 1"),
        ({"candidates": []}, InputTypeError, "list of groups or matrices"),
        ({"candidates": G.Symmetric(4)}, InputTypeError, "list of groups or matrices"),
        ({"candidates": [np.ones((4, 4))]}, InputError, "orthogonal"),
        ({"candidates": [G.Symmetric(3)]}, InputError, "act on 4 coordinates"),
        ({"candidates": [G.SignFlips(4)]}, InputError, "leave the middle"),
        ({"candidates": [G.Product(G.Cyclic(3), G.Trivial(2)).centered([0.5] * 4)]}, InputError, "does not preserve"),
    ],
)
def test_bad_input_is_refused(change, kind, message):
    rng = np.random.default_rng(0)
    good = {"points": rng.random((20, 4)), "values": rng.random(20), "space": CUBE}
    with pytest.raises(kind, match=message):
        ob.find_symmetry(**(good | change))


def test_a_space_without_symmetry_is_refused():
    triangle = S.Polytope([[0.0, 0.0], [1.0, 0.0], [0.2, 3.0]])
    with pytest.raises(InputError, match="no symmetry to look for"):
        ob.find_symmetry(triangle.sample(20, 0), np.arange(20.0), triangle)
