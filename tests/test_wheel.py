"""What people install: the wheel, in an environment with what it requires and nothing else."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def required_by(dist, extras, *, seen=None):
    """Return the installed distributions that a distribution with extras requires, theirs too."""
    seen = {} if seen is None else seen
    for requirement in map(Requirement, dist.requires or []):
        marker, kinds = requirement.marker, ({"extra": extra} for extra in ("", *extras))
        if marker is not None and not any(map(marker.evaluate, kinds)):
            continue
        key = (requirement.name.lower(), frozenset(requirement.extras))
        if key not in seen:
            seen[key] = found = distribution(requirement.name)
            assert requirement.specifier.contains(found.version, prereleases=True), requirement
            required_by(found, requirement.extras, seen=seen)
    return seen


def link(dist, folder):
    """Put links to the files of a distribution into a folder, as if it was installed there."""
    for name in {file.parts[0] for file in dist.files} - {"..", "__pycache__"}:
        target = folder / name
        if not target.exists():
            target.symlink_to(dist.locate_file(name))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    (wheel,) = built.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of an environment with the wheel and what its metadata requires."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*command, "install", *options, wheel], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (info,) = site.glob("orbandit-*.dist-info")
    hub = distribution("optunahub")
    needed = required_by(PathDistribution(info), {"report", "optuna"})
    for dist in [hub, *required_by(hub, (), seen=needed).values()]:
        link(dist, site)
    return python


def run(command, folder):
    """Run a command in a folder, without what points Python elsewhere, and return what it prints.

    Kernels run as plain Python: to compile those of the demo would take half a minute.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    kept |= {"NUMBA_DISABLE_JIT": "1", "MPLBACKEND": "agg"}
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_the_package_and_its_data_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    files = [path.relative_to(source) for path in source.rglob("*") if path.is_file()]
    expected = {path.as_posix() for path in files if "__pycache__" not in path.parts}
    assert {name for name in names if ".dist-info/" not in name} == expected
    for data in ("py.typed", "experiments/demo.toml", "reports/page/page.html"):
        assert f"orbandit/{data}" in names


def test_the_source_distribution_has_what_the_makefile_needs(built):
    (file,) = built.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    used = set(re.findall(r"(?<![\w/)])[\w-]+(?:/[\w-]+)*\.(?:py|sh|toml|txt|yml)\b", makefile))
    assert {"pyproject.toml", "constraints.txt", "tests/install_chromium.sh"} <= used
    assert used <= names
    for name in ("Makefile", "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE"):
        assert name in names


def test_the_environment_has_the_wheel_and_what_it_requires(python, tmp_path):
    code = """
import importlib.util, orbandit
print(orbandit.__file__)
for name in ("pytest", "hypothesis", "pandas", "hatchling"):
    assert importlib.util.find_spec(name) is None, name
"""
    assert run([python, "-c", code], tmp_path).startswith(os.fspath(python.parents[1]))


def test_the_demo_runs_from_the_wheel(python, tmp_path):
    printed = run([python.with_name("orbandit"), "demo", "--quick", "--jobs", "1"], tmp_path)
    assert "report: out/demo_quick.html" in printed
    page = (tmp_path / "out" / "demo_quick.html").read_text(encoding="utf-8")
    assert "What the symmetry is worth" in page


STUDY = """
import optuna, optunahub

module = optunahub.load_local_module("samplers/orbit_sampler", registry_root="package")
study = optuna.create_study(sampler=module.OrbitSampler(exchangeable=["a", "b"], seed=0))
study.optimize(lambda trial: sum(trial.suggest_float(name, 0, 1) for name in "ab"), n_trials=10)
print(module.__name__, sum(trial.value is not None for trial in study.trials))
"""


def test_the_optunahub_package_is_made_from_the_wheel_and_works(python, tmp_path):
    run([python, ROOT / "scripts" / "optunahub_package.py", tmp_path], tmp_path)
    name, n_values = run([python, "-c", STUDY], tmp_path).split()
    assert name == "optunahub_registry.package.samplers.orbit_sampler"
    assert n_values == "10"
