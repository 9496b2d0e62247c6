"""The orthogonal group mixing rows: canonical forms and orbit distances of (blocks, size) matrices."""

import numpy as np

from orbandit._kernels.compiled import FloatArray, compiled

CANCELLED = 1e-4
"""Below this fraction of ||A||^2 + ||B||^2 a squared distance is taken from the residual, not the
difference."""


@compiled
def echelon_forms(matrices: FloatArray, tol: float, slack: float, out: FloatArray) -> None:
    """Write the QR form of each matrix: in echelon shape, pivots positive, one form per orbit.

    Columns that add less than tol ||M|| + slack to the span of those before them hold no pivot, so
    that matrices of deficient rank have one form too.
    """
    m, rows, columns = matrices.shape
    for p in range(m):
        norm = 0.0
        for i in range(rows):
            for j in range(columns):
                out[p, i, j] = matrices[p, i, j]
                norm += matrices[p, i, j] ** 2
        threshold = tol * np.sqrt(norm) + slack
        r = 0
        for j in range(columns):
            if r == rows:
                break
            tail = 0.0
            for i in range(r + 1, rows):
                tail += out[p, i, j] ** 2
            length = np.sqrt(tail + out[p, r, j] ** 2)
            if length <= threshold:
                continue
            if np.sqrt(tail) > threshold:
                _reflect_rows(out[p], r, j, length, tail)
            elif out[p, r, j] < 0.0:
                for k in range(columns):
                    out[p, r, k] = 0.0 - out[p, r, k]  # no negative zeros
            r += 1


@compiled
def _reflect_rows(M: FloatArray, r: int, j: int, length: float, tail: float) -> None:
    """Apply to rows r.. the Householder reflection that sends M[r:, j] to (length, 0, ..., 0)."""
    rows, columns = M.shape
    # v = M[r:, j] - length e_r; its first entry is written without cancellation.
    head = M[r, j] - length if M[r, j] <= 0.0 else -tail / (M[r, j] + length)
    square = head * head + tail
    for k in range(columns):
        if k == j:
            continue
        dot = head * M[r, k]
        for i in range(r + 1, rows):
            dot += M[i, j] * M[i, k]
        factor = 2.0 * dot / square
        M[r, k] -= factor * head
        for i in range(r + 1, rows):
            M[i, k] -= factor * M[i, j]
    M[r, j] = length
    for i in range(r + 1, rows):
        M[i, j] = 0.0


@compiled
def orthogonal_distances(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    """Write out[p, q] = min over orthogonal Q of ||Q a[p] - b[q]||, for matrices in echelon form.

    The square is ||A||^2 + ||B||^2 - 2 ||A B^T||_*. Where that difference cancels, the residual at
    the best Q takes its place, or the residual of the two forms themselves if it is smaller.
    """
    rows, columns = a.shape[1], a.shape[2]
    M, V = np.empty((rows, rows)), np.empty((rows, rows))
    a_squares, b_squares = np.empty(a.shape[0]), np.empty(b.shape[0])
    for p in range(a.shape[0]):
        a_squares[p] = np.sum(a[p] ** 2)
    for q in range(b.shape[0]):
        b_squares[q] = np.sum(b[q] ** 2)
    for p in range(a.shape[0]):
        for q in range(b.shape[0]):
            for i in range(rows):
                for j in range(rows):
                    total = 0.0
                    for k in range(columns):
                        total += a[p, i, k] * b[q, j, k]
                    M[i, j] = total
            scale = a_squares[p] + b_squares[q]
            square = scale - 2.0 * nuclear_norm(M, V)
            if square < CANCELLED * scale:
                square = _residual(a[p], b[q], M, V)
            out[p, q] = np.sqrt(square)


@compiled
def nuclear_norm(M: FloatArray, V: FloatArray) -> float:
    """Return the sum of the singular values of the square M, and rotate M into M V with orthogonal columns.

    One-sided Jacobi (Hestenes 1958): rotate pairs of columns until all are orthogonal.
    """
    n = M.shape[0]
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(60):  # converges quadratically; a handful of sweeps is the rule
        rotated = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                alpha, beta, gamma = 0.0, 0.0, 0.0
                for i in range(n):
                    alpha += M[i, p] * M[i, p]
                    beta += M[i, q] * M[i, q]
                    gamma += M[i, p] * M[i, q]
                if gamma * gamma <= 1e-30 * alpha * beta:
                    continue
                rotated = True
                zeta = (beta - alpha) / (2.0 * gamma)
                t = 1.0 / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                if zeta < 0.0:
                    t = -t
                c = 1.0 / np.sqrt(1.0 + t * t)
                s = c * t
                for i in range(n):
                    left, right = M[i, p], M[i, q]
                    M[i, p] = c * left - s * right
                    M[i, q] = s * left + c * right
                    left, right = V[i, p], V[i, q]
                    V[i, p] = c * left - s * right
                    V[i, q] = s * left + c * right
        if not rotated:
            break
    total = 0.0
    for j in range(n):
        square = 0.0
        for i in range(n):
            square += M[i, j] * M[i, j]
        total += np.sqrt(square)
    return total


@compiled
def _residual(A: FloatArray, B: FloatArray, US: FloatArray, V: FloatArray) -> float:
    """Return the smaller of ||Q A - B||^2 and ||A - B||^2, where A B^T = U S V^T, Q = V U^T, and US is given."""
    rows, columns = A.shape
    U = np.zeros((rows, rows))
    _orthonormal_columns(US, U)
    plain, best = 0.0, 0.0
    turned = np.empty(rows)
    for k in range(columns):
        for j in range(rows):
            turned[j] = 0.0
            for i in range(rows):
                turned[j] += U[i, j] * A[i, k]
        for i in range(rows):
            image = 0.0
            for j in range(rows):
                image += V[i, j] * turned[j]
            best += (image - B[i, k]) ** 2
            plain += (A[i, k] - B[i, k]) ** 2
    return min(plain, best)


@compiled
def _orthonormal_columns(US: FloatArray, U: FloatArray) -> None:
    """Write into U the directions of the columns of US, largest first, completing them where they vanish."""
    n = US.shape[0]
    lengths = np.empty(n)
    for j in range(n):
        lengths[j] = np.sqrt(np.sum(US[:, j] ** 2))
    column = np.empty(n)
    for j in np.argsort(-lengths):
        # the column itself, then unit vectors, until one is independent enough
        for start in range(-1, n):
            if start < 0:
                if lengths[j] == 0.0:
                    continue
                column[:] = US[:, j] / lengths[j]
            else:
                column[:] = 0.0
                column[start] = 1.0
            for _ in range(2):  # once more, for orthogonality to the last bit
                for other in range(n):
                    dot = np.sum(U[:, other] * column)
                    column -= dot * U[:, other]
            length = np.sqrt(np.sum(column**2))
            if length > 0.5 / np.sqrt(n):
                U[:, j] = column / length
                break
