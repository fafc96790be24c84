"""The stopping test and the certificates of a quadratic program, in its own units.

    primal   violation of l <= Ax <= u, lb <= x <= ub              <= tol (1 + max(|Ax|, |x|, |sides|)), where sided
    dual     |Px + q + A'y + z|, and multipliers of infinite sides <= tol (1 + max(|Px|, |q|))
    gap      |primal objective - dual objective|                   <= tol (1 + max(|primal|, |dual|))

with the dual objective -1/2 x'Px - u'y+ + l'y- - ub'z+ + lb'z-.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats, Ints
from socp.linalg.csc import multiply_both
from socp.problem.stopping import RESIDUALS, Residuals, largest, norm, product, relative

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

    def residuals(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray | None = None) -> Residuals:
        """The residuals of a point of the cone program."""
        return self.measure(*self.form.lift(self.presolved.program, x, y, z))

    def measure(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Residuals:
        """The residuals of a point (x, y, z_bounds) of what presolve leaves."""
        point = (x, *self.presolved.dual(y, z))
        found = residuals(self.program, *point)
        self.last = point, found
        return found

    def primal_infeasibility(self, y: np.ndarray, z: np.ndarray) -> float:
        """The smallest tol at which (y, z) of the cone program certifies infeasibility."""
        return primal_infeasibility(self.program, *self.dual_ray(y, z))

    def dual_infeasibility(self, x: np.ndarray) -> float:
        """The smallest tol at which x of the cone program certifies that the objective falls for ever."""
        return dual_infeasibility(self.program, self.primal_ray(x))

    def point(self, found: Residuals | None, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Point:
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


def residuals(program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Residuals:
    """The residuals of (x, y, z_bounds) on the program's own data."""
    A, found, work = program.A, np.empty(RESIDUALS), np.empty(program.m + program.n)
    measure(
        A.indptr, A.indices, A.data, product(program.P, x), program.q, program.l, program.u, program.lb, program.ub, x,
        y, z, work, found,
    )  # fmt: skip
    return Residuals(*found.tolist())


@kernel
def measure(
    A_indptr: Ints, A_indices: Ints, A_data: Floats, Px: Floats, q: Floats, l: Floats, u: Floats, lb: Floats,
    ub: Floats, x: Floats, y: Floats, z: Floats, work: Floats, found: Floats,
) -> None:  # fmt: skip
    """found := the fields of `Residuals`, of which those with an entry that is not finite are NaN or inf.

    `work` has room for Ax and A'y.
    """
    m, n = l.size, q.size
    Ax, Aty = work[:m], work[m : m + n]
    multiply_both(A_indptr, A_indices, A_data, x, y, Ax, Aty)
    row_violation, row_support, row_stray, row_size = measure_sides(l, u, Ax, y)
    violation, support, stray, size = measure_sides(lb, ub, x, z)
    xPx, qx, trap = 0.0, 0.0, 0.0  # 0 times a number that is not finite is NaN
    for i in range(m):
        trap += 0.0 * y[i]
    dual, dual_size = max(row_stray, stray), 0.0
    for j in range(n):
        residual = Px[j] + q[j] + Aty[j] + z[j]
        dual, dual_size = max(dual, abs(residual)), max(dual_size, abs(Px[j]), abs(q[j]))
        trap += 0.0 * residual + 0.0 * x[j]
        xPx += x[j] * Px[j]
        qx += q[j] * x[j]
    primal_objective, dual_objective = 0.5 * xPx + qx, -0.5 * xPx - row_support - support
    found[0], found[1] = max(row_violation, violation) + trap, dual + trap
    found[2] = abs(primal_objective - dual_objective)
    found[3], found[4] = 1.0 + max(row_size, size), 1.0 + dual_size
    found[5] = 1.0 + max(abs(primal_objective), abs(dual_objective))
    found[6], found[7] = primal_objective, dual_objective


@inner
def measure_sides(l: Floats, u: Floats, v: Floats, y: Floats) -> tuple[float, float, float, float]:
    """(violation, u'y+ - l'y-, stray multipliers, scale) of l <= v <= u with the multipliers y.

    Stray are the multipliers of infinite sides; the scale is the largest finite side, or v where there is a side.
    """
    violation, support, stray, size = 0.0, 0.0, 0.0, 0.0
    for i in range(v.size):
        violation = max(violation, l[i] - v[i], v[i] - u[i])
        side = u[i] if y[i] > 0.0 else l[i]
        if y[i] != y[i]:
            stray = np.inf
        elif math.isfinite(side):
            support += side * y[i]
        else:
            stray = max(stray, abs(y[i]))
        if math.isfinite(l[i]):
            size = max(size, abs(l[i]), abs(v[i]))
        if math.isfinite(u[i]):
            size = max(size, abs(u[i]), abs(v[i]))
    return violation, support, stray, size


def primal_infeasibility(program: QuadraticProgram, y: np.ndarray, z: np.ndarray) -> float:
    """The smallest tol at which (y, z), scaled to u'y+ - l'y- + ub'z+ - lb'z- = -1, certifies infeasibility."""
    row_support, row_stray = support(program.l, program.u, y)
    bound_support, bound_stray = support(program.lb, program.ub, z)
    slope = -(row_support + bound_support)
    if not slope > 0.0:
        return np.inf
    r = norm(program.A.T @ y + z) / slope
    size = norm(abs(program.A).T @ abs(y) + abs(z)) / slope
    stray = max(row_stray, bound_stray) / slope
    return max(r, relative(r, size), stray, relative(stray, max(norm(y), norm(z)) / slope))


def dual_infeasibility(program: QuadraticProgram, x: np.ndarray) -> float:
    """The smallest tol at which x, scaled to q'x = -1, certifies that the objective falls for ever."""
    slope = -float(program.q @ x)
    if not slope > 0.0:
        return np.inf
    x = x / slope
    Ax = program.A @ x
    # a direction may not move towards a finite side
    outside = max(
        violation(_recession(program.l), -_recession(-program.u), Ax),
        violation(_recession(program.lb), -_recession(-program.ub), x),
    )
    r = max(norm(product(program.P, x)), outside)
    data = max(largest(program.P), largest(program.A), 1.0)
    return max(r, relative(r, data * norm(x)))


def _recession(lower: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(lower), 0.0, -np.inf)
