"""maximize with several workers: threads, processes, a Dask cluster, some of them lost; callbacks and Ctrl-C."""

import contextlib
import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import dask
import numpy as np
import pytest
from distributed import Client, KilledWorker, LocalCluster

import orbandit as ob
from orbandit.errors import InputError, InputTypeError, MeasurementError, OrbanditWarning
from worker_cases import count, dies_always, dies_at, fails_at, value

CUBE, S3 = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)


class Scattered:
    """An agent of one's own that never chooses a point twice, and takes no time."""

    def __init__(self, space, group, *, seed, **settings):
        self._space, self._rng = space, np.random.default_rng(seed)

    def ask(self):
        return self._space.sample(1, self._rng)[0]

    def tell(self, point, reward):
        pass


def processes(many):
    return ProcessPoolExecutor(many, mp_context=multiprocessing.get_context("spawn"))


class Late(Executor):
    """Ends calls when others are submitted: `ends` has, for the number of calls so far, which ones."""

    def __init__(self, ends):
        self.ends, self.calls, self.points = ends, [], []

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self.calls.append((future, functools.partial(fn, *args, **kwargs)))
        self.points.append(args[1])
        for number in self.ends(len(self.calls)):
            ended, call = self.calls[number]
            ended.set_result(call())
        return future


@functools.cache
def alone():
    return ob.maximize(value, CUBE, S3, budget=30, seed=0)


@pytest.mark.parametrize("how", [{"workers": 1}, {"executor": ThreadPoolExecutor(3), "workers": 1}, {}])
def test_one_worker_chooses_as_ever(how):
    best, other = alone(), ob.maximize(value, CUBE, S3, budget=30, seed=0, **how)
    np.testing.assert_array_equal(best.history.points, other.history.points)
    np.testing.assert_array_equal(best.point, other.point)
    assert best.value == other.value


@pytest.mark.parametrize("how", [{"workers": 3}, {"executor": ThreadPoolExecutor(3)}], ids=["workers", "executor"])
def test_a_slow_measurement_holds_up_no_other(how):
    """The first one ends after all others; never more than three are under way."""
    lock, released, calls, most = threading.Lock(), threading.Event(), [], []
    flying = set()

    def measure(x):
        with lock:
            calls.append(x)
            number = len(calls)
            flying.add(number)
            most.append(len(flying))
        if number == 1:
            assert released.wait(600)
        elif number == 30:
            released.set()
        with lock:
            flying.remove(number)
        return value(x)

    best = ob.maximize(measure, CUBE, S3, budget=30, seed=0, agent=Scattered, **how)
    assert len(best.history) == 30
    assert value(calls[0]) in best.history.values[-3:]
    assert max(most) <= 3


def test_choices_allow_for_what_is_under_way():
    """Without that, an agent that is told nothing new would choose the same point again."""
    executor = Late(lambda many: range(20, 25) if many == 25 else range(many - 5, many - 4) if many >= 5 else ())
    ob.maximize(value, CUBE, S3, budget=25, seed=0, executor=executor, workers=5)
    gaps = np.asarray(S3.distance(executor.points, executor.points)) + np.eye(25)
    assert gaps.min() > 1e-3


def test_history_is_in_the_order_of_the_ends():
    executor = Late(lambda many: {3: [1], 4: [3], 5: [4, 2, 0]}.get(many, []))
    best = ob.maximize(value, CUBE, S3, budget=5, seed=0, executor=executor, workers=3)
    order = [1, 3, 0, 2, 4]  # what is there at once, by age
    np.testing.assert_array_equal(best.history.points, [executor.points[number] for number in order])


def test_processes_measure_and_errors_come_back(tmp_path):
    with processes(2) as executor:
        best = ob.maximize(value, CUBE, S3, budget=20, seed=0, executor=executor, agent=Scattered)
        assert len(best.history) == 20
        measure = functools.partial(fails_at, 8, tmp_path)
        with pytest.raises(MeasurementError, match="RuntimeError: LocalError: too hot") as caught:
            ob.maximize(measure, CUBE, S3, budget=20, seed=0, executor=executor, workers=1, agent=Scattered)
    error = caught.value
    # with two workers, any number might end while the error comes back
    assert len(error.history) == 7
    assert value(error.point) not in error.history.values
    assert "worker_cases.py" in error.__cause__.__notes__[0]


def test_a_broken_pool_of_processes_keeps_what_was_measured(tmp_path):
    with processes(1) as executor, pytest.raises(MeasurementError, match="BrokenProcessPool") as caught:
        ob.maximize(functools.partial(dies_at, 6, tmp_path), CUBE, S3, budget=20, seed=0, executor=executor)
    assert isinstance(caught.value.__cause__, BrokenProcessPool)
    assert len(caught.value.history) == 5
    best = ob.maximize(value, CUBE, S3, budget=10, seed=0, history=caught.value.history)
    assert len(best.history) == 15


@pytest.mark.parametrize("failures", ["raise", "avoid"])
def test_an_executor_that_is_shut_down_is_the_end_and_no_failed_measurement(failures):
    executor = ThreadPoolExecutor(2)

    def measure(x):
        executor.shutdown(wait=False)
        return value(x)

    with pytest.raises(MeasurementError, match="after shutdown") as caught:
        ob.maximize(measure, CUBE, S3, budget=9, seed=0, executor=executor, workers=1, failures=failures)
    assert len(caught.value.history) == 1
    assert len(caught.value.history.failed) == 0


def test_what_cannot_be_sent_is_refused_before_anything_is_measured():
    calls = []
    with processes(1) as executor, pytest.raises(InputError, match=r"cannot be pickled .* or use threads"):
        ob.maximize(lambda x: calls.append(x), CUBE, S3, budget=5, executor=executor)
    assert not calls


@pytest.fixture(scope="module")
def address():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


@pytest.mark.filterwarnings("ignore")  # the cluster's own, about ports and sockets
def test_a_lost_worker_of_a_cluster_is_no_failed_measurement(address, tmp_path, caplog):
    with Client(address) as client:
        best = ob.maximize(
            functools.partial(dies_at, 4, tmp_path), CUBE, S3, budget=12, seed=0, executor=client.get_executor()
        )
    assert len(best.history) == 12
    assert len(best.history.failed) == 0
    # what the dead worker had measured and not yet handed over is measured again, and the cluster says so
    again = sum("lose already computed task" in record.message for record in caplog.records)
    assert count(tmp_path, "calls") == 12 + 1 + 1 + again  # the one that was lost, and this


@pytest.mark.filterwarnings("ignore")
def test_the_same_point_twice_is_two_measurements_on_a_cluster(address, tmp_path):
    class Stubborn(Scattered):
        def ask(self):
            return np.array([0.5, 0.5, 0.5])

    with Client(address) as client:
        measure = functools.partial(dies_at, 0, tmp_path)
        ob.maximize(measure, CUBE, budget=6, seed=0, executor=client.get_executor(), agent=Stubborn)
    assert count(tmp_path, "calls") == 7


@pytest.mark.filterwarnings("ignore")
def test_a_measurement_that_takes_its_workers_with_it_is_begun_three_times(tmp_path):
    measure, again = functools.partial(dies_always, tmp_path), r"a worker was lost .* it is measured again"
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        executor = client.get_executor()
        with (
            pytest.warns(OrbanditWarning, match=again),
            pytest.raises(MeasurementError, match="KilledWorker") as caught,
        ):
            ob.maximize(measure, CUBE, S3, budget=9, seed=0, executor=executor, failures="avoid")
        client.wait_for_workers(1)  # a cluster cannot be closed while a worker is started again
    assert isinstance(caught.value.__cause__, KilledWorker)
    assert count(tmp_path, "calls") == 3 + 1
    assert len(caught.value.history) == len(caught.value.history.failed) == 0


def test_a_callback_sees_every_measurement_and_ends_the_search():
    states = []

    def callback(state):
        states.append((len(state.history), state.value, state.recommend()))
        return len(states) == 30

    best = ob.minimize(value, CUBE, S3, budget=100, seed=0, callback=callback)
    assert [many for many, _, _ in states] == list(range(1, 31))
    np.testing.assert_array_equal([seen for _, seen, _ in states], best.history.values)
    assert all(CUBE.contains(point) for _, _, point in states)
    np.testing.assert_array_equal(states[-1][2], best.point)
    plain = ob.minimize(value, CUBE, S3, budget=100, seed=0)
    # looking changes nothing
    np.testing.assert_array_equal(best.history.points, plain.history.points[:30])
    assert not best.interrupted


def test_what_is_under_way_at_the_end_is_awaited_and_kept():
    go = threading.Event()

    def measure(x):
        with lock:
            calls.append(x)
            is_first = len(calls) == 1
        if not is_first:
            assert go.wait(600)
        return value(x)

    def callback(state):
        seen.append(state)
        go.set()
        return np.True_

    lock, calls, seen = threading.Lock(), [], []
    best = ob.maximize(measure, CUBE, S3, budget=50, seed=0, workers=3, callback=callback)
    assert len(seen) == 1
    assert len(best.history) == len(calls) == 3
    assert len(seen[0].history) == 1  # as it was then


@pytest.mark.parametrize("workers", [1, 3])
def test_a_callback_that_raises_loses_nothing(workers):
    def callback(state):
        if len(state.history) >= 20:
            raise OSError("disk full")

    with pytest.raises(MeasurementError, match=r"the callback failed after .* disk full") as caught:
        ob.maximize(value, CUBE, S3, budget=50, seed=0, callback=callback, workers=workers, agent=Scattered)
    assert 20 <= len(caught.value.history) < 20 + workers
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.point is None


@pytest.mark.parametrize("how", ["callback", "measure"])
def test_an_interruption_waits_for_nothing_and_keeps_what_is_there(how):
    never = threading.Event()
    executor = ThreadPoolExecutor(2)
    lock, calls = threading.Lock(), []

    def measure(x):
        with lock:
            calls.append(x)
            number = len(calls)
        if number == 1:
            never.wait(600)
        if number == 12 and how == "measure":
            raise KeyboardInterrupt
        return value(x)

    def callback(state):
        if len(state.history) == 10 and how == "callback":
            raise KeyboardInterrupt

    try:
        best = ob.maximize(measure, CUBE, S3, budget=50, seed=0, executor=executor, callback=callback, agent=Scattered)
    finally:
        never.set()
        executor.shutdown()
    assert best.interrupted
    assert len(best.history) in (10, 11)
    assert value(calls[0]) not in best.history.values


class Interrupted(Late):
    """Ctrl-C reaches all workers at once, as it does in a terminal, from a call on; others end at once."""

    def __init__(self, first):
        super().__init__(lambda calls: [calls - 1] if calls < first else [])
        self.first = first

    def submit(self, fn, /, *args, **kwargs):
        future = super().submit(fn, *args, **kwargs)
        if len(self.calls) >= self.first:
            future.set_exception(KeyboardInterrupt())
        return future


@pytest.mark.parametrize("first", [5, 6, 7])
def test_an_interruption_of_all_workers_keeps_what_is_there(first):
    best = ob.maximize(value, CUBE, S3, budget=50, seed=0, executor=Interrupted(first), workers=3, agent=Scattered)
    assert best.interrupted
    assert len(best.history) == first - 1


INTERRUPTED = """
import functools, multiprocessing, signal, sys
from concurrent.futures import ProcessPoolExecutor
import orbandit as ob
from worker_cases import hangs_at

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    executor = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))
    measure = functools.partial(hangs_at, 8, sys.argv[1])
    best = ob.maximize(measure, ob.spaces.Box(0, 1, dim=3), budget=50, seed=0, executor=executor)
    print(best.interrupted, len(best.history), len(best.history.failed), flush=True)
"""


def test_ctrl_c_reaches_processes_too_and_what_they_measured_is_kept(tmp_path):
    (tmp_path / "search.py").write_text(INTERRUPTED)
    words = [sys.executable, str(tmp_path / "search.py"), str(tmp_path)]
    folder = {"PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])}
    search = subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, start_new_session=True, env={**os.environ, **folder}
    )
    try:
        while not (tmp_path / "hangs").exists():
            assert search.poll() is None
            time.sleep(0.01)
        os.killpg(search.pid, signal.SIGINT)  # as a terminal sends it, to all
        out, _ = search.communicate(timeout=300)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(search.pid, signal.SIGKILL)
    interrupted, many, failed = out.split()
    assert interrupted == "True"
    assert int(many) in (6, 7)  # of the seven that ended, the last may not have been handed over
    assert failed == "0"


def test_several_failures_at_once_are_all_named():
    barrier = threading.Barrier(3, timeout=600)

    def measure(x):
        barrier.wait()
        raise OSError(f"at {x[0]}")

    with pytest.raises(MeasurementError, match="failed after 0 measurements") as caught:
        ob.maximize(measure, CUBE, S3, budget=3, seed=0, workers=3)
    assert len(caught.value.__notes__) == 2
    assert all("failed, too (OSError: at " in note for note in caught.value.__notes__)


def test_bad_settings_are_refused_before_anything_is_measured():
    def never(x):
        raise AssertionError("measured")

    for settings, kind, message in (
        ({"workers": 0}, InputError, "workers >= 1"),
        ({"workers": 1.5}, InputTypeError, "workers"),
        ({"executor": "threads"}, InputTypeError, r"client\.get_executor"),
        ({"callback": 3}, InputTypeError, "callback"),
        ({"failures": "ignore"}, InputError, "failures 'ignore'.*Known: raise, avoid"),
    ):
        with pytest.raises(kind, match=message):
            ob.maximize(never, CUBE, S3, budget=5, **settings)
