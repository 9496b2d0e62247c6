"""The gallery: every script draws its picture, and the page shows each with its command."""

import os
import re
import runpy
from pathlib import Path

import pytest

import orbandit as ob

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_script_draws_its_picture(path, capsys, monkeypatch, tmp_path):
    from matplotlib.image import imread

    simulate = ob.simulate

    def shorter(agent, problem, horizon, seeds, **how):
        return simulate(agent, problem, horizon // 10, seeds=min(2, seeds), **how)

    monkeypatch.setattr(ob, "simulate", shorter)  # a tenth of the rounds shows that it is drawn
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [os.fspath(path)])
    runpy.run_path(os.fspath(path), run_name="__main__")
    assert f"picture: out/gallery/{path.stem}.png" in capsys.readouterr().out
    pixels = imread(tmp_path / "out" / "gallery" / f"{path.stem}.png")
    assert min(pixels.shape[:2]) > 400
    assert (pixels[..., :3].min(axis=2) < 0.5).mean() > 0.005  # words, lines and dots


def test_the_page_shows_every_picture_with_its_command():
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
    assert {f"images/gallery/{path.stem}.png" for path in SCRIPTS} < set(shown)
    for picture in shown:
        assert (ROOT / "docs" / picture).stat().st_size < 200_000
    commands = re.findall(r"^python (\S+) .*\b(docs/\S+)$", PAGE, flags=re.MULTILINE)
    assert [f"docs/{picture}" for picture in shown] == [target for _, target in commands]
    for script, _ in commands:
        assert (ROOT / script).is_file()
