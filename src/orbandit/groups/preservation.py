"""Test whether a group maps a space onto itself, from the generators and the space's constraints.

An isometry maps a compact set X onto itself as soon as it maps it into itself. X is cut out by
half-spaces { <n, x> <= b } and by balls on some of the coordinates. A half-space holds the image of
X if

    max over x in X of <n, g . x>  =  support of X at g^T n, moved by the centre,  <=  b.

A ball of two dimensions or more can only be the image of a ball, since it splits into no product
and has no corners.
"""

from collections.abc import Iterator

import numpy as np

from orbandit._checks import Array
from orbandit.groups.closure import nearest_orthogonal
from orbandit.spaces import Space

RELATIVE_SLACK = 1e-9


def preserved(space: Space, generators: Array, center: Array) -> bool:
    """Return whether every generator, acting about `center`, maps the space onto itself."""
    low, high = space.bounds
    slack = RELATIVE_SLACK * max(space.diameter, float(np.abs([low, high, center]).max()))
    normals, offsets = space.halfspaces()
    for g in _with_powers(generators):
        shift = center - g @ center  # g . x = g x + shift
        if (space.support(normals @ g) + normals @ shift > offsets + slack).any():
            return False
        if not all(
            any(_carries(g, shift, source, target, slack) for source in space.ball_constraints())
            for target in space.ball_constraints()
        ):
            return False
    return True


def _with_powers(generators: Array) -> Iterator[Array]:
    """Yield each generator, and powers g^2, g^4, ...

    Of those near the identity, until they are not.
    """
    eye = np.eye(generators.shape[-1])
    for g in generators:
        yield g
        for _ in range(60):
            # the identity but for rounding, or a proper move
            if not 1e-12 < np.abs(g - eye).max() < 0.5:
                break
            g = nearest_orthogonal(g @ g)
            yield g


def _carries(
    g: Array,
    shift: Array,
    source: tuple[slice, Array, float],
    target: tuple[slice, Array, float],
    slack: float,
) -> bool:
    """Return whether the target ball is the image of the source ball."""
    (own, center, radius), (other, other_center, other_radius) = source, target
    block = g[other, own]
    return (
        abs(radius - other_radius) <= slack
        and block.shape[0] == block.shape[1]
        and np.abs(block @ block.T - np.eye(len(block))).max() <= RELATIVE_SLACK
        and np.abs(np.delete(g[other], np.r_[own], axis=1)).max(initial=0.0) <= RELATIVE_SLACK
        and np.abs(block @ center + shift[other] - other_center).max() <= slack
    )
