"""Sparse LDL' factorization by rows, four columns at a time: for matrices with some fill.

This is the up-looking method on supernodes of four columns (see `four_wide`).  A row index, and the number there that
is updated, is read once for four columns, and four rows are updated independently of each other.  LLVM makes vector
instructions of four adjacent entries.
"""

from __future__ import annotations

from ....compiled.clock import clock
from ....compiled.kernels import inner
from ....compiled.signatures import Floats
from ..factors import put_pivot
from .eliminate import eliminate, factor_block
from .four_wide import DONE, FIRST, FIRST_AFTER, ROW_BEGIN, VALUE_BEGIN, FourWideFactors
from .static import are_unchanged, find_base, pass_base

AT_ONCE = 64  # supernodes between two looks at the clock
SIDE_BY_SIDE = True  # LLVM may make vector instructions of equal adjacent operations (see `compiled.machine`).


@inner
def four_wide_factor(ldl: FourWideFactors, data: Floats) -> int:
    """Compute L in `values` and D in `d`; return the number of replaced pivots, or -1 if a pivot is not finite.

    `work` and `work_four` are zero before and after.  Static columns with unchanged entries of K are not recomputed.
    """
    if ldl.static > 0 and not are_unchanged(ldl, data):
        ldl.replaced_static = factor_range(ldl, 0, ldl.static, data)
        if ldl.replaced_static >= 0:
            find_base(ldl, data)
    if ldl.static > 0 and ldl.replaced_static < 0:
        return -1
    replaced = factor_range(ldl, ldl.static, ldl.supernodes, data)
    return replaced if replaced < 0 else replaced + ldl.replaced_static


@inner
def factor_range(ldl: FourWideFactors, from_supernode: int, to_supernode: int, data: Floats) -> int:
    """Factor a range of supernodes; return the number of replaced pivots, or -1 if a pivot is not finite."""
    table, s, replaced = ldl.table, from_supernode, 0
    while s < to_supernode:
        narrow, stop = table[(s << 2) + FIRST_AFTER] - table[(s << 2) + FIRST] == 1, to_supernode
        if ldl.until > 0.0:
            stop = min(s + AT_ONCE, to_supernode)
        if narrow:
            bad = factor_ones(ldl, s, stop, data)
        else:
            bad = factor_fours(ldl, s, stop, data)
        if bad < 0 or (ldl.until > 0.0 and clock() >= ldl.until):
            for i in range(ldl.work.size):
                ldl.work[i] = 0.0
            for i in range(ldl.work_four.size):
                ldl.work_four[i] = 0.0
            return -1
        replaced += bad
        s = ldl.reached
    return replaced


@inner
def factor_ones(ldl: FourWideFactors, from_supernode: int, to_supernode: int, data: Floats) -> int:
    """Factor the rows of supernodes of one column; return the number of replaced pivots, or -1 if one is not finite.

    `reached` is set to the first supernode of four columns, or to `to_supernode`.
    """
    indices, source, linked = ldl.indices, ldl.source, ldl.columns
    table, rows, indptr = ldl.table, ldl.rows, ldl.indptr
    row_start, link, middle = ldl.row_start, ldl.link, ldl.middle
    d, inverse, work, values, replaced = ldl.d, ldl.inverse, ldl.work, ldl.values, 0
    for s in range(from_supernode, to_supernode):
        own = s << 2
        k = table[own + FIRST]
        if table[own + FIRST_AFTER] - k != 1:
            ldl.reached = s
            return replaced
        table[own + DONE] = table[own + ROW_BEGIN]
        for p in range(middle[k], indptr[k + 1]):
            work[indices[p]] = data[source[p]]
        if s >= ldl.static > 0:
            pass_base(ldl, s, work, 0, False)
        pivot = work[k]
        work[k] = 0.0
        for q in range(link[s], row_start[s + 1]):
            code = linked[q]
            t = code & ~1
            j, begin, at, end = table[t + FIRST], table[t + ROW_BEGIN], table[t + VALUE_BEGIN], table[t + DONE]
            table[t + DONE] = end + 1
            y0 = work[j]  # D(j) L(k, j)
            work[j] = 0.0
            if code & 1 == 0:
                at -= begin  # values[at + p] is in row rows[p].
                for p in range(begin, end):
                    work[rows[p]] -= values[at + p] * y0
                l0 = y0 / d[j]
                pivot -= l0 * y0
                values[at + end] = l0
                continue
            x1, x2, x3 = work[j + 1], work[j + 2], work[j + 3]
            y1 = x1 - values[at] * y0
            y2 = x2 - (values[at + 1] * y0 + values[at + 2] * y1)
            y3 = x3 - ((values[at + 3] * y0 + values[at + 4] * y1) + values[at + 5] * y2)
            work[j + 1] = work[j + 2] = work[j + 3] = 0.0
            at += 6
            for p in range(begin, end):
                work[rows[p]] -= (values[at] * y0 + values[at + 1] * y1) + (values[at + 2] * y2 + values[at + 3] * y3)
                at += 4
            l0, l1, l2, l3 = y0 * inverse[j], y1 * inverse[j + 1], y2 * inverse[j + 2], y3 * inverse[j + 3]
            values[at], values[at + 1], values[at + 2], values[at + 3] = l0, l1, l2, l3
            pivot -= (l0 * y0 + l1 * y1) + (l2 * y2 + l3 * y3)
        wrong = put_pivot(ldl, k, pivot)
        if wrong < 0:
            return -1
        replaced += wrong
        inverse[k] = 1.0 / d[k]
    ldl.reached = to_supernode
    return replaced


@inner
def factor_fours(ldl: FourWideFactors, from_supernode: int, to_supernode: int, data: Floats) -> int:
    """Factor supernodes of four columns, otherwise as `factor_ones`; `work_four` holds four rows side by side."""
    indices, source = ldl.indices, ldl.source
    table, indptr, row_start = ldl.table, ldl.indptr, ldl.row_start
    link, middle, work, replaced = ldl.link, ldl.middle, ldl.work_four, 0
    for s in range(from_supernode, to_supernode):
        own = s << 2
        k = table[own + FIRST]
        if table[own + FIRST_AFTER] - k == 1:
            ldl.reached = s
            return replaced
        table[own + DONE] = table[own + ROW_BEGIN]
        for c in range(4):
            for p in range(middle[k + c], indptr[k + c + 1]):
                work[(indices[p] << 2) + c] = data[source[p]]
        if s >= ldl.static > 0:
            pass_base(ldl, s, work, 2, False)
        eliminate(ldl, link[s], row_start[s + 1], k, 4)
        bad = factor_block(ldl, k, table[own + VALUE_BEGIN])
        if bad < 0:
            return -1
        replaced += bad
    ldl.reached = to_supernode
    return replaced
