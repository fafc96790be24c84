"""Linear machines with hinge, squared hinge or tube losses and a regularized intercept (Hsieh and others 2008)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import qp


def linear_primal(
    X: Any, signs: np.ndarray, q: np.ndarray, C: np.ndarray, is_squared: bool, scale: float, epsilon: float = 0.0
) -> qp.QuadraticProgram:
    """Return the primal of `linear_dual` for the losses of one sample, b = `scale` c at the price 1/2 c^2, 0 for no b.

    min  1/2 |w|^2 + 1/2 c^2 + sum_k C_k xi_k  (or C_k xi_k^2)
    s.t. s_k (q_k - w'x_k - b) <= epsilon + xi_k,   xi >= 0

    `signs` holds s_k, the labels (q = y, epsilon = 0) or, for targets q, 1 and -1 of each sample in two rows.
    """
    p = qp.Blocks(w=X.shape[1], c=int(scale > 0.0), xi=C.size)
    price: dict[str, Any] = (
        {"quadratic": {"w": 1.0, "c": 1.0, "xi": 2.0 * C}}
        if is_squared
        else {"quadratic": {"w": 1.0, "c": 1.0}, "xi": C}
    )
    p.minimize(**price)
    p.at_least(signs * q - epsilon, w=sp.diags_array(signs) @ sp.csr_array(X), c=scale * signs, xi=1.0)
    p.bounds(xi=(0.0, None))
    return p.program()


def linear_dual(F: Any, damping: np.ndarray, q: np.ndarray, low: np.ndarray, high: np.ndarray) -> qp.QuadraticProgram:
    """Return the dual of a linear machine whose losses may be squared (Hsieh and others 2008), d_k = 1 / 2 C_k or 0.

    min  1/2 |F'v|^2 + 1/2 sum_k d_k v_k^2 + q'v   s.t.   low <= v <= high

    Dense `F` gives a low-rank P; with sparse `F` the variables are (w, v) and the rows w = F'v.
    """
    if not sp.issparse(F):
        return qp.QuadraticProgram(qp.LowRank(F, damping), q, lb=low, ub=high)
    p = qp.Blocks(w=F.shape[1], v=q.size)
    p.minimize(v=q, quadratic={"w": 1.0, "v": damping})
    p.equal(0.0, w=-1.0, v=F.T)
    p.bounds(v=(low, high))
    return p.program()
