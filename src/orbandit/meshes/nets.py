"""Nets: meshes that cover a space, or its orbits, within delta, with few points.

Each lattice point v covers its Voronoi cell, which lies within delta of it. Projecting v onto a
convex set that contains the part of X to be covered takes it no farther from any point there: with
t the distance it moves,

    ||x - projected v||^2  <=  ||x - v||^2 - t^2  <=  delta^2 - t^2  =:  rho^2.

So v may be projected onto the cone of folds and onto X in turn, each time with a smaller radius
rho; if rho^2 becomes negative, its cell misses X. A point is redundant if another one is kept
within delta - rho of it, which then covers its cell.

With a group, only the part of X that folds lie in needs covering: every x in X is within delta, in
the orbit metric, of a point that is within delta of fold(x).
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from orbandit._checks import Array, as_positive, shown
from orbandit.errors import InputError, InputTypeError, MeshTooLargeError
from orbandit.groups import Group, Trivial
from orbandit.groups.base import check_fit
from orbandit.meshes.lattices import box_cells, cell_volume, centred_lattices, lattice_points
from orbandit.meshes.mesh import Mesh
from orbandit.meshes.region import Region
from orbandit.spaces import Box, Space

MAX_LATTICE_POINTS = 5_000_000
"""Most lattice points tried for one net."""

MAX_ANCHORED_POINTS = 20_000
"""Lattices with at most so many points near the space are tried with several shifts; the best is
kept."""

MAX_LATTICE_DIM = 8
"""In more dimensions only a grid that is invariant under the group is tried, if there is one: most
points of other lattices are near walls, where they are cut, which takes too long."""


def net(space: Space, delta: float, lattice: str = "best") -> Mesh:
    """Return a mesh with every point of the space within `delta` of a mesh point, all of them in the space.

    Parameters
    ----------
    space : Space
        The space to cover.
    delta : float
        The covering radius, positive.
    lattice : "best" or "cubic", default "best"
        "cubic" for the grid; "best" for the fewest points among the grid, A_d* and, in boxes of two
        and three dimensions, centred lattices that fit the border.

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
    space : Space
        The space to cover.
    group : Group
        The symmetry, which must map the space onto itself.
    delta : float
        The covering radius in the orbit metric, positive.
    lattice : "best" or "cubic", default "best"
        "cubic" for the grid; "best" for the fewest points among the grid, A_d* and, in boxes of two
        and three dimensions, centred lattices that fit the border.

    Examples
    --------
    >>> import orbandit as ob
    >>> cube, group = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
    >>> mesh = ob.meshes.quotient_net(cube, group, 0.1)
    >>> bool(group.domain().contains(mesh.points).all()), len(ob.meshes.net(cube, 0.1)) > 3 * len(mesh)
    (True, True)
    """
    if not isinstance(group, Group):
        raise InputTypeError(f"`group` must be one of ob.groups, but got {shown(group)}; use `net` for no symmetry.")
    check_fit(space, group)
    return _fewest(space, group, delta, lattice)


def _fewest(space: Space, group: Group | None, delta: float, lattice: str) -> Mesh:
    if not isinstance(space, Space):
        raise InputTypeError(f"`space` must be one of ob.spaces, but got {shown(space)}.")
    if not isinstance(lattice, str) or lattice not in ("best", "cubic"):
        raise InputError(f"`lattice` must be 'best' or 'cubic', but got {shown(lattice)}.")
    delta = as_positive(delta, "delta")
    symmetry = group or Trivial(space.dim)
    low, high = space.bounds
    middle = symmetry.fold(space.project((low + high) / 2))
    if min(space.farthest_distance(middle), space.diameter) <= delta:
        return Mesh(middle[None], delta, space, group)
    _check_size(space, symmetry, delta)
    best, refusal = _invariant_grid(space, symmetry, delta), None
    if best is not None and space.intrinsic_dim > MAX_LATTICE_DIM:
        return Mesh(best, delta, space, group)
    for about, make in _candidates(space, symmetry, delta, lattice):
        if best is not None and about >= len(best):
            continue
        try:
            for seeds in make():
                points = _thinned(*_pulled(seeds, space, symmetry, delta), delta)
                if best is None or len(points) < len(best):
                    best = points
        except MeshTooLargeError as error:  # another lattice may do
            refusal = error
    if best is None:
        raise refusal or MeshTooLargeError(f"no lattice was tried for {shown(space)} with delta={delta}.")
    return Mesh(best, delta, space, group)


def _check_size(space: Space, group: Group, delta: float) -> None:
    """Refuse a mesh that would be too large."""
    least = log_least_size(space, group, delta)
    if least > math.log(MAX_LATTICE_POINTS):
        raise MeshTooLargeError(
            f"a mesh of {shown(space)} with delta={delta:.3g} has at least 10^{least / math.log(10):.1f} points, more "
            f"than the {MAX_LATTICE_POINTS:,} that are attempted; use a larger `delta`, or a larger group."
        )


def log_least_size(space: Space, group: Group, delta: float) -> float:
    """Return the logarithm of a volume lower bound on the number of points of a net.

    Minus infinity if the volume of the folds is not known.
    """
    if not group.fold_support.all() or not 0 < space.volume < math.inf:
        return -math.inf
    d = space.intrinsic_dim
    ball = d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1) + d * math.log(delta)
    return math.log(space.volume) - math.log(group.order) - ball


def _candidates(
    space: Space, group: Group, delta: float, lattice: str
) -> Iterator[tuple[float, Callable[[], Iterator[Array]]]]:
    """Yield (estimated number of points, a maker of seeds) for each kind of lattice.

    Seeds are points that cover the folds of the space within delta, before they are projected.
    """
    d = space.intrinsic_dim
    if isinstance(space, Box):
        low, high = space.bounds
        yield _per_orbit(math.prod(box_cells(high - low, delta).tolist()), group), partial(_grid, space, group, delta)
        if lattice == "best" and d in (2, 3):
            yield 0.0, partial(_centred, space, group, delta)
            return
    if lattice == "best":
        about = _per_orbit(space.volume, group) / cell_volume(d, delta, "A*")
        yield about, partial(_lattice, space, group, delta, "A*")
    if not isinstance(space, Box):
        about = _per_orbit(space.volume, group) / cell_volume(d, delta, "cubic")
        yield about, partial(_lattice, space, group, delta, "cubic")


def _grid(space: Box, group: Group, delta: float) -> Iterator[Array]:
    """Yield the grid whose cells fill a box."""
    low, high = space.bounds
    steps = (high - low) / box_cells(high - low, delta)
    walls, levels = group.fold_normals, group.fold_normals @ group.center - (1 + 1e-9) * delta
    yield lattice_points(steps, 0.0, low + steps / 2, low, high, walls, levels, MAX_LATTICE_POINTS)


def _invariant_grid(space: Space, group: Group, delta: float) -> Array | None:
    """Return representatives of a grid in a box that the group maps onto itself; None if there is no such grid.

    For v the grid point nearest to x, fold(v) is a grid point too, and d_G(x, fold(v)) <= ||x - v||
    <= delta: no projection or thinning is needed. The generators must permute coordinates, up to
    signs.
    """
    moves = np.abs(np.concatenate([group.generators, np.eye(space.dim)[None]]))
    if group.order == 1 and space.dim <= MAX_LATTICE_DIM:  # the grid that is tried anyway
        return None
    if not isinstance(space, Box) or not np.isclose(moves, moves.round(), atol=1e-9).all():
        return None
    low, high = space.bounds
    cells = box_cells(high - low, delta)
    for _ in range(space.dim):  # equal along the orbits of coordinates
        cells = np.maximum(cells, (moves.round() * cells).max(axis=(0, 2)))
    steps = (high - low) / cells
    walls = group.fold_normals
    levels = walls @ group.center - 1e-9 * steps.max()
    try:
        folds = group.fold(lattice_points(steps, 0.0, low + steps / 2, low, high, walls, levels, MAX_LATTICE_POINTS))
    except MeshTooLargeError:
        return None
    _, first = np.unique(((folds - low) / steps).round(3), axis=0, return_index=True)
    return folds[np.sort(first)]


def _centred(space: Box, group: Group, delta: float) -> Iterator[Array]:
    """Yield the centred lattices that fit a box of two or three dimensions."""
    low, high = space.bounds
    for points in centred_lattices(low, high, delta):
        heights: Array = (points - group.center) @ group.fold_normals.T
        yield points[(heights >= -(1 + 1e-9) * delta).all(axis=1)]


def _lattice(space: Space, group: Group, delta: float, kind: str) -> Iterator[Array]:
    """Yield a lattice about the middle, and the thin one about a few other points too if it is small."""
    region, middle = Region.of(space, group), _middle(space, group)
    seeds = region.near_lattice(delta, kind, middle, MAX_LATTICE_POINTS)
    yield seeds
    if kind == "A*" and len(seeds) <= MAX_ANCHORED_POINTS:
        for shift in delta * np.random.default_rng(0).uniform(-1, 1, (5, space.dim)):
            yield region.near_lattice(delta, kind, middle + shift, MAX_LATTICE_POINTS)


def _middle(space: Space, group: Group) -> Array:
    """Return the fixed point nearest to the middle of the space: a lattice about it keeps what symmetry it can."""
    low, high = space.bounds
    middle = (low + high) / 2
    moves = (group.generators - np.eye(group.dim)).reshape(-1, group.dim)
    return np.asarray(middle - np.linalg.pinv(moves) @ (moves @ (middle - group.center))) if len(moves) else middle


def _per_orbit(volume: float, group: Group) -> float:
    """Return the volume over the order, which may be too large for a float; 0 if nothing can be said."""
    if volume in (0.0, math.inf) or group.order == math.inf:
        return 0.0
    return math.exp(math.log(volume) - math.log(group.order))


def _pulled(seeds: Array, space: Space, group: Group, delta: float) -> tuple[Array, Array, Array, Array]:
    """Project seeds onto the cone of folds and the space.

    Return the folds of the projected points with their radii rho; and, as a second certificate, the
    folds of the points projected onto the space alone, which on invariant lattices are other seeds.
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
    folded = group.fold(points[alive])
    same = group.order == 1 and np.array_equal(points[alive], alone[alive])
    return folded, rho, folded if same else group.fold(alone[alive]), alone_rho


def _onto_folds(group: Group, points: Array) -> Array:
    """Return the nearest points of the cone of folds."""
    from orbandit._kernels.cones import onto_cone

    moved = np.empty_like(points)
    onto_cone(points - group.center, group.fold_normals, moved)
    return moved + group.center


def _thinned(points: Array, rho: Array, twins: Array, twin_rho: Array, delta: float) -> Array:
    """Drop redundant points: those with a kept one within delta - rho of them, or of their twins.

    Points with the largest rho are kept first. Plain distances of folds are used, which are never
    less than orbit distances.
    """
    from scipy.spatial import cKDTree

    if (rho >= delta).all() and points is twins:
        return points  # nothing was pulled or folded
    tree = cKDTree(points)
    reach, twin_reach = (np.maximum(delta - radii, 0.0) + 1e-9 * delta for radii in (rho, twin_rho))
    kept = np.zeros(len(points), dtype=bool)
    order = np.argsort(-rho, kind="stable")
    # all lists at once may not fit into memory
    for some in np.split(order, range(2_000, len(order), 2_000)):
        near, twins_near = (
            tree.query_ball_point(places[some], radii[some]) for places, radii in ((points, reach), (twins, twin_reach))
        )
        for i, here, there in zip(some, near, twins_near, strict=True):
            kept[i] = not (kept[here].any() or kept[there].any())
    return points[kept]
