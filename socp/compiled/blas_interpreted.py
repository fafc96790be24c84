"""The routines of `socp.compiled.blas` for NUMBA_DISABLE_JIT=1: the same names and arguments, through scipy.linalg."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack


def _matrix(a, a0, lda, rows, columns):  # type: ignore[no-untyped-def]
    """The rows by columns matrix at a[a0], a view."""
    return np.lib.stride_tricks.as_strided(a[a0:], (rows, columns), (a.itemsize, a.itemsize * lda))


def gemm(trans_a, trans_b, m, n, k, alpha, a, a0, lda, b, b0, ldb, beta, c, c0, ldc):  # type: ignore[no-untyped-def]
    transpose_a, transpose_b = trans_a == ord("T"), trans_b == ord("T")
    A = _matrix(a, a0, lda, *((k, m) if transpose_a else (m, k)))
    B = _matrix(b, b0, ldb, *((n, k) if transpose_b else (k, n)))
    C = _matrix(c, c0, ldc, m, n)
    routine = blas.sgemm if a.dtype == np.float32 else blas.dgemm
    C[:] = routine(alpha, A, B, beta, C, transpose_a, transpose_b)


sgemm = gemm


def syrk(triangle, trans, n, k, alpha, a, a0, lda, beta, c, c0, ldc):  # type: ignore[no-untyped-def]
    transpose, lower = trans == ord("T"), triangle == ord("L")
    A = _matrix(a, a0, lda, *((k, n) if transpose else (n, k)))
    C = _matrix(c, c0, ldc, n, n)
    inside = np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T
    C[inside] = blas.dsyrk(alpha, A, beta, C, transpose, lower)[inside]


def trsm(side, triangle, trans, diagonal, m, n, alpha, a, a0, lda, b, b0, ldb):  # type: ignore[no-untyped-def]
    order = m if side == ord("L") else n
    B = _matrix(b, b0, ldb, m, n)
    A = _matrix(a, a0, lda, order, order)
    B[:] = blas.dtrsm(alpha, A, B, side == ord("R"), triangle == ord("L"), trans == ord("T"), diagonal == ord("U"))


def gemv(trans, m, n, alpha, a, a0, lda, x, x0, beta, y, y0):  # type: ignore[no-untyped-def]
    transpose = trans == ord("T")
    length_x, length_y = (m, n) if transpose else (n, m)
    Y = y[y0 : y0 + length_y]
    Y[:] = blas.dgemv(alpha, _matrix(a, a0, lda, m, n), x[x0 : x0 + length_x], beta, Y, trans=transpose)


def symv(triangle, n, alpha, a, a0, lda, x, x0, beta, y, y0):  # type: ignore[no-untyped-def]
    Y = y[y0 : y0 + n]
    Y[:] = blas.dsymv(alpha, _matrix(a, a0, lda, n, n), x[x0 : x0 + n], beta, Y, lower=triangle == ord("L"))


def trsv(triangle, trans, diagonal, n, a, a0, lda, x, x0):  # type: ignore[no-untyped-def]
    A = _matrix(a, a0, lda, n, n)
    lower, transpose, unit = triangle == ord("L"), trans == ord("T"), diagonal == ord("U")
    x[x0 : x0 + n] = blas.dtrsv(A, x[x0 : x0 + n], lower=lower, trans=transpose, diag=unit)


def potrf(triangle, n, a, a0, lda):  # type: ignore[no-untyped-def]
    A = _matrix(a, a0, lda, n, n)
    factor, info = lapack.dpotrf(A, lower=triangle == ord("L"), clean=0)
    A[:] = factor
    return info
