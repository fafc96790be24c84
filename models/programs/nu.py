"""A share of samples, nu, in place of a price: classifier and regression (Schölkopf and others 2000)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import qp

from ..kernel_machines.program import KernelBlocks


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
