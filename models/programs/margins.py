r"""The largest margin: support vector machines as a lecture states them, and with a share of samples as parameter.

Sample k is to be on its side, s_k (w'phi(x_k) + b) >= -q_k - xi_k, at the price C_k of xi_k.  A classifier has s = y
and q = -1; a regression with a tube has each sample twice, from above and from below.  C_k = infinity has no xi_k.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import qp

from ..kernel_machines.program import KernelBlocks


def primal_program(
    F: Any, s: np.ndarray, C: np.ndarray, bias: bool, least: np.ndarray | float = 1.0, D: np.ndarray | float = 1.0
) -> qp.QuadraticProgram:
    """Return the primal in (w, b, xi); the rows of F are phi(x_k), `least` is -q, D is diagonal.

    min  1/2 w'Dw + sum_k C_k xi_k   s.t.   s_k (w'F_k + b) + xi_k >= least_k,   xi >= 0
    """
    m, d = F.shape
    soft = np.flatnonzero(np.isfinite(C))
    p = qp.Blocks(w=d, b=int(bias), xi=soft.size)
    p.minimize(quadratic={"w": D}, xi=C[soft])
    slacks = sp.csc_array((np.ones(soft.size), (soft, np.arange(soft.size))), shape=(m, soft.size))
    p.at_least(least, w=sp.diags_array(s) @ sp.csr_array(F), b=s, xi=slacks)
    p.bounds(xi=(0.0, None))
    return p.program()


def dual_program(P: Any, s: np.ndarray, C: np.ndarray, bias: bool, q: np.ndarray | float = -1.0) -> qp.QuadraticProgram:
    """Return the dual of `primal_program`: v_k is the multiplier of primal row k, b the multiplier of the dual row.

    min  1/2 v'P v + q'v   s.t.   s'v = 0  (with b),   0 <= v <= C,        P_kl = s_k s_l k(x_k, x_l)
    """
    p = KernelBlocks(v=s.size)
    p.minimize(v=q, quadratic={"v": P})
    if bias:
        p.equal(0.0, v=s)
    p.bounds(v=(0.0, C))
    return p.program()


def signed_dual(
    K: Any, y: np.ndarray, low: np.ndarray, high: np.ndarray, bias: bool, signs: Any = None, total: float = 0.0
) -> qp.QuadraticProgram:
    """Return `dual_program`, or with `signs` `nu_dual`, in u_k = s_k v_k: programs of other signs share the matrix K.

    min  1/2 u'K u - y'u   s.t.   1'u = 0  (with b),   low <= u <= high,        K_kl = k(x_k, x_l),  y = -s q
    with nu: sum of u_k with s_k = 1  =  total / 2,   sum of u_k with s_k = -1  =  -total / 2

    v between 0 and C is u between 0 and s C.  A regression without a tube needs one u_k, between -C_k and C_k, for the
    two variables of its sample.
    """
    p = qp.Blocks(u=y.size)
    p.minimize(u=-y, quadratic={"u": K})
    if signs is not None:
        p.equal(np.array([0.5, -0.5]) * total, u=np.array([signs > 0.0, signs < 0.0], dtype=np.float64))
    elif bias:
        p.equal(0.0, u=np.ones(y.size))
    p.bounds(u=(low, high))
    return p.program()


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


def nu_dual(P: Any, s: np.ndarray, C: np.ndarray, total: float, q: np.ndarray | float = 0.0) -> qp.QuadraticProgram:
    """Return the dual of the nu classifier or the nu regression (Schölkopf and others 2000).

    min  1/2 |w|^2 - total rho + C'xi   s.t.   s_k (w'phi(x_k) + b) >= rho - q_k - xi_k,   xi >= 0
    min  1/2 v'P v + q'v   s.t.   sum of v_k with s_k = 1  =  sum of v_k with s_k = -1  =  total / 2,   0 <= v <= C

    A classifier has s = y, q = 0 and total = nu 1'C; its w, b and v, divided by rho, solve the machine with the prices
    C / rho.  A regression has q = -s y, a total of nu times the sum of the samples' prices, and epsilon = -rho.
    The rows have the multipliers b - rho and b + rho.
    """
    p = KernelBlocks(v=s.size)
    p.minimize(v=q, quadratic={"v": P})
    rows = sp.csr_array((s, ((s < 0.0).astype(np.int64), np.arange(s.size))), shape=(2, s.size))
    p.equal(np.array([0.5, -0.5]) * total, v=rows)
    p.bounds(v=(0.0, C))
    return p.program()


def one_class(K: Any, c: np.ndarray, nu: float) -> qp.QuadraticProgram:
    """Return the dual of the one-class machine (Schölkopf and others 2001); its row has the multiplier -rho.

    min  1/2 |w|^2 - nu rho 1'c + c'xi   s.t.   w'phi(x_i) >= rho - xi_i,   xi >= 0
    min  1/2 alpha'K alpha   s.t.   1'alpha = nu 1'c,   0 <= alpha <= c
    """
    p = KernelBlocks(alpha=c.size)
    p.minimize(quadratic={"alpha": K})
    p.equal(nu * c.sum(), alpha=np.ones(c.size))
    p.bounds(alpha=(0.0, c))
    return p.program()
