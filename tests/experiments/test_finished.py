"""Finished runs: what is refused, what makes two of them equal, and keys that depend on nothing but the content."""

import pickle
import struct

import numpy as np
import pytest

from orbandit.errors import InputError, InputTypeError, OrbanditError
from orbandit.experiments.finished import FIELDS, FinishedRun, Limit, run_key, seal
from store_cases import make_run


def test_runs_are_equal_only_to_the_last_bit():
    run = make_run(5)
    assert run == make_run(5)
    assert hash(run) == hash(make_run(5))
    assert pickle.loads(pickle.dumps(run)) == run
    assert run != make_run(5, regret=np.nextafter(run.regret, 0))
    assert make_run(5, regret=run.regret * 0.0) != make_run(5, regret=run.regret * -0.0)
    assert run != make_run(5, seconds=2.0)
    simple = np.linspace(1, 0, len(run.checkpoints))
    assert run != make_run(5, simple_regret=simple) == make_run(5, simple_regret=simple)
    assert make_run(5, simple_regret=simple) != make_run(5, simple_regret=simple[::-1])
    limit = Limit(3, 0.1, 1 / 3)
    assert run != make_run(5, limit=limit) == make_run(5, limit=limit)
    assert make_run(5, limit=limit) != make_run(5, limit=limit._replace(without_group=1 / 3))
    assert pickle.loads(pickle.dumps(make_run(5, limit=limit))).limit == limit
    played = make_run(5, plays=[[1.0, 2.0], [3.0, 4.0]])
    assert played == make_run(5, plays=np.array([[1, 2], [3, 4]]))
    for other in ([[1.0, 2.0], [4.0, 3.0]], [[1.0, 2.0, 3.0, 4.0]], [[1.0], [2.0], [3.0], [4.0]], np.empty((0, 2))):
        assert played != make_run(5, plays=other)
    assert pickle.loads(pickle.dumps(played)) == played
    assert run != "run"
    with pytest.raises(ValueError, match="read-only"):
        run.regret[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        played.plays[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        make_run(6).simple_regret[0] = 0.0


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"key": "0" * 64}, "`key` must be run_key"),
        ({"problem": ""}, "`problem`"),
        ({"agent": "\ud800"}, "`agent`"),
        ({"agent": 3}, "`agent`"),
        ({"horizon": 0}, "`horizon >= 1`"),
        ({"horizon": 2**63}, r"`horizon <= 9,223,372,036,854,775,807`"),
        ({"seed": -1}, "`seed >= 0`"),
        ({"seed": 2**63}, r"`seed <= 9,223,372,036,854,775,807`"),
        ({"seed": True}, "`seed`"),
        ({"checkpoints": [], "regret": []}, "at least one"),
        ({"checkpoints": [1, 3, 3], "regret": [0, 1, 2]}, "increase"),
        ({"checkpoints": [0, 3], "regret": [0, 1]}, "at least 1"),
        ({"checkpoints": [1, 10**6], "regret": [0, 1]}, "at most the horizon"),
        ({"checkpoints": [1.0, 3.0], "regret": [0, 1]}, "integer"),
        ({"checkpoints": [[1, 3]], "regret": [[0, 1]]}, "list"),
        ({"regret": [1.0]}, "one value for each"),
        ({"checkpoints": [1], "regret": [np.nan]}, "`regret` must be finite"),
        ({"simple_regret": [1.0]}, "`simple_regret` must have one value for each"),
        ({"checkpoints": [1], "regret": [1.0], "simple_regret": [np.inf]}, "`simple_regret` must be finite"),
        ({"limit": (3, 0.1, 1.0, None)}, "`limit` must be a Limit"),
        ({"limit": Limit(0, 0.1, 1.0)}, "`arms >= 1`"),
        ({"limit": Limit(3, -0.1, 1.0)}, "`loss >= 0`"),
        ({"limit": Limit(3, 0.1, np.inf)}, "`constant` must be finite"),
        ({"limit": Limit(3, 0.1, 1.0, np.nan)}, "`without_group` must be finite"),
        ({"seconds": -1.0}, "`seconds >= 0`"),
        ({"seconds": np.inf}, "`seconds` must be finite"),
        ({"plays": [[0.0, np.nan]]}, "`plays` must be finite"),
        ({"plays": [0.0, 1.0]}, r"`plays` must have shape \(m, d\)"),
        ({"plays": np.empty((2, 0))}, r"`plays` must have shape \(m, d\)"),
        ({"plays": np.zeros((1001, 2))}, "at most one for each of 1000 rounds"),
        ({"plays": "here"}, "`plays` must be real numbers"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(changes, match):
    with pytest.raises(OrbanditError, match=match):
        make_run(1, **changes)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"plays": struct.pack("<2d", 0.0, np.inf), "dim": 2}, "`plays` must be finite"),
        ({"plays": struct.pack("<3d", 1.0, 2.0, 3.0), "dim": 2}, "reshape"),
        ({"plays": struct.pack("<2d", 0.0, 0.0), "dim": 0}, "reshape"),
        ({"plays": struct.pack("<2d", 0.0, 0.0), "dim": -1}, "`dim >= 0`"),
        ({"plays": b"123"}, "buffer size"),
        ({"dim": "two"}, "`dim` must be an integer"),
    ],
)
def test_a_row_whose_plays_make_no_sense_is_refused(changes, match):
    *names, _ = FIELDS.split(", ")
    row = dict(zip(names, make_run(6).row()[:-1], strict=True)) | changes
    with pytest.raises((ValueError, TypeError), match=match):
        FinishedRun.from_row((*row.values(), seal(row.values())))


def test_key_is_that_of_the_content():
    first = {"a": 1, "b": {"c": [1, 2], "d": None}, "e": "é"}
    assert run_key(first) == run_key({"e": "é", "b": {"d": None, "c": (1, 2)}, "a": 1})
    # As a shell gives it: printf '{"a":[1,0.1,true,null],"b":"\\u00e9"}' | sha256sum
    assert (
        run_key({"b": "é", "a": [1, 0.1, True, None]})
        == "2ef53a3316212700a292bd2f129f25b5b3f5a1f5a77b528cad102360e26292ee"
    )
    values = [1, 1.0, True, "1", [1], None, 0.0, -0.0, 0, False, "", [], {}, 0.1, np.nextafter(0.1, 1), {"1": 1}]
    keys = {run_key({"x": value}) for value in values}
    assert len(keys) == len(values)
    assert run_key({"x": np.float64(0.1)}) == run_key({"x": 0.1})


def test_what_json_does_not_know_is_refused_by_name():
    loop = []
    loop.append(loop)
    for value in (np.nan, np.inf, -np.inf):
        with pytest.raises(InputError, match=r"parameters\['a'\]\[1\]` must be finite"):
            run_key({"a": [0, value]})
    for value in (np.int64(1), np.array([1.0]), {1, 2}, b"x", 1j, object()):
        with pytest.raises(InputTypeError, match=r"parameters\['a'\]\['b'\]`.*" + type(value).__name__):
            run_key({"a": {"b": value}})
    with pytest.raises(InputTypeError, match="strings as keys"):
        run_key({"a": {1: 2}})
    with pytest.raises(InputTypeError, match="dictionary"):
        run_key([1])
    for value in (loop, 10**5000):
        with pytest.raises(InputError, match="writable as JSON"):
            run_key({"a": value})
