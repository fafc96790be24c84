"""The engine of quadratic programs: a program is set up once and offered to methods in order, then updated.

check whether sides cross      ->  an infeasible program has its answer
offer it to each method        ->  the first answer that passes the stopping test
the last method, interior point, answers every program
"""

from __future__ import annotations

import time

import numpy as np

from socp.engine import NO_TIMINGS, OutOfTime, SetUpOnce
from socp.form.convexity import check_semidefinite
from socp.linalg.csc import same_storage
from socp.method.run import NO_RECORDS, OPTIMAL
from socp.problem import printing
from socp.problem.checks import ProgramError
from socp.problem.starts import Start, WarmStart
from socp.problem.status import Status
from socp.solver import Solver as ConeSolver
from socp.verify.stopping import residuals

from .active_set.method import ActiveSet
from .active_set.small import DualActiveSet
from .interior_point import InteriorPoint
from .method import Method, Offer
from .methods import METHODS, TRIED_IN_LOOPS
from .plan.switch import Switch
from .problem.program import QuadraticProgram
from .problem.solution import Solution, solution_at
from .problem.starts import active_sides, start_of
from .reduce.cone_form import ConeForm
from .reduce.crossing import Crossing, crossing_of, infeasible
from .reduce.presolve import Presolve


class Engine(SetUpOnce):
    """Solver of a quadratic program, set up once for the method that is chosen.

    Attributes
    ----------
    methods : tuple of Method
        The methods to which the program is offered, in order.
    """

    program: QuadraticProgram
    methods: tuple[Method, ...] = ()
    _offer: Offer
    _switch: Switch
    _crossing: Crossing | None = None  # sides of the program that cross: it is infeasible
    _is_behind = False  # True if the set-up has not seen P or A, as sides of the program cross

    def _set_up_for(self, program: QuadraticProgram) -> None:
        """Set up for a program; the set-up waits if its sides cross."""
        crossing = crossing_of(program, self.settings) if program.are_crossed else None
        if crossing is None:
            super()._set_up_for(program)
            return
        self._go_over(program, self._test_hessian)
        self._crossing, self._is_behind = crossing, True

    def _test_hessian(self, program: QuadraticProgram) -> None:
        """Raise ProgramError if the settings require a convex program and P is not positive semidefinite."""
        if self.settings.check_convexity:
            check_semidefinite(program.hessian)
        self._offer = self._offer_of(program)

    def _offer_of(self, program: QuadraticProgram) -> Offer:
        if callable(self.settings.kkt):
            raise ProgramError(
                "kkt as a function is for `socp.solve` and `socp.Solver`, whose rows it sees as they came"
            )
        return Offer(program, self.settings, self.at_work, self._until, self._are_filled)

    def _set_up(self, program: QuadraticProgram) -> None:
        """Set up the first method that takes the program; set up the last one, too, if P must be tested by it."""
        offer, before = self._offer_of(program), {type(method): method for method in self.methods}
        chosen: Method | None = None
        *kinds, last = METHODS
        for kind in kinds:
            chosen = kind.take(offer, before.get(kind))
            if chosen is not None:
                break
        if chosen is not None and (not self.settings.check_convexity or chosen.is_clearly_definite()):
            methods: tuple[Method, ...] = chosen, InteriorPoint(offer)
        else:
            offer.check_time("the test of convexity")
            interior_point = last.take(offer, before.get(last))  # This raises unless P is semidefinite.
            if chosen is None or chosen.yields_to(interior_point.plan):
                methods = (interior_point,)
            else:
                methods = chosen, interior_point
        # Nothing has raised: from here on the solver holds the new program.
        for method in self.methods[:-1]:
            method.release(methods[0])
        self.methods, self._offer, self._switch = methods, offer, Switch()
        self._crossing, self._is_behind = None, False

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
            started, settings, offer = time.perf_counter(), self.settings, self._offer
            if settings.time_limit is not None:
                offer.until = self._end_of_solve()
            try:
                solution = self._find(start)
            except OutOfTime as error:  # in the set-up of a cone solver
                self._late, self._is_stale = str(error), True
                return self._late_solution()
            late = self._take_spent() if offer.spent else 0.0
            solution.take_seconds(self.setup_time, time.perf_counter() - started - late)
            if settings.verbose:
                printing.footer(solution)
            return solution

    def _find(self, start: bool | Start) -> Solution:
        """Offer the program to the methods in order; return the first answer."""
        if self._switch.is_due(start is not False):
            self._go_over_in_loop(start is not False)
        trial, others = self.methods[0], self.methods
        is_tried = trial.is_on_trial and (start is not False or trial.begins_cold)
        if trial.is_on_trial:
            others = self.methods[1:]
            solution = trial.solve(start, self._offer) if is_tried else None
            if solution is not None:
                self._switch.succeeded()
                return solution
        for method in others:
            solution = method.solve(start, self._offer)
            if solution is not None:
                break
        assert solution is not None  # The last method answers every program.
        if not trial.is_on_trial:
            if solution.status is OPTIMAL:
                self._switch.count()
        elif is_tried:
            self._go_on_after_failure(trial, solution)
        return solution

    def _go_on_after_failure(self, trial: Method, solution: Solution) -> None:
        """Go on from the answer of another method, unless the one on trial fails too often."""
        if self._switch.allows_failure():
            if solution.status is OPTIMAL and isinstance(trial, DualActiveSet):
                trial.start_at(solution.x, solution.y, solution.z_bounds)
            return
        self.methods = self.methods[1:]
        trial.release()

    def _go_over_in_loop(self, is_warm: bool) -> None:
        """Put a method on trial before the others if it is expected to be faster in this loop, of warm starts or cold.

        It stays until it needs too many steps.
        """
        first, last = self.methods[0], self._interior_point
        if first.is_on_trial or isinstance(first, ActiveSet) or (first is last and last.answer is None):
            return
        plan, active = None if first is last else first.plan, None
        if not is_warm:
            if first is not last:
                return
            assert last.answer is not None
            active = active_sides(self.program, last.answer)
        for kind in TRIED_IN_LOOPS:
            if isinstance(first, kind) or not (is_warm or kind.begins_cold):
                continue
            method = kind.on_trial(self.program, self.settings, self._switch.solved, plan, active)
            if method is None:
                continue
            if first is last:
                assert last.answer is not None
                method.start_at(*last.answer)
                last.release()
                self._offer = self._offer_of(self.program)
                self.methods = method, InteriorPoint(self._offer)
            else:
                self.methods = method, *self.methods
            return

    def _take_spent(self) -> float:
        """Return the seconds of set-ups that methods made during a solve; they count as set-up."""
        late, self._offer.spent = self._offer.spent, 0.0
        self.setup_time += late
        return late

    @property
    def _interior_point(self) -> InteriorPoint:
        last = self.methods[-1]
        assert isinstance(last, InteriorPoint)
        return last

    def _late_solution(self) -> Solution:
        """Return the point zero for a program whose set-up has reached the time limit."""
        program, started = self.program, time.perf_counter()
        point = x, y, z = np.zeros(program.n), np.zeros(program.m), np.zeros(program.n)
        solution = solution_at(
            program, Status.TIME_LIMIT, point, residuals(program, x, y, z, Px=np.zeros(program.n)), iterations=0,
            setup_time=0.0, solve_time=0.0, message=self._out_of_time(), trace=NO_RECORDS, timings=NO_TIMINGS.copy(),
        )  # fmt: skip
        solution.take_seconds(self.setup_time, time.perf_counter() - started)
        solution._settings = self.settings.without_functions
        return solution

    def _show_infeasible(self, crossing: Crossing) -> Solution:
        """Return the answer to a program whose sides cross, and print it if the settings say so."""
        solution = infeasible(self.program, crossing, self.setup_time)
        solution._settings = self.settings.without_functions
        if self.settings.verbose:
            printing.footer(solution)
        return solution

    @property
    def active_set(self) -> ActiveSet | None:
        """The active set, if it is chosen for the program."""
        return next((method for method in self.methods if isinstance(method, ActiveSet)), None)

    @property
    def dual_active_set(self) -> DualActiveSet | None:
        """The dual active set, if it is chosen for the program."""
        return next((method for method in self.methods if isinstance(method, DualActiveSet)), None)

    @property
    def presolved(self) -> Presolve:
        """Presolved program; presolve runs at its first use."""
        return self._offer.presolved

    @property
    def cone_form(self) -> ConeForm:
        """Conversion between the presolved program and the cone program."""
        return self._offer.form

    @property
    def cone_solver(self) -> ConeSolver:
        """Solver of the cone program; if another method solves, it is set up at its first use."""
        solver = self._interior_point.cone_solver
        self._take_spent()
        return solver

    def _take(self, program: QuadraticProgram, new_P: bool, new_A: bool, new_sides: bool) -> None:
        """Replace the program by one with new matrices and sides as flagged; if it is refused, nothing changes."""
        new_matrix, are_crossed = new_P or new_A, program.are_crossed
        is_kept = not (self._is_stale or self._is_behind)
        if is_kept and not (new_matrix or are_crossed or self._offer.is_reduced):
            self.program = self._offer.program = program
            self._crossing = None
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
        """Replace the program and return True; return False, and change nothing, if it needs another set-up."""
        if not (same_storage(self.program.A, program.A) and same_storage(self.program.P, program.P)):
            return False
        self._offer.until = self._until
        offer = self._offer.replaced(program, only_q=not (new_A or new_P or new_sides))
        if offer is None:
            self._are_filled |= self._offer.has_lost_zeros
            return False
        self._is_stale = True
        try:
            is_taken = all(method.update(offer, new_P, new_A) for method in self.methods)
        except ProgramError:
            self._is_stale = False
            raise
        if is_taken:
            self.program, self._offer, self._crossing = program, offer, None
            if new_P or new_A:
                self._switch.reset()
        self._is_stale = False
        return is_taken

    def release(self) -> None:
        """Release the memory to the next program; the solver must not be used again."""
        for method in self.methods:
            method.release()

    def __del__(self) -> None:
        """Release the memory of the methods before the last to the next program of its kind."""
        for method in self.methods[:-1]:
            method.release()


Solution.engine = Engine
