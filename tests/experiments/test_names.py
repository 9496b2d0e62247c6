"""What orbandit.experiments offers, and that reading files costs nothing to those who do not."""

import subprocess
import sys

import pytest

import orbandit as ob


@pytest.mark.parametrize("first", ["import orbandit.experiments.run", "from orbandit.experiments import simulate", ""])
def test_experiments_are_read_and_run_without_a_cost_to_others(first):
    code = f"{first}\nimport sys, types, orbandit as ob\nob.experiments\n"
    code += "assert 'pydantic' not in sys.modules\nfrom orbandit.experiments.run import missing\n"
    code += "assert isinstance(ob.experiments.run, types.FunctionType)\n"
    code += "assert isinstance(ob.experiments.read, types.FunctionType)\nassert 'pydantic' in sys.modules\n"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_names_are_there():
    assert set(ob.experiments.__all__) <= set(dir(ob.experiments))
    for name in ob.experiments.__all__:
        assert getattr(ob.experiments, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'reed'"):
        ob.experiments.reed  # noqa: B018
