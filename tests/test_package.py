"""The package as a whole: what importing it costs, what it exports, its command and its examples."""

import ast
import dataclasses
import importlib
import inspect
import itertools
import os
import re
import runpy
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import FunctionType, MethodType

import pytest

import orbandit as ob
from orbandit.cli import main
from orbandit.experiments.compiled import Shared, Simulable
from orbandit.experiments.spec import read
from orbandit.history import History

SHOWN = {  # what each example must print
    "candidates_per_orbit.py": ["candidates: ", "relabelled [0.7 0.9 0.1 0.2]", "one measurement informs"],
    "check_a_claim.py": [
        "three new pumps: no asymmetry found (",
        "1 of 2 generators fail",
        "swaps coordinates 1 and 2",
        "measurements: 1.5",
    ],
    "concepts.py": ["nets.png", "Cyclic(3): least eigenvalue of the max kernel on 200 points -0.24"],
    "dictionary_learning.py": ["the best two atoms explain 83.9% of the patches", "ratio: 0.", "picture: "],
    "eight_turbines.py": [
        "best layout known: 0.962",
        "  with the group      without it\n         20     0 ",
        "picture: ",
    ],
    "five_sensors.py": ["best known 81.7", "         40     0 ", "pictures: "],
    "floris_farm.py": ["the group has order 240", "seed 0, approximate "],
    "four_workers.py": [
        "after 20 runs: speeds [",
        "litres a second",
        " runs gave a value, ",
        "of random speeds 43% crash",
    ],
    "identical_machines.py": ["reward 0.489; all equal: 0.370", "ratio: 0.", "picture: "],
    "instance_limit.py": ["   125      35         446.7   383.0         83.3   4.60"],
    "late_answers.py": ["after shift 2: <OrbitTree", "2400 rounds told", "recommended [0.19, 0.5, 0.8]"],
    "matrix_factorization.py": ["O(2):", "blind:", "1.00 of blind", "picture: "],
    "nevergrad_machines.py": ["exchangeable: recommends ", "blind: recommends ", "(optimum 0.489)"],
    "optuna_machines.py": ["exchangeable: recommends ", "by Optuna, of 100 trials", "blind: recommends "],
    "orbits.py": ["696,729,600  8 ", "inf          curved ", "(-0.4, -0.7, 1)       (-0.7, -0.4, 1)", "picture: "],
    "own_problem.py": [
        "lipschitz = 0.400: slope 0.46188",
        "steeper than",
        "lipschitz = 0.462: as claimed",
        "<Runs of OrbitTree",
    ],
    "points_in_space.py": ["has order inf", "same representatives: True", "four points, with the group: 1.6"],
    "site_layout.py": ["    8 evaluations, seed 0, with the symmetry ", "picture: "],
    "symmetry_pictures.py": [
        "check: swaps coordinates 2 and 3 fails",
        "find: Product(Symmetric(3), Trivial(1))",
        "exact: true mean 0.85",
        "approximate: true mean 1.00",
        "picture: out/symmetry_approximate.png",
    ],
    "tune_a_simulator.py": ["out of licences; 59 measurements kept", "average of all 120 measurements"],
    "with_and_without.py": ["knowing D5: <Runs of UniformMesh: 8 seeds", "ratio: 0.6"],
    "wind_farm.py": ["best layout 0.9873", "ratio: 0.", "pictures: "],
    "wind_farm_symmetry.py": ["1,290,240 elements", "orbit distance     0.0 m", "same representative: True"],
}

FEWER = {"eight_turbines.py": ["--budget=20"], "site_layout.py": ["--budget=8"]}
"""Arguments with which an example shows in less time what is to be shown."""

LONG = {"dictionary_learning.py": 4, "identical_machines.py": 4, "matrix_factorization.py": 4, "wind_farm.py": 2}
"""Examples that show with so many times fewer rounds what is to be shown."""

ROOT = Path(__file__).parents[1]

PUBLIC_PACKAGES = [
    "agents",
    "errors",
    "experiments",
    "groups",
    "meshes",
    "problems",
    "reports",
    "spaces",
    "symmetry",
    "theory",
    "integrations.nevergrad",
    "integrations.optuna",
]


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_loads_one_module():
    code = "import importlib, sys, typing; old = set(sys.modules); import orbandit; print(*set(sys.modules) - old)"
    assert run(code).split() == ["orbandit"]


def test_folding_with_numpy_alone_loads_neither_numba_nor_scipy():
    code = "import orbandit as ob, sys; ob.groups.Symmetric(3).fold([3, 1, 2]); ob.spaces.Ball(2).sample(3, 0);"
    assert run(code + "print('numba' in sys.modules, 'scipy' in sys.modules)").split() == ["False", "False"]


def test_public_names():
    assert set(ob.__all__) <= set(dir(ob))
    for name in ob.__all__:
        assert getattr(ob, name) is not None
    assert ob.check_symmetry is ob.groups.check_symmetry
    assert ob.optimize.History is History
    assert ob.__version__ == version("orbandit")
    with pytest.raises(AttributeError, match="no attribute 'grups'"):
        _ = ob.grups
    for module in (ob.spaces, ob.groups, ob.errors, ob.reports):
        for name in module.__all__:
            assert hasattr(module, name)


def public_objects():
    """Yield the name of every public class, function and method, and the object."""
    packages = [ob, *(importlib.import_module(f"orbandit.{name}") for name in PUBLIC_PACKAGES)]
    found = {f"{package.__name__}.{name}": getattr(package, name) for package in packages for name in package.__all__}
    for name, made in {**found, "Best": ob.optimize.Best, "History": ob.optimize.History}.items():
        if callable(made):
            yield name, made
        for key in vars(made) if inspect.isclass(made) else ():
            is_new = not any(hasattr(base, key) for base in made.__mro__[1:])
            is_public = not key.startswith("_") and not hasattr(Simulable, key) and not hasattr(Shared, key)
            if is_new and is_public and isinstance(method := getattr(made, key), FunctionType | MethodType):
                yield f"{name}.{key}", method


def documented(doc, title):
    """Return the lines of a section in numpydoc's form, and the names that it documents."""
    _, _, after = doc.partition(f"\n{title}\n{'-' * len(title)}\n")
    lines = list(itertools.takewhile(lambda line: not re.fullmatch("-{3,}", line), after.splitlines()))
    heads = [line.split(" : ")[0] for line in lines if line and not line[0].isspace()]
    return lines, {name.strip(" *") for head in heads for name in head.split(",")}


def test_every_parameter_is_documented_where_it_stands():
    missing, borrowed = {}, {}
    for name, made in public_objects():
        is_record = dataclasses.is_dataclass(made) or hasattr(made, "_fields")
        is_own = not inspect.isclass(made) or is_record or {"__init__", "__new__"} & vars(made).keys()
        lines, known = documented(inspect.getdoc(made) or "", "Parameters")
        if is_record:  # made by the package: its fields are attributes
            known |= documented(inspect.getdoc(made), "Attributes")[1]
        given = inspect.signature(made).parameters if is_own else ()
        if unknown := {key for key in given if not key.startswith("_")} - known - {"self", "args", "kwargs"}:
            missing[name] = unknown
        if found := [line for line in lines if re.search(r"\bas (for|in) `", line, re.IGNORECASE)]:
            borrowed[name] = found
    assert missing == {}
    assert borrowed == {}


def private_names(path):
    """Return the private names that a file defines, and those it takes of objects other than self."""
    tree, defined, taken = ast.parse(path.read_text(encoding="utf-8")), set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                defined.add(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                defined.add(name)
            case ast.Attribute(attr=name) if name.startswith("_") and not name.startswith("__"):
                taken.add(name)
    return defined, taken


def test_what_one_package_asks_of_another_is_public():
    # of named tuples, of os
    source, kept = ROOT / "src" / "orbandit", {"_asdict", "_replace", "_exit"}
    packages = {path.relative_to(source).parts[0] for path in source.rglob("*.py")}
    for package in packages:
        files = [source / package] if package.endswith(".py") else (source / package).rglob("*.py")
        defined, taken = (set().union(*names) for names in zip(*map(private_names, files), strict=True))
        assert taken <= defined | kept, package


def test_errors_are_catchable_by_kind():
    assert issubclass(ob.errors.OrbanditWarning, UserWarning)
    for name in set(ob.errors.__all__) - {"OrbanditError", "OrbanditWarning"}:
        kind = getattr(ob.errors, name)
        assert issubclass(kind, ob.errors.OrbanditError)
        assert issubclass(kind, ValueError | TypeError | ImportError | RuntimeError)


def test_the_demo_is_the_main_job():
    demo = read(ROOT / "src" / "orbandit" / "experiments" / "demo.toml")
    spaces = [(problem.table["space"]["class"], problem.table["group"]["class"]) for problem in demo.problems]
    assert spaces == [("Box", "Symmetric"), ("Ball", "Dihedral"), ("Polytope.regular", "Coxeter")]
    played = {(agent.class_name, agent.name.uses_group) for agent in demo.agents}
    names = ("UniformMesh", "UniformMeshN", "Zooming", "HOO", "OrbitTree")
    assert played == {(name, use_group) for name in names for use_group in (True, False)}


def test_the_demo_ends_with_a_table_and_a_page(tmp_path, capsys):
    """With few and short runs; `make demo` plays all of them."""
    out = tmp_path / "new"
    assert main(["demo", "--quick", "--out", str(out), "--jobs", "1"]) == 0
    printed = capsys.readouterr().out
    assert "icosahedron under H3: regret after 60 rounds" in printed
    assert printed.count("OrbitTree") >= 3
    assert f"report: {out / 'demo_quick.html'}" in printed
    assert "What the symmetry is worth" in (out / "demo_quick.html").read_text(encoding="utf-8")
    # a second time, there is nothing left to play
    assert main(["demo", "--quick", "--out", str(out)]) == 0
    assert "nothing left to play: 60 of 60 runs" in capsys.readouterr().out


def test_the_command_reports_its_version_and_its_troubles(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"orbandit {ob.__version__}\n"
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    (tmp_path / "file").write_text("in the way")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 1
    assert "orbandit: " in capsys.readouterr().err


def test_a_reader_that_leaves_early_is_no_trouble():
    command = f"{sys.executable} -m orbandit list | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_the_module_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "orbandit", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("orbandit ")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(path, capsys, monkeypatch, tmp_path):
    if path.name == "floris_farm.py":
        pytest.importorskip("floris", reason="FLORIS is not installed: install orbandit with the extra `floris`")
    simulate = ob.simulate

    def shorter(agent, problem, horizon, seeds, **how):
        return simulate(agent, problem, horizon // LONG[path.name], seeds=2, **how)

    if path.name in LONG:
        monkeypatch.setattr(ob, "simulate", shorter)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [os.fspath(path), *FEWER.get(path.name, [])])
    runpy.run_path(os.fspath(path), run_name="__main__")
    printed = capsys.readouterr().out
    for line in SHOWN[path.name]:
        assert line in printed


PLANNED = {  # what each example of an experiment would play
    "cone.toml": ["Cone: OrbitTree without group; horizons 300, 3,000; 8 seeds", "64 runs, 105,600 rounds"],
    "paper.toml": [
        "cube under S_3: OrbitGP without group; horizons 1,000; 10 seeds",
        "random cone under S_4: OrbitTree; horizons 1,000, 10,000, 100,000, 1,000,000; 10 seeds",
    ],
    "own_problem.toml": [
        "exchangeable pumps: OrbitGP(acquisition=thompson); horizons 60; 4 seeds",
        "12 runs, 720 rounds",
    ],
    "wind_farm.toml": ["WindFarm: OrbitTree without group; horizons 2,000; 5 seeds", "10 runs, 20,000 rounds"],
}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.name)
def test_experiments_of_the_examples_can_be_run(path, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own_problem", raising=False)
    assert main(["run", os.fspath(path), "--out", os.fspath(tmp_path / "results.db"), "--dry-run"]) == 0
    printed = capsys.readouterr().out
    for line in PLANNED[path.name]:
        assert line in printed
    assert list(tmp_path.iterdir()) == []


def test_an_experiment_of_the_examples_shows_what_its_group_is_worth(capsys, tmp_path):
    out = tmp_path / "cone.db"
    assert main(["run", os.fspath(ROOT / "examples" / "cone.toml"), "--out", os.fspath(out), "--jobs", "1"]) == 0
    assert "played 64 runs; 64 of 64 runs are in" in capsys.readouterr().out
    longest = ob.reports.summarise(out).problems[0].longest
    assert {row.family for row in longest.worth()} == {"OrbitTree", "UniformMesh"}
    assert all(row.comparison.ratio.high < 1 for row in longest.worth())
