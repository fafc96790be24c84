"""One small program in a lane of the kernels for batches, which need no standard form and no analysis.

The program is solved as `qp.solve_many` solves many, and its answer passes the same test.  Where the lane finds no such
answer, the interior-point method of `socp` begins anew: that certifies, and knows all settings.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

from socp.batch.checks import next_doubtful
from socp.batch.driver import OPTIMAL as ANSWERED
from socp.batch.driver import Batch, Shape, lanes_for
from socp.batch.spans import NO_CONES, spans_of
from socp.batch.verify import NO_LAYOUT, verifier_for
from socp.compiled.memory import Pool
from socp.derivatives.cones import linearize
from socp.engine import NO_TIMINGS
from socp.method.run import OPTIMAL, copy_of_records, test_holds
from socp.plan.costs import method_seconds
from socp.plan.plan import Plan
from socp.problem import printing
from socp.problem.settings import Settings
from socp.problem.solution import Solution as ConeSolution
from socp.problem.solution import answer_at
from socp.problem.status import Status
from socp.verify.stopping import Residuals
from socp.verify.stopping import residuals as cone_residuals

from .problem.program import QuadraticProgram
from .problem.side_by_side import load_program, solve_one
from .problem.solution import Solution, solution_at
from .problem.stopping import Point
from .reduce.cone_form import EQUAL, LOWER, UPPER, ConeForm, gather_rhs

MOST_ITERATIONS = 25  # of a lane, which takes ten or so: what takes more is left to the ordinary path


class Lane:
    """A program in a lane.

    Parameters
    ----------
    program : QuadraticProgram
        One that `qp.plan.choice` has for it, in which presolve would fix no variable.
    settings : Settings
    form : ConeForm
        Its cone form, for the kinds of its sides.
    before : Lane or None
        The lane of the solver's last program, whose memory it takes if that fits.

    Attributes
    ----------
    plan : Plan
    P : array, shape (n, n)
        That of the program, zeros and all.
    """

    method, words = "lane", "dense LDL' in a vector lane"
    pool = Pool()  # of rooms; in the class, as solvers outlive the modules where Python ends

    def __init__(
        self, program: QuadraticProgram, settings: Settings, form: ConeForm, before: Lane | None = None
    ) -> None:
        self.program, self.settings, self.form = program, settings, form
        self.P = program.hessian.dense()
        self.plan = plan_of(self.method, self.words, program.n, program.m, program.A.data.size, program.hessian.entries)
        self._kind = self._kind_of(program, form)
        self._room: Room | None = before._room if before is not None and before._kind == self._kind else None

    def _kind_of(self, program: QuadraticProgram, form: ConeForm) -> tuple[object, ...]:
        """What programs in one room share."""
        settings = self.settings
        return (
            form.kinds.tobytes(), program.m, settings.tol, settings.tol_abs, settings.tol_infeasible,
            settings.step_fraction,
        )  # fmt: skip

    def is_clearly_definite(self) -> bool:
        """Whether a Cholesky factor shows that P is semidefinite."""
        P = self.P
        return self.program.hessian.is_zero or next_doubtful(len(P), P.reshape(1, P.size), 0, np.empty(P.size)) < 0

    def solve(self, warm_start: bool) -> Solution | None:
        """The answer, from the last one on with `warm_start`; None where the lane has none that passes the test."""
        room = self._enter()
        room.start_at(warm_start and room.has_answer)
        room.has_answer = False
        solve_one(room.batch, room.lanes, room.test, *NO_LAYOUT)
        found = self._answer(room, test_holds(self.settings.tol)) if room.code.item() == ANSWERED else None
        room.is_at_work = False
        return found

    def _answer(self, room: Room, message: str, status: Status = OPTIMAL) -> Solution:
        """The answer that is in the room, or a certificate."""
        program, found = self.program, None
        if status is OPTIMAL:
            objective, below, primal, dual, gap = room.numbers.tolist()
            found = Residuals(primal, 0.0, dual, gap, 1.0, 1.0, 1.0, 1.0, objective, below)
            room.has_answer = True
        iterations: int = room.iterations.item()
        trace = copy_of_records(room.trace, min(iterations + 1, room.trace.size))
        if program.offset:
            trace["primal_objective"] += program.offset
            trace["dual_objective"] += program.offset
        if self.settings.verbose:
            for record in trace:
                printing.line(record)
        told = status, message, trace, self.plan
        cone_solution = functools.partial(cone_answer, self.form, program, room.point(), *told)
        return solution_at(
            program, status, room.point(), found, iterations=iterations, setup_time=0.0, solve_time=0.0,
            message=message, trace=trace, timings=NO_TIMINGS.copy(), plan=self.plan,
            run=SimpleNamespace(solution=cone_solution),
        )  # fmt: skip

    def _enter(self) -> Room:
        """The room with the data of the program in it, at work: its own, one that was left, or a new one."""
        room = self._room
        if room is None or room.is_at_work:  # what was interrupted may be half written
            room = self._room = self.pool.take(self._kind) or self._room_of_own()
        room.is_at_work = True
        room.take(self.program, self.P)
        return room

    def _room_of_own(self) -> Room:
        return Room(self._kind, self.program.n, self.form.kinds, self.settings)

    def let_go(self, next_user: Lane | None = None) -> None:
        """Leave the room to the next program of the same kind in this thread, but for one that has it already."""
        room, self._room = self._room, None
        if room is None or room.is_at_work or (next_user is not None and next_user._room is room):
            return
        room.program, room.has_answer = None, False
        self.pool.leave(room.kind, room, room.words)


class Room:
    """The memory of a lane, for programs with the same sizes, kinds of sides and tolerances.

    Attributes
    ----------
    program : QuadraticProgram or None
        The one whose data are here.
    has_answer : bool
        Whether an answer to it, or to one like it, is.
    is_at_work : bool
        Whether data are taken or a program is solved here, or was when that was interrupted.
    """

    def __init__(self, kind: tuple[object, ...], n: int, kinds: np.ndarray, settings: Settings) -> None:
        N = kinds.size
        m = N - n
        self.kind, self.none = kind, np.zeros((0, n))
        self.program: QuadraticProgram | None = None
        self.has_answer = self.is_warm = self.is_at_work = False
        data = {"P": n * n, "A": m * n, "q": n, "l": N, "u": N, "s": 0}
        self.batch = batch = Batch(
            m=m, n=n, count=1, rows=self._most_records(N), x_start=self.none, y_start=self.none,
            **{name: np.zeros((1, size)) for name, size in data.items()},
        )  # fmt: skip
        self.test = verifier_for(batch, np.zeros(m), settings)
        self._make_work(kinds, settings)
        self.x, self.y, self.bounds = batch.x[0], batch.y[0, :m], batch.y[0, m:]
        self.code, self.iterations, self.numbers, self.trace = (
            batch.code, batch.iterations, batch.numbers.ravel(), batch.trace
        )  # fmt: skip
        self.vectors = batch.q[0], batch.l[0, :m], batch.u[0, :m], batch.l[0, m:], batch.u[0, m:]

    @property
    def words(self) -> int:
        """The size of the memory."""
        return self.batch.words + self.test.words + self.lanes.words

    def _most_records(self, N: int) -> int:
        return MOST_ITERATIONS + 1

    def _make_work(self, kinds: np.ndarray, settings: Settings) -> None:
        """Make room for the method."""
        m, n = self.batch.m, self.batch.n
        spans, is_bound = spans_of(np.ones((n, n)), np.ones((m, n))), np.arange(m + n) >= m
        shape = Shape(kinds == EQUAL, kinds & LOWER > 0, kinds & UPPER > 0, is_bound, spans, NO_CONES)
        self.lanes = lanes_for(self.batch, shape, settings)
        self.lanes.max_iter = MOST_ITERATIONS

    def _load(self, P: np.ndarray, A: Any) -> None:
        """Take the matrices."""
        load_program(self.batch, self.lanes, self.test, P, A.indptr, A.indices, A.data)

    def start_at(self, last: bool) -> None:
        """Start at the last answer, or anew."""
        if self.is_warm is not last:
            self.batch.x_start, self.batch.y_start = (self.batch.x, self.batch.y) if last else (self.none, self.none)
            self.is_warm = last

    def point(self) -> Point:
        """A copy of the answer, (x, y, z_bounds)."""
        return self.x.copy(), self.y.copy(), self.bounds.copy()

    def take(self, program: QuadraticProgram, P: np.ndarray) -> None:
        """Write the data of the program here, P as an array, of those that are here what differs."""
        held = self.program
        if held is program:
            return
        self.program = None
        if held is None or held.P is not program.P or held.A is not program.A:
            self._load(P, program.A)
        own_q, l, u, lb, ub = self.vectors
        own_q[:] = program.q
        if held is None or held.l is not program.l or held.u is not program.u:
            l[:], u[:] = program.l, program.u
        if held is None or held.lb is not program.lb or held.ub is not program.ub:
            lb[:], ub[:] = program.lb, program.ub
        self.program = program


def cone_answer(
    form: ConeForm, program: QuadraticProgram, point: Point, status: Status, message: str, trace: np.ndarray, plan: Plan
) -> ConeSolution:
    """The answer to the cone program, from that to the program."""
    x, y, z_bounds = point
    cone_program, b, z = form.program(program), np.empty(form.p), np.empty(form.m)
    gather_rhs(y.clip(max=0.0), y.clip(0.0), z_bounds.clip(max=0.0), z_bounds.clip(0.0), form.kinds, b, z)
    x, y = x[form.kinds[y.size :] != EQUAL], y[form.kinds[: y.size] == EQUAL]
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
def plan_of(method: str, words: str, n: int, m: int, entries: int, P_entries: int) -> Plan:
    """The plan, kept: words cost as much as the set-up of a lane."""
    rows = f", {m} row{'s' * (m != 1)}" if m else ""
    of_method = method_seconds(n, m, entries, P_entries)
    seconds = {name: of_method[name] for name in (method, "interior point") if name in of_method}
    return Plan("dense", "the program is small", method=method, what=f"{words}, order {n}{rows}", seconds=seconds)
