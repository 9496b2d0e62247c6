"""Errors carry what they know as data: the field, its value, the line; no text is read for it."""

import pickle

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, Mistake, OrbanditError, SpecError
from orbandit.experiments import registry, spec
from orbandit.experiments.schema import check

SQUARE = ob.spaces.Box(0.0, 1.0, dim=2)


@pytest.mark.parametrize(
    ("attempt", "field", "value"),
    [
        (lambda: ob.spaces.Ball("two"), "dim", "two"),
        (lambda: ob.spaces.Ball(0), "dim", 0),
        (lambda: ob.spaces.Ball(10**9), "dim", 10**9),
        (lambda: ob.spaces.Ball(2, radius=-1.0), "radius", -1.0),
        (lambda: ob.spaces.Ball(2, center=[0.0]), "center", [0.0]),
        (lambda: ob.spaces.Box(1.0, 0.0, dim=2), "low", 1.0),
        (lambda: ob.spaces.Polytope.regular("cub"), "name", "cub"),
        (lambda: ob.groups.Coxeter("E9"), "name", "E9"),
        (lambda: ob.groups.Joint(ob.groups.Symmetric(2), 3), "b", 3),
        (lambda: ob.problems.Cone(SQUARE, None, peak=[np.nan, 0.0]), "peak", [np.nan, 0.0]),
        (lambda: ob.problems.Cone(SQUARE, None, peak=[2.0, 0.0]), "peak", [2.0, 0.0]),
        (lambda: ob.problems.Cone(SQUARE, None, peak=[0.5, 0.0], height=3.0), "height", 3.0),
        (lambda: ob.problems.WindFarm(2, rose="north"), "rose", "north"),
        (lambda: ob.agents.UniformMesh(SQUARE, reward_range=(1.0, 0.0)), "reward_range", (1.0, 0.0)),
        (lambda: ob.agents.UniformMesh(SQUARE, mesh="fulll"), "mesh", "fulll"),
    ],
)
def test_errors_of_arguments_have_their_field_and_value(attempt, field, value):
    with pytest.raises(OrbanditError) as caught:
        attempt()
    assert caught.value.field == field
    np.testing.assert_array_equal(caught.value.value, value)


def test_a_group_that_does_not_fit_is_the_field_at_fault():
    for group in (ob.groups.SignFlips(2), ob.groups.Symmetric(3), 3):
        with pytest.raises(OrbanditError) as caught:
            ob.problems.Cone(SQUARE, group, peak=[0.5, 0.5])
        assert (caught.value.field, caught.value.value) == ("group", group)


def test_errors_survive_the_way_between_processes():
    error = pickle.loads(pickle.dumps(InputError("`dim >= 1` must hold.", field="dim", value=0)))
    assert (str(error), error.field, error.value) == ("`dim >= 1` must hold.", "dim", 0)
    mistakes = (Mistake(("seeds",), "too few", 7), Mistake(("horizons",), "too\nlong", 3), Mistake((), "too old", 3))
    error = pickle.loads(pickle.dumps(SpecError(mistakes, "x.toml")))
    assert (error.mistakes, error.file) == (mistakes, "x.toml")
    assert str(error) == "x.toml, line 3: too long\nx.toml, line 3: too old\nx.toml, line 7: too few"
    assert str(SpecError([Mistake(("b",), "second"), Mistake(("a",), "first")])) == "second\nfirst"


def test_mistakes_of_a_file_have_their_lines(tmp_path):
    file = tmp_path / "file.toml"
    file.write_text(
        'horizons = [\n0]\n[[problem]]\nclass = "Ackley"\nspace = { class = "Ball", dim = 2 }\nwidth = -1\n'
    )
    with pytest.raises(SpecError) as caught:
        spec.read(file)
    assert caught.value.file == file
    assert [(one.path, one.line) for one in caught.value.mistakes] == [
        (("horizons", 0), 2),
        (("agent",), 1),
        (("problem", 0, "width"), 6),
    ]


def test_a_key_is_blamed_by_data_and_not_by_what_a_text_quotes():
    table = {"space": 1, "group": 2}
    text = "`space` and `group` do not fit"
    assert registry.blamed(InputError(text, field="group"), table, ("problem", 0)) == ("problem", 0, "group")
    assert registry.blamed(InputError(text, field="peak"), table, ("problem", 0)) == ("problem", 0)
    assert registry.blamed(InputError(text), table, ("problem", 0)) == ("problem", 0)
    assert registry.blamed(ValueError(text), table, ("problem", 0)) == ("problem", 0)


VALUES = [None, True, -1, 0, 10**30, 2.5, float("nan"), float("inf"), "", "x", [], [""], [0], [1, 1], [True], {}, [{}]]
"""What a key of a file may be."""


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_all_that_the_schema_refuses_is_told(value):
    good = {"horizons": [10], "problem": [{"class": "Cone"}], "agent": [{"class": "HOO"}]}
    assert check(good)[1] == []
    for key in ("name", "horizons", "seeds", "checkpoints", "timeout", "problem", "agent", "other"):
        checked, mistakes = check({**good, key: value})
        assert (checked is None) == bool(mistakes)
        assert all(one.path[0] == key and one.text.endswith(".") for one in mistakes)
    for key in ("class", "name"):
        checked, mistakes = check({**good, "problem": [{"class": "Cone", key: value}]})
        assert (checked is None) == bool(mistakes) == (value != "x")
        assert all(one.path == ("problem", 0, key) for one in mistakes)
