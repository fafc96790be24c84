"""Solving K u = rhs with factors of a nearby matrix.

Iterative refinement, u += M^-1 (rhs - K u), contracts when the factored M is close to K.  Where a few pivots had to
be replaced, M is far from K in as many directions, and refinement stands still in these only; GMRES with M as
its preconditioner (Saad and Schultz 1986) takes them out in about one step each.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..compiled.jit import kernel
from .vectors import dot_within

ENOUGH = 1e-12  # relative residual at which refinement ends
KRYLOV_ABOVE = 1e-8  # relative residual above which a stalled refinement is handed to GMRES
SOLVABLE = 0.1  # GMRES must leave less than this share: with a singular K, the ray M^-1 rhs is what is sought
KRYLOV_STEPS, KRYLOV_TOL = 12, 1e-10
CANCELLED = 0.5  # a share of a vector that orthogonalization may leave without being done again
BREAKDOWN = 1e-14  # a new vector of the basis that is shorter than this share of the residual is rounding
LARGEST = 1e100  # vectors beyond this are the end of a factorization, and squares of them overflow
USEFUL = 0.9  # a step that leaves more is taken back: with a singular K it only adds to out what K does not see
SLOW = 0.5  # a residual that falls by less than this factor has stalled
START = np.int64(0)  # a literal would be a second signature
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
    krylov: Callable[[np.ndarray, float], int],
    found: tuple[float, float, int],
    out: np.ndarray,
    steps: int,
) -> tuple[float, int]:
    """(norm, count) after GMRES where refinement of `out` stalled; `found` is what `solve_refined` returned.

    ``krylov(u, tol)`` adds to u what GMRES finds for the residual of the last call of `residual_of`, until the
    2-norm of what is left is tol, and returns the number of its steps.
    """
    size, norm, count = found
    if KRYLOV_ABOVE * size < norm < LARGEST and steps > 0:
        before, previous = out.copy(), norm
        count += krylov(out, KRYLOV_TOL * size)
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
    size = residual.size
    basis, images, small = np.empty((steps + 1) * size), np.empty(steps * size), np.zeros((steps + 1, steps + 3))
    beta, count = begin_basis(residual, basis, small), 0
    w = np.empty(size)
    for k in range(steps):
        image = images[k * size : (k + 1) * size]
        image[:] = 0.0
        add_solution(basis[k * size : (k + 1) * size], image)
        multiply(image, w)
        left = extend_basis(k, w, basis, small)
        if left < 0.0:
            break
        count = k + 1
        if left <= tol or small[count, k] <= BREAKDOWN * beta:
            break
    add_images(count, images, small, out)
    return count


@kernel
def begin_basis(residual, basis, small):
    """The first vector of the basis, residual / beta; returns beta, the norm.

    `small`, (steps + 1, steps + 3), keeps the triangle of the Hessenberg matrix (below it the norms of the new
    vectors), the cosines and sines of the rotations that made it one, and the right-hand side of the least squares.
    """
    beta = math.sqrt(dot_within(residual, START, residual, START, residual.size))
    small[:] = 0.0
    small[0, -1] = beta
    for i in range(residual.size):
        basis[i] = residual[i] / beta
    return beta


@kernel
def extend_basis(k, w, basis, small):
    """Step k of Arnoldi with w = K M^-1 basis[k], which is used up; returns the norm of the residual that is then left.

    -1 when w is beyond all bounds, and nothing is done.
    """
    size, largest = w.size, 0.0
    for i in range(size):
        if not abs(w[i]) <= largest:
            largest = abs(w[i])
            if not largest < LARGEST:
                return -1.0
    norm = math.sqrt(dot_within(w, START, w, START, size))
    for _ in range(2):  # once more where much was taken out; twice is enough
        before = norm
        for i in range(k + 1):
            projection = dot_within(basis, i * size, w, START, size)
            small[i, k] += projection
            start = np.uint64(i * size)
            for j in range(np.uint64(size)):
                w[j] -= projection * basis[start + j]
        norm = math.sqrt(dot_within(w, START, w, START, size))
        if norm > CANCELLED * before:
            break
    start = np.uint64((k + 1) * size)
    for j in range(np.uint64(size)):
        basis[start + j] = w[j] / norm
    for i in range(k):
        cosine, sine, a, b = small[i, -3], small[i, -2], small[i, k], small[i + 1, k]
        small[i, k], small[i + 1, k] = cosine * a + sine * b, cosine * b - sine * a
    a = small[k, k]
    length = math.sqrt(a * a + norm * norm)
    cosine, sine = (a / length, norm / length) if length > 0.0 else (1.0, 0.0)
    small[k, k], small[k + 1, k], small[k, -3], small[k, -2] = length, norm, cosine, sine
    small[k, -1], small[k + 1, -1] = cosine * small[k, -1], -sine * small[k, -1]
    return abs(small[k + 1, -1])


@kernel
def add_images(count, images, small, out):
    """out += the combination of the first `count` images that leaves the smallest residual."""
    for k in range(count - 1, -1, -1):
        value = small[k, -1]
        for i in range(k + 1, count):
            value -= small[k, i] * small[i, -1]
        small[k, -1] = value / small[k, k] if small[k, k] > 0.0 else 0.0
        start = np.uint64(k * out.size)
        for j in range(np.uint64(out.size)):
            out[j] += small[k, -1] * images[start + j]
