"""One run of the primal-dual interior-point method."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..form.standard import StandardForm, unscale
from ..problem import printing, stopping
from ..problem.program import ConeProgram
from ..problem.settings import Settings
from ..problem.solution import TRACE, Solution
from ..problem.status import Status
from . import start
from .small import DUAL_RAY, OPTIMAL, PRIMAL_RAY, SmallPath
from .step import CX, DUAL, GV, NORM_MTV, NORM_MX, NORM_MXS, NORM_PX, PRIMAL, XPX, Newton, Point

PATIENCE = 25  # iterations without a better iterate before a solve gives up
PATIENCE_NEAR = 10  # the same once an iterate is "inaccurate": from there on, all but rounding errors fall steadily
LONG_STEP = 0.95  # a step from which on no centrality corrector is tried


class Iterate:
    """One iterate of a solve, in the caller's units; valid until the next one is computed.

    Attributes
    ----------
    x, y, z, s : arrays
        The point, divided by tau.
    record : numpy.void
        The trace's record of this iterate (see `socp.problem.solution.TRACE`); its fields are also attributes.
    point, newton, form : Point, Newton, StandardForm
        The engine's own state, in equilibrated units, open to a student: residuals, scaling point,
        directions, the KKT matrix.

    Examples
    --------
    >>> import socp
    >>> disk = dict(G=[[0, 0], [-1, 0], [0, -1]], h=[1, 0, 0], cones=[socp.SecondOrder(3)])
    >>> gaps = [iterate.gap for iterate in socp.iterates(socp.ConeProgram(c=[1, 1], **disk))]
    >>> bool(gaps[-1] < 1e-4 * gaps[0])
    True
    """

    def __init__(self, run: Run, record: tuple[Any, ...]) -> None:
        self._run, self._record = run, record
        self.point, self.newton, self.form = run.point, run.newton, run.form

    @property
    def record(self) -> np.void:
        return structured([self._record])[0]

    def __getattr__(self, name: str) -> Any:
        names = TRACE.names or ()
        if name in names:
            return self._record[names.index(name)]
        raise AttributeError(f"an iterate has no {name!r}")

    @property
    def x(self) -> np.ndarray:
        return self._run.unscale(self.point)[0]

    @property
    def y(self) -> np.ndarray:
        return self._run.unscale(self.point)[1]

    @property
    def z(self) -> np.ndarray:
        return self._run.unscale(self.point)[2]

    @property
    def s(self) -> np.ndarray:
        return self._run.unscale(self.point)[3]


CLAIMS = {OPTIMAL: Status.OPTIMAL, PRIMAL_RAY: Status.PRIMAL_INFEASIBLE, DUAL_RAY: Status.DUAL_INFEASIBLE}
Verified = tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], stopping.Residuals]


class Run:
    """One solve: the loop, the best iterate so far, the trace, and why it ended."""

    def __init__(
        self,
        program: ConeProgram,
        form: StandardForm,
        newton: Callable[[], Newton],
        settings: Settings,
        last: Point | None,
        accepts: Callable[..., bool] | None,
        certificate_error: Callable[..., float] | None = None,
    ) -> None:
        self.program, self.form, self.settings, self.last = program, form, settings, last
        self.accepts, self.certificate_error = accepts, certificate_error
        self._newton = newton  # called when the engine is needed
        self.warm = False
        self.point, self.best = Point(self.form), Point(self.form)
        self.best_worst, self.best_ray, self.last_progress, self.last_better = np.inf, np.inf, 0, 0
        self.records: Any = []  # tuples, or of a small program an array of `TRACE`
        self._verified: tuple[Point, int, Verified] | None = None  # with the number of records it was found at
        self.status: Status | None = None
        self.message = ""
        self.started = time.perf_counter()
        self.norm_g, self.norm_c = stopping.infinity_norm(form.raw_g), stopping.infinity_norm(form.raw_c)

    def iterates(self) -> Iterator[Iterate]:
        """The interior-point method, one iterate at a time."""
        newton, point, settings = self._newton(), self.point, self.settings
        self.newton, self.kkt = newton, newton.kkt
        if settings.verbose:
            printing.header(self.form, self.kkt.description, settings.tol)
        if not self._start():
            self.finish(Status.NUMERICAL_ERROR, "the KKT matrix at the starting point cannot be factored")
            return
        step = (np.nan, np.nan, np.nan)
        while True:
            newton.residuals(point)
            iterate = self._record(step)
            if self._decide():
                return
            yield iterate

            if not newton.linearize(point):
                self._give_up("the Newton system can no longer be factored")
                return
            alpha_affine = min(1.0, newton.predictor(point))
            sigma = (1.0 - alpha_affine) ** 3
            longest = newton.corrector(point, sigma)
            for _ in range(newton.kkt.correctors):
                if longest >= LONG_STEP:
                    break
                previous, longest = longest, newton.centrality_corrector(point, sigma, longest)
                if longest == previous:
                    break
            alpha = min(1.0, settings.step_fraction * longest)
            if self.warm and alpha < start.SHORT_WARM_STEP:
                self.warm = False
                start.cold(self.form, self.kkt, point)
                continue
            if not alpha > start.SMALL_STEP:
                self._give_up("steps became too short")
                return
            newton.step(point, alpha)
            step = (sigma, alpha_affine, alpha)

    def at_once(self, small: SmallPath) -> bool:
        """The same in one call for a small program; False, and all is as before, without a claim that holds."""
        point, last = self.point, self.last
        if last is not None:
            np.divide(last.u, last.tau, out=point.u)
            np.divide(last.s, last.tau, out=point.s)
        for claim, records in small.claims(point, last is not None, (self.norm_g, self.norm_c), self.program.offset):
            records["seconds"][-1] = time.perf_counter() - self.started
            self.records = records.tolist()
            if self._claim(CLAIMS[claim]):
                return True
        self.records, self.point, self._verified = [], Point(self.form), None
        return False

    def _start(self) -> bool:
        self.kkt.restart()
        self.warm = self.last is not None and start.warm(self.newton, self.point, self.last)
        return self.warm or start.cold(self.form, self.kkt, self.point)

    def _record(self, step: tuple[float, float, float]) -> Iterate:
        """Append this iterate's record to the trace and keep the iterate when it is the best so far."""
        point, q, f = self.point, self.newton.scalars, self.form.factor
        tau = point.tau
        xPx, cx, gv = q[XPX] / tau**2 / f, q[CX] / tau / f, q[GV] / tau / f
        primal_objective, dual_objective = 0.5 * xPx + cx, -0.5 * xPx - gv
        self.absolute = (q[PRIMAL] / tau, q[DUAL] / tau, abs(primal_objective - dual_objective))
        primal = self.absolute[0] / (1.0 + max(self.norm_g, q[NORM_MX] / tau))
        dual = self.absolute[1] / (1.0 + max(self.norm_c, q[NORM_PX] / tau))
        gap = self.absolute[2] / (1.0 + max(abs(primal_objective), abs(dual_objective)))
        self.worst = max(primal, dual, gap) if primal == primal and dual == dual and gap == gap else np.inf
        # slopes of the two rays, as in `stopping`
        self.primal_ray = q[NORM_MTV] / (-q[GV] / f) if q[GV] < 0.0 else np.inf
        self.dual_ray = max(q[NORM_PX], q[NORM_MXS]) / (-q[CX] / f) if q[CX] < 0.0 else np.inf
        if self.worst < self.best_worst:
            self.best_worst, self.last_progress, self.last_better = self.worst, len(self.records), len(self.records)
            self.best.copy_from(point)
        ray = min(self.primal_ray, self.dual_ray)
        if ray < self.best_ray:  # progress, but towards a certificate: no better solution
            self.best_ray, self.last_progress = ray, len(self.records)

        kkt, offset = self.kkt, self.program.offset
        sigma, alpha_affine, alpha = step
        self.records.append(
            (
                len(self.records), primal_objective + offset, dual_objective + offset, primal, dual, gap,
                self.newton.mu, sigma, alpha_affine, alpha, tau, point.kappa, kkt.take_refinements(),
                self.newton.replaced_pivots, kkt.static, time.perf_counter() - self.started,
            )
        )  # fmt: skip
        iterate = Iterate(self, self.records[-1])
        if self.settings.verbose:
            printing.line(iterate.record)
        return iterate

    def _decide(self) -> bool:
        """Whether to stop here: solved, certified, or at a limit.  Claims are tested on the caller's own data."""
        settings = self.settings
        tol_abs = np.inf if settings.tol_abs is None else settings.tol_abs
        if self.worst <= settings.tol and max(self.absolute) <= tol_abs:
            if self._claim(Status.OPTIMAL):
                return True
        tol = settings.tol_infeasible or settings.tol
        if self.primal_ray <= tol and self._claim(Status.PRIMAL_INFEASIBLE):
            return True
        if self.dual_ray <= tol and self._claim(Status.DUAL_INFEASIBLE):
            return True
        iteration = len(self.records) - 1
        if iteration >= settings.max_iter:
            return self.finish(Status.MAX_ITERATIONS, f"the limit of {settings.max_iter} iterations is reached")
        if settings.time_limit is not None and time.perf_counter() - self.started >= settings.time_limit:
            return self.finish(Status.TIME_LIMIT, f"the limit of {settings.time_limit:g} seconds is reached")
        stalled = iteration - self.last_progress > PATIENCE
        if self.best_worst <= stopping.INACCURATE_TOL < self.best_ray:
            stalled |= iteration - self.last_better > PATIENCE_NEAR
        if stalled or not np.isfinite(self.newton.mu):
            return self._give_up("no further progress")
        return False

    def _claim(self, status: Status) -> bool:
        """Finish with a claim about the present point when it holds on the caller's own data."""
        settings = self.settings
        tol = settings.tol_infeasible or settings.tol
        if status is Status.OPTIMAL:
            (x, y, z, _), found = self._verify(self.point)
            holds = found.meets(settings.tol, settings.tol_abs) and (self.accepts is None or self.accepts(x, y, z))
            message = f"the stopping test holds at {settings.tol:g}"
        elif status is Status.PRIMAL_INFEASIBLE:
            holds = self._certified(tol, self._primal_infeasibility)
            message = "(y, z) certifies that no feasible point exists"
        else:
            holds = self._certified(tol, self._dual_infeasibility)
            message = "x certifies that the objective is unbounded below"
        return holds and self.finish(status, message)

    def _verify(self, point: Point) -> Verified:
        """The point in the caller's units and its residuals on the caller's own data, computed once an iteration."""
        if self._verified is None or self._verified[:2] != (point, len(self.records)):
            answer = self.unscale(point)
            self._verified = (point, len(self.records), (answer, stopping.residuals(self.program, *answer)))
        return self._verified[2]

    def _certified(self, tol: float, test: Callable[[Point], float]) -> bool:
        """Whether the point, as it is or without its small entries, is a certificate; the better one is kept.

        A multiplier that tends to zero never vanishes beside terms that are none: x >= 0 and 0 x <= -1 have the
        multipliers (tau, 1).
        """
        rays = [self.point, self.point.without_small_entries(self.form, tol)]
        errors = [test(ray) for ray in rays]
        if min(errors) > tol:
            return False
        self.point.copy_from(rays[errors.index(min(errors))])
        return True

    def _primal_infeasibility(self, ray: Point) -> float:
        _, y, z, _ = self.unscale(ray)
        error = stopping.primal_infeasibility(self.program, y, z)
        return error if self.certificate_error is None else max(error, self.certificate_error(y, z))

    def _dual_infeasibility(self, ray: Point) -> float:
        return stopping.dual_infeasibility(self.program, self.unscale(ray)[0])

    def _give_up(self, reason: str) -> bool:
        """End without the asked accuracy: "inaccurate" when the best iterate meets the weaker test."""
        tol = max(self.settings.tol, stopping.INACCURATE_TOL)
        _, found = self._verify(self.best)
        if found.meets(tol):
            return self.finish(Status.INACCURATE, f"{reason}; the stopping test holds at {max(found.worst, 1e-16):.1e}")
        return self.finish(Status.NUMERICAL_ERROR, f"{reason}; the best iterate misses {tol:g}")

    def finish(self, status: Status, message: str) -> bool:
        """Note how the run ends (the first reason counts)."""
        if self.status is None:
            self.status, self.message = status, message
        return True

    def solution(self) -> Solution:
        """The answer, from the last iterate when a claim was tested on it, else from the best one."""
        program = self.program
        status = self.status if self.status is not None else Status.NUMERICAL_ERROR
        claimed = status is Status.OPTIMAL or status.is_infeasible
        point = self.point if claimed else self.best
        objective = dual_objective = np.nan
        primal = dual = gap = np.nan
        if status is Status.PRIMAL_INFEASIBLE:
            x, y, z, s = self.unscale(point)
            finite = np.isfinite(program.h)
            slope = -(program.b @ y + program.h[finite] @ z[finite])
            x, y, z, s = np.full_like(x, np.nan), y / slope, z / slope, np.full_like(s, np.nan)
            primal = stopping.primal_infeasibility(program, y, z)
        elif status is Status.DUAL_INFEASIBLE:
            x, y, z, s = self.unscale(point)
            x = x / -(program.c @ x)
            y, z, s = np.full_like(y, np.nan), np.full_like(z, np.nan), -(program.G @ x)
            dual = stopping.dual_infeasibility(program, x)
        else:
            (x, y, z, s), found = self._verify(point)
            primal, dual, gap = found.relative
            objective = found.primal_objective + program.offset
            dual_objective = found.dual_objective + program.offset
        return Solution(
            status=status, x=x, y=y, z=z, s=s, objective=objective, dual_objective=dual_objective,
            primal_residual=primal, dual_residual=dual, gap=gap, iterations=max(len(self.records) - 1, 0),
            setup_time=0.0, solve_time=time.perf_counter() - self.started, message=self.message,
            trace=structured(self.records), timings={},
        )  # fmt: skip

    def unscale(self, point: Point) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(x, y, z, s) of a point in the caller's units and row order, divided by tau."""
        form, program = self.form, self.program
        x, y, z, s = np.empty(form.n), np.empty(form.p), np.zeros(program.m), np.full(program.m, np.inf)
        unscale(form.rows, form.D, form.E, form.factor, point.tau, point.u, point.s, x, y, z, s)
        return x, y, z, s


def structured(records: list[tuple[Any, ...]]) -> np.ndarray:
    """Records as the structured array `TRACE`."""
    return np.array(records, dtype=TRACE)
