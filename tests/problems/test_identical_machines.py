"""Identical machines: the mean by plain loops, the queues by a slow twin, and the two against each other."""

import numpy as np
import pytest

import orbandit as ob
from orbandit._kernels import queues
from orbandit.errors import InputError, InputTypeError
from orbandit.problems import identical_machines as module

FOUR = ob.problems.IdenticalMachines(4)
SIZES = ("exponential", "hyperexponential")


def slow_mean(x):
    """The mean reward of one arm, formula by formula."""
    m = len(x)
    total, jobs = 0.0, 0.0
    for i in range(m):
        l1 = m * 0.24 * (1 - x[i] + 0.05) / sum(1 - y + 0.05 for y in x)
        l2 = m * 0.045 * (x[i] + 0.05) / sum(y + 0.05 for y in x)
        mixing = 1 + 2 * l1 * l2 / (l1 + l2) ** 2
        rho = l1 * 1 * mixing + l2 * 4 * mixing
        if rho >= 1:
            return 0.0
        for rate, work in ((l1, 1.0), (l2, 4.0)):
            total += rate * (work * mixing / (1 - rho)) / work
            jobs += rate
    return jobs / total


def slow_departures(times, places, sizes, machines, until):
    """When each job leaves, infinity if after `until`: every event moves the remaining work of all jobs present."""
    left = np.full(len(times), np.inf)
    for i in range(machines):
        coming = [k for k in range(len(times)) if places[k] == i]
        now, remaining = 0.0, {}
        while coming or remaining:
            arrival = times[coming[0]] if coming else np.inf
            departure = now + min(remaining.values()) * len(remaining) if remaining else np.inf
            if min(arrival, departure) > until:
                break
            then = min(arrival, departure)
            for k in remaining:
                remaining[k] -= (then - now) / len(remaining)
            now = then
            if departure <= arrival:
                for k in [k for k, work in remaining.items() if work <= 1e-12]:
                    left[k] = now
                    del remaining[k]
            else:
                new = coming.pop(0)
                remaining[new] = sizes[new]
    return left


def fast_departures(times, places, sizes, machines, until, pieces=1):
    """The same from the kernel, which is called for one piece of the jobs after another."""
    times, sizes = np.asarray(times, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    places, left = np.asarray(places, dtype=np.int64), np.full(len(times), np.inf)
    clocks, present = np.zeros((machines, 2)), np.zeros(machines, np.int64)
    targets, holders = np.empty((machines, len(times))), np.empty((machines, len(times)), np.int64)
    for own in np.array_split(np.arange(len(times)), pieces):
        end = until if len(own) == 0 or own[-1] == len(times) - 1 else times[own[-1]]
        queues.share_processors(times[own], places[own], sizes[own], own, end, clocks, present, targets, holders, left)
    assert (present == np.bincount(places[left == np.inf], minlength=machines)).all()
    assert (clocks[:, 0] == until).all()
    return left


# --- the mean ---


def test_the_values_of_the_formulas():
    assert np.round(FOUR.mean([[0.1, 0.3, 0.6, 0.8], [0, 0, 0, 1]]), 3).tolist() == [0.383, 0.480]
    equal = FOUR.mean(np.repeat(np.linspace(0, 1, 21)[:, None], 4, axis=1))
    np.testing.assert_allclose(equal, 0.370, atol=5e-4)


@pytest.mark.parametrize("machines", [2, 4, 9])
def test_the_mean_by_plain_loops(machines):
    problem = ob.problems.IdenticalMachines(machines)
    points = np.concatenate([problem.space.sample(100, 0), np.tri(machines + 1, machines, -1)])
    np.testing.assert_allclose(problem.mean(points), [slow_mean(x) for x in points], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("machines", [2, 5])
def test_it_is_as_claimed(machines):
    report = ob.problems.check(ob.problems.IdenticalMachines(machines))
    assert report, str(report)


@pytest.mark.parametrize(("machines", "noise"), [(3, ob.problems.Bernoulli()), (4, ob.problems.ClippedGaussian(0.1))])
def test_other_noise(machines, noise):
    problem = ob.problems.IdenticalMachines(machines, noise=noise)
    report = ob.problems.check(problem, points=200)
    assert report, str(report)
    x = [0.1] * (machines - 1) + [0.9]
    rewards = problem.sample([x] * 20_000, 0)
    assert abs(rewards.mean() - problem.mean(x)) < 4 * rewards.std() / np.sqrt(20_000)
    assert repr(problem).endswith(f"noise={noise!r})")


def test_no_point_of_a_grid_is_better():
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 41)] * 3), axis=-1).reshape(-1, 3)
    three = ob.problems.IdenticalMachines(3)
    # at a corner, which the grid has
    assert three.mean(grid).max() <= three.optimum <= three.mean(grid).max() + 1e-9
    assert np.sort(three.optimizer).round(6).tolist() == [0, 0, 1]
    assert FOUR.optimum > FOUR.mean(np.tri(5, 4, -1)).max() + 0.005  # not at a corner


def brink(machines):
    """The least t at which (t, 0, ..., 0) overloads its machine, to rounding, from below."""
    sound, over = 0.0, 0.5
    for _ in range(60):
        middle = (sound + over) / 2
        sound, over = (middle, over) if slow_mean([middle] + [0.0] * (machines - 1)) > 0 else (sound, middle)
    return np.array([sound] + [0.0] * (machines - 1))


@pytest.mark.parametrize("machines", [4, 20])
def test_the_mean_vanishes_continuously_at_overload_and_is_steepest_there(machines):
    problem = ob.problems.IdenticalMachines(machines)
    edge, along = brink(machines), np.eye(machines)[0]
    assert 0 < problem.mean(edge - 1e-12 * along) < 1e-9
    assert problem.mean(edge + 1e-12 * along) == 0
    h = 1e-7
    inner = edge - 10 * h * along
    moves = h * np.eye(machines)
    slope = np.linalg.norm((problem.mean(inner + moves) - problem.mean(inner - moves)) / (2 * h))
    # what was found, and 2 % more
    assert 0.97 * problem.lipschitz < slope < 0.985 * problem.lipschitz
    # Over the kink: from a stable arm to overloaded ones at all distances.
    for step in 10.0 ** np.arange(-8, 0):
        rise = problem.mean(inner) - problem.mean(inner + step * along)
        assert abs(rise) <= problem.lipschitz * step


# --- the queues ---


def test_a_case_by_hand():
    # Machine 0: alone until 1, then two share; both are done at 3. Machine 1 is never used. Machine
    # 2: ties.
    times, places, sizes = [0.0, 0.0, 0.0, 1.0, 4.0], [0, 2, 2, 0, 2], [2.0, 1.0, 1.0, 1.0, 0.0]
    assert fast_departures(times, places, sizes, 3, 10.0).tolist() == [3.0, 2.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_queues_against_the_slow_twin(seed, compiled, monkeypatch):
    for name in () if compiled else ("share_processors", "_advance", "_rise", "_sink"):
        monkeypatch.setattr(queues, name, getattr(queues, name).py_func)
    rng = np.random.default_rng(seed)
    machines, jobs = 1 + seed % 4, 150
    times = np.cumsum(rng.exponential(0.8 / machines, jobs))
    sizes = rng.exponential(0.7, jobs) * rng.choice([0.1, 1.0, 5.0], jobs)
    # the last machine stays empty if there are several
    places = rng.integers(max(1, machines - 1), size=jobs)
    if seed % 2:  # whole numbers: many jobs come and leave at once
        times, sizes = np.floor(2 * times), np.ceil(sizes)
        times[:10] = 0.0
    for until in (times[-1], times[-1] + 3.0, times[-1] + 1e3):
        expected = slow_departures(times, places, sizes, machines, until)
        for pieces in (1, 7):
            found = fast_departures(times, places, sizes, machines, until, pieces)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-9)
    assert np.isfinite(expected).all()


@pytest.mark.parametrize("sizes", SIZES)
def test_the_mean_slowdown_is_that_of_processor_sharing(sizes):
    """400 windows, 4 standard errors: every job of a window sees the stationary state, whatever the sizes are like."""
    problem = ob.problems.IdenticalMachines(4, sizes=sizes)
    for arm in ([0.5] * 4, [0.1, 0.3, 0.6, 0.8], [0, 0, 0, 1], [0, 1, 1, 1]):
        rates, means = (flow[0] for flow in problem._flows(np.array([arm], dtype=float)))
        rng = np.random.default_rng(11)
        slowdowns = [problem._slowdown(rates, means, rng) for _ in range(400)]
        expected = 1 / problem.mean(arm)
        assert abs(np.mean(slowdowns) - expected) < 4 * np.std(slowdowns) / 20
        assert np.std(slowdowns) / 20 < 0.035 * expected  # or the line above would say little


@pytest.mark.parametrize(("sizes", "arm"), [(SIZES[0], [0.5] * 4), (SIZES[1], [0, 0, 0, 1])])
def test_windows_of_two_jobs_have_it_too(sizes, arm, monkeypatch):
    """4,000 windows, 4 standard errors: neither the start nor the end of a window is special."""
    monkeypatch.setattr(module, "WINDOW", 2)
    problem = ob.problems.IdenticalMachines(4, sizes=sizes)
    rates, means = (flow[0] for flow in problem._flows(np.array([arm], dtype=float)))
    rng = np.random.default_rng(12)
    slowdowns = [problem._slowdown(rates, means, rng) for _ in range(4_000)]
    expected, error = 1 / problem.mean(arm), np.std(slowdowns) / np.sqrt(4_000)
    assert abs(np.mean(slowdowns) - expected) < 4 * error
    assert error < 0.06 * expected  # or the line above would say little


@pytest.mark.parametrize(
    ("sizes", "arm", "low", "high"),
    [
        ("exponential", [0, 0, 0, 1], 0.003, 0.012),
        ("hyperexponential", [0.1, 0.3, 0.6, 0.8], 0.009, 0.020),
    ],
)
def test_the_bias_of_rewards_is_as_stated(sizes, arm, low, high):
    """3,000 windows; the margins are 4 standard errors and more around what 10,000 others gave."""
    problem = ob.problems.IdenticalMachines(4, sizes=sizes)
    rewards = problem.sample([arm] * 3_000, 5)
    assert low < rewards.mean() - problem.mean(arm) < high
    assert rewards.min() > 0
    assert rewards.max() < 1


def test_the_stationary_state():
    rates, means = (flow[0] for flow in FOUR._flows(np.array([[0.0, 0.0, 0.0, 1.0]])))
    loads = rates * means
    rho = loads.sum(axis=0)
    rng = np.random.default_rng(3)
    states = [FOUR._present(rates, means, rng) for _ in range(4_000)]
    counts = np.array([np.bincount(places, minlength=4) for places, _ in states])
    deviations = np.sqrt(rho) / (1 - rho)  # of a geometric number
    assert (np.abs(counts.mean(axis=0) - rho / (1 - rho)) < 4 * deviations / np.sqrt(4_000)).all()
    places, sizes = (np.concatenate(parts) for parts in zip(*states, strict=True))
    shares = loads / rho
    for i in (0, 3):
        own = sizes[places == i]
        assert abs(own.mean() - (shares[:, i] * means[:, i]).sum()) < 4 * own.std() / np.sqrt(len(own))


def test_sizes_have_the_moments_of_their_distributions():
    short, long = 0.5 / module.SHORT, 0.5 / (1 - module.SHORT)
    assert module.SHORT * short + (1 - module.SHORT) * long == pytest.approx(1)
    assert 2 * (module.SHORT * short**2 + (1 - module.SHORT) * long**2) == pytest.approx(
        11
    )  # 1 + squared coefficient of variation
    for sizes, second, remaining in (("exponential", 2.0, 1.0), ("hyperexponential", 11.0, 5.5)):
        problem, rng = ob.problems.IdenticalMachines(2, sizes=sizes), np.random.default_rng(0)
        drawn = problem._unit_sizes(400_000, rng)
        assert drawn.mean() == pytest.approx(1, abs=0.02)
        assert (drawn**2).mean() == pytest.approx(second, rel=0.05)
        # What remains of a size has the mean E S^2 / 2 E S.
        assert problem._unit_sizes(400_000, rng, remaining=True).mean() == pytest.approx(remaining, rel=0.02)


def test_overloaded_machines_give_nothing_and_nearly_overloaded_ones_next_to_it():
    edge = brink(4)
    over = edge + 1e-3 * np.eye(4)[0]
    assert FOUR.sample([over] * 5, 0).tolist() == [0] * 5
    for sizes in SIZES:
        problem = ob.problems.IdenticalMachines(4, sizes=sizes)
        near = np.array([edge, edge - [1e-7, 0, 0, 0]])
        assert problem.sample(near, 0).max() < 0.01
        rewards = problem.sample([edge - [0.01, 0, 0, 0]] * 20, 0)
        assert ((rewards > 0) & (rewards < 0.3)).all()


def test_rewards_are_repeatable_and_one_for_each_point():
    points = FOUR.space.sample(5, 0)
    np.testing.assert_array_equal(FOUR.sample(points, 3), FOUR.sample(points, 3))
    assert (FOUR.sample(points, 3) != FOUR.sample(points, 4)).all()
    assert np.ndim(FOUR.sample(points[0], 3)) == 0
    # nearest arms
    np.testing.assert_array_equal(FOUR.sample(points + 2.0, 3), FOUR.sample(np.ones((5, 4)), 3))
    assert FOUR.noise is None
    assert FOUR.reward_range == (0.0, 1.0)
    assert module.WINDOW == 2_000


def test_bad_input_is_refused():
    for machines in (1, 0, -2):
        with pytest.raises(InputError, match="machines >= 2"):
            ob.problems.IdenticalMachines(machines)
    with pytest.raises(InputError, match="Did you mean 'exponential'"):
        ob.problems.IdenticalMachines(4, sizes="exponental")
    for arguments in ({"machines": 2.5}, {"noise": "gaussian"}):
        with pytest.raises(InputTypeError):
            ob.problems.IdenticalMachines(**arguments)
    with pytest.raises(InputError):
        FOUR.mean([0.5, 0.5])
