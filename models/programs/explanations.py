r"""The explanation-augmented support vector machine (Sun and DeJong 2005, sections 2 and 3.3).

With the differences d_j = phi(x_o(j)) - phi(v_j) of the explained examples,

    minimize    1/2 |w|^2 + sum_i C_i xi_i + sum_j Q_j delta_j   (or Q_j delta_j^2)
    subject to  y_i (w'phi(x_i) + b) >= 1 - xi_i,   xi >= 0,   |w'd_j| <= delta_j

Its dual, w = sum_i alpha_i y_i phi(x_i) + sum_j lambda_j d_j:

    minimize    1/2 |w|^2 - 1'alpha   (+ sum_j lambda_j^2 / (4 Q_j))
    subject to  y'alpha = 0,   0 <= alpha_i <= C_i,   -Q_j <= lambda_j <= Q_j   (or lambda free)

Q = infinity are perfect explanations, w'd_j = 0 with lambda free; Q = 0 none, lambda = 0.
"""

from __future__ import annotations

import numpy as np

import qp


def explained_dual(
    P: np.ndarray | qp.LowRank, y: np.ndarray, C: np.ndarray, Q: np.ndarray, penalty: str, bias: bool
) -> qp.QuadraticProgram:
    """Return the dual in (alpha, lambda), where P satisfies |w|^2 = (alpha, lambda)'P (alpha, lambda).

    `C` is infinite where the margin is hard; `penalty` is "l1", the sum of delta, or "l2", its sum of squares; `bias`
    adds the intercept b.
    """
    squared = (penalty == "l2") & (Q > 0.0) & np.isfinite(Q)
    limit = np.where(squared, np.inf, Q)  # |lambda_j| <= limit_j
    one, none = np.ones(y.size), np.zeros(Q.size)
    if squared.any():
        curvature = np.concatenate([0.0 * one, np.divide(0.5, Q, out=none.copy(), where=squared)])
        P = qp.LowRank(P.F, P.d + curvature) if isinstance(P, qp.LowRank) else P + np.diag(curvature)
    p = qp.Blocks(both=y.size + Q.size)  # (alpha, lambda) in one block, since P couples them
    p.minimize(both=np.concatenate([-one, none]), quadratic={"both": P})
    if bias:
        p.equal(0.0, both=np.concatenate([y, none]))
    p.bounds(both=(np.concatenate([0.0 * one, -limit]), np.concatenate([C, limit])))
    return p.program()
