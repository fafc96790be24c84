"""Dense Cholesky factors of large matrices, and what is done with dense symmetric matrices beside.

A matrix of order n lies by columns in a flat array, of which the lower triangle counts.  LAPACK's own routine spends
much of its time in triangular solves with many right-hand sides, which BLAS does at half the speed of a product; here
two levels of panels leave nearly all work to products.
"""

from __future__ import annotations

import numpy as np

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
    symv,
    syrk,
    trsm,
    trsv,
)
from ..compiled.jit import kernel

START, ONE = np.int64(0), np.int64(1)  # literals would be second signatures
WIDE, NARROW = 512, 64  # columns of a panel, and of the blocks that it is factored by
SWEEP = 48  # columns that stay in the cache while several vectors are solved for


@kernel
def cholesky(n, A):
    """A = L L', L in the lower triangle; the upper one is not touched.  Returns 0, or k > 0 as LAPACK's potrf."""
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


@kernel
def solve_lower(n, L, count, X):
    """x := L^-1 x for `count` vectors x, one after the other in X."""
    width = n if count == 1 else SWEEP
    for k in range(0, n, width):
        size = min(width, n - k)
        rest = n - k - size
        for r in range(count):
            trsv(LOWER, NO_TRANSPOSE, NOT_UNIT, size, L, k + k * n, n, X, r * n + k)
            if rest > 0:
                below = k + size
                gemv(NO_TRANSPOSE, rest, size, -1.0, L, below + k * n, n, X, r * n + k, 1.0, X, r * n + below)


@kernel
def solve_lower_transposed(n, L, count, X):
    """x := L'^-1 x for `count` vectors x, one after the other in X."""
    width = n if count == 1 else SWEEP
    for block in range((n + width - 1) // width - 1, -1, -1):
        k = block * width
        size = min(width, n - k)
        rest = n - k - size
        for r in range(count):
            if rest > 0:
                below = k + size
                gemv(TRANSPOSE, rest, size, -1.0, L, below + k * n, n, X, r * n + below, 1.0, X, r * n + k)
            trsv(LOWER, TRANSPOSE, NOT_UNIT, size, L, k + k * n, n, X, r * n + k)


@kernel
def solve_lower_many(n, L, columns, B):
    """B := L^-1 B for the n by `columns` matrix B."""
    if columns == 1:
        solve_lower(n, L, columns, B)
    elif columns > 1:
        trsm(LEFT, LOWER, NO_TRANSPOSE, NOT_UNIT, n, columns, 1.0, L, START, n, B, START, n)


@kernel
def symmetric_product(n, A, x, y):
    """y := A x."""
    symv(LOWER, n, 1.0, A, START, n, x, START, 0.0, y, START)
