"""Players: what a chunk gives when one of its tasks raises, dies or hangs, and processes that end at other times."""

import itertools
import math
import os
import signal
import time

import psutil
import pytest

from orbandit.errors import RunError
from orbandit.experiments import players
from orbandit.experiments.players import MAX_STARTS, Outcome, Player, play_here


@pytest.fixture(scope="module")
def player():
    player = Player()
    yield player
    player.close(players.GRACE_SECONDS)
    assert player._process is None


def test_results_come_in_the_order_of_the_tasks(player):
    outcome = player.play(math.sqrt, [4.0, 9.0, 1.0])
    assert outcome.results == play_here(math.sqrt, [4.0, 9.0, 1.0]).results == [2.0, 3.0, 1.0]
    assert outcome.seconds >= 0
    assert (outcome.failure, outcome.death, outcome.is_late) == (None, "", False)


def test_what_was_finished_before_a_failure_is_kept(player):
    for outcome in (player.play(math.sqrt, [4.0, -1.0, 9.0]), play_here(math.sqrt, [4.0, -1.0, 9.0])):
        assert outcome.results == [2.0]
        assert isinstance(outcome.failure, ValueError)
    worker = player._process
    assert player.play(math.sqrt, [9.0]).results == [3.0]
    assert player._process is worker


def test_what_was_finished_before_a_death_is_kept_and_another_process_goes_on(player):
    outcome = player.play(signal.raise_signal, [signal.SIGCONT, signal.SIGCONT, signal.SIGKILL, signal.SIGCONT])
    death = "was killed by SIGKILL, perhaps out of memory"
    assert outcome == Outcome([None, None], outcome.seconds, death=death)
    outcome = player.play(os._exit, [3])
    assert outcome == Outcome([], outcome.seconds, death="ended with code 3")
    assert player.play(math.sqrt, [4.0]).results == [2.0]


def test_a_task_that_takes_too_long_is_ended(player):
    outcome = player.play(time.sleep, [1e6, 0.0], timeout=0.05)
    assert outcome == Outcome([], outcome.seconds, is_late=True)
    assert player.play(math.sqrt, [4.0]).results == [2.0]


def test_what_is_done_in_time_is_kept_whoever_looks_late(player, monkeypatch):
    hours, wait = itertools.count(), players.connection.wait
    monkeypatch.setattr(players, "clock", lambda: 3600.0 * next(hours))
    # a look comes after an answer
    monkeypatch.setattr(players.connection, "wait", lambda lines, _: wait(lines))
    assert player.play(math.sqrt, [4.0] * 3, timeout=1.0).results == [2.0] * 3


def test_a_process_that_ends_between_two_chunks_is_no_loss(player):
    player.play(math.sqrt, [4.0])
    worker = psutil.Process(player._process.pid)
    worker.kill()
    psutil.wait_procs([worker])
    assert player.play(math.sqrt, [9.0]).results == [3.0]
    assert player._process.pid != worker.pid


class Ends:
    """Ends the process that reads it."""

    count = 0

    def __reduce__(self):
        type(self).count += 1
        return os._exit, (7,)


def test_processes_that_never_begin_are_told_of(player):
    with pytest.raises(RunError, match=r"end before they begin \(ended with code 7\); .*__main__"):
        player.play(math.sqrt, [Ends()])
    assert Ends.count == MAX_STARTS


def test_a_closed_player_starts_nothing():
    player = Player()
    player.close()
    with pytest.raises(RunError, match="closed"):
        player.play(math.sqrt, [4.0])


def test_a_process_without_work_ends(monkeypatch):
    monkeypatch.setattr(players, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(players, "end_with_parent", lambda: None)
    ours, theirs = players.CONTEXT.Pipe()
    ours.send((math.sqrt, [4.0]))
    players._serve(theirs)
    assert [ours.recv(), ours.recv()] == [None, (2.0, None)]
    ours.close()
    theirs.close()
