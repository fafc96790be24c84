"""The compiled loop of the primal-dual interior-point method: its steps, measurements and reasons to stop.

    measure     residuals of the embedding, mu                           (`newton`)
    terminate   record, best iterate so far, candidate for a claim, limits
    linearize   Nesterov-Todd scaling, KKT factorization
    predict     the affine direction; its step alpha gives the centering sigma = (1 - alpha)^3
    correct     the centered direction with the second-order term, and further centrality correctors if they pay
    advance     a step of 99 % of the way to the boundary

The loop returns to Python (`run`) if an iterate seems to be a solution or a certificate, which `run` tests on the
caller's own data, at a limit, and at a given time: after one iteration if there is a callback or `verbose`.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.clock import clock
from ..compiled.kernels import inner, kernel
from ..compiled.structures import Structure, flag, integer, number, part, records, structure
from ..form.standard import StandardForm
from ..kkt.base import KKT, restart
from ..plan.plan import Plan
from ..problem.settings import Settings
from ..problem.solution import TRACE
from ..verify.stopping import HIDDEN, INACCURATE_TOL, Measured, meets
from .newton import (
    Newton,
    Point,
    advance,
    center,
    copy,
    correct,
    descent_limit,
    linearize,
    measure,
    predict,
    relative_residuals,
    round_inside,
)
from .start import estimate_multipliers, put_start, start_cold, start_warm

PATIENCE = 15  # iterations without progress before a run gives up
LEAST_STEP = 0.1  # least value of the limit of step lengths by the minimum of mu
RAY = 100.0  # factor of tol_infeasible up to which a ray is tested on the caller's data, and of tol for near bounds
RISEN = 100.0  # least kappa / tau at which a ray is tested, except where a run ends: a program with a ray has tau -> 0
FAR_RAY = RAY * RAY  # in place of RAY for the dual ray if kappa > tau: the KKT matrix has a better ray near it
RECORDS = 60  # records of a new trace

# reasons for the loop to return to Python
GO_ON, SOLVED, RAY_FOUND, MAX_ITERATIONS, STALLED, NOT_FACTORED, SHORT_STEP, NOT_SOLVED = range(8)


class State(Structure):
    """State of a run of the method: iterates, progress and settings; several runs use it one after another.

    Parameters
    ----------
    form : StandardForm
    kkt : KKT
    plan : Plan

    Attributes
    ----------
    newton : Newton
    point, best, last : Point
        Present iterate, best iterate of the run, and last optimal iterate, at which a warm start begins.
    tol, tol_abs, tol_infeasible, step_fraction, max_iter
        Settings; tol_abs is infinite if not given, and step_fraction is taken from the plan.
    offset : float
        Constant of the objective, for the trace.
    iteration : int
        Number of the present iterate.
    measured, worst, missed : Measured and float
        Residuals and gap of the present iterate and their scales, as in `verify.stopping.Residuals`; the largest of
        the relative residuals and the relative gap; the largest relative residual.
    primal_ray, dual_ray, ray_limit : float
        Residuals of the iterate's two rays, scaled to slope -1, or inf; largest value at which the dual ray is tested.
    primal_refused, dual_refused : float
        Values of `primal_ray` and `dual_ray` at which the rays last failed as certificates in this run.
    best_worst, best_missed, best_ray, last_better, last_progress
        Smallest `worst`, `missed` and ray in this run; iterations of the best iterate and of the last progress.
    warm : bool
        Whether the run began at the last optimal point, or at a point of the caller's own.
    is_complete : bool
        Whether the point of a warm start has multipliers, which are estimated otherwise.
    sigma, alpha_affine, alpha : float
        Centering, length of the affine step, and step length of the last iteration.
    started, now : float
        Clock at the start of the run and at the present iterate, in seconds.
    trace : array of `TRACE`
    settings : Settings or None
        Settings that `take_settings` copied last.
    plan : Plan
        Plan that the runs follow.
    """

    settings: Settings | None = None
    form, kkt = structure(StandardForm), structure(KKT)
    newton, point, best, last = part(Newton), part(Point), part(Point), part(Point)
    tol, tol_abs, tol_infeasible, step_fraction, offset = number(), number(), number(), number(), number()
    max_iter, iteration, last_better, last_progress = integer(), integer(), integer(), integer()
    measured = part(Measured)
    worst, missed, primal_ray, dual_ray = number(), number(), number(), number()
    ray_limit, best_worst, best_missed, best_ray = number(), number(), number(), number()
    primal_refused, dual_refused = number(), number()
    warm, is_complete = flag(), flag()
    sigma, alpha_affine, alpha, started, now = number(), number(), number(), number(), number()
    trace = records(TRACE, "rows")

    def __init__(self, form: StandardForm, kkt: KKT, plan: Plan) -> None:
        super().__init__(n=form.n, p=form.p, m=form.m, rows=RECORDS, form=form, kkt=kkt)
        self.plan = plan

    def take_settings(self, settings: Settings) -> None:
        """Copy the settings for the following runs."""
        self.tol = self.newton.tol = settings.tol
        self.tol_abs = np.inf if settings.tol_abs is None else settings.tol_abs
        self.tol_infeasible = settings.tol_of_rays
        self.step_fraction = self.plan.step_fraction
        self.settings = settings

    def start_from_last(self) -> None:
        """Start the run at the last optimal point."""
        np.divide(self.last.u, self.last.tau, out=self.point.u)
        np.divide(self.last.s, self.last.tau, out=self.point.s)
        self.warm = self.is_complete = True

    def start_at(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, is_complete: bool) -> None:
        """Start the run at a point in the caller's units; if it is not complete, (y, z) = 0 stands for unknown ones."""
        put_start(self.newton, self.point, x, y, z)
        self.warm, self.is_complete = True, is_complete

    def follow_plan(self, plan: Plan) -> None:
        """Let the following runs use another plan with the same backend."""
        self.kkt.regularize(plan.regularization, plan.refinement_steps)
        self.kkt.policy.precise, self.settings = plan.precise, None
        self.plan = plan._replace(what=self.plan.what, flops=self.plan.flops, correctors=self.plan.correctors)


@kernel
def prepare_run(state: State, offset: float) -> None:
    """Initialize the fields of a run, so that nothing of the previous run is left."""
    state.offset, state.iteration, state.warm = offset, -1, False
    state.best_worst, state.best_missed, state.best_ray = np.inf, np.inf, np.inf
    state.last_better, state.last_progress = 0, 0
    state.worst, state.primal_ray, state.dual_ray = np.inf, np.inf, np.inf
    state.primal_refused, state.dual_refused = np.inf, np.inf
    state.sigma, state.alpha_affine, state.alpha = np.nan, np.nan, np.nan
    best = state.best
    for i in range(best.u.size):
        best.u[i] = 0.0
    for i in range(best.s.size):
        best.s[i] = 0.0
    best.tau, best.kappa = 1.0, 1.0


def take_best(state: State) -> None:
    """Copy the best iterate to `point` and measure it."""
    copy(state.best, state.point)
    measure(state.newton, state.point)


def take_residuals(state: State, residual: np.ndarray, gap: float) -> None:
    """Set the residuals that the next step removes to more accurate ones of the present iterate.

    In the caller's units, `residual` = (Px + c + A'y + G'z, Ax - b, Gx + s - h), `gap` = primal - dual objective.
    """
    form, newton, tau = state.form, state.newton, state.point.tau
    n, p, r = form.n, form.p, newton.r
    r[:n] = form.cost_scale * form.D * tau * residual[:n]
    r[n : n + p] = form.E[:p] * tau * residual[n : n + p]
    r[n + p :] = form.E[p:] * tau * residual[n + p :][form.rows]
    newton.rtau = state.point.kappa + form.cost_scale * tau * gap


@kernel
def begin(state: State) -> int:
    """Compute the first iterate, warm or cold, and judge it; return the reason to stop, or GO_ON."""
    newton, point = state.newton, state.point
    state.started = clock()
    restart(newton.kkt)
    newton.last_dtau = 1.0  # The previous run must not change the bits of this run.
    if state.warm:
        if not state.is_complete:
            estimate_multipliers(newton, point)
            restart(newton.kkt)
        state.warm = start_warm(newton, point, state.is_complete)
    if not state.warm and not start_cold(newton, point):
        return NOT_FACTORED
    return judge(state)


@kernel
def follow(state: State, until: float) -> int:
    """Iterate until Python must decide, the clock shows `until`, or the trace is full; return the reason to stop.

    The reason is GO_ON at `until` and if the trace is full.
    """
    reason = GO_ON
    while reason == GO_ON and state.iteration + 2 < state.trace.size:
        reason = iterate(state)
        if state.now >= until:
            break
    return reason


@inner
def iterate(state: State) -> int:
    """Make one iteration of the predictor-corrector method (Mehrotra 1992); return the reason to stop, or GO_ON."""
    newton, point = state.newton, state.point
    if not linearize(newton, point):
        return NOT_FACTORED
    state.alpha_affine = min(1.0, predict(newton, point))
    state.sigma = (1.0 - state.alpha_affine) ** 3
    longest = correct(newton, point, state.sigma)
    for _ in range(newton.kkt.policy.correctors):
        if longest >= 1.0:
            break
        previous, longest = longest, center(newton, point, state.sigma, longest)
        if longest == previous:
            break
    if not math.isfinite(newton.dtau):  # dtau sums all entries of the solutions; a NaN would allow any step.
        return NOT_SOLVED
    state.alpha = min(1.0, state.step_fraction * longest, max(LEAST_STEP, descent_limit(newton, point)))
    if not state.alpha > 0.0:
        return SHORT_STEP
    advance(newton, point, state.alpha)
    if state.worst <= INACCURATE_TOL:  # Otherwise it is better to end and test for a certificate.
        round_inside(point, newton.form.ptr)
    return judge(state)


@inner
def judge(state: State) -> int:
    """Measure the iterate, record it, keep it if it is the best so far; return the reason to stop, or GO_ON."""
    newton, point = state.newton, state.point
    measure(newton, point)
    state.iteration += 1
    estimate(state)
    k = state.iteration
    if state.worst < state.best_worst:
        state.best_worst, state.last_better, state.last_progress = state.worst, k, k
        copy(point, state.best)
    if state.missed < state.best_missed:  # This is progress, though the gap may rise.
        state.best_missed, state.last_progress = state.missed, k
    ray = min(state.primal_ray, state.dual_ray)
    if ray < state.best_ray:  # This is progress towards a certificate.
        state.best_ray, state.last_progress = ray, k
    state.ray_limit = (FAR_RAY if point.kappa > point.tau else RAY) * state.tol_infeasible
    certified = state.primal_ray <= min(RAY * state.tol_infeasible, state.primal_refused)
    certified |= state.dual_ray <= min(state.ray_limit, state.dual_refused)
    if meets(state.measured, state.tol, state.tol_abs):
        return SOLVED
    return RAY_FOUND if certified and point.kappa > RISEN * point.tau else limit(state)


@kernel
def limit(state: State) -> int:
    """Return the limit that the run has reached: MAX_ITERATIONS, STALLED, or GO_ON for none."""
    k = state.iteration
    if k >= state.max_iter:
        return MAX_ITERATIONS
    stalled = k - state.last_progress > PATIENCE
    if state.best_worst <= INACCURATE_TOL < state.best_ray:
        stalled |= k - state.last_better > PATIENCE
    return STALLED if stalled or not math.isfinite(state.newton.mu) else GO_ON


@inner
def estimate(state: State) -> None:
    """Estimate residuals, the gap, and residuals of rays as the stopping test measures them; record the iterate."""
    newton, point, form, kkt = state.newton, state.point, state.newton.form, state.newton.kkt
    tau, f, found = point.tau, form.cost_scale, state.measured
    xPx, cx, gv = newton.xPx / tau**2 / f, newton.cx / tau / f, newton.gv / tau / f
    primal_objective, dual_objective = 0.5 * xPx + cx, -0.5 * xPx - gv
    found.rows, found.rows_scale = newton.rows / tau, newton.rows_size / tau
    found.cone, found.cone_scale = newton.cone / tau, newton.cone_size / tau
    found.dual, found.dual_scale = newton.dual / tau, newton.dual_size / tau
    found.gap = max(abs(primal_objective - dual_objective), HIDDEN * newton.hidden / tau**2 / f)
    found.gap_scale = form.objective_unit + max(abs(primal_objective), abs(dual_objective))
    (primal, dual), gap = relative_residuals(newton), found.gap / found.gap_scale
    state.worst = max(primal, dual, gap) if math.isfinite(primal + dual + gap) else np.inf
    state.missed = max(primal, dual)
    # residuals of the two rays, scaled to slope -1: in the caller's units or relative to the data, whichever is less
    left_primal = min(f * newton.norm_Mtv, newton.primal_ray)
    left_dual = min(f * max(newton.norm_Px, newton.norm_Mxs), newton.dual_ray)
    state.primal_ray = left_primal / -newton.gv if newton.gv < 0.0 else np.inf
    state.dual_ray = left_dual / -newton.cx if newton.cx < 0.0 else np.inf

    record = state.trace[state.iteration]
    record["iteration"] = state.iteration
    record["primal_objective"] = primal_objective + state.offset
    record["dual_objective"] = dual_objective + state.offset
    record["primal_residual"] = primal
    record["dual_residual"] = dual
    record["gap"] = gap
    record["mu"] = newton.mu
    record["sigma"] = state.sigma
    record["alpha_affine"] = state.alpha_affine
    record["alpha"] = state.alpha
    record["tau"] = tau
    record["kappa"] = point.kappa
    record["refinements"] = kkt.refinements
    record["replaced_pivots"] = kkt.replaced_pivots
    record["regularization"] = kkt.policy.delta
    state.now = clock()
    record["seconds"] = state.now - state.started
    kkt.refinements = 0
