"""The page of benchmarks says what the files of results say."""

import re

import pytest
from benchmarks_page import PAGE, markdown, page


def test_the_page_is_what_the_commands_print():
    assert PAGE.read_text() == page(), "run `python scripts/benchmarks_page.py`"


def test_figures_lose_what_they_are_held_against():
    text = "12 problems, geometric means\n  group over without; 3 seeds      0.5   at most 0.6\n\npicture: here.png\n"
    assert markdown(text) == (
        "**12 problems, geometric means**\n\n| figure | value |\n| --- | --- |\n| group over without; 3 seeds | 0.5 |\n"
    )


@pytest.mark.parametrize("picture", re.findall(r"\]\((\.\./images/\S+)\)", PAGE.read_text()))
def test_the_pictures_are_there(picture):
    assert (PAGE.parent / picture).is_file()
