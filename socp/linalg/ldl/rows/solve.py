"""Solves with an LDL' by supernodes: the four entries of a row in one pass over their right-hand side."""

from __future__ import annotations

import numpy as np

from ....compiled.kernels import inner
from ....compiled.signatures import Floats
from .eliminate import EIGHT, FIVE, FOUR, ONE, SEVEN, SIX, THREE, TWO, ZERO
from .four_wide import FourWideFactors

SIDE_BY_SIDE = True  # equal operations beside each other become vector instructions (see `compiled.machine`)


@inner
def four_wide_solve(ldl: FourWideFactors, count: int, rhs: Floats, out: Floats) -> None:
    """out := P' (L' \\ (D \\ (L \\ (P rhs)))) for one or two right-hand sides; `work` leaves as zeros."""
    if count == 1:
        solve_one(ldl, rhs, out)
    else:
        solve_two(ldl, rhs, out)


@inner
def solve_one(ldl: FourWideFactors, rhs: Floats, out: Floats) -> None:
    """`four_wide_solve` for one right-hand side."""
    n, work, perm = ldl.n, ldl.work, ldl.perm.view(np.uint64)
    for k in range(n):
        work[k] = rhs[perm[k]]
    solve_lower(ldl)
    solve_upper(ldl)
    for k in range(n):
        out[perm[k]] = work[k]
        work[k] = 0.0


@inner
def solve_lower(ldl: FourWideFactors) -> None:
    """work := D \\ (L \\ work)."""
    start, j, at = ldl.start.view(np.uint64), ZERO, ZERO
    rows, values, work, d = ldl.rows.view(np.uint64), ldl.values, ldl.work, ldl.d
    following = start[0]
    for s in range(np.uint64(ldl.supernodes)):
        begin, wide = following >> ONE, following & ONE
        following = start[s + ONE]
        x0 = work[j]
        if wide == ZERO:
            end = following >> ONE
            at -= begin
            for p in range(begin, end):
                work[rows[p]] -= values[at + p] * x0
            at += end
            work[j] = x0 / d[j]  # here nothing waits for the division
            j += ONE
            continue
        x1 = work[j + ONE] - values[at] * x0
        x2 = work[j + TWO] - (values[at + ONE] * x0 + values[at + TWO] * x1)
        x3 = work[j + THREE] - ((values[at + THREE] * x0 + values[at + FOUR] * x1) + values[at + FIVE] * x2)
        at += SIX
        for p in range(begin, following >> ONE):
            l0, l1, l2, l3 = values[at], values[at + ONE], values[at + TWO], values[at + THREE]
            work[rows[p]] -= (l0 * x0 + l1 * x1) + (l2 * x2 + l3 * x3)
            at += FOUR
        work[j], work[j + ONE] = x0 / d[j], x1 / d[j + ONE]
        work[j + TWO], work[j + THREE] = x2 / d[j + TWO], x3 / d[j + THREE]
        j += FOUR


@inner
def solve_upper(ldl: FourWideFactors) -> None:
    """work := L' \\ work."""
    start, j, end = ldl.start.view(np.uint64), np.uint64(ldl.n), np.uint64(ldl.rows.size)
    rows, values, work, last = ldl.rows.view(np.uint64), ldl.values, ldl.work, np.uint64(ldl.values.size)
    for s in range(np.uint64(ldl.supernodes)):
        code = start[np.uint64(ldl.supernodes) - ONE - s]
        begin, x0 = code >> ONE, 0.0
        if code & ONE == ZERO:
            j -= ONE
            last -= end
            for p in range(begin, end):
                x0 += values[last + p] * work[rows[p]]
            last += begin
            work[j] -= x0
            end = begin
            continue
        j -= FOUR
        last -= ((end - begin) << TWO) + SIX
        x1, x2, x3, at = 0.0, 0.0, 0.0, last + SIX
        for p in range(begin, end):
            x = work[rows[p]]
            x0, x1 = x0 + values[at] * x, x1 + values[at + ONE] * x
            x2, x3 = x2 + values[at + TWO] * x, x3 + values[at + THREE] * x
            at += FOUR
        l10, l20, l21 = values[last], values[last + ONE], values[last + TWO]
        l30, l31, l32 = values[last + THREE], values[last + FOUR], values[last + FIVE]
        x3 = work[j + THREE] - x3
        x2 = work[j + TWO] - (x2 + l32 * x3)
        x1 = work[j + ONE] - (x1 + l31 * x3 + l21 * x2)
        work[j] -= x0 + l30 * x3 + l20 * x2 + l10 * x1
        work[j + ONE], work[j + TWO], work[j + THREE] = x1, x2, x3
        end = begin


@inner
def solve_two(ldl: FourWideFactors, rhs: Floats, out: Floats) -> None:
    """`four_wide_solve` for two right-hand sides in one pass over L."""
    n, work, perm = ldl.n, ldl.work, ldl.perm.view(np.uint64)
    order = np.uint64(n)
    for k in range(n):
        work[2 * k], work[2 * k + 1] = rhs[perm[k]], rhs[order + perm[k]]
    solve_lower_two(ldl)
    solve_upper_two(ldl)
    for k in range(n):
        out[perm[k]], out[order + perm[k]] = work[2 * k], work[2 * k + 1]
        work[2 * k] = work[2 * k + 1] = 0.0


@inner
def solve_lower_two(ldl: FourWideFactors) -> None:
    """`solve_lower` for two vectors, entry beside entry."""
    start, k, at = ldl.start.view(np.uint64), ZERO, ZERO
    rows, values, work, d = ldl.rows.view(np.uint64), ldl.values, ldl.work, ldl.d
    following = start[0]
    for s in range(np.uint64(ldl.supernodes)):
        begin, wide, j = following >> ONE, following & ONE, k << ONE
        following = start[s + ONE]
        x0, y0 = work[j], work[j + ONE]
        if wide == ZERO:
            end = following >> ONE
            at -= begin
            for p in range(begin, end):
                i, l = rows[p] << ONE, values[at + p]
                work[i] -= l * x0
                work[i + ONE] -= l * y0
            at += end
            work[j], work[j + ONE] = x0 / d[k], y0 / d[k]
            k += ONE
            continue
        l10, l20, l21 = values[at], values[at + ONE], values[at + TWO]
        l30, l31, l32 = values[at + THREE], values[at + FOUR], values[at + FIVE]
        x1, y1 = work[j + TWO] - l10 * x0, work[j + THREE] - l10 * y0
        x2, y2 = work[j + FOUR] - (l20 * x0 + l21 * x1), work[j + FIVE] - (l20 * y0 + l21 * y1)
        x3 = work[j + SIX] - ((l30 * x0 + l31 * x1) + l32 * x2)
        y3 = work[j + SEVEN] - ((l30 * y0 + l31 * y1) + l32 * y2)
        at += SIX
        for p in range(begin, following >> ONE):
            i, l0, l1, l2, l3 = rows[p] << ONE, values[at], values[at + ONE], values[at + TWO], values[at + THREE]
            x = work[i] - ((l0 * x0 + l1 * x1) + (l2 * x2 + l3 * x3))
            y = work[i + ONE] - ((l0 * y0 + l1 * y1) + (l2 * y2 + l3 * y3))
            work[i], work[i + ONE] = x, y
            at += FOUR
        d0, d1, d2, d3 = d[k], d[k + ONE], d[k + TWO], d[k + THREE]
        work[j], work[j + ONE], work[j + TWO], work[j + THREE] = x0 / d0, y0 / d0, x1 / d1, y1 / d1
        work[j + FOUR], work[j + FIVE], work[j + SIX], work[j + SEVEN] = x2 / d2, y2 / d2, x3 / d3, y3 / d3
        k += FOUR


@inner
def solve_upper_two(ldl: FourWideFactors) -> None:
    """`solve_upper` for two vectors, entry beside entry."""
    start, j, end = ldl.start.view(np.uint64), np.uint64(2 * ldl.n), np.uint64(ldl.rows.size)
    rows, values, work, last = ldl.rows.view(np.uint64), ldl.values, ldl.work, np.uint64(ldl.values.size)
    for s in range(np.uint64(ldl.supernodes)):
        code = start[np.uint64(ldl.supernodes) - ONE - s]
        begin, x0, y0 = code >> ONE, 0.0, 0.0
        if code & ONE == ZERO:
            j -= TWO
            last -= end
            for p in range(begin, end):
                i, l = rows[p] << ONE, values[last + p]
                x0, y0 = x0 + l * work[i], y0 + l * work[i + ONE]
            last += begin
            work[j] -= x0
            work[j + ONE] -= y0
            end = begin
            continue
        j -= EIGHT
        last -= ((end - begin) << TWO) + SIX
        x1, x2, x3, y1, y2, y3, at = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, last + SIX
        for p in range(begin, end):
            i, l0, l1, l2, l3 = rows[p] << ONE, values[at], values[at + ONE], values[at + TWO], values[at + THREE]
            x, y = work[i], work[i + ONE]
            x0, y0, x1, y1 = x0 + l0 * x, y0 + l0 * y, x1 + l1 * x, y1 + l1 * y
            x2, y2, x3, y3 = x2 + l2 * x, y2 + l2 * y, x3 + l3 * x, y3 + l3 * y
            at += FOUR
        l10, l20, l21 = values[last], values[last + ONE], values[last + TWO]
        l30, l31, l32 = values[last + THREE], values[last + FOUR], values[last + FIVE]
        x3, y3 = work[j + SIX] - x3, work[j + SEVEN] - y3
        x2, y2 = work[j + FOUR] - (x2 + l32 * x3), work[j + FIVE] - (y2 + l32 * y3)
        x1, y1 = work[j + TWO] - (x1 + l31 * x3 + l21 * x2), work[j + THREE] - (y1 + l31 * y3 + l21 * y2)
        work[j] -= x0 + l30 * x3 + l20 * x2 + l10 * x1
        work[j + ONE] -= y0 + l30 * y3 + l20 * y2 + l10 * y1
        work[j + TWO], work[j + THREE], work[j + FOUR], work[j + FIVE] = x1, y1, x2, y2
        work[j + SIX], work[j + SEVEN] = x3, y3
        end = begin
