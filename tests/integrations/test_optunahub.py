"""The package for the OptunaHub registry: made by a script from the same code, complete, and it works."""

import re
import runpy
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import optuna
import optunahub
import pytest
import yaml
from packaging.requirements import Requirement

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


@pytest.fixture(scope="module")
def module(place):
    """The package, imported by the hub's own function."""
    root = str(place.parents[1])
    return optunahub.load_local_module("samplers/orbit_sampler", registry_root=root)


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
    assert not re.search(r"</?[a-z]+>", text)  # HTML is not allowed
    for part in ("## Abstract", "## APIs", "## Installation", "## Example", "`exchangeable`: list, optional."):
        assert part in text


def test_it_requires_the_version_that_it_was_made_from(place):
    requirement = Requirement((place / "requirements.txt").read_text().strip())
    assert (requirement.name, requirement.extras) == ("orbandit", {"optuna"})
    assert str(requirement.specifier) == f">={version('orbandit')}"


def test_the_code_is_the_same_and_works(place, module):
    assert module.OrbitSampler is not OrbitSampler
    for path in place.glob("*.py"):
        assert "orbandit.integrations.optuna" not in re.sub(r'""".*?"""', "", path.read_text(), flags=re.DOTALL)
    studies = [
        optuna.create_study(sampler=kind(exchangeable=["a", "b"], seed=0))
        for kind in (OrbitSampler, module.OrbitSampler)
    ]
    for study in studies:
        study.optimize(lambda trial: trial.suggest_float("a", 0, 1) * trial.suggest_float("b", 0, 1), n_trials=20)
    assert [trial.params for trial in studies[0].trials] == [trial.params for trial in studies[1].trials]


def test_the_example_runs(place, module, monkeypatch, capsys):
    loaded = []
    hub = SimpleNamespace(load_module=lambda name: loaded.append(name) or module)
    monkeypatch.setitem(sys.modules, "optunahub", hub)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    runpy.run_path(str(place / "example.py"), run_name="__main__")
    assert loaded == ["samplers/orbit_sampler"]
    assert float(capsys.readouterr().out.split()[0]) < 0.05
