"""The stopping test and the certificates of a quadratic program, in its own units, each block by its own size.

    rows     violation of l <= Ax <= u                             <= tol (1 + max(|Ax|, the sides that are violated))
    bounds   violation of lb <= x <= ub, entry by entry            <= tol (1 + |the bound|)
    dual     |Px + q + A'y + z|, and multipliers of infinite sides <= tol (1 + max(|Px|, |q|))
    gap      |primal objective - dual objective|                   <= tol (1 + max(|primal|, |dual|))

with the dual objective -1/2 x'Px - u'y+ + l'y- - ub'z+ + lb'z-.  Rows with one entry are bounds.  Rows and variables
without a finite side have no part in the sizes.  All is measured in twice the precision; see `socp.problem.stopping`
for what rounding excuses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats, Ints
from socp.linalg.accurate import add_both, hessian_product, product_error, sum_error
from socp.problem.stopping import (
    LEAST_SLOPE,
    LOST,
    NOTHING,
    RESIDUALS,
    Residuals,
    begin_dual,
    beyond,
    count_entries,
    finish_dual,
    finish_gap,
    has_entries,
    largest,
    no_worse,
    norm,
    product,
    product_sizes,
    relative,
    scale_of,
)

from .kernel_matrix import KernelMatrix
from .program import QuadraticProgram

if TYPE_CHECKING:
    from ..reduce.cone_form import ConeForm
    from ..reduce.presolve import Presolve

Point = tuple[np.ndarray, np.ndarray, np.ndarray]


class ProgramTest:
    """A `socp.problem.stopping.Test` of points of the cone program, on the quadratic program's own data.

    There a row has one multiplier in place of two, and the fixed variables theirs; a point of the cone program may pass
    its own test and not this one.

    Parameters
    ----------
    program : QuadraticProgram
    presolved : Presolve
        What was left out of it.
    form : ConeForm
        The way from there to the cone program.
    """

    def __init__(self, program: QuadraticProgram, presolved: Presolve, form: ConeForm) -> None:
        self.program, self.presolved, self.form = program, presolved, form
        self.last: tuple[Point, Residuals] | None = None

    def residuals(
        self, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray | None = None, rounding: bool = False
    ) -> Residuals:
        """The residuals of a point of the cone program; with `rounding` without what evaluating them may lose."""
        x, y, z = self.form.lift(self.presolved.program, x, y, z)
        return self.measure(x, y, z, rounding)

    def measure(
        self, x: np.ndarray, y: np.ndarray, z: np.ndarray, rounding: bool = False, Px: np.ndarray | None = None
    ) -> Residuals:
        """The residuals of a point (x, y, z_bounds) of what presolve leaves; Px where it is at hand."""
        if self.presolved.removed is not None:
            y, z = self.presolved.dual(y, z)
        found = residuals(self.program, x, y, z, rounding, Px)
        self.last = (x, y, z), found
        return found

    def primal_infeasibility(self, y: np.ndarray, z: np.ndarray) -> float:
        """The smallest tol at which (y, z) of the cone program certifies infeasibility."""
        return primal_infeasibility(self.program, *self.dual_ray(y, z))

    def dual_infeasibility(self, x: np.ndarray) -> float:
        """The smallest tol at which x of the cone program certifies that the objective falls for ever."""
        return dual_infeasibility(self.program, self.primal_ray(x))

    def point(self, found: Residuals, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Point:
        """The point (x, y, z_bounds) at which `found` was measured: the last one, or lifted again."""
        if self.last is None or self.last[1] is not found:
            x, y, z = self.form.lift(self.presolved.program, x, y, z)
            return x, *self.presolved.dual(y, z)
        return self.last[0]

    def primal_ray(self, x: np.ndarray) -> np.ndarray:
        """The direction of the program that x of the cone program is."""
        return self.form.lift_primal_ray(self.presolved.program, x)

    def dual_ray(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(y, z_bounds) of the program for those of a certificate."""
        return self.presolved.dual(*self.form.lift_dual_ray(self.presolved.program, y, z))


def support(l: np.ndarray, u: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """(u'y+ - l'y- over the finite sides, the largest multiplier of an infinite side)."""
    up, down = np.maximum(y, 0.0), np.maximum(-y, 0.0)
    has_u, has_l = np.isfinite(u), np.isfinite(l)
    value = float(u[has_u] @ up[has_u] - l[has_l] @ down[has_l])
    return value, max(norm(up[~has_u]), norm(down[~has_l]))


def violation(l: np.ndarray, u: np.ndarray, v: np.ndarray) -> float:
    """How far v is outside [l, u]."""
    return float(np.maximum(l - v, v - u).max(initial=0.0))


def residuals(
    program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, rounding: bool = False,
    Px: np.ndarray | None = None,
) -> Residuals:  # fmt: skip
    """The residuals of (x, y, z_bounds) on the program's own data; with `rounding` without what rounding excuses."""
    A, q, l, found = program.A, program.q, program.l, np.empty(RESIDUALS)
    lost, lost_gap = _lost(program, x, y, z) if rounding else (NOTHING, -1.0)
    if isinstance(program.P, KernelMatrix):
        Px = np.concatenate([program.P @ x if Px is None else Px, np.zeros(x.size)])
    else:
        Px = hessian_product(program.P, x)
    measure(
        A.indptr, A.indices, A.data, Px, q, l, program.u, program.lb,
        program.ub, x, y, z, lost, np.empty(3 * l.size + 2 * q.size), found,
    )  # fmt: skip
    measured = Residuals._make(found.tolist())
    return measured._replace(gap=0.0) if measured.gap <= lost_gap else measured


def _lost(program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, float]:
    """What rounding may take of each entry of (Px + q + A'y + z, Ax), and of the gap; bounds are compared exactly."""
    A, size_x, Px = abs(program.A), np.abs(x), product_sizes(program.P, x)
    dual = Px + np.abs(program.q) + A.T @ np.abs(y) + np.abs(z)
    held = support_sizes(program.l, program.u, y) + support_sizes(program.lb, program.ub, z)
    return LOST * np.concatenate([dual, A @ size_x]), LOST * (float(size_x @ (Px + np.abs(program.q))) + held)


def support_sizes(l: np.ndarray, u: np.ndarray, y: np.ndarray) -> float:
    """The sum of the sizes of the terms of u'y+ - l'y-."""
    side = np.where(y > 0.0, u, l)
    return float(np.abs(np.where(np.isfinite(side), side, 0.0) * y).sum())


@kernel
def measure(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, Px: Floats, q: Floats, l: Floats, u: Floats, lb: Floats,
    ub: Floats, x: Floats, y: Floats, z: Floats, lost: Floats, work: Floats, found: Floats,
) -> None:  # fmt: skip
    """found := the fields of `Residuals`, of which those with an entry that is not finite are NaN or inf.

    Px is (P x, its errors); `lost` is what may be lost of each entry of the gradient and of Ax, or empty; `work` has
    room for these two with their errors, and for the numbers of entries of the rows.
    """
    m, n = l.size, q.size
    dual, dual_low, Ax, Ax_low = work[:n], work[n : 2 * n], work[2 * n : 2 * n + m], work[2 * n + m : 2 * (n + m)]
    entries = work[2 * (n + m) :]
    begin_dual(Px, q, dual, dual_low)
    for i in range(m):
        Ax[i], Ax_low[i], entries[i] = 0.0, 0.0, 0.0
    add_both(A_indptr, A_indices, A_data, x, y, Ax, Ax_low, dual, dual_low)
    count_entries(A_indices, A_data, entries)
    trap = 0.0  # 0 times a number that is not finite is NaN
    for j in range(n):
        total = dual[j] + z[j]
        dual[j], dual_low[j] = total, dual_low[j] + sum_error(dual[j], z[j], total)
    for i in range(m):
        trap += 0.0 * y[i] + 0.0 * Ax[i]
    finish_dual(Px, q, x, dual, dual_low, lost, found)
    rows, rows_scale, gv, gv_low, stray = measure_sides(l, u, Ax, Ax_low, entries, y, lost[min(n, lost.size) :])
    bounds, scale, support, support_low, bound_stray = measure_sides(lb, ub, x, entries[:0], entries[:0], z, lost[:0])
    found[0], found[1], found[4], found[5] = rows + trap, bounds, rows_scale, scale
    found[2] = max(found[2], stray, bound_stray)
    total = gv + support
    finish_gap(found, total, sum_error(gv, support, total) + (gv_low + support_low))


@inner
def measure_sides(
    l: Floats, u: Floats, v: Floats, low: Floats, entries: Floats, y: Floats, lost: Floats
) -> tuple[float, float, float, float, float]:
    """(violation, its scale, u'y+ - l'y-, its error, stray multipliers) of l <= v + low <= u with the multipliers y.

    Stray are the multipliers of infinite sides.  The scale is the largest v where there is a side, or violated side; of
    a bound, which is a row with one entry or any where `entries` is empty, its own side.
    """
    support, support_low, stray = 0.0, 0.0, 0.0
    size, violation, own, own_relative = 0.0, 0.0, 0.0, 0.0  # of rows, then bounds
    for i in range(v.size):
        side = u[i] if y[i] > 0.0 else l[i]
        if y[i] != y[i]:
            stray = np.inf
        elif math.isfinite(side):
            term = side * y[i]
            support_low += product_error(side, y[i], term) + sum_error(support, term, support + term)
            support += term
        else:
            stray = max(stray, abs(y[i]))
        if math.isfinite(l[i]) or math.isfinite(u[i]):
            size = max(size, abs(v[i]))
        below, above = l[i] - v[i], v[i] - u[i]
        if low.size > 0 and math.isfinite(low[i]):
            below, above = below - low[i], above + low[i]
        outside = max(below, above)
        if outside > 0.0:
            side = abs(l[i]) if below > above else abs(u[i])
            size, outside = max(size, side), beyond(outside, lost, i)
            if entries.size == 0 or entries[i] == 1.0:
                own, own_relative = max(own, outside), max(own_relative, outside / (1.0 + side))
            else:
                violation = max(violation, outside)
    scale = 1.0 + size
    return (
        max(violation, own),
        scale_of(max(violation, own), max(violation / scale, own_relative), scale),
        support,
        support_low,
        stray,
    )


def primal_infeasibility(program: QuadraticProgram, y: np.ndarray, z: np.ndarray) -> float:
    """The smallest tol at which (y, z), scaled to u'y+ - l'y- + ub'z+ - lb'z- = -1, certifies infeasibility."""
    row_support, row_stray = support(program.l, program.u, y)
    bound_support, bound_stray = support(program.lb, program.ub, z)
    slope = -(row_support + bound_support)
    size = support_sizes(program.l, program.u, y) + support_sizes(program.lb, program.ub, z)
    if not slope > LEAST_SLOPE * size:
        return np.inf
    r = norm(program.A.T @ y + z) / slope
    size = (largest(program.A) * norm(y) + norm(z)) / slope
    stray = max(row_stray, bound_stray) / slope
    return max(r, relative(r, size), stray, relative(stray, max(norm(y), norm(z)) / slope))


def dual_infeasibility(program: QuadraticProgram, x: np.ndarray) -> float:
    """The smallest tol at which x, scaled to q'x = -1, certifies that the objective falls for ever."""
    slope = -float(program.q @ x)
    if not slope > LEAST_SLOPE * float(np.abs(program.q) @ np.abs(x)):
        return np.inf
    x = x / slope
    # a direction may not move towards a finite side
    along = violation(_recession(program.l), -_recession(-program.u), program.A @ x)
    outside = violation(_recession(program.lb), -_recession(-program.ub), x)
    zeros = ((largest(program.P), norm(product(program.P, x))), (largest(program.A), along), (1.0, outside))
    return max(max(r, relative(r, data * norm(x))) for data, r in zeros)


def primal_certificate(program: QuadraticProgram, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(y, z_bounds) scaled to u'y+ - l'y- + ub'z+ - lb'z- = -1, with zeros where A has an empty row or column.

    An empty row whose sides leave out 0 is a certificate by itself, and keeps its multiplier.
    """
    side = np.where(y > 0.0, program.u, program.l)
    idle = ~has_entries(program.A, 0) & (np.where(np.isfinite(side), side, 0.0) * y >= 0.0)
    plain = np.where(idle, 0.0, y), np.where(has_entries(program.A, 1), z, 0.0)
    y, z = no_worse(primal_infeasibility, program, (y, z), plain)
    slope = -(support(program.l, program.u, y)[0] + support(program.lb, program.ub, z)[0])
    return y / slope, z / slope


def dual_certificate(program: QuadraticProgram, x: np.ndarray) -> np.ndarray:
    """x scaled to q'x = -1, with zeros for variables that have no part in the objective and in no row."""
    used = has_entries(program.A, 1) | (program.q != 0.0) | (product_sizes(program.P, np.ones(program.n)) > 0.0)
    (x,) = no_worse(dual_infeasibility, program, (x,), (np.where(used, x, 0.0),))
    return x / -float(program.q @ x)


def _recession(lower: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(lower), 0.0, -np.inf)
