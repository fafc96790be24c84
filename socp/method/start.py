"""Starting points of the embedding."""

from __future__ import annotations

import numpy as np

from ..compiled.jit import inner_kernel
from ..cones import product as cones
from ..form.standard import StandardForm
from ..kkt.base import KKT
from .step import Newton, Point

WARM_MARGIN = 1e-3  # a warm start is at least so far inside the cone (equilibrated units)
WARM_LIMIT = 0.3  # and is not tried when it would have to be moved further than this
SMALL_STEP = 1e-8  # a step below this is none
SHORT_WARM_STEP = 0.1  # a warm start that meets a step below this is given up for a cold one
FAR = 1e3  # a side that is so many times larger than what draws x away from zero hardly holds it back


def cold(form: StandardForm, kkt: KKT, point: Point) -> bool:
    """The solution of the program with the cone constraint penalized by 1/2 ||W^-1 (s - f)||^2, shifted into the cone.

        [ P       A'   G'W^-1 ] [x  ]   [-c          ]                  [.         ]   [0           ]
        [ A       0    0      ] [y  ] = [ b          ]  or for P = 0: K [.         ] = [b           ],
        [ W^-1 G  0   -I      ] [W z]   [ W^-1 (h-f) ]                  [W^-1 (f-s)]   [W^-1 (h - f)]

    with W^-1 (s - f) = -W z in the first case and K (., y, W z) = (-c, 0, 0) in the second.  W = 1 and f = 0 but in
    cones whose sides are far away, as a bound of 1e10 that stands for none.  Their slacks are f = h, of the size W, and
    must neither draw x to the middle nor be the size of all others.

    Returns False when the KKT matrix cannot be factored.
    """
    first = form.n + form.p
    w, eta, weight = side_weights(form)
    far = np.where(weight > 1.0, form.g[form.p :], 0.0)
    rhs = np.concatenate([-form.c, form.g])
    rhs[first:] = (rhs[first:] - far) / weight
    if not form.P.is_zero:
        factored = kkt.factor(w, eta, rhs, point.u) >= 0
        np.negative(point.z, out=point.s)
    else:
        primal = np.zeros(rhs.size)
        rhs[: form.n] = 0.0
        factored = kkt.factor(w, eta, rhs, primal) >= 0
        rhs[: form.n], rhs[form.n :] = -form.c, 0.0
        if factored:
            kkt.solve(rhs, point.u)
        point.u[: form.n] = primal[: form.n]
        np.negative(primal[first:], out=point.s)
    if not factored:
        return False
    point.s += far / weight
    shift_inside(form.l, form.ptr, point.s)
    shift_inside(form.l, form.ptr, point.z)
    point.s *= weight
    point.z /= weight
    point.tau = point.kappa = 1.0
    return bool(np.isfinite(point.u).all() and np.isfinite(point.s).all())


def side_weights(form: StandardForm) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The scaling (w, eta) that multiplies a cone by |h| / size when that is `FAR` or more, and the same by rows.

    The size is that of what keeps x = 0 from being feasible, hence of x, s and z that are not far away.
    """
    w, eta, weight = np.zeros(form.m), np.ones(form.ptr.size - 1), np.ones(form.m)
    weigh_sides(form.p, form.l, form.ptr, form.g, w, eta, weight)
    return w, eta, weight


@inner_kernel
def weigh_sides(p, l, ptr, g, w, eta, weight):
    """`side_weights` into its three arrays."""
    for i in range(weight.size):
        weight[i] = g[p + i]
    size = max(1.0, -cones.margin(l, ptr, weight))
    for i in range(p):
        size = max(size, abs(g[i]))
    for i in range(weight.size):
        weight[i] = abs(weight[i]) / size if abs(weight[i]) / size >= FAR else 1.0
        w[i] = weight[i] if i < l else 0.0
    for k in range(ptr.size - 1):
        eta[k] = 1.0
        for i in range(ptr[k], ptr[k + 1]):
            eta[k] = max(eta[k], weight[i])
        for i in range(ptr[k], ptr[k + 1]):
            weight[i] = eta[k]
        w[ptr[k]] = 1.0


def warm(newton: Newton, point: Point, last: Point) -> bool:
    """An earlier optimal point, its s and z moved inside the cone as far as the new data moved the residuals.

    Returns False (and the point is to be set anew) when the residuals there are of the size of the data,
    so that a cold start is as good.
    """
    form = newton.form
    np.divide(last.u, last.tau, out=point.u)
    np.divide(last.s, last.tau, out=point.s)
    point.tau, point.kappa = 1.0, 0.0
    newton.residuals(point)
    size = 1.0 + max(float(np.abs(form.c).max(initial=0.0)), float(np.abs(form.g).max(initial=0.0)))
    epsilon = max(float(np.abs(newton.r).max(initial=0.0)) / size, WARM_MARGIN)
    if not epsilon < WARM_LIMIT:
        return False
    for part in (point.s, point.z):
        move_inside(form.l, form.ptr, epsilon, part)
    point.kappa = epsilon
    return True


@inner_kernel
def shift_inside(l, ptr, v):
    """v := v + (1 + alpha) e when v is not well inside the cone, alpha the way to its boundary."""
    inside, size = cones.margin(l, ptr, v), 1.0
    for i in range(v.size):
        size = max(size, abs(v[i]))
    if inside <= 1e-8 * size:
        cones.add_identity(l, ptr, 1.0 - inside, v)


@inner_kernel
def move_inside(l, ptr, margin, v):
    """v := v + alpha e where v is not so far inside the cone."""
    inside = cones.margin(l, ptr, v)
    if inside < margin:
        cones.add_identity(l, ptr, margin - min(inside, 0.0), v)
