"""Driver: the range of gains, outliers, failed and pruned measurements, what is under way, and agents of one's own."""

import math
import pickle
from functools import partial

import numpy as np
import pytest

import orbandit as ob
from orbandit.driver import MIN_MEASURED, Driver, Outcome, Range
from orbandit.errors import InputError, InputTypeError

CUBE, S3 = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
TREE = ob.agents.OrbitTree


class Recorder:
    """An agent of one's own that has no more than it must have."""

    made: list

    def __init__(self, space, group, *, horizon, lipschitz, reward_range, seed):
        self.space, self.reward_range, self.told = space, reward_range, []
        self.rng = np.random.default_rng(seed)
        self.made.append(self)

    def ask(self):
        return self.space.sample(1, self.rng)[0]

    def tell(self, point, reward):
        assert self.reward_range[0] <= reward <= self.reward_range[1]
        self.told.append((point.copy(), reward))


@pytest.fixture
def recorder():
    return type("Own", (Recorder,), {"made": []})


def outcomes(values, seed=0):
    points = CUBE.sample(len(values), np.random.default_rng(seed))
    return [Outcome(point, value) for point, value in zip(points, values, strict=True)]


def told(recorder, driver):
    """What the agent was told of each outcome."""
    driver.ask()
    return np.array([reward for _, reward in recorder.made[-1].told])


@pytest.mark.parametrize("wild", [1e9, -1e9, math.inf, -math.inf, 1e308])
def test_wild_values_flatten_nothing(recorder, wild):
    values = np.random.default_rng(0).normal(5.0, 1.0, size=200)
    values[[3, 50, 120]] = wild
    driver = Driver(CUBE, S3, recorder, seed=0)
    driver.learn(outcomes(values.tolist()))
    rewards = told(recorder, driver)
    low, high = recorder.made[-1].reward_range
    good = np.delete(rewards, [3, 50, 120])
    assert good.std() / (high - low) > 0.08  # a quarter of what it is for numbers spread evenly
    unit = 1e-20 if abs(wild) == 1e308 else 1.0
    np.testing.assert_allclose(good, unit * np.clip(np.delete(values, [3, 50, 120]), low / unit, high / unit))
    assert (rewards[[3, 50, 120]] == (high if wild > 0 else low)).all()


def test_better_values_than_ever_make_the_range_wider(recorder):
    driver = Driver(CUBE, None, recorder, seed=0)
    driver.learn(outcomes([float(value) for value in range(128)]))
    assert np.array_equal(told(recorder, driver), np.arange(128.0))


@pytest.mark.parametrize(
    "gains",
    [[3.0], [3.0] * 50, [0.0] * 90 + [1.0] * 10, [0.0] * 90 + [1.0, 2.0], [0.0, 1e-200], [-1e308, 1e308], [1.7e308]],
)
def test_every_range_holds_what_it_is_made_of(gains):
    found = Range.of(gains)
    assert math.isfinite(found.high - found.low)
    assert found.low < found.high
    assert all(map(found.holds, gains))


def test_two_values_are_the_ends_of_the_range(recorder):
    assert Range.of([3.0, 5.0, 5.0, 3.0])[:2] == (3.0, 5.0)
    assert Range.of([3.0, 5.0, 6.0]).high > 6.0
    tossed = [float(toss) for toss in np.random.default_rng(0).random(40) < 0.3]
    driver = Driver(CUBE, S3, recorder, seed=0)
    driver.learn(outcomes(tossed))
    driver.ask()
    assert recorder.made[-1].reward_range == (0.0, 1.0)


def test_the_range_is_set_rarely(recorder):
    driver = Driver(CUBE, S3, recorder, seed=0)
    for outcome in outcomes(
        np.sort(np.random.default_rng(1).normal(size=1000)).tolist()
    ):  # each better than all before
        driver.learn([outcome])
        driver.ask()
        driver.forget(np.frombuffer(next(iter(driver._pending))))
    assert len(recorder.made) < 25


@pytest.mark.parametrize("values", [np.r_[np.arange(60.0), 1e6, np.arange(60.0)], np.arange(100.0) ** 2])
def test_the_range_depends_on_the_order_only(recorder, values):
    """A process that reads all trials at once tells its agent what another did that read them one by one."""
    one, other = (Driver(CUBE, S3, recorder, seed=0) for _ in range(2))
    all_of_them = outcomes(values.tolist())
    for outcome in all_of_them:
        one.learn([outcome])
        one.recommend() if len(one) > 1 else None
    other.learn(all_of_them)
    np.testing.assert_array_equal(told(recorder, one), told(recorder, other))
    assert one._range == other._range


def test_pruned_ones_count_at_most_as_the_median(recorder):
    driver = Driver(CUBE, S3, recorder, seed=0, sign=-1.0)
    pruned = [Outcome(np.full(3, 0.5), value, is_pruned=True) for value in (2.0, 90.0, 1e9)]
    driver.learn([*outcomes([float(value) for value in range(21)]), *pruned], at_once=True)
    rewards = told(recorder, driver)
    assert rewards[-3] == -10.0  # better than the median
    low = recorder.made[-1].reward_range[0]
    assert (rewards[-2:] == low).all()


def test_failed_ones_count_the_less_the_more_failed_around_them(recorder):
    """Alone as about the first quartile, many as the least, among good ones as these; images count as well."""

    def supposed(good, bad):
        driver = Driver(CUBE, S3, recorder, seed=0)
        driver.learn([Outcome(np.array(point), value) for point, value in good])
        driver.learn([Outcome(np.array(point), None) for point in bad], at_once=True)
        return told(recorder, driver)[len(good) :]

    rng = np.random.default_rng(0)
    far = [(0.05 * rng.random(3), float(value)) for value in range(30)]
    (alone,) = supposed(far, [[0.9, 0.9, 0.95]])
    assert alone == pytest.approx(14.5 / 2)
    crowd = supposed(far, np.sort(0.9 + 0.02 * rng.random((12, 3)))[:, ::-1])
    assert (crowd < 1.5).all()
    images = supposed(far, [np.roll([0.9, 0.5, 0.7], i) for i in range(3)])
    assert images == pytest.approx(14.5 / 4)
    near = [(0.9 + 0.05 * rng.random(3), 29.0) for _ in range(12)]
    (among,) = supposed([*far, *near], [[0.92, 0.92, 0.92]])
    assert among > 24


@pytest.mark.parametrize("agent", [TREE, ob.agents.OrbitGP, ob.agents.UniformMesh, ob.agents.HOO, ob.agents.Zooming])
@pytest.mark.parametrize("many", [3, 40])
def test_what_is_under_way_is_expected_through_restarts(agent, many):
    driver = Driver(CUBE, S3, agent, horizon=100, seed=0)
    driver.learn(outcomes(np.linspace(0, 1, many).tolist()))
    flying = [driver.ask() for _ in range(4)]
    before = driver._agent
    driver.learn([Outcome(np.full(3, 0.3), 1e3), *outcomes([1e3] * 40, seed=1)])  # another range
    driver.learn([Outcome(flying[0], 0.5)])
    flying.append(driver.ask())
    agent = driver._agent
    assert agent is not before
    for point in flying[1:]:
        agent.forget(point)  # which refuses what is not pending
    for point in flying:
        with pytest.raises(InputError, match="`point` must be pending"):
            agent.forget(point)
    assert len(driver) == many + 42


def test_the_same_point_may_be_under_way_twice():
    driver = Driver(CUBE, S3, TREE, seed=0)
    point = np.array([0.1, 0.2, 0.3])
    driver.expect_only([point, point, np.full(3, 0.5)])
    assert sum(map(len, driver._pending.values())) == 3
    driver.expect_only([point])
    assert [key for key, places in driver._pending.items() for _ in places] == [point.tobytes()]


def test_an_agent_of_ones_own_needs_ask_and_tell_only(recorder):
    driver = Driver(CUBE, S3, recorder, seed=0, sign=-1.0)
    with pytest.raises(InputError, match="needs a feasible point that was measured"):
        driver.recommend()
    for _ in range(30):
        points = [driver.ask() for _ in range(2)]
        driver.learn([Outcome(point, float(point.sum())) for point in points])
    driver.expect_only([np.full(3, 0.5)])
    history = driver.history()
    best = driver.recommend()
    np.testing.assert_array_equal(best, history.points[history.values.argmin()])
    assert driver.estimate(best[::-1]) == history.values.min()  # an image of it
    assert len(recorder.made[-1].told) == 60


@pytest.mark.parametrize("given", [{}, {"lipschitz": 2.0}])
def test_settings_of_a_partial_go_before_those_of_the_search(given):
    made = []

    def make(space, group, **told):
        made.append((space, group, told))
        return ob.agents.UniformMesh(space, group, **told)

    own = {"lipschitz": 3.0, "horizon": 70, "seed": 5, "group": None}
    driver = Driver(CUBE, S3, partial(make, **own), seed=0, horizon=100, **given)
    driver.learn(outcomes(np.linspace(0, 5, 30)))
    driver.ask()
    (space, group, told), driver = made[-1], Driver(CUBE, S3, partial(make, **own, delta=0.5), seed=0)
    driver.ask()
    assert space is CUBE  # with a Lipschitz constant, its own coordinates
    assert group is None
    assert (told["lipschitz"], told["horizon"], told["seed"]) == (given.get("lipschitz", 3.0), 70, 5)
    assert made[-1][2]["delta"] == 0.5


@pytest.mark.parametrize("own", [{"reward_range": (0.0, 5.0)}, {"space": CUBE}])
def test_what_only_the_search_can_know_is_refused_in_a_partial(own):
    (name,) = own
    for make in (
        lambda agent: ob.maximize(lambda x: 1.0, CUBE, budget=1, agent=agent),
        lambda agent: ob.integrations.optuna.OrbitSampler(agent=agent),
    ):
        with pytest.raises(InputError, match=f"`{name}` is the search's, .* leave it out"):
            make(partial(TREE, **own))


def test_what_the_agent_asked_for_is_not_expected_again(recorder):
    expected = []
    recorder.expect = lambda self, place: expected.append(place)
    driver = Driver(CUBE, S3, recorder, seed=0)
    driver.learn([Outcome(driver.ask(), 1.0), *outcomes([2.0])])
    driver.ask()
    assert len(expected) == 1  # what was measured elsewhere, before there is a range


def test_an_interrupted_tell_is_no_half_of_what_is_known(recorder):
    driver = Driver(CUBE, S3, recorder, seed=0)
    driver.learn(outcomes(np.linspace(0, 5, 30)))
    driver.ask()
    tell = recorder.tell
    driver.learn(outcomes([2.0, 3.0, 4.0], seed=1))

    def interrupted(self, point, reward):
        recorder.tell = tell
        tell(self, point, reward)
        raise KeyboardInterrupt

    recorder.tell = interrupted
    with pytest.raises(KeyboardInterrupt):
        driver.ask()
    driver.ask()
    assert len(recorder.made) == 2
    assert len(recorder.made[-1].told) == 33


def test_a_copy_goes_on_as_it_does():
    driver = Driver(CUBE, S3, ob.agents.OrbitGP, seed=0)
    driver.learn(outcomes([*np.linspace(0, 5, 30), None, 2.0]))
    driver.ask()
    copy = pickle.loads(pickle.dumps(driver))
    for _ in range(3):
        point = driver.ask()
        np.testing.assert_array_equal(point, copy.ask())
        for each in (driver, copy):
            each.learn([Outcome(point, 1.0)])
    np.testing.assert_array_equal(driver.recommend(), copy.recommend())


def test_recommending_changes_no_choice():
    def plays(asks_for_more):
        driver, found = Driver(CUBE, S3, ob.agents.OrbitGP, seed=0), []
        for _ in range(MIN_MEASURED + 8):
            found.append(driver.ask())
            driver.learn([Outcome(found[-1], float(-np.abs(np.sort(found[-1]) - [0.2, 0.5, 0.8]).sum()))])
            if asks_for_more:
                driver.estimate(driver.recommend())
        return np.array(found)

    np.testing.assert_array_equal(plays(True), plays(False))


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (lambda problem, horizon, seed: None, "another signature"),
        (ob.agents.UCB1, "plays indices; pass agent=lambda"),
        (partial(ob.agents.OrbitGP, candidate=8), "another signature: .*candidate"),
        ("OrbitGP", "class of ob.agents or a callable"),
    ],
)
def test_what_cannot_make_agents_is_refused_before_anything_is_measured(agent, said):
    measured = []
    with pytest.raises(InputTypeError, match=said):
        ob.maximize(measured.append, CUBE, budget=1, agent=agent)
    with pytest.raises(InputTypeError, match=said):
        ob.integrations.optuna.OrbitSampler(agent=agent)
    with pytest.raises(InputTypeError, match=said):
        ob.simulate(agent, ob.problems.Cone(CUBE, S3, peak=[0.2, 0.5, 0.8]), 10, seeds=1)
    assert measured == []


def test_a_constraint_beside_an_approximate_symmetry_need_not_be_invariant_with_any_horizon():
    """OrbitTree, which is suited for as many measurements, refuses it."""

    def rule(points):
        return points[:, 0] <= 0.5

    driver = Driver(CUBE, S3, None, horizon=20_000, seed=0, feasible=rule, symmetry="approximate")
    asked = []
    for _ in range(20):
        asked.append(driver.ask())
        driver.learn([Outcome(asked[-1], float(asked[-1].sum()))])
    assert rule(np.array(asked)).all()
    assert rule(driver.recommend()[None]).all()
    with pytest.raises(InputError, match="invariant"):
        Driver(CUBE, S3, TREE, horizon=20_000, seed=0, feasible=rule, symmetry="approximate").ask()
