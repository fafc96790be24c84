"""Columns of L that stay as they are from one factorization to the next.

Where entries of K never change, as those of free variables and of equations in a KKT matrix, a column of L stays as it
is if it and all of its descendants in the elimination tree are such columns.  With these first,

    K = [ K11  K21' ]     L11, D1 and L21 are computed once, and so is  base := L21 D1 L21',
        [ K21  K22  ]     and a factorization is that of K22 - base.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....compiled.kernels import deferred, kernel
from ....compiled.signatures import Bools, Floats, Ints
from ..symbolic.analysis import Analysis
from ..symbolic.siblings import reordered
from .eliminate import eliminate
from .four_wide import FourWideFactors


def static_first(analysis: Analysis, may_stay: NDArray[np.bool_] | None) -> tuple[Analysis, int]:
    """An equivalent order with the static columns first, and their number; the same with 0 where these are too few.

    `may_stay` tells, in the order of K, which columns of its lower triangle never change.
    """
    if may_stay is None:
        return analysis, 0
    order = np.empty(analysis.perm.size, np.int64)
    count = static_order(analysis, may_stay, order)
    return (reordered(analysis, order), count) if count > 0 else (analysis, 0)


@kernel
def static_order(analysis: Analysis, may_stay: Bools, order: Ints) -> int:
    """order := the static columns, then the others; returns how many they are, 0 where they are not worth it."""
    n, parent, counts, perm = analysis.perm.size, analysis.parent, analysis.counts, analysis.perm
    changes, saved, count = np.zeros(n, np.int64), 0.0, 0
    for j in range(n):
        if changes[j] == 0 and may_stay[perm[j]]:
            saved += counts[j] * (counts[j] + 2.0)
            order[count] = j
            count += 1
        elif parent[j] >= 0:
            changes[parent[j]] = 1
    if saved <= analysis.nnz or count == n:  # base is subtracted, and K compared, entry by entry
        return 0
    at = count
    for j in range(n):
        if changes[j] != 0 or not may_stay[perm[j]]:
            order[at] = j
            at += 1
    return count


@deferred
def are_unchanged(ldl: FourWideFactors, data: Floats) -> bool:
    """Whether the static columns of K, and how pivots are replaced, are as in the last factorization.

    They are noted for the next one.
    """
    kept, indptr, middle, source, at = ldl.kept, ldl.indptr, ldl.middle, ldl.source, 0
    same = ldl.kept_eps == ldl.eps and ldl.kept_delta == ldl.delta
    ldl.kept_eps, ldl.kept_delta = ldl.eps, ldl.delta
    for k in range(ldl.n):
        stop = indptr[k + 1] if k < ldl.static_columns else middle[k]
        for p in range(indptr[k], stop):
            value = data[source[p]]
            same &= kept[at] == value
            kept[at] = value
            at += 1
    return same


@deferred
def find_base(ldl: FourWideFactors, data: Floats) -> None:
    """L21, and base := L21 D1 L21' in the pattern of L, its diagonal apart."""
    table, indices, source = ldl.table, ldl.indices, ldl.source
    indptr, middle, linked = ldl.indptr, ldl.middle, ldl.columns
    row_start, link, work = ldl.row_start, ldl.link, ldl.work_four
    for s in range(ldl.static, ldl.supernodes):
        k = table[s << 2]
        count = table[(s << 2) + 4] - k
        table[(s << 2) + 3] = table[(s << 2) + 1]
        for c in range(count):
            for p in range(indptr[k + c], middle[k + c]):
                work[(indices[p] << 2) + c] = data[source[p]]
        eliminate(ldl, row_start[s], link[s], k, count)
        for q in range(link[s], row_start[s + 1]):
            note_base(ldl, linked[q] & ~1, k, count)
        place = table[(s << 2) + 2]  # what is in the triangle of the supernode, and on its diagonal
        for c in range(count):
            for i in range(c):
                ldl.base[place] = -work[((k + i) << 2) + c]
                place += 1
            ldl.base_d[k + c] = -work[((k + c) << 2) + c]
        for p in range(k << 2, (k + count) << 2):
            work[p] = 0.0


@deferred
def note_base(ldl: FourWideFactors, place_in_table: int, row: int, count: int) -> None:
    """The part of base of so many rows, from `row` on, in one supernode; the rows leave as zeros there."""
    t, k, table, rows = place_in_table, row, ldl.table, ldl.rows
    begin, end, stop, end_row = table[t + 1], table[t + 3], table[t + 5], k + count
    width, i, work = table[t + 4] - table[t], table[t] << 2, ldl.work_four
    place = table[t + 2] + ((width * (width - 1)) >> 1) + width * (end - begin)
    while end < stop and rows[end] < end_row:
        for j in range(width):
            ldl.base[place] = -work[i + (j << 2) + (rows[end] - k)]
            place += 1
        end += 1
    table[t + 3] = end
    for p in range(i, i + (width << 2)):
        work[p] = 0.0
