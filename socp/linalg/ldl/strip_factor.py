"""Sparse LDL' factorization by rows, four columns at a time: for matrices with some fill.

The up-looking method of `uplooking` on strips of four columns (see `strips`).  What is read for one entry, its row and
the number that it changes, serves for four, and four rows at once do not wait for each other.  LLVM makes vector
instructions of four entries side by side.
"""

from __future__ import annotations

import math

import numpy as np

from ...compiled.kernels import inner, kernel
from ...compiled.signatures import Floats
from .factors import Factors

SIDE_BY_SIDE = True  # equal operations beside each other become vector instructions (see `compiled.machine`)

# unsigned, as all indices here: numba then makes no test of negative ones
ZERO, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN = (np.uint64(i) for i in range(8))
EIGHT, TWELVE, SIXTEEN = np.uint64(8), np.uint64(12), np.uint64(16)


@kernel
def strip_factor(ldl: Factors, data: Floats, eps: float, delta: float) -> int:
    """L in values, strip after strip, and D in d; see `LDL.factor`.

    `work` and `work_four` come as zeros and leave as zeros.
    """
    strip, s, count, replaced = ldl.strip.view(np.uint64), ZERO, np.uint64(ldl.strips), 0
    while s < count:
        narrow = strip[(s << TWO) + FOUR] - strip[s << TWO] == ONE
        bad = factor_rows(ldl, s, data, eps, delta) if narrow else factor_fours(ldl, s, data, eps, delta)
        if bad < 0:
            for i in range(ldl.work.size):
                ldl.work[i] = 0.0
            for i in range(ldl.work_four.size):
                ldl.work_four[i] = 0.0
            return -1
        replaced += bad
        s = np.uint64(ldl.reached)
    return replaced


@inner
def factor_rows(ldl: Factors, from_strip: int, data: Floats, eps: float, delta: float) -> int:
    """The rows of the strips of one column that follow; the number of replaced pivots, -1 for one that is not finite.

    Strips of other kinds begin where it has `reached`.
    """
    indices, source, linked = ldl.indices.view(np.uint64), ldl.source.view(np.uint64), ldl.columns.view(np.uint64)
    strip, rows, indptr = ldl.strip.view(np.uint64), ldl.rows.view(np.uint64), ldl.indptr.view(np.uint64)
    row_start, d, inverse, signs = ldl.row_start.view(np.uint64), ldl.d, ldl.inverse, ldl.signs
    work, values, replaced = ldl.work, ldl.values, 0
    for s in range(np.uint64(from_strip), np.uint64(ldl.strips)):
        own = s << TWO
        k = strip[own]
        if strip[own + FOUR] - k != ONE:
            ldl.reached = s
            return replaced
        strip[own + THREE] = strip[own + ONE]
        for p in range(indptr[k], indptr[k + ONE]):
            work[indices[p]] = data[source[p]]
        pivot = work[k]
        work[k] = 0.0
        for q in range(row_start[s], row_start[s + ONE]):
            t = linked[q] << TWO
            j, begin, at, end = strip[t], strip[t + ONE], strip[t + TWO], strip[t + THREE]
            strip[t + THREE] = end + ONE
            y0 = work[j]  # D(j) L(k, j)
            work[j] = 0.0
            if strip[t + FOUR] - j == ONE:
                at -= begin
                for p in range(begin, end):
                    work[rows[p]] -= values[at + p] * y0
                l0 = y0 / d[j]
                pivot -= l0 * y0
                values[at + end] = l0
                continue
            y1 = work[j + ONE] - values[at] * y0
            y2 = work[j + TWO] - (values[at + ONE] * y0 + values[at + TWO] * y1)
            y3 = work[j + THREE] - ((values[at + THREE] * y0 + values[at + FOUR] * y1) + values[at + FIVE] * y2)
            work[j + ONE] = work[j + TWO] = work[j + THREE] = 0.0
            at += SIX
            for p in range(begin, end):
                work[rows[p]] -= (values[at] * y0 + values[at + ONE] * y1) + (
                    values[at + TWO] * y2 + values[at + THREE] * y3
                )
                at += FOUR
            l0, l1, l2, l3 = y0 * inverse[j], y1 * inverse[j + ONE], y2 * inverse[j + TWO], y3 * inverse[j + THREE]
            values[at], values[at + ONE], values[at + TWO], values[at + THREE] = l0, l1, l2, l3
            pivot -= (l0 * y0 + l1 * y1) + (l2 * y2 + l3 * y3)
        if not math.isfinite(pivot):
            return -1
        if signs[k] * pivot <= eps:
            pivot = signs[k] * delta
            replaced += 1
        d[k], inverse[k] = pivot, 1.0 / pivot
    ldl.reached = ldl.strips
    return replaced


@inner
def factor_fours(ldl: Factors, from_strip: int, data: Floats, eps: float, delta: float) -> int:
    """`factor_rows` for strips of four columns: the entries of four rows are side by side in `work_four`."""
    indices, source, linked = ldl.indices.view(np.uint64), ldl.source.view(np.uint64), ldl.columns.view(np.uint64)
    strip, indptr, row_start = ldl.strip.view(np.uint64), ldl.indptr.view(np.uint64), ldl.row_start.view(np.uint64)
    work, replaced = ldl.work_four, 0
    for s in range(np.uint64(from_strip), np.uint64(ldl.strips)):
        own = s << TWO
        k = strip[own]
        if strip[own + FOUR] - k == ONE:
            ldl.reached = s
            return replaced
        strip[own + THREE] = strip[own + ONE]
        for c in range(FOUR):
            for p in range(indptr[k + c], indptr[k + c + ONE]):
                work[(indices[p] << TWO) + c] = data[source[p]]
        q, last = row_start[s], row_start[s + ONE]
        while q < last:
            t = linked[q]
            if strip[(t << TWO) + FOUR] - strip[t << TWO] == ONE:
                q = np.uint64(eliminate_ones(ldl, q, last, k))
            else:
                eliminate_four(ldl, t, k)
                q += ONE
        bad = factor_block(ldl, k, strip[own + TWO], eps, delta)
        if bad < 0:
            return -1
        replaced += bad
    ldl.reached = ldl.strips
    return replaced


@inner
def eliminate_ones(ldl: Factors, from_link: int, to_link: int, row: int) -> int:
    """Four rows, from `row` on, in strips of one column: stored, and taken from the rest of the rows.

    Goes from one link of the rows to the next one as long as strips have one column; returns where it stops.
    """
    k, strip, rows, linked = np.uint64(row), ldl.strip.view(np.uint64), ldl.rows.view(np.uint64), ldl.columns
    work, values, inverse, end_row = ldl.work_four, ldl.values, ldl.inverse, np.uint64(row) + FOUR
    for q in range(np.uint64(from_link), np.uint64(to_link)):
        t = np.uint64(linked[q]) << TWO
        column, begin, end, stop = strip[t], strip[t + ONE], strip[t + THREE], strip[t + FIVE]
        if strip[t + FOUR] - column != ONE:
            return int(q)
        at, factor, i = strip[t + TWO] - begin, inverse[column], column << TWO
        y0, y1, y2, y3 = work[i], work[i + ONE], work[i + TWO], work[i + THREE]
        while end < stop and rows[end] < end_row:
            values[at + end] = work[i + (rows[end] - k)] * factor
            end += ONE
        work[i] = work[i + ONE] = work[i + TWO] = work[i + THREE] = 0.0
        strip[t + THREE] = end
        for p in range(begin, end):
            i, l = rows[p] << TWO, values[at + p]
            x0, x1, x2, x3 = work[i], work[i + ONE], work[i + TWO], work[i + THREE]
            work[i], work[i + ONE], work[i + TWO], work[i + THREE] = x0 - l * y0, x1 - l * y1, x2 - l * y2, x3 - l * y3
    return to_link


@inner
def eliminate_four(ldl: Factors, from_strip: int, row: int) -> None:
    """`eliminate_one` for a strip of four columns."""
    t, k, strip, rows = (
        np.uint64(from_strip) << TWO,
        np.uint64(row),
        ldl.strip.view(np.uint64),
        ldl.rows.view(np.uint64),
    )
    work, values, inverse = ldl.work_four, ldl.values, ldl.inverse
    j, begin, at, end, stop = strip[t], strip[t + ONE], strip[t + TWO], strip[t + THREE], strip[t + FIVE]
    i, place, first = j << TWO, at + SIX + ((end - begin) << TWO), at + SIX
    l10, l20, l21 = values[at], values[at + ONE], values[at + TWO]
    l30, l31, l32 = values[at + THREE], values[at + FOUR], values[at + FIVE]
    for c in range(FOUR):
        y0 = work[i + c]
        y1 = work[i + FOUR + c] - l10 * y0
        y2 = work[i + EIGHT + c] - (l20 * y0 + l21 * y1)
        y3 = work[i + TWELVE + c] - ((l30 * y0 + l31 * y1) + l32 * y2)
        work[i + FOUR + c], work[i + EIGHT + c], work[i + TWELVE + c] = y1, y2, y3
        if end < stop and rows[end] == k + c:
            values[place], values[place + ONE] = y0 * inverse[j], y1 * inverse[j + ONE]
            values[place + TWO], values[place + THREE] = y2 * inverse[j + TWO], y3 * inverse[j + THREE]
            place += FOUR
            end += ONE
    strip[t + THREE] = end
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
def factor_block(ldl: Factors, row: int, place: int, eps: float, delta: float) -> int:
    """The triangle of a strip of four columns, and their pivots, of what is left of its rows."""
    k, at, work, values = np.uint64(row), np.uint64(place), ldl.work_four, ldl.values
    d, inverse, signs, replaced = ldl.d, ldl.inverse, ldl.signs, 0
    first, own = k << TWO, at  # of the row of the triangle
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
        if not math.isfinite(pivot):
            return -1
        if signs[k + c] * pivot <= eps:
            pivot = signs[k + c] * delta
            replaced += 1
        d[k + c], inverse[k + c] = pivot, 1.0 / pivot
    for i in range(first, first + SIXTEEN):
        work[i] = 0.0
    return replaced
