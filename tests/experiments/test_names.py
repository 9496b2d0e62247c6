"""What orbandit.experiments offers, and by which names."""

import inspect
import pickle
import pkgutil
import subprocess
import sys

import pytest

import orbandit as ob


def test_no_module_is_hidden_by_what_it_makes():
    for package in (ob.experiments, ob.reports):
        modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
        assert not modules & {name for name in package.__all__ if not inspect.ismodule(getattr(package, name))}


def test_pickles_of_0_1_0_load():
    runs = ob.simulate(ob.agents.OrbitTree, ob.problems.Cone(ob.spaces.Ball(2), None, [0.1, 0.2]), 10, seeds=1)
    text = pickle.dumps(runs, protocol=0).decode("latin-1")
    old = text.replace("orbandit.experiments.simulation", "orbandit.experiments.simulate").encode("latin-1")
    assert old != text.encode("latin-1")
    code = f"import pickle\nruns = pickle.loads({old!r})\nimport orbandit as ob\n"
    code += "assert type(runs) is ob.experiments.Runs\nassert callable(ob.experiments.simulate)\nprint(runs.name)"
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert answer.stdout == "OrbitTree\n"


def test_all_names_are_there():
    assert set(ob.experiments.__all__) <= set(dir(ob.experiments))
    for name in ob.experiments.__all__:
        assert getattr(ob.experiments, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'reed'"):
        ob.experiments.reed  # noqa: B018
