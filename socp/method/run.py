"""One run of the method: the compiled loop, controlled from Python, and its answer."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiled.clock import clock
from ..derivatives.cones import linearize
from ..problem import printing
from ..problem.checks import FLOAT
from ..problem.program import ConeProgram
from ..problem.settings import Settings
from ..problem.solution import NO_CERTIFICATE, TRACE, Solution, answer_at
from ..problem.starts import Start
from ..problem.status import Status
from ..verify import stopping
from ..verify.certificates import CERTAIN
from .answer import BOUNDS_MISSED, FAILS, PASSES, Judged, Point4, in_callers_units, judge
from .loop import (
    GO_ON,
    MAX_ITERATIONS,
    NOT_FACTORED,
    NOT_SOLVED,
    RAY_FOUND,
    SHORT_STEP,
    SOLVED,
    STALLED,
    State,
    begin,
    follow,
    limit,
    prepare_run,
    take_best,
    take_residuals,
)
from .newton import Point
from .ray_search import RAYS, Certified, RaySearch

PATIENT = 0.1  # seconds after which the loop returns to check for Ctrl-C and the time limit
OPTIMAL = Status.OPTIMAL  # Access to a member of an enumeration takes as long as a call.
GROWN = 1e4  # multipliers of a failed run that are larger, relative to 1 + |c|, may not exist
NO_RECORDS, WORDS = np.zeros(0, TRACE), TRACE.itemsize // FLOAT.itemsize
INTERRUPTED = "interrupted from the keyboard"
REASONS = {
    STALLED: "no further progress",
    NOT_FACTORED: "the Newton system can no longer be factored",
    NOT_SOLVED: "the Newton system could not be solved",
    SHORT_STEP: "steps became too short",
}


class Iterate:
    """Iterate of a solve, in the caller's units; valid until the next one is computed.

    Attributes
    ----------
    x, y, z, s : arrays
        The point, divided by tau.
    record : numpy.void
        The trace's record of this iterate (see `socp.problem.solution.TRACE`); its fields are also attributes.
    point, newton, form : Point, Newton, StandardForm
        State of the solver, in equilibrated units, for study: residuals, scaling point, directions, the
        KKT matrix.

    Examples
    --------
    >>> import socp
    >>> disk = dict(G=[[0, 0], [-1, 0], [0, -1]], h=[1, 0, 0], cones=[socp.SecondOrder(3)])
    >>> gaps = [iterate.gap for iterate in socp.iterates(socp.ConeProgram(c=[1, 1], **disk))]
    >>> bool(gaps[-1] < 1e-4 * gaps[0])
    True
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    s: np.ndarray
    iteration: int
    primal_objective: float
    dual_objective: float
    primal_residual: float
    dual_residual: float
    gap: float
    mu: float
    sigma: float
    alpha_affine: float
    alpha: float
    tau: float
    kappa: float
    refinements: int
    replaced_pivots: int
    regularization: float
    seconds: float

    def __init__(self, run: Run) -> None:
        state = run.state
        self._run, self.record = run, state.trace[state.iteration].copy()
        self.point, self.newton, self.form = state.point, state.newton, run.form

    if not TYPE_CHECKING:  # Type checkers read the fields above.

        def __getattr__(self, name: str) -> Any:
            if name in ("x", "y", "z", "s"):  # not self._run.form, which `close` deletes
                return in_callers_units(self._run.program, self.form, self.point)["xyzs".index(name)]
            if name in (TRACE.names or ()):
                return self.record[name].item()
            raise AttributeError(f"an iterate has no {name!r}")


class Run:
    """One run of the method on a program, with its status, answer and trace.

    Parameters
    ----------
    program : ConeProgram
    state : State
        Memory of the run; no other run may use it until this one ends.
    settings : Settings
    start : bool or Start
        True to start from the last optimal point in the state; a point to start there if it is near enough.
    test : stopping.ConeTest or None
        Stopping test and tests of certificates on the caller's own data; None tests on the data of `program`.
    until : float
        Time on the clock at which the run ends.
    spent : int
        Iterations of earlier runs, which count towards `max_iter`.

    Attributes
    ----------
    status, message : Status and str
    answer : tuple of arrays
        (x, y, z, s) in the program's units and row order; if the program is infeasible, a ray, not normalized.
    found : Residuals or None
        Residuals of the answer by `test`; None for a ray.
    certificate : (tuple of arrays, float)
        For a ray, the normalized certificate on the program of `test`, and its error.
    trace : array of `TRACE`
        One record per iterate; set by `solve`.
    has_large_multipliers : bool
        Whether the answer passes only with rounding errors of multipliers excused: smaller ones may exist.
    kept : Point or None
        Copy of the iterate, for a warm start, if rounding excuses the answer, as later runs overwrite the state.
    effort : (int, float, float)
        Iterations, seconds of factorizations and seconds of solves, set by `solve`; summed over all runs if there
        were several (see `method.fallbacks`).
    """

    # values until the run ends
    status: Status | None = None
    message, setup_time, solve_time = "", 0.0, 0.0
    timings: dict[str, float]
    answer: Point4 | None = None
    found: stopping.Residuals | None = None
    certificate: Certified = NO_CERTIFICATE
    trace = NO_RECORDS
    effort: tuple[int, float, float] = (0, 0.0, 0.0)
    has_large_multipliers = False
    kept: Point | None = None
    _reason = GO_ON  # why the loop returned last, if iterates are shown
    _near = False  # whether an earlier iterate failed the test and missed bounds
    _nearest: Judged | None = None  # answer of the latest `_last_step` in a run that went on

    def __init__(
        self, program: ConeProgram, state: State, settings: Settings, start: bool | Start,
        test: stopping.ConeTest | None, until: float = np.inf, spent: int = 0,
    ) -> None:  # fmt: skip
        self.program, self.state, self.form, self.settings, self.plan = program, state, state.form, settings, state.plan
        self.test: stopping.ConeTest = stopping.ConeTest(program) if test is None else test
        self.test.tol = settings.tol
        self.rays = RaySearch(program, state, self.test, settings)
        self.started = time.perf_counter()
        if state.settings is not settings:
            state.take_settings(settings)
        prepare_run(state, program.offset)
        self._until, state.kkt.until = until, until if until < np.inf else 0.0
        state.max_iter = min(settings.max_iter, sys.maxsize) - spent
        if isinstance(start, tuple):
            x, y, z = start
            is_complete = not y is z is None
            y, z = (np.zeros(v.size) if w is None else w for v, w in ((program.b, y), (program.h, z)))
            state.start_at(x, y, z, is_complete)
        elif start:
            state.start_from_last()

    def solve(self) -> None:
        """Iterate until the run ends; Ctrl-C ends it with status "interrupted"."""
        try:
            if self.settings.callback is not None or self.settings.verbose:
                self._show(self.settings.callback)
            else:
                reason = self._begin()
                while not self._is_over(reason):
                    reason = self._follow(PATIENT)
        except KeyboardInterrupt:
            self.finish(Status.INTERRUPTED, INTERRUPTED)
        if self.status is OPTIMAL:
            self._look_at_optimum()
        self.trace = copy_of_records(self.state.trace, self.state.iteration + 1)
        kkt = self.state.kkt
        self.effort = max(self.trace.size - 1, 0), kkt.factor_seconds, kkt.solve_seconds
        self.solve_time = time.perf_counter() - self.started

    def _show(self, callback: Callable[[Any], Any] | None) -> None:
        """Run to the end, one iterate at a time, and pass each to `callback` if there is one."""
        for iterate in self.iterates():
            if callback is None:
                continue
            try:
                stop = callback(iterate)
            except StopIteration:
                stop = True
            if isinstance(stop, (bool, np.bool_)) and stop:  # NumPy's comparisons return np.bool_.
                if self.status is None and not self._is_over(self._reason):
                    self.finish(Status.INTERRUPTED, "stopped by the callback")
                break

    def iterates(self) -> Iterator[Iterate]:
        """Yield the iterates of the run, one after another; the last one is the iterate at which the run ends."""
        settings, state, shown = self.settings, self.state, -1

        def unseen() -> Iterator[Iterate]:
            nonlocal shown
            if state.iteration > shown:
                shown = state.iteration
                if settings.verbose:
                    printing.line(state.trace[shown])
                yield Iterate(self)

        if settings.verbose:
            form = self.form
            entries = form.P.entries, form.M_indices.size
            printing.header(state.plan, settings.tol, form.n, form.p, form.l, np.diff(form.ptr), entries)
        self._reason = self._begin()
        while True:
            yield from unseen()
            is_over = self._is_over(self._reason)
            yield from unseen()  # the iterate of a last step
            if is_over:
                return
            self._extend_trace()
            self._reason = self._follow(0.0)

    def _begin(self) -> int:
        """Compute the first iterate unless time is over; return the reason to stop."""
        reason: int = NOT_FACTORED if clock() >= self._until else begin(self.state)
        return reason

    def _follow(self, patience: float) -> int:
        """Continue the loop for `patience` seconds, at least one iteration; return the reason to stop."""
        reason: int = follow(self.state, min(clock() + patience, self._until))
        if reason == GO_ON:  # The trace may be full.
            self._extend_trace()
        return reason

    def _extend_trace(self) -> None:
        """Double the trace if it is nearly full."""
        trace = self.state.trace
        if self.state.iteration + 2 >= trace.size:
            larger = np.zeros(2 * trace.size, TRACE)
            larger[: trace.size] = trace
            self.state.trace = larger

    def _is_over(self, reason: int) -> bool:
        """Return True if the run ends here: solved, certified, at a limit, or without a first iterate."""
        settings = self.settings
        self.state.kkt.check()
        if reason == GO_ON and self._until == np.inf:
            return False
        if reason == NOT_FACTORED and self.state.iteration < 0:
            if clock() >= self._until:
                return self.finish(Status.TIME_LIMIT, f"{limit_reached(settings)}, before the first iterate")
            return self.finish(Status.NUMERICAL_ERROR, "the KKT matrix at the starting point cannot be factored")
        if reason == SOLVED and self._is_solved():
            return True
        if reason != GO_ON and self.rays.search():
            return self._finish_with_ray()
        if reason in (SOLVED, RAY_FOUND):
            reason = limit(self.state)
        if reason == MAX_ITERATIONS:
            self._finish_with_ray()
            return self.finish(Status.MAX_ITERATIONS, f"the limit of {settings.max_iter} iterations is reached")
        if clock() >= self._until:
            self._finish_with_ray()
            return self.finish(Status.TIME_LIMIT, limit_reached(settings))
        return reason in REASONS and self._give_up(REASONS[reason])

    def _is_solved(self) -> bool:
        """Return True if the present iterate passes the stopping test on the caller's own data; the run ends then."""
        judged = self._judge(self.unscale(self.state.point))
        if judged.verdict is FAILS:
            return False
        if judged.verdict is PASSES:
            return self._claim(judged)
        if judged.verdict is BOUNDS_MISSED and not self._near:
            self._near = True  # The next iterate may keep the bounds.
            return False
        self._nearest = judged = self._last_step(judged)
        return judged.is_optimal and self._claim(judged)

    def _claim(self, judged: Judged, reason: str = "") -> bool:
        """End the run with an optimal answer; return True."""
        return self.finish(OPTIMAL, reason + judged.message(self.settings.tol), judged.answer, judged.found)

    def _finish_with_ray(self, reason: str = "") -> bool:
        """End the run with the ray that was kept, if there is one; return whether there is."""
        if self.rays.best is None:
            return False
        status, ray, self.certificate = self.rays.best
        error = self.certificate[1]
        message = RAYS[status] if error <= CERTAIN else f"{reason}{RAYS[status]}, up to errors of {error:.1e}"
        return self.finish(status, message, ray)

    def _judge(self, answer: Point4) -> Judged:
        """Return the verdict on an answer, whose x may be moved to its bounds; see `answer.judge`."""
        return judge(self.program, self.test, self.settings, answer)

    def _look_at_optimum(self) -> None:
        """Add what is to be told of an optimal answer that does not meet the tolerance row by row, or at all.

        Set `kept` if rounding excuses the answer, and `has_large_multipliers` if only terms with multipliers do.
        """
        settings, answer, found = self.settings, self.answer, self.found
        assert answer is not None and found is not None
        if not found.meets(settings.tol, settings.tol_abs):
            of_data = self.test.residuals(*answer, rounding=stopping.OF_DATA)
            self.has_large_multipliers = not of_data.meets(settings.tol, settings.tol_abs)
            self.kept = Point(self.form)
            self.kept.copy_from(self.state.point)
        if max(found.rows, found.cone) > settings.tol:
            self.message += self.test.far_row(found, *answer[:3])

    def _last_step(self, judged: Judged) -> Judged:
        """Return the answer, improved by a step with residuals in twice the precision if possible.

        In working precision residuals lose digits where their terms cancel, and so do the iterates.  Other iterates
        violate bounds of 1e6 by a relative tol although more digits are possible.
        """
        state = self.state
        with state.kkt.precisely():
            measured, residual = stopping.evaluate(self.program, *self.unscale(state.point))
            take_residuals(state, residual, measured.primal_objective - measured.dual_objective)
            self._extend_trace()
            if state.iteration >= state.max_iter or self._follow(0.0) in (NOT_FACTORED, NOT_SOLVED, SHORT_STEP):
                return judged
        now = self._judge(self.unscale(state.point))
        if now.verdict is PASSES:
            return now
        is_better = now.found.worst < judged.found.worst
        return now if is_better and (now.is_optimal or not judged.is_optimal) else judged

    def _give_up(self, reason: str) -> bool:
        """End with the best iterate: "optimal" if it passes, "inaccurate" if it passes at 1e-5, else with an error."""
        tol = max(self.settings.tol, stopping.INACCURATE_TOL)
        judged = self._judge(self.unscale(self.state.best))
        if not judged.holds and judged.found.meets(tol):
            take_best(self.state)
            judged = self._last_step(judged)
        if judged.is_optimal:
            return self._claim(judged, f"{reason}; ")
        if self._nearest is not None and self._nearest.found.worst < judged.found.worst:
            judged = self._nearest
        answer, found = judged.answer, judged.found
        if self._finish_with_ray(f"{reason}; "):
            return True
        if found.meets(tol):
            message = f"{reason}; the stopping test holds at {max(found.worst, 1e-16):.1e}"
            return self.finish(Status.INACCURATE, message, answer, found)
        status, message = Status.NUMERICAL_ERROR, f"{reason}; the best iterate misses {tol:g}"
        largest = max(np.abs(v).max(initial=0.0) for v in answer[1:3])
        if found.relative[0] <= self.settings.tol and largest > GROWN * (1.0 + np.abs(self.program.c).max(initial=0.0)):
            message += f", but x is feasible: the multipliers grow, up to {largest:.1e}, and may not exist"
            if self.test.residuals(*answer, rounding=True).meets(self.settings.tol):
                status = Status.INACCURATE
        return self.finish(status, message, answer, found)

    def finish(
        self, status: Status, message: str, answer: Point4 | None = None, found: stopping.Residuals | None = None
    ) -> bool:
        """Store how the run ends (the first reason counts), with the best iterate if no answer is given; return True.

        All attributes are set in one statement: an interrupt before it leaves a run that has not ended.
        """
        if self.status is None:
            if answer is None:
                answer = self.unscale(self.state.best)
                found = self.test.residuals(*answer)
            self.answer, self.found, self.message, self.status = answer, found, message, status
        return True

    def close(self, setup_time: float, timings: dict[str, float]) -> None:
        """Store the times, to which `solution` adds the rest, and release the state of the solver; the answer stays."""
        self.setup_time, self.timings, self.kept = setup_time, timings, None
        del self.state, self.form, self.rays

    @property
    def iterations(self) -> int:
        """Number of iterations, summed over all runs if there were several."""
        return self.effort[0]

    def solution(self) -> Solution:
        """Return the answer to the cone program as a `Solution`."""
        program, status = self.program, self.status
        assert status is not None and self.answer is not None
        (x, y, z, s), found = self.answer, self.found
        if found is not None and self.test.program is not program:
            found = stopping.residuals(program, x, y, z, s)
        certificate = self.certificate if self.test.program is program else NO_CERTIFICATE
        x, (y, z), figures = answer_at(program, status, x, (y, z), found, certificate)
        if found is None:
            s = np.full_like(s, np.nan) if status is Status.PRIMAL_INFEASIBLE else -(program.G @ x)
        timings = self.timings.copy()
        timings["rest"] += self.setup_time + self.solve_time - sum(timings.values())
        solution = Solution(
            status, x, y, z, s, *figures, iterations=self.iterations, setup_time=self.setup_time,
            solve_time=self.solve_time, message=self.message, trace=self.trace, timings=timings, plan=self.plan,
        )  # fmt: skip
        solution._linearize = functools.partial(linearize, program)
        solution._settings = self.settings.without_functions
        return solution

    def unscale(self, point: Point) -> Point4:
        """Return (x, y, z, s) of a point in the units and the row order of the program."""
        return in_callers_units(self.program, self.form, point)


def limit_reached(settings: Settings) -> str:
    """Return the beginning of the message of a solve that ends at its time limit."""
    return f"the limit of {settings.time_limit:g} seconds is reached"


def copy_of_records(trace: np.ndarray, count: int) -> np.ndarray:
    """Copy the first `count` records as plain numbers, which NumPy copies faster than records."""
    return np.ndarray(count, TRACE, np.ndarray(WORDS * count, FLOAT, trace).copy())
