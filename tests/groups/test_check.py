"""check_symmetry: true symmetries pass, false ones are named with their size."""

import numpy as np
import pytest

import orbandit as ob
from cases import G, S
from orbandit.groups.check import describe

cube = S.Box(0, 1, dim=3)


def noisy(mean, scale, seed=0):
    rng = np.random.default_rng(seed)
    return lambda x: mean(x) + scale * rng.standard_normal()


def test_a_symmetric_function_passes_with_and_without_noise():
    for scale in (0.0, 0.3):
        report = ob.check_symmetry(noisy(lambda x: np.prod(x) + x.max(), scale), cube, G.Symmetric(3))
        assert report
        assert report.invariant
        assert report.failed == ()
        assert report.evaluations == 64 * 8 * 3


def test_a_rounding_error_is_no_violation():
    group = G.Coxeter("H3")
    report = ob.check_symmetry(
        lambda x: np.exp(-group.distance(x, [0.2, 0.5, 0.1])), S.Polytope.regular("icosahedron"), group
    )
    assert report
    assert max(check.asymmetry for check in report.checks) < 1e-12


def test_the_failing_generator_is_named_with_its_size():
    report = ob.check_symmetry(noisy(lambda x: x[0] + x[1] + 2 * x[2], 0.2), cube, G.Symmetric(3))
    assert not report
    (failure,) = report.failed
    assert failure.description == "swaps coordinates 1 and 2"
    assert "swaps coordinates 1 and 2" in str(report)
    assert "FAILS" in str(report)
    # f(x) - f(gx) = x_1 - x_2, whose root mean square on the unit square is 6^(-1/2) = 0.408.
    assert failure.asymmetry == pytest.approx(6**-0.5, rel=0.2)
    assert abs(failure.point[1] - failure.point[2]) > 0.4


def test_bernoulli_rewards():
    rng = np.random.default_rng(1)
    fair = ob.check_symmetry(lambda x: rng.random() < 0.9 - abs(x.mean() - 0.3), cube, G.CyclicShift(3))
    assert fair
    unfair = ob.check_symmetry(lambda x: rng.random() < x[0], cube, G.CyclicShift(3))
    assert not unfair


def test_true_symmetries_are_refuted_at_no_more_than_the_level():
    # 60 reports at level 0.05: 3 failures are expected, more than 9 have probability 7e-4.
    failures = 0
    for seed in range(60):
        measure = noisy(np.sum, 1.0, seed)
        failures += not ob.check_symmetry(measure, cube, G.Symmetric(3), points=16, repeats=3, level=0.05, rng=seed)
    assert failures <= 9


@pytest.mark.parametrize("dim", [2, 10])
def test_an_asymmetry_of_the_stated_resolution_is_seen_and_half_of_it_is_not(dim):
    # f(x) - f(gx) = c (x_0 - x_1) for the first swap has root mean square c / sqrt(6), and no other swap matters.
    box, group = S.Box(0, 1, dim=dim), G.Symmetric(dim)
    resolution = ob.check_symmetry(noisy(np.sum, 0.5), box, group, points=32, repeats=4).resolution

    def seen(share):
        c = share * resolution * np.sqrt(6)
        reports = [
            ob.check_symmetry(noisy(lambda x: c * x[0], 0.5, seed), box, group, points=32, repeats=4, rng=seed)
            for seed in range(20)
        ]
        return sum(not report for report in reports)

    assert seen(1.0) >= 15  # nine in ten are promised; 14 or fewer have probability 0.01
    assert seen(0.5) <= 10


def test_many_generators_and_low_levels_can_still_fail():
    for dim, level in ((102, 0.01), (12, 0.001)):
        box, group = S.Box(0, 1, dim=dim), G.Symmetric(dim)
        report = ob.check_symmetry(noisy(lambda x: x[0], 0.01), box, group, level=level, points=8, repeats=4)
        assert [check.description for check in report.failed] == ["swaps coordinates 0 and 1"]


def test_one_violation_refutes_a_function_without_noise():
    # Only a corner of the cube breaks the symmetry, and few sampled points see it.
    for seed in range(10):
        report = ob.check_symmetry(lambda x: float(x[0] > 0.8 and x[1] < 0.2), cube, G.Symmetric(3), rng=seed)
        assert not report
        assert report.failed[0].p_value == 0.0
        assert report.resolution == 0.0


def test_rounding_in_a_constant_function_is_no_violation():
    assert ob.check_symmetry(lambda x: (x / x.sum()).sum(), cube, G.Symmetric(3))


def test_a_drift_is_no_violation():
    calls = iter(range(10**6))
    assert ob.check_symmetry(lambda x: np.sum(x) + 1e-3 * next(calls), cube, G.Symmetric(3))


def test_no_generators_nothing_to_refute():
    assert ob.check_symmetry(lambda x: x[0], cube, G.Trivial(3))


def test_bad_input_is_refused():
    with pytest.raises(ob.errors.InputError, match="does not preserve"):
        ob.check_symmetry(np.sum, S.Box([0, 0], [1, 2]), G.Symmetric(2))
    with pytest.raises(ob.errors.InputError, match="finite numbers, but gave nan"):
        ob.check_symmetry(lambda x: np.nan, cube, G.Symmetric(3))
    for value in (None, [1.0, 2.0], "x"):
        with pytest.raises(ob.errors.InputTypeError, match="must return a number, but gave"):
            ob.check_symmetry(lambda x, value=value: value, cube, G.Symmetric(3))
    with pytest.raises(ob.errors.InputTypeError, match="must be callable"):
        ob.check_symmetry(3, cube, G.Symmetric(3))
    with pytest.raises(ob.errors.InputTypeError, match="but got Box"):
        ob.check_symmetry(np.sum, G.Symmetric(3), cube)
    with pytest.raises(ob.errors.InputTypeError, match="`level` must be real numbers"):
        ob.check_symmetry(np.sum, cube, G.Symmetric(3), level="a")
    with pytest.raises(ob.errors.InputError, match="repeats >= 2"):
        ob.check_symmetry(np.sum, cube, G.Symmetric(3), repeats=1)
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
