"""Points of programs in lanes of vector registers: gradients and objectives there in twice the precision.

These are the formulas of `socp.verify.stopping` a second time: there a row takes one branch, here the rows of eight
programs side by side compute all branches and each lane selects its own, which the same words cannot say.
"""

from __future__ import annotations

import numpy as np

from ..compiled.kernels import inner, leaf
from ..compiled.structures import Structure, dimension, floats, integer, integers, matrix, number, structure
from ..compiled.vec import (
    LANES,
    Vec,
    absolute,
    bind_lanes,
    lane_numbers,
    largest,
    load,
    plain_sum,
    select,
    splat,
    store,
    sum_error,
)
from ..problem.settings import Settings
from .accurate import (
    add_product,
    add_transposed_accurately_own,
    add_transposed_accurately_shared,
    multiply_accurately_own,
    multiply_accurately_shared,
)
from .driver import FAILED, OPTIMAL, Batch, gather
from .spans import Spans


class Points(Structure):
    """Programs and points of these, one in each lane, on the caller's data.

    P and A are shared, or empty where each lane has `P_own` and `A_own`; the sides and multipliers of the variables are
    behind those of the rows.  A row that is a `bound` is judged by its own size.  `s` are slacks, of cone programs.
    The residuals of the stopping test and their scales are fields of their own; `half` is x'Px / 2, `product` is
    x'Px + q'x and `support` u'y+ - l'y-, each with its error.
    """

    m, n = dimension(), dimension()
    shared = integer()
    bound = integers()
    P, A = floats(), floats()
    P_own, A_own, q, l, u, x, y = matrix(), matrix(), matrix(), matrix(), matrix(), matrix(), matrix()
    s = matrix()
    Px, Px_low, gradient, gradient_low, v, v_low = matrix(), matrix(), matrix(), matrix(), matrix(), matrix()
    rows, rows_scale, cone, cone_scale, dual, dual_scale = (lane_numbers() for _ in range(6))
    half, half_low, product, product_low, support, support_low = (lane_numbers() for _ in range(6))
    tol, tol_abs = number(), number()
    spans = structure(Spans)


def points_for(batch: Batch, bound: np.ndarray, spans: Spans, settings: Settings) -> Points:
    """Room for the points of a batch."""
    m, n = batch.m, batch.n
    shared = batch.P.shape[0] == 1 == batch.A.shape[0]
    own, one = (0, 1) if shared else (1, 0)
    rows = {
        "q": n, "l": m + n, "u": m + n, "x": n, "y": m + n, "s": batch.s.shape[1], "P_own": own * n * n,
        "A_own": own * m * n, "Px": n, "Px_low": n, "gradient": n, "gradient_low": n, "v": m + n,
        "v_low": m + n,
    }  # fmt: skip
    points = Points(
        m=m, n=n, P=np.empty(one * n * n), A=np.empty(one * m * n), bound=bound.astype(np.int64), spans=spans,
    )  # fmt: skip
    bind_lanes(points, rows)
    points.shared, points.tol = one, settings.tol
    points.tol_abs = np.inf if settings.tol_abs is None else settings.tol_abs
    if shared:
        gather(batch, spans, 0, points.P, points.A)
    return points


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
    """v := A x; the dual residual P x + q + A'y + z and its size; x'Px / 2, and x'Px + q'x with its error."""
    m, n, spans, Px, Px_low, q, x, y = w.m, w.n, w.spans, w.Px, w.Px_low, w.q, w.x, w.y
    dual, low = w.gradient, w.gradient_low
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
    total, error, half, half_low = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    for j in range(n):
        p, c, v, residual = load(Px, j), load(q, j), load(x, j), load(dual, j) + load(low, j)
        worst = largest(absolute(residual), worst)
        size = largest(absolute(p), largest(absolute(c), size))
        trap += 0.0 * residual + 0.0 * v
        half, half_low = add_product(0.5 * v, p, half, half_low + 0.5 * v * load(Px_low, j))
        total, error = add_product(v, p, total, error + v * load(Px_low, j))
        total, error = add_product(v, c, total, error)
    w.dual, w.dual_scale, w.half, w.half_low = worst + trap, 1.0 + size, half, half_low
    w.product, w.product_low, w.support, w.support_low = total, error, splat(0.0), splat(0.0)


@inner
def finish(batch: Batch, w: Points, first: int, end: int) -> None:
    """The gap and the objectives; the numbers of the programs from `first` on, which fail above tol."""
    tol, tol_abs, half, support, low = w.tol, w.tol_abs, w.half, w.support, w.support_low
    gap = plain_sum(w.product, support)
    gap = absolute(gap + (sum_error(w.product, support, gap) + (w.product_low + low)))
    objective, below = plain_sum(w.product, -half), plain_sum(half, support)
    objective += sum_error(w.product, -half, objective) + (w.product_low - w.half_low)
    below = -(below + (sum_error(half, support, below) + (w.half_low + low)))
    gap_scale = 1.0 + largest(absolute(objective), absolute(below))
    primal = largest(w.rows / w.rows_scale, w.cone / w.cone_scale)
    dual, relative_gap = w.dual / w.dual_scale, gap / gap_scale
    passed = (w.rows <= tol * w.rows_scale) & (w.cone <= tol * w.cone_scale) & (w.dual <= tol * w.dual_scale)
    passed = passed & (gap <= tol * gap_scale) & (largest(largest(w.rows, w.cone), largest(w.dual, gap)) <= tol_abs)
    failed = select(passed, 0.0, 1.0)
    for lane in range(min(LANES, end - first)):
        p = first + lane
        if failed[lane] > 0.0 and batch.code[p] == OPTIMAL:
            batch.code[p] = FAILED
        batch.numbers[0, p], batch.numbers[1, p], batch.numbers[2, p] = objective[lane], below[lane], primal[lane]
        batch.numbers[3, p], batch.numbers[4, p] = dual[lane], relative_gap[lane]


@inner
def measure_block(w: Points, start: int, stop: int) -> tuple[Vec, Vec]:
    """(the violation of the sides of a block of rows, its scale); adds to the support and the stray multipliers."""
    l, u, v, low, y, bound = w.l, w.u, w.v, w.v_low, w.y, w.bound
    size, violation, own, own_relative = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    stray, trap = splat(0.0), splat(0.0)
    support, error = w.support, w.support_low
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
    w.dual, w.support, w.support_low = largest(stray, w.dual) + trap, support, error
    return judged(violation, size, own, own_relative, trap)


@leaf
def judged(violation: Vec, size: Vec, own: Vec, own_relative: Vec, trap: Vec) -> tuple[Vec, Vec]:
    """The residual and the scale of rows beside bounds, which count relative to their own size."""
    scale = 1.0 + size
    residual, relative = largest(violation, own), largest(violation / scale, own_relative)
    return residual + trap, select(relative > 0.0, residual / relative, scale)
