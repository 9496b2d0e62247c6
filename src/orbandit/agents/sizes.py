"""Limits of the size of an agent's space and group: a small file can describe huge ones.

Agents and `load` have the same limits. `load` checks them before it makes anything, and still reads
every file that `save` writes.
"""

import math
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from orbandit._recipes import Recipe
from orbandit.errors import GroupTooLargeError, InputError
from orbandit.groups import Group, Matrix
from orbandit.groups.base import MAX_ELEMENTS, MAX_LISTED
from orbandit.groups.enumerated import EnumeratedGroup
from orbandit.spaces import Space

MAX_AGENT_DIM = 1_000
"""Most coordinates of a point."""

MAX_GROUP_DIM = 200
"""Most coordinates that a group acts on, other than the trivial one."""

ELEMENT = 160
"""Finding one more element of a group takes as long as making about so many numbers."""

MAX_DESCRIBED = 2 * MAX_LISTED
"""Most numbers in all spaces and groups of a file: those of the agent, and of a user's mesh."""


def check_sizes(space: object, group: object) -> None:
    """Refuse a space and a group that are too large for an agent, before any computation."""
    parts = [part for part in (space, group) if isinstance(part, Space | Group)]
    if any(part.dim > MAX_AGENT_DIM for part in parts):
        raise InputError(f"agents play in at most {MAX_AGENT_DIM:,} dimensions, but got {parts!r}.")
    if sum(numbers_of(one) for part in parts for one in ingredients(part)) > MAX_LISTED:
        raise GroupTooLargeError(
            f"the space and the group of an agent must keep at most {MAX_LISTED:,} numbers, where a listed element "
            f"counts as {ELEMENT} more, but got {parts!r}; use a group with a closed form, or a subgroup."
        )
    if not isinstance(group, Group) or group.order == 1:
        return
    if group.dim > MAX_GROUP_DIM or group.max_generators * group.dim**2 > MAX_LISTED:
        raise GroupTooLargeError(
            f"the group of an agent must act on at most {MAX_GROUP_DIM} coordinates, and its generators have at most "
            f"{MAX_LISTED:,} entries in all, but got {group!r}; let it act on fewer coordinates."
        )


def check_recipe(maker: type[Recipe], given: dict[str, Any]) -> None:
    """Refuse arguments of a space or group too large for agents, before it is made.

    Lower its limits.
    """
    dims = [given[name] for name in ("dim", "blocks", "size", "copies") if isinstance(given.get(name), int)]
    dims += [given["group"].dim] if "copies" in given else []
    rank = re.fullmatch(r"[ABD](\d+)", str(given.get("name", "")))
    if math.prod(max(1, dim) for dim in dims) > MAX_AGENT_DIM or (rank is not None and int(rank[1]) > MAX_GROUP_DIM):
        raise ValueError(f"a {maker.__name__} in more dimensions than agents play in")
    if "generators" in given:
        numbers = np.shape(given["generators"])[-1] ** (2 if maker is Matrix else 1)
        given["limit"] = min(given.get("limit", MAX_ELEMENTS), MAX_LISTED // (ELEMENT + numbers) or 1)


def ingredients(part: Recipe) -> Iterator[Recipe]:
    """Yield a space or a group, and all that its recipe names."""
    yield part
    for one in _named(part):
        yield from ingredients(one)


def numbers_of(part: Recipe) -> int:
    """Return how many numbers a space or group stores, without the parts that its recipe names.

    A listed element counts as ELEMENT more of them.
    """
    named = {id(one) for one in _named(part)}
    total = ELEMENT * int(part.order) if isinstance(part, EnumeratedGroup) else 0
    for item in _kept(part):
        if isinstance(item, np.ndarray):
            total += item.size
        elif isinstance(item, Recipe) and id(item) not in named:
            total += sum(map(numbers_of, ingredients(item)))
    return total


def _named(part: Recipe) -> list[Recipe]:
    args, kwargs = part.recipe or ((), {})
    return [one for one in (*args, *kwargs.values()) if isinstance(one, Recipe)]


def _kept(part: Recipe) -> Iterator[Any]:
    """Yield the attributes of an object, except lazily computed ones."""
    for name, value in vars(part).items():
        if not isinstance(getattr(type(part), name, None), cached_property):
            yield from value if isinstance(value, list | tuple) else (value,)
