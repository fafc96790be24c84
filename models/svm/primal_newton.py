r"""Newton's method in the primal for linear machines with squared losses (Mangasarian 2002; Keerthi and DeCoste 2005).

With r_i = q_i - w'x_i, b_i(r) = r_i less what the loss forgives, and d_i = 1 / 2 C_i,

    minimize  f(w) = 1/2 |w|^2 + sum_i b_i(r_i)^2 / 2 d_i

is piecewise quadratic: on the samples a with b_a != 0 it has the Hessian I + X_a' diag(1 / d_a) X_a.  The multipliers
of `coordinate_descent` are beta = b / d, so that f(w) less the dual objective at beta is a certified gap.  A step goes
to the minimum along the Newton direction; a few steps find the active samples, and the last one is exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..numerics.newton_minimizer import add_gram, factored, solve_conjugate_gradients

if TYPE_CHECKING:
    from .coordinate_descent import Answer, Dual

STEPS = 50
FAST = 10  # products of large matrices: so many of their flops take the time of one of a matrix and a vector
CG_STEPS = 30  # products with the Hessian that a direction takes, where it is not formed
SCATTERED = 5  # flops of a matrix and a vector in the time of one of two sparse matrices
CG_TOL = 1e-2  # relative residual of a direction by conjugate gradients
STRIDE, FEWEST_SAMPLED, SAMPLES_A_FEATURE = 8, 500, 16  # at most every eighth sample tells where to start
START_SHARE = 0.9  # of the objective, above which a step from there pays no more
LINE_STEPS = 60
FLAT = 1e-12  # share of the first slope of a line that counts as zero


def minimize_squares(dual: Dual, tol: float, history: list[float], share: float = 1.0) -> Answer:
    """Minimize f to a relative gap of `tol`, or as far as Newton steps get; append its values to `history`.

    All `damping` is positive.  A step after which neither the objective nor the gap is below this `share` of the least
    before is the last one.
    """
    w = start(dual)
    z, hessian = dual.scores(w), ActiveHessian(dual)
    best: Answer | None = None
    for step in range(STEPS + 1):
        beta = dual.beyond(dual.q - z) / dual.damping
        mapped = dual.weights(beta)
        answer = dual.answer(w, beta, mapped, dual.q - z, step, tol)
        history.append(answer.objective)
        if best is not None and not answer.objective < share * best.objective and not answer.gap < share * best.gap:
            break
        best = answer if best is None or answer.gap < best.gap else best
        if answer.converged or step == STEPS:
            break
        direction = hessian.solve(beta != 0.0, mapped - w)
        moved = dual.scores(direction)
        t = line_minimum(dual, w, z, direction, moved)
        w, z = w + t * direction, z + t * moved
    assert best is not None
    return best


def start(dual: Dual) -> np.ndarray:
    """Return about the minimum of the losses of some of the samples, or 0 where these are too few to tell it."""
    samples, features = dual.X.shape
    stride = min(STRIDE, samples // max(FEWEST_SAMPLED, SAMPLES_A_FEATURE * features))
    if stride < 2:
        return np.zeros(features + 1)
    return minimize_squares(dual.every(stride), 0.0, [], START_SHARE).w


def is_formed(X: Any) -> bool:
    """Return True if to form and factor a Hessian is less work than the products by which conjugate gradients solve."""
    samples, features = X.shape
    if sp.issparse(X):
        entries, gram = X.nnz, SCATTERED * float((np.diff(X.indptr).astype(np.float64) ** 2).sum())
    else:
        entries, gram = samples * features, samples * features**2 / FAST
    return bool(gram + features**3 / (3 * FAST) <= 4 * CG_STEPS * entries)


class ActiveHessian:
    """Hessian I + X_a' diag(1 / d_a) X_a with the last feature, updated by the samples that enter or leave a.

    It is formed again before more weight was subtracted than is left: rounding stays of the size of its entries.
    """

    def __init__(self, dual: Dual) -> None:
        self.dual, self.size = dual, dual.X.shape[1] + 1
        self.weights, self.removed = np.zeros(dual.q.size), math.inf
        self.H = np.empty((self.size, self.size), order="F") if is_formed(dual.X) else None

    def solve(self, active: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        """Return H^-1 rhs for these active samples."""
        weights = np.where(active, 1.0 / self.dual.damping, 0.0)
        if self.H is None:
            return self._by_products(active, weights, rhs)
        enter, leave = np.where(self.weights == 0.0, weights, 0.0), np.where(active, 0.0, self.weights)
        self.removed += leave.sum()
        if self.removed > weights.sum() or np.count_nonzero(enter) + np.count_nonzero(leave) > active.sum():
            enter, leave, self.removed = weights, np.zeros(0), 0.0
            self.H[:] = np.eye(self.size)
        self.weights = weights
        for change in (enter, -leave):
            add_gram(self.H, self.dual.X, change, self.dual.bias)
        return factored(self.H)(rhs)

    def _by_products(self, active: np.ndarray, weights: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        part, own, bias = self.dual.X[active], weights[active], self.dual.bias

        def multiply(v: np.ndarray) -> np.ndarray:
            u = own * (part @ v[:-1] + bias * v[-1])
            return v + np.append(part.T @ u, bias * u.sum())

        squares = (part.multiply(part) if sp.issparse(part) else part**2).T @ own
        diagonal = 1.0 + np.append(squares, bias**2 * own.sum())
        return solve_conjugate_gradients(multiply, diagonal, rhs, CG_TOL, self.size)


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
