"""From generators to everything they generate: matrices, permutations, orbits.

A set grows by products with the generators until nothing new appears. Items are compared by keys in
a k-d tree: the image of one generic point for a matrix, the index vector for a permutation, the
point itself for an orbit.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, shown
from orbandit.errors import GroupTooLargeError

SAME_POINT = 1e-9
"""Points of unit size nearer than this are the same."""

SAME_ELEMENT = 1e-6
"""Products of given generators nearer than this are the same element: their errors add up along
words."""

MAX_PAIRED_GENERATORS = 12
"""Products of two generators are tried only if there are at most so many generators."""

MIN_LOG_ORDER = 4
"""Powers of a product of two generators are steps only if there are more than 2^MIN_LOG_ORDER."""

PRODUCTS_AT_ONCE = 1_000_000
"""About how many numbers are multiplied by all generators at a time."""

T = TypeVar("T", bound=np.generic)
Items = npt.NDArray[T]


def distinct(keys: Array, tolerance: float) -> npt.NDArray[np.intp]:
    """Return the indices of the first of each cluster of equal rows, in order."""
    from scipy.spatial import cKDTree

    # Rounding leaves one of each cluster, or a few where it straddles a rounding border; pairs do
    # the rest.
    first = np.sort(np.unique(np.round(keys / tolerance), axis=0, return_index=True)[1])
    pairs = cKDTree(keys[first]).query_pairs(tolerance, output_type="ndarray")
    kept = np.ones(len(first), dtype=bool)
    kept[pairs.max(axis=1)] = False
    return np.asarray(first[kept])


def close_points(point: Array, generators: Array, tolerance: float, limit: int) -> Array:
    """Return the orbit of `point` under the group that `generators` generate."""
    return _close(
        point[None],
        lambda batch: (batch @ np.swapaxes(generators, 1, 2)).reshape(-1, len(point)),
        lambda batch: batch,
        tolerance,
        limit,
        f"the images of {shown(point)}",
    )


def close_permutations(generators: npt.NDArray[np.intp], limit: int) -> npt.NDArray[np.intp]:
    """Return the group that index permutations (k, d) generate, the identity first."""
    d = generators.shape[1]
    return _close(
        np.arange(d)[None],
        lambda batch: batch[:, generators].reshape(-1, d),
        lambda batch: batch.astype(np.float64),
        0.5,
        limit,
        "the products of these permutations",
    )


def close_matrices(generators: Array, limit: int) -> Array:
    """Return the finite group that orthogonal matrices (k, d, d) generate, the identity first.

    Two things keep rounding errors from growing with the length of words. Powers g, g^2, g^4, ...
    of the generators, and of products of two with a large order, serve as steps, so that words stay
    short. And once the group is known as a set, each step s is replaced by the average over the
    group of g^T (g s), which takes an error e of the steps to about e^2 (Grove, Karcher and Ruh
    1974), and the group is grown afresh.

    Raises
    ------
    GroupTooLargeError
        If an element has no power equal to the identity, or more than `limit` elements appear.
    """
    from scipy.spatial import cKDTree

    generators = _proper(generators, limit)
    if not len(generators):
        return np.eye(generators.shape[1])[None]
    words = generators if len(generators) <= MAX_PAIRED_GENERATORS else generators[:0]
    pairs = [g @ h for i, g in enumerate(words) for h in words[i + 1 :]]
    shortcuts = [powers for word in pairs if len(powers := _binary_powers(word, limit)) > MIN_LOG_ORDER]
    steps = np.concatenate([*(_binary_powers(word, limit) for word in generators), *shortcuts])
    rough = _grow(steps, limit)
    witness = generic_point(generators.shape[1])
    tree = cKDTree(rough @ witness)
    for i, step in enumerate(steps):
        matched = rough[tree.query(rough @ (step @ witness))[1]]
        # averaged alone: sums of tiny numbers lose nothing
        errors = np.swapaxes(rough, 1, 2) @ matched - step
        steps[i] = nearest_orthogonal(step + errors.mean(axis=0))
    elements = nearest_orthogonal(_grow(steps, limit))
    elements[0] = np.eye(generators.shape[1])
    return elements


def _proper(generators: Array, limit: int) -> Array:
    """Drop duplicates and the identity.

    Refuse a generator too close to it to distinguish its powers.
    """
    d = generators.shape[1]
    moves = np.abs(generators - np.eye(d)).max(axis=(1, 2), initial=0.0)
    tiny = (moves > 1e-7) & (moves < 10 * SAME_ELEMENT)
    if tiny.any():
        raise GroupTooLargeError(
            f"generator {int(tiny.argmax())} moves points by {moves[tiny][0]:.2g} of their size only: the group is "
            f"infinite, or far larger than `limit`={limit}."
        )
    generators = generators[moves > 1e-7]
    return generators[distinct(generators.reshape(-1, d * d), SAME_ELEMENT)] if len(generators) else generators


def _grow(steps: Array, limit: int) -> Array:
    d = steps.shape[1]
    witness = generic_point(d)
    return _close(
        np.eye(d)[None],
        lambda batch: (batch[:, None] @ steps).reshape(-1, d, d),
        lambda batch: batch @ witness,
        SAME_ELEMENT,
        limit,
        "the products of these generators",
    )


def _binary_powers(word: Array, limit: int) -> Array:
    """Return word^(2^i) below the order of `word`, found from the angles of its eigenvalues."""
    angles = np.angle(np.linalg.eigvals(word))
    for most in (min(100, limit), limit):  # orders are small as a rule
        turns = np.arange(1, most + 1)[:, None] * angles
        misses = np.abs(2 * np.sin(turns / 2)).max(axis=1)
        if misses.min() <= SAME_ELEMENT:
            break
    else:
        raise GroupTooLargeError(
            f"the generators do not close: none of the first `limit`={limit} powers of\n{word.round(6)}\n"
            "is the identity, so the group is infinite, or larger than `limit`; check the angles, or pass a "
            "larger `limit`."
        )
    order = int(np.argmax(misses <= SAME_ELEMENT)) + 1
    powers = [word]
    while 2 ** len(powers) < order:
        powers.append(nearest_orthogonal(powers[-1] @ powers[-1]))
    return np.array(powers)


def _close(
    start: Items[T],
    step: Callable[[Items[T]], Items[T]],
    key: Callable[[Items[T]], Array],
    tolerance: float,
    limit: int,
    what: str,
) -> Items[T]:
    from scipy.spatial import cKDTree

    found, frontier = start, start
    while len(frontier):
        before = len(found)
        for piece in np.array_split(frontier, 1 + len(frontier) * frontier[0].size // PRODUCTS_AT_ONCE):
            candidates = step(piece)
            known = cKDTree(key(found)).query(key(candidates), distance_upper_bound=tolerance)[0] <= tolerance
            candidates = candidates[~known]
            if len(candidates):
                candidates = candidates[distinct(key(candidates), tolerance)]
            found = np.concatenate([found, candidates])
            check_limit(len(found), limit, what)
        frontier = found[before:]
    return found


def check_limit(count: int, limit: int, what: str) -> None:
    """Refuse to list more than `limit` things."""
    if count > limit:
        raise GroupTooLargeError(
            f"{what} are more than `limit`={limit}; pass a larger `limit`, or use a group with a closed form, "
            "such as Symmetric, BlockPermutation, Coxeter or Orthogonal."
        )


def generic_point(dim: int) -> Array:
    """Return a point that only the identity fixes, unless by a coincidence of measure zero."""
    return np.random.default_rng(dim).standard_normal(dim)


def nearest_orthogonal(matrices: Array) -> Array:
    """Return the polar factor: the orthogonal matrix nearest to each matrix."""
    U, _, Vt = np.linalg.svd(matrices)
    return np.asarray(U @ Vt)
