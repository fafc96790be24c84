"""The engine of quadratic programs: presolve, then an active-set method or the cone program."""

from __future__ import annotations

import time

import numpy as np

from socp.engine import NO_TIMINGS, OutOfTime, SetUpOnce
from socp.form.convexity import check_semidefinite
from socp.linalg.csc import same_storage
from socp.method.run import NO_RECORDS, OPTIMAL
from socp.plan.plan import Plan
from socp.problem import printing
from socp.problem.checks import ProgramError
from socp.problem.starts import Start, WarmStart
from socp.problem.status import Status
from socp.solver import Solver as ConeSolver
from socp.verify.stopping import residuals

from .active_set.method import ActiveSet
from .active_set.small import DualActiveSet, small_method
from .plan.choice import choose_method
from .problem.program import QuadraticProgram
from .problem.solution import Point, Solution, solution_at
from .problem.starts import completed, near_point, start_of
from .reduce.cone_form import ConeForm, SidesProgram, reduced
from .reduce.crossing import Crossing, crossing_of, infeasible
from .reduce.presolve import Presolve, presolve
from .reduce.stopping import ProgramTest


class Engine(SetUpOnce):
    """Solver of a quadratic program, set up once for the method that is chosen.

    Attributes
    ----------
    presolved, cone_form, active_set, dual_active_set
        Presolved program, its form as a cone program, and the methods as in `Solver`.
    """

    program: QuadraticProgram
    active_set: ActiveSet | None = None
    dual_active_set: DualActiveSet | None = None
    _cone_solver: ConeSolver | None = None
    _reduced: tuple[Presolve, ConeForm] | None = None  # computed at first use
    _last: np.ndarray | None = None  # last optimal x if there is an `active_set`: its warm start
    _answer: Point | None = None  # last optimal point of the interior-point method
    _crossing: Crossing | None = None  # sides of the program that cross: it is infeasible
    _is_behind = False  # True if the set-up has not seen P or A, as sides of the program cross
    _solved = 0  # optimal answers of the interior-point method with these matrices; -1: never switch

    def _set_up_for(self, program: QuadraticProgram) -> None:
        """Set up for a program; the set-up waits if its sides cross."""
        crossing = crossing_of(program, self.settings) if program.are_crossed else None
        if crossing is not None:
            self._go_over(program, self._test_hessian)
            self._crossing, self._is_behind = crossing, True
            return
        super()._set_up_for(program)

    def _test_hessian(self, program: QuadraticProgram) -> None:
        """Raise ProgramError if the settings require a convex program and P is not positive semidefinite."""
        if self.settings.check_convexity:
            check_semidefinite(program.hessian)

    def _set_up(self, program: QuadraticProgram) -> None:
        is_checked, active_set, cone_solver, parts = self.settings.check_convexity, None, None, None
        zeros = self._zeros
        before, dual = self.dual_active_set, small_method(program, self.settings, self.dual_active_set)
        if dual is None or (is_checked and not dual.is_clearly_definite()):
            zeros = self._zeros_of(program)
            presolved, form = parts = reduced(zeros.left_out(program), self.settings)
            active_set = self._new_active_set(presolved.program) if dual is None else None
            self._has_time_for("the test of convexity")
            if active_set is None or (is_checked and not active_set.is_clearly_definite()):
                cone_solver = self._new_cone_solver(presolved, form)  # This raises unless P is semidefinite.
                if cone_solver.plan.backend == "low rank":
                    active_set = None
        # Nothing has raised: from here on the solver holds the new program.
        self._reduced, self._zeros, self.active_set, self.dual_active_set = parts, zeros, active_set, dual
        self._crossing, self._is_behind = None, False
        self._answer, self._solved = None, 0 if active_set is None else -1
        if before is not None:
            before.let_go(dual)
        self._cone_solver = cone_solver

    def _new_active_set(self, program: QuadraticProgram) -> ActiveSet | None:
        """Return the active set for the presolved program, or None if it is not chosen."""
        method = choose_method(program, self.settings, may_be_definite=False)
        return ActiveSet(program, self.settings) if method == "active set" else None

    @property
    def presolved(self) -> Presolve:
        """Presolved program; if the dual active set solves, presolve runs at its first use."""
        return self._reduce()[0]

    @property
    def cone_form(self) -> ConeForm:
        """Conversion between the presolved program and the cone program."""
        return self._reduce()[1]

    def _reduce(self) -> tuple[Presolve, ConeForm]:
        if self._reduced is None:
            self._zeros = self._zeros_of(self.program)
            self._reduced = reduced(self._zeros.left_out(self.program), self.settings)
        return self._reduced

    def _new_cone_solver(self, presolved: Presolve, form: ConeForm) -> ConeSolver:
        """Return the solver of the cone program, which tests P unless `check_convexity` is False."""
        program = self._cone_program(presolved, form)
        self._has_time_for("the test of convexity")  # A substitution of fixed variables has tested P.
        solver = ConeSolver.of_checked(program, self.settings, self.at_work, self._until)
        if solver._late:
            raise OutOfTime(solver._late)
        return solver

    def _cone_program(self, presolved: Presolve, form: ConeForm) -> SidesProgram:
        return form.program(presolved.program, self.settings.check_convexity)

    @property
    def cone_solver(self) -> ConeSolver:
        """Solver of the cone program; if an active set solves, it is set up at its first use."""
        if self._cone_solver is None:
            started = time.perf_counter()
            self._cone_solver = self._new_cone_solver(self.presolved, self.cone_form)
            self.setup_time += time.perf_counter() - started
        return self._cone_solver

    def _take(self, program: QuadraticProgram, new_P: bool, new_A: bool, new_sides: bool) -> None:
        """Replace the program by one with new matrices and sides as flagged; if it is refused, nothing changes."""
        new_matrix, are_crossed, dual = new_P or new_A, program.are_crossed, self.dual_active_set
        is_kept = not (self._is_stale or self._is_behind)
        if dual is not None and self._reduced is None and is_kept and not (new_matrix or are_crossed):
            self.program, self._crossing = program, None
            return
        self._give_time()
        crossing = crossing_of(program, self.settings) if are_crossed else None
        if crossing is not None and is_kept and not new_matrix:
            self.program, self._crossing = program, crossing  # The set-up waits for sides that do not cross.
        elif crossing is not None or not is_kept:
            self._set_up_for(program)
        elif not self._take_values(program, new_P, new_A, new_sides or self._crossing is not None):
            self._set_up_for(program)

    def _take_values(self, program: QuadraticProgram, new_P: bool, new_A: bool, new_sides: bool) -> bool:
        """Replace the program and return True; return False, and change nothing, if it needs another set-up.

        Presolve is skipped if only q is new and the old q has fixed no variable.
        """
        if self.dual_active_set is not None and (new_P or new_A or program.are_crossed):
            return False
        if not (same_storage(self.program.A, program.A) and same_storage(self.program.P, program.P)):
            return False
        before, given = self.presolved, self._zeros.left_out(program)
        if given is None:
            self._are_filled = True
            return False
        presolved = None if new_A or new_P or new_sides else before.with_objective(given)
        if presolved is None:
            presolved = presolve(given, self.settings)
            if not presolved.fits(before) or not self.cone_form.fits(presolved.program):
                return False
        if new_P and (self.active_set is not None or choose_method(presolved.program, self.settings) == "active set"):
            return False
        self._is_stale = True
        if (new_P or new_A) and self._solved > 0:
            self._answer, self._solved = None, 0
        if self._cone_solver is not None:
            cone_program = self._cone_solver.program
            try:
                if new_P or new_A or not isinstance(cone_program, SidesProgram):
                    self._cone_solver.replace(self._cone_program(presolved, self.cone_form))
                else:
                    self._cone_solver.replace_vectors(cone_program.with_vectors(presolved.program))
            except ProgramError:
                self._is_stale = False
                raise
        self._reduced = presolved, self.cone_form
        if self.active_set is not None:
            self.active_set = self._new_active_set(presolved.program)
        self.program, self._crossing, self._is_stale = program, None, False
        return True

    def let_go(self) -> None:
        """Release the memory to the next program; the solver must not be used again."""
        if self._cone_solver is not None:
            self._cone_solver.let_go()
        if self.dual_active_set is not None:
            self.dual_active_set.let_go()

    def __del__(self) -> None:
        """Release the memory of the dual active set to the next program of its kind."""
        if self.dual_active_set is not None:
            self.dual_active_set.let_go()

    def solve(self, warm_start: WarmStart = False) -> Solution:
        """Solve the program; with `warm_start` begin at the last answer, or another point, if that is near enough.

        If a small program is solved repeatedly from the last answer, the dual active set replaces the interior-point
        method.

        Parameters
        ----------
        warm_start : bool, Solution, tuple (x, y, z_bounds), or vector x
            True for the last optimal answer.  In a tuple, None stands for unknown multipliers, which are computed from
            x where they are bounds'.  A point whose residuals are of the size of the data is not used.

        Returns
        -------
        Solution
        """
        start = warm_start if isinstance(warm_start, bool) else start_of(warm_start, self.program)
        with self.at_work:
            if self._is_stale:
                self._make_ready()
                if self._late:
                    return self._late_solution()
            if self._crossing is not None:
                return self._show_infeasible(self._crossing)
            started, setup_time, settings = time.perf_counter(), self.setup_time, self.settings
            if settings.time_limit is not None:
                self._until = self._end_of_solve()
            try:
                solution = self._find(start)
            except OutOfTime as error:  # in the set-up of a cone solver
                self._late, self._is_stale = str(error), True
                return self._late_solution()
            late = self.setup_time - setup_time  # set-up of a cone solver during the solve
            solution.take_seconds(self.setup_time, time.perf_counter() - started - late)
            if solution.status is OPTIMAL and self.active_set is not None:  # for a warm start
                self._last = solution.x.copy()
            if settings.verbose:
                printing.footer(solution)
            return solution

    def _late_solution(self) -> Solution:
        """Return the point zero for a program whose set-up has reached the time limit."""
        program, started = self.program, time.perf_counter()
        point = x, y, z = np.zeros(program.n), np.zeros(program.m), np.zeros(program.n)
        solution = solution_at(
            program, Status.TIME_LIMIT, point, residuals(program, x, y, z, Px=np.zeros(program.n)), iterations=0,
            setup_time=0.0, solve_time=0.0, message=self._out_of_time(), trace=NO_RECORDS, timings=NO_TIMINGS.copy(),
        )  # fmt: skip
        solution.take_seconds(self.setup_time, time.perf_counter() - started)
        solution._settings = self.settings.without_callback
        return solution

    def _show_infeasible(self, crossing: Crossing) -> Solution:
        """Return the answer to a program whose sides cross, and print it if the settings say so."""
        solution = infeasible(self.program, crossing, self.setup_time)
        solution._settings = self.settings.without_callback
        if self.settings.verbose:
            printing.footer(solution)
        return solution

    def _find(self, start: bool | Start) -> Solution:
        """Return the answer of an active set if it finds one, else of the interior-point method."""
        solution, dual, is_warm = None, self.dual_active_set, start is True
        if dual is None and is_warm and self._answer is not None and self._solved.bit_count() == 1:  # 1, 2, 4, ...
            dual = self.dual_active_set = self._go_on_from(self._answer)
        if dual is not None and (start or not dual.goes_on):
            dual.program = self.program
            if isinstance(start, tuple):
                point = near_point(self.program, start)
                is_warm = point is not None
                if point is not None:
                    dual.start_at(*point)
            if self.settings.verbose:
                self._show(dual.plan, self.program, ConeForm(self.program))
            solution = dual.solve(is_warm)
            if solution is not None:
                for record in solution.trace if self.settings.verbose else ():
                    printing.line(record)
                return solution
            if dual.goes_on:
                self.dual_active_set, self._answer, self._solved = None, None, -1
                dual.let_go()
        test = ProgramTest(self.program, self.presolved, self.cone_form)
        if self.active_set is not None:
            if self.settings.verbose:
                self._show(self.active_set.plan, self.presolved.program, self.cone_form)
            solution = self.active_set.solve(
                start[0] if isinstance(start, tuple) else self._last if start else None, test
            )
        solution = self._follow_path(start, test) if solution is None else solution
        solution._settings = self.settings.without_callback
        return solution

    def _go_on_from(self, answer: Point) -> DualActiveSet | None:
        """Return the dual active set, started at an answer, if it is expected to be faster; else None.

        It replaces the interior-point method, until it needs too many steps.
        """
        dual = small_method(self.program, self.settings, solved=self._solved)
        if dual is not None:
            dual.start_at(*answer)
            cone_solver, self._cone_solver, self._reduced = self._cone_solver, None, None
            if cone_solver is not None:
                cone_solver.let_go()
        return dual

    def _show(self, plan: Plan, program: QuadraticProgram, form: ConeForm) -> None:
        """Print the header of an active-set method."""
        entries = program.hessian.entries, program.A.data.size
        printing.header(plan, self.settings.tol, form.n, form.p, form.m, (), entries)

    def _follow_path(self, start: bool | Start, test: ProgramTest) -> Solution:
        """Return the answer of the interior-point method, which stops by the test on the program's own data."""
        if isinstance(start, tuple):
            start = test.lower(*completed(self.program, start))
        run = (self._cone_solver or self.cone_solver).run(start, test, self._until)
        assert run.answer is not None and run.status is not None
        x, y, z, _ = run.answer
        found, point = run.found, (x, y, z)
        if found is not None:
            point = test.point(found, x, y, z)
        elif run.status is Status.PRIMAL_INFEASIBLE:
            point = (x, *test.dual_ray(y, z))
        elif run.status is Status.DUAL_INFEASIBLE:
            point = (test.primal_ray(x), y, z)
        if run.status is OPTIMAL and self._solved >= 0:
            self._answer, self._solved = point, self._solved + 1
        return solution_at(
            self.program, run.status, point, found, iterations=run.iterations, setup_time=0.0, solve_time=0.0,
            message=run.message, trace=run.trace, timings=run.timings.copy(), plan=run.plan, run=run.solution,
        )  # fmt: skip
