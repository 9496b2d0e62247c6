"""check_symmetry: true symmetries pass, false ones are named with their size."""

from functools import partial
from statistics import NormalDist

import numpy as np
import pytest

import orbandit as ob
from cases import G, S
from orbandit.errors import InputError, MeasurementError
from orbandit.groups.check import describe
from orbandit.groups.evidence import Evidence

cube = S.Box(0, 1, dim=3)


def noisy(mean, scale, seed=0):
    rng = np.random.default_rng(seed)
    return lambda x: mean(x) + scale * rng.standard_normal()


def test_a_symmetric_function_passes_with_and_without_noise():
    for scale, most in ((0.0, 36), (0.05, 150)):
        report = ob.check_symmetry(noisy(lambda x: np.prod(x) + x.max(), scale), cube, G.Symmetric(3))
        assert report
        assert report.clear is True
        assert report.invariant
        assert report.failed == ()
        assert report.evaluations == len(report.history) <= most
        assert report.resolution < 0.3 * report.variation
        seen = "one of " if scale else "one on 13% of the space would have been found nine times in ten"
        assert str(report).startswith(f"no asymmetry found ({report.evaluations} evaluations; {seen}")


def test_noise_that_hides_everything_leaves_the_answer_open():
    report = ob.check_symmetry(noisy(np.prod, 2.0), cube, G.Symmetric(3))
    assert report
    assert report.clear is False
    assert report.evaluations == 200
    assert report.resolution > 1.0
    assert "the answer is not clear (200 evaluations; one of " in str(report)
    few = ob.check_symmetry(noisy(np.prod, 2.0), cube, G.Symmetric(3), budget=11)
    assert few.evaluations == 10
    assert few.resolution == np.inf
    assert "too few to find any" in str(few)


def test_a_flat_function_says_nothing_about_a_symmetry():
    # No share of its variation can be excluded, since none was seen.
    for measure in (lambda x: 1.0, noisy(lambda x: 1.0, 0.1)):
        report = ob.check_symmetry(measure, cube, G.Symmetric(3), budget=100)
        assert report
        assert not report.clear


def test_a_rounding_error_is_no_violation():
    group = G.Coxeter("H3")
    report = ob.check_symmetry(
        lambda x: np.exp(-group.distance(x, [0.2, 0.5, 0.1])), S.Polytope.regular("icosahedron"), group
    )
    assert report.clear
    assert report
    assert max(check.asymmetry for check in report.checks) < 1e-12


def test_the_failing_generator_is_named_with_its_size():
    sizes = []
    for seed in range(20):
        report = ob.check_symmetry(noisy(lambda x: x[0] + x[1] + 2 * x[2], 0.05, seed), cube, G.Symmetric(3), rng=seed)
        assert not report
        assert report.clear
        failure = report.failed[0]
        assert failure.description == "swaps coordinates 1 and 2"
        assert failure is report.checks[1]
        assert report.checks[0].holds
        assert "1 of 2 generators fail" in str(report)
        assert "FAILS  asymmetry" in str(report)
        sizes.append(failure.asymmetry)
        # The point that shows it best is one that was measured, as its image was.
        image = failure.generator @ failure.point
        for point in (failure.point, image):
            assert (np.abs(report.history.points - point).max(axis=1) < 1e-12).any()
    # f(x) - f(gx) = x_1 - x_2, whose root mean square on the unit square is 6^(-1/2) = 0.408.
    assert np.sqrt(np.mean(np.square(sizes))) == pytest.approx(6**-0.5, rel=0.2)


@pytest.mark.parametrize(
    ("mean", "scale", "dim", "group", "most"),
    [
        (lambda x: x[0] + x[1] + 2 * x[2], 0.0, 3, G.Symmetric(3), 20),
        (lambda x: x[0] + x[1] + 2 * x[2], 0.2, 3, G.Symmetric(3), 70),
        (lambda x: x[0] * x[1] * x[2] ** 2, 0.02, 3, G.Symmetric(3), 90),
        (lambda x: x[0] - x[1], 0.1, 2, G.Symmetric(2), 40),
        (lambda x: x[0], 0.0, 20, G.Symmetric(20), 70),
        (lambda x: x.sum() + x[7], 0.1, 20, G.Symmetric(20), 180),
        (lambda x: x[0], 0.1, 4, G.SignedPermutation(4).centered([0.5] * 4), 90),
        (lambda x: x[0] + 0.5 * x[3], 0.1, 4, G.Orthogonal(2, 2), 50),
    ],
)
def test_clearly_wrong_groups_are_found_with_a_tenth_of_512_evaluations_for_each_generator(
    mean, scale, dim, group, most
):
    space = S.Ball(dim) if isinstance(group, G.Orthogonal) else S.Box(0, 1, dim=dim)
    reports = [ob.check_symmetry(noisy(mean, scale, seed), space, group, rng=seed) for seed in range(9)]
    assert sum(not report for report in reports) >= 8
    assert np.median([report.evaluations for report in reports]) <= most
    assert most < 512 * (len(group.generators) + 1) / 10


def test_bernoulli_rewards():
    rng = np.random.default_rng(1)
    fair = ob.check_symmetry(lambda x: rng.random() < 0.9 - abs(x.mean() - 0.3), cube, G.CyclicShift(3))
    assert fair
    unfair = ob.check_symmetry(lambda x: rng.random() < x[0], cube, G.CyclicShift(3))
    assert not unfair


NOISES = {
    "Gaussian": lambda rng, x: x.sum() + rng.normal(),
    "Student, infinite variance": lambda rng, x: x.sum() + rng.standard_t(2),
    "symmetric, its size not invariant": lambda rng, x: x.sum() + x[0] ** 3 * rng.normal(),
    "skewed": lambda rng, x: x.sum() + rng.lognormal(sigma=1.5),
    "Bernoulli": lambda rng, x: rng.random() < 0.2 + 0.6 * x.mean(),
    "rarely seen": lambda rng, x: x.sum() + (rng.random() < 0.1),
    "none": lambda rng, x: np.sort(x) @ [1.0, 2.0, 3.0],
}


@pytest.mark.parametrize("noise", NOISES)
def test_true_symmetries_are_refuted_at_no_more_than_the_level(noise):
    # 60 reports at level 0.1: more than 12 failures have probability 0.7 % if the level is just
    # held.
    failures = 0
    for seed in range(60):
        measure = partial(NOISES[noise], np.random.default_rng([seed, 1]))
        failures += not ob.check_symmetry(measure, cube, G.Symmetric(3), level=0.1, budget=100, rng=seed)
    assert failures <= 12


@pytest.mark.parametrize(("level", "size"), [(0.1, 1.0), (0.01, 2.0), (0.01, 0.5), (0.001, 1.0)])
def test_an_asymmetry_of_the_stated_resolution_is_found(level, size):
    # f(-x) - f(x) is N(0, size^2) over x, and the differences have noise of variance 1.
    pairs = int(np.ceil(4 + np.log(2 / level) * (2 + 6.5 / size**2)))
    flip, line = G.SignFlips(1), S.Box(-1, 1, dim=1)
    mean = NormalDist(sigma=size / 2).inv_cdf
    found = 0
    for seed in range(40):
        measure = noisy(lambda x: mean(0.5 + 0.499999 * x[0]), 0.5**0.5, seed)
        report = ob.check_symmetry(measure, line, flip, budget=2 * pairs, tolerance=1e-3, level=level, rng=seed)
        found += not report
        if report:
            assert report.resolution == pytest.approx(size, rel=0.35)  # the noise is an estimate
    assert found >= 31  # 36 are promised; fewer than 31 have probability 0.01


def test_many_generators_and_low_levels_can_still_fail():
    for dim, level in ((102, 0.01), (12, 1e-6)):
        box, group = S.Box(0, 1, dim=dim), G.Symmetric(dim)
        report = ob.check_symmetry(noisy(lambda x: x[0], 0.01), box, group, level=level, budget=500)
        assert report.failed[0].description == "swaps coordinates 0 and 1"


def test_more_generators_than_the_budget_allows():
    report = ob.check_symmetry(lambda x: x[0], S.Box(0, 1, dim=60), G.Symmetric(60), budget=40)
    assert not report
    assert report.failed[0].description.startswith("a random element")
    assert str(report).startswith("random elements of the group fail (40 evaluations)")
    assert "not compared" in str(report)


def test_one_violation_refutes_a_function_without_noise():
    # Only a corner of the cube breaks the symmetry, and few points see it.
    for seed in range(10):
        report = ob.check_symmetry(lambda x: float(x[0] > 0.8 and x[1] < 0.2), cube, G.Symmetric(3), rng=seed)
        assert not report
        assert report.failed[0].p_value <= 0.01


def test_evidence_is_not_all_lost_when_noise_is_rare():
    # Five equal repetitions look like no noise; the next one shows that there is some.
    evidence = Evidence(1, 1)
    index = evidence.begin(0)
    for _ in range(5):
        evidence.add(index, 0.0, 1.0)
    assert evidence.p_value() <= 0.01
    evidence.add(index, 0.0, 0.0)
    assert evidence.noisy
    assert 1 < evidence.standing < 20


def test_rounding_in_a_constant_function_is_no_violation():
    assert ob.check_symmetry(lambda x: (x / x.sum()).sum(), cube, G.Symmetric(3))


def test_a_drift_is_no_violation():
    calls = iter(range(10**6))
    assert ob.check_symmetry(lambda x: np.sum(x) + 1e-3 * next(calls), cube, G.Symmetric(3))


def test_units_do_not_matter():
    def report(unit):
        return ob.check_symmetry(noisy(lambda x: unit * (x[0] + x[1]), 0.1 * unit), cube, G.Symmetric(3))

    plain = report(1.0)
    for unit in (2.0**900, 2.0**-900):
        scaled = report(unit)
        assert [check.p_value for check in scaled.checks] == [check.p_value for check in plain.checks]
        assert scaled.checks[1].asymmetry == plain.checks[1].asymmetry * unit


def test_no_generators_nothing_to_measure():
    report = ob.check_symmetry(lambda x: x[0], cube, G.Trivial(3))
    assert report
    assert report.clear
    assert report.evaluations == 0
    assert report.history.points.shape == (0, 3)
    assert str(report) == "no asymmetry found (0 evaluations; nothing to compare)"


def test_a_search_begins_with_the_history():
    calls = []

    def measure(x):
        calls.append((x, -np.abs(np.sort(x) - [0.2, 0.5, 0.8]).sum()))
        return calls[-1][1]

    report = ob.check_symmetry(measure, cube, G.Symmetric(3))
    assert np.array_equal(report.history.points, [x for x, _ in calls])
    assert report.history.values.tolist() == [value for _, value in calls]
    assert cube.contains(report.history.points).all()
    # Two points of the first are repeated to look for noise; all others are new.
    assert len(np.unique(report.history.points, axis=0)) == report.evaluations - 4
    best = ob.maximize(measure, cube, G.Symmetric(3), budget=5, history=report.history, seed=0)
    assert len(best.history) == report.evaluations + 5


def test_a_measurement_that_fails_keeps_all_before_it():
    values = iter([1.0, 2.0, 3.0])

    def measure(x):
        return next(values, None) or 1 / 0

    with pytest.raises(ob.errors.MeasurementError, match=r"failed after 3 measurements \(ZeroDivisionError") as failure:
        ob.check_symmetry(measure, cube, G.Symmetric(3))
    assert failure.value.history.values.tolist() == [1.0, 2.0, 3.0]
    assert failure.value.point.shape == (3,)
    assert isinstance(failure.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("number", range(1, 10))
def test_ctrl_c_returns_what_is_known(number):
    values = iter(np.linspace(0, 1, number).tolist())

    def measure(x):
        for value in values:
            return value
        raise KeyboardInterrupt

    report = ob.check_symmetry(measure, cube, G.Symmetric(3))
    assert report.interrupted
    assert not report.clear
    assert report.evaluations == number
    assert sum(check.points for check in (*report.checks, report.elements)) <= number / 2
    with pytest.raises(KeyboardInterrupt):
        ob.check_symmetry(measure, cube, G.Symmetric(3))


def test_bad_input_is_refused():
    with pytest.raises(ob.errors.InputError, match="does not preserve"):
        ob.check_symmetry(np.sum, S.Box([0, 0], [1, 2]), G.Symmetric(2))
    with pytest.raises(ob.errors.MeasurementError, match="a finite number, but gave nan"):
        ob.check_symmetry(lambda x: np.nan, cube, G.Symmetric(3))
    for value in (None, [1.0, 2.0], "x"):
        with pytest.raises(ob.errors.MeasurementError, match="must return a number, but gave"):
            ob.check_symmetry(lambda x, value=value: value, cube, G.Symmetric(3))
    with pytest.raises(ob.errors.InputTypeError, match="must be callable"):
        ob.check_symmetry(3, cube, G.Symmetric(3))
    with pytest.raises(ob.errors.InputTypeError, match="but got Box"):
        ob.check_symmetry(np.sum, G.Symmetric(3), cube)
    with pytest.raises(ob.errors.InputTypeError, match="`level` must be real numbers"):
        ob.check_symmetry(np.sum, cube, G.Symmetric(3), level="a")
    with pytest.raises(ob.errors.InputError, match="budget >= 2"):
        ob.check_symmetry(np.sum, cube, G.Symmetric(3), budget=1)
    with pytest.raises(ob.errors.InputError, match="tolerance > 0"):
        ob.check_symmetry(np.sum, cube, G.Symmetric(3), tolerance=0.0)
    with pytest.raises(ob.errors.InputError, match="level < 1"):
        ob.check_symmetry(np.sum, cube, G.Symmetric(3), level=0.0)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.eye(3), "does nothing"),
        (G.Symmetric(3).generators[0], "swaps coordinates 0 and 1"),
        (G.BlockPermutation(2, 2).generators[0], "swaps coordinates 0 and 2, 1 and 3"),
        (G.SignFlips(3).generators[1], "changes the sign of coordinates 1"),
        (G.CyclicShift(3).generators[0], "moves coordinates [1, 2, 0] to [0, 1, 2]"),
        (
            -G.Symmetric(2).generators[0],
            "swaps coordinates 0 and 1, then changes the sign of coordinates 0, 1",
        ),
        (G.Dihedral(3).generators[1], "reflects in the plane with normal"),
        (G.Cyclic(3).generators[0], "maps by the matrix"),
    ],
)
def test_generators_in_words(matrix, words):
    assert describe(matrix).startswith(words)


def test_values_that_are_no_numbers_and_endless_budgets_are_refused():
    space, group = ob.spaces.Box(0, 1, dim=2), ob.groups.Symmetric(2)
    with pytest.raises(MeasurementError, match="must have no masked entries"):
        ob.check_symmetry(lambda x: np.ma.masked, space, group)
    with pytest.raises(MeasurementError, match=r"must return a number, but gave about 10\^400"):
        ob.check_symmetry(lambda x: 10**400, space, group)
    with pytest.raises(InputError, match="budget <= 1,000,000"):
        ob.check_symmetry(lambda x: 1.0, space, group, budget=10**18)
