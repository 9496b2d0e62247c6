"""Test on samples whether a constraint is invariant under a group."""

import numpy as np

from orbandit.errors import InputError
from orbandit.groups.base import Group
from orbandit.groups.check import describe
from orbandit.spaces.feasible_set import FeasibleSet

POINTS, RANDOM_ELEMENTS = 256, 16
"""Points that are moved, half of them feasible, and random elements that move them besides the
generators."""
ROUNDING = 1e-6
"""Margins of images may differ by this fraction of the largest one; and one of them may be feasible
and the other not only if both are below this fraction of the median on either side."""


def check_invariant(region: FeasibleSet, group: Group) -> None:
    """Refuse a constraint that samples show not to be invariant under the group.

    Examples
    --------
    >>> import orbandit as ob
    >>> region = FeasibleSet(ob.spaces.Box(0.0, 1.0, dim=2), lambda x: x[:, 0] <= 0.9)
    >>> check_invariant(region, ob.groups.Symmetric(2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    orbandit.errors.InputError: `feasible` must be invariant under the group, but what swaps
    coordinates 0 and 1 ...
    """
    rng = np.random.default_rng(0)
    elements = np.concatenate([group.generators, group.random(RANDOM_ELEMENTS, rng)])
    half = max(POINTS // 2, len(elements))
    points = np.concatenate([region.space.sample(half, rng), region.sample(half, rng)])
    moving = elements[np.arange(len(points)) % len(elements)]
    images = region.space.project(group.act(moving, points, paired=True))
    before, after = region.margins(points), region.margins(images)
    finite = np.isfinite(before) & np.isfinite(after)
    apart = np.abs(np.where(finite, after, 0.0) - np.where(finite, before, 0.0))
    sizes, largest = np.abs(before), float(np.abs(before[finite]).max(initial=0.0))
    sides = [sizes[finite & (before >= 0)], sizes[finite & (before < 0)]]
    usual = min((float(np.median(side)) for side in sides if len(side)), default=0.0)
    # large margins elsewhere must not hide that those of a point differ
    crossed = ((before >= 0) != (after >= 0)) & (np.maximum(np.abs(before), np.abs(after)) > ROUNDING * usual)
    broken = np.where(finite, (apart > ROUNDING * largest) | crossed, before != after)
    if broken.any():
        first = int(np.flatnonzero(broken)[0])
        raise InputError(
            f"`feasible` must be invariant under the group, but what {describe(moving[first])} takes "
            f"{region.named(points[first])}, where it says {_said(before[first])}, to "
            f"{region.named(images[first])}, where it says {_said(after[first])}; fix `feasible`, or leave this "
            "element out of the group.",
            field="feasible",
        )


def _said(margin: float) -> str:
    return f"{margin:.9g} ({'feasible' if margin >= 0 else 'not feasible'})"
