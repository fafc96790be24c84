"""A small program in one call: the whole interior-point method as one kernel, on dense matrices.

With ten variables an iteration is a few microseconds of arithmetic, and what lies around it in Python costs a hundred.
The kernel takes the same steps as `run` and `newton`, with the same directions, steps and tests, by the dense
Cholesky of `dense`.  It claims, and `Run.at_once` checks the claim on the caller's own data; where it does not come
to a claim, `Run.iterates` begins anew with all that the engine has.
"""

from __future__ import annotations

import numpy as np

from . import cones, scaling
from .cholesky import ONE, START, symmetric_product
from .dense import bound_weights, factor_dense, refine_dense, scale_rows
from .form import StandardForm
from .hessian import DenseHessian
from .jit import kernel
from .kkt import GOOD_RESIDUAL
from .newton import (
    CX,
    DUAL,
    GV,
    NORM_MTV,
    NORM_MX,
    NORM_MXS,
    NORM_PX,
    PRIMAL,
    SCALARS,
    XPX,
    Point,
    combine,
    corrector_rhs,
    embedding_residuals,
    scale_data,
    take_step,
    tau_curvature,
    tau_numerator,
)
from .settings import Settings
from .start import FAR, SHORT_WARM_STEP, SMALL_STEP

MOST_VARIABLES, MOST_ROWS = 256, 1024
MOST_WORK = 6e5  # flops of an iteration beyond which the general engine is as quick
MOST_DENSE_WORK = 6e6  # the same where the engine would take dense Cholesky too
LONG_TIME = 1.0  # a limit of so many seconds is none for a small program
MOST_ITERATIONS = 60
NO_CLAIM, OPTIMAL, PRIMAL_RAY, DUAL_RAY = range(4)
DELTAS = (1e-13, 1e-8)  # the choices of the static regularization
COLUMNS = 15  # of the trace: the fields of `TRACE` from the second one on
TWO = np.int64(2)


@kernel
def place_rows(l, p, M_indices, place):
    """place_i := the number of row i of G among those that are no bounds, or -1; returns how many these are."""
    place[:] = 0
    for k in range(M_indices.size):
        if M_indices[k] >= p:
            place[M_indices[k] - p] += 1
    rows = 0
    for i in range(place.size):
        if i < l and place[i] == 1:
            place[i] = -1
        else:
            place[i] = rows
            rows += 1
    return rows


@kernel
def split_rows(n, p, M_indptr, M_indices, M_data, place, variable, coefficient, others, A, G):
    """A and G without its bounds as dense arrays, the bounds, and the orthant rows that are none."""
    for i in range(variable.size):
        variable[i] = -1
        if place[i] >= 0:
            others[place[i]] = i
    A[:] = 0.0
    G[:] = 0.0
    for j in range(n):
        for k in range(M_indptr[j], M_indptr[j + 1]):
            i = M_indices[k] - p
            if i < 0:
                A[M_indices[k] * n + j] = M_data[k]
            elif place[i] >= 0:
                G[place[i], j] = M_data[k]
            else:
                variable[i], coefficient[i] = j, M_data[k]


@kernel
def record(k, scalars, tau, kappa, mu, factor, norm_g, norm_c, offset, trace, test):
    """The trace's row k; test := (worst relative residual, largest absolute one, slopes of the two rays)."""
    xPx, cx, gv = scalars[XPX] / tau**2 / factor, scalars[CX] / tau / factor, scalars[GV] / tau / factor
    primal_objective, dual_objective = 0.5 * xPx + cx, -0.5 * xPx - gv
    gap = abs(primal_objective - dual_objective)
    primal, dual = scalars[PRIMAL] / tau, scalars[DUAL] / tau
    test[1] = max(primal, dual, gap)
    primal /= 1.0 + max(norm_g, scalars[NORM_MX] / tau)
    dual /= 1.0 + max(norm_c, scalars[NORM_PX] / tau)
    gap /= 1.0 + max(abs(primal_objective), abs(dual_objective))
    test[0] = max(primal, dual, gap) + 0.0 * (primal + dual + gap)  # NaN with any of them
    test[2] = scalars[NORM_MTV] / (-scalars[GV] / factor) if scalars[GV] < 0.0 else np.inf
    test[3] = max(scalars[NORM_PX], scalars[NORM_MXS]) / (-scalars[CX] / factor) if scalars[CX] < 0.0 else np.inf
    trace[k, 0], trace[k, 1] = primal_objective + offset, dual_objective + offset
    trace[k, 2], trace[k, 3], trace[k, 4], trace[k, 5] = primal, dual, gap, mu
    trace[k, 9], trace[k, 10] = tau, kappa


@kernel
def side_weights(l, ptr, h, size, w, eta, weight):
    """`start.side_weights` on work arrays."""
    for i in range(h.size):
        weight[i] = abs(h[i]) / size
        if weight[i] < FAR:
            weight[i] = 1.0
    w[:] = 0.0
    cones.add_identity(l, ptr, 1.0, w)
    for i in range(l):
        w[i] = weight[i]
    for k in range(ptr.size - 1):
        cone = weight[ptr[k] : ptr[k + 1]]
        eta[k] = cone.max()
        cone[:] = eta[k]


@kernel
def shift_inside(l, ptr, v):
    """v + (1 + alpha) e when v is not well inside the cone, alpha the way to its boundary."""
    largest = 1.0
    for i in range(v.size):
        largest = max(largest, abs(v[i]))
    inside = cones.margin(l, ptr, v)
    if inside <= 1e-8 * largest:
        cones.add_identity(l, ptr, 1.0 - inside, v)


@kernel
def follow_path(
    n, p, l, ptr, M_indptr, M_indices, M_data, P, curved, c, g, D, E, factor, limits, warm, u, s, tau_kappa, trace
):  # fmt: skip
    """The interior-point method from a cold start, or with `warm` from (u, s, tau, kappa).

    `limits` are (tol, tol_abs, tol_infeasible, step fraction, iterations, refinements, |(b, h)|, |c|, offset).
    Returns what is claimed of (u, s, tau, kappa) and the index of the last row of the trace.
    """
    tol, tol_abs, tol_infeasible, fraction = limits[0], limits[1], limits[2], limits[3]
    iterations, steps = int(limits[4]), int(limits[5])
    norm_g, norm_c, offset = limits[6], limits[7], limits[8]
    m, size, degree = s.size, u.size, l + ptr.size - 1
    place = np.empty(m, np.int64)
    rows = place_rows(l, p, M_indices, place)
    variable, coefficient, others = np.empty(l, np.int64), np.zeros(l), np.empty(rows - (m - l), np.int64)
    A, G, scaled = np.empty(p * n), np.empty((rows, n)), np.empty((rows, n))
    split_rows(n, p, M_indptr, M_indices, M_data, place, variable, coefficient, others, A, G)
    bounded = np.zeros(n)
    bound_weights(variable, coefficient, np.ones(l), bounded)
    rho = np.zeros(2)
    if p > 0 and bounded.min() == 0.0:
        rho[0] = max(1.0, P.max()) / max(1.0, np.abs(A).max()) ** 2
    w, eta, lam, z = np.ones(m), np.ones(ptr.size - 1), np.zeros(m), u[n + p :]
    H, Y, S = np.empty(n * n), np.empty(n * p), np.empty(p * p)
    order, roots, diagonal = np.arange(n), np.zeros(n), np.zeros(n)
    rhs, solution, Pu = np.zeros(2 * size), np.zeros(2 * size), np.zeros(2 * n)
    before, residual, room = np.zeros(size), np.zeros(size), np.zeros(size)
    t, dy, v, Mtv, found = np.zeros(2 * n), np.zeros(2 * p), np.zeros(p + m), np.zeros(n), np.zeros(6)
    r, q, r_scaled, du = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    Px, ds_scaled, shift, work = np.zeros(n), np.zeros(m), np.zeros(m), np.zeros(m)
    dz_scaled, scalars, test = du[n + p :], np.zeros(SCALARS), np.zeros(4)
    u2, u1, rhs1 = solution[:size], solution[size:], rhs[size:]

    k = START
    tau, kappa, dtau, dkappa = tau_kappa[0], tau_kappa[1], 0.0, 0.0
    started = warm
    while True:
        if not started:  # the scaling and the right-hand sides of `start.cold`
            reach = max(1.0, -cones.margin(l, ptr, g[p:]))
            for i in range(p):
                reach = max(reach, abs(g[i]))
            side_weights(l, ptr, g[p:], reach, w, eta, shift)
            for j in range(n):
                rhs[j] = -c[j] if curved else 0.0
                rhs1[j] = -c[j]
            for i in range(n, size):
                rhs[i], rhs1[i] = g[i - n], 0.0
            for i in range(m):
                far = g[p + i] if shift[i] > 1.0 else 0.0
                rhs[n + p + i] = (g[p + i] - far) / shift[i]
        else:
            Px[:] = 0.0
            if curved:
                symmetric_product(n, P, ONE, u, Px)
            embedding_residuals(n, p, M_indptr, M_indices, M_data, Px, c, g, u, s, tau, D, E, factor, r, Mtv, scalars)
            mu = cones_mean(u[n + p :], s, tau, kappa, degree)
            record(k, scalars, tau, kappa, mu, factor, norm_g, norm_c, offset, trace, test)
            tau_kappa[0], tau_kappa[1] = tau, kappa
            if test[0] <= tol and test[1] <= tol_abs:
                return OPTIMAL, k
            if test[2] <= tol_infeasible:
                return PRIMAL_RAY, k
            if test[3] <= tol_infeasible:
                return DUAL_RAY, k
            if k >= iterations or not np.isfinite(mu):
                return NO_CLAIM, k
            if scaling.nesterov_todd(l, ptr, s, z, w, eta, lam) != 0:
                return NO_CLAIM, k
            scale_data(n, p, l, ptr, w, eta, lam, c, g, r, q, r_scaled, rhs.reshape((2, size)))

        solves = 0.0
        for delta in DELTAS:
            trace[k + 1 if started else 0, 13] = delta
            scale_rows(l, ptr, w, eta, others, G, scaled)
            diagonal[:] = 0.0
            bound_weights(variable, coefficient, w, diagonal)
            if factor_dense(n, p, rows, P, A, scaled.reshape(-1), rho, diagonal, delta, H, Y, S) != 0:
                found[1] = np.inf
                continue
            refine_dense(
                n, p, l, ptr, w, eta, M_indptr, M_indices, M_data, P, curved, order, START, roots, H, Y, S, rho, steps,
                TWO, rhs, solution, before, residual, Pu, t, dy, v, Mtv, room, found,
            )  # fmt: skip
            solves += found[2] + found[5]
            if found[1] <= GOOD_RESIDUAL * found[0] and found[4] <= GOOD_RESIDUAL * max(found[3], 1e-300):
                break
        if not (found[1] <= GOOD_RESIDUAL * found[0]):
            return NO_CLAIM, k

        if not started:
            u[:] = u2 if curved else u1
            u[:n] = u2[:n]
            for i in range(m):
                far = g[p + i] if shift[i] > 1.0 else 0.0
                s[i] = far / shift[i] - u2[n + p + i]
            shift_inside(l, ptr, s)
            shift_inside(l, ptr, z)
            for i in range(m):
                s[i] *= shift[i]
                z[i] /= shift[i]
            tau, kappa, started = 1.0, 1.0, True
            trace[0, 6], trace[0, 7], trace[0, 8], trace[0, 11] = np.nan, np.nan, np.nan, solves
            continue

        #  the affine direction, then the centered one with its second-order term
        rtau = kappa + scalars[CX] + scalars[GV] + scalars[XPX] / tau
        curvature = tau_curvature(n, m, q, scalars[XPX], Px, u, tau, kappa, u2, Pu)
        if not np.isfinite(curvature):
            return NO_CLAIM, k
        sigma, alpha, affine = 0.0, 0.0, 0.0
        for stage in range(2):
            if stage == 0:
                kappa_rhs = -tau * kappa
                for i in range(m):
                    shift[i] = -lam[i]
            else:
                affine = min(1.0, alpha)
                sigma = (1.0 - affine) ** 3
                kappa_rhs = sigma * mu - tau * kappa - dtau * dkappa
                corrector_rhs(l, ptr, lam, r_scaled, sigma, mu, dz_scaled, ds_scaled, shift, rhs1)
                refine_dense(
                    n, p, l, ptr, w, eta, M_indptr, M_indices, M_data, P, curved, order, START, roots, H, Y, S, rho,
                    steps, ONE, rhs1, u1, before, residual, Pu, t, dy, v, Mtv, room, found,
                )  # fmt: skip
                solves += found[2]
            numerator = (1.0 - sigma) * rtau + kappa_rhs / tau + tau_numerator(n, q, Px, tau, u1)
            dtau = numerator / curvature
            dkappa = (kappa_rhs - kappa * dtau) / tau
            alpha = combine(l, ptr, lam, u1, u2, dtau, shift, du, ds_scaled)
            if dtau < 0.0:
                alpha = min(alpha, -tau / dtau)
            if dkappa < 0.0:
                alpha = min(alpha, -kappa / dkappa)
        alpha = min(1.0, fraction * alpha)
        if warm and alpha < SHORT_WARM_STEP:
            warm, started = False, False
            continue
        if not alpha > SMALL_STEP:
            return NO_CLAIM, k
        take_step(l, ptr, w, eta, alpha, du, ds_scaled, u, s, work)
        tau += alpha * dtau
        kappa += alpha * dkappa
        k += ONE
        trace[k, 6], trace[k, 7], trace[k, 8], trace[k, 11] = sigma, affine, alpha, solves


@kernel
def cones_mean(z, s, tau, kappa, degree):
    """mu = (s'z + tau kappa) / (degree + 1)."""
    total = tau * kappa
    for i in range(s.size):
        total += s[i] * z[i]
    return total / (degree + 1)


class SmallPath:
    """The kernel with its arguments for one form."""

    def __init__(self, form: StandardForm, settings: Settings) -> None:
        self.form, self.settings = form, settings
        self.refresh()

    @staticmethod
    def fits(form: StandardForm, settings: Settings) -> bool:
        """Whether the program is small and the settings leave the way of solving it open."""
        n, p, m = form.n, form.p, form.m
        limited = settings.time_limit is not None and settings.time_limit < LONG_TIME
        if settings.verbose or settings.callback is not None or limited:
            return False
        if settings.kkt != "auto" or settings.regularization is not None:
            return False
        if not (0 < n <= MOST_VARIABLES and p + m <= MOST_ROWS and p <= n):
            return False
        most = MOST_DENSE_WORK if isinstance(form.P, DenseHessian) and form.P.low_rank is None else MOST_WORK
        rows = place_rows(form.l, p, form.M_indices, np.empty(m, np.int64))
        return n * n * (n / 3.0 + rows + p) + p * p * (n + p / 3.0) <= most

    def refresh(self) -> None:
        """Take the values of the form anew."""
        form = self.form
        self._P = form.P.dense().ravel()

    def follow(self, point: Point, warm: bool, norms: tuple[float, float], offset: float) -> tuple[int, np.ndarray]:
        """Move the point along the central path; what is claimed of where it ends, and the trace's rows."""
        form, settings = self.form, self.settings
        iterations = min(settings.max_iter, MOST_ITERATIONS)
        limits = np.array(
            [
                settings.tol, np.inf if settings.tol_abs is None else settings.tol_abs,
                settings.tol_infeasible or settings.tol, settings.step_fraction, iterations, settings.refinement_steps,
                *norms, offset,
            ]
        )  # fmt: skip
        trace, tau_kappa = np.zeros((iterations + 2, COLUMNS)), np.array([point.tau, point.kappa])
        claim, last = follow_path(
            form.n, form.p, form.l, form.ptr, form.M_indptr, form.M_indices, form.M_data, self._P,
            not form.P.is_zero, form.c, form.g, form.D, form.E, form.factor, limits, warm, point.u, point.s, tau_kappa,
            trace,
        )  # fmt: skip
        point.tau, point.kappa = tau_kappa.tolist()
        return claim, trace[: last + 1]
