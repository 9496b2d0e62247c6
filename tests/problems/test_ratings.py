"""Ratings: files good and bad, groups by hand, and the problem that draws single ratings."""

from itertools import product

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, InputTypeError
from orbandit.problems.matrix_factorization import RatingFactorization, _with_sum_at_most
from orbandit.problems.ratings import Ratings, group_ratings, load_ratings
from orbandit.problems.search import highest

# Mean ratings: users a 1.5, b 3, c 4, d 4; items x 2, y 4.25.
ROWS = [("a", "x", 1.0), ("a", "y", 2.0), ("b", "y", 3.0), ("c", "x", 3.0), ("c", "y", 5.0), ("d", "y", 4.0)]
INTER = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n" + "".join(
    f"{user}\t{item}\t{value}\t88125\n" for user, item, value in ROWS
)
CSV = "title,Rating,user,ITEM\n" + "".join(f'"Heat, 1995",{value:g},{user},{item}\r\n' for user, item, value in ROWS)


def written(folder, text, name="ratings.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def many(seed=0, size=1500, users=30, items=20, rank=2):
    """Ratings from 1 to 5 of random pairs, around a table of the given rank."""
    rng = np.random.default_rng(seed)
    who, what = rng.integers(users, size=size), rng.integers(items, size=size)
    liked = (rng.random((users, rank))[who] * rng.random((items, rank))[what]).sum(axis=1) / rank
    return Ratings(who, what, np.clip(np.round(1 + 6 * liked + rng.normal(0, 0.7, size)), 1, 5))


def table(values):
    """Ratings that average to a given table with entries in [0, 1], one user a row, one item a column, one each."""
    rows, columns = np.indices(np.shape(values))
    return Ratings(rows.ravel(), columns.ravel(), np.ravel(values))


@pytest.mark.parametrize("text", [INTER, CSV, "\ufeff" + CSV, INTER.replace("\n", "\r\n"), CSV + "\n  \n\r\n"])
def test_both_kinds_of_files_are_read(tmp_path, text):
    for path in (written(tmp_path, text), str(written(tmp_path, text, "other.inter"))):
        ratings = load_ratings(path)
        assert ratings.users.tolist() == [user for user, _, _ in ROWS]
        assert ratings.items.tolist() == [item for _, item, _ in ROWS]
        assert ratings.values.tolist() == [value for _, _, value in ROWS]
    assert repr(ratings) == "<Ratings: 6 from 1 to 5, by 4 users of 2 items>"


def test_names_of_columns_may_be_those_of_movielens(tmp_path):
    ratings = load_ratings(
        written(tmp_path, "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n7,31,3,851866703\n")
    )
    assert ratings.users.tolist() == ["1", "7"]
    assert ratings.values.tolist() == [2.5, 3.0]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["is empty"]),
        ("\n \n", ["is empty"]),
        ("\nuser,item,rating\n1,2,3\n", ["begins with a blank line"]),
        ("user,item,rating\n", ["at least one rating"]),
        ("user,item,rating\n\n\n", ["at least one rating"]),
        ("user,item,stars\n1,2,3\n", ["no column rating", "'user, item, stars'"]),
        ("196\t242\t3\t881250949\n", ["no column user, item, rating", "'196, 242, 3, 881250949'"]),
        ("user;item;rating\n1;2;3\n", ["no column user, item, rating"]),
        ("user,user_id,item,rating\n1,1,2,3\n", ["several columns for user"]),
        ("user,item,rating\n1,2,3\n1,3,good\n", ["row 3 of", "'good'", "'1,3,good'"]),
        ("user,item,rating\n1,2,3\n\n1,3,\n", ["row 4 of", "''"]),
        ("user,item,rating\n1,2,3\n1,3\n", ["row 3 of", "3 fields", "has 2", "'1,3'"]),
        ("user,item,rating\n1,2,3,4\n", ["row 2 of", "3 fields", "has 4"]),
        ("user,item,rating\n1,2,nan\n", ["row 2 of", "finite", "'nan'"]),
        ("user,item,rating\n1,2,1e999\n", ["row 2 of", "finite"]),
        ("user,item,rating\n1,2,1_0\n", ["row 2 of", "'1_0'"]),
        ("user,item,rating\n1, ,4\n", ["row 2 of", "a user and an item"]),
        ("user,item,rating\n,,\n", ["row 2 of", "a user and an item"]),
        ('user,item,rating\n1,2,3\n1,"2,3\n', ["row 3 of", "does not parse"]),
        ('user,item,rating\n"a\nb",2,3\n1,2,x\n', ["row 4 of", "'x'"]),
        (INTER + "e\tx\tfour\t1\n", ["row 8 of", "'four'"]),
        (b"user,item,rating\n\xff,2,3\n", ["UTF-8"]),
        ("user,item,rating\n1,2," + 200 * "9x" + "\n", ["row 2 of", "..."]),
    ],
)
def test_a_bad_file_is_refused_with_the_row(tmp_path, text, parts):
    path = written(tmp_path, text)
    for read in (load_ratings, RatingFactorization):
        with pytest.raises(InputError) as caught:
            read(path)
        message = str(caught.value)
        assert all(part in message for part in [*parts, "ratings.csv"]), message
        assert len(message) < 500


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_ratings(tmp_path / "nowhere.csv")
    with pytest.raises(OSError, match="folder"):
        load_ratings(tmp_path.joinpath("folder").mkdir() or tmp_path / "folder")
    for path in (None, 3, [1, 2]):
        with pytest.raises(InputTypeError):
            load_ratings(path)
        with pytest.raises(InputTypeError):
            RatingFactorization(path)


def test_ratings_must_fit_together():
    for users, items, values in (([1], [1], [1, 2]), ([], [], []), ([[1]], [[1]], [[1]]), ([1, 2], [1], [3])):
        with pytest.raises(InputError, match="one length"):
            Ratings(users, items, values)
    with pytest.raises(InputError, match="finite"):
        Ratings([1], [1], [np.nan])
    with pytest.raises(InputTypeError):
        Ratings([1], [1], ["good"])
    given = np.array([1.0, 2.0])
    ratings = Ratings(["a", "b"], [1, 2], given)
    given[0] = 9
    assert ratings.values.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        ratings.values[0] = 3


def test_groups_by_hand():
    users, items, values = zip(*ROWS, strict=True)
    ratings = Ratings(users, items, values)
    # Sorted users a b c d have 2, 1, 2, 1 ratings: two groups of 3. Items x y have 2 and 4.
    cells = group_ratings(ratings, 2, 2)
    np.testing.assert_allclose(cells.means, [[0.0, (0.25 + 0.5) / 2], [0.5, (1.0 + 0.75) / 2]])
    np.testing.assert_allclose(cells.variances, [[0.0, 0.125**2], [0.0, 0.125**2]])
    assert cells.counts.tolist() == [1, 2, 1, 2]
    assert cells.values.tolist() == [0.0, 0.25, 0.5, 0.5, 1.0, 0.75]
    assert cells.starts.tolist() == [0, 1, 3, 4]
    # One group holds all; c and d, of equal means, are parted by their names.
    np.testing.assert_allclose(group_ratings(ratings, 1, 1).means, [[np.mean([0, 0.25, 0.5, 0.5, 1, 0.75])]])
    np.testing.assert_allclose(group_ratings(ratings, 4, 1).means.ravel(), [0.125, 0.5, 0.75, 0.75])
    # Three groups: cuts where 2 and 4 ratings are ahead; 3 and 5 are as near to 4, and the first is
    # taken.
    np.testing.assert_allclose(group_ratings(ratings, 3, 1).means.ravel(), [0.125, 0.5, (0.5 + 1.0 + 0.75) / 3])


def test_groups_have_nearly_equal_numbers_of_ratings():
    ratings = many(size=4000, users=60)
    cells = group_ratings(ratings, 4, 1)
    most = np.unique(ratings.users, return_counts=True)[1].max()
    assert np.abs(cells.counts - 1000).max() <= most
    assert (np.diff(cells.means.ravel()) > 0).all()
    # Every group has a user, though one user has nearly all ratings.
    lonely = Ratings([0] * 50 + [1, 2], [0] * 52, [1] * 50 + [2, 3])
    assert group_ratings(lonely, 3, 1).counts.tolist() == [50, 1, 1]
    lonely = Ratings([0, 1] + [2] * 50, [0] * 52, [1, 2] + [3] * 50)
    assert group_ratings(lonely, 3, 1).counts.tolist() == [1, 1, 50]


def test_groups_that_cannot_be_are_refused():
    users, items, values = zip(*ROWS, strict=True)
    ratings = Ratings(users, items, values)
    with pytest.raises(InputError, match="user group 2 of 4 rated nothing in item group 1 of 2; ask for fewer groups"):
        RatingFactorization(ratings, 4, 2)
    with pytest.raises(InputError, match="`users=5` groups need as many users, but there are 4"):
        RatingFactorization(ratings, 5, 1)
    with pytest.raises(InputError, match="`items=3` groups need as many items, but there are 2"):
        RatingFactorization(ratings, 2, 3)
    with pytest.raises(InputError, match="all are 3"):
        RatingFactorization(Ratings([1, 2], [1, 2], [3, 3]), 1, 1)
    with pytest.raises(InputError, match="finite range"):
        RatingFactorization(Ratings([1, 2], [1, 2], [-1.7e308, 1.7e308]), 1, 1)
    for arguments in ({"users": 0}, {"factors": 0}, {"arms": "box"}, {"horizon": 9}, {"arms": "subgroup"}):
        with pytest.raises(InputError):
            RatingFactorization(ratings, **{"users": 2, "items": 2, **arguments})
    with pytest.raises(InputTypeError):
        RatingFactorization(ratings, 2, 2, noise="ratings")


@pytest.mark.parametrize("arms", ["ball", "signed", "nonnegative"])
@pytest.mark.parametrize("factors", [1, 2])
@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (1, 3)])
def test_it_is_what_it_says(shape, factors, arms):
    problem = RatingFactorization(many(), *shape, factors, arms=arms)
    report = ob.problems.check(problem)
    assert report, report
    # The Lipschitz constant is no more than 1 / 0.7 of the steepest slope found.
    assert report.steepest > 0.7 * problem.lipschitz
    assert problem.reward_range == (0.0, 1.0)


def test_other_settings_are_what_they_say():
    assert ob.problems.check(RatingFactorization(many(), 2, 2, 2, arms="subgroup", horizon=100_000))
    assert ob.problems.check(RatingFactorization(many(), 2, 3, 3, noise=ob.problems.Beta(10.0)))
    assert ob.problems.check(RatingFactorization(table([[1.0, 1.0], [1.0, 0.0]]), 2, 2, 2))


@pytest.mark.parametrize("arms", ["ball", "signed", "nonnegative"])
def test_the_mean_is_that_of_all_ratings(arms):
    ratings = many(size=400)
    problem = RatingFactorization(ratings, 2, 3, 2, arms=arms)
    cells = group_ratings(ratings, 2, 3)
    largest = {"ball": (1 + np.sqrt(6)) ** 2, "signed": 9.0, "nonnegative": 4.0}[arms]
    for point in problem.space.sample(5, 0):
        P = problem.predict(point)
        rewards = []
        for a, b in product(range(2), range(3)):
            first = cells.starts[3 * a + b]
            inside = cells.values[first : first + cells.counts[3 * a + b]]
            rewards.append(np.mean([1 - (r - P[a, b]) ** 2 / largest for r in inside]))
        assert problem.mean(point) == pytest.approx(np.mean(rewards), abs=1e-12)


@pytest.mark.parametrize("arms", ["ball", "signed", "nonnegative"])
def test_rewards_are_single_ratings_and_unbiased(arms):
    problem = RatingFactorization(many(), 2, 2, 2, arms=arms)
    assert problem.noise is None
    for seed, point in enumerate(problem.space.sample(3, 1)):
        rewards = problem.sample(np.tile(point, (40_000, 1)), seed)
        assert len(np.unique(rewards)) <= 4 * 5  # four cells, ratings from 1 to 5
        margin = 4 * rewards.std() / np.sqrt(len(rewards))
        assert abs(rewards.mean() - problem.mean(point)) < margin
        # The spread is that of the ratings, far from Bernoulli's.
        mean = problem.mean(point)
        assert rewards.var() < 0.5 * mean * (1 - mean)
    np.testing.assert_array_equal(
        problem.sample(problem.space.sample(9, 0), 5), problem.sample(problem.space.sample(9, 0), 5)
    )
    assert 0 <= problem.sample(problem.optimizer, 0) <= 1


def test_cells_count_alike_however_many_ratings_they_have():
    # One rating of 0 in one cell, a hundred of 1 in the other: P = 0 is wrong in half of the
    # rounds.
    ratings = Ratings([0] * 101, [0] + [1] * 100, [0] + [1] * 100)
    problem = RatingFactorization(ratings, 1, 2, 1, arms="nonnegative")
    assert problem.mean(np.zeros(3)) == pytest.approx(0.5)
    rewards = problem.sample(np.zeros((10_000, 3)), 0)
    assert abs(rewards.mean() - 0.5) < 4 * 0.5 / np.sqrt(10_000)


@pytest.mark.parametrize("arms", ["ball", "signed", "nonnegative"])
@pytest.mark.parametrize("factors", [1, 2, 3])
def test_no_search_beats_the_optimum(arms, factors):
    for seed in range(2):
        ratings = table(np.random.default_rng(seed).permutation(np.linspace(0, 1, 9)).reshape(3, 3))
        problem = RatingFactorization(ratings, 3, 3, factors, arms=arms)
        _, value = highest(problem.mean, problem.space, np.random.default_rng(seed))
        assert value <= problem.optimum + problem.tolerance
        assert problem.tolerance <= 1e-6
        assert problem.space.contains(problem.optimizer)
        # Nobody comes nearer than the tail of the singular values.
        tail = np.linalg.svd(problem.matrix, compute_uv=False)[factors:]
        squares = ((problem.predict(problem.optimizer) - problem.matrix) ** 2).sum()
        assert squares >= (tail**2).sum() - 1e-12
        if arms == "ball" and np.linalg.svd(problem.matrix, compute_uv=False)[:factors].sum() <= 3:
            assert squares == pytest.approx((tail**2).sum(), abs=1e-12)
        assert problem.gap == 0 if not problem.searched else problem.gap >= 0


def test_a_ball_too_small_for_the_decomposition_has_its_best_point_on_the_sphere():
    # singular values 1.618 and 0.618, sum > 2
    problem = RatingFactorization(table([[1.0, 1.0], [1.0, 0.0]]), 2, 2, 2)
    assert not problem.searched
    assert np.linalg.norm(problem.optimizer) == pytest.approx(problem.space.radius)
    widths = np.linalg.svd(problem.predict(problem.optimizer), compute_uv=False)
    np.testing.assert_allclose(
        widths, np.array([np.sqrt(5) + 1, np.sqrt(5) - 1]) / 2 - (np.sqrt(5) - 2) / 2, atol=1e-12
    )
    _, value = highest(problem.mean, problem.space, np.random.default_rng(0))
    assert problem.optimum - 1e-4 < value <= problem.optimum + 1e-9


def test_numbers_are_brought_to_a_sum():
    rng = np.random.default_rng(0)
    for _ in range(50):
        widths, total = np.sort(rng.exponential(size=4))[::-1], rng.uniform(0.1, 4)
        nearest = _with_sum_at_most(total, widths)
        assert nearest.min() >= 0
        assert nearest.sum() <= total + 1e-12
        others = rng.dirichlet(np.ones(5), 2000)[:, :4] * total
        assert ((others - widths) ** 2).sum(axis=1).min() >= ((nearest - widths) ** 2).sum() - 1e-12
    np.testing.assert_array_equal(_with_sum_at_most(3.0, np.array([1.5, 1.0, 0.5])), [1.5, 1.0, 0.5])
    np.testing.assert_allclose(_with_sum_at_most(1.0, np.array([2.0, 0.5])), [1.0, 0.0])


@pytest.mark.parametrize("arms", ["signed", "nonnegative"])
def test_a_box_too_small_for_the_decomposition_is_searched(arms):
    problem = RatingFactorization(table([[1.0, 1.0], [1.0, 0.0]]), 2, 2, 1, arms=arms)
    assert problem.searched
    assert problem.gap > 1e-3
    # For one factor h the best w is known: brute force over h.
    grid = np.linspace(0, 1, 401)
    best = np.inf
    for h in product(grid, repeat=2):
        if max(h) == 1.0:  # shorter ones are worse, or as good if w has room left
            w = np.clip(np.array(h) @ problem.matrix / np.dot(h, h), -1, 1)
            best = min(best, ((np.outer(h, w) - problem.matrix) ** 2).sum())
    squares = ((problem.predict(problem.optimizer) - problem.matrix) ** 2).sum()
    assert best - 1e-4 < squares <= best + 1e-9


def test_a_search_may_prove_its_optimum():
    R = np.outer([0.2, 0.9, 0.4], [0.1, 0.5, 0.8]) + np.outer([0.5, 0.1, 0.3], [0.9, 0.2, 0.1])
    R = (R - R.min()) / np.ptp(R)
    ratings = table(R)
    problem = RatingFactorization(ratings, 3, 3, 3, arms="nonnegative")
    assert problem.searched
    assert problem.gap < 1e-9
    np.testing.assert_allclose(problem.predict(problem.optimizer), problem.matrix, atol=1e-4)


def test_one_call_takes_a_file_and_an_agent_plays_it(tmp_path):
    problem = RatingFactorization(written(tmp_path, INTER, "small.inter"), users=2, items=2, factors=2)
    np.testing.assert_allclose(problem.matrix, [[0.0, 0.375], [0.5, 0.875]])
    np.testing.assert_allclose(problem.predict(problem.optimizer), problem.matrix, atol=1e-12)
    assert "6 from 1 to 5" in repr(problem)
    small = RatingFactorization(tmp_path / "small.inter", users=2, items=1, factors=1, arms="nonnegative")
    runs = ob.simulate(ob.agents.OrbitTree, small, horizon=500, seeds=2)
    uniform = 500 * (small.optimum - small.mean(small.space.sample(4000, 0)).mean())
    assert 0 < runs.regret[:, -1].mean() < 0.7 * uniform
