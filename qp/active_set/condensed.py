"""The dual active set on a program without the variables that its equalities define (see `reduce.elimination`).

The answer is tested on the caller's own program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from socp.batch.driver import FAILED, OPTIMAL, PRIMAL_INFEASIBLE, Batch
from socp.batch.verify import write_numbers
from socp.compiled.clock import clock
from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats
from socp.compiled.structures import Structure, dimension, floats, number, part, structure
from socp.form.convexity import check_semidefinite
from socp.linalg.accurate import add_both
from socp.linalg.vectors import norm_within
from socp.plan.costs import elimination_seconds, method_seconds
from socp.plan.plan import Plan
from socp.problem.hessian import SMALL, objective_unit
from socp.problem.settings import Settings
from socp.problem.zeros import StoredZeros
from socp.verify.constraints import measure_sides
from socp.verify.distances import bounds_among
from socp.verify.stopping import Measured, measure_gradient, meets, prepare

from ..method import Offer
from ..plan.choice import has_time, suits_dual
from ..problem.program import QuadraticProgram
from ..problem.solution import Solution
from ..reduce.elimination import (
    Elimination,
    elimination_of,
    fits,
    lift,
    lift_multipliers,
    reduce_vectors,
    reduced_matrices,
)
from .dual import close_trace, find_dual
from .dual_set import DualSet
from .small import DualActiveSet, Workspace, answer_in, places_of


class Condensed(Structure):
    """A program, the elimination of its defined variables, and the dual active set of the program that is left."""

    m, n = dimension(), dimension()
    answers, elimination, work = structure(Batch), structure(Elimination), structure(DualSet)
    bound = floats("m")  # 1 for rows with one entry
    largest, tol, tol_abs = number(), number(), number()  # `largest` entry of P
    Px, PTx, dual = floats("2 * n"), floats("2 * n", scratch=True), floats("2 * n")
    rows, found = floats("2 * m"), part(Measured)


@kernel
def solve_condensed(
    c: Condensed, q: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats, is_warm: bool
) -> int:  # fmt: skip
    """Solve the reduced program, lift its answer and test it; the result is that of `solve_dual`."""
    started, e, dual, answers, reduced = clock(), c.elimination, c.work, c.answers, c.work.batch
    if not fits(e, l, u, lb, ub):
        reduced.code[0] = FAILED
        return 0
    reduce_vectors(e, q, l, u, lb, ub, reduced.l[0], reduced.u[0])
    find_dual(dual, e.cost, is_warm)
    made = reduced.iterations[0]
    answers.iterations[0], last = made, min(made, reduced.trace.size - 1)
    for k in range(last + 1):
        answers.trace[k] = reduced.trace[k]
    is_measured = reduced.code[0] == OPTIMAL
    if is_measured:
        lift(e, q, u, lb, reduced.x[0], reduced.y[0], answers.x[0], answers.y[0])
        test(c, q, l, u, lb, ub)
        if not meets(c.found, c.tol, c.tol_abs):
            reduced.code[0] = FAILED
    close_trace(answers, is_measured, clock() - started)
    return 0 if reduced.code[0] != OPTIMAL else 2 if dual.rho > 0.0 else 1


@inner
def test(c: Condensed, q: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats) -> None:
    """Measure the residuals of the answer on the program's own data, in twice the precision."""
    e, found, answers, m, n, nothing = c.elimination, c.found, c.answers, c.m, c.n, q[:0]
    x, y, z = answers.x[0], answers.y[0][:m], answers.y[0][m:]
    c.Px[:], c.rows[:], c.dual[n:] = 0.0, 0.0, 0.0
    for j in range(n):
        c.dual[j] = z[j]
    add_both(e.indptr, e.indices, e.data, x, y, c.rows, c.dual)
    add_both(e.P_indptr, e.P_indices, e.P_data, x, x, c.PTx, c.Px)
    largest = norm_within(q, 0, n)
    prepare(found, objective_unit(max(largest, c.largest) if largest < SMALL else largest))
    measure_sides(l, u, c.rows, y, c.bound, nothing, False, found)
    measure_sides(lb, ub, x, z, nothing, nothing, True, found)
    measure_gradient(c.Px, q, x, nothing, 0.0, c.dual, found)
    write_numbers(found, answers, 0)


def answers_of(m: int, n: int, rows: int) -> Batch:
    """Return memory for the answer of one program with `rows` records, without its data."""
    none = np.zeros((0, 0))
    data = dict.fromkeys(("P", "A", "q", "l", "u", "s", "x_start", "y_start"), none)
    return Batch(m=m, n=n, count=1, rows=rows, **data)


class CondensedActiveSet(DualActiveSet):
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
    plan : Plan
    is_on_trial : bool
    """

    def __init__(
        self, program: QuadraticProgram, settings: Settings, elimination: Elimination,
        matrices: tuple[np.ndarray, np.ndarray], plan: Plan, is_on_trial: bool,
    ) -> None:  # fmt: skip
        self.program, self.settings, self.plan, self.is_on_trial = program, settings, plan, is_on_trial
        P, rows = matrices
        m, n, (size, v) = program.m, program.n, rows.shape
        self.reduced = QuadraticProgram(P, np.zeros(v), rows, np.full(size, -np.inf), np.full(size, np.inf))
        self._kind, self._workspace = (v, size, settings.tol, settings.tol_abs, is_on_trial), None
        workspace = self._enter()
        self.is_definite, workspace.is_at_work = workspace.factor == 1, False
        self._answers = answers_of(m, n, workspace.batch.trace.size)
        self._block, self._places = places_of(self._answers)
        self._work = work = Condensed(m=m, n=n, answers=self._answers, elimination=elimination, work=workspace.work)
        work.bound[:], work.tol = bounds_among(program.A), settings.tol
        work.tol_abs = np.inf if settings.tol_abs is None else settings.tol_abs
        work.largest = float(np.abs(elimination.P_data).max(initial=0.0))

    @classmethod
    def take(cls, offer: Offer, before: Any) -> CondensedActiveSet | None:
        """Return the method if equalities define so many variables that it is faster than all others."""
        return cls._expected_faster(offer.program, offer.settings)

    @classmethod
    def on_trial(
        cls, program: QuadraticProgram, settings: Settings, solved: int, plan: Plan | None = None
    ) -> CondensedActiveSet | None:
        """Return the method for a loop in which another one, with `plan`, has solved `solved` programs."""
        return cls._expected_faster(program, settings, solved, plan)

    @classmethod
    def _expected_faster(
        cls, program: QuadraticProgram, settings: Settings, solved: int = 0, plan: Plan | None = None
    ) -> CondensedActiveSet | None:
        """Return the method if it is expected to be faster than the interior-point method and than `plan`."""
        n, m, entries = program.n, program.m, program.A.data.size
        P = program.hessian
        if not P.is_sparse or not m or not suits_dual(program, settings):
            return None
        seconds = method_seconds(n, m, entries, P.entries, solved=solved)
        best = min(seconds["interior point"], plan.expected if plan is not None else np.inf)
        size = entries + P.entries
        equalities = int((program.l == program.u).sum()) + int((program.lb == program.ub).sum())
        if elimination_seconds(max(n - equalities, 0), 0, size, (n, m), solved=solved) > best:
            return None
        given = StoredZeros(program).left_out(program)
        e = elimination_of(given)
        if e is None:
            return None
        v, rows = e.independent.size, e.kept.size + e.bounded.size
        expected = elimination_seconds(v, rows, size, (n, m), solved=solved)
        if expected > best or not has_time(settings, 4 * (v + rows) * expected):
            return None
        matrices = reduced_matrices(given, e)
        if matrices is None:
            return None
        if settings.check_convexity:
            check_semidefinite(P, program.P_eps)
        what = f"dual active set, order {v}, {rows} rows, without {e.count} variables that equalities define"
        of = {"dual active set": expected, "interior point": seconds["interior point"]}
        reason = Plan("dense", "equalities define variables", method="dual active set", what=what, seconds=of)
        method = cls(given, settings, e, matrices, reason, solved > 0)
        if method.is_definite:
            return method
        method.release()
        return None

    def is_clearly_definite(self) -> bool:
        """Return True: P has been tested before the elimination."""
        return True

    def _attempt(self, workspace: Workspace, is_warm: bool) -> Solution | None:
        program, settings = self.program, self.settings
        found = solve_condensed(self._work, program.q, program.l, program.u, program.lb, program.ub, is_warm)
        if found:
            workspace.has_answer = True
            return answer_in(self._block, self._places, program, program.offset, workspace.result, self.plan, settings)
        if workspace.code.item() != PRIMAL_INFEASIBLE:
            return None
        ray = np.empty(program.m + program.n)
        lift_multipliers(self._work.elimination, np.zeros(program.n), workspace.batch.y[0], ray)
        steps = self._answers.trace[: self._answers.iterations.item() + 1].copy()
        return self._certificate(np.zeros(program.n), ray[: program.m], ray[program.m :], steps.view(np.float64))

    def start_at(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
        """Initialize the working set with the sides whose multipliers exceed their slacks at (x, y, z)."""
        workspace, program, e = self._enter(), self.program, self._work.elimination
        v, at, lower, upper = (
            np.concatenate([of_rows[e.kept], of_variables[e.bounded], of_variables[e.independent]])
            for of_rows, of_variables in ((y, z), (program.A @ x, x), (program.l, program.lb), (program.u, program.ub))
        )
        workspace.begin_at(v, at, lower, upper)
        workspace.is_at_work = False

    def _enter(self) -> Workspace:
        workspace, own = self._workspace, self.program
        if workspace is None or workspace.is_at_work:
            self.program = self.reduced
            try:
                workspace = super()._enter()
            finally:
                self.program = own
            if hasattr(self, "_work"):
                self._work.work = workspace.work
        workspace.is_at_work = True
        return workspace
