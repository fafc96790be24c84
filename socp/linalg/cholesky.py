"""Dense Cholesky factors of large matrices, and solves with them.

A matrix of order n lies by columns in a flat array, of which the lower triangle counts.  LAPACK's own routine spends
much of its time in triangular solves with many right-hand sides, which BLAS does at half the speed of a product; here
two levels of panels leave nearly all work to products.
"""

from __future__ import annotations

import math

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
    syrk,
    trsm,
    trsv,
)
from ..compiled.kernels import kernel
from ..compiled.signatures import Floats

LOOPS = 16  # an order up to which loops are quicker than calls of BLAS
WIDE, NARROW = 512, 64  # columns of a panel, and of the blocks that it is factored by
SWEEP = 48  # columns that stay in the cache while several vectors are solved for


@kernel
def cholesky(n: int, A: Floats) -> int:
    """A = L L', L in the lower triangle; the upper one is not touched.  Returns 0, or k > 0 as LAPACK's potrf."""
    if n <= LOOPS:
        for j in range(n):
            pivot = A[j + j * n]
            if pivot <= 0.0:  # a NaN goes on into L, as in OpenBLAS
                return j + 1
            pivot = math.sqrt(pivot)
            A[j + j * n] = pivot
            column, end = np.uint64(j * n), np.uint64(n)
            for i in range(np.uint64(j + 1), end):
                A[column + i] /= pivot
            for k in range(j + 1, n):
                factor, other = A[j * n + k], np.uint64(k * n)
                for i in range(np.uint64(k), end):
                    A[other + i] -= factor * A[column + i]
        return 0
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
def solve_lower(n: int, L: Floats, count: int, X: Floats) -> None:
    """x := L^-1 x for `count` vectors x, one after the other in X."""
    if n <= LOOPS:
        for r in range(count):
            for j in range(n):
                value = X[r * n + j] / L[j + j * n]
                X[r * n + j] = value
                column, vector = np.uint64(j * n), np.uint64(r * n)
                for i in range(np.uint64(j + 1), np.uint64(n)):
                    X[vector + i] -= L[column + i] * value
        return
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
def solve_lower_transposed(n: int, L: Floats, count: int, X: Floats) -> None:
    """x := L'^-1 x for `count` vectors x, one after the other in X."""
    if n <= LOOPS:
        for r in range(count):
            for j in range(n - 1, -1, -1):
                value = X[r * n + j]
                column, vector = np.uint64(j * n), np.uint64(r * n)
                for i in range(np.uint64(j + 1), np.uint64(n)):
                    value -= L[column + i] * X[vector + i]
                X[r * n + j] = value / L[j + j * n]
        return
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
def solve_lower_many(n: int, L: Floats, columns: int, B: Floats) -> None:
    """B := L^-1 B for the n by `columns` matrix B."""
    if columns == 1 or n <= LOOPS:
        solve_lower(n, L, columns, B)
    elif columns > 1:
        trsm(LEFT, LOWER, NO_TRANSPOSE, NOT_UNIT, n, columns, 1.0, L, 0, n, B, 0, n)
