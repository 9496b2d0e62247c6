"""The package for the OptunaHub registry: made by a script from the same code, complete, and it works."""

import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import optuna
import pytest
import yaml

from orbandit.integrations.optuna import OrbitSampler

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("registry")
    script = ROOT / "scripts" / "optunahub_package.py"
    done = subprocess.run([sys.executable, script, folder], check=True, capture_output=True, text=True)
    place = folder / "package" / "samplers" / "orbit_sampler"
    assert done.stdout.strip() == f"written: {place}"
    return place


@pytest.fixture
def module(place):
    """The package, imported as the hub does: from its folder, under a name of its own."""
    spec = importlib.util.spec_from_file_location(
        "hub_orbit_sampler", place / "__init__.py", submodule_search_locations=[str(place)]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["hub_orbit_sampler"] = module
    spec.loader.exec_module(module)
    yield module
    for name in [name for name in sys.modules if name.split(".")[0] == "hub_orbit_sampler"]:
        del sys.modules[name]


def test_the_layout_is_the_registrys(place):
    assert {path.name for path in place.iterdir()} >= {"README.md", "LICENSE", "example.py", "__init__.py"}
    assert (place / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    _, front, text = (place / "README.md").read_text().split("---\n", 2)
    fields = yaml.safe_load(front)
    assert set(fields) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert "sampler" in fields["tags"]
    assert fields["license"] == "MIT License"
    assert len(fields["optuna_versions"]) == 2
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in fields["optuna_versions"])
    for part in ("## Abstract", "## APIs", "## Installation", "## Example", "`exchangeable`: list, optional."):
        assert part in text


def test_the_code_is_the_same_and_works(place, module):
    assert module.OrbitSampler is not OrbitSampler
    for path in place.glob("*.py"):
        assert "orbandit.integrations.optuna" not in re.sub(r'""".*?"""', "", path.read_text(), flags=re.DOTALL)
    studies = [
        optuna.create_study(sampler=kind(exchangeable=["a", "b"], seed=0))
        for kind in (OrbitSampler, module.OrbitSampler)
    ]
    for study in studies:
        study.optimize(lambda trial: trial.suggest_float("a", 0, 1) * trial.suggest_float("b", 0, 1), n_trials=15)
    assert [trial.params for trial in studies[0].trials] == [trial.params for trial in studies[1].trials]


def test_the_example_runs(place, module, monkeypatch, capsys):
    loaded = []
    hub = SimpleNamespace(load_module=lambda name: loaded.append(name) or module)
    monkeypatch.setitem(sys.modules, "optunahub", hub)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    runpy.run_path(str(place / "example.py"), run_name="__main__")
    assert loaded == ["samplers/orbit_sampler"]
    assert float(capsys.readouterr().out.split()[0]) < 0.05
