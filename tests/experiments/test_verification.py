"""The verification: all parts of the paper, verdicts that can be otherwise, a table, and an exit code."""

import numpy as np
import pytest

import orbandit as ob
from orbandit.cli import main
from orbandit.experiments.verification import Line, Step, Verdict, Verification, geometry, regret, run, slips
from orbandit.experiments.verification.regret import _Slope, _slope


def test_the_quick_run_measures_every_part_and_nothing_fails(tmp_path, capsys):
    table = tmp_path / "new" / "table.md"
    assert main(["verify", "--quick", "--out", str(table)]) == 0
    printed, written = capsys.readouterr().out, table.read_text()
    rows = [row for row in written.splitlines() if row.startswith("| ")][2:]
    assert {row.split(" | ")[0].strip("| ") for row in rows} == set("abcdefgh")
    assert "FAIL" not in written
    assert all(f"slip {number}:" in written for number in range(1, 13))
    for words in ("order 120", "vacuous", "Lemma 6", "interval, flips, n = 1,000,000", "slope -0.250", "slope 0.667"):
        assert words in written
        assert words in printed
    # At d = 1 and a million rounds, Lemma 6 says something.
    (line,) = [row for row in rows if "Lemma 6 on a cone, interval, flips, n = 1,000,000" in row]
    assert line.endswith("| pass |")
    assert f"table: {table}" in printed


def test_a_slope_is_fitted_with_its_error():
    horizons = (1000, 10_000, 100_000)
    logs = np.log(horizons)
    losses = [(n**0.75 * np.array([0.9, 1.0, 1.1]), n**0.75 * 2) for n in horizons]
    slope = _slope(logs, losses, np.zeros(3))
    assert slope.value == pytest.approx(0.75)
    assert slope.error == pytest.approx(np.sqrt(2) * (0.1 / np.sqrt(3)) / (logs[2] - logs[0]))
    np.testing.assert_allclose(slope.shares, 0.5)
    assert slope.verdict(0.75, rival=1.0) is Verdict.PASS
    assert slope.verdict(0.5, rival=1.0) is Verdict.FAIL


def test_what_is_not_measured_stays_open():
    unlearnt = _Slope(0.75, 0.01, np.array([0.95, 0.99]))
    noisy = _Slope(0.75, 0.2, np.array([0.4, 0.5]))
    for slope in (unlearnt, noisy):
        assert slope.verdict(0.75, rival=1.0) is Verdict.OPEN
    assert "not found" in unlearnt.words()


def test_lemma_1_fails_where_the_group_is_not_used(monkeypatch):
    setting = geometry.settings()[1]
    (true,) = geometry.covering_lines(setting, (0.2, 0.1, 0.05))
    assert true.verdict is Verdict.PASS
    (coarse,) = geometry.covering_lines(setting, (0.4, 0.2))
    assert coarse.verdict is Verdict.OPEN
    monkeypatch.setattr(geometry, "quotient_net", lambda space, group, delta: ob.meshes.net(space, delta))
    for each in geometry.settings():
        (false,) = geometry.covering_lines(each, (0.2, 0.1))
        assert false.verdict is Verdict.FAIL


def test_a_line_that_fails_fails_the_whole(monkeypatch, tmp_path, capsys):
    line = Line("a", "a claim", "x < 1", "x = 2", Verdict.FAIL)
    seen = []
    monkeypatch.setattr(geometry, "steps", lambda quick: [Step("one", 1.0, lambda: iter([line]))])
    monkeypatch.setattr(regret, "steps", lambda quick: [])
    monkeypatch.setattr(slips, "steps", lambda quick: [Step("two", 3.0, lambda: iter([]))])
    result = run.verify(progress=lambda title, share: seen.append((title, share)))
    assert seen == [("one", 0.0), ("two", 0.25), ("done", 1.0)]
    assert not result
    assert "1 FAIL" in result.summary()
    assert main(["verify", "--out", str(tmp_path / "table.md")]) == 1
    assert "FAIL    (a) a claim" in capsys.readouterr().out
    assert main(["verify", "--out", str(tmp_path)]) == 1
    assert "FAIL" not in capsys.readouterr().out  # refused before anything was measured
    assert "| a | a claim | x < 1 | x = 2 | FAIL |" in (tmp_path / "table.md").read_text()


def test_bars_in_cells_are_escaped():
    table = Verification((Line("b", "|net|", "c", "d", Verdict.OPEN),), 1.0, True).markdown()
    assert "\\|net\\|" in table
    assert bool(ob.experiments.Verification((), 0.0, False))
