"""WindFarm(spacing="constraint"): the published model and rules, by explicit loops and published figures."""

import csv
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

import orbandit as ob
from orbandit._kernels.wakes import deficit, deficit_gradient, farm_gradients, farm_power
from orbandit.cli import main
from orbandit.errors import InputError, InputTypeError, SpecError
from orbandit.experiments.running import run
from orbandit.experiments.spec import read
from orbandit.experiments.store import Store
from orbandit.problems import WindFarm, check, site
from orbandit.problems.wind_farm import ROSES

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
CASES = {16: (1300.0, 366_941.57), 36: (2000.0, 737_883.10), 64: (3000.0, 1_294_974.30)}
"""Turbines, and the radius and yearly MWh that are published for the example layout."""


def published(turbines, **rest):
    return WindFarm(turbines, spacing="constraint", **rest)


def example(turbines):
    """The example layout of a case study."""
    with open(Path(__file__).with_name("iea37_examples.csv")) as file:
        rows = [row for row in csv.DictReader(file) if int(row["turbines"]) == turbines]
    assert len(rows) == turbines
    return np.array([[float(row["x"]), float(row["y"])] for row in rows]).ravel()


def naive_deficit(dx, dy):
    """Equations of the case study's paper, one by one."""
    if dx <= 0:
        return 0.0
    sigma = 0.0324555 * dx + 130 / math.sqrt(8)
    radical = 1 - (8 / 9) / (8 * sigma**2 / 130**2)
    return (1 - math.sqrt(radical)) * math.exp(-0.5 * (dy / sigma) ** 2)


def naive_mean(point, frequencies):
    layout, total = np.reshape(point, (-1, 2)).tolist(), 0.0
    for k, frequency in enumerate(frequencies):
        toward = math.radians(360 * k / len(frequencies) + 180)
        east, north = math.sin(toward), math.cos(toward)
        for x, y in layout:
            losses = [
                naive_deficit((x - a) * east + (y - b) * north, (x - a) * north - (y - b) * east) for a, b in layout
            ]
            speed = 9.8 * (1 - math.sqrt(sum(loss**2 for loss in losses)))
            power = 0.0 if speed < 4 else ((speed - 4) / (9.8 - 4)) ** 3
            total += frequency * power / len(layout)
    return total


def naive_margin(point, radius):
    layout = np.reshape(point, (-1, 2)).tolist()
    inside = [radius - math.hypot(x, y) for x, y in layout]
    return min(inside + [math.dist(a, b) - 260 for i, a in enumerate(layout) for b in layout[:i]])


@pytest.mark.parametrize(
    ("turbines", "radius", "rose"),
    [(2, None, "uniform"), (4, 300.0, "iea37"), (9, None, "iea37"), (3, None, [2, 0, 1])],
)
def test_mean_and_margins_are_those_of_the_twins(turbines, radius, rose):
    farm = published(turbines, radius=radius, rose=rose)
    points = farm.space.sample(40, 0)
    points[0] = 0.0  # all turbines in one place
    points[1, 2:4] = points[1, :2] + [3.0, 40.0]  # where wakes of the other model only set in
    frequencies = ROSES[rose] if isinstance(rose, str) else np.array(rose) / sum(rose)
    np.testing.assert_allclose(farm.mean(points), [naive_mean(p, frequencies) for p in points], rtol=0, atol=1e-13)
    # who stands in one place takes no wind from another
    assert farm.mean(points[0]) == pytest.approx(1.0)
    other = WindFarm(turbines, radius=radius, rose=rose)
    assert (np.abs(farm.mean(points) - other.mean(points)) > 1e-3).any()
    rim = farm.space.bounds[1][0]
    margins = farm.feasible(points)
    np.testing.assert_allclose(margins, [naive_margin(p, rim) for p in points], rtol=0, atol=1e-9)
    assert farm.feasible(points[1]) == margins[1]
    assert farm.mean(points[1]) == farm.mean(points)[1]


@both
def test_kernels_without_an_onset(compiled):
    wake, slope = (kernel if compiled else kernel.py_func for kernel in (deficit, deficit_gradient))
    for dx, dy in ((1e-9, 0.0), (1.0, 30.0), (129.0, -200.0), (131.0, 10.0), (3000.0, 400.0), (-1.0, 0.0), (0.0, 0.0)):
        assert wake(dx, dy, 0.0) == pytest.approx(naive_deficit(dx, dy), rel=1e-14)
        if dx > 0.1:
            along = (naive_deficit(dx + 1e-4, dy) - naive_deficit(dx - 1e-4, dy)) / 2e-4
            beside = (naive_deficit(dx, dy + 1e-4) - naive_deficit(dx, dy - 1e-4)) / 2e-4
            assert slope(dx, dy, 0.0) == pytest.approx((naive_deficit(dx, dy), along, beside), abs=1e-9)
    power, gradients = (kernel if compiled else kernel.py_func for kernel in (farm_power, farm_gradients))
    layouts = 200 * np.random.default_rng(1).standard_normal((3, 4, 2))
    winds, weights = np.array([[0.6, -0.8], [-1.0, 0.0]]), np.array([0.3, 0.7])
    slopes, h = np.empty((3, 4, 2)), 1e-3
    gradients(layouts, winds, weights, slopes, 0.0)
    for p, i, axis in np.ndindex(3, 4, 2):
        ends = np.repeat(layouts[p][None], 2, axis=0)
        ends[:, i, axis] += [h, -h]
        out = np.empty(2)
        power(ends, winds, weights[None], out, 0.0)
        assert abs(slopes[p, i, axis] - (out[0] - out[1]) / (2 * h)) < 1e-9


@pytest.mark.parametrize("turbines", CASES)
def test_the_published_energy_of_the_examples_is_met(turbines):
    radius, energy = CASES[turbines]
    farm, point = published(turbines, radius=radius, rose="iea37"), example(turbines)
    # the digits that were published
    assert farm.annual_energy(point) == pytest.approx(energy, abs=0.005)
    assert farm.annual_energy(point) == pytest.approx(turbines * 3.35 * 8760 * farm.mean(point), rel=1e-14)
    # Turbines stand on the rim, by coordinates of four digits.
    assert -1e-3 < farm.feasible(point) <= 0.0


def test_energy_knows_no_penalty():
    point = [0.0, 0.0, 100.0, 0.0]
    farm = WindFarm(2, rose=[1.0])  # all wind from the north: neither stands in a wake
    assert farm.mean(point) == pytest.approx(100 / 260)
    np.testing.assert_allclose(farm.annual_energy([point]), [2 * 3.35 * 8760])


@pytest.mark.filterwarnings("ignore")
def test_energy_is_that_of_py_wake():
    pytest.importorskip("py_wake", reason="py_wake, which has the same wake model, is not installed")
    from py_wake.deficit_models.gaussian import IEA37SimpleBastankhahGaussianDeficit
    from py_wake.examples.data.iea37 import IEA37_WindTurbines, IEA37Site
    from py_wake.superposition_models import SquaredSum
    from py_wake.wind_farm_models import PropagateDownwind

    for turbines, (radius, _) in CASES.items():
        models = PropagateDownwind(
            IEA37Site(turbines),
            IEA37_WindTurbines(),
            IEA37SimpleBastankhahGaussianDeficit(),
            superpositionModel=SquaredSum(),
        )
        farm = published(turbines, radius=radius, rose="iea37")
        # the latter with turbines side by side
        points = np.vstack([example(turbines), farm.space.sample(3, 0)])
        for point, energy in zip(points, farm.annual_energy(points), strict=True):
            x, y = point.reshape(-1, 2).T
            result = models(x, y, wd=np.arange(16) * 22.5, ws=[9.8])
            shares = np.asarray(result.Power)[:, :, 0].mean(axis=0) / 3.35e6
            assert energy == pytest.approx(turbines * 3.35 * 8760 * (shares @ ROSES["iea37"]), rel=1e-10)


def test_rules_on_the_rim_and_at_the_distance():
    farm = published(2, radius=130.0)
    for angle in np.linspace(0, 6, 50):
        point = 130.0 * np.array([math.cos(angle), math.sin(angle), -math.cos(angle), -math.sin(angle)])
        assert farm.feasible(point) == 0.0  # rounding is none
        assert farm.feasible((1 + 1e-10) * point) < 0
        assert farm.feasible((1 - 1e-10) * point) < 0
    assert farm.feasible is farm.feasible
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(farm.feasible))([point, 2 * point]), [0.0, -130.0])
    assert farm.feasible(np.empty((0, 4))).shape == (0,)
    with pytest.raises(InputError, match="shape"):
        farm.feasible([0.0, 1.0])
    with pytest.raises(InputError, match="finite"):
        farm.feasible([0.0, 1.0, 2.0, math.nan])


def test_what_has_no_rules_says_so():
    farm = WindFarm(2)
    assert farm.feasible is None
    assert ob.problems.Cone(ob.spaces.Ball(2), None, [0.1, 0.2]).feasible is None
    assert published(2).lipschitz is None
    assert repr(published(2)) == "WindFarm(2, radius=459.619, rose='uniform', directions=1, spacing='constraint')"
    for wrong in ("constraints", "none", None, True):
        with pytest.raises(InputError, match="unknown spacing"):
            WindFarm(2, spacing=wrong)


def test_sampling_needs_no_search(monkeypatch):
    monkeypatch.setattr(site.Site, "best", lambda *_: pytest.fail("a search"))
    farm = published(3, directions=4)
    points = farm.space.sample(5, 0)
    farm.sample(points, 0), farm.mean(points), farm.feasible(points), farm.annual_energy(points)


@pytest.mark.parametrize("directions", [1, 5])
def test_rewards_come_from_drawn_winds_and_have_the_mean(directions):
    farm = published(3, radius=300.0, rose="iea37", directions=directions)
    point = np.array([0.0, 250.0, 60.0, -200.0, -40.0, 0.0])
    rewards = farm.sample(np.tile(point, (40_000, 1)), 0)
    assert abs(rewards.mean() - farm.mean(point)) < 4 * rewards.std() / math.sqrt(40_000)
    if directions == 1:
        powers = [published(3, radius=300.0, rose=np.eye(16)[i]).mean(point) for i in range(16)]
        assert np.abs(rewards[:, None] - powers).min(axis=1).max() < 1e-14
    farm = published(3, noise=ob.problems.Bernoulli())
    assert set(farm.sample([point] * 50, 0)) <= {0.0, 1.0}


@pytest.mark.parametrize("rose", ["uniform", "iea37"])
def test_the_group_leaves_mean_and_rules_alone(rose):
    farm = published(4, radius=400.0, rose=rose)
    points = farm.space.sample(100, 1)
    assert 0 < (farm.feasible(points) >= 0).sum() < 100
    elements = np.concatenate([farm.group.generators, farm.group.random(20, np.random.default_rng(2))])
    for images in farm.group.act(elements, points):
        np.testing.assert_allclose(farm.mean(images), farm.mean(points), rtol=0, atol=1e-12)
        np.testing.assert_allclose(farm.feasible(images), farm.feasible(points), rtol=0, atol=1e-9)


def test_the_optimum_of_two_turbines_is_that_of_a_grid():
    for farm in (published(2), published(2, rose="iea37"), published(2, radius=200.0)):
        radius = farm.space.bounds[1][0]
        # The mean depends on the way from one to the other only, and every way can be centred.
        lengths, angles = np.meshgrid(np.linspace(130.0, radius, 60), np.linspace(0, np.pi, 1801))
        half = lengths.ravel()[:, None] * np.column_stack([np.cos(angles.ravel()), np.sin(angles.ravel())])
        points = np.hstack([half, -half])
        best = farm.mean(points[farm.feasible(points) >= 0]).max()
        assert farm.optimum - 1e-5 < best <= farm.optimum + 1e-6
        assert farm.feasible(farm.optimizer) >= 0
        assert farm.mean(farm.optimizer) == farm.optimum


def test_check_confirms():
    for farm in (published(2), published(3, rose="iea37", directions=4), published(4, radius=200.0)):
        report = check(farm, points=300)
        assert report, str(report)


def test_a_short_search_is_among_the_published_results(monkeypatch):
    farm = published(16, radius=1300.0, rose="iea37")
    monkeypatch.setattr(site, "MOST_HOPS", 16)  # of 128
    monkeypatch.setattr(site, "STARTS", 16)
    assert farm.feasible(farm.optimizer) >= 0
    # 409,689 by PSQP, 418,924 by SNOPT with wake expansion
    assert farm.annual_energy(farm.optimizer) > 412_000.0


def test_agents_that_need_a_slope_are_told_by_name():
    farm, play = published(2, noise=ob.problems.Beta(100.0)), ob.simulate
    square = ob.spaces.Box(0.0, 1.0, dim=2)
    steep = ob.problems.Function(lambda x: np.sqrt(x[:, 0]), square, optimizer=[1.0, 0.5], lipschitz=None)
    for agent in (ob.agents.UniformMesh, ob.agents.Zooming):
        with pytest.raises(InputError, match=f"{agent.__name__} needs a Lipschitz constant.*pass `lipschitz`"):
            play(agent, steep, 20, seeds=1)
    for agent, told in ((ob.agents.HOO, {"lipschitz": 3.0}), (ob.agents.OrbitTree, {})):
        assert np.isfinite(play(agent, steep, 20, seeds=1, **told).regret).all()

    seen = []

    def mine(space, group, *, lipschitz, **_):
        seen.append(lipschitz)  # of the farm, whose rule is among the rest
        return ob.agents.OrbitTree(space, group, horizon=20)

    play(mine, farm, 20, seeds=1)
    assert seen == [None]
    mesh = ob.meshes.Mesh(farm.space.sample(3, 0), 100.0)
    for bound in (lambda: ob.theory.theorem1(farm, 100), lambda: ob.theory.gap_free_bound(farm, mesh, 100)):
        with pytest.raises(InputError, match="problems with a Lipschitz constant"):
            bound()


FILE = """
horizons = [50]
seeds = 2

[[problem]]
class = "WindFarm"
turbines = 2
spacing = "{spacing}"

[[agent]]
class = "{agent}"
"""


def test_files_of_experiments_take_it(tmp_path, capsys):
    file, out = tmp_path / "farm.toml", tmp_path / "farm.db"
    file.write_text(FILE.format(spacing="constraint", agent="OrbitTree"))
    experiment = read(file)
    assert run(experiment, out, jobs=1) == 2
    runs = ob.simulate(ob.agents.OrbitTree, published(2), 50, seeds=2)
    with Store.open(out, write=False) as store:
        np.testing.assert_array_equal([one.regret for one in store.runs()], runs.regret)
    assert main(["report", str(out)]) == 0
    file.write_text(FILE.format(spacing="penalties", agent="OrbitTree"))
    with pytest.raises(SpecError, match=r"penalties.*penalty"):
        read(file)
    file.write_text(FILE.format(spacing="constraint", agent="HOO"))
    assert main(["run", str(file), "--out", str(tmp_path / "other.db"), "--jobs", "1"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "line 11: the problem 'WindFarm' has a constraint, but HOO takes no `feasible`; choose an agent that" in said


def test_types_are_checked():
    for arguments in ({"turbines": 2.5}, {"radius": "far"}):
        with pytest.raises(InputTypeError):
            published(**{"turbines": 3, **arguments})
