"""Iterative refinement and GMRES for K u = rhs with factors M of a nearby matrix: the decisions and the vectors.

Iterative refinement, u += M^-1 (rhs - K u), contracts when the factored M is close to K.  Where a few pivots had to
be replaced, M is far from K in as many directions, and refinement stalls in these only; GMRES with M as its
preconditioner (Saad and Schultz 1986) removes them in about one step each.
"""

from __future__ import annotations

import math

from ..compiled.kernels import inner
from ..compiled.signatures import Floats, Matrix
from .vectors import dot_within

KRYLOV_STEPS = 12
USEFUL = 0.9  # A step that leaves more than this share of the residual is undone: it may add only a null vector of K.
# Refinement has stalled if a step leaves more than this share of the residual.  GMRES is undone if it leaves more (with
# a singular K the ray M^-1 rhs is wanted), and ends at this share of the limit.  A vector of which orthogonalization
# leaves less than this share has lost digits.
SLOW = 0.5
GO_ON, STOP, TAKE_BACK = range(3)  # decisions after a step of refinement


@inner
def refinement_decision(excess: float, previous: float, count: int, steps: int, further: int) -> int:
    """Return GO_ON, STOP or TAKE_BACK after refinement step `count`; `excess` is the residual divided by its limit.

    Refinement goes on if the reduction from `previous`, one step earlier, would meet the limit in `further` more steps.
    """
    if count > 0 and not excess < USEFUL * previous:
        return TAKE_BACK
    if not excess > 1.0 or count >= steps:
        return STOP
    ratio = excess / previous
    if count > 0 and (not ratio < SLOW or excess * ratio**further > 1.0):
        return STOP
    return GO_ON


@inner
def extend_basis(k: int, w: Floats, basis: Floats, small: Matrix) -> float:
    """Do step k of Arnoldi with w = K M^-1 basis[k], which is overwritten; return the norm of the GMRES residual.

    Return -1 if w is not finite; the basis is then not extended.  `small`, (steps + 1, steps + 3), holds the triangular
    factor of the Hessenberg matrix (below its diagonal the norms of new vectors), the cosines and sines of the Givens
    rotations, and the right-hand side of the least-squares problem; its first entry starts as the norm of the residual.
    """
    size, last, start = w.size, small.shape[1] - 1, (k + 1) * w.size
    norm = math.sqrt(dot_within(w, 0, w, 0, size))
    for _ in range(2):  # A second pass restores lost orthogonality; two are enough.
        before = norm
        for i in range(k + 1):
            at, projection = i * size, dot_within(basis, i * size, w, 0, size)
            small[i, k] += projection
            for j in range(size):
                w[j] -= projection * basis[at + j]
        norm = math.sqrt(dot_within(w, 0, w, 0, size))
        if not math.isfinite(norm):
            return -1.0
        if norm > SLOW * before:
            break
    for j in range(size):
        basis[start + j] = w[j] / norm
    for i in range(k):
        cosine, sine, a, b = small[i, last - 2], small[i, last - 1], small[i, k], small[i + 1, k]
        small[i, k], small[i + 1, k] = cosine * a + sine * b, cosine * b - sine * a
    a = small[k, k]
    length = math.sqrt(a * a + norm * norm)
    cosine, sine = (a / length, norm / length) if length > 0.0 else (1.0, 0.0)
    small[k, k], small[k + 1, k], small[k, last - 2], small[k, last - 1] = length, norm, cosine, sine
    small[k, last], small[k + 1, last] = cosine * small[k, last], -sine * small[k, last]
    return abs(small[k + 1, last])


@inner
def add_images(count: int, images: Floats, small: Matrix, out: Floats) -> None:
    """Add to `out` the combination of the first `count` images that minimizes the residual."""
    last = small.shape[1] - 1
    for k in range(count - 1, -1, -1):
        value = small[k, last]
        for i in range(k + 1, count):
            value -= small[k, i] * small[i, last]
        small[k, last] = value / small[k, k] if small[k, k] > 0.0 else 0.0
        start = k * out.size
        for j in range(out.size):
            out[j] += small[k, last] * images[start + j]
