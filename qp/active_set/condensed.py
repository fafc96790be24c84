"""The dual active set on a program without the variables that its equalities define (see `reduce.elimination`).

The answer is tested on the caller's own program.
"""

from __future__ import annotations

import functools

import numpy as np

from socp.batch.driver import FAILED, OPTIMAL as SOLVED, PRIMAL_INFEASIBLE, Batch
from socp.compiled.clock import clock
from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats
from socp.compiled.structures import WORD, Structure, dimension, floats, number, structure
from socp.engine import NO_TIMINGS
from socp.linalg.accurate import add_both
from socp.linalg.vectors import norm_within
from socp.method.rays import repaired_certificate
from socp.method.run import NOT_FEASIBLE
from socp.plan.costs import method_seconds
from socp.plan.plan import Plan
from socp.problem.hessian import SMALL, objective_unit
from socp.problem.settings import Settings
from socp.problem.status import Status
from socp.verify.distances import bounds_among
from socp.verify.stopping import (
    CONE,
    DUAL,
    GAP,
    OBJECTIVES,
    RESIDUALS,
    ROWS,
    SCALES,
    measure_gradient,
    measure_sides,
    meets,
)

from ..problem.program import QuadraticProgram
from ..problem.solution import Solution, solution_at
from ..reduce.elimination import (
    Elimination,
    elimination_of,
    fits,
    lift,
    lift_multipliers,
    reduce_vectors,
    reduced_matrices,
)
from .dual import DualSet, find_dual
from .small import Room, answer_in, cone_answer, places_of, trace_of


class Condensed(Structure):
    """A program, the elimination of its defined variables, and the dual active set of the program that is left."""

    m, n = dimension(), dimension()
    answers, elimination, work = structure(Batch), structure(Elimination), structure(DualSet)
    cost = floats()  # of the reduced program
    bound = floats("m")  # 1 for rows with one entry
    largest, tol, tol_abs = number(), number(), number()  # `largest` entry of P
    Px, PTx, dual = floats("2 * n"), floats("2 * n", scratch=True), floats("2 * n")
    rows, found = floats("2 * m"), floats(f"{RESIDUALS}")


@kernel
def solve_condensed(
    c: Condensed, q: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats, is_warm: bool
) -> int:  # fmt: skip
    """Solve the reduced program, lift its answer and test it; the result is that of `solve_dual`."""
    started, e, w, answers, reduced = clock(), c.elimination, c.work, c.answers, c.work.batch
    if not fits(e, l, u, lb, ub):
        reduced.code[0] = FAILED
        return 0
    reduce_vectors(e, q, l, u, lb, ub, c.cost, reduced.l[0], reduced.u[0])
    find_dual(w, c.cost, is_warm)
    made = reduced.iterations[0]
    answers.iterations[0], last = made, min(made, reduced.trace.size - 1)
    for k in range(last + 1):
        answers.trace[k] = reduced.trace[k]
    record = answers.trace[last]
    if reduced.code[0] == SOLVED:
        y = answers.y[0]
        lift(e, q, u, lb, reduced.x[0], reduced.y[0], answers.x[0], y[: c.m], y[c.m :])
        test(c, q, l, u, lb, ub)
        if not meets(c.found, c.tol, c.tol_abs):
            reduced.code[0] = FAILED
        record["primal_objective"], record["dual_objective"] = answers.numbers[0, 0], answers.numbers[1, 0]
        record["primal_residual"], record["dual_residual"] = answers.numbers[2, 0], answers.numbers[3, 0]
        record["gap"] = answers.numbers[4, 0]
    record["seconds"] = clock() - started
    return (w.count << 32) + (made << 2) + (2 if w.rho > 0.0 else 1) if reduced.code[0] == SOLVED else 0


@inner
def test(c: Condensed, q: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats) -> None:
    """Measure the residuals of the answer on the program's own data, in twice the precision."""
    e, found, answers, m, n, nothing = c.elimination, c.found, c.answers, c.m, c.n, c.found[:0]
    x, y, z = answers.x[0], answers.y[0][:m], answers.y[0][m:]
    c.Px[:], c.rows[:], c.dual[n:], found[:] = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        c.dual[j] = z[j]
    add_both(e.indptr, e.indices, e.data, x, y, c.rows, c.dual)
    add_both(e.P_indptr, e.P_indices, e.P_data, x, x, c.PTx, c.Px)
    largest = norm_within(q, 0, n)
    found[SCALES + DUAL] = objective_unit(max(largest, c.largest) if largest < SMALL else largest)
    measure_sides(l, u, c.rows, y, c.bound, nothing, ROWS, found)
    measure_sides(lb, ub, x, z, nothing, nothing, CONE, found)
    measure_gradient(c.Px, q, x, nothing, 0.0, c.dual, found)
    rows, cone = found[ROWS] / found[SCALES + ROWS], found[CONE] / found[SCALES + CONE]
    answers.numbers[0, 0], answers.numbers[1, 0] = found[OBJECTIVES], found[OBJECTIVES + 1]
    answers.numbers[2, 0] = max(rows, cone) if rows == rows and cone == cone else np.nan
    answers.numbers[3, 0] = found[DUAL] / found[SCALES + DUAL]
    answers.numbers[4, 0] = found[GAP] / found[SCALES + GAP]


class CondensedActiveSet:
    """Dual active-set method for a program whose equalities define variables.

    Parameters
    ----------
    program : QuadraticProgram
        A program without stored zeros.
    settings : Settings
    elimination : Elimination
        Definitions of its variables.
    matrices : tuple of arrays
        P and the rows of the reduced program.
    solved : int
        As in `DualActiveSet`.

    Attributes
    ----------
    plan : Plan
    """

    def __init__(
        self, program: QuadraticProgram, settings: Settings, elimination: Elimination,
        matrices: tuple[np.ndarray, np.ndarray], solved: int = 0,
    ) -> None:  # fmt: skip
        self.program, self.settings, self.goes_on = program, settings, solved > 0
        P, rows = matrices
        m, n, (size, v) = program.m, program.n, rows.shape
        reduced = QuadraticProgram(P, np.zeros(v), rows, np.full(size, -np.inf), np.full(size, np.inf))
        self.room = room = Room((v, size, settings.tol, settings.tol_abs, self.goes_on), settings)
        room.take(reduced)
        data = {"P": 0, "A": 0, "q": 0, "l": 0, "u": 0, "s": 0}
        none = np.zeros((0, 0))
        self.answers = Batch(
            m=m, n=n, count=1, rows=room.batch.trace.size, x_start=none, y_start=none,
            **{name: np.zeros((1, size)) for name, size in data.items()},
        )  # fmt: skip
        self.block, self.places = places_of(self.answers)
        self.work = work = Condensed(
            m=m, n=n, answers=self.answers, elimination=elimination, work=room.work, cost=np.empty(v)
        )
        work.bound[:], work.tol = bounds_among(program.A), settings.tol
        work.tol_abs = np.inf if settings.tol_abs is None else settings.tol_abs
        work.largest = float(np.abs(elimination.P_data).max(initial=0.0))
        what = f"dual active set, order {v}, {size} rows: {elimination.count} variables are eliminated"
        seconds = method_seconds(v, size, size * v, v * v, solved=solved)
        self.plan = Plan(
            "dense", "equalities define most variables", method="dual active set", what=what,
            seconds={"dual active set": seconds.get("dual active set", 0.0), "interior point": seconds["interior point"]},
        )  # fmt: skip

    def solve(self, warm_start: bool) -> Solution | None:
        """Return the answer or a certificate, or None if neither is found; `warm_start` keeps the last working set."""
        program, settings, room = self.program, self.settings, self.room
        is_warm, room.has_answer = warm_start and room.has_answer, False
        found = solve_condensed(
            self.work, program.q, program.l, program.u, program.lb, program.ub, is_warm
        )
        if found:
            room.has_answer = True
            return answer_in(self.block, self.places, program, program.offset, found, self.plan, settings)
        if room.code.item() != PRIMAL_INFEASIBLE:
            return None
        y, z, gradient = np.empty(program.m), np.empty(program.n), np.zeros(program.n)
        lift_multipliers(self.work.elimination, gradient, room.batch.y[0], y, z)
        ray = repaired_certificate(program, settings, y, z)
        if ray is None:
            return None
        (y, z), error = ray
        point, message, status = (np.zeros(program.n), y, z), NOT_FEASIBLE, Status.PRIMAL_INFEASIBLE
        trace = trace_of(program, self.answers.trace[: self.answers.iterations.item() + 1].view(np.float64))
        solution = solution_at(
            program, status, point, None, error, iterations=trace.size - 1, setup_time=0.0, solve_time=0.0,
            message=message, trace=trace, timings=NO_TIMINGS.copy(), plan=self.plan,
            run=functools.partial(cone_answer, settings, program, point, status, message, trace, self.plan),
        )  # fmt: skip
        solution._settings = settings
        return solution
