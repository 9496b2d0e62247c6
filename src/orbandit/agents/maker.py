"""Maker: what `agent=` means everywhere, in `maximize`, `simulate`, experiments and samplers."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from orbandit._checks import shown
from orbandit.agents.base import Agent
from orbandit.agents.orbit_gp import OrbitGP
from orbandit.agents.orbit_tree import OrbitTree
from orbandit.errors import InputError, InputTypeError

Maker: TypeAlias = Callable[..., Any]
"""A class of agents, a partial of one, or a callable like CALL that returns an object with `ask`
and `tell`."""

CALL = "(space, group, *, horizon, lipschitz, reward_range, seed)"
"""How agents are made."""
TOLD = ("horizon", "lipschitz", "reward_range", "seed")
"""What agents are told by name."""


def check_call(maker: object, *args: Any, **told: Any) -> None:
    """Refuse a maker that does not take these arguments, by default those of CALL, before the call.

    Examples
    --------
    >>> check_call(OrbitTree)
    >>> check_call("OrbitTree")
    Traceback (most recent call last):
        ...
    orbandit.errors.InputTypeError: `agent` must be a class of ob.agents or a callable like one, but
    got 'OrbitTree'.
    """
    if not callable(maker):
        raise InputTypeError(f"`agent` must be a class of ob.agents or a callable like one, but got {shown(maker)}.")
    base: partial[Any] = maker if isinstance(maker, partial) else partial(maker)
    kind = base.func
    if isinstance(kind, type) and plays_indices(kind):
        raise InputTypeError(_how_to_make(kind))
    try:
        signature = inspect.signature(kind)
    except ValueError:  # one without a signature, in C perhaps: the call itself will tell
        return
    try:
        signature.bind(*base.args, *(args or (None, None)), **{**base.keywords, **(told or dict.fromkeys(TOLD))})
    except TypeError as error:
        raise InputTypeError(
            f"`agent` is called as agent{CALL}, but {shown(maker)} has another signature: {error}."
        ) from error


def check_takes(maker: Maker, name: str) -> None:
    """Refuse a maker whose agents do not take an argument.

    Examples
    --------
    >>> import orbandit as ob
    >>> check_takes(OrbitTree, "feasible")
    >>> check_takes(ob.agents.HOO, "feasible")
    Traceback (most recent call last):
        ...
    orbandit.errors.InputError: `feasible` needs an agent that takes it, such as OrbitGP or
    OrbitTree, but HOO does not.
    """
    if not takes(maker, name):
        kind = getattr(maker, "func", maker)
        raise InputError(
            f"`{name}` needs an agent that takes it, such as OrbitGP or OrbitTree, but "
            f"{getattr(kind, '__name__', shown(kind))} does not.",
            field=name,
        )


def takes(maker: Maker, name: str) -> bool:
    """Return whether a maker takes an argument by its name; one without a signature does."""
    try:
        parameters = inspect.signature(getattr(maker, "func", maker)).parameters
    except ValueError:
        return True
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def learns_slopes(maker: Maker) -> bool:
    """Return whether a maker, or that of a `functools.partial`, learns the Lipschitz constant.

    Examples
    --------
    >>> from functools import partial
    >>> learns_slopes(OrbitGP), learns_slopes(partial(OrbitGP, kernel="rbf")), learns_slopes(lambda *given: None)
    (True, True, False)
    """
    return getattr(maker, "func", maker) in (OrbitGP, OrbitTree)


def plays_indices(kind: type[Any]) -> bool:
    """Return whether a class is an agent of this package that plays arms 0, 1, ..., not points.

    Examples
    --------
    >>> import orbandit as ob
    >>> plays_indices(ob.agents.UCB1), plays_indices(ob.agents.HOO)
    (True, False)
    """
    return issubclass(kind, Agent) and "space" not in inspect.signature(kind).parameters


def _how_to_make(kind: type[Any]) -> str:
    """Return the remedy for an agent that has no space: what to pass instead."""
    needed = [name for name, one in inspect.signature(kind).parameters.items() if one.default is one.empty]
    call = f"{kind.__name__}({', '.join(needed)}, horizon=horizon, seed=seed)"
    return f"{kind.__name__} plays indices; pass agent=lambda space, group, *, horizon, seed, **told: {call}."
