"""Warp: an increasing function of rewards after which a Gaussian process fits them better.

    g(y) = top - (scale / strength) log(1 + strength (top - y) / scale)   below the top,   and y above it.

Penalties and collisions give rewards a long lower tail, from which a stationary process
overestimates the variance everywhere. The warp compresses the tail and hardly changes rewards near
the top: g has slope 1 there, and bends where rewards are `scale` / `strength` below. A strength of
0 is no warp. The strength is chosen by the marginal likelihood, with the Jacobian of g (Snelson,
Rasmussen, Ghahramani, Warped Gaussian processes, 2003).
"""

from typing import NamedTuple

import numpy as np

from orbandit._checks import Array


class Warp(NamedTuple):
    """A function of rewards in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> warp = Warp(top=0.9, scale=0.1, strength=1.0)
    >>> warp.of(np.array([0.0, 0.8, 0.9, 1.0])).round(3)
    array([0.67 , 0.831, 0.9  , 1.   ])
    >>> warp.undone(warp.of(np.array([0.1, 0.8]))).round(12)
    array([0.1, 0.8])
    """

    top: float
    scale: float
    strength: float

    def of(self, rewards: Array) -> Array:
        """Return g of rewards."""
        if not self.strength:
            return rewards
        below = np.maximum(self.top - rewards, 0.0)
        drawn = self.scale / self.strength * np.log1p(self.strength / self.scale * below)
        return np.asarray(rewards + below - drawn)

    def undone(self, warped: Array) -> Array:
        """Return the rewards of which these are g."""
        if not self.strength:
            return warped
        drawn = np.maximum(self.top - warped, 0.0)
        below = self.scale / self.strength * np.expm1(self.strength / self.scale * drawn)
        return np.asarray(warped + drawn - below)

    def derivatives(self, rewards: Array) -> Array:
        """Return the derivatives of g."""
        below = np.maximum(self.top - rewards, 0.0)
        return np.asarray(1.0 / (1.0 + self.strength / self.scale * below))


NO_WARP = Warp(1.0, 1.0, 0.0)
"""No warp."""


STEADY = 5.0
"""Least scale of a warp, in standard deviations of the noise: the mean of g over noisy rewards is
not g of their mean, and if g bends within the noise, the ranking of points is by luck."""


def warped_about(rewards: Array, strength: float, deviation: float = 0.0) -> Warp:
    """Return the warp of a strength for such rewards; its scale is the maximum minus the median.

    The scale is no less than STEADY standard deviations of their noise.

    Examples
    --------
    >>> import numpy as np
    >>> warped_about(np.array([0.0, 0.5, 0.75]), 1.0)
    Warp(top=0.75, scale=0.25, strength=1.0)
    >>> warped_about(np.array([0.0, 0.5, 0.75]), 1.0, deviation=0.125)
    Warp(top=0.75, scale=0.625, strength=1.0)
    """
    top = float(rewards.max())
    scale = max(top - float(np.median(rewards)), STEADY * deviation)
    return Warp(top, scale, strength) if scale > 0 else NO_WARP
