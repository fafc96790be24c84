"""Search directions of the homogeneous embedding.

The embedding of the program (Ouyang and others call it a simplified homogeneous embedding with a
quadratic objective; see Goulart and Chen 2024) asks for tau, kappa >= 0, s and z in K with s'z = 0 and

    rx   = P x + M'v + c tau                      = 0      v = (y, z),  M = [A; G],  g = (b, h)
    rv   = M x + (0, s) - g tau                   = 0
    rtau = kappa + c'x + g'v + x'Px / tau         = 0.

A direction solves its linearization, with right-hand side -(1 - sigma) (rx, rv, rtau), together with

    lam o (W dz + W^-1 ds) = ds_rhs,    kappa dtau + tau dkappa = dk_rhs.

Eliminating ds and dkappa leaves two solves with the KKT matrix K of `kkt.base`, in u = (x, y, W z),

    K u1 = -(1 - sigma) (rx, ry, W^-1 rz) - (0, 0, lam \\ ds_rhs)        K u2 = (-c, b, W^-1 h) =: q - 2 (c, 0, 0)

and du = u1 + dtau u2 with q = (c, b, W^-1 h) and, for xi = x / tau,

    dtau = [(1 - sigma) rtau + dk_rhs / tau + q'u1 + 2 xi'P x1]
           / [kappa / tau + (xi - x2)'P (xi - x2) + ||W z2||^2].

(Elimination gives kappa / tau + xi'P xi - 2 xi'P x2 - q'u2 as the denominator; the equations of u2 turn it into the
sum above.  The first form holds even when K is singular and u2 only solves a regularized system, the second does not
cancel; the larger one is taken.)
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.kernels import deferred, deferred_kernel, inner, kernel
from ..compiled.signatures import Floats, Ints
from ..compiled.structures import Structure, floats, number, structure
from ..cones import product as cones
from ..cones import scaling
from ..form.dense_rows import multiply_M, multiply_M_both
from ..form.standard import StandardForm, multiply_hessian
from ..kkt.base import KKT, factor_and_solve, solve
from ..linalg.vectors import bits, dot_within, from_bits, norm_tail, norm_within

SHARE = 0.1  # share of a block's residuals, or of the largest relative residual or tol, that a solve may leave
ROUNDING = 4.0 * np.finfo(np.float64).eps  # largest relative distance from a cone's boundary that rounding can cause
MIN_PRODUCT = 0.1  # Centrality correctors move products into [MIN_PRODUCT target, target / MIN_PRODUCT].


class Point(Structure):
    """Iterate (x, y, z) = u, s, tau, kappa of the embedding, in equilibrated units."""

    u, s = floats("n + p + m"), floats("m")
    tau, kappa = number(), number()

    def __init__(self, form: StandardForm) -> None:
        super().__init__(n=form.n, p=form.p, m=form.m)
        self.tau = self.kappa = 1.0

    @property
    def z(self) -> np.ndarray:
        """View of z, the last m entries of u."""
        return self.u[self.u.size - self.s.size :]

    def copy_from(self, other: Point) -> None:
        copy(other, self)

    def without_small_entries(self, form: StandardForm, share: float) -> Point:
        """Return a copy with zeros for entries up to `share` times the largest entry of x, or of (y, z)."""
        other = Point(form)
        other.copy_from(self)
        x, v = other.u[: form.n], other.u[form.n :]
        x[np.abs(x) <= share * np.abs(x).max(initial=0.0)] = 0.0
        size = np.abs(v)
        # A second-order cone is kept or dropped as a whole; its first entry is the largest.
        size[form.p + form.l :] = np.repeat(size[form.p + form.ptr[:-1]], np.diff(form.ptr))
        v[size <= share * size.max(initial=0.0)] = 0.0
        return other


@kernel
def copy(point: Point, to: Point) -> None:
    """to := point, all fields."""
    u, s, to_u, to_s = point.u, point.s, to.u, to.s
    for i in range(u.size):
        to_u[i] = u[i]
    for i in range(s.size):
        to_s[i] = s[i]
    to.tau, to.kappa = point.tau, point.kappa


@kernel
def unscale(form: StandardForm, point: Point, x: Floats, y: Floats, z: Floats, slack: Floats) -> None:
    """(x, y, z, slack) := the point in the caller's units and row order, divided by tau.

    Rows that are always true have z = 0 and an infinite slack.
    """
    n, p, D, E, rows, u, s, tau = form.n, form.p, form.D, form.E, form.rows, point.u, point.s, point.tau
    if rows.size < z.size:
        for i in range(z.size):
            z[i], slack[i] = 0.0, np.inf
    for j in range(n):
        x[j] = D[j] * u[j] / tau
    for i in range(p):
        y[i] = E[i] * u[n + i] / (form.cost_scale * tau)
    for i in range(rows.size):
        z[rows[i]] = E[p + i] * u[n + p + i] / (form.cost_scale * tau)
        slack[rows[i]] = s[i] / (E[p + i] * tau)


@inner
def scale(form: StandardForm, x: Floats, y: Floats, z: Floats, u: Floats) -> None:
    """u := (x, y, z) of the caller in equilibrated units and the row order of the form, for tau = 1; see `unscale`."""
    n, p, D, E, rows, f = form.n, form.p, form.D, form.E, form.rows, form.cost_scale
    for j in range(n):
        u[j] = x[j] / D[j]
    for i in range(p):
        u[n + i] = f * y[i] / E[i]
    for i in range(rows.size):
        u[n + p + i] = f * z[rows[i]] / E[p + i]


class Newton(Structure):
    """Linearized embedding at a point: residuals, scaling, KKT factors and directions.

    Attributes
    ----------
    r, rtau : array and float
        Residuals (rx, rv) and rtau; infinity norms of their parts, in the caller's units, in `rows` (of A),
        `cone`, `dual`, `norm_Px`, `norm_Ax`, `norm_Gx`, `norm_Mtv` and `norm_Mxs` = |M x + (0, s)|.
    primal_ray, dual_ray : float
        |g| |M'v| and |c| max(|Px|, |M x + (0, s)|) in equilibrated units: residuals of rays in any units of the data.
    mu : float
        (s'z + tau kappa) / (degree + 1).
    xPx, cx, gv, hidden : float
        x'Px, c'x, g'v, max |x_j rx_j|.
    w, eta, lam : arrays
        Nesterov-Todd scaling and scaled point (see `cones.scaling`).
    u2, u1 : arrays
        Solutions of the KKT system for the constant right-hand side and for the right-hand side of a direction.
    du, ds, ds_scaled, dtau, dkappa : arrays and floats
        Direction: (dx, dy, W dz), ds, W^-1 ds, dtau, dkappa.
    last_dtau : float
        |dtau| of the last direction, 1 before the first one: the factor of u2 to expect in the next direction.
    u1_before, shift_before : arrays
        u1 and shift of the direction before a centrality corrector.
    difference, P_difference : arrays
        xi - x2 and P (xi - x2), in the denominator of dtau.
    work : array
        Workspace of one kernel at a time.
    """

    form, kkt = structure(StandardForm), structure(KKT)
    r, Px, Mtv = floats("n + p + m"), floats("n"), floats("n")
    rtau, mu, xPx, cx, gv = number(), number(), number(), number(), number()
    rows, cone, dual, norm_Px = number(), number(), number(), number()
    rows_size, cone_size, dual_size, tol = number(), number(), number(), number()
    norm_Ax, norm_Gx, norm_Mtv, norm_Mxs = number(), number(), number(), number()
    primal_ray, dual_ray, hidden = number(), number(), number()
    Mdx = floats("p + m")
    lam = floats("m")
    q, r_scaled = floats("n + p + m"), floats("n + p + m")
    rhs, solution = floats("2 * (n + p + m)"), floats("2 * (n + p + m)")  # for u2, then for u1
    shift, work = floats("m"), floats("m")
    difference, P_difference = floats("n"), floats("n")
    curvature, kappa_rhs, last_dtau = number(), number(), number()
    du, ds, ds_scaled, dtau, dkappa = floats("n + p + m"), floats("m"), floats("m"), number(), number()
    u1_before, shift_before = floats("n + p + m"), floats("m")

    def __init__(self, form: StandardForm, kkt: KKT) -> None:
        super().__init__(n=form.n, p=form.p, m=form.m, form=form, kkt=kkt)

    @property
    def w(self) -> np.ndarray:
        """Nesterov-Todd scaling w of the KKT systems."""
        return self.kkt.w

    @property
    def eta(self) -> np.ndarray:
        """Scaling eta of the second-order cones."""
        return self.kkt.eta

    @property
    def u2(self) -> np.ndarray:
        """Solution u2 of the constant right-hand side."""
        return self.solution[: self.du.size]

    @property
    def u1(self) -> np.ndarray:
        """Solution u1 of the right-hand side of the direction."""
        return self.solution[self.du.size :]


@kernel
def measure(newton: Newton, point: Point) -> None:
    """Compute the residuals of the embedding, their norms, and mu, at the point."""
    form, u, s, r, Px, Mtv = newton.form, point.u, point.s, newton.r, newton.Px, newton.Mtv
    n, p, c, g, D, E, tau = form.n, form.p, form.c, form.g, form.D, form.E, point.tau
    multiply_hessian(form, u, Px)
    multiply_M_both(form, u, u[n:], r[n:], Mtv)
    dual, hidden, size_Px, size_Mtv = 0, 0, 0, 0
    own_Mtv, own_Mx, own_c, own_g = 0, 0, 0, 0  # in equilibrated units
    for j in range(n):
        unscale = 1.0 / (form.cost_scale * D[j])
        r[j] = Px[j] + Mtv[j] + c[j] * tau
        own_Mtv, own_Mx, own_c = max(own_Mtv, bits(Mtv[j])), max(own_Mx, bits(Px[j])), max(own_c, bits(c[j]))
        dual, hidden = max(dual, bits(r[j] * unscale)), max(hidden, bits(r[j] * u[j]))
        size_Px = max(size_Px, bits(Px[j] * unscale))
        size_Mtv = max(size_Mtv, bits(Mtv[j] * unscale))
    rows, size_Ax, cone, size_Gx, size_Gxs = 0, 0, 0, 0, 0
    r_rows, r_cone, g_cone, E_cone = r[n:], r[n + p :], g[p:], E[p:]
    for i in range(p):
        size_Ax = max(size_Ax, bits(r_rows[i] / E[i]))
        own_Mx, own_g = max(own_Mx, bits(r_rows[i])), max(own_g, bits(g[i]))
        r_rows[i] -= g[i] * tau
        rows = max(rows, bits(r_rows[i] / E[i]))
    for i in range(s.size):
        Gx, unscale = r_cone[i], 1.0 / E_cone[i]
        size_Gx, size_Gxs = max(size_Gx, bits(Gx * unscale)), max(size_Gxs, bits((Gx + s[i]) * unscale))
        own_Mx, own_g = max(own_Mx, bits(Gx + s[i])), max(own_g, bits(g_cone[i]))
        r_cone[i] = Gx + s[i] - g_cone[i] * tau
        cone = max(cone, bits(r_cone[i] * unscale))
    xPx, cx = dot_within(Px, 0, u, 0, n), dot_within(c, 0, u, 0, n)
    gv, sz = dot_within(g, 0, u, n, g.size), dot_within(s, 0, u, n + p, s.size)
    norm_Ax, norm_Gx, norm_Px = from_bits(size_Ax), from_bits(size_Gx), from_bits(size_Px)
    newton.xPx, newton.cx, newton.gv, newton.hidden = xPx, cx, gv, from_bits(hidden)
    newton.rows, newton.cone, newton.dual = from_bits(rows), from_bits(cone), from_bits(dual)
    newton.norm_Ax, newton.norm_Gx, newton.norm_Px, newton.norm_Mtv = norm_Ax, norm_Gx, norm_Px, from_bits(size_Mtv)
    newton.norm_Mxs = max(norm_Ax, from_bits(size_Gxs))
    newton.primal_ray = from_bits(own_g) * from_bits(own_Mtv)
    newton.dual_ray = from_bits(own_c) * from_bits(own_Mx)
    # sizes by which the stopping test divides the residuals
    newton.rows_size = tau + max(tau * form.norm_b, norm_Ax)
    newton.cone_size = tau + max(tau * form.norm_h, norm_Gx)
    newton.dual_size = tau * form.objective_unit + max(tau * form.norm_c, norm_Px)
    newton.rtau = point.kappa + cx + gv + xPx / tau
    newton.mu = (sz + tau * point.kappa) / (form.l + form.ptr.size)


@inner
def relative_residuals(newton: Newton) -> tuple[float, float]:
    """Return the primal and the dual residual, each block relative to the size of its terms."""
    return max(newton.rows / newton.rows_size, newton.cone / newton.cone_size), newton.dual / newton.dual_size


@inner
def linearize(newton: Newton, point: Point) -> bool:
    """Compute the scaling, factor K and solve for u2 and the affine u1; return False if one of these fails."""
    form, kkt, u = newton.form, newton.kkt, point.u
    z = u[form.n + form.p :]
    if scaling.nesterov_todd(form.l, form.ptr, point.s, z, newton.kkt.w, newton.kkt.eta, newton.lam) != 0:
        return False
    form_rhs(newton)
    limit_residuals(newton, 0, newton.last_dtau)
    limit_residuals(newton, 1, 1.0)
    replaced = factor_and_solve(kkt, 2, newton.rhs, newton.solution)
    if replaced < 0:
        return False
    newton.curvature = tau_curvature(newton, point, kkt.Px[0])
    return math.isfinite(newton.curvature)


@inner
def limit_residuals(newton: Newton, row: int, factor: float) -> None:
    """Set the residuals that a solve may leave in right-hand side `row`, which enters the direction with `factor`.

    A block may leave `SHARE` / `factor` times its present residual, or more if that is far smaller than the residuals
    of other blocks.
    """
    policy, n, r = newton.kkt.policy, newton.form.n, newton.r
    form, first, share = newton.form, n + newton.form.p, SHARE / max(factor, 1e-300)
    policy.block_limits[3 * row] = share * norm_within(r, 0, n)
    policy.block_limits[3 * row + 1] = share * norm_within(r, n, first)
    policy.block_limits[3 * row + 2] = share * norm_within(r, first, r.size)
    primal, dual = relative_residuals(newton)
    level = share * max(primal, dual, newton.tol)
    policy.caller_limits[3 * row] = level * newton.dual_size * form.cost_scale
    policy.caller_limits[3 * row + 1] = level * newton.rows_size
    policy.caller_limits[3 * row + 2] = level * newton.cone_size


@inner
def form_rhs(newton: Newton) -> None:
    """Compute q = (c, b, W^-1 h), r_scaled = (rx, ry, W^-1 rz) and the right-hand sides of u2 and of the affine u1."""
    form, q, r, r_scaled, rhs, lam = newton.form, newton.q, newton.r, newton.r_scaled, newton.rhs, newton.lam
    n, p, l, ptr, c, g, w, eta = form.n, form.p, form.l, form.ptr, form.c, form.g, newton.kkt.w, newton.kkt.eta
    size = q.size
    for i in range(n + p):
        q[i] = c[i] if i < n else g[i - n]
        r_scaled[i] = r[i]
    scaling.apply_inverse(l, ptr, w, eta, g, p, q, n + p)
    scaling.apply_inverse(l, ptr, w, eta, r, n + p, r_scaled, n + p)
    affine, affine_cone = rhs[size:], rhs[size + n + p :]
    for i in range(size):
        rhs[i], affine[i] = q[i], -r_scaled[i]
    for j in range(n):
        rhs[j] = -c[j]
    for i in range(lam.size):  # ds_rhs = -lam o lam
        affine_cone[i] += lam[i]


@inner
def tau_curvature(newton: Newton, point: Point, Px2: Floats) -> float:
    """Return the denominator of dtau: kappa / tau plus the larger of its two forms (see the module's docstring)."""
    q, Px, x, u2, tau, m = newton.q, newton.Px, point.u, newton.solution, point.tau, point.s.size
    d, Pd, n = newton.difference, newton.P_difference, newton.Px.size
    for j in range(n):
        d[j], Pd[j] = x[j] / tau - u2[j], Px[j] / tau - Px2[j]
    linear, mixed = dot_within(q, 0, u2, 0, q.size), dot_within(Px, 0, u2, 0, n)
    squares = dot_within(u2, q.size - m, u2, q.size - m, m) + dot_within(d, 0, Pd, 0, n)
    return point.kappa / tau + max(newton.xPx / tau**2 - 2.0 * mixed / tau - linear, squares)


@inner
def predict(newton: Newton, point: Point) -> float:
    """Compute the affine direction (sigma = 0); return the step length to the boundary of the cone."""
    lam, shift = newton.lam, newton.shift
    for i in range(lam.size):
        shift[i] = -lam[i]
    return direction(newton, point, 0.0, -point.tau * point.kappa)


@inner
def correct(newton: Newton, point: Point, sigma: float) -> float:
    """Compute the centered direction with the second-order term; return the step length to the boundary."""
    size = newton.du.size
    newton.kappa_rhs = sigma * newton.mu - point.tau * point.kappa - newton.dtau * newton.dkappa
    corrector_rhs(newton, sigma, newton.rhs[size:])
    block, caller = newton.kkt.policy.block_limits, newton.kkt.policy.caller_limits
    for k in range(3):  # limits that `linearize` has set for the affine direction at these residuals
        block[k], caller[k] = block[3 + k], caller[3 + k]
    solve(newton.kkt, 1, newton.rhs[size:], newton.solution[size:], True)
    return direction(newton, point, sigma, newton.kappa_rhs)


@inner
def corrector_rhs(newton: Newton, sigma: float, rhs: Floats) -> None:
    """Set `rhs` to the right-hand side of the corrector's u1 and shift := lam \\ ds_rhs.

    Here ds_rhs = sigma mu e - lam o lam - (W^-1 ds) o (W dz), with the predictor's ds and dz.
    """
    l, ptr, lam, shift, r_scaled = newton.form.l, newton.form.ptr, newton.lam, newton.shift, newton.r_scaled
    m, first = shift.size, rhs.size - shift.size
    cones.product(l, ptr, newton.ds_scaled, newton.du[first:], rhs)  # rhs[:m] is workspace here.
    for i in range(m):
        rhs[i] = -rhs[i]
    cones.add_identity(l, ptr, sigma * newton.mu, rhs)
    cones.divide(l, ptr, lam, rhs, shift)
    for i in range(m):
        shift[i] -= lam[i]
    last = rhs[first:]
    for i in range(rhs.size):
        rhs[i] = -(1.0 - sigma) * r_scaled[i]
    for i in range(m):
        last[i] -= shift[i]


@deferred
def center(newton: Newton, point: Point, sigma: float, alpha: float) -> float:
    """Add a centrality corrector (Gondzio 1996) to the direction; return the step length to the boundary.

    Products s_i z_i of the orthant, and tau kappa, that a full step leaves outside [target / 10, 10 target] are moved
    towards it, by shift := lam \\ ds_rhs and the right-hand side of u1.  The corrector is kept if it allows a
    longer step than `alpha`; else the direction is restored.
    """
    size, target, kappa_rhs = newton.du.size, sigma * newton.mu, newton.kappa_rhs
    lam, shift, ds, u1, rhs = newton.lam, newton.shift, newton.ds_scaled, newton.solution[size:], newton.rhs[size:]
    first = size - shift.size
    dz, rhs_cone = newton.du[first:], rhs[first:]
    for i in range(size):
        newton.u1_before[i] = u1[i]
    for i in range(newton.form.l):
        newton.shift_before[i] = shift[i]
        move = lift((lam[i] + ds[i]) * (lam[i] + dz[i]), target) / lam[i]
        shift[i] += move
        rhs_cone[i] -= move
    newton.kappa_rhs += lift((point.tau + newton.dtau) * (point.kappa + newton.dkappa), target)
    solve(newton.kkt, 1, rhs, u1, True)
    longest = direction(newton, point, sigma, newton.kappa_rhs)
    if longest > alpha:
        return longest
    for i in range(size):
        u1[i] = newton.u1_before[i]
    for i in range(newton.form.l):
        shift[i] = newton.shift_before[i]
    newton.kappa_rhs = kappa_rhs
    return direction(newton, point, sigma, kappa_rhs)


@inner
def lift(product: float, target: float) -> float:
    """Return the number, at least -10 target, that moves `product` into [target / 10, 10 target] when added."""
    move = min(max(product, MIN_PRODUCT * target), target / MIN_PRODUCT) - product
    return max(move, -target / MIN_PRODUCT)


@inner
def direction(newton: Newton, point: Point, sigma: float, kappa_rhs: float) -> float:
    """Compute du = u1 + dtau u2, ds, W^-1 ds, dtau and dkappa; return the step length to the boundary."""
    form, q, Px, du, ds, tau = newton.form, newton.q, newton.Px, newton.du, newton.ds_scaled, point.tau
    size, first, solution = du.size, du.size - ds.size, newton.solution
    linear, mixed = dot_within(q, 0, solution, size, size), dot_within(Px, 0, solution, size, Px.size)
    dtau = ((1.0 - sigma) * newton.rtau + kappa_rhs / tau + linear + 2.0 * mixed / tau) / newton.curvature
    dkappa = (kappa_rhs - point.kappa * dtau) / tau
    newton.dtau, newton.dkappa, newton.last_dtau = dtau, dkappa, abs(dtau)
    u1 = solution[size:]
    for i in range(size):
        du[i] = u1[i] + dtau * solution[i]
    slack_direction(newton, sigma)
    alpha = cones.max_step(form.l, form.ptr, newton.lam, du[first:])
    alpha = min(alpha, cones.max_step(form.l, form.ptr, newton.lam, ds))
    if dtau < 0.0:
        alpha = min(alpha, -tau / dtau)
    if dkappa < 0.0:
        alpha = min(alpha, -point.kappa / dkappa)
    return alpha


@deferred_kernel
def singular_directions(newton: Newton, first: Floats, second: Floats) -> None:
    """Set `first`, `second` to inverse iterates of K, with x near a ray along which the objective falls.

    Towards such a ray x'Px vanishes as mu, and Px as its square root, until rounding stops that at 1e-8.  But K is
    nearly singular along the ray: P and A vanish there, G on the active rows, and W^-1 on the other rows.  So the ray
    dominates u2 = K^-1 (-c, b, W^-1 h), and more so K^-1 (x2, 0, 0).
    """
    n, largest = newton.form.n, 1.0
    for i in range(first.size):
        value = newton.solution[i]
        first[i] = value if i < n and math.isfinite(value) else 0.0
        largest = max(largest, abs(first[i]))
    for i in range(n):
        first[i] /= largest
    solve(newton.kkt, 1, first, second, True)


@inner
def descent_limit(newton: Newton, point: Point) -> float:
    """Return the step length alpha >= 0 that minimizes mu along the direction, or infinity.

    The change of (degree + 1) mu is
        alpha (lam'(W dz + W^-1 ds) + kappa dtau + tau dkappa) + alpha^2 (ds'dz + dtau dkappa).
    In a linear program the second term is zero.  The curvature of a quadratic program may make it so large that mu
    rises, and the iterates alternate between two bounds.
    """
    ds, du, lam, dtau, dkappa = newton.ds_scaled, newton.du, newton.lam, newton.dtau, newton.dkappa
    first, slope, curvature = du.size - ds.size, point.kappa * dtau + point.tau * dkappa, dtau * dkappa
    m = ds.size
    slope += dot_within(lam, 0, ds, 0, m) + dot_within(lam, 0, du, first, m)
    curvature += dot_within(ds, 0, du, first, m)
    return -0.5 * slope / curvature if curvature > 0.0 and slope < 0.0 else np.inf


@inner
def advance(newton: Newton, point: Point, alpha: float) -> None:
    """Move the point by `alpha` times the direction, with dz = W^-1 (W dz)."""
    form, u, s, du, ds, work = newton.form, point.u, point.s, newton.du, newton.ds, newton.work
    first = u.size - s.size
    for i in range(first):
        u[i] += alpha * du[i]
    scaling.apply_inverse(form.l, form.ptr, newton.kkt.w, newton.kkt.eta, du, first, work, 0)
    z = u[first:]
    for i in range(s.size):
        z[i] += alpha * work[i]
        s[i] += alpha * ds[i]
    point.tau += alpha * newton.dtau
    point.kappa += alpha * newton.dkappa


@inner
def round_inside(point: Point, ptr: Ints) -> None:
    """Increase s_0 and z_0 by a few ulps where rounding has left s or z on the boundary of its cone.

    In the last iterations s_0 - |s_1| is about mu / z_0, which may be below the rounding of s_0 while mu is not small.
    """
    for v in (point.s, point.u[point.u.size - point.s.size :]):
        for k in range(ptr.size - 1):
            tail = norm_tail(v, ptr[k], ptr[k + 1])
            if abs(v[ptr[k]] - tail) <= ROUNDING * tail:
                v[ptr[k]] = (1.0 + ROUNDING) * tail


@inner
def slack_direction(newton: Newton, sigma: float) -> None:
    """Compute W^-1 ds = shift - W dz and ds; in second-order cones from ds = g dtau - (1 - sigma) rz - M dx.

    The two forms differ by W times the residual of the KKT system.  W is the larger and worse conditioned, the nearer
    s and z are to the boundary, and the errors of W (W^-1 ds) would stay as a primal residual.  In the second form they
    are errors of the complementarity equation, where they are not enlarged and the next step corrects them.
    """
    form, ds, scaled, work = newton.form, newton.ds, newton.ds_scaled, newton.work
    l, p, first, ptr, w, eta = form.l, form.p, newton.du.size - ds.size, form.ptr, newton.kkt.w, newton.kkt.eta
    shift, dz = newton.shift, newton.du[first:]
    for i in range(ds.size):
        scaled[i] = shift[i] - dz[i]
    scaling.apply(l, ptr, w, eta, scaled, ds)
    if l == ds.size:
        return
    rows = newton.Mdx
    multiply_M(form, newton.du, rows)
    for i in range(p, rows.size):
        rows[i] = form.g[i] * newton.dtau - (1.0 - sigma) * newton.r[form.n + i] - rows[i]
    scaling.apply_inverse(l, ptr, w, eta, rows, p, work, 0)
    for i in range(l, ds.size):
        ds[i], scaled[i] = rows[p + i], work[i]
