"""The dual active set as a method for one small program, whose answer passes the same test as all.

Where it finds neither that nor a certificate, the interior-point method of `socp` begins anew.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

from socp.batch.checks import next_doubtful
from socp.batch.driver import DUAL_INFEASIBLE, PRIMAL_INFEASIBLE, Batch
from socp.batch.driver import OPTIMAL as ANSWERED
from socp.batch.verify import NO_LAYOUT, verifier_for
from socp.compiled.memory import Pool
from socp.derivatives.cones import linearize
from socp.engine import NO_TIMINGS
from socp.method.run import NOT_FEASIBLE, OPTIMAL, UNBOUNDED, test_holds
from socp.plan.costs import method_seconds
from socp.plan.plan import Plan
from socp.problem.settings import Settings
from socp.problem.solution import TRACE, answer_at
from socp.problem.solution import Solution as ConeSolution
from socp.problem.status import Status
from socp.verify.certificates import dual_infeasibility, primal_infeasibility
from socp.verify.stopping import residuals as cone_residuals

from ..plan.choice import choose_method
from ..problem.derivatives import linearize as linearize_program
from ..problem.program import QuadraticProgram
from ..problem.solution import Solution, solution_at
from ..problem.stopping import Point
from ..reduce.cone_form import ConeForm
from ..reduce.presolve import CROSSING, MOST_CROSSING
from .dual import BESIDE, MOST_PROXIMAL, DualSet, load_dual, solve_dual

TOL, SHARE = 1e-10, 1e-2  # by which sides may be missed, at most and as a share of the tolerance
STEPS = 6  # at most, for each row and variable: programs take one or two


class DualActiveSet:
    """A small program, solved by the dual active set of `dual`, by proximal steps where P is only semidefinite.

    Parameters
    ----------
    program : QuadraticProgram
        One that `qp.plan.choice` has for it.
    settings : Settings
    before : DualActiveSet or None
        The method of the solver's last program, whose memory it takes if that fits.

    Attributes
    ----------
    plan : Plan
    P : array, shape (n, n)
        That of the program, zeros and all.
    is_definite, is_proximal : bool
        Whether P has a Cholesky factor whose pivots are more than rounding; or whether P + rho I has.
    """

    pool = Pool()  # of rooms; in the class, as solvers outlive the modules where Python ends

    def __init__(self, program: QuadraticProgram, settings: Settings, before: DualActiveSet | None = None) -> None:
        self.program, self.settings = program, settings
        self.P = program.hessian.dense()
        self._kind = program.n, program.m, settings.tol, settings.tol_abs
        self._room: Room | None = before._room if before is not None and before._kind == self._kind else None
        room = self._enter()
        self.is_definite = room.is_factored and room.work.rho == 0.0
        self.is_proximal = room.is_factored and not self.is_definite
        room.is_at_work = False
        self.plan = plan_of(self.is_proximal, program.n, program.m, program.A.data.size, program.hessian.entries)

    @property
    def form(self) -> ConeForm:
        """The cone form of the program."""
        return ConeForm(self.program)

    def is_clearly_definite(self) -> bool:
        """Whether a Cholesky factor shows that P is semidefinite."""
        P = self.P
        if self.is_definite or self.program.hessian.is_zero:
            return True
        return self.is_proximal and next_doubtful(len(P), P.reshape(1, P.size), 0) < 0

    def solve(self, warm_start: bool) -> Solution | None:
        """The answer or a certificate, from the last working set on with `warm_start`; None where neither is found."""
        room = self._enter()
        is_warm, room.has_answer = warm_start and room.has_answer, False
        found = self._find(room, is_warm) if room.is_factored else None
        if found is None and room.is_factored:  # sides that come together may depend on each other all but rounding
            room.work.beside = np.inf
            found = self._find(room, False)
            room.work.beside = BESIDE
        room.is_at_work = False
        return found

    def _find(self, room: Room, is_warm: bool) -> Solution | None:
        program, settings = self.program, self.settings
        solve_dual(room.batch, room.work, room.test, *NO_LAYOUT, is_warm)
        code = room.code.item()
        if code == ANSWERED:
            return self._answer(room)
        (x, y, z), limit = room.point(), settings.tol_infeasible or settings.tol
        if code == PRIMAL_INFEASIBLE and primal_infeasibility(program, y, z) <= limit:
            return self._certificate(room, (x, y, z), NOT_FEASIBLE, Status.PRIMAL_INFEASIBLE)
        if code == DUAL_INFEASIBLE and dual_infeasibility(program, x) <= limit:
            return self._certificate(room, (x, y, z), UNBOUNDED, Status.DUAL_INFEASIBLE)
        return None

    def _answer(self, room: Room) -> Solution:
        """The answer that is in the room, its words and records left to `rest_of`: they would take as long again."""
        program, offset, count = self.program, self.program.offset, room.iterations.item()
        objective, dual_objective, primal_residual, dual_residual, gap = room.numbers.tolist()
        x, y, z_bounds = room.point()
        solution: Solution = object.__new__(Solution)
        solution.__dict__ = {
            "status": OPTIMAL, "x": x, "y": y, "z_bounds": z_bounds, "objective": objective + offset,
            "dual_objective": dual_objective + offset, "primal_residual": primal_residual,
            "dual_residual": dual_residual, "gap": gap, "iterations": count, "setup_time": 0.0, "solve_time": 0.0,
            "plan": self.plan, "_linearize": functools.partial(linearize_program, program), "_cone_solution": None,
            "_rest": functools.partial(rest_of, program, self.settings.tol, room.work.count, room.copy_of_trace(count)),
        }  # fmt: skip
        room.has_answer = True
        return solution

    def _certificate(self, room: Room, point: Point, message: str, status: Status) -> Solution:
        """The answer that there is none."""
        program, trace = self.program, trace_of(self.program, room.copy_of_trace(room.iterations.item()))
        return solution_at(
            program, status, point, None, iterations=trace.size - 1, setup_time=0.0, solve_time=0.0, message=message,
            trace=trace, timings=NO_TIMINGS.copy(), plan=self.plan,
            run=functools.partial(cone_answer, program, point, status, message, trace, self.plan),
        )  # fmt: skip

    def _enter(self) -> Room:
        """The room with the data of the program in it, at work: its own, one that was left, or a new one."""
        room = self._room
        if room is None or room.is_at_work:  # what was interrupted may be half written
            room = self._room = self.pool.take(self._kind) or Room(self._kind, self.settings)
        room.is_at_work = True
        room.take(self.program, self.P)
        return room

    def let_go(self, next_user: DualActiveSet | None = None) -> None:
        """Leave the room to the next program of the same kind in this thread, but for one that has it already."""
        room, self._room = self._room, None
        if room is None or room.is_at_work or (next_user is not None and next_user._room is room):
            return
        room.program, room.has_answer = None, False
        self.pool.leave(room.kind, room, room.words)


def small_method(
    program: QuadraticProgram, settings: Settings, before: DualActiveSet | None = None
) -> DualActiveSet | None:
    """The dual active set for the whole program, if it is chosen.

    Presolve costs more than the rows that it would take out.
    """
    P = program.hessian
    if choose_method(program, settings, may_be_definite=P.is_definite is not False) != "dual active set":
        return None
    dual = DualActiveSet(program, settings, before)
    P.is_definite = dual.is_definite
    seconds = dual.plan.seconds
    if dual.is_definite or (dual.is_proximal and seconds["dual active set"] <= seconds["interior point"]):
        return dual
    dual.let_go(before)
    return None


def solve_small(program: QuadraticProgram, settings: Settings) -> Solution | None:
    """Solve a program once by the dual active set, without a solver; return None where that may not be enough."""
    started = time.perf_counter()
    dual = None if settings.verbose else small_method(program, settings)
    if dual is None:
        return None
    is_sure, ready = not settings.check_convexity or dual.is_clearly_definite(), time.perf_counter()
    solution = dual.solve(False) if is_sure else None
    dual.let_go()
    if solution is not None:
        solution.take_seconds(ready - started, time.perf_counter() - ready)
    return solution


class Room:
    """The memory of the dual active set, for programs with the same sizes and tolerances.

    Attributes
    ----------
    program : QuadraticProgram or None
        The one whose data are here.
    has_answer : bool
        Whether an answer to it, or to one like it, is.
    is_factored : bool
        Whether P, or P + rho I, has a Cholesky factor.
    is_at_work : bool
        Whether data are taken or a program is solved here, or was when that was interrupted.
    """

    def __init__(self, kind: tuple[int, int, float, float | None], settings: Settings) -> None:
        n, m = kind[:2]
        N, none = m + n, np.zeros((0, n))
        most_steps = STEPS * N + MOST_PROXIMAL
        self.kind = kind
        self.program: QuadraticProgram | None = None
        self.has_answer = self.is_factored = self.is_at_work = False
        data = {"P": n * n, "A": m * n, "q": n, "l": N, "u": N, "s": 0}
        self.batch = batch = Batch(
            m=m, n=n, count=1, rows=most_steps + 1, x_start=none, y_start=none,
            **{name: np.zeros((1, size)) for name, size in data.items()},
        )  # fmt: skip
        self.test, self.work = verifier_for(batch, np.zeros(m), settings), DualSet(m=m, n=n)
        self.work.max_steps, self.work.beside = most_steps, BESIDE
        self.work.may_be_proximal = "proximal steps" in method_seconds(n, m, 0, 0)
        tol = min(settings.tol, settings.tol_abs or settings.tol)
        self.work.tol, self.work.missed_tol = min(TOL, SHARE * tol), min(MOST_CROSSING, CROSSING * tol)
        self.x, self.y, self.bounds = batch.x[0], batch.y[0, :m], batch.y[0, m:]
        self.code, self.iterations, self.numbers, self.trace = (
            batch.code, batch.iterations, batch.numbers.ravel(), batch.trace
        )  # fmt: skip
        self._records = np.ndarray(self.trace.nbytes, np.uint8, self.trace).data
        self.words = batch.words + self.test.words + self.work.words
        self.vectors = batch.q[0], batch.l[0, :m], batch.u[0, :m], batch.l[0, m:], batch.u[0, m:]

    def copy_of_trace(self, iterations: int) -> bytearray:
        """Return a copy of the records of so many iterations, as bytes: numbers take twice as long."""
        return bytearray(self._records[: TRACE.itemsize * (iterations + 1)])

    def point(self) -> Point:
        """A copy of the answer, (x, y, z_bounds)."""
        return self.x.copy(), self.y.copy(), self.bounds.copy()

    def take(self, program: QuadraticProgram, P: np.ndarray) -> None:
        """Write the data of the program here, P as an array, of those that are here what differs."""
        held = self.program
        if held is program:
            return
        self.program = None
        own_q, l, u, lb, ub = self.vectors
        own_q[:] = program.q
        if held is None or held.P is not program.P or held.A is not program.A:
            A = program.A
            self.is_factored = load_dual(self.batch, self.work, self.test, P, A.indptr, A.indices, A.data)
        if held is None or held.l is not program.l or held.u is not program.u:
            l[:], u[:] = program.l, program.u
        if held is None or held.lb is not program.lb or held.ub is not program.ub:
            lb[:], ub[:] = program.lb, program.ub
        self.program = program


def rest_of(
    program: QuadraticProgram, tol: float, sides: int, records: bytearray, solution: Solution
) -> dict[str, Any]:
    """What an answer has beside its point and figures."""
    trace, message = trace_of(program, records), f"{test_holds(tol)}; {sides} sides in the working set"
    point = solution.x, solution.y, solution.z_bounds
    return {
        "message": message, "trace": trace,
        "timings": {**NO_TIMINGS, "rest": solution.setup_time + solution.solve_time},
        "_run": functools.partial(cone_answer, program, point, OPTIMAL, message, trace, solution.plan),
    }  # fmt: skip


def trace_of(program: QuadraticProgram, records: bytearray) -> np.ndarray:
    """The records of a run as those of its program."""
    trace: np.ndarray = np.frombuffer(records, TRACE)
    trace["primal_objective"] += program.offset
    trace["dual_objective"] += program.offset
    return trace


def cone_answer(
    program: QuadraticProgram, point: Point, status: Status, message: str, trace: np.ndarray, plan: Plan | None
) -> ConeSolution:
    """The answer to the cone program, from that to the program."""
    form, (x, y, z_bounds) = ConeForm(program), point
    cone_program, is_equal = form.program(program), program.l == program.u
    _, z = form.gather(y.clip(max=0.0), y.clip(0.0), z_bounds.clip(max=0.0), z_bounds.clip(0.0))
    x, y = x[form.is_free(program)], y[is_equal]
    s, found = np.full(form.m, np.nan), None
    if status is OPTIMAL:
        s = (cone_program.h - cone_program.G @ x).clip(0.0)
        found = cone_residuals(cone_program, x, y, z, s)
    x, (y, z), figures = answer_at(cone_program, status, x, (y, z), found)
    solution = ConeSolution(
        status, x, y, z, s, *figures, iterations=trace.size - 1, setup_time=0.0, solve_time=0.0,
        message=message, trace=trace, timings=NO_TIMINGS.copy(), plan=plan,
    )  # fmt: skip
    solution._linearize = functools.partial(linearize, cone_program)
    return solution


@functools.lru_cache(maxsize=64)
def plan_of(is_proximal: bool, n: int, m: int, entries: int, P_entries: int) -> Plan:
    """The plan, kept: words cost as much as the set-up."""
    rows = f", {m} row{'s' * (m != 1)}" if m else ""
    of_method, method = method_seconds(n, m, entries, P_entries), "dual active set"
    seconds = {method: of_method.get("proximal steps" if is_proximal else method, np.inf)}
    seconds["interior point"] = of_method["interior point"]
    what = f"{method}{' by proximal steps' * is_proximal}, order {n}{rows}"
    return Plan("dense", "the program is small", method=method, what=what, seconds=seconds)
