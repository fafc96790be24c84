"""The machine of several classes (Crammer and Singer 2001)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import qp


def crammer_singer_dual(P: Any, owner: np.ndarray, C: np.ndarray) -> qp.QuadraticProgram:
    r"""Return the dual of the multiclass machine of Crammer and Singer (2001), a row for each document d and class y.

    min  1/2 |eta|^2 + sum_d C_d xi_d   s.t.   (eta_{y_d} - eta_y)'z_d >= 1 - xi_d  for every other y,   xi >= 0
    min  1/2 mu'P mu - 1'mu   s.t.   sum_y mu_dy <= C_d,   mu >= 0

    `owner` holds d of each row (d, y).  If every document has one row, the constraints on sums become bounds.
    """
    p, alone = qp.Blocks(mu=owner.size), owner.size == C.size
    p.minimize(mu=-1.0, quadratic={"mu": P})
    if not alone:
        p.at_most(C, mu=sp.csr_array((np.ones(owner.size), (owner, np.arange(owner.size))), (C.size, owner.size)))
    p.bounds(mu=(0.0, C if alone else None))
    return p.program()
