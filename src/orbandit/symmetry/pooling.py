"""Pool: the squared exponential averaged over a finite group, which may be far too large to list.

    k_G(x, y) = mean over g of exp(-|g x - y|^2 / 2)

is the covariance of a process with the covariance k, made invariant under G. The squared
exponential is a product over coordinates. So the mean over a direct product is a product of means,
one for each set of coordinates that the generators move by themselves; and within such a component,
a group

    { units turned each on its own } and { units of a class exchanged }  =  W,     G = W H,  H normalising W,

has the mean over one h of each coset of the permanents of `_kernels/permanents.py`. Generators that
exchange two units make classes; those that move one unit alone make turns; the others make H, after
W has taken in all conjugates. What does not fit is listed.

For x and y in general position, near each other and far from their images, k_G(g x, y) = k_G(x, y)
just if g is an element of G: otherwise the largest term of the second mean, of the identity, is
missing in the first. That is how elements are recognised, and cosets told apart.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from orbandit._checks import Array
from orbandit._kernels.permanents import LANES, exchange_means
from orbandit.errors import GroupTooLargeError
from orbandit.groups.closure import close_matrices
from orbandit.groups.units import scale_classes

Index = npt.NDArray[np.int64]
Contraction: TypeAlias = Callable[[Array], Array]
"""Takes symmetric weights (n, n), and returns sums for each length scale."""

MAX_UNITS = 12
"""Most units of a class: a permanent takes as many steps as there are sets of them."""
MAX_COSETS = 48
"""Most elements of H."""
MAX_TURNS = 128
"""Most turns of a unit, and most elements of a group that is listed."""
MAX_LISTED = 4
"""So many elements are listed even if they have a form."""
MAX_KNOWN = 4096
"""Most components that are kept, of a few kilobytes each as a rule."""
SAME = 1e-10
"""Means that differ by less, relative to their size, are the same."""


class UnitClass(NamedTuple):
    """Units that may be exchanged, (m, s) coordinates, and how each may turn, (t, s, s) with the identity first."""

    units: Index
    turns: Array


@final
class Component:
    """W and the cosets, on coordinates that no generator mixes with others; all of them are in some unit.

    Where there are few elements, they are listed as well: a mean over two or four of them is
    cheaper than permanents.
    """

    def __init__(self, classes: Sequence[UnitClass], cosets: Array, listed: Array | None = None) -> None:
        self._classes, self._cosets, self._listed = classes, cosets, listed
        self._places = np.concatenate([kind.units.ravel() for kind in classes])
        self._turns = np.concatenate([kind.turns.ravel() for kind in classes])
        rows, place, turn = [], 0, 0
        for units, turns in classes:
            rows.append([*units.shape, place, len(turns), turn])
            place, turn = place + units.size, turn + turns.size
        self._rows = np.array(rows, dtype=np.int64)

    def listed(self, elements: Array) -> "Component":
        """Return the same with all elements listed."""
        return Component(self._classes, self._cosets, elements)

    @property
    def effort(self) -> float:
        """About how many numbers are multiplied for one value."""
        each = [units.size * len(units) * len(turns) + 2 ** len(units) * len(units) for units, turns in self._classes]
        return float(len(self._cosets) * sum(each))

    @property
    def order(self) -> int:
        """Number of elements."""
        inner = [len(turns) ** len(units) * math.factorial(len(units)) for units, turns in self._classes]
        return int(math.prod(inner)) * len(self._cosets)

    def means(self, a: Array, b: Array, scales: Index, n_scales: int) -> tuple[Array, Array]:
        """Return k_G at all pairs, and its derivatives by the logarithms of so many length scales, perhaps none."""
        width = -(-len(b) // LANES) * LANES
        columns, images = np.zeros((b.shape[1], width)), np.einsum("hij,nj->nhi", self._cosets, a)
        columns[:, : len(b)] = b.T
        out, by_scale = np.empty((len(a), len(b))), np.empty((n_scales, len(a), len(b)))
        exchange_means(
            np.ascontiguousarray(images), columns, self._places, self._rows, self._turns, scales, a is b, out, by_scale
        )
        return out, by_scale

    def cross(self, a: Array, b: Array) -> Array:
        """Return k_G at all pairs."""
        if self._listed is None:
            return self.means(a, b, np.zeros(a.shape[1], dtype=np.int64), 0)[0]
        return np.asarray(sum(_gaussian(a @ g.T, b) for g in self._listed) / len(self._listed))

    def within(self, x: Array, scales: Index, n_scales: int) -> tuple[Array, Contraction]:
        """Return k_G at all pairs of points, and the sums of its weighted derivatives, see `Pool.within`."""
        if self._listed is not None:
            return self._within_listed(x, scales, n_scales)
        values, by_scale = self.means(x, x, scales, n_scales)
        flat = by_scale.reshape(n_scales, -1)
        return values, lambda weights: np.asarray(flat @ weights.ravel())

    def _within_listed(self, x: Array, scales: Index, n_scales: int) -> tuple[Array, Contraction]:
        elements = np.empty((0, 0, 0)) if self._listed is None else self._listed
        images = [x @ g.T for g in elements]
        parts = [_gaussian(image, x) / len(elements) for image in images]

        def contracted(weights: Array) -> Array:
            sums = np.zeros(x.shape[1])
            for image, part in zip(images, parts, strict=True):
                sums += _moments(weights * part, image, x)
            return np.asarray(np.bincount(scales, sums, minlength=n_scales))

        return np.asarray(sum(parts)), contracted

    def witness(self, matrices: Array) -> Array:
        """Return k_G(g x, y) for each matrix g, (k, 2), at two pairs of generic points."""
        x, y = _generic(matrices.shape[1])  # (2, p) each
        images = (matrices @ x.T).transpose(0, 2, 1)  # (k, 2, p)
        no_scales = np.zeros(len(y[0]), dtype=np.int64)
        return np.stack([self.means(y[i : i + 1], images[:, i], no_scales, 0)[0][0] for i in range(2)], axis=1)

    def contains(self, matrices: Array) -> npt.NDArray[np.bool_]:
        """Tell which orthogonal matrices are elements."""
        own = self._own_witness
        return np.asarray((np.abs(self.witness(matrices) / own - 1) < SAME).all(axis=1))

    @cached_property
    def _own_witness(self) -> Array:
        """Return that of the identity."""
        return self.witness(np.eye(len(self._places))[None])


@lru_cache
def _generic(dim: int) -> tuple[Array, Array]:
    """Return two points x, (2, dim), and two points y near them."""
    draws = np.random.default_rng(dim).normal(size=(2, 2, dim))
    return 3.0 * draws[0], 3.0 * draws[0] + 0.3 * draws[1]


@final
class Pool:
    """A finite group about the origin, by its generators.

    Parameters
    ----------
    generators : (k, dim, dim) array
        Orthogonal matrices; none is no symmetry.

    Raises
    ------
    GroupTooLargeError
        If it has no form as above that is small enough.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> pool = Pool(ob.groups.SignedPermutation(8).generators)
    >>> pool.order, pool.contains(-np.eye(8)[None])
    (10321920, array([ True]))
    """

    def __init__(self, generators: Array) -> None:
        self.generators = generators
        self.dim = generators.shape[1]
        moved = _moved(generators)
        labels = scale_classes((moved[:, :, None] & moved[:, None]).astype(np.float64) + np.eye(self.dim))
        self._free = np.flatnonzero(~moved.any(axis=0))
        self._parts: list[tuple[Index, Component]] = []
        for label in np.unique(np.delete(labels, self._free)):
            own = np.setdiff1d(np.flatnonzero(labels == label), self._free)
            mine = generators[moved[:, own].any(axis=1)][:, own[:, None], own]
            self._parts.append((own, _known_component(mine.tobytes(), len(own))))

    @cached_property
    def scales(self) -> Index:
        """The length scale of each coordinate: those that a generator mixes share one."""
        return np.asarray(scale_classes(self.generators) if len(self.generators) else np.arange(self.dim), np.int64)

    @property
    def n_scales(self) -> int:
        """Number of length scales."""
        return int(self.scales.max()) + 1

    @property
    def order(self) -> int:
        """Number of elements."""
        return math.prod(part.order for _, part in self._parts)

    @cached_property
    def parts(self) -> list[tuple[Index, Array]]:
        """The coordinates of each component that is moved, and its generators."""
        moved = _moved(self.generators)
        return [(own, self.generators[moved[:, own].any(axis=1)][:, own[:, None], own]) for own, _ in self._parts]

    def contains(self, matrices: Array) -> npt.NDArray[np.bool_]:
        """Tell which of (k, dim, dim) orthogonal matrices are elements."""
        fixed = matrices[:, self._free[:, None], self._free] - np.eye(len(self._free))
        inside = np.asarray(np.abs(fixed).max(axis=(1, 2), initial=0.0) < 1e-9)
        for own, part in self._parts:
            blocks = matrices[:, own[:, None], own]
            errors = np.einsum("kij,klj->kil", blocks, blocks) - np.eye(len(own))
            inside &= np.abs(errors).max(axis=(1, 2)) < 1e-9
            inside[inside] &= part.contains(blocks[inside])
        return inside

    def cross(self, a: Array, b: Array, lengths: Array) -> Array:
        """Return k_G at all pairs of points."""
        scaled = a / lengths[self.scales]
        other = scaled if a is b else b / lengths[self.scales]
        whole = _gaussian(scaled[:, self._free], other[:, self._free])
        for own, part in self._parts:
            mine = np.ascontiguousarray(scaled[:, own])
            whole *= part.cross(mine, mine if a is b else np.ascontiguousarray(other[:, own]))
        return whole

    def within(self, points: Array, lengths: Array) -> tuple[Array, Contraction]:
        """Return k_G at all pairs of points, and a function of symmetric weights (n, n).

        That returns, for each length scale, the sum over all pairs of the weight times the
        derivative of k_G by the logarithm of the length scale. For a Gaussian k these are the
        moments k (x - y)^2, whose sums take no more than a product of matrices, see `_moments`.
        """
        scaled = points / lengths[self.scales]
        free = np.ascontiguousarray(scaled[:, self._free])
        values, owners, sums_of = [_gaussian(free, free)], list[Index](), list[Contraction]()
        for own, part in self._parts:
            names, scales = np.unique(self.scales[own], return_inverse=True)
            value, contracted = part.within(np.ascontiguousarray(scaled[:, own]), scales.astype(np.int64), len(names))
            values.append(value)
            owners.append(names)
            sums_of.append(contracted)

        def contracted_whole(weights: Array) -> Array:
            sums = np.empty(self.n_scales)
            sums[self.scales[self._free]] = _moments(_product([weights, *values]), free, free)
            for i, (names, sum_of) in enumerate(zip(owners, sums_of, strict=True), 1):
                sums[names] = sum_of(_product([weights, *values[:i], *values[i + 1 :]]))
            return sums

        return _product(values), contracted_whole


def _product(parts: Sequence[Array]) -> Array:
    whole = parts[0].copy()
    for part in parts[1:]:
        whole *= part
    return whole


def _gaussian(a: Array, b: Array) -> Array:
    """Return exp(-|x - y|^2 / 2) at all pairs."""
    squares = cdist(a, b, "sqeuclidean")
    squares *= -0.5
    return np.asarray(np.exp(squares, out=squares))


def _moments(weights: Array, a: Array, b: Array) -> Array:
    """Return sum_ij w_ij (a_i - b_j)^2 for each coordinate: sum_i a_i^2 w_i. + sum_j b_j^2 w_.j - 2 a' w b."""
    squares = weights.sum(axis=1) @ a**2 + weights.sum(axis=0) @ b**2
    return np.asarray(squares - 2 * np.einsum("ic,ic->c", a, weights @ b))


@lru_cache(maxsize=MAX_KNOWN)
def _known_component(generators: bytes, dim: int) -> Component:
    """Return the component of matrices by their bytes; the groups of a search share most of them."""
    return component(np.frombuffer(generators).reshape(-1, dim, dim).copy())


def component(generators: Array) -> Component:
    """Return the cheapest form of the group that matrices (k, p, p) generate."""
    swaps = sorted((g for g in generators if _as_swap(g) is not None), key=_moves)
    others = sorted((g for g in generators if _as_swap(g) is None), key=_moves)
    found = [_structured(swaps[::-1], others)]
    for most in dict.fromkeys(map(_moves, swaps)):
        small, large = [g for g in swaps if _moves(g) <= most], [g for g in swaps if _moves(g) > most]
        found.append(_structured(small, [*large, *others]))
    fitting = [part for part in found if part is not None]
    if not fitting:
        whole = UnitClass(np.arange(generators.shape[1])[None], close_matrices(generators, MAX_TURNS))
        return Component([whole], np.eye(generators.shape[1])[None])
    best = min(fitting, key=lambda part: part.effort)
    return best.listed(close_matrices(generators, MAX_LISTED)) if best.order <= MAX_LISTED else best


def _structured(swaps: list[Array], others: list[Array]) -> Component | None:
    """Return W, which takes in the swaps, and H, if H normalises W and both are small enough."""
    dim = len([*swaps, *others][0])
    made = _Exchanges(dim)
    rest = [g for g in swaps if not made.take(g)]
    rest += [g for g in others if _as_swap(g) is not None or not made.take(g)]
    if made.is_too_large:
        return None
    while True:
        inner = made.component(np.eye(dim)[None])
        rest = [r for r, is_in in zip(rest, _in(inner, rest), strict=True) if not is_in]
        conjugates = [r @ g @ r.T for r in rest for g in made.taken]
        strange = [c for c, is_in in zip(conjugates, _in(inner, conjugates), strict=True) if not is_in]
        if not strange:
            break
        if not made.take(strange[0]) or made.is_too_large:
            return None
    try:
        cosets = close_matrices(np.array(rest).reshape(-1, dim, dim), MAX_COSETS) if rest else np.eye(dim)[None]
    except GroupTooLargeError:
        return None
    marks = inner.witness(cosets)
    gaps = np.abs(marks[:, None] / marks - 1).max(axis=2) < SAME
    return made.component(cosets[gaps.argmax(axis=1) == np.arange(len(cosets))])


def _in(part: Component, matrices: list[Array]) -> list[bool]:
    """Tell which matrices are elements."""
    return part.contains(np.array(matrices)).tolist() if matrices else []


@final
class _Exchanges:
    """Units, classes of them and turns, made of what is taken in."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._units: list[tuple[int, ...]] = []
        self._class: list[int] = []  # of each unit
        self._turns: dict[int, Array] = {}
        self.taken: list[Array] = []
        self.is_too_large = False

    def take(self, g: Array) -> bool:
        """Take in an exchange of two units, or a turn of one; False if it is neither, or does not fit."""
        swapped = _as_swap(g)
        fits = (swapped is not None and self._exchange(*swapped)) or self._turn(g)
        if fits:
            self.taken.append(g)
        return fits

    def component(self, cosets: Array) -> Component:
        """Return what was taken in, with the coordinates left over as one unit."""
        classes = []
        for label in dict.fromkeys(self._class):
            units = [unit for unit, own in zip(self._units, self._class, strict=True) if own == label]
            classes.append(UnitClass(np.array(units, dtype=np.int64), self._turns[label]))
        left = sorted(set(range(self._dim)) - set(chain(*self._units)))
        if left:
            classes.append(UnitClass(np.array([left], dtype=np.int64), np.eye(len(left))[None]))
        return Component(classes, cosets)

    def _exchange(self, a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        if not (self._is_free(a) and self._is_free(b)):
            return False
        first, second = self._label(a), self._label(b)
        if first != second:
            self._class = [first if own == second else own for own in self._class]
            self._add_turns(first, self._turns.pop(second)[1:])
        self.is_too_large |= self._class.count(first) > MAX_UNITS
        return True

    def _turn(self, g: Array) -> bool:
        moved = {int(i) for i in np.flatnonzero(_moved(g[None])[0])}
        unit = next((unit for unit in self._units if moved <= set(unit)), tuple(sorted(moved)))
        if not self._is_free(unit):
            return False
        self._add_turns(self._label(unit), g[np.ix_(unit, unit)][None])
        return True

    def _is_free(self, unit: tuple[int, ...]) -> bool:
        return unit in self._units or not set(unit) & set(chain(*self._units))

    def _label(self, unit: tuple[int, ...]) -> int:
        """Return the class of a unit, a new one if it is new."""
        if unit not in self._units:
            self._units.append(unit)
            self._class.append(len(self._units))
            self._turns[len(self._units)] = np.eye(len(unit))[None]
        return self._class[self._units.index(unit)]

    def _add_turns(self, label: int, turns: Iterable[Array]) -> None:
        new = np.array(list(turns)).reshape(-1, *self._turns[label].shape[1:])
        if not len(new):
            return
        try:
            self._turns[label] = close_matrices(np.concatenate([self._turns[label], new]), MAX_TURNS)
        except GroupTooLargeError:
            self.is_too_large = True


def _as_swap(g: Array) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the two units that a matrix exchanges, coordinate by coordinate; None if it is no such exchange."""
    source = g.argmax(axis=1)
    if np.abs(g[np.arange(len(g)), source] - 1).max() > 1e-9 or not np.array_equal(source[source], np.arange(len(g))):
        return None
    first = np.flatnonzero(source > np.arange(len(g)))
    return (tuple(first.tolist()), tuple(source[first].tolist())) if len(first) else None


def _moved(generators: Array) -> npt.NDArray[np.bool_]:
    """Tell which coordinates each matrix moves, (k, dim)."""
    return np.asarray(np.abs(generators - np.eye(generators.shape[1])).max(axis=1, initial=0.0) > 1e-9)


def _moves(g: Array) -> int:
    """Return how many coordinates a matrix moves."""
    return int(_moved(g[None]).sum())
