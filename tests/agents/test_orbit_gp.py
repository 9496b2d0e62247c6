"""OrbitGP: what it learns, what its settings do, and what its rounds cost."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest

import orbandit as ob
from agent_cases import play
from orbandit.agents import orbit_gp
from orbandit.agents.gaussian.hypotheses import Choice
from orbandit.agents.gaussian.model import Model
from orbandit.agents.gaussian.thinning import ranked
from orbandit.agents.gaussian.warp import warped_about

G, S = ob.groups, ob.spaces
SQUARE, SWAP = S.Box(0.0, 1.0, dim=2), G.Symmetric(2)


def bump(points):
    """Symmetric, 0.9 at (0.3, 0.8)."""
    folded = np.sort(np.atleast_2d(points), axis=1)
    return 0.9 * np.exp(-8 * ((folded - [0.3, 0.8]) ** 2).sum(axis=1))


def played(agent, rounds, noise, seed, low=0.0, high=1.0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        point = agent.ask()
        value = np.clip(bump(point)[0] + noise * rng.standard_normal(), 0.0, 1.0)
        agent.tell(point, float(low + (high - low) * value))
    return agent


@pytest.mark.parametrize("acquisition", ["ucb", "thompson"])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_it_finds_the_top_from_few_rewards(acquisition, noise):
    agent = orbit_gp.OrbitGP(SQUARE, SWAP, horizon=40, lipschitz=None, acquisition=acquisition, seed=0)
    played(agent, 40, noise, 1)
    top = agent.recommend()
    assert bump(top)[0] > 0.85
    assert agent.estimate(top) == pytest.approx(bump(top)[0], abs=0.1)
    assert agent.estimate(top[::-1]) == pytest.approx(agent.estimate(top))


def test_the_unit_of_rewards_does_not_matter():
    one = played(orbit_gp.OrbitGP(SQUARE, SWAP, horizon=30, lipschitz=2.0, seed=0), 30, 0.05, 1)
    other = orbit_gp.OrbitGP(SQUARE, SWAP, horizon=30, lipschitz=2e6, reward_range=(-5e5, 5e5), seed=0)
    played(other, 30, 0.05, 1, -5e5, 5e5)
    np.testing.assert_allclose(one.recommend(), other.recommend(), atol=0.1)


def test_binary_rewards_are_known_as_such_and_other_noise_is_learnt():
    agent = orbit_gp.OrbitGP(SQUARE, horizon=100, seed=0)
    play(agent, 30, 0)
    assert agent._model.parameters.noise == 0
    agent.tell([0.5, 0.5], 0.5)
    play(agent, 20, 1)
    assert agent._model.parameters.noise > 0.01
    given = orbit_gp.OrbitGP(SQUARE, horizon=100, reward_range=(0.0, 4.0), noise=0.2, seed=0)
    play(given, 30, 0)
    assert given._model.parameters.noise == pytest.approx(0.05**2)


@pytest.mark.parametrize("symmetry", ["exact", "approximate"])
def test_rewards_of_0_do_not_make_all_points_alike(symmetry):
    """A process with long length scales explains them best, for any points."""
    agent = orbit_gp.OrbitGP(SQUARE, SWAP, horizon=100, symmetry=symmetry, seed=0)
    points = SQUARE.sample(60, np.random.default_rng(0))
    agent.tell_batch(points, np.zeros(60))
    assert agent._model.parameters.noise == 0
    assert (agent._model.parameters.lengths[0] <= 0.5 * 0.3 * (1 + 1e-12)).all()
    mean, variance = agent._model.at(agent._model.features(np.array([[0.5, 0.5]])))
    assert variance[0] > 0.01
    assert mean[0] < 0.2
    agent.tell([0.4, 0.6], 0.5)  # not Bernoulli then: nothing is assumed of length scales
    agent.tell_batch(points, np.zeros(60))
    assert agent._model.parameters.lengths[0] > 0.5 * 0.3


def test_rare_successes_lead_to_better_points():
    """Without a limit of length scales it stayed at points worse than random ones: 0.29 in the mean; random 0.37."""
    top, space, found = np.array([0.2, 0.5, 0.8]), S.Box(0.0, 1.0, dim=3), []
    for seed, goal in product(range(6), ("regret", "best")):
        agent = orbit_gp.OrbitGP(space, G.Symmetric(3), horizon=200, goal=goal, seed=seed)
        rng = np.random.default_rng([seed, 1])
        for _ in range(200):
            point = agent.ask()
            found.append(0.9 * np.exp(-6 * np.abs(np.sort(point) - top).mean()))
            agent.tell(point, float(rng.random() < found[-1]))
    assert np.reshape(found, (12, 200))[:, 100:].mean() > 0.42  # 0.54 ± 0.04


def test_the_hint_sets_the_length_scale_expected():
    lengths = [orbit_gp.OrbitGP(SQUARE, lipschitz=value)._hypotheses.prior.lengths[0] for value in (1.0, 4.0, None)]
    assert lengths == pytest.approx([0.5, 0.125, 0.3])


def test_recommending_takes_the_best_mean_and_not_the_luckiest_reward():
    agent = orbit_gp.OrbitGP(S.Box(0.0, 1.0, dim=1), horizon=100, seed=0)
    for _ in range(40):
        agent.tell([0.2], 0.8)
        agent.tell([0.2], 0.6)
    agent.tell([0.9], 0.1)
    agent.tell([0.9], 1.0)
    for _ in range(10):
        agent.tell([0.9], 0.1)
    assert agent.recommend() == pytest.approx([0.2], abs=0.1)


def test_beyond_a_limit_points_are_merged_and_no_reward_is_lost(monkeypatch):
    monkeypatch.setattr(orbit_gp, "MAX_DISTINCT_POINTS", 40)
    monkeypatch.setattr(orbit_gp, "MAX_FITTED_POINTS", 24)
    agent, rng = orbit_gp.OrbitGP(SQUARE, SWAP, horizon=300, candidates=32, seed=0), np.random.default_rng(0)
    for point in rng.random((200, 2)):
        agent.tell(point, float(np.clip(bump(point)[0] + 0.05 * rng.standard_normal(), 0, 1)))
        assert agent._model.size <= 40
    assert agent._model.rewards.counts.sum() == 200
    assert agent.estimate([0.3, 0.8]) == pytest.approx(0.9, abs=0.15)
    assert agent.estimate([0.05, 0.1]) == pytest.approx(bump([0.05, 0.1])[0], abs=0.15)


def test_points_that_stand_for_all_are_the_best_and_some_of_every_rank():
    means = np.random.default_rng(0).permutation(1000) / 1000
    rows = ranked(means, 100)
    assert len(np.unique(rows)) == 100
    np.testing.assert_array_equal(np.sort(means[rows])[-50:], np.arange(950, 1000) / 1000)
    gaps = np.diff(np.sort(means[rows])[:50])
    assert means[rows].min() == 0.0
    assert gaps.max() < 0.021 < 3 * gaps.min()


def test_the_noise_is_known_after_more_points_than_are_fitted():
    agent = orbit_gp.OrbitGP(S.Box(0.0, 1.0, dim=3), G.Symmetric(3), horizon=600, goal="best", seed=0)
    rng = np.random.default_rng(0)
    points = agent.space.sample(orbit_gp.MAX_FITTED_POINTS + 200, rng)
    steep = 0.5 + 0.3 * np.cos(6 * points).prod(axis=1)
    agent.tell_batch(points, steep + 0.01 * rng.standard_normal(len(points)))
    assert 0.007 < math.sqrt(agent._model.parameters.noise) < 0.014


def test_images_of_a_point_are_one():
    agent = orbit_gp.OrbitGP(S.Box(0.0, 1.0, dim=3), G.Symmetric(3), seed=0)
    for point in ([0.1, 0.5, 0.9], [0.9, 0.1, 0.5], [0.5, 0.9, 0.1]):
        agent.tell(point, 0.5)
    assert agent._model.size == 1
    assert agent._model.rewards.counts[0] == 3


@pytest.mark.parametrize("group", [G.Orthogonal(2, 2), G.SignedPermutation(4), G.BlockPermutation(2, 2)])
def test_groups_of_every_kind(group):
    agent = orbit_gp.OrbitGP(S.Ball(4), group, horizon=50, candidates=32, seed=0)
    play(agent, 25, 0)
    assert S.Ball(4).contains(agent.recommend())


def test_simulate_plays_it_on_any_noise():
    cone = ob.problems.Cone(SQUARE, SWAP, [0.15, 0.7])
    runs = ob.simulate(ob.agents.OrbitGP, cone, horizon=60, seeds=1, candidates=32)
    assert 0 < runs.regret[0, -1] < 60 * 0.5


def test_the_group_helps_where_the_mean_has_it():
    ends = []
    for group in (SWAP, None):
        agents = [orbit_gp.OrbitGP(SQUARE, group, horizon=20, lipschitz=None, seed=seed) for seed in range(3)]
        ends.append(np.mean([bump(played(agent, 12, 0.0, 1).recommend())[0] for agent in agents]))
    assert ends[0] >= ends[1] - 0.02


def test_a_batch_is_fitted_once():
    space = ob.spaces.Box(0.0, 1.0, dim=2)
    points = space.sample(40, 0)
    rewards = 0.9 - np.abs(points - 0.4).mean(axis=1)
    one, many = (ob.agents.OrbitGP(space, horizon=100, lipschitz=None, seed=0) for _ in range(2))
    for point, reward in zip(points, rewards, strict=True):
        one.tell(point, reward)
    many.tell_batch(points, rewards)
    assert many._fits == 1 < one._fits
    assert many.estimate(points[0]) == pytest.approx(rewards[0], abs=0.02)
    with pytest.raises(ob.errors.InputError):
        many.tell_batch([points[0], [2.0, 0.0]], [0.5, 0.5])
    assert many.rounds == 40
    many.tell(points[0], 0.5)  # a refusal does not hold fits back
    for point in points[:10]:
        many.tell(point, 0.5)
    assert many._fits > 1


@pytest.mark.parametrize("goal", ["best", "regret"])
def test_parameters_are_fitted_at_the_horizon_for_the_last_recommendation(goal, monkeypatch):
    fitted, fit = [], ob.agents.OrbitGP._fit
    monkeypatch.setattr(ob.agents.OrbitGP, "_fit", lambda self, rounds: (fitted.append(rounds), fit(self, rounds)))
    agent = ob.agents.OrbitGP(ob.spaces.Box(0.0, 1.0, dim=1), horizon=17, goal=goal, seed=0)
    for _ in range(17):
        point = agent.ask()
        agent.tell(point, 0.9 - abs(point[0] - 0.4))
    assert fitted == [5, 6, 8, 10, 12, 15] + [17] * (goal == "best")


def test_what_another_version_of_a_kernel_saved_is_worked_out_anew():
    cube = S.Box(0.0, 1.0, dim=3)
    agent = orbit_gp.OrbitGP(cube, G.CyclicShift(3), horizon=40, lipschitz=None, seed=0)
    rng = np.random.default_rng(0)
    for point in cube.sample(30, rng):
        agent.tell(point, float(rng.random()))
    model = agent._model
    same, is_of_kernel = Model.restore(model.kernel, model.pool, model.rewards.features, model.arrays())
    assert is_of_kernel
    np.testing.assert_array_equal(same.pool_means, model.pool_means)
    arrays = model.arrays()
    arrays["covariances"] = 0.7 * arrays["covariances"]  # as if averages were not level
    arrays["cross"] = 0.7 * arrays["cross"]
    arrays["pool_stats"] = 0.9 * arrays["pool_stats"]
    anew, is_of_kernel = Model.restore(model.kernel, model.pool, model.rewards.features, arrays)
    assert not is_of_kernel
    np.testing.assert_allclose(anew.pool_means, model.pool_means, atol=1e-6)
    np.testing.assert_allclose(anew.pool_variances, model.pool_variances, atol=1e-6)


@pytest.mark.parametrize(
    ("space", "group"),
    [
        (S.Box(-1.0, 1.0, dim=12), G.BlockPermutation(6, 2)),
        (S.Ball(2) ** 3, G.Joint(G.BlockPermutation(3, 2), G.Diagonal(G.Dihedral(4), 3))),
        (S.Simplex(4), G.Symmetric(4)),
    ],
    ids=["units", "farm", "shares"],
)
def test_the_initial_design_samples_the_space_whatever_the_group(space, group):
    """Uniform points, not folded: without the group the same points, not extremes of the quotient."""
    size, best = 2 * (space.intrinsic_dim + 1), partial(orbit_gp.OrbitGP, goal="best")
    plain, other = (best(space, g, horizon=1000, candidates=32, seed=3) for g in (None, group))
    # nothing is told yet: the first point of the design
    np.testing.assert_allclose(other.recommend(), plain.recommend(), atol=1e-12)
    points = plain.ask_batch(size)
    np.testing.assert_allclose(other.ask_batch(size), points, atol=1e-12)
    many = np.concatenate([best(space, horizon=1000, candidates=8, seed=s).ask_batch(size) for s in range(40)])
    sample = space.sample(4000, 0)
    error = sample.std(axis=0) / math.sqrt(len(many))
    assert (np.abs(many.mean(axis=0) - sample.mean(axis=0)) < 4.5 * error).all()
    np.testing.assert_allclose(many.std(axis=0), sample.std(axis=0), rtol=0.25)


@pytest.mark.parametrize(
    ("dim", "horizon", "goal", "expected"),
    [(1, 1000, "best", 4), (6, 1000, "best", 14), (6, 1000, "regret", 7), (40, 100, "best", 25), (3, 10, "regret", 2)],
)
def test_the_initial_design_grows_with_the_dimension_and_respects_small_budgets(dim, horizon, goal, expected):
    space = S.Box(0.0, 1.0, dim=dim)
    agent, told = (orbit_gp.OrbitGP(space, horizon=horizon, goal=goal, candidates=8, seed=0) for _ in range(2))
    for number in range(expected):
        point = agent.ask()
        # told or pending, it is the next one
        np.testing.assert_array_equal(point, told._designed(number))
        if number % 2:
            agent.tell(point, 0.5)
    # what is known already takes the place of the design
    for point in told.space.sample(expected, 1):
        told.tell(point, 0.5)
    assert not np.array_equal(told.ask(), told._designed(expected))


def test_the_goal_decides_on_kernel_and_choices():
    """After the same rewards, which have the initial design behind them."""
    agents = [
        orbit_gp.OrbitGP(SQUARE, SWAP, horizon=40, candidates=64, goal=goal, seed=1) for goal in ("regret", "best")
    ]
    rng = np.random.default_rng(0)
    for point in SQUARE.sample(20, rng):
        value = float(np.clip(bump(point)[0] + 0.05 * rng.standard_normal(), 0.0, 1.0))
        for agent in agents:
            agent.tell(point, value)
    assert [agent._family for agent in agents] == ["matern32", "matern52"]
    assert not np.array_equal(*[agent.ask() for agent in agents])
    with pytest.raises(ob.errors.InputError, match="unknown goal 'most'"):
        orbit_gp.OrbitGP(SQUARE, goal="most")


def collisions(points):
    """A mean with a long tail at the bottom: units that come near each other."""
    gaps = points[:, 0] - points[:, 1]
    return 1 - 0.2 * ((points - [0.1, 0.8]) ** 2).sum(axis=1) - 3e-3 / (gaps**2 + 3e-3)


@pytest.mark.parametrize("goal", ["regret", "best"])
def test_a_long_tail_is_drawn_in_for_the_best_and_estimates_are_of_rewards_as_they_are(goal, tmp_path):
    agent = orbit_gp.OrbitGP(SQUARE, horizon=100, reward_range=(-1.0, 1.0), candidates=64, goal=goal, seed=1)
    points = SQUARE.sample(60, 2)
    for point, value in zip(points, collisions(points), strict=True):
        agent.tell(point, float(value))
    assert (agent._model.warp.strength > 0) == (goal == "best")
    others = SQUARE.sample(200, 3)
    error = np.abs([agent.estimate(point) for point in others] - collisions(others))
    assert np.median(error) < (0.015 if goal == "best" else 0.04)
    agent.tell(points[0], 1.0)  # a second reward of a point: its mean counts, warped
    row = int(np.abs(agent._model.rewards.points - agent.arms.units.enter(points[0])).sum(axis=1).argmin())
    mean = (1.0 + collisions(points[:1])[0]) / 2
    known = agent._unscaled(agent._model.warp.undone(agent._model.posterior.means[row]))
    assert known == pytest.approx(mean, rel=1e-9)
    agent.save(tmp_path / "agent.npz")
    other = orbit_gp.OrbitGP.load(tmp_path / "agent.npz")
    assert other._model.warp == agent._model.warp
    np.testing.assert_array_equal(other.ask(), agent.ask())


@pytest.mark.parametrize("noise", [None, 0.1])
def test_a_warp_does_not_bend_within_the_noise(noise):
    """Else points are judged by their luck: skewed noise about one mean, which most rewards are near the top of."""
    agent = orbit_gp.OrbitGP(SQUARE, SWAP, horizon=200, candidates=64, goal="best", noise=noise, seed=1)
    points, rng = SQUARE.sample(80, 2), np.random.default_rng(3)
    rewards = 0.95 - np.minimum(0.1 * rng.exponential(size=80), 0.9)
    agent.tell_batch(points, rewards)
    assert np.ptp(rewards) > 0.3
    assert agent._model.warp.strength == 0 or agent._model.warp.scale > 0.4
    # which is what the rewards alone would say
    assert warped_about(rewards, 1.0).scale < 0.1


UNITS, PLACES = G.BlockPermutation(5, 2), np.array([0.1, 0.2, 0.9, 0.1, 0.5, 0.5, 0.2, 0.9, 0.8, 0.7])


def near_the_places(x):
    """How near a layout is to one that nothing fixes: a function of the orbit distance."""
    return 1.0 - UNITS.distance(x, PLACES) ** 2 / 2


def on_hills(x):
    """A sum over units: one layout tells of others that share units with it."""
    return 0.5 + 0.2 * np.sin(9 * x.reshape(len(x), 5, 2)).prod(axis=2).sum(axis=1)


def goes_on_alike(agent, mean, path, rounds):
    """Save the agent, and play on with it and with what is loaded."""
    agent.save(path)
    loaded = orbit_gp.OrbitGP.load(path)
    for _ in range(rounds):
        point, same = agent.ask(), loaded.ask()
        np.testing.assert_array_equal(point, same)
        value = float(mean(point[None])[0])
        agent.tell(point, value)
        loaded.tell(same, value)
    np.testing.assert_array_equal(agent.recommend(), loaded.recommend())


@pytest.mark.parametrize(("mean", "is_aligned"), [(near_the_places, True), (on_hills, False)])
@pytest.mark.parametrize("goal", ["regret", "best"])
def test_the_likelihood_decides_between_multisets_and_aligned_coordinates(mean, is_aligned, goal, tmp_path):
    space = S.Box(0.0, 1.0, dim=10)
    agent = orbit_gp.OrbitGP(space, UNITS, horizon=200, goal=goal, reward_range=(-2.0, 3.0), seed=0)
    rng = np.random.default_rng(0)
    around = space.project(PLACES + 0.2 * rng.standard_normal((60, 10)))
    points = UNITS.act(UNITS.random(80, rng), np.concatenate([around, space.sample(20, rng)]), paired=True)
    agent.tell_batch(points, mean(points) + 0.01 * rng.standard_normal(80))
    assert (agent._choice.reference is not None) == (is_aligned and goal == "best")
    moved = UNITS.act(UNITS.random(1, 1)[0], points[:9])
    np.testing.assert_allclose([agent.estimate(x) for x in points[:9]], [agent.estimate(x) for x in moved], atol=1e-9)
    goes_on_alike(agent, mean, tmp_path / "agent", 8)


SIX = G.Symmetric(6)


def of_levels(x):
    """A sum over exchangeable numbers, and a remainder that depends on all of them."""
    return 0.5 + 0.1 * np.sin(12 * x).sum(axis=1) - np.abs(np.sort(x) - np.linspace(0.1, 0.9, 6)).max(axis=1)


def on_hills_near_the_places(x):
    """A sum over units, and a function of the orbit distance."""
    return 0.5 * on_hills(x) + 0.5 * near_the_places(x)


def of_distances(x):
    """Units of the same kind repel each other, wherever they are."""
    units = x.reshape(len(x), 5, 2)
    squares = ((units[:, :, None] - units[:, None]) ** 2).sum(axis=3)
    return 0.5 - 0.1 * np.exp(-squares / 0.08).sum(axis=(1, 2)) + 0.1 * np.cos(9 * np.sqrt(squares)).sum(axis=(1, 2))


def round_a_ring(x):
    """A sum over coordinates, and a function of the orbit distance under cyclic shifts."""
    shifts = [np.abs(np.roll(x, k, axis=1) - [0.1, 0.7, 0.3, 0.9, 0.4, 0.2]).sum(axis=1) for k in range(6)]
    return 0.5 + 0.02 * np.sin(12 * x).sum(axis=1) - 0.3 * np.min(shifts, axis=0)


SUMS = {
    "ring": (S.Box(0.0, 1.0, dim=6), G.CyclicShift(6), round_a_ring, "both"),
    "units": (S.Box(0.0, 1.0, dim=10), UNITS, on_hills_near_the_places, "all"),
    "numbers": (S.Box(0.0, 1.0, dim=6), SIX, of_levels, "both"),
    "distances": (S.Box(0.0, 1.0, dim=10), UNITS, of_distances, "all"),
}


@pytest.mark.parametrize("name", SUMS)
def test_the_likelihood_may_prefer_a_sum_of_kernels(name, tmp_path):
    space, group, mean, used = SUMS[name]
    agent = orbit_gp.OrbitGP(space, group, horizon=200, goal="best", reward_range=(-2.0, 3.0), seed=0)
    rng = np.random.default_rng(0)
    around = space.project(group.fold(space.sample(1, 1)) + 0.2 * rng.standard_normal((60, space.dim)))
    points = np.concatenate([around, space.sample(60, rng)])
    agent.tell_batch(points, mean(points) + 0.005 * rng.standard_normal(120))
    assert agent._choice.used == used
    moved = group.act(group.random(1, 1)[0], points[:9])
    np.testing.assert_allclose([agent.estimate(x) for x in points[:9]], [agent.estimate(x) for x in moved], atol=1e-9)
    goes_on_alike(agent, mean, tmp_path / "agent", 8)


@pytest.mark.parametrize(
    ("name", "used"), [("units", "second"), *product(["units", "numbers"], ["both", "all", "third", 1])]
)
def test_a_file_with_a_kernel_that_its_data_cannot_have_is_refused(name, used, tmp_path, monkeypatch):
    """Nothing was told yet: no point to align to, no scales of a second kernel."""
    space, group, *_ = SUMS[name]
    agent = orbit_gp.OrbitGP(space, group, horizon=200, goal="best", seed=0)
    monkeypatch.setattr(agent, "_choice", Choice(used))
    agent.save(tmp_path / "agent")
    with pytest.raises(ob.errors.OrbanditError):
        orbit_gp.OrbitGP.load(tmp_path / "agent")


def test_what_is_recommended_is_in_a_box_without_rounding():
    """Where the mean is largest in a corner, and a part of the way there may end beyond it."""
    space, rng = S.Box(0.1, 1.1, dim=2), np.random.default_rng(10)
    agent = orbit_gp.OrbitGP(space, horizon=60, goal="best", reward_range=(-1.0, 2.0), seed=10)

    def tell(points):
        agent.tell_batch(points, np.clip(1 - points.sum(axis=1) / 2 + 0.2 * rng.standard_normal(len(points)), -1, 2))
        assert space.contains(agent.recommend(), tol=0.0)

    tell(space.sample(20, rng))
    for _ in range(15):
        tell(agent.ask()[None])


def test_maximize_is_for_the_best():
    def run(agent):
        rng = np.random.default_rng(0)
        return ob.maximize(
            lambda x: bump(x)[0] + 0.05 * rng.standard_normal(), SQUARE, SWAP, budget=40, agent=agent, seed=0
        )

    best = partial(orbit_gp.OrbitGP, goal="best")
    points = run(None).history.points
    np.testing.assert_array_equal(points, run(best).history.points)
    assert not np.array_equal(points, run(orbit_gp.OrbitGP).history.points)
