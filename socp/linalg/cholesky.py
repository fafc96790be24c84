"""Dense Cholesky factors, and solves with them.

A matrix of order n lies by columns in a flat array, of which the lower triangle counts.  LAPACK's own routine spends
much of its time in triangular solves with many right-hand sides, which BLAS does at half the speed of a product; here
two levels of panels leave nearly all work to products.
"""

from __future__ import annotations

import math

from ..compiled.blas import (
    LEFT,
    LOWER,
    NO_TRANSPOSE,
    NOT_UNIT,
    RIGHT,
    TRANSPOSE,
    gemm,
    gemv,
    potrf,
    syrk,
    trsm,
    trsv,
)
from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Floats

LOOPS = 32  # order up to which loops factor more quickly than calls of BLAS
WIDE, NARROW = 512, 64  # columns of a panel, and of the blocks that stay in the cache; loops solve up to one block


@kernel
def cholesky(n: int, A: Floats) -> int:
    """A = L L', L in the lower triangle; the upper one is not touched.  Returns 0, or k > 0 as LAPACK's potrf."""
    if n <= LOOPS:
        return factor_pairs(n, A)
    for left in range(0, n, WIDE):
        right = min(n, left + WIDE)
        for k in range(left, right, NARROW):
            size = min(NARROW, right - k)
            info = potrf(LOWER, size, A, k + k * n, n)
            if info != 0:
                return k + info
            below, inside = k + size, right - k - size
            if below == n:
                break
            trsm(RIGHT, LOWER, TRANSPOSE, NOT_UNIT, n - below, size, 1.0, A, k + k * n, n, A, below + k * n, n)
            if inside > 0:  # the rest of the panel
                first = below + k * n
                syrk(LOWER, NO_TRANSPOSE, inside, size, -1.0, A, first, n, 1.0, A, below + below * n, n)
                if right < n:
                    gemm(
                        NO_TRANSPOSE, TRANSPOSE, n - right, inside, size, -1.0, A, right + k * n, n, A, first, n,
                        1.0, A, right + below * n, n,
                    )  # fmt: skip
        if right < n:
            syrk(
                LOWER, NO_TRANSPOSE, n - right, right - left, -1.0, A, right + left * n, n, 1.0, A, right + right * n, n
            )
    return 0


@inner
def factor_pairs(n: int, A: Floats) -> int:
    """`cholesky` by loops over pairs of columns: each pair is taken from what is right of it in one pass."""
    size, j = n, 0
    while j < size:
        a, below = j * size, j + 1
        pivot = A[a + j]
        if pivot <= 0.0:  # a NaN goes on into L, as in OpenBLAS
            return int(below)
        pivot = math.sqrt(pivot)
        A[a + j] = pivot
        if below == size:
            break
        b, link = a + size, A[a + below] / pivot
        A[a + below] = link
        other = A[b + below] - link * link
        if other <= 0.0:
            return int(below + 1)
        other = math.sqrt(other)
        A[b + below] = other
        j += 2
        for i in range(j, size):
            entry = A[a + i] / pivot
            A[a + i], A[b + i] = entry, (A[b + i] - link * entry) / other
        for k in range(j, size):
            first, second, column = A[a + k], A[b + k], k * size
            for i in range(k, size):
                A[column + i] = (A[column + i] - first * A[a + i]) - second * A[b + i]
    return 0


@kernel
def solve_lower(n: int, L: Floats, count: int, X: Floats) -> None:
    """x := L^-1 x for `count` vectors x, one after the other in X."""
    if count > 2 and n > LOOPS:
        trsm(LEFT, LOWER, NO_TRANSPOSE, NOT_UNIT, n, count, 1.0, L, 0, n, X, 0, n)
        return
    if n <= NARROW:
        for r in range(0, count - 1, 2):
            solve_two(n, L, X[r * n : (r + 2) * n])
        if count & 1:
            solve_one(n, L, X[(count - 1) * n : count * n])
        return
    width = n if count == 1 else NARROW
    for k in range(0, n, width):
        size = min(width, n - k)
        rest = n - k - size
        for r in range(count):
            trsv(LOWER, NO_TRANSPOSE, NOT_UNIT, size, L, k + k * n, n, X, r * n + k)
            if rest > 0:
                below = k + size
                gemv(NO_TRANSPOSE, rest, size, -1.0, L, below + k * n, n, X, r * n + k, 1.0, X, r * n + below)


@inner
def solve_one(n: int, L: Floats, x: Floats) -> None:
    """`solve_lower` for one vector, by four columns."""
    size, j = n, 0
    while j + 3 < size:
        j1, j2, j3 = j + 1, j + 2, j + 3
        a, b, c, d = j * size, j1 * size, j2 * size, j3 * size
        x0 = x[j] / L[a + j]
        x1 = (x[j1] - L[a + j1] * x0) / L[b + j1]
        x2 = ((x[j2] - L[a + j2] * x0) - L[b + j2] * x1) / L[c + j2]
        x3 = (((x[j3] - L[a + j3] * x0) - L[b + j3] * x1) - L[c + j3] * x2) / L[d + j3]
        x[j], x[j1], x[j2], x[j3] = x0, x1, x2, x3
        j += 4
        for i in range(j, size):
            x[i] = (((x[i] - L[a + i] * x0) - L[b + i] * x1) - L[c + i] * x2) - L[d + i] * x3
    while j < size:
        x0 = x[j] / L[j * size + j]
        x[j] = x0
        for i in range(j + 1, size):
            x[i] -= L[j * size + i] * x0
        j += 1


@inner
def solve_two(n: int, L: Floats, X: Floats) -> None:
    """`solve_lower` for two vectors side by side, so that neither waits for the other, by pairs of columns."""
    size, j = n, 0
    while j + 1 < size:
        a, b, j1 = j * size, j * size + size, j + 1
        pivot, link, other = L[a + j], L[a + j1], L[b + j1]
        x0, y0 = X[j] / pivot, X[size + j] / pivot
        x1, y1 = (X[j1] - link * x0) / other, (X[size + j1] - link * y0) / other
        X[j], X[j1], X[size + j], X[size + j1] = x0, x1, y0, y1
        j += 2
        for i in range(j, size):
            X[i] = (X[i] - L[a + i] * x0) - L[b + i] * x1
            X[size + i] = (X[size + i] - L[a + i] * y0) - L[b + i] * y1
    if j < size:
        X[j], X[size + j] = X[j] / L[j * size + j], X[size + j] / L[j * size + j]


@inner
def solve_one_transposed(n: int, L: Floats, x: Floats) -> None:
    """`solve_lower_transposed` for one vector, by four columns."""
    size, end = n, n
    while end >= 4:
        j, j1, j2, j3 = end - 4, end - 3, end - 2, end - 1
        a, b, c, d = j * size, j1 * size, j2 * size, j3 * size
        x0, x1, x2, x3 = x[j], x[j1], x[j2], x[j3]
        for i in range(end, size):
            xi = x[i]
            x0, x1, x2, x3 = x0 - L[a + i] * xi, x1 - L[b + i] * xi, x2 - L[c + i] * xi, x3 - L[d + i] * xi
        x3 = x3 / L[d + j3]
        x2 = (x2 - L[c + j3] * x3) / L[c + j2]
        x1 = ((x1 - L[b + j3] * x3) - L[b + j2] * x2) / L[b + j1]
        x0 = (((x0 - L[a + j3] * x3) - L[a + j2] * x2) - L[a + j1] * x1) / L[a + j]
        x[j], x[j1], x[j2], x[j3] = x0, x1, x2, x3
        end = j
    while end > 0:
        j = end - 1
        x0 = x[j]
        for i in range(end, size):
            x0 -= L[j * size + i] * x[i]
        x[j] = x0 / L[j * size + j]
        end = j


@kernel
def solve_lower_transposed(n: int, L: Floats, count: int, X: Floats) -> None:
    """x := L'^-1 x for `count` vectors x, one after the other in X."""
    if n <= NARROW:
        for r in range(count):
            solve_one_transposed(n, L, X[r * n : (r + 1) * n])
        return
    width = n if count == 1 else NARROW
    for block in range((n + width - 1) // width - 1, -1, -1):
        k = block * width
        size = min(width, n - k)
        rest = n - k - size
        for r in range(count):
            if rest > 0:
                below = k + size
                gemv(TRANSPOSE, rest, size, -1.0, L, below + k * n, n, X, r * n + below, 1.0, X, r * n + k)
            trsv(LOWER, TRANSPOSE, NOT_UNIT, size, L, k + k * n, n, X, r * n + k)
