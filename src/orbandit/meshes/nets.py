"""Nets: meshes that cover a space, or its orbits, within delta, with few points.

Each lattice point v answers for its Voronoi cell, which lies within delta of it. Pulling v onto a convex set
that holds the part of X to be covered takes it no farther from any point there: with t the way it moves,

    ||x - pulled v||^2  <=  ||x - v||^2 - t^2  <=  delta^2 - t^2  =:  rho^2.

So v may be pulled onto the cone of folds and onto X in turn, each time answering for a smaller ball of radius
rho; if rho^2 becomes negative, its cell misses X. A point is superfluous if another one is kept within
delta - rho of it, for that one then covers for it.

With a group, only the part of X that folds lie in needs covering: every x in X is within delta, in the orbit
metric, of a point that is within delta of fold(x).
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from orbandit._checks import Array
from orbandit.errors import InputError, InputTypeError, MeshTooLargeError
from orbandit.groups import Group, Trivial
from orbandit.meshes.lattices import box_cells, cell_volume, centred_lattices, lattice_points
from orbandit.meshes.mesh import Mesh, as_delta
from orbandit.meshes.region import Region
from orbandit.spaces import Box, Space

LIMIT = 5_000_000
"""Most lattice points looked at for one net."""

SMALL = 3_000
"""Nets about this small are tried with several anchors of the lattice, and the best is kept."""


def net(space: Space, delta: float, lattice: str = "best") -> Mesh:
    """Return a mesh with every point of the space within `delta` of a mesh point, all of them in the space.

    Parameters
    ----------
    space : Space
        What to cover.
    delta : float
        Positive.
    lattice : str
        "cubic" for the grid; "best" for the fewest points among the grid, A_d* and, in boxes of two and three
        dimensions, centred lattices that fit the border.

    Raises
    ------
    MeshTooLargeError
        If it would have more points than can be held.

    Examples
    --------
    >>> import orbandit as ob
    >>> cube = ob.spaces.Box(0.0, 1.0, dim=3)
    >>> len(ob.meshes.net(cube, 0.1, lattice="cubic")), len(ob.meshes.net(cube, 0.1))
    (729, 504)
    """
    return _fewest(space, None, delta, lattice)


def quotient_net(space: Space, group: Group, delta: float, lattice: str = "best") -> Mesh:
    """Return a mesh of representatives: every point of the space is within `delta` of one in orbit distance.

    Neither the unfolded mesh nor the group is listed.

    Parameters
    ----------
    space, group
        What to cover; the group must preserve the space.
    delta : float
        Positive.
    lattice : str
        As for `net`.

    Examples
    --------
    >>> import orbandit as ob
    >>> cube, group = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
    >>> mesh = ob.meshes.quotient_net(cube, group, 0.1)
    >>> bool(group.domain().contains(mesh.points).all()), len(ob.meshes.net(cube, 0.1)) > 3 * len(mesh)
    (True, True)
    """
    if not isinstance(group, Group):
        raise InputTypeError(f"`group` must be one of ob.groups, but got {group!r}; use `net` for no symmetry.")
    if isinstance(space, Space) and not group.preserves(space):
        raise InputError(f"{group!r} does not preserve {space!r}; see `group.preserves` and `group.centered`.")
    return _fewest(space, group, delta, lattice)


def _fewest(space: Space, group: Group | None, delta: float, lattice: str) -> Mesh:
    if not isinstance(space, Space):
        raise InputTypeError(f"`space` must be one of ob.spaces, but got {space!r}.")
    if lattice not in ("best", "cubic"):
        raise InputError(f"`lattice` must be 'best' or 'cubic', but got {lattice!r}.")
    delta = as_delta(delta)
    symmetry = group or Trivial(space.dim)
    _check_size(space, symmetry, delta)
    low, high = space.bounds
    middle = symmetry.fold(space.project((low + high) / 2))
    if min(space._farthest(middle), space.diameter) <= delta:
        return Mesh(middle[None], delta, space, group)
    sets = _seeds(space, symmetry, delta, lattice)
    fewest = min((_thinned(*_pulled(seeds, space, symmetry, delta), delta) for seeds in sets), key=len)
    return Mesh(fewest, delta, space, group)


def _check_size(space: Space, group: Group, delta: float) -> None:
    """Refuse a mesh that must be too large: its balls have at least the volume of the orbit space."""
    if not group._fold_support.all():
        return  # folds lie in fewer dimensions, whose volume is not known; the lattice has a limit of its own
    d = space.intrinsic_dim
    ball = d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1) + d * math.log(delta)
    least = math.log(space.volume) - math.log(group.order) - ball
    if least > math.log(LIMIT):
        raise MeshTooLargeError(
            f"a mesh of {space!r} with delta={delta:.3g} has at least 10^{least / math.log(10):.1f} points, more "
            f"than the {LIMIT:,} that are attempted; use a larger `delta`, or a larger group."
        )


def _seeds(space: Space, group: Group, delta: float, lattice: str) -> Iterator[Array]:
    """Yield sets of points that cover the folds of the space within delta, before they are pulled in.

    The grid is skipped if it has more points per volume than a set already seen has in all.
    """
    low, high = space.bounds
    smallest = math.inf
    if lattice == "best":
        for seeds in _thin_lattices(space, group, delta):
            smallest = min(smallest, len(seeds))
            yield seeds
    if isinstance(space, Box):
        cells = box_cells(high - low, delta)
        if _per_orbit(float(np.prod(cells)), group) < smallest:
            steps = (high - low) / cells
            walls, levels = group._fold_normals, group._fold_normals @ group.center - (1 + 1e-9) * delta
            yield lattice_points(steps, 0.0, low + steps / 2, low, high, walls, levels, LIMIT)
    elif _per_orbit(space.volume, group) / cell_volume(space.intrinsic_dim, delta, "cubic") < smallest:
        yield Region.of(space, group).near_lattice(delta, "cubic", _middle(space, group), LIMIT)


def _thin_lattices(space: Space, group: Group, delta: float) -> Iterator[Array]:
    """Yield pieces of lattices thinner than the grid."""
    low, high = space.bounds
    if isinstance(space, Box) and space.dim in (2, 3):
        for points in centred_lattices(low, high, delta):
            heights: Array = (points - group.center) @ group._fold_normals.T
            yield points[(heights >= -(1 + 1e-9) * delta).all(axis=1)]
        return
    region, middle = Region.of(space, group), _middle(space, group)
    yield region.near_lattice(delta, "A*", middle, LIMIT)
    if _per_orbit(space.volume, group) / cell_volume(space.intrinsic_dim, delta, "A*") <= SMALL:
        rng = np.random.default_rng(0)
        for shift in delta * rng.uniform(-1, 1, (5, space.dim)):
            yield region.near_lattice(delta, "A*", middle + shift, LIMIT)


def _middle(space: Space, group: Group) -> Array:
    """Return the fixed point nearest to the middle of the space: a lattice about it keeps what symmetry it can."""
    low, high = space.bounds
    middle = (low + high) / 2
    moves = (group.generators - np.eye(group.dim)).reshape(-1, group.dim)
    return np.asarray(middle - np.linalg.pinv(moves) @ (moves @ (middle - group.center))) if len(moves) else middle


def _per_orbit(volume: float, group: Group) -> float:
    """Return the volume over the order, which may be too large for a float."""
    return 0.0 if group.order == math.inf else math.exp(math.log(volume) - math.log(group.order))


def _pulled(seeds: Array, space: Space, group: Group, delta: float) -> tuple[Array, Array, Array, Array]:
    """Pull seeds onto the cone of folds and the space.

    Return the folds of the pulled points with the radii rho they answer for; and, as a second certificate, the
    folds of the points pulled onto the space alone, which on lattices with the group's symmetry are other seeds.
    """
    square = np.full(len(seeds), delta**2)
    alone = space.project(seeds)
    alone_square = square - ((alone - seeds) ** 2).sum(axis=1)
    points = seeds
    for _ in range(3):
        for onto in (partial(_onto_folds, group), space.project):
            pulled = onto(points)
            square = square - ((pulled - points) ** 2).sum(axis=1)
            points = pulled
    alive = square >= -1e-12 * delta**2
    rho, alone_rho = (np.sqrt(np.maximum(s[alive], 0.0)) for s in (square, alone_square))
    return group.fold(points[alive]), rho, group.fold(alone[alive]), alone_rho


def _onto_folds(group: Group, points: Array) -> Array:
    """Return the nearest points of the cone of folds."""
    from orbandit._kernels.cones import onto_cone

    moved = np.empty_like(points)
    onto_cone(points - group.center, group._fold_normals, moved)
    return moved + group.center


def _thinned(points: Array, rho: Array, twins: Array, twin_rho: Array, delta: float) -> Array:
    """Drop points that a kept one covers for: one within delta - rho of them, or so of their twins.

    Points that answer for the largest balls are kept first. Plain distances of folds are used, which are never
    less than orbit distances.
    """
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    slack = 1e-9 * delta
    lists = [
        tree.query_ball_point(places, np.maximum(delta - radii, 0.0) + slack)
        for places, radii in ((points, rho), (twins, twin_rho))
    ]
    kept = np.zeros(len(points), dtype=bool)
    for i in np.argsort(-rho, kind="stable"):
        kept[i] = not (kept[lists[0][i]].any() or kept[lists[1][i]].any())
    return points[kept]
