"""Arrays and checks of arguments, shared by every layer; a check returns the clean value or raises an error."""

import difflib
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from orbandit.errors import InputError, InputTypeError

Array: TypeAlias = npt.NDArray[np.float64]
"""A NumPy array of float64, the only kind of number that leaves this package."""

RandomLike: TypeAlias = int | np.random.SeedSequence | np.random.Generator
"""A source of randomness: a seed, or a generator that the call advances."""

MAX_COUNT = 2**63 - 1
"""Largest count of anything, the largest integer of an array."""

MAX_SEED = 2**128 - 1
"""Largest seed, as much as a SeedSequence draws for itself."""

MAX_DIM = 100_000
"""Most coordinates of a point."""

MAX_NUMBERS = 2**29
"""Most numbers of an array that is made at once, 4 GiB."""

QUOTED = 9
"""Most entries of an array that a message quotes."""

LONGEST_QUOTE = 120
"""Most characters of a value that a message quotes."""


def as_points(points: npt.ArrayLike, dim: int, name: str = "points") -> tuple[Array, bool]:
    """Return `points` as an (m, dim) array, and whether a single point (dim,) was given."""
    array = as_finite(points, name)
    if array.ndim not in (1, 2) or array.shape[-1] != dim:
        raise InputError(
            f"`{name}` must have shape ({dim},) or (m, {dim}), but got shape {array.shape}; "
            f"give {dim} coordinates to a point, and one point to a row.",
            field=name,
            value=points,
        )
    return np.atleast_2d(array), array.ndim == 1


def as_point(point: npt.ArrayLike, dim: int, name: str = "point") -> Array:
    """Return `point` as a (dim,) array."""
    array = as_finite(point, name)
    if array.shape != (dim,):
        raise InputError(
            f"`{name}` must have shape ({dim},), but got shape {array.shape}; give one point.", field=name, value=point
        )
    return array


def as_batch(points: Sequence[Any] | npt.NDArray[Any]) -> Sequence[Any] | npt.NDArray[Any]:
    """Return points that can be counted and read more than once."""
    if isinstance(points, Sequence) or (isinstance(points, np.ndarray) and points.ndim):
        return points
    # a table of another package, perhaps
    array = np.asarray(points) if hasattr(points, "__array__") else None
    if array is None or not array.ndim:
        raise InputTypeError(f"`points` must be a list or an array, but got {shown(points)}; pass list(points).")
    return array


def as_finite(values: npt.ArrayLike, name: str) -> Array:
    """Return `values` as a float64 array without NaN or infinity; masked ones are refused."""
    if type(values) is not np.ndarray:
        refuse_masked(values, name)
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biuf" and given.size:
            raise TypeError(f"of type {given.dtype}")
        array = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"`{name}` must be real numbers, but got {shown(values)} ({error}).", field=name, value=values
        ) from error
    with np.errstate(all="ignore"):
        # one pass and no temporary for the usual, clean input
        suspicious = not np.isfinite(array.sum())
    if suspicious and not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"`{name}` must be finite, but got {array[where]} at index {where}; "
            "drop or repair such values before the call.",
            field=name,
            value=values,
        )
    return array


def refuse_masked(values: object, name: str) -> None:
    """Refuse arrays of numpy.ma with masked entries, and lists of such: NumPy would read what the mask hides."""
    if _has_masked(values):
        raise InputError(
            f"`{name}` must have no masked entries, but got {shown(values)}; drop those rows, or put numbers there "
            "with `.filled(...)`.",
            field=name,
            value=values,
        )


def _has_masked(values: object) -> bool:
    if isinstance(values, np.ma.MaskedArray):
        return bool(np.ma.is_masked(values))
    return isinstance(values, list | tuple) and any(map(_has_masked, values))


def as_number(value: Any, name: str) -> float:
    """Return one real number, NaN and infinity included."""
    refuse_masked(value, name)
    try:
        number = np.asarray(value)
        if number.dtype.kind not in "biuf" or number.ndim != 0:
            raise TypeError
        return float(number)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"`{name}` must be one number, but got {shown(value)}.") from error


def as_count(value: Any, name: str, minimum: int = 1, maximum: int = MAX_COUNT, why: str = "") -> int:
    """Return `value` as an int from `minimum` to `maximum`.

    `why` is the reason for the maximum, and the remedy, for the message.
    """
    try:
        if isinstance(value, bool):
            raise TypeError("a truth value")
        count = operator.index(value)
    except TypeError as error:
        text = f"`{name}` must be an integer, but got {shown(value)}."
        raise InputTypeError(text, field=name, value=value) from error
    if count < minimum:
        raise InputError(f"`{name} >= {minimum}` must hold, but got {name}={shown(count)}.", field=name, value=value)
    if count > maximum:
        text = f"`{name} <= {maximum:,}` must hold, but got {name}={shown(count)}{why and f': {why}'}."
        raise InputError(text, field=name, value=value)
    return count


def as_dim(value: Any, name: str = "dim", minimum: int = 1) -> int:
    """Return `value` as a number of coordinates."""
    return as_count(value, name, minimum, MAX_DIM)


def as_seed(value: Any, name: str = "seed") -> int:
    """Return `value` as an int that seeds a stream."""
    return as_count(value, name, 0, MAX_SEED)


def check_room(what: str, *shape: int) -> None:
    """Refuse to make an array of more than MAX_NUMBERS, before any memory is taken."""
    if math.prod(shape) > MAX_NUMBERS:
        raise InputError(
            f"{what} would be an array of shape ({', '.join(map(shown, shape))}), of more than {MAX_NUMBERS:,} "
            "numbers; ask for fewer at a time, or use fewer coordinates."
        )


def as_positive(value: float, name: str) -> float:
    """Return `value` as a finite, positive float."""
    number = as_finite(value, name)
    if number.ndim != 0 or number <= 0:
        raise InputError(
            f"`{name} > 0` must hold for one number, but got {name}={shown(value)}.", field=name, value=value
        )
    return float(number)


def as_tolerance(value: float, name: str = "tol") -> float:
    """Return `value` as a finite, non-negative float."""
    number = as_finite(value, name)
    if number.ndim != 0 or number < 0:
        raise InputError(f"`{name} >= 0` must hold, but got {name}={shown(value)}.", field=name, value=value)
    return float(number)


def as_range(reward_range: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a range of rewards."""
    ends = as_finite(reward_range, "reward_range")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        text = f"`reward_range` must be (low, high) with low < high, but got {shown(reward_range)}."
        raise InputError(text, field="reward_range", value=reward_range)
    low, high = ends.tolist()
    if not 1e-300 < high - low < math.inf:
        raise InputError(
            f"`reward_range` must be from 1e-300 to 1e308 wide, but got {shown(reward_range)}; rescale rewards.",
            field="reward_range",
            value=reward_range,
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


def as_stream(seed: RandomLike | None) -> np.random.Generator:
    """Return a stream of the one kind that files of agents hold; a generator of another kind seeds it."""
    stream = np.random.default_rng() if seed is None else as_generator(seed)
    if isinstance(stream.bit_generator, np.random.PCG64):
        return stream
    return np.random.default_rng(stream.integers(2**63, size=2).tolist())


def unknown_name(
    kind: str,
    name: object,
    known: Iterable[str],
    guess: str | None = None,
    owner: str = "",
    field: str | None = None,
) -> InputError:
    """Build the error for a name outside `known`, with a guess at what was meant or the nearest known ones.

    `field` is the parameter that has it, by default the one called as `kind`.
    """
    known = list(known)
    folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(shown(name).strip("'\"").casefold(), folded, n=2, cutoff=0.5)
    near = [guess] if guess else [folded[key] for key in close]
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    text = f"unknown {kind} {shown(name)}{owner and f' of {owner}'}.{hint} Known: {', '.join(known)}."
    return InputError(text, field=field or kind, value=name)


def identity(dim: int) -> Array:
    """Return the identity matrix of so many coordinates, if there is room for it."""
    check_room("a matrix", dim, dim)
    return np.eye(dim)


def unit_rows(array: Array) -> Array:
    """Return the rows scaled to length 1."""
    scaled: Array = array / np.linalg.norm(array, axis=-1, keepdims=True)
    return scaled


def safe_scale(points: Array) -> float:
    """Return a divisor that keeps squares from over- and underflow.

    1, unless points are extreme.
    """
    largest = float(np.abs(points).max(initial=0.0))
    return 1.0 if largest == 0.0 or 1e-100 < largest < 1e100 else largest


def norms(vectors: Array) -> Array:
    """Return the Euclidean norms along the last axis, without overflow or underflow."""
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


def shown(value: object) -> str:
    """Return a value as a message quotes it: its first entries or characters."""
    if isinstance(value, np.ndarray):
        if value.size > QUOTED:
            return f"{_cut(repr(value.ravel()[:QUOTED].tolist())[:-1])}, ...] of shape {value.shape}"
        value = value.tolist()
    try:
        return _cut(_shown_number(value) if isinstance(value, int) else repr(value))
    except Exception:  # an object of the user's own may have no text at all
        return f"<{type(value).__name__} without a repr>"


def _cut(text: str) -> str:
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + "..."


def _shown_number(value: int) -> str:
    if value.bit_length() <= 128:
        return repr(value)
    return f"about {'-' if value < 0 else ''}10^{math.log10(abs(value)):.1f}"


def described(error: BaseException) -> str:
    """Return the kind and the text of an exception, which may be the user's own and have no text."""
    try:
        text = str(error)
    except Exception as failure:
        text = f"its text cannot be made, which raised {type(failure).__name__}"
    return f"{type(error).__name__}: {text}"
