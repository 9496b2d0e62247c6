"""Wind farms: the mean and its slopes by explicit loops, published figures, symmetry, noise, and what search finds."""

import math

import numpy as np
import pytest

import orbandit as ob
from orbandit._kernels.wakes import deficit, deficit_gradient, farm_gradients, farm_power, nearest_pairs
from orbandit.errors import InputError, InputTypeError
from orbandit.problems.wind_farm import ROSES, WindFarm

D, CT, K = 130.0, 8 / 9, 0.0324555
both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])

# The example of 16 turbines in the case study: one in the middle, five on 650 m, ten on 1300 m; and
# its yearly yield in MWh from each of the 16 directions, for turbines of 3.35 MW and 365 days.
EXAMPLE_X = [0, 650, 200.861, -525.861, -525.861, 200.861, 1300, 1051.7221, 401.7221, -401.7221, -1051.7221, -1300]
EXAMPLE_X += [-1051.7221, -401.7221, 401.7221, 1051.7221]
EXAMPLE_Y = [0, 0, 618.1867, 382.0604, -382.0604, -618.1867, 0, 764.1208, 1236.3735, 1236.3735, 764.1208, 0]
EXAMPLE_Y += [-764.1208, -1236.3735, -1236.3735, -764.1208]
YIELDS = [9444.60012, 8497.90004, 11383.32869, 14173.40367, 20979.36776, 25590.86774, 39252.85757, 43197.65856]
YIELDS += [23800.39229, 13539.36766, 15022.89800, 32644.44314, 71157.32322, 18092.10102, 12326.48041, 7838.58128]
RATED = 16 * 3.35 * 8760


def pick(kernel, compiled):
    return kernel if compiled else kernel.py_func


def raw_deficit(dx, dy):
    """The published wake, with its jump at dx = 0."""
    if dx <= 0:
        return 0.0
    sigma = K * dx + D / math.sqrt(8)
    return (1 - math.sqrt(1 - CT / (8 * sigma**2 / D**2))) * math.exp(-((dy / sigma) ** 2) / 2)


def naive_deficit(dx, dy):
    t = min(1.0, max(0.0, dx / D))
    return raw_deficit(dx, dy) * t**2 * (3 - 2 * t)


def naive_power(layout, bearing):
    """The mean share of the rated power of turbines (m, 2) in wind that comes from a bearing in degrees."""
    toward = math.radians(bearing + 180)
    shares = []
    for j, (xj, yj) in enumerate(layout):
        squares = 0.0
        for i, (xi, yi) in enumerate(layout):
            if i != j:
                dx = (xj - xi) * math.sin(toward) + (yj - yi) * math.cos(toward)
                dy = (xj - xi) * math.cos(toward) - (yj - yi) * math.sin(toward)
                squares += naive_deficit(dx, dy) ** 2
        speed = 9.8 * (1 - math.sqrt(squares))
        shares.append(((speed - 4) / 5.8) ** 3 if speed > 4 else 0.0)
    return sum(shares) / len(shares)


def naive_mean(point, frequencies):
    layout = np.asarray(point).reshape(-1, 2).tolist()
    nearest = min(math.dist(a, b) for i, a in enumerate(layout) for b in layout[:i])
    power = sum(f * naive_power(layout, 360 * i / len(frequencies)) for i, f in enumerate(frequencies))
    return power * min(1.0, nearest / (2 * D))


def one_wind(farm, points, wind):
    """The power in one wind only, without the factor for spacing."""
    weights = np.zeros((1, len(farm._frequencies)))
    weights[0, wind] = 1.0
    return farm._power(np.atleast_2d(np.asarray(points, dtype=float)), weights)


@pytest.mark.parametrize(
    ("turbines", "radius", "rose"),
    [(2, None, "uniform"), (3, 150.0, "uniform"), (4, None, "iea37"), (8, 500.0, "iea37"), (3, 250.0, [2, 0, 1])],
)
def test_the_mean_is_that_of_the_twin(turbines, radius, rose):
    farm = WindFarm(turbines, radius=radius, rose=rose)
    points = farm.space.sample(40, 0)
    points[0] = 0.0  # all turbines in one place
    points[1, 2:4] = points[1, :2] + [0.0, 40.0]  # dead in the first part of a wake
    frequencies = ROSES[rose] if isinstance(rose, str) else np.array(rose) / sum(rose)
    np.testing.assert_allclose(farm.mean(points), [naive_mean(p, frequencies) for p in points], rtol=0, atol=1e-13)
    assert farm.mean(points[0]) == 0.0
    assert farm.mean(points[2]) == farm.mean(points)[2]


@both
def test_kernels_of_wakes(compiled):
    rng = np.random.default_rng(0)
    layouts = 300 * rng.standard_normal((6, 4, 2))
    layouts[0, 1] = layouts[0, 0]
    winds = np.array([[0.6, -0.8], [-1.0, 0.0]])  # they come from 323.13... and 90 degrees
    bearings = [math.degrees(math.atan2(-x, -y)) for x, y in winds]
    weights = rng.random((6, 2))
    weights[2, 0] = 0.0
    out = np.empty(6)
    pick(farm_power, compiled)(layouts, winds, weights, out)
    expected = [
        sum(w * naive_power(p.tolist(), b) for w, b in zip(ws, bearings, strict=True))
        for p, ws in zip(layouts, weights, strict=True)
    ]
    np.testing.assert_allclose(out, expected, atol=1e-13)

    slopes, h = np.empty((6, 4, 2)), 1e-3
    pick(farm_gradients, compiled)(layouts, winds, weights[1], slopes)
    for p, i, axis in np.ndindex(6, 4, 2):
        ends = []
        for step in (h, -h):
            moved = layouts[p].copy()
            moved[i, axis] += step
            ends.append(sum(w * naive_power(moved.tolist(), b) for w, b in zip(weights[1], bearings, strict=True)))
        if p > 0:  # the twins of layout 0 pull on each other as soon as they part
            # A central difference is off by about h^2 times a third derivative, of 1e-6 / m^3 here.
            assert abs(slopes[p, i, axis] - (ends[0] - ends[1]) / (2 * h)) < 1e-10

    distances, pairs = np.empty(6), np.empty((6, 2), dtype=np.int64)
    pick(nearest_pairs, compiled)(layouts, distances, pairs)
    for layout, distance, (i, j) in zip(layouts, distances, pairs, strict=True):
        gaps = [math.dist(a, b) for k, a in enumerate(layout.tolist()) for b in layout[:k].tolist()]
        assert distance == pytest.approx(min(gaps), abs=1e-12)
        assert i != j
        assert math.dist(layout[i], layout[j]) == pytest.approx(distance, abs=1e-12)


@both
def test_a_wake_sets_in_smoothly_and_is_the_published_one_from_a_diameter_on(compiled):
    wake, slopes = pick(deficit, compiled), pick(deficit_gradient, compiled)
    for dy in (0.0, -30.0, 100.0, 200.0):
        for dx in (D, D + 1e-9, 200.0, 1000.0, 5000.0):
            # to the last bit or so
            assert wake(dx, dy) == pytest.approx(raw_deficit(dx, dy), rel=1e-15, abs=1e-18)
        for dx in (-100.0, 0.0):
            assert wake(dx, dy) == 0.0
            assert slopes(dx, dy) == (0.0, 0.0, 0.0)
        for dx in (1.0, 50.0, 129.0, 131.0, 900.0):
            along = (naive_deficit(dx + 1e-4, dy) - naive_deficit(dx - 1e-4, dy)) / 2e-4
            beside = (naive_deficit(dx, dy + 1e-4) - naive_deficit(dx, dy - 1e-4)) / 2e-4
            assert slopes(dx, dy) == pytest.approx((naive_deficit(dx, dy), along, beside), abs=1e-9)
    assert raw_deficit(1e-9, 0.0) == pytest.approx(2 / 3)  # the jump that is mended
    assert wake(1e-3, 0.0) < 1e-9
    assert wake(1000.0, 1e5) == 0.0


def test_the_mean_is_continuous_where_a_turbine_passes_another():
    farm = WindFarm(2, rose=[1.0])  # all wind from the north
    for beside in (0.0, 20.0, 60.0):
        south = np.linspace(-150.0, 150.0, 60_001)  # every 5 mm
        points = np.column_stack([np.zeros((len(south), 2)), np.full(len(south), beside), -south])
        means = one_wind(farm, points, 0)
        slopes = np.abs(np.diff(means)) / np.diff(south)
        # 3 (9.8 / 5.8) (2/3) 1.5 / D bounds the slope of the power of one of two turbines along the
        # wind.
        assert slopes.max() < 3 * (9.8 / 5.8) * (2 / 3) * 1.5 / D / 2
        assert means.min() < 0.96  # there is a wake to pass


def test_winds_are_named_by_where_they_come_from():
    farm = WindFarm(2, rose=[1, 0, 0, 0])
    north_south, east_west = [0, 400, 0, -400], [400, 0, -400, 0]
    assert farm.mean(north_south) < 0.7
    assert farm.mean(east_west) > 1 - 1e-9
    # North, east, south, west: of three turbines, which is alone upstream of the other two, who
    # share its wake?
    farm = WindFarm(3, radius=1000.0, rose=np.ones(4))
    spots = {0: (0, 700), 1: (700, 0), 2: (0, -700), 3: (-700, 0)}
    for wind, (x, y) in spots.items():
        beside = np.array([y, -x]) / 20
        point = np.concatenate([[x, y], beside, -beside])  # two in the middle, 35 m to each side
        behind = one_wind(farm, point, wind)
        before = one_wind(farm, point, (wind + 2) % 4)
        assert behind < before
        assert behind == pytest.approx(naive_power(point.reshape(-1, 2).tolist(), 90 * wind), abs=1e-13)


@pytest.mark.parametrize("turbines", [2, 3, 5])
def test_the_group_leaves_the_mean_alone(turbines):
    farm = WindFarm(turbines, radius=400.0)
    points = farm.space.sample(100, 1)
    elements = np.concatenate([farm.group.generators, farm.group.random(20, np.random.default_rng(2))])
    for images in farm.group.act(elements, points):
        np.testing.assert_allclose(farm.mean(images), farm.mean(points), rtol=0, atol=1e-12)
    assert farm.group.order == math.factorial(turbines) * 32
    # Half a step of the 16 directions is no symmetry, nor is a step if winds are not alike.
    half = ob.groups.Diagonal(ob.groups.Dihedral(32), turbines)
    assert np.abs(farm.mean(half.act(half.generators[1], points)) - farm.mean(points)).max() > 1e-3
    real = WindFarm(turbines, radius=400.0, rose="iea37")
    step = ob.groups.Diagonal(ob.groups.Cyclic(16), turbines)
    assert np.abs(real.mean(step.act(step.generators[0], points)) - real.mean(points)).max() > 1e-3
    assert real.group.order == math.factorial(turbines)
    for images in real.group.act(real.group.generators, points):
        np.testing.assert_allclose(real.mean(images), real.mean(points), rtol=0, atol=1e-12)


def test_the_published_example_is_reproduced():
    farm = WindFarm(16, rose="iea37")
    assert farm.space.bounds[1][0] == 1300.0
    point = np.column_stack([EXAMPLE_X, EXAMPLE_Y]).ravel()[None]
    yields = [RATED * f * one_wind(farm, point, i)[0] for i, f in enumerate(ROSES["iea37"])]
    np.testing.assert_allclose(yields, YIELDS, atol=1e-5)  # the digits that were published
    # no two are nearer than 2 D
    assert RATED * farm.mean(point[0]) == pytest.approx(366941.57116, abs=1e-5)
    assert sum(ROSES["iea37"]) == pytest.approx(1.0)
    assert len(ROSES["iea37"]) == 16


@pytest.mark.filterwarnings("ignore")
def test_powers_are_those_of_py_wake():
    pytest.importorskip("py_wake", reason="py_wake, which has the same wake model, is not installed")
    from py_wake.deficit_models.gaussian import IEA37SimpleBastankhahGaussianDeficit
    from py_wake.examples.data.iea37 import IEA37_WindTurbines, IEA37Site
    from py_wake.superposition_models import SquaredSum
    from py_wake.wind_farm_models import PropagateDownwind

    site = IEA37Site(16)
    models = PropagateDownwind(
        site, IEA37_WindTurbines(), IEA37SimpleBastankhahGaussianDeficit(), superpositionModel=SquaredSum()
    )
    farm = WindFarm(6, radius=1300.0, rose="iea37")
    candidates = farm.space.sample(2000, 3)
    # With 4 D between turbines, the onset is all that differs, and reaches none: within D
    # downstream, dy > 10 sigma.
    points = candidates[farm._nearest(candidates)[0] > 4 * D][:20]
    assert len(points) == 20
    bearings = np.arange(16) * 22.5
    for point in points:
        x, y = point.reshape(-1, 2).T
        result = models(x, y, wd=bearings, ws=[9.8])
        shares = np.asarray(result.Power)[:, :, 0].mean(axis=0) / 3.35e6
        ours = np.array([one_wind(farm, point, i)[0] for i in range(16)])
        np.testing.assert_allclose(ours, shares, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.column_stack([EXAMPLE_X, EXAMPLE_Y]), site.initial_position)
    np.testing.assert_allclose(np.asarray(site.ds.P)[:16], ROSES["iea37"], atol=1e-12)


@pytest.mark.parametrize(
    "arguments",
    [
        {"turbines": 2},
        {"turbines": 3},
        {"turbines": 3, "rose": "iea37", "directions": 4},
        {"turbines": 4, "rose": [1.0], "radius": 400.0},
        {"turbines": 3, "radius": 120.0},  # too small for a distance of 2 D
        {"turbines": 2, "radius": 20_000.0, "noise": ob.problems.Beta(5.0)},
        {"turbines": 5, "rose": [3, 1, 0, 1, 2]},
    ],
    ids=str,
)
def test_check_confirms(arguments):
    report = ob.problems.check(WindFarm(**arguments))
    assert report, str(report)


def test_slopes_are_those_of_the_mean_and_below_the_constant():
    for farm in (WindFarm(3), WindFarm(4, rose="iea37", radius=300.0)):
        points = farm.space.sample(300, 5)
        h = 1e-4
        steps = h * np.eye(points.shape[1])
        numeric = np.stack([(farm.mean(points + s) - farm.mean(points - s)) / (2 * h) for s in steps], axis=1)
        np.testing.assert_allclose(farm._slopes(points), numeric, atol=1e-9)
        # The steepest that is certain: turbines almost in one place, two nearer than the rest.
        heap = np.zeros(points.shape[1])
        heap[::2] = 1e-3 * np.arange(len(heap) // 2) ** 2
        assert np.linalg.norm(farm._slopes(heap[None])) == pytest.approx(math.sqrt(2) / (2 * D), rel=1e-6)
        assert math.sqrt(2) / (2 * D) < farm.lipschitz < 0.007
        others = farm.space.sample(200_000, 6)
        assert np.linalg.norm(farm._slopes(others), axis=1).max() < farm.lipschitz


def test_the_optimum_of_two_turbines_is_that_of_a_grid():
    for farm in (WindFarm(2), WindFarm(2, rose="iea37"), WindFarm(2, radius=100.0)):
        radius = farm.space.bounds[1][0]
        # The mean depends on the way from one to the other only, and every way can be centred.
        lengths, angles = np.meshgrid(np.linspace(0.01, 1.0, 200), np.linspace(0, np.pi, 3601))
        half = radius * lengths.ravel()[:, None] * np.column_stack([np.cos(angles.ravel()), np.sin(angles.ravel())])
        best = farm.mean(np.hstack([half, -half])).max()
        assert best <= farm.optimum + 1e-9
        assert best > farm.optimum - 1e-5
        assert farm.mean(farm.optimizer) == farm.optimum


@pytest.mark.parametrize(("turbines", "rose"), [(3, "uniform"), (4, "iea37"), (6, "iea37")])
def test_other_searches_find_the_same_optimum(turbines, rose):
    farm = WindFarm(turbines, rose=rose)
    rng = np.random.default_rng(99)
    # no hints, all at random
    ends = [farm._polished(p, 100) for p in farm._moved(farm.space.sample(24, rng), rng)]
    assert farm.mean(ends).max() == pytest.approx(farm.optimum, abs=1e-7)
    assert farm.space.contains(farm.optimizer)


@pytest.mark.parametrize(("rose", "directions"), [("uniform", 1), ("iea37", 1), ("iea37", 5), ([0, 1, 3], 2)])
def test_rewards_come_from_drawn_winds_and_have_the_mean(rose, directions):
    farm = WindFarm(3, radius=300.0, rose=rose, directions=directions)
    point = np.array([0.0, 250.0, 60.0, -200.0, -40.0, 0.0])
    size = 40_000
    rewards = farm.sample(np.tile(point, (size, 1)), 0)
    powers = np.array([one_wind(farm, point, i)[0] for i in range(len(farm._frequencies))]) * farm._spacing(point[None])
    mean = farm.mean(point)
    assert mean == pytest.approx(farm._frequencies @ powers, abs=1e-14)
    deviation = math.sqrt(farm._frequencies @ (powers - mean) ** 2 / directions)
    assert abs(rewards.mean() - mean) < 4 * deviation / math.sqrt(size)
    assert rewards.std() == pytest.approx(deviation, rel=0.03)
    if directions == 1:
        assert np.abs(rewards[:, None] - powers).min(axis=1).max() < 1e-14
    np.testing.assert_array_equal(farm.sample(point, 7), farm.sample(point[None], 7)[0])
    assert farm.noise is None
    assert farm.reward_range == (0.0, 1.0)


def test_other_kinds_of_noise_keep_the_mean():
    point = [0.0, 500.0, 40.0, -100.0, 0.0, -500.0]
    for noise in (ob.problems.Bernoulli(), ob.problems.ClippedGaussian(0.2), ob.problems.Uniform(0.1)):
        farm = WindFarm(3, noise=noise)
        rewards = farm.sample(np.tile(point, (20_000, 1)), 1)
        assert abs(rewards.mean() - farm.mean(point)) < 4 * rewards.std() / math.sqrt(20_000)
        assert farm.noise is noise


def test_rewards_of_undisturbed_farms_are_one():
    farm = WindFarm(2, radius=5000.0, rose=[0.1] * 3 + [0.7])
    assert set(farm.sample(np.tile([3500.0, 3500.0, -3500.0, -3400.0], (100, 1)), 0)) == {1.0}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"turbines": 1}, "turbines >= 2"),
        ({"radius": 0.0}, "radius > 0"),
        ({"radius": 64.0}, "65 <= radius <= 100000"),
        ({"radius": 1e6}, "65 <= radius <= 100000"),
        ({"radius": math.inf}, "finite"),
        ({"rose": "iea-37"}, "Did you mean 'iea37'"),
        ({"rose": []}, "list of frequencies"),
        ({"rose": [0.0, 0.0]}, "not all 0"),
        ({"rose": [0.5, -0.5, 1.0]}, "none negative"),
        ({"rose": [[0.5, 0.5]]}, "list of frequencies"),
        ({"rose": 1.0}, "list of frequencies"),
        ({"rose": [0.5, math.nan]}, "finite"),
        ({"directions": 0}, "directions >= 1"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        WindFarm(**arguments)


def test_arguments_of_wrong_types_are_refused():
    for arguments in ({"turbines": 2.5}, {"rose": None}, {"noise": "wind"}, {"directions": True}, {"radius": "far"}):
        with pytest.raises(InputTypeError):
            WindFarm(**arguments)
    with pytest.raises(InputError):
        WindFarm(2).mean([0.0, 1.0, 2.0])


def test_frequencies_are_scaled_and_shown():
    north_south = [0, 0, 0, 300]
    assert WindFarm(2, rose=[1, 3]).mean(north_south) == WindFarm(2, rose=[0.25, 0.75]).mean(north_south)
    assert WindFarm(2, rose=[1e308, 1e308])._frequencies.tolist() == [0.5, 0.5]
    assert repr(WindFarm(4)) == "WindFarm(4, radius=650, rose='uniform', directions=1)"
    assert repr(WindFarm(2, rose=[1, 1], noise=ob.problems.Bernoulli())).endswith("rose=[0.5, 0.5], noise=Bernoulli())")
