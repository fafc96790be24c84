"""The product cone K = R^l_+ x Q^k1 x Q^k2 x ... on flat arrays.

All kernels take the pair (l, ptr): the first l entries are the nonnegative orthant, and second-order
cone k has the entries ptr[k] to ptr[k + 1], its t first.  The Jordan algebra of K:

    u o v = u_i v_i                            on the orthant
    u o v = (u'v, u_0 v_1 + v_0 u_1)           on a second-order cone
    e     = 1 on the orthant, (1, 0, ..., 0) on a second-order cone

The degree of K counts 1 for an entry of the orthant and 1 for a whole second-order cone, so that
s o z = mu e means s'z = mu degree.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.kernels import inner, leaf
from ..compiled.signatures import Floats, Ints
from ..linalg.vectors import bits, dot, from_bits, norm_tail


@leaf
def j_residual(v: Floats, start: int, stop: int) -> float:
    """Return v'Jv = v_0^2 - ||v_1||^2 as (v_0 - ||v_1||)(v_0 + ||v_1||), without the cancellation of squares."""
    tail = norm_tail(v, start, stop)
    return (v[start] - tail) * (v[start] + tail)


@inner
def add_identity(l: int, ptr: Ints, alpha: float, v: Floats) -> None:
    """v := v + alpha e."""
    for i in range(l):
        v[i] += alpha
    for k in range(ptr.size - 1):
        v[ptr[k]] += alpha


@inner
def margin(l: int, ptr: Ints, v: Floats) -> float:
    """Return the largest alpha with v - alpha e in K, inf for the empty cone; v is in K if and only if it is >= 0."""
    smallest = np.inf
    for i in range(l):
        smallest = min(smallest, v[i])
    for k in range(ptr.size - 1):
        smallest = min(smallest, v[ptr[k]] - norm_tail(v, ptr[k], ptr[k + 1]))
    return smallest


@inner
def project(l: int, ptr: Ints, v: Floats) -> None:
    """Move v to the nearest point of K."""
    for i in range(l):
        v[i] = max(v[i], 0.0)
    for k in range(ptr.size - 1):
        start, stop = ptr[k], ptr[k + 1]
        tail = norm_tail(v, start, stop)
        if v[start] < tail:
            head = max(0.5 * (v[start] + tail), 0.0)  # 0 in the polar cone
            for i in range(start + 1, stop):
                v[i] *= head / tail
            v[start] = head


@inner
def product(l: int, ptr: Ints, u: Floats, v: Floats, out: Floats) -> None:
    """out := u o v."""
    for i in range(l):
        out[i] = u[i] * v[i]
    for k in range(ptr.size - 1):
        start, stop = ptr[k], ptr[k + 1]
        u0, v0 = u[start], v[start]
        head = dot(u, v, start, stop)
        for i in range(start + 1, stop):
            out[i] = u0 * v[i] + v0 * u[i]
        out[start] = head


@inner
def divide(l: int, ptr: Ints, lam: Floats, d: Floats, out: Floats) -> None:
    """out := lam \\ d, the solution u of lam o u = d, for lam in the interior of K."""
    for i in range(l):
        out[i] = d[i] / lam[i]
    for k in range(ptr.size - 1):
        start, stop = ptr[k], ptr[k + 1]
        lam0 = lam[start]
        u0 = (lam0 * d[start] - dot(lam, d, start + 1, stop)) / j_residual(lam, start, stop)
        for i in range(start + 1, stop):
            out[i] = (d[i] - u0 * lam[i]) / lam0
        out[start] = u0


@inner
def max_step(l: int, ptr: Ints, v: Floats, d: Floats) -> float:
    """Return the largest alpha with v + alpha d in K, for v in the interior of K; inf if there is none.

    On a second-order cone, let r = sqrt(v'Jv), w = v / r.  The hyperbolic rotation that takes w to e
    takes d / r to rho = (w'Jd, d_1 - (w'Jd + d_0) / (w_0 + 1) w_1) / r, and e + alpha rho stays in the
    cone until alpha = 1 / (||rho_1|| - rho_0).
    """
    largest = 0
    for i in range(l):  # `largest` holds the bits of max(-d_i / v_i, 0).
        largest = max(largest, bits(min(d[i] / v[i], 0.0)))
    steepest = from_bits(largest)
    for k in range(ptr.size - 1):
        start, stop = ptr[k], ptr[k + 1]
        r = math.sqrt(max(j_residual(v, start, stop), 0.0))
        if r == 0.0:
            return 0.0
        rho0 = (v[start] * d[start] - dot(v, d, start + 1, stop)) / r
        factor = (rho0 + d[start]) / (v[start] / r + 1.0) / r
        tail = 0.0
        for i in range(start + 1, stop):
            rho = d[i] - factor * v[i]
            tail += rho * rho
        steepest = max(steepest, (math.sqrt(tail) - rho0) / r)
    return 1.0 / steepest if steepest > 0.0 else np.inf
