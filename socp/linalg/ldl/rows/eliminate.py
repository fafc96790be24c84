"""Elimination of rows of L by the supernodes that have them, and the triangle of four columns."""

from __future__ import annotations

import numpy as np

from ....compiled.kernels import inner
from ..factors import put_pivot
from .four_wide import FourWideFactors

SIDE_BY_SIDE = True  # equal operations beside each other become vector instructions (see `compiled.machine`)

# unsigned, as all indices here: numba then makes no test of negative ones
ZERO, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN = (np.uint64(i) for i in range(8))
EIGHT, TWELVE, SIXTEEN = np.uint64(8), np.uint64(12), np.uint64(16)


@inner
def eliminate(ldl: FourWideFactors, from_link: int, to_link: int, row: int, count: int) -> None:
    """So many rows, from `row` on, in the supernodes that some of their links lead to."""
    table, linked = ldl.table.view(np.uint64), ldl.columns.view(np.uint64)
    q, last = np.uint64(from_link), np.uint64(to_link)
    while q < last:
        t = linked[q]
        if table[(t << TWO) + FOUR] - table[t << TWO] == ONE:
            q = np.uint64(eliminate_ones(ldl, q, last, row, count))
        else:
            eliminate_four(ldl, t, row, count)
            q += ONE


@inner
def eliminate_ones(ldl: FourWideFactors, from_link: int, to_link: int, row: int, count: int) -> int:
    """So many rows, from `row` on, in supernodes of one column: stored, and taken from the rest of the rows.

    Goes from one link of the rows to the next one as long as supernodes have one column; returns where it stops.
    """
    k, table, rows, linked = np.uint64(row), ldl.table.view(np.uint64), ldl.rows.view(np.uint64), ldl.columns
    work, values, inverse, end_row = ldl.work_four, ldl.values, ldl.inverse, np.uint64(row + count)
    base, based = ldl.base, ldl.base.size > 0
    for q in range(np.uint64(from_link), np.uint64(to_link)):
        t = np.uint64(linked[q]) << TWO
        column, begin, end, stop = table[t], table[t + ONE], table[t + THREE], table[t + FIVE]
        if table[t + FOUR] - column != ONE:
            return int(q)
        at, factor, i = table[t + TWO] - begin, inverse[column], column << TWO
        while end < stop and rows[end] < end_row:
            place = i + (rows[end] - k)
            if based:
                work[place] -= base[at + end]
            values[at + end] = work[place] * factor
            end += ONE
        y0, y1, y2, y3 = work[i], work[i + ONE], work[i + TWO], work[i + THREE]
        work[i] = work[i + ONE] = work[i + TWO] = work[i + THREE] = 0.0
        table[t + THREE] = end
        for p in range(begin, end):
            i, l = rows[p] << TWO, values[at + p]
            x0, x1, x2, x3 = work[i], work[i + ONE], work[i + TWO], work[i + THREE]
            work[i], work[i + ONE], work[i + TWO], work[i + THREE] = x0 - l * y0, x1 - l * y1, x2 - l * y2, x3 - l * y3
    return to_link


@inner
def eliminate_four(ldl: FourWideFactors, first: int, row: int, count: int) -> None:
    """`eliminate_ones` for one supernode of four columns."""
    t, k, table, rows = (
        np.uint64(first) << TWO,
        np.uint64(row),
        ldl.table.view(np.uint64),
        ldl.rows.view(np.uint64),
    )
    work, values, inverse = ldl.work_four, ldl.values, ldl.inverse
    j, begin, at, end, stop = table[t], table[t + ONE], table[t + TWO], table[t + THREE], table[t + FIVE]
    i, place, first, rows_held = j << TWO, at + SIX + ((end - begin) << TWO), at + SIX, np.uint64(count)
    l10, l20, l21 = values[at], values[at + ONE], values[at + TWO]
    l30, l31, l32 = values[at + THREE], values[at + FOUR], values[at + FIVE]
    if ldl.base.size > 0:
        subtract_base(ldl, t, row, count)
    for c in range(FOUR):
        y0 = work[i + c]
        y1 = work[i + FOUR + c] - l10 * y0
        y2 = work[i + EIGHT + c] - (l20 * y0 + l21 * y1)
        y3 = work[i + TWELVE + c] - ((l30 * y0 + l31 * y1) + l32 * y2)
        work[i + FOUR + c], work[i + EIGHT + c], work[i + TWELVE + c] = y1, y2, y3
        if end < stop and rows[end] == k + c and c < rows_held:
            values[place], values[place + ONE] = y0 * inverse[j], y1 * inverse[j + ONE]
            values[place + TWO], values[place + THREE] = y2 * inverse[j + TWO], y3 * inverse[j + THREE]
            place += FOUR
            end += ONE
    table[t + THREE] = end
    a0, a1, a2, a3 = work[i], work[i + ONE], work[i + TWO], work[i + THREE]
    i += FOUR
    b0, b1, b2, b3 = work[i], work[i + ONE], work[i + TWO], work[i + THREE]
    i += FOUR
    c0, c1, c2, c3 = work[i], work[i + ONE], work[i + TWO], work[i + THREE]
    i += FOUR
    d0, d1, d2, d3 = work[i], work[i + ONE], work[i + TWO], work[i + THREE]
    for p in range(j << TWO, (j << TWO) + SIXTEEN):
        work[p] = 0.0
    at = first
    for p in range(begin, end):
        i, l0, l1, l2, l3 = rows[p] << TWO, values[at], values[at + ONE], values[at + TWO], values[at + THREE]
        x0 = work[i] - ((l0 * a0 + l1 * b0) + (l2 * c0 + l3 * d0))
        x1 = work[i + ONE] - ((l0 * a1 + l1 * b1) + (l2 * c1 + l3 * d1))
        x2 = work[i + TWO] - ((l0 * a2 + l1 * b2) + (l2 * c2 + l3 * d2))
        x3 = work[i + THREE] - ((l0 * a3 + l1 * b3) + (l2 * c3 + l3 * d3))
        work[i], work[i + ONE], work[i + TWO], work[i + THREE] = x0, x1, x2, x3
        at += FOUR


@inner
def subtract_base(ldl: FourWideFactors, at_supernode: int, row: int, count: int) -> None:
    """The part of `base` of so many rows, from `row` on, in a supernode of four columns, taken from the rows."""
    t, k, table, rows = np.uint64(at_supernode), np.uint64(row), ldl.table.view(np.uint64), ldl.rows.view(np.uint64)
    end, stop, end_row, i = table[t + THREE], table[t + FIVE], k + np.uint64(count), table[t] << TWO
    place, work, base = table[t + TWO] + SIX + ((end - table[t + ONE]) << TWO), ldl.work_four, ldl.base
    while end < stop and rows[end] < end_row:
        to = i + (rows[end] - k)
        work[to] -= base[place]
        work[to + FOUR] -= base[place + ONE]
        work[to + EIGHT] -= base[place + TWO]
        work[to + TWELVE] -= base[place + THREE]
        place += FOUR
        end += ONE


@inner
def factor_block(ldl: FourWideFactors, row: int, place: int) -> int:
    """The triangle of a supernode of four columns, and their pivots, of what is left of its rows."""
    k, at, work, values = np.uint64(row), np.uint64(place), ldl.work_four, ldl.values
    d, inverse, replaced = ldl.d, ldl.inverse, 0
    first, own = k << TWO, at  # of the row of the triangle
    if ldl.base.size > 0:
        for c in range(FOUR):
            for i in range(c):
                work[first + (i << TWO) + c] -= ldl.base[own]
                own += ONE
            work[first + FIVE * c] -= ldl.base_d[k + c]
        own = at
    for c in range(FOUR):
        pivot, entry = work[first + FIVE * c], at
        for i in range(c):
            y = work[first + (i << TWO) + c]
            for m in range(i):
                y -= values[entry] * work[first + (m << TWO) + c]
                entry += ONE
            work[first + (i << TWO) + c] = y
            l = y * inverse[k + i]
            pivot -= l * y
            values[own + i] = l
        own += c
        wrong = put_pivot(ldl, k + c, pivot)
        if wrong < 0:
            return -1
        replaced += wrong
        inverse[k + c] = 1.0 / d[k + c]
    for i in range(first, first + SIXTEEN):
        work[i] = 0.0
    return replaced
