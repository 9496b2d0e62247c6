"""Evolution: beside its slow twin, on walls and constraints, under noise and ties, from elsewhere, and from files."""

import numpy as np
import pytest

import naive_gp
import orbandit as ob
from cases import SPACES
from orbandit.agents.gaussian import evolution
from orbandit.agents.gaussian.evolution import FIRST_STEP, Evolution, rates, relative_noise
from orbandit.agents.gaussian.fit import Parameters
from orbandit.agents.gaussian.model import Candidates, Model
from orbandit.agents.gaussian.quotient_kernel import quotient_kernel
from orbandit.agents.gaussian.thinning import Rewards
from orbandit.spaces.feasible_set import FeasibleSet


def searched(region, start, mean, rounds, noise=0.0, seed=0):
    """Return an evolution strategy after so many rounds, and the points measured."""
    rng, search, points = np.random.default_rng(seed), Evolution(region, start, rounds), []
    for _ in range(rounds):
        drawn, point = search.drawn(rng)
        points.append(point)
        search.add(drawn, float(mean(point) + noise * rng.standard_normal()))
    return search, np.array(points)


@pytest.mark.parametrize("is_skewed", [False, True])
def test_generations_are_those_of_the_slow_twin(is_skewed):
    region, rng = FeasibleSet(ob.spaces.Box(-9.0, 9.0, dim=3)), np.random.default_rng(3)
    start = np.array([0.3, -0.2, 0.1])
    search = Evolution(region, start, 60)
    state = start, FIRST_STEP, np.diag(np.full(3, 18.0**2)), np.zeros((2, 3))
    for generation in range(12):
        members = []
        for _ in range(search.size):
            drawn, point = search.drawn(rng)
            np.testing.assert_array_equal(drawn, point)
            noise = 5.0 * rng.exponential() ** 2 if is_skewed else 0.1 * rng.uniform()
            members.append((drawn, -np.abs(point - [1.0, 0.0, -1.0]).sum() + noise))
        near = [(search.near(point), value) for point, value in members]
        state = naive_gp.evolved(*state, generation, near, is_by_rewards=is_skewed)
        assert [search.add(*member) for member in members] == [False] * (search.size - 1) + [True]
        arrays = search.arrays()
        np.testing.assert_allclose(search.mean, state[0], rtol=1e-9)
        np.testing.assert_allclose(search.step, state[1], rtol=1e-9)
        np.testing.assert_allclose(arrays["evolution_covariance"], state[2], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(arrays["evolution_paths"], state[3], rtol=1e-8, atol=1e-12)
    assert search.generations == 12


@pytest.mark.parametrize("size", [4, 7, 50, 2_000])
@pytest.mark.parametrize("dim", [1, 2, 40])
def test_weights_and_rates_are_shares(size, dim):
    found = rates(size, dim)
    assert found.weights.sum() == pytest.approx(1)
    assert (np.diff(found.weights) < 0).all()
    assert found.weights[-1] > 0
    assert 1 <= found.mass <= size / 2
    assert 0 < found.one + found.many <= 1


@pytest.mark.parametrize("name", SPACES)
def test_it_climbs_to_tops_inside_and_on_walls_of_every_space(name, monkeypatch):
    """Far away and without noise, by many small generations."""
    monkeypatch.setattr(evolution, "GENERATION", 1.0)
    space = SPACES[name]()
    region, rng = FeasibleSet(space), np.random.default_rng(1)
    width = float(np.ptp(space.bounds, axis=0).max())
    start, inner, away = space.sample(3, rng)
    slope = (away - start) / np.linalg.norm(away - start)
    corner = space.project((start + 100 * width * slope)[None])[0]
    for top, mean in (
        (inner, lambda x: -(((x - inner) / width) ** 2).sum()),
        (corner, lambda x: (x - corner) @ slope / width),
    ):
        search, points = searched(region, start, mean, 4_000)
        assert space.contains(points, tol=space.tolerance).all()
        assert space.contains(search.mean, tol=space.tolerance)
        assert mean(search.mean) >= mean(top) - 1e-3
        assert mean(start) < mean(top) - 1e-2


def test_noise_is_averaged_over():
    """From a point as good as a model finds: 2,000 evaluations, whose noise is 200 times the regret, or 2."""
    space, top = ob.spaces.Box(0.0, 1.0, dim=6), np.linspace(0.3, 0.7, 6)
    for seed in range(3):
        start = top + 0.05 * np.random.default_rng(seed).standard_normal(6)

        def regret(point):
            return float(((point - top) ** 2).sum())

        search, _ = searched(FeasibleSet(space), start, lambda x: -regret(x), 2_000, noise=0.5, seed=seed)
        assert regret(search.mean) < 3 * regret(start)  # nothing is lost where nothing can be seen
        search, _ = searched(FeasibleSet(space), start, lambda x: -regret(x), 2_000, noise=0.005, seed=seed)
        assert regret(search.mean) < 0.3 * regret(start)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_under_skewed_noise_it_finds_the_best_mean_not_the_best_median(sign):
    """The mean is largest at 0.5; most rewards are better to the right of it, and a few much worse, or the reverse."""
    region, rng = FeasibleSet(ob.spaces.Box(0.0, 1.0, dim=2)), np.random.default_rng(7)
    search = Evolution(region, np.array([0.5, 0.5]), 10_000)
    for _ in range(10_000):
        drawn, point = search.drawn(rng)
        noise = point[0] * (1.0 - rng.exponential())  # its median is 0.31 times the first coordinate
        search.add(drawn, -((point - 0.5) ** 2).sum() + sign * noise)
    np.testing.assert_allclose(search.mean, 0.5, atol=0.05)


def test_without_much_noise_ranks_decide_whatever_their_skewness():
    region, ends = FeasibleSet(ob.spaces.Box(0.0, 1.0, dim=2)), []
    for shape in (1.0, 3.0):  # the same ranks
        search, rng = Evolution(region, np.full(2, 0.5), 2_000, noise=0.1), np.random.default_rng(7)
        for _ in range(2_000):
            drawn, point = search.drawn(rng)
            search.add(drawn, -(((point - 0.6) ** 2).sum() ** shape))
        ends.append(search.mean)
    np.testing.assert_array_equal(*ends)


def test_generations_are_the_smaller_the_less_noise_there_is():
    """Without noise, those of Hansen's default; and then 2,000 rounds find the top to many digits."""
    region, start = FeasibleSet(ob.spaces.Box(0.0, 1.0, dim=6)), np.full(6, 0.45)
    sizes = [Evolution(region, start, 4_000, noise).size for noise in (0.0, 0.005, 0.05, 0.5, 5.0)]
    assert sizes == [9, 51, 160, 506, 506]
    search, rng = Evolution(region, start, 2_000, 0.0), np.random.default_rng(0)
    for _ in range(2_000):
        drawn, point = search.drawn(rng)
        search.add(drawn, -float(((point - 0.5) ** 2 * np.arange(1, 7) ** 2).sum()))
    assert np.abs(search.mean - 0.5).max() < 1e-6


@pytest.mark.parametrize("noise", [1e-8, 1e-4, 1e-2])
def test_the_noise_is_measured_in_what_a_first_step_costs(noise):
    space, top = ob.spaces.Box(0.0, 2.0, dim=3), np.array([0.9, 1.0, 1.2])
    rng, size = np.random.default_rng(0), 120
    kernel = quotient_kernel(space, None, "matern52")
    points = top + 0.2 * rng.standard_normal((size, 3))
    values = 0.9 - ((points - top) ** 2).sum(axis=1)
    rewards = Rewards(points, kernel.features(points), np.ones(size), values, np.zeros(size))
    pool = Candidates(points[:8], kernel.features(points[:8]))
    model = Model(kernel, Parameters(0.5, kernel.unit, noise), 0.5, pool, rewards, np.zeros((2, size)))
    cost = 3 * (2 * FIRST_STEP) ** 2  # of the bowl
    expected = min(noise**0.5 / cost, 0.5)
    assert relative_noise(model, FeasibleSet(space), top, rng) == pytest.approx(expected, rel=0.4)


def test_equal_rewards_lead_nowhere_far():
    space, start = ob.spaces.Box(0.0, 1.0, dim=4), np.full(4, 0.4)
    search, points = searched(FeasibleSet(space), start, lambda x: 0.5, 3_000)
    assert np.isfinite(points).all()
    assert np.abs(search.mean - start).max() < 0.1
    assert 0 < search.step < 10 * FIRST_STEP


def test_points_and_the_mean_keep_to_a_constraint(monkeypatch):
    """A ring about the corner: the top is on its inner edge, and the start far away."""
    monkeypatch.setattr(evolution, "GENERATION", 1.0)
    space, start = ob.spaces.Box(0.0, 1.0, dim=2), np.array([0.9, 0.1])
    region = FeasibleSet(space, lambda x: np.linalg.norm(x, axis=1) - 0.6)
    search, points = searched(region, start, lambda x: -((x - [0.2, 0.2]) ** 2).sum(), 4_000)
    assert region.holds(points).all()
    assert region.holds(search.mean[None]).all()
    np.testing.assert_allclose(search.mean, np.full(2, 0.6 / 2**0.5), atol=0.01)


def test_what_comes_from_far_away_counts_as_if_it_had_been_drawn():
    space, start = ob.spaces.Box(0.0, 1.0, dim=5), np.full(5, 0.5)
    search = Evolution(FeasibleSet(space), start, 1_000)
    near, far = start + 0.01, np.ones(5)
    np.testing.assert_allclose(search.near(near), near, rtol=1e-12)
    np.testing.assert_array_equal(search.near(start), start)
    moved = search.near(far)
    assert np.linalg.norm(moved - start) / FIRST_STEP == pytest.approx(5**0.5 + 10 / 7)
    np.testing.assert_allclose((moved - start) / (moved - start)[0], np.ones(5))


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_generations_that_agree_leave_the_strategy_able_to_move_and_to_be_saved(dim):
    """One point again and again, or one coordinate that never changes, as an integer rounded."""
    region, rng = FeasibleSet(ob.spaces.Box(0.0, 1.0, dim=dim)), np.random.default_rng(0)
    for is_point in (True, False):
        search, point = Evolution(region, np.full(dim, 0.4), 1_000), np.full(dim, 0.45)
        for _ in range(6 * search.size):
            told = point if is_point else np.concatenate([[0.4], search.drawn(rng)[1][1:]])
            search.add(told, -float(np.abs(told - 0.5).sum()))
        other = Evolution.restored(region, search.arrays())
        ahead = [each.drawn(np.random.default_rng(1))[1] for each in (search, other)]
        np.testing.assert_array_equal(*ahead)
        assert (ahead[0] != search.mean).all()
        assert np.isfinite(search.arrays()["evolution_covariance"]).all()


def test_in_a_corner_it_rests_without_end():
    """Without noise, in thousands of small generations: the mean never moves, and the step shrinks."""
    region, rng = FeasibleSet(ob.spaces.Box(0.0, 1.0, dim=3)), np.random.default_rng(0)
    search = Evolution(region, np.zeros(3), 40_000, 0.0)
    for _ in range(40_000):
        drawn, point = search.drawn(rng)
        search.add(drawn, -float(point.sum()))
    np.testing.assert_array_equal(search.mean, np.zeros(3))
    assert search.generations > 5_000
    np.testing.assert_array_equal(Evolution.restored(region, search.arrays()).mean, search.mean)


def test_points_of_older_generations_do_not_spoil_the_adaptation():
    """All at once, in batches of four generations."""
    space, top = ob.spaces.Box(0.0, 1.0, dim=4), np.linspace(0.4, 0.6, 4)
    search, rng = Evolution(FeasibleSet(space), top + 0.05, 1_000), np.random.default_rng(0)
    for _ in range(20):
        for drawn, point in [search.drawn(rng) for _ in range(4 * search.size)]:
            search.add(drawn, -float(((point - top) ** 2).sum()))
    assert np.abs(search.mean - top).max() < 0.002
    assert search.step * np.sqrt(search.arrays()["evolution_covariance"].diagonal()).max() < 0.1


def test_a_constraint_that_raises_changes_nothing():
    """At the end of a generation, where the mean is brought into the feasible set."""
    is_broken = False

    def rule(points):
        if is_broken:
            raise RuntimeError("no answer")
        return 0.9 - points[:, 0]

    search, rng = (
        Evolution(FeasibleSet(ob.spaces.Box(0.0, 1.0, dim=2), rule), np.full(2, 0.4), 100),
        np.random.default_rng(0),
    )
    drawn = [search.drawn(rng)[0] for _ in range(search.size)]
    for point in drawn[:-1]:
        search.add(point, 0.5)
    before, is_broken = search.arrays(), True
    with pytest.raises(ob.errors.InputError, match="no answer"):
        search.add(drawn[-1], 0.5)
    for name, array in search.arrays().items():
        np.testing.assert_array_equal(array, before[name])
    is_broken = False
    assert search.add(drawn[-1], 0.5)


def test_a_saved_state_goes_on_alike():
    region, start = FeasibleSet(ob.spaces.Ball(3)), np.array([0.1, 0.2, 0.3])
    search, _ = searched(region, start, lambda x: -np.abs(x).sum(), 350)
    other = Evolution.restored(region, search.arrays())
    for seed in range(400):
        ours, theirs = (each.drawn(np.random.default_rng(seed)) for each in (search, other))
        np.testing.assert_array_equal(ours, theirs)
        assert search.add(ours[0], -abs(ours[1]).sum()) == other.add(theirs[0], -abs(theirs[1]).sum())
    assert other.generations == search.generations > 0


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("evolution", lambda a: np.array([3.0, 0.1, 0.0, 0.5])),
        ("evolution", lambda a: np.array([50.0, -0.1, 0.0, 0.5])),
        ("evolution", lambda a: a[:2]),
        ("evolution_mean", lambda a: a + 2),
        ("evolution_mean", lambda a: a * np.nan),
        ("evolution_covariance", lambda a: -a),
        ("evolution_covariance", lambda a: a + np.triu(np.ones_like(a), 1)),
        ("evolution_paths", lambda a: a[:1]),
        ("evolution_members", lambda a: np.zeros((1, 2))),
        ("evolution_members", lambda a: np.zeros((10_000, 4))),
    ],
)
def test_a_state_that_cannot_be_is_refused(name, change):
    region = FeasibleSet(ob.spaces.Ball(3))
    arrays = Evolution(region, np.zeros(3), 100).arrays()
    with pytest.raises(ValueError, match=r"evolution|members|covariance"):
        Evolution.restored(region, arrays | {name: change(arrays[name])})
