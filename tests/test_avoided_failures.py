"""maximize with failures="avoid": what fails is kept, counted and avoided, and one crash condemns no region."""

import dataclasses
import math

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, MeasurementError
from orbandit.optimize import History

CUBE, S3 = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
PEAK = np.array([0.2, 0.4, 0.6])


def value(x):
    return 1.0 - float(np.linalg.norm(np.sort(x) - PEAK))


@pytest.mark.parametrize(("agent", "budget"), [(None, 50), (ob.agents.OrbitTree, 200), (ob.agents.UniformMesh, 200)])
def test_a_half_of_the_space_that_fails_is_avoided(agent, budget):
    """The peak is near the wall, in the part that works; of random points 0.65 fail, over three seeds."""
    assert np.mean(CUBE.sample(10_000, 0).sum(axis=1) > 1.3) > 0.64
    shares, gaps = [], []
    for seed in range(3):
        failed = []

        def measure(x, failed=failed):
            failed.append(bool(x.sum() > 1.3))
            if failed[-1]:
                raise OSError("crashed")
            return value(x)

        best = ob.maximize(measure, CUBE, S3, budget=budget, seed=seed, failures="avoid", agent=agent)
        assert len(failed) == budget == len(best.history) + len(best.history.failed)
        assert (best.history.failed.sum(axis=1) > 1.3).all()
        shares.append(np.mean(failed[16:]))
        gaps.append(1 - value(best.point))
    assert np.mean(shares) < 0.33
    assert np.mean(gaps) < 0.15


@pytest.mark.parametrize("agent", [None, ob.agents.OrbitTree])
def test_crashes_at_random_condemn_no_region(agent):
    rng = np.random.default_rng(0)

    def measure(x):
        return math.nan if rng.random() < 0.2 else value(x)

    best = ob.maximize(measure, CUBE, S3, budget=80, seed=0, failures="avoid", agent=agent)
    assert len(best.history.failed) > 8
    assert value(best.point) > 0.85
    assert abs(best.value - value(best.point)) < 0.1


def test_a_crash_at_the_peak_is_tried_around_again():
    crashes = []

    def measure(x):
        if value(x) > 0.9 and len(crashes) < 2:
            crashes.append(x)
            raise OSError("crashed")
        return value(x)

    best = ob.maximize(measure, CUBE, S3, budget=60, seed=0, failures="avoid")
    assert len(crashes) == 2
    assert value(best.point) > 0.9


@pytest.mark.parametrize("bad", [OSError("down"), math.nan, math.inf, None, "high", [1.0]])
def test_whatever_fails_is_kept_and_the_callback_sees_it(bad):
    calls, seen = [], []

    def measure(x):
        calls.append(x)
        if len(calls) % 3 == 0:
            if isinstance(bad, Exception):
                raise bad
            return bad
        return value(x)

    best = ob.minimize(
        measure, CUBE, S3, budget=12, seed=0, failures="avoid", callback=lambda state: seen.append(state.value)
    )
    np.testing.assert_array_equal(best.history.failed, calls[2::3])
    assert best.history.failed_at.tolist() == [2, 5, 8, 11]
    assert len(best.history) == 8
    assert [math.isnan(each) for each in seen] == [False, False, True] * 4


def test_failed_points_are_resumed_with_the_history():
    def measure(x):
        if x.sum() > 1.3:
            raise OSError("crashed")
        return value(x)

    first = ob.maximize(measure, CUBE, S3, budget=30, seed=0, failures="avoid").history
    again = ob.maximize(measure, CUBE, S3, budget=10, seed=0, failures="avoid", history=first)
    many = len(first.failed)
    assert many > 2
    np.testing.assert_array_equal(again.history.failed[:many], first.failed)
    np.testing.assert_array_equal(again.history.failed_at[:many], first.failed_at)
    np.testing.assert_array_equal(again.history.values[: len(first)], first.values)
    assert (first.failed_at < np.arange(len(first), 30)).any()  # not all of them last
    assert len(again.history) + len(again.history.failed) == 40
    forgetful = ob.maximize(
        measure, CUBE, S3, budget=10, seed=0, failures="avoid", history=History(first.points, first.values)
    )
    assert not np.array_equal(forgetful.history.points[len(first) :], again.history.points[len(first) :])
    with pytest.raises(InputError, match="must have points of"):
        ob.maximize(measure, CUBE, S3, budget=1, history=History(first.points, first.values, first.failed + 5))
    for numbers in (first.failed_at[1:], first.failed_at * 0, first.failed_at + 30, first.failed_at + 0.5):
        with pytest.raises(InputError, match=f"failed_at` must be {many} different numbers from 0 to 29"):
            ob.maximize(measure, CUBE, S3, budget=1, history=dataclasses.replace(first, failed_at=numbers))


@pytest.mark.parametrize("budget", [1, 5, 40])
def test_if_all_fail_the_error_says_so(budget):
    def measure(x):
        raise OSError("no licence")

    words = rf"all {budget} measurements failed, the last at .* \(OSError: no licence\)"
    with pytest.raises(MeasurementError, match=words) as caught:
        ob.maximize(measure, CUBE, S3, budget=budget, seed=0, failures="avoid")
    error = caught.value
    assert error.history.failed.shape == (budget, 3)
    assert len(error.history) == 0
    np.testing.assert_array_equal(error.point, error.history.failed[-1])
    best = ob.maximize(value, CUBE, S3, budget=5, seed=1, history=error.history)
    assert len(best.history) == 5
    assert len(best.history.failed) == budget


def test_a_failure_is_shown_by_the_progress_bar(capsys):
    values = iter([1.0, math.nan])
    ob.maximize(lambda x: next(values), CUBE, S3, budget=2, seed=0, failures="avoid", progress=True)
    assert "failed" in capsys.readouterr().err
