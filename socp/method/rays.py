"""Projection of iterates onto rays along which the objective is unbounded below.

Towards such a ray Px vanishes as the square root of mu, and rounding stops that long before tol.  But the ray is near,
and it lies in a known null space: of P, of A and of the rows of the orthant that are active along it.
"""

from __future__ import annotations

import numpy as np

from ..derivatives.saddle import SPECTRAL_UP_TO
from ..problem.program import ConeProgram


def nearest_ray(program: ConeProgram, x: np.ndarray) -> np.ndarray:
    """Return the direction near `x` with Px = 0, Ax = 0 and (Gx)_i = 0 in the rows of orthants that `x` violates.

    Rows of second-order cones are ignored.  A program with many variables has its `x` returned.
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
