"""quotient_kernel: the kernel on X/G for a space and a group, put together from the group's parts.

=================================================  ===============================================================
group                                              kernel
=================================================  ===============================================================
none, and reflection groups                        k of the distance of folds, which is the orbit distance: the largest
                                                   of k(g x, y), at the cost of one fold per point
BlockPermutation, SignedBlockPermutation           k averaged over the group up to FEW elements, beyond them k of a
                                                   distance of multisets of units, see `Layouts`
Orthogonal                                         k of the distance of invariants, see `Gram`
Diagonal                                           that of the blocks that move together; else by its elements
Product                                            k of the sum of the parts' squared distances, times the kernels of
                                                   parts that are listed
Joint(a, b)                                        that of a, averaged over b; for exchanges of blocks a, with at most
                                                   MOST elements in all, k averaged over the group
others, with at most MOST elements                 k averaged over the group
=================================================  ===============================================================

Averages are scaled to prior variances of 1, see `Level`. All kernels are positive definite and invariant, whatever the
positive length scales; other groups are refused.
"""

from typing import NamedTuple

import numpy as np

from orbandit._checks import Array, shown
from orbandit.agents.gaussian.averaged import Averaged, Times
from orbandit.agents.gaussian.base import Metric, QuotientKernel
from orbandit.agents.gaussian.euclidean import Aligned, Folded, Gram, Index
from orbandit.agents.gaussian.families import Family, family_named
from orbandit.agents.gaussian.layouts import Layouts
from orbandit.agents.gaussian.level import Level
from orbandit.agents.gaussian.radial import Sum, radial
from orbandit.errors import GroupTooLargeError
from orbandit.groups import Diagonal, Group, Joint, Orthogonal, Product, Trivial
from orbandit.groups.base import check_fit
from orbandit.groups.blocks import BlockGroup
from orbandit.groups.closure import generic_point
from orbandit.groups.units import scale_classes
from orbandit.spaces import Space

__all__ = ["MOST", "QuotientKernel", "aligned_kernel", "quotient_kernel"]

MOST = 128
"""Most elements that a kernel is averaged over: each value costs as much as that many."""

FEW = 24
"""Exchanges of blocks up to this order are averaged over: that finds better layouts of few turbines than `Layouts`."""


class _Setting(NamedTuple):
    """What the kernels of all parts share."""

    whole: Group
    classes: Index
    widths: Array
    family: Family


def quotient_kernel(space: Space, group: Group | None = None, family: str = "matern52") -> QuotientKernel:
    """Return the kernel of a family on the quotient of a space by a group.

    Parameters
    ----------
    space : Space
        Where points live.
    group : Group, optional
        It must preserve the space; None is no symmetry.
    family : str
        "matern12", "matern32", "matern52" or "rbf".

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
    profile = family_named(family)
    check_fit(space, group)
    group = Trivial(space.dim) if group is None else group
    classes = scale_classes(group.generators)
    setting = _Setting(group, classes, _widths(space, classes), profile)
    return _as_kernel(_part(group, np.arange(group.dim), setting), setting)


def aligned_kernel(space: Space, group: Group, family: str, reference: Array) -> QuotientKernel:
    """Return the plain kernel in coordinates aligned to a reference point, see `Aligned`.

    It knows the group as well as the search without a group does: not at all but for the images that it has aligned.
    Where what is known of a layout says little of others that are far from all images of the best one, it may be the
    likelier model.

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


def _widths(space: Space, classes: Index) -> Array:
    """Return the mean width of the space in the coordinates of each class."""
    low, high = space.bounds
    return np.asarray(np.bincount(classes, high - low) / np.bincount(classes))


def _part(group: Group, columns: Index, setting: _Setting) -> Metric | QuotientKernel:
    """Return what tells orbits of a part apart that acts on some columns about the centre of the whole."""
    center, classes = setting.whole.center[columns], setting.classes[columns]
    if group.is_reflection:
        return Folded(group, columns, center, classes, len(setting.widths))
    match group:
        case BlockGroup() if 1 < group.order <= FEW:
            return _listed(group, columns, setting)
        case BlockGroup() if group.blocks > 1:
            return _layouts(group, columns, setting)
        case BlockGroup() if not group._signed:
            return Folded(Trivial(group.dim), columns, center, classes, len(setting.widths))
        case Orthogonal():
            return Gram(group, columns, center, classes, setting.widths)
        case Diagonal():
            return _part(group._inner, columns[group._places], setting)
        case Product():
            return _product(group, columns, setting)
        case Joint():
            return _joint(group, columns, setting)
        case _:
            return _listed(group, columns, setting)


def _product(group: Product, columns: Index, setting: _Setting) -> Metric | QuotientKernel:
    """Add up squared distances, and multiply the kernels of parts that have none."""
    parts = [_part(part, columns[own], setting) for part, own in zip(group.parts, group._slices, strict=True)]
    metrics = [part for part in parts if isinstance(part, Metric)]
    kernels = [part for part in parts if isinstance(part, QuotientKernel)]
    if not kernels:
        return Sum(metrics)
    return Times([*kernels, _as_kernel(Sum(metrics), setting)]) if metrics else Times(kernels)


def _joint(group: Joint, columns: Index, setting: _Setting) -> Metric | QuotientKernel:
    """Average the kernel of a over the cosets of b, if b leaves it alone."""
    if isinstance(group._a, BlockGroup) and group._a.blocks > 1:
        if group.order <= MOST:
            return _listed(group, columns, setting)
        inner: Metric | QuotientKernel = _layouts(group._a, columns, setting)
    else:
        inner = _part(group._a, columns, setting)
    kernel, cosets, center = _as_kernel(inner, setting), group._cosets, setting.whole.center[columns]
    if len(cosets) == 1:
        return inner
    if len(cosets) > MOST:
        raise _too_large(group, f"its second part has {len(cosets)} elements besides those of the first")
    # One mean suffices if k(h x, h y) = k(x, y). All kernels here are such for turns and permutations of places;
    # yet there are maps that normalise a group of blocks and are not.
    x, lengths = np.zeros((2, setting.whole.dim)), kernel.unit / 2
    x[:, columns] = generic_point(2 * group.dim).reshape(2, -1) * lengths[setting.classes[columns]]
    images = np.repeat(x[None], len(group._b.generators), axis=0)
    images[:, :, columns] = x[:, columns] @ np.swapaxes(group._b.generators, 1, 2)
    first, second = (kernel.features(points + setting.whole.center) for points in np.swapaxes(images, 0, 1))
    one, two = kernel.features(x + setting.whole.center)[:, None]
    if np.abs(kernel.paired(first, second, lengths) - kernel.paired(one, two, lengths)).max(initial=0.0) > 1e-9:
        return _listed(group, columns, setting)
    return Level(Averaged(kernel, cosets, columns, center))


def _layouts(group: BlockGroup, columns: Index, setting: _Setting) -> Layouts:
    return Layouts(group, columns, setting.whole.center[columns], setting.classes[columns])


def _listed(group: Group, columns: Index, setting: _Setting) -> Metric | QuotientKernel:
    """Average the plain kernel over all elements."""
    if group.order > MOST:
        raise _too_large(group, "it has no closed form and is listed")
    center, classes = setting.whole.center[columns], setting.classes[columns]
    plain = Folded(Trivial(group.dim), columns, center, classes, len(setting.widths))
    if group.order == 1:
        return plain
    elements = group.elements(MOST)
    identity = np.abs(elements - np.eye(group.dim)).max(axis=(1, 2)).argmin()
    elements[[0, identity]] = elements[[identity, 0]]
    return Level(Averaged(_as_kernel(plain, setting), elements, columns, center))


def _too_large(group: Group, why: str) -> GroupTooLargeError:
    return GroupTooLargeError(
        f"a kernel is averaged over at most {MOST} elements, but {shown(group)} has {shown(group.order)} and {why}; "
        "pass a subgroup, such as a reflection group, a BlockPermutation or an Orthogonal within it."
    )


def _as_kernel(part: Metric | QuotientKernel, setting: _Setting) -> QuotientKernel:
    return radial(setting.widths, part, setting.family) if isinstance(part, Metric) else part
