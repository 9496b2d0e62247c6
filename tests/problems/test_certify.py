"""Certificates: kernels against plain twins, and every bound against brute force."""

import itertools

import numpy as np
import pytest

import orbandit as ob
from naive import bump, bump_sum
from orbandit._kernels import bounding, matern
from orbandit.problems.certify import BumpSum, _Proof, ascend, certify

SWAP, FLOWER, SHIFT = ob.groups.Symmetric(2), ob.groups.Dihedral(5), ob.groups.CyclicShift(3)
DISK = ob.spaces.Ball(2)


def some_bumps(dim, count, seed, length_scale=0.12):
    rng = np.random.default_rng(seed)
    places, weights = rng.random((count, dim)), rng.standard_normal(count)
    return places, weights, BumpSum(places, weights, length_scale)


def test_exp_is_precise():
    z = np.linspace(0, 64, 20_001)
    found = np.array([matern.exp_minus(one) for one in z])
    np.testing.assert_allclose(found, np.exp(-z), rtol=3e-14)
    assert matern.exp_minus(1e6) == matern.exp_minus(64.0) < 2e-28


@pytest.mark.parametrize(("dim", "count"), [(1, 3), (2, 64), (3, 65), (6, 200)])
def test_values_and_derivatives_are_those_of_the_twin(dim, count):
    places, weights, function = some_bumps(dim, count, dim)
    points = np.random.default_rng(1).random((5, dim))
    points[0] = places[0]
    twin = [bump_sum(x, places, weights, 0.12) for x in points]
    np.testing.assert_allclose(function(points), twin, atol=1e-12)
    values, gradients, hessians = function.derivatives(points)
    np.testing.assert_allclose(values, twin, atol=1e-12)
    h = 1e-4
    for k in range(dim):
        up, down = points + h * np.eye(dim)[k], points - h * np.eye(dim)[k]
        np.testing.assert_allclose(gradients[:, k], (function(up) - function(down)) / (2 * h), atol=2e-3)
        slopes = (function.derivatives(up)[1] - function.derivatives(down)[1]) / (2 * h)
        np.testing.assert_allclose(hessians[:, k], slopes, atol=0.5)
        assert np.abs(hessians).max() > 100  # the margins are small


def test_the_third_derivative_is_bounded():
    _, _, function = some_bumps(2, 40, 0)
    rng = np.random.default_rng(2)
    for radius in (0.0, 0.05):
        point = rng.random(2)
        bound = function.jolt(point, radius)
        near = point + radius * np.linspace(-0.7, 0.7, 15)[:, None] * np.array([1.0, 0.6])
        for angle in np.linspace(0, np.pi, 20):
            u = np.array([np.cos(angle), np.sin(angle)])
            change = (function.derivatives(near + 1e-5 * u)[2] - function.derivatives(near - 1e-5 * u)[2]) / 2e-5
            assert np.abs(np.linalg.eigvalsh(change)).max() <= bound
    for z in np.linspace(0.01, 12, 200):  # of one bump, over all directions
        cosines = np.linspace(0, 1, 1001)
        exact = z * np.exp(-z) / 3 * np.abs(3 * cosines - z * cosines**3).max()
        one = matern.Bumps(np.zeros((1, 1, matern.LANES)), np.eye(1, matern.LANES))
        assert exact <= matern.third_derivative_bound(np.array([z]), 0.0, one) * (1 + 1e-9)


NODES, HEIGHTS = np.polynomial.legendre.leggauss(80)


def integral(integrand):
    """Of (1 - t) times an integrand over [0, 1], by Gauss and Legendre; t = s^2 tames a root at 0."""
    s = (NODES + 1) / 2
    return float(np.sum(HEIGHTS * s * (1 - s**2) * integrand(s**2)))


@pytest.mark.parametrize("z", [0.0, 1e-3, 0.2, 1.0, 3.0, 8.0, 30.0])
@pytest.mark.parametrize("width", [1e-6, 1e-3, 0.01, 0.1, 2.0, 12.0])
def test_remainders_of_one_bump_are_bounded(z, width):
    near, far = max(z - width, 0.0), z + width
    rows = np.tile([[z], [near], [far]], matern.LANES)
    e = np.exp(-rows)
    k, out, ones = (1 + rows + rows**2 / 3) * e, np.zeros((3, matern.LANES)), np.ones(matern.LANES)
    matern.value_remainders(ones, rows, e, k, out)
    above, below = out[1, 0], out[2, 0]
    matern.value_remainders(-ones, rows, e, k, out)
    assert (out[1, 0], out[2, 0]) == (-below, -above)
    matern.slope_remainders(-ones, rows, e, out)
    assert out[1, 0] == pytest.approx(-np.exp(-z) / 24)
    for end in np.linspace(near, far, 41):

        def squared(t, end=end):
            return np.maximum((1 - t) * z**2 + t * end**2, 1e-300)

        bend = integral(lambda t: np.exp(-np.sqrt(squared(t))) / 12)
        twist = end * integral(lambda t: np.exp(-np.sqrt(squared(t))) / (24 * np.sqrt(squared(t))))
        slack = 1e-5 * np.exp(-near) / 24
        assert below - slack <= bend <= above + slack
        assert twist <= out[2, 0] + slack
    if width <= 0.01 and z > 0.1:
        assert above - below <= 0.02 * np.exp(-z) / 24


def quartic(room, x, sign):
    """The polynomial that is above f for a sign of 1 and below it for -1, at x away from the middle."""
    which = 0 if sign > 0 else 1
    squared = (x**2).sum(axis=1)
    bend = 8 * room.matrices[which] - np.eye(x.shape[1]) * room.totals[1] / 3
    return (
        room.totals[0]
        - x @ room.vectors[0] / 3
        + np.einsum("ni,ij,nj->n", x, bend, x) / 2
        + 4 * squared * (x @ room.vectors[1 + which])
        + room.totals[2 + which] * squared**2
    )


def bounds_in_box(function, middle, sides, inside):
    """The bounds of f, -f and slopes in a box, with lengths where l is sqrt(5); sees that the polynomials hold too."""
    room, blocks = matern.expansion_room(len(middle)), len(function.bumps.places)
    radius = float(np.linalg.norm(sides))
    matern.add_expansion(middle, sides, function.bumps, 0, blocks, matern.VALUES, room)
    above, below = bounding.value_bound(room, sides, radius, 1.0), bounding.value_bound(room, sides, radius, -1.0)
    values = function(inside / function.scale)
    upper, lower = quartic(room, inside - middle, 1), quartic(room, inside - middle, -1)
    slack = 1e-11 * max(1.0, np.abs(upper).max(), np.abs(lower).max())
    assert (lower - slack <= values).all()
    assert (values <= upper + slack).all()
    assert upper.max() <= above + slack
    assert -lower.min() <= below + slack
    matern.add_expansion(middle, sides, function.bumps, 0, blocks, matern.SLOPES, room)
    return above, below, bounding.slope_bound(room, sides, radius)


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
@pytest.mark.parametrize("size", [1e-4, 0.01, 0.1, 0.5])
def test_bounds_in_boxes_hold_and_are_near(dim, size):
    rng = np.random.default_rng(3)
    for trial in range(9):
        places, _, function = some_bumps(dim, 30, trial)
        middle = rng.random(dim)
        if trial % 3 == 0:
            middle = places[0] + size * rng.uniform(-1, 1, dim)  # a bump inside, or at the edge
        sides = size * rng.uniform(0.5, 1.0, dim)
        corners = np.array(list(itertools.product([-1.0, 1.0], repeat=dim)))
        inside = middle + sides * np.concatenate([rng.uniform(-1, 1, (1000, dim)), corners])
        values, gradients, _ = function.derivatives(inside)
        above, below, steep = bounds_in_box(function, *(function.scale * part for part in (middle, sides, inside)))
        slopes = np.linalg.norm(gradients, axis=1)
        steep *= function.scale
        assert values.max() <= above + 1e-12
        assert -values.min() <= below + 1e-12
        assert slopes.max() <= steep * (1 + 1e-12)
        if size <= 1e-4:  # small boxes have good bounds
            assert above - values.max() <= 1e-5 * np.ptp(function(rng.random((500, dim))))
            assert steep <= slopes.max() + 0.005 * np.linalg.norm(function.derivatives(places)[1], axis=1).max()


def test_eigenvalues_are_bounded():
    rng = np.random.default_rng(4)
    for dim in (1, 2, 5):
        matrix = rng.standard_normal((dim, dim))
        matrix = matrix + matrix.T
        for factor, shift in ((1.0, 0.0), (-8.0, 3.0)):
            exact = np.linalg.eigvalsh(factor * matrix + shift * np.eye(dim))[-1]
            found = bounding.largest_eigenvalue(matrix, factor, shift)
            assert exact - 1e-9 <= found <= np.linalg.norm(factor * matrix) + shift + 1e-9


def test_lists_leave_out_no_more_than_they_say():
    places, _, function = some_bumps(2, 2000, 5, length_scale=0.05)
    blocks, scale = len(function.bumps.places), function.scale
    behind = matern.Bumps(
        np.pad(function.bumps.places, ((0, blocks), (0, 0), (0, 0))),
        np.pad(function.bumps.weights, ((0, blocks), (0, 0))),
    )
    middle, sides = np.array([0.4, 0.7]), np.array([0.03, 0.02])
    end, left_out = bounding.copy_relevant_bumps(
        middle * scale, sides * scale, behind, 0, blocks, 0.01, matern.expansion_room(2)
    )
    assert 0 < left_out <= 0.01
    assert 0 < end - blocks < blocks / 2
    short = BumpSum(places[:1], np.zeros(1), 0.05)
    short.bumps = matern.Bumps(behind.places[blocks:end], behind.weights[blocks:end])
    inside = middle + sides * np.random.default_rng(0).uniform(-1, 1, (500, 2))
    (values, slopes, _), (fewer, flatter, _) = function.derivatives(inside), short.derivatives(inside)
    assert 0 < np.abs(values - fewer).max() <= left_out
    assert np.linalg.norm(slopes - flatter, axis=1).max() <= left_out * scale


@pytest.mark.parametrize(
    ("group", "space"),
    [(SWAP, ob.spaces.Box(0, 1, dim=2)), (FLOWER, DISK), (SHIFT, ob.spaces.Box(0, 1, dim=3))],
)
def test_certificates_are_true_and_as_near_as_asked(group, space):
    rng = np.random.default_rng(6)
    places = space.sample(12, rng)
    images = group.act(group.elements(), places).reshape(-1, space.dim)
    function = BumpSum(images, np.tile(rng.standard_normal(12), group.order), 0.15)
    sample = space.sample(20_000, rng)
    values, slopes = function(sample), np.linalg.norm(function.derivatives(sample[:4000])[1], axis=1)
    for domain in (group.domain(), None):
        proved = certify(function, space, domain, places[:3], tolerance=1e-3, slope_tolerance=0.05, budget=10**8)
        high, low = proved.highest.value, -proved.lowest.value
        assert proved.low <= values.min()
        assert values.max() <= proved.high
        assert slopes.max() <= proved.slope <= 1.05 * proved.steepest * (1 + 1e-6)
        assert high <= proved.high <= high + 1.01e-3 * (high - low)
        assert low >= proved.low >= low - 1.01e-3 * (high - low)
        assert function(proved.highest.point[None]) == pytest.approx(high)
        assert function(proved.lowest.point[None]) == pytest.approx(low)
        # so good that no sample beats it, though three starts were few
        assert values.max() <= high + 1e-9


def test_summits_are_covered_by_the_tangent_plane():
    places, _, function = some_bumps(2, 20, 8)
    square = ob.spaces.Box(0, 1, dim=2)
    proved = certify(function, square, None, places, tolerance=1e-7, slope_tolerance=1.0, budget=10**7)
    top = proved.highest
    assert top.radius > 0.001
    around = square.project(top.point + top.radius * DISK.sample(2000, 0))
    assert function(around).max() <= top.height
    assert np.linalg.eigvalsh(function.derivatives(around)[2]).max() <= 0
    wider = top.point + 30 * top.radius * DISK.sample(2000, 0)
    # the radius could not be much larger
    assert np.linalg.eigvalsh(function.derivatives(wider)[2]).max() > 0
    assert proved.high - top.value <= 1.1e-7 * (proved.high - proved.low)


def test_a_small_budget_proves_less_but_nothing_false():
    places, weights, function = some_bumps(3, 100, 9)
    cube = ob.spaces.Box(0, 1, dim=3)
    values = function(cube.sample(5000, 0))
    gaps = []
    for budget in (0, 10**6, 10**7):
        proved = certify(function, cube, None, places, tolerance=1e-3, slope_tolerance=0.1, budget=budget)
        assert proved.low <= values.min()
        assert values.max() <= proved.high <= np.maximum(weights, 0).sum() + 1e-6
        gaps.append(proved.high - proved.highest.value)
    assert gaps[0] > gaps[1] > gaps[2] > 0


@pytest.mark.parametrize("purpose", [matern.VALUES, matern.SLOPES])
def test_boxes_cover_the_domain_and_their_bounds_hold(purpose):
    rng = np.random.default_rng(10)
    square = ob.spaces.Box(0, 1, dim=2)
    places = rng.random((150, 2))
    images = SWAP.act(SWAP.elements(), places).reshape(-1, 2)
    function = BumpSum(images, np.tile(rng.standard_normal(150), 2), 0.1)
    proof = _Proof(function, square, SWAP.domain(), places)
    start = np.full((1, 2, 2), 0.5 * function.scale)
    outcome, boxes, bounds, work = proof._below(0.3, purpose, 10**6, start, np.full((1, 3), np.inf))
    assert outcome == bounding.PROVED
    assert work > 0
    assert len(boxes) > 50
    reached = proof.task.reached
    middles, sides = boxes[:, 0] / function.scale, boxes[:, 1] / function.scale
    for middle, side, bound in zip(middles, sides, bounds, strict=True):
        values, gradients, _ = function.derivatives(middle + side * rng.uniform(-1, 1, (50, 2)))
        if purpose == matern.VALUES:
            assert values.max() <= bound[0] <= reached[0] + 0.3 * reached[:2].sum() * (1 + 1e-9)
            assert -values.min() <= bound[1] <= reached[1] + 0.3 * reached[:2].sum() * (1 + 1e-9)
        else:
            assert np.linalg.norm(gradients, axis=1).max() <= bound[2] * function.scale
    folded = SWAP.fold(square.sample(2000, 0))
    assert (np.abs(folded[:, None] - middles) <= sides + 1e-9).all(axis=2).any(axis=1).all()
    # Boxes that only touch the wall between the halves of the square are left out.
    assert 0.5 <= (4 * sides.prod(axis=1)).sum() < 0.6


def test_ascent_finds_the_summit_at_a_wall_too():
    function = BumpSum(np.array([[1.2, 0.5]]), np.ones(1), 0.3)
    point, value = ascend(function, ob.spaces.Box(0, 1, dim=2), np.array([[0.3, 0.2], [0.1, 0.9]]))
    np.testing.assert_allclose(point, [1.0, 0.5], atol=1e-6)
    assert value == pytest.approx(bump([1.0, 0.5], [1.2, 0.5], 0.3))
