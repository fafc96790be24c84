"""The stopping test and the certificates of a quadratic program, in its own units, each block by its own size.

    rows     violation of l <= Ax <= u                             <= tol (1 + max(|Ax|, the sides that are violated))
    bounds   violation of lb <= x <= ub                            <= tol (1 + max(|x|, the bounds that are violated))
    dual     |Px + q + A'y + z|, and multipliers of infinite sides <= tol (1 + max(|Px|, |q|))
    gap      |primal objective - dual objective|                   <= tol (1 + max(|primal|, |dual|))

with the dual objective -1/2 x'Px - u'y+ + l'y- - ub'z+ + lb'z-.  Rows and variables without a finite side have no part
in the sizes.  No entry need be smaller than what its evaluation can lose to rounding.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats, Ints, Matrix
from socp.linalg.csc import multiply_both
from socp.linalg.dense import multiply_symmetric_dense
from socp.problem.stopping import (
    LEAST_SLOPE,
    LOST,
    NOTHING,
    RESIDUALS,
    Residuals,
    beyond,
    largest,
    norm,
    product,
    product_sizes,
    relative,
)

from .program import QuadraticProgram

if TYPE_CHECKING:
    from ..reduce.cone_form import ConeForm
    from ..reduce.presolve import Presolve

Point = tuple[np.ndarray, np.ndarray, np.ndarray]
NO_MATRIX = np.empty((0, 0))


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
    """The residuals of (x, y, z_bounds) on the program's own data; with `rounding` without what evaluating may lose."""
    A, P, q, l, found = program.A, program.P, program.q, program.l, np.empty(RESIDUALS)
    lost, lost_gap = _lost(program, x, y, z) if rounding else (NOTHING, -1.0)
    dense = NO_MATRIX
    if type(P) is np.ndarray:
        dense, Px = P, NOTHING
    elif Px is None:
        Px = product(P, x)
    measure(
        A.indptr, A.indices, A.data, dense, Px, q, l, program.u, program.lb, program.ub, x, y, z, lost,
        np.empty(l.size + 2 * q.size), found,
    )  # fmt: skip
    measured = Residuals._make(found.tolist())
    return measured._replace(gap=0.0) if measured.gap <= lost_gap else measured


def _lost(program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, float]:
    """What rounding may take of each entry of (Ax, Px + q + A'y + z), and of the gap; bounds are compared exactly."""
    A, size_x, Px = abs(program.A), np.abs(x), product_sizes(program.P, x)
    dual = Px + np.abs(program.q) + A.T @ np.abs(y) + np.abs(z)
    held = support_sizes(program.l, program.u, y) + support_sizes(program.lb, program.ub, z)
    return LOST * np.concatenate([A @ size_x, dual]), LOST * (float(size_x @ (Px + np.abs(program.q))) + held)


def support_sizes(l: np.ndarray, u: np.ndarray, y: np.ndarray) -> float:
    """The sum of the sizes of the terms of u'y+ - l'y-."""
    side = np.where(y > 0.0, u, l)
    return float(np.abs(np.where(np.isfinite(side), side, 0.0) * y).sum())


@kernel
def measure(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, P: Matrix, Px: Floats, q: Floats, l: Floats, u: Floats,
    lb: Floats, ub: Floats, x: Floats, y: Floats, z: Floats, lost: Floats, work: Floats, found: Floats,
) -> None:  # fmt: skip
    """found := the fields of `Residuals`, of which those with an entry that is not finite are NaN or inf.

    P is a dense one, or empty and Px what it makes of x.  `lost` is what may be lost of each entry of Ax and of the
    gradient, or empty; `work` has room for Ax, A'y and Px.
    """
    m, n = l.size, q.size
    if P.size > 0:
        Px = work[m + n :]
        multiply_symmetric_dense(n, P.reshape(-1), x, Px)
    Ax, Aty = work[:m], work[m : m + n]
    multiply_both(A_indptr, A_indices, A_data, x, y, Ax, Aty)
    rows, row_support, row_stray, row_size = measure_sides(l, u, Ax, y, lost)
    bounds, support, stray, size = measure_sides(lb, ub, x, z, lost[:0])
    xPx, qx, trap = 0.0, 0.0, 0.0  # 0 times a number that is not finite is NaN
    for i in range(m):
        trap += 0.0 * y[i]
    dual, dual_size = max(row_stray, stray), 0.0
    for j in range(n):
        residual = Px[j] + q[j] + Aty[j] + z[j]
        dual, dual_size = max(dual, beyond(residual, lost, m + j)), max(dual_size, abs(Px[j]), abs(q[j]))
        trap += 0.0 * residual + 0.0 * x[j]
        xPx += x[j] * Px[j]
        qx += q[j] * x[j]
    primal_objective, dual_objective = 0.5 * xPx + qx, -0.5 * xPx - row_support - support
    found[0], found[1], found[2] = rows + trap, bounds + trap, dual + trap
    found[3] = abs(primal_objective - dual_objective)
    found[4], found[5], found[6] = 1.0 + row_size, 1.0 + size, 1.0 + dual_size
    found[7] = 1.0 + max(abs(primal_objective), abs(dual_objective))
    found[8], found[9] = primal_objective, dual_objective


@inner
def measure_sides(l: Floats, u: Floats, v: Floats, y: Floats, lost: Floats) -> tuple[float, float, float, float]:
    """(violation, u'y+ - l'y-, stray multipliers, scale) of l <= v <= u with the multipliers y.

    Stray are the multipliers of infinite sides; the scale is the largest v where there is a side, or violated side.
    """
    violation, support, stray, size = 0.0, 0.0, 0.0, 0.0
    for i in range(v.size):
        side = u[i] if y[i] > 0.0 else l[i]
        if y[i] != y[i]:
            stray = np.inf
        elif math.isfinite(side):
            support += side * y[i]
        else:
            stray = max(stray, abs(y[i]))
        if math.isfinite(l[i]) or math.isfinite(u[i]):
            size = max(size, abs(v[i]))
        outside = max(l[i] - v[i], v[i] - u[i])
        if outside > 0.0:
            violation = max(violation, beyond(outside, lost, i))
            size = max(size, abs(l[i]) if v[i] < l[i] else abs(u[i]))
    return violation, support, stray, size


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


def _recession(lower: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(lower), 0.0, -np.inf)
