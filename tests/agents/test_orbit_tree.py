"""OrbitTree against a slow twin, play by play; its confidence bounds, what it learns, and spaces of all kinds."""

import math

import numpy as np
import pytest

import naive
import orbandit as ob
from agent_cases import rounds_of
from orbandit._kernels import kriging
from orbandit._kernels import orbit_tree as kernels
from orbandit.agents import orbit_tree as constants
from orbandit.agents.optimism import CALM
from orbandit.agents.orbit_tree import OrbitTree
from orbandit.errors import InputError
from orbandit.meshes.cells import CellTree, hashes

A, G, S = ob.agents, ob.groups, ob.spaces
SQUARE, CUBE = S.Box(0.0, 1.0, dim=2), S.Box(0.0, 1.0, dim=3)

PLACES = {
    "interval": (S.Box(0.0, 1.0, dim=1), None),
    "square S2": (SQUARE, G.Symmetric(2)),
    "cube": (CUBE, None),
    "cube S3": (CUBE, G.Symmetric(3)),
    "disk D5": (S.Ball(2), G.Dihedral(5)),
    "simplex": (S.Simplex(3), G.Symmetric(3)),
    "ring": (CUBE, G.CyclicShift(3)),
    "product": (S.Product(S.Ball(2), S.Simplex(2)), None),
    "factors": (S.Ball(4), G.Orthogonal(2, 2)),
}
MODES = {
    "default": {"lipschitz": 1.0},
    "theory": {"guarantee": "theory", "lipschitz": 1.0},
    "unknown": {"lipschitz": None},
}


def bump(space):
    """A smooth mean with its peak at no special place."""
    peak = space.project(np.full(space.dim, 0.3))
    return lambda points: 0.1 + 0.8 / (1 + 3 * ((points - peak) ** 2).sum(axis=1))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", PLACES)
def test_it_plays_as_its_twin(place, mode):
    space, group = PLACES[place]
    # in a product, rounding decides after 250 rounds which of two equal cells is the last of the 32
    n = 100
    agent = OrbitTree(space, group, horizon=n, seed=3, **MODES[mode])
    tree = CellTree(agent.arms.units.space, agent.arms.units.group)

    def ties(cell):
        return float(hashes(tree.codes[[cell]], agent._salt)[0]) * 1e-9 / 2.0**64

    twin = naive.OrbitTree(tree, constants, agent.arms.scale, n, ties, mode == "theory", mode == "unknown")
    mean, draws = bump(space), np.random.default_rng(4).random(n)
    played, points = rounds_of(agent, mean, draws, np.arange(n))
    for t in range(n):
        cell = twin.ask()
        expected = agent.arms.units.leave(tree.points(np.array([cell])))
        np.testing.assert_allclose(points[t], expected[0], atol=1e-12)
        assert played[t] == pytest.approx(mean(expected)[0], abs=1e-12), t
        twin.tell(cell, float(draws[t] < played[t]))
    assert agent.lipschitz * agent.arms.units.sizes.min() == pytest.approx(twin.scale)
    assert agent.n_arms == len(twin.keys)


KERNELS = [(home, name) for home in (kriging, kernels) for name in dir(home) if hasattr(getattr(home, name), "py_func")]


@pytest.mark.parametrize("mode", MODES)
def test_plain_kernels_do_as_compiled_ones(mode, monkeypatch):
    def run():
        agent = OrbitTree(CUBE, G.Symmetric(3), horizon=150, seed=1, **MODES[mode])
        agent.tell([0.1, 0.2, 0.3], 0.7)
        agent.ask_batch(4)
        played, _ = rounds_of(agent, bump(CUBE), np.random.default_rng(0).random(150))
        return played, agent.recommend(), agent.estimate([0.5, 0.4, 0.3])

    compiled = run()
    assert len(KERNELS) > 15
    for home, name in KERNELS:
        monkeypatch.setattr(home, name, getattr(home, name).py_func)
    for one, other in zip(run(), compiled, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_kriging_finds_the_most_telling_cells_and_conditions_on_them():
    rng = np.random.default_rng(0)
    for space, group in PLACES.values():
        agent = OrbitTree(space, group, horizon=5000, lipschitz=1.0, seed=0)
        rounds_of(agent, bump(space), rng.random(600))
        for point in space.sample(60, 2):  # rewards are then at the mean of the places told
            agent.tell(point, 0.5)
        twin = naive.OrbitTree(agent.arms.cells, constants, agent.arms.scale, 5000, lambda cell: 0.0)
        # in units of the scale, which is 1
        twin.place = lambda cell, agent=agent: agent._leaves.places[cell]
        known = np.flatnonzero(agent._stats[:, kernels.COUNT] > 0)
        assert (agent._leaves.places != agent._leaves.centers).any()
        twin.values = {int(c): tuple(agent._stats[c, [kernels.VALUE, kernels.NOISE]]) for c in known}
        for point in space.sample(20, 1):
            place = agent._place(point)
            size = kriging.nearest_cells(agent._tree, place)
            near = [c for c in twin.values if np.linalg.norm(place - twin.place(c)) <= 1.5]
            ranks = sorted(twin.variogram(place, twin.place(c)) + twin.values[c][1] for c in near)
            np.testing.assert_allclose(agent._tree.work[1][:size], ranks[:32], rtol=1e-9)
            np.testing.assert_allclose(kriging.krige(agent._tree, place), twin.krige(place), atol=1e-8)


def rough(space, group, seed):
    """A random invariant mean with Lipschitz constant 1: the upper envelope of some cones."""
    rng = np.random.default_rng(seed)
    peaks, heights = space.sample(6, rng), rng.uniform(0.3, 0.95, 6)
    metric = group or G.Trivial(space.dim)
    return lambda points: np.clip((heights - np.asarray(metric.distance(points, peaks))).max(axis=1), 0.0, 1.0)


@pytest.mark.parametrize("place", PLACES)
def test_bounds_of_theory_hold(place):
    """Each key bounds all rewards in its cell, at all times."""
    space, group = PLACES[place]
    for seed in (0, 2):
        mean, rng = rough(space, group, seed), np.random.default_rng(seed)
        agent = OrbitTree(space, group, horizon=4000, guarantee="theory", lipschitz=1.0, seed=seed)
        points = space.sample(150, rng)
        rewards = mean(points)
        for _ in range(12):
            if seed == 2:  # data from elsewhere, too
                for point in space.sample(5, rng):
                    agent.tell(point, float(rng.random() < mean(point[None])[0]))
            rounds_of(agent, mean, rng.random(200))
            keys = np.array([agent._leaves.keys[agent.arms.handle(point)] for point in points])
            assert (keys >= rewards - 1e-9).all()


def test_bounds_of_theory_are_those_of_the_docstring():
    agent = OrbitTree(SQUARE, horizon=1000, guarantee="theory", lipschitz=1.0, seed=0)
    node = agent._choose()
    w = math.log(6 * 1000.0**3)
    for reward in (0.2, 0.9, 0.4):
        kernels.observe(agent._tree, node, agent._leaves.centers[node], reward, 0.0, 0.0)
    hoeffding = math.sqrt(w / 6)
    bernstein = math.sqrt(2 * np.var([0.2, 0.9, 0.4], ddof=1) * w / 3) + 7 * w / 6
    assert kernels.confidence(agent._tree, node, 3.0) == pytest.approx(min(hoeffding, bernstein))
    steady = agent._choose()
    for _ in range(2000):
        kernels.observe(agent._tree, steady, agent._leaves.centers[steady], 0.5, 0.0, 0.0)
    assert kernels.confidence(agent._tree, steady, 2000.0) == pytest.approx(7 * w / (3 * 1999))


def test_every_cell_played_near_its_parents_bound():
    """Every point played is within 4 L radius(parent) of the best, cell by cell."""
    mean = rough(CUBE, G.Symmetric(3), 5)
    agent = OrbitTree(CUBE, G.Symmetric(3), horizon=20_000, guarantee="theory", lipschitz=1.0, seed=0)
    rounds_of(agent, mean, np.random.default_rng(0).random(20_000))
    best = mean(CUBE.sample(20_000, 0)).max()
    played = np.flatnonzero(agent._stats[:, kernels.COUNT] > 0)
    parents = agent.arms.cells.parents[played]
    divided = parents[agent._stats[parents, kernels.COUNT] > 0]
    assert len(divided) > 20
    mine = played[agent._stats[parents, kernels.COUNT] > 0]
    gaps = best - mean(agent.arms.cells.points(mine))
    assert (gaps <= 4 * agent._leaves._radii[agent.arms.cells.depths[divided]]).all()
    visits = agent._stats[played, kernels.COUNT]
    w = math.log(6) + 3 * math.log(20_000)
    assert (visits <= 1 + w / (2 * agent._leaves._radii[agent.arms.cells.depths[played]] ** 2)).all()


def test_little_noise_is_learnt_and_used():
    """With nearly exact rewards a few hundred rounds find the peak to a hundredth."""
    peak = np.array([0.23, 0.61, 0.87])
    agent = OrbitTree(CUBE, G.Symmetric(3), horizon=400, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(400):
        point = agent.ask()
        agent.tell(point, np.clip(0.9 - np.linalg.norm(np.sort(point) - peak) + 0.003 * rng.standard_normal(), 0, 1))
    assert np.linalg.norm(np.sort(agent.recommend()) - peak) < 0.02
    assert agent._leaves.pool[kernels.RESIDUAL] / agent._leaves.pool[kernels.FREEDOM] < 0.1


def test_the_noise_of_bernoulli_rewards_is_all_there_can_be():
    agent = OrbitTree(SQUARE, horizon=5000, lipschitz=1.0, seed=0)
    rounds_of(agent, bump(SQUARE), np.random.default_rng(1).random(5000))
    assert agent._leaves.pool[kernels.RESIDUAL] / agent._leaves.pool[kernels.FREEDOM] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("slope", [0.3, 1.0, 4.0])
def test_it_works_without_the_lipschitz_constant(slope):
    def mean(points):
        return np.clip(0.9 - slope * np.linalg.norm(np.sort(points, axis=1) - [0.21, 0.68], axis=1), 0.05, 1)

    regrets = {}
    for lipschitz in (slope, None):
        agents = [OrbitTree(SQUARE, G.Symmetric(2), horizon=10_000, lipschitz=lipschitz, seed=s) for s in range(4)]
        draws = np.random.default_rng(0).random((4, 10_000))
        played = [rounds_of(agent, mean, row)[0] for agent, row in zip(agents, draws, strict=True)]
        regrets[lipschitz] = np.mean([9000 - one.sum() for one in played])
    assert regrets[None] < 2 * regrets[slope]
    assert agents[0].lipschitz >= 2**0.5 * (1 - 1e-12)
    uniform = 9000 - 10_000 * mean(SQUARE.sample(5000, 0)).mean()
    assert regrets[None] < 0.5 * uniform


def test_rewards_from_elsewhere_teach_it():
    """After two thousand rewards of random points it plays near the peak at once."""
    peak, rng = np.array([0.23, 0.61]), np.random.default_rng(0)
    agent = OrbitTree(SQUARE, G.Symmetric(2), horizon=3000, seed=0)

    def mean(points):
        return np.clip(0.9 - np.linalg.norm(np.sort(points, axis=-1) - peak, axis=-1), 0, 1)

    for point in SQUARE.sample(2000, 1):
        agent.tell(point, float(rng.random() < mean(point)))
    assert agent.n_arms > 16
    assert np.linalg.norm(np.sort(agent.recommend()) - peak) < 0.15
    assert mean(agent.ask_batch(20)).mean() > 0.72
    assert agent.estimate([0.61, 0.23]) == agent.estimate([0.23, 0.61])


def test_the_place_of_rewards_is_their_mean():
    agent, points = OrbitTree(SQUARE, horizon=100, seed=0), np.array([[0.1, 0.1], [0.2, 0.05], [0.05, 0.2]])
    for point in points:
        agent.tell(point, 0.5)
    leaf = agent.arms.handle(points[0])
    assert {agent.arms.handle(point) for point in points} == {leaf}
    places = np.array([agent._place(point) for point in points])
    np.testing.assert_allclose(agent._leaves.places[leaf], places.mean(axis=0))
    kernels.expect(agent._tree, leaf, agent._leaves.centers[leaf], 1.0)
    mixed = [*places, agent._leaves.centers[leaf]]
    np.testing.assert_allclose(agent._leaves.places[leaf], np.mean(mixed, axis=0))
    kernels.expect(agent._tree, leaf, agent._leaves.centers[leaf], -1.0)
    np.testing.assert_allclose(agent._leaves.places[leaf], places.mean(axis=0))


def test_rewards_of_other_points_count_with_twice_the_radius():
    agent = OrbitTree(SQUARE, horizon=1000, guarantee="theory", lipschitz=1.0, seed=0)
    leaf = agent.arms.handle([0.01, 0.01])
    for _ in range(30):
        agent.tell([0.01, 0.01], 0.25)
    w = math.log(6) + 3 * math.log(1000)
    radius = min(math.sqrt(w / 60), 7 * w / (3 * 29))
    size = agent._leaves._radii[agent.arms.cells.depths[leaf]]
    assert agent._leaves.keys[leaf] == pytest.approx(0.25 + radius + 2 * size, abs=1e-6)


def test_theory_uses_late_rewards_of_divided_cells():
    """Rewards that come after a cell was divided still bound what lies below it."""
    agent = OrbitTree(S.Box(0.0, 1.0, dim=1), horizon=20_000, lipschitz=3.0, guarantee="theory", seed=0)
    early = agent.ask_batch(3000)
    assert agent.n_arms == 8  # nothing is divided before rewards are told
    agent.tell_batch(early, np.zeros(3000))
    agent.tell_batch(agent.ask_batch(3000), np.zeros(3000))
    agent.ask()
    live = np.flatnonzero(agent._leaves.live)
    for leaf in live:
        parent = agent.arms.cells.parents[leaf]
        if agent._stats[parent, kernels.COUNT] > 0:
            own = kernels.upper_bound(agent._tree, int(parent), agent._stats[parent, kernels.COUNT])
            assert kernels.upper_bound(agent._tree, int(leaf), 0.0) <= own


def test_epochs_take_up_their_horizon():
    agent = OrbitTree(SQUARE, seed=0)
    rounds_of(agent, bump(SQUARE), np.random.default_rng(0).random(20_000))
    assert agent._goal == 32_768
    assert agent._tree.rules[kriging.RULE_BETA] == pytest.approx(math.sqrt(2 * math.log(32_768 / CALM)))
    bounds = OrbitTree(SQUARE, guarantee="theory", lipschitz=1.0, seed=0)
    rounds_of(bounds, bump(SQUARE), np.random.default_rng(0).random(100))
    assert bounds._tree.rules[kriging.RULE_LOG] == pytest.approx(math.log(6 * 128.0**3))


def test_pending_asks_are_expected_to_be_as_estimated():
    agent = OrbitTree(SQUARE, horizon=1000, seed=0)
    for _ in range(40):
        point = agent.ask()
        agent.tell(point, float(0.9 - 0.5 * abs(point[0] - 0.3)))
    before = agent.estimate([0.3, 0.5])
    assert before > 0.6
    for _ in range(20):
        agent.ask()
    assert agent.estimate([0.3, 0.5]) == pytest.approx(before, abs=0.02)


def test_recommendations_are_sure():
    """One lucky reward does not outweigh a cell that was good a hundred times."""
    agent = OrbitTree(SQUARE, horizon=1000, lipschitz=20.0, seed=0)
    good, lucky = (
        agent.arms.point(np.flatnonzero(agent._leaves.live)[0]),
        agent.arms.point(np.flatnonzero(agent._leaves.live)[-1]),
    )
    for reward in [1.0] * 90 + [0.0] * 10:
        agent.tell(good, reward)
    agent.tell(lucky, 1.0)
    assert agent.arms.handle(agent.recommend()) == agent.arms.handle(good)


@pytest.mark.parametrize("lipschitz", [1e160, 1e-160])
def test_slopes_beyond_numbers_are_refused(lipschitz):
    with pytest.raises(ob.errors.InputError, match="lipschitz"):
        OrbitTree(SQUARE, horizon=100, lipschitz=lipschitz)


@pytest.mark.parametrize("side", [1e-80, 1e80])
def test_spaces_of_any_extent_work_without_the_lipschitz_constant(side):
    agent = OrbitTree(S.Box(0.0, side, dim=2), horizon=500, lipschitz=None, seed=0)
    for _ in range(300):
        point = agent.ask()
        agent.tell(point, float(np.clip(0.9 - np.abs(point / side - 0.3).sum(), 0, 1)))
    assert np.abs(agent.recommend() / side - 0.3).max() < 0.1


def test_steep_slopes_do_not_make_rounds_slower_and_slower():
    """Cells too far away to tell anything are not looked at: steep rewards have few neighbours."""
    agent = OrbitTree(S.Box(0.0, 1.0, dim=4), horizon=4000, lipschitz=30.0, seed=0)
    rounds_of(agent, lambda points: np.full(len(points), 0.5), np.random.default_rng(0).random(4000))
    place = agent._place(np.full(4, 0.4))
    assert (agent._stats[:, kernels.COUNT] > 0).sum() > 500
    assert kriging.nearest_cells(agent._tree, place) < 32


def test_units_do_not_matter():
    """Rewards in other units, with the Lipschitz constant in them, and space in other units, give the same plays."""
    draws = np.random.default_rng(0).random(2000)
    plain = OrbitTree(SQUARE, G.Symmetric(2), horizon=2000, lipschitz=1.0, seed=0)
    rounds_of(plain, bump(SQUARE), draws)
    wide = S.Box(0.0, 4.0, dim=2)
    other = OrbitTree(wide, G.Symmetric(2), horizon=2000, lipschitz=0.5, reward_range=(-1.0, 1.0), seed=0)
    for draw in draws:
        point = other.ask()
        other.tell(point, 1.0 if draw < bump(SQUARE)(point[None] / 4)[0] else -1.0)
    np.testing.assert_allclose(other.recommend() / 4, plain.recommend())
    np.testing.assert_array_equal(other._stats[:, :2], plain._stats[:, :2])


def test_groups_too_large_to_list_cost_no_more():
    space, group = S.Box(0.0, 1.0, dim=12), G.Symmetric(12)
    cone = ob.problems.Cone(space, group, peak=np.linspace(0.1, 0.9, 12) ** 1.5)
    rounds_of(OrbitTree(space, group, horizon=100, seed=0), cone.mean, np.full(100, 0.5))
    agent = OrbitTree(space, group, horizon=5000, seed=0)
    played, _ = rounds_of(agent, cone.mean, np.random.default_rng(0).random(5000))
    assert played[-1000:].mean() > cone.mean(space.sample(2000, 0)).mean() + 0.15
    assert cone.mean(agent.recommend()) > played.mean()


def test_the_group_makes_for_less_regret():
    cone = ob.problems.Cone(S.Box(0.0, 1.0, dim=4), G.Symmetric(4), peak=[0.13, 0.37, 0.58, 0.91])

    def blind(space, group, *, horizon, seed, **told):
        return OrbitTree(space, horizon=horizon, seed=seed)

    knowing, without = ob.simulate(OrbitTree, cone, 8_000, seeds=3), ob.simulate(blind, cone, 8_000, seeds=3)
    assert knowing.regret[:, -1].mean() < 0.75 * without.regret[:, -1].mean()


def test_cells_at_the_limit_are_played_on(monkeypatch):
    monkeypatch.setattr(constants, "DEEPEST", 5)
    agent = OrbitTree(S.Box(0.0, 1.0, dim=1), horizon=400, lipschitz=50.0, seed=0)
    for _ in range(400):
        point = agent.ask()
        agent.tell(point, 1.0 if point[0] > 0.7 else 0.2)
    assert agent._stats[:, kernels.COUNT].sum() == 400
    assert agent.arms.cells.depths[agent._stats[:, kernels.COUNT] > 0].max() == 5


def test_a_slope_that_nobody_stated_is_learnt_in_any_units():
    """Forty rewards of 0.2 at a point of a disk of 1,300 m say 0.2 of what is 26 m away."""
    agent = OrbitTree(S.Ball(2, radius=1300.0), horizon=1000, seed=0)
    for _ in range(40):
        agent.tell([100.0, 100.0], 0.2)
    assert agent.estimate([126.0, 100.0]) == pytest.approx(0.2, abs=0.01)
    # What crosses the range of rewards over half the diameter is the least that is assumed.
    assert agent.lipschitz == pytest.approx(1 / 1300.0)


def test_theory_needs_a_stated_slope():
    with pytest.raises(InputError, match="guarantee='theory' needs `lipschitz`"):
        OrbitTree(SQUARE, horizon=1000, guarantee="theory", seed=0)


def test_a_slope_beyond_all_numbers_is_learnt_as_far_as_it_can_be_used():
    agent = OrbitTree(S.Box(0.0, 1.0, dim=1), lipschitz=None, seed=0)
    for point, reward in [(0.1, 0.0), (0.9, 1.0)]:
        for _ in range(40):
            agent.tell([point], reward)
    for node, place in zip(np.flatnonzero(agent._stats[:, kriging.COUNT]), (0.0, 1e-158), strict=True):
        agent._leaves.places[node] = place
    kernels.review(agent._tree, True)
    assert agent._leaves.pool[kriging.SCALE] == kriging.STEEPEST
    assert np.isfinite(agent.estimate([0.5]))
    assert agent.space.contains(agent.ask())
