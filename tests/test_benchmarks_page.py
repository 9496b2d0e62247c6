"""The page of benchmarks says what the files of results say."""

import importlib
import re
from dataclasses import replace

import pytest
from benchmarks_page import PAGE, ROOT, markdown, page


def test_the_page_is_what_the_commands_print():
    pictures = sorted((ROOT / "docs" / "images").glob("*.png"))
    before = [(picture.read_bytes(), picture.stat().st_mtime_ns) for picture in pictures]
    assert PAGE.read_text() == page(), "run `python scripts/benchmarks_page.py`"
    after = [(picture.read_bytes(), picture.stat().st_mtime_ns) for picture in pictures]
    assert after == before, "a picture is drawn only where `--picture` asks for it"


def test_no_section_is_empty():
    """Where orbandit was not run there is no table of others only."""
    assert not re.search(r"geometric means over problems\*\*\s+(\*\*|#|$)", PAGE.read_text())


def test_figures_lose_what_they_are_held_against():
    text = "12 problems, geometric means\n  group over without; 3 seeds      0.5   at most 0.6\n"
    assert markdown(text) == (
        "**12 problems, geometric means**\n\n| figure | value |\n| --- | --- |\n| group over without; 3 seeds | 0.5 |\n"
    )


@pytest.mark.parametrize("picture", re.findall(r"\]\((\.\./images/\S+)\)", PAGE.read_text()))
def test_the_pictures_are_there(picture):
    assert (PAGE.parent / picture).is_file()


@pytest.fixture
def paper(monkeypatch):
    """The benchmark on the paper's settings."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("paper")


def test_new_rows_of_the_papers_settings_erase_no_others(paper, tmp_path):
    first = paper.Row("cube", 1000, "HCT", 10, 3.0, 4.0, [0.75, 0.7, 0.8], 0.1, 0.2)
    later = replace(first, horizon=100_000)
    paper.keep([first, later], tmp_path / "rows.jsonl")
    paper.keep([replace(later, seeds=3)], tmp_path / "rows.jsonl")
    assert list(paper.read_lines(paper.Row, tmp_path / "rows.jsonl")) == [first, replace(later, seeds=3)]


def test_the_papers_settings_are_compared_with_the_best_new_algorithm(paper):
    one = paper.Row("cube", 1000, "HCT", 10, 30.0, 40.0, [0.75, 0.7, 0.8], 0.1, 0.2)
    rows = [one, replace(one, agent="OrbitTree", told=12.0), replace(one, agent="HOO", told=1.0)]
    assert paper.over_best(rows, "cube", 1000) == "0.40 (HCT)"
    assert paper.helped([one, replace(one, problem="disk", ratio=[0.9, 0.8, 1.1])], "HCT", 1000) == "1 of 2"
    assert dict(paper.missing(rows))[10_000] == "all agents"
