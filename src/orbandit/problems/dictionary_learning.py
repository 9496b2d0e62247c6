"""DictionaryLearning: learn a few atoms that explain the patches of a real image.

And such patches.
"""

import math
from functools import cached_property
from typing import TypeAlias, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import (
    Array,
    RandomLike,
    as_count,
    as_finite,
    as_generator,
    frozen,
    shown,
    unit_rows,
    unknown_name,
)
from orbandit.errors import InputError, InputTypeError, MissingExtraError
from orbandit.groups import SignedBlockPermutation
from orbandit.problems.base import Problem
from orbandit.problems.noise import Noise
from orbandit.spaces import Ball

Indices: TypeAlias = npt.NDArray[np.int64]

SHORTEST = 0.5
"""Atoms of at least this length count by their direction alone."""
STEEPEST = 16 / (3 * math.sqrt(3))
"""The largest slope of what one atom explains of one patch."""
STARTS = 200
"""Random starts of the search for the best dictionary, and then as many around the best."""
AT_ONCE = 1 << 21
"""Products of atoms and patches held at a time."""

MOST_PIXELS = 1_024
"""In a patch; bandits search few dimensions, and the basis has the square of this."""
IMAGES = ("astronaut", "brick", "camera", "chelsea", "coffee", "coins", "grass", "gravel", "moon", "rocket")
"""Photographs that come with scikit-image itself, with nothing to download."""
GREY = np.array([0.2125, 0.7154, 0.0721])
"""Luminance of red, green and blue."""


@final
class DictionaryLearning(Problem):
    """The share of patches that a dictionary explains, each patch by the best one of its atoms.

    The arm is K vectors a_1, ..., a_K in the unit ball of R^p, one after the other. Inside the loss
    they are normalised,

        u_k = a_k / max(||a_k||, 1/2),

    so that only directions matter from half length on. Plain normalisation a / ||a|| would not even
    be continuous at 0; this is, and Lipschitz. A patch y of length 1 is coded by one atom with the
    coefficient s = <y, u>, which leaves
    ||y - s u||^2 = 1 - s^2 (2 - ||u||^2) of it. The mean reward is the explained share,

        f(a) = average over patches of max_k <y, u_k>^2 (2 - ||u_k||^2),

    in [0, 1]. Neither the order of the atoms nor their signs matter: SignedBlockPermutation(K, p),
    of order 2^K K!.

    Parameters
    ----------
    patches : (n, p) array, optional
        One to a row. Rows are scaled to length 1; nothing is subtracted from them. By default
        `image_patches()`: 500 of 2 x 2 pixels with their means removed, in the p = 3 coordinates
        that are left.
    atoms : int
        K, at least 1.
    batch : int
        Patches drawn for a reward.
    noise : Noise, optional
        The distribution of rewards around their mean. By default a reward is the average explained
        share of `batch` patches drawn at random with replacement, whose mean is exactly f.

    Notes
    -----
    *Lipschitz constant.* With the cosine c of y and u and t = ||u||^2, what one atom explains of
    one patch has the slope 2 |c| sqrt(1 - c^2) / ||a|| <= 2 where ||a|| >= 1/2, and the square of
    its slope is

        16 t c^2 ((2 - t)^2 - t c^2 (4 - 3 t)) <= 64 * 4 / 27

    where ||a|| < 1/2, with equality for c = 1, t = 1/3: it is at most 16 / (3 sqrt 3) = 3.08.
    Patches that share an atom pull in different directions. For any assignment of patches to atoms
    let M_k = sum of y y^T / n over the patches of atom k. The slope in a_k is at most 3.08
    lambda_k, lambda_k the largest eigenvalue of M_k, in the same way, since ||M_k u||^2 <= lambda_k
    <u, M_k u>. Now lambda_k <= e_1 and sum_k lambda_k <= e_1 + ... + e_K, for the eigenvalues e_1
    >= e_2 >= ... of the sum M of all M_k, because K atoms explain no more than the space they span.
    f is the largest over all assignments, so

        lipschitz = 16 / (3 sqrt 3) sqrt(e_1 (e_1 + ... + e_K))

    is a bound that holds. For K = 1 it is attained, at length 1 / (2 sqrt 3) along the leading
    eigenvector.

    *Optimum.* Found, not proved, but for K = 1, where it is the first principal component: patches
    are given to their best atoms and atoms moved to the leading eigenvectors of their M_k, until
    nothing changes (K lines, like K means), from 200 random dictionaries, and from 200 around the
    best.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> angles = np.radians([0, 5, 10, 80, 85, 90])
    >>> problem = ob.problems.DictionaryLearning(np.column_stack([np.cos(angles), np.sin(angles)]), atoms=2)
    >>> problem.space.dim, problem.group.order, round(problem.optimum, 4)
    (4, 8, 0.9949)
    >>> good = [np.cos(angles[1]), np.sin(angles[1]), 0.0, 0.7]
    >>> problem.mean([good, np.negative(good)]).round(4).tolist()
    [0.9912, 0.9912]

    References
    ----------
    B. A. Olshausen, D. J. Field, Emergence of simple-cell receptive field properties by learning a
    sparse code for natural images, 1996.

    J. Mairal, F. Bach, J. Ponce, G. Sapiro, Online learning for matrix factorization and sparse
    coding, 2010 (dictionaries in unit balls, learnt from one patch at a time).
    """

    _is_unit = True

    def __init__(
        self,
        patches: npt.ArrayLike | None = None,
        atoms: int = 2,
        *,
        batch: int = 1,
        noise: Noise | None = None,
    ) -> None:
        self._atoms, self._batch = as_count(atoms, "atoms"), as_count(batch, "batch")
        if noise is not None and self._batch > 1:
            raise InputError(
                f"`batch={batch}` is for rewards of the problem's own; drop it, or `noise`.", field="batch", value=batch
            )
        self._patches = frozen(image_patches() if patches is None else _as_patches(patches))
        p = self._patches.shape[1]
        shares = np.linalg.eigvalsh(self._patches.T @ self._patches / len(self._patches))[::-1]
        lipschitz = STEEPEST * math.sqrt(shares[0] * shares[: self._atoms].sum())
        super().__init__(Ball(p) ** self._atoms, SignedBlockPermutation(self._atoms, p), lipschitz, noise)

    def __repr__(self) -> str:
        rest = f", batch={self._batch}" if self.noise is None else f", noise={self.noise!r}"
        return f"DictionaryLearning(<{' x '.join(map(str, self._patches.shape))} patches>, atoms={self._atoms}{rest})"

    @property
    def patches(self) -> Array:
        """The patches, each of length 1, (n, p)."""
        return self._patches

    @cached_property
    def _best(self) -> Array:
        rng = np.random.default_rng(0)
        starts = rng.standard_normal((STARTS, self._atoms, self._patches.shape[1]))
        best, most = starts[0], -1.0
        for start in starts:
            best, most = self._better(best, most, start)
        # Near a good dictionary there are others, which differ in the owners of a few patches.
        for scale in 10.0 ** rng.uniform(-3, 0, STARTS):
            best, most = self._better(best, most, best + scale * rng.standard_normal(best.shape))
        return frozen(best.ravel())

    def _better(self, best: Array, most: float, start: Array) -> tuple[Array, float]:
        """Return the better one of a dictionary and another after local search, and its mean."""
        atoms = _settle(self._patches, unit_rows(start))
        value = float(self._mean(atoms.reshape(1, -1))[0])
        return (atoms, value) if value > most else (best, most)

    @property
    def optimizer(self) -> Array:
        """The best dictionary found, of atoms of length 1."""
        return self._best

    @property
    def tolerance(self) -> float:
        """By how much a dictionary that the search has missed may be better."""
        return 1e-6

    def _units(self, points: Array) -> tuple[Array, Array]:
        """Return the atoms u_k, (m, K, p), and 2 - ||u_k||^2, (m, K)."""
        atoms = points.reshape(len(points), self._atoms, -1)
        lengths = np.linalg.norm(atoms, axis=2)
        units = atoms / np.maximum(lengths, SHORTEST)[:, :, None]
        return units, 2 - np.minimum(lengths / SHORTEST, 1) ** 2

    def _mean(self, points: Array) -> Array:
        units, factors = self._units(points)
        means = np.empty(len(points))
        step = max(1, AT_ONCE // (self._atoms * len(self._patches)))
        for first in range(0, len(points), step):
            part = slice(first, first + step)
            explained = (units[part] @ self._patches.T) ** 2 * factors[part, :, None]
            means[part] = explained.max(axis=1).mean(axis=1)
        return np.minimum(means, 1.0)  # rounding aside, at most 1

    def _draw(self, points: Array, rng: np.random.Generator) -> Array:
        units, factors = self._units(points)
        drawn = self._patches[rng.integers(len(self._patches), size=(len(points), self._batch))]
        explained = (units @ drawn.transpose(0, 2, 1)) ** 2 * factors[:, :, None]
        return np.asarray(np.minimum(explained.max(axis=1).mean(axis=1), 1.0))


def _as_patches(patches: npt.ArrayLike) -> Array:
    """Return patches scaled to length 1."""
    rows = as_finite(patches, "patches")
    if rows.ndim != 2 or not rows.size:
        raise InputError(
            f"`patches` must have shape (n, p), one patch to a row, but got shape {rows.shape}.",
            field="patches",
            value=patches,
        )
    scales = np.abs(rows).max(axis=1, keepdims=True)  # so that no length over- or underflows
    if not scales.all():
        where = int(np.argmin(scales))
        raise InputError(
            f"`patches` must not be zero, but row {where} is; drop such rows: they have no direction.",
            field="patches",
            value=patches,
        )
    return unit_rows(rows / scales)


def _settle(patches: Array, atoms: Array) -> Array:
    """Give patches to their best atoms and move atoms to the middle of their patches, until nothing changes."""
    owners = np.full(len(patches), -1)
    while True:
        nearest = np.argmax((patches @ atoms.T) ** 2, axis=1)
        if (nearest == owners).all():
            return atoms
        owners, atoms = nearest, atoms.copy()
        for k in np.unique(owners):
            own = patches[owners == k]
            atoms[k] = np.linalg.eigh(own.T @ own)[1][:, -1]


def image_patches(name: str = "moon", size: tuple[int, int] = (2, 2), count: int = 500, seed: RandomLike = 0) -> Array:
    """Return random patches of a photograph that comes with scikit-image, centred and of length 1.

    A grey patch of h x w pixels with its mean removed lies in a subspace of h w - 1 dimensions. It
    is given by its coordinates there, without an irrelevant dimension: for 2 x 2 pixels, 3 numbers.
    They are those of the cosine transform (`patch_basis`). Constant patches are skipped; no place
    of the image is taken twice. The patches of the default image have two dominant directions;
    those of "camera", for example, are nearly isotropic, and have many dictionaries that are almost
    the best.

    Parameters
    ----------
    name : str
        "astronaut", "brick", "camera", "chelsea", "coffee", "coins", "grass", "gravel", "moon" or
        "rocket".
    size : (int, int)
        Height and width of a patch.
    count : int
        Number of patches.
    seed : int, SeedSequence or Generator
        Source of randomness: draws the places.

    Returns
    -------
    (count, h w - 1) array

    Examples
    --------
    >>> import orbandit as ob
    >>> patches = ob.problems.image_patches("moon", size=(2, 2), count=200)
    >>> patches.shape, (patches**2).mean(axis=0).round(2).tolist()
    ((200, 3), [0.47, 0.42, 0.11])
    """
    basis, many, rng = patch_basis(size), as_count(count, "count"), as_generator(seed)
    image = _photograph(name)
    h, w = size
    if h > image.shape[0] or w > image.shape[1]:
        raise InputError(
            f"`size` must fit into {name!r} of {image.shape} pixels, but got size={size}.", field="size", value=size
        )
    windows = np.lib.stride_tricks.sliding_window_view(image, (h, w))
    kept: list[Array] = []
    places = rng.permutation(windows.shape[0] * windows.shape[1])
    for first in range(0, len(places), many):
        rows, columns = np.divmod(places[first : first + many], windows.shape[1])
        pixels = windows[rows, columns].reshape(-1, h * w)
        kept.append(pixels[np.ptp(pixels, axis=1) > 0] @ basis.T)
        if sum(map(len, kept)) >= many:
            return unit_rows(np.concatenate(kept)[:many])
    raise InputError(
        f"`count` must be at most {sum(map(len, kept))}, the patches of {name!r} that are not constant, but got "
        f"{many}.",
        field="count",
        value=count,
    )


def patch_basis(size: tuple[int, int] = (2, 2)) -> Array:
    """Return an orthonormal basis of patches whose pixels sum to zero: cosines, the rows of (h w - 1, h w).

    `coordinates @ patch_basis(size)` are pixels, row by row, of patches or of atoms learnt from
    them.

    Parameters
    ----------
    size : (int, int)
        Height h and width w of a patch.

    Examples
    --------
    >>> import orbandit as ob
    >>> ob.problems.patch_basis((2, 2)).round(2).tolist()
    [[0.5, -0.5, 0.5, -0.5], [0.5, 0.5, -0.5, -0.5], [0.5, -0.5, -0.5, 0.5]]
    """
    try:
        h, w = size
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"`size` must be (height, width), but got {shown(size)}.", field="size", value=size
        ) from error
    h, w = as_count(h, "height"), as_count(w, "width")
    if not 2 <= h * w <= MOST_PIXELS:
        raise InputError(
            f"`size` must have from 2 to {MOST_PIXELS:,} pixels, but got {size}: one pixel less its mean is nothing.",
            field="size",
            value=size,
        )
    return np.asarray(np.kron(_cosines(h), _cosines(w))[1:], dtype=np.float64)


def _cosines(n: int) -> Array:
    """Return the orthonormal cosine transform of n numbers, (n, n); its first row is constant."""
    k, i = np.arange(n)[:, None], np.arange(n)
    rows = np.cos(np.pi * k * (2 * i + 1) / (2 * n)) * np.sqrt(np.where(k == 0, 1, 2) / n)
    return np.asarray(rows)


def _photograph(name: str) -> Array:
    """Return the grey values of a photograph."""
    if name not in IMAGES:
        raise unknown_name("image", name, IMAGES, field="name")
    try:
        from skimage import data
    except ImportError as error:
        raise MissingExtraError("image patches need scikit-image: install orbandit with the extra `images`.") from error
    pixels = np.asarray(getattr(data, name)(), dtype=np.float64)
    return pixels if pixels.ndim == 2 else pixels @ GREY
