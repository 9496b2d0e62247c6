"""Symmetry: exchangeable, mirrored and ring parameters by name, and the group they generate.

Each component has names of its own and acts on their coordinates in the unit cube:

    exchangeable units             BlockPermutation, or Symmetric for units of one parameter
    a ring of units                CyclicShift, of whole units
    mirrored parameters            SignFlips about the middle
    units with mirrored places     the flips and the permutations of units together, SignedPermutation or Joint
    a group of `ob.groups`         as it is, about the middle of the ranges

A group that maps a box to itself permutes its axes and reverses some of them. So it also acts on
the unit cube if the axes that it permutes have equal ranges, and their middle is its fixed point.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from optuna.distributions import BaseDistribution

from orbandit import groups
from orbandit._checks import Array, shown
from orbandit.errors import InputError, InputTypeError
from orbandit.groups import Group
from orbandit.integrations.cube import about_middle
from orbandit.integrations.optuna.coordinates import is_number, shown_range
from orbandit.spaces import Box

Units = Sequence[Any]
"""Units, each a list of names or one name; or several lists of units."""


@dataclass(frozen=True)
class _Component:
    """A group about the origin, the names it acts on, and whether the user gave it for the ranges themselves."""

    names: tuple[str, ...]
    group: Group
    is_given: bool = False


@final
class Symmetry:
    """The symmetry of a study in the names of its parameters.

    Parameters
    ----------
    exchangeable : list, optional
        Units that may be exchanged, each a list of parameters (or one name); for several kinds of
        units, a list of such lists.
    mirrored : list of str, optional
        Parameters each of which may be reflected about the middle of its range.
    ring : list, optional
        Units, or parameters, in a ring: a cyclic shift by one place gives the same value.
    group : Group, optional
        Any of `ob.groups` that maps the ranges of `parameters` onto themselves, in their own units.
    parameters : list of str, optional
        The names that `group` acts on, in the order of its coordinates.

    Examples
    --------
    >>> symmetry = Symmetry(exchangeable=[["x1", "y1"], ["x2", "y2"]], mirrored=["tilt"])
    >>> symmetry.names, symmetry.group(plain=1).order
    (('x1', 'y1', 'x2', 'y2', 'tilt'), 4)
    """

    def __init__(
        self,
        exchangeable: Units | None = None,
        mirrored: Sequence[str] | None = None,
        ring: Units | None = None,
        group: Group | None = None,
        parameters: Sequence[str] | None = None,
    ) -> None:
        sets = [("exchangeable", units) for units in _sets(exchangeable, "exchangeable")]
        sets += [("ring", units) for units in _sets(ring, "ring")]
        flipped = _names(mirrored, "mirrored")
        self._components = [_of_units(word, units, flipped) for word, units in sets]
        taken = {name for component in self._components for name in component.names}
        alone = tuple(name for name in flipped if name not in taken)
        if alone:
            self._components.append(_Component(alone, groups.SignFlips(len(alone))))
        if group is not None or parameters is not None:
            self._components.append(_given(group, parameters))
        self._checked: dict[str, BaseDistribution] | None = None
        self.names = tuple(name for component in self._components for name in component.names)
        for name in self.names:
            if self.names.count(name) > 1:
                raise InputError(
                    f"a parameter may have one symmetry only, but {name!r} is named in several; write them as one "
                    "`group` of ob.groups with `parameters`."
                )

    def group(self, plain: int) -> Group | None:
        """Return the group on the unit cube of the named parameters and so many others, which it fixes."""
        parts = [about_middle(component.group) for component in self._components]
        if not parts:
            return None
        if plain:
            parts.append(groups.Trivial(plain))
        return parts[0] if len(parts) == 1 else groups.Product(*parts)

    def check(self, distributions: Mapping[str, BaseDistribution]) -> None:
        """Refuse distributions of the named parameters that the group does not carry into one another."""
        named = {name: distributions[name] for name in self.names}
        if named == self._checked:
            return
        for name in self.names:
            if not is_number(distributions[name]):
                raise InputError(
                    f"a parameter with a symmetry must be a float or an integer that can vary, but {name!r} is "
                    f"{shown_range(distributions[name])}; leave it out of the symmetry."
                )
        for component in self._components:
            for g in component.group.generators:
                _check_alike(component, g, distributions)
            if component.is_given:
                _check_preserved(component, distributions)
        self._checked = named  # most trials have the same, and generators take time


def _check_alike(component: _Component, g: Array, distributions: Mapping[str, BaseDistribution]) -> None:
    """Refuse parameters with other ranges than those that a generator puts in their place."""
    for i, name in enumerate(component.names):
        (images,) = np.nonzero(np.abs(g[:, i]) > 1e-9)
        if len(images) > 1:
            mixed = ", ".join(repr(component.names[j]) for j in images)
            raise InputError(
                f"{shown(component.group)} mixes {mixed}, which no ranges of parameters survive; use a group that "
                "permutes parameters and mirrors them."
            )
        other = component.names[int(images[0])]
        if distributions[name] != distributions[other]:
            raise InputError(
                f"parameters that may be exchanged must have equal ranges, but {name!r} has "
                f"{shown_range(distributions[name])} and {other!r} has {shown_range(distributions[other])}; "
                "suggest both with one range."
            )


def _check_preserved(component: _Component, distributions: Mapping[str, Any]) -> None:
    """Refuse a given group that does not map the ranges, in the user's units, onto themselves."""
    ends = np.array([[distributions[name].low, distributions[name].high] for name in component.names], dtype=float)
    logarithmic = [distributions[name].log for name in component.names]
    ends[logarithmic] = np.log(ends[logarithmic])
    if not component.group.preserves(Box(ends[:, 0], ends[:, 1])):
        ranges = ", ".join(f"{name!r} has {shown_range(distributions[name])}" for name in component.names)
        raise InputError(
            f"{shown(component.group)} does not map the ranges of its parameters onto themselves: {ranges}; give them "
            f"other ranges, or use the group about their middle, `group.centered({shown(ends.mean(axis=1))})`"
            f"{' (logarithms, where log=True)' if any(logarithmic) else ''}."
        )


def _of_units(word: str, units: list[tuple[str, ...]], flipped: tuple[str, ...]) -> _Component:
    """Return the component of units that may be swapped, or stand in a ring, with the flips among their places."""
    count, size = len(units), len(units[0])
    names = tuple(name for unit in units for name in unit)
    rows: Group
    if word == "exchangeable":
        rows = groups.Symmetric(count) if size == 1 else groups.BlockPermutation(count, size)
    elif size == 1:
        rows = groups.CyclicShift(count)
    else:
        rows = groups.Permutation([np.roll(np.arange(count * size), -size)])
    places = [place for place in range(size) if units[0][place] in flipped]
    for unit in units[1:]:
        for first, name in zip(units[0], unit, strict=True):
            if (name in flipped) != (first in flipped):
                one, other = (name, first) if name in flipped else (first, name)
                raise InputError(
                    f"{one!r} is mirrored and may be exchanged with {other!r}, which then is mirrored too; add "
                    f"{other!r} to `mirrored`."
                )
    if not places:
        return _Component(names, rows)
    if word == "exchangeable" and size == 1:
        return _Component(names, groups.SignedPermutation(count))
    parts = [groups.SignFlips(1) if place in places else groups.Trivial(1) for place in range(size)]
    return _Component(names, groups.Joint(groups.Product(*parts * count), rows))


def _given(group: Group | None, parameters: Sequence[str] | None) -> _Component:
    """Return the component of a group of the user's own."""
    if not isinstance(group, Group):
        raise InputTypeError(f"`group` must be one of ob.groups, and go with `parameters`, but got {shown(group)}.")
    if parameters is None:
        raise InputError(
            f"`group` needs `parameters`, the names it acts on in their order, but got {shown(group)} alone."
        )
    names = _names(parameters, "parameters")
    if len(names) != group.dim:
        raise InputError(
            f"`parameters` must be as many names as the group has coordinates, but got {len(names)} names for "
            f"{shown(group)}, which has {group.dim}."
        )
    return _Component(names, group, is_given=True)


def _sets(units: Units | None, word: str) -> list[list[tuple[str, ...]]]:
    """Return a list of sets of units, of which one may be given as it is; units of one parameter may be its name."""
    if units is None:
        return []
    given = [unit if isinstance(unit, str) else _listed(unit, word) for unit in _listed(units, word)]
    several = any(not isinstance(unit, str) and any(not isinstance(x, str) for x in unit) for unit in given)
    sets = [_listed(some, word) for some in given] if several else [given]
    cleaned = [[(unit,) if isinstance(unit, str) else _names(unit, word) for unit in some] for some in sets]
    for some in cleaned:
        if len(some) < 2:
            raise InputError(f"`{word}` must be at least two units, but got {shown(some)}.")
        for unit in some[1:]:
            if len(unit) != len(some[0]):
                raise InputError(
                    f"units of `{word}` must have equally many parameters, but got {list(some[0])} and {list(unit)}."
                )
    return cleaned


def _names(names: Iterable[Any] | None, word: str) -> tuple[str, ...]:
    """Return distinct names of parameters."""
    if names is None:
        return ()
    listed = _listed(names, word)
    for i, name in enumerate(listed):
        if not isinstance(name, str):
            raise InputTypeError(f"`{word}` must be names of parameters, but got {shown(name)}.")
        if name in listed[:i]:
            raise InputError(f"`{word}` must be distinct names, but {name!r} appears twice.")
    if not listed:
        raise InputError(f"`{word}` must have at least one name, but is empty; leave it out.")
    return tuple(listed)


def _listed(values: Any, word: str) -> list[Any]:
    """Return a list of what is given as a sequence, which a single name is not."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputTypeError(
            f"`{word}` must be a list of names of parameters, or of lists of them, but got {shown(values)}."
        )
    return list(values)
