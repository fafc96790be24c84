"""Products with dense symmetric and low-rank matrices in flat arrays."""

from __future__ import annotations

import numpy as np

from ..compiled.blas import LOWER, NO_TRANSPOSE, TRANSPOSE, gemv, symv
from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Floats, Matrix

LOOPS = 32  # an order up to which loops are quicker than a call of BLAS


@inner
def multiply_symmetric_dense(n: int, P: Floats, x: Floats, out: Floats) -> None:
    """out[:n] := P x[:n]."""
    if n > LOOPS:
        symv(LOWER, n, 1.0, P, 0, n, x, 0, 0.0, out, 0)
        return
    size, j = np.uint64(n), np.uint64(0)
    for i in range(size):
        out[i] = 0.0
    while j + np.uint64(3) < size:  # four columns in one pass
        a, b = j * size, (j + np.uint64(1)) * size
        c, d = (j + np.uint64(2)) * size, (j + np.uint64(3)) * size
        x0, x1, x2, x3 = x[j], x[j + np.uint64(1)], x[j + np.uint64(2)], x[j + np.uint64(3)]
        for i in range(size):
            out[i] = (((out[i] + P[a + i] * x0) + P[b + i] * x1) + P[c + i] * x2) + P[d + i] * x3
        j += np.uint64(4)
    while j < size:
        x0 = x[j]
        for i in range(size):
            out[i] += P[j * size + i] * x0
        j += np.uint64(1)


@inner
def multiply_low_rank(n: int, k: int, F: Floats, d: Floats, x: Floats, Fx: Floats, out: Floats) -> None:
    """out[:n] := F (F'x) + d x for F of k columns, one after the other; Fx has room for F'x."""
    for j in range(n):
        out[j] = d[j] * x[j]
    if k > 0 and n > 0:
        gemv(TRANSPOSE, n, k, 1.0, F, 0, n, x, 0, 0.0, Fx, 0)
        gemv(NO_TRANSPOSE, n, k, 1.0, F, 0, n, Fx, 0, 1.0, out, 0)


@kernel
def scale_symmetric_dense(array: Matrix, D: Floats, factor: float, out: Matrix) -> None:
    """out := factor diag(D) array diag(D)."""
    for i in range(D.size):
        for j in range(D.size):
            out[i, j] = factor * D[i] * D[j] * array[i, j]
