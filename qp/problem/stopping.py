"""The stopping test and the certificates of a quadratic program, in its own units.

    primal   violation of l <= Ax <= u, lb <= x <= ub              <= tol (1 + max(|Ax|, |x|, |sides|)), where sided
    dual     |Px + q + A'y + z|, and multipliers of infinite sides <= tol (1 + max(|Px|, |q|))
    gap      |primal objective - dual objective|                   <= tol (1 + max(|primal|, |dual|))

with the dual objective -1/2 x'Px - u'y+ + l'y- - ub'z+ + lb'z-.
"""

from __future__ import annotations

import math

import numpy as np

from socp.compiled.jit import kernel
from socp.linalg.csc import multiply_both
from socp.problem.stopping import Residuals, largest, norm, product, relative

from .program import QuadraticProgram


def hessian_product(program: QuadraticProgram, x: np.ndarray) -> np.ndarray:
    """P x, zero when P is absent."""
    return product(program.P, x)


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
    A, found = program.A, np.zeros(8)
    measure(
        A.indptr, A.indices, A.data, hessian_product(program, x), program.q, program.l, program.u, program.lb,
        program.ub, x, y, z, found,
    )  # fmt: skip
    return Residuals(*found.tolist())


@kernel
def measure(A_indptr, A_indices, A_data, Px, q, l, u, lb, ub, x, y, z, found):
    """found := the fields of `Residuals`, of which those with an entry that is not finite are NaN or inf."""
    n = q.size
    Ax, Aty = np.empty(l.size), np.empty(n)
    multiply_both(A_indptr, A_indices, A_data, x, y, Ax, Aty)
    rows, bounds = np.zeros(4), np.zeros(4)
    measure_sides(l, u, Ax, y, rows)
    measure_sides(lb, ub, x, z, bounds)
    xPx, qx, trap = 0.0, 0.0, 0.0  # 0 times a number that is not finite is NaN
    for i in range(l.size):
        trap += 0.0 * y[i]
    dual, dual_size = max(rows[2], bounds[2]), 0.0
    for j in range(n):
        residual = Px[j] + q[j] + Aty[j] + z[j]
        dual, dual_size = max(dual, abs(residual)), max(dual_size, abs(Px[j]), abs(q[j]))
        trap += 0.0 * residual + 0.0 * x[j]
        xPx += x[j] * Px[j]
        qx += q[j] * x[j]
    primal_objective, dual_objective = 0.5 * xPx + qx, -0.5 * xPx - rows[1] - bounds[1]
    found[0], found[1] = max(rows[0], bounds[0]) + trap, dual + trap
    found[2] = abs(primal_objective - dual_objective)
    found[3], found[4] = 1.0 + max(rows[3], bounds[3]), 1.0 + dual_size
    found[5] = 1.0 + max(abs(primal_objective), abs(dual_objective))
    found[6], found[7] = primal_objective, dual_objective


@kernel
def measure_sides(l, u, v, y, found):
    """l <= v <= u with the multipliers y: the violation, u'y+ - l'y-, the stray multipliers and the scale.

    Stray are the multipliers of infinite sides; the scale is the largest finite side, or v where there is a side.
    """
    for i in range(v.size):
        found[0] = max(found[0], l[i] - v[i], v[i] - u[i])
        side = u[i] if y[i] > 0.0 else l[i]
        if y[i] != y[i]:
            found[2] = np.inf
        elif math.isfinite(side):
            found[1] += side * y[i]
        else:
            found[2] = max(found[2], abs(y[i]))
        if math.isfinite(l[i]):
            found[3] = max(found[3], abs(l[i]), abs(v[i]))
        if math.isfinite(u[i]):
            found[3] = max(found[3], abs(u[i]), abs(v[i]))


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
    r = max(norm(hessian_product(program, x)), outside)
    data = max(largest(program.P), largest(program.A), 1.0)
    return max(r, relative(r, data * norm(x)))


def _recession(lower: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(lower), 0.0, -np.inf)
