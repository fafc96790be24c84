"""Elimination of rows of L by the supernodes that have entries in them, and the triangle of four columns.

With K = L D L', the rows R of L follow from those of K by the supernodes J in the order of their columns:

    Y := L_JJ \\ K_JR,   L_RJ := Y' / D_J,   K_IR -= L_IJ Y   in the rows I of J up to R, which `done` ends

`work_four` holds K_:R, four rows side by side: entry (i, c) is at 4 i + c.  It is zero where nothing is left to do.
"""

from __future__ import annotations

from ....compiled.kernels import inner
from ..factors import put_pivot
from .four_wide import DONE, FIRST, ROW_BEGIN, ROW_END, VALUE_BEGIN, FourWideFactors

SIDE_BY_SIDE = True  # LLVM may make vector instructions of equal adjacent operations (see `compiled.machine`).


@inner
def eliminate(ldl: FourWideFactors, from_link: int, to_link: int, row: int, count: int) -> None:
    """Compute `count` rows of L from `row` on, in the supernodes of links from_link:to_link; see `eliminate_ones`."""
    linked = ldl.columns
    q, last = from_link, to_link
    while q < last:
        if linked[q] & 1 == 0:
            q = eliminate_ones(ldl, q, last, row, count)
        else:
            eliminate_four(ldl, linked[q] & ~1, row, count)
            q += 1


@inner
def eliminate_ones(ldl: FourWideFactors, from_link: int, to_link: int, row: int, count: int) -> int:
    """Compute rows of L in supernodes of one column, and subtract their updates from the rest of these rows.

    The rows are `count` rows from `row` on.  Return the first link to a supernode of four columns, or `to_link`.
    """
    k, rows, linked, table = row, ldl.rows, ldl.columns, ldl.table
    work, values, inverse, end_row = ldl.work_four, ldl.values, ldl.inverse, row + count
    for q in range(from_link, to_link):
        t = linked[q]
        if t & 1 != 0:
            return int(q)
        column, begin, end, stop = table[t + FIRST], table[t + ROW_BEGIN], table[t + DONE], table[t + ROW_END]
        at, factor, i = table[t + VALUE_BEGIN] - begin, inverse[column], column << 2  # values[at + p] is in row rows[p]
        while end < stop and rows[end] < end_row:
            values[at + end] = work[i + (rows[end] - k)] * factor
            end += 1
        y0, y1, y2, y3 = work[i], work[i + 1], work[i + 2], work[i + 3]
        work[i] = work[i + 1] = work[i + 2] = work[i + 3] = 0.0
        table[t + DONE] = end
        for p in range(begin, end):
            i, l = rows[p] << 2, values[at + p]
            x0, x1, x2, x3 = work[i], work[i + 1], work[i + 2], work[i + 3]
            work[i], work[i + 1], work[i + 2], work[i + 3] = x0 - l * y0, x1 - l * y1, x2 - l * y2, x3 - l * y3
    return to_link


@inner
def eliminate_four(ldl: FourWideFactors, t: int, row: int, count: int) -> None:
    """Compute rows of L in the supernode of four columns at place t, and subtract their updates as `eliminate_ones`."""
    k, rows, table = row, ldl.rows, ldl.table
    work, values, inverse = ldl.work_four, ldl.values, ldl.inverse
    j, begin, at = table[t + FIRST], table[t + ROW_BEGIN], table[t + VALUE_BEGIN]
    end, stop = table[t + DONE], table[t + ROW_END]
    i, place, first, rows_held = j << 2, at + 6 + ((end - begin) << 2), at + 6, count
    l10, l20, l21 = values[at], values[at + 1], values[at + 2]
    l30, l31, l32 = values[at + 3], values[at + 4], values[at + 5]
    for c in range(4):
        y0 = work[i + c]
        y1 = work[i + 4 + c] - l10 * y0
        y2 = work[i + 8 + c] - (l20 * y0 + l21 * y1)
        y3 = work[i + 12 + c] - ((l30 * y0 + l31 * y1) + l32 * y2)
        work[i + 4 + c], work[i + 8 + c], work[i + 12 + c] = y1, y2, y3
        if end < stop and rows[end] == k + c and c < rows_held:
            values[place], values[place + 1] = y0 * inverse[j], y1 * inverse[j + 1]
            values[place + 2], values[place + 3] = y2 * inverse[j + 2], y3 * inverse[j + 3]
            place += 4
            end += 1
    table[t + DONE] = end
    a0, a1, a2, a3 = work[i], work[i + 1], work[i + 2], work[i + 3]
    i += 4
    b0, b1, b2, b3 = work[i], work[i + 1], work[i + 2], work[i + 3]
    i += 4
    c0, c1, c2, c3 = work[i], work[i + 1], work[i + 2], work[i + 3]
    i += 4
    d0, d1, d2, d3 = work[i], work[i + 1], work[i + 2], work[i + 3]
    for p in range(j << 2, (j << 2) + 16):
        work[p] = 0.0
    at = first
    for p in range(begin, end):
        i, l0, l1, l2, l3 = rows[p] << 2, values[at], values[at + 1], values[at + 2], values[at + 3]
        x0 = work[i] - ((l0 * a0 + l1 * b0) + (l2 * c0 + l3 * d0))
        x1 = work[i + 1] - ((l0 * a1 + l1 * b1) + (l2 * c1 + l3 * d1))
        x2 = work[i + 2] - ((l0 * a2 + l1 * b2) + (l2 * c2 + l3 * d2))
        x3 = work[i + 3] - ((l0 * a3 + l1 * b3) + (l2 * c3 + l3 * d3))
        work[i], work[i + 1], work[i + 2], work[i + 3] = x0, x1, x2, x3
        at += 4


@inner
def factor_block(ldl: FourWideFactors, row: int, place: int) -> int:
    """Factor the triangle of a supernode of four columns; return the number of replaced pivots, or -1 on failure."""
    k, at, work, values = row, place, ldl.work_four, ldl.values
    d, inverse, replaced = ldl.d, ldl.inverse, 0
    first, own = k << 2, at  # the triangle's place in `work`, and the place of its current row in `values`
    for c in range(4):
        pivot, entry = work[first + 5 * c], at
        for i in range(c):
            y = work[first + (i << 2) + c]
            for m in range(i):
                y -= values[entry] * work[first + (m << 2) + c]
                entry += 1
            work[first + (i << 2) + c] = y
            l = y * inverse[k + i]
            pivot -= l * y
            values[own + i] = l
        own += c
        wrong = put_pivot(ldl, k + c, pivot)
        if wrong < 0:
            return -1
        replaced += wrong
        inverse[k + c] = 1.0 / d[k + c]
    for i in range(first, first + 16):
        work[i] = 0.0
    return replaced
