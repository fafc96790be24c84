"""The residuals of `socp.verify.stopping` for dense cone programs in lanes, in twice the precision.

The matrix of a point is [A; G] and `u` is (b, h), y is (y, z).  With s in K the distance of h - G x from K is at most
|G x + s - h|, so that only slacks and multipliers are tested for being inside.
"""

from __future__ import annotations

import numpy as np

from ..compiled.kernels import inner, kernel
from ..compiled.structures import Structure, integers, matrix
from ..compiled.vec import LANES, Vec, absolute, largest, load, plain_sum, select, splat, store, sum_error
from .accurate import add_product
from .cones import depth
from .driver import Batch
from .points import Points, fill_points, finish, judged, measure_block, measure_gradient


class Slacks(Structure):
    """Where the rows of G are.

    Row i is one of an `orthant`, or of second-order cone k, which has the rows ranges[2 k]:ranges[2 k + 1].  The lanes
    had `singles`, rows of orthants with one entry, as bounds: 2 j in `slots` is the lower one of variable j, 2 j + 1
    the upper one.  Their entries `values` have one row or one for each program.
    """

    orthant, ranges, singles, slots = integers(), integers(), integers(), integers()
    values = matrix()


@kernel
def verify(batch: Batch, w: Points, slacks: Slacks, begin: int, end: int) -> None:
    """Take the answers of programs `begin` to `end` to the caller's rows, and test them."""
    rows = slacks.orthant.size
    p = batch.m - rows
    for i in range(begin, end):  # bounds have multipliers as rows, none of an orthant is below zero
        y, values, bounds = batch.y[i], slacks.values[min(i, slacks.values.shape[0] - 1)], batch.y[i, batch.m :]
        for k in range(rows):
            if slacks.orthant[k] and y[p + k] < 0.0:
                y[p + k] = 0.0
        for k in range(slacks.singles.size):
            z = bounds[slacks.slots[k] // 2] / values[k]
            y[p + slacks.singles[k]] = z if z > 0.0 or z != z else 0.0
        bounds[:] = 0.0
    for first in range(begin, end, LANES):
        fill_points(batch, w, first, end)
        measure_gradient(w)
        w.rows, w.rows_scale = measure_block(w, 0, p)
        w.cone, w.cone_scale = measure_cone_rows(w, p, slacks)
        finish(batch, w, first, end)
        for lane in range(min(LANES, end - first)):
            for i in range(rows):
                batch.s[first + lane, i] = w.s[i, lane]


@inner
def measure_cone_rows(w: Points, p: int, slacks: Slacks) -> tuple[Vec, Vec]:
    """(|G x + s - h|, its scale); bounds by their own size, and NaN where s or z is outside of a second-order cone."""
    orthant, ranges = slacks.orthant, slacks.ranges
    worst, size, own, own_relative, trap = splat(0.0), splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    support, error = w.support, w.support_low
    for i in range(p, w.m):
        value, u, s = load(w.v, i), load(w.u, i), load(w.s, i - p)
        has = absolute(u) < np.inf
        u = select(has, u, 0.0)
        excess = plain_sum(value, -u)
        low = sum_error(value, -u, excess) + load(w.v_low, i)
        if orthant[i - p]:
            s = largest(-(excess + low), 0.0)
            store(w.s, i - p, select(has, s, np.inf))
        total = plain_sum(excess, s)
        low += sum_error(excess, s, total)
        outside = select(has, absolute(total + low), 0.0)
        along = select(has, largest(absolute(value), absolute(u)), 0.0)
        size = largest(along, size)
        if w.bound[i]:
            own = largest(outside, own)
            own_relative = largest(outside / (1.0 + along), own_relative)
        else:
            worst = largest(outside, worst)
        trap += 0.0 * outside + 0.0 * load(w.y, i)
        support, error = add_product(u, load(w.y, i), support, error)
    for k in range(0, ranges.size, 2):
        a, e = ranges[k], ranges[k + 1]
        trap = select((depth(w.s, a, e) >= 0.0) & (depth(w.y, p + a, p + e) >= 0.0), trap, np.nan)
    w.support, w.support_low = support, error
    return judged(worst, size, own, own_relative, trap)
