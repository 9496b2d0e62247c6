"""Optimisers for Nevergrad: candidates and points, symmetries, and the protocol of ask and tell."""

import pickle
import sys
import warnings
from importlib import import_module

import nevergrad as ng
import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, InputTypeError, MissingExtraError
from orbandit.integrations.nevergrad import OrbitOptimizer
from orbandit.integrations.nevergrad.coordinates import Coordinates

TREE = ob.agents.OrbitTree


def mixture():
    """Return a parametrization with values of every kind, six in all."""
    return ng.p.Instrumentation(
        ng.p.Scalar(lower=-2.0, upper=3.0),
        ng.p.Scalar(init=1.0),
        rate=ng.p.Log(lower=1e-3, upper=1e2),
        units=ng.p.Scalar(lower=1, upper=7).set_integer_casting(),
        layout=ng.p.Array(lower=-1.0, upper=1.0, shape=(1, 2)),
    )


def square(size, seed=0, **given):
    parametrization = ng.p.Array(**(given or {"shape": (size,), "lower": 0.0, "upper": 1.0}))
    parametrization.random_state.seed(seed)
    return parametrization


def gap(x):
    """Return a loss that swaps leave alone, smallest at 0.2, 0.8 in any order."""
    return float(np.abs(np.sort(x) - np.linspace(0.2, 0.8, len(x))).sum())


def test_points_and_candidates_are_each_others_inverse():
    cube = Coordinates(mixture())
    assert cube.dim == 6
    rng = np.random.default_rng(0)
    for point in rng.random((50, 6)):
        candidate = cube.candidate(point)
        (first, free), named = candidate.value
        assert -2 <= first <= 3
        assert isinstance(named["units"], int)
        assert 1 <= named["units"] <= 7
        assert 1e-3 <= named["rate"] <= 1e2
        assert named["layout"].shape == (1, 2)
        again = cube.point(candidate)
        # Two positional values, then layout (two of them), rate and units, by name.
        np.testing.assert_allclose(again[:5], point[:5], atol=1e-3)
        assert abs(again[5] - point[5]) <= 1 / 14  # rounded to one of seven
        np.testing.assert_allclose(cube.point(cube.candidate(again)), again, atol=1e-9)
        assert np.isfinite(free)
    counts = np.bincount([cube.candidate(p).value[1]["units"] for p in rng.random((1400, 6))], minlength=8)[1:]
    assert counts.min() > 150  # all values are equally wide


def test_what_has_no_place_is_refused():
    with pytest.raises(InputError, match=r"'pick' is a Choice"):
        Coordinates(ng.p.Dict(pick=ng.p.Choice([1, 2])))
    with pytest.raises(InputError, match=r"'x' must have two bounds or none, but has no upper one"):
        Coordinates(ng.p.Dict(x=ng.p.Scalar(lower=0.0)))
    with pytest.raises(InputError, match="must act on all 3 values"):
        OrbitOptimizer(group=ob.groups.Symmetric(2))(square(3))
    unequal = ng.p.Tuple(ng.p.Scalar(lower=0, upper=1), ng.p.Scalar(lower=0, upper=2))
    with pytest.raises(InputError, match="does not map the ranges"):
        OrbitOptimizer(group=ob.groups.Symmetric(2))(unequal)
    with pytest.raises(InputError, match=r"group\.centered\(\[0\.5, 0\.5\]\)"):
        OrbitOptimizer(group=ob.groups.SignFlips(2))(square(2))
    with pytest.raises(InputTypeError, match=r"one of ob\.groups"):
        OrbitOptimizer(group="S2")
    with pytest.raises(InputTypeError, match=r"class of ob\.agents"):
        OrbitOptimizer(agent="OrbitTree")


def test_the_group_is_used_and_losses_are_made_small():
    """Told the loss at x, the agent expects the same at every image of x, and not elsewhere."""
    optimizer = OrbitOptimizer(group=ob.groups.Symmetric(2), agent=TREE)(square(2), budget=200)
    best = optimizer.minimize(gap)
    assert gap(best.value) < 0.15
    asked = np.array([candidate.args[0] for candidate in (optimizer.ask() for _ in range(20))])
    # one of each pair of images only, but for the moves apart
    assert (np.diff(asked, axis=1) > -0.05).all()
    blind = OrbitOptimizer(agent=TREE)(square(2), budget=200)
    blind.minimize(gap)
    elsewhere = np.array([candidate.args[0] for candidate in (blind.ask() for _ in range(20))])
    assert (np.diff(elsewhere, axis=1) < -0.05).any() or (np.diff(elsewhere, axis=1) > 0.05).any()


def test_mirrors_about_the_initial_value_of_what_is_unbounded():
    group = ob.groups.SignFlips(2)
    optimizer = OrbitOptimizer(group=group, agent=TREE)(square(2, init=np.zeros(2)), budget=300)
    best = optimizer.minimize(lambda x: float(np.abs(np.abs(x) - [1.5, 0.3]).sum()))
    assert np.abs(np.abs(best.value) - [1.5, 0.3]).sum() < 0.5
    with pytest.raises(InputError, match="does not map"):
        OrbitOptimizer(group=group)(square(2, init=np.ones(2)))


@pytest.mark.parametrize("name", ["Orbit", "OrbitGP", "OrbitTree"])
def test_they_are_in_the_registry(name):
    optimizer = ng.optimizers.registry[name](square(2), budget=30)
    assert optimizer.name == name
    best = optimizer.minimize(gap)
    assert gap(best.value) < 0.5
    assert optimizer.num_tell == 30


def test_many_workers_never_try_a_point_twice():
    optimizer = OrbitOptimizer(group=ob.groups.Symmetric(3), agent=TREE)(square(3), budget=80, num_workers=8)
    waiting, seen = [], []
    rng = np.random.default_rng(0)
    for _ in range(80):
        candidate = optimizer.ask()
        seen.append(tuple(candidate.value))
        waiting.append(candidate)
        if len(waiting) == 8:  # answers come late and in any order
            told = waiting.pop(int(rng.integers(8)))
            optimizer.tell(told, gap(told.value) + rng.normal(0, 0.01))
    assert len(set(seen)) == 80
    assert len(optimizer._pending) == 7
    folded = np.sort(np.array(seen[:8]), axis=1)
    gaps = np.linalg.norm(folded[:, None] - folded, axis=2)[np.triu_indices(8, 1)]
    assert gaps.min() > 0.02  # the first are spread out, images included


def test_tells_of_points_that_were_not_asked():
    parametrization = square(2)
    optimizer = OrbitOptimizer(group=ob.groups.Symmetric(2), agent=TREE)(parametrization, budget=50)
    for x in np.random.default_rng(0).random((40, 2)):
        optimizer.tell(parametrization.spawn_child(new_value=x), gap(x))
    assert optimizer.num_tell_not_asked == 40
    assert gap(optimizer.recommend().value) < 0.3
    assert gap(optimizer.ask().value) < 0.6
    several = OrbitOptimizer(agent=TREE)(parametrization, budget=50)
    with pytest.raises(InputError, match="one loss"):
        several.tell(several.ask(), [1.0, 2.0])


def test_losses_that_are_no_number_or_huge_do_not_blind_it():
    optimizer = OrbitOptimizer(agent=TREE)(square(2), budget=120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Nevergrad's own, of losses that it clips
        for i in range(120):
            candidate = optimizer.ask()
            loss = [np.nan, np.inf, 1e15][i // 10 % 3] if i % 10 == 3 else gap(candidate.value)
            optimizer.tell(candidate, loss)
    assert gap(optimizer.recommend().value) < 0.25


def test_the_same_seed_gives_the_same_and_it_can_be_pickled():
    def played(seed, rounds, through_pickle=False):
        optimizer = OrbitOptimizer(group=ob.groups.Symmetric(2), agent=TREE)(square(2, seed=seed), budget=40)
        points = []
        for _ in range(rounds):
            candidate = optimizer.ask()
            points.append(candidate.value.tolist())
            optimizer.tell(candidate, gap(candidate.value))
            if through_pickle:
                optimizer = pickle.loads(pickle.dumps(optimizer))
        return points

    assert played(1, 15) == played(1, 15)
    assert played(1, 15) != played(2, 15)
    assert played(1, 15) == played(1, 15, through_pickle=True)


def test_a_missing_nevergrad_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("orbandit.integrations.nevergrad")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "nevergrad", None)
    with pytest.raises(MissingExtraError, match="with the extra `nevergrad`"):
        import_module("orbandit.integrations.nevergrad")


def test_what_is_not_feasible_is_never_asked_for_nor_recommended():
    rule, group = (lambda x: bool(abs(x[0] - x[1]) > 0.3)), ob.groups.Symmetric(2)
    optimizer = OrbitOptimizer(group=group, agent=TREE, feasible=rule)(square(2), budget=40)
    for _ in range(40):
        candidate = optimizer.ask()
        assert rule(candidate.value)
        optimizer.tell(candidate, gap(candidate.value))
    assert rule(optimizer.recommend().value)
    for wrong, said in ((lambda x: bool(x[0] < 0.9), "must be invariant"), (lambda x: "yes", "returned 'yes' for")):
        with pytest.raises(InputError, match=said):
            OrbitOptimizer(group=group, agent=TREE, feasible=wrong)(square(2), budget=40).ask()
    with pytest.raises(InputError, match="needs an agent that takes it"):
        OrbitOptimizer(agent=ob.agents.HOO, feasible=rule)


def test_an_approximate_symmetry_is_passed_on():
    made = []

    def agent(space, group, *, symmetry="exact", **planned):
        made.append(symmetry)
        return ob.agents.OrbitTree(space, group, symmetry=symmetry, **planned)

    group = ob.groups.Symmetric(2)
    OrbitOptimizer(group=group, agent=agent, symmetry="approximate")(square(2), budget=30).ask()
    assert set(made) == {"approximate"}
    with pytest.raises(InputError, match="symmetry"):
        OrbitOptimizer(symmetry="nearly")
