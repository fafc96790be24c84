r"""Newton's method in the primal for linear machines with squared losses (Mangasarian 2002; Keerthi and DeCoste 2005).

With r_i = q_i - w'x_i, b_i(r) = r_i less what the loss forgives, and d_i = 1 / 2 C_i,

    minimize  f(w) = 1/2 |w|^2 + sum_i b_i(r_i)^2 / 2 d_i

is piecewise quadratic: on the samples a with b_a != 0 it has the Hessian I + X_a' diag(1 / d_a) X_a.  The multipliers
of `coordinate_descent` are beta = b / d, so that f(w) less the dual objective at beta is a certified gap.  A step goes
to the minimum along the Newton direction; a few steps find the active samples, and the last one is exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..base.newton_minimizer import solve_cholesky, solve_conjugate_gradients, weighted_gram

if TYPE_CHECKING:
    from .coordinate_descent import Answer, Dual

MOST_FORMED = 1500  # features up to which the Hessian is formed; beyond, conjugate gradients multiply by it
STEPS = 50
CG_TOL = 1e-2  # relative residual of a direction by conjugate gradients
LINE_STEPS = 60
FLAT = 1e-12  # share of the first slope of a line that counts as zero


def minimize_squares(dual: Dual, tol: float, history: list[float]) -> Answer:
    """Minimize f to a relative gap of `tol`, or as far as Newton steps get; append its values to `history`.

    Parameters
    ----------
    dual : Dual
        All its `damping` is positive.
    tol : float
    history : list of float

    Returns
    -------
    Answer
        `converged` says whether the gap is at most `tol`.
    """
    w, z = np.zeros(dual.X.shape[1] + 1), np.zeros(dual.q.size)
    best: Answer | None = None
    for step in range(STEPS + 1):
        beta = dual.beyond(dual.q - z) / dual.damping
        mapped = dual.weights(beta)
        answer = dual.answer(w, beta, mapped, dual.q - z, step, tol)
        history.append(answer.objective)
        if best is not None and not answer.gap < best.gap and not answer.objective < best.objective:
            break
        best = answer if best is None or answer.gap < best.gap else best
        if answer.converged or step == STEPS:
            break
        direction = newton_direction(dual, beta != 0.0, w - mapped)
        moved = dual.scores(direction)
        t = line_minimum(dual, w, z, direction, moved)
        w, z = w + t * direction, z + t * moved
    assert best is not None
    return best


def newton_direction(dual: Dual, active: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return -H^-1 gradient, H = I + X_a' diag(1 / d_a) X_a with the last feature, `bias`."""
    weights, bias, size = np.where(active, 1.0 / dual.damping, 0.0), dual.bias, gradient.size
    if size <= MOST_FORMED:
        H = np.zeros((size, size))
        H[:-1, :-1] = weighted_gram(dual.X, weights)
        H[-1, :-1] = H[:-1, -1] = bias * (dual.X.T @ weights)
        H[-1, -1] = bias**2 * weights.sum()
        H[np.diag_indices(size)] += 1.0
        return solve_cholesky(H, -gradient)
    part, own = dual.X[active], weights[active]

    def multiply(v: np.ndarray) -> np.ndarray:
        u = own * (part @ v[:-1] + bias * v[-1])
        return v + np.append(part.T @ u, bias * u.sum())

    squares = (part.multiply(part) if sp.issparse(part) else part**2).T @ own
    return solve_conjugate_gradients(multiply, 1.0 + np.append(squares, bias**2 * own.sum()), -gradient, CG_TOL, size)


def line_minimum(dual: Dual, w: np.ndarray, z: np.ndarray, direction: np.ndarray, moved: np.ndarray) -> float:
    """Return the t that minimizes f(w + t direction), by Newton steps on its piecewise linear slope."""
    linear, curvature = float(w @ direction), float(direction @ direction)
    low, high, t, first = 0.0, math.inf, 1.0, 0.0
    for _ in range(LINE_STEPS):
        beyond = dual.beyond(dual.q - z - t * moved)
        pull = beyond / dual.damping
        slope = linear + t * curvature - float(pull @ moved)
        first = first or abs(slope)
        if abs(slope) <= FLAT * first:
            break
        low, high = (t, high) if slope < 0.0 else (low, t)
        on = beyond != 0.0
        t -= slope / (curvature + float(moved[on] ** 2 @ (1.0 / dual.damping[on])))
        if not low < t < high:
            t = 0.5 * (low + high) if high < math.inf else 2.0 * low
        if high - low <= 1e-15 * high:
            break
    return t
