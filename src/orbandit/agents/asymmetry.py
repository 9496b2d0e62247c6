"""Asymmetry: an anytime-valid test of a group, from rewards of random images.

An agent whose group may be wrong plays g x instead of the point x that it chose, with g random and
independent of the past. If mean and noise are invariant, the reward y is independent of g. Let
more such images of x be drawn in the same way. Given the set of them all, each is as likely to be
the one that was played. So with features phi and

    u = phi(g x) - the mean of phi over the set,

the expectation of (y - c) w . u is 0 for all c and w that depend on the past and on x only, and

    W = product over rounds of (1 + b (y - c) w . u),     b small enough that no factor is below 1/2,

is a nonnegative martingale. Here w is a ridge regression of y - c on u, so that W grows if a linear
function of the features differs between images. There is a W for coordinates, one for products of
two, and one for random Fourier features. Their mean is a nonnegative martingale, too. By Ville's
inequality it ever reaches 1 / level with probability at most `level`: the test may be read after
every round.
"""

import math
from typing import Any, final

import numpy as np

from orbandit._checks import Array
from orbandit.agents.files import Arrays
from orbandit.agents.violation import Violation

LEVEL = 0.01
"""Level of the test: a true symmetry is rejected with at most this probability."""
OTHERS = 7
"""Images drawn besides the one that is played."""
MAX_PRODUCTS, WAVES = 66, 64
"""Most products of coordinates, which are products of random directions beyond; and Fourier
features."""
FREQUENCY = 6.0
"""Standard deviation of the frequencies of Fourier features, per diameter of the space."""
FEATURES = "", "_products", "_waves"
"""The names of features in files."""
RIDGE = 1.0
"""Ridge penalty of the regression, in units of one round."""
LEAST_VARIANCE = 1e-3
"""Least variance of rewards about their expected values, in units of the squared range."""


@final
class Asymmetry:
    """The wealth of bets that images differ (testing by betting).

    Parameters
    ----------
    center : (dim,) array
        The fixed point of the group.
    diameter : float
        Diameter of the space, the unit of distances.

    Examples
    --------
    >>> import numpy as np
    >>> import orbandit as ob
    >>> swap, rng = ob.groups.Symmetric(2), np.random.default_rng(0)
    >>> test = Asymmetry(swap.center, diameter=1.0)
    >>> for _ in range(200):
    ...     images = swap.act(swap.random(1 + OTHERS, rng), rng.random(2))
    ...     test.learn(images, float(images[0, 0] > 0.5), 0.5)     # the order matters
    >>> test.is_clear
    True
    """

    def __init__(self, center: Array, diameter: float) -> None:
        self._center, self._diameter, dim = center, diameter, len(center)
        rng = np.random.default_rng(0)
        pairs = np.triu_indices(dim)
        if len(pairs[0]) <= MAX_PRODUCTS:
            self._products = np.eye(dim)[:, pairs[0]], np.eye(dim)[:, pairs[1]]
        else:
            one, two = rng.standard_normal((2, dim, MAX_PRODUCTS)) / math.sqrt(dim)
            self._products = one, two
        self._waves = FREQUENCY * rng.standard_normal((dim, WAVES)), rng.uniform(0, 2 * math.pi, WAVES)
        sizes = [dim, self._products[0].shape[1], WAVES]
        self._inverses, self._slopes = [np.eye(size) / RIDGE for size in sizes], [np.zeros(size) for size in sizes]
        self._rounds, self._squares, self._log_wealths = 0.0, 0.0, np.zeros(len(sizes))

    @property
    def is_clear(self) -> bool:
        """Whether the test rejects the group at LEVEL."""
        largest = float(self._log_wealths.max())
        mean = np.exp(self._log_wealths - largest).mean()
        return largest + math.log(mean) >= math.log(1 / LEVEL)

    def learn(self, images: Array, value: float, expected: float) -> None:
        """Bet on a reward in [0, 1].

        Parameters
        ----------
        images : (m, dim) array
            Images of one point, drawn alike; the reward is that of the first.
        value, expected : float
            The reward, and what was expected of all images.
        """
        rest, most = value - expected, max(expected, 1 - expected)
        variance = max((self._squares + LEAST_VARIANCE) / (self._rounds + 1), LEAST_VARIANCE)
        for which, features in enumerate(self._features((images - self._center) / self._diameter)):
            across, inverse = features - features.mean(axis=0), self._inverses[which]
            slopes = across @ (inverse @ self._slopes[which])
            largest = float(np.abs(slopes).max()) * most
            bet = 1 / variance if largest == 0 else min(1 / variance, 0.5 / largest)
            self._log_wealths[which] += math.log1p(bet * rest * float(slopes[0]))
            own = across[0]
            solved = inverse @ own
            inverse -= np.outer(solved, solved / (1 + own @ solved))
            self._slopes[which] += rest * own
        self._rounds, self._squares = self._rounds + 1, self._squares + rest**2

    def clearest(self, points: Array, elements: Array) -> Violation:
        """Return the clearest difference between points and their images, by the regression that gained most.

        Parameters
        ----------
        points : (m, dim) array
            Points.
        elements : (k, dim, dim) array
            Elements of the group.
        """
        which = int(self._log_wealths.argmax())
        slopes = self._inverses[which] @ self._slopes[which]
        places = (points - self._center) / self._diameter
        images = np.einsum("kij,mj->kmi", elements, places)
        own = self._features(places)[which]
        across = self._features(images.reshape(-1, len(self._center)))[which].reshape(*images.shape[:2], -1) - own
        differences = across @ slopes
        spreads = np.einsum("kmi,ij,kmj->km", across, self._inverses[which], across)
        deviations = np.sqrt(np.maximum(spreads, 1e-300) * max(self._squares / self._rounds, LEAST_VARIANCE))
        element, point = np.unravel_index(np.argmax(np.abs(differences) / deviations), differences.shape)
        found = float(differences[element, point]), float(deviations[element, point])
        return Violation(elements[element], points[point], *found)

    def _features(self, places: Array) -> tuple[Array, Array, Array]:
        """Return the coordinates, products and waves at places from the centre, in diameters."""
        (one, two), (frequencies, phases) = self._products, self._waves
        return places, 4 * (places @ one) * (places @ two), np.cos(places @ frequencies + phases) / 4

    @property
    def arrays_to_save(self) -> Arrays:
        """What a file keeps."""
        numbers = np.concatenate([[self._rounds, self._squares], self._log_wealths])
        names = [("doubt_inverse" + name, "doubt_slopes" + name) for name in FEATURES]
        matrices = {own: matrix for (own, _), matrix in zip(names, self._inverses, strict=True)}
        vectors = {own: vector for (_, own), vector in zip(names, self._slopes, strict=True)}
        return {**matrices, **vectors, "doubt_numbers": numbers}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Undo `arrays_to_save`, checked; 0.2.0 bet on coordinates only, and other bets begin anew."""
        numbers = arrays["doubt_numbers"]
        kept = 1 if numbers.shape == (3,) else len(FEATURES)
        parts = [numbers]
        for which, name in enumerate(FEATURES[:kept]):
            inverse, slopes = arrays["doubt_inverse" + name], arrays["doubt_slopes" + name]
            if inverse.shape != self._inverses[which].shape or slopes.shape != self._slopes[which].shape:
                raise ValueError("bets on other features")
            self._inverses[which], self._slopes[which] = inverse.copy(), slopes.copy()
            parts += [inverse, slopes]
        proper = numbers.shape == (2 + kept,) and all(np.isfinite(part).all() for part in parts)
        if not proper or numbers[:2].min() < 0:
            raise ValueError("bets that cannot be")
        self._rounds, self._squares = numbers[:2].tolist()
        self._log_wealths[:kept] = numbers[2:]
