"""Slow, obvious twins of the kernels on orbits and of the regression with them."""

import math
import statistics
from itertools import permutations, product

import numpy as np
from scipy.special import kv


def layout_similarity(a, b, signed):
    """Mean over all pairs of units, and over signs, of 2^-||u - v||^2."""
    signs = (1, -1) if signed else (1,)
    return np.mean([[[2.0 ** -((s * u - v) @ (s * u - v)) for s in signs] for v in b] for u in a])


def layout_square(a, b, signed):
    """The squared distance of the mean bumps of two layouts."""
    own = layout_similarity(a, a, signed) + layout_similarity(b, b, signed)
    return max(own - 2 * layout_similarity(a, b, signed), 0.0)


def sorted_units(layout, signed):
    """The units in the order of the dictionary, with a positive first coordinate if signs do not matter."""
    units = [tuple(unit + 0.0) for unit in layout]
    if signed:
        units = [max(unit, tuple(-x + 0.0 for x in unit)) for unit in units]
    return np.array(sorted(units))


def mean_of_kernel(family, squares):
    """The mean of a family over squared distances; of these themselves for the family None."""
    return np.mean([q if family is None else radial(family, math.sqrt(q)) for q in squares])


def radial(family, distance):
    """The families of kernels as they are written in books, as functions of the distance in length scales."""
    if family == "rbf":
        return np.exp(-(distance**2) / 2)
    nu = {"matern12": 1 / 2, "matern32": 3 / 2, "matern52": 5 / 2}[family]
    z = np.sqrt(2 * nu) * distance
    return 1.0 if z == 0 else 2 ** (1 - nu) / math.gamma(nu) * z**nu * kv(nu, z)


def images_of_kernel(family, elements, center, x, y, lengths):
    """k(g x, y) for each element g about a centre, with one length scale for each coordinate."""
    images = [center + g @ (x - center) for g in elements]
    return np.array([radial(family, np.linalg.norm((image - y) / lengths)) for image in images])


def regression(prior, rewards, noise, center, spread, jitter):
    """Means and variances of all points, by one big solve over single rewards (row, value); jitter counts per point."""
    rows = sorted({row for row, _ in rewards})
    counts = np.array([sum(row == other for other, _ in rewards) for row in rows])
    means = np.array([np.mean([value for other, value in rewards if other == row]) for row in rows])
    covariance = prior + spread
    matrix = covariance[np.ix_(rows, rows)] + np.diag(np.asarray(noise)[rows] / counts + jitter)
    solution = np.linalg.solve(matrix, covariance[rows])
    variances = covariance.diagonal() - np.einsum("ij,ij->j", covariance[rows], solution)
    return center + solution.T @ (means - center), variances


def mean_over_exchanges(images, y, classes):
    """Return the mean of exp(-|x - y|^2 / 2) over images x, exchanges of units within classes, and turns of each."""
    total, count = 0.0, 0
    for x in images:
        ways = []
        for units, turns in classes:
            orders, choices = permutations(range(len(units))), product(turns, repeat=len(units))
            ways.append([(units, order, turned) for order, turned in product(list(orders), list(choices))])
        for way in product(*ways):
            square = 0.0
            for units, order, turned in way:
                for place, source, turn in zip(range(len(units)), order, turned, strict=True):
                    square += ((turn @ x[units[source]] - y[units[place]]) ** 2).sum()
            total, count = total + np.exp(-square / 2), count + 1
    return total / count


def distance_square(a, b, frequencies, signed, others=None):
    """The squared distance of means over pairs of cos(w d), of layouts (units, size) in length scales, reach 1.

    Pairs are those within a layout, or those of its units with others: two layouts, one for a and one for b.
    """

    def distances(units, among):
        pairs = [(u, v) for place, u in enumerate(units) for v in (units[:place] if among is None else among)]
        return [math.dist(u, sign * v) for u, v in pairs for sign in (1, -1)[: 1 + signed]]

    one, two = (distances(*each) for each in zip((a, b), others or (None, None), strict=True))
    total = 0.0
    for w in frequencies:
        gap = sum(math.cos(w * d) for d in one) / len(one) - sum(math.cos(w * d) for d in two) / len(two)
        total += len(one) * gap**2
    return total / len(frequencies)


def evolved(mean, step, covariance, paths, generation, members, *, is_by_rewards=False):
    """One generation of an evolution strategy without walls, written as in Hansen's tutorial, number by number.

    Members are (point, reward) in any order; returns the new mean, step, covariance and paths. If it
    is by rewards, these move the mean, not their ranks.
    """
    n, size = len(mean), len(members)
    ranked = [point for point, _ in sorted(members, key=lambda member: -member[1])]
    raw = [math.log((size + 1) / 2) - math.log(i) for i in range(1, size // 2 + 1)]
    w = [each / sum(raw) for each in raw]
    mu = 1 / sum(each**2 for each in w)
    c_s = (mu + 2) / (n + mu + 5)
    d_s = 1 + 2 * max(0, math.sqrt((mu - 1) / (n + 1)) - 1) + c_s
    c_c = (4 + mu / n) / (n + 4 + 2 * mu / n)
    c_1 = 2 / ((n + 1.3) ** 2 + mu)
    c_mu = min(1 - c_1, 2 * (mu - 2 + 1 / mu) / ((n + 2) ** 2 + mu))
    y = [(point - mean) / step for point in ranked[: len(w)]]
    y_w = sum(each * one for each, one in zip(w, y, strict=True))
    values, vectors = np.linalg.eigh(covariance)
    inverse_root = vectors @ np.diag(values**-0.5) @ vectors.T
    p_s = (1 - c_s) * paths[0] + math.sqrt(c_s * (2 - c_s) * mu) * inverse_root @ y_w
    usual = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n**2))
    norm = math.sqrt(p_s @ p_s)
    h = float(norm / math.sqrt(1 - (1 - c_s) ** (2 * (generation + 1))) < (1.4 + 2 / (n + 1)) * usual)
    p_c = (1 - c_c) * paths[1] + h * math.sqrt(c_c * (2 - c_c) * mu) * y_w
    kept = 1 + c_1 * (1 - h) * c_c * (2 - c_c) - c_1 - c_mu
    spread = sum(each * np.outer(one, one) for each, one in zip(w, y, strict=True))
    covariance = kept * covariance + c_1 * np.outer(p_c, p_c) + c_mu * spread
    new = mean + step * y_w
    if is_by_rewards:
        rewards = [reward for _, reward in members]
        middle, spread = statistics.fmean(rewards), statistics.pstdev(rewards)
        normal = statistics.NormalDist()
        reach = sum(each * normal.inv_cdf(1 - (i - 3 / 8) / (size + 1 / 4)) for i, each in enumerate(w, 1))
        new = mean + sum(reach * (reward - middle) / spread * (point - mean) for point, reward in members) / size
    return new, step * math.exp(c_s / d_s * (norm / usual - 1)), covariance, [p_s, p_c]
