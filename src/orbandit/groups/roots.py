"""Simple roots and degrees of the irreducible finite reflection groups (Humphreys 1990, chapters 2 and 3).

The product of the degrees is the order, the sum of (degree - 1) the number of reflections. The
roots are the usual ones, with the chamber turned so that A, B and D agree with ascending sorts; A_n
is drawn in the frame of the regular simplex, H_3 in that of the icosahedron.
"""

import math
import re

import numpy as np

from orbandit._checks import Array, shown, unit_rows, unknown_name
from orbandit.errors import InputError
from orbandit.spaces.regular import GOLDEN, as_written, regular_simplex

EXCEPTIONAL_DEGREES = {
    "E6": (2, 5, 6, 8, 9, 12),
    "E7": (2, 6, 8, 10, 12, 14, 18),
    "E8": (2, 8, 12, 14, 18, 20, 24, 30),
    "F4": (2, 6, 8, 12),
    "G2": (2, 6),
    "H3": (2, 6, 10),
    "H4": (2, 12, 20, 30),
}
KNOWN = ("An", "Bn", "Dn", *EXCEPTIONAL_DEGREES, "I2(m)")
SMALLEST_RANK = {"A": 1, "B": 1, "D": 2}
MAX_RANK = 1_000
"""Largest rank n of An, Bn and Dn, whose roots are all kept."""
MAX_ROTATIONS = 10**12
"""Most rotations of the plane: a smaller turn than theirs would be lost in rounding."""


def root_system(name: str) -> tuple[Array, tuple[int, ...]]:
    """Return the unit simple roots (n, n) and the degrees of the group called `name`."""
    if not isinstance(name, str):
        raise unknown_name("Coxeter group", name, KNOWN, field="name")
    if name in EXCEPTIONAL_DEGREES:
        return unit_rows(_exceptional_roots(name)), EXCEPTIONAL_DEGREES[name]
    if planar := re.fullmatch(r"I2\(([0-9]+)\)", name):
        m = as_written(planar[1])
        if m < 2:
            raise InputError(f"`I2(m)` needs m >= 2, but got {shown(name)}; use Dihedral(1) for one mirror.")
        if m > MAX_ROTATIONS:
            raise InputError(f"`I2(m)` needs m <= {MAX_ROTATIONS:,}, but got {shown(name)}.")
        return dihedral_roots(m), (2, m)
    if classical := re.fullmatch(r"([ABD])([0-9]+)", name):
        family, n = classical[1], as_written(classical[2])
        if n < SMALLEST_RANK[family]:
            raise InputError(f"`{family}n` needs n >= {SMALLEST_RANK[family]}, but got {shown(name)}.")
        if n > MAX_RANK:
            raise InputError(f"`{family}n` needs n <= {MAX_RANK:,}, but got {shown(name)}; see Symmetric for more.")
        return unit_rows(_classical_roots(family, n)), _classical_degrees(family, n)
    raise unknown_name("Coxeter group", name, KNOWN, guess=_mended(name), field="name")


def dihedral_roots(m: int) -> Array:
    """Return the walls of the wedge 0 <= angle <= pi / m, m >= 2."""
    return np.array([[0.0, 1.0], [math.sin(math.pi / m), -math.cos(math.pi / m)]])


def _classical_roots(family: str, n: int) -> Array:
    if family == "A":
        return np.diff(regular_simplex(n), axis=0)
    first = np.eye(1, n)  # e_1
    if family == "D":
        first = first + np.eye(1, n, 1)  # e_1 + e_2
    return np.vstack([first, np.diff(np.eye(n), axis=0)])  # e_(i+1) - e_i


def _classical_degrees(family: str, n: int) -> tuple[int, ...]:
    if family == "A":
        return tuple(range(2, n + 2))
    if family == "B":
        return tuple(range(2, 2 * n + 1, 2))
    return (*range(2, 2 * n - 1, 2), n)


def _exceptional_roots(name: str) -> Array:
    if name == "G2":
        return dihedral_roots(6)
    if name == "F4":
        return np.array([[0, 1, -1, 0], [0, 0, 1, -1], [0, 0, 0, 1], [0.5, -0.5, -0.5, -0.5]])
    if name in ("H3", "H4"):
        t = 1 / GOLDEN
        H4 = np.array([[2, 0, 0, 0], [-GOLDEN, t, -1, 0], [0, 0, 2, 0], [0, -GOLDEN, -1, t]]) / 2
        return H4 if name == "H4" else H4[:3, :3]
    # E_8 in the coordinates of Bourbaki; E_6 and E_7 are its first roots, in a frame of their own
    # span.
    E8 = np.zeros((8, 8))
    E8[0] = np.array([1, -1, -1, -1, -1, -1, -1, 1]) / 2
    E8[1, :2] = 1.0
    E8[2:, :7] = np.diff(np.eye(7), axis=0)
    n = int(name[1])
    return E8 if n == 8 else np.asarray(np.linalg.cholesky(E8[:n] @ E8[:n].T), dtype=np.float64)


def _mended(name: str) -> str | None:
    """Return what was probably meant by a name in the wrong case or brackets, or of type C, the group of B."""
    mended = re.sub(r"^C(?=\d)", "B", name.strip().upper())
    mended = re.sub(r"^I2\D*(\d+)\D*$", r"I2(\1)", mended)
    valid = mended in EXCEPTIONAL_DEGREES or re.fullmatch(r"[ABD]\d+|I2\(\d+\)", mended)
    return mended if valid else None
