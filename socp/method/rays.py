"""Repair of rays: the least relative change of an iterate's ray that makes its residuals zero.

Residuals of a ray vanish with mu, in directions of a singular P only as its root, and rounding may stop that long
before a certificate holds.  But the ray is near.  With rows F of residuals r_F beyond rounding, v becomes v - |v| o t,
where t is the shortest solution of (M_F diag |v|) t = r_F: entries that are noise may vanish, large ones hardly move.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq

from ..problem.checks import EPS
from ..problem.program import ConeProgram
from ..problem.settings import Settings
from ..verify.certificates import CERTAIN, ROUNDED, Ray, cleaned, primal_certificate

MOST_ROWS, MOST_ENTRIES = 1000, 4_000_000  # of the dense matrix of a repair
RANK = 1e-13  # least pivot of independent rows
ROUNDS = 8  # of repairs, each of which may violate other rows


def repaired_certificate(program: Any, settings: Settings, *multipliers: np.ndarray) -> tuple[Ray, float] | None:
    """Return the `primal_certificate` of multipliers, repaired if that is needed for an error of `CERTAIN`.

    Return None if the error is larger than that, or than `tol_infeasible`.
    """
    tol = settings.tol
    ray, error = primal_certificate(program, *multipliers, tol=tol)
    if not error <= CERTAIN and all(np.isfinite(v).all() for v in multipliers):
        other, repaired = primal_certificate(program, *repaired_multipliers(program, *multipliers), tol=tol)
        if repaired < error:
            ray, error = other, repaired
    return (ray, error) if error <= min(settings.tol_of_rays, CERTAIN) else None


def repaired_multipliers(program: Any, *multipliers: np.ndarray) -> Ray:
    """Return multipliers near the given ones with A'y + G'z = 0, as far as bounds and a repair allow."""
    blocks, parts = program.constraints, list(multipliers)
    M = sp.vstack([block.matrix for block in blocks], format="csc").T.tocsr()
    ends, held = np.cumsum([v.size for v in parts])[:-1], np.zeros(program.n, bool)
    for _ in range(ROUNDS):
        parts = list(cleaned(program, *parts))
        v = np.concatenate(parts)
        left = M @ v
        wrong = np.abs(left) > ROUNDED * (abs(M) @ np.abs(v))
        if not wrong.any():
            break
        held |= wrong
        changed = _changed(M[held], left[held], v)
        if changed is v:
            break
        parts = np.split(changed, ends)
    return tuple(parts)


def repaired_direction(program: ConeProgram, x: np.ndarray) -> np.ndarray:
    """Return the direction near `x` with Px = 0, Ax = 0 and (Gx)_i <= 0 in the rows of orthants, if a repair finds it.

    Rows of second-order cones are ignored.
    """
    if not np.isfinite(x).all() or not x.any():
        return x
    start, second_order = program.cone_layout
    orthant = ~np.repeat(second_order, np.diff(start)) & np.isfinite(program.h)
    P = None if program.hessian.is_zero else program.P if program.hessian.is_sparse else program.hessian.dense()
    M = sp.vstack([program.A, program.G[np.flatnonzero(orthant)]] + ([] if P is None else [sp.csc_array(P)]), "csr")
    one_sided = np.zeros(M.shape[0], bool)
    one_sided[program.p : program.p + np.count_nonzero(orthant)] = True
    held = np.zeros(M.shape[0], bool)
    for _ in range(ROUNDS):
        left = M @ x
        wrong = (np.abs(left) > ROUNDED * (abs(M) @ np.abs(x))) & (~one_sided | (left > 0.0))
        if not wrong.any():
            break
        held |= wrong
        before, x = x, _changed(M[held], left[held], x)
        if x is before:
            break
    return x


def _changed(M: sp.csr_array, left: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return v - |v| o t for the shortest t with (M diag |v|) t = left; v itself if M is too large."""
    if M.shape[0] > MOST_ROWS:
        return v
    columns = np.unique(M.indices[v[M.indices] != 0.0])
    if M.shape[0] * columns.size > MOST_ENTRIES:
        return v
    dense, size = M[:, columns].toarray(), np.abs(v[columns])
    dense *= size
    scale = np.abs(dense).max(axis=1, initial=0.0)
    scale[scale == 0.0] = 1.0
    t = lstsq(dense / scale[:, None], left / scale, cond=RANK, overwrite_a=True, lapack_driver="gelsy")[0]
    changed = v.copy()
    changed[columns] -= size * t
    changed[columns[np.abs(1.0 - t) <= 64.0 * EPS]] = 0.0  # what should vanish, vanishes
    return changed
