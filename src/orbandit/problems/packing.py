"""Packings of orbits: points whose orbits keep a distance, as many as fit without moving any.

A point may be added to W as long as it is farther than delta from all of W. First uniform points
are tried in turn, then a local search for the largest hole left. It may miss holes: W is maximal as
far as the search can tell.
"""

import math

import numpy as np
from scipy.spatial import cKDTree  # here, since groups need it in the first round of a run, which may have a limit

from orbandit._checks import Array
from orbandit.errors import MeshTooLargeError
from orbandit.groups import Group, Trivial
from orbandit.problems.search import Values, climb
from orbandit.spaces import Space

LIMIT = 20_000
"""Most points of a packing."""

SAMPLED = 2048
QUIET = 4
"""Batches without a new point that end the sampling, and rounds without one that end the search."""


def pack(space: Space, group: Group | None, delta: float, rng: np.random.Generator) -> Array:
    """Return points of the space, (k, dim), whose orbits are farther than delta apart."""
    symmetry = group or Trivial(space.dim)
    # Balls around a maximal packing cover X/G. (The quotient by an infinite group has another
    # dimension.)
    if not math.isinf(symmetry.order) and log_ball_count(space, delta) - math.log(symmetry.order) > math.log(LIMIT):
        raise MeshTooLargeError(
            f"a packing with delta={delta:g} would have more than {LIMIT:,} points; use a larger `delta`."
        )
    return _packed(space, symmetry, delta, rng)


def pack_strictly(space: Space, group: Group | None, delta: float, rng: np.random.Generator) -> Array:
    """Return a packing of the fundamental domain within the space, each point farther than delta from its boundary.

    This is the strict packing of Appendix C. It may be empty: see `deepest`.

    Raises
    ------
    NoDomainError
        If the group has no polyhedral domain.
    """
    depth, middle = depths(space, group), deepest(space, group, rng)
    if float(depth(middle[None])[0]) <= delta:
        return np.empty((0, space.dim))
    return _packed(space, Trivial(space.dim), delta, rng, depth, middle)


def _packed(
    space: Space,
    metric: Group,
    delta: float,
    rng: np.random.Generator,
    depth: Values | None = None,
    first: Array | None = None,
) -> Array:
    packing = np.empty((0, space.dim)) if first is None else first[None]

    def room(points: Array) -> Array:
        """Return the distance of points to the packing, or to the boundary if less, minus delta."""
        far = nearest(points) if len(packing) else np.full(len(points), space.diameter + delta)
        return far - delta if depth is None else np.minimum(far, depth(points)) - delta

    quiet, nearest = 0, _distance_to(packing, metric)
    while quiet < QUIET:
        sample = space.sample(SAMPLED, rng)
        # shrink towards the deepest point, so that small domains are not missed
        if depth is not None:
            sample = packing[0] + rng.random((SAMPLED, 1)) * (sample - packing[0])
        fitting = _kept(sample[room(sample) > 0], metric, delta)
        packing = np.concatenate([packing, fitting])
        quiet, nearest = 0 if len(fitting) else quiet + 1, _distance_to(packing, metric)
        if len(packing) > LIMIT:
            raise MeshTooLargeError(f"a packing with delta={delta:g} has more than {LIMIT:,} points.")
    quiet = 0
    while quiet < QUIET:
        sample = space.sample(SAMPLED, rng)
        sample = sample[np.argsort(-room(sample))[:32]]
        ends, left = climb(room, space, sample, rng, rounds=40)
        fitting = _kept(ends[left > 0], metric, delta)
        packing = np.concatenate([packing, fitting])
        quiet, nearest = 0 if len(fitting) else quiet + 1, _distance_to(packing, metric)
    return packing


def _distance_to(packing: Array, metric: Group) -> Values:
    """Return the function that measures the distance of orbits to the nearest of the packing, which has points."""
    if not metric.is_reflection or not len(packing):
        return lambda points: np.asarray(metric.distance(points, packing)).min(axis=1)
    tree = cKDTree(metric.fold(packing))
    return lambda points: np.asarray(tree.query(metric.fold(points))[0])


def _kept(points: Array, metric: Group, delta: float) -> Array:
    """Return the points that keep their distance from those kept before them."""
    kept = points[:0]
    while len(points):
        kept = np.concatenate([kept, points[:1]])
        points = points[np.asarray(metric.distance(points, points[0])) > delta]
    return kept


def depths(space: Space, group: Group | None) -> Values:
    """Return the function that measures how deep points are in the fundamental domain cut with the space: >= 0 inside.

    Distances are within the space's own flat, so that a simplex has an inside too.
    """
    axes = space.frame()[1]
    normals, offsets = space.halfspaces()
    walls, heights = [-normals], [offsets]
    if group is not None:
        domain = group.domain()
        walls.append(domain.normals)
        heights.append(-domain.normals @ domain.center)
    inward, level = np.concatenate(walls), np.concatenate(heights)
    slopes = np.linalg.norm(inward @ axes.T, axis=1)
    keep = slopes > 1e-9  # the others hold everywhere on the flat
    inward, level = inward[keep] / slopes[keep, None], level[keep] / slopes[keep]
    rounds = space.ball_constraints()

    def depth(points: Array) -> Array:
        flat = [points @ inward.T + level] if len(inward) else []
        curved = [(r - np.linalg.norm(points[:, part] - c, axis=1))[:, None] for part, c, r in rounds]
        return np.asarray(np.concatenate([*flat, *curved], axis=1).min(axis=1))

    return depth


def deepest(space: Space, group: Group | None, rng: np.random.Generator) -> Array:
    """Return the point of the domain cut with the space that is farthest from its boundary.

    The depth is the least of concave functions, so that climbers have one summit to find.
    """
    depth = depths(space, group)
    sample = space.sample(SAMPLED, rng)
    if group is not None:
        sample = np.asarray(group.fold(sample))
    sample = sample[np.argsort(-depth(sample))[:8]]
    points, found = climb(depth, space, sample, rng)
    return np.asarray(points[found.argmax()])


def log_ball_count(space: Space, delta: float) -> float:
    """Return the logarithm of vol(X) / vol(ball of radius delta): no fewer balls cover X."""
    d = space.intrinsic_dim
    return math.log(space.volume) - d / 2 * math.log(math.pi) + math.lgamma(d / 2 + 1) - d * math.log(delta)
