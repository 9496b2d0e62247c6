"""Every space: membership, uniform samples, nearest points, volume, diameter, bounds, support."""

import math

import numpy as np
import pytest
from scipy import spatial
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from scipy.stats import ks_2samp, kstest

import orbandit as ob
from cases import SPACES, S
from orbandit.errors import InputError, InputTypeError
from orbandit.spaces import Space, polytope
from orbandit.spaces.scaled import Scaled

all_spaces = pytest.mark.parametrize("name", SPACES)


def directions(space, size, seed):
    return np.random.default_rng(seed).standard_normal((size, space.dim))


@all_spaces
def test_samples_lie_inside_and_repeat_with_their_seed(name):
    space = SPACES[name]()
    points = space.sample(500, 0)
    assert points.shape == (500, space.dim)
    assert space.contains(points, tol=1e-12).all()
    low, high = space.bounds
    assert ((points >= low - 1e-12) & (points <= high + 1e-12)).all()
    np.testing.assert_array_equal(points, space.sample(500, np.random.default_rng(0)))
    assert space.sample(0, 0).shape == (0, space.dim)
    rng = np.random.default_rng(0)
    assert not np.array_equal(space.sample(5, rng), space.sample(5, rng))


@all_spaces
def test_points_pushed_outside_are_not_contained(name):
    space = SPACES[name]()
    for u in directions(space, 20, seed=1):
        beyond = space.project(u * 100)
        outward = (u * 100 - beyond) / np.linalg.norm(u * 100 - beyond)
        assert space.contains(beyond)
        assert not space.contains(beyond + 1e-6 * outward)
        assert space.contains(beyond + 1e-6 * outward, tol=1e-5)


@all_spaces
def test_volumes_of_halves_match_samples_of_a_box(name):
    """Uniform samples and an independent sampler agree on random half-spaces through the space."""
    space = SPACES[name]()
    points, rejected = space.sample(20_000, 2), by_rejection(space, 4_000, seed=3)
    for u in directions(space, 10, seed=4):
        level = np.median(rejected @ u)
        share, expected = (points @ u < level).mean(), (rejected @ u < level).mean()
        # Two binomial errors of at most 0.0035 and 0.0079: 0.035 is four of their joint deviation.
        assert abs(share - expected) < 0.035


@all_spaces
def test_moments_of_samples(name):
    space = SPACES[name]()
    points, rejected = space.sample(20_000, 5), by_rejection(space, 4_000, seed=6)
    error = 5 * space.diameter / math.sqrt(len(rejected))
    np.testing.assert_allclose(points.mean(axis=0), rejected.mean(axis=0), atol=error / 2)
    np.testing.assert_allclose(np.cov(points.T), np.cov(rejected.T), atol=error * space.diameter / 4)


def by_rejection(space, size, seed):
    """Draw uniform points from the bounding box, in the plane sum x = 1 for simplices, and keep those inside."""
    if isinstance(space, S.Product):
        return np.hstack([by_rejection(part, size, seed + i) for i, part in enumerate(space.parts)])
    rng = np.random.default_rng(seed)
    low, high = space.bounds
    kept = np.empty((0, space.dim))
    while len(kept) < size:
        box = rng.uniform(low, high, size=(100_000, space.dim))
        if isinstance(space, S.Simplex):  # free coordinates uniform, the last one determined
            box[:, -1] = 1 - box[:, :-1].sum(axis=1)
        kept = np.vstack([kept, box[space.contains(box)]])
    return kept[:size]


def test_every_direction_of_an_irregular_polytope_is_sampled_uniformly():
    """Two-sample Kolmogorov-Smirnov tests against rejection: cones of unequal size must get unequal shares."""
    corners = np.random.default_rng(1).standard_normal((9, 4)) * [1.0, 0.3, 2.0, 0.7]
    for space in (S.Polytope([[0, 0], [3, 0.1], [0.2, 1], [-0.4, 0.1]]), S.Polytope(corners)):
        points, rejected = space.sample(20_000, 2), by_rejection(space, 20_000, seed=3)
        p_values = [ks_2samp(points @ u, rejected @ u).pvalue for u in directions(space, 20, seed=4)]
        assert min(p_values) > 1e-4  # 40 tests in all: the level is 0.004


def test_known_distributions():
    radii = np.linalg.norm(S.Ball(3, radius=2.0).sample(5000, 0), axis=1)
    assert kstest((radii / 2) ** 3, "uniform").pvalue > 0.001
    shares = S.Simplex(4).sample(5000, 0)[:, 0]
    assert kstest(1 - (1 - shares) ** 3, "uniform").pvalue > 0.001


@all_spaces
def test_projection_against_a_quadratic_program(name):
    space = SPACES[name]()
    rng = np.random.default_rng(7)
    low, high = space.bounds
    points = rng.uniform(low - 1.5, high + 1.5, size=(12, space.dim))
    normals, offsets = space.halfspaces()
    constraints = [{"type": "ineq", "fun": lambda x: offsets - normals @ x, "jac": lambda x: -normals}]
    for part, center, radius in space.ball_constraints():
        constraints.append(
            {"type": "ineq", "fun": lambda x, p=part, c=center, r=radius: r**2 - ((x[p] - c) ** 2).sum()}
        )
    start = space.sample(1, 8)[0]
    for point, nearest in zip(points, space.project(points), strict=True):
        assert space.contains(nearest, tol=1e-9)
        solution = minimize(
            lambda x, p=point: ((x - p) ** 2).sum(),
            start,
            jac=lambda x, p=point: 2 * (x - p),
            constraints=[c for c in constraints if len(normals) or "jac" not in c],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert np.linalg.norm(nearest - point) <= math.sqrt(solution.fun) + 1e-7
        np.testing.assert_allclose(nearest, solution.x, atol=2e-4)


@all_spaces
def test_projection_obeys_the_obtuse_angle_criterion(name):
    """The nearest point p of x is the only one of the space with <x - p, y - p> <= 0 for all y in it."""
    space = SPACES[name]()
    rng = np.random.default_rng(9)
    points = 3 * space.diameter * rng.standard_normal((200, space.dim))
    nearest = space.project(points)
    assert space.contains(nearest).all()
    outward = points - nearest
    scale = np.linalg.norm(outward, axis=1) * space.diameter
    assert (space.support(outward) - (outward * nearest).sum(axis=1) <= 1e-9 * scale).all()
    np.testing.assert_allclose(space.project(nearest), nearest, atol=1e-12)
    inside = space.sample(50, 10)
    np.testing.assert_allclose(space.project(inside), inside, atol=1e-12)


@all_spaces
def test_support_bounds_and_diameter(name):
    space = SPACES[name]()
    points = space.sample(2000, 11)
    u = directions(space, 30, seed=12)
    assert ((points @ u.T).max(axis=0) <= space.support(u) + 1e-12).all()
    low, high = space.bounds
    np.testing.assert_allclose(space.support(np.eye(space.dim)), high, atol=1e-12)
    np.testing.assert_allclose(-space.support(-np.eye(space.dim)), low, atol=1e-12)
    widths = space.support(u) + space.support(-u)
    assert (widths <= space.diameter * np.linalg.norm(u, axis=1) + 1e-9).all()
    # The diameter is reached by corners, which are the farthest points in some directions.
    corners = np.array([extreme_point(space, v) for v in directions(space, 400, seed=13)])
    assert pdist(corners).max() == pytest.approx(space.diameter, rel=0.02)
    assert pdist(corners).max() <= space.diameter + 1e-9


@all_spaces
def test_the_farthest_point_is_an_extreme_one(name):
    space = SPACES[name]()
    for point in 2 * directions(space, 5, seed=14):
        # The farthest point is extreme in the direction in which it lies: look there again and
        # again.
        reached = 0.0
        for y in space.sample(20, 15):
            for _ in range(30):
                y = extreme_point(space, y - point)
            reached = max(reached, np.linalg.norm(y - point))
        assert reached == pytest.approx(space.farthest_distance(point), rel=1e-6)


def extreme_point(space, direction):
    """The point of the space farthest along a direction: the projection of a point far out there."""
    return space.project(1e4 * space.diameter * direction)


def test_volumes():
    golden = (1 + math.sqrt(5)) / 2
    volumes = {
        "interval": 3.0,
        "box": 1 * 4 * 0.5,
        "disk": math.pi * 2.25,
        "ball in 5-D": 8 * math.pi**2 / 15,
        "1-D ball": 1.0,
        "simplex 2": math.sqrt(2),
        "simplex 4": 2 / 6,
        "1-D polytope": 2.0,
        "thin triangle": 0.025,
        "tetrahedron": 8 * math.sqrt(3) / 27,
        "cube": (2 / math.sqrt(3)) ** 3,
        "octahedron": 4 / 3,
        "dodecahedron": (15 + 7 * math.sqrt(5)) / 4 * (4 / (math.sqrt(15) + math.sqrt(3))) ** 3,
        "icosahedron": 5 * golden**2 / 6 * (2 / math.sqrt(golden * math.sqrt(5))) ** 3,
        "pentagon": 5 / 2 * math.sin(2 * math.pi / 5),
        "4-D cross": 2**4 / 24,
        "product": math.pi * math.sqrt(3) / 2,
        "nested product": math.pi * 4 * math.pi * 3 * math.sqrt(3) / 4,
    }
    assert {name: SPACES[name]().volume for name in SPACES} == pytest.approx(volumes)


@pytest.mark.parametrize(
    ("name", "vertices", "facets"),
    [
        ("tetrahedron", 4, 4),
        ("cube", 8, 6),
        ("octahedron", 6, 8),
        ("dodecahedron", 20, 12),
        ("icosahedron", 12, 20),
        ("polygon-9", 9, 9),
    ],
)
def test_regular_polytopes(name, vertices, facets):
    space = S.Polytope.regular(name)
    assert len(space.vertices) == vertices
    assert len(space.halfspaces()[0]) == facets
    np.testing.assert_allclose(np.linalg.norm(space.vertices, axis=1), 1, atol=1e-15)
    np.testing.assert_allclose(space.vertices.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(space.halfspaces()[1], space.halfspaces()[1][0])  # one inradius


def test_intrinsic_dimension():
    assert (S.Simplex(4).dim, S.Simplex(4).intrinsic_dim) == (4, 3)
    assert SPACES["product"]().intrinsic_dim == 2 + 2 + 1
    assert SPACES["product"]().dim == 6


def test_points_that_are_no_corners_are_dropped():
    square = S.Polytope([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5], [0.2, 0.1]])
    assert len(square.vertices) == 4


def test_far_and_large_polytopes_keep_their_shape():
    icosahedron = S.Polytope.regular("icosahedron")
    moved = S.Polytope(1000 * icosahedron.vertices + 5000)
    assert moved.volume == pytest.approx(1e9 * icosahedron.volume)
    points = moved.sample(200, 0)
    assert moved.contains(points).all()
    assert len(moved.halfspaces()[0]) == 20
    np.testing.assert_allclose(
        moved.project(1000 * np.eye(3) + 7000), 5000 + 1000 * icosahedron.project(np.eye(3) + 2), rtol=1e-9
    )


def test_far_away_nothing_is_lost():
    corners = np.array([[0, 0], [1, 0], [0.3, 1]]) + 1e8
    assert S.Polytope(corners).contains(corners).all()
    simplex = S.Simplex(3)
    for point in ([1e8, 1e8 - 0.3, 5], [1e17, 0, 0], [-1e17, 0, 0]):
        assert simplex.contains(simplex.project(point))
    np.testing.assert_allclose(simplex.project([1e8, 1e8 - 0.3, 5]), [0.65, 0.35, 0], atol=1e-7)
    huge = S.Polytope(1e100 * S.Polytope.regular("cube").vertices)
    assert huge.contains(huge.project([1e101, 0.0, 0.0]), tol=1e85)


def test_many_corners_need_little_memory():
    assert S.Polytope.regular("polygon-20000").diameter == pytest.approx(2.0)


def test_single_points_drop_the_batch_axis():
    box = S.Box(0, 1, dim=2)
    assert box.contains([0.5, 0.5]).shape == ()
    assert box.project([2.0, 2.0]).shape == (2,)
    assert np.ndim(box.support([1.0, 0.0])) == 0
    assert box.contains([[0.5, 0.5]]).shape == (1,)


@all_spaces
def test_points_are_checked(name):
    space = SPACES[name]()
    for call in (space.contains, space.project, space.support):
        with pytest.raises(InputError, match=rf"must have shape \({space.dim},\)"):
            call(np.zeros(space.dim + 1))
        with pytest.raises(InputError, match="finite, but got nan at index"):
            call(np.full(space.dim, np.nan))
    with pytest.raises(InputError, match="`tol >= 0`"):
        space.contains(np.zeros(space.dim), tol=-1.0)
    with pytest.raises(InputError, match="`size >= 0`"):
        space.sample(-1, 0)
    with pytest.raises(InputTypeError, match="rng"):
        space.sample(1, None)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: S.Box(0, 1), "or numbers and `dim`"),
        (lambda: S.Box(1, 1, dim=2), "`low < high` must hold, but got low=1.0, high=1.0 in coordinate 0"),
        (lambda: S.Box([0, 2], [1, 1]), "low=2.0, high=1.0 in coordinate 1"),
        (lambda: S.Box([0, 0], [1, 1, 1]), "one shape"),
        (lambda: S.Box([0, 0], 1, dim=3), "one shape"),
        (lambda: S.Box([0.0], [1.0], dim=2), "bounds of one shape"),
        (lambda: S.Box([], []), "bounds of one shape"),
        (lambda: S.Box(0, np.inf, dim=1), "`high` must be finite"),
        (lambda: S.Box(0, 1, dim=0), "`dim >= 1`"),
        (lambda: S.Ball(0), "`dim >= 1`"),
        (lambda: S.Ball(2, radius=0.0), "`radius > 0`"),
        (lambda: S.Ball(2, radius=-1.0), "radius=-1.0"),
        (lambda: S.Ball(2, center=[0.0]), r"shape \(2,\)"),
        (lambda: S.Simplex(1), "`dim >= 2`"),
        (lambda: S.Polytope([[0, 0], [1, 1], [2, 2]]), "flat of dimension 1"),
        (lambda: S.Polytope([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), "must span R\\^3"),
        (lambda: S.Polytope([[1.0, 1.0]]), "flat of dimension 0"),
        (lambda: S.Polytope([0.0, 1.0]), r"shape \(k, dim\)"),
        (lambda: S.Polytope([[0, 0], [1, np.nan], [0, 1]]), "`vertices` must be finite"),
        (lambda: S.Polytope.regular("icosahedra"), "Did you mean 'icosahedron'"),
        (lambda: S.Polytope.regular("polygon-2"), "m >= 3, but got 'polygon-2'"),
        (lambda: S.Polytope.regular("polygon-x"), "m >= 3"),
        (lambda: S.Polytope.regular(["cube"]), "unknown regular polytope \\['cube'\\]"),
        (lambda: S.Product(), "at least one space"),
        (lambda: S.Ball(2) ** 0, "`copies >= 1`"),
        *[
            (make, "`(dim|copies|copies [*] space.dim) <= 100,000` must hold, but got")
            for n in (100_001, 10**20, 10**400, 10**5000)
            for make in (
                lambda n=n: S.Box(0, 1, dim=n),
                lambda n=n: S.Ball(n),
                lambda n=n: S.Simplex(n),
                lambda n=n: S.Ball(2) ** (n // 2 + 1),
            )
        ],
        *[(lambda d=d: S.Polytope.regular(f"polygon-{d}"), "m <= 1,000,000") for d in ("1000001", "9" * 5001)],
        (lambda: S.Ball(2).sample(10**18, 0), r"shape \(1000000000000000000, 2\), of more than 536,870,912 numbers"),
        (lambda: S.Ball(2).sample(10**20, 0), "`size <= 9,223,372,036,854,775,807`"),
        (lambda: S.Box(0, 1, dim=100_000).halfspaces(), "a matrix would be an array of shape"),
        (lambda: (S.Simplex(2) ** 50_000).frame(), "of the product would be an array of shape"),
    ],
)
def test_bad_spaces_are_refused(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert isinstance(caught.value, ValueError)


def test_powers_are_products_of_copies():
    power, product = S.Simplex(3) ** 4, S.Product(*[S.Simplex(3)] * 4)
    assert isinstance(power, S.Product)
    assert repr(power) == repr(product)
    np.testing.assert_array_equal(power.sample(5, 0), product.sample(5, 0))
    assert len((power**2).parts) == 8
    for bad in (2.0, "2", True, None):
        with pytest.raises(InputTypeError, match="`copies` must be an integer"):
            S.Ball(2) ** bad


def test_masked_points_are_refused_with_the_remedy():
    mask = [[False, False], [True, False]]
    rows = np.ma.array([[0.1, 0.2], [99.0, 0.4]], mask=mask)
    box = S.Box(0, 1, dim=2)
    for given in (rows, list(rows), [[0.1, 0.2], rows[1]], rows[1]):
        with pytest.raises(
            InputError, match=r"`points` must have no masked entries.*drop those rows.*`\.filled\(\.\.\.\)`"
        ):
            box.contains(given)
    with pytest.raises(InputError, match="`low` must have no masked entries"):
        S.Box(np.ma.masked, 1, dim=2)
    assert box.contains(np.ma.array([0.1, 0.2], mask=False))


def test_messages_quote_the_first_entries_only():
    many = S.Box(0, 1, dim=50_000)
    calls = [
        lambda: ob.groups.Symmetric(2).preserves(many),
        lambda: ob.groups.Symmetric(2).preserves([0.5] * 100_000),
        lambda: ob.groups.Permutation([*range(49_999), 0]),
        lambda: ob.groups.Matrix(np.full((500, 500), 0.1)),
        lambda: S.Box(0, 1, dim=[1] * 100_000),
        lambda: S.Ball([0.5] * 100_000),
        lambda: S.Ball(2, radius=np.ones(100_000)),
        lambda: S.Polytope.regular("x" * 100_000),
        lambda: ob.agents.HOO(S.Box(0, 1, dim=2), reward_range=[0.5] * 100_000),
    ]
    for call in calls:
        with pytest.raises(ob.errors.OrbanditError) as caught:
            call()
        assert len(str(caught.value)) < 1000


def test_values_without_a_repr_are_refused_like_others():
    class Mute:
        def __repr__(self):
            raise RuntimeError("no words")

    with pytest.raises(InputTypeError, match="made of spaces, but got <Mute without a repr>"):
        S.Product(S.Ball(2), Mute())


def test_wrong_types_are_refused():
    with pytest.raises(InputTypeError, match="made of spaces, but got 2"):
        S.Product(S.Ball(2), 2)
    with pytest.raises(InputTypeError, match="`low` must be real numbers"):
        S.Box("a", "b", dim=2)
    assert issubclass(InputTypeError, TypeError)
    assert issubclass(InputTypeError, ob.errors.OrbanditError)


def test_representations():
    assert repr(S.Box(0, 1, dim=2)) == "Box([0.0, 0.0], [1.0, 1.0])"
    assert repr(S.Ball(2)) == "Ball(2, radius=1.0)"
    assert repr(S.Ball(1, 2.0, [3.0])) == "Ball(1, radius=2.0, center=[3.0])"
    assert repr(S.Product(S.Simplex(2), S.Simplex(3))) == "Product(Simplex(2), Simplex(3))"
    assert repr(S.Polytope.regular("cube")) == "Polytope(<8 vertices in R^3>)"


def class_units(space, sizes):
    """One unit for each class of coordinates."""
    classes = space.unit_classes
    return np.resize(sizes, classes.max() + 1)[classes]


@all_spaces
@pytest.mark.parametrize("sizes", [[3.0, 0.07], [2.0**-9, 2.0**5]])
def test_other_units_are_the_same_set(name, sizes):
    space = SPACES[name]()
    units = class_units(space, sizes)
    other = space.in_units(units)
    points = np.concatenate([space.sample(200, 7), space.project(directions(space, 50, 8) * 5)])
    np.testing.assert_allclose(other.bounds, [side / units for side in space.bounds], rtol=1e-12, atol=1e-12)
    assert other.contains(points / units, tol=1e-9 * other.diameter).all()
    inside = other.sample(200, 9)
    assert space.contains(inside * units, tol=1e-9 * space.diameter).all()
    ways = directions(space, 30, 10)
    np.testing.assert_allclose(other.support(ways), space.support(ways / units), rtol=1e-9, atol=1e-9)
    factor = np.prod([1 / units[np.flatnonzero(space.unit_classes == c)[0]] for c in space.unit_classes])
    if space.intrinsic_dim == space.dim:
        assert other.volume == pytest.approx(space.volume * factor, rel=1e-9)


@all_spaces
@pytest.mark.parametrize("size", [2.0**600, 2.0**-600])
def test_sizes_whose_squares_are_no_numbers(name, size):
    """Whatever is asked of a space 1e180 times as large, or as small, the answer is that of the space, scaled."""
    space = SPACES[name]()
    other = space.in_units(np.full(space.dim, 1 / size))
    assert other.diameter == pytest.approx(size * space.diameter, rel=1e-12)
    points = np.concatenate([space.sample(50, 11), directions(space, 50, 12)])
    tol = 1e-9 * space.diameter
    np.testing.assert_array_equal(other.contains(points * size, tol=tol * size), space.contains(points, tol=tol))
    np.testing.assert_allclose(other.project(points * size) / size, space.project(points), atol=1e-9)
    np.testing.assert_allclose(other.sample(20, 13) / size, space.sample(20, 13), atol=1e-9)
    np.testing.assert_allclose(other.support(points) / size, space.support(points), atol=1e-9)
    assert other.farthest_distance(points[0] * size) == pytest.approx(
        size * space.farthest_distance(points[0]), rel=1e-9
    )
    assert other.volume >= 0


@all_spaces
@pytest.mark.parametrize("unit", [0.25, 3.0, 2.0**-600])
def test_a_space_that_knows_no_other_way_is_scaled_by_one_unit(name, unit):
    space = SPACES[name]()
    units = np.full(space.dim, unit)
    known, wrapped = space.in_units(units), Scaled(space, unit)
    points = np.concatenate([space.sample(50, 11), directions(space, 50, 12)]) / unit
    for one, other in [
        (wrapped.bounds, known.bounds),
        (wrapped.project(points), known.project(points)),
        (wrapped.support(points * unit), known.support(points * unit)),
        (wrapped.sample(9, 3), known.sample(9, 3)),
        (wrapped.diameter, known.diameter),
        (wrapped.farthest_distance(points[0]), known.farthest_distance(points[0])),
        (wrapped.frame()[0], known.frame()[0]),
        (wrapped.halfspaces()[1], known.halfspaces()[1]),
    ]:
        np.testing.assert_allclose(np.array(one) * unit, np.array(other) * unit, atol=1e-9)
    tol = 1e-9 * known.diameter
    np.testing.assert_array_equal(wrapped.contains(points, tol), known.contains(points, tol))
    assert (wrapped.dim, wrapped.intrinsic_dim) == (known.dim, known.intrinsic_dim)
    assert wrapped.volume == pytest.approx(known.volume)
    assert Space._in_units(space, units).diameter == wrapped.diameter
    assert wrapped.in_units(1 / units).diameter == pytest.approx(space.diameter)
    for one, other in zip(wrapped.ball_constraints(), known.ball_constraints(), strict=True):
        np.testing.assert_allclose(one[1] * unit, other[1] * unit, atol=1e-12)
        assert (one[0], one[2]) == (other[0], pytest.approx(other[2]))


def test_units_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="one unit"):
        S.Product(S.Ball(2), S.Box(0, 1, dim=1)).in_units([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="positive"):
        S.Box(0, 1, dim=2).in_units([1.0, 0.0])


def test_spaces_too_wide_for_numbers_are_refused():
    with pytest.raises(InputError, match=r"low=-1e\+308, high=1e\+308 in coordinate 1"):
        S.Box([0.0, -1e308], [1.0, 1e308])
    with pytest.raises(InputError, match="radius"):
        S.Ball(2, radius=1e308)


def test_the_total_of_a_simplex():
    budget = S.Simplex(4, total=60.0)
    points = budget.sample(100, 0)
    np.testing.assert_allclose(points.sum(axis=1), 60.0)
    np.testing.assert_allclose(points, 60 * S.Simplex(4).sample(100, 0))
    np.testing.assert_allclose(budget.project(points + 7.0), points, atol=1e-12)
    assert repr(budget) == "Simplex(4, total=60.0)"
    assert budget.volume == pytest.approx(60**3 * S.Simplex(4).volume)
    with pytest.raises(InputError, match="total"):
        S.Simplex(3, total=0.0)


def test_polytopes_with_too_many_facets_are_refused_before_they_are_made(monkeypatch):
    # a cyclic polytope: as many facets as there can be
    curve = np.linspace(-1, 1, 60)[:, None] ** np.arange(1, 7)
    assert len(S.Polytope(curve)._facets) == polytope._most_facets(60, 6) == 30_800
    sizes = []
    monkeypatch.setattr(polytope, "MAX_FACETS", 2_000)
    monkeypatch.setattr(
        spatial, "ConvexHull", lambda points, hull=spatial.ConvexHull: sizes.append(len(points)) or hull(points)
    )
    with pytest.raises(InputError, match="at most 2,000 facets"):
        S.Polytope(curve)
    assert max(sizes) < 40


def test_polytopes_with_many_points_and_few_facets_are_not_refused(monkeypatch):
    monkeypatch.setattr(polytope, "MAX_FACETS", 200)
    rng = np.random.default_rng(0)
    cross = np.vstack([np.eye(5), -np.eye(5)])
    points = np.vstack([0.1 * rng.standard_normal((300, 5)).clip(-1, 1), cross])
    assert polytope._most_facets(*points.shape) > 200
    assert len(S.Polytope(points)._facets) == 32
    assert S.Polytope(points).vertices.tolist() == cross.tolist()
