"""The stopping test and the certificates of a quadratic program, in its own units.

    primal   violation of l <= Ax <= u, lb <= x <= ub              <= tol (1 + max(|Ax|, |x|, |sides|)), where sided
    dual     |Px + q + A'y + z|, and multipliers of infinite sides <= tol (1 + max(|Px|, |q|))
    gap      |primal objective - dual objective|                   <= tol (1 + max(|primal|, |dual|))

with the dual objective -1/2 x'Px - u'y+ + l'y- - ub'z+ + lb'z-.
"""

from __future__ import annotations

import numpy as np

from socp.stopping import Residuals, largest, norm, relative

from .program import QuadraticProgram


def hessian_product(program: QuadraticProgram, x: np.ndarray) -> np.ndarray:
    """P x, zero when P is absent."""
    return np.zeros(program.n) if program.P is None else program.P @ x


def support(l: np.ndarray, u: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """(u'y+ - l'y- over the finite sides, the largest multiplier of an infinite side)."""
    up, down = np.maximum(y, 0.0), np.maximum(-y, 0.0)
    has_u, has_l = np.isfinite(u), np.isfinite(l)
    value = float(u[has_u] @ up[has_u] - l[has_l] @ down[has_l])
    return value, max(norm(up[~has_u]), norm(down[~has_l]))


def violation(l: np.ndarray, u: np.ndarray, v: np.ndarray) -> float:
    """How far v is outside [l, u]."""
    return float(np.maximum(l - v, v - u).max(initial=0.0))


def sided(l: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Which rows or variables have a side."""
    return np.isfinite(l) | np.isfinite(u)


def finite_norm(*sides: np.ndarray) -> float:
    """The largest finite entry, absolute."""
    return max(norm(side[np.isfinite(side)]) for side in sides)


def residuals(program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Residuals:
    """The residuals of (x, y, z_bounds) on the program's own data."""
    Ax, Px = program.A @ x, hessian_product(program, x)
    primal = max(violation(program.l, program.u, Ax), violation(program.lb, program.ub, x))
    row_support, row_stray = support(program.l, program.u, y)
    bound_support, bound_stray = support(program.lb, program.ub, z)
    dual = max(norm(Px + program.q + program.A.T @ y + z), row_stray, bound_stray)
    sides = finite_norm(program.l, program.u, program.lb, program.ub)
    half = 0.5 * float(x @ Px)
    p_objective = half + float(program.q @ x)
    d_objective = -half - row_support - bound_support
    return Residuals(
        primal if np.isfinite(x).all() else np.inf,
        dual,
        abs(p_objective - d_objective),
        1.0 + max(norm(Ax[sided(program.l, program.u)]), norm(x[sided(program.lb, program.ub)]), sides),
        1.0 + max(norm(Px), norm(program.q)),
        1.0 + max(abs(p_objective), abs(d_objective)),
    )


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
