"""quotient_kernel: the invariant kernel for a space and a group, by the structure of the group.

========================  ==========================================================================================
`Group.structure`         kernel
========================  ==========================================================================================
none is asked for         no group, and reflection groups: k of the distance of folds, which is the orbit distance:
                          the max kernel, at the cost of one fold per point; if the mean is taken to
                          be smooth, k averaged over up to MAX_AVERAGED_REFLECTIONS elements
`Multisets`               exchanges of blocks: k of a distance of multisets, see `Layouts`
`GramMatrices`            Orthogonal: k of the distance of invariants, see `Gram`
`Rearranged`              Diagonal: that of the group which moves all copies together
`SideBySide`              Product: k of the sum of the parts' squared distances, times the kernels of listed parts
`Extension`               Joint: that of the normal subgroup, averaged over cosets; k averaged over the group if that
                          kernel is not invariant under the cosets, or for few permuted coordinates of a smooth mean
`Listed`                  all others, with at most MAX_AVERAGED elements: k averaged over the group
========================  ==========================================================================================

`multiset_kernel` is the same, but that permutations of coordinates, which are reflection groups,
have a distance of multisets, too.

Averages are scaled to prior variances of 1, see `Level`. All kernels are positive definite and
invariant, whatever the positive length scales; other groups are refused.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from orbandit._checks import Array, shown
from orbandit.agents.gaussian.averaged import Averaged, Times
from orbandit.agents.gaussian.base import Index, Metric, QuotientKernel
from orbandit.agents.gaussian.distances import Distances
from orbandit.agents.gaussian.euclidean import Aligned, Folded, Gram
from orbandit.agents.gaussian.families import Family, family_named
from orbandit.agents.gaussian.layouts import Layouts
from orbandit.agents.gaussian.level import Level
from orbandit.agents.gaussian.radial import Sum, radial
from orbandit.errors import GroupTooLargeError
from orbandit.groups import Group, Trivial
from orbandit.groups.base import check_fit
from orbandit.groups.closure import generic_point
from orbandit.groups.structures import Extension, GramMatrices, Multisets, Rearranged, SideBySide
from orbandit.groups.units import scale_classes
from orbandit.spaces import Space

__all__ = [
    "MAX_AVERAGED",
    "QuotientKernel",
    "aligned_kernel",
    "distance_kernel",
    "is_of_folds",
    "multiset_kernel",
    "plain_kernel",
    "quotient_kernel",
]

MAX_AVERAGED = 128
"""Most elements that a kernel is averaged over: the cost is proportional to their number."""

MAX_AVERAGED_REFLECTIONS = 24
"""Reflection groups up to this order are averaged over if the mean is smooth."""


class _Setting(NamedTuple):
    """What the kernels of all parts share."""

    whole: Group
    classes: Index
    widths: Array
    family: Family
    is_smooth: bool
    by_multisets: bool = False


def quotient_kernel(
    space: Space, group: Group | None = None, family: str = "matern52", is_smooth: bool = False
) -> QuotientKernel:
    """Return the kernel of a family on the quotient of a space by a group.

    Parameters
    ----------
    space : Space
        Where points live.
    group : Group, optional
        It must map the space to itself; None is no symmetry.
    family : str
        "matern12", "matern32", "matern52" or "rbf".
    is_smooth : bool
        Whether the mean is taken to be smooth across the walls of a reflection group. The max
        kernel allows for a kink there; the kernel averaged over the group does not.

    Raises
    ------
    GroupTooLargeError
        If the group, or a part of it, has no closed form and more than 128 elements.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> kernel = quotient_kernel(ob.spaces.Box(0, 1, dim=3), ob.groups.Symmetric(3))
    >>> kernel.n_scales, kernel.unit
    (1, array([1.]))
    >>> a = kernel.features(np.array([[0.1, 0.2, 0.9], [0.9, 0.1, 0.2]]))
    >>> kernel.cross(a, a, 0.3 * kernel.unit)
    array([[1., 1.],
           [1., 1.]])
    """
    check_fit(space, group)
    group = Trivial(space.dim) if group is None else group
    classes = scale_classes(group.generators)
    setting = _Setting(group, classes, _widths(space, classes), family_named(family), is_smooth)
    return _as_kernel(_part(group, np.arange(group.dim), setting), setting)


def multiset_kernel(space: Space, group: Group, family: str) -> QuotientKernel | None:
    """Return the kernel by distances of multisets where `quotient_kernel` is one of folds.

    None if the group, or a part of it, is no such group: a large one that permutes coordinates,
    with or without signs. Sums over coordinates, and the like, extrapolate by it.

    Examples
    --------
    >>> import orbandit as ob
    >>> space = ob.spaces.Box(0, 1, dim=5)
    >>> multiset_kernel(space, ob.groups.Symmetric(5), "matern52").has_reach
    True
    >>> multiset_kernel(space, ob.groups.SignFlips(5).centered([0.5] * 5), "matern52") is None
    True
    """
    if not _has_multisets(group):
        return None
    classes = scale_classes(group.generators)
    setting = _Setting(
        group, classes, _widths(space, classes), family_named(family), is_smooth=False, by_multisets=True
    )
    return _as_kernel(_part(group, np.arange(group.dim), setting), setting)


def aligned_kernel(space: Space, group: Group, family: str, reference: Array) -> QuotientKernel:
    """Return the plain kernel in coordinates aligned to a reference point, see `Aligned`.

    It uses the group only to align points. It may be the more likely model if layouts far from all
    images of the best one are nearly uncorrelated with it.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> space, group = ob.spaces.Box(0, 1, dim=4), ob.groups.BlockPermutation(2, 2)
    >>> kernel = aligned_kernel(space, group, "matern52", np.array([0.1, 0.2, 0.8, 0.9]))
    >>> kernel.features(np.array([[0.9, 0.8, 0.2, 0.1], [0.2, 0.1, 0.9, 0.8]]))
    array([[0.2, 0.1, 0.9, 0.8],
           [0.2, 0.1, 0.9, 0.8]])
    """
    classes = scale_classes(group.generators)
    return radial(_widths(space, classes), Aligned(group, reference, classes), family_named(family))


def distance_kernel(space: Space, group: Group, family: str, sizes: Array | None = None) -> QuotientKernel | None:
    """Return the kernel by distances between exchangeable units, see `Distances`; None if there are no such units.

    Of a product with several kinds of units there are distances within each kind, and between kinds
    whose units move in the same region, a single unit among them; `sizes` are the units of the
    coordinates, by default alike. Of a `Joint` the first group is what exchanges units, and
    distances from the only point that the group fixes count as well. Distances that an element of
    the group changes, in length scales, do not count.

    Examples
    --------
    >>> import orbandit as ob
    >>> sensors = ob.groups.BlockPermutation(5, 2)
    >>> distance_kernel(ob.spaces.Box(0, 1, dim=10), sensors, "matern52").n_scales
    3
    >>> distance_kernel(ob.spaces.Box(0, 1, dim=5), ob.groups.Symmetric(5), "matern52") is None
    True
    """
    classes = scale_classes(group.generators)
    found = _exchanged(group, np.arange(group.dim))
    within = [(each,) for each in found if each[0].blocks > 1]
    if not within:
        return None
    ends = np.array([*space.bounds, group.center]) * (1.0 if sizes is None else sizes)
    between = [pair for pair in combinations(found, 2) if _meet(*pair, ends)]
    fixed = group.dim - np.linalg.matrix_rank(np.concatenate(group.generators - np.eye(group.dim)))
    central = [] if fixed or not isinstance(group.structure, Extension) else [(each,) for each in found]
    widths = _widths(space, classes)

    def distances(*kinds: tuple[Multisets, Index], is_central: bool = False) -> Distances:
        units, columns = [kind for kind, _ in kinds], np.concatenate([own for _, own in kinds])
        is_about = len(kinds) == 1 or units[0].is_signed  # else any point is a centre
        center = group.center[columns] if is_about else np.zeros(len(columns))
        return Distances(*units, columns=columns, center=center, classes=classes[columns], is_central=is_central)

    def is_kept(part: Distances) -> bool:
        """Whether no element changes these distances."""
        lengths = np.append(widths, 1.0) / 2
        point = group.center + widths[classes] * generic_point(group.dim)
        images = part.features(np.atleast_2d(group.act(group.generators, point)))
        own = np.repeat(part.features(point[None]), len(images), axis=0)
        return bool(part.squared_paired(own, images, lengths).max(initial=0.0) <= 1e-6)

    parts = [distances(*kinds) for kinds in [*within, *between]]
    parts += [distances(*kinds, is_central=True) for kinds in central]
    kept = [part for part in parts if is_kept(part)]
    if not kept:
        return None
    return radial(widths, kept[0] if len(kept) == 1 else Sum(list(kept)), family_named(family))


def plain_kernel(space: Space, group: Group, family: str) -> QuotientKernel:
    """Return the kernel without the symmetry; coordinates the group mixes share a length scale.

    Examples
    --------
    >>> import orbandit as ob
    >>> plain_kernel(ob.spaces.Box(0, 1, dim=4), ob.groups.BlockPermutation(2, 2), "rbf").n_scales
    2
    """
    classes = scale_classes(group.generators)
    widths = _widths(space, classes)
    metric = Folded(Trivial(space.dim), np.arange(space.dim), np.zeros(space.dim), classes, len(widths))
    return radial(widths, metric, family_named(family))


def is_of_folds(group: Group, is_smooth: bool) -> bool:
    """Whether `quotient_kernel` is k of the distance of folds.

    Examples
    --------
    >>> import orbandit as ob
    >>> is_of_folds(ob.groups.Symmetric(3), is_smooth=False), is_of_folds(ob.groups.Symmetric(3), is_smooth=True)
    (True, False)
    """
    return group.is_reflection and not (is_smooth and 1 < group.order <= MAX_AVERAGED_REFLECTIONS)


def _exchanged(group: Group, columns: Index) -> list[tuple[Multisets, Index]]:
    """Return the kinds of units of several coordinates that a group has, with their columns.

    What it moves not at all is one unit.
    """
    if group.order == 1 and group.dim > 1:
        return [(Multisets(1, group.dim, is_signed=False), columns)]
    match group.structure:
        case Multisets() as units if units.blocks > 1 and units.size > 1:
            return [(units, columns)]
        case Rearranged(inner, places):
            return _exchanged(inner, columns[places])
        case SideBySide(parts):
            return [each for part, own in parts for each in _exchanged(part, columns[own])]
        case Extension(normal):
            return _exchanged(normal, columns)
        case _:
            return []


def _meet(one: tuple[Multisets, Index], other: tuple[Multisets, Index], ends: Array) -> bool:
    """Whether units of two kinds move in the same region, so that they may be at a distance.

    `ends` are the bounds of the space, and the centre of the group, which matters to signs only.
    """
    first, second = (ends[:, own[: kind.size]] for kind, own in (one, other))
    if one[0].is_signed != other[0].is_signed or first.shape != second.shape:
        return False
    gaps = np.abs(first - second)[: 3 if one[0].is_signed else 2]
    return bool(gaps.max() <= 1e-9 * np.abs(ends).max())


def _has_multisets(group: Group) -> bool:
    """Whether a group of reflections permutes many coordinates, or a part of it does."""
    match group.structure:
        case Multisets():
            return group.is_reflection and group.order > MAX_AVERAGED_REFLECTIONS
        case SideBySide(parts):
            return group.is_reflection and any(_has_multisets(part) for part, _ in parts)
        case _:
            return False


def _widths(space: Space, classes: Index) -> Array:
    """Return the mean width of the space in the coordinates of each class."""
    low, high = space.bounds
    return np.asarray(np.bincount(classes, high - low) / np.bincount(classes))


def _part(group: Group, columns: Index, setting: _Setting) -> Metric | QuotientKernel:
    """Return the metric or kernel of a part that acts on some columns about the common centre."""
    center, classes = setting.whole.center[columns], setting.classes[columns]
    if is_of_folds(group, setting.is_smooth) and not (setting.by_multisets and _has_multisets(group)):
        return Folded(group, columns, center, classes, len(setting.widths))
    if group.is_reflection and not setting.by_multisets:
        return _listed(group, columns, setting)
    match group.structure:
        case Multisets() as units if units.blocks > 1:
            return Layouts(units, columns, center, classes)
        case GramMatrices() as matrices:
            return Gram(matrices, columns, center, classes, setting.widths)
        case Rearranged(inner, places):
            return _part(inner, columns[places], setting)
        case SideBySide(parts):
            return _product(parts, columns, setting)
        case Extension() as extension:
            return _extension(group, extension, columns, setting)
        case _:
            return _listed(group, columns, setting)


def _product(groups: tuple[tuple[Group, slice], ...], columns: Index, setting: _Setting) -> Metric | QuotientKernel:
    """Add up squared distances, and multiply the kernels of parts that have none."""
    parts = [_part(group, columns[own], setting) for group, own in groups]
    metrics = [part for part in parts if isinstance(part, Metric)]
    kernels = [part for part in parts if isinstance(part, QuotientKernel)]
    if not kernels:
        return Sum(metrics)
    return Times([*kernels, _as_kernel(Sum(metrics), setting)]) if metrics else Times(kernels)


def _extension(group: Group, extension: Extension, columns: Index, setting: _Setting) -> Metric | QuotientKernel:
    """Average the kernel of the normal subgroup over the cosets, if it is invariant under them."""
    normal, cosets, generators = extension
    center, units = setting.whole.center[columns], normal.structure
    if isinstance(units, Multisets) and units.blocks > 1 and not is_of_folds(normal, setting.is_smooth):
        if normal.is_reflection and group.order <= MAX_AVERAGED:
            return _listed(group, columns, setting)
        inner: Metric | QuotientKernel = Layouts(units, columns, center, setting.classes[columns])
    else:
        inner = _part(normal, columns, setting)
    kernel = _as_kernel(inner, setting)
    if len(cosets) == 1:
        return inner
    if len(cosets) > MAX_AVERAGED:
        raise _too_large(group, f"its second part has {len(cosets)} elements besides those of the first")
    # One mean suffices if k(h x, h y) = k(x, y). All kernels here are such for turns and
    # permutations of places; yet there are maps that normalise a group of blocks and are not.
    x, lengths = np.zeros((2, setting.whole.dim)), kernel.unit / 2
    x[:, columns] = generic_point(2 * group.dim).reshape(2, -1) * lengths[setting.classes[columns]]
    images = np.repeat(x[None], len(generators), axis=0)
    images[:, :, columns] = x[:, columns] @ np.swapaxes(generators, 1, 2)
    first, second = (kernel.features(points + setting.whole.center) for points in np.swapaxes(images, 0, 1))
    one, two = kernel.features(x + setting.whole.center)[:, None]
    if np.abs(kernel.paired(first, second, lengths) - kernel.paired(one, two, lengths)).max(initial=0.0) > 1e-9:
        return _listed(group, columns, setting)
    return Level(Averaged(kernel, cosets, columns, center))


def _listed(group: Group, columns: Index, setting: _Setting) -> Metric | QuotientKernel:
    """Average the plain kernel over all elements."""
    if group.order > MAX_AVERAGED:
        raise _too_large(group, "it has no closed form and is listed")
    center, classes = setting.whole.center[columns], setting.classes[columns]
    plain = Folded(Trivial(group.dim), columns, center, classes, len(setting.widths))
    if group.order == 1:
        return plain
    elements = group.elements(MAX_AVERAGED)
    identity = np.abs(elements - np.eye(group.dim)).max(axis=(1, 2)).argmin()
    elements[[0, identity]] = elements[[identity, 0]]
    return Level(Averaged(_as_kernel(plain, setting), elements, columns, center))


def _too_large(group: Group, why: str) -> GroupTooLargeError:
    return GroupTooLargeError(
        f"a kernel is averaged over at most {MAX_AVERAGED} elements, but {shown(group)} has {shown(group.order)} and "
        f"{why}; pass a subgroup, such as a reflection group, a BlockPermutation or an Orthogonal within it."
    )


def _as_kernel(part: Metric | QuotientKernel, setting: _Setting) -> QuotientKernel:
    return radial(setting.widths, part, setting.family) if isinstance(part, Metric) else part
