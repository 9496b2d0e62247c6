"""The limit of Graves and Lai: by hand, against all vertices of the program, by duality, and on orbits."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

import orbandit as ob
from cases import G, S
from orbandit.errors import InputError, InputTypeError
from orbandit.theory import instance

T, P, M = ob.theory, ob.problems, ob.meshes
LINE, BERNOULLI = S.Box(0, 1, dim=1), P.Bernoulli()


def problem_with(means, places, lipschitz, noise=BERNOULLI, group=None):
    """Return a problem on a line with given means at given places, which are in order."""
    best = places[int(np.argmax(means))]
    return P.Function(
        lambda x: np.interp(x[:, 0], places, means), LINE, group, optimizer=[best], lipschitz=lipschitz, noise=noise
    )


def mesh_of(places, group=None):
    return M.Mesh(np.array(places)[:, None], 0.1, group=group)


def bernoulli(p, q):
    """Return kl(p, q) by its definition."""
    first = p * math.log(p / q) if p > 0 else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def program(means, distance, lipschitz, kl=bernoulli):
    """Return costs and rows of the linear program in c, with loops."""
    best = max(means)
    lesser = [k for k, mean in enumerate(means) if mean < best - 1e-9]
    rows = [[kl(means[j], max(means[j], best - lipschitz * distance(k, j))) for j in lesser] for k in lesser]
    return np.array([best - means[k] for k in lesser]), np.array(rows)


def least_by_vertices(costs, rows):
    """Return the least cost over all vertices of { c >= 0, rows @ c >= 1 }."""
    k = len(costs)
    sizes = np.linalg.norm(rows, axis=1)
    sides, levels = np.vstack([rows / sizes[:, None], np.eye(k)]), np.append(1 / sizes, np.zeros(k))
    least = math.inf
    for tight in map(list, itertools.combinations(range(2 * k), k)):
        if abs(np.linalg.det(sides[tight])) > 1e-9:
            c = np.linalg.solve(sides[tight], levels[tight])
            if (sides @ c >= levels - 1e-9).all():
                least = min(least, float(costs @ c))
    return least


def test_two_arms_are_lai_and_robbins():
    problem = problem_with([0.3, 0.7], [0.1, 0.9], 1.0)
    assert T.instance_limit(problem, mesh_of([0.1, 0.9])) == pytest.approx(0.4 / bernoulli(0.3, 0.7))


def test_three_arms_by_hand():
    """Of two bad arms at a distance of 0.1, 0.5 and 0.4 below a best one far away, each tells of the other."""
    means, places, slope = [0.4, 0.5, 0.9], [0.0, 0.1, 0.9], 1.0
    own = bernoulli(0.4, 0.9), bernoulli(0.5, 0.9)
    # what a play of the first, or second, tells of the other
    shared = bernoulli(0.4, 0.8), bernoulli(0.5, 0.8)
    both = np.linalg.solve([[own[0], shared[1]], [shared[0], own[1]]], [1, 1]) @ [0.5, 0.4]
    alone = min(0.5 / shared[0], 0.4 / shared[1])
    expected = min(both, alone) if both > 0 else alone
    limit = T.instance_limit(problem_with(means, places, slope), mesh_of(places))
    assert limit == pytest.approx(expected)
    assert limit < 0.7 * (0.5 / own[0] + 0.4 / own[1])


def test_without_structure_it_is_the_sum_over_arms():
    rng = np.random.default_rng(0)
    places, means = np.linspace(0, 1, 40), rng.uniform(0.05, 0.9, 40)
    expected = sum((max(means) - mean) / bernoulli(mean, max(means)) for mean in means if mean < max(means))
    assert T.instance_limit(problem_with(means, places, 1e4), mesh_of(places)) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(8))
def test_all_vertices_of_small_programs(seed):
    rng = np.random.default_rng(seed)
    places, slope = np.sort(rng.random(6)), rng.uniform(0.4, 2.0)
    means = np.array([min(0.3 + slope * abs(x - y) * rng.uniform(0.2, 1) for y in places[:3]) for x in places])
    # Lipschitz
    means = np.array([min(means[j] + slope * abs(x - y) for j, y in enumerate(places)) for x in places])
    means = np.clip(means, 0.0, 0.95)
    costs, rows = program(means, lambda k, j: abs(places[k] - places[j]), slope)
    bounds = T.instance_bounds(problem_with(means, places, slope), mesh_of(places))
    assert bounds.lower == pytest.approx(least_by_vertices(costs, rows), rel=1e-7)
    assert bounds.lower <= bounds.upper <= bounds.lower * (1 + 1e-7)


def test_weak_duality():
    """No feasible c costs less than the bounds, and no feasible prices are worth more."""
    cone = P.Cone(S.Box(0, 1, dim=2), G.Symmetric(2), peak=[0.83, 0.31])
    mesh = M.quotient_net(cone.space, cone.group, 0.12)
    bounds = T.instance_bounds(cone, mesh)
    distances = cone.group.distance(mesh.points, mesh.points)
    costs, rows = program(cone.mean(mesh.points), lambda k, j: distances[k, j], 1.0)
    rng = np.random.default_rng(0)
    for _ in range(50):
        c, prices = rng.exponential(size=(2, len(costs))) ** 3
        assert costs @ c / (rows @ c).min() >= bounds.upper * (1 - 1e-9)
        assert prices.sum() / (rows.T @ prices / costs).max() <= bounds.lower * (1 + 1e-9)


def union_of_orbits(group, points):
    return np.unique(np.concatenate([group.orbit(point) for point in points]).round(12), axis=0)


@pytest.mark.parametrize(
    ("space", "group"),
    [
        (S.Box(0, 1, dim=2), G.Symmetric(2)),
        (S.Box(0, 1, dim=3), G.Symmetric(3)),
        (S.Ball(2), G.Dihedral(5)),
        (S.Ball(2), G.Cyclic(3)),  # no reflections
        (S.Box(0, 1, dim=3), G.CyclicShift(3)),
    ],
    ids=repr,
)
def test_what_a_group_is_worth(space, group):
    rng = np.random.default_rng(1)
    some = space.sample(9, rng)
    for peak in space.sample(3, rng):
        cone = P.Cone(space, group, peak)
        points = union_of_orbits(group, some)
        plain = T.instance_limit(cone, M.Mesh(points, 0.1))
        along = T.instance_limit(cone, M.Mesh(points, 0.1, group=group))
        orbits = T.instance_limit(cone, M.Mesh(group.fold(some), 0.1, group=group))
        assert along == pytest.approx(orbits, rel=1e-6)
        assert orbits * (1 - 1e-9) <= plain <= group.order * orbits * (1 + 1e-9)
        assert plain > 1.2 * orbits


def test_ties_are_one_set_of_optimal_arms():
    places, means = [0.0, 0.3, 0.6, 1.0], [0.8, 0.5, 0.8 - 1e-12, 0.8]
    limit = T.instance_limit(problem_with(means, places, 2.0), mesh_of(places))
    assert limit == pytest.approx(0.3 / bernoulli(0.5, 0.8))
    assert T.instance_bounds(problem_with([0.5, 0.5], [0.2, 0.8], 1.0), mesh_of([0.2, 0.8])) == (0.0, 0.0)
    assert T.instance_limit(problem_with([0.5, 0.6], [0.2, 0.8], 1.0), mesh_of([0.2])) == 0.0


def test_near_ties_are_exact():
    gap = 1e-6
    limit = T.instance_limit(problem_with([0.5, 0.5 + gap], [0.0, 1.0], 1.0), mesh_of([0.0, 1.0]))
    assert limit == pytest.approx(gap / (2 * gap**2), rel=1e-5)  # kl is 2 gap^2 about 1/2


def test_means_at_the_ends_of_the_range():
    worst = T.instance_limit(problem_with([0.0, 0.6], [0.0, 1.0], 1.0), mesh_of([0.0, 1.0]))
    assert worst == pytest.approx(0.6 / -math.log(0.4))
    assert T.instance_limit(problem_with([0.4, 1.0], [0.0, 1.0], 1.0), mesh_of([0.0, 1.0])) == 0.0
    for noise in (P.Bernoulli(), P.ClippedGaussian(0.2)):
        with np.errstate(all="raise"):
            kl = noise.divergence(np.array([0.0, 1.0, 0.0, 0.0, 0.3, 0.3]), np.array([0.0, 1.0, 1.0, 0.3, 0.0, 1.0]))
        assert np.array_equal(kl[[0, 1, 2, 4, 5]], [0, 0, np.inf, np.inf, np.inf])
        rewards = noise.sample(np.full(200_000, 0.3), np.random.default_rng(0))
        # of the reward that 0 always has
        assert kl[3] == pytest.approx(-math.log((rewards == 0).mean()), rel=0.01)


def clipped_kl(noise, p, q):
    """Return the divergence by quadrature between the ends, and mass at both."""
    s = noise._scale
    a, b = (float(noise._center(np.array([r]))[0]) for r in (p, q))

    def density(x, center):
        return math.exp(-(((x - center) / s) ** 2) / 2) / s / math.sqrt(2 * math.pi)

    def below(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    ends = [(below(-a / s), below(-b / s)), (below((a - 1) / s), below((b - 1) / s))]
    inner = quad(
        lambda x: density(x, a) * ((x - b) ** 2 - (x - a) ** 2) / 2 / s**2, 0, 1, points=[a] if 0 < a < 1 else None
    )
    return inner[0] + sum(one * math.log(one / other) for one, other in ends if one > 0)


@pytest.mark.parametrize("deviation", [0.1, 0.3, 1.0])
def test_the_divergence_of_clipped_gaussian_rewards(deviation):
    noise, means = P.ClippedGaussian(deviation), np.array([0.05, 0.3, 0.5, 0.77, 0.95])
    p, q = (values.ravel() for values in np.meshgrid(means, means))
    ours = noise.divergence(p, q)
    assert ours == pytest.approx([clipped_kl(noise, *pair) for pair in zip(p, q, strict=True)], rel=1e-6, abs=1e-12)
    assert (ours >= (p - q) ** 2 / 2 / deviation**2 - 1e-12).all()
    # Small steps: what is left of the formula, and the Fisher information, agree where they meet.
    base, steps = np.full(2, 0.9), np.array([2e-5, 2e-7]) * deviation * 0.4
    large, small = noise.divergence(base, base + steps) / steps**2
    assert small == pytest.approx(large, rel=1e-3)


def test_the_divergence_at_extremes():
    tiny = P.Bernoulli().divergence(np.array([5e-324, 1e-310, 1e-12, 1 - 1e-16]), np.full(4, 0.5))
    assert tiny == pytest.approx([math.log(2)] * 4)
    means = np.array([1e-300, 1e-12, 0.01, 0.5, 0.99, 1 - 1e-12])
    p, q = (values.ravel() for values in np.meshgrid(means, means))
    for deviation in (1e-3, 0.01, 0.1, 1.0, 30.0):
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            kl = P.ClippedGaussian(deviation).divergence(p, q)
        assert (kl >= -1e-9).all()
        assert (kl[p == q] == 0).all()
    # With much noise, rewards are at the ends nearly always.
    inner = (p > 0.001) & (p < 0.999) & (q > 0.001) & (q < 0.999)
    coarse = P.ClippedGaussian(3000.0).divergence(p[inner], q[inner])
    assert coarse == pytest.approx(P.Bernoulli().divergence(p[inner], q[inner]), rel=1e-2, abs=1e-12)


def test_gaussian_rewards_far_from_the_ends():
    places, means, s = [0.0, 0.2, 0.5, 0.9], [0.45, 0.5, 0.4, 0.55], 0.02
    noise = P.ClippedGaussian(s)

    def gaussian(a, b):
        return (a - b) ** 2 / 2 / s**2

    costs, rows = program(means, lambda k, j: abs(places[k] - places[j]), 0.5, gaussian)
    limit = T.instance_limit(problem_with(means, places, 0.5, noise), mesh_of(places))
    assert limit == pytest.approx(least_by_vertices(costs, rows))
    # The limit has the units of rewards: ten times as wide, ten times as large.
    wide = P.ClippedGaussian(10 * s, reward_range=(-4.0, 6.0))
    scaled = problem_with(10 * np.array(means) - 4, places, 5.0, wide)
    assert T.instance_limit(scaled, mesh_of(places)) == pytest.approx(10 * limit)


def test_rows_are_added_until_the_gap_is_small(monkeypatch):
    cone = P.Cone(S.Box(0, 1, dim=2), None, peak=[0.83, 0.31])
    mesh = M.net(cone.space, 0.04)
    whole = T.instance_limit(cone, mesh)
    monkeypatch.setattr(instance, "MAX_WHOLE", 10)
    monkeypatch.setattr(instance, "ROWS_AT_ONCE", 5)
    monkeypatch.setattr(instance, "MAX_PAIRS", 1000)  # pieces
    assert T.instance_limit(cone, mesh, gap=0) == pytest.approx(whole, rel=1e-6)
    for gap in (1.0, 0.1):
        rough = T.instance_bounds(cone, mesh, gap)
        assert rough.lower <= whole * (1 + 1e-9)
        assert whole <= rough.upper * (1 + 1e-9)
        assert rough.upper <= (1 + gap) * rough.lower
    assert T.instance_bounds(cone, mesh, 1.0).lower < 0.999 * whole


class Own(P.Problem):
    """Draws rewards in a way of its own."""

    def __init__(self):
        super().__init__(LINE, None, 1.0, noise=None)

    optimizer = np.array([1.0])

    def _mean(self, points):
        return points[:, 0]

    def _draw(self, points, rng):
        return points[:, 0]


def test_what_is_refused():
    problem, mesh = problem_with([0.3, 0.7], [0.1, 0.9], 1.0), mesh_of([0.1, 0.9])
    for noise in (P.Beta(5.0), P.Uniform(0.1)):
        with pytest.raises(InputError, match=r"Bernoulli\(\) or ClippedGaussian"):
            T.instance_limit(problem_with([0.3, 0.7], [0.1, 0.9], 1.0, noise), mesh)
    with pytest.raises(InputError, match="a way of its own"):
        T.instance_limit(Own(), mesh)
    with pytest.raises(InputTypeError, match="a problem and a mesh"):
        T.instance_limit(problem, [[0.1], [0.9]])
    with pytest.raises(InputTypeError, match="a problem and a mesh"):
        T.instance_limit("cone", mesh)
    with pytest.raises(InputError, match="has others"):
        T.instance_limit(problem, mesh_of([0.1, 1.5]))
    with pytest.raises(InputError, match="gap"):
        T.instance_limit(problem, mesh, gap=-0.1)
    with pytest.raises(InputError, match=r"constant 0\.2 in the metric"):
        T.instance_limit(problem_with([0.3, 0.7], [0.1, 0.9], 0.2), mesh)
    flip = G.SignFlips(1).centered([0.5])
    with pytest.raises(InputError, match="larger `lipschitz`"):  # no function of orbits
        T.instance_limit(problem, mesh_of([0.1, 0.9], flip))
    with pytest.raises(InputError, match="larger `lipschitz`"):  # not between bad arms
        T.instance_limit(problem_with([0.1, 0.5, 0.9], [0.1, 0.2, 0.9], 1.0), mesh_of([0.1, 0.2, 0.9]))


def test_a_problem_without_a_constant_is_refused():
    farm = ob.problems.WindFarm(2, spacing="constraint", noise=ob.problems.Bernoulli())
    with pytest.raises(InputError, match="problems with a Lipschitz constant"):
        ob.theory.instance_limit(farm, ob.meshes.Mesh(farm.space.sample(5, 0), 1.0, farm.space))
