"""Agents are made of parts: one abstract shell, final algorithms, and nothing that is written once is written over."""

import inspect

import pytest

import orbandit as ob
from orbandit.agents import Agent

KINDS = [kind for kind in vars(ob.agents).values() if inspect.isclass(kind) and issubclass(kind, Agent)]
ALGORITHMS = [kind for kind in KINDS if kind is not Agent]
named = pytest.mark.parametrize("kind", ALGORITHMS, ids=lambda kind: kind.__name__)


def methods(kind):
    """The methods and properties that a class defines, but for constructors."""
    parts = {name: part for name, part in vars(kind).items() if name not in ("__init__", "__new__")}
    return {
        name for name, part in parts.items() if inspect.isfunction(part) or isinstance(part, property | classmethod)
    }


def derived(kind):
    """The package's classes derived from one; other tests have their own."""
    return {one for one in kind.__subclasses__() if one.__module__.startswith("orbandit.")}


def test_every_agent_is_public():
    assert derived(Agent) == set(ALGORITHMS)
    assert len(ALGORITHMS) == 19


@named
def test_an_algorithm_is_final_and_derives_from_the_shell_alone(kind):
    assert kind.__bases__ == (Agent,)
    assert kind.__final__
    assert not derived(kind)


@named
def test_an_algorithm_overrides_nothing_concrete(kind):
    own, shell = methods(kind), methods(Agent)
    assert len(shell - Agent.__abstractmethods__) > 20
    assert own & shell == Agent.__abstractmethods__


@named
def test_settings_are_those_of_the_constructor(kind):
    """Written once, in the signature: nothing else names them."""
    given = {"n_arms": 4, "generators": [[1, 0, 2, 3]], "graph": ([0, 1, 2], [0, 1])}
    given |= {"space": ob.spaces.Box(0.0, 1.0, dim=2), "horizon": 50, "reward_range": (0, 2)}
    names = list(inspect.signature(kind).parameters)
    agent = kind(**{name: value for name, value in given.items() if name in names}, seed=0)
    assert set(agent._settings) - {"is_scaled"} == set(names) - {"seed"}
    assert agent._settings["reward_range"] == (0.0, 2.0)
