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

from ..compiled.jit import inner_kernel
from ..cones import product as cones
from ..cones import scaling
from ..form.standard import StandardForm
from ..kkt.base import KKT
from ..linalg.csc import multiply_both

# places in the vector of scalars that `embedding_residuals` fills
STRETCH, WORTH = 0.5, 0.1  # how much longer a step is wanted, and the share of that which a corrector must gain
LEAST_PRODUCT = 0.1  # the share of the mean product that a centrality corrector lifts a small one to
(XPX, CX, GV, SZ, DUAL, PRIMAL, NORM_PX, NORM_MX, NORM_MTV, NORM_MXS, SCALARS) = range(11)


@inner_kernel
def embedding_residuals(n, p, Px, Mtv, c, g, u, s, tau, D, E, factor, r, scalars):
    """r := (rx, rv), of which the second part is M x before; the scalars: products, and infinity norms in the
    caller's units."""
    for k in range(scalars.size):
        scalars[k] = 0.0
    for j in range(n):
        unscale = 1.0 / (factor * D[j])
        r[j] = Px[j] + Mtv[j] + c[j] * tau
        scalars[XPX] += Px[j] * u[j]
        scalars[CX] += c[j] * u[j]
        scalars[DUAL] = max(scalars[DUAL], abs(r[j]) * unscale)
        scalars[NORM_PX] = max(scalars[NORM_PX], abs(Px[j]) * unscale)
        scalars[NORM_MTV] = max(scalars[NORM_MTV], abs(Mtv[j]) * unscale)
    for i in range(g.size):
        Mx = r[n + i]
        if i < p:
            Mxs = Mx
        else:
            Mxs = Mx + s[i - p]
            scalars[SZ] += s[i - p] * u[n + i]
        r[n + i] = Mxs - g[i] * tau
        scalars[GV] += g[i] * u[n + i]
        scalars[PRIMAL] = max(scalars[PRIMAL], abs(r[n + i]) / E[i])
        scalars[NORM_MX] = max(scalars[NORM_MX], abs(Mx) / E[i])
        scalars[NORM_MXS] = max(scalars[NORM_MXS], abs(Mxs) / E[i])


@inner_kernel
def scale_data(n, p, l, ptr, w, eta, lam, c, g, r, q, r_scaled, rhs):
    """q := (c, b, W^-1 h), r_scaled := (rx, ry, W^-1 rz) and the right-hand sides of u2 and of the affine u1."""
    for i in range(n + p):
        q[i] = c[i] if i < n else g[i - n]
        r_scaled[i] = r[i]
    scaling.apply_inverse_within(l, ptr, w, eta, g, p, q, n + p)
    scaling.apply_inverse_within(l, ptr, w, eta, r, n + p, r_scaled, n + p)
    for j in range(n):
        rhs[0, j] = -c[j]
    for i in range(n, q.size):
        rhs[0, i] = q[i]
    for i in range(q.size):
        rhs[1, i] = -r_scaled[i]
    for i in range(lam.size):  # ds_rhs = -lam o lam
        rhs[1, n + p + i] += lam[i]


@inner_kernel
def corrector_rhs(l, ptr, lam, r_scaled, sigma, mu, dz_scaled, ds_scaled, shift, rhs):
    """The right-hand side of the corrector's u1 and shift := lam \\ ds_rhs, for

    ds_rhs = sigma mu e - lam o lam - (W^-1 ds) o (W dz) of the predictor.
    """
    m = shift.size
    cones.product(l, ptr, ds_scaled, dz_scaled, rhs)  # in its first m places
    for i in range(m):
        rhs[i] = -rhs[i]
    cones.add_identity(l, ptr, sigma * mu, rhs)
    cones.divide(l, ptr, lam, rhs, shift)
    for i in range(m):
        shift[i] -= lam[i]
    for i in range(rhs.size):
        rhs[i] = -(1.0 - sigma) * r_scaled[i]
    first = rhs.size - m
    for i in range(m):
        rhs[first + i] -= shift[i]


@inner_kernel
def centrality_rhs(l, lam, alpha, target, dz_scaled, ds_scaled, shift, rhs):
    """Move the products s_i z_i that a step of alpha would leave outside [target / 10, 10 target] towards it.

    (Gondzio 1996, on the orthant.)  Adds to shift := lam \\ ds_rhs, and to the right-hand side of u1.
    """
    first = rhs.size - shift.size
    for i in range(l):
        product = (lam[i] + alpha * ds_scaled[i]) * (lam[i] + alpha * dz_scaled[i])
        move = min(max(product, LEAST_PRODUCT * target), target / LEAST_PRODUCT) - product
        move = max(move, -target / LEAST_PRODUCT) / lam[i]
        shift[i] += move
        rhs[first + i] -= move


@inner_kernel
def tau_curvature(n, m, q, xPx, Px, x, tau, kappa, u2, Px2):
    """The denominator of dtau: kappa / tau and the larger of its two forms (see the head of this file)."""
    linear, mixed, squares = 0.0, 0.0, 0.0
    for j in range(n):
        mixed += Px[j] * u2[j]
        squares += (x[j] / tau - u2[j]) * (Px[j] / tau - Px2[j])
    for i in range(q.size):
        linear += q[i] * u2[i]
    for i in range(q.size - m, q.size):
        squares += u2[i] * u2[i]
    return kappa / tau + max(xPx / tau**2 - 2.0 * mixed / tau - linear, squares)


@inner_kernel
def tau_numerator(n, q, Px, tau, u1):
    """q'u1 + 2 xi'P x1."""
    linear, mixed = 0.0, 0.0
    for j in range(n):
        mixed += Px[j] * u1[j]
    for i in range(q.size):
        linear += q[i] * u1[i]
    return linear + 2.0 * mixed / tau


@inner_kernel
def combine(l, ptr, lam, u1, u2, dtau, shift, du, dz_scaled, ds_scaled):
    """du := u1 + dtau u2, of which W dz is the end, W^-1 ds := shift - W dz; returns the longest step in K."""
    for i in range(du.size):
        du[i] = u1[i] + dtau * u2[i]
    for i in range(shift.size):
        ds_scaled[i] = shift[i] - dz_scaled[i]
    return min(cones.max_step(l, ptr, lam, dz_scaled), cones.max_step(l, ptr, lam, ds_scaled))


@inner_kernel
def take_step(l, ptr, w, eta, alpha, du, dz_scaled, ds_scaled, u, s, work):
    """(x, y) += alpha (dx, dy), z += alpha W^-1 (W dz), s += alpha W (W^-1 ds)."""
    first = u.size - s.size
    for i in range(first):
        u[i] += alpha * du[i]
    scaling.apply_inverse(l, ptr, w, eta, dz_scaled, work)
    for i in range(s.size):
        u[first + i] += alpha * work[i]
    scaling.apply(l, ptr, w, eta, ds_scaled, work)
    for i in range(s.size):
        s[i] += alpha * work[i]


class Point:
    """The iterate (x, y, z) = u, s, tau, kappa of the embedding, in equilibrated units."""

    def __init__(self, form: StandardForm) -> None:
        self.u = np.zeros(form.n + form.p + form.m)
        self.s = np.zeros(form.m)
        self.z = self.u[form.n + form.p :]
        self.tau = self.kappa = 1.0

    def copy_from(self, other: Point) -> None:
        self.u[:] = other.u
        self.s[:] = other.s
        self.tau, self.kappa = other.tau, other.kappa

    def without_small_entries(self, form: StandardForm, share: float) -> Point:
        """A copy with zeros in place of all that is below a share of the largest entry of x, or of (y, z)."""
        other = Point(form)
        other.copy_from(self)
        x, v = other.u[: form.n], other.u[form.n :]
        x[np.abs(x) <= share * np.abs(x).max(initial=0.0)] = 0.0
        size = np.abs(v)
        # a second-order cone, of which t is the largest entry, as a whole
        size[form.p + form.l :] = np.repeat(size[form.p + form.ptr[:-1]], np.diff(form.ptr))
        v[size <= share * size.max(initial=0.0)] = 0.0
        return other


class Newton:
    """The linearized embedding at a point: residuals, scaling, KKT factors and directions."""

    def __init__(self, form: StandardForm, kkt: KKT) -> None:
        self.form, self.kkt = form, kkt
        n, p, m = form.n, form.p, form.m
        self.degree = form.l + form.ptr.size - 1
        self.r, self.Px, self.Mtv = np.zeros(n + p + m), np.zeros(n), np.zeros(n)
        self.scalars = np.zeros(SCALARS)
        self.w, self.eta, self.lam = np.ones(m), np.ones(form.ptr.size - 1), np.zeros(m)
        self.shift, self.work = np.zeros(m), np.zeros(m)
        self.q, self.r_scaled = np.zeros(n + p + m), np.zeros(n + p + m)
        self.rhs, self.u = np.zeros((2, n + p + m)), np.zeros((2, n + p + m))
        self.u2, self.u1 = self.u  # the solutions of the constant right-hand side and of a direction's
        self.du = np.zeros(n + p + m)
        self.dz_scaled, self.ds_scaled = self.du[n + p :], np.zeros(m)
        self.replaced_pivots = 0
        self.dtau = self.dkappa = self.kappa_rhs = 0.0

    def residuals(self, point: Point) -> None:
        """Residuals of the embedding, and mu, at the point."""
        form = self.form
        x = point.u[: form.n]
        form.P.product(x, self.Px)
        multiply_both(form.M_indptr, form.M_indices, form.M_data, x, point.u[form.n :], self.r[form.n :], self.Mtv)
        embedding_residuals(
            form.n, form.p, self.Px, self.Mtv, form.c, form.g, point.u, point.s, point.tau, form.D, form.E,
            form.factor, self.r, self.scalars,
        )  # fmt: skip
        self.rtau = point.kappa + self.scalars[CX] + self.scalars[GV] + self.scalars[XPX] / point.tau
        self.mu = (self.scalars[SZ] + point.tau * point.kappa) / (self.degree + 1)

    def linearize(self, point: Point) -> bool:
        """Scaling, factorization, the solves for u2 and the affine u1; False when one of them fails."""
        form = self.form
        if scaling.nesterov_todd(form.l, form.ptr, point.s, point.z, self.w, self.eta, self.lam) != 0:
            return False
        scale_data(
            form.n, form.p, form.l, form.ptr, self.w, self.eta, self.lam, form.c, form.g, self.r, self.q,
            self.r_scaled, self.rhs,
        )  # fmt: skip
        self.replaced_pivots = self.kkt.factor(self.w, self.eta, self.rhs, self.u)
        if self.replaced_pivots < 0:
            return False
        self.curvature = tau_curvature(
            form.n, form.m, self.q, self.scalars[XPX], self.Px, point.u, point.tau, point.kappa, self.u2,
            self.kkt.Pu[0],
        )  # fmt: skip
        return math.isfinite(self.curvature)

    def predictor(self, point: Point) -> float:
        """The affine direction (sigma = 0); returns the longest step."""
        np.negative(self.lam, out=self.shift)
        return self._direction(point, 0.0, -point.tau * point.kappa)

    def corrector(self, point: Point, sigma: float) -> float:
        """The centered direction with the predictor's second-order term; returns the longest step."""
        form, rhs = self.form, self.rhs[1]
        self.kappa_rhs = sigma * self.mu - point.tau * point.kappa - self.dtau * self.dkappa
        corrector_rhs(
            form.l, form.ptr, self.lam, self.r_scaled, sigma, self.mu, self.dz_scaled, self.ds_scaled, self.shift, rhs
        )
        self.kkt.solve(rhs, self.u1)
        return self._direction(point, sigma, self.kappa_rhs)

    def centrality_corrector(self, point: Point, sigma: float, alpha: float) -> float:
        """The direction corrected for the products that a longer step than alpha would leave far from their mean.

        Kept when it allows a markedly longer step; returns the longest step of the direction that is kept.
        """
        form, rhs = self.form, self.rhs[1]
        wanted = alpha + STRETCH * (1.0 - alpha)
        before = self.du.copy(), self.ds_scaled.copy(), self.dtau, self.dkappa, self.shift.copy()
        target = sigma * self.mu
        centrality_rhs(form.l, self.lam, wanted, target, self.dz_scaled, self.ds_scaled, self.shift, rhs)
        product = (point.tau + wanted * self.dtau) * (point.kappa + wanted * self.dkappa)
        move = min(max(product, LEAST_PRODUCT * target), target / LEAST_PRODUCT) - product
        self.kappa_rhs += max(move, -target / LEAST_PRODUCT)
        self.kkt.solve(rhs, self.u1)
        longest = self._direction(point, sigma, self.kappa_rhs)
        if longest >= alpha + WORTH * (wanted - alpha):
            return longest
        self.du[:], self.ds_scaled[:], self.dtau, self.dkappa, self.shift[:] = before
        return alpha

    def step(self, point: Point, alpha: float) -> None:
        """Move the point by alpha along the direction."""
        form = self.form
        take_step(
            form.l, form.ptr, self.w, self.eta, alpha, self.du, self.dz_scaled, self.ds_scaled, point.u, point.s,
            self.work,
        )  # fmt: skip
        point.tau += alpha * self.dtau
        point.kappa += alpha * self.dkappa

    def _direction(self, point: Point, sigma: float, kappa_rhs: float) -> float:
        """du = u1 + dtau u2, with ds and dkappa; returns the longest step."""
        form = self.form
        numerator = (1.0 - sigma) * self.rtau + kappa_rhs / point.tau
        numerator += tau_numerator(form.n, self.q, self.Px, point.tau, self.u1)
        self.dtau = numerator / self.curvature
        self.dkappa = (kappa_rhs - point.kappa * self.dtau) / point.tau
        alpha = combine(
            form.l, form.ptr, self.lam, self.u1, self.u2, self.dtau, self.shift, self.du, self.dz_scaled,
            self.ds_scaled,
        )  # fmt: skip
        if self.dtau < 0.0:
            alpha = min(alpha, -point.tau / self.dtau)
        if self.dkappa < 0.0:
            alpha = min(alpha, -point.kappa / self.dkappa)
        return alpha
