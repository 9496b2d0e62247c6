"""named_group: what was found, as the class of `ob.groups` that says it best.

A group acts on sets of coordinates apart from each other. Each set is compared with families that
have closed forms: a family fits if it has as many elements, and the group has all its generators.
The sets side by side are a `Product`. What fits no family, or lies on coordinates that do not stand
together, is listed as a `Permutation` or a `Matrix`.
"""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from orbandit import groups
from orbandit._checks import Array
from orbandit.errors import GroupTooLargeError
from orbandit.groups import Group
from orbandit.symmetry.pooling import Pool

MAX_LISTED = 1_000_000
"""Most elements of a group that is listed."""


def named_group(pool: Pool, center: Array) -> Group:
    """Return the group of a pool about a point.

    Raises
    ------
    GroupTooLargeError
        If no class fits, and there are too many elements to list.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> pool = Pool(ob.groups.Permutation([[1, 0, 2, 3], [0, 1, 3, 2], [2, 3, 0, 1]]).generators)
    >>> pool.order, named_group(Pool(pool.generators[:2]), np.zeros(4))
    (8, Product(Symmetric(2), Symmetric(2)))
    """
    parts, end = list[Group](), 0
    for own, generators in sorted(pool.parts, key=lambda part: int(part[0][0])):
        if own[0] < end or own[-1] - own[0] >= len(own):
            return _centered(_named(pool.generators), center)  # they are interleaved
        if own[0] > end:
            parts.append(groups.Trivial(int(own[0] - end)))
        part, end = _centered(_named(generators), center[own]), int(own[-1]) + 1
        if parts and isinstance(part, groups.SignFlips) and isinstance(parts[-1], groups.SignFlips):
            before = parts.pop()
            both = np.concatenate([before.center, part.center])
            part = groups.SignFlips(before.dim + part.dim).centered(both)
        parts.append(part)
    if end < pool.dim:
        parts.append(groups.Trivial(pool.dim - end))
    return parts[0] if len(parts) == 1 else groups.Product(*parts)


def _named(generators: Array) -> Group:
    """Return the family that a component is."""
    pool = Pool(generators)
    for group in _families(pool.dim, pool.order):
        if group.order == pool.order and pool.contains(group.generators).all():
            return group
    return _listed(generators, pool.order)


def _families(dim: int, order: int) -> Iterator[Group]:
    """Yield the families on so many coordinates, of which some of that order."""
    yield groups.SignFlips(dim)
    yield groups.Symmetric(dim)
    yield groups.SignedPermutation(dim)
    yield groups.CyclicShift(dim)
    if dim == 2:
        yield groups.Cyclic(order)
        yield groups.Dihedral(max(1, order // 2))
    for size in (s for s in range(1, dim) if dim % s == 0):
        units = dim // size
        exchanges = groups.BlockPermutation(units, size) if size > 1 else groups.Symmetric(units)
        yield exchanges
        yield groups.Diagonal(groups.Symmetric(units), size)
        yield groups.SignedBlockPermutation(units, size)
        for whole in _turns(size, order):
            yield groups.Diagonal(whole, units)
        for whole in _turns(size, order // math.factorial(units)):
            yield groups.Joint(exchanges, groups.Diagonal(whole, units))


def _turns(size: int, order: int) -> Iterator[Group]:
    """Yield what may be done to all units at once, of that order."""
    if size == 2:
        yield groups.Cyclic(max(1, order))
        yield groups.Dihedral(max(1, order // 2))
    for flips in product([False, True], repeat=min(size, 4)):
        if 2 ** sum(flips) == order and len(flips) == size and any(flips):
            parts = [groups.SignFlips(1) if flip else groups.Trivial(1) for flip in flips]
            yield groups.SignFlips(size) if all(flips) else groups.Product(*parts)


def _listed(generators: Array, order: int) -> Group:
    if order > MAX_LISTED:
        raise GroupTooLargeError(
            f"the group found has {order:,} elements, too many to list, and no class fits; put coordinates that are "
            "alike side by side, and call again."
        )
    sources = generators.argmax(axis=2)
    if np.abs(np.take_along_axis(generators, sources[:, :, None], axis=2) - 1).max() < 1e-9:
        return groups.Permutation(sources, limit=MAX_LISTED)
    return groups.Matrix(generators, limit=MAX_LISTED)


def _centered(group: Group, center: Array) -> Group:
    """Return the group about a point, unless it leaves the origin's coordinates where they are all the same."""
    moves = group.generators @ center - center
    return group if np.abs(moves).max(initial=0.0) <= 1e-12 * (1 + np.abs(center).max()) else group.centered(center)
