"""The whole interior-point method of a small program in one kernel.

For programs with few variables the steps of `loop` cost next to nothing beside the Python around them.  Here is the
same method compiled in one piece: `step`'s directions, `start`'s starting points, the KKT systems of `small_kkt`.

The kernel only claims.  It stops where an iterate seems to be a solution or a certificate; `Run.at_once` tests that on
the caller's own data, and lets the kernel go on where the test fails.  Whatever else happens, a breakdown or a limit,
is left to `Run.iterates`, which begins anew with all that the engine has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..compiled.jit import inner_kernel, kernel
from ..cones import scaling
from ..form.hessian import LOW_RANK_TOL, SEMIDEFINITE_TOL, DenseHessian, check_semidefinite
from ..form.standard import StandardForm
from ..problem.settings import Settings
from ..problem.solution import TRACE
from .small_kkt import build_system, factor, is_semidefinite, multiply, multiply_both, solve
from .start import SHORT_WARM_STEP, SMALL_STEP, WARM_LIMIT, WARM_MARGIN, move_inside, shift_inside, weigh_sides
from .step import (
    CX,
    DUAL,
    GV,
    NORM_MTV,
    NORM_MX,
    NORM_MXS,
    NORM_PX,
    PRIMAL,
    SCALARS,
    SZ,
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

MOST_VARIABLES, MOST_DENSE = 170, 260  # variables and equalities up to which a program may be small; when P is dense
MOST_WORK = 1.5e6  # multiplications of a factorization up to which it is, those in products by BLAS
PRODUCT = 0.3  # counted at their share of the time
LONG_TIME = 1.0  # a limit of so many seconds is none for a small program
MOST_ITERATIONS, PATIENCE = 60, 12  # iterations in all, and without a better iterate, after which the engine takes over
DELTAS = (1e-13, 1e-8, 1e-10, 1e-6)  # the choices of delta
GOOD, MUCH_WORSE = 1e-8, 10.0  # a relative residual that is good enough, and how much worse than the best it may become

# what the kernel returns
NO_CLAIM, OPTIMAL, PRIMAL_RAY, DUAL_RAY = range(4)
# places in `options`, what a run is given, and in `state`, what it keeps between two calls of the kernel
FACTOR, NORM_G, NORM_C, OFFSET, TOL, TOL_ABS, TOL_RAY, MAX_ITER, FRACTION, STEPS, DELTA = range(11)
(
    TAU, KAPPA, RECORDS, WARM, BEST, PROGRESS, CHOICE, ACCEPTED, SIGMA, AFFINE, ALPHA, REFINED, REPLACED, STATE,
) = range(14)  # fmt: skip
# columns of the trace
COLUMNS = len(TRACE.names or ())
ITERATION, REFINEMENTS, REPLACED_PIVOTS, REGULARIZATION = 0, 12, 13, 14


class Work(NamedTuple):
    """The linearized embedding at a point, as in `step.Newton`."""

    r: np.ndarray
    Px: np.ndarray
    Mtv: np.ndarray
    scalars: np.ndarray
    w: np.ndarray
    eta: np.ndarray
    lam: np.ndarray
    shift: np.ndarray
    room: np.ndarray
    q: np.ndarray
    r_scaled: np.ndarray
    rhs: np.ndarray  # the right-hand sides of u2 and u1, in two rows, and each of these
    rhs2: np.ndarray
    rhs1: np.ndarray
    u2: np.ndarray
    u1: np.ndarray
    Px2: np.ndarray
    du: np.ndarray
    dz_scaled: np.ndarray
    ds_scaled: np.ndarray


@kernel
def make_work(n, size, m, second_order):
    """`Work` for a program with n variables, size = n + p + m and so many second-order cones."""
    rhs, du = np.zeros((2, size)), np.zeros(size)
    return Work(
        np.zeros(size), np.zeros(n), np.zeros(n), np.zeros(SCALARS), np.ones(m), np.ones(second_order), np.zeros(m),
        np.zeros(m), np.zeros(m), np.zeros(size), np.zeros(size), rhs, rhs[0], rhs[1], np.zeros(size),
        np.zeros(size), np.zeros(n), du, du[size - m :], np.zeros(m),
    )  # fmt: skip


@inner_kernel
def factor_and_solve(system, work, options, state):
    """K u2 = rhs2 and K u1 = rhs1 with the delta that does it best; False when none does.

    The choices of delta are tried in turn from the last one on, until the residuals are good enough.
    """
    best, best_choice = np.inf, -1
    choices, steps = options.size - DELTA, int(options[STEPS])
    for trial in range(choices + 1):
        choice = (int(state[CHOICE]) + trial) % choices
        if trial == choices:  # none is good: the best one again, and from now on it is good enough
            if not best < 1.0:
                return False
            choice = best_choice
            state[ACCEPTED] = max(GOOD, MUCH_WORSE * best)
        state[REPLACED] = factor(system, work.w, work.eta, options[DELTA + choice])
        if state[REPLACED] < 0.0:
            continue
        constant, further = solve(system, work.rhs2, work.u2, steps)
        for j in range(system.n):
            work.Px2[j] = system.Px[j]
        affine, count = solve(system, work.rhs1, work.u1, steps)
        worst = max(constant, affine)
        state[REFINED] += further + count
        if worst <= state[ACCEPTED] or trial == choices:
            state[CHOICE] = choice
            return True
        if worst < best:
            best, best_choice = worst, choice
    return False


@inner_kernel
def start_cold(system, work, options, state, c, g, u, s):
    """`start.cold`; False when the KKT matrix cannot be factored."""
    n, p, l, ptr = system.n, system.p, system.l, system.ptr
    weight, curved = work.lam, False
    weigh_sides(p, l, ptr, g, work.w, work.eta, weight)
    for i in range(system.P.size):
        curved |= system.P[i] != 0.0
    # (., y, W z) is the first solution, (x, ., W^-1 (f - s)) the second; the same where the objective is curved
    for j in range(n):
        work.rhs2[j], work.rhs1[j] = -c[j], -c[j] if curved else 0.0
    for i in range(g.size):
        far = g[i] if i >= p and weight[i - p] > 1.0 else 0.0
        work.rhs1[n + i] = (g[i] - far) / (weight[i - p] if i >= p else 1.0)
        work.rhs2[n + i] = work.rhs1[n + i] if curved else 0.0
    if not factor_and_solve(system, work, options, state):
        return False
    for i in range(u.size):
        u[i] = work.u1[i] if i < n else work.u2[i]
    z, first = work.room, n + p
    for i in range(s.size):
        far = g[p + i] if weight[i] > 1.0 else 0.0
        s[i] = far / weight[i] - work.u1[first + i]
        z[i] = u[first + i]
    shift_inside(l, ptr, s)
    shift_inside(l, ptr, z)
    for i in range(s.size):
        s[i] *= weight[i]
        u[first + i] = z[i] / weight[i]
    state[TAU] = state[KAPPA] = 1.0
    return True


@inner_kernel
def measure_point(system, work, options, state, c, g, D, E, u, s):
    """The residuals of the embedding at the point, and mu."""
    multiply(system.n, system.P, u, work.Px)
    multiply_both(system, u, work.r, work.Mtv)
    embedding_residuals(
        system.n, system.p, work.Px, work.Mtv, c, g, u, s, state[TAU], D, E, options[FACTOR], work.r, work.scalars
    )
    return (work.scalars[SZ] + state[TAU] * state[KAPPA]) / (system.l + system.ptr.size)


@inner_kernel
def move_warm(system, work, state, c, g, u, s):
    """`start.warm` of a point with tau = 1 whose residuals are known; False when it is no better than a cold start."""
    size, largest = 1.0, 0.0
    for j in range(c.size):
        size = max(size, 1.0 + abs(c[j]))
    for i in range(g.size):
        size = max(size, 1.0 + abs(g[i]))
    for i in range(work.r.size):
        largest = max(largest, abs(work.r[i]))
    margin = max(largest / size, WARM_MARGIN)
    if not margin < WARM_LIMIT:
        return False
    z, first = work.room, u.size - s.size
    for i in range(s.size):
        z[i] = u[first + i]
    move_inside(system.l, system.ptr, margin, s)
    move_inside(system.l, system.ptr, margin, z)
    for i in range(s.size):
        u[first + i] = z[i]
    state[KAPPA] = margin
    return True


@inner_kernel
def judge(q, mu, options, state, record):
    """Fill the record of an iterate; returns which claim it may stand (0 for none, -1 when there is no progress)."""
    tau, f = state[TAU], options[FACTOR]
    xPx, cx, gv = q[XPX] / tau**2 / f, q[CX] / tau / f, q[GV] / tau / f
    primal_objective, dual_objective = 0.5 * xPx + cx, -0.5 * xPx - gv
    difference = abs(primal_objective - dual_objective)
    primal = q[PRIMAL] / tau / (1.0 + max(options[NORM_G], q[NORM_MX] / tau))
    dual = q[DUAL] / tau / (1.0 + max(options[NORM_C], q[NORM_PX] / tau))
    gap = difference / (1.0 + max(abs(primal_objective), abs(dual_objective)))
    record[1], record[2] = primal_objective + options[OFFSET], dual_objective + options[OFFSET]
    record[3], record[4], record[5] = primal, dual, gap
    record[6], record[7], record[8], record[9] = mu, state[SIGMA], state[AFFINE], state[ALPHA]
    record[10], record[11] = tau, state[KAPPA]
    if not math.isfinite(primal + dual + gap + mu):
        return -1
    worst, absolute = max(primal, dual, gap), max(q[PRIMAL] / tau, q[DUAL] / tau, difference)
    if worst <= options[TOL] and absolute <= options[TOL_ABS]:
        return OPTIMAL
    # slopes of the two rays, as in `stopping`
    primal_ray = q[NORM_MTV] / (-q[GV] / f) if q[GV] < 0.0 else np.inf
    dual_ray = max(q[NORM_PX], q[NORM_MXS]) / (-q[CX] / f) if q[CX] < 0.0 else np.inf
    if primal_ray <= options[TOL_RAY]:
        return PRIMAL_RAY
    if dual_ray <= options[TOL_RAY]:
        return DUAL_RAY
    worst = min(worst, primal_ray, dual_ray)
    if worst < state[BEST]:
        state[BEST], state[PROGRESS] = worst, state[RECORDS]
    return -1 if state[RECORDS] - state[PROGRESS] > PATIENCE else 0


@inner_kernel
def direction(system, work, state, rtau, sigma, kappa_rhs, curvature):
    """du = u1 + dtau u2, with ds and dkappa; returns (dtau, dkappa, the longest step)."""
    tau, kappa = state[TAU], state[KAPPA]
    products = tau_numerator(system.n, work.q, work.Px, tau, work.u1)
    dtau = ((1.0 - sigma) * rtau + kappa_rhs / tau + products) / curvature
    dkappa = (kappa_rhs - kappa * dtau) / tau
    alpha = combine(
        system.l, system.ptr, work.lam, work.u1, work.u2, dtau, work.shift, work.du, work.dz_scaled, work.ds_scaled
    )
    if dtau < 0.0:
        alpha = min(alpha, -tau / dtau)
    if dkappa < 0.0:
        alpha = min(alpha, -kappa / dkappa)
    return dtau, dkappa, alpha


@inner_kernel
def search_direction(system, work, options, state, mu, c, g, u, s, z):
    """Predictor and corrector; returns (dtau, dkappa, the step to take), a step of 0 when that breaks down."""
    n, p, l, ptr = system.n, system.p, system.l, system.ptr
    tau, kappa = state[TAU], state[KAPPA]
    if scaling.nesterov_todd(l, ptr, s, z, work.w, work.eta, work.lam) != 0:
        return 0.0, 0.0, 0.0
    scale_data(n, p, l, ptr, work.w, work.eta, work.lam, c, g, work.r, work.q, work.r_scaled, work.rhs)
    if not factor_and_solve(system, work, options, state):
        return 0.0, 0.0, 0.0
    xPx = work.scalars[XPX]
    curvature = tau_curvature(n, s.size, work.q, xPx, work.Px, u, tau, kappa, work.u2, work.Px2)
    rtau = kappa + work.scalars[CX] + work.scalars[GV] + xPx / tau

    for i in range(s.size):
        work.shift[i] = -work.lam[i]
    dtau, dkappa, longest = direction(system, work, state, rtau, 0.0, -tau * kappa, curvature)
    state[AFFINE] = min(1.0, longest)
    sigma = (1.0 - state[AFFINE]) ** 3
    kappa_rhs = sigma * mu - tau * kappa - dtau * dkappa
    corrector_rhs(
        l, ptr, work.lam, work.r_scaled, sigma, mu, work.dz_scaled, work.ds_scaled, work.shift, work.rhs1
    )  # fmt: skip
    _, count = solve(system, work.rhs1, work.u1, int(options[STEPS]))
    dtau, dkappa, longest = direction(system, work, state, rtau, sigma, kappa_rhs, curvature)
    state[SIGMA], state[ALPHA] = sigma, min(1.0, options[FRACTION] * longest)
    state[REFINED] += count
    return dtau, dkappa, state[ALPHA] if math.isfinite(curvature + dtau) else 0.0


@kernel
def follow_path(ptr, M_indptr, M_indices, M_data, P, c, g, D, E, options, state, u, s, trace, counts):
    """Iterate until a claim may be made, or nothing more can be done; returns which.

    `trace` and `counts` are the trace's memory as numbers and as integers.  Called again, it goes on.
    """
    n, m = c.size, s.size
    system = build_system(g.size - m, ptr, M_indptr, M_indices, M_data, P)
    work = make_work(n, u.size, m, ptr.size - 1)
    z = u[u.size - m :]
    resumed = state[RECORDS] > 0.0
    if not resumed and state[WARM] > 0.0:
        measure_point(system, work, options, state, c, g, D, E, u, s)
        state[WARM] = 1.0 if move_warm(system, work, state, c, g, u, s) else 0.0
    cold = not resumed and state[WARM] == 0.0
    while True:
        if cold and not start_cold(system, work, options, state, c, g, u, s):
            return NO_CLAIM
        cold = False
        mu = measure_point(system, work, options, state, c, g, D, E, u, s)
        if not resumed:
            k = int(state[RECORDS])
            if k >= trace.shape[0]:
                return NO_CLAIM
            claim = judge(work.scalars, mu, options, state, trace[k])
            counts[k, ITERATION], counts[k, REFINEMENTS] = k, int(state[REFINED])
            counts[k, REPLACED_PIVOTS] = int(state[REPLACED])
            trace[k, REGULARIZATION] = options[DELTA + int(state[CHOICE])]
            state[RECORDS], state[REFINED] = k + 1, 0.0
            if claim > 0:
                return claim
            if claim < 0 or k >= options[MAX_ITER]:
                return NO_CLAIM
        resumed = False
        dtau, dkappa, alpha = search_direction(system, work, options, state, mu, c, g, u, s, z)
        if state[WARM] > 0.0 and alpha < SHORT_WARM_STEP:
            state[WARM], cold = 0.0, True
            continue
        if not alpha > SMALL_STEP:
            return NO_CLAIM
        take_step(
            system.l, ptr, work.w, work.eta, alpha, work.du, work.dz_scaled, work.ds_scaled, u, s, work.room
        )  # fmt: skip
        state[TAU] += alpha * dtau
        state[KAPPA] += alpha * dkappa


def is_small(n: int, p: int, entries: int, dense: bool, settings: Settings) -> bool:
    """Whether a program with n variables, p equalities and so many entries in A and G is small, by the count of the
    work, and the settings leave the way of solving it open."""
    size = n + p
    limited = settings.time_limit is not None and settings.time_limit < LONG_TIME
    watched = settings.verbose or settings.callback is not None or limited
    work = PRODUCT * size**3 / 6 + entries * n / 2
    small = 0 < n and size <= (MOST_DENSE if dense else MOST_VARIABLES) and work <= MOST_WORK
    return small and not watched and settings.kkt == "auto" and settings.regularization is None


def make_options(settings: Settings, offset: float) -> np.ndarray:
    """`options` of a run; the factor and the norms of the program are not in them yet."""
    tol_abs = np.inf if settings.tol_abs is None else settings.tol_abs
    return np.array(
        [
            1.0, 0.0, 0.0, offset, settings.tol, tol_abs, settings.tol_infeasible or settings.tol, settings.max_iter,
            settings.step_fraction, settings.refinement_steps, *DELTAS,
        ]
    )  # fmt: skip


def first_state() -> np.ndarray:
    """`state` before a cold start."""
    state = np.zeros(STATE)
    state[TAU], state[ACCEPTED], state[BEST] = 1.0, GOOD, np.inf
    state[SIGMA] = state[AFFINE] = state[ALPHA] = np.nan
    return state


class SmallPath:
    """The kernel with its arguments for one form."""

    def __init__(self, form: StandardForm, settings: Settings) -> None:
        self.form, self.settings = form, settings
        self.refresh()

    @staticmethod
    def fits(form: StandardForm, settings: Settings) -> bool:
        """Whether the program is small, by the count of the work, and the settings leave the way of solving it open."""
        return is_small(form.n, form.p, form.M_data.size, isinstance(form.P, DenseHessian), settings)

    def refresh(self) -> None:
        """Take the values of the form anew; a P that is not semidefinite is refused."""
        P = self.form.P.dense()
        if not self.form.P.is_zero and not is_semidefinite(P, SEMIDEFINITE_TOL, LOW_RANK_TOL):
            check_semidefinite(self.form.P)
        self._P = P

    def claims(
        self, point: Point, warm: bool, norms: tuple[float, float], offset: float
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Move the point along the central path from one claim to the next.

        Parameters
        ----------
        point : Point
            With `warm`, where to start (tau = 1).
        norms : (float, float)
            Those of (b, h) and c, for the stopping test.
        offset : float
            That of the objective, for the trace.

        Yields
        ------
        claim, records
            What may hold of the point, and the trace up to it; nothing more comes when the kernel is at its end.
        """
        form, settings = self.form, self.settings
        state = first_state()
        state[WARM] = warm
        options = make_options(settings, offset)
        options[FACTOR], options[NORM_G], options[NORM_C] = form.factor, *norms
        records = np.zeros(MOST_ITERATIONS, TRACE)
        numbers = records.view(np.float64).reshape(MOST_ITERATIONS, COLUMNS)
        integers = records.view(np.int64).reshape(MOST_ITERATIONS, COLUMNS)
        while True:
            claim = follow_path(
                form.ptr, form.M_indptr, form.M_indices, form.M_data, self._P, form.c, form.g, form.D, form.E, options,
                state, point.u, point.s, numbers, integers,
            )  # fmt: skip
            if claim == NO_CLAIM:
                return
            point.tau, point.kappa = float(state[TAU]), float(state[KAPPA])
            yield claim, records[: int(state[RECORDS])].copy()
