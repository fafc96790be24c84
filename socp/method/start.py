"""Starting points of the embedding."""

from __future__ import annotations

from ..compiled.kernels import deferred, inner
from ..compiled.signatures import Floats, Ints
from ..cones import product as cones
from ..form.standard import NO_HESSIAN
from ..kkt.base import factor_and_solve
from .newton import Newton, Point, measure

WARM_MARGIN = 1e-3  # least margin of a warm start inside the cone, in equilibrated units
WARM_LIMIT = 0.3  # Warm starts that need a margin of WARM_LIMIT or more are refused.
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
def start_warm(newton: Newton, point: Point) -> bool:
    """Move s and z of an earlier optimal point (tau = 1) inside the cone, as far as the new data moved the residuals.

    Return False, and leave a point that must be replaced, if the residuals are of the size of the data, so that a
    cold start is as good.
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
    if not margin < WARM_LIMIT or trap != 0.0:
        return False
    for i in range(s.size):
        z[i] = u[first + i]
    move_inside(form.l, form.ptr, margin, s)
    move_inside(form.l, form.ptr, margin, z)
    for i in range(s.size):
        u[first + i] = z[i]
    point.kappa = margin
    return True


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
