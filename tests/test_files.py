"""Files that are there whole or not at all."""

import os

import pytest

from orbandit._files import in_one_step


def test_a_file_is_there_at_the_end_and_not_before(tmp_path):
    target = tmp_path / "a.txt"
    for text in ("old", "new"):
        with in_one_step(target) as temporary:
            temporary.write_text(text)
            assert not target.exists() or target.read_text() == "old"
        assert target.read_text() == text
    assert os.listdir(tmp_path) == ["a.txt"]


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def fail():
        with in_one_step(target) as temporary:
            temporary.write_text("ne")
            raise RuntimeError("half")

    with pytest.raises(RuntimeError, match="half"):
        fail()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def refused(*_):
    raise PermissionError("no links here")


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_replaces_none(tmp_path, links, monkeypatch):
    if not links:
        monkeypatch.setattr(os, "link", refused)
    target = tmp_path / "a.txt"
    with in_one_step(target, replace=False) as temporary:
        temporary.write_text("first")
    assert target.read_text() == "first"
    with pytest.raises(FileExistsError, match=r"a\.txt"), in_one_step(target, replace=False):
        pytest.fail("a file that is there is refused first")
    target.unlink()

    def come_second():
        with in_one_step(target, replace=False) as temporary:
            temporary.write_text("second")
            target.write_text("made meanwhile")

    with pytest.raises(FileExistsError, match=r"a\.txt"):
        come_second()
    assert target.read_text() == "made meanwhile"
    assert os.listdir(tmp_path) == ["a.txt"]
