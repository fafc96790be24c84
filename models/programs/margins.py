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
