"""A quadratic program set up once: presolve, a lane, active sets or the cone form, and what solves it then."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np

from socp.engine import SetUpOnce
from socp.method.run import OPTIMAL
from socp.plan.plan import Plan
from socp.problem import printing
from socp.problem.checks import ProgramError, as_vector, check_finite
from socp.problem.status import Status
from socp.solver import Solver as ConeSolver

from .active_set.method import ActiveSet
from .active_set.small import DualActiveSet
from .active_set.working_set import WorkingSet
from .lane import Lane
from .plan.choice import choose_method
from .problem.program import QuadraticProgram
from .problem.solution import Solution, solution_at
from .problem.stopping import ProgramTest
from .reduce.cone_form import ConeForm, SidesProgram
from .reduce.presolve import Presolve

CROSSING, MOST_CROSSING = 0.25, 1e-8  # share of tol by which sides may cross in presolve, and how far at most


class Engine(SetUpOnce):
    """A quadratic program set up once, by the method that is chosen for it.

    Attributes
    ----------
    presolved, cone_form, active_set, lane
        As of `Solver`.
    """

    program: QuadraticProgram
    lane: Lane | None = None
    _last: np.ndarray | None = None  # the last optimal x where the active set solves, which a warm start begins at

    def _set_up_for(self, program: QuadraticProgram) -> None:
        """As ever; where rows of a `KernelMatrix` are not enough, for the program with P in full."""
        if program.hessian.is_by_rows and choose_method(program, self.settings) != "working set":
            program = program.with_full_hessian()
        super()._set_up_for(program)

    def _make_hessian(self) -> None:
        """Go over from a `KernelMatrix` to P in full."""
        before = self.setup_time
        self._set_up_for(self.program.with_full_hessian())
        self.setup_time += before

    def _set_up(self, program: QuadraticProgram) -> None:
        settings = self.settings
        presolved = self._presolved(program)
        form = ConeForm(presolved.program)
        cone_solver = None
        active_set, lane = self._new_method(program, presolved, form)
        method = lane or active_set
        if method is None or (settings.check_convexity and not method.is_clearly_definite()):
            cone_solver = self._new_cone_solver(presolved, form)  # refuses a P that is not semidefinite
            if active_set is not None and cone_solver.plan.backend == "low rank":
                active_set = None
        # nothing was refused: from here on the solver is that of the new program
        before = self.lane
        self.presolved, self.cone_form, self.active_set, self.lane = presolved, form, active_set, lane
        if before is not None:
            before.let_go(lane)
        self._cone_solver: ConeSolver | None = cone_solver

    def _new_method(
        self, program: QuadraticProgram, presolved: Presolve, form: ConeForm
    ) -> tuple[ActiveSet | None, Lane | None]:
        """The active set for what presolve leaves, or a lane where it leaves all, if one of them is chosen.

        The dual active set takes the whole program, and needs a P that is definite.
        """
        settings, last = self.settings, self.lane
        if choose_method(program, settings) == "dual active set":
            dual = DualActiveSet(program, settings, form if presolved.kept is None else ConeForm(program), last)
            if dual.is_clearly_definite():
                return None, dual
            dual.let_go(last)
        program = presolved.program
        method = choose_method(program, settings, may_be_definite=False)
        if method == "working set":
            before = getattr(self, "active_set", None)
            return WorkingSet(program, settings, before if isinstance(before, WorkingSet) else None), None
        if method == "lane" and presolved.kept is None and not form.has_fixed:
            return None, Lane(program, settings, form, last)
        return (ActiveSet(program, settings) if method == "active set" else None), None

    def _presolved(self, program: QuadraticProgram) -> Presolve:
        """The program made smaller; what is asked for in absolute terms leaves no room for sides that cross."""
        settings = self.settings
        slack = CROSSING * settings.tol if settings.tol_abs is None else 0.0
        wanted = settings.presolve and not program.hessian.is_by_rows
        return Presolve(program, wanted, min(slack, MOST_CROSSING))

    def _new_cone_solver(self, presolved: Presolve, form: ConeForm) -> ConeSolver:
        """The solver of the cone program, which tests P whatever the active set may leave out."""
        settings = self.settings
        if not settings.check_convexity:
            settings = dataclasses.replace(settings, check_convexity=True)
        return ConeSolver.of_checked(form.program(presolved.program), settings, self.at_work)

    @property
    def cone_solver(self) -> ConeSolver:
        """The solver of the cone program; where the active set does without it, set up when it is asked for."""
        if self._cone_solver is None:
            if self.program.hessian.is_by_rows:
                self._make_hessian()
                return self.cone_solver
            started = time.perf_counter()
            self._cone_solver = self._new_cone_solver(self.presolved, self.cone_form)
            self.setup_time += time.perf_counter() - started
        return self._cone_solver

    def _replace_objective(self, q: Any) -> None:
        """Take another q, of which presolve asks nothing where it has left nothing out."""
        if q is None:
            return
        program = self.program.with_data(self.program.P, self.program.A, q)
        if self._is_stale or self.presolved.kept is not None:
            self._take(program, False, False)
            return
        self._is_stale = True
        if self._cone_solver is not None:
            cone_program = self._cone_solver.program
            if isinstance(cone_program, SidesProgram):
                self._cone_solver.replace_vectors(cone_program.with_objective(program))
            else:  # somebody has updated that solver by itself
                self._cone_solver.replace(self.cone_form.program(program))
        self._keep(program, Presolve(program, wanted=False))

    def _take(self, program: QuadraticProgram, new_P: bool, new_A: bool) -> None:
        """Go over to a program; one that is refused leaves the solver as it was."""
        if self._is_stale or not self._take_values(program, new_P, new_A):
            self._set_up_for(program)

    def _take_values(self, program: QuadraticProgram, new_P: bool, new_A: bool) -> bool:
        """Go over to a program; False, and nothing is done, where it needs another set-up."""
        if (new_P or new_A) and self.lane is not None:
            return False
        presolved = self._presolved(program)
        if not presolved.fits(self.presolved) or not self.cone_form.fits(presolved.program):
            return False
        if new_P and (self.active_set is not None or choose_method(presolved.program, self.settings) == "active set"):
            return False
        self._is_stale = True
        if self._cone_solver is not None:
            cone_program = self._cone_solver.program
            try:
                if new_P or new_A or not isinstance(cone_program, SidesProgram):
                    self._cone_solver.replace(self.cone_form.program(presolved.program))
                else:
                    self._cone_solver.replace_vectors(cone_program.with_vectors(presolved.program))
            except ProgramError:
                self._is_stale = False
                raise
        self._keep(program, presolved)
        return True

    def _keep(self, program: QuadraticProgram, presolved: Presolve) -> None:
        """The rest of going over to a program, which needs no other set-up."""
        if self.active_set is not None:
            self.active_set, _ = self._new_method(program, presolved, self.cone_form)
        if self.lane is not None:
            self.lane.program = program
        self.program, self.presolved, self._is_stale = program, presolved, False

    def let_go(self) -> None:
        """Leave the memory to the next program; the solver is not to be used again."""
        if self._cone_solver is not None:
            self._cone_solver.let_go()
        if self.lane is not None:
            self.lane.let_go()

    def __del__(self) -> None:
        """Leave the room of a lane to the next program of its kind."""
        if self.lane is not None:
            self.lane.let_go()

    def solve(self, warm_start: bool | np.ndarray = False) -> Solution:
        """Solve the program; with `warm_start` from the last answer, where that is the better start.

        An x in place of True is where the active set begins; the interior-point method begins anew.
        """
        with self.at_work:
            self._make_ready()
            started, setup_time = time.perf_counter(), self.setup_time
            solution = self._find(warm_start is True, self._start_of(warm_start))
            late = self.setup_time - setup_time  # a cone solver that was set up on the way
            solution.setup_time, solution.solve_time = self.setup_time, time.perf_counter() - started - late
            timings = solution.timings
            timings["rest"] += solution.setup_time + solution.solve_time - sum(timings.values())
            if solution.status is OPTIMAL and self.active_set is not None:  # which begins there
                self._last = solution.x.copy()
            if self.settings.verbose:
                printing.footer(solution)
            return solution

    def _find(self, is_warm: bool, start: np.ndarray | None) -> Solution:
        """The answer of the lane or of the active set, or else of the interior-point method."""
        solution = None
        if self.lane is not None:
            self._show(self.lane.plan)
            solution = self.lane.solve(is_warm)
        test = ProgramTest(self.program, self.presolved, self.cone_form)
        if self.active_set is not None:
            self._show(self.active_set.plan)
            solution = self.active_set.solve(start, test)
        if solution is None and self.program.hessian.is_by_rows:
            self._make_hessian()
            return self._find(is_warm, None)
        return self._follow_path(is_warm, test) if solution is None else solution

    def _show(self, plan: Plan) -> None:
        """Print the head of a method that is none of the engine's, where that is wanted."""
        if self.settings.verbose:
            P, form = self.presolved.program.hessian, self.cone_form
            entries = P.order**2 if P.is_by_rows else P.entries, self.presolved.program.A.data.size
            printing.header(plan, self.settings.tol, form.n, form.p, form.m, (), entries)

    def _start_of(self, warm_start: bool | np.ndarray) -> np.ndarray | None:
        """Where the active set begins."""
        if isinstance(warm_start, np.ndarray) and warm_start.ndim:
            start = as_vector("warm_start", warm_start, self.program.n)
            check_finite("warm_start", start)
            return start
        return self._last if warm_start else None

    def _follow_path(self, warm_start: bool, test: ProgramTest) -> Solution:
        """The answer of the interior-point method, which goes on until the program's own test holds."""
        run = (self._cone_solver or self.cone_solver).run(warm_start, test)
        assert run.answer is not None and run.status is not None
        x, y, z, _ = run.answer
        found, point = run.found, (x, y, z)
        if found is not None:
            point = test.point(found, x, y, z)
        elif run.status is Status.PRIMAL_INFEASIBLE:
            point = (x, *test.dual_ray(y, z))
        elif run.status is Status.DUAL_INFEASIBLE:
            point = (test.primal_ray(x), y, z)
        return solution_at(
            self.program, run.status, point, found, iterations=run.iterations, setup_time=0.0, solve_time=0.0,
            message=run.message, trace=run.trace, timings=run.timings.copy(), plan=run.plan, run=run,
        )  # fmt: skip
