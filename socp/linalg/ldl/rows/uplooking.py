"""Sparse LDL' factorization by rows, the up-looking method with scalar operations: read this file first.

It serves factors with little fill: tree-like programs, and those of which a factorization takes some microseconds.

Row k of L comes from the rows above it,

    L(1:k, 1:k) D(1:k) L(k, 1:k)' = K(1:k, k)     a sparse triangular solve,
    D(k) = K(k, k) - L(k, 1:k) D(1:k) L(k, 1:k)',

where the rows and columns of K are in the order of elimination.  L is stored by columns, its pattern is found
beforehand.
"""

from __future__ import annotations

from ....compiled.kernels import inner, kernel
from ....compiled.signatures import Floats
from ....compiled.structures import floats, integers
from ..factors import Factors, put_pivot
from ..symbolic.analysis import Analysis, find_rows


class ScalarFactors(Factors):
    """L by columns.

    Attributes
    ----------
    indptr, indices, source : arrays
        The permuted upper triangle of K by columns; its entry q is entry ``source[q]`` of K.
    start, rows, values : arrays
        Column j of L is ``values[start[j]:start[j + 1]]``, in the rows ``rows[...]`` of the same range.
    row_start, columns : arrays
        The entries of row k of L are in the columns ``columns[row_start[k]:row_start[k + 1]]``.
    """

    indptr, indices = integers("n + 1"), integers("given", scratch=True)
    source = integers("given", scratch=True)
    start, row_start, end = integers("n + 1"), integers("n + 1"), integers("n")
    rows, columns = integers("entries", scratch=True), integers("entries", scratch=True)
    values, work = floats("entries", scratch=True), floats("2 * n")

    def __init__(self, analysis: Analysis, signs: Floats) -> None:
        super().__init__(n=analysis.perm.size, given=analysis.source.size, entries=analysis.nnz)
        scalar_pattern(self, analysis, signs)
        self.use(scalar_factor, scalar_solve)


@kernel
def scalar_pattern(ldl: ScalarFactors, analysis: Analysis, signs: Floats) -> None:
    """The order, the permuted K, and the pattern of L by columns and, for the order of the work, by rows."""
    n, source, start, row_start, fill = analysis.perm.size, analysis.source, ldl.start, ldl.row_start, ldl.end
    for k in range(n):
        ldl.perm[k], fill[k] = analysis.perm[k], k
        ldl.signs[k], ldl.d[k] = signs[ldl.perm[k]], 1.0
        start[k + 1] = start[k] + analysis.counts[k]
        ldl.indptr[k + 1] = analysis.indptr[k + 1]
    for q in range(source.size):
        ldl.indices[q], ldl.source[q] = analysis.indices[q], source[q]
    find_rows(analysis.indptr, analysis.indices, fill, analysis.parent, start, ldl.rows)
    rows, columns = ldl.rows, ldl.columns
    for p in range(rows.size):
        row_start[rows[p] + 1] += 1
    for k in range(n):
        fill[k] = row_start[k]
        row_start[k + 1] += row_start[k]
    for j in range(n):
        for p in range(start[j], start[j + 1]):
            k = rows[p]
            columns[fill[k]] = j
            fill[k] += 1


@inner
def scalar_factor(ldl: ScalarFactors, data: Floats) -> int:
    """L(:, j) in values[start[j]:start[j + 1]] and D in d; `work` comes as zeros and leaves as zeros."""

    row_of, indices, columns = ldl.rows, ldl.indices, ldl.columns
    n, d, work, end, source = ldl.n, ldl.d, ldl.work, ldl.end, ldl.source
    indptr, start, values, row_start = ldl.indptr, ldl.start, ldl.values, ldl.row_start
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
            last = end[j]
            for p in range(start[j], last):
                work[row_of[p]] -= values[p] * y
            l_kj = y / d[j]
            pivot -= l_kj * y
            values[last] = l_kj
            end[j] = last + 1
        wrong = put_pivot(ldl, k, pivot)
        if wrong < 0:
            for j in range(n):
                work[j] = 0.0
            return -1
        replaced += wrong
    return replaced


@inner
def scalar_solve(ldl: ScalarFactors, count: int, rhs: Floats, out: Floats) -> None:
    """out := P' (L' \\ (D \\ (L \\ (P rhs)))) for one or two right-hand sides; `work` leaves as zeros."""
    if count == 1:
        solve_one(ldl, rhs, out)
    else:
        solve_two(ldl, rhs, out)


@inner
def solve_one(ldl: ScalarFactors, rhs: Floats, out: Floats) -> None:
    """`scalar_solve` for one right-hand side."""
    n, start, values, d, work = ldl.n, ldl.start, ldl.values, ldl.d, ldl.work
    row_of, perm = ldl.rows, ldl.perm
    for k in range(n):
        work[k] = rhs[perm[k]]
    for j in range(n):
        x = work[j]
        for p in range(start[j], start[j + 1]):
            work[row_of[p]] -= values[p] * x
        work[j] = x / d[j]  # here nothing waits for the division
    for j in range(n - 1, -1, -1):
        x = work[j]
        for p in range(start[j], start[j + 1]):
            x -= values[p] * work[row_of[p]]
        work[j] = x
    for k in range(n):
        out[perm[k]] = work[k]
        work[k] = 0.0


@inner
def solve_two(ldl: ScalarFactors, rhs: Floats, out: Floats) -> None:
    """`scalar_solve` for two right-hand sides in one pass over L."""
    n, start, values, d, work = ldl.n, ldl.start, ldl.values, ldl.d, ldl.work
    row_of, perm = ldl.rows, ldl.perm
    one, order = 1, n
    for k in range(n):
        work[2 * k], work[2 * k + 1] = rhs[perm[k]], rhs[order + perm[k]]
    for j in range(n):
        x, y = work[2 * j], work[2 * j + 1]
        for p in range(start[j], start[j + 1]):
            i = row_of[p] << one
            work[i] -= values[p] * x
            work[i + one] -= values[p] * y
        work[2 * j], work[2 * j + 1] = x / d[j], y / d[j]
    for j in range(n - 1, -1, -1):
        x, y = work[2 * j], work[2 * j + 1]
        for p in range(start[j], start[j + 1]):
            i = row_of[p] << one
            x -= values[p] * work[i]
            y -= values[p] * work[i + one]
        work[2 * j], work[2 * j + 1] = x, y
    for k in range(n):
        out[perm[k]], out[order + perm[k]] = work[2 * k], work[2 * k + 1]
        work[2 * k] = work[2 * k + 1] = 0.0
