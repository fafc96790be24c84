"""Solves with an LDL' by supernodes: four entries of a row in one pass over the right-hand side."""

from __future__ import annotations

from ....compiled.kernels import inner
from ....compiled.signatures import Floats
from .four_wide import FourWideFactors

SIDE_BY_SIDE = True  # LLVM may make vector instructions of equal adjacent operations (see `compiled.machine`).


@inner
def four_wide_solve(ldl: FourWideFactors, count: int, rhs: Floats, out: Floats) -> None:
    """out := P' (L' \\ (D \\ (L \\ (P rhs)))) for one or two right-hand sides; `work` is zero afterwards."""
    n, work, perm, order = ldl.n, ldl.work, ldl.perm, ldl.n
    if count == 1:
        for k in range(n):
            work[k] = rhs[perm[k]]
        solve_lower(ldl)
        solve_upper(ldl)
        for k in range(n):
            out[perm[k]] = work[k]
            work[k] = 0.0
        return
    for k in range(n):
        work[2 * k], work[2 * k + 1] = rhs[perm[k]], rhs[order + perm[k]]
    solve_lower_two(ldl)
    solve_upper_two(ldl)
    for k in range(n):
        out[perm[k]], out[order + perm[k]] = work[2 * k], work[2 * k + 1]
        work[2 * k] = work[2 * k + 1] = 0.0


@inner
def solve_lower(ldl: FourWideFactors) -> None:
    """work := D \\ (L \\ work)."""
    start, j, at = ldl.start, 0, 0
    rows, values, work, d = ldl.rows, ldl.values, ldl.work, ldl.d
    following = start[0]
    for s in range(ldl.supernodes):
        begin, wide = following >> 1, following & 1
        following = start[s + 1]
        x0 = work[j]
        if wide == 0:
            end = following >> 1
            at -= begin
            for p in range(begin, end):
                work[rows[p]] -= values[at + p] * x0
            at += end
            work[j] = x0 / d[j]  # No later operation waits for this division.
            j += 1
            continue
        x1 = work[j + 1] - values[at] * x0
        x2 = work[j + 2] - (values[at + 1] * x0 + values[at + 2] * x1)
        x3 = work[j + 3] - ((values[at + 3] * x0 + values[at + 4] * x1) + values[at + 5] * x2)
        at += 6
        for p in range(begin, following >> 1):
            l0, l1, l2, l3 = values[at], values[at + 1], values[at + 2], values[at + 3]
            work[rows[p]] -= (l0 * x0 + l1 * x1) + (l2 * x2 + l3 * x3)
            at += 4
        work[j], work[j + 1] = x0 / d[j], x1 / d[j + 1]
        work[j + 2], work[j + 3] = x2 / d[j + 2], x3 / d[j + 3]
        j += 4


@inner
def solve_upper(ldl: FourWideFactors) -> None:
    """work := L' \\ work."""
    start, j, end = ldl.start, ldl.n, ldl.rows.size
    rows, values, work, last = ldl.rows, ldl.values, ldl.work, ldl.values.size
    for s in range(ldl.supernodes):
        code = start[ldl.supernodes - 1 - s]
        begin, x0 = code >> 1, 0.0
        if code & 1 == 0:
            j -= 1
            last -= end
            x0 = work[j]
            for p in range(begin, end):
                x0 -= values[last + p] * work[rows[p]]
            last += begin
            work[j] = x0
            end = begin
            continue
        j -= 4
        last -= ((end - begin) << 2) + 6
        x1, x2, x3, at = 0.0, 0.0, 0.0, last + 6
        for p in range(begin, end):
            x = work[rows[p]]
            x0, x1 = x0 + values[at] * x, x1 + values[at + 1] * x
            x2, x3 = x2 + values[at + 2] * x, x3 + values[at + 3] * x
            at += 4
        l10, l20, l21 = values[last], values[last + 1], values[last + 2]
        l30, l31, l32 = values[last + 3], values[last + 4], values[last + 5]
        x3 = work[j + 3] - x3
        x2 = work[j + 2] - (x2 + l32 * x3)
        x1 = work[j + 1] - (x1 + l31 * x3 + l21 * x2)
        work[j] -= x0 + l30 * x3 + l20 * x2 + l10 * x1
        work[j + 1], work[j + 2], work[j + 3] = x1, x2, x3
        end = begin


@inner
def solve_lower_two(ldl: FourWideFactors) -> None:
    """work := D \\ (L \\ work) for two vectors with interleaved entries."""
    start, k, at = ldl.start, 0, 0
    rows, values, work, d = ldl.rows, ldl.values, ldl.work, ldl.d
    following = start[0]
    for s in range(ldl.supernodes):
        begin, wide, j = following >> 1, following & 1, k << 1
        following = start[s + 1]
        x0, y0 = work[j], work[j + 1]
        if wide == 0:
            end = following >> 1
            at -= begin
            for p in range(begin, end):
                i, l = rows[p] << 1, values[at + p]
                work[i] -= l * x0
                work[i + 1] -= l * y0
            at += end
            work[j], work[j + 1] = x0 / d[k], y0 / d[k]
            k += 1
            continue
        l10, l20, l21 = values[at], values[at + 1], values[at + 2]
        l30, l31, l32 = values[at + 3], values[at + 4], values[at + 5]
        x1, y1 = work[j + 2] - l10 * x0, work[j + 3] - l10 * y0
        x2, y2 = work[j + 4] - (l20 * x0 + l21 * x1), work[j + 5] - (l20 * y0 + l21 * y1)
        x3 = work[j + 6] - ((l30 * x0 + l31 * x1) + l32 * x2)
        y3 = work[j + 7] - ((l30 * y0 + l31 * y1) + l32 * y2)
        at += 6
        for p in range(begin, following >> 1):
            i, l0, l1, l2, l3 = rows[p] << 1, values[at], values[at + 1], values[at + 2], values[at + 3]
            x = work[i] - ((l0 * x0 + l1 * x1) + (l2 * x2 + l3 * x3))
            y = work[i + 1] - ((l0 * y0 + l1 * y1) + (l2 * y2 + l3 * y3))
            work[i], work[i + 1] = x, y
            at += 4
        d0, d1, d2, d3 = d[k], d[k + 1], d[k + 2], d[k + 3]
        work[j], work[j + 1], work[j + 2], work[j + 3] = x0 / d0, y0 / d0, x1 / d1, y1 / d1
        work[j + 4], work[j + 5], work[j + 6], work[j + 7] = x2 / d2, y2 / d2, x3 / d3, y3 / d3
        k += 4


@inner
def solve_upper_two(ldl: FourWideFactors) -> None:
    """work := L' \\ work for two vectors with interleaved entries."""
    start, j, end = ldl.start, 2 * ldl.n, ldl.rows.size
    rows, values, work, last = ldl.rows, ldl.values, ldl.work, ldl.values.size
    for s in range(ldl.supernodes):
        code = start[ldl.supernodes - 1 - s]
        begin, x0, y0 = code >> 1, 0.0, 0.0
        if code & 1 == 0:
            j -= 2
            last -= end
            x0, y0 = work[j], work[j + 1]
            for p in range(begin, end):
                i, l = rows[p] << 1, values[last + p]
                x0, y0 = x0 - l * work[i], y0 - l * work[i + 1]
            last += begin
            work[j], work[j + 1] = x0, y0
            end = begin
            continue
        j -= 8
        last -= ((end - begin) << 2) + 6
        x1, x2, x3, y1, y2, y3, at = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, last + 6
        for p in range(begin, end):
            i, l0, l1, l2, l3 = rows[p] << 1, values[at], values[at + 1], values[at + 2], values[at + 3]
            x, y = work[i], work[i + 1]
            x0, y0, x1, y1 = x0 + l0 * x, y0 + l0 * y, x1 + l1 * x, y1 + l1 * y
            x2, y2, x3, y3 = x2 + l2 * x, y2 + l2 * y, x3 + l3 * x, y3 + l3 * y
            at += 4
        l10, l20, l21 = values[last], values[last + 1], values[last + 2]
        l30, l31, l32 = values[last + 3], values[last + 4], values[last + 5]
        x3, y3 = work[j + 6] - x3, work[j + 7] - y3
        x2, y2 = work[j + 4] - (x2 + l32 * x3), work[j + 5] - (y2 + l32 * y3)
        x1, y1 = work[j + 2] - (x1 + l31 * x3 + l21 * x2), work[j + 3] - (y1 + l31 * y3 + l21 * y2)
        work[j] -= x0 + l30 * x3 + l20 * x2 + l10 * x1
        work[j + 1] -= y0 + l30 * y3 + l20 * y2 + l10 * y1
        work[j + 2], work[j + 3], work[j + 4], work[j + 5] = x1, y1, x2, y2
        work[j + 6], work[j + 7] = x3, y3
        end = begin
