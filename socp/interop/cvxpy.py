"""The engine as a solver of cvxpy: ``problem.solve(solver=CentralPath())``."""

from __future__ import annotations

from typing import Any

import cvxpy.settings as names
import numpy as np
from cvxpy.constraints import SOC
from cvxpy.reductions.solution import Solution as CvxpySolution
from cvxpy.reductions.solution import failure_solution
from cvxpy.reductions.solvers import utilities
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver

from ..problem.program import ConeProgram, NonNeg, SecondOrder
from ..problem.settings import Settings
from ..problem.solution import Solution
from ..problem.status import Status
from ..solver import Solver

STATUS = {
    Status.OPTIMAL: names.OPTIMAL,
    Status.INACCURATE: names.OPTIMAL_INACCURATE,
    Status.PRIMAL_INFEASIBLE: names.INFEASIBLE,
    Status.DUAL_INFEASIBLE: names.UNBOUNDED,
    Status.MAX_ITERATIONS: names.USER_LIMIT,
    Status.TIME_LIMIT: names.USER_LIMIT,
    Status.INTERRUPTED: names.USER_LIMIT,
    Status.NUMERICAL_ERROR: names.SOLVER_ERROR,
}
CITATION = """@misc{centralpath,
  title = {centralpath: a hand-written primal-dual interior-point toolkit in Python},
  author = {the centralpath developers},
}
"""


class CentralPath(ConicSolver):
    """Linear, quadratic and second-order cone programs of cvxpy, for its versions from 1.7 on.

    A quadratic objective is passed on as it is.  Options of ``problem.solve`` go to `socp.Settings`.  An infeasible
    problem's constraints get the certificate as their dual values.  With ``warm_start`` (cvxpy's default) a problem
    with new parameter values keeps ordering and symbolic analysis, and starts from the last answer where that helps.

    Examples
    --------
    >>> import cvxpy
    >>> from socp.interop.cvxpy import CentralPath
    >>> x = cvxpy.Variable(2)
    >>> problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x - [3, 4])), [cvxpy.norm(x) <= 1])
    >>> round(problem.solve(solver=CentralPath(), tol=1e-9), 6), x.value.round(6)
    (16.0, array([0.6, 0.8]))
    """

    MIP_CAPABLE = False
    SUPPORTED_CONSTRAINTS = [*ConicSolver.SUPPORTED_CONSTRAINTS, SOC]  # noqa: RUF012, as the base has it
    REQUIRES_CONSTR = False

    def name(self) -> str:
        """The name of the solver."""
        return "CENTRALPATH"

    def import_solver(self) -> None:
        """There is nothing to import but this package."""

    def supports_quad_obj(self) -> bool:
        """Quadratic objectives are passed on."""
        return True

    def solve_via_data(
        self, data: Any, warm_start: bool, verbose: bool, solver_opts: Any, solver_cache: Any = None
    ) -> Solution:
        """Solve cvxpy's data, min 1/2 x'Px + c'x s.t. Ax + s = b, the rows of A being those of the zero cone, of the
        orthant and of the second-order cones in this order."""
        dims = data[ConicSolver.DIMS]
        A, b, equalities = data[names.A].tocsr(), data[names.B], dims.zero
        program = ConeProgram(
            c=data[names.C],
            A=A[:equalities],
            b=b[:equalities],
            G=A[equalities:],
            h=b[equalities:],
            cones=[NonNeg(int(dims.nonneg)), *(SecondOrder(int(size)) for size in dims.soc)],
            P=data.get(names.P),
        )
        options = {name: value for name, value in solver_opts.items() if name != "use_quad_obj"}
        settings = Settings.checked({"verbose": bool(verbose), **options})
        kept = solver_cache.get(self.name()) if warm_start and solver_cache else None
        if kept is not None and kept.settings == settings:
            solver = kept
            solver.replace(program)
        else:
            solver = Solver.of_checked(program, settings)
        if solver_cache is not None:
            solver_cache[self.name()] = solver
        return solver.solve(warm_start=warm_start)

    def invert(self, solution: Solution, inverse_data: Any) -> CvxpySolution:
        """cvxpy's answer from the engine's."""
        status = STATUS[solution.status]
        if status == names.USER_LIMIT and not np.isfinite(solution.x).all():
            status = names.SOLVER_ERROR
        attributes = {
            names.SOLVE_TIME: solution.solve_time,
            names.SETUP_TIME: solution.setup_time,
            names.NUM_ITERS: solution.iterations,
            names.EXTRA_STATS: solution,
        }
        duals: dict[int, Any] = {}
        if solution.status is not Status.DUAL_INFEASIBLE:
            for values, constraints in (
                (solution.y, inverse_data[self.EQ_CONSTR]),
                (solution.z, inverse_data[self.NEQ_CONSTR]),
            ):
                duals |= utilities.get_dual_values(values, utilities.extract_dual_value, constraints)
        if status not in names.SOLUTION_PRESENT:
            return failure_solution(status, attributes, duals)
        value = solution.objective + inverse_data[names.OFFSET]
        return CvxpySolution(status, value, {inverse_data[self.VAR_ID]: solution.x}, duals, attributes)

    def cite(self, data: Any) -> str:
        """How to cite the solver, as BibTeX."""
        return CITATION
