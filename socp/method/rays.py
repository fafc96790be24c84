"""Directions along which the objective falls for ever, made exact.

On the way to such a ray Px vanishes as the root of mu, and rounding stops that long before tol.  But the ray is near,
and so is the null space that it lies in: that of P, of A and of the rows of the orthant that it does not leave.
"""

from __future__ import annotations

import numpy as np

from ..derivatives.saddle import SPECTRAL_UP_TO
from ..problem.program import ConeProgram


def nearest_ray(program: ConeProgram, x: np.ndarray) -> np.ndarray:
    """The direction nearest to x with Px = 0, Ax = 0 and (Gx)_i = 0 on the rows of the orthant that x would leave.

    Rows of second-order cones are left as they are.
    """
    if program.n > SPECTRAL_UP_TO or not np.isfinite(x).all() or not x.any():
        return x
    x = x / np.abs(x).max()
    start, second_order = program.cone_layout
    orthant = ~np.repeat(second_order, np.diff(start)) & np.isfinite(program.h)
    curved = program.hessian.dense()[: 0 if program.hessian.is_zero else None]
    equations, G = np.vstack([curved, program.A.toarray()]), program.G.toarray()[orthant]
    held = np.zeros(G.shape[0], dtype=np.bool_)
    while True:
        held |= G @ x > 0.0
        rows = np.vstack([equations, G[held]])
        x = x - np.linalg.lstsq(rows, rows @ x, rcond=None)[0]
        if not (G[~held] @ x > 0.0).any():
            return x
