"""When a point is a solution, and when it is a certificate: tests on the caller's own data.

Everything is relative, in infinity norms and the caller's units, each block by its own size:

    rows     |Ax - b|                                          <= tol (1 + max(|b|, |Ax|))
    cone     |Gx + s - h|, distance of s and of h - Gx from K  <= tol (1 + max(|h|, |Gx|))
    bounds   the same of a row of the orthant with one entry   <= tol (1 + max(|h_i|, |(Gx)_i|))
    dual     |Px + c + A'y + G'z|, distance of z from K        <= tol (1 + max(|Px|, |c|))
    gap      |primal objective - dual objective|               <= tol (1 + max(|primal|, |dual|))

All is measured in twice the working precision and told as it was measured.  A point in working precision may leave
residuals that no other point near it is without: where the test holds at `INACCURATE_TOL`, entries may be excused that
are no larger than `LOST` times the sum of the sizes of their terms (see `method.run`, which then says so).

A certificate is judged twice.  Scaled to b'y + h'z = -1, the ray (y, z) has the slope r = A'y + G'z: any
feasible x has r'x <= -1, hence ||x||_1 >= 1 / |r|; |r| <= tol says that no x of reasonable size is
feasible.  And |r| <= tol (|A| |y| + |G| |z|), in largest entries, says that it is a zero of the data's own size: the
ray is exact for a program within a relative tol of the given one.  Likewise for x, scaled to c'x = -1, where Px, Ax
and Gx are each a zero of the size of their own data.  A b'y + h'z or c'x that is not some digits beyond what its terms
lose to rounding is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import inner, kernel, leaf
from ..compiled.signatures import Bools, Floats, Ints
from ..linalg.accurate import add_both, hessian_product, product_error, rounded, sum_error
from ..linalg.csc import multiply_symmetric
from ..linalg.vectors import norm_tail
from .lowrank import LowRank
from .program import ConeProgram

INACCURATE_TOL = 1e-5  # what "inaccurate" stands for
LOST = 64.0 * np.finfo(np.float64).eps  # of a sum of products, relative to the sum of their sizes
LEAST_SLOPE = 1e-12  # of a certificate, relative to the sum of the sizes of its terms: its digits beyond rounding


class Residuals(NamedTuple):
    """Absolute residuals of a point, the scales that the stopping test divides them by, and the objectives.

    `rows` are those of A, `cone` those of G; of a quadratic program its bounds.  The objectives are without the
    program's offset.
    """

    rows: float
    cone: float
    dual: float
    gap: float
    rows_scale: float
    cone_scale: float
    dual_scale: float
    gap_scale: float
    primal_objective: float = np.nan
    dual_objective: float = np.nan

    @property
    def relative(self) -> tuple[float, float, float]:
        """The primal residual, the dual residual and the gap, each relative to its scale."""
        rows, cone = self.rows / self.rows_scale, self.cone / self.cone_scale
        primal = max(rows, cone) if rows == rows and cone == cone else math.nan
        return primal, self.dual / self.dual_scale, self.gap / self.gap_scale

    @property
    def worst(self) -> float:
        """The largest relative residual: the smallest tol at which the test holds (inf for NaN)."""
        primal, dual, gap = self.relative
        return max(primal, dual, gap) if primal == primal and dual == dual and gap == gap else np.inf

    def meets(self, tol: float, tol_abs: float | None = None) -> bool:
        """Whether the stopping test holds."""
        rows, cone, dual, gap, rows_scale, cone_scale, dual_scale, gap_scale, _, _ = self
        if not (rows <= tol * rows_scale and cone <= tol * cone_scale):
            return False
        if not (dual <= tol * dual_scale and gap <= tol * gap_scale):
            return False
        return tol_abs is None or (rows <= tol_abs and cone <= tol_abs and dual <= tol_abs and gap <= tol_abs)


NEWTON_STEPS = 60  # far more than it takes
NEAR = 1e-7  # the share of a cone's vector up to which the first of these is all
SQUARES_FROM = 1e-120  # sizes of which squares, and their errors, can be had
RESIDUALS = len(Residuals._fields)
NOTHING = np.zeros(0)  # is lost to rounding


@leaf
def beyond(value: float, lost: Floats, i: int) -> float:
    """|value|, or 0 where it is no more than lost[i]; an empty `lost` is zero."""
    return 0.0 if lost.size > 0 and abs(value) <= lost[i] else abs(value)


def cone_violation(program: ConeProgram, v: np.ndarray) -> float:
    """The distance of v from K in the infinity norm."""
    found = np.zeros(2)
    distance_from_cones(*program.cone_layout, v, NOTHING, NOTHING, NOTHING, found)
    return float(found[0])


@kernel
def distance_from_cones(
    start: Ints, second_order: Bools, v: Floats, low: Floats, lost: Floats, scale: Floats, found: Floats
) -> None:  # fmt: skip
    """Raise found[0] and found[1] by the distance of v from the product of the cones, absolute and relative to `scale`.

    Cone k has the entries v[start[k]:start[k + 1]]; the norm is that of infinity.  Entries of the orthant, and cones as
    a whole, are within the cone when they are within what is `lost` of them.  `low` are the errors of v, or empty; an
    empty scale is 1.
    """
    for k in range(second_order.size):
        if second_order[k]:
            if start[k + 1] > start[k]:
                distance, allowed = cone_distance(v, low, start[k], start[k + 1]), 0.0
                for i in range(start[k], min(start[k + 1], lost.size)):
                    allowed = max(allowed, lost[i])
                if distance > allowed:
                    raise_to(distance, start[k], scale, found)
        else:
            for i in range(start[k], start[k + 1]):
                if v[i] < 0.0 and beyond(v[i], lost, i) > 0.0:
                    raise_to(-v[i], i, scale, found)


@leaf
def raise_to(residual: float, i: int, scale: Floats, found: Floats) -> None:
    """Raise found[0] to the residual of entry i, and found[1] to what it is beside its scale."""
    found[0] = max(found[0], residual)
    found[1] = max(found[1], residual / scale[i] if scale.size > 0 else residual)


@inner
def cone_distance(v: Floats, low: Floats, start: int, stop: int) -> float:
    """The smallest d >= 0 for which (v_0 + d, max(|v_1| - d, 0)) is in the cone; 0 inside.

    It is the root of  f(d) = ||max(|v_1| - d, 0)|| - v_0 - d,  which is convex and falls: Newton's method from 0 comes
    to it from the left.  Its first step is all where d is small, and f(0) is then known in twice the precision; `low`
    are the errors of v, or empty.
    """
    tail, d, excess = norm_tail(v, start, stop), 0.0, excess_of_tail(v, low, start, stop)
    if excess <= 0.0:
        return 0.0
    if not excess < np.inf:
        return np.inf
    for _ in range(NEWTON_STEPS):
        total, slope = 0.0, 0.0
        for i in range(start + 1, stop):
            left = max(abs(v[i]) - d, 0.0)
            total += left * left
            slope += left
        size = math.sqrt(total)
        step = (excess if d == 0.0 else size - v[start] - d) / (1.0 + (slope / size if size > 0.0 else 0.0))
        if not d + step > d:
            break
        d += step
        if d <= NEAR * tail:
            break
    return d


@inner
def excess_of_tail(v: Floats, low: Floats, start: int, stop: int) -> float:
    """||v_1|| - v_0 as (||v_1||^2 - v_0^2) / (||v_1|| + v_0), the squares summed in twice the precision."""
    tail = norm_tail(v, start, stop)
    if not (v[start] > 0.0 and SQUARES_FROM < tail + v[start] < 1.0 / SQUARES_FROM):
        return tail - v[start]
    total, error = 0.0, 0.0
    for i in range(start, stop):
        other = -v[i] if i == start else v[i]
        term = other * v[i]
        error += product_error(other, v[i], term) + sum_error(total, term, total + term)
        if low.size > 0:
            error += 2.0 * other * low[i]
        total += term
    return rounded(total, error) / (tail + v[start])


def residuals(
    program: ConeProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, rounding: bool = False
) -> Residuals:
    """The residuals of a point on the program's own data; with `rounding` without what rounding excuses."""
    return evaluate(program, x, y, z, s, rounding)[0]


def evaluate(
    program: ConeProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, rounding: bool = False
) -> tuple[Residuals, np.ndarray]:
    """`residuals`, and the vector (Px + c + A'y + G'z, Ax - b, Gx + s - h); rows with infinite h are 0."""
    A, G, n, p, m = program.A, program.G, program.c.size, program.b.size, program.h.size
    found, work = np.zeros(RESIDUALS), np.empty(2 * (n + p + m) + 3 * m + 4)
    lost, lost_gap = _lost(program, x, y, z, s) if rounding else (NOTHING, 0.0)
    measure(
        A.indptr, A.indices, A.data, G.indptr, G.indices, G.data, *program.cone_layout, hessian_product(program.P, x),
        program.c, program.b, program.h, x, y, z, s, lost, work, found,
    )  # fmt: skip
    measured = Residuals._make(found.tolist())
    return measured._replace(gap=0.0) if measured.gap <= lost_gap else measured, work[: n + p + m]


def _lost(program: ConeProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float]:
    """What rounding may take of each entry of (Px + c + A'y + G'z, Ax - b, Gx + s - h), and of the gap."""
    A, G, size_x = abs(program.A), abs(program.G), np.abs(x)
    Px, h = product_sizes(program.P, x), np.where(np.isfinite(program.h), np.abs(program.h), 0.0)
    parts = [
        Px + np.abs(program.c) + A.T @ np.abs(y) + G.T @ np.abs(z),
        A @ size_x + np.abs(program.b),
        G @ size_x + np.where(np.isfinite(s), np.abs(s), 0.0) + h,
    ]
    gap = size_x @ (Px + np.abs(program.c)) + np.abs(program.b) @ np.abs(y) + h @ np.abs(z)
    return LOST * np.concatenate(parts), LOST * float(gap)


@kernel
def measure(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, G_indptr: Ints, G_indices: Ints, G_data: Floats,
    start: Ints, second_order: Bools, Px: Floats, c: Floats, b: Floats, h: Floats,
    x: Floats, y: Floats, z: Floats, s: Floats, lost: Floats, work: Floats, found: Floats,
) -> None:  # fmt: skip
    """found := the fields of `Residuals`, of which those with an entry that is not finite are NaN or inf.

    Px is (P x, its errors); `lost` is what may be lost of each entry, or empty.  The head of `work` becomes the
    residuals (dual, rows, cone); the rest has room for their errors, for h - Gx and scales of rows of G.
    """
    n, p, m = c.size, b.size, h.size
    size = n + p + m
    dual, rows, cone, low, at = work[:n], work[n : n + p], work[n + p : size], work[size : 2 * size], 2 * size
    inside, entries, scale = work[at : at + m], work[at + m : at + 2 * m], work[at + 2 * m : at + 3 * m]
    worst_cone, outside = work[at + 3 * m : at + 3 * m + 2], work[at + 3 * m + 2 :]
    worst_cone[:], outside[:] = 0.0, 0.0
    low_rows, low_cone = low[n : n + p], low[n + p :]
    begin_dual(Px, c, dual, low)
    for i in range(p):
        rows[i], low_rows[i] = -b[i], 0.0
    for i in range(m):
        cone[i], low_cone[i], entries[i] = -h[i] if math.isfinite(h[i]) else 0.0, 0.0, 0.0
    add_both(A_indptr, A_indices, A_data, x, y, rows, low_rows, dual, low)
    add_both(G_indptr, G_indices, G_data, x, z, cone, low_cone, dual, low)
    count_entries(G_indices, G_data, entries)
    finish_dual(Px, c, x, dual, low, lost, found)
    gv, gv_low, trap = 0.0, 0.0, 0.0
    worst, rows_size, cone_size = 0.0, 0.0, 0.0
    for i in range(p):
        residual, term = rounded(rows[i], low_rows[i]), b[i] * y[i]
        rows[i], worst = residual, max(worst, beyond(residual, lost, n + i))
        rows_size = max(rows_size, abs(residual + b[i]), abs(b[i]))
        trap += 0.0 * residual
        gv_low += product_error(b[i], y[i], term) + sum_error(gv, term, gv + term)
        gv += term
    found[0], found[4] = worst + trap, 1.0 + rows_size
    trap, stray, stray_trap = 0.0, 0.0, 0.0
    for i in range(m):
        if math.isfinite(h[i]):
            excess, term, total = rounded(cone[i], low_cone[i]), h[i] * z[i], cone[i] + s[i]
            excess_low = (cone[i] - excess) + low_cone[i]
            cone[i], inside[i] = rounded(total, low_cone[i] + sum_error(cone[i], s[i], total)), -excess
            low_cone[i] = -excess_low if math.isfinite(excess_low) else 0.0
            own = max(abs(excess + h[i]), abs(h[i]))
            cone_size, scale[i] = max(cone_size, own), 1.0 + own
            trap += 0.0 * cone[i]
            gv_low += product_error(h[i], z[i], term) + sum_error(gv, term, gv + term)
            gv += term
        else:
            stray = max(stray, abs(z[i]))
            stray_trap += 0.0 * z[i]
            cone[i], inside[i], low_cone[i] = 0.0, np.inf, 0.0
    for k in range(second_order.size):
        for i in range(start[k], start[k + 1]):
            if second_order[k] or entries[i] != 1.0:  # else a bound, which is judged by its own size
                scale[i] = 1.0 + cone_size
    for i in range(m):
        if math.isfinite(h[i]) and beyond(cone[i], lost, n + p + i) > 0.0:
            raise_to(abs(cone[i]), i, scale, worst_cone)
    distance_from_cones(start, second_order, s, lost[:0], lost[:0], scale, worst_cone)
    distance_from_cones(start, second_order, inside, low_cone, lost[min(n + p, lost.size) :], scale, worst_cone)
    found[1], found[5] = worst_cone[0] + trap, scale_of(worst_cone[0], worst_cone[1], 1.0 + cone_size)
    distance_from_cones(start, second_order, z, lost[:0], lost[:0], lost[:0], outside)
    found[2] = max(found[2], stray, outside[0]) + stray_trap
    finish_gap(found, gv, gv_low)


@leaf
def scale_of(residual: float, relative: float, scale: float) -> float:
    """What the largest residual is to be divided by to be the largest relative one; `scale` where there is none."""
    return residual / relative if 0.0 < relative < np.inf else scale


@inner
def begin_dual(Px: Floats, c: Floats, dual: Floats, low: Floats) -> None:
    """(dual, low) := Px + c, for (P x, its errors)."""
    n = c.size
    for j in range(n):
        dual[j] = Px[j] + c[j]
        low[j] = Px[n + j] + sum_error(Px[j], c[j], dual[j])


@inner
def finish_dual(Px: Floats, c: Floats, x: Floats, dual: Floats, low: Floats, lost: Floats, found: Floats) -> None:
    """The dual residual and its scale, and x'Px and c'x with their errors in the places of the gap and its kin.

    `dual` becomes the rounded residual; `lost` is what may be lost of each entry, or empty.
    """
    n, worst, size, trap = c.size, 0.0, 0.0, 0.0  # 0 times a number that is not finite is NaN
    xPx, xPx_low, cx, cx_low = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        dual[j] = rounded(dual[j], low[j])
        worst, size = max(worst, beyond(dual[j], lost, j)), max(size, abs(Px[j]), abs(c[j]))
        trap += 0.0 * dual[j] + 0.0 * x[j]
        term = x[j] * Px[j]
        xPx_low += product_error(x[j], Px[j], term) + sum_error(xPx, term, xPx + term) + x[j] * Px[n + j]
        xPx += term
        term = x[j] * c[j]
        cx_low += product_error(x[j], c[j], term) + sum_error(cx, term, cx + term)
        cx += term
    found[2], found[6] = worst + trap, 1.0 + size
    found[3], found[7], found[8], found[9] = xPx, xPx_low, cx, cx_low


@inner
def finish_gap(found: Floats, gv: float, gv_low: float) -> None:
    """The gap, its scale and the objectives, from what `finish_dual` has left and g'v with its error."""
    xPx, xPx_low, cx, cx_low = found[3], found[7], found[8], found[9]
    total = xPx + cx
    gap = total + gv
    gap_low = sum_error(xPx, cx, total) + sum_error(total, gv, gap) + (xPx_low + cx_low + gv_low)
    half = 0.5 * xPx
    primal, dual = half + cx, half + gv
    found[8] = rounded(primal, sum_error(half, cx, primal) + (0.5 * xPx_low + cx_low))
    found[9] = -rounded(dual, sum_error(half, gv, dual) + (0.5 * xPx_low + gv_low))
    found[3], found[7] = abs(rounded(gap, gap_low)), 1.0 + max(abs(found[8]), abs(found[9]))


def hold_to_bounds(program: ConeProgram, x: np.ndarray, s: np.ndarray) -> float:
    """Move x to the bounds that it misses, rows of the orthant with one entry, and give these their slacks in s.

    Returns the most by which one was missed.
    """
    G = program.G
    entries = np.zeros(program.m)
    return float(move_to_bounds(G.indptr, G.indices, G.data, *program.cone_layout, program.h, x, s, entries))


@kernel
def move_to_bounds(
    indptr: Ints, indices: Ints, data: Floats, start: Ints, second_order: Bools, h: Floats, x: Floats, s: Floats,
    entries: Floats,
) -> float:  # fmt: skip
    """`hold_to_bounds`, for zeros as `entries`."""
    count_entries(indices, data, entries)
    for k in range(second_order.size):
        if second_order[k]:
            for i in range(start[k], start[k + 1]):
                entries[i] = 0.0
    missed = 0.0
    for j in range(x.size):
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            if entries[i] == 1.0 and data[k] != 0.0 and data[k] * x[j] > h[i]:
                missed = max(missed, data[k] * x[j] - h[i])
                x[j] = h[i] / data[k]
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            if entries[i] == 1.0 and data[k] != 0.0:
                s[i] = max(h[i] - data[k] * x[j], 0.0)
    return missed


@inner
def count_entries(indices: Ints, data: Floats, entries: Floats) -> None:
    """entries += the number of entries of each row that are not zero."""
    for k in range(indices.size):
        entries[np.uint64(indices[k])] += 1.0 if data[k] != 0.0 else 0.0


def primal_infeasibility(program: ConeProgram, y: np.ndarray, z: np.ndarray) -> float:
    """The smallest tol at which (y, z), scaled to b'y + h'z = -1, certifies that nothing is feasible."""
    finite = np.isfinite(program.h)
    b, h = np.abs(program.b), np.abs(program.h[finite])
    slope = program.b @ y + program.h[finite] @ z[finite]
    if not slope < -LEAST_SLOPE * (b @ np.abs(y) + h @ np.abs(z[finite])) or norm(z[~finite]) > 0.0:
        return np.inf
    y, z = y / -slope, z / -slope
    r = norm(program.A.T @ y + program.G.T @ z)
    size = largest(program.A) * norm(y) + largest(program.G) * norm(z)
    outside = cone_violation(program, z)
    return max(r, relative(r, size), outside, relative(outside, norm(z)))


def dual_infeasibility(program: ConeProgram, x: np.ndarray) -> float:
    """The smallest tol at which x, scaled to c'x = -1, certifies that the objective falls for ever."""
    slope = program.c @ x
    if not slope < -LEAST_SLOPE * (np.abs(program.c) @ np.abs(x)):
        return np.inf
    x = x / -slope
    outside = cone_violation(program, np.where(np.isfinite(program.h), -(program.G @ x), np.inf))
    zeros = ((program.P, norm(product(program.P, x))), (program.A, norm(program.A @ x)), (program.G, outside))
    return max(max(r, relative(r, largest(matrix) * norm(x))) for matrix, r in zeros)


def primal_certificate(program: ConeProgram, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(y, z) scaled to b'y + h'z = -1, with zeros on rows without entries that add nothing to that."""
    h = np.where(np.isfinite(program.h), program.h, 0.0)
    start, second_order = program.cone_layout
    idle_z = ~has_entries(program.G, 0) & (h * z >= 0.0)
    idle_z[start[:-1][second_order & (np.diff(start) > 0)]] = False  # the first of a cone holds the others
    idle_y = ~has_entries(program.A, 0) & (program.b * y >= 0.0)
    plain = np.where(idle_y, 0.0, y), np.where(idle_z, 0.0, z)
    y, z = no_worse(primal_infeasibility, program, (y, z), plain)
    slope = -(program.b @ y + h @ z)
    return y / slope, z / slope


def dual_certificate(program: ConeProgram, x: np.ndarray) -> np.ndarray:
    """x scaled to c'x = -1, with zeros for variables that are nowhere."""
    used = has_entries(program.A, 1) | has_entries(program.G, 1) | (program.c != 0.0)
    used |= product_sizes(program.P, np.ones(program.n)) > 0.0
    (x,) = no_worse(dual_infeasibility, program, (x,), (np.where(used, x, 0.0),))
    return x / -(program.c @ x)


def has_entries(matrix: sp.csc_array, axis: int) -> np.ndarray:
    """Which rows (axis 0) or columns (1) have an entry that is not zero."""
    where = matrix.indices if axis == 0 else np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    return np.bincount(where, matrix.data != 0.0, minlength=matrix.shape[axis]) > 0.0


def no_worse(
    error_of: Callable[..., float], program: Any, given: tuple[np.ndarray, ...], plain: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, ...]:
    """The plain certificate, or the given one where the plain one is none, or one at far from the same tol."""
    return plain if error_of(program, *plain) <= 2.0 * error_of(program, *given) else given


class Test(Protocol):
    """What judges points and certificates on the caller's own data."""

    def residuals(
        self, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, rounding: bool = False
    ) -> Residuals:
        """The residuals of a point; with `rounding` without what evaluating them may lose."""
        ...

    def primal_infeasibility(self, y: np.ndarray, z: np.ndarray) -> float:
        """The smallest tol at which (y, z) certifies that nothing is feasible."""
        ...

    def dual_infeasibility(self, x: np.ndarray) -> float:
        """The smallest tol at which x certifies that the objective falls for ever."""
        ...


class ConeTest:
    """The `Test` of a cone program: `residuals`, `primal_infeasibility` and `dual_infeasibility` on its data.

    Parameters
    ----------
    program : ConeProgram
    """

    def __init__(self, program: ConeProgram) -> None:
        self.program = program

    def residuals(
        self, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, rounding: bool = False
    ) -> Residuals:
        return residuals(self.program, x, y, z, s, rounding)

    def primal_infeasibility(self, y: np.ndarray, z: np.ndarray) -> float:
        return primal_infeasibility(self.program, y, z)

    def dual_infeasibility(self, x: np.ndarray) -> float:
        return dual_infeasibility(self.program, x)


def product(P, x: np.ndarray) -> np.ndarray:
    """P x for P as a program holds it: zero when it is None."""
    if type(P) is np.ndarray:
        return P.dot(x)
    if P is None:
        return np.zeros(x.size)
    if isinstance(P, sp.csc_array):
        out = np.empty(x.size)
        multiply_symmetric(P.indptr, P.indices, P.data, x, out)
        return out
    return P @ x


def product_sizes(P, x: np.ndarray) -> np.ndarray:
    """|P| |x|, the sizes of the terms of P x."""
    if P is None:
        return np.zeros(x.size)
    if isinstance(P, LowRank):
        F = np.abs(P.F)
        return F @ (F.T @ np.abs(x)) + np.abs(P.d * x)
    return abs(P) @ np.abs(x)


def largest(matrix) -> float:
    """The largest absolute entry of a matrix in any of its forms."""
    if matrix is None:
        return 0.0
    if hasattr(matrix, "data") and not isinstance(matrix, np.ndarray):
        return norm(matrix.data)
    if isinstance(matrix, np.ndarray):
        return norm(matrix)
    return norm(matrix.diagonal())


def relative(value: float, size: float) -> float:
    """value / size, 0 for 0 / 0."""
    return value / size if value > 0.0 else 0.0


def norm(v: np.ndarray) -> float:
    """The infinity norm (0 for an empty vector, NaN when there is one)."""
    return float(np.abs(v).max(initial=0.0))
