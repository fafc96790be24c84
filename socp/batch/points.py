"""Points of programs in lanes of vector registers: gradients and objectives there in twice the precision."""

from __future__ import annotations

import numpy as np

from ..compiled.kernels import inner, kernel
from ..compiled.structures import Structure, dimension, floats, integer, integers, matrix, number, structure
from ..compiled.vec import (
    LANES,
    absolute,
    lane_arrays,
    largest,
    load,
    plain_product,
    plain_sum,
    select,
    splat,
    store,
    sum_error,
)
from ..problem.settings import Settings
from ..problem.stopping import RESIDUALS
from .accurate import (
    add_product,
    add_transposed_accurately_own,
    add_transposed_accurately_shared,
    multiply_accurately_own,
    multiply_accurately_shared,
)
from .driver import FAILED, OPTIMAL, Batch, gather
from .spans import Spans

ROWS, CONE, DUAL, GAP, ROWS_SCALE, CONE_SCALE, DUAL_SCALE, GAP_SCALE, PRIMAL, BELOW = range(RESIDUALS)


class Points(Structure):
    """Programs and points of these, one in each lane, on the caller's data.

    P and A are shared, or empty where each lane has `P_own` and `A_own`; the sides and multipliers of the variables are
    behind those of the rows.  A row that is a `bound` is judged by its own size.  `s` are slacks, of cone programs.
    `found` becomes the residuals, a row for each field of `Residuals`.
    """

    m, n = dimension(), dimension()
    shared = integer()
    bound = integers()
    P, A = floats(), floats()
    P_own, A_own, q, l, u, x, y = matrix(), matrix(), matrix(), matrix(), matrix(), matrix(), matrix()
    s = matrix()
    Px, Px_low, dual, dual_low, v, v_low = matrix(), matrix(), matrix(), matrix(), matrix(), matrix()
    found = matrix()
    tol, tol_abs = number(), number()
    spans = structure(Spans)


def points_for(batch: Batch, bound: np.ndarray, spans: Spans, settings: Settings) -> Points:
    """Room for the points of a batch."""
    m, n = batch.m, batch.n
    shared = batch.P.shape[0] == 1 == batch.A.shape[0]
    own, one = (0, 1) if shared else (1, 0)
    rows = {
        "q": n, "l": m + n, "u": m + n, "x": n, "y": m + n, "s": batch.s.shape[1], "P_own": own * n * n,
        "A_own": own * m * n, "Px": n, "Px_low": n, "dual": n, "dual_low": n, "v": m + n, "v_low": m + n,
        "found": RESIDUALS,
    }  # fmt: skip
    points = Points(
        m=m, n=n, P=np.empty(one * n * n), A=np.empty(one * m * n), bound=bound.astype(np.int64), spans=spans,
        **lane_arrays(rows),
    )  # fmt: skip
    points.shared, points.tol = one, settings.tol
    points.tol_abs = np.inf if settings.tol_abs is None else settings.tol_abs
    if shared:
        gather_shared(batch, points)
    return points


@kernel
def gather_shared(batch: Batch, w: Points) -> None:
    """P and A of all programs."""
    gather(batch, w.spans, 0, w.P, w.A)


@inner
def fill_points(batch: Batch, w: Points, first: int, end: int) -> None:
    """The programs from `first` on and their answers, one in each lane; behind the last it is again."""
    m, n, rows, columns = batch.m, batch.n, w.spans.rows, w.spans.columns
    for lane in range(LANES):
        p = min(first + lane, end - 1)
        if not w.shared:
            P, A = batch.P[min(p, batch.P.shape[0] - 1)], batch.A[min(p, batch.A.shape[0] - 1)]
            for i in range(P.size):
                w.P_own[i, lane] = P[i]
            for i in range(A.size):
                w.A_own[i, lane] = A[i]
        q, x, y = batch.q[min(p, batch.q.shape[0] - 1)], batch.x[p], batch.y[p]
        l, u = batch.l[min(p, batch.l.shape[0] - 1)], batch.u[min(p, batch.u.shape[0] - 1)]
        for j in range(n):
            w.q[j, lane], w.x[j, lane] = q[columns[j]], x[columns[j]]
        for i in range(m + n):
            row = rows[i]
            w.l[i, lane], w.u[i, lane], w.y[i, lane] = l[row], u[row], y[row]
        for i in range(w.s.shape[0]):
            w.s[i, lane] = batch.s[p, i]


@inner
def measure_gradient(w: Points) -> None:
    """v := A x; the dual residual P x + q + A'y + z and its size; x'Px + q'x with its error, and the primal objective.

    `PRIMAL` becomes half of x'Px, `GAP` the sum with its error in `Px_low`, for `finish`.
    """
    m, n, spans, Px, Px_low, q, x, y, dual, low = w.m, w.n, w.spans, w.Px, w.Px_low, w.q, w.x, w.y, w.dual, w.dual_low
    if w.shared:
        multiply_accurately_shared(n, n, w.P, spans.begin, spans.end, x, Px, Px_low)
        multiply_accurately_shared(m, n, w.A, spans.row_first, spans.row_end, x, w.v, w.v_low)
    else:
        multiply_accurately_own(n, n, w.P_own, spans.begin, spans.end, x, Px, Px_low)
        multiply_accurately_own(m, n, w.A_own, spans.row_first, spans.row_end, x, w.v, w.v_low)
    for j in range(n):
        p, c, z = load(Px, j), load(q, j), load(y, m + j)
        part = plain_sum(p, c)
        total = plain_sum(part, z)
        store(dual, j, total)
        store(low, j, load(Px_low, j) + (sum_error(p, c, part) + sum_error(part, z, total)))
    if w.shared:
        add_transposed_accurately_shared(m, n, w.A, spans.column_first, spans.column_end, y, dual, low)
    else:
        add_transposed_accurately_own(m, n, w.A_own, spans.column_first, spans.column_end, y, dual, low)
    worst, size, trap = splat(0.0), splat(0.0), splat(0.0)
    total, error, half = splat(0.0), splat(0.0), splat(0.0)
    for j in range(n):
        p, c, v, residual = load(Px, j), load(q, j), load(x, j), load(dual, j) + load(low, j)
        worst = largest(absolute(residual), worst)
        size = largest(absolute(p), largest(absolute(c), size))
        trap += 0.0 * residual + 0.0 * v
        half += 0.5 * plain_product(v, p)
        total, error = add_product(v, p, total, error + v * load(Px_low, j))
        total, error = add_product(v, c, total, error)
    found = w.found
    store(found, DUAL, worst + trap)
    store(found, DUAL_SCALE, 1.0 + size)
    store(found, PRIMAL, half)
    store(found, GAP, total)
    store(Px_low, 0, error)
    store(found, GAP_SCALE, 0.0)
    store(found, BELOW, 0.0)


@inner
def finish(batch: Batch, w: Points, first: int, end: int) -> None:
    """The gap, its scale and the objectives; the numbers of the programs from `first` on, which fail above tol."""
    found, tol, tol_abs = w.found, w.tol, w.tol_abs
    total, error, half = load(found, GAP), load(w.Px_low, 0), load(found, PRIMAL)
    support, support_error = load(found, BELOW), load(found, GAP_SCALE)
    gap = plain_sum(total, support)
    gap_low = sum_error(total, support, gap) + (error + support_error)
    primal, below = (total - half) + error, -(half + support + support_error)
    store(found, GAP, absolute(gap + gap_low))
    store(found, GAP_SCALE, 1.0 + largest(absolute(primal), absolute(below)))
    store(found, PRIMAL, primal)
    store(found, BELOW, below)
    for lane in range(min(LANES, end - first)):
        p, told = first + lane, found[:, lane]
        for i in range(GAP + 1):
            residual, scale = told[i], told[ROWS_SCALE + i]
            if batch.code[p] == OPTIMAL and not (residual <= tol * scale and residual <= tol_abs):
                batch.code[p] = FAILED
        batch.numbers[0, p], batch.numbers[1, p] = told[PRIMAL], told[BELOW]
        batch.numbers[2, p] = max(told[ROWS] / told[ROWS_SCALE], told[CONE] / told[CONE_SCALE])
        batch.numbers[3, p], batch.numbers[4, p] = told[DUAL] / told[DUAL_SCALE], told[GAP] / told[GAP_SCALE]


@inner
def measure_block(w: Points, start: int, stop: int, place: int, scale_place: int) -> None:
    """Violation and scale of the sides of a block of rows, and its part in the support and the stray multipliers."""
    l, u, v, low, y, bound, found = w.l, w.u, w.v, w.v_low, w.y, w.bound, w.found
    size, violation, own, own_relative = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    stray, trap = splat(0.0), splat(0.0)
    support, error = load(found, BELOW), load(found, GAP_SCALE)
    for i in range(start, stop):
        lower, upper, value, small, yi = load(l, i), load(u, i), load(v, i), load(low, i), load(y, i)
        side = select(yi > 0.0, upper, lower)
        finite = absolute(side) < np.inf
        side = select(finite, side, 0.0)
        stray = largest(select(finite, 0.0, absolute(yi)), stray)
        support, error = add_product(side, yi, support, error)
        has = (absolute(lower) < np.inf) | (absolute(upper) < np.inf)
        size = largest(select(has, absolute(value), 0.0), size)
        below, above = (lower - value) - small, (value - upper) + small
        side = absolute(select(below > above, lower, upper))
        outside = largest(largest(below, above), 0.0)
        missed = outside > 0.0
        size = largest(select(missed, side, 0.0), size)
        if bound[i]:
            own = largest(outside, own)
            own_relative = largest(select(missed, outside / (1.0 + side), 0.0), own_relative)
        else:
            violation = largest(outside, violation)
        trap += 0.0 * yi + 0.0 * value
    scale = 1.0 + size
    residual, relative = largest(violation, own), largest(violation / scale, own_relative)
    store(found, place, residual + trap)
    store(found, scale_place, select(relative > 0.0, residual / relative, scale))
    store(found, DUAL, largest(stray, load(found, DUAL)) + trap)
    store(found, BELOW, support)
    store(found, GAP_SCALE, error)
