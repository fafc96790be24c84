"""The data of a small program in one block of memory, copied and checked by one kernel.

sizes   n, m, entries of P, entries of A, whether each is sparse
floats  P, A, q, l, u, lb, ub      dense matrices by rows, sparse ones by columns
places  indptr and indices of a sparse P, then of a sparse A
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats, Ints
from socp.linalg.csc import csc
from socp.linalg.vectors import NO_VALUES, norm_within
from socp.problem.checks import (
    CSC,
    FLOAT,
    INT,
    NO_PLACES,
    compressed_parts,
    is_canonical,
    is_symmetric,
    next_asymmetric,
)
from socp.problem.hessian import FULL

from .program import QuadraticProgram, are_plain

SIZES = 6
Parts = tuple[np.ndarray, np.ndarray, np.ndarray]  # entries, indptr, indices
Vectors = tuple[Floats, Floats, Floats, Floats, Floats]
Matrices = tuple[Floats, Floats]
Places = tuple[Ints, Ints, Ints, Ints]


def parts_of(matrix: Any, m: int, n: int) -> Parts | None:
    """Return (entries, indptr, indices) of a contiguous float64 array or CSC matrix, and None for any other matrix."""
    if type(matrix) is np.ndarray:
        if matrix.dtype is FLOAT and matrix.shape == (m, n) and matrix.flags.c_contiguous:
            return matrix.reshape(-1), NO_PLACES, NO_PLACES
        return None
    if matrix is None:
        return NO_VALUES, NO_PLACES, NO_PLACES
    return compressed_parts(matrix, n) if type(matrix) in CSC and matrix.shape == (m, n) else None


def empty_block(P: Parts, A: Parts, n: int, m: int) -> np.ndarray:
    """Return an uninitialized block for a program with n variables, m rows, and matrices with parts P and A."""
    places = P[1].size + P[2].size + A[1].size + A[2].size
    return np.empty(SIZES + P[0].size + A[0].size + places + 4 * n + 2 * m)


def unpack(block: np.ndarray, offset: float) -> QuadraticProgram:
    """Return the program that a block holds."""
    n, m, of_P, of_A, sparse_P, sparse_A = block[:SIZES].view(INT).tolist()
    ends = np.cumsum([SIZES, of_P, of_A, n, m, m, n, n])
    of_P, of_A, q, l, u, lb, ub = (block[begin:end] for begin, end in itertools.pairwise(ends))
    places, matrices = block[ends[-1] :].view(INT), list[Any]()
    for data, rows, is_sparse in ((of_P, n, sparse_P), (of_A, m, sparse_A)):
        if is_sparse:
            indptr, indices, places = np.split(places, [n + 1, n + 1 + data.size])
            matrices.append(csc(data, indices, indptr, (rows, n)))
        else:
            matrices.append(data.reshape(rows, n) if data.size else None)
    P, A = matrices
    return QuadraticProgram(P, q, A, None if A is None else l, None if A is None else u, lb, ub, offset)


@kernel
def fill(matrices: Matrices, vectors: Vectors, places: Places, block: Floats, is_checked: bool) -> int:
    """Fill the block and check the copy; return 2^32 (entries of P) + (entries of A), -1 if a check fails, or 0.

    It returns 0 if all `is_checked`; entries of P count as in its `Hessian`.  P and A must be finite and canonical, P
    exactly symmetric, sides in order and far from 1e20.  Another thread may change the caller's arrays meanwhile.
    """
    words, n, m = block.view(np.int64), vectors[0].size, vectors[1].size
    sizes = matrices[0].size, matrices[1].size, places[0].size, places[2].size
    words[0], words[1], words[2], words[3] = n, m, sizes[0], sizes[1]
    words[4], words[5], at = int(sizes[2] > 0), int(sizes[3] > 0), SIZES
    for values in matrices:
        for k in range(values.size):
            block[at + k] = values[k]
        at += values.size
    P, A, at_q = block[SIZES : SIZES + sizes[0]], block[SIZES + sizes[0] : at], at
    for values in vectors:
        for k in range(values.size):
            block[at + k] = values[k]
        at += values.size
    at_l, at_lb, at_P = at_q + n, at_q + n + 2 * m, at
    for indices in places:
        for k in range(indices.size):
            words[at + k] = indices[k]
        at += indices.size
    if is_checked:
        return 0
    l, u, lb, ub = block[at_l : at_l + m], block[at_l + m : at_lb], block[at_lb : at_lb + n], block[at_lb + n : at_P]
    if not are_plain(block[at_q:at_l], l, u, lb, ub):
        return -1
    if not norm_within(block, SIZES, SIZES + P.size + A.size) < np.inf:
        return -1
    entries, full, count = P.size, 0, A.size
    for k in range(P.size):
        full += int(P[k] != 0.0)
    if sizes[2] > 0:
        at_A = at_P + sizes[2] + places[1].size
        indptr, indices = words[at_P : at_P + sizes[2]], words[at_P + sizes[2] : at_A]
        if not is_canonical(n, indptr, indices, P) or not is_symmetric(indptr, indices, P, words[at:]):
            return -1
        at_P = at_A
    else:
        entries = full
        if P.size > 0 and next_asymmetric(P.reshape((1, P.size)), n, 0) >= 0:
            return -1
    if sizes[3] > 0:
        if not is_canonical(m, words[at_P : at_P + sizes[3]], words[at_P + sizes[3] : at], A):
            return -1
    else:
        count = 0
        for k in range(A.size):
            count += int(A[k] != 0.0)
    if full > FULL * n * n and (n > 1 or sizes[2] == 0):
        entries = n * n
    return (entries << 32) + count


@inner
def put_matrix(block: Floats, at: int, places: int, entries: int, n: int, is_sparse: bool, out: Floats) -> None:
    """Write a block's matrix by rows to `out`: n columns, entries from `at`, and indptr and indices from `places`."""
    words = block.view(np.int64)
    if is_sparse or entries == 0:
        out[:] = 0.0
    else:
        for k in range(out.size):
            out[k] = block[at + k]
    if is_sparse:
        for j in range(n):
            for k in range(words[places + j], words[places + j + 1]):
                out[words[places + n + 1 + k] * n + j] = block[at + k]
