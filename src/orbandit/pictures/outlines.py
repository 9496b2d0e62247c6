"""Outlines of convex sets: extreme points, in the order of their directions."""

import numpy as np

from orbandit._checks import Array
from orbandit.spaces import Space


def extremes(space: Space, directions: Array) -> Array:
    """Return the extreme points of a space in directions (m, dim), in their order; equal neighbours are one."""
    middle = np.mean(space.bounds, axis=0)
    points = space.project(middle + 1e3 * space.diameter * directions)
    kept = np.ones(len(points), dtype=bool)
    kept[1:] = np.linalg.norm(np.diff(points / space.diameter, axis=0), axis=1) > 1e-6
    return points[kept]


def flat_directions(many: int = 720) -> Array:
    """Return directions of the plane, evenly spread and in order."""
    angles = 2 * np.pi * np.arange(many) / many
    return np.column_stack([np.cos(angles), np.sin(angles)])
