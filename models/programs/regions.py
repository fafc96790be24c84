"""Polyhedral regions of known class (Fung, Mangasarian and Shavlik 2002)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import qp


class Region(NamedTuple):
    """The polyhedron D x <= d and the side, -1 or 1, of its class."""

    D: np.ndarray
    d: np.ndarray
    side: float


def knowledge_program(X: Any, y: np.ndarray, C: np.ndarray, regions: Sequence[Region], Q: float) -> qp.Blocks:
    """Return the program with polyhedral knowledge (Fung, Mangasarian and Shavlik 2002), regions at the price Q.

    All x with D x <= d belong to the side s: some u >= 0 has D'u = -s w and s b - d'u >= 1.

        min  1/2 |w|^2 + sum_i C_i xi_i + Q sum_j (1'r_j + zeta_j)
        s.t. y_i (w'x_i + b) >= 1 - xi_i,   -r_j <= D_j'u_j + s_j w <= r_j,   s_j b - d_j'u_j >= 1 - zeta_j
             xi, zeta, u_j >= 0;   an infinite Q leaves r and zeta out
    """
    (m, k), soft = X.shape, math.isfinite(Q)
    names = [f"u{j}" for j in range(len(regions))]
    sizes = {name: region.d.size for name, region in zip(names, regions)}
    sizes |= {f"r{j}": k for j in range(len(regions)) if soft}
    p = qp.Blocks(w=k, b=1, xi=m, zeta=len(regions) if soft else 0, **sizes)
    p.minimize(quadratic={"w": 1.0}, xi=C, zeta=Q if soft else 0.0)
    p.at_least(1.0, w=sp.diags_array(y) @ sp.csr_array(X), b=y, xi=1.0)
    p.bounds(xi=(0.0, None), zeta=(0.0, None))
    for j, (u, (D, d, s)) in enumerate(zip(names, regions)):
        r, price = f"r{j}", {f"r{j}": Q}
        p.bounds(**{u: (0.0, None)})
        if soft:
            p.minimize(**price)  # type: ignore[arg-type]
            p.at_least(0.0, **{r: 1.0, u: D.T, "w": s})
            p.at_most(0.0, **{r: -1.0, u: D.T, "w": s})
        else:
            p.equal(0.0, **{u: D.T, "w": s})
        p.at_least(1.0, b=s, zeta=np.eye(len(regions))[[j]], **{u: -d[None, :]})
    return p
