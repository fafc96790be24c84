"""Sparse LDL' factorization by rows, the up-looking method: for matrices with little fill.

Row k of L comes from the rows above it,

    L(1:k, 1:k) D(1:k) L(k, 1:k)' = K(1:k, k)     a sparse triangular solve,
    D(k) = K(k, k) - L(k, 1:k) D(1:k) L(k, 1:k)',

where the rows and columns of K are in the order of elimination.  L is stored by columns, its pattern is found
beforehand.
"""

from __future__ import annotations

import numpy as np

from ...compiled.jit import kernel
from .symbolic import Analysis

# The time of one factorization and three solves, in nanoseconds: a fit to matrices of many kinds
COLUMN = 19.0
ENTRY = 23.0  # an entry of L
FLOP = 0.5


def scalar_time(analysis: Analysis) -> float:
    """What one factorization and three solves by rows are expected to take, in nanoseconds."""
    return COLUMN * len(analysis.perm) + ENTRY * analysis.nnz + FLOP * analysis.flops


@kernel
def scalar_pattern(n, indptr, indices, parent, counts):
    """The pattern of L by columns (start, rows) and, for the order of the work, by rows (row_start, columns).

    Row k is the part of the elimination tree between the entries of K(1:k, k) and k.
    """
    start = np.zeros(n + 1, np.int64)
    for j in range(n):
        start[j + 1] = start[j] + counts[j]
    rows = np.empty(start[n], np.int64)
    fill = start[:n].copy()
    seen = np.full(n, -1, np.int64)
    row_start = np.zeros(n + 1, np.int64)
    for k in range(n):
        seen[k] = k
        row_start[k + 1] = row_start[k]
        for p in range(indptr[k], indptr[k + 1]):
            j = indices[p]
            while seen[j] != k:
                seen[j] = k
                rows[fill[j]] = k
                fill[j] += 1
                row_start[k + 1] += 1
                j = parent[j]
    columns = np.empty(start[n], np.int64)
    next_in_row = row_start[:n].copy()
    for j in range(n):
        for p in range(start[j], start[j + 1]):
            columns[next_in_row[rows[p]]] = j
            next_in_row[rows[p]] += 1
    return start, rows, row_start, columns


@kernel
def scalar_factor(
    indptr, indices, source, start, rows, row_start, columns, signs, data, eps, delta, values, d, work, end
):  # fmt: skip
    """L(:, j) in values[start[j]:start[j+1]] and D in d; see `LDL.factor`.

    `work` (n) must come as zeros and leaves as zeros; `end` (n) may hold anything.
    """
    n = len(d)
    row_of = rows.view(np.uint64)  # unsigned: numba then makes no test of negative indices
    replaced = 0
    for k in range(n):
        end[k] = start[k]
        for p in range(indptr[k], indptr[k + 1]):
            work[indices[p]] = data[source[p]]
        pivot = work[k]
        work[k] = 0.0
        for q in range(row_start[k], row_start[k + 1]):
            j = columns[q]
            y = work[j]  # D(j) L(k, j)
            work[j] = 0.0
            for p in range(np.uint64(start[j]), np.uint64(end[j])):
                work[row_of[p]] -= values[p] * y
            l_kj = y / d[j]
            pivot -= l_kj * y
            values[end[j]] = l_kj
            end[j] += 1
        if not np.isfinite(pivot):
            work[:] = 0.0
            return -1
        if signs[k] * pivot <= eps:
            pivot = signs[k] * delta
            replaced += 1
        d[k] = pivot
    return replaced


@kernel
def scalar_solve(perm, start, rows, values, d, rhs, out, work):
    """out = P' (L' \\ (D \\ (L \\ (P rhs)))); work array `work` (n)."""
    n = len(d)
    row_of = rows.view(np.uint64)
    for k in range(n):
        work[k] = rhs[perm[k]]
    for j in range(n):
        x = work[j]
        for p in range(np.uint64(start[j]), np.uint64(start[j + 1])):
            work[row_of[p]] -= values[p] * x
        work[j] = x / d[j]  # here nothing waits for the division
    for j in range(n - 1, -1, -1):
        x = work[j]
        for p in range(np.uint64(start[j]), np.uint64(start[j + 1])):
            x -= values[p] * work[row_of[p]]
        work[j] = x
    for k in range(n):
        out[perm[k]] = work[k]


@kernel
def scalar_solve_two(perm, start, rows, values, d, rhs, out, work):
    """`scalar_solve` for the two rows of rhs in one pass over L; `work` (2 n), the two side by side."""
    n = len(d)
    row_of = rows.view(np.uint64)
    one = np.uint64(1)
    for k in range(n):
        work[2 * k], work[2 * k + 1] = rhs[0, perm[k]], rhs[1, perm[k]]
    for j in range(n):
        x, y = work[2 * j], work[2 * j + 1]
        for p in range(np.uint64(start[j]), np.uint64(start[j + 1])):
            i = row_of[p] << one
            work[i] -= values[p] * x
            work[i + one] -= values[p] * y
        work[2 * j], work[2 * j + 1] = x / d[j], y / d[j]
    for j in range(n - 1, -1, -1):
        x, y = work[2 * j], work[2 * j + 1]
        for p in range(np.uint64(start[j]), np.uint64(start[j + 1])):
            i = row_of[p] << one
            x -= values[p] * work[i]
            y -= values[p] * work[i + one]
        work[2 * j], work[2 * j + 1] = x, y
    for k in range(n):
        out[0, perm[k]], out[1, perm[k]] = work[2 * k], work[2 * k + 1]
