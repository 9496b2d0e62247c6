"""The picture of regret: a curve and a bar for each agent, and files of the kind asked for."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, InputTypeError
from orbandit.experiments.simulation import Runs


def runs(slope):
    checkpoints = np.array([1, 10, 100])
    return Runs(np.array([slope * checkpoints, 2.0 * slope * checkpoints]), checkpoints, 1e-6, "Agent")


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("new/b.svg", b"<?xml")])
def test_it_is_saved(tmp_path, name, start):
    ob.reports.regret_picture({"with": runs(1.0), "without": runs(2.0)}, tmp_path / name, "A title")
    written = (tmp_path / name).read_bytes()
    assert written.startswith(start)
    assert len(written) > 10_000


def test_nothing_to_draw_is_refused(tmp_path):
    with pytest.raises(InputError, match="empty"):
        ob.reports.regret_picture({}, tmp_path / "a.png", "A title")
    with pytest.raises(InputTypeError, match="runs"):
        ob.reports.regret_picture({"a": 3}, tmp_path / "a.png", "A title")
    with pytest.raises(InputError, match="must end in"):
        ob.reports.regret_picture({"a": runs(1.0)}, tmp_path / "new" / "a.foo", "A title")
    assert not list(tmp_path.iterdir())
