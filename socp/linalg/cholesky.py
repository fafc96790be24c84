"""Dense Cholesky factors, and solves with them.

A matrix of order n is stored by columns in a flat array; only its lower triangle is used.  LAPACK's own routine
spends much of its time in triangular solves with many right-hand sides, which BLAS does at half the speed of a product;
here narrow panels leave nearly all work to products.
"""

from __future__ import annotations

from math import sqrt

from ..compiled.blas import LEFT, LOWER, NO_TRANSPOSE, NOT_UNIT, RIGHT, TRANSPOSE, gemv, potrf, syrk, trsm, trsv
from ..compiled.clock import clock
from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Floats

LOOPS = 64  # largest order of a solve, and most entries of a matrix, where loops beat BLAS; columns of a panel


@kernel
def cholesky(n: int, A: Floats) -> int:
    """Factor A = L L' in its lower triangle in place; return 0, or k > 0 if pivot k is not positive, as LAPACK's potrf.

    A small A is factored without LAPACK, whose memory lock a fork in another thread would leave held in the child.
    """
    return cholesky_until(n, A, 0.0)


@kernel
def cholesky_until(n: int, A: Floats, until: float) -> int:
    """Factor as `cholesky`; return -1 at the first panel where the clock shows `until`, unless that is 0."""
    if n <= LOOPS:
        return factor_small(n, A)
    for k in range(0, n, LOOPS):
        if until > 0.0 and clock() >= until:
            return -1
        size = min(LOOPS, n - k)
        info, below = potrf(LOWER, size, A, k + k * n, n), k + size
        if info != 0:
            return k + info
        if below < n:
            trsm(RIGHT, LOWER, TRANSPOSE, NOT_UNIT, n - below, size, 1.0, A, k + k * n, n, A, below + k * n, n)
            syrk(LOWER, NO_TRANSPOSE, n - below, size, -1.0, A, below + k * n, n, 1.0, A, below + below * n, n)
    return 0


@inner
def factor_small(n: int, A: Floats) -> int:
    """Factor as `cholesky`, four columns of L at a time."""
    for first in range(0, n, 4):
        end = min(first + 4, n)
        for j in range(first, end):
            for k in range(first, j):
                factor = A[k * n + j]
                for i in range(j, n):
                    A[j * n + i] -= factor * A[k * n + i]
            pivot = A[j * n + j]
            if pivot <= 0.0:
                return j + 1
            A[j * n + j] = pivot = sqrt(pivot)
            inverse = 1.0 / pivot
            for i in range(j + 1, n):
                A[j * n + i] *= inverse
        if end < n:
            a, b, c, d = first * n, (first + 1) * n, (first + 2) * n, (first + 3) * n
            for k in range(end, n):
                x0, x1, x2, x3 = A[a + k], A[b + k], A[c + k], A[d + k]
                for i in range(k, n):
                    A[k * n + i] -= (A[a + i] * x0 + A[b + i] * x1) + (A[c + i] * x2 + A[d + i] * x3)
    return 0


@kernel
def solve_lower(n: int, L: Floats, count: int, X: Floats) -> None:
    """Compute x := L^-1 x in place for `count` vectors x, stored one after the other in X."""
    if count > 2 and n > LOOPS:
        trsm(LEFT, LOWER, NO_TRANSPOSE, NOT_UNIT, n, count, 1.0, L, 0, n, X, 0, n)
        return
    if n <= LOOPS:
        for r in range(count):
            solve_one(n, L, X[r * n : (r + 1) * n])
        return
    width = n if count == 1 else LOOPS
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
    """Compute x := L^-1 x in place for one vector, four columns of L at a time."""
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
def solve_one_transposed(n: int, L: Floats, x: Floats) -> None:
    """Compute x := L'^-1 x in place for one vector, four columns of L at a time."""
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
    """Compute x := L'^-1 x in place for `count` vectors x, stored one after the other in X."""
    if n <= LOOPS:
        for r in range(count):
            solve_one_transposed(n, L, X[r * n : (r + 1) * n])
        return
    width = n if count == 1 else LOOPS
    for block in range((n + width - 1) // width - 1, -1, -1):
        k = block * width
        size = min(width, n - k)
        rest = n - k - size
        for r in range(count):
            if rest > 0:
                below = k + size
                gemv(TRANSPOSE, rest, size, -1.0, L, below + k * n, n, X, r * n + below, 1.0, X, r * n + k)
            trsv(LOWER, TRANSPOSE, NOT_UNIT, size, L, k + k * n, n, X, r * n + k)
