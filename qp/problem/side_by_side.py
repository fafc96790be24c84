"""The residuals of `qp.problem.stopping` for dense programs in lanes of vector registers, in twice the precision."""

from __future__ import annotations

import numpy as np

from socp.batch.driver import Batch
from socp.batch.points import (
    BELOW,
    CONE,
    CONE_SCALE,
    DUAL,
    GAP_SCALE,
    ROWS,
    ROWS_SCALE,
    Points,
    fill_points,
    finish_objectives,
    measure_gradient,
    tell,
)
from socp.compiled.kernels import deferred_kernel, inner
from socp.compiled.signatures import Matrix
from socp.compiled.vec import (
    LANES,
    absolute,
    largest,
    load,
    plain_product,
    plain_sum,
    product_error,
    select,
    splat,
    store,
    sum_error,
)


@deferred_kernel
def verify(batch: Batch, w: Points, found: Matrix, begin: int, end: int) -> None:
    """found[p] := the fields of `Residuals` at the answers from `begin` to `end`, on the caller's data."""
    for first in range(begin, end, LANES):
        fill_points(batch, w, first, end)
        measure_side_by_side(w)
        tell(w, found, first, end)


@inner
def measure_side_by_side(w: Points) -> None:
    """`qp.problem.stopping.measure` in every lane."""
    m, n = w.m, w.n
    measure_gradient(w)
    for j in range(n):
        store(w.v, m + j, load(w.x, j))
        store(w.v_low, m + j, 0.0)
    measure_block(w, 0, m, ROWS, ROWS_SCALE)
    measure_block(w, m, m + n, CONE, CONE_SCALE)
    finish_objectives(w)


@inner
def measure_block(w: Points, start: int, stop: int, place: int, scale_place: int) -> None:
    """Violation and scale of the sides of a block of rows, and its part in the support and the stray multipliers."""
    l, u, v, low, y, bound, found = w.l, w.u, w.v, w.v_low, w.y, w.bound, w.found
    size, violation, own, own_relative, stray, trap = (
        splat(0.0),
        splat(0.0),
        splat(0.0),
        splat(0.0),
        splat(0.0),
        splat(0.0),
    )
    support, error = load(found, BELOW), load(found, GAP_SCALE)
    for i in range(start, stop):
        lower, upper, value, small, yi = load(l, i), load(u, i), load(v, i), load(low, i), load(y, i)
        side = select(yi > 0.0, upper, lower)
        finite = absolute(side) < np.inf
        side = select(finite, side, 0.0)
        stray = largest(select(finite, 0.0, absolute(yi)), stray)
        term = plain_product(side, yi)
        raised = plain_sum(support, term)
        error += product_error(side, yi, term) + sum_error(support, term, raised)
        support = raised
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
