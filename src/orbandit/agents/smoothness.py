"""Smoothness: the nu and rho of algorithms on trees.

Rewards in a cell of depth h differ by at most nu rho^h.

By default rho = 2^(-1/d), since d cuts halve a cell, and nu is the least with L diameter(h) <= nu
rho^h at every depth.
"""

from typing import final

import numpy as np

from orbandit._checks import Array, as_positive
from orbandit.agents.cell_arms import CellArms
from orbandit.errors import InputError
from orbandit.meshes.cells import DEEPEST


@final
class Smoothness:
    """How much rewards may differ in cells, with rewards scaled to [0, 1].

    Parameters
    ----------
    arms : CellArms
        The cells.
    nu, rho : float or None
        As the caller gave them, nu in units of rewards; None means the default.
    span : float
        The width of the range of rewards.

    Attributes
    ----------
    nu, rho : float
        Of scaled rewards.
    widths : (DEEPEST + 1,) array
        nu rho^h for every depth h.
    """

    def __init__(self, arms: CellArms, nu: float | None, rho: float | None, span: float) -> None:
        cells = arms.cells
        self.rho = 2 ** (-1 / max(1, int((cells.sides(0) > 0).sum()))) if rho is None else as_positive(rho, "rho")
        if self.rho >= 1:
            raise InputError(f"`rho < 1` must hold, but got rho={rho}.", field="rho", value=rho)
        if nu is None:
            self.nu = max(cells.diameter(h) * arms.scale / self.rho**h for h in range(DEEPEST + 1))
        else:
            self.nu = as_positive(nu, "nu") / span
        self.widths: Array = self.nu * self.rho ** np.arange(DEEPEST + 1.0)
