"""The one set of compiler flags: cached on disk, free of the GIL, no fast-math since indices use infinity.

Polynomials may be contracted besides: a product and a sum become one instruction, with one
rounding, if there is one.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeAlias, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IndexArray: TypeAlias = npt.NDArray[np.int64]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on its first call; the plain one stays available as `.py_func`."""
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def contracted(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a polynomial whose sums have one product each, so that there is one way to contract them."""
    flags = {"contract"}
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=flags)(function))
