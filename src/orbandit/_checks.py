"""Arrays and checks of arguments, shared by every layer; a check returns the clean value or raises an error."""

import difflib
import math
import operator
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from orbandit.errors import InputError, InputTypeError

Array: TypeAlias = npt.NDArray[np.float64]
"""A NumPy array of float64, the only kind of number that leaves this package."""

RandomLike: TypeAlias = int | np.random.SeedSequence | np.random.Generator
"""A source of randomness: a seed, or a generator that the call advances."""


def as_points(points: npt.ArrayLike, dim: int, name: str = "points") -> tuple[Array, bool]:
    """Return `points` as an (m, dim) array, and whether a single point (dim,) was given."""
    array = as_finite(points, name)
    if array.ndim not in (1, 2) or array.shape[-1] != dim:
        raise InputError(
            f"`{name}` must have shape ({dim},) or (m, {dim}), but got shape {array.shape}; "
            f"give {dim} coordinates to a point, and one point to a row."
        )
    return np.atleast_2d(array), array.ndim == 1


def as_point(point: npt.ArrayLike, dim: int, name: str = "point") -> Array:
    """Return `point` as a (dim,) array."""
    array = as_finite(point, name)
    if array.shape != (dim,):
        raise InputError(f"`{name}` must have shape ({dim},), but got shape {array.shape}; give one point.")
    return array


def as_finite(values: npt.ArrayLike, name: str) -> Array:
    """Return `values` as a float64 array without NaN or infinity."""
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biuf" and given.size:
            raise TypeError(f"of type {given.dtype}")
        array = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"`{name}` must be real numbers, but got {_shown(values)} ({error}).") from error
    with np.errstate(all="ignore"):
        suspicious = not np.isfinite(array.sum())  # one pass and no temporary for the usual, clean input
    if suspicious and not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"`{name}` must be finite, but got {array[where]} at index {where}; "
            "drop or repair such values before the call."
        )
    return array


def as_count(value: Any, name: str, minimum: int = 1) -> int:
    """Return `value` as an int that is at least `minimum`."""
    try:
        if isinstance(value, bool):
            raise TypeError("a truth value")
        count = operator.index(value)
    except TypeError as error:
        raise InputTypeError(f"`{name}` must be an integer, but got {_shown(value)}.") from error
    if count < minimum:
        raise InputError(f"`{name} >= {minimum}` must hold, but got {name}={count}.")
    return count


def as_positive(value: float, name: str) -> float:
    """Return `value` as a finite, positive float."""
    number = as_finite(value, name)
    if number.ndim != 0 or number <= 0:
        raise InputError(f"`{name} > 0` must hold for one number, but got {name}={_shown(value)}.")
    return float(number)


def as_tolerance(value: float, name: str = "tol") -> float:
    """Return `value` as a finite, non-negative float."""
    number = as_finite(value, name)
    if number.ndim != 0 or number < 0:
        raise InputError(f"`{name} >= 0` must hold, but got {name}={_shown(value)}.")
    return float(number)


def as_range(reward_range: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a range of rewards."""
    ends = as_finite(reward_range, "reward_range")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise InputError(f"`reward_range` must be (low, high) with low < high, but got {reward_range!r}.")
    low, high = ends.tolist()
    if not 1e-300 < high - low < math.inf:
        raise InputError(
            f"`reward_range` must be from 1e-300 to 1e308 wide, but got {reward_range!r}; rescale rewards."
        )
    return low, high


def as_generator(rng: RandomLike) -> np.random.Generator:
    """Return the generator that `rng` is, or seeds."""
    if rng is None:
        raise InputTypeError(
            "`rng` must be a seed or a numpy.random.Generator, but got None; pass np.random.default_rng()."
        )
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"`rng` must be a seed or a numpy.random.Generator ({error}).") from error


def unknown_name(kind: str, name: object, known: Iterable[str], guess: str | None = None) -> InputError:
    """Build the error for a name outside `known`, with a guess at what was meant or the nearest known ones."""
    known = list(known)
    folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(str(name).casefold(), folded, n=2, cutoff=0.5)
    near = [guess] if guess else [folded[key] for key in close]
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return InputError(f"unknown {kind} {name!r}.{hint} Known: {', '.join(known)}.")


def unit_rows(array: Array) -> Array:
    """Return the rows scaled to length 1."""
    scaled: Array = array / np.linalg.norm(array, axis=-1, keepdims=True)
    return scaled


def safe_scale(points: Array) -> float:
    """Return by what to divide so that squares neither overflow nor vanish: 1, unless points are extreme."""
    largest = float(np.abs(points).max(initial=0.0))
    return 1.0 if largest == 0.0 or 1e-100 < largest < 1e100 else largest


def norms(vectors: Array) -> Array:
    """Return the Euclidean norms along the last axis; squares neither overflow nor vanish."""
    with np.errstate(over="ignore"):
        lengths: Array = np.asarray(np.linalg.norm(vectors, axis=-1))
    usual = (lengths > 1e-140) & (lengths < 1e150)
    if usual.all():
        return lengths
    largest = np.abs(vectors).max(axis=-1, keepdims=True, initial=0.0)
    sizes = np.where(largest > 0, largest, 1.0)
    # Each vector by itself: its norm must not depend, in the last bit, on those beside it.
    return np.where(usual, lengths, sizes[..., 0] * np.linalg.norm(vectors / sizes, axis=-1))


def frozen(array: npt.ArrayLike) -> Array:
    """Return a read-only float64 copy, for arrays that an object hands out."""
    copy = np.array(array, dtype=np.float64)
    copy.flags.writeable = False
    return copy


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
