"""Families of kernels as functions of the squared distance q, in units of the length scale: values, and slopes by q.

All are mixtures of Gaussians exp(-t q) over t >= 0, so that they are positive definite in every Hilbert space.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from orbandit._checks import Array, unknown_name

TINY = 1e-7
"""Distances below this count as this where a slope divides by them: nearer to its kink, a slope would be rounding."""


class Family(NamedTuple):
    """A decreasing function of q with value 1 at 0, elementwise: its value, or both its value and its derivative."""

    value: Callable[[Array], Array]
    both: Callable[[Array], tuple[Array, Array]]


def _matern12(q: Array) -> Array:
    return np.asarray(np.exp(-np.sqrt(q)))


def _matern12_both(q: Array) -> tuple[Array, Array]:
    r = np.sqrt(q)
    decay = np.exp(-r)
    return decay, decay / (-2 * np.maximum(r, TINY))


def _matern32(q: Array) -> Array:
    z = np.sqrt(3 * q)
    return np.asarray((1 + z) * np.exp(-z))


def _matern32_both(q: Array) -> tuple[Array, Array]:
    z = np.sqrt(3 * q)
    decay = np.exp(-z)
    return (1 + z) * decay, -1.5 * decay


def _matern52(q: Array) -> Array:
    z = np.sqrt(5 * q)
    return np.asarray((1 + z * (1 + z / 3)) * np.exp(-z))


def _matern52_both(q: Array) -> tuple[Array, Array]:
    z = np.sqrt(5 * q)
    decay = np.exp(-z)
    return (1 + z * (1 + z / 3)) * decay, -5 / 6 * (1 + z) * decay


def _rbf(q: Array) -> Array:
    return np.asarray(np.exp(-q / 2))


def _rbf_both(q: Array) -> tuple[Array, Array]:
    value = np.exp(-q / 2)
    return value, -value / 2


FAMILIES = {
    "matern12": Family(_matern12, _matern12_both),
    "matern32": Family(_matern32, _matern32_both),
    "matern52": Family(_matern52, _matern52_both),
    "rbf": Family(_rbf, _rbf_both),
}
"""From rough to smooth: no mean-square derivative, one, two, all."""


def family_named(name: str) -> Family:
    """Return a family, or refuse an unknown name."""
    try:
        return FAMILIES[name]
    except (KeyError, TypeError):
        raise unknown_name("family of kernels", name, FAMILIES) from None
