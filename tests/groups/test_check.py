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
        failures += not ob.check_symmetry(
            measure, cube, G.Symmetric(3), points=16, repeats=3, level=0.05, seed=seed
        )
    assert failures <= 9


def test_an_asymmetry_of_the_stated_resolution_is_seen():
    # f(x) - f(gx) = c (x_0 - x_1) has root mean square c / sqrt(6).
    report = ob.check_symmetry(noisy(np.sum, 0.5), cube, G.Symmetric(3))
    c = report.resolution * np.sqrt(6)
    seen = sum(
        not ob.check_symmetry(
            noisy(lambda x: c * x[0], 0.5, seed), cube, G.Product(G.Symmetric(2), G.Trivial(1)), seed=seed
        )
        for seed in range(20)
    )
    assert seen >= 16  # nine in ten are promised; 15 or fewer have probability 0.04


def test_no_generators_nothing_to_refute():
    assert ob.check_symmetry(lambda x: x[0], cube, G.Trivial(3))


def test_bad_input_is_refused():
    with pytest.raises(ob.errors.InputError, match="does not preserve"):
        ob.check_symmetry(np.sum, S.Box([0, 0], [1, 2]), G.Symmetric(2))
    with pytest.raises(ob.errors.InputError, match="finite numbers, but gave nan"):
        ob.check_symmetry(lambda x: np.nan, cube, G.Symmetric(3))
    with pytest.raises(ob.errors.InputError, match="repeats >= 2"):
        ob.check_symmetry(np.sum, cube, G.Symmetric(3), repeats=1)
    with pytest.raises(ob.errors.InputError, match="0 < level < 1"):
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
