"""check finds what is wrong with a problem, and nothing wrong with a true one; problems refuse what cannot be."""

import numpy as np
import pytest

import orbandit as ob
from cases import G, S
from orbandit.errors import InputError, InputTypeError
from orbandit.problems.search import climb, highest, steepness

P = ob.problems
SQUARE, SWAP = S.Box(0.0, 1.0, dim=2), G.Symmetric(2)


def cone(x, peak=(0.2, 0.7)):
    return 0.9 - np.linalg.norm(np.sort(x, axis=1) - np.array(peak), axis=1)


def problem(function=cone, space=SQUARE, group=SWAP, optimizer=(0.2, 0.7), lipschitz=1.0, **rest):
    return P.Function(function, space, group, optimizer=optimizer, lipschitz=lipschitz, **rest)


CONES = {
    "square": lambda: P.Cone(SQUARE, SWAP, [0.9, 0.3]),
    "no group": lambda: P.Cone(SQUARE, None, [0.9, 0.3]),
    "steep": lambda: P.Cone(SQUARE, SWAP, [0.9, 0.3], lipschitz=40.0),
    "disk": lambda: P.Cone(S.Ball(2, radius=500.0), G.Dihedral(5), [300.0, 200.0], lipschitz=0.002),
    "rotations": lambda: P.Cone(S.Ball(2), G.Cyclic(5), [0.5, 0.4]),
    "icosahedron": lambda: P.Cone(S.Polytope.regular("icosahedron"), G.Coxeter("H3"), [0.4, 0.1, 0.3]),
    "simplex": lambda: P.Cone(S.Simplex(3), G.Symmetric(3), [0.6, 0.3, 0.1]),
    "factors": lambda: P.Cone(S.Ball(4), G.Orthogonal(2, 2), [0.5, 0.2, 0.1, 0.4]),
    "blocks": lambda: P.Cone(S.Product(S.Ball(2), S.Ball(2)), G.BlockPermutation(2, 2), [0.5, 0.2, 0.1, 0.4]),
}


@pytest.mark.parametrize("name", CONES)
def test_cones_are_what_they_claim(name):
    report = P.check(CONES[name](), points=200)
    assert report, str(report)
    assert "as claimed" in str(report)


@pytest.mark.parametrize(
    ("wrong", "trouble"),
    [
        (lambda: problem(group=G.SignFlips(2).centered([0.5, 0.5])), "changes the mean"),
        (lambda: problem(lambda x: cone(x) + 1e-6 * x[:, 0], optimizer=(0.7, 0.2)), "changes the mean"),
        (lambda: problem(lipschitz=0.99), "steeper than"),
        # A needle that few sampled pairs see, and a jump.
        (lambda: problem(lambda x: cone(x) - np.clip(0.02 - 3 * np.abs(x.sum(axis=1) - 1), 0, 1)), "steeper than"),
        (lambda: problem(lambda x: np.where(x.sum(axis=1) > 1.2, 0.2, 0.5), optimizer=(0.1, 0.2)), "steeper than"),
        (lambda: problem(optimizer=(0.2, 0.702)), "above optimum"),
        (lambda: problem(lambda x: cone(x, (0.5, 0.5)), optimizer=(0.5, 0.5)), "middle of the space"),
        (lambda: problem(lambda x: cone(x, (0.4, 0.4)), optimizer=(0.4, 0.4)), "fixed point"),
        (lambda: problem(lambda x: cone(x, (0.1, 0.1)), optimizer=(0.1, 0.1)), "outside [0, 1]"),
        (lambda: problem(noise=Loud()), "rewards outside"),
        (lambda: problem(noise=Biased()), "off their mean"),
        # A pit that no sampled point falls into, but a climber does.
        (lambda: problem(lambda x: cone(x) - 3 * np.clip(0.4 - np.abs(x - 1).max(axis=1), 0, 1)), "outside [0, 1]"),
    ],
)
def test_a_false_claim_is_found(wrong, trouble):
    report = P.check(wrong())
    assert not report
    assert any(trouble in found for found in report.troubles), report.troubles


class Loud(P.Noise):
    reward_range = (0.0, 1.0)

    def sample(self, means, rng):
        return means + 0.5


class Biased(P.Noise):
    reward_range = (0.0, 1.0)

    def sample(self, means, rng):
        return (rng.random(means.shape) < 0.8 * means).astype(float)


def test_true_problems_with_small_slopes_and_large_means_pass():
    square = S.Box(0, 1, dim=2)
    gentle = P.Function(lambda x: 0.5 + 1e-6 * x[:, 0], square, optimizer=[1.0, 0.3], lipschitz=1e-6)
    noise = P.Uniform(0.1, reward_range=(1e6, 1e6 + 1))
    high = P.Function(lambda x: 1e6 + x[:, 0], square, optimizer=[1.0, 0.3], lipschitz=1.0, noise=noise)
    for true in (gentle, high):
        report = P.check(true)
        assert report, str(report)


class Constant(P.Problem):
    optimizer = np.array([1.0, 0.3])

    def __init__(self, draws):
        self.draws = draws
        super().__init__(SQUARE, None, 0.5, None)

    def _mean(self, points):
        return 0.5 * points[:, 0]

    def _draw(self, points, rng):
        return self.draws(points)


class Ruled(P.Problem):
    """A cone whose peak is cut off by a rule, x_1 + x_2 <= 0.8; it has no Lipschitz constant to claim."""

    def __init__(self, optimizer=(0.15, 0.65), rule=lambda x: 0.8 - x.sum(axis=-1)):
        self._optimizer, self._rule = np.array(optimizer), rule
        super().__init__(SQUARE, SWAP, None)

    @property
    def optimizer(self):
        return self._optimizer

    @property
    def feasible(self):
        return lambda points: self._rule(np.asarray(points) - 1e-12)

    def _mean(self, points):
        return cone(points)


def test_rules_are_checked():
    report = P.check(Ruled())
    assert report, str(report)
    for wrong, trouble in (
        (Ruled(optimizer=(0.2, 0.7)), "not feasible"),
        (Ruled(optimizer=(0.1, 0.6)), "above optimum"),
        (Ruled(rule=lambda x: 0.8 - x[..., 0]), "changes what is feasible"),
    ):
        assert any(trouble in found for found in P.check(wrong).troubles), trouble
    assert P.check(problem(lipschitz=None))
    assert problem(lipschitz=None).lipschitz is None


def test_draws_of_ones_own_are_checked():
    assert not P.check(Constant(lambda x: np.ones(len(x))))
    assert P.check(Constant(lambda x: 0.5 * x[:, 0]))
    for draws in (lambda x: np.full(len(x), 7.0), lambda x: 0.5):
        with pytest.raises(InputError, match="must draw one reward"):
            Constant(draws).sample([[0.2, 0.3]], 0)


def test_a_mean_of_ones_own_in_ten_lines_can_be_played():
    own = problem(noise=P.Beta(20.0))
    assert P.check(own)
    assert own.noise is not None
    assert own.reward_range == (0.0, 1.0)
    runs = ob.simulate(ob.agents.OrbitTree, own, 2000, seeds=3)
    uniform = 2000 * (own.optimum - own.mean(SQUARE.sample(4000, 0)).mean())
    assert runs.regret[:, -1].max() < 0.5 * uniform
    assert "cone" in repr(own)


def test_problems_refuse_what_cannot_be():
    with pytest.raises(InputError, match="does not preserve"):
        problem(space=S.Box([0, 0], [1, 2]))
    with pytest.raises(InputError, match=r"must lie in \[0, 1\], but is 1\.4"):
        problem(lambda x: cone(x) + 0.5)
    with pytest.raises(InputError, match="nan"):
        problem(lambda x: np.full(len(x), np.nan))
    with pytest.raises(InputError, match="2 numbers for 2 points"):
        problem(lambda x: 0.5)
    with pytest.raises(InputError, match="optimizer"):
        problem(optimizer=(0.2, 1.7))
    with pytest.raises(InputError, match="shape"):
        problem(optimizer=(0.2, 0.7, 0.1))
    with pytest.raises(InputError, match="lipschitz"):
        problem(lipschitz=0.0)
    for odd in (lambda x: ["a"] * len(x), lambda x: np.full(len(x), 0.5 + 0j)):
        with pytest.raises(InputTypeError, match="the mean"):
            problem(odd)
    with pytest.raises(InputError, match="another range"):
        P.Ackley(SQUARE, SWAP, noise=P.Uniform(0.1, reward_range=(2.0, 3.0)))
    with pytest.raises(InputTypeError, match="function"):
        problem("cone")
    with pytest.raises(InputTypeError, match="noise"):
        problem(noise="gaussian")
    with pytest.raises(InputTypeError, match="draws no rewards of its own"):
        problem(noise=None)
    with pytest.raises(InputTypeError, match="one of ob"):
        P.check(cone)
    with pytest.raises(InputError, match="points"):
        P.check(problem(), points=3)


def test_a_mean_out_of_range_names_the_point():
    lying = problem(lambda x: np.where(x[:, 0] > 0.99, 1.5, 0.5))
    with pytest.raises(InputError, match=r"1\.5 at \[0\.995, 0\.1\]"):
        lying.mean([[0.2, 0.1], [0.995, 0.1]])
    assert lying.mean([0.2, 0.1]) == 0.5


def test_climbers_find_the_peak_and_the_steepest_slope():
    def bumps(x):
        return np.exp(-20 * ((x - [0.8, 0.3]) ** 2).sum(axis=1)) + 0.9 * np.exp(
            -20 * ((x - [0.2, 0.9]) ** 2).sum(axis=1)
        )

    point, value = highest(bumps, SQUARE, np.random.default_rng(0))
    assert value == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_allclose(point, [0.8, 0.3], atol=1e-3)
    length = steepness(bumps, SQUARE)
    _, found = climb(length, SQUARE, SQUARE.sample(8, 0), np.random.default_rng(0))
    # exp(-20 r^2) is steepest at r = 1 / sqrt 40, with slope sqrt(40 / e); the other bump adds
    # little there.
    assert found.max() == pytest.approx(np.sqrt(40 / np.e), rel=0.02)


def test_masked_means_are_refused():
    def means(points):
        return np.ma.array(np.full(len(points), 0.5), mask=points[:, 0] > 0.5)

    problem = ob.problems.Function(means, ob.spaces.Box(0, 1, dim=2), lipschitz=1.0, optimizer=[0.1, 0.2])
    np.testing.assert_array_equal(problem.mean([[0.1, 0.2], [0.3, 0.4]]), [0.5, 0.5])
    with pytest.raises(InputError, match="mean` must have no masked entries"):
        problem.mean([[0.1, 0.2], [0.9, 0.4]])


def test_masked_means_of_a_class_of_one_s_own_are_refused():
    class Masked(ob.problems.Problem):
        optimum, optimizer = 0.5, np.array([0.5])

        def _mean(self, points):
            return np.ma.array(points[:, 0], mask=True)

    with pytest.raises(InputError, match="`mean` must have no masked entries"):
        Masked(ob.spaces.Box(0, 1, dim=1), None, 1.0, ob.problems.Bernoulli()).mean([[0.5]])


def test_a_function_has_the_rule_that_it_was_given():
    space, swap = ob.spaces.Box(0.0, 1.0, dim=2), ob.groups.Symmetric(2)

    def mean(points):
        return 1 - np.abs(points - 0.5).mean(axis=1)

    def apart(points):
        return np.abs(points[:, 0] - points[:, 1]) - 0.5

    problem = ob.problems.Function(mean, space, swap, optimizer=[0.25, 0.75], lipschitz=1.0, feasible=apart)
    assert problem.feasible([[0.1, 0.9], [0.5, 0.5]]).round(9).tolist() == [0.3, -0.5]
    assert problem.feasible([0.1, 0.9]).round(9).item() == 0.3
    assert ob.problems.check(problem)
    assert ob.problems.Function(mean, space, swap, optimizer=[0.5, 0.5], lipschitz=1.0).feasible is None
    runs = ob.simulate(ob.agents.OrbitTree, problem, horizon=50, seeds=1, n_plays=50)
    assert (apart(runs.plays[0]) >= 0).all()
    with pytest.raises(InputError, match=r"`optimizer` must be feasible, but `feasible` rejects \[0.5, 0.5\]"):
        ob.problems.Function(mean, space, swap, optimizer=[0.5, 0.5], lipschitz=1.0, feasible=apart)
