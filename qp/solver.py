"""Quadratic programs solved: presolve, then the active set, or the cone form and the interior-point method."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from socp.method.run import OPTIMAL
from socp.plan.choice import choose_method
from socp.plan.plan import Plan
from socp.problem import printing
from socp.problem.checks import ArrayLike, Number, ProgramError, as_vector, check_finite
from socp.problem.lowrank import LowRank
from socp.problem.settings import ALIASES, CHECKS, QuadraticSettings, Settings, document_names, document_settings
from socp.problem.status import Status
from socp.solver import SetUpOnce, with_values
from socp.solver import Solver as ConeSolver
from socp.warmup import ready_for

from .active_set.method import ActiveSet
from .active_set.working_set import WorkingSet
from .lane import Lane
from .problem.kernel_matrix import KernelMatrix
from .problem.program import QuadraticProgram
from .problem.solution import Solution, solution_at
from .problem.stopping import ProgramTest
from .reduce.cone_form import ConeForm, SidesProgram
from .reduce.presolve import Presolve

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .batch import Solutions

CROSSING, MOST_CROSSING = 0.25, 1e-8  # share of tol by which sides may cross in presolve, and how far at most


@document_settings
class Solver(SetUpOnce):
    """A quadratic program set up once, to be solved again after `update`.

    Parameters
    ----------
    P, q, A, l, u, lb, ub, offset
        As in `QuadraticProgram`; or one `QuadraticProgram` in place of P and nothing else of it.
    tol, max_iter, ...
        The settings, each as in `socp.Settings`.

    Attributes
    ----------
    presolved : Presolve
        What presolve leaves of the program.
    cone_form : ConeForm
        The way from there to the cone program and back.
    active_set : ActiveSet or None
        The active-set method, where the program is one for it.
    lane : Lane or None
        The lane of a small program (see `qp.lane`).

    Examples
    --------
    >>> from qp import Solver
    >>> solver = Solver([[2.0, 0.0], [0.0, 2.0]], [-2.0, -4.0], lb=0.0, ub=1.0)
    >>> print(f"{solver.solve().objective:.6f}")
    -4.000000
    >>> solver.update(ub=[0.5, 1.0])
    >>> print(f"{solver.solve(warm_start=True).objective:.6f}")
    -3.750000
    """

    program: QuadraticProgram
    _last: np.ndarray | None = None  # the last optimal x where the active set solves, which a warm start begins at

    def __init__(
        self,
        P: ArrayLike | LowRank | KernelMatrix | QuadraticProgram | None,
        q: ArrayLike | None = None,
        A: ArrayLike | None = None,
        l: ArrayLike | Number | None = None,
        u: ArrayLike | Number | None = None,
        lb: ArrayLike | Number | None = None,
        ub: ArrayLike | Number | None = None,
        offset: float | None = None,
        **settings: Unpack[QuadraticSettings],
    ) -> None:
        checked = Settings.of_call(settings, "Solver", KNOWN)
        self._start(program_of(P, q, A, l, u, lb, ub, offset), checked)

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
        active_set, lane = self._new_method(presolved, form)
        method = lane or active_set
        if method is None or (settings.check_convexity and not method.is_clearly_definite()):
            cone_solver = self._new_cone_solver(presolved, form)  # refuses a P that is not semidefinite
            if active_set is not None and cone_solver.plan.backend == "low rank":
                active_set = None
        # nothing was refused: from here on the solver is that of the new program
        self.presolved, self.cone_form, self.active_set, self.lane = presolved, form, active_set, lane
        self._cone_solver: ConeSolver | None = cone_solver

    def _new_method(self, presolved: Presolve, form: ConeForm) -> tuple[ActiveSet | None, Lane | None]:
        """The active set for what presolve leaves, or a lane where it leaves all, if one of them is chosen."""
        program, settings = presolved.program, self.settings
        method = choose_method(program, settings)
        if method == "working set":
            before = getattr(self, "active_set", None)
            return WorkingSet(program, settings, before if isinstance(before, WorkingSet) else None), None
        if method == "lane" and presolved.kept is None and not form.has_fixed:
            return None, Lane(program, settings, form, getattr(self, "lane", None))
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

    @document_names
    def update(
        self,
        q: ArrayLike | None = None,
        l: ArrayLike | Number | None = None,
        u: ArrayLike | Number | None = None,
        lb: ArrayLike | Number | None = None,
        ub: ArrayLike | Number | None = None,
        P_data: ArrayLike | LowRank | None = None,
        A_data: ArrayLike | None = None,
    ) -> None:
        """Replace data of the program; set-up is done again only where sides become finite, infinite or equal,
        or presolve leaves other rows out.

        `P_data` and `A_data` are the new values of ``program.P.data`` and ``program.A.data`` in their order
        (CSC); P may be given whole instead, and has to be where it is dense.  An update that is interrupted leaves a
        solver with the old program or the new one, set up anew when it is used next.
        """
        with self.at_work:
            started = time.perf_counter()
            if l is None and u is None and lb is None and ub is None and P_data is None and A_data is None:
                self._replace_objective(q)
            else:
                old = self.program
                P = old.P if P_data is None else old.hessian.with_data(P_data)
                A = old.A if A_data is None else with_values("A", old.A, A_data)
                self._take(old.with_data(P, A, q, l, u, lb, ub), P_data is not None, A_data is not None)
            self.setup_time = time.perf_counter() - started

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
        presolved = self._presolved(program)
        if not presolved.fits(self.presolved) or not self.cone_form.fits(presolved.program):
            return False
        if new_P and (self.active_set is not None or choose_method(presolved.program, self.settings) == "active set"):
            return False
        if (new_P or new_A) and self.lane is not None:
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
            self.active_set, _ = self._new_method(presolved, self.cone_form)
        if self.lane is not None:
            self.lane.program = program
        self.program, self.presolved, self._is_stale = program, presolved, False

    def let_go(self) -> None:
        """Leave the memory to the next program; the solver is not to be used again."""
        if self._cone_solver is not None:
            self._cone_solver.let_go()
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

    def solve_many(
        self, q: ArrayLike | None = None, l: ArrayLike | Number | None = None, u: ArrayLike | Number | None = None,
        lb: ArrayLike | Number | None = None, ub: ArrayLike | Number | None = None, threads: int | None = None,
        warm_start: Solutions | None = None,
    ) -> Solutions:  # fmt: skip
        """Solve the program with other vectors, each with a leading axis of length k or as in `update`.

        `warm_start` are the `Solutions` of such a batch, near which each program starts.

        Returns
        -------
        Solutions
            See `qp.solve_many`; the solver itself stays as it is.
        """
        from .batch import solve_like  # which needs this file

        return solve_like(self, {"q": q, "l": l, "u": u, "lb": lb, "ub": ub}, threads, warm_start)

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


@document_settings
def solve(
    P: ArrayLike | LowRank | KernelMatrix | QuadraticProgram | None,
    q: ArrayLike | None = None,
    A: ArrayLike | None = None,
    l: ArrayLike | Number | None = None,
    u: ArrayLike | Number | None = None,
    lb: ArrayLike | Number | None = None,
    ub: ArrayLike | Number | None = None,
    offset: float | None = None,
    **settings: Unpack[QuadraticSettings],
) -> Solution:
    """Solve a quadratic program: ``solve(P, q, A=A, l=l, ...)`` or ``solve(program)``, and settings by name.

    Parameters
    ----------
    P, q, A, l, u, lb, ub, offset
        As in `QuadraticProgram` (sides of 1e20 and more are infinite); or one `QuadraticProgram` in place of P
        and nothing else of it.
    tol, max_iter, ...
        The settings, each as in `socp.Settings`.

    Returns
    -------
    Solution

    Raises
    ------
    ProgramError
        The data or a setting cannot be accepted; the message names it.

    Examples
    --------
    The projection of (1, 1.4) onto the box [0, 1]^2 cut by x_1 + x_2 <= 1:

    >>> import qp
    >>> sol = qp.solve([[1, 0], [0, 1]], [-1, -1.4], A=[[1, 1]], u=[1], lb=0, ub=1)
    >>> print(sol.status, sol.x.round(6), sol.y.round(6))
    optimal [0.3 0.7] [0.7]
    """
    checked = Settings.of_call(settings, "solve", KNOWN)
    solver = Solver.of_checked(program_of(P, q, A, l, u, lb, ub, offset), checked)
    solution = solver.solve()
    solver.let_go()
    return solution


DATA = ("q", "A", "l", "u", "lb", "ub", "offset")
KNOWN = ("P", *DATA, *CHECKS, *ALIASES)  # the keyword arguments of `solve` and `Solver`


def program_of(P: Any, *data: Any) -> QuadraticProgram:
    """The program of a call, from P and what `DATA` names; what is None did not come, but for P."""
    if isinstance(P, QuadraticProgram):
        came = [name for name, value in zip(DATA, data) if value is not None]
        if came:
            raise ProgramError(f"a QuadraticProgram came, and {', '.join(came)} beside it: give one or the other")
        return P
    q, A, l, u, lb, ub, offset = data
    if q is None:
        raise ProgramError("q, the linear objective, is missing")
    ready_for(P, A)
    return QuadraticProgram(P, q, A, l, u, lb, ub, 0.0 if offset is None else offset)
