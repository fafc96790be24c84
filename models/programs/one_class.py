"""The one-class machine: a half-space that holds all but a share of the samples (Schölkopf and others 2001)."""

from __future__ import annotations

from typing import Any

import numpy as np

import qp

from ..kernel_machines.program import KernelBlocks


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
