"""Ackley, Rastrigin and Griewank: the classic formulas, folded, with slopes and bounds that hold."""

import numpy as np
import pytest

import orbandit as ob
from cases import G, S
from orbandit.errors import InputError
from orbandit.problems.landscapes import well_moved_point

P = ob.problems


def ackley(z):
    d = len(z)
    root = np.sqrt(sum(t * t for t in z) / d)
    return -20 * np.exp(-0.2 * root) - np.exp(sum(np.cos(2 * np.pi * t) for t in z) / d) + 20 + np.e


def rastrigin(z):
    return 10 * len(z) + sum(t * t - 10 * np.cos(2 * np.pi * t) for t in z)


def griewank(z):
    return 1 + sum(t * t for t in z) / 4000 - np.prod([np.cos(t / np.sqrt(i + 1)) for i, t in enumerate(z)])


CLASSICS = {P.Ackley: ackley, P.Rastrigin: rastrigin, P.Griewank: griewank}
SETTINGS = {
    "square": lambda: (S.Box(0, 1, dim=2), G.Symmetric(2)),
    "no group": lambda: (S.Box([0, -1, 2], [1, 1, 3]), None),
    "signed cube": lambda: (S.Box(-1, 1, dim=3), G.SignedPermutation(3)),
    "disk": lambda: (S.Ball(2), G.Dihedral(5)),
    "icosahedron": lambda: (S.Polytope.regular("icosahedron"), G.Coxeter("H3")),
    "simplex": lambda: (S.Simplex(3), G.Symmetric(3)),
    "many": lambda: (S.Box(0, 1, dim=8), G.Symmetric(8)),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", CLASSICS, ids=lambda kind: kind.__name__)
def test_they_are_what_they_claim(kind, setting):
    problem = kind(*SETTINGS[setting](), seed=3)
    report = P.check(problem, points=300)
    assert report, str(report)
    assert problem.optimum == 1.0
    # The bounds are not idle: a slope within a factor of eight of the constant is really there.
    assert report.steepest > problem.lipschitz / 8


@pytest.mark.parametrize("kind", CLASSICS, ids=lambda kind: kind.__name__)
def test_the_classic_formula_at_the_folded_offset(kind):
    space, group, peak = S.Box(0, 2, dim=3), G.Symmetric(3), np.array([1.7, 0.2, 0.9])
    problem = kind(space, group, peak, width=7.0)
    points = space.sample(50, 0)
    classic = np.array([CLASSICS[kind](3.5 * (np.sort(x) - np.sort(peak))) for x in points])
    means = problem.mean(points)
    scale = (1 - means[0]) / classic[0]
    np.testing.assert_allclose(1 - means, scale * classic, rtol=1e-9, atol=1e-12)
    # Different widths are different landscapes.
    assert abs(kind(space, group, peak, width=3.0).mean(points) - means).max() > 0.01


def test_default_peaks_are_moved_by_the_group_and_differ_by_seed():
    for make in SETTINGS.values():
        space, group = make()
        points = np.array([well_moved_point(space, group, seed) for seed in range(6)])
        assert len(np.unique(points.round(9), axis=0)) == 6
        assert space.contains(points).all()
        if group is not None:
            moved = np.linalg.norm(group.act(group.generators, points) - points, axis=-1)
            assert moved.min() > 0.02 * space.diameter


def test_bad_input_is_refused():
    square = S.Box(0, 1, dim=2)
    with pytest.raises(InputError, match="reflection group"):
        P.Ackley(S.Ball(2), G.Cyclic(5))
    for arguments in (
        {"peak": [2.0, 0.0]},
        {"peak": [0.5]},
        {"width": 0.0},
        {"width": 1e200},
        {"seed": -1},
        {"group": G.SignFlips(2)},
    ):
        with pytest.raises(InputError):
            P.Rastrigin(**{"space": square, "group": G.Symmetric(2), **arguments})
