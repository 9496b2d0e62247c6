"""Families of kernels as functions of the squared distance q, in length scales: values, and derivatives by q.

All are mixtures of Gaussians exp(-t q) over t >= 0, so that they are positive definite in every
Hilbert space. The formulas are those of `_kernels/profiles.py`, which has them compiled, too.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from orbandit._checks import Array, unknown_name
from orbandit._kernels import profiles


class Family(NamedTuple):
    """A decreasing function of q with value 1 at 0: its number in compiled loops, and its value and derivative."""

    number: int
    both: Callable[[Array], tuple[Array, Array]]

    def value(self, q: Array) -> Array:
        """Return the value, elementwise."""
        return self.both(q)[0]


def _matern12(q: Array) -> tuple[Array, Array]:
    z = np.sqrt(q)
    return profiles.matern12(np.maximum(z, profiles.LEAST_DISTANCE), np.exp(-z))


def _matern32(q: Array) -> tuple[Array, Array]:
    z = np.sqrt(3 * q)
    return profiles.matern32(z, np.exp(-z))


def _matern52(q: Array) -> tuple[Array, Array]:
    z = np.sqrt(5 * q)
    return profiles.matern52(z, z / 3, np.exp(-z))


def _rbf(q: Array) -> tuple[Array, Array]:
    return profiles.rbf(np.exp(-q / 2))


FAMILIES = {
    "matern12": Family(profiles.MATERN12, _matern12),
    "matern32": Family(profiles.MATERN32, _matern32),
    "matern52": Family(profiles.MATERN52, _matern52),
    "rbf": Family(profiles.RBF, _rbf),
}
"""From rough to smooth: no mean-square derivative, one, two, all."""


def family_named(name: str) -> Family:
    """Return a family, or refuse an unknown name."""
    try:
        return FAMILIES[name]
    except (KeyError, TypeError):
        raise unknown_name("family of kernels", name, FAMILIES) from None
