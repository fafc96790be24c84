"""Nesterov-Todd scaling: the symmetric W with W z = W^-1 s = lam.

On the orthant W = diag(w), w_i = sqrt(s_i / z_i).  On a second-order cone, with the normalized points
s / sqrt(s'Js) and z / sqrt(z'Jz), the scaling point w (w'Jw = 1, w_0 > 0) and eta = (s'Js / z'Jz)^(1/4),

    W   = eta [ w_0  w_1'                      ]      W^-1 = 1/eta^2 J W J
              [ w_1  I + w_1 w_1' / (1 + w_0)  ]      W^2  = eta^2 (2 w w' - J)

(Vandenberghe, "The CVXOPT linear and quadratic cone program solvers", 2010, section 5.)  The arrays: w
and lam have an entry per row of K, eta one per second-order cone.
"""

from __future__ import annotations

import math

from ..compiled.kernels import inner, leaf
from ..compiled.signatures import Floats, Ints
from ..linalg.vectors import dot, dot_within, norm_tail


@inner
def nesterov_todd(l: int, ptr: Ints, s: Floats, z: Floats, w: Floats, eta: Floats, lam: Floats) -> int:
    """Compute the scaling w, eta, lam at (s, z); return 0, or -1 if s or z is not in the interior of K."""
    outside = 0
    for i in range(l):  # A loop that may end early does not vectorize.
        outside |= int(not (s[i] > 0.0 and z[i] > 0.0))
    if outside:
        return -1
    for i in range(l):
        root_s, root_z = math.sqrt(s[i]), math.sqrt(z[i])
        w[i], lam[i] = root_s / root_z, root_s * root_z
    for k in range(ptr.size - 1):
        start, stop = ptr[k], ptr[k + 1]
        s_tail, z_tail = norm_tail(s, start, stop), norm_tail(z, start, stop)
        if not (s[start] > s_tail and z[start] > z_tail):
            return -1
        s_det = math.sqrt(s[start] - s_tail) * math.sqrt(s[start] + s_tail)
        z_det = math.sqrt(z[start] - z_tail) * math.sqrt(z[start] + z_tail)
        eta[k] = math.sqrt(s_det / z_det)
        # gamma = sqrt((1 + s'z) / 2) and w = (s + Jz) / (2 gamma) for the normalized s and z
        cosine = dot(s, z, start, stop) / s_det / z_det
        gamma = math.sqrt(0.5 * (1.0 + max(cosine, 1.0)))
        s_factor, z_factor = 0.5 / gamma / s_det, 0.5 / gamma / z_det
        for i in range(start + 1, stop):
            w[i] = s_factor * s[i] - z_factor * z[i]
        w[start] = math.sqrt(1.0 + dot(w, w, start + 1, stop))
        apply_cone(eta[k], w, z, lam, start, stop)
        if not (lam[start] > norm_tail(lam, start, stop) and math.isfinite(lam[start])):
            return -1
    return 0


@leaf
def norm(eta: float, w0: float) -> float:
    """Return |W| on a second-order cone: eta (w_0 + ||w_1||), where w'Jw = 1."""
    return eta * (w0 + math.sqrt(max(w0 * w0 - 1.0, 0.0)))


@leaf
def apply_cone(eta: float, w: Floats, v: Floats, out: Floats, start: int, stop: int) -> None:
    """out := W v on one second-order cone."""
    tail = dot(w, v, start + 1, stop)
    v0 = v[start]
    factor = v0 + tail / (1.0 + w[start])
    out[start] = eta * (w[start] * v0 + tail)
    for i in range(start + 1, stop):
        out[i] = eta * (v[i] + factor * w[i])


@leaf
def apply(l: int, ptr: Ints, w: Floats, eta: Floats, v: Floats, out: Floats) -> None:
    """out := W v; `out` may be v."""
    for i in range(l):
        out[i] = w[i] * v[i]
    if ptr.size > 1:
        apply_to_cones(ptr, w, eta, v, out)


@inner
def apply_to_cones(ptr: Ints, w: Floats, eta: Floats, v: Floats, out: Floats) -> None:
    """out := W v on the second-order cones; `out` may be v."""
    for k in range(ptr.size - 1):
        apply_cone(eta[k], w, v, out, ptr[k], ptr[k + 1])


@leaf
def apply_inverse(l: int, ptr: Ints, w: Floats, eta: Floats, v: Floats, v0: int, out: Floats, out0: int) -> None:
    """out[out0:] := W^-1 v[v0:]; `out` may be v if out0 = v0."""
    source, to = v0, out0
    for i in range(l):
        out[to + i] = v[source + i] / w[i]
    if ptr.size > 1:
        apply_inverse_to_cones(ptr, w, eta, v, v0, out, out0)


@inner
def apply_inverse_to_cones(ptr: Ints, w: Floats, eta: Floats, v: Floats, v0: int, out: Floats, out0: int) -> None:
    """out[out0:] := W^-1 v[v0:] on the second-order cones; `out` may be v if out0 = v0."""
    source, to = v0, out0
    for k in range(ptr.size - 1):
        start, stop = ptr[k], ptr[k + 1]
        tail = dot_within(w, start + 1, v, v0 + start + 1, stop - start - 1)
        head, inverse = v[v0 + start], 1.0 / eta[k]
        factor = tail / (1.0 + w[start]) - head
        out[out0 + start] = (w[start] * head - tail) * inverse
        for i in range(start + 1, stop):
            out[to + i] = (v[source + i] + factor * w[i]) * inverse
