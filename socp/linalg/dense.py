"""Products with dense symmetric and low-rank matrices in flat arrays."""

from __future__ import annotations

from ..compiled.blas import LOWER, NO_TRANSPOSE, TRANSPOSE, gemv, symv, syrk
from ..compiled.kernels import deferred, inner
from ..compiled.signatures import Floats, Matrix
from .cholesky import LOOPS
from .vectors import dot_within

LINE = 8  # numbers in a line of the cache


@inner
def multiply_symmetric_dense(n: int, P: Floats, x: Floats, out: Floats) -> None:
    """out[:n] := P x[:n]."""
    if n > LOOPS:
        symv(LOWER, n, 1.0, P, 0, n, x, 0, 0.0, out, 0)
        return
    size, j = n, 0
    for i in range(size):
        out[i] = 0.0
    while j + 3 < size:
        a, b = j * size, (j + 1) * size
        c, d = (j + 2) * size, (j + 3) * size
        x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(size):
            out[i] = (((out[i] + P[a + i] * x0) + P[b + i] * x1) + P[c + i] * x2) + P[d + i] * x3
        j += 4
    while j < size:
        x0 = x[j]
        for i in range(size):
            out[i] += P[j * size + i] * x0
        j += 1


@inner
def transpose_dense(M: Matrix, out: Matrix) -> None:
    """out := M', in strips of M whose columns are lines of the cache in `out`."""
    m, n = M.shape
    for first in range(0, m, LINE):
        for j in range(n):
            for i in range(first, min(first + LINE, m)):
                out[j, i] = M[i, j]


@inner
def multiply_tall(trans: int, n: int, k: int, alpha: float, Y: Floats, x: Floats, beta: float, y: Floats) -> None:
    """y := alpha op(Y) x + beta y for the n by k matrix Y, as `gemv`; beta must be 1 if Y is not transposed."""
    if n * k > LOOPS:
        gemv(trans, n, k, alpha, Y, 0, n, x, 0, beta, y, 0)
        return
    for j in range(k):
        if trans == TRANSPOSE:
            y[j] = alpha * dot_within(Y, j * n, x, 0, n) + beta * y[j]
            continue
        factor, column = alpha * x[j], j * n
        for i in range(n):
            y[i] += factor * Y[column + i]


@inner
def gram(n: int, k: int, Y: Floats, S: Floats) -> None:
    """S := lower triangle of Y'Y, for the n by k matrix Y."""
    if n * k > LOOPS:
        syrk(LOWER, TRANSPOSE, k, n, 1.0, Y, 0, n, 0.0, S, 0, k)
        return
    for j in range(k):
        for i in range(j, k):
            S[i + j * k] = dot_within(Y, i * n, Y, j * n, n)


@deferred
def multiply_low_rank(n: int, k: int, F: Floats, d: Floats, x: Floats, Fx: Floats, out: Floats) -> None:
    """out[:n] := F (F'x) + d x for the n by k matrix F, stored by columns; Fx is workspace for F'x."""
    for j in range(n):
        out[j] = d[j] * x[j]
    if k > 0 and n > 0:
        gemv(TRANSPOSE, n, k, 1.0, F, 0, n, x, 0, 0.0, Fx, 0)
        gemv(NO_TRANSPOSE, n, k, 1.0, F, 0, n, Fx, 0, 1.0, out, 0)
