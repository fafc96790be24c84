"""Sparse LDL' factorization by rows, the up-looking method: for matrices with little fill.

Row k of L comes from the rows above it,

    L(1:k, 1:k) D(1:k) L(k, 1:k)' = K(1:k, k)     a sparse triangular solve,
    D(k) = K(k, k) - L(k, 1:k) D(1:k) L(k, 1:k)',

where the rows and columns of K are in the order of elimination.  L is stored by columns, its pattern is found
beforehand.
"""

from __future__ import annotations

import math

import numpy as np

from ....compiled.kernels import inner, kernel
from ....compiled.signatures import Floats, Ints
from ..factors import Factors
from ..symbolic.analysis import Analysis

# The time of one factorization and three solves, in nanoseconds: a fit to matrices of many kinds
COLUMN = 27.0
ENTRY = 3.5  # an entry of L
FLOP = 0.47


def scalar_time(analysis: Analysis) -> float:
    """What one factorization and three solves by rows are expected to take, in nanoseconds."""
    return COLUMN * analysis.perm.size + ENTRY * analysis.nnz + FLOP * analysis.flops


@kernel
def scalar_pattern(ldl: Factors, analysis: Analysis, signs: Floats) -> None:
    """The order, the permuted K, and the pattern of L by columns and, for the order of the work, by rows.

    `start` gives the beginnings of the columns of L.
    """
    n, source, start, fill = analysis.perm.size, analysis.source, ldl.start, ldl.end
    for k in range(n):
        ldl.perm[k] = analysis.perm[k]
        ldl.signs[k], ldl.d[k] = signs[ldl.perm[k]], 1.0
        start[k + 1] = start[k] + analysis.counts[k]
        ldl.indptr[k + 1] = analysis.indptr[k + 1]
    for q in range(source.size):
        ldl.indices[q], ldl.source[q] = analysis.indices[q], source[q]
    find_rows(analysis, start, fill, ldl.rows, ldl.row_start)
    for k in range(n):
        fill[k] = ldl.row_start[k]
    rows, columns = ldl.rows.view(np.uint64), ldl.columns
    for j in range(n):
        for p in range(np.uint64(start[j]), np.uint64(start[j + 1])):
            k = rows[p]
            columns[np.uint64(fill[k])] = j
            fill[k] += 1


@inner
def find_rows(analysis: Analysis, start: Ints, fill: Ints, rows: Ints, row_start: Ints) -> None:
    """rows := the rows of each column of L, row_start := the beginnings of its rows.

    Row k is the part of the elimination tree between the entries of K(1:k, k) and k.
    """
    n, indptr, indices = analysis.perm.size, analysis.indptr, analysis.indices.view(np.uint64)
    seen, parent = np.empty(n, np.int64), analysis.parent.view(np.uint64)  # unsigned: no test of negative indices
    for j in range(n):
        fill[j], seen[j] = start[j], -1
    row_start[0] = 0
    for k in range(n):
        seen[k], count = k, row_start[k]
        for p in range(np.uint64(indptr[k]), np.uint64(indptr[k + 1])):
            j = indices[p]
            while seen[j] != k:
                seen[j] = k
                rows[np.uint64(fill[j])] = k
                fill[j] += 1
                count += 1
                j = parent[j]
        row_start[k + 1] = count


@kernel
def scalar_factor(ldl: Factors, data: Floats, eps: float, delta: float) -> int:
    """L(:, j) in values[start[j]:start[j+1]] and D in d; see `LDL.factor`.

    `work` comes as zeros and leaves as zeros.
    """
    # unsigned: numba then makes no test of negative indices
    row_of, indices, columns = ldl.rows.view(np.uint64), ldl.indices.view(np.uint64), ldl.columns.view(np.uint64)
    n, d, work, end, signs, source = ldl.n, ldl.d, ldl.work, ldl.end, ldl.signs, ldl.source.view(np.uint64)
    indptr, start, values, row_start = ldl.indptr, ldl.start, ldl.values, ldl.row_start
    replaced = 0
    for k in range(n):
        end[k] = start[k]
        for p in range(np.uint64(indptr[k]), np.uint64(indptr[k + 1])):
            work[indices[p]] = data[source[p]]
        pivot = work[k]
        work[k] = 0.0
        for q in range(np.uint64(row_start[k]), np.uint64(row_start[k + 1])):
            j = columns[q]
            y = work[j]  # D(j) L(k, j)
            work[j] = 0.0
            last = np.uint64(end[j])
            for p in range(np.uint64(start[j]), last):
                work[row_of[p]] -= values[p] * y
            l_kj = y / d[j]
            pivot -= l_kj * y
            values[last] = l_kj
            end[j] = last + np.uint64(1)
        if not math.isfinite(pivot):
            for j in range(n):
                work[j] = 0.0
            return -1
        if signs[k] * pivot <= eps:
            pivot = signs[k] * delta
            replaced += 1
        d[k] = pivot
    return replaced


@inner
def scalar_solve(ldl: Factors, rhs: Floats, out: Floats) -> None:
    """out = P' (L' \\ (D \\ (L \\ (P rhs)))); `work` leaves as zeros."""
    n, start, values, d, work = ldl.n, ldl.start, ldl.values, ldl.d, ldl.work
    row_of, perm = ldl.rows.view(np.uint64), ldl.perm.view(np.uint64)
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
        work[k] = 0.0


@inner
def scalar_solve_two(ldl: Factors, rhs: Floats, out: Floats) -> None:
    """`scalar_solve` for two right-hand sides, one after the other, in one pass over L."""
    n, start, values, d, work = ldl.n, ldl.start, ldl.values, ldl.d, ldl.work
    row_of, perm = ldl.rows.view(np.uint64), ldl.perm.view(np.uint64)
    one, order = np.uint64(1), np.uint64(n)
    for k in range(n):
        work[2 * k], work[2 * k + 1] = rhs[perm[k]], rhs[order + perm[k]]
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
        out[perm[k]], out[order + perm[k]] = work[2 * k], work[2 * k + 1]
        work[2 * k] = work[2 * k + 1] = 0.0
