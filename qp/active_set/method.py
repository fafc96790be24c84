"""The active set: a quadratic program with a dense P whose variables mostly end at their bounds.

An interior-point method factors all of P in each iteration, including the rows of variables that stay at a bound.
With at most one row a'x, a method that goes from face to face of the box reads only the rows of variables that move:

    descent     steps along the few coordinates that gain most, which sort the variables roughly
                (`coordinate_descent`)
    Newton      the exact minimum on the face of the variables between their bounds (`face_newton`)

The two alternate until no multiplier of a bound has the wrong sign.  Both keep x feasible and decrease the objective.
The value of a row with two sides l < u is an additional variable between l and u, without curvature.

The answer must pass the stopping test of all methods on the caller's own data.  If the method fails, or needs more work
than a fixed multiple of one factorization of P, the interior-point method solves the program instead.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import lapack

from socp.compiled.memory import check_memory
from socp.compiled.threads import blas_threads
from socp.plan.costs import method_seconds
from socp.plan.plan import Plan
from socp.problem import printing
from socp.problem.settings import Settings
from socp.problem.solution import TIMINGS, TRACE
from socp.problem.starts import Start
from socp.problem.status import Status
from socp.verify.stopping import Residuals

from ..method import Method, Offer
from ..plan.choice import choose_method
from ..problem.program import QuadraticProgram
from ..problem.solution import Point, Solution, solution_at
from ..reduce.stopping import ProgramTest
from .boxed import Block, BoxedProgram, Face
from .rounds import EXACT, FAILED, MAX_ROUNDS, MAX_SHARE, SETTLED, begin, bound_multipliers, meet_row, next_round

NEGLIGIBLE, ROWS = 2.0**-16, 32  # entries to round, relative to max P_kk; rows to convert at a time
SINGLE = 4.0 * float(np.finfo(np.float32).eps)  # shift before factoring in float32, relative to the Frobenius norm


class ActiveSet(Method):
    """The active-set method for one program.

    Parameters
    ----------
    program : QuadraticProgram
        A presolved program that `qp.plan.choice` assigns to this method.
    settings : Settings

    Attributes
    ----------
    row : int or None
        Index of the row with a finite side, None if there is none.
    a, lb, ub, diagonal : arrays
        Coefficients of the row, bounds, and diagonal of P; the value of a row with two sides is the last variable.
    plan : Plan
    run : Rounds
        State of the last call of `solve`.
    """

    run: Rounds

    def __init__(self, program: QuadraticProgram, settings: Settings) -> None:
        self.settings = settings
        seconds = method_seconds(program.n, program.m, program.A.data.size, program.n**2)
        self.plan = Plan(
            "dense", "most have bounds", method="active set", what=f"active set, {program.n} variables with a dense P",
            seconds={name: seconds[name] for name in ("active set", "interior point")},
        )  # fmt: skip
        self._load(program)

    def _load(self, program: QuadraticProgram) -> None:
        """Load the data of a program of this size."""
        P: Any = program.P
        self.program = program
        n, rows = program.n, program.sided_rows
        self.P, self.diagonal = P, P.diagonal().copy()
        self.largest = float(self.diagonal.max())
        self.row = int(rows[0]) if rows.size else None
        self.a, self.lb, self.ub, self.side = np.zeros(n), program.lb, program.ub, 0.0
        if self.row is not None:
            column = np.repeat(np.arange(n), np.diff(program.A.indptr))
            here = program.A.indices == self.row
            self.a[column[here]] = program.A.data[here]
            l, u = program.l[self.row], program.u[self.row]
            if l < u:
                # The row's value moves only together with other variables, so it gets their mean curvature.
                inside = self.a != 0.0
                curvature = (self.diagonal[inside] / self.a[inside] ** 2).mean()
                self.a, self.diagonal = np.append(self.a, -1.0), np.append(self.diagonal, curvature)
                self.lb, self.ub = np.append(self.lb, l), np.append(self.ub, u)
            else:
                self.side = float(l)

    last: np.ndarray | None = None  # last optimal x

    @classmethod
    def take(cls, offer: Offer, before: ActiveSet | None) -> ActiveSet | None:
        """Return the method if `choose_method` chooses it for the presolved program."""
        if not offer.program.hessian.is_full:
            return None
        program, settings = offer.presolved.program, offer.settings
        if choose_method(program, settings, may_be_definite=False) != "active set":
            return None
        method = cls(program, settings)
        method.last = None if before is None else before.last
        return method

    def is_clearly_definite(self) -> bool:
        """Return True if P, less a bound on the rounding errors, has a Cholesky factor in float32.

        It takes half the time of a factor in float64.  The errors of a factor are seen to be about half a unit in
        the last place of |P|_2; eight units of the Frobenius norm are subtracted from the diagonal.
        """
        n = self.program.n
        check_memory(4.0 * n * n, f"P in single precision, {n} by {n},")
        part = np.empty((n, n), dtype=np.float32)
        entries = part.ravel()
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            least = np.float32(NEGLIGIBLE * self.largest)
            for first in range(0, n, ROWS):
                rows = part[first : first + ROWS]
                rows[:] = self.P[first : first + ROWS]
                # This rounds tiny entries to 0, as arithmetic with subnormal numbers is slow.
                rows += least
                rows -= least
            square = np.dot(entries, entries)
        if not np.isfinite(square):
            return False
        entries[:: n + 1] -= np.float32(SINGLE) * np.sqrt(square)
        with blas_threads(self.settings.threads):
            return bool(lapack.spotrf(part.T, lower=1, clean=0, overwrite_a=1)[1] == 0)

    def yields_to(self, plan: Plan) -> bool:
        """Return True if the interior-point method has found that P has a low rank."""
        return plan.backend == "low rank"

    def solve(self, start: bool | Start, offer: Offer) -> Solution | None:
        """Return the answer found from the start, or None if the interior-point method should solve the program."""
        offer.show(self.plan, self.program, offer.form)
        solution = self.solve_from(start[0] if isinstance(start, tuple) else self.last if start else None, offer.test())
        if solution is not None:
            solution._settings = self.settings.without_functions
            if solution.status is Status.OPTIMAL:
                self.last = solution.x.copy()
        return solution

    def update(self, offer: Offer, new_P: bool, new_A: bool) -> bool:
        """Take the changed program, unless P is new or another method is expected to be faster."""
        program = offer.presolved.program
        if new_P or choose_method(program, self.settings, may_be_definite=False) != "active set":
            return False
        self._load(program)
        return True

    def solve_from(self, last: np.ndarray | None, test: ProgramTest) -> Solution | None:
        """Return the answer found from the point `last`, or None if none is found.

        Parameters
        ----------
        last : array, shape (n,), or None
        test : ProgramTest
            Stopping test; `test.measure` returns the residuals of a point.
        """
        run = self.run = self._start(last)  # After this, Ctrl-C finds a point to return.
        try:
            with blas_threads(self.settings.threads):
                status = self._follow(run, test)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        if status is None:
            return None
        if status is not Status.OPTIMAL:
            test.measure(*run.point())
        assert test.last is not None
        point, found = test.last
        count = len(run.records)
        message = f"the stopping test holds at {self.settings.tol:g}"
        if status is Status.INTERRUPTED:
            message = "interrupted from the keyboard"
        elif status is Status.TIME_LIMIT:
            message = f"the limit of {self.settings.time_limit:g} seconds is reached"
        if run.records:
            between = f"{run.records[-1][2]} of {self.program.n} variables between their bounds"
            message += f"; active set, {count} rounds, {between}"
        return solution_at(
            test.program, status, point, found, iterations=count, setup_time=0.0, solve_time=0.0, message=message,
            trace=run.trace(found, test.program.offset), timings=dict.fromkeys(TIMINGS, 0.0), plan=self.plan,
        )  # fmt: skip

    def _start(self, last: np.ndarray | None) -> Rounds:
        return Rounds(self, last)

    def _follow(self, run: Rounds, test: ProgramTest) -> Status | None:
        """Run rounds until the stopping test holds or time is over; return the status, or None if the method fails."""
        settings = self.settings
        if not run.meet_row():
            return None
        run.begin()
        for _ in range(min(MAX_ROUNDS, settings.max_iter)):
            outcome = run.next()
            if outcome == SETTLED:
                if test.measure(*run.point()).meets(settings.tol, settings.tol_abs):
                    return Status.OPTIMAL
                run.program.exact *= EXACT
            elif settings.time_limit is not None and time.perf_counter() - run.started > settings.time_limit:
                return Status.TIME_LIMIT
            elif outcome == FAILED:
                return None
        return None


class Rounds:
    """State of one run: the point, its gradient, and the work space of descent and Newton's method.

    Parameters
    ----------
    method : ActiveSet
    last : array, shape (n,), or None
        Starting point, zero if None; it is moved into the box.

    Attributes
    ----------
    program : BoxedProgram
        Data, current point and gradient.
    block : Block
    face : Face
    records : list of (float, float, int, float)
        For each round the objective, the largest wrong slope relative to the scale of the gradient, the number of
        variables between their bounds, and the seconds since the start.
    """

    def __init__(self, method: ActiveSet, last: np.ndarray | None) -> None:
        self.started = time.perf_counter()
        n, size = method.program.n, method.a.size
        self.method, self.n = method, n
        self.knows_gradient = False
        self.records: list[tuple[float, float, int, float]] = []
        self.program, self.block = BoxedProgram(size=size), Block()
        self.face = Face(size=size)
        program, self.face.factor = self.program, np.empty(n * n)  # Only the part that is written takes memory.
        program.count, program.q[:n] = n, method.program.q
        program.P, program.largest, program.sides[0] = method.P, method.largest, method.side
        program.a, program.lb, program.ub, program.diagonal = method.a, method.lb, method.ub, method.diagonal
        program.x[:n] = np.clip(0.0 if last is None else last, method.lb[:n], method.ub[:n])

    def meet_row(self) -> bool:
        """Move the point within the box until the row holds; return False if it cannot hold."""
        method, n, x = self.method, self.n, self.program.x
        a, lb, ub = method.a, method.lb, method.ub
        if method.row is None:
            return True
        value = float(a[:n] @ x[:n])
        if a.size > n:
            x[n] = min(max(value, lb[n]), ub[n])
        missing = (float(x[n]) if a.size > n else method.side) - value
        inside = np.flatnonzero(a[:n])  # Variables move in ascending order of their cost sign(missing) q_k / a_k.
        order = np.argsort(np.sign(missing) * method.program.q[inside] / a[inside], kind="stable")
        return abs(meet_row(self.program, 0, inside[order])) <= 1e-12 * abs(missing)

    def begin(self) -> None:
        """Compute the gradient and the largest initial gain."""
        begin(self.program, self.face, EXACT, MAX_SHARE)
        self.knows_gradient = True

    def next(self) -> int:
        """Run one round, record it unless it failed, and return its outcome."""
        settings, program = self.method.settings, self.program
        tol_abs = np.inf if settings.tol_abs is None else settings.tol_abs
        outcome: int = next_round(program, self.block, self.face, settings.tol, tol_abs)
        if outcome != FAILED:
            self.note(program.objective, program.dual_violation / program.scale, self.face.between)
        return outcome

    def note(self, objective: float, slope: float, between: int) -> None:
        """Append a record of the round, and print it if `verbose` is set."""
        method, count = self.method, len(self.records)
        self.records.append((objective, slope, between, time.perf_counter() - self.started))
        if method.settings.verbose:
            printing.line(trace_of(self.records[-1:], method.program.offset, count)[0])

    def point(self) -> Point:
        """Return the current (x, y, z_bounds); the multipliers are zero before the gradient is known."""
        program, n, x = self.method.program, self.n, self.program.x[: self.n].copy()
        y, z = np.zeros(program.m), np.zeros(n)
        if self.knows_gradient:
            multiplier = self.program.multipliers[0]
            if self.method.row is not None:
                y[self.method.row] = multiplier
            bound_multipliers(self.program, z)
        return x, y, z

    def trace(self, found: Residuals, offset: float) -> np.ndarray:
        """Return the trace, with NaN where a round has no number; `found` are the residuals of the last point."""
        trace = trace_of(self.records, offset)
        if self.records:
            primal, dual, gap = found.relative
            trace["primal_objective"][-1] = found.primal_objective + offset
            trace["dual_objective"][-1] = found.dual_objective + offset
            trace["primal_residual"][-1], trace["dual_residual"][-1], trace["gap"][-1] = primal, dual, gap
        return trace


def trace_of(records: Sequence[tuple[float, ...]] | np.ndarray, offset: float, first: int = 0) -> np.ndarray:
    """Convert records of rounds to a trace whose first iteration has number `first`."""
    trace = np.zeros(len(records), dtype=TRACE)
    for name, (kind, *_) in (TRACE.fields or {}).items():
        if kind == np.float64:
            trace[name] = np.nan
    if len(records):
        objective, slope, _, seconds = np.asarray(records).T
        trace["iteration"], trace["seconds"] = np.arange(first, first + len(records)), seconds
        trace["primal_objective"], trace["dual_residual"] = objective + offset, slope
    return trace
