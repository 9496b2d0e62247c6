"""The notebook runs, and what it shows is stored with it."""

import base64
import copy
from pathlib import Path

import nbformat
from nbclient import NotebookClient

PATH = Path(__file__).parents[1] / "examples" / "getting_started.ipynb"


def outputs(notebook):
    """What each cell shows: the kind, and the formats it is shown in."""
    return [
        [(shown.output_type, sorted(shown.get("data", []))) for shown in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_it_runs_and_shows_its_picture_once(monkeypatch, tmp_path):
    stored = nbformat.read(PATH, as_version=4)
    nbformat.validate(stored)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    again = copy.deepcopy(stored)
    NotebookClient(again, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert outputs(again) == outputs(stored)
    *_, last = outputs(again)
    assert last == [("execute_result", ["image/png", "text/plain"])]
    picture = again.cells[-2].outputs[0].data["image/png"]
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    text = again.cells[-4].outputs[0].text
    low, high = (float(text.split(f"{word} ")[1].split(" ")[0]) for word in ("between", "and"))
    assert 90 < low < high < 100


def test_it_is_small():
    assert PATH.stat().st_size < 200_000
