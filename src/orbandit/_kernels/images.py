"""Orbit distances under a group whose elements are few enough to list."""

import numpy as np

from orbandit._kernels.compiled import FloatArray, compiled


@compiled
def image_distances(images: FloatArray, b: FloatArray, out: FloatArray) -> None:
    """Write out[p, q] = min over g of ||images[p, g] - b[q]||; `images` is (m, order, d), `b` is (k, d)."""
    m, order, d = images.shape
    for p in range(m):
        for q in range(b.shape[0]):
            least = np.inf
            for g in range(order):
                total = 0.0
                for k in range(d):
                    difference = images[p, g, k] - b[q, k]
                    total += difference * difference
                least = min(least, total)
            out[p, q] = np.sqrt(least)
