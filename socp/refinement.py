"""Solving K u = rhs with factors of a nearby matrix.

Iterative refinement, u += M^-1 (rhs - K u), contracts when the factored M is close to K.  Where a few pivots had to
be replaced, M is far from K in as many directions, and refinement stands still in these only; GMRES with M as
its preconditioner (Saad and Schultz 1986) takes them out in about one step each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .jit import kernel

ENOUGH = 1e-12  # relative residual at which refinement ends
KRYLOV_ABOVE = 1e-8  # relative residual above which a stalled refinement is handed to GMRES
SOLVABLE = 0.1  # GMRES must leave less than this share: with a singular K, the ray M^-1 rhs is what is sought
KRYLOV_STEPS, KRYLOV_TOL = 12, 1e-10
LARGEST = 1e100  # vectors beyond this are the end of a factorization, and squares of them overflow
USEFUL = 0.9  # a step that leaves more is taken back: with a singular K it only adds to out what K does not see
SLOW = 0.5  # a residual that falls by less than this factor has stalled
GO_ON, STOP, TAKE_BACK = np.int64(0), np.int64(1), np.int64(2)  # verdicts on a step of refinement


@kernel
def verdict(norm, previous, size, count, steps):
    """What follows a solve that left the residual `norm` of a right-hand side of that size, `previous` before it."""
    if count > 0 and not norm < USEFUL * previous:
        return TAKE_BACK
    if not norm > ENOUGH * size or count >= steps or (count > 0 and not norm < SLOW * previous):
        return STOP
    return GO_ON


@kernel
def judge(what, norm, steps, solution, before, found):
    """The verdict that follows `what`, now that `solution` leaves the residual `norm`.

    found = (|rhs|, |residual|, further solves) is brought up to date.  With GO_ON the solution is kept in `before`, and
    a correction is to be added to it; with TAKE_BACK it is again what it was, and its residual is to be judged once
    more, which then ends with STOP.
    """
    previous, found[1] = found[1], norm
    if what == TAKE_BACK:
        return STOP
    what = verdict(norm, previous, found[0], np.int64(found[2]), steps)
    if what == GO_ON:
        before[:] = solution
        found[2] += 1.0
    elif what == TAKE_BACK:
        solution[:] = before
    return what


def solve_refined(
    residual_of: Callable[[np.ndarray], float],
    residual: np.ndarray,
    add_solution: Callable[[np.ndarray, np.ndarray], None],
    rhs: np.ndarray,
    out: np.ndarray,
    steps: int,
) -> tuple[float, float, int]:
    """K out = rhs.

    Parameters
    ----------
    residual_of : callable
        ``residual_of(u)`` fills `residual` with rhs - K u and returns its infinity norm.
    add_solution : callable
        ``add_solution(r, u)`` does u += M^-1 r.
    steps : int
        At most so many steps of refinement.

    Returns
    -------
    size, norm, count
        The infinity norms of rhs and of the residual that is left, and the number of further solves with M.
    """
    size = float(np.abs(rhs).max(initial=0.0))
    out[:] = 0.0
    add_solution(rhs, out)
    norm, previous, count = residual_of(out), np.inf, 0
    while (what := verdict(norm, previous, size, count, steps)) == GO_ON:
        before, previous = out.copy(), norm
        add_solution(residual, out)
        norm = residual_of(out)
        count += 1
    if what == TAKE_BACK:
        out[:] = before
        norm = residual_of(out)
    return size, norm, count


def finish_with_gmres(
    residual_of: Callable[[np.ndarray], float],
    residual: np.ndarray,
    add_solution: Callable[[np.ndarray, np.ndarray], None],
    multiply: Callable[[np.ndarray, np.ndarray], None],
    found: tuple[float, float, int],
    out: np.ndarray,
    steps: int,
) -> tuple[float, int]:
    """(norm, count) after GMRES where refinement of `out` stalled; `found` is what `solve_refined` returned."""
    size, norm, count = found
    if KRYLOV_ABOVE * size < norm < LARGEST and steps > 0:
        before, previous = out.copy(), norm
        count += gmres(add_solution, multiply, residual, out, KRYLOV_STEPS, KRYLOV_TOL * size)
        norm = residual_of(out)
        if not norm < SOLVABLE * min(previous, 0.01 * size):
            out[:] = before
            norm = residual_of(out)
    return norm, count


def gmres(
    add_solution: Callable[[np.ndarray, np.ndarray], None],
    multiply: Callable[[np.ndarray, np.ndarray], None],
    residual: np.ndarray,
    out: np.ndarray,
    steps: int,
    tol: float,
) -> int:
    """out += d with K d = residual, by at most `steps` steps of right-preconditioned GMRES; returns their number."""
    beta = float(np.linalg.norm(residual))
    basis, images = np.empty((steps + 1, residual.size)), np.zeros((steps, residual.size))
    basis[0] = residual / beta
    H = np.zeros((steps + 1, steps))
    y: np.ndarray = np.zeros(0)
    w, count = np.empty_like(residual), 0
    for k in range(steps):
        add_solution(basis[k], images[k])
        multiply(images[k], w)
        if not np.abs(w).max() < LARGEST:
            break
        count = k + 1
        for _ in range(2):  # twice is enough
            projections = basis[:count] @ w
            H[:count, k] += projections
            w -= projections @ basis[:count]
        H[k + 1, k] = np.linalg.norm(w)
        target = np.zeros(k + 2)
        target[0] = beta
        y, *_ = np.linalg.lstsq(H[: k + 2, : k + 1], target, rcond=None)
        left = np.linalg.norm(H[: k + 2, : k + 1] @ y - target)
        if left <= tol or H[k + 1, k] <= 1e-14 * beta:
            break
        basis[count] = w / H[k + 1, k]
    out += y @ images[:count]
    return count
