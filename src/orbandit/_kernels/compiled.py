"""The one set of compiler flags: cached on disk, free of the GIL, no fast-math since indices use infinity."""

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
