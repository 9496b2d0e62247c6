"""Symmetry in the names of parameters, and coordinates in the unit cube."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import orbandit as ob
from orbandit.errors import InputError, InputTypeError
from orbandit.integrations.optuna.coordinates import Coordinates
from orbandit.integrations.optuna.symmetry import Symmetry

UNITS = [["x1", "y1"], ["x2", "y2"], ["x3", "y3"]]


def uniform(*names, low=0.0, high=1.0):
    return {name: FloatDistribution(low, high) for name in names}


def orbit(symmetry, plain=0, **values):
    """The orbit of a point of the unit cube, as a set of dictionaries of names."""
    point = [values[name] for name in symmetry.names]
    images = symmetry.group(plain).orbit(point)
    return {tuple(np.round(image, 6).tolist()) for image in images}


def test_units_are_swapped_whole():
    symmetry = Symmetry(exchangeable=UNITS)
    assert symmetry.names == ("x1", "y1", "x2", "y2", "x3", "y3")
    images = orbit(symmetry, x1=0.1, y1=0.2, x2=0.3, y2=0.4, x3=0.5, y3=0.6)
    assert len(images) == 6
    assert (0.5, 0.6, 0.3, 0.4, 0.1, 0.2) in images


@pytest.mark.parametrize("units", [["a", "b", "c"], [["a"], ["b"], ["c"]]])
def test_units_of_one_parameter_may_be_given_by_name(units):
    symmetry = Symmetry(exchangeable=units)
    assert symmetry.group(0).order == 6
    assert symmetry.names == ("a", "b", "c")


def test_several_kinds_of_units_are_swapped_each_among_themselves():
    symmetry = Symmetry(exchangeable=[[["x1", "y1"], ["x2", "y2"]], ["a", "b", "c"]])
    assert symmetry.group(0).order == 12
    assert symmetry.group(2).order == 12
    assert symmetry.group(2).dim == 9
    images = orbit(symmetry, x1=0.1, y1=0.2, x2=0.3, y2=0.4, a=0.5, b=0.6, c=0.7)
    assert (0.3, 0.4, 0.1, 0.2, 0.7, 0.5, 0.6) in images


def test_mirrored_parameters_are_reflected_about_the_middle_each_alone():
    symmetry = Symmetry(mirrored=["x", "y"])
    assert orbit(symmetry, x=0.1, y=0.3) == {(0.1, 0.3), (0.9, 0.3), (0.1, 0.7), (0.9, 0.7)}


def test_a_ring_is_shifted_round_and_not_permuted():
    symmetry = Symmetry(ring=["a", "b", "c", "d"])
    assert orbit(symmetry, a=0.1, b=0.2, c=0.3, d=0.4) == {
        (0.1, 0.2, 0.3, 0.4),
        (0.2, 0.3, 0.4, 0.1),
        (0.3, 0.4, 0.1, 0.2),
        (0.4, 0.1, 0.2, 0.3),
    }
    whole = Symmetry(ring=UNITS)
    assert orbit(whole, x1=0.1, y1=0.2, x2=0.3, y2=0.4, x3=0.5, y3=0.6) == {
        (0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
        (0.3, 0.4, 0.5, 0.6, 0.1, 0.2),
        (0.5, 0.6, 0.1, 0.2, 0.3, 0.4),
    }


def test_words_for_different_parameters_go_together():
    symmetry = Symmetry(exchangeable=["a", "b"], mirrored=["tilt"], ring=["p", "q", "r"])
    assert symmetry.group(1).order == 2 * 2 * 3
    assert symmetry.group(1).preserves(ob.spaces.Box(0, 1, dim=7))


def test_units_with_mirrored_places():
    alone = Symmetry(exchangeable=["a", "b"], mirrored=["a", "b"])
    assert alone.names == ("a", "b")
    assert alone.group(0).order == 8
    assert (0.9, 0.3) in orbit(alone, a=0.3, b=0.1)
    symmetry = Symmetry(exchangeable=UNITS, mirrored=["y1", "y2", "y3"])
    assert symmetry.group(0).order == 6 * 8
    assert (0.3, 0.6, 0.1, 0.2, 0.5, 0.4) in orbit(symmetry, x1=0.1, y1=0.2, x2=0.3, y2=0.4, x3=0.5, y3=0.6)
    ring = Symmetry(ring=["a", "b", "c"], mirrored=["a", "b", "c"])
    assert ring.group(0).order == 3 * 8
    with pytest.raises(InputError, match="'y1' is mirrored and may be exchanged with 'y2', which then is mirrored too"):
        Symmetry(exchangeable=UNITS, mirrored=["y1", "y3"])


def test_a_group_over_names_acts_about_the_middle_of_the_ranges():
    square = Symmetry(group=ob.groups.Dihedral(4), parameters=["u", "v"])
    square.check(uniform("u", "v", low=-3.0, high=3.0))
    assert orbit(square, u=0.5, v=0.9) == {(0.5, 0.9), (0.5, 0.1), (0.9, 0.5), (0.1, 0.5)}
    moved = Symmetry(group=ob.groups.Dihedral(4).centered([10.0, 10.0]), parameters=["u", "v"])
    moved.check(uniform("u", "v", low=8.0, high=12.0))
    assert orbit(moved, u=0.5, v=0.9) == orbit(square, u=0.5, v=0.9)
    with pytest.raises(InputError, match=r"'u' has floats in \[0, 1\].*group\.centered\(\[0\.5, 0\.5\]\)"):
        square.check(uniform("u", "v"))
    swap = Symmetry(group=ob.groups.Symmetric(2), parameters=["u", "v"])
    swap.check(uniform("u", "v", low=1.0, high=2.0))
    # which a swap about their middles would map onto themselves
    with pytest.raises(InputError, match=r"'u'.*'v'"):
        swap.check({"u": FloatDistribution(0, 1), "v": FloatDistribution(1, 2)})
    with pytest.raises(InputError, match="mixes 'u', 'v'"):
        Symmetry(group=ob.groups.Cyclic(3), parameters=["u", "v"]).check(uniform("u", "v", low=-1.0))


def test_a_logarithmic_range_is_mirrored_in_its_logarithm():
    flip = Symmetry(group=ob.groups.SignFlips(1), parameters=["rate"])
    flip.check({"rate": FloatDistribution(0.01, 100.0, log=True)})
    with pytest.raises(InputError, match="logarithms, where log=True"):
        flip.check({"rate": FloatDistribution(1.0, 100.0, log=True)})


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        (
            FloatDistribution(0, 1),
            FloatDistribution(0, 2),
            r"'a' has floats in \[0, 1\] and 'b' has floats in \[0, 2\]",
        ),
        (FloatDistribution(1, 2), FloatDistribution(1, 2, log=True), r"\[1, 2\] and 'b' has floats in \[1, 2\], log"),
        (IntDistribution(1, 9), FloatDistribution(1, 9), r"'a' has integers in \[1, 9\] and 'b' has floats"),
        (IntDistribution(1, 9), IntDistribution(1, 9, step=2), r"in steps of 2"),
    ],
)
@pytest.mark.parametrize("word", ["exchangeable", "ring"])
def test_ranges_that_differ_are_refused_with_both_names(one, other, shown, word):
    symmetry = Symmetry(**{word: ["a", "b"]})
    with pytest.raises(InputError, match=f"must have equal ranges, but .*{shown}"):
        symmetry.check({"a": one, "b": other})


@pytest.mark.parametrize("distribution", [CategoricalDistribution(["p", "q"]), FloatDistribution(1.0, 1.0)])
def test_what_is_no_varying_number_has_no_symmetry(distribution):
    with pytest.raises(InputError, match="'b' is "):
        Symmetry(exchangeable=["a", "b"]).check({"a": FloatDistribution(0, 1), "b": distribution})


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        ({"exchangeable": "x1"}, InputTypeError, "must be a list of names"),
        ({"exchangeable": [["x1", "y1"]]}, InputError, "at least two units"),
        ({"exchangeable": []}, InputError, "at least two units"),
        ({"exchangeable": [["x1", "y1"], ["x2"]]}, InputError, r"equally many parameters, but got \['x1', 'y1'\]"),
        ({"exchangeable": [1, 2]}, InputTypeError, "but got 1"),
        ({"exchangeable": [["a", 1], ["b", 2]]}, InputTypeError, "but got 1"),
        ({"exchangeable": ["a", "a"]}, InputError, "'a' is named in several"),
        ({"exchangeable": [["a", "a"], ["b", "c"]]}, InputError, "'a' appears twice"),
        ({"exchangeable": ["a", "b"], "ring": ["b", "c"]}, InputError, "'b' is named in several"),
        ({"mirrored": "x"}, InputTypeError, "must be a list of names"),
        ({"mirrored": []}, InputError, "is empty"),
        ({"group": ob.groups.Symmetric(2)}, InputError, "needs `parameters`"),
        ({"parameters": ["a", "b"]}, InputTypeError, "must be one of ob.groups"),
        ({"group": "S2", "parameters": ["a", "b"]}, InputTypeError, "but got 'S2'"),
        ({"group": ob.groups.Symmetric(3), "parameters": ["a", "b"]}, InputError, "2 names for Symmetric"),
    ],
)
def test_words_that_make_no_sense_are_refused(words, kind, message):
    with pytest.raises(kind, match=message):
        ob.integrations.optuna.OrbitSampler(**words)


DISTRIBUTIONS = st.one_of(
    st.builds(lambda a, w: FloatDistribution(a, a + w), st.floats(-1e3, 1e3), st.floats(0.01, 1e3)),
    st.builds(lambda a, r: FloatDistribution(a, a * r, log=True), st.floats(1e-6, 1e3), st.floats(1.1, 1e6)),
    st.builds(
        lambda a, n, q: FloatDistribution(a, a + n * q, step=q),
        st.integers(-9, 9),
        st.integers(1, 40),
        st.sampled_from([0.125, 0.25, 2.0]),
    ),
    st.builds(
        lambda a, n, q: IntDistribution(a, a + n * q, step=q),
        st.integers(-99, 99),
        st.integers(1, 50),
        st.integers(1, 5),
    ),
    st.builds(lambda a, n: IntDistribution(a, a + n, log=True), st.integers(1, 20), st.integers(1, 1000)),
)


@given(DISTRIBUTIONS, st.floats(0, 1))
def test_any_place_is_an_allowed_value_and_that_value_is_at_its_own_place(distribution, place):
    cube = Coordinates({"p": distribution})
    params = cube.params([place])
    assert distribution._contains(distribution.to_internal_repr(params["p"]))
    again = cube.params(cube.point(params))["p"]
    assert again == pytest.approx(params["p"], rel=1e-12, abs=1e-12)
    if distribution.step is None:
        assert cube.point(params)[0] == pytest.approx(place, abs=1e-9)
    else:
        assert type(params["p"]) is (int if isinstance(distribution, IntDistribution) else float)


def test_values_of_integers_are_equally_wide():
    cube = Coordinates({"n": IntDistribution(1, 5)})
    counts = np.bincount([cube.params([place])["n"] for place in np.linspace(0, 1, 10_001)])[1:]
    assert len(counts) == 5
    assert abs(counts - 2000).max() <= 2
    assert cube.point({"n": 1})[0] + cube.point({"n": 5})[0] == pytest.approx(1.0)


def test_parameters_that_are_missing_or_out_of_range_have_no_point():
    cube = Coordinates({"x": FloatDistribution(0, 1), "r": FloatDistribution(1, 9, log=True)})
    assert cube.point({"x": 0.5, "r": 3.0}) is not None
    for params in (
        {"x": 0.5},
        {"x": 1.5, "r": 3.0},
        {"x": 0.5, "r": -3.0},
        {"x": "a", "r": 3.0},
        {"x": math.nan, "r": 3.0},
    ):
        assert cube.point(params) is None
