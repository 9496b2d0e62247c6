"""The bounds as functions: by hand, against brute force, and with their conditions at the edge."""

import itertools
import math

import numpy as np
import pytest

import orbandit as ob
from cases import G, S
from orbandit.errors import InputError, InputTypeError
from orbandit.problems.packing import pack

T, P, M = ob.theory, ob.problems, ob.meshes
SQUARE, SWAP = S.Box(0, 1, dim=2), G.Symmetric(2)
CONE = P.Cone(SQUARE, SWAP, peak=[0.9, 0.3])


def test_lemma_5_and_6_by_hand():
    mesh = M.Mesh([[0.1], [0.12], [0.5], [0.9]], delta=0.05)
    problem = P.Function(lambda x: 0.9 - np.abs(x[:, 0] - 0.9), S.Box(0, 1, dim=1), optimizer=[0.9], lipschitz=1.0)
    n, delta = 1000, 0.05
    # The cliques are the first two points, with gaps 0.8 and 0.78, the third with 0.4 and the last
    # with 0.
    expected = 8 * math.log(n) * (0.8 / (0.78 - 0.25) ** 2 + 0.4 / (0.4 - 0.25) ** 2) + 4 * 1.98 + 8 * n * delta
    assert float(T.gap_dependent_bound(problem, mesh, n)) == pytest.approx(expected)
    free = T.gap_free_bound(problem, mesh, n)
    assert float(free) == pytest.approx(3 * 64 * math.log(n) / delta + 4 * 1.98 + 8 * n * delta)
    assert free.vacuous
    assert free.per_round == pytest.approx(float(free) / n)


@pytest.mark.parametrize("n", [100, 10_000, 10**6])
def test_lemma_6_is_never_below_lemma_5(n):
    for delta in (0.3, 0.1, 0.05):
        mesh = M.quotient_net(SQUARE, SWAP, delta)
        assert float(T.gap_dependent_bound(CONE, mesh, n)) <= float(T.gap_free_bound(CONE, mesh, n))


def test_bounds_scale_with_rewards_and_lengths():
    n = 10_000
    big = S.Box(0, 100, dim=2)
    wide = P.Function(
        lambda x: 10 * np.asarray(CONE.mean(x / 100)) - 4,
        big,
        SWAP,
        optimizer=[90.0, 30.0],
        lipschitz=0.1,
        noise=P.Uniform(1.0, reward_range=(-4.0, 6.0)),
    )
    plain, scaled = M.quotient_net(SQUARE, SWAP, 0.05), M.quotient_net(big, SWAP, 5.0)
    for bound in (T.gap_dependent_bound, T.gap_free_bound):
        one, ten = bound(CONE, plain, n), bound(wide, scaled, n)
        assert float(ten) == pytest.approx(10 * float(one), rel=1e-6)
        assert ten.vacuous == one.vacuous
    assert float(T.theorem1(wide, n)) == pytest.approx(10 * float(T.theorem1(CONE, n)), rel=1e-6)


def test_theorem_1_is_lemma_6_on_the_paper_s_net():
    for problem in (CONE, P.Cone(S.Ball(2), G.Dihedral(5), [0.5, 0.3]), P.Cone(S.Box(0, 1, dim=1), None, [0.3])):
        n = 100_000
        shape = T.theorem1(problem, n)
        order = 1 if problem.group is None else problem.group.order
        assert shape.delta == pytest.approx(T.paper_delta(n, order, problem.space.dim))
        mesh = M.quotient_net(problem.space, problem.group or G.Trivial(problem.space.dim), shape.delta)
        assert float(shape) == pytest.approx(float(T.gap_free_bound(problem, mesh, n)))
        d = problem.space.dim
        assert shape.leading == pytest.approx(
            shape.a1 * (math.log(n) / order) ** (1 / (d + 2)) * n ** ((d + 1) / (d + 2))
        )
        assert shape.condition == pytest.approx(n / order ** (2 * d + 2))


def test_the_paper_s_delta():
    assert T.paper_delta(1000, 6, 3) == pytest.approx((math.log(1000) / 6000) ** 0.2)
    with pytest.raises(InputError, match="`order` must be finite"):
        T.paper_delta(1000, math.inf, 3)


def test_the_lower_bound_by_hand_and_its_conditions():
    family = P.LowerBoundFamily(S.Box(0, 1, dim=1), None, 0.1)
    k, epsilon = len(family), 0.05
    longest = math.floor(k / epsilon**2 / 128)
    bound = T.lower_bound(family, longest)
    assert bound
    assert bound.longest == longest
    assert bound.each == pytest.approx(epsilon * longest / 60)
    assert bound.average == bound.each / 2
    late = T.lower_bound(family, longest + 1)
    assert not late
    assert late.average == 0.0
    assert "above k eps^-2 / 128" in late.broken[0]
    assert "1/12" in T.lower_bound(P.LowerBoundFamily(S.Box(0, 1, dim=1), None, 0.17), 1).broken[0]
    few = P.LowerBoundFamily(S.Box(0, 0.1, dim=1), None, 0.09)
    assert "instances" in T.lower_bound(few, 1).broken[0]


@pytest.mark.parametrize(
    ("space", "group"),
    [
        (S.Box(0, 1, dim=1), None),
        (S.Ball(2), G.Dihedral(5)),
        (S.Ball(2), G.Dihedral(16)),
        (S.Box(0, 1, dim=3), G.Symmetric(3)),
        (S.Simplex(3), G.Symmetric(3)),
    ],
    ids=repr,
)
def test_the_hard_delta_meets_the_conditions(space, group):
    for n in (1000, 8_000):
        delta = T.hard_delta(space, group, n)
        assert T.lower_bound(P.LowerBoundFamily(space, group, delta), n)
        # Not idle: twice as large a delta would break them unless it is capped.
        if 2 * delta < 1 / 6 and n > 1000:
            assert not T.lower_bound(P.LowerBoundFamily(space, group, 2 * delta), n)


def test_the_hard_delta_in_other_units_and_in_small_places():
    metres = S.Box(0, 1000, dim=2)
    delta = T.hard_delta(metres, SWAP, 5_000, lipschitz=0.001)
    assert delta == pytest.approx(1000 * T.hard_delta(SQUARE, SWAP, 5_000))
    far = P.LowerBoundFamily(metres, SWAP, delta, lipschitz=0.001)
    near = P.LowerBoundFamily(SQUARE, SWAP, delta / 1000)
    assert T.lower_bound(far, 5_000).each == pytest.approx(T.lower_bound(near, 5_000).each)
    assert far.instance(0).optimum == pytest.approx(near.instance(0).optimum)
    assert P.check(far.instance(1), points=200)
    assert T.lower_bound(P.LowerBoundFamily(S.Ball(2, 0.01), None, T.hard_delta(S.Ball(2, 0.01), None, 1)), 1)


def test_independent_sets_are_bracketed():
    rng = np.random.default_rng(0)
    for seed in range(5):
        mesh = M.Mesh(SQUARE.sample(14, seed), delta=0.2)
        graph = M.OrbitGraph(mesh, SWAP, 0.35)
        gaps = rng.random(14)
        bounds = T.independent_set_bounds(graph, gaps, 1000, bias=0.1)
        adjacent = np.zeros((14, 14), dtype=bool)
        for i in range(14):
            adjacent[i, graph.neighbors(i)] = True
        best, largest = 0.0, 0
        for chosen in itertools.product([False, True], repeat=14):
            index = np.flatnonzero(chosen)
            if adjacent[np.ix_(index, index)].sum() == len(index):
                largest = max(largest, len(index))
                best = max(best, sum(1 / gaps[i] for i in index if gaps[i] > 0.1))
        assert bounds.alpha[0] <= largest <= bounds.alpha[1]
        low, high = bounds.gap_dependent
        assert low <= math.log(1000) * best * (1 + 1e-12)
        assert math.log(1000) * best <= high * (1 + 1e-12)
        assert low > 0.5 * math.log(1000) * best  # the greedy set is a good one
        assert bounds.gap_free[0] == pytest.approx(math.sqrt(bounds.alpha[0] * 1000 * math.log(1000)))


@pytest.mark.parametrize(
    ("space", "group"),
    [
        (S.Box(0, 1, dim=2), None),
        (S.Ball(3), None),
        (S.Ball(2), G.Dihedral(4)),
        (S.Box(0, 1, dim=3), G.Symmetric(3)),
        (S.Simplex(3), None),
    ],
    ids=repr,
)
def test_proposition_1_holds_where_its_condition_does(space, group):
    for delta in (0.3, 0.15):
        bounds = T.covering_bounds(space, delta, group)
        packing = pack(space, group, delta, np.random.default_rng(0))
        net = M.quotient_net(space, group or G.Trivial(space.dim), delta)
        assert bounds.lower <= len(net)
        if bounds.holds:
            assert len(packing) <= bounds.upper
    assert bounds.holds


def test_proposition_1_fails_on_a_thin_box():
    thin = S.Box([0, 0], [1, 0.01])
    bounds = T.covering_bounds(thin, 0.1)
    assert not bounds.holds
    assert bounds.inradius == pytest.approx(0.005, abs=1e-6)
    assert len(pack(thin, None, 0.1, np.random.default_rng(0))) > bounds.upper


def test_bad_input_is_refused():
    mesh = M.quotient_net(SQUARE, SWAP, 0.2)
    with pytest.raises(InputError, match="has others"):
        T.gap_free_bound(CONE, M.net(S.Box(5, 6, dim=2), 0.2), 100)
    with pytest.raises(InputError, match="has others"):
        T.gap_free_bound(CONE, M.net(S.Box(0, 1, dim=1), 0.2), 100)
    for order in (0, 2.5):
        with pytest.raises((InputError, InputTypeError), match="order"):
            T.paper_delta(100, order, 2)
    with pytest.raises(InputError, match="horizon"):
        T.paper_delta(1, 2, 2)
    with pytest.raises(InputTypeError):
        T.gap_free_bound(CONE, mesh.points, 100)
    with pytest.raises(InputTypeError):
        T.theorem1("cone", 100)
    with pytest.raises(InputError):
        T.gap_dependent_bound(CONE, mesh, 1)
    with pytest.raises(InputTypeError):
        T.lower_bound(CONE, 100)
    graph = M.OrbitGraph(mesh, SWAP, 0.4)
    for gaps in (np.ones(3), -np.ones(len(mesh))):
        with pytest.raises(InputError, match="gaps"):
            T.independent_set_bounds(graph, gaps, 100)
    with pytest.raises(InputError, match="infinite"):
        T.covering_bounds(S.Ball(4), 0.1, G.Orthogonal(2, 2))
    with pytest.raises(InputError, match="infinite"):
        T.hard_delta(S.Ball(4), G.Orthogonal(2, 2), 100)
    with pytest.raises(InputError, match="does not preserve"):
        T.covering_bounds(SQUARE, 0.1, G.SignFlips(2))
