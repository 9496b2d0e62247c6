"""Images under a group whose elements are few enough to list, and orbit distances."""

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


@compiled
def images_of(points: FloatArray, center: FloatArray, elements: FloatArray, out: FloatArray) -> None:
    """Write the images of (m, d) points under (order, d, d) matrices about a centre into `out`, (m, order, d).

    Each is worked out by itself, so that it is the same to the last bit whatever comes with it.
    """
    m, order, d = out.shape
    for p in range(m):
        for g in range(order):
            for i in range(d):
                total = 0.0
                for j in range(d):
                    total += elements[g, i, j] * (points[p, j] - center[j])
                out[p, g, i] = total + center[i]
