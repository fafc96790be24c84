"""Starting points of the embedding."""

from __future__ import annotations

import numpy as np

from ..compiled.kernels import deferred, deferred_kernel, inner
from ..compiled.signatures import Floats, Ints
from ..cones import product as cones
from ..cones.scaling import apply_inverse, nesterov_todd
from ..form.standard import NO_HESSIAN
from ..kkt.base import factor_and_solve
from .newton import Newton, Point, measure, relative_residuals, scale

WARM_MARGIN = 1e-3  # least margin of a warm start inside the cone, in equilibrated units
WARM_LIMIT = 0.3  # Warm starts that need a margin of WARM_LIMIT or more are refused.
ESTIMATED_LIMIT = 0.1  # limit of the relative residuals of a warm start with estimated multipliers
FAR = 1e3  # Sides of FAR or more times the infeasibility at x = 0 are far away.


@inner
def start_cold(newton: Newton, point: Point) -> bool:
    """Compute the cold starting point; return False if the KKT matrix cannot be factored.

    The cone constraint is penalized by 1/2 ||W^-1 (s - f)||^2, and the solution is shifted into the cone:

        [ P       A'   G'W^-1 ] [x  ]   [-c          ]                  [.         ]   [0           ]
        [ A       0    0      ] [y  ] = [ b          ]  or for P = 0: K [.         ] = [b           ],
        [ W^-1 G  0   -I      ] [W z]   [ W^-1 (h-f) ]                  [W^-1 (f-s)]   [W^-1 (h - f)]

    with W^-1 (s - f) = -W z in the first case and K (., y, W z) = (-c, 0, 0) in the second.  W = 1 and f = 0 except in
    cones with sides far away, such as a bound of 1e10 that stands for none: their slacks f = h, of size W, must neither
    draw x to the middle nor determine the size of the other slacks.
    """
    form, u, s, rhs, solution = newton.form, point.u, point.s, newton.rhs, newton.solution
    n, l, ptr, c, g, weight = form.n, form.l, form.ptr, form.c, form.g, newton.lam
    first, size, linear = n + form.p, u.size, form.hessian_kind == NO_HESSIAN
    scale_far_sides(newton, weight)
    # The first solution is (., y, W z), the second (x, ., W^-1 (f - s)); they are equal if P is not zero.
    for j in range(n):
        rhs[j], rhs[size + j] = -c[j], 0.0 if linear else -c[j]
    for i in range(g.size):
        value = 0.0 if n + i >= first and weight[n + i - first] > 1.0 else g[i]
        rhs[size + n + i] = value
        rhs[n + i] = 0.0 if linear else value
    if factor_and_solve(newton.kkt, 2, rhs, solution) < 0:
        return False
    z = newton.work
    for i in range(first):
        u[i] = solution[size + i] if i < n else solution[i]
    for i in range(s.size):
        far = g[form.p + i] if weight[i] > 1.0 else 0.0
        s[i], z[i] = far / weight[i] - solution[size + first + i], solution[first + i]
    shift_inside(l, ptr, s)
    shift_inside(l, ptr, z)
    finite = 0.0
    for i in range(s.size):
        s[i] *= weight[i]
        u[first + i] = z[i] / weight[i]
        finite += 0.0 * s[i]
    for i in range(size):
        finite += 0.0 * u[i]
    point.tau = point.kappa = 1.0
    return finite == 0.0


@inner
def scale_far_sides(newton: Newton, weight: Floats) -> None:
    """Set (w, eta) to scale cones by |h| / size if that is `FAR` or more, else by 1; `weight` has the factors by row.

    The size is the infeasibility of x = 0, hence the size of x, and of s and z in cones without far sides.
    """
    form, w, eta = newton.form, newton.kkt.w, newton.kkt.eta
    p, l, ptr, g = form.p, form.l, form.ptr, form.g
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


@deferred
def start_warm(newton: Newton, point: Point, is_complete: bool) -> bool:
    """Move s and z of an earlier optimal point (tau = 1) inside the cone, as far as the new data moved the residuals.

    Return False, and leave a point that must be replaced, if the residuals, relative to the data, or the gap, relative
    to the objective, reach `WARM_LIMIT`, so that a cold start is as good.  Unless the point `is_complete`, its
    multipliers were estimated, and the relative residuals in the caller's units must be below `ESTIMATED_LIMIT`.
    """
    form, u, s, r, c, g, z = newton.form, point.u, point.s, newton.r, newton.form.c, newton.form.g, newton.work
    first, size, largest, trap = u.size - s.size, 1.0, 0.0, 0.0  # `trap` becomes NaN if a residual is not finite.
    point.tau, point.kappa = 1.0, 0.0
    measure(newton, point)
    for j in range(c.size):
        size = max(size, 1.0 + abs(c[j]))
    for i in range(g.size):
        size = max(size, 1.0 + abs(g[i]))
    for i in range(r.size):
        largest = max(largest, abs(r[i]))
        trap += 0.0 * r[i]
    margin = max(largest / size, WARM_MARGIN)
    gap = abs(newton.rtau) / (form.cost_scale + max(newton.xPx, abs(newton.cx), abs(newton.gv)))
    if not max(margin, gap) < WARM_LIMIT or trap != 0.0:
        return False
    if not is_complete and not max(*relative_residuals(newton)) < ESTIMATED_LIMIT:
        return False
    for i in range(s.size):
        z[i] = u[first + i]
    move_inside(form.l, form.ptr, margin, s)
    move_inside(form.l, form.ptr, margin, z)
    for i in range(s.size):
        u[first + i] = z[i]
    point.kappa = margin
    return True


@deferred_kernel
def put_start(newton: Newton, point: Point, x: Floats, y: Floats, z: Floats) -> None:
    """Set the point to (x, y, z) of the caller with tau = 1: z and the slacks of x are moved to the nearest in K.

    What these moves change remains in the residuals, by which `start_warm` judges the point.
    """
    form, u, s, r = newton.form, point.u, point.s, newton.r
    first, moved = u.size - s.size, newton.work
    point.tau, point.kappa = 1.0, 0.0
    scale(form, x, y, z, u)
    for i in range(s.size):
        moved[i], s[i] = u[first + i], 0.0
    cones.project(form.l, form.ptr, moved)
    for i in range(s.size):
        u[first + i] = moved[i]
    measure(newton, point)
    for i in range(s.size):
        s[i] = -r[first + i]
    cones.project(form.l, form.ptr, s)


@deferred
def estimate_multipliers(newton: Newton, point: Point) -> None:
    """Compute the multipliers at a point with (y, z) = 0; leave them unless the KKT system can be solved.

    With W W = s s / `WARM_MARGIN` on the orthant, the Nesterov-Todd scaling of the slacks s and of `WARM_MARGIN` s^-1,

        [ P       A'   G'W^-1 ] [dx ]   [-(P x + c)]
        [ A       0    0      ] [y  ] = [ 0        ],
        [ W^-1 G  0   -I      ] [W z]   [ 0        ]

    is a least-squares fit of P x + c + A'y + G'z = 0 in which multipliers of large slacks are small.  At the
    solution of the program z is nearly in K; it is moved to the nearest point there.
    """
    form, kkt, u, rhs, solution = newton.form, newton.kkt, point.u, newton.rhs, newton.solution
    l, ptr, n, first, count = form.l, form.ptr, form.n, point.u.size - point.s.size, point.s.size
    s, z, identity = point.s.copy(), np.empty(count), np.zeros(count)
    move_inside(l, ptr, WARM_MARGIN, s)
    cones.add_identity(l, ptr, WARM_MARGIN, identity)
    cones.divide(l, ptr, s, identity, z)
    measure(newton, point)
    missed = max(newton.rows / newton.rows_size, newton.cone / newton.cone_size)
    if not missed < WARM_LIMIT or (form.p == 0 and cones.margin(l, ptr, point.s) >= WARM_MARGIN):
        return  # Neither a point that is far off nor one without active sides needs a factorization.
    if nesterov_todd(l, ptr, s, z, kkt.w, kkt.eta, newton.lam) != 0:
        return
    for i in range(u.size):
        rhs[i] = -newton.r[i] if i < n else 0.0
    if factor_and_solve(kkt, 1, rhs, solution) < 0:
        return
    apply_inverse(l, ptr, kkt.w, kkt.eta, solution, first, z, 0)
    cones.project(l, ptr, z)
    for i in range(n, u.size):
        u[i] = solution[i] if i < first else z[i - first]


@inner
def shift_inside(l: int, ptr: Ints, v: Floats) -> None:
    """Add (1 + alpha) e to v if v is not well inside the cone, where v + alpha e is on the cone's boundary."""
    inside, size = cones.margin(l, ptr, v), 1.0
    for i in range(v.size):
        size = max(size, abs(v[i]))
    if inside <= 1e-8 * size:
        cones.add_identity(l, ptr, 1.0 - inside, v)


@inner
def move_inside(l: int, ptr: Ints, margin: float, v: Floats) -> None:
    """Add (margin - min(d, 0)) e to v if its distance d to the cone's boundary, negative outside, is below `margin`."""
    inside = cones.margin(l, ptr, v)
    if inside < margin:
        cones.add_identity(l, ptr, margin - min(inside, 0.0), v)
