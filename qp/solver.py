"""Quadratic programs solved through the engine."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import numpy as np

from socp.compiled.threads import blas_threads
from socp.kkt.lowrank import LowRankKKT
from socp.problem.checks import ProgramError
from socp.problem.settings import Settings
from socp.problem.solution import TIMINGS
from socp.problem.solution import Solution as ConeSolution
from socp.problem.status import Status
from socp.problem.stopping import INACCURATE_TOL, Residuals
from socp.solver import FEW, SetUpOnce, with_data
from socp.solver import Solver as ConeSolver

from .active_set.method import Sifting
from .problem import stopping
from .problem.program import QuadraticProgram
from .problem.solution import Solution
from .reduce.conic import ConicForm
from .reduce.direct import Direct
from .reduce.presolve import Presolve

NOTHING_FOUND = Residuals(*[np.nan] * 6)
Verified = tuple[tuple[np.ndarray, np.ndarray, np.ndarray], Residuals]


class Engine:
    """What presolve leaves of a program, and the ways of solving that: a working set, and the engine's cone program.

    Attributes
    ----------
    presolved : Presolve
    conic : ConicForm
        The way from there to the cone program and back.
    sifting : Sifting or None
        The working set, where the program is one for it.
    """

    def __init__(self, program: QuadraticProgram, settings: Settings) -> None:
        self.settings = settings
        self.presolved = Presolve(program, settings.presolve)
        self.conic = ConicForm(self.presolved.program)
        self._cone_solver: ConeSolver | None = None
        self.sifting = self._working_set()
        unknown = settings.check_convexity and self.sifting is not None and not self.sifting.is_clearly_definite()
        if self.sifting is None or unknown:
            solver = self.cone_solver  # refuses a P that is not semidefinite, and finds out a low rank
            if solver.direct is solver.small is None and isinstance(solver.kkt, LowRankKKT):
                self.sifting = None

    def _working_set(self) -> Sifting | None:
        program = self.presolved.program
        return Sifting(program, self.settings) if Sifting.fits(program, self.settings) else None

    @property
    def cone_solver(self) -> ConeSolver:
        """The solver of the cone program; where a working set does without it, set up when it is asked for."""
        if self._cone_solver is None:
            self._cone_solver = ConeSolver.of_checked(self.conic.program(self.presolved.program), self.settings)
        return self._cone_solver

    def update(self, program: QuadraticProgram, only_q: bool, new_P: bool, new_A: bool) -> bool:
        """Take another program of the same size; False, and nothing is done, where it needs another set-up."""
        if only_q and self.presolved.kept is None:  # presolve and sides ask nothing of q
            presolved = self.presolved
            presolved.program = program
        else:
            presolved = Presolve(program, self.settings.presolve)
            if not presolved.fits(self.presolved) or not self.conic.fits(presolved.program):
                return False
            if new_P and (self.sifting is not None or Sifting.fits(presolved.program, self.settings)):
                return False
        if self._cone_solver is not None and (new_P or new_A):
            self._cone_solver.replace(self.conic.program(presolved.program))
        elif self._cone_solver is not None:
            self._cone_solver.replace_vectors(*self.conic.vectors(presolved.program))
        self.presolved = presolved
        if self.sifting is not None:
            self.sifting = self._working_set()
        return True


class Solver(SetUpOnce):
    """A quadratic program set up once, to be solved again after `update`.

    Parameters
    ----------
    program : QuadraticProgram
    **settings
        See `socp.Settings`.

    Examples
    --------
    >>> from qp import QuadraticProgram, Solver
    >>> solver = Solver(QuadraticProgram([[2.0, 0.0], [0.0, 2.0]], [-2.0, -4.0], lb=0.0, ub=1.0))
    >>> print(f"{solver.solve().objective:.6f}")
    -4.000000
    >>> solver.update(ub=[0.5, 1.0])
    >>> print(f"{solver.solve(warm_start=True).objective:.6f}")
    -3.750000
    """

    program: QuadraticProgram

    def __init__(self, program: QuadraticProgram, **settings: Any) -> None:
        self._start(program, Settings.checked(settings))

    def _set_up(self) -> None:
        program, settings, direct = self.program, self.settings, None
        if Direct.fits(program, settings) and not Sifting.fits(program, settings):
            direct = Direct(program, settings)
        self._take(direct if direct is not None and direct.plain else None)
        self._last: np.ndarray | None = None

    def _take(self, direct: Direct | None) -> None:
        """Set up for the program: the kernel that answers at once, or without one the engine."""
        engine = Engine(self.program, self.settings) if direct is None else None
        # nothing was refused: from here on the solver is that of the new program
        self.direct, self._engine = direct, engine
        self._verified: tuple[np.ndarray, Verified] | None = None

    @property
    def engine(self) -> Engine:
        """The engine's program and solver; where `direct` has an answer it is not needed, and made when asked for."""
        if self._engine is None:
            started = time.perf_counter()
            self._engine = Engine(self.program, self.settings)
            self._engine.cone_solver.direct = None  # it would meet what stopped ours
            self.setup_time += time.perf_counter() - started
        return self._engine

    @property
    def presolved(self) -> Presolve:
        """What presolve leaves of the program."""
        return self.engine.presolved

    @property
    def conic(self) -> ConicForm:
        """The way from there to the cone program and back."""
        return self.engine.conic

    @property
    def cone_solver(self) -> ConeSolver:
        """The solver of the cone program."""
        return self.engine.cone_solver

    def update(
        self,
        q: Any = None,
        l: Any = None,
        u: Any = None,
        lb: Any = None,
        ub: Any = None,
        P_data: Any = None,
        A_data: Any = None,
    ) -> None:
        """Replace data of the program; set-up is done again only where sides become finite, infinite or equal,
        or presolve leaves other rows out.

        `P_data` and `A_data` are the new values of ``program.P.data`` and ``program.A.data`` in their order
        (CSC; for a dense P the full array).
        """
        started = time.perf_counter()
        old = self.program
        P = old.P if P_data is None else with_data("P", old.P, P_data)
        A = old.A if A_data is None else with_data("A", old.A, A_data)
        self.program = old.with_data(P, A, q, l, u, lb, ub)
        only_q = all(value is None for value in (l, u, lb, ub, P_data, A_data))
        try:
            if self.direct is not None:
                self._update_direct(self.direct, only_q)
            elif not self.engine.update(self.program, only_q, P_data is not None, A_data is not None):
                last = self._last
                self._set_up()
                self._last = last
        except ProgramError:  # refused: the solver stays as it was
            self.program = old
            raise
        self.setup_time = time.perf_counter() - started

    def _update_direct(self, direct: Direct, only_q: bool) -> None:
        if only_q:  # presolve and sides ask nothing of q
            direct.refresh_objective(self.program)
        else:
            direct.refresh(self.program)
        self._take(direct if direct.plain else None)

    def solve(self, warm_start: bool = False) -> Solution:
        """Solve the program; with `warm_start` from the last answer, where that is the better start."""
        try:
            answer = None if self.direct is None else self._directly(self.direct, warm_start)
        except KeyboardInterrupt:
            return self._lift(self.cone_solver.interrupted())[0]
        if answer is not None:
            return answer
        solution, found = self._lift(self._solve_engine(self.engine, warm_start))
        if solution.status is Status.OPTIMAL:
            self._last = solution.x.copy()
        tol = max(self.settings.tol, INACCURATE_TOL)
        if solution.status is Status.INACCURATE and not found.meets(tol):
            solution.status, solution.message = Status.NUMERICAL_ERROR, f"the program's own form misses {tol:g}"
        return solution

    def _directly(self, direct: Direct, warm_start: bool) -> Solution | None:
        """The answer in one call, None when it is not to be had."""
        with contextlib.nullcontext() if self.program.n <= FEW else blas_threads(self.settings.threads):
            return direct.answer(self.program, warm_start, self.setup_time)

    def _solve_engine(self, engine: Engine, warm_start: bool) -> ConeSolution:
        """The answer by a working set if there is one, else by the interior-point method."""
        started = time.perf_counter()
        cone = None if engine.sifting is None else self._sift(engine.sifting, warm_start)
        if cone is not None:
            return cone
        sifted, late = time.perf_counter() - started, engine._cone_solver is None
        cone_solver = engine.cone_solver
        if late:
            self.setup_time += cone_solver.setup_time
        cone = cone_solver.solve_tested(warm_start, self._accepts, self._certificate_error)
        if engine.sifting is not None:
            cone.solve_time += sifted
            cone.timings["rest"] += sifted
        return cone

    def _sift(self, sifting: Sifting, warm_start: bool) -> ConeSolution | None:
        """The answer by a working set as one to the cone program; None where the engine is to begin."""
        started = time.perf_counter()
        verified: list[Verified] = []

        def accepts(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> bool:
            point = (x, *self.presolved.dual(y, z))
            verified.append((point, stopping.residuals(self.program, *point)))
            return verified[-1][1].meets(self.settings.tol, self.settings.tol_abs)

        status = Status.OPTIMAL
        try:
            sifted = sifting.solve(self._last if warm_start else None, accepts)
        except KeyboardInterrupt:
            status, sifted = Status.INTERRUPTED, sifting.present()
            accepts(sifted.x, sifted.y, sifted.z)
        if sifted is None:
            return None
        x, y, z, s = self.conic.point(self.presolved.program, sifted.x, sifted.y, sifted.z)
        self._verified = (x, verified[-1])
        solution = sifting.cone_solution(status, sifted, (x, y, z, s), verified[-1][1])
        solution.setup_time, solution.solve_time = self.setup_time, time.perf_counter() - started
        solution.trace["seconds"][-1:] = solution.solve_time
        solution.timings = {**dict.fromkeys(TIMINGS, 0.0), "rest": solution.setup_time + solution.solve_time}
        return solution

    def _accepts(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> bool:
        """Whether a point of the cone program passes the stopping test in this program's own form, which adds a row's
        two multipliers and knows the substituted variables; until it does, the engine goes on."""
        return self._verify(x, y, z)[1].meets(self.settings.tol, self.settings.tol_abs)

    def _certificate_error(self, y: np.ndarray, z: np.ndarray) -> float:
        """The error of a certificate of infeasibility in this program's own form."""
        return stopping.primal_infeasibility(self.program, *self._dual(None, y, z))

    def _verify(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Verified:
        """A point of the cone program in this program's own form, and its residuals there; the last one is kept."""
        if self._verified is None or self._verified[0] is not x:
            own_x = self.conic.primal(self.presolved.program, x)
            own_y, own_z = self._dual(own_x, y, z)
            found = stopping.residuals(self.program, own_x, own_y, own_z)
            self._verified = (x, ((own_x, own_y, own_z), found))
        return self._verified[1]

    def _dual(self, x: np.ndarray | None, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(y, z_bounds) of this program from those of the cone program; x is None for a certificate."""
        return self.presolved.dual(*self.conic.dual(self.presolved.program, x, y, z))

    def _lift(self, cone: ConeSolution) -> tuple[Solution, Residuals]:
        """The answer in the program's own form, and its residuals there (NaN for a certificate)."""
        program = self.program
        x = y = z = None
        primal = dual = gap = objective = dual_objective = np.nan
        found = NOTHING_FOUND
        if cone.status is Status.PRIMAL_INFEASIBLE:
            y, z = self._dual(None, cone.y, cone.z)
            slope = -(stopping.support(program.l, program.u, y)[0] + stopping.support(program.lb, program.ub, z)[0])
            y, z = y / slope, z / slope
            primal = stopping.primal_infeasibility(program, y, z)
        elif cone.status is Status.DUAL_INFEASIBLE:
            x = self.conic.primal(self.presolved.program, cone.x, direction=True)
            x = x / -float(program.q @ x)
            dual = stopping.dual_infeasibility(program, x)
        else:
            (x, y, z), found = self._verify(cone.x, cone.y, cone.z)
            self._verified = None
            primal, dual, gap = found.relative
            objective = found.primal_objective + program.offset
            dual_objective = found.dual_objective + program.offset
        solution = Solution(
            status=cone.status,
            x=np.full(program.n, np.nan) if x is None else x,
            y=np.full(program.m, np.nan) if y is None else y,
            z_bounds=np.full(program.n, np.nan) if z is None else z,
            objective=objective, dual_objective=dual_objective,
            primal_residual=primal, dual_residual=dual, gap=gap,
            iterations=cone.iterations, setup_time=self.setup_time, solve_time=cone.solve_time,
            message=cone.message, cone_solution=cone,
        )  # fmt: skip
        return solution, found


def solve(
    P: Any,
    q: Any = None,
    A: Any = None,
    l: Any = None,
    u: Any = None,
    lb: Any = None,
    ub: Any = None,
    offset: float = 0.0,
    **settings: Any,
) -> Solution:
    """Solve a quadratic program: ``solve(program, **settings)`` or ``solve(P, q, A=A, l=l, ..., **settings)``.

    Parameters
    ----------
    P, q, A, l, u, lb, ub, offset
        As in `QuadraticProgram` (sides of 1e20 and more are infinite); or one `QuadraticProgram` in place of P
        and nothing else of it.
    **settings
        See `socp.Settings`.

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
    if isinstance(P, QuadraticProgram):
        if any(value is not None for value in (q, A, l, u, lb, ub)):
            raise ProgramError("a QuadraticProgram came, and data beside it: give one or the other")
        return Solver(P, **settings).solve()
    if q is None:
        raise ProgramError("q, the linear objective, is missing")
    checked = Settings.checked(settings)
    return Solver.of_checked(QuadraticProgram(P, q, A, l, u, lb, ub, offset), checked).solve()
