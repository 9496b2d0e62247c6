"""maximize and minimize: any range of values, interruptions, failures, and measurements made before."""

import functools
import pickle

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, InputTypeError, MeasurementError
from orbandit.optimize import History

CUBE, S3 = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
PEAK = np.array([0.15, 0.55, 0.9])


class MuteError(Exception):
    """An error without a text."""

    def __str__(self):
        raise RuntimeError("no words")


def distance(x):
    return float(np.linalg.norm(np.sort(x) - PEAK))


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-9, 5e3), (1e12, 5e3)])
def test_it_finds_a_peak_whatever_the_range(scale, shift):
    rng = np.random.default_rng(0)
    if shift:
        shift *= scale

    def measure(x):
        return shift + scale * (1 - distance(x) + 0.1 * rng.standard_normal())

    best = ob.maximize(measure, CUBE, S3, budget=120, seed=1)
    assert best.point.shape == (3,)
    assert distance(best.point) < 0.3
    assert abs((best.value - shift) / scale - (1 - distance(best.point))) < 0.1
    assert len(best.history) == 120
    assert not best.interrupted
    assert best.history.values.max() > best.value  # an average, not the luckiest


def test_minimizing_is_maximizing_the_negative():
    def run(optimize, sign):
        rng = np.random.default_rng(0)
        return optimize(lambda x: sign * (distance(x) + 0.1 * rng.standard_normal()), CUBE, S3, budget=40, seed=1)

    low, high = run(ob.minimize, 1), run(ob.maximize, -1)
    np.testing.assert_array_equal(low.point, high.point)
    assert low.value == -high.value
    np.testing.assert_array_equal(low.history.values, -high.history.values)
    assert low.value > 0


def test_the_same_seed_gives_the_same_history():
    def run(seed):
        rng = np.random.default_rng(0)
        return ob.maximize(lambda x: rng.random() - distance(x), CUBE, S3, budget=40, seed=seed).history.points

    first = run(3)
    np.testing.assert_array_equal(first, run(3))
    assert not np.array_equal(first, run(4))


def test_values_far_out_of_range_are_taken():
    values = iter([*[0.5] * 20, 1e6, *[0.4] * 15, -1e6, *[0.6] * 14])
    best = ob.maximize(lambda x: next(values), CUBE, S3, budget=51, seed=0)
    assert len(best.history) == 51
    assert best.history.values.max() == 1e6
    assert best.history.values.min() == -1e6


@pytest.mark.parametrize("budget", [1, 2, 15, 16, 17])
def test_small_budgets_and_constant_values(budget):
    best = ob.maximize(lambda x: 7.0, CUBE, S3, budget=budget, seed=0)
    assert best.value == 7.0
    assert len(best.history) == budget
    assert CUBE.contains(best.point)


@pytest.mark.parametrize("after", [0, 1, 5, 40])
def test_an_interruption_returns_what_is_known(after):
    calls = 0

    def measure(x):
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt
        return 1 - distance(x)

    if after == 0:
        with pytest.raises(KeyboardInterrupt):
            ob.maximize(measure, CUBE, S3, budget=100, seed=0)
        return
    best = ob.maximize(measure, CUBE, S3, budget=100, seed=0)
    assert best.interrupted
    assert len(best.history) == after
    assert CUBE.contains(best.point)


FAILURES = (OSError("simulator down"), np.nan, MuteError(), np.inf, None, "high", [1.0], np.ma.masked, 10**400)


@pytest.mark.parametrize(
    ("failure", "optimize"),
    [
        *((failure, ob.minimize) for failure in FAILURES[:2]),
        *((failure, ob.maximize) for failure in FAILURES),
    ],
)
def test_a_failure_names_the_point_and_keeps_the_history(optimize, failure):
    seen = []

    def measure(x):
        seen.append(x)
        if len(seen) == 20:
            if isinstance(failure, Exception):
                raise failure
            return failure
        return float(len(seen))

    with pytest.raises(MeasurementError) as caught:
        optimize(measure, CUBE, S3, budget=100, seed=0)
    error = caught.value
    np.testing.assert_array_equal(error.point, seen[-1])
    assert str(seen[-1].tolist()) in str(error)
    np.testing.assert_array_equal(error.history.values, np.arange(1.0, 20.0))
    np.testing.assert_array_equal(error.history.points, seen[:-1])
    if isinstance(failure, Exception):
        assert error.__cause__ is failure
        assert f"({type(failure).__name__}: " in str(error)
    best = optimize(lambda x: 1.0, CUBE, S3, budget=5, history=error.history, seed=0)
    np.testing.assert_array_equal(best.history.values, [*range(1, 20), *[1.0] * 5])


def test_measurements_made_before_are_used():
    rng = np.random.default_rng(0)
    points = CUBE.sample(700, rng)
    values = np.array([1 - distance(x) for x in points]) + 0.1 * rng.standard_normal(700)
    best = ob.maximize(lambda x: 1 - distance(x), CUBE, S3, budget=5, history=History(points, values), seed=0)
    assert len(best.history) == 705
    assert distance(best.point) < 0.35
    for bad in (History(points, values[:-1]), History(points + 3, values), History(points, values * np.nan)):
        with pytest.raises(InputError):
            ob.maximize(lambda x: 1.0, CUBE, S3, budget=5, history=bad)


def test_the_point_measured_is_the_caller_s_own():
    def measure(x):
        x[:] = -1.0
        return 0.5

    best = ob.maximize(measure, CUBE, S3, budget=40, seed=0)
    assert CUBE.contains(best.history.points).all()


def test_another_agent_may_be_named():
    best = ob.maximize(lambda x: 1 - distance(x), CUBE, S3, budget=300, agent=ob.agents.UniformMeshN, seed=0)
    assert len(best.history) == 300
    known = ob.maximize(lambda x: 1 - distance(x), CUBE, S3, budget=80, lipschitz=1.0, seed=0)
    assert distance(known.point) < 0.4


def test_a_progress_bar_shows_on_request_and_goes_to_stderr(capsys):
    ob.maximize(lambda x: 0.5, CUBE, S3, budget=30, seed=0, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "30/30" in shown.err
    ob.maximize(lambda x: 0.5, CUBE, S3, budget=30, seed=0)
    assert capsys.readouterr().err == ""


def test_bad_input_is_refused_before_anything_is_measured():
    def never(x):
        raise AssertionError("measured")

    for arguments in ({"budget": 0}, {"budget": 1.5}, {"lipschitz": 0.0}, {"lipschitz": np.nan}, {"group": "S3"}):
        with pytest.raises((InputError, InputTypeError)):
            ob.maximize(never, CUBE, **{"budget": 10, **arguments})
    with pytest.raises(InputTypeError, match="space"):
        ob.maximize(never, "cube", budget=10)
    with pytest.raises(InputTypeError, match="measure"):
        ob.maximize(3, CUBE, budget=10)
    with pytest.raises(InputTypeError, match="measure"):
        ob.minimize(3, CUBE, budget=10)
    with pytest.raises(InputError, match="preserve"):
        ob.maximize(never, ob.spaces.Box([0, 0], [1, 2]), ob.groups.Symmetric(2), budget=10)


@pytest.mark.parametrize("optimize", [ob.maximize, ob.minimize])
def test_values_at_the_end_of_the_range_of_floats_are_taken(optimize):
    values = iter([*[1.5e308, -1.5e308] * 15, *[1.7e308] * 10])
    best = optimize(lambda x: next(values), CUBE, S3, budget=40, seed=0)
    assert len(best.history) == 40
    assert np.isfinite(best.value)
    assert optimize(lambda x: 1.7e308, CUBE, S3, budget=20, seed=0).value == pytest.approx(1.7e308)


def test_nearly_constant_values_with_a_known_slope_take_no_time():
    best = ob.maximize(lambda x: 0.5 + 1e-13 * x.sum(), CUBE, S3, budget=40, lipschitz=1.0, seed=0)
    assert len(best.history) == 40


def test_an_interruption_while_everything_is_told_again_loses_nothing(monkeypatch):
    original = ob.agents.OrbitGP.tell_batch
    calls = []

    def interrupted(self, points, rewards):
        calls.append(len(points))
        if len(calls) == 2:
            raise KeyboardInterrupt
        original(self, points, rewards)

    monkeypatch.setattr(ob.agents.OrbitGP, "tell_batch", interrupted)
    values = iter([*[0.1, 0.15, 0.2, 0.1] * 10, 50.0, *[0.1] * 100])
    best = ob.maximize(lambda x: next(values), CUBE, S3, budget=100, seed=0)
    assert best.interrupted
    assert len(best.history) == 41
    assert np.isfinite(best.value)


def test_an_interruption_while_the_best_point_is_chosen_keeps_the_history(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(ob.agents.OrbitGP, "recommend", interrupted)
    with pytest.raises(
        MeasurementError, match=r"choosing the best point failed after 20 .*KeyboardInterrupt"
    ) as caught:
        ob.maximize(lambda x: x.sum(), CUBE, S3, budget=20, seed=0)
    assert len(caught.value.history) == 20


def test_a_failure_of_the_agent_keeps_the_history():
    def steep(space, group, **settings):
        if settings["reward_range"] != (0.0, 1.0):
            raise ob.errors.MeshTooLargeError("too many arms")
        return ob.agents.UniformMesh(space, group, **settings)

    with pytest.raises(MeasurementError, match="too many arms") as caught:
        ob.maximize(lambda x: x.sum(), CUBE, S3, budget=100, agent=steep, seed=0)
    assert len(caught.value.history) == 16
    assert caught.value.point is None


def test_minimizing_reports_the_losses_themselves(capsys):
    ob.minimize(lambda x: 3.25, CUBE, S3, budget=20, seed=0, progress=True)
    assert "last value 3.25" in capsys.readouterr().err
    with pytest.raises(MeasurementError, match="returned inf"):
        ob.minimize(lambda x: np.inf, CUBE, S3, budget=20, seed=0)


def test_bad_agents_and_histories_are_refused():
    with pytest.raises(InputTypeError, match="agent"):
        ob.maximize(lambda x: 1.0, CUBE, budget=5, agent=3)
    with pytest.raises(InputTypeError, match="history"):
        ob.maximize(lambda x: 1.0, CUBE, budget=5, history=([[0.5, 0.5, 0.5]], [1.0]))


A, G, S = ob.agents, ob.groups, ob.spaces

STRETCHED = {
    "no group": (S.Box([-0.3, 10.0, 2.0], [0.1, 1000.0, 5.0]), None, [0, 1, 2]),
    "machines": (S.Box([0, 10, 0, 10], [0.1, 70, 0.1, 70]), G.BlockPermutation(2, 2), [0, 1, 0, 1]),
    "signs": (S.Box([0.0, -4.0], [0.7, 9.0]), G.SignFlips(2).centered([0.35, 2.5]), [0, 1]),
    "swap beside one": (S.Box([1.0, 1.0, 5.0], [1.5, 1.5, 90.0]), G.Permutation([[1, 0, 2]]), [0, 0, 1]),
}


def plays(space, group, factors, agent, budget, seed=3):
    """The points measured in a space stretched by factors, with noise, back in the units of the space."""
    low, high = space.bounds
    noise = np.random.default_rng(seed)
    wide = S.Box(low * factors, high * factors)
    moved = group and group.centered(group.center * factors)

    def measure(x):
        share = (x / factors - low) / (high - low)
        share = share if group is None else np.abs(group.fold(x / factors) - low) / (high - low)
        return float(1 - np.abs(share - 0.37).mean() + 0.05 * noise.standard_normal())

    best = ob.maximize(measure, wide, moved, agent=agent, budget=budget, seed=seed)
    return best.history.points / factors, best.point / factors


@pytest.mark.parametrize("agent", [A.OrbitGP, A.OrbitTree, A.UniformMesh, A.HOO, A.Zooming], ids=lambda a: a.__name__)
@pytest.mark.parametrize("name", STRETCHED)
def test_stretching_coordinates_by_powers_of_two_changes_no_play(name, agent):
    space, group, classes = STRETCHED[name]
    budget = 40 if agent is A.OrbitGP else 100
    factors = 2.0 ** np.array([-20, 13, 45])[classes]
    points, best = plays(space, group, np.ones(space.dim), agent, budget)
    others, other_best = plays(space, group, factors, agent, budget)
    np.testing.assert_array_equal(points, others)
    np.testing.assert_array_equal(best, other_best)


@pytest.mark.parametrize("agent", [A.OrbitGP, A.OrbitTree], ids=lambda a: a.__name__)
def test_agents_that_learn_their_slope_need_no_maximize_for_that(agent):
    """Called directly, with asks that overlap, and saved and loaded on the way."""
    space, group, classes = STRETCHED["machines"]

    def run(factors):
        low, high = space.bounds
        own = agent(S.Box(low * factors, high * factors), group, horizon=100, seed=5)
        noise, points = np.random.default_rng(0), []
        for _ in range(25):
            pair = own.ask_batch(2)
            for point in pair[::-1]:
                share = (group.fold(point / factors) - low) / (high - low)
                own.tell(point, float(np.clip(1 - np.abs(share - 0.4).mean() + 0.1 * noise.standard_normal(), 0, 1)))
            points += [*(pair / factors)]
        return np.array(points)

    np.testing.assert_array_equal(run(np.ones(4)), run(2.0 ** np.array([-20, 30])[classes]))


@pytest.mark.parametrize(("agent", "budget"), [(A.OrbitGP, 40), (A.OrbitTree, 200)], ids=["OrbitGP", "OrbitTree"])
def test_stretching_by_any_factors_changes_no_regret(agent, budget):
    """Rounding may change plays; the regret stays within two standard errors of the difference, over 6 seeds."""
    space, group, classes = STRETCHED["machines"]
    low, high = space.bounds

    def regrets(factors):
        found = [plays(space, group, factors, agent, budget, seed)[1] for seed in range(6)]
        return np.abs((group.fold(found) - low) / (high - low) - 0.37).mean(axis=1)

    plain, other = regrets(np.ones(4)), regrets(np.array([3.7e-5, 911.0])[classes])
    error = np.hypot(plain.std(ddof=1), other.std(ddof=1)) / np.sqrt(6)
    assert abs(plain.mean() - other.mean()) <= 2 * error + 1e-6


def test_every_coordinate_varies_whatever_its_units():
    space = S.Box([0.001, 10], [0.1, 1000])
    best = ob.maximize(lambda x: -abs(x[0] - 0.03) / 0.1 - abs(x[1] - 600) / 1000, space, budget=100, seed=0)
    np.testing.assert_allclose(best.point, [0.03, 600], rtol=0.05)


@pytest.mark.parametrize("width", [1e-300, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("agent", [A.OrbitGP, A.OrbitTree, A.UniformMesh, A.HOO], ids=lambda a: a.__name__)
def test_spaces_of_any_width(width, agent):
    space, group = S.Box(0.0, width, dim=2), G.Symmetric(2)
    peak = np.array([0.3, 0.7])
    best = ob.maximize(
        lambda x: float(1 - np.abs(np.sort(x) / width - peak).mean()), space, group, agent=agent, budget=80, seed=0
    )
    assert np.abs(np.sort(best.point) / width - peak).max() < 0.2


def test_a_lipschitz_constant_of_a_partial_is_kept():
    made = []

    def recorded(*args, **told):
        made.append(told["lipschitz"])
        return ob.agents.UniformMesh(*args, **told)

    def run(agent, **more):
        made.clear()
        ob.maximize(lambda x: 1 - float(x.sum()), CUBE, S3, budget=20, agent=agent, seed=0, **more)
        return set(made)

    assert run(functools.partial(recorded, lipschitz=3.0)) == {3.0}
    assert run(functools.partial(recorded, lipschitz=3.0), lipschitz=2.0) == {2.0}
    assert run(recorded).isdisjoint({2.0, 3.0})


def test_a_history_goes_through_a_pickle_and_old_ones_knew_of_no_failures():
    history = History(np.array([[0.1, 0.2]]), np.array([3.0]), np.array([[0.5, 0.6]]))
    copied = pickle.loads(pickle.dumps(history))
    assert (copied.points == history.points).all()
    assert (copied.failed == history.failed).all()
    old = History.__new__(History)
    old.__setstate__({"points": history.points, "values": history.values})
    assert old.failed.shape == (0, 2)
    assert old.failed_at.shape == (0,)
    assert len(old) == 1
    old.__setstate__({"points": history.points, "values": history.values, "failed": history.failed})
    assert old.failed_at.tolist() == [1]  # of failures whose order is not known


# --- a rule for what is feasible ---


def _apart(points):
    return np.abs(points[:, 0] - points[:, 1]) - 0.3


@pytest.mark.parametrize("agent", [None, ob.agents.OrbitTree, functools.partial(ob.agents.OrbitGP, kernel="rbf")])
def test_only_feasible_points_are_measured_and_recommended(agent):
    space, group = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)
    best = ob.maximize(
        lambda x: -np.abs(x - 0.5).sum(), space, group, budget=40, agent=agent, feasible=_apart, seed=0, progress=False
    )
    assert (_apart(best.history.points) >= 0).all()
    assert _apart(best.point[None])[0] >= 0
    assert best.value > -0.4


def test_earlier_points_that_break_the_rule_are_data():
    space = ob.spaces.Box(0.0, 1.0, dim=2)
    before = History(np.full((20, 2), 0.5) + 0.01 * np.arange(20)[:, None], np.full(20, 5.0))
    best = ob.maximize(lambda x: -x.sum(), space, budget=20, history=before, feasible=_apart, seed=0, progress=False)
    assert len(best.history) == 40
    assert (_apart(best.history.points[20:]) >= 0).all()
    assert _apart(best.point[None])[0] >= 0


def test_an_agent_without_recommend_is_recommended_for_what_is_feasible():
    class Listed:
        def __init__(self, space, group, *, horizon, lipschitz, reward_range, seed, feasible):
            self.rows = iter([[0.1, 0.9], [0.9, 0.1], [0.2, 0.7]] * 10)
            self.margins = feasible(np.array([[0.5, 0.5]]))

        def ask(self):
            return np.array(next(self.rows))

        def tell(self, point, reward):
            pass

    space = ob.spaces.Box([0.0, 0.0], [1.0, 1.0])
    before = History([[0.5, 0.5]], [100.0])
    best = ob.maximize(
        lambda x: x[0], space, budget=3, agent=Listed, history=before, feasible=_apart, seed=0, progress=False
    )
    assert best.point.tolist() == [0.9, 0.1]


def test_agents_that_take_no_rule_are_refused_by_name_before_anything_is_measured():
    with pytest.raises(InputError, match="OrbitGP or OrbitTree, but Zooming does not"):
        ob.maximize(lambda x: 1 / 0, ob.spaces.Box(0.0, 1.0, dim=2), budget=3, agent=ob.agents.Zooming, feasible=_apart)
    with pytest.raises(InputTypeError, match=r"`feasible` must be a function, but got 0\.3"):
        ob.maximize(lambda x: 1 / 0, ob.spaces.Box(0.0, 1.0, dim=2), budget=3, feasible=0.3)


def test_a_search_has_one_rule():
    agent = functools.partial(ob.agents.OrbitGP, feasible=_apart)
    with pytest.raises(InputError, match="`feasible` is the search's, but `agent` has one of its own"):
        ob.maximize(lambda x: 1 / 0, ob.spaces.Box(0.0, 1.0, dim=2), budget=3, agent=agent, feasible=_apart)
    best = ob.maximize(lambda x: -x.sum(), ob.spaces.Box(0.0, 1.0, dim=2), budget=20, agent=agent, progress=False)
    assert (_apart(best.history.points) >= 0).all()


def test_an_agent_that_ignores_the_rule_is_refused():
    class Careless:
        def __init__(self, space, group, **told):
            self.space = space

        def ask(self):
            return np.array([0.5, 0.5])

        def tell(self, point, reward):
            pass

    with pytest.raises(MeasurementError, match="must keep to `feasible`, but Careless asked for"):
        ob.maximize(lambda x: 1 / 0, ob.spaces.Box(0.0, 1.0, dim=2), budget=3, agent=Careless, feasible=_apart)
