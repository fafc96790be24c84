"""Rows of samples in the form that compiled code reads, and random orders of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.compiled.kernels import leaf
from socp.compiled.signatures import Floats, Ints
from socp.compiled.structures import Structure, floats, integers, number, places
from socp.linalg.vectors import dot_within


class Rows(Structure):
    """Matrix by rows, dense (`indices` is empty) or CSR, with one more feature that is `bias` in every row."""

    indptr, indices, values = integers(), places(), floats()
    bias = number()


def rows_of(X: Any, bias: float) -> Rows:
    """Return the rows of X, dense or CSR, with the last feature `bias`."""
    rows = Rows()
    rows.bias = float(bias)
    if sp.issparse(X):
        rows.indptr, rows.values = X.indptr, X.data
        rows.indices = X.indices.astype(np.int32, copy=False).view(np.uint32)
    else:
        rows.indptr = np.arange(X.shape[0] + 1, dtype=np.int64) * X.shape[1]
        rows.indices, rows.values = np.empty(0, dtype=np.uint32), np.ascontiguousarray(X).reshape(-1)
    return rows


@leaf
def row_times(rows: Rows, i: int, w: Floats) -> float:
    """Return x_i'w, including the last feature."""
    indices, values, start, stop = rows.indices, rows.values, rows.indptr[i], rows.indptr[i + 1]
    a, b = rows.bias * w[w.size - 1], 0.0
    if indices.size == 0:
        return a + dot_within(values, start, w, 0, stop - start)
    k, end = start, stop
    whole = start + (((stop - start) >> 1) << 1)
    while k < whole:
        a += values[k] * w[indices[k]]
        b += values[k + 1] * w[indices[k + 1]]
        k += 2
    if k < end:
        a += values[k] * w[indices[k]]
    return a + b


@leaf
def add_row(rows: Rows, i: int, step: float, w: Floats) -> None:
    """Add step x_i to w in place, including the last feature."""
    indices, values, start, stop = rows.indices, rows.values, rows.indptr[i], rows.indptr[i + 1]
    w[w.size - 1] += step * rows.bias
    if indices.size == 0:
        for k in range(stop - start):
            w[k] += step * values[start + k]
    else:
        for k in range(start, stop):
            w[indices[k]] += step * values[k]


@leaf
def draw(order: Ints, place: int, end: int, random: int) -> int:
    """Exchange order[place] with a random entry of order[place:end]; return the next random state."""
    random = (random * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
    other = place + (random >> 32) % (end - place)
    order[place], order[other] = order[other], order[place]
    return random
