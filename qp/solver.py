"""Quadratic programs solved through the engine."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from socp.checks import ProgramError
from socp.settings import Settings
from socp.solution import TIMINGS
from socp.solution import Solution as ConeSolution
from socp.solver import SetUpOnce, with_data
from socp.solver import Solver as ConeSolver
from socp.status import Status
from socp.stopping import INACCURATE_TOL, Residuals
from socp.woodbury import LowRankKKT

from . import stopping
from .conic import ConicForm
from .presolve import Presolve
from .program import QuadraticProgram
from .sifting import Sifting
from .solution import Solution

NOTHING_FOUND = Residuals(*[np.nan] * 6)
Verified = tuple[tuple[np.ndarray, np.ndarray, np.ndarray], Residuals]


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
        # the program, what presolve leaves of it, and that as a working set or a cone program or both
        self.presolved = Presolve(self.program, self.settings.presolve)
        self.conic = ConicForm(self.presolved.program)
        self._verified: tuple[np.ndarray, Verified] | None = None
        self._cone_solver: ConeSolver | None = None
        self._last: np.ndarray | None = None
        self.sifting: Sifting | None = None
        if Sifting.fits(self.presolved.program, self.settings):
            self.sifting = Sifting(self.presolved.program, self.settings)
        unknown = self.settings.check_convexity and self.sifting is not None and not self.sifting.is_clearly_definite()
        if self.sifting is None or unknown:
            engine = self.cone_solver  # refuses a P that is not semidefinite, and finds out a low rank
            if engine.small is None and isinstance(engine.kkt, LowRankKKT):
                self.sifting = None

    @property
    def cone_solver(self) -> ConeSolver:
        """The engine with the cone program; where a working set does without it, set up when it is asked for."""
        if self._cone_solver is None:
            self._cone_solver = ConeSolver.of_checked(self.conic.program(self.presolved.program), self.settings)
        return self._cone_solver

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
        before = self.__dict__.copy()
        old = self.program
        P = old.P if P_data is None else with_data("P", old.P, P_data)
        A = old.A if A_data is None else with_data("A", old.A, A_data)
        self.program = old.with_data(P, A, q, l, u, lb, ub)
        try:
            if self.presolved.kept is None and all(value is None for value in (l, u, lb, ub, P_data, A_data)):
                # presolve and sides ask nothing of q where there was nothing to leave out
                self.presolved.program = self.program
                self._replace(False)
            else:
                self._update(P_data is not None, A_data is not None)
        except ProgramError:  # refused: the solver stays as it was
            self.__dict__.update(before)
            raise
        self.setup_time = time.perf_counter() - started

    def _update(self, new_P: bool, new_A: bool) -> None:
        """Take the program as it is now."""
        presolved = Presolve(self.program, self.settings.presolve)
        if not presolved.fits(self.presolved) or not self.conic.fits(presolved.program):
            return self._set_up()
        if new_P and (self.sifting is not None or Sifting.fits(presolved.program, self.settings)):
            last = self._last
            self._set_up()
            self._last = last
            return None
        self.presolved = presolved
        self._replace(new_P or new_A)

    def _replace(self, matrices: bool) -> None:
        """Take what presolve leaves; `matrices` tells whether more than vectors is new."""
        program = self.presolved.program
        if self._cone_solver is not None and matrices:
            self._cone_solver.replace(self.conic.program(program))
        elif self._cone_solver is not None:
            self._cone_solver.replace_vectors(*self.conic.vectors(program))
        if self.sifting is not None:
            self.sifting = Sifting(program, self.settings)

    def solve(self, warm_start: bool = False) -> Solution:
        """Solve the program; with `warm_start` from the last answer, where that is the better start."""
        started = time.perf_counter()
        cone = None if self.sifting is None else self._sift(self.sifting, warm_start)
        if cone is None:
            sifted = time.perf_counter() - started
            if self._cone_solver is None:
                self.setup_time += self.cone_solver.setup_time
            cone = self.cone_solver.solve_tested(warm_start, self._accepts, self._certificate_error)
            if self.sifting is not None:
                cone.solve_time += sifted
                cone.timings["rest"] += sifted
        solution, found = self._lift(cone)
        if solution.status is Status.OPTIMAL:
            self._last = solution.x
        tol = max(self.settings.tol, INACCURATE_TOL)
        if solution.status is Status.INACCURATE and not found.meets(tol):
            solution.status, solution.message = Status.NUMERICAL_ERROR, f"the program's own form misses {tol:g}"
        return solution

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
