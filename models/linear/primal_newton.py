r"""Newton's method in the primal for linear machines (Mangasarian 2002; Keerthi and DeCoste 2005; Yan and Li 2020).

The program is `programs.linear.linear_primal`.  With r_i = q_i - w'x_i and b_i(r) = r_i moved by epsilon towards 0, it
is, as in `linear.dual`,

    minimize  f(w) = 1/2 |w|^2 + sum_i max_beta [beta b_i(r_i) - d_i beta^2 / 2],    low_i <= beta <= high_i

Where all d_i are positive f is piecewise quadratic: the maximum is at beta_i = b_i / d_i between its bounds, and with
the samples a whose beta is neither 0 nor at a bound, the Hessian is I + X_a' diag(1 / d_a) X_a.  f(w) less the dual
objective at beta is a certified gap.  A step goes to the minimum along the Newton direction; a few steps find the
active samples, and the last one is exact.

If d = 0, the proximal point method (Rockafellar 1976) smooths the losses: given multipliers beta_k,

    minimize  f(w) with d_i = delta / (size of beta_i's bounds) and q + d beta_k in place of q

has the multipliers beta_(k+1).  A smaller delta takes fewer rounds, with more steps in each.  Squared losses, whose
bounds are infinite, do not change and take one round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.rows import rows_of
from ..numerics.logistic_kernels import multiply_two_class_hessian
from ..numerics.newton_minimizer import add_gram, factored, solve_conjugate_gradients
from .dual import Answer, Dual, respond

STEPS = 50  # most Newton steps in a round
PATIENCE = 5  # rounds of the proximal point method without a smaller gap after which it ends
NARROWER, SLOW = 0.3, 0.3  # factor of delta after a round that leaves more than the share SLOW of the gap
CLOSE = 0.5  # relative gap up to which a known answer is a better start than `start`
NEAR = 0.1  # a round ends when its own gap is at most this share of the duality gap
FAST = 10  # flops of a product of large matrices in the time of one flop of a matrix-vector product
CG_STEPS = 30  # assumed number of products with the Hessian per direction by conjugate gradients
SCATTERED = 5  # flops of a matrix-vector product in the time of one flop of a product of sparse matrices
CG_TOL = 1e-2  # relative residual of a direction by conjugate gradients
STRIDE, FEWEST_SAMPLED, SAMPLES_A_FEATURE = 8, 500, 16  # of `start`: largest stride, fewest samples, also per feature
START_SHARE = 0.9  # the start ends when a step leaves more than this share of its objective and of its gap
LINE_STEPS = 60
FLAT = 1e-6  # slopes up to this, relative to the slope at the start of the line, count as zero


def minimize_losses(
    dual: Dual, tol: float, is_over: Callable[[int], bool], history: list[float], known: Answer | None = None
) -> Answer:
    """Minimize f to a relative gap of `tol`, until ``is_over(steps)`` or until rounds bring nothing.

    The first round starts at the answer `known` if its gap is small.  Returns the answer with the least gap.  The
    values of f are appended to `history`.
    """
    if known is None or known.gap > CLOSE:
        w, beta, share = start(dual), np.zeros(dual.q.size), 1.0
    else:
        w, beta, share = known.w, known.beta, known.gap
    width, best, gap, steps, idle = share * first_width(dual, w), None, math.inf, 0, 0
    while best is None or not (best.converged or idle == PATIENCE or is_over(steps)):
        answer = newton_steps(dual.near(beta, width), dual, w, tol, lambda k: is_over(steps + k), history)  # noqa: B023
        steps, idle = steps + answer.passes, idle + 1
        if best is None or answer.gap < best.gap:
            best, idle = answer, 0
        if answer.gap > SLOW * gap:
            width *= NARROWER
        gap, w, beta = answer.gap, answer.w, answer.beta
    best.passes = steps
    return best


def newton_steps(
    near: Dual, dual: Dual, w: np.ndarray, tol: float, is_over: Callable[[int], bool], history: list[float],
    share: float = 1.0,
) -> Answer:  # fmt: skip
    """Minimize f of `near` from `w`, until the gap of `dual` is at most `tol` or far larger than the gap of `near`.

    It also ends if a step brings neither the objective nor 1/2 |w - sum_i beta_i x_i|^2, the gap of `near`, below
    `share` times its least value so far.
    """
    z, hessian, along = dual.scores(w), ActiveHessian(near), np.empty(2)
    best, least, closest = None, math.inf, math.inf
    for step in range(STEPS + 1):
        r, beta = near.q - z, np.empty(z.size)
        value = 0.5 * float(w @ w) + respond(near.losses, r, r, 0.0, beta, along)
        mapped = dual.weights(beta)
        answer = dual.answer(w, beta, mapped, dual.q - z, step, tol)
        history.append(answer.objective)
        slack = 0.5 * float((mapped - w) @ (mapped - w))
        if best is not None and not value < share * least and not slack < share * closest:
            break
        best, least, closest = answer, min(value, least), min(slack, closest)
        is_near = slack <= NEAR * (answer.objective - answer.dual_objective)
        if answer.converged or is_near or is_over(step):
            break
        direction = hessian.solve((beta != 0.0) & (beta > near.low) & (beta < near.high), mapped - w)
        moved = dual.scores(direction)
        t = line_minimum(near, w, r, direction, moved)
        w, z = w + t * direction, z + t * moved
    assert best is not None
    return best


def first_width(dual: Dual, w: np.ndarray) -> float:
    """Return the losses at `w` relative to the bounds: sum of losses / sum of max(high_i, -low_i), or 1 if zero."""
    return dual.loss(dual.q - dual.scores(w)) / float(np.maximum(dual.high, -dual.low).sum()) or 1.0


def start(dual: Dual) -> np.ndarray:
    """Return an approximate minimizer from some of the samples, or zeros if there are too few."""
    samples, features = dual.X.shape
    stride, zero = min(STRIDE, samples // max(FEWEST_SAMPLED, SAMPLES_A_FEATURE * features)), np.zeros(features + 1)
    if stride < 2:
        return zero
    part = dual.every(stride)
    part = part.near(np.zeros(part.q.size), first_width(part, zero))
    return newton_steps(part, part, zero, 0.0, lambda _: False, [], START_SHARE).w


def is_formed(X: Any) -> bool:
    """Return True if forming and factoring the Hessian takes less work than solving by conjugate gradients."""
    samples, features = X.shape
    if sp.issparse(X):
        entries, gram = X.nnz, SCATTERED * float((np.diff(X.indptr).astype(np.float64) ** 2).sum())
    else:
        entries, gram = samples * features, samples * features**2 / FAST
    return bool(gram + features**3 / (3 * FAST) <= 4 * CG_STEPS * entries)


class ActiveHessian:
    """Hessian I + X_a' diag(1 / d_a) X_a with the last feature, updated by the samples that enter or leave a.

    It is formed again before the subtracted weights exceed the remaining ones, so that rounding errors stay small.
    """

    def __init__(self, dual: Dual) -> None:
        self.dual, self.size = dual, dual.X.shape[1] + 1
        self.weights, self.removed = np.zeros(dual.q.size), math.inf
        self.H = np.empty((self.size, self.size), order="F") if is_formed(dual.X) else None

    def solve(self, active: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        """Return H^-1 rhs for the samples in the mask `active`."""
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
        rows, product = rows_of(part, bias), np.empty(rhs.size)

        def multiply(v: np.ndarray) -> np.ndarray:
            multiply_two_class_hessian(rows, own, v, product)
            return v + product

        squares = (part.multiply(part) if sp.issparse(part) else part**2).T @ own
        diagonal = 1.0 + np.append(squares, bias**2 * own.sum())
        return solve_conjugate_gradients(multiply, diagonal, rhs, CG_TOL, self.size)


def line_minimum(dual: Dual, w: np.ndarray, r: np.ndarray, direction: np.ndarray, moved: np.ndarray) -> float:
    """Return the t that minimizes f(w + t direction), by Newton steps on its piecewise linear slope; r = q - w'x."""
    linear, curvature, beta, along = float(w @ direction), float(direction @ direction), np.empty(r.size), np.empty(2)
    low, high, t, flat = 0.0, math.inf, 0.0, 0.0
    for _ in range(LINE_STEPS):
        respond(dual.losses, r, moved, t, beta, along)
        slope = linear + t * curvature - along[0]
        flat = flat or FLAT * abs(slope)
        if abs(slope) <= flat:
            break
        low, high = (t, high) if slope < 0.0 else (low, t)
        t -= slope / (curvature + along[1])
        if not low < t < high:
            t = 0.5 * (low + high) if high < math.inf else 2.0 * low
    return t
