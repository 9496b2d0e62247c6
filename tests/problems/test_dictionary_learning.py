"""Dictionary learning: the explained share by plain loops, its slope, its optimum by other ways, and real patches."""

import sys

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, InputTypeError, MissingExtraError
from orbandit.problems.dictionary_learning import IMAGES, STEEPEST
from orbandit.problems.search import climb, steepness


def random_patches(count, p, seed):
    """Rows along a few directions, with scatter: not the same in all directions."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((4, p))[rng.integers(4, size=count)] * rng.choice([1, -1], (count, 1)) + (
        0.4 * rng.standard_normal((count, p))
    )


def slow_mean(patches, atoms):
    """One minus the error of coding each patch by its best atom."""
    errors = []
    for patch in patches:
        y = patch / np.sqrt(sum(v * v for v in patch))
        left = []
        for a in atoms:
            u = a / max(np.sqrt(sum(v * v for v in a)), 0.5)
            left.append(sum((y - sum(y * u) * u) ** 2))
        errors.append(min(left))
    return 1 - sum(errors) / len(errors)


@pytest.mark.parametrize(("count", "p", "atoms"), [(30, 3, 2), (1, 2, 1), (20, 4, 3), (7, 1, 2)])
def test_the_mean_by_plain_loops(count, p, atoms):
    patches = random_patches(count, p, 0)
    problem = ob.problems.DictionaryLearning(patches, atoms)
    points = np.concatenate([problem.space.sample(40, 0), 0.3 * problem.space.sample(20, 1), np.zeros((1, p * atoms))])
    expected = [slow_mean(patches, point.reshape(atoms, p)) for point in points]
    np.testing.assert_allclose(problem.mean(points), expected, atol=1e-12)


@pytest.mark.parametrize(("p", "atoms"), [(2, 1), (2, 2), (3, 2), (3, 4), (5, 2)])
def test_it_is_as_claimed(p, atoms):
    report = ob.problems.check(ob.problems.DictionaryLearning(random_patches(60, p, 1), atoms))
    assert report, str(report)


@pytest.mark.parametrize("name", ["moon", "camera", "coffee"])
def test_real_patches_are_as_claimed(name):
    problem = ob.problems.DictionaryLearning(ob.problems.image_patches(name))
    report = ob.problems.check(problem, points=400)
    assert report, str(report)
    assert problem.space.dim == 6
    assert problem.group.order == 8


def test_the_default_is_the_moon():
    problem = ob.problems.DictionaryLearning()
    np.testing.assert_array_equal(problem.patches, ob.problems.image_patches("moon", (2, 2), 500, 0))
    assert problem.optimum == pytest.approx(0.839, abs=5e-4)
    uniform = problem.mean(problem.space.sample(2_000, 0))
    assert uniform.max() < problem.optimum
    assert uniform.mean() < 0.6


def test_many_points_at_once_are_as_few():
    problem = ob.problems.DictionaryLearning(random_patches(900, 3, 2), 3)
    points = problem.space.sample(2_000, 0)  # beyond what is held at a time
    np.testing.assert_allclose(problem.mean(points)[::97], [problem.mean(x) for x in points[::97]], rtol=1e-13)


# --- slopes ---


def test_the_steepest_slope_of_one_patch():
    """By brute force over the length of an atom and its angle with the patch, in the plane."""
    problem = ob.problems.DictionaryLearning([[1.0, 0.0]], 1)
    assert problem.lipschitz == pytest.approx(STEEPEST, rel=1e-12)
    lengths, angles = np.meshgrid(np.linspace(0.005, 0.995, 199), np.linspace(0, np.pi / 2, 181))
    points = np.stack([lengths * np.cos(angles), lengths * np.sin(angles)], axis=-1).reshape(-1, 2)
    slopes = steepness(problem._mean, problem.space)(points)
    assert 0.9999 * STEEPEST < slopes.max() < STEEPEST * (1 + 1e-6)
    long = np.linalg.norm(points, axis=1) > 0.501
    assert 1.98 < slopes[long].max() < 2.0


def test_the_constant_is_attained_by_one_atom():
    patches = random_patches(80, 3, 3)
    problem = ob.problems.DictionaryLearning(patches, 1)
    units = patches / np.linalg.norm(patches, axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(units.T @ units / 80)
    slope = steepness(problem._mean, problem.space)(vectors[:, -1:].T / (2 * np.sqrt(3)))[0]
    assert slope == pytest.approx(problem.lipschitz, rel=1e-7)
    assert problem.lipschitz == pytest.approx(STEEPEST * values[-1], rel=1e-12)


@pytest.mark.parametrize("atoms", [2, 3])
def test_the_constant_holds_for_several(atoms):
    problem = ob.problems.DictionaryLearning(random_patches(80, 3, 3), atoms)
    length = steepness(problem._mean, problem.space)
    starts = np.concatenate([0.6 * problem.space.sample(30, 0), problem.optimizer[None] / (2 * np.sqrt(3))])
    steepest = climb(length, problem.space, starts, np.random.default_rng(0), rounds=100)[1].max()
    assert 0.7 * problem.lipschitz < steepest <= problem.lipschitz * (1 + 1e-6)
    a, b = problem.space.sample(3_000, 1), problem.space.sample(3_000, 2)
    slopes = np.abs(problem.mean(a) - problem.mean(b)) / np.linalg.norm(a - b, axis=1)
    assert slopes.max() <= problem.lipschitz


def test_length_matters_below_a_half_only_and_nothing_jumps_at_zero():
    problem = ob.problems.DictionaryLearning(random_patches(40, 3, 4), 2)
    point = problem.optimizer
    np.testing.assert_allclose(problem.mean(np.outer([0.5, 0.7, 1.0], point)), problem.optimum, rtol=1e-12)
    shorter = problem.mean(np.outer([0.0, 1e-9, 0.1, 0.3, 0.49], point))
    assert (np.diff(shorter) > 0).all()
    assert shorter[0] == 0
    assert shorter[1] < 1e-15


# --- the optimum ---


@pytest.mark.parametrize("p", [2, 3, 6])
def test_one_atom_is_the_first_principal_component(p):
    patches = random_patches(50, p, 5)
    problem = ob.problems.DictionaryLearning(patches, 1)
    units = patches / np.linalg.norm(patches, axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(units.T @ units / 50)
    assert problem.optimum == pytest.approx(values[-1], rel=1e-12)
    assert abs(problem.optimizer @ vectors[:, -1]) == pytest.approx(1, rel=1e-9)


def directions(p, count):
    """Directions, up to sign, evenly spread over the half circle or (Fibonacci's spiral) the half sphere."""
    if p == 2:
        angles = np.pi * np.arange(count) / count
        return np.column_stack([np.cos(angles), np.sin(angles)])
    height = (np.arange(count) + 0.5) / count
    turn = np.pi * (3 - np.sqrt(5)) * np.arange(count)
    radius = np.sqrt(1 - height**2)
    return np.column_stack([radius * np.cos(turn), radius * np.sin(turn), height])


@pytest.mark.parametrize(("p", "count", "coarseness"), [(2, 720, 1e-4), (3, 900, 4e-3)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_atoms_by_brute_force(p, count, coarseness, seed):
    """Every pair of directions of a fine grid: none is better, and the best is nearly as good."""
    patches = random_patches(40, p, seed)
    problem = ob.problems.DictionaryLearning(patches, 2)
    explained = (directions(p, count) @ problem.patches.T) ** 2
    best = max(np.maximum(row, explained[i:]).mean(axis=1).max() for i, row in enumerate(explained))
    assert best - 1e-12 <= problem.optimum <= best + coarseness


# --- rewards ---


def test_a_reward_is_what_is_explained_of_one_patch():
    problem = ob.problems.DictionaryLearning(random_patches(12, 3, 6), 2)
    point = problem.space.sample(1, 0)[0]
    each = [ob.problems.DictionaryLearning(y[None], 2).mean(point) for y in problem.patches]
    rewards = problem.sample([point] * 20_000, 0)
    np.testing.assert_allclose(np.unique(rewards.round(12)), np.unique(np.round(each, 12)), atol=1e-11)
    assert abs(rewards.mean() - problem.mean(point)) < 4 * np.std(each) / np.sqrt(20_000)
    batches = ob.problems.DictionaryLearning(problem.patches, 2, batch=9).sample([point] * 20_000, 0)
    assert abs(batches.mean() - problem.mean(point)) < 4 * np.std(each) / 3 / np.sqrt(20_000)
    assert batches.std() == pytest.approx(np.std(each) / 3, rel=0.05)


def test_rewards_are_repeatable_and_in_range():
    problem = ob.problems.DictionaryLearning(random_patches(12, 3, 6), 2)
    points = problem.space.sample(9, 0)
    np.testing.assert_array_equal(problem.sample(points, 1), problem.sample(points, 1))
    assert np.ndim(problem.sample(points[0], 1)) == 0
    exact = ob.problems.DictionaryLearning(problem.patches, len(problem.patches))
    rewards = exact.sample([problem.patches.ravel()] * 200, 0)  # every patch is an atom
    assert 1 - 1e-12 < rewards.min() <= rewards.max() <= 1


@pytest.mark.parametrize("noise", [ob.problems.Bernoulli(), ob.problems.Beta(5.0)])
def test_other_noise(noise):
    problem = ob.problems.DictionaryLearning(random_patches(30, 2, 7), 2, noise=noise)
    report = ob.problems.check(problem, points=200)
    assert report, str(report)
    point = problem.space.sample(1, 0)[0]
    rewards = problem.sample([point] * 20_000, 0)
    assert abs(rewards.mean() - problem.mean(point)) < 4 * rewards.std() / np.sqrt(20_000)
    assert repr(problem) == f"DictionaryLearning(<30 x 2 patches>, atoms=2, noise={noise!r})"


# --- patches ---


@pytest.mark.parametrize("size", [(2, 2), (1, 2), (3, 2), (4, 4)])
def test_the_basis_is_orthonormal_and_sums_to_zero(size):
    basis = ob.problems.patch_basis(size)
    np.testing.assert_allclose(basis @ basis.T, np.eye(size[0] * size[1] - 1), atol=1e-14)
    np.testing.assert_allclose(basis.sum(axis=1), 0, atol=1e-14)


def test_patches_are_those_of_the_image():
    from skimage import data

    image = data.moon().astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 2)).reshape(-1, 6)
    windows = windows - windows.mean(axis=1, keepdims=True)
    windows = windows[np.abs(windows).max(axis=1) > 0]
    windows /= np.linalg.norm(windows, axis=1, keepdims=True)
    patches = ob.problems.image_patches("moon", (3, 2), count=20, seed=4)
    assert patches.shape == (20, 5)
    for pixels in patches @ ob.problems.patch_basis((3, 2)):
        assert (windows @ pixels).max() > 1 - 1e-12


def test_patches_have_length_one_and_depend_on_the_seed_only():
    for name in IMAGES:
        patches = ob.problems.image_patches(name, count=50)
        assert patches.shape == (50, 3)
        np.testing.assert_allclose(np.linalg.norm(patches, axis=1), 1, rtol=1e-12)
        np.testing.assert_array_equal(patches, ob.problems.image_patches(name, count=50, seed=0))
        assert (patches != ob.problems.image_patches(name, count=50, seed=1)).any()


def test_every_place_can_be_taken_once_but_constant_ones():
    from skimage import data

    windows = np.lib.stride_tricks.sliding_window_view(data.moon(), (2, 2)).reshape(-1, 4)
    many = int((windows.max(axis=1) > windows.min(axis=1)).sum())
    assert many < 511 * 511
    assert ob.problems.image_patches("moon", count=many).shape == (many, 3)
    with pytest.raises(InputError, match=f"`count` must be at most {many}"):
        ob.problems.image_patches("moon", count=many + 1)


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    for make in (ob.problems.image_patches, ob.problems.DictionaryLearning):
        with pytest.raises(MissingExtraError, match="with the extra `images`"):
            make()


def test_bad_input_is_refused():
    good = random_patches(5, 3, 0)
    zero = good.copy()
    zero[3] = 0
    for patches, words in (
        (zero, "row 3"),
        (good[0], "shape"),
        (np.empty((0, 3)), "shape"),
        (np.empty((3, 0)), "shape"),
        (good + np.inf, "finite"),
    ):
        with pytest.raises(InputError, match=words):
            ob.problems.DictionaryLearning(patches)
    for arguments in ({"atoms": 0}, {"batch": 0}):
        with pytest.raises(InputError):
            ob.problems.DictionaryLearning(good, **arguments)
    for arguments in ({"atoms": 1.5}, {"noise": 0.1}, {"patches": [["a", "b"]]}):
        with pytest.raises(InputTypeError):
            ob.problems.DictionaryLearning(**{"patches": good, **arguments})
    for arguments in ({"name": "mona"}, {"size": (1, 1)}, {"size": (0, 2)}, {"size": (600, 1)}, {"size": (40, 40)}):
        with pytest.raises(InputError):
            ob.problems.image_patches(**arguments)
    with pytest.raises(InputError):
        ob.problems.image_patches(count=0)
    for size in (2, (2, 2, 2), (2.0, 2)):
        with pytest.raises(InputTypeError):
            ob.problems.image_patches(size=size)
    # lengths that would underflow when squared
    tiny = ob.problems.DictionaryLearning(1e-200 * good, 1)
    assert tiny.optimum == pytest.approx(ob.problems.DictionaryLearning(good, 1).optimum)
