"""OrbitGP with an evolution strategy after its model: when it begins, what it learns from, files, and the driver."""

import pickle

import numpy as np
import pytest

import orbandit as ob
from orbandit.agents import OrbitGP, orbit_gp
from orbandit.agents.gaussian.evolution import Evolution
from orbandit.agents.gaussian.evolving import Evolving
from orbandit.driver import Driver, Outcome

G, S = ob.groups, ob.spaces
SPACE, GROUP = S.Box(0.0, 1.0, dim=4), G.BlockPermutation(2, 2)
TOP = np.array([0.2, 0.7, 0.6, 0.4])


@pytest.fixture(autouse=True)
def early(monkeypatch):
    """Begin after 30 rounds, if 60 are left."""
    monkeypatch.setattr(orbit_gp, "MODEL_ROUNDS", 30)
    monkeypatch.setattr(orbit_gp, "EVOLVED_ROUNDS", 60)


def mean(point):
    """Return a tent without plateaus, whose kinks a process takes for noise."""
    return float(0.9 - min(np.abs(point - TOP).sum(), np.abs(point - np.roll(TOP, 2)).sum()) / 4)


def made(**settings):
    return OrbitGP(SPACE, GROUP, **{"horizon": 400, "goal": "best", "seed": 1, **settings})


def played(agent, rounds, noise=0.01, seed=0):
    rng, points = np.random.default_rng(seed), []
    for _ in range(rounds):
        points.append(agent.ask())
        agent.tell(points[-1], float(np.clip(mean(points[-1]) + noise * rng.standard_normal(), 0, 1)))
    return np.array(points)


def test_it_begins_after_the_rounds_of_the_model_and_recommends_its_mean():
    agent = made(horizon=1_000)
    played(agent, 30)
    assert not agent.is_robust
    before = agent.recommend()
    points = played(agent, 970, seed=1)
    assert agent.is_robust
    assert agent._evolving.search.generations >= 3
    assert agent.rounds == 1_000
    assert SPACE.contains(points).all()
    assert mean(agent.recommend()) > max(0.88, mean(before))
    np.testing.assert_array_equal(agent.recommend(), GROUP.fold(agent._evolving.search.mean))
    assert agent.estimate(agent.recommend()) == pytest.approx(mean(agent.recommend()), abs=0.05)
    assert agent._model.size <= 30 + agent._evolving.search.generations + 1  # a round costs the same from then on


@pytest.mark.parametrize(
    "settings",
    [{"goal": "regret"}, {"horizon": 80}, {"beta": 2.0}, {"acquisition": "thompson"}],
    ids=lambda settings: next(iter(settings)),
)
def test_it_does_not_begin(settings):
    agent = made(**settings)
    played(agent, 40)
    assert not agent.is_robust


def test_bernoulli_rewards_are_for_the_model():
    agent = made()
    rng = np.random.default_rng(0)
    for _ in range(40):
        point = agent.ask()
        agent.tell(point, float(rng.random() < mean(point)))
    assert not agent.is_robust


def test_the_model_plans_for_its_own_end():
    """Up to there, what is chosen is what an agent chooses that has no more rounds."""
    np.testing.assert_array_equal(played(made(), 30), played(made(horizon=30), 30))


@pytest.mark.parametrize("rounds", [30, 31, 100, 333])
def test_files_and_copies_go_on_alike(rounds, tmp_path):
    agent = made()
    played(agent, rounds)
    for point in agent.ask_batch(3)[1:]:
        agent.tell(point, 0.5)
    agent.save(tmp_path / "agent")
    others = [OrbitGP.load(tmp_path / "agent"), pickle.loads(pickle.dumps(agent))]
    points = played(agent, 400 - rounds - 2, seed=2)
    for other in others:
        np.testing.assert_array_equal(played(other, 400 - rounds - 2, seed=2), points)
        np.testing.assert_array_equal(other.recommend(), agent.recommend())


@pytest.mark.parametrize("name", ["evolution_mean", "drawn", "drawn_asked"])
def test_a_file_that_cannot_be_is_refused(name, tmp_path, monkeypatch):
    agent = made()
    played(agent, 50)
    agent.ask_batch(2)
    state, arrays = agent._state()
    monkeypatch.setattr(agent, "_state", lambda: (state, arrays | {name: arrays[name][:1] + 7.0}))
    agent.save(tmp_path / "agent")
    with pytest.raises(ob.errors.InputError, match="no valid OrbitGP"):
        OrbitGP.load(tmp_path / "agent")


def test_answers_may_come_late_in_any_order_or_never():
    agent, rng = made(horizon=1_500), np.random.default_rng(0)
    played(agent, 30)
    waiting = []
    for _ in range(1_470):
        waiting.append(agent.ask())
        if len(waiting) > 7:
            point = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.1:
                agent.forget(point)
            else:
                agent.tell(point, float(np.clip(mean(point) + 0.01 * rng.standard_normal(), 0, 1)))
    assert mean(agent.recommend()) > 0.88
    assert (
        len(agent._evolving._drawn) <= len(waiting) + 2 * agent._evolving.search.size
    )  # forgotten ones do not pile up


def test_points_of_others_are_learnt_from():
    """A second worker draws from its own strategy; ours asks for nothing, and moves."""
    agent, other = made(horizon=1_500), made(horizon=1_500, seed=2)
    played(agent, 30)
    played(other, 30)
    before = TOP + 0.1
    agent._evolving = Evolving(agent._ground, Evolution(agent._ground.region, before, 1_470), agent._salt)
    rng = np.random.default_rng(3)
    for _ in range(600):
        point = other.ask()
        value = float(np.clip(mean(point) + 0.01 * rng.standard_normal(), 0, 1))
        other.tell(point, value)
        agent.tell(point, value)
    assert agent._evolving.search.generations >= 1
    assert mean(agent._evolving.search.mean) > mean(before)


def test_without_a_horizon_it_goes_on_with_larger_generations():
    agent = made(horizon=None)
    agent._goal = 100
    played(agent, 110)
    assert agent.is_robust
    size = agent._evolving.search.size
    played(agent, 90)
    assert agent._goal == 400
    assert agent._evolving.search.size > size
    np.testing.assert_array_equal(agent.recommend(), GROUP.fold(agent._evolving.search.mean))  # not the model's again


@pytest.mark.parametrize("batch", [7, 16, 30])
def test_batches_may_skip_the_round_at_which_it_begins(batch):
    agent = made(horizon=90)
    while agent.rounds < 90:
        points = agent.ask_batch(min(batch, 90 - agent.rounds))
        agent.tell_batch(points, [mean(point) for point in points])
    assert agent.is_robust


def test_images_count_as_the_points_they_are_images_of():
    """Told around the fold of the mean, half of them turned: the strategies learn the same."""
    plain, turned = made(), made()
    rng = np.random.default_rng(0)
    for agent in (plain, turned):
        played(agent, 31)
    for _ in range(3 * plain._evolving.search.size):
        point = SPACE.project(plain._evolving.search.mean + 0.02 * rng.standard_normal(4))
        plain.tell(point, mean(point))
        turned.tell(np.roll(point, 2) if rng.random() < 0.5 else point, mean(point))
    np.testing.assert_allclose(turned.recommend(), plain.recommend(), atol=1e-9)
    assert plain._evolving.search.generations >= 3


def test_points_that_are_equal_are_each_learnt_as_they_were_drawn():
    """In a corner, in batches, under noise."""
    space, rng = S.Box(0.0, 1.0, dim=2), np.random.default_rng(0)
    agent = OrbitGP(space, horizon=1_000, goal="best", seed=0)
    while agent.rounds < 1_000:
        points = agent.ask_batch(50)
        agent.tell_batch(points, np.clip(0.8 - points.mean(axis=1) + 0.05 * rng.standard_normal(50), 0, 1))
    np.testing.assert_allclose(agent.recommend(), 0.0, atol=0.01)
    deviations = agent._evolving.search.step * np.sqrt(
        agent._evolving.search.arrays()["evolution_covariance"].diagonal()
    )
    assert (deviations > 1e-4).all()
    assert agent._evolving.search.generations >= 3


def test_the_driver_keeps_the_agent_whatever_the_outliers():
    """Only a value above the range, which is no outlier, takes another agent: its rank would be lost."""
    driver, rng = Driver(SPACE, GROUP, None, horizon=400, seed=0), np.random.default_rng(0)

    def learn(value=None):
        point = driver.ask()
        driver.learn([Outcome(point, mean(point) + 0.01 * rng.standard_normal() if value is None else value)])

    for number in range(100):
        learn(-1e6 if number == 20 else None)
    driver.ask()
    agent = driver._agent
    assert agent.is_robust
    for number in range(200):
        learn({10: -1e9, 50: 1e9, 80: np.nan, 90: np.inf}.get(number))
    driver.ask()
    assert driver._agent is agent
    assert mean(driver.recommend()) > 0.85
    driver._range = driver._range._replace(high=0.5)
    learn()
    driver.ask()
    assert driver._agent is not agent
