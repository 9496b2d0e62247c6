"""Scenes: the geometry of pictures of a problem, in the plane or in space, independent of drawing.

A scene has the space's outline, the mean reward on it, the fundamental domain, and the orbit of the
best point. A flat space in three dimensions, the shares of three parts, is drawn in its own plane.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, HalfspaceIntersection

from orbandit._checks import Array
from orbandit.errors import GroupTooLargeError, NoDomainError
from orbandit.groups import Domain, Group
from orbandit.pictures.outlines import extremes, flat_directions
from orbandit.problems import Problem

GRID = 121
"""Places along each side of the picture of a mean."""
DIRECTIONS = 2_000
SUBDIVISIONS = 3
"""How often each triangle of a solid's surface is divided in four, so that colours follow the
mean."""
MAX_ORBIT = 500
"""Larger orbits are left out of a picture."""
SHARP = np.cos(np.radians(20.0))
"""Faces that meet at less than 20 degrees have no edge drawn between them."""

Triangles = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Plane:
    """A flat of two dimensions: points are origin + coordinates @ axes."""

    origin: Array
    axes: Array

    def lift(self, coordinates: Array) -> Array:
        """Return the points of coordinates (m, 2)."""
        return self.origin + coordinates @ self.axes

    def lay(self, points: Array) -> Array:
        """Return the coordinates of points (m, dim)."""
        return (points - self.origin) @ self.axes.T


@dataclass(frozen=True)
class PlanarScene:
    """A picture in the plane.

    Attributes
    ----------
    plane : Plane
        Where it lies.
    outline, cell : (m, 2) arrays
        Corners of the space and of the part in the fundamental domain, which is empty if there is
        none.
    x, y, mean : (k,), (k,) and (k, k) arrays
        The mean reward at (x[j], y[i]), NaN outside the space.
    best, orbit : (2,) and (m, 2) arrays
        The best point and its images.
    """

    plane: Plane
    outline: Array
    cell: Array
    x: Array
    y: Array
    mean: Array
    best: Array
    orbit: Array


@dataclass(frozen=True)
class Solid:
    """A convex body: corners, triangles between them, and edges as lines between two points each."""

    corners: Array
    triangles: Triangles
    edges: Array


@dataclass(frozen=True)
class SolidScene:
    """A picture in space.

    Attributes
    ----------
    body, cell : Solid
        The space, and its part in the fundamental domain, which is None if there is none.
    mean : (corners,) array
        The mean reward at the body's corners.
    best, orbit : (3,) and (m, 3) arrays
        The best point and its images.
    """

    body: Solid
    cell: Solid | None
    mean: Array
    best: Array
    orbit: Array


def scene_of(problem: Problem) -> PlanarScene | SolidScene | None:
    """Return the picture of a problem, or None if its space is neither a plane's nor three-dimensional."""
    space = problem.space
    if space.intrinsic_dim == 2 and space.dim <= 3:
        return _planar(problem)
    return _solid(problem) if space.intrinsic_dim == 3 and space.dim == 3 else None


def _planar(problem: Problem) -> PlanarScene:
    plane = Plane(*problem.space.frame())
    outline = plane.lay(extremes(problem.space, flat_directions() @ plane.axes))
    low, high = outline.min(axis=0), outline.max(axis=0)
    x, y = (np.linspace(a, b, GRID) for a, b in zip(low, high, strict=True))
    places = plane.lift(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2))
    mean = np.full(len(places), np.nan)
    inside = problem.space.contains(places, tol=1e-9 * problem.space.diameter)
    mean[inside] = problem.mean(places[inside])
    domain = _domain(problem.group)
    cell = np.empty((0, 2))
    if domain is not None:
        flat = Domain(domain.normals @ plane.axes.T, plane.lay(domain.center[None])[0])
        cell = clip(outline, flat)
    best = np.asarray(problem.optimizer)
    orbit = plane.lay(_orbit(problem.group, best))
    return PlanarScene(plane, outline, cell, x, y, mean.reshape(GRID, GRID), plane.lay(best[None])[0], orbit)


def _solid(problem: Problem) -> SolidScene:
    corners = extremes(problem.space, _all_round())
    body = _hull(corners)
    equations = ConvexHull(corners).equations
    cell = None
    domain = _domain(problem.group)
    if domain is not None and problem.group is not None:
        faces = np.column_stack([-domain.normals, domain.normals @ domain.center])
        inside = problem.group.fold(problem.space.sample(64, np.random.default_rng(0))).mean(
            axis=0
        )  # convex, so inside
        cell = _hull(HalfspaceIntersection(np.vstack([equations, faces]), inside).intersections)
    fine = _divided(body)
    best = np.asarray(problem.optimizer)
    means = problem.mean(problem.space.project(fine.corners))
    return SolidScene(fine, cell, np.asarray(means), best, _orbit(problem.group, best))


def clip(polygon: Array, domain: Domain) -> Array:
    """Return the part of a convex polygon within the domain, one half-plane after the other."""
    for normal in domain.normals:
        heights = (polygon - domain.center) @ normal
        kept = []
        for i, (corner, height) in enumerate(zip(polygon, heights, strict=True)):
            before, height_before = polygon[i - 1], heights[i - 1]
            if height * height_before < 0:  # the edge crosses the wall
                kept.append(before + (corner - before) * height_before / (height_before - height))
            if height >= 0:
                kept.append(corner)
        polygon = np.array(kept)
    return polygon


def _all_round() -> Array:
    """Return directions of space, evenly spread: points of a sphere at the golden angle."""
    steps = np.arange(DIRECTIONS) + 0.5
    height, angle = 1 - 2 * steps / DIRECTIONS, np.pi * (1 + np.sqrt(5)) * steps
    radius = np.sqrt(1 - height**2)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])


def _hull(points: Array) -> Solid:
    """Return the convex hull, with edges where it bends."""
    size = np.ptp(points, axis=0).max()
    _, first = np.unique((points / (1e-6 * size)).round(), axis=0, return_index=True)
    points = points[np.sort(first)]
    hull = ConvexHull(points)
    normals = hull.equations[:, :-1]
    edges = [
        points[[corner for corner in triangle if corner != triangle[place]]]
        for face, triangle in enumerate(hull.simplices)
        for place, other in enumerate(hull.neighbors[face])
        if face < other and normals[face] @ normals[other] < SHARP
    ]
    return Solid(points, hull.simplices.astype(np.intp), np.array(edges).reshape(-1, 2, 3))


def _divided(solid: Solid) -> Solid:
    """Return the same body with smaller triangles, unless it has many already."""
    corners, triangles = solid.corners, solid.triangles
    for _ in range(SUBDIVISIONS):
        if len(triangles) > 1_000:
            break
        sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        unique, place = np.unique(sides, axis=0, return_inverse=True)
        ab, bc, ca = (len(corners) + place.reshape(-1, 3)).T
        corners = np.vstack([corners, corners[unique].mean(axis=1)])
        a, b, c = triangles.T
        quarters = [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
        triangles = np.concatenate([np.column_stack(quarter) for quarter in quarters])
    return Solid(corners, triangles, solid.edges)


def _domain(group: Group | None) -> Domain | None:
    if group is None or group.order == 1:
        return None
    try:
        return group.domain()
    except (NoDomainError, GroupTooLargeError):
        return None


def _orbit(group: Group | None, point: Array) -> Array:
    """Return the images of a point; itself alone if there are too many to draw."""
    if group is None or not group.order <= MAX_ORBIT * 10:
        return point[None]
    orbit = group.orbit(point)
    return orbit if len(orbit) <= MAX_ORBIT else point[None]
