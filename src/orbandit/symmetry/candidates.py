"""Candidates: the symmetries of a space that are looked for, and what they are in words.

Swaps of two coordinates, or of two units of several coordinates; reflections of a coordinate about
the middle, or of one coordinate of all units; turns of a pair of coordinates, or of all pairs, by
fractions of a turn; shifts of the coordinates, or of the units, by one place. Units are consecutive
blocks (x1 y1 x2 y2 ...), or every k-th coordinate (x1 x2 ... y1 y2 ...), or the parts of a
`Product`. Only what maps the space onto itself is a candidate.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_finite, shown
from orbandit.errors import InputError, InputTypeError
from orbandit.groups import Group
from orbandit.groups.check import describe
from orbandit.groups.closure import nearest_orthogonal
from orbandit.groups.generated import MAX_ORTHOGONALITY_ERROR
from orbandit.groups.preservation import preserved
from orbandit.groups.units import class_widths
from orbandit.spaces import Polytope, Product, Space

FRACTIONS = range(2, 13)
"""Turns by one over each of these are tried."""

Layout: TypeAlias = npt.NDArray[np.intp]
"""The coordinates of units, (m, s)."""
Given: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""Groups or matrices, by themselves or under names."""


class Candidate(NamedTuple):
    """A symmetry in words, and its generators, (k, dim, dim), about the middle of the space."""

    name: str
    generators: Array


def middle(space: Space) -> Array:
    """Return the point that every symmetry looked for leaves alone."""
    if isinstance(space, Product):
        return np.concatenate([middle(part) for part in space.parts])
    if isinstance(space, Polytope):
        return np.asarray(space.vertices.mean(axis=0))
    low, high = space.bounds
    return np.asarray((low + high) / 2)


def default_candidates(
    space: Space, labels: Sequence[str] | None = None, layouts: Sequence[Layout] = ()
) -> list[Candidate]:
    """Return the candidates that map a space onto itself, without copies.

    Parameters
    ----------
    space : Space
        Where points live.
    labels : sequence of str, optional
        Names of the coordinates; by default their numbers.
    layouts : sequence of (m, s) arrays of int
        Further divisions of the coordinates into units.

    Examples
    --------
    >>> import orbandit as ob
    >>> for candidate in default_candidates(ob.spaces.Box([0, 0, 5], [1, 1, 9])):
    ...     print(candidate.name)
    swaps coordinates 0 and 1
    mirrors coordinate 0
    mirrors coordinate 1
    mirrors coordinate 2
    mirrors all coordinates
    turns coordinates (0, 1) by 1/2 of a turn
    turns coordinates (0, 1) by 1/4 of a turn
    turns coordinates (1, 2) by 1/2 of a turn
    """
    center, found, seen = middle(space), list[Candidate](), {_mark(np.eye(space.dim))}
    called = [str(i) for i in range(space.dim)] if labels is None else list(labels)
    for name, matrix in _proposed(space.dim, [*_layouts(space), *layouts], called):
        if _mark(matrix) not in seen and _is_symmetry(matrix[None], space, center):
            seen.add(_mark(matrix))
            found.append(Candidate(name, matrix[None]))
    return found


def _mark(matrix: Array) -> bytes:
    """Return what is the same for matrices that differ by rounding only."""
    return (np.round(matrix, 6) + 0.0).tobytes()


def given_candidates(given: Given, space: Space) -> list[Candidate]:
    """Return the candidates that a user named, checked."""
    if isinstance(given, Group | str) or not isinstance(given, Sequence | Mapping | np.ndarray) or not len(given):
        raise InputTypeError(
            f"`candidates` must be a list of groups or matrices, or a dict of them by name, but got {shown(given)}.",
            field="candidates",
            value=given,
        )
    named = given.items() if isinstance(given, Mapping) else [(None, one) for one in given]
    found = []
    for name, one in named:
        generators = _generators(one, space, middle(space))
        words = repr(one) if isinstance(one, Group) else describe(generators[0])
        found.append(Candidate(words if name is None else str(name), generators))
        if not _is_symmetry(generators, space, middle(space)):
            raise InputError(
                f"every candidate must map the space onto itself about its middle {shown(middle(space))}, but "
                f"{found[-1].name!r} does not preserve {shown(space)}; leave it out, or use `group.centered`.",
                field="candidates",
                value=given,
            )
    return found


def _generators(one: Any, space: Space, center: Array) -> Array:
    """Return the generators of a group, or a matrix, as matrices about the middle."""
    dim = space.dim
    if isinstance(one, Group):
        if one.dim != dim or one.order in (1, math.inf):
            raise InputError(
                f"a candidate must be finite, not trivial, and act on {dim} coordinates, but got {shown(one)}.",
                field="candidates",
                value=one,
            )
        shifts = (one.generators - np.eye(dim)) @ (one.center - center)
        if np.abs(shifts).max() > 1e-9 * space.diameter:
            raise InputError(
                f"candidates must leave the middle {shown(center)} of the space alone, but {shown(one)} does not; use "
                "`group.centered`.",
                field="candidates",
                value=one,
            )
        return one.generators
    matrix = as_finite(one, "candidates")
    if matrix.shape != (dim, dim) or np.abs(matrix @ matrix.T - np.eye(dim)).max() > MAX_ORTHOGONALITY_ERROR:
        raise InputError(
            f"a candidate must be a group or an orthogonal ({dim}, {dim}) matrix, but got {shown(matrix)}.",
            field="candidates",
            value=one,
        )
    return nearest_orthogonal(matrix[None])


def _is_symmetry(generators: Array, space: Space, center: Array) -> bool:
    """Tell whether matrices about the middle map the space onto itself; coordinates that swap must have one middle."""
    permuting = generators[(np.abs(np.abs(generators).max(axis=1) - 1) < 1e-9).all(axis=1)]
    if np.abs(np.abs(permuting) @ center - center).max(initial=0.0) > 1e-9 * space.diameter:
        return False
    units = class_widths(space, generators)
    return preserved(space.in_units(units), generators, center / units)


def _proposed(dim: int, layouts: list[Layout], labels: list[str]) -> Iterator[tuple[str, Array]]:
    """Yield names and matrices, whether or not they map the space onto itself."""

    def listed(unit: Any) -> str:
        return ", ".join(labels[i] for i in unit)

    def each(units: Any) -> str:
        return ", ".join(f"({listed(unit)})" for unit in units)

    for i, j in combinations(range(dim), 2):
        yield f"swaps coordinates {labels[i]} and {labels[j]}", _permuted(dim, [i, j], [j, i])
    for units in layouts:
        for a, b in combinations(units, 2):
            yield f"swaps units ({listed(a)}) and ({listed(b)})", _permuted(dim, [*a, *b], [*b, *a])
    for i in range(dim):
        yield f"mirrors coordinate {labels[i]}", _mirrored(dim, [i])
    for units in layouts:
        for axis in units.T:
            yield f"mirrors coordinates {listed(axis)}", _mirrored(dim, axis)
    yield "mirrors all coordinates", _mirrored(dim, range(dim))
    planes = [units for units in layouts if units.shape[1] == 2]
    pairs = [(i, i + 1) for i in range(dim - 1)] + [tuple(unit) for units in planes for unit in units.tolist()]
    for pair in dict.fromkeys(pairs):
        for m in FRACTIONS:
            yield f"turns coordinates ({listed(pair)}) by 1/{m} of a turn", _turned(dim, np.array([pair]), m)
    for units in planes:
        for m in FRACTIONS:
            yield f"turns units {each(units)} by 1/{m} of a turn", _turned(dim, units, m)
    yield "shifts all coordinates by one place", _permuted(dim, range(dim), np.roll(range(dim), -1))
    for units in layouts:
        if len(units) > 2:
            name = f"shifts units {each(units)} by one place"
            yield name, _permuted(dim, units.ravel(), np.roll(units, -1, axis=0).ravel())


def _layouts(space: Space) -> Iterator[Layout]:
    """Yield ways to see the coordinates as units, (m, s), with m and s at least 2."""
    dim, seen = space.dim, set[bytes]()
    whole = [np.arange(dim).reshape(-1, s) for s in range(2, dim // 2 + 1) if dim % s == 0]
    ways = [*whole, *(np.arange(dim).reshape(units.shape[1], -1).T for units in whole)]
    if isinstance(space, Product):
        ends = np.cumsum([part.dim for part in space.parts])
        kinds: dict[Any, list[Layout]] = {}
        for part, end in zip(space.parts, ends, strict=True):
            kinds.setdefault((type(part), part.dim), []).append(np.arange(end - part.dim, end))
        ways += [np.array(units) for units in kinds.values() if len(units) > 1 and len(units[0]) > 1]
    for units in ways:
        if units.tobytes() + bytes(units.shape) not in seen:
            seen.add(units.tobytes() + bytes(units.shape))
            yield units


def _permuted(dim: int, places: Any, sources: Any) -> Array:
    matrix = np.eye(dim)
    matrix[np.asarray(places)] = np.eye(dim)[np.asarray(sources)]
    return matrix


def _mirrored(dim: int, axes: Any) -> Array:
    matrix = np.eye(dim)
    matrix[np.asarray(axes), np.asarray(axes)] = -1.0
    return matrix


def _turned(dim: int, pairs: Layout, m: int) -> Array:
    """Return the turn of each pair by one m-th."""
    matrix, cos, sin = np.eye(dim), math.cos(2 * math.pi / m), math.sin(2 * math.pi / m)
    for i, j in pairs:
        matrix[np.ix_([i, j], [i, j])] = [[cos, -sin], [sin, cos]]
    return matrix
